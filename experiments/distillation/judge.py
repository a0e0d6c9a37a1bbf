#!/usr/bin/env python3
"""Keeps the runs, compares the student with PPO, and judges the predictions:
judge.py STORES RESULTS"""

import collections
import json
import pathlib
import random
import sys

EXPERIMENTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(EXPERIMENTS), str(EXPERIMENTS / "surface")]
from analyse import runs_of  # noqa: E402
from fair import Arm, call  # noqa: E402
from rows import write, write_verdicts  # noqa: E402

TASKS = ("CartPole-v1", "Pendulum-v1")
ARMS = ("student", "ppo", "long")
LEAST = 10  # seeds for a verdict


def kept_runs(stores):
    """Rows of all runs, and {(task, seed): the teacher's return}."""
    rows, teachers = [], {}
    for task in TASKS:
        for folder in sorted(stores.glob(f"{task}-teacher-*")):
            seed = int(folder.name.rsplit("-", 1)[1])
            answer = json.loads((folder / "teacher.json").read_text())
            teachers[task, seed] = answer["mean_return"]
        for arm in ARMS:
            for path in sorted(stores.glob(f"{task}-{arm}-*.sqlite")):
                for run in runs_of(path):
                    row = [task, arm, run["rate"], run["seed"], run["area"], run["last"]]
                    rows.append([*row, run["seconds"]])
    return rows, teachers


def seeds_of(rows, task):
    have = collections.defaultdict(set)
    for row in rows:
        if row[0] == task:
            have[row[1], row[2]].add(row[3])
    return sorted(set.intersection(*have.values()))


def arm_of(rows, task, name, column, seeds, rng):
    scores = collections.defaultdict(dict)
    for row in rows:
        if row[0] == task and row[1] == name:
            scores[row[2]][row[3]] = row[column]
    rates = sorted(scores)
    return Arm(name, rates, [[scores[rate][seed] for seed in seeds] for rate in rates], rng)


def near_teacher(task, student, teacher):
    return student >= 0.9 * teacher if task == "CartPole-v1" else student >= teacher - 50


def main():
    stores, results = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    rng = random.Random(1)
    rows, teachers = kept_runs(stores)
    header = ["task", "arm", "rate", "seed", "area", "last", "seconds"]
    write(results / "runs.csv", header, rows)
    write(results / "teachers.csv", ["task", "seed", "mean return"],
          [[*key, value] for key, value in sorted(teachers.items())])  # fmt: skip
    table, calls, near = [], {}, {}
    for task in TASKS:
        seeds = seeds_of(rows, task)
        if len(seeds) < LEAST:
            sys.exit(f"{task}: {len(seeds)} seeds, {LEAST} are needed: no result")
        for score, column in (("area", 4), ("last", 5)):
            arms = {name: arm_of(rows, task, name, column, seeds, rng) for name in ARMS}
            student = arms["student"]
            for name, arm in arms.items():
                line = [task, score, name, len(seeds), arm.best_label, *arm.area]
                if name == "student":
                    table.append([*line, "", "", "", ""])
                    continue
                *chances, word = call(student, arm, rng)
                calls[task, score, name] = word
                table.append([*line, *chances, word])
        last = dict(zip(seeds, student.scores, strict=True))
        near[task] = sum(near_teacher(task, last[s], teachers[task, s]) for s in seeds)
        near[task] = (near[task], len(seeds))
    write(results / "arms.csv",
          ["task", "score", "arm", "seeds", "rate", "middle", "low", "high", "P(student better)",
           "P low", "P high", "student is"], table)  # fmt: skip
    soon = [calls[task, "area", "ppo"] for task in TASKS]
    end = [calls[task, "last", "long"] for task in TASKS]
    verdicts = [(1, "student beside PPO by area", "; ".join(soon), set(soon) != {"better"})]
    for number, task in ((2, "CartPole-v1"), (3, "Pendulum-v1")):
        count, all_seeds = near[task]
        verdicts.append((number, f"{task}: students near their teachers",
                         f"{count} of {all_seeds}", count < 0.8 * all_seeds))  # fmt: skip
    verdicts.append((4, "student beside long PPO by the last policy", "; ".join(end),
                     set(end) != {"better"}))  # fmt: skip
    write_verdicts(results / "verdicts.csv", verdicts)


if __name__ == "__main__":
    main()
