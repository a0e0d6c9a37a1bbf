#!/usr/bin/env python3
"""Keeps the runs of the three starts and judges the predictions: judge.py [STORES] RESULTS

Without STORES it reads the kept runs. Rates are chosen and scored by the surface's rule, which is
the product's (docs/statistics.md, "Tuned settings").
"""

import collections
import pathlib
import random
import sys

EXPERIMENTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(EXPERIMENTS), str(EXPERIMENTS / "surface")]
from analyse import runs_of  # noqa: E402
from fair import arm_of, call, chance, gain, other_is  # noqa: E402
from rows import read, write, write_verdicts  # noqa: E402

CHEETAH, SWIMMER = "HalfCheetah-v5", "Swimmer-v5"
IN_STEP, ACTIONS, AGE = "in step", "by actions", "by age"
WIDE, NARROW = "512x4", "128x16"
COLUMNS = ["robot", "block", "start", "rate", "seed", "area", "last"]
NUMBERS = {"rate": float, "seed": int, "area": float, "last": float}
PAIRS = [(ACTIONS, AGE), (IN_STEP, AGE), (IN_STEP, ACTIONS)]  # (base, other)
PAIR_COLUMNS = [
    "robot", "block", "base", "other", "seeds", "difference", "difference low",
    "difference high", "P(base better)", "P low", "P high", "p", "other is",
]  # fmt: skip
LEAST_SEEDS = 4  # fewer cannot be told apart
LOOKS = {"four": 34, "six": 36}  # the seeds up to this one were looked at before all were made


def start_of(run):
    if run["stagger_starts"] in (0, False, "false"):
        return IN_STEP
    return AGE if run["stagger_by"] == "age" else ACTIONS


def made(stores):
    """The runs of the seeds that every setting of both robots has."""
    runs = [
        {**run, "robot": run["task"], "block": f"{run['N']}x{run['T']}", "start": start_of(run)}
        for robot in (CHEETAH, SWIMMER)
        for run in runs_of(stores / f"{robot}.sqlite", "stagger_starts", "stagger_by")
    ]
    seeds = collections.defaultdict(set)
    for run in runs:
        seeds[run["robot"], run["block"], run["start"], run["rate"]].add(run["seed"])
    wanted = set.intersection(*seeds.values())
    return [run for run in runs if run["seed"] in wanted]


def arms_of(kept, score, rng):
    """{(robot, block): {start: its arm}}"""
    scores = collections.defaultdict(lambda: collections.defaultdict(dict))
    for run in kept:
        rates = scores[run["robot"], run["block"]][run["start"]]
        rates.setdefault(run["rate"], {})[run["seed"]] = run[score]
    return {
        key: {start: arm_of(start, rates, rng) for start, rates in starts.items()}
        for key, starts in scores.items()
    }


def pair_rows(arms, rng):
    for key, starts in arms.items():
        for base, other in PAIRS:
            one, two = starts[base], starts[other]
            gained = gain(one, two)
            *chances, result = call(one, two, rng)
            yield [
                *key, base, other, len(one.scores), *gained, *chances,
                chance(one.scores, two.scores, rng), other_is(result),
            ]  # fmt: skip


def judged(kept):
    """(rows of arms, pairs by area, pairs by last policies). Intervals are drawn in this order."""
    rng = random.Random(1)
    arms, last = arms_of(kept, "area", rng), arms_of(kept, "last", rng)
    rows = [
        [*key, start, len(arm.scores), *arm.area, arm.best_label,
         " ".join(f"{arm.labels[i]:g}" for i in arm.like), *last[key][start].area]
        for key, starts in arms.items()
        for start, arm in starts.items()
    ]  # fmt: skip
    pairs = list(pair_rows(arms, rng))
    return rows, pairs, list(pair_rows(last, rng))


def verdicts(pairs):
    """(prediction, what, value, refuted: True, False or the words "not judged: ...")"""
    seeds = pairs[0][4]
    calls = {tuple(row[:4]): row[-1] for row in pairs}
    apart = {key for key, word in calls.items() if word in ("lower", "better")}

    def if_enough(refuted):
        few = f"not judged: {seeds} seeds, {LEAST_SEEDS} needed"
        return few if seeds < LEAST_SEEDS else refuted

    found = calls[CHEETAH, WIDE, ACTIONS, AGE]
    yield 1, "HalfCheetah, 512x4: by age beside by actions", found, if_enough(found != "better")
    key = CHEETAH, WIDE, IN_STEP, AGE
    yield 2, "HalfCheetah, 512x4: by age beside in step", calls[key], if_enough(key in apart)
    found = sum(key[:2] == (SWIMMER, WIDE) for key in apart)
    yield 3, "Swimmer, 512x4: starts told apart, of three pairs", found, if_enough(found > 0)
    found = sum(key[1:] == (NARROW, ACTIONS, AGE) for key in apart)
    yield 4, "128x16: robots with by age told from by actions", found, if_enough(found > 0)
    found = sum(key[3] == AGE and word == "lower" for key, word in calls.items())
    yield 5, "by age lower, of eight comparisons", found, if_enough(found > 0)


def main():
    results = pathlib.Path(sys.argv[-1])
    if len(sys.argv) == 3:
        kept = made(pathlib.Path(sys.argv[1]))
        write(results / "runs.csv", COLUMNS, [[run[key] for key in COLUMNS] for run in kept])
    kept = [
        {key: NUMBERS.get(key, str)(value) for key, value in row.items()}
        for row in read(results / "runs.csv")
    ]
    arms, pairs, pairs_last = judged(kept)
    write(results / "arms.csv", [
        "robot", "block", "start", "seeds", "area", "area low", "area high", "best rate",
        "rates as good", "last", "last low", "last high",
    ], arms)  # fmt: skip
    write(results / "pairs.csv", PAIR_COLUMNS, pairs)
    write(results / "pairs_last.csv", PAIR_COLUMNS, pairs_last)
    for name, last in LOOKS.items():
        seen = judged([run for run in kept if run["seed"] <= last])
        write(results / f"pairs_of_{name}.csv", PAIR_COLUMNS, seen[1])
    write_verdicts(results / "verdicts.csv", verdicts(pairs))


if __name__ == "__main__":
    main()
