#!/usr/bin/env python3
"""Autocovariance by lag averaged over checkpoints: lag_curve.py gradients.json... > lag_curve.csv

Checkpoints are the units: the interval is mean +- t * s / sqrt(n) over them.
"""

import csv
import json
import math
import sys

T_975 = {10: 2.262, 20: 2.093}  # Student's t at 0.975 for n - 1 degrees of freedom


def main(files):
    values = {}
    for name in files:
        report = json.load(open(name, encoding="utf-8"))
        for case in report["correlation"]:
            for kind in [*case["within"], case["across"]]:
                key = (case["lambda"], kind.get("lag", "across"))
                values.setdefault(key, []).append(kind["autocovariance"]["value"])
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["lambda", "lag", "checkpoints", "mean", "mean low", "mean high"])
    for (lam, lag), x in values.items():
        n = len(x)
        mean = sum(x) / n
        deviation = math.sqrt(sum((v - mean) ** 2 for v in x) / (n - 1))
        half = T_975[n] * deviation / math.sqrt(n)
        out.writerow([lam, lag, n, *(f"{v:.6f}" for v in (mean, mean - half, mean + half))])


main(sys.argv[1:])
