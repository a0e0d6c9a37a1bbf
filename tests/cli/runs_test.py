"""Commands about several runs: `broadloom curve` and `broadloom diff`."""

import csv
import io
import os
import unittest
import xml.dom.minidom

from program_test_case import SMALL, ProgramTest


PANEL = """env_id = "CartPole-v1"
episodes = 2
seeds = [1]
"""


class Runs(ProgramTest):
    def test_curves_of_what_has_no_mean(self):
        for name, *flags in (
            ("a", "--seed", "1"),
            ("b", "--seed", "2"),
            ("c", "--learning_rate", "0.01"),
            ("d", "--total_timesteps", "2048"),
            ("e", "--disturb.obs_noise", "0.1"),
            ("f", "--env_id", "Acrobot-v1", "--max_episode_steps", "20"),
            ("g", "--max_episode_steps", "20"),
            ("h", "--max_episode_steps", "30"),
        ):
            self.assertEqual(
                self.run_program("train", *SMALL, "--out", name, "--quiet", *flags).returncode, 0
            )
        self.fails(2, ["'a' and 'f'", "env_id CartPole-v1 and Acrobot-v1"], "curve", "a", "f")
        self.fails(2, ["'b' and 'e'", "disturb.obs_noise"], "curve", "b", "e")
        self.fails(
            2, ["'g' and 'h'", "different tasks (max_episode_steps 20 and 30)"], "curve", "g", "h"
        )
        self.fails(2, ["'z.png'", ".svg"], "curve", "a", "--out", "z.png")
        self.fails(2, ["'a' and 'a' are the same run", "--seed"], "curve", "b", "a", "a")
        # "*" finds the ledger, too.
        beside = self.run_program("curve", "a", "b", "ledger.jsonl", "--out", "x.svg", "--quiet")
        self.assertEqual((beside.returncode, beside.stderr), (0, ""))
        os.remove(os.path.join(self.folder.name, "x.svg"))
        self.write("panel.toml", PANEL)
        beside = self.run_program(
            "compare", "a", "b", "ledger.jsonl", "--panel", "panel.toml", "--quiet"
        )
        self.assertEqual((beside.returncode, beside.stderr), (0, ""))
        self.fails(
            2, ["got fewer than two runs"], "compare", "a", "ledger.jsonl", "--panel", "panel.toml"
        )
        self.assertFalse(
            [name for name in os.listdir(self.folder.name) if name.endswith((".svg", ".png"))]
        )
        own_limit = self.run_program("curve", "a", "g")  # 0 may be the same number
        self.assertEqual(own_limit.returncode, 0, own_limit.stderr)
        self.assertIn(">max_episode_steps=20, 1 run<", self.drawn())
        same = self.run_program("curve", "a", "b", "--title", "")
        self.assertEqual((same.returncode, same.stderr), (0, ""))
        self.assertIn(">2 runs; line: interquartile mean over seeds; band: ", self.drawn())
        other = self.run_program("curve", "a", "b", "c", "d")
        self.assertEqual(other.returncode, 0)
        self.assertEqual(other.stderr, "")
        # A line for each setting, over its seeds.
        for name in (
            "learning_rate=0.00025 total_timesteps=1024, 2 runs",
            "learning_rate=0.01 total_timesteps=1024, 1 run",
            "learning_rate=0.00025 total_timesteps=2048, 1 run",
        ):
            self.assertIn(f">{name}<", self.drawn())
        self.assertIn("CartPole-v1: return while training", self.drawn())
        alone = self.run_program("curve", "a")
        self.assertRegex(alone.stdout, r"^a/learning_curve\.svg\nNext: .*browser\n$")  # in the run
        self.assertEqual(self.run_program("curve", "a", "c", "--quiet").stderr, "")

    def drawn(self):
        with open(os.path.join(self.folder.name, "learning_curve.svg"), encoding="utf-8") as file:
            return file.read()

    def test_text_of_others_is_text(self):
        name = "a|<b>_c\x1b[31m"
        self.run_program("train", *SMALL, "--out", name, "--quiet")
        self.run_program("train", *SMALL, "--out", "=1+1", "--quiet")
        panel = self.write("p.toml", "env_id = 'CartPole-v1'\nepisodes = 2\n")
        compare = ["compare", name, "=1+1", "--panel", panel]
        markdown = self.run_program(*compare, "--markdown").stdout
        self.assertIn("a\\|\\<b\\>\\_c\\\\x1b[31m", markdown)
        self.assertNotIn(
            "\x1b",
            markdown + self.run_program(*compare).stdout + self.run_program("eval", name).stdout,
        )
        rows = list(csv.reader(io.StringIO(self.run_program(*compare, "--csv").stdout)))
        self.assertIn("'=1+1", sum(rows, []))
        for title in ("a]]>b", "<g>\x01 & 'c' \udcff"):
            drawn = self.run_program("curve", name, "--title", title, "--out", "x.svg")
            self.assertEqual(drawn.returncode, 0, drawn.stderr)
            xml.dom.minidom.parse(os.path.join(self.folder.name, "x.svg"))
        code, text = self.on_a_terminal("eval", "nothing\x1b]0;title\x07")
        self.assertNotIn("\x1b", text)
        self.assertIn("nothing\\x1b]0;title\\x07", text)

    def test_files_and_folders_that_are_no_runs(self):
        self.run_program("train", *SMALL, "--out", "a", "--quiet", "--hashes")
        self.write("x.sqlite", "SQLite format 3\0")
        for command in (["curve"], ["diff", "a"]):
            self.fails(
                3,
                [
                    "'x.sqlite' is a file, expected the folder of a run",
                    "`broadloom report x.sqlite`",
                ],
                *command,
                "x.sqlite",
            )
            self.fails(
                3,
                ["'a/metrics.jsonl' is a file", "name the run", ", 'a'"],
                *command,
                "a/metrics.jsonl",
            )
            self.fails(3, ["no run folder 'none'"], *command, "none")

    def test_instruction_sets_are_no_reason_for_different_results(self):
        for name, *flags in (("a", "--seed", "1"), ("b", "--seed", "1"), ("c", "--seed", "2")):
            self.run_program(
                "train", *SMALL, "--out", name, "--quiet", "--hashes", "--isa", "exact", *flags
            )
        for name in "bc":  # as on a machine of another kind
            path = os.path.join(self.folder.name, name, "manifest.json")
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.write(path, text.replace('"isa": "exact"', '"isa": "neon"'))
        self.assertEqual(
            self.run_program("diff", "a", "b").stdout,
            "These change the speed only:\n"
            "  isa                  exact | neon\nEqual in all 8 iterations that both runs have.\n",
        )
        other = self.object_of("diff", "a", "c", "--json", code=6)
        self.assertEqual((other["settings"], other["origins"]), ({"seed": ["1", "2"]}, {}))
        self.assertEqual(other["speed_alone"], {"isa": ["exact", "neon"]})
        self.write(path, text.replace('"isa": "exact"', '"isa": "sse4"'))  # has bits of its own
        other = self.object_of("diff", "a", "c", "--json", code=6)
        self.assertEqual(
            (other["settings"]["isa"], other["origins"]["isa"]),
            (["exact", "sse4"], ["exact", "sse4"]),
        )
        self.assertEqual(other["speed_alone"], {})

    def test_diff(self):
        for name, extra in (
            ("a", []),
            ("b", ["--eval_interval", "1"]),
            ("c", ["--seed", "2"]),
            ("d", []),
        ):
            hashes = [] if name == "d" else ["--hashes"]
            self.run_program("train", *SMALL, "--out", name, "--quiet", *hashes, *extra)
        same = self.object_of("diff", "a", "b", "--json")
        self.assertEqual((same["equal"], same["compared"], same["parting"]), (True, 8, None))
        self.assertEqual(same["settings"], {"eval_interval": ["0", "1"]})
        self.assertIn("Equal in all 8 iterations", self.run_program("diff", "a", "b").stdout)
        other = self.object_of("diff", "a", "c", "--json", code=6)
        self.assertEqual(
            other["parting"],
            {
                "iteration": 1,
                "field": "observations",
                "step": 0,
                "environments": [0, 1],
                "global_step": 2,
            },
        )
        text = self.run_program("diff", "a", "c")
        self.assertEqual((text.returncode, text.stderr), (6, ""))
        self.assertRegex(text.stdout, r"seed +1 \| 2\n")
        self.assertIn(
            "at step 0 of iteration 1 (global step 2), in observations of at least one of 2 "
            "environments (0, 1)",
            text.stdout,
        )
        self.fails(3, ["'d' has no hashes.bin", "--hashes"], "diff", "a", "d")
        os.truncate(os.path.join(self.folder.name, "b", "hashes.bin"), 64)
        self.fails(3, ["nothing to compare", "cut short"], "diff", "a", "b")
        self.fails(3, ["no run folder 'none'"], "diff", "none", "a")


if __name__ == "__main__":
    unittest.main(verbosity=2)
