#!/usr/bin/env python3
"""The zoo: its table agrees with its settings, and training gives its policies again, to the bit.

zoo_test.py PROGRAM ROOT
"""

import csv
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(2)).resolve()
from program_test_case import ProgramTest  # noqa: E402

sys.path.insert(0, str(ROOT / "experiments" / "zoo"))
import make  # noqa: E402

QUICK = ("CartPole-v1", "Dials-v0")


def rows():
    with (ROOT / "experiments/zoo/results.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Kept(unittest.TestCase):
    """experiments/zoo/results.csv beside the settings of configs/zoo."""

    def test_every_settings_file_has_its_row(self):
        files = {path.name for path in (ROOT / "configs/zoo").glob("*.toml")}
        self.assertEqual(files, {make.settings_file(row["task"]).name for row in rows()})

    def test_settings_are_those_that_were_measured(self):
        for row in rows():
            with self.subTest(row["task"]):
                self.assertEqual(make.settings_hash(row["task"]), row["settings"])
                text = make.settings_file(row["task"]).read_text(encoding="utf-8")
                self.assertIn(f'\nenv_id = "{row["task"]}"\nseed = {row["seed"]}\n', text)

    def test_the_table_follows_from_the_kept_runs(self):
        made = [{key: str(row.get(key, "")) for key in make.COLUMNS} for row in make.results()]
        self.assertEqual(rows(), made)

    def test_the_page_has_the_table(self):
        page = (ROOT / "experiments/zoo/README.md").read_text(encoding="utf-8").splitlines()
        for line in make.table(rows()):
            self.assertIn(line, page)

    def test_the_program_reads_the_same_table(self):
        ours = (ROOT / "experiments/zoo/results.csv").read_bytes()
        self.assertEqual((ROOT / "configs/zoo/results.csv").read_bytes(), ours)


class Zoo(ProgramTest):
    def test_lists_every_task_with_its_return(self):
        listed = self.object_of("zoo", "--json")["zoo"]
        self.assertEqual([one["task"] for one in listed], [row["task"] for row in rows()])
        for one, row in zip(listed, rows()):
            self.assertAlmostEqual(one["return"]["mean"], float(row["return"]))
            self.assertEqual(one["parameters_hash"], row["parameters_hash"])
        text = self.run_program("zoo").stdout
        self.assertIn("threshold 475", text)
        self.assertIn("gymnax-blines: 28", text)

    def test_goals_are_those_of_the_environments(self):
        known = {one["id"]: one for one in self.object_of("env", "list", "--json")["environments"]}
        for row in rows():
            for column, key in (
                ("threshold", "reward_threshold"),
                ("reference", "reference_score"),
            ):
                goal = known.get(row["task"], {}).get(key)
                if row["task"] not in known:  # a build without its simulator
                    continue
                self.assertEqual(row[column] == "", goal is None, row["task"])
                if goal is not None:
                    self.assertAlmostEqual(float(row[column]), goal, 6, row["task"])

    def has_common_bits(self, run):
        """Not so with an instruction set without fused multiply-add."""
        manifest = pathlib.Path(self.folder.name, run, "manifest.json")
        return json.loads(manifest.read_text())["bits"] == "common"

    def test_training_gives_the_kept_policy(self):
        for task in QUICK:
            row = next(row for row in rows() if row["task"] == task)
            found = self.object_of("train", "--zoo", task, "--out", task, "--json", "--quiet")
            if not self.has_common_bits(task):
                self.skipTest("this processor has no fused multiply-add")
            self.assertEqual(found["zoo"]["parameters_hash"], row["parameters_hash"])
            self.assertTrue(found["zoo"]["same"])
        score = self.object_of(
            "eval", "CartPole-v1", "--episodes", "200", "--seed", "2", "--json", "--quiet"
        )
        row = next(row for row in rows() if row["task"] == "CartPole-v1")
        self.assertAlmostEqual(score["mean_return"], float(row["return"]), 3)

    def test_shows_commands_that_run(self):
        text = self.run_program("zoo", "Dials-v0").stdout
        (train,) = [line for line in text.splitlines() if "train --zoo" in line]
        words = train.split(" broadloom ")[1].split()
        trained = self.run_program(*words).stdout
        self.assertIn("to the bit" if self.has_common_bits(words[-1]) else "--isa exact", trained)
        (watch,) = [line for line in text.splitlines() if " watch " in line]
        self.assertEqual(self.run_program(*watch.split(" broadloom ")[1].split()).returncode, 0)

    def test_bits_of_other_instructions_are_named(self):
        words = ["train", "--zoo", "Dials-v0", "--isa", "sse4", "--out", "sse4"]
        trained = self.run_program(*words)
        if trained.returncode != 0 or self.has_common_bits("sse4"):
            self.skipTest("this processor has no instruction set with bits of its own")
        self.assertIn("--isa exact has the zoo's", trained.stdout)

    def test_other_settings_are_not_the_zoos(self):
        found = self.object_of(
            "train", "--zoo", "Dials-v0", "--seed", "77", "--total_timesteps", "1024", "--json",
            "--quiet",
        )  # fmt: skip
        self.assertNotIn("zoo", found)
        self.assertEqual(found["total_timesteps"], 1024)
        manifest = json.loads(
            pathlib.Path(self.folder.name, found["run_dir"], "manifest.json").read_text()
        )
        self.assertIn("Dials-v0", json.dumps(manifest))

    def test_errors(self):
        self.fails(3, ["'CartPol-v1'", "did you mean 'CartPole-v1'?"], "zoo", "CartPol-v1")
        self.fails(3, ["did you mean 'CartPole-v1'?"], "train", "--zoo", "CartPol-v1")
        self.write("a.toml", "num_envs = 2\n")
        self.fails(2, ["--zoo"], "train", "a.toml", "--zoo", "CartPole-v1")
        self.fails(2, ["--zoo"], "train", "--resume", "runs/a", "--zoo", "CartPole-v1")


if __name__ == "__main__":
    unittest.main()
