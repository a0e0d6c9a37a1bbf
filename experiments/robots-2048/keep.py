#!/usr/bin/env python3
"""keep.py WORK RESULTS: the contract, the ledger line as it is, the panel's rows and the curves of the run as CSV, and what the
audit said of each planted fault."""

import csv
import glob
import json
import os
import shutil
import sys

work, results = sys.argv[1:3]
run = os.path.join(work, "run")


def write(name, rows):
    with open(os.path.join(results, name), "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def lines(name):
    with open(os.path.join(run, name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


with open(os.path.join(work, "train.txt"), encoding="utf-8") as file:
    printed = file.read()
with open(os.path.join(results, "contract.txt"), "w", encoding="utf-8") as file:
    begin = printed.index("Block (T, N, D)")
    file.write(printed[begin : printed.index("\n", printed.index("\nSeed: ", begin) + 1) + 1])

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
    "failure_rate",
    "failure_low",
    "failure_high",
    "mean_return",
    "ci_low",
    "ci_high",
    "mean_length",
)
write("panel.csv", [{key: row[key] for key in KEYS} for row in panel["panel"]["rows"].values()])
write(
    "evaluations.csv",
    [
        {
            "steps": line["global_step"],
            "success": line.get("success_rate"),
            "return": line["mean_return"],
            "length": line["mean_length"],
        }
        for line in lines("eval.jsonl")
    ],
)
CURVES = (
    "global_step",
    "episodic_return",
    "episodic_length",
    "success_rate",
    "success_rate/even",
    "success_rate/mild",
    "approx_kl",
    "clipfrac",
    "explained_variance",
    "steps_per_second",
)
write("curves.csv", [{key: line.get(key) for key in CURVES} for line in lines("metrics.jsonl")])

printed = []
for name in ("none", "commands", "column", "resets", "panel_worlds", "panel_streams", "stale"):
    with open(os.path.join(work, f"audit_{name}.json"), encoding="utf-8") as file:
        report = json.load(file)
    loud = [check for check in report["checks"] if check["severity"] in ("warning", "error")]
    for check in loud or [{"name": "", "severity": "", "value": "", "sentence": ""}]:
        printed.append(
            {
                "fault": name,
                **{key: check[key] for key in ("name", "severity", "value", "sentence")},
            }
        )
write("faults.csv", printed)
