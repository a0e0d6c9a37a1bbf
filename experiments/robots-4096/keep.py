#!/usr/bin/env python3
"""keep.py WORK RESULTS: of both robots, the contracts, the ledger lines as they are,
evaluations, training's curves, and the panels' rows with the share of its return that each cell
keeps."""

import csv
import json
import math
import os
import shutil
import sys

work, results = sys.argv[1:3]
ROBOTS = ("quadruped", "cheetah")


def write(name, rows):
    with open(os.path.join(results, name), "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def lines(robot, name):
    with open(os.path.join(work, robot, name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def kept(cell, nominal):
    """The ratio of two means of independent episodes, with its interval by the delta method."""
    halves = [(one["ci_high"] - one["ci_low"]) / 2 for one in (cell, nominal)]
    share = cell["mean_return"] / nominal["mean_return"]
    half = math.hypot(halves[0], share * halves[1]) / abs(nominal["mean_return"])
    return {"kept": share, "kept low": share - half, "kept high": share + half}


COLUMNS = (
    "stratum",
    "perturbation",
    "episodes",
    "success_rate",
    "success_low",
    "success_high",
    "failure_rate",
    "mean_return",
    "ci_low",
    "ci_high",
    "mean_length",
)
panel, evaluations, curves = [], [], []
for robot in ROBOTS:
    with open(os.path.join(work, f"{robot}.txt"), encoding="utf-8") as file:
        printed = file.read()
    with open(os.path.join(results, f"contract_{robot}.txt"), "w", encoding="utf-8") as file:
        begin = printed.index("Block (T, N, D)")
        file.write(printed[begin : printed.index("\n", printed.index("\nSeed: ", begin) + 1) + 1])
    record = os.path.join(work, robot, "ledger_line.json")
    shutil.copyfile(record, os.path.join(results, f"ledger_line_{robot}.json"))
    with open(record, encoding="utf-8") as file:
        rows = json.load(file)["panel"]["rows"]
    for row in rows.values():
        one = {"robot": robot, **{key: row[key] for key in COLUMNS}}
        for name in ("speed_error", "turn_error"):
            one[name] = row.get("measures", {}).get(name, {}).get("value")
        panel.append(one | kept(row, rows["trained/nominal"]))
    for line in lines(robot, "eval.jsonl"):
        keys = ("episodes", "success_rate", "mean_return", "ci_low", "ci_high", "mean_length")
        evaluations.append(
            {"robot": robot, "steps": line["global_step"], **{key: line.get(key) for key in keys}}
        )
    for line in lines(robot, "metrics.jsonl"):
        keys = ("episodic_return", "episodic_length", "success_rate", "approx_kl", "clipfrac")
        keys += ("explained_variance", "measure/speed_error", "steps_per_second")
        curves.append(
            {"robot": robot, "steps": line["global_step"], **{key: line.get(key) for key in keys}}
        )
write("panel.csv", panel)
write("evaluations.csv", evaluations)
write("curves.csv", curves)
