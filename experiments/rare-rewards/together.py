#!/usr/bin/env python3
"""together.py: solved runs of one environment and of 64, over all rates, corridors and algorithms.

The test deals whole seeds to the two sides: the twelve runs of a seed stay together.
"""

import collections
import csv
import pathlib

RUNS = pathlib.Path(__file__).parent / "results/runs.csv"


def main():
    solved = {"1": collections.Counter(), "64": collections.Counter()}
    count = 0
    with RUNS.open(encoding="utf-8", newline="") as file:
        for run in csv.DictReader(file):
            if run["panel"] == "one" and run["task"].endswith("moves") and run["N"] in solved:
                solved[run["N"]][run["seed"]] += float(run["last evaluation"]) >= 0.9
                count += run["N"] == "1"
    one, many = solved["1"], solved["64"]
    # How many ways there are to take so many seeds with so many solved runs.
    ways = collections.Counter({(0, 0): 1})
    for value in [*one.values(), *many.values()]:
        for (taken, total), times in list(ways.items()):
            ways[taken + 1, total + value] += times
    deals = {total: times for (taken, total), times in ways.items() if taken == len(one)}
    middle = (one.total() + many.total()) / 2
    far = sum(
        times for total, times in deals.items() if abs(total - middle) >= abs(one.total() - middle)
    )
    p = f"{far / sum(deals.values()):.2f}".replace("0.", ".")
    totals = f"environment solves {one.total()} of {count}, 64 solve {many.total()}"
    print(f"{totals} (p = {p}, seeds dealt")


if __name__ == "__main__":
    main()
