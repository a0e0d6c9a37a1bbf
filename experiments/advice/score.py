#!/usr/bin/env python3
"""score.py STORES RESULTS: how much longer advice takes than the best of the grid, and the verdict on every prediction of PREREGISTRATION.md."""

import os
import random
import statistics
import sys

from choose import BEST, advice, costs
from common import (
    FIXED,
    HELD_OUT,
    RULES,
    TUNED,
    Setting,
    cost,
    horizon,
    name_of,
    read_json,
    read_speeds,
    read_store,
    write,
)

HERE = os.path.dirname(os.path.abspath(__file__))
REPLICATES = 5000
DEFAULTS = "defaults"


class Task:
    """The measurements on one task: seconds of every scored arm by seed, and which arm belongs to whom."""

    def __init__(self, task, stores, speeds):
        self.name = task
        self.most = horizon(task, speeds)
        grid = costs(
            os.path.join(stores, ("tune" if task in TUNED else "grid") + ".sqlite"), speeds
        )[task]
        self.grid = grid
        self.best = sorted(grid, key=grid.get)[:BEST]
        self.fixed = Setting(*read_json(os.path.join(HERE, FIXED)))
        self.advice = advice(stores, task)
        self.seconds, self.steps = {}, {}
        usual = next(
            c for _, file in self.advice.values() for c in file["candidates"] if c["default"]
        )
        for (_, setting), seeds in read_store(os.path.join(stores, f"final_{task}.sqlite")).items():
            arm = setting if setting.minibatch_size else DEFAULTS
            trained = (
                setting
                if setting.minibatch_size
                else Setting(*(usual[key] for key in Setting._fields))
            )
            self.steps[arm] = seeds
            self.seconds[arm] = {
                seed: cost(task, trained, steps, speeds, self.most) for seed, steps in seeds.items()
            }
        self.seeds = sorted(next(iter(self.seconds.values())))

    def mean(self, arm, seeds=None):
        arm_seconds = self.seconds[arm]
        return statistics.fmean(arm_seconds[seed] for seed in seeds or self.seeds)

    def grid_best(self, seeds=None):
        return min(self.mean(setting, seeds) for setting in self.best)

    def arms_of(self, who):
        """Whose mean is the mean over these."""
        if who in RULES:
            return [
                setting or DEFAULTS
                for (rule, _), (setting, _) in sorted(self.advice.items(), key=lambda item: item[0])
                if rule == who
            ]
        return [self.fixed if who == "fixed" else DEFAULTS]

    def seconds_of(self, who, seeds=None):
        return statistics.fmean(self.mean(arm, seeds) for arm in self.arms_of(who))

    def draws(self):
        randomness = random.Random(1)
        for _ in range(REPLICATES):
            yield randomness.choices(self.seeds, k=len(self.seeds))


def interval(values):
    values = sorted(values)
    return values[int(0.025 * len(values))], values[int(0.975 * len(values)) - 1]


def ratio(task, who, against):
    """The estimate of mean seconds: value, low, high."""

    def arm_seconds(seeds):
        return task.seconds_of(who, seeds) / (
            task.grid_best(seeds) if against == "grid" else task.seconds_of(against, seeds)
        )

    return arm_seconds(None), *interval(arm_seconds(seeds) for seeds in task.draws())


def regrets(tasks):
    for task in tasks:
        held_out = "yes" if task.name in HELD_OUT else "no"
        for who in (*RULES, "fixed", DEFAULTS):
            value, low, high = ratio(task, who, "grid")
            yield {
                "task": task.name,
                "held_out": held_out,
                "who": who,
                "seconds": task.seconds_of(who),
                "best_seconds": task.grid_best(),
                "times": value,
                "times low": low,
                "times high": high,
            }
        # Over seeds 1 to 3, as its best is.
        random_ratio = statistics.fmean(task.grid.values()) / min(task.grid.values())
        yield {
            "task": task.name,
            "held_out": held_out,
            "who": "random",
            "seconds": statistics.fmean(task.grid.values()),
            "best_seconds": min(task.grid.values()),
            "times": random_ratio,
            "times low": "",
            "times high": "",
        }


def arms(tasks):
    for task in tasks:
        best = min(task.best, key=task.mean)
        for arm in sorted(task.seconds, key=task.mean):
            roles = [
                f"{rule} {seed}"
                for (rule, seed), (setting, _) in task.advice.items()
                if (setting or DEFAULTS) == arm
            ]
            roles += (
                ["best of the grid"] * (arm == best)
                + ["grid"] * (arm in task.best and arm != best)
                + ["fixed"] * (arm == task.fixed)
            )
            low, high = interval(task.mean(arm, seeds) for seeds in task.draws())
            yield {
                "task": task.name,
                "arm": DEFAULTS if arm == DEFAULTS else name_of(arm),
                "roles": "; ".join(roles),
                "seconds": task.mean(arm),
                "low": low,
                "high": high,
                "steps": statistics.fmean(steps for steps in task.steps[arm].values() if steps)
                if any(task.steps[arm].values())
                else "",
                "reached": sum(steps is not None for steps in task.steps[arm].values()),
                "seeds": len(task.seeds),
                "horizon": task.most,
            }


def advices(tasks):
    for task in tasks:
        for (rule, seed), (setting, file) in sorted(task.advice.items()):
            arm = setting or DEFAULTS
            yield {
                "task": task.name,
                "rule": rule,
                "seed": seed,
                "verdict": file["advice"]["verdict"],
                "setting": name_of(setting) if setting else "",
                "expected_seconds": file["advice"]["cost"]["value"]
                if setting and file["advice"]["reached"]
                else "",
                "seconds": task.mean(arm),
                "regret": task.mean(arm) / task.grid_best() - 1,
                "spent_seconds": file["machine"]["spent_seconds"],
            }


def cells(tasks):
    for task in tasks:
        for setting, seconds in task.grid.items():
            yield {"task": task.name} | setting._asdict() | {"seconds": seconds}


def verdicts(tasks):
    held = [task for task in tasks if task.name in HELD_OUT]
    found = {
        (task.name, who): ratio(task, who, "grid") for task in held for who in (*RULES, "fixed")
    }
    near = [sum(found[task.name, "race"][0] - 1 <= share for task in held) for share in (0.3, 0.1)]
    yield (
        1,
        f"race: regret of at most 30 % on {near[0]} of 5, of at most 10 % on {near[1]}",
        near[0] < 4 or near[1] < 2,
    )
    against = [ratio(task, "race", DEFAULTS) for task in held]
    yield (
        2,
        f"race faster than the defaults on {sum(r[0] < 1 for r in against)} of 5, interval below 1 on {sum(r[2] < 1 for r in against)}",
        sum(r[0] < 1 for r in against) < 5 or sum(r[2] < 1 for r in against) < 3,
    )
    better = sum(task.seconds_of("race") < task.seconds_of("fixed") for task in held)
    yield 3, f"race faster than the fixed setting on {better} of 5", better < 3
    worse = sum(task.seconds_of("gradient") > task.seconds_of("race") for task in held)
    yield 4, f"gradient slower than race on {worse} of 5", worse < 4
    single = sum(
        sum(setting.update_epochs == 1 for setting in task.best) > BEST / 2 for task in held
    )
    yield 5, f"more than half of the grid's eight best have one epoch on {single} of 5", single < 3


def main():
    stores, results = sys.argv[1:3]
    speeds = read_speeds(os.path.join(HERE, "results", "speeds.csv"))
    tasks = [Task(task, stores, speeds) for task in HELD_OUT + TUNED]
    write(os.path.join(results, "arms.csv"), arms(tasks))
    write(os.path.join(results, "advice.csv"), advices(tasks))
    write(os.path.join(results, "grid.csv"), cells(tasks))
    found = list(regrets(tasks))
    write(os.path.join(results, "regret.csv"), found)
    for row in found:
        text = (
            "" if row["times low"] == "" else " [{times low:.2f}, {times high:.2f}]".format(**row)
        )
        print(
            "{task:26} {who:9} {seconds:.4f} s, best {best_seconds:.4f} s: {times:.2f} times as long{text}".format(
                **row, text=text
            )
        )
    sentences = [
        {"prediction": number, "what": what, "refuted": "yes" if refuted else "no"}
        for number, what, refuted in verdicts(tasks)
    ]
    write(os.path.join(results, "verdicts.csv"), sentences)
    for row in sentences:
        print(row["prediction"], row["what"], "REFUTED" if row["refuted"] == "yes" else "")


main()
