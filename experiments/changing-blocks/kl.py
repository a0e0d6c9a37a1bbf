#!/usr/bin/env python3
"""Panel three: N doubles when a run's approximate KL has halved: kl.py STORES SEEDS [JOBS]

SEEDS as 71-100. A run is made again with one more entry of shape_schedule until nothing triggers.
Stop it at any moment; the same command goes on. STORES/kl.csv has a row for each finished run.
"""

import concurrent.futures
import csv
import itertools
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

EXPERIMENTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(EXPERIMENTS), str(EXPERIMENTS / "surface")]
from analyse import runs_of  # noqa: E402

PROGRAM = os.environ.get("BROADLOOM", "build/release/cli/broadloom")
TASKS = [
    "CartPole-v1",
    "Pendulum-v1",
    "Acrobot-v1",
    "FrozenLake8x8-v1",
    "MountainCarContinuous-v0",
]
RATES = ["3e-04", "0.001", "0.003"]
STEPS = 300_000
WINDOW = STEPS // 20
FIRST, LAST = 4, 64  # environments
HEADER = ["panel", "task", "block", "rate", "seed", "area", "last", "gradient steps", "doubled at"]
NAME = "4x64 doubled by KL"

# A point a block: blocks of 256 samples take 256 steps, and points are 250 apart.
STUDY = """\
seeds = "{seed}-{seed}"
match = "none"
points = 1200
evaluations = 20
[base]
env_id = "{task}"
total_timesteps = {steps}
learning_rate = {rate}
minibatch_size = 64
update_epochs = 4
eval_episodes = 10
stagger_starts = true
stagger_by = "actions"
[grid]
shape_schedule = ["{schedule}"]
"""


def trigger(blocks, begin, latest):
    """The step after which N doubles, at most `latest`, or None. `blocks`: (step at its end,
    approximate KL) of each block of the phase that begins at `begin`."""
    base = [kl for step, kl in blocks if step <= begin + WINDOW]
    for end, _ in blocks:
        window = [kl for step, kl in blocks if end - WINDOW < step <= end]
        if (
            begin + 2 * WINDOW < end <= latest
            and sum(window) / len(window) < sum(base) / len(base) / 2
        ):
            return end
    return None


def run(task, rate, seed, schedule):
    """The finished run, and its blocks' (step, approximate KL)."""
    with tempfile.TemporaryDirectory() as folder:
        study, store = pathlib.Path(folder, "kl.toml"), pathlib.Path(folder, "kl.sqlite")
        study.write_text(
            STUDY.format(seed=seed, task=task, steps=STEPS, rate=rate, schedule=schedule)
        )
        command = [PROGRAM, "study", study, "--out", store, "--quiet", "--no_report", "--jobs", "1"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (made,) = runs_of(store, "shape_schedule")
        points = sqlite3.connect(store).execute(
            "SELECT DISTINCT global_step, value FROM metrics JOIN points USING (run_id, point)"
            " WHERE key = 'approx_kl' ORDER BY global_step"
        )
        return made, list(points)


def follow(setting):
    """Doubles N until nothing triggers or N is LAST; gives the row of the last run."""
    task, rate, seed = setting
    schedule, envs, doubled = f"{FIRST}x64 @ 0", FIRST, []
    while True:
        made, blocks = run(task, rate, seed, schedule)
        begin = doubled[-1] if doubled else 0
        latest = STEPS - 2 * envs * 64  # a block of the doubled shape must fit
        step = trigger([block for block in blocks if block[0] > begin], begin, latest)
        if envs == LAST or step is None:
            break
        envs *= 2
        doubled.append(step)
        schedule += f", {envs}x64 @ {(step - 0.5) / STEPS!r}"  # its block begins at `step`
    scores = [made["area"], made["last"], made["gradient steps"]]
    return ["kl", task, NAME, float(rate), seed, *scores, " ".join(map(str, doubled))]


def main():
    stores = pathlib.Path(sys.argv[1])
    low, high = map(int, sys.argv[2].split("-"))
    jobs = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    path = stores / "kl.csv"
    done = set()
    if path.exists():
        with path.open() as file:
            done = {
                (row["task"], float(row["rate"]), int(row["seed"])) for row in csv.DictReader(file)
            }
    settings = [
        (task, rate, seed)
        for seed, task, rate in itertools.product(range(low, high + 1), TASKS, RATES)
        if (task, float(rate), seed) not in done
    ]
    with path.open("a") as file, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        out = csv.writer(file, lineterminator="\n")
        if not done:
            out.writerow(HEADER)
        for row in pool.map(follow, settings):
            out.writerow(row)
            file.flush()


if __name__ == "__main__":
    main()
