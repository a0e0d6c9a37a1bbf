#!/usr/bin/env python3
"""analyse.py STORE RESULTS: each run's returns, its curve averaged over seeds, and the verdicts on PREREGISTRATION.md."""

import csv
import sqlite3
import statistics
import sys
from pathlib import Path

PUBLISHED = {
    "CartPole-v1": 408.14,
    "Acrobot-v1": -93.71,
    "MountainCar-v0": -200.0,
}  # CleanRL's documentation
STUDENT_9 = 2.262157  # the .975 quantile of Student's t, nine degrees of freedom


def interval(values):
    """Mean and 95 % interval of the mean (Student's); of ten values."""
    if len(values) != 10:
        sys.exit(f"analyse.py: got {len(values)} runs of a task, expected 10; run.sh makes them")
    half = STUDENT_9 * statistics.stdev(values) / len(values) ** 0.5
    mean = statistics.fmean(values)
    return mean, mean - half, mean + half


def write(path, header, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([f"{x:.5g}" if isinstance(x, float) else x for x in row] for row in rows)


def main(store_file, results):
    results.mkdir(exist_ok=True)
    with sqlite3.connect(store_file) as store:
        runs = store.execute(
            "SELECT env_id, scores.seed, training_return, evaluation_return, parameters_hash FROM scores JOIN runs ON runs.id = run_id "
            "ORDER BY scores.cell_id, scores.seed"
        ).fetchall()
        points = store.execute(
            "SELECT env_id, environment_steps, value FROM learning_curves WHERE key = 'episodic_return' "
            "ORDER BY cell_id, environment_steps, seed"
        ).fetchall()
    write(results / "runs.csv", ["task", "seed", "training", "evaluation", "parameters_hash"], runs)
    curves = {}
    for task, steps, value in points:
        curves.setdefault((task, steps), []).append(value)
    write(
        results / "curves.csv",
        ["task", "environment steps", "return", "return low", "return high"],
        [(task, steps, *interval(values)) for (task, steps), values in curves.items()],
    )
    verdicts = []
    for task, published in PUBLISHED.items():
        training = [row[2] for row in runs if row[0] == task]
        mean, low, high = interval(training)
        held = (
            all(value == published for value in training)
            if task == "MountainCar-v0"
            else high >= published
        )
        evaluation = interval([row[3] for row in runs if row[0] == task])
        verdicts.append(
            (task, published, mean, low, high, *evaluation, "held" if held else "refuted")
        )
    write(
        results / "verdicts.csv",
        [
            "task",
            "published",
            "training",
            "low",
            "high",
            "evaluation",
            "evaluation low",
            "evaluation high",
            "verdict",
        ],
        verdicts,
    )
    for row in verdicts:
        print(*[f"{x:.4g}" if isinstance(x, float) else x for x in row], sep="  ")


main(Path(sys.argv[1]), Path(sys.argv[2]))
