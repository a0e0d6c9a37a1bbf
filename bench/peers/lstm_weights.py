#!/usr/bin/env python3
"""How often Broadloom's LSTM is at the T-maze's threshold, by seeds and by keys (POLICIES.md).

    bench/peers/lstm_weights.py                          # configs/t_maze.toml with an LSTM
    bench/peers/lstm_weights.py --weight_init torch      # keys of `broadloom train`
"""

from __future__ import annotations

import argparse
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, default=ROOT / "build/release/cli/broadloom")
    parser.add_argument("--seeds", type=int, default=20)
    options, keys = parser.parse_known_args()
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    found = [steps_to_threshold(options.program, seed, keys) for seed in seeds]
    count = sum(one is not None for one in found)
    print(f"{count} of {len(found)} at the threshold; steps: {found}")


if __name__ == "__main__":
    main()
