#!/usr/bin/env python3
"""halved.py: squared distances from G of half of the leader's own gradient, beside `relabelled`.

A control that was added after the runs. g / 2 needs no follower, has a quarter of g's variance, and
is off by G / 2. Prints what README.md says.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import interval, read  # noqa: E402


def main():
    rows = [row for row in read(HERE / "results/gradients.csv") if row["clip"] == "code"]
    for task in ("CartPole-v1", "Pendulum-v1"):
        halves, nearer = [], 0
        for row in (row for row in rows if row["task"] == task):
            variance = float(row["variance alone"])
            half = (variance + max(0.0, float(row["gradient squared"]))) / 4
            relabelled = float(row["variance relabelled"]) + float(row["bias squared"])
            halves.append(half / variance)
            nearer += half < relabelled
        mean, low, high = (f"{x:.2f}".removeprefix("0") for x in interval(halves))
        print(f"{mean} [{low}, {high}] on {task}, nearer than `code` at {nearer} of {len(halves)}")


if __name__ == "__main__":
    main()
