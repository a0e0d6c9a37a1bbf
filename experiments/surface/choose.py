#!/usr/bin/env python3
"""choose.py SCREEN.sqlite: of every task and shape, the two learning rates with the largest area under the mean evaluation curve.
Writes final_TASK.toml beside itself."""

import collections
import os
import sqlite3
import sys

HEAD = """# Written by choose.py from screen.toml's runs: of every shape the two rates that go on. See PREREGISTRATION.md.
seeds = "11-22"
match = "minibatch_size"
points = 20
evaluations = 20

[base]
env_id = "{task}"
total_timesteps = {steps:_}
minibatch_size = 64
update_epochs = 4
eval_episodes = 10
stagger_starts = true
"""
ARM = """
[[variants]]
name = "{n}x{t} {rate:g}"
num_envs = {n}
num_steps = {t}
learning_rate = {rate:g}
"""


def areas(path):
    """(task, N, T): rate: mean of all evaluations of all seeds."""
    store = sqlite3.connect(path)
    pending = store.execute("SELECT count(*) FROM runs WHERE status = 'pending'").fetchone()[0]
    if pending:
        sys.exit(f"{path}: {pending} runs are still to be made")
    out = collections.defaultdict(dict)
    for task, n, t, rate, area in store.execute(
        "SELECT env_id, num_envs, num_steps, CAST(learning_rate AS REAL), avg(mean_return) FROM evaluations "
        "JOIN runs ON runs.id = run_id JOIN settings USING (cell_id) GROUP BY cell_id"
    ):
        out[task, n, t][rate] = area
    return out


def main():
    steps = {"FrozenLake8x8-v1": 500_000, "MountainCarContinuous-v0": 500_000}
    found = areas(sys.argv[1])
    for task in dict.fromkeys(task for task, _, _ in found):
        text = HEAD.format(task=task, steps=steps.get(task, 300_000))
        for (other, n, t), rates in sorted(
            found.items(), key=lambda item: (item[0][1] * item[0][2], item[0][1])
        ):
            if other == task:
                for rate in sorted(sorted(rates, key=lambda r: (-rates[r], r))[:2]):
                    text += ARM.format(n=n, t=t, rate=rate)
        with open(
            os.path.join(os.path.dirname(os.path.abspath(__file__)), f"final_{task}.toml"),
            "w",
            encoding="utf-8",
        ) as file:
            file.write(text)


main()
