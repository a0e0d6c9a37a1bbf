#!/usr/bin/env python3
"""Keeps the runs, compares the arms, and judges the predictions: judge.py STORES RESULTS

Rates are chosen and scored by the surface's rule, which is the product's (docs/statistics.md,
"Tuned settings").
"""

import collections
import pathlib
import random
import sys

EXPERIMENTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(EXPERIMENTS), str(EXPERIMENTS / "surface")]
from analyse import runs_of  # noqa: E402
from fair import NO_DIFFERENCE, arm_of, call, gain, other_is  # noqa: E402
from rows import interval, read, write, write_verdicts  # noqa: E402

TASKS = ("CartPole-v1", "Pendulum-v1")
ARMS = ("ppo", "alone", "code", "paper")
PAIRS = (("ppo", "code"), ("alone", "code"), ("code", "paper"))


def arms_of(kept, task, score, rng):
    """{name: its arm} of a task, each over the seeds that both its rates have."""
    scores = collections.defaultdict(lambda: collections.defaultdict(dict))
    for run in kept:
        if run["task"] == task:
            scores[run["arm"]][run["rate"]][run["seed"]] = run[score]
    return {name: arm_of(name, scores[name], rng) for name in ARMS}


def judge_learning(stores, results, rng):
    """Predictions 1 to 3; none before all runs are made."""
    files = [stores / f"{task}.{arm}.sqlite" for task in TASKS for arm in ARMS]
    if not all(file.exists() for file in files):
        return []
    kept = [{**run, "arm": file.stem.split(".")[1]} for file in files for run in runs_of(file)]
    columns = ["task", "arm", "rate", "seed", "area", "last", "seconds"]
    write(results / "runs.csv", columns, [[run[key] for key in columns] for run in kept])
    areas, pairs, calls = [], [], {}
    for score in ("area", "last"):
        for task in TASKS:
            arms = arms_of(kept, task, score, rng)
            areas += [
                [task, score, name, len(arm.scores), *arm.area, arm.best_label]
                for name, arm in arms.items()
            ]
            for base, other in PAIRS:
                one, two = arms[base], arms[other]
                gained = gain(one, two)
                *chances, result = call(one, two, rng)
                higher = sum(b > a for a, b in zip(one.scores, two.scores, strict=True))
                word = other_is(result)
                pairs.append([task, score, other, base, *gained, 1 - chances[0], higher, word])
                if score == "area":
                    calls[task, other, base] = word
    write(
        results / "areas.csv",
        ["task", "score", "arm", "seeds", "area", "area low", "area high", "rate"],
        areas,
    )
    write(results / "pairs.csv", [
        "task", "score", "arm", "against", "difference", "difference low", "difference high",
        "P(better)", "seeds it is higher", "is",
    ], pairs)  # fmt: skip
    gains = sum(calls[task, "code", "ppo"] == "better" for task in TASKS)
    helps = sum(calls[task, "code", "alone"] == "better" for task in TASKS)
    clips = sum(calls[task, "paper", "code"] != NO_DIFFERENCE for task in TASKS)
    return [
        (1, "tasks on which code is better than ppo", gains, gains > 0),
        (2, "tasks on which code is better than alone", helps, helps == 0),
        (3, "calls of paper against code", clips, clips > 0),
    ]


def distance(row):
    return float(row["variance relabelled"]) + float(row["bias squared"])


def judge_gradients(results):
    """Predictions 4 to 6, and squared distances as shares of the leader's alone."""
    rows = read(results / "gradients.csv")
    drawn = []
    for task in TASKS:
        here = [row for row in rows if row["task"] == task]
        rows_of = {clip: [row for row in here if row["clip"] == clip] for clip in ("code", "paper")}
        parts = [
            ("code, all", rows_of["code"], distance),
            ("code, variance", rows_of["code"], lambda row: float(row["variance relabelled"])),
            ("paper, all", rows_of["paper"], distance),
            ("plain, all", rows_of["code"], lambda row: float(row["variance plain"])),
        ]
        for name, some, what in parts:
            shares = [what(row) / float(row["variance alone"]) for row in some]
            drawn.append([task, name, len(shares), *interval(shares)])
    header = ["task", "estimator", "checkpoints", "distance", "distance low", "distance high"]
    write(results / "distances.csv", header, drawn)
    code = [row for row in rows if row["clip"] == "code"]
    alone, count = [float(row["variance alone"]) for row in code], len(code)
    lower = sum(float(row["variance relabelled"]) < v for row, v in zip(code, alone, strict=True))
    nearer = sum(distance(row) < v for row, v in zip(code, alone, strict=True))
    plain = sum(float(row["variance plain"]) < distance(row) for row in code)
    return [
        (4, f"checkpoints of {count} with less variance than alone", lower, lower < 10),
        (5, f"checkpoints of {count} nearer to G than alone", nearer, nearer < 7),
        (6, f"checkpoints of {count} at which plain is nearer to G", plain, plain < count),
    ]


def main():
    stores, results = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    judged = judge_learning(stores, results, random.Random(1)) + judge_gradients(results)
    write_verdicts(results / "verdicts.csv", judged)


if __name__ == "__main__":
    main()
