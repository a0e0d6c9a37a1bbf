#!/usr/bin/env python3
"""keep.py RUN RESULTS: the ledger line as it is, the panel's rows and the curves of the run as CSV."""

import csv
import glob
import json
import os
import shutil
import sys

run, results = sys.argv[1:3]


def write(name, rows):
    with open(os.path.join(results, name), "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def lines(name):
    with open(os.path.join(run, name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


shutil.copyfile(os.path.join(run, "ledger_line.json"), os.path.join(results, "ledger_line.json"))
with open(glob.glob(os.path.join(run, "panel-*.json"))[0], encoding="utf-8") as file:
    panel = json.load(file)
KEYS = (
    "stratum",
    "perturbation",
    "episodes",
    "success_rate",
    "success_low",
    "success_high",
    "mean_return",
    "ci_low",
    "ci_high",
    "mean_length",
)
rows = [{key: row[key] for key in KEYS} for row in panel["panel"]["rows"].values()]
write("panel.csv", rows)
levels = []
for line in lines("metrics.jsonl"):
    for level in ("light", "usual", "heavy"):
        if f"level_share/{level}" in line:
            levels.append(
                {
                    "steps": line["global_step"],
                    "level": level,
                    "share of environments": line[f"level_share/{level}"],
                }
            )
write("levels.csv", levels)
write(
    "evaluations.csv",
    [
        {
            "steps": line["global_step"],
            "success": line.get("success_rate"),
            "return": line["mean_return"],
        }
        for line in lines("eval.jsonl")
    ],
)
