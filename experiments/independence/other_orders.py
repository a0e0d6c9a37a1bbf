#!/usr/bin/env python3
"""other_orders.py: lambda's share of the gain, by the lambda that one environment begins with, and
if T is shortened first. Prints the rows of README.md's table; policies and seeds are those of
parts.csv, and the best lambda of a seed is chosen on the others.
"""

import collections
import csv
import pathlib
import random

FILE = pathlib.Path(__file__).parent / "results/laboratories.csv"
CRITICS = {"FrozenLake8x8-v1": "exact", "CartPole-v1": "refitted", "Pendulum-v1": "refitted"}
LAMBDAS = [0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 1.0]
STARTS = [0.9, 0.95, 0.98, 1.0]
DRAWS = 1000


def sums_of(task):
    """{(measured shape, lambda): {seed: sum of agreement over its policies}}"""
    sums = collections.defaultdict(collections.Counter)
    with FILE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["task"] == task and row["critic"] == CRITICS[task]:
                key = row["measured"], float(row["lambda"])
                sums[key][row["seed"]] += float(row["agreement"])
    return sums


def at_best(sums, seeds):
    """One environment's sum at the lambda that is best on the other draws."""
    curves = [[sums["1x1024", lamb][seed] for lamb in LAMBDAS] for seed in seeds]
    totals = [sum(column) for column in zip(*curves, strict=True)]
    scored = 0.0
    for curve in curves:
        others = [total - own for total, own in zip(totals, curve, strict=True)]
        scored += curve[others.index(max(others))]
    return scored


def share(sums, seeds, start):
    one = sum(sums["1x1024", start][seed] for seed in seeds)
    short = sum(sums["1024x1", 0.0][seed] for seed in seeds)
    return (at_best(sums, seeds) - one) / (short - one)


def main():
    for task in CRITICS:
        sums, rng = sums_of(task), random.Random(1)
        seeds = sorted(sums["1024x1", 0.0])
        shares = " | ".join(f"{share(sums, seeds, start):.2f}" for start in STARTS)
        drawn = sorted(share(sums, rng.choices(seeds, k=len(seeds)), 0.95) for _ in range(DRAWS))
        low, high = drawn[DRAWS // 40], drawn[-DRAWS // 40 - 1]
        # T first, at lambda 0, where it changes the dependence of samples alone.
        zero, usual, short = (
            sum(sums[key].values()) for key in (("1x1024", 0.0), ("1x1024", 0.95), ("1024x1", 0.0))
        )
        first = 1 - (short - zero) / (short - usual)
        name = task.partition("-")[0].replace("8x8", "")
        print(f"| {name} | {shares} | [{low:.2f}, {high:.2f}] | {first:.2f} |")


if __name__ == "__main__":
    main()
