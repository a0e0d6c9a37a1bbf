#!/usr/bin/env python3
"""Judges every prediction of PREREGISTRATION.md from the kept files alone.

    verdicts.py RESULTS    writes verdicts.csv

The first plan's predictions about shapes are judged by the second plan's runs and rule.
"""

import csv
import math
import os
import pathlib
import random
import statistics
import sys

import analyse
import fair

DENSE = ("CartPole-v1", "Acrobot-v1", "Pendulum-v1")
# fair_pairs.csv when the second plan was written.
FIRST_CALLS = {
    ("Acrobot-v1", 1024): "none",
    ("Acrobot-v1", 4096): "better",
    ("Acrobot-v1", 16384): "better",
    ("CartPole-v1", 1024): "better",
    ("CartPole-v1", 4096): "better",
    ("CartPole-v1", 16384): "better",
    ("FrozenLake8x8-v1", 1024): "none",
    ("FrozenLake8x8-v1", 4096): "none",
    ("FrozenLake8x8-v1", 16384): "better",
    ("MountainCarContinuous-v0", 1024): "worse",
    ("MountainCarContinuous-v0", 4096): "none",
    ("MountainCarContinuous-v0", 16384): "better",
    ("Pendulum-v1", 1024): "none",
    ("Pendulum-v1", 4096): "none",
    ("Pendulum-v1", 16384): "better",
}


def read(results, name):
    """Rows of a CSV, numbers as numbers."""
    with open(os.path.join(results, name), encoding="utf-8") as file:
        return [{key: number(value) for key, value in row.items()} for row in csv.DictReader(file)]


def number(text):
    try:
        return float(text)
    except ValueError:
        return text


def select(rows, **where):
    return [row for row in rows if all(row[key] == value for key, value in where.items())]


def solve(a, b):
    """x of a x = b, a: square."""
    n = len(b)
    m = [row[:] + [y] for row, y in zip(a, b)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(m[r][i]))
        m[i], m[pivot] = m[pivot], m[i]
        for r in range(n):
            if r != i and m[i][i] != 0:
                factor = m[r][i] / m[i][i]
                m[r] = [x - factor * y for x, y in zip(m[r], m[i])]
    return [m[i][n] / m[i][i] for i in range(n)]


def fit(design, y):
    """Least squares: coefficients and the share of the variance that they explain."""
    k = len(design[0])
    a = [[sum(row[i] * row[j] for row in design) for j in range(k)] for i in range(k)]
    b = [sum(row[i] * value for row, value in zip(design, y)) for i in range(k)]
    x = solve(a, b)
    mean = statistics.fmean(y)
    left = sum((value - sum(c * d for c, d in zip(x, row))) ** 2 for row, value in zip(design, y))
    return x, 1 - left / sum((value - mean) ** 2 for value in y)


def of_fit(units, statistic):
    """value, low, high of what a fit gives: units drawn anew with replacement; draws without a solution are left out."""
    draws, values = random.Random(1), []
    while len(values) < analyse.REPLICATES:
        try:
            values.append(statistic(draws.choices(units, k=len(units))))
        except ZeroDivisionError:
            continue
    values.sort()
    return (
        statistic(units),
        values[int(0.025 * analyse.REPLICATES)],
        values[int(0.975 * analyse.REPLICATES) - 1],
    )


def share_difference(a, b):
    return analyse.bootstrap([a, b], lambda x, y: statistics.fmean(x) - statistics.fmean(y), seed=1)


class Verdicts(list):
    plan = 1

    def say(self, prediction, what, value, refuted, low="", high=""):
        self.append(
            {
                "plan": self.plan,
                "prediction": prediction,
                "what": what,
                "value": value,
                "low": low,
                "high": high,
                "refuted": "yes" if refuted else "no",
            }
        )


LEVEL = ("leads", "no difference found")


def of_shapes(out, results):
    """The first plan's predictions 1 to 5."""
    rng = random.Random(1)
    shapes = select(read(results, "fair.csv"), panel="one")
    folder = pathlib.Path(results)
    by_last = fair.by_task(fair.shapes_of(folder, rng, "last"), "one")
    by_area = fair.by_task(fair.shapes_of(folder, rng), "one")
    for task in ("CartPole-v1", "Acrobot-v1"):
        rows = list(fair.shape_rows(by_last[task], rng))
        count = sum(row[-2] in LEVEL for row in rows)
        out.say(
            1,
            f"{task}: shapes of {len(rows)} not told apart from the best by their last evaluation",
            count,
            count < 10,
        )
    for task in ("CartPole-v1", "Pendulum-v1"):
        for size, name in ((256, "256x1"), (1024, "1024x1")):
            other = [shape for shape in by_area[task] if shape.name == name]
            if other:
                top = fair.best(by_area[task], size)
                p, low, high, call = fair.call(top, other[0], rng)
                out.say(
                    2,
                    f"{task}: P({top.name}, the best of {size}, better than {name}) by area",
                    p,
                    call != "better",
                    low,
                    high,
                )
    for task in DENSE:
        top = max(select(shapes, task=task), key=lambda row: row["area"])
        out.say(
            3,
            f"{task}: the shape of the largest area is {top['shape']}",
            top["area"],
            not (4 <= top["N"] <= 256 and top["T"] >= 4),
        )
    for task, threshold in (("MountainCarContinuous-v0", 90), ("FrozenLake8x8-v1", 0.85)):
        reached = {True: [], False: []}
        for shape in by_area[task]:
            if shape.t >= 256 or shape.t <= 16:
                reached[shape.t >= 256] += [
                    float(float(shape.runs[c][i]["last"]) >= threshold)
                    for i, c in enumerate(shape.choice)
                ]
        found = share_difference(reached[True], reached[False])
        refuted = found[1] <= 0 if threshold == 90 else not found[1] <= 0 <= found[2]
        out.say(
            4,
            f"{task}: share of runs at {threshold} at the end, T >= 256 less T <= 16",
            found[0],
            refuted,
            *found[1:],
        )
    tasks = sorted({row["task"] for row in shapes})
    for place, letter in enumerate("NT"):

        def slope(rows, place=place):
            design = [
                [math.log(row["N"]), math.log(row["T"])]
                + [float(row["task"] == task) for task in tasks]
                for row in rows
            ]
            return fit(design, [math.log(row["best rate"]) for row in rows])[0][place]

        found = of_fit(shapes, slope)
        refuted = letter == "N" and not (found[1] <= 0 <= found[2])
        out.say(
            5,
            f"exponent of the best rate in {letter}" + ("" if letter == "N" else " (not asked)"),
            found[0],
            refuted,
            *found[1:],
        )


SIZES_CALLED = ("better", "worse")


def of_second_plan(out, results):
    pairs, shapes = read(results, "fair_pairs.csv"), read(results, "fair.csv")

    def lower(panel, size=16384):
        rows = [row for row in pairs if row["panel"] == panel and row["larger size"] == size]
        return sum(row["call"] == "better" for row in rows), len(rows)

    for prediction, panel in enumerate(("one", "four minibatches", "one epoch", "KL stop"), 1):
        count, tasks = lower(panel)
        if tasks:
            out.say(
                prediction,
                f"panel {panel}: of {tasks} tasks, those where the best of 16,384 is lower",
                count,
                count < 4,
            )
    gaps = {
        (row["panel"], row["task"]): row["difference of areas"]
        for row in select(pairs, **{"larger size": 16384.0})
    }
    for panel in ("one epoch", "KL stop"):
        tasks = [task for other, task in gaps if other == panel]
        if tasks:
            count = sum(gaps[panel, task] < gaps["one", task] for task in tasks)
            out.say(
                5,
                f"{panel}: of {len(tasks)} tasks, those with a smaller difference than panel one",
                count,
                count < 3,
            )
    of_1024 = [row for row in pairs if row["panel"] == "one" and row["larger size"] == 1024]
    count = sum(row["call"] not in SIZES_CALLED for row in of_1024)
    out.say(6, "tasks where 1,024 is not told apart from 256 samples", count, count < 3)
    one = select(shapes, panel="one")
    seven = [row for row in one if row["rates tried"] == 7]
    count = sum(row["at edge"] == "yes" for row in seven)
    out.say(7, f"best rates of {len(seven)} at an edge of the seven", count, count > 5)
    tops = [
        max(select(one, task=task, size=16384.0), key=lambda row: row["area"])
        for task in sorted({row["task"] for row in one})
    ]
    count = sum(row["at edge"] == "yes" for row in tops)
    out.say(8, "tasks where the best shape of 16,384 has its rate at an edge", count, count > 0)
    count = sum(row["call"] not in LEVEL for row in select(one, shape="4x64"))
    out.say(9, "tasks where 4x64 is lower than the best shape", count, count > 1)
    changed = [
        f"{row['task']} {row['larger size']:.0f}"
        for row in pairs
        if row["panel"] == "one"
        and row["call"] != FIRST_CALLS[row["task"], int(row["larger size"])]
    ]
    out.say(
        10,
        "calls of panel one that differ from those at five rates: " + ", ".join(changed),
        len(changed),
        not changed,
    )


def of_parts(out, results):
    pairs = read(results, "parts_pairs.csv")

    def pair(task, a, b):
        return select(pairs, task=task, a=a, b=b)[0]

    block, all_of_it = (
        pair("Pendulum-v1", arm, "8x16")["difference area"] for arm in ("8x128", "64x16")
    )
    share = block / all_of_it if all_of_it > 0 else math.nan
    out.say(
        6,
        "Pendulum-v1: gain of area from 8x16 to 64x16",
        all_of_it,
        False,
        pair("Pendulum-v1", "64x16", "8x16")["difference area low"],
        pair("Pendulum-v1", "64x16", "8x16")["difference area high"],
    )
    out.say(
        6,
        "Pendulum-v1: gain of the larger block alone (8x128), as a share of that",
        share,
        not share >= 0.5,
    )
    for task, a, b, expected in (
        ("CartPole-v1", "64x16", "64x16 from 8 starts", "level"),
        ("Pendulum-v1", "64x16", "64x16 in step", "apart"),
        ("CartPole-v1", "64x16", "64x16 in step", "level"),
    ):
        row = pair(task, a, b)
        low, high = row["P(a better) area low"], row["P(a better) area high"]
        level = low <= 0.5 <= high
        out.say(
            6,
            f"{task}: P({a} better than {b}) by area, expected {expected}",
            row["P(a better) area"],
            level != (expected == "level"),
            low,
            high,
        )


def of_health(out, results):
    rows = read(results, "health_runs.csv")
    kinds = sorted({(row["task"], row["activation"]) for row in rows})

    def design(row, *more):
        return (
            [math.log(row["gradient steps"])]
            + [float((row["task"], row["activation"]) == kind) for kind in kinds]
            + list(more)
        )

    norms = [math.log(row["weight norm"]) for row in rows]
    _, steps = fit([design(row) for row in rows], norms)
    _, both = fit([design(row, math.log(row["N"])) for row in rows], norms)
    out.say(
        7,
        "share of log weight norm's variance that log gradient steps, task and activation explain",
        steps,
        steps < 0.9,
    )
    out.say(7, "what log N adds to that", both - steps, both - steps >= 0.02)
    relu = select(rows, activation="relu")
    tasks = sorted({row["task"] for row in relu})
    for name in ("gradient steps", "N"):
        place = ("gradient steps", "N").index(name)

        def slope(drawn):
            return fit(
                [
                    [math.log(row["gradient steps"]), math.log(row["N"])]
                    + [float(row["task"] == task) for task in tasks]
                    for row in drawn
                ],
                [row["constant %"] for row in drawn],
            )[0][place]

        found = of_fit(relu, slope)
        refuted = found[1] <= 0 if name == "gradient steps" else not found[1] <= 0 <= found[2]
        out.say(
            7,
            f"ReLU: idle units, percentage points for each e-fold of {name}, the other held",
            found[0],
            refuted,
            *found[1:],
        )


def of_value_clip(out, results):
    pairs = read(results, "value_clip_pairs.csv")
    for row in select(pairs, task="CartPole-v1"):
        out.say(
            8,
            f"CartPole-v1: area of {row['a']} less {row['b']}, each at its best rate",
            row["difference area"],
            row["difference area"] <= 0,
            row["difference area low"],
            row["difference area high"],
        )
    arms = {
        (row["task"], row["arm"]): row["area"]
        for row in read(results, "value_clip.csv")
        if row["best rate"] == "yes"
    }
    with_clip, without = (
        arms["CartPole-v1", "8x128" + more] - arms["CartPole-v1", "128x8" + more]
        for more in ("", " no value clip")
    )
    out.say(
        8,
        "CartPole-v1: loss of area from 8x128 to 128x8 without the value clip, less that with it",
        without - with_clip,
        without >= with_clip,
    )
    for row in select(pairs, task="Pendulum-v1"):
        low, high = row["P(a better) area low"], row["P(a better) area high"]
        out.say(
            8,
            f"Pendulum-v1: P({row['a']} better than {row['b']}) by area, expected level",
            row["P(a better) area"],
            not low <= 0.5 <= high,
            low,
            high,
        )


def main():
    results = sys.argv[1]
    out = Verdicts()
    for name, judge in (
        ("fair.csv", of_shapes),
        ("parts.csv", of_parts),
        ("health_runs.csv", of_health),
        ("value_clip.csv", of_value_clip),
    ):
        if os.path.exists(os.path.join(results, name)):
            judge(out, results)
    out.plan = 2
    of_second_plan(out, results)
    with open(os.path.join(results, "verdicts.csv"), "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(out[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(
            {
                key: float(f"{value:.4g}") if isinstance(value, float) else value
                for key, value in row.items()
            }
            for row in out
        )
    for row in out:
        interval = f" [{row['low']:.3g}, {row['high']:.3g}]" if row["low"] != "" else ""
        print(
            f"{row['plan']}.{row['prediction']}  {row['what']}: {row['value']:.3g}{interval}"
            + ("  REFUTED" if row["refuted"] == "yes" else "")
        )


if __name__ == "__main__":
    main()
