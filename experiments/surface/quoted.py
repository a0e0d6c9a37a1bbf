#!/usr/bin/env python3
"""quoted.py RESULTS: what README.md quotes and no table of results/ has as it stands."""

import collections
import statistics
import sys

from verdicts import read, select, tied


def shares(shapes):
    """(task, shape): how far its area is from the task's worst shape (0) to its best (1)."""
    out = {}
    for task in dict.fromkeys(row["task"] for row in shapes):
        areas = [row["area"] for row in select(shapes, task=task)]
        for row in select(shapes, task=task):
            out[task, row["shape"]] = (row["area"] - min(areas)) / (max(areas) - min(areas))
    return out


def main():
    results = sys.argv[1]
    shapes = read(results, "shapes.csv")
    tasks, found = list(dict.fromkeys(row["task"] for row in shapes)), shares(shapes)
    least = {
        shape: min(found[task, shape] for task in tasks)
        for shape in dict.fromkeys(row["shape"] for row in shapes)
    }
    top = max(least, key=least.get)
    print(
        f"largest least share: {top}, "
        + ", ".join(f"{task} {found[task, top]:.2f}" for task in tasks)
    )
    for batch in (256, 1024, 4096, 16384):
        print(
            f"best area of batch {batch}: "
            + ", ".join(
                f"{task} {max(row['area'] for row in select(shapes, task=task, batch=float(batch))):.4g}"
                for task in tasks
            )
        )
    for task in tasks:
        level = [row["shape"] for row in select(shapes, task=task) if tied(row, "area")]
        print(
            f"{task}: level with the best by area: {', '.join(level)}; by the last evaluation: {sum(tied(row, 'last') for row in select(shapes, task=task))}"
        )
    runs = [
        run
        for run in read(results, "screen_runs.csv")
        if run["task"] == "MountainCarContinuous-v0"
        and run["N"] * run["T"] <= 1024
        and run["T"] >= 16
        and run["rate"] <= 3e-4
    ]
    print(
        f"MountainCarContinuous, B to 1,024, T from 16, rates to 3e-4: {sum(run['last'] >= 90 for run in runs)} of {len(runs)} screened runs end at 90 and above"
    )
    norms = collections.defaultdict(list)
    for row in read(results, "health_runs.csv"):
        norms[row["activation"], row["minibatch_size"], f"{row['N']:.0f}x{row['T']:.0f}"].append(
            row
        )
    for (activation, minibatch, shape), rows in norms.items():
        print(
            f"{activation}, minibatch {minibatch:.0f}, {shape}: weight norm {statistics.fmean(row['weight norm'] for row in rows):.1f}, constant units {statistics.fmean(row['constant %'] for row in rows):.1f} %"
        )


if __name__ == "__main__":
    main()
