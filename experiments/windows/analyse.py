#!/usr/bin/env python3
"""Keeps the measured gradients and judges the predictions: analyse.py [RUNS] RESULTS

RUNS is the folder of run.sh, such as studies/windows. Without it the kept numbers are read. Each
number of a cell is a mean over policies, with Student's interval.
"""

import collections
import json
import pathlib
import re
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from rows import interval, read, write, write_verdicts  # noqa: E402

TASKS = {"t_maze": "TMaze-v0", "cartpole_hidden": "CartPole-v1 without velocities"}
MAZE, POLE = TASKS.values()
NUMBERS = {"bias": "relative_bias", "cosine": "cosine", "agreement": "agreement",
           "variance": "variance"}  # fmt: skip
KEYS = ["task", "memory", "seed", "share", "side", "L"]
ENDS = ["bias low", "bias high"]  # of one policy, from its blocks
LEAST = 2  # policies, for an interval
JUDGED_MEMORY = "gru"  # of the predictions; others are shown
RISE = 1.1  # "a rise of more than a tenth"


def measured(folder):
    """A row for each policy, side and length."""
    for path in sorted(folder.glob("*/windows_*.json")):
        task, memory, seed = re.fullmatch(r"(\w+)-(\w+)-(\d+)", path.parent.name).groups()
        share = int(path.stem.removeprefix("windows_"))
        for one in json.loads(path.read_text(encoding="utf-8"))["windows"]:
            values = [one[key]["value"] for key in NUMBERS.values()]
            values += [one[NUMBERS["bias"]][end] for end in ("low", "high")]
            yield [TASKS[task], memory, int(seed), share, one["side"], one["steps"],
                   *("" if value is None else value for value in values)]  # fmt: skip


def returns(folder):
    """Training returns at the checkpoints: means of five iterations that ended episodes."""
    for path in sorted(folder.glob("*/metrics.jsonl")):
        task, memory, seed = re.fullmatch(r"(\w+)-(\w+)-(\d+)", path.parent.name).groups()
        lines = path.read_text(encoding="utf-8").splitlines()
        for measured_at in sorted(path.parent.glob("windows_*.json")):
            share = int(measured_at.stem.removeprefix("windows_"))
            steps = json.loads(measured_at.read_text(encoding="utf-8"))["global_step"]
            before = [
                one["episodic_return"]
                for one in map(json.loads, lines)
                if one["global_step"] <= steps and one.get("episodes")
            ]
            yield [TASKS[task], memory, int(seed), share, steps, statistics.fmean(before[-5:])]


def of_common_seeds(rows):
    """The rows of seeds that every cell of a memory has."""
    seeds = collections.defaultdict(lambda: collections.defaultdict(set))
    for row in rows:
        seeds[row["memory"]][row["task"], row["share"]].add(row["seed"])
    wanted = {memory: set.intersection(*cells.values()) for memory, cells in seeds.items()}
    return [row for row in rows if row["seed"] in wanted[row["memory"]]]


def cells_of(rows):
    """{(memory, task, share, side): {L: {number: {seed: value}}}}, without missing values."""
    found = {}
    for row in rows:
        lengths = found.setdefault((row["memory"], row["task"], row["share"], row["side"]), {})
        numbers = lengths.setdefault(row["L"], {number: {} for number in NUMBERS})
        for number in NUMBERS:
            if row[number] != "":
                numbers[number][row["seed"]] = float(row[number])
    return found


def mean_of(values):
    """(mean, low, high) over policies; empty texts where there are too few."""
    return interval(list(values.values())) if len(values) >= LEAST else ("", "", "")


def verdicts(cells):
    """(prediction, what, value, refuted: True, False or the words "not judged: ...")"""
    shares = sorted({key[2] for key in cells})

    def cell(task, share, side="policy"):
        return cells[JUDGED_MEMORY, task, share, side]

    def number(task, share, length, kind="bias", side="policy"):
        return mean_of(cell(task, share, side)[length][kind])

    def judge(needed, refuted):
        """needed: the means that the prediction speaks of."""
        if all(mean[0] != "" for mean in needed):
            return refuted()
        few = sum(mean[0] == "" for mean in needed)
        return f"not judged: {few} of {len(needed)} means have fewer than {LEAST} policies"

    def shown(mean):
        return "" if mean[0] == "" else "{:.3g} [{:.3g}, {:.3g}]".format(*mean)

    for length, low_side in ((1, False), (16, True)):
        found = number(MAZE, 100, length)
        beyond = (lambda m=found: m[1] > 0.3) if low_side else (lambda m=found: m[2] < 0.3)
        yield 1, f"T-maze, 100 %: bias of L = {length}", shown(found), judge([found], beyond)
    steps = [
        (number(MAZE, share, length), number(MAZE, share, 2 * length))
        for share in shares
        for length in cell(MAZE, share)
        if 2 * length in cell(MAZE, share)
    ]
    means = [mean for pair in steps for mean in pair]
    rises = [b[0] / a[0] for a, b in steps if a[0] and b[0]]
    yield (
        2, "T-maze: largest mean over the mean of half the window", max(rises),
        judge(means, lambda: max(rises) > RISE),
    )  # fmt: skip
    found = number(POLE, 25, 8)
    yield 3, "CartPole, 25 %: bias of L = 8", shown(found), judge([found], lambda: found[1] > 0.2)
    biases = {share: {length: number(POLE, share, length) for length in cell(POLE, share)}
              for share in shares}  # fmt: skip
    most = {
        share: max((mean[0], length) for length, mean in same.items() if mean[0] != "")
        for share, same in biases.items()
        if any(mean[0] != "" for mean in same.values())
    }
    other = sum(length != 1 for _, length in most.values())
    yield (
        4, "CartPole: checkpoints at which another L has a larger bias than 1", other,
        judge([mean for same in biases.values() for mean in same.values()], lambda: other > 0),
    )  # fmt: skip
    for task in (MAZE, POLE):
        found = number(task, 100, 1, "variance")
        yield (
            5, f"{task}, 100 %: variance of L = 1 over that of T", shown(found),
            judge([found], lambda m=found: m[1] > 1),
        )  # fmt: skip
    for task in (MAZE, POLE):
        for share in shares:
            same = cell(task, share)
            whole = max(same)
            quarter, full = same[whole // 4]["agreement"], same[whole]["agreement"]
            found = mean_of({seed: quarter[seed] - full[seed] for seed in quarter.keys() & full})
            yield (
                6, f"{task}, {share} %: agreement of L = {whole // 4} less that of {whole}",
                shown(found), judge([found], lambda m=found: m[2] < 0),
            )  # fmt: skip
    pairs = [
        (number(task, share, 1), number(task, share, 1, side="critic"))
        for task in (MAZE, POLE)
        for share in shares
    ]
    larger = sum(
        critic[0] > policy[0] for policy, critic in pairs if policy[0] != "" and critic[0] != ""
    )
    yield (
        7, f"of {len(pairs)} cells, the critic's bias at L = 1 is larger in", larger,
        judge([mean for pair in pairs for mean in pair], lambda: larger < 4),
    )  # fmt: skip


def main():
    results = pathlib.Path(sys.argv[-1])
    header = [*KEYS, *NUMBERS, *ENDS]
    if len(sys.argv) == 3:
        folder = pathlib.Path(sys.argv[1])
        rows = [dict(zip(header, row, strict=True)) for row in measured(folder)]
        kept = of_common_seeds(rows)
        write(results / "policies.csv", header, [[row[key] for key in header] for row in kept])
        seeds = {(row["memory"], row["seed"]) for row in kept}
        write(
            results / "returns.csv",
            ["task", "memory", "seed", "share", "steps", "return"],
            [row for row in returns(folder) if tuple(row[1:3]) in seeds],
        )
    kept = [
        {**row, **{key: int(row[key]) for key in ("seed", "share", "L")}}
        for row in read(results / "policies.csv")
    ]
    cells = cells_of(kept)
    write(results / "cells.csv", [
        "memory", "task", "share", "side", "L", "policies",
        *(f"{name}{end}" for name in NUMBERS for end in ("", " low", " high")),
    ], [
        [*key, length, len(numbers["bias"]),
         *(text for number in NUMBERS for text in mean_of(numbers[number]))]
        for key, lengths in cells.items()
        for length, numbers in sorted(lengths.items())
    ])  # fmt: skip
    write_verdicts(results / "verdicts.csv", verdicts(cells))


if __name__ == "__main__":
    main()
