#!/usr/bin/env python3
"""choose.py robots SCREEN.sqlite: of every task and shape the rate with the largest area, as final.toml beside itself. choose.py quadruped
SCREEN_QUADRUPED.sqlite: that with the smallest speed error over the last twentieth of the run, as final_quadruped.toml."""

import collections
import pathlib
import sqlite3
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROBOTS = """# Written by choose.py from screen.toml's runs: each shape at its own rate. See PREREGISTRATION.md.
seeds = "11-15"
match = "minibatch_size"
points = 20
evaluations = 10

[base]
total_timesteps = 500_000
minibatch_size = 64
update_epochs = 10
lr_schedule = "linear"
norm_obs = true
norm_reward = true
eval_episodes = 5
stagger_by = "actions"

[grid]
stagger_starts = [true, false]
"""
QUADRUPED = """# Written by choose.py from screen_quadruped.toml's runs: each shape at its own rate. See PREREGISTRATION.md.
seeds = "11-12"
match = "minibatch_size"
points = 100
evaluations = 1
base = "../../configs/quadruped.toml"

[grid]
stagger_starts = [true, false]
"""
AREA = "SELECT env_id, num_envs, num_steps, learning_rate, avg(mean_return) FROM evaluations JOIN runs ON runs.id = run_id JOIN settings USING (cell_id) GROUP BY cell_id"
ERROR = """SELECT env_id, num_envs, num_steps, learning_rate, -avg(value) FROM learning_curves WHERE key = 'measure/speed_error'
  AND environment_steps > 0.95 * (SELECT max(environment_steps) FROM points) GROUP BY cell_id"""


def scores(path, query):
    """(task, N, T): {rate: score}, in the order of tasks and N."""
    with sqlite3.connect(path) as store:
        left = store.execute("SELECT count(*) FROM runs WHERE status <> 'finished'").fetchone()[0]
        if left:
            sys.exit(f"{path}: {left} runs are still to be made")
        out = collections.defaultdict(dict)
        for task, n, t, rate, score in sorted(
            store.execute(query), key=lambda row: (row[0], row[1])
        ):
            out[task, n, t][float(rate)] = score
    return out


def write(name, head, found):
    text = head
    for (task, n, t), rates in found.items():
        best = max(rates, key=rates.get)
        print(
            task,
            f"{n}x{t}",
            {rate: round(score, 3) for rate, score in rates.items()},
            "chosen:",
            best,
        )
        text += f'\n[[variants]]\nname = "{task.partition("-")[0]} {n}x{t}"\nenv_id = "{task}"\nnum_envs = {n}\nnum_steps = {t}\nlearning_rate = {best:g}\n'
    (HERE / name).write_text(text, encoding="utf-8")


if sys.argv[1] == "robots":
    write("final.toml", ROBOTS, scores(sys.argv[2], AREA))
else:
    write("final_quadruped.toml", QUADRUPED, scores(sys.argv[2], ERROR))
