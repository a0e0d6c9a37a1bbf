#!/usr/bin/env python3
"""rate.py RATES.csv TASK SHAPE: the learning rate with the largest mean area in the surface's screen."""

import csv
import sys

path, task, shape = sys.argv[1:4]
with open(path, encoding="utf-8") as file:
    rows = [row for row in csv.DictReader(file) if row["task"] == task and row["shape"] == shape]
if not rows:
    sys.exit(f"{path}: no rates of {task} {shape}")
print(max(rows, key=lambda row: (float(row["area"]), -float(row["rate"])))["rate"])
