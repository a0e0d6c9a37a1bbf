#!/usr/bin/env python3
"""What is run next, from what was run before.

choose.py kinds FILE.json            every kind of setting of the grid, to be timed
choose.py fixed STORE SPEEDS FILE    the setting that is best on the tuned tasks, from their grid
choose.py advised FOLDER TASK FILE   the kinds that the advice for a task and the fixed setting have
choose.py final TASK STORE SPEEDS FOLDER FILE.toml   the study that scores a task: the grid's best, the fixed, the defaults, the advised
"""

import glob
import json
import os
import statistics
import sys

from common import (
    FIXED,
    TUNED,
    Kind,
    Setting,
    cost,
    geometric,
    grid_kinds,
    horizon,
    kind_of,
    name_of,
    read_json,
    read_speeds,
    read_store,
)

HERE = os.path.dirname(os.path.abspath(__file__))
BEST = 8
HEAD = """# Written by choose.py: what is scored on {task}. See PREREGISTRATION.md.
seeds = "101-120"
match = "none"
points = 20
evaluations = 400

[base]
env_id = "{task}"
eval_episodes = 20
"""
ARM = """
[[variants]]
name = "{name}"
num_envs = {s.num_envs}
num_steps = {s.num_steps}
minibatch_size = {s.minibatch_size}
update_epochs = {s.update_epochs}
learning_rate = {s.learning_rate!r}
anneal_lr = false
total_timesteps = {steps}
"""
DEFAULT = """
[[variants]]
name = "defaults"
"""


def costs(store, speeds):
    """{task: {setting: mean seconds over the seeds}}."""
    out = {}
    for (task, setting), seeds in read_store(store).items():
        most = horizon(task, speeds)
        out.setdefault(task, {})[setting] = statistics.fmean(
            cost(task, setting, steps, speeds, most) for steps in seeds.values()
        )
    return out


def ranked_on_tuned(store, speeds):
    found = costs(store, speeds)
    best = {task: min(found[task].values()) for task in TUNED}
    score = {
        setting: geometric(found[task][setting] / best[task] for task in TUNED)
        for setting in found[TUNED[0]]
    }
    return sorted(score.items(), key=lambda item: item[1])


def advice(folder, task):
    """{(rule, seed): (setting, or None where nothing was advised; the file)}."""
    out = {}
    for path in sorted(glob.glob(os.path.join(folder, f"{task}-*-*", "advice.json"))):
        rule, seed = os.path.basename(os.path.dirname(path))[len(task) + 1 :].split("-")
        file = read_json(path)
        index = file["advice"]["candidate"]
        found = None
        if index is not None and file["advice"]["verdict"] != "nothing learnt":
            found = Setting(*(file["candidates"][index][key] for key in Setting._fields))
        out[rule, int(seed)] = found, file
    return out


def dump(path, kinds):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(kinds, file)


def final(task, store, speeds, folder):
    speeds = read_speeds(speeds)
    found = costs(store, speeds)[task]
    settings = sorted(found, key=found.get)[:BEST]
    settings += [Setting(*read_json(os.path.join(HERE, FIXED)))]
    settings += [setting for setting, _ in advice(folder, task).values() if setting]
    text = HEAD.format(task=task)
    for setting in dict.fromkeys(settings):
        steps = round(horizon(task, speeds) * speeds[task, kind_of(setting)])
        text += ARM.format(
            name=name_of(setting),
            s=setting,
            steps=max(steps, 2 * setting.num_envs * setting.num_steps),
        )
    return text + DEFAULT


def main():
    what, *rest = sys.argv[1:]
    if what == "kinds":
        dump(rest[0], grid_kinds())
    elif what == "fixed":
        order = ranked_on_tuned(rest[0], read_speeds(rest[1]))
        for setting, score in order[:40]:
            print(f"{name_of(setting)}  {score:.2f}")
        dump(rest[2], order[0][0])
    elif what == "advised":
        found = advice(rest[0], rest[1]).values()
        kinds = {kind_of(setting) for setting, _ in found if setting}
        kinds |= {
            Kind(*(c[key] for key in Kind._fields))
            for _, file in found
            for c in file["candidates"]
            if c["default"]
        }
        kinds.add(kind_of(Setting(*read_json(os.path.join(HERE, FIXED)))))
        dump(rest[2], sorted(kinds))
    else:
        task, store, speeds, folder, path = rest
        with open(path, "w", encoding="utf-8") as file:
            file.write(final(task, store, speeds, folder))


if __name__ == "__main__":
    main()
