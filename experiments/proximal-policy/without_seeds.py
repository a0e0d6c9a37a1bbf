#!/usr/bin/env python3
"""The calls again with each seed left out: without_seeds.py writes results/without_seeds.csv

Added after the runs. *p*: of all deals, where judge.py draws some.
"""

import collections
import pathlib

from judge import PAIRS, kept_runs  # which finds the shared scripts below
from fair import is_by_draws
from rows import write

RESULTS = pathlib.Path(__file__).resolve().parent / "results"


def scores_of(runs, task, key, score, without):
    """{rate: {seed: score}} of an arm."""
    scores = collections.defaultdict(dict)
    for run in runs:
        if (run["task"], run["way"], run["block"]) == (task, *key) and run["seed"] != without:
            scores[run["rate"]][run["seed"]] = run[score]
    return scores


def rows_of(runs):
    seeds = sorted({run["seed"] for run in runs})
    for score in ("area", "last"):
        for task in sorted({run["task"] for run in runs}):
            for number, pair in PAIRS.items():
                for without in ("", *seeds):
                    arms = (scores_of(runs, task, key, score, without) for key in pair)
                    word, p = is_by_draws(*arms)
                    base, other = (" ".join(key) for key in pair)
                    yield score, task, number, base, other, without, p, word


if __name__ == "__main__":
    header = ["score", "task", "prediction", "base", "other", "without", "p", "other is"]
    write(RESULTS / "without_seeds.csv", header, rows_of(kept_runs(RESULTS)))
