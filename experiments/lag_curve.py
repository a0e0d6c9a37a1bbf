#!/usr/bin/env python3
"""Autocovariance by lag averaged over checkpoints: lag_curve.py gradients.json... > lag_curve.json

Checkpoints are the units: the interval is mean +- t * s / sqrt(n) over them.
"""

import json
import math
import sys

T_975 = {10: 2.262, 20: 2.093}  # Student's t at 0.975 for n - 1 degrees of freedom


def main(files):
    values = {}
    steps = []
    for name in files:
        report = json.load(open(name, encoding="utf-8"))
        steps.append(report["checkpoint"]["global_step"])
        for case in report["correlation"]:
            for kind in [*case["within"], case["across"]]:
                key = (case["lambda"], kind.get("lag", "across"))
                values.setdefault(key, []).append(kind["autocovariance"]["value"])
    rows = []
    for (lam, lag), x in values.items():
        n = len(x)
        mean = sum(x) / n
        deviation = math.sqrt(sum((v - mean) ** 2 for v in x) / (n - 1))
        half = T_975[n] * deviation / math.sqrt(n)
        rows.append(
            {
                "lambda": lam,
                "lag": lag,
                "checkpoints": n,
                "mean": round(mean, 6),
                "low": round(mean - half, 6),
                "high": round(mean + half, 6),
            }
        )
    json.dump({"global_steps": sorted(steps), "autocovariance": rows}, sys.stdout, indent=1)
    print()


main(sys.argv[1:])
