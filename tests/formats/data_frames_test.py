"""Runs the lines for pandas in docs/study.md as they stand."""

import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import pandas

SOURCE, PROGRAM = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]


class DataFrames(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.run_program(
            "train",
            "--env_id",
            "CartPole-v1",
            "--total_timesteps",
            "4096",
            "--out",
            "runs/a",
            "--quiet",
        )
        self.run_program(
            "study",
            os.path.join(SOURCE, "configs/studies/two_tasks.toml"),
            "--total_timesteps",
            "4096",
            "--seeds",
            "2",
            "--eval_episodes",
            "2",
            "--no_report",
            "--quiet",
        )

    def run_program(self, *arguments):
        subprocess.run([PROGRAM, *arguments], check=True, timeout=100)

    def test_the_lines_of_the_page(self):
        with open(os.path.join(SOURCE, "docs/study.md"), encoding="utf-8") as file:
            parts = re.findall(r"^```python\n(.*?)^```$", file.read(), re.M | re.S)
        (lines,) = [part for part in parts if "import pandas" in part]
        names = {}
        exec(lines, names)
        metrics, curves, means, scores = (
            names[name] for name in ("metrics", "curves", "means", "scores")
        )
        self.assertEqual(metrics["global_step"].iloc[-1], 4096)
        for frame in (curves, scores):
            self.assertEqual(set(frame["env_id"]), {"CartPole-v1", "Acrobot-v1"})
            self.assertTrue(pandas.api.types.is_float_dtype(frame["learning_rate"]))
            self.assertEqual(set(frame["learning_rate"]), {0.00025, 0.001})
            self.assertEqual(set(frame["num_steps"]), {128})
        self.assertEqual(set(scores["cell_id"]), {1, 2, 3, 4})
        self.assertEqual(len(scores), 8)
        # A mean that the settings picked, beside one by the cell's id.
        store = sqlite3.connect("studies/two_tasks.sqlite")
        (cell,) = store.execute(
            "SELECT id FROM cells WHERE name = 'env_id=CartPole-v1 learning_rate=0.001'"
        ).fetchone()
        (steps, mean) = store.execute(
            "SELECT environment_steps, avg(value) FROM learning_curves WHERE cell_id = ? AND"
            " key = 'episodic_return' GROUP BY 1 ORDER BY 1 DESC LIMIT 1",
            (cell,),
        ).fetchone()
        store.close()
        names["store"].close()
        self.assertAlmostEqual(means["CartPole-v1", 0.001, steps], mean)


if __name__ == "__main__":
    unittest.main()
