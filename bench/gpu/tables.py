#!/usr/bin/env python3
"""Writes the data of the figure in bench/gpu/README.md: envs.csv beside envs.json, from the output
of measure.sh.

usage: tables.py FOLDER
"""

import csv
import json
import pathlib
import sys


def main():
    folder = pathlib.Path(sys.argv[1])
    cases = json.loads((folder / "envs.json").read_text())["cases"]
    with open(folder / "envs.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            [
                "num_envs",
                "million_steps_per_second",
                "milliseconds_per_iteration",
                "device_megabytes",
            ]
        )
        for case in cases:
            envs, steps = int(case["config"]["num_envs"]), int(case["config"]["num_steps"])
            rate = case["steps_per_second"]["median"]
            writer.writerow(
                [
                    envs,
                    f"{rate / 1e6:.2f}",
                    f"{1e3 * envs * steps / rate:.3f}",
                    f"{case['device']['memory_bytes'] / 1e6:.0f}",
                ]
            )


if __name__ == "__main__":
    main()
