"""`broadloom watch`: its page shows the episodes of `eval`; its refusals."""

import json
import os
import re
import signal
import struct
import subprocess
import time
import unittest

from program_test_case import PROGRAM, SMALL, ProgramTest


def gif_facts(data):
    """(width, height, hundredths of a second that each picture is shown)."""
    assert data[:6] == b"GIF89a", data[:6]
    width, height = struct.unpack("<HH", data[6:10])
    place, shown = 13 + 3 * 256, []
    while data[place] != 0x3B:  # the end
        if data[place] == 0x21:  # an extension
            if data[place + 1] == 0xF9:
                shown += struct.unpack("<H", data[place + 4 : place + 6])
            place += 2
        else:  # a picture, and its code size
            place += 11
        while data[place] != 0:
            place += 1 + data[place]
        place += 1
    assert place + 1 == len(data), (place, len(data))
    return width, height, shown


class Watch(ProgramTest):
    def page(self, path):
        """The data of a page, and its text."""
        with open(os.path.join(self.folder.name, path), encoding="utf-8") as file:
            text = file.read()
        data = re.search(
            r'<script type="application/json" id="data">\n(.*?)\n</script>', text, re.DOTALL
        ).group(1)
        return json.loads(data), text

    def test_it_shows_what_eval_plays(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        for actions in ("most_likely", "sampled"):
            call = ["a", "--episodes", "4", "--seed", "7", "--actions", actions, "--json"]
            answer = self.object_of("watch", *call)
            score = self.object_of("eval", *call)
            self.assertEqual(answer["file"], "a/watch.html")
            returns = [episode["return"] for episode in answer["episodes"]]
            self.assertAlmostEqual(sum(returns) / 4, score["mean_return"], 9)
            self.assertAlmostEqual(
                sum(e["steps"] for e in answer["episodes"]) / 4, score["mean_length"], 9
            )
            data, text = self.page("a/watch.html")
            self.assertEqual([e["return"] for e in data["episodes"]], returns)
            self.assertEqual(
                [e["end"] for e in data["episodes"]], [e["end"] for e in answer["episodes"]]
            )
            self.assertEqual(
                (data["env_id"], data["run"], data["seed"], data["action_kinds"]),
                ("CartPole-v1", "a", 7, actions),
            )
            self.assertEqual(
                [len(e["frames"]) for e in data["episodes"]],
                [e["steps"] + 1 for e in data["episodes"]],
            )
            self.assertNotIn("src=", text)
        self.assertEqual(self.ledger("a/eval_command.jsonl")[2:], [])  # those of eval alone

    def test_a_checkpoint_an_out_and_what_is_said(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        newest = self.checkpoints("a")[-1]
        printed = self.run_program("watch", newest)
        self.assertEqual(printed.returncode, 0, printed.stderr)
        self.assertRegex(
            printed.stdout,
            r"^Episode 1: return \d+\.00, \d+ steps, pole_fell\nwatch\.html\n"
            r"Next: .*browser.*\n$",
        )
        quiet = self.run_program("watch", "a", "--out", "elsewhere.html", "--quiet")
        self.assertEqual((quiet.returncode, quiet.stdout), (0, ""), quiet.stderr)
        self.assertEqual(
            self.page("elsewhere.html")[0]["episodes"], self.page("watch.html")[0]["episodes"]
        )
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "a", "watch.html")))

    def test_long_episodes_are_cut(self):
        self.run_program("train", "--env_id", "Pendulum-v1", *SMALL, "--out", "a", "--quiet")
        printed = self.run_program("watch", "a", "--max_steps", "30").stdout
        self.assertRegex(
            printed,
            r"^Episode 1: return -[\d.]+, 30 steps, cut\n.*--max_steps.*\n"
            r"a/watch\.html\nNext: .*\n$",
        )
        self.assertEqual(self.page("a/watch.html")[0]["episodes"][0]["success"], None)

    def test_a_film_has_a_picture_for_each_state(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        printed = self.run_program("watch", "a", "--max_steps", "2", "--out", "a.gif").stdout
        self.assertRegex(printed, r"a\.gif\nNext: .*film.*browser\n$")
        answer = self.object_of("watch", "a", "--episodes", "2", "--out", "a.gif", "--json")
        self.assertEqual(answer["file"], "a.gif")
        data, _ = self.page(self.object_of("watch", "a", "--episodes", "2", "--json")["file"])
        left, bottom, right, top = data["view"]
        with open(os.path.join(self.folder.name, "a.gif"), "rb") as file:
            width, height, shown = gif_facts(file.read())
        self.assertEqual(len(shown), sum(e["steps"] + 1 for e in answer["episodes"]))
        self.assertEqual(max(width, height), 480)
        self.assertAlmostEqual(width / height, (right - left) / (top - bottom), 1)
        self.assertEqual(sorted(set(shown)), [4, 100])
        self.assertEqual(shown.index(100), answer["episodes"][0]["steps"])

    def test_ctrl_c_ends_a_film_that_is_written(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        tools = os.path.join(self.folder.name, "tools")
        os.mkdir(tools)
        begun = os.path.join(self.folder.name, "begun")
        # It reads slowly, so that writing lasts.
        call = f"#!/bin/sh\n: > {begun}\nwhile head -c 1000000 | grep -q -a .; do sleep 0.1; done\n"
        os.chmod(self.write("tools/ffmpeg", call), 0o755)
        before = sorted(os.listdir(self.folder.name))
        process = subprocess.Popen(
            [PROGRAM, "watch", "a", "--episodes", "20", "--out", "a.mp4"],
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder.name,
        )
        self.addCleanup(process.kill)
        while not os.path.exists(begun):
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("Stopped before a.mp4 was whole; it is not written", errors)
        os.remove(begun)
        self.assertEqual(sorted(os.listdir(self.folder.name)), before)

    def test_an_mp4_is_ffmpegs(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        tools = os.path.join(self.folder.name, "tools")
        os.mkdir(tools)
        self.addCleanup(os.environ.update, PATH=os.environ["PATH"])
        os.environ["PATH"] = tools
        words = ["needs the program ffmpeg", "or write a .gif"]
        self.fails(3, words, "watch", "a", "--out", "a.mp4")
        call = '#!/bin/sh\necho "$@" > words\nfor out; do :; done\n/bin/cat > "${out#file:}"\n'
        fake = self.write("tools/ffmpeg", call)
        os.chmod(fake, 0o755)
        answer = self.object_of("watch", "a", "--out", "a.mp4", "--json")
        words = "\n".join(self.ledger("words")).split()
        width, height = map(int, words[words.index("-s") + 1].split("x"))
        self.assertEqual((width % 2, height % 2, words[words.index("-r") + 1]), (0, 0, "25"))
        pictures = answer["episodes"][0]["steps"] + 25  # the last one stays for a second
        size = os.path.getsize(os.path.join(self.folder.name, "a.mp4"))
        self.assertEqual(size, 3 * width * height * pictures)
        before = sorted(os.listdir(self.folder.name))
        self.write("tools/ffmpeg", "#!/bin/sh\nfor out; do :; done\n: > ${out#file:}\nexit 1\n")
        self.fails(4, ["ffmpeg failed"], "watch", "a", "--out", "b.mp4")
        self.assertEqual(sorted(os.listdir(self.folder.name)), before)

    def test_what_it_refuses(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet")
        self.write("README.md", "hi\n")
        os.mkdir(os.path.join(self.folder.name, "empty"))
        self.fails(3, ["no run folder 'nowhere'"], "watch", "nowhere")
        self.fails(3, ["'README.md' is a file, expected the folder of a run"], "watch", "README.md")
        self.fails(3, ["the folder 'empty' is not a run"], "watch", "empty")
        self.fails(3, ["'a/checkpoints' is a folder of checkpoints"], "watch", "a/checkpoints")
        self.fails(
            2,
            ["--out: got 'page.svg'"],
            "watch",
            "a",
            "--out",
            "page.svg",
        )
        self.fails(2, ["actions: got 'greedy'"], "watch", "a", "--actions", "greedy")
        self.fails(
            2, ["view: got 'side', expected auto, drawn or 3d"], "watch", "a", "--view", "side"
        )
        self.fails(
            2,
            ["view: got 3d, but CartPole-v1 has no view in three dimensions"],
            "watch",
            "a",
            "--view",
            "3d",
        )
        for flag, value in (
            ("--episodes", "0"),
            ("--episodes", "21"),
            ("--max_steps", "0"),
            ("--max_steps", "10001"),
            ("--seed", "-1"),
        ):
            self.fails(2, [flag], "watch", "a", flag, value)
        self.fails(2, ["watch --help"], "watch", "a", "--env_id", "CartPole-v1")
        self.assertEqual(self.run_program("watch").returncode, 2)
        self.fails(3, ["nowhere/page.html"], "watch", "a", "--out", "nowhere/page.html")
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "a", "watch.html")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
