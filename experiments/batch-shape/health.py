#!/usr/bin/env python3
"""health.py: the tables of E5, the instruments' last values in 8 x 128 and its doubled batches, half the gradient steps and as many."""

import csv
import pathlib

RESULTS = pathlib.Path(__file__).parent / "results"
COLUMNS = {
    "feature rank": 1,
    "constant %": 1,
    "weight norm": 1,
    "grad kurtosis": 1,
    "policy variance": 4,
    "least ess %": 1,
    "coverage %": 1,
}
ARMS = (
    ("8x128", "doubled_minibatch_count", "base"),
    ("16x128", "doubled_minibatch_count", "half the steps"),
    ("8x256", "doubled_minibatch_count", "half the steps"),
    ("16x128", "doubled_minibatch_size", "equal steps"),
    ("8x256", "doubled_minibatch_size", "equal steps"),
)


def cells(study):
    with open(RESULTS / f"{study}_cells.csv", encoding="utf-8") as file:
        return {(row["task"], row["arm"]): row for row in csv.DictReader(file)}


def entry(row, name, digits):
    value = f"{float(row[name]):.{digits}f}"
    low = row.get(f"{name} low")
    return (
        f"{value} [{float(low):.{digits}f}, {float(row[f'{name} high']):.{digits}f}]"
        if low
        else value
    )


for start, stagger in (("synchronised", "false"), ("staggered", "true")):
    for task in ("CartPole-v1", "Acrobot-v1", "Pendulum-v1"):
        print(
            f"\n| {task}, {start} | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (1 + len(COLUMNS))
        )
        for shape, study, rule in ARMS:
            row = cells(study)[task, f"{shape} stagger_starts={stagger}"]
            print(
                f"| {shape}, {rule} | "
                + " | ".join(entry(row, n, d) for n, d in COLUMNS.items() if n in row)
                + " |"
            )
