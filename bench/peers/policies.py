#!/usr/bin/env python3
"""Memory, masks and several choices beside sb3-contrib and Stable-Baselines3 (POLICIES.md).

Needs Python 3.11 or newer, and a build with the Python package. Other packages go into a virtual
environment beside this file. The same call continues a stopped measurement."""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from calm import Neighbours
from install import install, versions
from machine import first_line, last_line, processor
from policy_peers.tasks import CONTENDERS, FIRST_SEED, TASKS, Contender
from to_threshold.rule import median, median_interval, reached

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COLUMNS = ("task", "contender", "seeds", "reached", "steps", "steps_low", "steps_high")
COLUMNS += ("seconds", "seconds_low", "seconds_high", "steps_per_second", "env_steps_per_second")
COLUMNS += ("parameters", "best_return", "others")


def train(task: str, who: Contender, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    words = [str(options.venv / "bin/python"), "-m", f"policy_peers.{who.module}", task, who.name]
    words += ["--seed", str(seed)] + (["--budget", str(options.budget)] if options.budget else [])
    path = os.pathsep.join([str(options.package), os.environ.get("PYTHONPATH", "")])
    neighbours = Neighbours()
    done = subprocess.run(
        words,
        cwd=HERE,
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: {last_line(done.stderr)}")
    found = json.loads(last_line(done.stdout))
    place = reached(found["points"], TASKS[task].threshold)
    steps, seconds = found["points"][place][:2] if place is not None else (None, None)
    return {"task": task, "contender": who.name, "seed": seed, "steps": steps} | {
        "seconds": seconds,
        "others": round(neighbours.cores(), 2),
        **found,
    }


def conditions(options: argparse.Namespace) -> dict[str, Any]:
    return {"processor": processor(), "budget": options.budget, "versions": versions(options.venv)}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    record: dict[str, Any] = {"conditions": conditions(options), "runs": []}
    if options.out.exists():
        record = json.loads(options.out.read_text())
        if record["conditions"] != conditions(options):
            raise SystemExit(f"{options.out}: made under other conditions; name another file")
    record["revision"] = first_line(["git", "-C", str(ROOT), "describe", "--always", "--dirty"])
    known = {(one["task"], one["contender"], one["seed"]) for one in record["runs"]}
    for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
        for task in options.task or TASKS:
            for who in CONTENDERS:
                if task not in who.tasks or (task, who.name, seed) in known:
                    continue
                if options.contender and who.name not in options.contender:
                    continue
                one = train(task, who, seed, options)
                record["runs"].append(one)
                options.out.write_text(json.dumps(record))
                print(
                    f"{task} {seed}: {who.name}: {one['steps']} steps, {one['seconds']} s, "
                    f"{one['steps_per_second']:,.0f} steps/s",
                    file=sys.stderr,
                    flush=True,
                )
    return record


def cell_of(task: str, name: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    def numbers(key: str) -> list[float]:
        return [math.inf if one[key] is None else one[key] for one in runs]

    cell: dict[str, Any] = {"task": task, "contender": name, "seeds": len(runs)}
    cell["reached"] = sum(one["steps"] is not None for one in runs)
    for key in ("steps", "seconds"):
        cell[key] = median(numbers(key))
        cell[f"{key}_low"], cell[f"{key}_high"] = median_interval(numbers(key))
    for key in ("steps_per_second", "env_steps_per_second", "parameters", "others"):
        cell[key] = None if runs[0][key] is None else median([one[key] for one in runs])
    cell["best_return"] = median([max(point[2] for point in one["points"]) for one in runs])
    return cell


def cells(record: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for task in TASKS:
        for who in CONTENDERS:
            runs = [r for r in record["runs"] if (r["task"], r["contender"]) == (task, who.name)]
            if runs:
                found.append(cell_of(task, who.name, runs))
    return found


def number(value: float | None, digits: int = 2) -> str:
    if value is None:
        return ""
    if math.isinf(value):
        return "never"
    whole = f"{value:,.0f}" if value >= 1000 else f"{value:.{digits}g}"
    return whole


def table(found: list[dict[str, Any]]) -> str:
    head = ("task", "who", "at the threshold", "environment steps", "seconds", "steps/s", "best")
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for cell in found:
        spans = [
            f"{number(cell[k])} [{number(cell[k + '_low'])}, {number(cell[k + '_high'])}]"
            if cell["reached"]
            else "never"
            for k in ("steps", "seconds")
        ]
        lines.append(
            f"| {cell['task']} | {cell['contender']} | {cell['reached']} of {cell['seeds']} | "
            f"{spans[0]} | {spans[1]} | {number(cell['steps_per_second'])} | "
            f"{number(cell['best_return'], 3)} |"
        )
    return "\n".join(lines) + "\n"


def write_csv(path: Path, columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    def cell(value: Any) -> Any:
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return ""
        return f"{value:.6g}" if isinstance(value, float) else value

    with path.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([[cell(row[key]) for key in columns] for row in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="trainings each (default 10)")
    parser.add_argument("--task", action="append", choices=list(TASKS), help="repeatable")
    names = [who.name for who in CONTENDERS]
    parser.add_argument("--contender", action="append", choices=names, help="repeatable")
    parser.add_argument("--budget", type=int, default=0, help="steps, to try the script")
    parser.add_argument("--package", type=Path, default=ROOT / "build/release/python")
    parser.add_argument("--venv", type=Path, default=HERE / ".venv")
    parser.add_argument("--no-install", action="store_true", help="take the environment as it is")
    parser.add_argument("--out", type=Path, default=Path("policies.json"))
    options = parser.parse_args()
    missing = {} if options.no_install else install(options.venv, {"sb3_contrib"})
    if missing:
        raise SystemExit(f"sb3_contrib: {missing['sb3_contrib']}")
    record = measure(options)
    found = cells(record)
    write_csv(options.out.with_name("policies_cells.csv"), COLUMNS, found)
    runs = ("task", "contender", "seed", "steps", "seconds", "steps_per_second", "others")
    write_csv(options.out.with_name("policies_runs.csv"), runs, record["runs"])
    print(table(found))


if __name__ == "__main__":
    main()
