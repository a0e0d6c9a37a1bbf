#!/usr/bin/env python3
"""cells.py: where 1024x1 agrees less than 1x1024 on the policies of one trained shape.

A cell is a task, a point of the run, a trained shape and a critic that knows the policy. Prints
what README.md says of the one cell whose interval over seeds lies below zero.
"""

import csv
import itertools
import pathlib

from analyse import SHAPES, SHARES, difference, over_seeds, seeds_of

RESULTS = pathlib.Path(__file__).parent / "results"


def main():
    with (RESULTS / "laboratories.csv").open(encoding="utf-8", newline="") as file:
        labs = [row for row in csv.DictReader(file) if row["normalised"] == "yes"]
    for row in labs:
        row["agreement"] = float(row["agreement"])
    cells, below = 0, []
    tasks = sorted({row["task"] for row in labs})
    for task, share, trained, critic in itertools.product(
        tasks, SHARES, SHAPES, ("refitted", "exact")
    ):
        where = {"task": task, "checkpoint": share, "trained": trained, "critic": critic}
        rows = [row for row in labs if where.items() <= row.items()]
        sides = [
            seeds_of([row for row in rows if row["measured"] == shape])
            for shape in ("1024x1", "1x1024")
        ]
        if min(map(len, sides)) < 2:
            continue
        cells += 1
        value, low, high = over_seeds(sides, difference)
        if high < 0:
            below.append((task, share, trained, value, low, high))
    ((task, share, trained, value, low, high),) = below
    assert (task, share, trained) == ("Pendulum-v1", "5 %", "1x1024"), below
    numbers = f"{-value:.2f} [{-high:.2f}, {-low:.2f}]".replace("0.", ".")
    print(f"by {numbers}, one of {cells} such cells")


if __name__ == "__main__":
    main()
