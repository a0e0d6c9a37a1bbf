"""`broadloom bench`: its table, its JSON, and errors on wrong input."""

import glob
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
CASES = sorted(glob.glob(os.path.join(os.path.abspath(sys.argv.pop(1)), "*.toml")))
SHORT = ["--seconds", "0.05", "--repeats", "2"]
PENDULUM = (
    'env_id = "Pendulum-v1"\ntotal_timesteps = 1_000_000_000_000\nnum_envs = 8\nnum_steps = 16\n'
    "update_epochs = 1\nnum_minibatches = 4\n"
)
CARTPOLE = (
    'env_id = "CartPole-v1"\ntotal_timesteps = 1_000_000_000_000\nnum_envs = 4\nnum_steps = 16\n'
)
# Two networks 3 - 64 - 64 - 1: forward once, then forward, weight gradients and input gradients
# once.
PENDULUM_FORWARD = 2 * 2 * (3 * 64 + 64 * 64 + 64)
PENDULUM_EPOCH = 2 * PENDULUM_FORWARD + 2 * 2 * (64 * 64 + 64)
STAGES = ["collect", "bootstrap", "advantages", "update", "instruments", "record"]


class Bench(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        with open(os.path.join(self.folder.name, name), "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def run_bench(self, *arguments):
        return subprocess.run(
            [PROGRAM, "bench", *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder.name,
            timeout=250,
        )

    def report_of(self, *arguments):
        result = self.run_bench(*arguments, "--json", "report.json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        with open(os.path.join(self.folder.name, "report.json"), encoding="utf-8") as file:
            return json.load(file), result.stdout

    def fails(self, code, words, *arguments):
        result = self.run_bench(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, "one line says it: " + result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_table(self):
        _, table = self.report_of(
            self.write("swing.toml", PENDULUM),
            self.write("pole.toml", CARTPOLE),
            *SHORT,
            "--threads",
            "1",
        )
        lines = table.splitlines()
        self.assertRegex(table, r"Peak of 1 thread with \w+: \d+\.\d GFLOP/s\n2 repeats of 0\.05 s")
        head = next(i for i, line in enumerate(lines) if line.startswith("case "))
        for column in (
            "threads",
            "steps/s median (min .. max)",
            "kFLOP/step",
            "GFLOP/s",
            "of peak",
            "first step ms",
            "memory MB",
        ):
            self.assertIn(column, lines[head])
        self.assertRegex(
            lines[head + 1],
            r"^swing +1 +[\d,]+ \([\d,]+ \.\. [\d,]+\) +68\.9 +[\d.]+ +[\d.]+ % +[\d.]+ +"
            r"[\d.]+$",
        )
        self.assertRegex(lines[head + 2], r"^pole +1 ")
        shares = next(i for i, line in enumerate(lines) if line.startswith("share of time "))
        self.assertEqual(lines[shares].split()[3:], STAGES)
        self.assertEqual([line.split()[0] for line in lines[shares + 1 :]], ["swing", "pole"])
        self.assertEqual(
            sorted(os.listdir(self.folder.name)), ["pole.toml", "report.json", "swing.toml"]
        )

    def test_json(self):
        report, _ = self.report_of(
            self.write("swing.toml", PENDULUM),
            self.write("pole.toml", CARTPOLE),
            *SHORT,
            "--threads",
            "1",
        )
        self.assertEqual(
            (report["format"], report["threads"], report["repeats"], report["seconds"]),
            (1, 1, 2, 0.05),
        )
        self.assertIs(report["recorder"], False)
        for key in ("created", "version", "revision", "compiler", "build_type", "isa"):
            self.assertTrue(report[key])
        self.assertGreater(report["hardware"]["cores"], 0)
        self.assertGreater(report["peak_flops_per_second"], 1e7)
        self.assertEqual([case["name"] for case in report["cases"]], ["swing", "pole"])
        for case in report["cases"]:
            with self.subTest(case=case["name"]):
                self.check_case(case, report["peak_flops_per_second"])
        swing, pole = report["cases"]
        self.assertEqual(swing["flops_per_step"], PENDULUM_FORWARD + PENDULUM_EPOCH)
        self.assertEqual(
            (swing["config"]["env_id"], pole["config"]["env_id"]), ("Pendulum-v1", "CartPole-v1")
        )

    def check_case(self, case, peak):
        speeds = sorted(repeat["steps_per_second"] for repeat in case["repeats"])
        self.assertEqual(len(speeds), 2)
        spread = case["steps_per_second"]
        self.assertEqual((spread["min"], spread["max"]), tuple(speeds))
        self.assertTrue(math.isclose(spread["median"], sum(speeds) / 2))
        self.assertTrue(
            math.isclose(case["flops_per_second"], spread["median"] * case["flops_per_step"])
        )
        self.assertTrue(math.isclose(case["share_of_peak"], case["flops_per_second"] / peak))
        self.assertTrue(math.isclose(sum(case["stage_shares"].values()), 1.0))
        self.assertEqual(list(case["stage_shares"]), STAGES)
        self.assertGreater(case["parameters"], 64 * 64)
        self.assertGreaterEqual(
            case["shared_bytes_per_env"], 4 * 4 * int(case["config"]["num_steps"])
        )
        block = int(case["config"]["num_envs"]) * int(case["config"]["num_steps"])
        for repeat in case["repeats"]:
            self.assertGreaterEqual(repeat["seconds"], 0.05)
            self.assertEqual(repeat["steps"], repeat["iterations"] * block)
            self.assertTrue(
                math.isclose(repeat["steps_per_second"], repeat["steps"] / repeat["seconds"])
            )
            self.assertEqual(
                repeat["epochs"], repeat["iterations"] * int(case["config"]["update_epochs"])
            )
            staged = sum(repeat["stage_seconds"].values())
            self.assertLessEqual(staged, repeat["seconds"])
            self.assertGreater(staged, 0.5 * repeat["seconds"])
        self.assertEqual(len(case["first_steps"]), 2)
        for step in case["first_steps"]:
            self.assertGreater(step["seconds"], 0)
            self.assertGreater(step["peak_memory_bytes"], 1e6)
        self.assertGreaterEqual(
            case["first_step_seconds"]["median"], case["first_step_seconds"]["min"]
        )

    def test_flags_win_over_every_case(self):
        report, _ = self.report_of(
            self.write("swing.toml", PENDULUM),
            self.write("pole.toml", CARTPOLE),
            *SHORT,
            "--num_envs",
            "6",
            "--no-clip-vloss",
        )
        for case in report["cases"]:
            self.assertEqual(
                (case["config"]["num_envs"], case["config"]["clip_vloss"]), ("6", "false")
            )
            self.assertEqual(case["repeats"][0]["steps"] % (6 * 16), 0)
        # The process that is timed from its start has them as well: this one needs more memory.
        large, _ = self.report_of("swing.toml", *SHORT, "--num_envs", "8192")
        self.assertGreater(
            large["cases"][0]["peak_memory_bytes"], report["cases"][0]["peak_memory_bytes"] + 2e6
        )
        lake, _ = self.report_of(
            "pole.toml", *SHORT, "--env_id", "FrozenLake-v1", "--env.is_slippery", "false"
        )
        self.assertEqual(lake["cases"][0]["config"]["env.is_slippery"], "false")

    def test_only_epochs_that_were_carried_out_count(self):
        report, _ = self.report_of(
            self.write("swing.toml", PENDULUM),
            *SHORT,
            "--update_epochs",
            "4",
            "--target_kl",
            "1e-12",
            "--lr_schedule",
            "constant",
        )
        self.assertEqual(report["cases"][0]["flops_per_step"], PENDULUM_FORWARD + PENDULUM_EPOCH)

    def test_shipped_cases_run(self):
        self.assertGreaterEqual(len(CASES), 7)
        report, _ = self.report_of(
            *CASES,
            "--seconds",
            "0.001",
            "--repeats",
            "1",
            "--num_steps",
            "16",
            "--update_epochs",
            "1",
        )  # little enough for a debug build
        self.assertEqual(
            [case["name"] + ".toml" for case in report["cases"]],
            [os.path.basename(file) for file in CASES],
        )
        for file in CASES:
            with open(file, encoding="utf-8") as case:
                self.assertTrue(
                    case.read().startswith("# "), f"{file} does not say what it stands for"
                )

    def test_wrong_input(self):
        good = self.write("good.toml", CARTPOLE)
        self.fails(2, ["CASE"])
        self.fails(3, ["missing.toml"], good, "missing.toml")
        self.fails(
            2, ["bad.toml:2:", "not valid TOML"], self.write("bad.toml", "seed = 1\ngamma = \n")
        )
        self.fails(2, ["key.toml:1:", "'num_envs'"], self.write("key.toml", "num_env = 1\n"))
        self.fails(2, ["num_envs: got 0, expected 1 to"], good, "--num_envs", "0")
        self.fails(3, ["'CartPol-v1'", "'CartPole-v1'"], good, "--env_id", "CartPol-v1")
        self.fails(2, ["'--repeat'", "'--repeats'"], good, "--repeat", "2", "--json", "report.json")
        self.fails(2, ["repeats"], good, "--repeats", "0")
        self.fails(2, ["seconds"], good, "--seconds", "0")

    def test_runs_that_end_too_soon(self):
        self.fails(
            2,
            ["short.toml", "total_timesteps"],
            self.write("short.toml", CARTPOLE.replace("1_000_000_000_000", "256")),
            *SHORT,
        )

    def test_one_bench_has_one_instruction_set(self):
        good = self.write("good.toml", CARTPOLE)
        other = self.write("other.toml", CARTPOLE + 'isa = "exact"\n')
        self.fails(2, ["'auto'", "'exact'", "--isa"], good, other)
        report, _ = self.report_of(good, other, *SHORT, "--isa", "auto")
        self.assertEqual(len(report["cases"]), 2)

    def test_unwritable_json(self):
        file = self.write("good.toml", CARTPOLE)
        result = self.run_bench(file, *SHORT, "--json", os.path.join(file, "report.json"))
        self.assertEqual(result.returncode, 4)
        self.assertIn("Not a directory", result.stderr)
        self.assertNotIn(
            "share of time", result.stdout, "it is refused before anything is measured"
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
