#!/usr/bin/env python3
"""The tables of README.md and DETAILS.md, from the kept files.

quoted.py RESULTS            prints them
quoted.py RESULTS PAGE...    names the lines that none of the pages has
"""

import collections
import pathlib
import statistics
import sys

from verdicts import read, select

DIGITS = {"FrozenLake8x8-v1": 2, "MountainCarContinuous-v0": 1}
PANELS = {
    "one": "panel one: minibatch 64, four epochs",
    "four minibatches": "four minibatches a block",
    "one epoch": "one epoch",
    "KL stop": "KL stop at 0.02",
}
CALLS = {
    "better": ", **lower**",
    "worse": ", **higher**",
    "hangs on the rate": ", depends on the rate",
}


def estimate(row):
    digits = DIGITS.get(row["task"], 0)
    middle, low, high = (f"{row[key]:.{digits}f}" for key in ("area", "area low", "area high"))
    return f"{middle} [{low}, {high}]"


def cell(row, call=""):
    edge = f", rate at the edge {row['best rate']:g}" if row["at edge"] == "yes" else ""
    return f"{row['shape']}: {estimate(row)}{edge}{CALLS.get(call, '')}"


def line(cells):
    return "| " + " | ".join(cells) + " |"


def sizes(results, tasks):
    """The best shape of each size in panel one."""
    best = select(read(results, "fair.csv"), panel="one", **{"best of size": "yes"})
    pairs = select(read(results, "fair_pairs.csv"), panel="one")
    for size in sorted({row["size"] for row in best}):
        yield line([f"{size:,.0f}"] + [
            cell(
                select(best, task=task, size=size)[0],
                "".join(row["call"] for row in select(pairs, task=task, **{"larger size": size})),
            )
            for task in tasks
        ])  # fmt: skip


def panels(results, tasks):
    """256 against 16,384 samples in every panel."""
    best = select(read(results, "fair.csv"), **{"best of size": "yes"})
    pairs = select(read(results, "fair_pairs.csv"), **{"larger size": 16384.0})
    for panel, name in PANELS.items():
        cells = [name]
        for task in tasks:
            pair = select(pairs, panel=panel, task=task)
            if not pair:
                cells.append("")
                continue
            of_small = "one" if panel == "four minibatches" else panel
            small = select(best, panel=of_small, task=task, size=256.0)[0]
            large = select(best, panel=panel, task=task, size=16384.0)[0]
            cells.append(f"{cell(small)}; {cell(large, pair[0]['call'])}")
        yield line(cells)


def together(results, tasks):
    """Shape and rate chosen together."""
    rows = read(results, "fair_sizes.csv")
    for size in sorted({row["size"] for row in rows}):
        found = [select(rows, task=task, size=size)[0] for task in tasks]
        yield line([f"{size:,.0f}"] + [estimate(row) + CALLS.get(row["call"], "") for row in found])


def norms(results):
    """Mean weight norms of part 3."""
    rows = read(results, "health_runs.csv")
    groups = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in rows:
        shape = row["N"], row["T"]
        groups[row["activation"], row["minibatch_size"]][shape].append(row["weight norm"])
    for i, ((activation, minibatch), shapes) in enumerate(
        sorted(groups.items(), key=activation_last)
    ):
        means = [f"{statistics.fmean(shapes[shape]):.1f}" for shape in sorted(shapes)]
        name = {"tanh": "tanh", "relu": "ReLU"}[activation] if i % 3 == 0 else ""
        yield line([name, f"{minibatch:,.0f}", *means]).replace("|  |", "| |")


def activation_last(group):
    (activation, minibatch), _ = group
    return activation != "tanh", minibatch


def main():
    results, pages = sys.argv[1], sys.argv[2:]
    tasks = sorted({row["task"] for row in read(results, "fair.csv")})
    lines = [
        *sizes(results, tasks), *panels(results, tasks), *together(results, tasks), *norms(results)
    ]  # fmt: skip
    if pages:
        text = "\n".join(pathlib.Path(page).read_text(encoding="utf-8") for page in pages)
        lines = [row for row in lines if row not in text.splitlines()]
    print(*lines, sep="\n")
    if pages and lines:
        sys.exit(f"{len(lines)} lines of tables are not those of the kept files")


main()
