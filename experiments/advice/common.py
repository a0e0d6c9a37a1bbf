"""Shared by the scripts of this folder: tasks, thresholds, settings, and when a training was at the threshold."""

import collections
import csv
import json
import math
import os
import sqlite3

TUNED = ["CartPole-v1", "Pendulum-v1"]
HELD_OUT = [
    "Acrobot-v1",
    "MountainCarContinuous-v0",
    "FrozenLake-v1",
    "FrozenLake8x8-v1",
    "Hover-v0",
]
THRESHOLDS = {
    "CartPole-v1": 475,
    "Pendulum-v1": -200,
    "Acrobot-v1": -100,
    "MountainCarContinuous-v0": 90,
    "FrozenLake-v1": 0.6,
    "FrozenLake8x8-v1": 0.6,
    "Hover-v0": 180,
}
STEPS = {
    "CartPole-v1": 150_000,
    "Pendulum-v1": 300_000,
    "Acrobot-v1": 150_000,
    "MountainCarContinuous-v0": 100_000,
    "FrozenLake-v1": 200_000,
    "FrozenLake8x8-v1": 400_000,
    "Hover-v0": 200_000,
}
RULES = ["race", "gradient"]
SHAPES = ["4x64", "16x16", "64x4", "4x256", "16x64", "64x16", "256x4", "16x256", "64x64", "256x16"]
FIXED = "fixed.json"  # the setting that is best on the two tuned tasks

Setting = collections.namedtuple(
    "Setting", "num_envs num_steps minibatch_size update_epochs learning_rate"
)
Kind = collections.namedtuple(
    "Kind", "num_envs num_steps minibatch_size update_epochs"
)  # what a speed depends on


def grid_kinds():
    return [
        Kind(*map(int, shape.split("x")), m, k)
        for shape in SHAPES
        for m in (64, 256)
        for k in (1, 4)
    ]


def kind_of(setting):
    return Kind(*setting[:4])


def name_of(setting):
    return "{}x{} M{} K{} {:.3g}".format(*setting)


def reached(curve, threshold):
    """Environment steps at the first of three evaluations in a row at the threshold, or None. curve: [(step, return)] in order."""
    there = 0
    for i, (_, value) in enumerate(curve):
        there = there + 1 if value >= threshold - 1e-9 * max(1, abs(threshold)) else 0
        if there == 3:
            return curve[i - 2][0]
    return None


def read_store(path):
    """{(task, setting): {seed: steps until the threshold or None}} of a whole store. The defaults, which count minibatches, have a minibatch_size of 0."""
    store = sqlite3.connect(path)
    pending = store.execute("SELECT count(*) FROM runs WHERE status = 'pending'").fetchone()[0]
    if pending:
        raise SystemExit(f"{path}: {pending} runs are still to be made")
    curves = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in store.execute(
        "SELECT env_id, num_envs, num_steps, minibatch_size, update_epochs, CAST(learning_rate AS REAL), seed, global_step, mean_return FROM "
        "evaluations JOIN runs ON runs.id = run_id JOIN settings USING (cell_id) ORDER BY global_step"
    ):
        task, *setting, seed, step, value = row
        curves[task, Setting(*setting)][seed].append((step, value))
    return {
        key: {seed: reached(curve, THRESHOLDS[key[0]]) for seed, curve in seeds.items()}
        for key, seeds in curves.items()
    }


def read_speeds(path):
    """{(task, kind): environment steps a second of training on all threads}."""
    with open(path, encoding="utf-8") as file:
        return {
            (row["task"], Kind(*(int(row[key]) for key in Kind._fields))): float(
                row["steps_per_second"]
            )
            for row in csv.DictReader(file)
        }


def horizon(task, speeds):
    """Seconds that a training which is not there counts with: the whole budget of steps at the slowest setting of the grid, so the same for all."""
    return STEPS[task] / min(speeds[task, kind] for kind in grid_kinds())


def cost(task, setting, steps, speeds, most):
    """Seconds until the threshold."""
    return most if steps is None else min(most, steps / speeds[task, kind_of(setting)])


def geometric(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def write(path, rows):
    rows = list(rows)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(
            {
                key: float(f"{value:.5g}") if isinstance(value, float) else value
                for key, value in row.items()
            }
            for row in rows
        )


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)
