#!/usr/bin/env python3
"""results.py OUT STORE study.json...: what is kept of a study, from its store and its reports, one a task: OUT_cells.csv,
OUT_pairs.csv, OUT_runs.csv, OUT_curves.csv and OUT.md, the sentences."""

import csv
import json
import sqlite3
import sys

LAST = {
    "feature rank": "plasticity/actor_approximate_rank",
    "Lyle's rank": "plasticity/actor_feature_rank",
    "dormant %": "plasticity/dormant",
    "constant %": "plasticity/constant",
    "weight norm": "plasticity/weight_norm",
    "grad kurtosis": "plasticity/grad_kurtosis",
    "policy variance": "policy/variance",
    "explained variance": "explained_variance",
    "coverage %": "coverage/run",
    "coverage of 512 states %": "coverage/sample",
}
LEAST = {"least ess %": "policy/ess"}
CURVES = {
    "evaluation": "evaluation_return",
    "KL": "approx_kl",
    "clip share": "clipfrac",
    "gradient norm": "grad_norm",
    "effective sample size %": "policy/ess",
    "policy variance": "policy/variance",
    "coverage %": "coverage/run",
    "coverage of 512 states %": "coverage/sample",
}


def shorter(x):
    return x if isinstance(x, (str, int)) or x is None else float(f"{x:.5g}")


def interval(name, estimate):
    estimate = estimate or {}
    return {
        name: estimate.get("value"),
        f"{name} low": estimate.get("low"),
        f"{name} high": estimate.get("high"),
    }


def iqm(cell, score):
    return (cell["scores"][score] or {}).get("iqm")


def arm_name(report, arm):
    return report["arms"][arm]["name"].removesuffix(" " + report["tasks"][0]["name"])


def cell_row(report, cell):
    curves = {curve["key"]: curve["iqm"] for curve in cell["curves"]}
    row = {
        "task": report["tasks"][cell["task"]]["name"],
        "arm": arm_name(report, cell["arm"]),
        "N": cell["num_envs"],
        "T": cell["num_steps"],
        "other": report["arms"][cell["arm"]]["other"],
        "gradient steps": cell["gradient_steps"],
        "minibatch": cell["minibatch_size"],
        "epochs": cell["update_epochs"],
        "runs": cell["finished"],
        "failed": cell["failed"],
    }
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
    return {
        "task": report["tasks"][0]["name"],
        "a": arm_name(report, pair["a"]),
        "b": arm_name(report, pair["b"]),
        "score": pair["score"],
        **interval("P(a better)", pair["probability"]),
        **interval("difference", pair["difference"]),
        "equal gradient steps": str(pair["equal"]["gradient_steps"]).lower(),
        "result": pair["result"],
    }


def last_numbers(store):
    """{(cell, seed): {name: last value of the instrument}}, as the store has it."""
    names = {
        key: name for name, key in {**LAST, "KL": "approx_kl", "clip share": "clipfrac"}.items()
    }
    found = {}
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
        for cell, seed, key, value in connection.execute(
            "SELECT cell, seed, key, value FROM learning_curves ORDER BY environment_steps"
        ):
            if key in names:
                found.setdefault((cell, seed), {})[names[key]] = value
    return found


def run_rows(report, cell, last):
    for run in cell["runs"]:
        yield {
            "task": report["tasks"][cell["task"]]["name"],
            "arm": arm_name(report, cell["arm"]),
            **run,
            **last.get((cell["name"], run["seed"]), {}),
        }


def curve_rows(report, cell):
    """One row a point of the grid, with those of the curves that have a number there."""
    rows = {}
    for name, key in CURVES.items():
        for curve in cell["curves"]:
            if curve["key"] == key:
                for step, estimate in zip(curve["steps"], curve["iqm"]):
                    rows.setdefault(step, {}).update(interval(name, estimate))
    kept = {curve["key"] for curve in cell["curves"]}
    columns = [
        f"{name}{end}"
        for name, key in CURVES.items()
        if key in kept
        for end in ("", " low", " high")
    ]
    for step in sorted(rows):
        yield {
            "task": report["tasks"][cell["task"]]["name"],
            "arm": arm_name(report, cell["arm"]),
            "N": cell["num_envs"],
            "T": cell["num_steps"],
            "other": report["arms"][cell["arm"]]["other"],
            "step": step,
            **{column: rows[step].get(column) for column in columns},
        }


def write(path, rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, names, lineterminator="\n")
        out.writeheader()
        for row in rows:
            out.writerow({name: shorter(x) for name, x in row.items()})


def sentences(out, reports):
    name = out.rsplit("/", 1)[-1]
    with open(out + ".md", "w", encoding="utf-8") as file:
        first = reports[0]["studies"][0]
        file.write(
            f"# {name}\n\nSeeds {first['seeds'][0]} to {first['seeds'][-1]}, revision "
            f"{', '.join(first['run_revisions'])}, {first['hardware'][0]}. Written by `run.sh {name}`.\n"
        )
        for report in reports:
            file.write(f"\n## {report['tasks'][0]['name']}\n")
            file.write(f"\n{report['answer']}\n")
            file.write("\n" + "".join(f"- {note}\n" for note in report["notes"]))


def main():
    out, store, reports = sys.argv[1], sys.argv[2], []
    for path in sys.argv[3:]:
        with open(path, encoding="utf-8") as file:
            reports.append(json.load(file))
    write(out + "_cells.csv", [cell_row(r, cell) for r in reports for cell in r["cells"]])
    write(
        out + "_pairs.csv",
        [
            pair_row(r, pair)
            for r in reports
            for pair in r["comparisons"]
            if pair["score"] == "evaluation"
        ],
    )
    last = last_numbers(store)
    write(
        out + "_runs.csv",
        [row for r in reports for cell in r["cells"] for row in run_rows(r, cell, last)],
    )
    write(
        out + "_curves.csv",
        [row for r in reports for cell in r["cells"] for row in curve_rows(r, cell)],
    )
    sentences(out, reports)


main()
