#!/usr/bin/env python3
"""results.py LEDGER FOLDER: what is kept of the runs in a ledger: FOLDER/runs.csv, one row a run, and FOLDER/cells.csv, means over
seeds with 95 % intervals (percentiles of 10,000 bootstrap samples of the seeds, the same for every cell)."""
import csv
import json
import random
import sys

RESAMPLES = 10_000
KEYS = ("task", "strata", "families")
NARROW = ({"force": "9..11", "half_length": "0.4..0.6"}, {"gravity": "9.5..10.5", "mass": "0.95..1.05"})


def run_row(line):
    contract, result = line["contract"], line["result"]
    width = "narrow" if contract["strata"][0]["ranges"] in NARROW else "wide"
    row = {"task": contract["env_id"], "strata": width, "families": contract["seed_families"], "seed": line["seeds"]["training"]["seed"],
           "training return": result["mean_return"], "training success": result["success_rate"],
           "steps per second": line["speed"]["steps_per_second"]}
    for name, part in line["panel"]["rows"].items():
        if name.startswith("all"):
            continue
        row[f"{part['stratum']} success"] = part["success_rate"]
        row[f"{part['stratum']} return"] = part["mean_return"]
    row["parameters"] = result["parameters_hash"]
    return row


def interval(values):
    rng = random.Random(1)
    n = len(values)
    means = sorted(sum(rng.choices(values, k=n)) / n for _ in range(RESAMPLES))
    return sum(values) / n, means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]


def cell_rows(runs):
    cells = {}
    for run in runs:
        cells.setdefault(tuple(run[k] for k in KEYS), []).append(run)
    for key, members in cells.items():
        row = dict(zip(KEYS, key)) | {"runs": len(members)}
        for name in members[0]:
            if name in KEYS or name in ("seed", "parameters"):
                continue
            mean, low, high = interval([m[name] for m in members])
            row |= {name: f"{mean:.5g}", f"{name} low": f"{low:.5g}", f"{name} high": f"{high:.5g}"}
        yield row


def write(path, rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, names, lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def main():
    ledger, folder = sys.argv[1:]
    lines = [json.loads(text) for text in open(ledger, encoding="utf-8")]
    runs = sorted((run_row(line) for line in lines), key=lambda r: (*(r[k] for k in KEYS), r["seed"]))
    write(f"{folder}/runs.csv", runs)
    write(f"{folder}/cells.csv", list(cell_rows(runs)))


main()
