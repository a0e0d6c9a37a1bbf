#!/usr/bin/env python3
"""How often Broadloom's LSTM is at the T-maze's threshold, by seeds and by keys (POLICIES.md).

    bench/peers/lstm_weights.py                          # configs/t_maze.toml with an LSTM
    bench/peers/lstm_weights.py --weight_init torch      # keys of `broadloom train`

policy_results/lstm_weights.csv keeps both: --name torch adds its rows there.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import tempfile
from pathlib import Path

from policy_peers.tasks import FIRST_SEED, TASKS
from to_threshold.broadloom_run import lines_of
from to_threshold.rule import reached

ROOT = Path(__file__).resolve().parents[2]


def steps_to_threshold(program: Path, seed: int, keys: list[str]) -> int | None:
    task = TASKS["t_maze"]
    with tempfile.TemporaryDirectory() as folder:
        words = ["train", str(ROOT / "configs/t_maze.toml"), "--recurrent", "lstm", *keys]
        words += ["--seed", str(seed), "--threads", "1", "--out", f"{folder}/run", "--quiet"]
        words += ["--eval_interval", str(task.interval), "--eval_episodes", str(task.episodes)]
        subprocess.run([program, *words, "--ledger", "none"], check=True)
        points = [
            (line["global_step"], 0.0, line["mean_return"])
            for line in lines_of(Path(folder) / "run/eval.jsonl")
        ]
    place = reached(points, task.threshold)
    return None if place is None else points[place][0]


def keep(name: str, seeds: range, found: list[int | None]) -> None:
    path = Path(__file__).parent / "policy_results/lstm_weights.csv"
    rows = []
    if path.exists():
        with path.open(newline="") as file:
            rows = [row for row in csv.reader(file) if row[0] != name][1:]
    rows += [[name, seed, "" if one is None else one] for seed, one in zip(seeds, found)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([["weights", "seed", "steps to threshold"], *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, default=ROOT / "build/release/cli/broadloom")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--name", help="adds rows of this name to policy_results/lstm_weights.csv")
    options, keys = parser.parse_known_args()
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    found = [steps_to_threshold(options.program, seed, keys) for seed in seeds]
    if options.name:
        keep(options.name, seeds, found)
    count = sum(one is not None for one in found)
    print(f"{count} of {len(found)} at the threshold; steps: {found}")


if __name__ == "__main__":
    main()
