#!/usr/bin/env python3
"""Broadloom, once: `broadloom bench` for a training, `broadloom env bench` for environments.

A Broadloom without `bench` is timed through `broadloom train` and its metrics, run folder included;
the case files do not matter then.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from cases import Stepping, Training, stepping, training, CASES
from result import arguments, report

ROOT = Path(__file__).resolve().parents[2]


def run(command: list[str]) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def bench_environments(broadloom: str, case: Stepping, seconds: float) -> float:
    def once(num_steps: int) -> float:
        command = [broadloom, "env", "bench", case.env_id, "--num_envs", str(case.num_envs)]
        command += ["--num_steps", str(num_steps), "--threads", "1", "--json"]
        return json.loads(run(command))["steps_per_second"]

    return once(max(1, int(seconds * once(1000) / case.num_envs)))


def bench_training(
    broadloom: str, case_file: Path, threads: int, isa: str, seconds: float
) -> float:
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "bench.json"
        command = [broadloom, "bench", str(case_file), "--threads", str(threads)]
        command += ["--repeats", "1", "--seconds", str(seconds), "--json", str(found)]
        if isa != "native":
            command += ["--isa", isa]
        run(command)
        return json.loads(found.read_text())["cases"][0]["steps_per_second"]["median"]


def time_training(broadloom: str, case: Training, threads: int, seconds: float) -> float:
    """Steps per second between the metrics of the second iteration and of the last."""

    def once(iterations: int) -> float:
        with tempfile.TemporaryDirectory() as folder:
            command = [broadloom, "train", "--env_id", case.env_id, "--threads", str(threads)]
            command += ["--num_envs", str(case.num_envs), "--num_steps", str(case.num_steps)]
            command += ["--minibatch_size", str(case.minibatch)]
            command += ["--update_epochs", str(case.epochs)]
            command += ["--hidden_sizes", f"{case.hidden},{case.hidden}"]
            command += ["--total_timesteps", str(iterations * case.block)]
            command += ["--checkpoint_interval", "1000000000", "--no-tensorboard"]
            command += ["--quiet", "--out", f"{folder}/run"]
            run(command)
            text = (Path(folder) / "run" / "metrics.jsonl").read_text()
        lines = [json.loads(line) for line in text.splitlines()]
        steps = lines[-1]["global_step"] - lines[1]["global_step"]
        return steps / (lines[-1]["wall_time"] - lines[1]["wall_time"])

    return once(3 + int(seconds * once(10) / case.block))


def has_bench(broadloom: str) -> bool:
    found = subprocess.run([broadloom, "bench", "--help"], check=False, capture_output=True)
    return found.returncode == 0


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--broadloom", default=str(ROOT / "build/release/cli/broadloom"))
    parser.add_argument("--cases", type=Path, default=ROOT / "bench/cases")
    parser.add_argument("--threads", type=int, default=2, help="of a training (default 2)")
    parser.add_argument("--isa", choices=("native", "avx2"), default="native")
    options = parser.parse_args()
    case_file = options.cases / f"{options.case}.toml"
    if isinstance(CASES[options.case], Stepping):
        rate = bench_environments(options.broadloom, stepping(options.case), options.seconds)
    elif case_file.exists() and has_bench(options.broadloom):
        rate = bench_training(
            options.broadloom, case_file, options.threads, options.isa, options.seconds
        )
    else:
        case = training(options.case)
        rate = time_training(options.broadloom, case, options.threads, options.seconds)
    report("broadloom", options.case, rate)


if __name__ == "__main__":
    main()
