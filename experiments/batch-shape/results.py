#!/usr/bin/env python3
"""results.py OUT study.json...: what is kept of a study's reports, one a task: OUT_cells.csv, OUT_pairs.csv, OUT_runs.csv and
OUT.md, the sentences."""
import csv
import json
import sys

LAST = {"feature rank": "plasticity/actor_approximate_rank", "Lyle's rank": "plasticity/actor_feature_rank", "dormant %": "plasticity/dormant", "constant %": "plasticity/constant",
        "weight norm": "plasticity/weight_norm", "grad kurtosis": "plasticity/grad_kurtosis", "policy variance": "policy/variance",
        "explained variance": "explained_variance", "coverage %": "coverage/run", "coverage of 512 states %": "coverage/sample"}
LEAST = {"least ess %": "policy/ess"}


def shorter(x):
    return x if isinstance(x, (str, int)) or x is None else float(f"{x:.5g}")


def interval(name, estimate):
    estimate = estimate or {}
    return {name: estimate.get("value"), f"{name} low": estimate.get("low"), f"{name} high": estimate.get("high")}


def iqm(cell, score):
    return (cell["scores"][score] or {}).get("iqm")


def arm_name(report, arm):
    return report["arms"][arm]["name"].removesuffix(" " + report["tasks"][0]["name"])


def cell_row(report, cell):
    curves = {curve["key"]: curve["iqm"] for curve in cell["curves"]}
    row = {"task": report["tasks"][cell["task"]]["name"], "arm": arm_name(report, cell["arm"]), "N": cell["num_envs"],
           "T": cell["num_steps"], "other": report["arms"][cell["arm"]]["other"], "gradient steps": cell["gradient_steps"],
           "minibatch": cell["minibatch_size"], "epochs": cell["update_epochs"], "runs": cell["finished"], "failed": cell["failed"]}
    for score in ("evaluation", "area", "training"):
        row |= interval(score, iqm(cell, score))
    for name, key in LAST.items():
        if key in curves:
            row |= interval(name, curves[key][-1])
    for name, key in LEAST.items():
        if key in curves:
            row[name] = min(e["value"] for e in curves[key])
    return row


def pair_row(report, pair):
    return {"task": report["tasks"][0]["name"], "a": arm_name(report, pair["a"]), "b": arm_name(report, pair["b"]),
            "score": pair["score"], **interval("P(a better)", pair["probability"]), **interval("difference", pair["difference"]),
            "equal gradient steps": str(pair["equal"]["gradient_steps"]).lower(), "result": pair["result"]}


def run_rows(report, cell):
    for run in cell["runs"]:
        yield {"task": report["tasks"][cell["task"]]["name"], "arm": arm_name(report, cell["arm"]), **run}


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        out.writeheader()
        for row in rows:
            out.writerow({name: shorter(x) for name, x in row.items()})


def sentences(out, reports):
    name = out.rsplit("/", 1)[-1]
    with open(out + ".md", "w", encoding="utf-8") as file:
        first = reports[0]["studies"][0]
        file.write(f"# {name}\n\nSeeds {first['seeds'][0]} to {first['seeds'][-1]}, revision "
                   f"{', '.join(first['run_revisions'])}, {first['hardware'][0]}. Written by `run.sh {name}`.\n")
        for report in reports:
            file.write(f"\n## {report['tasks'][0]['name']}\n")
            for part in report["summary"]:
                file.write(f"\n{part['title']}\n\n" + "".join(f"- {line}\n" for line in part["lines"]))


def main():
    out, reports = sys.argv[1], []
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            reports.append(json.load(file))
    write(out + "_cells.csv", [cell_row(r, cell) for r in reports for cell in r["cells"]])
    write(out + "_pairs.csv", [pair_row(r, pair) for r in reports for pair in r["comparisons"] if pair["score"] == "evaluation"])
    write(out + "_runs.csv", [row for r in reports for cell in r["cells"] for row in run_rows(r, cell)])
    sentences(out, reports)


main()
