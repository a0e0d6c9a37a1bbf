#!/usr/bin/env python3
"""results.py LEDGER FOLDER: what is kept of the runs in a ledger, as files in FOLDER.

runs.csv         one row a run
cells.csv        means over seeds with 95 % intervals; "agreement" is Spearman's rank correlation, over the seeds, of the training
                 return with the return on the panel's usual stratum, and "gap" the mean of their absolute difference
differences.csv  512 families minus fewer, and wide minus narrow, paired by seed, each with a 95 % interval
tables.md        the same two as tables to read

Intervals are percentiles of 10,000 bootstrap samples of the seeds, the same ones for every cell. "outside" is the mean success
over the three strata of the panel that narrow training did not see."""

import csv
import json
import math
import random
import re
import sys

RESAMPLES = 10_000
FAMILIES = (1, 8, 128, 512)
SCORES = ("training return", "training success", "usual return", "usual success", "outside success")
NARROW = (
    {"force": "9..11", "half_length": "0.4..0.6"},
    {"gravity": "9.5..10.5", "mass": "0.95..1.05"},
)


def run_row(line):
    contract, result = line["contract"], line["result"]
    width = "narrow" if contract["strata"][0]["ranges"] in NARROW else "wide"
    row = {
        "task": contract["env_id"],
        "strata": width,
        "families": contract["seed_families"],
        "seed": line["seeds"]["training"]["seed"],
        "training return": result["mean_return"],
        "training success": result["success_rate"],
        "steps per second": line["speed"]["steps_per_second"],
    }
    parts = [part for name, part in line["panel"]["rows"].items() if not name.startswith("all")]
    outside = [part["success_rate"] for part in parts if part["stratum"] != "usual"]
    row["outside success"] = sum(outside) / len(outside)
    for part in parts:
        row[f"{part['stratum']} success"] = part["success_rate"]
        row[f"{part['stratum']} return"] = part["mean_return"]
    row["parameters"] = result["parameters_hash"]
    return row


def mean(values):
    return sum(values) / len(values)


def interval(values):
    """The interval of the mean; values in order of seeds, so that all cells take the same bootstrap samples."""
    rng = random.Random(1)
    ordered = sorted(mean(rng.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return ordered[int(0.025 * RESAMPLES)], ordered[int(0.975 * RESAMPLES) - 1]


def cells_of(runs):
    """Each cell's runs in order of seeds, which must be the same in all."""
    cells = {}
    for run in runs:
        cells.setdefault((run["task"], run["strata"], run["families"]), []).append(run)
    seeds = {key: [run["seed"] for run in members] for key, members in cells.items()}
    first = next(iter(seeds.values()))
    for key, own in seeds.items():
        if own != first or len(set(own)) != len(own):
            sys.exit(f"{key}: got seeds {own}, expected {first}, each once; let run.sh end")
    return cells


def ranks(values):
    """From 1; equal values share their mean rank."""
    return [sum(v < x for v in values) + (sum(v == x for v in values) + 1) / 2 for x in values]


def rank_correlation(first, second):
    a, b = ranks(first), ranks(second)
    spread = math.sqrt(sum((x - mean(a)) ** 2 for x in a) * sum((y - mean(b)) ** 2 for y in b))
    return sum((x - mean(a)) * (y - mean(b)) for x, y in zip(a, b)) / spread if spread else math.nan


def cell_rows(cells):
    for (task, strata, families), members in cells.items():
        row = {"task": task, "strata": strata, "families": families, "runs": len(members)}
        agreement = rank_correlation(
            *([m[name] for m in members] for name in ("training return", "usual return"))
        )
        row["gap"] = f"{mean([abs(m['training return'] - m['usual return']) for m in members]):.3g}"
        row["agreement"] = "-" if math.isnan(agreement) else f"{agreement:.2f}"
        for name in members[0]:
            if name in row or name in ("seed", "parameters"):
                continue
            values = [m[name] for m in members]
            low, high = interval(values)
            row |= {
                name: f"{mean(values):.5g}",
                f"{name} low": f"{low:.5g}",
                f"{name} high": f"{high:.5g}",
            }
        yield row


def pairs(tasks):
    for task in tasks:
        for strata in ("narrow", "wide"):
            for families in FAMILIES[:-1]:
                yield (
                    f"512 - {families} families, {strata}",
                    (task, strata, 512),
                    (task, strata, families),
                )
        for families in FAMILIES:
            yield (
                f"wide - narrow, {families} families",
                (task, "wide", families),
                (task, "narrow", families),
            )


def difference_rows(cells):
    for name, first, second in pairs(sorted({task for task, _, _ in cells})):
        row = {"task": first[0], "difference": name}
        for score in SCORES:
            values = [a[score] - b[score] for a, b in zip(cells[first], cells[second])]
            low, high = interval(values)
            row |= {
                score: f"{mean(values):.5g}",
                f"{score} low": f"{low:.5g}",
                f"{score} high": f"{high:.5g}",
            }
        yield row


def write(path, rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, names, lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def figure(row, name, more):
    digits = (0 if name.endswith("return") else 2) + more
    value, low, high = (float(row[name + end]) for end in ("", " low", " high"))
    value, low, high = (
        re.sub(r"^-(0\.?0*)$", r"\1", f"{x:.{digits}f}") for x in (value, low, high)
    )
    return f"{value} ({low} .. {high})"


def table(rows, keys, scores):
    """Markdown; a difference whose interval leaves zero out is bold."""
    lines = ["| " + " | ".join((*keys, *scores)) + " |", "|---" * (len(keys) + len(scores)) + "|"]
    for row in rows:
        texts = []
        for score in scores:
            clear = (
                "difference" in keys
                and float(row[f"{score} low"]) * float(row[f"{score} high"]) > 0
            )
            text = figure(row, score, "difference" in keys)
            texts.append(f"**{text}**" if clear else text)
        lines.append("| " + " | ".join((*(str(row[k]) for k in keys), *texts)) + " |")
    return "\n".join(lines)


def tables(cells, differences):
    for task in sorted({row["task"] for row in cells}):
        rows = [row for row in cells if row["task"] == task]
        strata = [name for name in rows[0] if name.endswith(" success") and name not in SCORES]
        yield f"## {task}\n"
        yield table(rows, ("strata", "families", "agreement", "gap"), (*SCORES[:4], *strata)) + "\n"
        yield (
            table([row for row in differences if row["task"] == task], ("difference",), SCORES)
            + "\n"
        )


def main():
    ledger, folder = sys.argv[1:]
    lines = [json.loads(text) for text in open(ledger, encoding="utf-8")]
    runs = sorted(
        (run_row(line) for line in lines),
        key=lambda r: (r["task"], r["strata"], r["families"], r["seed"]),
    )
    members = cells_of(runs)
    cells, differences = list(cell_rows(members)), list(difference_rows(members))
    write(f"{folder}/runs.csv", runs)
    write(f"{folder}/cells.csv", cells)
    write(f"{folder}/differences.csv", differences)
    with open(f"{folder}/tables.md", "w", encoding="utf-8") as file:
        file.write("\n".join(tables(cells, differences)))


main()
