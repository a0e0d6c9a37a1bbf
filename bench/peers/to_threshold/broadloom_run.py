"""Broadloom, evaluated by Broadloom: with its defaults, or with a config that `advise` wrote.

A training is run twice, with evaluations and without. Broadloom's bits do not depend on
evaluations, so the second is the same training, and its clock has nothing else in it; that the two
are one is checked here."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from to_threshold.course import Course, arguments, report_probe
from to_threshold.tasks import EPISODES, interval

CLOCKS = ("wall_time", "steps_per_second")
NEVER = str(10**9)  # iterations


def train(options: Any, flags: list[str], out: Path) -> None:
    command = [options.broadloom, "train", *([options.config] if options.config else [])]
    command += ["--env_id", options.task, "--seed", str(options.seed)]
    command += [
        "--threads",
        str(options.threads),
        "--checkpoint_interval",
        NEVER,
        "--no-tensorboard",
    ]
    command += ["--quiet", "--ledger", "none", "--out", str(out), *flags]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def without_clocks(line: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in line.items() if key not in CLOCKS}


def seconds_by_step(metrics: list[dict[str, Any]]) -> dict[int, float]:
    """From the opening of the run folder to each iteration's end (docs/formats/metrics.md)."""
    return {line["global_step"]: line["global_step"] / line["steps_per_second"] for line in metrics}


def training_again(plain: list[dict[str, Any]], evaluated: list[dict[str, Any]]) -> None:
    """Refuses to take the one's clock for the other's evaluations where they are not one
    training."""
    for first, second in zip(plain, evaluated, strict=True):
        if without_clocks(first) != without_clocks(second):
            raise SystemExit(
                f"iteration {first['iteration']}: the training with evaluations differs from the "
                "one "
                "without, so that its seconds cannot be told apart"
            )


def run(options: Any, course: Course, folder: Path) -> dict[str, Any]:
    budget = ["--total_timesteps", str(options.budget)] if options.budget else []
    train(options, budget, folder / "plain")
    plain = lines_of(folder / "plain" / "metrics.jsonl")
    every = interval(plain[0]["global_step"])
    flags = ["--eval_interval", str(every), "--eval_episodes", str(EPISODES)]
    train(options, [*budget, *flags], folder / "evaluated")
    evaluated = lines_of(folder / "evaluated" / "metrics.jsonl")
    training_again(plain, evaluated)
    clock = seconds_by_step(plain)
    for line in lines_of(folder / "evaluated" / "eval.jsonl"):
        course.add(line["global_step"], clock[line["global_step"]], line["mean_return"])
    # Both clocks stop at the end of the last iteration. Its line is written before its evaluation.
    more = seconds_by_step(evaluated)[evaluated[-1]["global_step"]] - course.points[-1][1]
    course.evaluation_seconds = max(0.0, more)
    manifest = json.loads((folder / "plain" / "manifest.json").read_text())
    keys = ("num_envs", "num_steps", "minibatch_size", "num_minibatches", "update_epochs")
    keys += ("learning_rate", "lr_schedule", "total_timesteps")
    return {key: manifest["config"][key] for key in keys}


def probe(options: Any, folder: Path) -> None:
    train(options, ["--total_timesteps", str(options.probe)], folder / "probe")
    last = lines_of(folder / "probe" / "metrics.jsonl")[-1]
    report_probe(last["global_step"], last["global_step"] / last["steps_per_second"])


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--broadloom", required=True)
    parser.add_argument("--config", help="TOML; without it the defaults")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.probe:
            probe(options, Path(folder))
            return
        course = Course(options.task)
        course.report(run(options, course, Path(folder)))


if __name__ == "__main__":
    main()
