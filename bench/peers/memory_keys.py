#!/usr/bin/env python3
"""How often Broadloom is at the threshold of a task of POLICIES.md, by seeds and by keys.

    bench/peers/memory_keys.py t_maze --recurrent lstm
    bench/peers/memory_keys.py t_maze --recurrent lstm --recurrent_units 32

All words after the task are keys of `broadloom train`. policy_results/memory_keys.csv keeps the
results: --name first adds rows of that name there.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import tempfile
from pathlib import Path

from policy_peers.tasks import FIRST_SEED, MEMORY, TASKS, Task
from to_threshold.broadloom_run import lines_of
from to_threshold.rule import median, median_interval, reached

ROOT = Path(__file__).resolve().parents[2]
KEPT = Path(__file__).parent / "policy_results/memory_keys.csv"
NEVER = float("inf")


def steps_to_threshold(program: Path, task: Task, seed: int, keys: list[str]) -> int | None:
    own = {**task.keys, **{f"env.{name}": value for name, value in task.options.items()}}
    with tempfile.TemporaryDirectory() as folder:
        words = ["train", "--env_id", task.env_id, "--seed", str(seed), "--threads", "1", "--quiet"]
        for key, value in own.items():
            words += [f"--{key}", str(value).lower()]
        words += ["--eval_interval", str(task.interval), "--eval_episodes", str(task.episodes)]
        words += ["--ledger", "none", "--out", f"{folder}/run", *keys]
        subprocess.run([program, *words], check=True)
        points = [
            (line["global_step"], 0.0, line["mean_return"])
            for line in lines_of(Path(folder) / "run/eval.jsonl")
        ]
    place = reached(points, task.threshold)
    return None if place is None else points[place][0]


def keep(task: str, name: str, seeds: range, found: list[int | None]) -> None:
    rows = []
    if KEPT.exists():
        with KEPT.open(newline="") as file:
            rows = [row for row in csv.reader(file) if row[:2] != [task, name]][1:]
    rows += [[task, name, seed, "" if one is None else one] for seed, one in zip(seeds, found)]
    with KEPT.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([["task", "keys", "seed", "steps to threshold"], *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("task", choices=MEMORY)
    parser.add_argument("--program", type=Path, default=ROOT / "build/release/cli/broadloom")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--name", help="adds rows of this name to policy_results/memory_keys.csv")
    options, keys = parser.parse_known_args()
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    found = [steps_to_threshold(options.program, TASKS[options.task], s, keys) for s in seeds]
    if options.name:
        keep(options.task, options.name, seeds, found)
    steps = [NEVER if one is None else one for one in found]
    count = sum(one is not None for one in found)
    print(f"{count} of {len(found)} at the threshold; median steps {median(steps):,.0f}, ", end="")
    print("from {:,.0f} to {:,.0f}".format(*median_interval(steps)))


if __name__ == "__main__":
    main()
