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
from fair import Arm, call, iqm, quantile  # noqa: E402
from rows import read, write  # noqa: E402

TASKS = ("CartPole-v1", "Pendulum-v1")
ARMS = ("ppo", "alone", "code", "paper")
PAIRS = (("ppo", "code"), ("alone", "code"), ("code", "paper"))
WORDS = {"better": "lower", "worse": "better", "none": "no difference found"}


def arm_of(kept, task, name, score, rng):
    """One arm, over the seeds that both its rates have."""
    rates = collections.defaultdict(dict)
    for run in kept:
        if run["task"] == task and run["arm"] == name:
            rates[run["rate"]][run["seed"]] = run[score]
    seeds = sorted(set.intersection(*(set(scores) for scores in rates.values())))
    labels = sorted(rates)
    return Arm(name, labels, [[rates[rate][seed] for seed in seeds] for rate in labels], rng)


def main():
    stores, results = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    rng = random.Random(1)
    kept = [
        {**run, "arm": path.stem.split(".")[1]}
        for path in sorted(stores.glob("*.sqlite"))
        for run in runs_of(path)
    ]
    columns = ["task", "arm", "rate", "seed", "area", "last", "seconds"]
    write(results / "runs.csv", columns, [[run[key] for key in columns] for run in kept])
    areas, pairs, calls = [], [], {}
    for score in ("area", "last"):
        for task in TASKS:
            arms = {name: arm_of(kept, task, name, score, rng) for name in ARMS}
            areas += [
                [task, score, name, len(arm.scores), *arm.area, arm.best_label]
                for name, arm in arms.items()
            ]
            for base, other in PAIRS:
                one, two = arms[base], arms[other]
                gaps = [iqm(b) - iqm(a) for a, b in zip(one.draws, two.draws, strict=True)]
                *chances, result = call(one, two, rng)
                higher = sum(b > a for a, b in zip(one.scores, two.scores, strict=True))
                word = WORDS.get(result, "depends on the rate")
                pairs.append([
                    task, score, other, base, two.middle - one.middle, quantile(gaps, 0.025),
                    quantile(gaps, 0.975), 1 - chances[0], higher, word,
                ])  # fmt: skip
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
    gradients = read(results / "gradients.csv")
    number = {key: lambda row, key=key: float(row[key]) for key in gradients[0] if " " in key}
    code = [row for row in gradients if row["clip"] == "code"]

    def distance(row):
        return number["variance relabelled"](row) + number["bias squared"](row)

    count = len(code)
    lower = sum(number["variance relabelled"](row) < number["variance alone"](row) for row in code)
    nearer = sum(distance(row) < number["variance alone"](row) for row in code)
    plain = sum(number["variance plain"](row) < distance(row) for row in code)
    gains = sum(calls[task, "code", "ppo"] == "better" for task in TASKS)
    helps = sum(calls[task, "code", "alone"] == "better" for task in TASKS)
    clips = sum(calls[task, "paper", "code"] != WORDS["none"] for task in TASKS)
    judged = [
        (1, "tasks on which code is better than ppo", gains, gains > 0),
        (2, "tasks on which code is better than alone", helps, helps == 0),
        (3, "calls of paper against code", clips, clips > 0),
        (4, f"checkpoints of {count} with less variance than alone", lower, lower < 10),
        (5, f"checkpoints of {count} nearer to G than alone", nearer, nearer < 7),
        (6, f"checkpoints of {count} at which plain is nearer to G", plain, plain < count),
    ]
    judged = [(*row, "yes" if refuted else "no") for *row, refuted in judged]
    write(results / "verdicts.csv", ["prediction", "what", "value", "refuted"], judged)
    for verdict in judged:
        print(*verdict)


if __name__ == "__main__":
    main()
