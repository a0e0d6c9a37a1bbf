#!/usr/bin/env python3
"""numbers.py: every number that README.md quotes beyond results/tables.md, from results/*.csv."""

import csv
import pathlib

RESULTS = pathlib.Path(__file__).parent / "results"
FAMILIES = ("1", "8", "128", "512")


def rows(name):
    with open(RESULTS / f"{name}.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


RUNS, CELLS, DIFFERENCES = rows("runs"), rows("cells"), rows("differences")


def runs(task, strata, families, column):
    """{seed: value}"""
    return {
        row["seed"]: float(row[column])
        for row in RUNS
        if (row["task"], row["strata"], row["families"]) == (task, strata, families)
    }


def cell(task, strata, families, column):
    row = next(
        r for r in CELLS if (r["task"], r["strata"], r["families"]) == (task, strata, families)
    )
    return " ".join(f"{float(row[column + end]):.4g}" for end in ("", " low", " high"))


def difference(task, name, column):
    row = next(r for r in DIFFERENCES if (r["task"], r["difference"]) == (task, name))
    return " ".join(f"{float(row[column + end]):.4g}" for end in ("", " low", " high"))


def clear_differences():
    scores = [c for c in DIFFERENCES[0] if c + " low" in DIFFERENCES[0]]
    pairs = [(float(r[s + " low"]), float(r[s + " high"])) for r in DIFFERENCES for s in scores]
    print(
        f"differences: {sum(low * high > 0 for low, high in pairs)} of {len(pairs)} leave zero out"
    )


def speeds():
    for task in ("CartPole-v1", "Pendulum-v1"):
        found = [float(r["steps per second"]) for r in CELLS if r["task"] == task]
        print(f"{task}: cells have {min(found) / 1e3:.0f} k to {max(found) / 1e3:.0f} k steps/s")


def returns():
    for task in ("Pendulum-v1", "CartPole-v1"):
        for strata in ("narrow", "wide"):
            for families in FAMILIES:
                print(
                    f"{task} {strata} {families}: usual return {cell(task, strata, families, 'usual return')}, "
                    f"training {cell(task, strata, families, 'training return')}, usual success {cell(task, strata, families, 'usual success')}"
                )
            for families in FAMILIES[:-1]:
                name = f"512 - {families} families, {strata}"
                print(
                    f"  {name}: return {difference(task, name, 'usual return')}, success {difference(task, name, 'usual success')}"
                )
        for families in FAMILIES:
            name = f"wide - narrow, {families} families"
            print(
                f"  {name}: return {difference(task, name, 'usual return')}, success {difference(task, name, 'usual success')}, "
                f"outside {difference(task, name, 'outside success')}, training {difference(task, name, 'training return')}"
            )


def single_runs():
    one, most = (
        runs("Pendulum-v1", "narrow", "1", "usual return"),
        runs("Pendulum-v1", "narrow", "512", "usual return"),
    )
    print(
        f"Pendulum narrow: best with one family {max(one.values()):.0f}, worst with 512 {min(most.values()):.0f}; "
        f"worst with one {min(one.values()):.0f}"
    )
    trained = runs("Pendulum-v1", "narrow", "1", "training return")
    print(
        f"training return with one family: {min(trained.values()):.0f} to {max(trained.values()):.0f}"
    )
    for seed in ("16", "1", "6"):
        print(
            f"Pendulum narrow 1, seed {seed}: "
            + ", ".join(
                f"{c} {runs('Pendulum-v1', 'narrow', '1', c)[seed]:.3g}"
                for c in ("training return", "training success", "usual return", "usual success")
            )
        )
    for strata, families, seed in (("wide", "8", "5"), ("narrow", "512", "2")):
        print(
            f"CartPole {strata} {families}, seed {seed}: "
            + ", ".join(
                f"{c} {runs('CartPole-v1', strata, families, c)[seed]:.3g}"
                for c in ("training success", "usual success")
            )
        )
    for strata in ("narrow", "wide"):
        print(
            f"gap of Pendulum, {strata}: "
            + ", ".join(
                next(
                    r["gap"]
                    for r in CELLS
                    if (r["task"], r["strata"], r["families"]) == ("Pendulum-v1", strata, f)
                )
                for f in FAMILIES
            )
        )
    success, value = (
        runs("Pendulum-v1", "narrow", "128", "usual success"),
        runs("Pendulum-v1", "narrow", "128", "usual return"),
    )
    low = [value[s] for s in success if success[s] < 0.8]
    high = [
        runs("Pendulum-v1", "narrow", f, "usual return")[s]
        for f in ("128", "512")
        for s, x in runs("Pendulum-v1", "narrow", f, "usual success").items()
        if x > 0.97
    ]
    print(
        f"Pendulum narrow 128: {len(low)} runs below 0.8 in success return {min(low):.0f} to {max(low):.0f}; "
        f"those above 0.97 with 128 or 512: {min(high):.0f} to {max(high):.0f}"
    )
    for name in ("long", "short", "weak", "usual"):
        print(
            f"CartPole 512, {name} success: narrow {cell('CartPole-v1', 'narrow', '512', name + ' success')}, "
            f"wide {cell('CartPole-v1', 'wide', '512', name + ' success')}"
        )
    for name in ("light", "heavy", "lean", "usual"):
        print(
            f"Pendulum 512, {name} success: narrow {cell('Pendulum-v1', 'narrow', '512', name + ' success')}, "
            f"wide {cell('Pendulum-v1', 'wide', '512', name + ' success')}"
        )


clear_differences()
speeds()
returns()
single_runs()
