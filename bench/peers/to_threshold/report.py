"""The results as a table, as CSV files, and as a description that experiments/figures.py draws."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from pathlib import Path
from typing import Any

from to_threshold.cells import ADVISED, DEFAULTS, Cell, Ratio, cells, find_cell, ratio
from to_threshold.rule import median


def number(value: float) -> str:
    """Three digits; "-" where there is none."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "never"
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def with_interval(value: float, low: float, high: float) -> str:
    if math.isnan(low):
        return number(value)
    return f"{number(value)} ({number(low)} .. {number(high)})"


def seconds_cell(cell: Cell) -> str:
    if not math.isfinite(cell.median):
        return "not reached"
    return with_interval(cell.median, *cell.interval)


def ratio_cell(found: Ratio | None) -> str:
    if found is None:
        return "-"
    if found.bound:
        return f"at least {number(found.value)}"
    return with_interval(found.value, found.low, found.high)


def compared(cell: Cell, ours: Cell | None) -> str:
    return "" if ours is None or ours is cell else ratio_cell(ratio(cell, ours))


def table(
    found: list[Cell], failed: list[dict[str, Any]], thresholds: dict[str, float]
) -> list[str]:
    lines = [
        "| task | who | at the threshold | seconds of training | environment steps "
        "| over advised | over defaults | threads | compiling | others |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in found:
        steps = cell_steps(cell)
        words = [f"{cell.task}, {thresholds[cell.task]:g}", cell.contender]
        words += [f"{cell.reached} of {cell.count}", seconds_cell(cell), steps]
        words += [compared(cell, find_cell(found, name, cell.task)) for name in (ADVISED, DEFAULTS)]
        words += [str(cell.threads), number(cell.compile_seconds), f"{cell.others:.1f}"]
        lines.append("| " + " | ".join(words) + " |")
    for one in failed:
        who = one["contender"] if one["seed"] is None else f"{one['contender']}, seed {one['seed']}"
        lines.append(f"| {one['task']} | {who} | {one['reason']} | | | | | | | |")
    return lines


def cell_steps(cell: Cell) -> str:
    found = median(cell.steps)
    return f"{found:,.0f}" if math.isfinite(found) else "-"


def heading(data: dict[str, Any]) -> list[str]:
    conditions, about = data["conditions"], data["about"]
    protocol = conditions["protocol"]
    packages = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    lines = [
        "# Seconds of training until a policy is good enough",
        "",
        f"- {about['begun']}, {conditions['processor']}, {conditions['cores']} cores, "
        f"{about['system']}",
        f"- {conditions['broadloom']} at {about['revision']}; {about['compiler']}; Python "
        f"{about['python']}",
        f"- {packages or 'no packages'}",
        f"- At the threshold: the first of {protocol['in_a_row']} evaluations in a row whose mean "
        "of "
        f"{protocol['episodes']} episodes is there; every {protocol['every']:,} environment steps, "
        "in whole blocks",
    ]
    for task, advices in data["advice"].items():
        for advice in advices:
            lines.append(
                f"- advice for {task} took {advice['seconds']:.0f} s, once, on top: "
                f"{advised(advice)}"
            )
    if conditions["advised_steps"]:
        lines.append(
            f"- advised trainings went on to {conditions['advised_steps']:,} steps, past the "
            "advice's own end"
        )
    if conditions["budget"]:
        lines.append(
            f"- **a try of the harness, no result**: budgets were cut to {conditions['budget']:,} "
            "steps"
        )
    return lines


def advised(advice: dict[str, Any]) -> str:
    settings = [line for line in advice["config"].splitlines() if "=" in line and line[0] != "#"]
    return ", ".join(setting.replace(" = ", " ") for setting in settings)


def markdown(data: dict[str, Any], found: list[Cell]) -> str:
    thresholds = data["conditions"]["protocol"]["thresholds"]
    lines = [
        *heading(data),
        "",
        "Seconds and steps are medians over all runs, with a bootstrap 95 % interval; runs that "
        "were never there "
        "count as longer than any. Evaluations, start-up and compilation are not in the seconds. "
        "Over advised, over defaults: the median over Broadloom's; *at least* where half of the "
        "runs "
        "were never there, with their whole training in place of the time. An interval from 0: "
        "half of Broadloom's "
        "might not be there either. Compiling: seconds before the "
        "clock. Others: the most cores that other processes used during a run.",
        "",
        *table(found, data["failed"], thresholds),
    ]
    return "\n".join(lines) + "\n"


def plain(value: float) -> str:
    """For CSV: nothing where there is no number."""
    return f"{value:.6g}" if math.isfinite(value) else ""


def csv_text(header: list[str], rows: list[list[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def cells_csv(found: list[Cell]) -> str:
    rows = []
    for cell in found:
        row = [cell.task, cell.contender, cell.threads, cell.count, cell.reached]
        row += [plain(value) for value in (cell.median, *cell.interval)]
        for name in (ADVISED, DEFAULTS):
            ours = find_cell(found, name, cell.task)
            one = None if ours is None or ours is cell else ratio(cell, ours)
            row += (
                ["", "", "", ""]
                if one is None
                else [*map(plain, (one.value, one.low, one.high)), int(one.bound)]
            )
        rows.append(
            row + [plain(cell.compile_seconds), plain(cell.evaluation_seconds), cell.others]
        )
    header = [
        "task",
        "contender",
        "threads",
        "runs",
        "reached",
        "seconds",
        "seconds low",
        "seconds high",
    ]
    for name in ("advised", "defaults"):
        header += [
            f"over {name}",
            f"over {name} low",
            f"over {name} high",
            f"over {name} is a bound",
        ]
    return csv_text([*header, "compile seconds", "evaluation seconds", "others"], rows)


def runs_csv(data: dict[str, Any]) -> str:
    header = ["task", "contender", "seed", "threads", "reached", "seconds", "steps"]
    header += [
        "seconds of all",
        "steps of all",
        "last return",
        "evaluation seconds",
        "compile seconds",
        "others",
    ]
    rows = []
    for run in data["runs"]:
        last = run["points"][-1]
        row = [run["task"], run["contender"], run["seed"], run["threads"], int(run["reached"])]
        row += ["" if run[key] is None else run[key] for key in ("seconds", "steps")]
        row += [
            last[1],
            last[0],
            last[2],
            run["evaluation_seconds"],
            run["compile_seconds"],
            run["others"],
        ]
        rows.append(row)
    return csv_text(header, rows)


def curve_csv(found: list[Cell]) -> str:
    """The share of all runs that have reached the threshold, runs that never do included."""
    rows = []
    for cell in found:
        there = sorted(value for value in cell.seconds if math.isfinite(value))
        for place, seconds in enumerate(there, 1):
            if place < len(there) and there[place] == seconds:
                continue  # one row a time: the last, with the share that holds from then on
            rows.append([cell.task, cell.contender, plain(seconds), plain(place / cell.count)])
    return csv_text(["task", "contender", "seconds", "share"], rows)


def figure(stem: str, data: dict[str, Any], found: list[Cell]) -> str:
    """A panel for each task on which a contender reached the threshold."""
    thresholds = data["conditions"]["protocol"]["thresholds"]
    tasks = [t for t in thresholds if any(c.task == t and c.reached for c in found)]
    count = max(cell.count for cell in found)
    lines = [
        'title = "Share of the trainings that are at the threshold, by seconds of training"',
        f'note = "Up to {count} trainings each on {data["conditions"]["cores"]} cores; a line that '
        "ends below 1 has trainings that were never there. Evaluations, start-up, compilation and "
        'advice are left out."',
        *("columns = 2", f'data = "{stem}_curve.csv"', 'x = "seconds"', 'x_scale = "log10"'),
        *('x_title = "seconds of training"', 'y = "share"', 'y_title = "share of trainings"'),
        *("y_include = [0, 1]", 'series_by = "contender"'),
    ]
    for task in tasks:
        lines += [
            "",
            "[[panels]]",
            f'title = "{task}, return {thresholds[task]:g}"',
            f'where = {{ task = "{task}" }}',
        ]
    return "\n".join(lines) + "\n"


def replace(path: Path, text: str) -> None:
    beside = path.with_name(path.name + ".new")
    beside.write_text(text)
    os.replace(beside, path)


def write_report(path: Path) -> str:
    """Writes everything beside the file of results, from it alone, and returns the table."""
    data = json.loads(path.read_text())
    found = cells(data)
    text = markdown(data, found)
    stem = path.stem
    replace(path.with_suffix(".md"), text)
    replace(path.with_name(f"{stem}_cells.csv"), cells_csv(found))
    replace(path.with_name(f"{stem}_runs.csv"), runs_csv(data))
    replace(path.with_name(f"{stem}_curve.csv"), curve_csv(found))
    if any(cell.reached for cell in found):
        replace(path.with_name(f"figure_{stem}.toml"), figure(stem, data, found))
    return text
