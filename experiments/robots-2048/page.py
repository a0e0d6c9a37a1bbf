#!/usr/bin/env python3
"""page.py: the rows of the page's tables, by the kept files."""

from judge import BEYOND, cells, change, faults, per_cent, points, share

for name in ("even", "mild", *BEYOND):
    row = [per_cent(share(name, how)) for how in ("nominal", "as_trained", "late", "noisy")]
    print(f"| {name} |", " | ".join(row), "|")
for name in ("even", "mild", *BEYOND):
    row = cells[name, "as_trained"]
    against_even = "" if name == "even" else points(change(name))
    middle, low, high = (float(row[f"speed_error{end}"]) for end in ("", " low", " high"))
    texts = [name, BEYOND.get(name, ""), against_even, f"{row['fell']} of {row['episodes']}"]
    line = f"| {' | '.join(texts)} | {middle:.2f} [{low:.2f}, {high:.2f}] |"
    print(" ".join(line.split()))  # one blank where a cell is empty
for row in faults:
    if row["name"]:
        planted = row["fault"].replace("_", ", ")
        print(f"| {planted} | {row['severity']} `{row['name']}` | {row['sentence']} |")
