#!/usr/bin/env python3
"""Keeps the runs on small tasks and judges their predictions: judge_small.py [STORES] RESULTS"""

import pathlib
import random
import sys

from judge import ACTIONS, AGE, NUMBERS, arms_of, start_of
from fair import call, chance, gain, other_is
from analyse import runs_of
from rows import dealt, read, write, write_verdicts

TASKS = ["CartPole-v1", "Acrobot-v1", "Pendulum-v1", "MountainCarContinuous-v0"]
COLUMNS = ["robot", "block", "start", "rate", "seed", "area", "last"]
SCORES = ["area", "last"]


def made(stores):
    for task in TASKS:
        for run in runs_of(stores / f"small-{task}.sqlite", "stagger_starts", "stagger_by"):
            yield {**run, "robot": task, "block": f"{run['N']}x{run['T']}", "start": start_of(run)}


def main():
    results = pathlib.Path(sys.argv[-1])
    if len(sys.argv) == 3:
        runs = list(made(pathlib.Path(sys.argv[1])))
        write(results / "small_runs.csv", COLUMNS, [[run[key] for key in COLUMNS] for run in runs])
    runs = [
        {key: NUMBERS.get(key, str)(value) for key, value in row.items()}
        for row in read(results / "small_runs.csv")
    ]
    rng = random.Random(1)
    rows, together = [], {}
    for score in SCORES:
        arms = arms_of(runs, score, rng)
        for key, starts in arms.items():
            one, two = starts[ACTIONS], starts[AGE]
            gained = gain(one, two)
            *chances, result = call(one, two, rng)
            rows.append([
                score, *key, len(one.scores), one.middle, two.middle, *gained, *chances,
                chance(one.scores, two.scores, rng), other_is(result),
            ])  # fmt: skip
        together[score] = dealt([
            (starts[AGE].scores, starts[ACTIONS].scores) for starts in arms.values()
        ])  # fmt: skip
    write(results / "small_pairs.csv", [
        "score", "task", "block", "seeds", "by actions", "by age", "difference", "difference low",
        "difference high", "P(by actions better)", "P low", "P high", "p", "by age is",
    ], rows)  # fmt: skip
    write(
        results / "small_together.csv",
        ["score", "share of pairs by age is ahead", "p"],
        [[score, *found] for score, found in together.items()],
    )
    lower = sum(row[0] == "area" and row[-1] == "lower" for row in rows)
    share = together["area"][0]
    write_verdicts(results / "small_verdicts.csv", [
        (6, "small tasks: by age lower, of eight comparisons", lower, lower > 0),
        (7, "small tasks: share of pairs by age is ahead", share, not 0.4 <= share <= 0.6),
    ])  # fmt: skip


if __name__ == "__main__":
    main()
