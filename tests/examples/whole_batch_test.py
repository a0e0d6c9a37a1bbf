"""examples/whole_batch as a program: every command for a simulator that steps all environments at
once."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD, BROADLOOM, SOURCE = (os.path.abspath(path) for path in sys.argv[1:4])
del sys.argv[1:4]
FLEET = os.path.join(BUILD, "fleet")
SMALL = [
    "--env_id",
    "Fleet-v0",
    "--num_envs",
    "24",
    "--num_steps",
    "32",
    "--hidden_sizes",
    "16,16",
    "--lr_schedule",
    "constant",
    "--quiet",
]
PANEL = """env_id = "Fleet-v0"
episodes = 6
seeds = [1]
[perturbations.noisy]
obs_noise = 0.1
"""


class WholeBatch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        with open(os.path.join(cls.folder, "panel.toml"), "w", encoding="utf-8") as file:
            file.write(PANEL)
        cls.fleet("train", *SMALL, "--total_timesteps", "6144", "--threads", "1", "--out", "runs/a")

    @classmethod
    def fleet(cls, *arguments, codes=(0,)):
        result = subprocess.run(
            [FLEET, *arguments], capture_output=True, text=True, cwd=cls.folder, timeout=250
        )
        if result.returncode not in codes:
            raise AssertionError(
                f"{arguments}: {result.returncode}\n{result.stdout}\n{result.stderr}"
            )
        return result

    def object_of(self, *arguments):
        return json.loads(self.fleet(*arguments, "--json").stdout)

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def line(self, name):
        return json.loads(self.read(name))

    def test_it_is_as_it_must_be(self):
        report = self.object_of("env", "check", "Fleet-v0")
        self.assertTrue(report["agrees"])
        left_out = [check["name"] for check in report["checks"] if check["left_out"]]
        self.assertEqual(
            left_out,
            [
                "frame stacks",
                "steps do not depend on ranges, their order or concurrency",
                "sums over steps",
                "context values",
                "action masks",
                "mirrored play",
                "steps allocate nothing",
            ],
        )

    def test_it_learns(self):
        self.fleet(
            "train",
            *SMALL,
            "--total_timesteps",
            "100000",
            "--learning_rate",
            "3e-3",
            "--norm_reward",
            "true",
            "--out",
            "learns/a",
            "--ledger",
            "none",
        )
        # Untrained policies come to less than 0.
        self.assertGreater(
            self.object_of("eval", "learns/a", "--episodes", "50")["mean_return"], 60.0
        )

    def test_threads_and_resuming_do_not_change_the_bits(self):
        whole = self.line("runs/a/ledger_line.json")
        for threads in ("2", "5"):
            out = f"threads/{threads}"
            self.fleet(
                "train",
                *SMALL,
                "--total_timesteps",
                "3072",
                "--threads",
                threads,
                "--out",
                out,
                "--ledger",
                "none",
            )
            self.fleet(
                "train",
                "--resume",
                out,
                "--total_timesteps",
                "6144",
                "--quiet",
                "--threads",
                threads,
                "--ledger",
                "none",
            )
            self.assertEqual(
                self.line(f"{out}/ledger_line.json")["result"]["state_hash"],
                whole["result"]["state_hash"],
            )
        self.assertEqual(
            whole["contract"]["simulator"],
            {
                "whole_batch": True,
                "deterministic": True,
                "saves_state": True,
                "has_final_observations": True,
            },
        )

    def test_eval_panel_and_compare(self):
        self.assertEqual(self.object_of("eval", "runs/a", "--episodes", "100")["episodes"], 100)
        self.assertIn("noisy", self.fleet("eval", "runs/a", "--panel", "panel.toml").stdout)

    def test_rerun(self):
        self.fleet("rerun", "runs/ledger.jsonl:1", "--out", "again", "--quiet")

    def test_audit_and_gradients(self):
        self.assertIn(
            "Fleet-v0, 24 x 32 blocks", self.fleet("audit", "runs/a", codes=(0, 20, 21)).stdout
        )
        self.fleet(
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
        self.assertTrue(self.line("gradients/gradients.json"))

    def test_study_and_report(self):
        flags = [flag for flag in SMALL if flag != "--quiet"]
        self.fleet(
            "study",
            *flags,
            "--total_timesteps",
            "1536",
            "--seeds",
            "2",
            "--grid",
            "learning_rate=1e-3,3e-4",
            "--jobs",
            "2",
            "--out",
            "fleet.sqlite",
            "--quiet",
        )
        self.fleet("report", "fleet.sqlite", "--out", "report")
        self.assertIn("Fleet-v0", self.read("report/study.json"))

    def test_bench(self):
        with open(os.path.join(self.folder, "fleet.toml"), "w", encoding="utf-8") as file:
            file.write('env_id = "Fleet-v0"\nnum_envs = 24\nnum_steps = 16\n')
        self.assertIn(
            "fleet", self.fleet("bench", "fleet.toml", "--repeats", "1", "--seconds", "0.05").stdout
        )
        self.assertEqual(
            self.object_of("env", "bench", "Fleet-v0", "--num_steps", "200", "--threads", "2")[
                "threads"
            ],
            1,
        )

    def test_instruments_that_make_more_of_its_kind(self):
        self.fleet(
            "train",
            *SMALL,
            "--total_timesteps",
            "1536",
            "--instruments",
            "policy,audit,coverage",
            "--out",
            "instruments/a",
            "--ledger",
            "none",
        )


if __name__ == "__main__":
    unittest.main()
