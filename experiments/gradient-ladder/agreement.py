#!/usr/bin/env python3
"""What the ladder's figures and page are made of, from kept gradients.json files.

    agreement.py gradients.json... > agreement.csv
    agreement.py --best agreement.csv > best_lambda.csv     each shape at its best lambda
    agreement.py --table gradients.json...                  the page's table

One row a checkpoint, shape, lambda and critic: agreement of one block's gradient with the true one, advantages normalised
over the block, and beside it what variance and bias say of the same shape. Files without agreement are refused.
"""

import csv
import json
import sys

HEAD = [
    "task",
    "step",
    "N",
    "T",
    "lambda",
    "critic",
    "agreement",
    "agreement low",
    "agreement high",
    "points away",
    "cosine",
    "cosine low",
    "cosine high",
    "signal to noise",
    "signal to noise low",
    "signal to noise high",
    "inflation",
    "inflation low",
    "inflation high",
    "critical batch",
]


def three(estimate):
    return [None] * 3 if estimate is None else [estimate[key] for key in ("value", "low", "high")]


def rows_of(report):
    checkpoint = report["checkpoint"]
    variance = {(c["num_envs"], c["num_steps"], c["lambda"]): c for c in report.get("variance", [])}
    bias = {(c["num_steps"], c["lambda"]): c for c in report.get("bias", [])}
    for c in report["agreement"]:
        if not c["norm_adv"]:
            continue
        v = (
            variance.get((c["num_envs"], c["num_steps"], c["lambda"]), {})
            if c["critic"] == "own"
            else {}
        )
        b = bias.get((c["num_steps"], c["lambda"]), {}) if c["critic"] == "own" else {}
        yield [
            checkpoint["env_id"],
            checkpoint["global_step"],
            c["num_envs"],
            c["num_steps"],
            c["lambda"],
            c["critic"],
            *three(c["agreement"]),
            c["away"]["value"],
            *three(b.get("cosine")),
            *three(v.get("signal_to_noise")),
            *three(v.get("variance_inflation")),
            v.get("critical_batch", {}).get("value"),
        ]


SHAPES = (1, 8, 32, 128, None)  # environments of the page's table; None: T = 1


def brief(estimate):
    if estimate is None or estimate["value"] is None:
        return "-"
    sign = lambda x: f"{x:.2f}".replace("0.", ".").replace("-.", "-.")
    return f"{sign(estimate['value'])} [{sign(estimate['low'])}, {sign(estimate['high'])}]"


def table(reports):
    """The page's table: agreement at the run's lambda, by shape and critic."""
    print(
        "| policy | critic | 1 environment | 8 | 32 | 128 | T = 1 |\n|---|---|---|---|---|---|---|"
    )
    for report in reports:
        for critic in ("own", "refitted", "exact"):
            by_critic = {
                c["num_envs"]: c["agreement"]
                for c in report["agreement"]
                if c["norm_adv"] and c["critic"] == critic and c["lambda"] == 0.95
            }
            if not by_critic:
                continue
            name = f"{report['checkpoint']['env_id'].split('-')[0]} {report['checkpoint']['global_step'] // 1000:,} k"
            cells = [brief(by_critic.get(max(by_critic) if n is None else n)) for n in SHAPES]
            explained = report["critics"].get(critic)
            share = "" if explained is None else f" ({100 * explained:.1f} %)"
            print(
                f"| {name if critic == 'own' else ''} | {critic}{share} | "
                + " | ".join(cells)
                + " |"
            )


def best(name):
    """Each shape at the lambda that agrees most, under the critic that is nearest to the truth."""
    found = {}
    with open(name, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["critic"] != ("exact" if row["task"].startswith("FrozenLake") else "refitted"):
                continue
            key = row["task"], row["step"], row["N"], row["T"]
            if key not in found or float(row["agreement"]) > float(found[key]["agreement"]):
                found[key] = row
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(HEAD[:9])
    out.writerows([row[name] for name in HEAD[:9]] for row in found.values())


def read(name):
    with open(name, encoding="utf-8") as file:
        report = json.load(file)
    if "agreement" not in report:
        sys.exit(f"{name} has no agreement; make it again with this folder's run.sh")
    return report


def main(files):
    if files and files[0] == "--table":
        return table([read(name) for name in files[1:]])
    if files and files[0] == "--best":
        return best(files[1])
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(HEAD)
    for name in files:
        out.writerows(["" if x is None else x for x in row] for row in rows_of(read(name)))


main(sys.argv[1:])
