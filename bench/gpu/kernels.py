#!/usr/bin/env python3
"""Prints one line per kernel and grid from the output of `ncu --csv`: the table of profile.sh.

usage: kernels.py NCU.csv
Launches seen, and medians over them: microseconds, and of a launch the millions of multiply-adds of
float32 and of bytes of the device's memory, where these were asked for.
"""

import csv
import re
import statistics
import sys

COLUMNS = {
    "microseconds": ("gpu__time_duration", 1e3),
    "million_multiply_adds": ("smsp__sass_thread_inst_executed_op_ffma_pred_on", 1e6),
    "million_bytes": ("dram__bytes", 1e6),
}


def main():
    kernels = {}
    with open(sys.argv[1]) as file:
        for row in csv.DictReader(line for line in file if line.startswith('"')):
            name = re.search(r"\w+(?:Kernel|Phase)", row["Kernel Name"]).group(0), row["Grid Size"]
            metric = row["Metric Name"].split(".")[0]
            kernels.setdefault(name, {}).setdefault(metric, []).append(
                float(row["Metric Value"].replace(",", ""))
            )
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["kernel", "grid", "launches", *COLUMNS])
    for (kernel, grid), metrics in kernels.items():
        medians = [
            f"{statistics.median(metrics[key]) / unit:.2f}" if key in metrics else ""
            for key, unit in COLUMNS.values()
        ]
        table.writerow([kernel, grid, len(metrics["gpu__time_duration"]), *medians])


if __name__ == "__main__":
    main()
