#!/usr/bin/env python3
"""quoted.py STORES RESULTS: what the page says beside its tables: faster than the defaults, steps with one epoch and four, and what the tasks came to where nothing arrives."""

import collections
import csv
import os
import sqlite3
import statistics
import sys

from common import HELD_OUT, STEPS, TUNED, reached, read_store


def faster_than_defaults(results):
    with open(os.path.join(results, "regret.csv"), encoding="utf-8") as file:
        seconds = {(row["task"], row["who"]): float(row["seconds"]) for row in csv.DictReader(file)}
    for task in HELD_OUT + TUNED:
        print(
            f"{task}: defaults over race, seconds: {seconds[task, 'defaults'] / seconds[task, 'race']:.1f}"
        )


def fewest_steps(stores):
    best = {}
    for store in ("grid", "tune"):
        for (task, setting), seeds in read_store(os.path.join(stores, store + ".sqlite")).items():
            most = STEPS[task] * (3 if setting.update_epochs == 1 else 1)
            steps = statistics.fmean(
                most if arrival is None else arrival for arrival in seeds.values()
            )
            key = task, setting.update_epochs
            best[key] = min(best.get(key, steps), steps)
    for task in HELD_OUT + TUNED:
        print(
            f"{task}: fewest steps with four epochs over those with one: {best[task, 4] / best[task, 1]:.2f}"
        )


def where_nothing_arrives(stores):
    store = sqlite3.connect(os.path.join(stores, "rest.sqlite"))
    curves = collections.defaultdict(list)
    for task, cell, step, value in store.execute(
        "SELECT env_id, cell_id, global_step, mean_return FROM evaluations JOIN runs ON runs.id = run_id "
        "JOIN settings USING (cell_id) ORDER BY global_step"
    ):
        curves[task, cell].append((step, value))
    for task, threshold in (("MountainCar-v0", -110), ("Taxi-v3", 8)):
        own_curves = [curve for (other, _), curve in curves.items() if other == task]
        print(
            f"{task}: of {len(own_curves)} settings {sum(reached(curve, threshold) is not None for curve in own_curves)} at {threshold}, "
            f"{sum(max(value for _, value in curve) > -199.99 for curve in own_curves)} ever above -200, best in the end {max(curve[-1][1] for curve in own_curves):.0f}"
        )


def main():
    stores, results = sys.argv[1:3]
    faster_than_defaults(results)
    fewest_steps(stores)
    where_nothing_arrives(stores)


main()
