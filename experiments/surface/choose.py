#!/usr/bin/env python3
"""Writes the study of a stage from the runs before it. PREREGISTRATION.md describes the stages.

choose.py final          two rates of each shape by the screen, from results/screen_runs.csv
choose.py second         the best shape of each task and size at seven rates, three variants
choose.py second_final   two rates of each of those
choose.py race           more seeds for the best shape of a size and those not told apart
"""

import collections
import pathlib
import random
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import fair  # noqa: E402
from analyse import PANELS  # noqa: E402
from rows import read  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent
RESULTS = FOLDER / "results"
STEPS = {"FrozenLake8x8-v1": 500_000, "MountainCarContinuous-v0": 500_000}
GYMNASIUM = ("Pendulum-v1", "MountainCarContinuous-v0")  # normalise by the first plan's rule
SIZES = [256, 16384]  # of the second panel
SEEDS = {"final": "11-22", "second": "1-2", "second_final": "11-14"}
HEAD = """# Written by choose.py {stage} from the runs of earlier stages. See PREREGISTRATION.md.
seeds = "{seeds}"
match = "none"
points = 20
evaluations = 20

[base]
eval_episodes = 10
stagger_starts = true
stagger_by = "actions"
"""
ARM = """
[[variants]]
name = "{name}"
env_id = "{task}"
total_timesteps = {steps:_}
num_envs = {n}
num_steps = {t}
minibatch_size = {minibatch}
update_epochs = {epochs}
target_kl = {kl}
"""


def two_rates(panels):
    """(panel, task, N, T): the two rates with the largest mean area of the screen."""
    areas = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in read(RESULTS / "screen_runs.csv"):
        if row["panel"] in panels:
            key = row["panel"], row["task"], int(row["N"]), int(row["T"])
            areas[key][float(row["rate"])].append(float(row["area"]))
    return {
        key: sorted(sorted(rates, key=lambda rate: (-statistics.fmean(rates[rate]), rate))[:2])
        for key, rates in areas.items()
    }


def arms(stage):
    """(panel, task, N, T) with its rates; None: the study's grid has them."""
    second = ["four minibatches", "one epoch", "KL stop"]
    if stage == "final":
        yield from two_rates(["one"]).items()
    elif stage == "second_final":
        yield from two_rates(second).items()
    else:
        rng = random.Random(1)
        shapes = list(fair.shapes_of(RESULTS, rng))
        for task, same in fair.by_task(shapes, "one").items():
            for size in SIZES:
                shape = fair.best(same, size)
                for panel in second:
                    if size > SIZES[0] or panel != "four minibatches":
                        yield (panel, task, shape.n, shape.t), None


def main():
    stage = sys.argv[1]
    text = HEAD.format(stage=stage, seeds=SEEDS[stage])
    if stage == "second":
        text += f"\n[grid]\nlearning_rate = {fair.GRID}\n"
    for (panel, task, n, t), rates in arms(stage):
        minibatch, epochs, kl = PANELS[panel]
        for rate in rates or [None]:
            name = f"{task} {n}x{t}" + (f", {panel}" if panel != "one" else "")
            text += ARM.format(
                name=name + (f", {rate:g}" if rate else ""),
                task=task,
                steps=STEPS.get(task, 300_000),
                n=n,
                t=t,
                minibatch=minibatch or n * t // 4,
                epochs=epochs,
                kl=kl,
            )
            if task in GYMNASIUM:
                text += 'normaliser = "gymnasium"\n'
            if rate:
                text += f"learning_rate = {rate:g}\n"
    (FOLDER / f"{stage}.toml").write_text(text, encoding="utf-8")


main()
