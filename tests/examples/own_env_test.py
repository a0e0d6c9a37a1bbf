"""examples/own_env as a program: every command for a user's environment, and plain broadloom's
errors about such runs. The lines of docs/own_environment.md run as they stand."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

BUILD, BROADLOOM, SOURCE = (os.path.abspath(path) for path in sys.argv[1:4])
del sys.argv[1:4]
OWN = os.path.join(BUILD, "own_env")
SMALL = [
    "--env_id",
    "Hover-v0",
    "--num_envs",
    "4",
    "--num_steps",
    "64",
    "--hidden_sizes",
    "16,16",
    "--quiet",
    "--threads",
    "1",
]
PANEL = """env_id = "Hover-v0"
episodes = 4
seeds = [1]
[strata.light]
gravity = [5.0, 9.0]
[strata.heavy]
gravity = [10.0, 12.0]
[perturbations.noisy]
obs_noise = 0.1
"""


class OwnEnv(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        with open(os.path.join(cls.folder, "panel.toml"), "w", encoding="utf-8") as file:
            file.write(PANEL)
        cls.own(
            "train",
            *SMALL,
            "--total_timesteps",
            "4096",
            "--lr_schedule",
            "constant",
            "--hashes",
            "--out",
            "runs/a",
        )

    @classmethod
    def call(cls, program, *arguments):
        return subprocess.run(
            [program, *arguments], capture_output=True, text=True, cwd=cls.folder, timeout=250
        )

    @classmethod
    def own(cls, *arguments, codes=(0,)):
        result = cls.call(OWN, *arguments)
        if result.returncode not in codes:
            raise AssertionError(
                f"{arguments}: {result.returncode}\n{result.stdout}\n{result.stderr}"
            )
        return result

    def object_of(self, *arguments):
        return json.loads(self.own(*arguments, "--json").stdout)

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def records(self):
        return [json.loads(line) for line in self.read("runs/ledger.jsonl").splitlines()]

    def test_env_list_show_and_bench(self):
        listed = {
            env["id"]: env["built_in"] for env in self.object_of("env", "list")["environments"]
        }
        self.assertEqual((listed["Hover-v0"], listed["CartPole-v1"]), (False, True))
        lines = self.own("env", "list").stdout.splitlines()
        self.assertEqual(
            [line.split()[0] for line in lines if "registered by this program" in line],
            ["Hover-v0"],
        )
        options = [
            option["name"] for option in self.object_of("env", "show", "Hover-v0")["options"]
        ]
        mirrors = ["mirror_obs", "mirror_action", "mirror_critic"]
        wrappers = [
            "scale_actions", *mirrors, "hide_obs", "hide_from", "frame_stack", "frame_stack_of",
            "frame_padding",
        ]  # fmt: skip
        self.assertEqual(options, ["gravity", "max_thrust", "target", *wrappers])
        self.assertGreater(
            self.object_of("env", "bench", "Hover-v0", "--num_steps", "100", "--threads", "1")[
                "episodes"
            ],
            0,
        )

    def test_help_errors_and_hints_name_the_program(self):
        self.assertIn("own_env train --env_id Hover-v0", self.own("--help").stdout)
        wrong = self.own("eval", "nowhere", codes=(3,)).stderr
        self.assertTrue(wrong.startswith("own_env: "), wrong)
        trained = self.own(
            "train",
            *(flag for flag in SMALL if flag != "--quiet"),
            "--total_timesteps",
            "512",
            "--out",
            "named/a",
            "--ledger",
            "none",
        ).stdout
        self.assertIn("Next: own_env eval named/a", trained)

    def test_disturbances_are_flags(self):
        self.own(
            "train",
            *SMALL,
            "--total_timesteps",
            "512",
            "--disturb.obs_noise",
            "0.1",
            "--out",
            "noise/a",
            "--ledger",
            "none",
        )
        self.assertEqual(
            json.loads(self.read("noise/a/manifest.json"))["config"]["disturb.obs_noise"], "0.1"
        )

    def test_options_are_flags(self):
        self.own(
            "train",
            *SMALL,
            "--total_timesteps",
            "512",
            "--env.gravity",
            "5",
            "--out",
            "options/a",
            "--ledger",
            "none",
        )
        self.assertEqual(
            json.loads(self.read("options/a/manifest.json"))["config"]["env.gravity"], "5"
        )
        wrong = self.own("train", *SMALL, "--env.gravty", "5", codes=(2,)).stderr
        self.assertIn("did you mean 'gravity'?", wrong)

    def test_a_resumed_run_ends_as_one_that_was_never_stopped(self):
        flags = [*SMALL, "--lr_schedule", "constant", "--hashes"]
        self.own(
            "train", *flags, "--total_timesteps", "2048", "--out", "resumed/a", "--ledger", "none"
        )
        self.own(
            "train",
            "--resume",
            "resumed/a",
            "--total_timesteps",
            "4096",
            "--quiet",
            "--threads",
            "1",
            "--ledger",
            "resumed/l.jsonl",
        )
        resumed, whole = json.loads(self.read("resumed/l.jsonl")), self.records()[0]
        self.assertEqual(whole["contract"]["env_id"], "Hover-v0")
        self.assertEqual(resumed["result"]["state_hash"], whole["result"]["state_hash"])

    def test_eval_panel_compare_and_curve(self):
        self.assertEqual(self.object_of("eval", "runs/a", "--episodes", "10")["episodes"], 10)
        rows = self.own("eval", "runs/a", "--panel", "panel.toml").stdout
        for row in ("light", "heavy", "noisy"):
            self.assertIn(row, rows)
        self.own("curve", "runs/a", "--out", "curve.svg")
        self.assertEqual(
            self.object_of("watch", "runs/a", "--episodes", "2")["file"], "runs/a/watch.html"
        )
        self.assertIn('"env_id":"Hover-v0"', self.read("runs/a/watch.html"))
        self.assertEqual(
            self.object_of("export", "runs/a", "--out", "hover.onnx")["about"]["env_id"], "Hover-v0"
        )

    def test_rerun_and_diff(self):
        self.own("rerun", "runs/ledger.jsonl:1", "--out", "again", "--quiet")
        self.own("diff", "runs/a", "again")

    def test_audit_and_gradients(self):
        audit = self.own("audit", "runs/a", codes=(0, 20, 21)).stdout
        self.assertIn("Hover-v0, 4 x 64 blocks", audit)
        self.own(
            "gradients",
            "runs/a",
            "--batch",
            "64",
            "--blocks",
            "20",
            "--bias_budget",
            "20000",
            "--out",
            "gradients",
        )
        self.assertTrue(json.loads(self.read("gradients/gradients.json")))

    def test_study_and_report(self):
        flags = [flag for flag in SMALL if flag not in ("--quiet", "--threads", "1")]
        self.own(
            "study",
            *flags,
            "--total_timesteps",
            "1024",
            "--seeds",
            "2",
            "--grid",
            "learning_rate=1e-3,3e-4",
            "--out",
            "own.sqlite",
            "--quiet",
        )
        self.own("report", "own.sqlite", "--out", "report")
        self.assertIn("Hover-v0", self.read("report/study.json"))
        self.assertEqual(
            self.call(BROADLOOM, "report", "own.sqlite", "--out", "plain").returncode, 0
        )

    def test_advise(self):
        self.own(
            "advise",
            "--env_id",
            "Hover-v0",
            "--hidden_sizes",
            "16",
            "--steps",
            "60000",
            "--seeds",
            "1",
            "--threads",
            "1",
            "--out",
            "advice",
            "--quiet",
            codes=(0, 22),
        )
        self.assertEqual(json.loads(self.read("advice/advice.json"))["env_id"], "Hover-v0")

    def test_bench(self):
        with open(os.path.join(self.folder, "hover.toml"), "w", encoding="utf-8") as file:
            file.write('env_id = "Hover-v0"\nnum_envs = 4\nnum_steps = 16\n')
        self.assertIn(
            "hover", self.own("bench", "hover.toml", "--repeats", "1", "--seconds", "0.05").stdout
        )

    def test_plain_broadloom_says_that_another_program_knows_it(self):
        # A checkpoint describes the environment's spaces, other files only name it.
        by_checkpoint = ["eval", "train --resume", "audit", "watch", "gradients"]
        by_name = [
            ["train", "--env_id", "Hover-v0"],
            ["rerun", "runs/ledger.jsonl:1", "--out", "plain_again"],
            ["eval", "runs/a", "--panel", "panel.toml"],
            ["env", "show", "Hover-v0"],
        ]
        for call in [[*words.split(), "runs/a"] for words in by_checkpoint] + by_name:
            with self.subTest(call=call):
                result = self.call(BROADLOOM, *call)
                self.assertEqual(result.returncode, 3, result.stderr)
                if call in by_name:
                    self.assertIn("unknown environment 'Hover-v0'", result.stderr)
                    self.assertIn("use that program's commands", result.stderr)
                else:
                    self.assertIn("only the spaces of 'Hover-v0'", result.stderr)
                    self.assertIn("or use the program that registers it", result.stderr)
        result = self.call(BROADLOOM, "train", "--init", "runs/a")
        self.assertEqual(result.returncode, 6, result.stderr)
        self.assertIn("does not fit this run", result.stderr)

    def test_plain_broadloom_reads_what_needs_no_environment(self):
        for call in (
            ["curve", "runs/a", "--out", "plain.svg"],
            ["diff", "runs/a", "runs/a"],
            ["export", "runs/a", "--out", "plain.npz"],
        ):
            with self.subTest(call=call):
                result = self.call(BROADLOOM, *call)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_the_lines_of_the_page(self):
        with open(os.path.join(SOURCE, "docs", "own_environment.md"), encoding="utf-8") as file:
            blocks = re.findall(r"^```sh\n(.*?)^```$", file.read(), re.M | re.S)
        lines = [
            line
            for block in blocks
            for line in block.splitlines()
            if line.startswith(("build/own_env/own_env ", "build/own_env/own_loop "))
        ]
        self.assertGreater(len(lines), 2)
        clone = os.path.join(self.folder, "clone")
        os.makedirs(os.path.join(clone, "build"))
        os.symlink(BUILD, os.path.join(clone, "build", "own_env"))
        for line in lines:
            result = subprocess.run(
                ["bash", "-c", line], capture_output=True, text=True, cwd=clone, timeout=250
            )
            self.assertEqual(result.returncode, 0, f"{line}\n{result.stdout}\n{result.stderr}")


if __name__ == "__main__":
    unittest.main()
