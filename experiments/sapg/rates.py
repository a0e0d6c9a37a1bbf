#!/usr/bin/env python3
"""The calls at each rate alone, and by other random draws: rates.py writes results/rates.csv

Added after the runs. *p*: of all deals, where judge.py draws some.
"""

import collections
import pathlib

from judge import PAIRS, TASKS  # which finds the shared scripts below
from fair import arm_of, is_by_draws
from rows import read, write

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
RATES = {"cross-fitted": ("0.001", "0.003"), ".001": ("0.001",), ".003": ("0.003",)}


def scores_of(runs, task, arm, score, rates):
    """{rate: {seed: score}} of an arm."""
    scores = collections.defaultdict(dict)
    for run in runs:
        if (run["task"], run["arm"]) == (task, arm) and run["rate"] in rates:
            scores[float(run["rate"])][int(run["seed"])] = float(run[score])
    return scores


def rows_of(runs):
    for score in ("area", "last"):
        for task in TASKS:
            for base, other in PAIRS:
                for name, rates in RATES.items():
                    arms = [scores_of(runs, task, arm, score, rates) for arm in (base, other)]
                    means = [arm_of("", arm, None).middle for arm in arms]
                    word, p = is_by_draws(*arms)
                    yield score, task, name, other, base, means[1], means[0], p, word


if __name__ == "__main__":
    header = ["score", "task", "rate", "arm", "against", "of arm", "of against", "p", "is"]
    write(RESULTS / "rates.csv", header, rows_of(read(RESULTS / "runs.csv")))
