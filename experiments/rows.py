"""Shared by the experiments' scripts: rows of CSV files, and intervals of few numbers."""

import csv
import math
import statistics

# Student's t of 95 %, by how many numbers there are, up to 20.
T_95 = [
    math.nan,
    math.nan,
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
    2.120,
    2.110,
    2.101,
    2.093,
]


def read(path):
    """Rows that were kept, none where nothing was yet."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path, header, rows, digits=5):
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(
            [f"{x:.{digits}g}" if isinstance(x, float) else x for x in row] for row in rows
        )


def interval(numbers):
    """(mean, low, high), 95 % by Student's t; no ends of one number, of which nothing is known of others."""
    mean = statistics.fmean(numbers)
    if len(numbers) < 2:
        return mean, "", ""
    half = T_95[len(numbers)] * statistics.stdev(numbers) / math.sqrt(len(numbers))
    return mean, mean - half, mean + half
