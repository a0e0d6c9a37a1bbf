"""What programs of before have written is read, goes on, and is made again to the bit.

Each folder here was written by one revision (README.md) and is never written again: a format that moves gets another.
"""
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
HERE = pathlib.Path(__file__).resolve().parent
KEPT = sorted(path for path in HERE.iterdir() if path.is_dir() and path.name[0].isdigit())
RUNS = sorted(path.parent.relative_to(HERE) for path in HERE.glob("*/*/manifest.json"))
STORES = sorted(path.parent.relative_to(HERE) for path in HERE.glob("*/store.sql"))


def manifest(run):
    return json.loads((run / "manifest.json").read_text(encoding="utf-8"))


def played_by_a_policy(run):
    """The laboratory is for these, and audits are."""
    return manifest(HERE / run)["config"].get("algorithm", "ppo") == "ppo"


class Kept(unittest.TestCase):
    def setUp(self):
        self.assertTrue(RUNS and STORES)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for path in KEPT:
            shutil.copytree(path, self.folder / path.name)
        self.program(".", "train", "--num_envs", "1", "--num_steps", "8", "--total_timesteps", "8", "--out", "probe", "--quiet")
        if manifest(self.folder / "probe")["bits"] != "common":
            self.skipTest("NOT TESTED: the files have everybody's bits, and this processor has its own")

    def program(self, where, *arguments):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder / where, capture_output=True, text=True, timeout=120,
                              check=False)
        self.assertEqual(done.returncode, 0, f"{where}: {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def test_checkpoints_are_evaluated(self):
        for run in RUNS:
            kept = (HERE / run / "eval.jsonl").read_text(encoding="utf-8").splitlines()[-1]
            score = json.loads(self.program(run.parent, "eval", run.name, "--episodes", "5", "--seed", "1", "--json"))
            self.assertEqual(score["mean_return"], json.loads(kept)["mean_return"], run)

    def test_runs_go_on_as_if_they_had_never_stopped(self):
        for run in RUNS:
            self.program(run.parent, "train", "--resume", run.name, "--total_timesteps", "2560", "--quiet")
            settings = manifest(self.folder / run)["config"]
            flags = [word for key, text in settings.items() for word in (f"--{key}", text) if text]
            self.program(run.parent, "train", *flags, "--out", f"whole_{run.name}", "--quiet")
            went_on, whole = (self.folder / run / "hashes.bin", self.folder / run.parent / f"whole_{run.name}" / "hashes.bin")
            self.assertEqual(went_on.read_bytes(), whole.read_bytes(), run)

    def test_ledger_lines_are_made_again(self):
        for where in (path.name for path in KEPT):
            lines = (HERE / where / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
            for line in range(1, len(lines) + 1):
                self.assertIn("fields that must agree do", self.program(where, "rerun", f"ledger.jsonl:{line}", "--out", f"again_{line}"))

    def test_runs_are_looked_over(self):
        for run in filter(played_by_a_policy, RUNS):
            self.program(run.parent, "audit", run.name, "--threads", "1")
            if manifest(HERE / run)["config"].get("encoder", "mlp") != "mlp":
                continue  # the laboratory takes minutes on pictures
            self.program(run.parent, "gradients", run.name, "--batch", "16", "--blocks", "10", "--out", f"gradients_{run.name}.json")

    def test_stores_are_reported_and_are_those_of_their_studies(self):
        for where in STORES:
            store = self.folder / where / "kept.sqlite"
            with sqlite3.connect(store) as connection:
                connection.executescript((self.folder / where / "store.sql").read_text(encoding="utf-8"))
                connection.execute("PRAGMA application_id = 1114786925")
                connection.execute("PRAGMA user_version = 1")
            self.assertIn("6 of 6 runs", self.program(where, "report", "kept.sqlite"))
            before = store.stat().st_size
            self.program(where, "study", "study.toml", "--out", "kept.sqlite")
            self.assertEqual(store.stat().st_size, before)  # every run is there


if __name__ == "__main__":
    unittest.main(verbosity=2)
