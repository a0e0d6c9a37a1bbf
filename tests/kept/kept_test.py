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


class Kept(unittest.TestCase):
    def setUp(self):
        self.assertTrue(KEPT)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for path in KEPT:
            shutil.copytree(path, self.folder / path.name)
        self.program(".", "train", "--num_envs", "1", "--num_steps", "8", "--total_timesteps", "8", "--out", "probe", "--quiet")
        if json.loads((self.folder / "probe" / "manifest.json").read_text(encoding="utf-8"))["bits"] != "common":
            self.skipTest("NOT TESTED: the files have everybody's bits, and this processor has its own")

    def program(self, where, *arguments):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder / where, capture_output=True, text=True, timeout=120,
                              check=False)
        self.assertEqual(done.returncode, 0, f"{where}: {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def test_checkpoints_are_evaluated(self):
        for where in (path.name for path in KEPT):
            kept = (KEPT[0].parent / where / "run" / "eval.jsonl").read_text(encoding="utf-8").splitlines()[-1]
            score = json.loads(self.program(where, "eval", "run", "--episodes", "5", "--seed", "1", "--json"))
            self.assertEqual(score["mean_return"], json.loads(kept)["mean_return"])

    def test_runs_go_on_as_if_they_had_never_stopped(self):
        for where in (path.name for path in KEPT):
            self.program(where, "train", "--resume", "run", "--total_timesteps", "2560", "--quiet")
            settings = json.loads((self.folder / where / "run" / "manifest.json").read_text(encoding="utf-8"))["config"]
            flags = [word for key, text in settings.items() for word in (f"--{key}", text) if text]
            self.program(where, "train", *flags, "--out", "whole", "--quiet")
            last = [(self.folder / where / run / "hashes.bin").read_bytes() for run in ("run", "whole")]
            self.assertEqual(last[0], last[1])

    def test_ledger_lines_are_made_again(self):
        for where in (path.name for path in KEPT):
            self.assertIn("fields that must agree do", self.program(where, "rerun", "ledger.jsonl:1", "--out", "again"))

    def test_runs_are_looked_over(self):
        for where in (path.name for path in KEPT):
            self.program(where, "audit", "run", "--threads", "1")
            self.program(where, "gradients", "run", "--batch", "16", "--blocks", "10", "--out", "gradients.json")

    def test_stores_are_reported_and_are_those_of_their_studies(self):
        for where in (path.name for path in KEPT):
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
