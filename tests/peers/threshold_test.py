#!/usr/bin/env python3
"""Holds bench/peers/threshold.py to its page, bench/peers/THRESHOLD.md: without any peer, standard
library only."""

import argparse
import csv
import io
import json
import math
import pathlib
import signal
import subprocess
import sys
import tempfile
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "bench" / "peers"
sys.path.insert(0, str(PEERS))

import threshold  # noqa: E402
from to_threshold import rule, settings, tasks  # noqa: E402
from to_threshold.cells import cells, find_cell, ratio  # noqa: E402
from to_threshold.contenders import which_advice  # noqa: E402
from to_threshold.record import Record, conditions  # noqa: E402
from to_threshold.report import markdown, write_report  # noqa: E402
from to_threshold.translate import translated  # noqa: E402

BROADLOOM = ""
LONG = 100  # s; a call takes two. A contender that hangs is reported, and the others run
INF = math.inf


def points(*returns):
    """One evaluation each 1,000 steps and tenth of a second."""
    return [[1000 * (i + 1), 0.1 * (i + 1), value] for i, value in enumerate(returns)]


class TheRule(unittest.TestCase):
    def test_the_first_of_three_in_a_row(self):
        self.assertEqual(rule.reached(points(1, 5, 5, 5, 1, 1), 5), 1)
        self.assertAlmostEqual(rule.seconds_to(points(1, 5, 5, 5, 1, 1), 5), 0.2)

    def test_two_are_not_enough_and_a_gap_begins_anew(self):
        self.assertIsNone(rule.reached(points(5, 5, 1, 5, 5), 5))
        self.assertEqual(rule.reached(points(5, 5, 1, 5, 6, 7), 5), 3)

    def test_a_run_that_is_there_only_at_its_end_is_not_counted(self):
        self.assertIsNone(rule.reached(points(1, 1, 1, 5, 5), 5))
        self.assertEqual(rule.seconds_to(points(1, 1, 1, 5, 5), 5), INF)
        self.assertAlmostEqual(rule.seconds_at_least(points(1, 1, 1, 5, 5), 5), 0.5)

    def test_a_return_that_is_no_number_is_not_there(self):
        self.assertIsNone(rule.reached(points(5, 5, math.nan, 5, 5), 5))

    def test_no_evaluations(self):
        self.assertIsNone(rule.reached([], 5))

    def test_whole_blocks(self):
        self.assertEqual(
            [tasks.interval(block) for block in (8, 256, 512, 1000, 1024, 8192)],
            [125, 4, 2, 1, 1, 1],
        )


class Medians(unittest.TestCase):
    def test_runs_that_were_never_there_are_longer_than_any(self):
        self.assertEqual(rule.median([3, INF, 1]), 3)
        self.assertEqual(rule.median([3, 1, 2, 4]), 2.5)
        self.assertEqual(rule.median([1, 2, INF, INF]), INF)
        self.assertTrue(math.isnan(rule.median([])))

    def test_intervals(self):
        low, high = rule.median_interval([1, 2, 3, 4, 5, 6, 7, INF, INF, INF])
        self.assertTrue(1 <= low < 5.5)
        self.assertEqual(high, INF)  # with three of ten never there, drawn medians may be infinite
        self.assertEqual(rule.median_interval([2.0] * 10), (2.0, 2.0))
        self.assertTrue(math.isnan(rule.median_interval([1.0])[0]))
        self.assertEqual(rule.median_interval([1, 2, 3]), rule.median_interval([1, 2, 3]))

    def test_ratios(self):
        self.assertEqual(rule.ratio_interval([10.0] * 5, [2.0] * 5), (5.0, 5.0))
        self.assertEqual(rule.ratio_interval([INF] * 5, [INF] * 5), (1.0, 1.0))


def planted():
    """Ours at 0.2 s; one peer at 1.0 s in two of three; one never, with 3 s of training; one not
    installed."""

    def run(who, seed, taken, seconds_scale):
        found = [[s, t * seconds_scale, r] for s, t, r in taken]
        place = rule.reached(found, 475.0)
        return {
            "contender": who,
            "task": "CartPole-v1",
            "seed": seed,
            "threads": 1,
            "points": found,
            "reached": place is not None,
            "seconds": None if place is None else found[place][1],
            "steps": None if place is None else found[place][0],
            "evaluation_seconds": 0.5,
            "compile_seconds": 0.0,
            "process_seconds": 1.0,
            "others": 0.1,
            "settings": {},
        }

    good, bad = points(10, 480, 490, 500), points(10, 480, 20, 480, 490, 30)
    runs = []
    for seed in (101, 102, 103):
        runs.append(run("Broadloom, advised", seed, good, 1))
        runs.append(run("slow", seed, bad if seed == 103 else good, 5))
        runs.append(run("never", seed, bad, 5))
    options = argparse.Namespace(
        cores=2, budget=None, advice="60s", advices=2, advised_steps=None, broadloom="/bin/true"
    )
    about = {
        "begun": "now",
        "system": "s",
        "compiler": "c",
        "python": "p",
        "revision": "r",
        "versions": {},
    }
    return {
        "conditions": conditions(options),
        "about": about,
        "probes": [],
        "runs": runs,
        "advice": {
            "CartPole-v1": [
                {"config": "# words\nnum_envs = 8\n", "seconds": 60.2},
                {"config": "num_envs = 4\n", "seconds": 30.0},
            ]
        },
        "failed": [
            {"contender": "gone", "task": "CartPole-v1", "seed": None, "reason": "not installed"}
        ],
    }


class Reports(unittest.TestCase):
    def test_cells(self):
        found = cells(planted())
        ours, slow, never = (
            find_cell(found, who, "CartPole-v1") for who in ("Broadloom, advised", "slow", "never")
        )
        self.assertEqual(
            [(c.reached, c.count) for c in (ours, slow, never)], [(3, 3), (2, 3), (0, 3)]
        )
        self.assertAlmostEqual(ours.median, 0.2)
        self.assertAlmostEqual(slow.median, 1.0)
        self.assertEqual(never.median, INF)

    def test_a_peer_that_never_was_there_gives_a_bound(self):
        found = cells(planted())
        ours, slow, never = (
            find_cell(found, who, "CartPole-v1") for who in ("Broadloom, advised", "slow", "never")
        )
        self.assertAlmostEqual(ratio(slow, ours).value, 5.0)
        self.assertEqual(ratio(slow, ours).high, INF)  # one of three was never there
        self.assertAlmostEqual(ratio(never, ours).value, 15.0)  # 3 s of training over 0.2 s
        self.assertTrue(ratio(never, ours).bound)
        self.assertIsNone(ratio(slow, never))

    def test_the_table(self):
        data = planted()
        text = markdown(data, cells(data))
        rows = [line for line in text.splitlines() if line.startswith("| CartPole")]
        self.assertEqual(len(rows), 4)
        self.assertIn("| 3 of 3 | 0.200 (0.200 .. 0.200) | 2,000 |", rows[0])
        self.assertIn("| 2 of 3 | 1.00 (1.00 .. never) | 2,000 | 5.00 (5.00 .. never) |", rows[1])
        self.assertIn("| 0 of 3 | not reached | - | at least 15.0 |", rows[2])
        self.assertIn("gone | not installed", rows[3])
        self.assertIn("took 60 s, once, on top: num_envs 8", text)
        self.assertIn("took 30 s, once, on top: num_envs 4", text)
        self.assertNotIn("a try of the harness", text)

    def test_a_training_that_broke_down_was_never_there(self):
        data = planted()
        for seed in (104, 105):
            broken = {
                "contender": "slow",
                "task": "CartPole-v1",
                "seed": seed,
                "reason": "not finite",
            }
            data["failed"].append(broken)
        slow = find_cell(cells(data), "slow", "CartPole-v1")
        self.assertEqual((slow.reached, slow.count, slow.median), (2, 5, INF))
        self.assertIn("slow, seed 105 | not finite", markdown(data, cells(data)))

    def test_a_try_is_called_one(self):
        data = planted()
        data["conditions"]["budget"] = 4096
        data["conditions"]["advised_steps"] = 500000
        self.assertIn("went on to 500,000 steps", markdown(data, cells(data)))
        self.assertIn("no result**: budgets were cut to 4,096 steps", markdown(data, cells(data)))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "threshold.json"
            path.write_text(json.dumps(planted()))
            write_report(path)
            curve = list(
                csv.DictReader(io.StringIO((path.parent / "threshold_curve.csv").read_text()))
            )
            self.assertEqual(
                [(row["contender"], row["seconds"], row["share"]) for row in curve],
                [("Broadloom, advised", "0.2", "1"), ("slow", "1", "0.666667")],
            )
            rows = list(
                csv.DictReader(io.StringIO((path.parent / "threshold_cells.csv").read_text()))
            )
            self.assertEqual([row["over advised"] for row in rows], ["", "5", "15"])
            self.assertEqual([row["over advised is a bound"] for row in rows], ["", "0", "1"])
            self.assertEqual(rows[2]["seconds"], "")
            figure = tomllib.loads((path.parent / "figure_threshold.toml").read_text())
            self.assertEqual(
                [panel["where"]["task"] for panel in figure["panels"]], ["CartPole-v1"]
            )
            self.assertEqual(figure["panels"][0]["title"], "CartPole-v1, return 475")
            self.assertEqual({row["task"] for row in curve}, {"CartPole-v1"})
            self.assertEqual(figure["data"], "threshold_curve.csv")
            self.assertLessEqual({figure[key] for key in ("x", "y", "series_by")}, set(curve[0]))


class TheRecord(unittest.TestCase):
    def options(self, folder, **other):
        given = {
            "cores": 2,
            "budget": None,
            "advice": "60s",
            "advices": 1,
            "advised_steps": None,
            "broadloom": "/bin/true",
            "venv": pathlib.Path(folder) / "venv",
            "out": pathlib.Path(folder) / "t.json",
        }
        return argparse.Namespace(**{**given, **other})

    def test_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            record = Record.open(self.options(folder))
            record.add_probe("a", "CartPole-v1", 1, 100.0)
            record.add_probe("a", "CartPole-v1", 2, 90.0)
            record.add_probe("b", "CartPole-v1", 1, 100.0)
            record.add_probe("b", "CartPole-v1", 2, 110.0)
            record.add_run("a", "CartPole-v1", 101, 1, {"points": points(480, 480, 480)})
            again = Record.open(self.options(folder))
            self.assertTrue(again.has_run("a", "CartPole-v1", 101))
            self.assertFalse(again.has_run("a", "CartPole-v1", 102))
            self.assertEqual([again.faster_threads(who, "CartPole-v1") for who in "ab"], [1, 2])

    def test_refuses_runs_that_were_made_otherwise(self):
        with tempfile.TemporaryDirectory() as folder:
            Record.open(self.options(folder)).finish({}, {})
            with self.assertRaisesRegex(SystemExit, "cores 2, and this call is with 1"):
                Record.open(self.options(folder, cores=1))
            (pathlib.Path(folder) / "t.json").write_text("{")
            with self.assertRaisesRegex(SystemExit, "no results of threshold.py"):
                Record.open(self.options(folder))

    def test_a_training_without_an_evaluation_is_no_run(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(SystemExit, "without an evaluation"):
                Record.open(self.options(folder)).add_run(
                    "a", "CartPole-v1", 101, 1, {"points": []}
                )


class SeveralAdvices(unittest.TestCase):
    def test_trainings_take_them_in_turn(self):
        first = tasks.FIRST_SEED
        taken = [which_advice(first + place, 3) for place in range(5)]
        self.assertEqual(taken, [0, 1, 2, 0, 1])
        self.assertEqual(which_advice(first + 7, 1), 0)

    def test_the_record_keeps_each(self):
        with tempfile.TemporaryDirectory() as folder:
            record = Record.open(TheRecord().options(folder, advices=2))
            self.assertEqual(record.advice("CartPole-v1"), [])
            record.add_advice("CartPole-v1", {"config": "a"})
            record.add_advice("CartPole-v1", {"config": "b"})
            again = Record.open(TheRecord().options(folder, advices=2))
            self.assertEqual([one["config"] for one in again.advice("CartPole-v1")], ["a", "b"])
            with self.assertRaisesRegex(SystemExit, "advices 2, and this call is with 1"):
                Record.open(TheRecord().options(folder))

    def test_a_broadloom_config_is_translated_or_refused(self):
        kept = {
            "num_envs": "4", "num_steps": "256", "minibatch_size": "0", "num_minibatches": "8",
            "update_epochs": "2", "learning_rate": "0.003", "lr_schedule": "constant",
            "clip_schedule": "constant", "ent_schedule": "constant", "gamma": "0.98",
            "gae_lambda": "0.9", "clip_coef": "0.2", "clip_vloss": "false", "ent_coef": "0.01",
            "vf_coef": "0.5", "max_grad_norm": "0.5", "norm_obs": "true", "norm_reward": "false",
            "hidden_sizes": "64,64", "activation": "tanh", "shared_encoder": "false",
            "adam_eps": "1e-05", "norm_adv": "minibatch", "target_kl": "0",
        }  # fmt: skip
        found = translated(kept)
        self.assertEqual(
            [found[key] for key in ("n_envs", "n_steps", "batch_size", "n_epochs")],
            [4, 256, 128, 2],
        )
        self.assertEqual(
            [found[key] for key in ("learning_rate", "gamma", "gae_lambda", "ent_coef")],
            [0.003, 0.98, 0.9, 0.01],
        )
        self.assertEqual(found["vf_coef"], 0.25)  # SB3's value loss has no half
        self.assertIsNone(found["clip_range_vf"])
        self.assertEqual((found["norm_obs"], found["norm_reward"]), (True, False))
        with self.assertRaisesRegex(SystemExit, "lr_schedule: got linear"):
            translated({**kept, "lr_schedule": "linear"})


class TheSettings(unittest.TestCase):
    def test_every_task_has_them(self):
        self.assertEqual(set(settings.RL_ZOO), set(tasks.THRESHOLDS))
        self.assertEqual(set(settings.REJAX), set(tasks.THRESHOLDS))


class TheCommand(unittest.TestCase):
    def command(self, folder, *arguments):
        command = [
            sys.executable,
            str(PEERS / "threshold.py"),
            "--cores",
            "1",
            "--seeds",
            "1",
            "--no-install",
        ]
        command += ["--broadloom", BROADLOOM, "--out", f"{folder}/t.json", "--task", "CartPole-v1"]
        return [*command, "--venv", f"{folder}/venv", *arguments]

    def call(self, folder, *arguments):
        command = self.command(folder, *arguments)
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONG)

    def test_trains_once_and_goes_on_with_what_is_there(self):
        with tempfile.TemporaryDirectory() as folder:
            arguments = ("--peer", "Broadloom, defaults", "--budget", "4096")
            done = self.call(folder, *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("Broadloom, defaults | 0 of 1 | not reached", done.stdout)
            first = json.loads(pathlib.Path(folder, "t.json").read_text())
            run = first["runs"][0]
            self.assertEqual([point[0] for point in run["points"]], [1024, 2048, 3072, 4096])
            seconds = [point[1] for point in run["points"]]
            self.assertEqual(seconds, sorted(seconds))
            self.assertGreater(seconds[0], 0)
            again = self.call(folder, *arguments)
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertEqual(again.stderr, "")  # nothing was trained
            self.assertEqual(
                json.loads(pathlib.Path(folder, "t.json").read_text())["runs"], first["runs"]
            )

    def test_somebody_missing_does_not_stop_the_others(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.call(
                folder, "--peer", "RL Zoo", "--peer", "Broadloom, defaults", "--budget", "4096"
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("SB3, RL Zoo's settings | ", done.stdout)
            self.assertIn("venv/bin/python", done.stdout)
            self.assertIn("Broadloom, defaults | 0 of 1", done.stdout)

    def test_a_stop_loses_no_training_that_was_finished(self):
        with tempfile.TemporaryDirectory() as folder:
            command = self.command(
                folder, "--seeds", "1000", "--peer", "Broadloom, defaults", "--budget", "2048"
            )
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
                for line in process.stderr:
                    if "seed 101" in line:
                        process.terminate()
                        break
                try:
                    printed = process.communicate(timeout=LONG)[1]
                except subprocess.TimeoutExpired as late:
                    process.kill()
                    self.fail(f"it goes on after SIGTERM: {late.stderr}")
            self.assertIn("the same call goes on", printed)
            self.assertNotEqual(process.returncode, 0)
            runs = json.loads(pathlib.Path(folder, "t.json").read_text())["runs"]
            self.assertEqual(runs[0]["seed"], 101)

    def test_a_stop_that_python_drops_is_raised_again(self):
        self.addCleanup(setattr, threshold, "stopped", False)
        self.assertRaises(KeyboardInterrupt, threshold.stop, signal.SIGTERM, None)
        self.assertRaises(
            KeyboardInterrupt, threshold.measure, *[None] * 5
        )  # before it looks at anything

    def test_wrong_calls(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("expected part of one of", self.call(folder, "--peer", "nobody").stderr)
            self.assertIn("expected at least 1", self.call(folder, "--seeds", "0").stderr)


if __name__ == "__main__":
    BROADLOOM = sys.argv.pop(1)
    unittest.main()
