"""Held-out panels through the program: train, eval, compare and rerun with --panel."""

import csv
import io
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from program_test_case import PROGRAM, ProgramTest

SMALL = ["--total_timesteps", "1024", "--num_envs", "2", "--num_steps", "64", "--quiet"]
PANEL = """env_id = "CartPole-v1"
episodes = 20
seeds = [1, 2]
[strata.short]
half_length = [0.2, 0.4]
[strata.long]
half_length = [1, 2]
[perturbations.noisy]
obs_noise = 0.1
"""
ROWS = [
    "long/nominal",
    "long/noisy",
    "short/nominal",
    "short/noisy",
    "all/nominal",
    "all/noisy",
    "all/all",
]


class Panels(ProgramTest):
    """All in one folder, with two runs that are made once."""

    def setUp(self):
        pass

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.write("p.toml", PANEL)
        for name, seed in (("a", "1"), ("b", "2")):
            cls.run_program("train", *SMALL, "--seed", seed, "--out", name, "--ledger", "none")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def run_program(cls, *arguments):
        return subprocess.run(
            [PROGRAM, *arguments], capture_output=True, text=True, cwd=cls.folder.name, timeout=120
        )

    @classmethod
    def write(cls, name, text):
        with open(os.path.join(cls.folder.name, name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(os.path.join(self.folder.name, name), encoding="utf-8") as file:
            return file.read()

    def result_file(self, run):
        names = [
            name
            for name in os.listdir(os.path.join(self.folder.name, run))
            if name.startswith("panel-")
        ]
        self.assertEqual(len(names), 1)
        return f"{run}/{names[0]}"

    def test_eval_shows_and_keeps_every_row(self):
        text = self.run_program("eval", "a", "--panel", "p.toml")
        self.assertEqual((text.returncode, text.stderr), (0, ""))
        self.assertIn("CartPole-v1, 4 rows of 40 episodes (seeds 1, 2)\n", text.stdout)
        lines = text.stdout.splitlines()
        self.assertEqual(
            [tuple(line.split()[:2]) for line in lines[3:10]],
            [tuple(row.split("/")) for row in ROWS],
        )
        answer = self.object_of("eval", "a", "--panel", "p.toml", "--json", "--threads", "3")
        kept = json.loads(self.read(answer["file"]))
        self.assertEqual(answer["file"], self.result_file("a"))
        self.assertEqual(list(kept["panel"]["rows"]), ROWS)
        self.assertEqual(kept["panel"], answer["panel"])
        row = kept["panel"]["rows"]["short/noisy"]
        own = kept["episodes"]["short/noisy"]
        self.assertEqual((row["episodes"], len(own["returns"]), len(own["keys"])), (40, 40, 2))
        self.assertAlmostEqual(row["mean_return"], sum(own["returns"]) / 40)
        self.assertEqual(row["success_rate"], own["success"].count(1) / 40)
        self.assertEqual(sum(row["reasons"].values()), 40)
        self.assertAlmostEqual(
            row["success_rate"] + row["failure_rate"], 1
        )  # CartPole: falls or stands

    def test_tables_for_papers(self):
        markdown = self.run_program(
            "eval", "a", "--panel", "p.toml", "--markdown"
        ).stdout.splitlines()
        self.assertEqual(len(markdown), 2 + len(ROWS))
        self.assertTrue(all(line.startswith("| ") and line.count("|") == 8 for line in markdown))
        rows = list(
            csv.DictReader(
                io.StringIO(self.run_program("eval", "a", "--panel", "p.toml", "--csv").stdout)
            )
        )
        self.assertEqual([f"{row['stratum']}/{row['perturbation']}" for row in rows], ROWS)
        self.assertEqual(
            sum(int(rows[0][reason]) for reason in ("cart_left_track", "pole_fell", "time_limit")),
            40,
        )
        runs = list(
            csv.DictReader(
                io.StringIO(
                    self.run_program("compare", "a", "b", "--panel", "p.toml", "--csv").stdout
                )
            )
        )
        self.assertEqual([row["run"] for row in runs], ["a", "b"] * len(ROWS))
        self.assertEqual({runs[0][c] for c in runs[0] if "difference" in c}, {""})
        self.assertNotEqual(runs[1]["return_difference"], "")

    def test_compare_plays_all_runs_on_the_same_episodes(self):
        text = self.run_program("compare", "a", "b", "--panel", "p.toml")
        self.assertEqual((text.returncode, text.stderr), (0, ""))
        self.assertIn("Differences are to a", text.stdout)
        answer = self.object_of("compare", "a", "b", "--panel", "p.toml", "--json")
        self.assertEqual([run["run"] for run in answer["runs"]], ["a", "b"])
        self.assertNotEqual(answer["runs"][0]["episodes_hash"], answer["runs"][1]["episodes_hash"])
        for name in ROWS:
            first, second = answer["differences"][name]
            means = [run["rows"][name]["mean_return"] for run in answer["runs"]]
            self.assertAlmostEqual(second["return_difference"]["value"], means[1] - means[0])
            for difference in ("return_difference", "success_difference"):
                self.assertEqual(first[difference], {"value": None, "low": None, "high": None})

    def test_what_is_not_there_is_not_compared(self):
        self.fails(3, ["'nothing'"], "compare", "nothing", "a")

    def test_a_run_is_not_compared_with_itself(self):
        self.run_program("eval", "a", "--panel", "p.toml", "--quiet")
        kept = self.result_file("a")
        shutil.copy(
            os.path.join(self.folder.name, kept), os.path.join(self.folder.name, "copy.json")
        )
        for first, second in (("a", "a"), ("a", "./a/"), ("a", kept), (kept, "copy.json")):
            self.fails(
                2,
                [f"'{first}' and '{second}'", "leave one out"],
                "compare",
                "b",
                first,
                second,
                "--panel",
                "p.toml",
                "--quiet",
            )

    def test_results_that_were_kept_are_compared_as_the_runs_are(self):
        played = self.run_program("compare", "a", "b", "--panel", "p.toml", "--csv").stdout
        for run in "ab":
            self.run_program("eval", run, "--panel", "p.toml", "--quiet")
        files = [self.result_file(run) for run in "ab"]
        kept = self.run_program("compare", *files, "--csv").stdout
        self.assertEqual(kept.replace(files[0], "a").replace(files[1], "b"), played)
        mixed = self.run_program("compare", files[0], "b", "--panel", "p.toml", "--csv").stdout
        self.assertEqual(mixed.replace(files[0], "a"), played)
        self.fails(2, ["'b' is a run", "--panel FILE"], "compare", files[0], "b")
        self.write("q.toml", PANEL.replace("20", "21"))
        self.fails(6, ["result on panel", "q.toml"], "compare", files[0], "b", "--panel", "q.toml")
        other = json.loads(self.read(files[0]))
        other["program"]["binary_hash"] = "0" * 32
        self.write("other.json", json.dumps(other, separators=(",", ":")) + "\n")
        self.fails(
            6, ["cannot be compared", "programs have the hashes"], "compare", files[1], "other.json"
        )
        self.write("cut.json", self.read(files[0])[:1000])
        self.fails(5, ["'cut.json'", "not a panel's result"], "compare", files[1], "cut.json")

    def test_wrong_panels(self):
        self.fails(3, ["panel 'none.toml'"], "eval", "a", "--panel", "none.toml")
        self.write("bad.toml", PANEL + "[strata.extra]\nhalf_lenght = 1\n")
        self.fails(
            2, ["bad.toml:11", "did you mean 'half_length'"], "eval", "a", "--panel", "bad.toml"
        )
        self.write("other.toml", 'env_id = "Acrobot-v1"\n')
        self.fails(
            6,
            ["the panel is for Acrobot-v1, but the run is of CartPole-v1"],
            "eval",
            "a",
            "--panel",
            "other.toml",
        )
        self.fails(
            6, ["b: the panel is for", "Acrobot-v1"], "compare", "b", "a", "--panel", "other.toml"
        )
        self.fails(
            6,
            ["the panel is for Acrobot-v1"],
            "train",
            *SMALL,
            "--out",
            "x",
            "--panel",
            "other.toml",
        )
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "x")))
        self.fails(
            2, ["--panel", "--episodes"], "eval", "a", "--panel", "p.toml", "--episodes", "3"
        )
        self.fails(2, ["--csv", "--panel"], "eval", "a", "--csv")
        for command in (["eval", "a"], ["compare", "a", "b"]):
            for form in ("--csv", "--markdown"):
                error = self.object_of(*command, "--panel", "p.toml", "--json", form, code=2)[
                    "error"
                ]
                self.assertIn(f"{form} excludes --json", error)
        self.fails(3, ["no run folder 'none'"], "compare", "a", "none", "--panel", "p.toml")
        self.fails(2, ["got --panel"], "train", "--resume", "a", "--panel", "p.toml")
        self.write(
            "large.toml", 'env_id = "CartPole-v1"\nepisodes = 1000000\nseeds = [1, 2, 3, 4]\n'
        )
        self.fails(
            2,
            ["playing the panel needs", "100.0 MB", "memory_limit"],
            "train",
            *SMALL,
            "--memory_limit",
            "100",
            "--out",
            "x",
            "--panel",
            "large.toml",
        )
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "x")))

    def test_the_panel_of_a_run_is_the_one_it_was_started_with(self):
        self.run_program("train", *SMALL, "--out", "own/a", "--panel", "p.toml")
        for name in ("ledger_line.json", "panel.toml"):
            os.remove(os.path.join(self.folder.name, "own/a", name))
        self.fails(
            6, ["own/a/panel.toml", "got hash none"], "train", "--resume", "own/a", "--quiet"
        )
        self.write("own/a/panel.toml", PANEL.replace("episodes = 20", "episodes = 2"))
        self.fails(
            6,
            ["own/a/panel.toml", "is not the panel that the run was started with", "--panel FILE"],
            "train",
            "--resume",
            "own/a",
            "--quiet",
        )
        self.write("a/panel.toml", PANEL)
        self.fails(6, ["a/panel.toml", "expected no panel"], "train", "--resume", "a", "--quiet")
        os.remove(os.path.join(self.folder.name, "a/panel.toml"))

    def test_a_panel_is_recorded_and_rerun(self):
        trained = self.run_program("train", *SMALL[:-1], "--out", "scored/a", "--panel", "p.toml")
        self.assertIn("4 rows of 40 episodes (seeds 1, 2), at the end\n", trained.stdout)
        self.assertRegex(
            trained.stdout, r"Panel, all rows: success [\d.]+ \[.*\] %, return .*, 160 episodes\n"
        )
        line = self.read("scored/ledger.jsonl")
        record = json.loads(line)
        self.assertEqual(list(record["panel"]["rows"]), ROWS)
        again = self.object_of(
            "rerun", "scored/ledger.jsonl:1", "--out", "again", "--json", "--quiet"
        )
        fields = {field["name"]: field for field in again["fields"]}
        self.assertTrue(again["agrees"])
        self.assertTrue(fields["panel.rows.all/all.success_rate"]["agrees"])
        text = self.run_program("rerun", "scored/a", "--out", "again_a")
        self.assertRegex(text.stdout, r"agrees +panel +\d+ values\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
