#!/usr/bin/env python3
"""Normalised against geometric weights over all 12 comparisons together, which the plan lacks."""

import pathlib
import random

from judge import BLOCKS, SCORES, TASKS, WAYS, arms_of, kept, with_all
from rows import dealt

RUNS = pathlib.Path(__file__).resolve().parent / "results/runs.csv"


def main():
    runs = with_all(kept(RUNS))
    for score in SCORES:
        for fixed in (False, True):
            arms = arms_of(runs, score, fixed, random.Random(1))
            for blocks in (BLOCKS, BLOCKS[-1:]):
                share, p = dealt([
                    tuple(arms[task, block, way].scores for way in reversed(WAYS))
                    for task in TASKS
                    for block in blocks
                ])  # fmt: skip
                chosen = "lambda .95" if fixed else "lambda chosen"
                print(f"{score}, {chosen}, {' '.join(blocks)}: normalised is ahead in "
                      f"{100 * share:.0f} % of pairs (p = {p:.2g})")  # fmt: skip


if __name__ == "__main__":
    main()
