#!/usr/bin/env python3
"""Keeps the runs, compares mirror images on with off, and judges the predictions:
judge.py STORES RESULTS

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
from fair import Arm, call, gain, other_is  # noqa: E402
from rows import write, write_verdicts  # noqa: E402

ROBOT = "Quadruped-v0"
SMALL = ["CartPole-v1", "Acrobot-v1", "Pendulum-v1"]


def arms_of(kept, score, rng):
    """{task: {"off": its arm, "on": its arm}}, over the seeds that all settings of a task have."""
    scores = collections.defaultdict(lambda: collections.defaultdict(dict))
    for run in kept:
        scores[run["task"]][run["mirror"], run["rate"]][run["seed"]] = run[score]
    out = {}
    for task, settings in scores.items():
        seeds = sorted(set.intersection(*(set(values) for values in settings.values())))
        out[task] = {}
        for mirror in ("off", "on"):
            rates = sorted(rate for name, rate in settings if name == mirror)
            columns = [[settings[mirror, rate][seed] for seed in seeds] for rate in rates]
            out[task][mirror] = Arm(mirror, rates, columns, rng)
    return out


def main():
    stores, results = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    rng = random.Random(1)
    kept = [
        {**run, "mirror": "on" if run["mirror_samples"] in (1, True, "true") else "off"}
        for path in sorted(stores.glob("*.sqlite"))
        for run in runs_of(path, "mirror_samples")
    ]
    columns = ["task", "mirror", "rate", "seed", "area", "last", "seconds"]
    write(results / "runs.csv", columns, [[run[key] for key in columns] for run in kept])
    rows, drawn, calls, ahead = [], [], {}, None
    for score in ("area", "last"):
        for task, arms in arms_of(kept, score, rng).items():
            plain, mirrored = arms["off"], arms["on"]
            gained = gain(plain, mirrored)
            *chances, result = call(plain, mirrored, rng)
            higher = sum(b > a for a, b in zip(plain.scores, mirrored.scores, strict=True))
            rows.append([
                task, score, len(mirrored.scores), *plain.area, *mirrored.area, *gained,
                1 - chances[0], higher, plain.best_label, mirrored.best_label, other_is(result),
            ])  # fmt: skip
            if score == "area":
                drawn += [[task, name, *arm.area] for name, arm in arms.items()]
                calls[task] = rows[-1][-1]
                if task == ROBOT:
                    ahead = (higher, len(mirrored.scores))
    write(results / "arms.csv", [
        "task", "score", "seeds", "off", "off low", "off high", "on", "on low", "on high",
        "difference", "difference low", "difference high", "P(on better)", "seeds on is higher",
        "off rate", "on rate", "on is",
    ], rows)  # fmt: skip
    header = ["task", "mirror images", "area", "area low", "area high"]
    write(results / "areas.csv", header, drawn)
    lower = sum(calls[task] == "lower" for task in SMALL)
    others = sum(calls[task] == "better" for task in SMALL[:2])
    judged = [
        (1, "Pendulum: mirror images are", calls["Pendulum-v1"], calls["Pendulum-v1"] != "better"),
        (2, "of CartPole and Acrobot, better on", others, others < 1),
        (3, "of three tasks, lower on", lower, lower > 0),
    ]
    if ahead:
        judged.append((4, "robot: seeds with the higher area", f"{ahead[0]} of {ahead[1]}",
                       ahead[0] < ahead[1] - 1))  # fmt: skip
    write_verdicts(results / "verdicts.csv", judged)


if __name__ == "__main__":
    main()
