#!/usr/bin/env python3
"""Fits the first settings of `advise` again on all kept data, and scores them on tasks held out.

    refit.py results    writes refit.csv, refit_rows.csv, refit_time.csv and refit_verdicts.csv

PREREGISTRATION.md, second plan, has the rules. Areas and their cross-fitting are those of
surface/fair.py.
"""

import collections
import math
import pathlib
import random
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
EXPERIMENTS = HERE.parent
sys.path[:0] = [str(EXPERIMENTS), str(EXPERIMENTS / "surface")]
from fair import cross_fitted, iqm, quantile  # noqa: E402
from refit_seconds import (  # noqa: E402
    ALL,
    REPLICATES,
    geometric,
    greedy,
    name_of,
    over_tasks,
    own_time,
    scored_before,
    seconds_part,
)
from rows import read, write, write_verdicts  # noqa: E402

# Returns of random actions: docs/statistics.md, and docs/envs/MinAtar.md for the -v1 games.
RANDOM = {
    "CartPole-v1": 22.33,
    "Acrobot-v1": -498.9,
    "MountainCarContinuous-v0": -33.12,
    "Pendulum-v1": -1228,
    "FrozenLake8x8-v1": 0.001901,
    "Breakout": 0.39,
    "Asterix": 0.50,
    "Freeway": 0.33,
    "Seaquest": 0.10,
    "SpaceInvaders": 4.16,
}
NEGATIVE = ("Reacher", "Pusher")  # a share of a negative return means nothing
FIVE_GAMES = ("base", "wide", "N doubled", "T doubled")


class Task:
    """{setting: {seed: score}} of a task. The best arm is chosen among those of `pool`."""

    def __init__(self, name, scores, pool=None):
        self.name, self.scores = name, scores
        self.pool = list(pool or scores)
        self.floor = RANDOM.get(name, 0.0)
        self.seeds = sorted(set.intersection(*(set(by_seed) for by_seed in scores.values())))

    def columns(self, settings):
        return [[self.scores[s][seed] for seed in self.seeds] for s in settings]

    def lost(self, settings, drawn=None):
        """Share of the best arm's score that the cross-fitted choice among `settings` loses."""
        drawn = range(len(self.seeds)) if drawn is None else drawn
        best, arm = (fitted(self.columns(some), drawn) for some in (self.pool, settings))
        return (best - arm) / (best - self.floor)

    def draws(self, settings, rng):
        seeds = range(len(self.seeds))
        return [self.lost(settings, rng.choices(seeds, k=len(seeds))) for _ in range(REPLICATES)]


def fitted(columns, drawn):
    choice = cross_fitted(columns, drawn)
    return iqm([columns[c][seed] for c, seed in zip(choice, drawn, strict=True)])


def collect(rows, key, score):
    """{task: {setting: {seed: score}}}"""
    out = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in rows:
        task, setting = key(row)
        out[task][setting][int(row["seed"])] = float(row[score])
    return out


def tasks_of(found):
    return [Task(name, dict(scores)) for name, scores in found.items()]


def arms_of(task, arm_of):
    """{arm: its settings}"""
    out = collections.defaultdict(list)
    for setting in task.scores:
        out[arm_of(setting)].append(setting)
    return out


def held_out_choice(tasks, held_out, arm_of):
    """The arm with the least mean regret over the other tasks."""
    others = [(task, arms_of(task, arm_of)) for task in tasks if task is not held_out]
    common = [a for a in arms_of(held_out, arm_of) if all(a in arms for _, arms in others)]
    regret = {a: statistics.fmean(task.lost(arms[a]) for task, arms in others) for a in common}
    return min(common, key=regret.get)


def mean_row(part, who, rows, draws):
    """The mean over tasks of an arm's rows."""
    means = [statistics.fmean(d) for d in zip(*draws, strict=True)]
    mean = statistics.fmean(row[4] for row in rows)
    return [part, ALL, who, "", mean, quantile(means, 0.025), quantile(means, 0.975), ""]


def part_rows(part, tasks, choosers):
    """Rows of refit.csv. choosers: {who: task -> (name of the choice, its settings)}."""
    for who, choose in choosers.items():
        rng = random.Random(1)
        rows, draws = [], []
        for task in tasks:
            chosen = choose(task)
            if chosen is None:
                continue
            name, scored, settings = chosen
            draws.append(scored.draws(settings, rng))
            low, high = (quantile(draws[-1], share) for share in (0.025, 0.975))
            rows.append(
                [part, task.name, who, name, scored.lost(settings), low, high, len(scored.seeds)]
            )
        yield from rows
        if len(rows) == len(tasks):
            yield mean_row(part, who, rows, draws)


def area_part():
    def shape_and_rate(row):
        return row["task"], (f"{row['N']}x{row['T']}", float(row["rate"]))

    def one(name):
        rows = read(EXPERIMENTS / "surface" / "results" / name)
        return [row for row in rows if row["panel"] == "one"]

    finals = tasks_of(collect(one("final_runs.csv"), shape_and_rate, "area"))
    screens = {t.name: t for t in tasks_of(collect(one("screen_runs.csv"), shape_and_rate, "area"))}
    anchors = collect(
        read(HERE / "results" / "anchors_small.csv"),
        lambda row: (row["task"], (row["arm"], "")),
        "area",
    )

    def shape(setting):
        return setting[0]

    def refitted(task):
        name = held_out_choice(finals, task, shape)
        return name, task, arms_of(task, shape)[name]

    def always(name):
        return lambda task: (name, task, arms_of(task, shape)[name])

    def fixed(task):
        setting = fixed_choice(list(screens.values()), screens[task.name])
        name = f"{setting[0]} at {setting[1]:g}"
        scores = task.scores.get(setting) or screens[task.name].scores[setting]
        return name, *beside(task, screens[task.name], scores, setting)

    def anchor(arm):
        def choose(task):
            scores = anchors.get(task.name, {}).get((arm, ""))
            return scores and (arm, *beside(task, task, scores, (arm, "")))

        return choose

    return "area", finals, {
        "refitted": refitted,
        "fixed": fixed,
        "4x64": always("4x64"),
        "today's first shape, 4x256": always("4x256"),
        "today's first row": anchor("first row"),
        "defaults": anchor("defaults"),
    }  # fmt: skip


def fixed_choice(screens, held_out):
    """Shape and rate with the least mean regret on the other tasks, by the screen's seeds."""
    regret = collections.Counter()
    for task in screens:
        if task is held_out:
            continue
        means = {s: statistics.fmean(by_seed.values()) for s, by_seed in task.scores.items()}
        best = max(means.values())
        for setting in held_out.scores:
            regret[setting] += (
                (best - means[setting]) / (best - task.floor) if setting in means else math.inf
            )
    return min(held_out.scores, key=regret.__getitem__)


def beside(task, screen, scores, setting):
    """(the task with these scores beside the kept arms of the same seeds, [setting])"""
    kept = task if set(scores) >= set(task.seeds) else screen
    return Task(task.name, kept.scores | {setting: scores}, kept.scores), [setting]


def whole(setting):
    return setting


def robots_part():
    rows = [
        row
        for row in read(EXPERIMENTS / "robot-shapes" / "results" / "runs.csv")
        if row["starts"] == "staggered"
    ]
    tasks = tasks_of(collect(rows, lambda row: (row["task"], row["shape"]), "area"))
    anchors = collect(
        read(HERE / "results" / "anchors_robots.csv"),
        lambda row: (row["task"].removesuffix("-v5"), row["arm"]),
        "area",
    )

    def anchor(arm):
        def choose(task):
            scores = anchors.get(task.name, {}).get(arm)
            return scores and (arm, *beside(task, task, scores, arm))

        return choose

    return "robots", tasks, held_out_and_all(tasks) | {
        arm: anchor(arm) for arm in sorted({a for arms in anchors.values() for a in arms})
    }  # fmt: skip


def held_out_and_all(tasks):
    """The choice by the other tasks, and each arm that all tasks have."""

    def refitted(task):
        name = held_out_choice(tasks, task, whole)
        return name, task, [name]

    def always(name):
        return lambda task: (name, task, [name]) if name in task.scores else None

    arms = dict.fromkeys(setting for task in tasks for setting in task.scores)
    return {"refitted": refitted} | {name: always(name) for name in arms}


def blocks_part():
    rows = [
        row
        for row in read(EXPERIMENTS / "mujoco" / "results" / "runs.csv")
        if row["task"] not in NEGATIVE and row["block"] in ("1x2048", "8x256")
    ]
    tasks = tasks_of(collect(rows, lambda row: (row["task"], row["block"]), "training"))
    return "two blocks", tasks, held_out_and_all(tasks)


def games_part():
    rows = [
        row
        for row in read(EXPERIMENTS / "minatar" / "results" / "runs.csv")
        if row["study"] in ("depth_ppo", "breadth_ppo")
    ]
    found = collect(rows, lambda row: (row["game"], row["arm"]), "area")
    tasks = tasks_of(found)
    four = tasks_of({g: {a: arms[a] for a in FIVE_GAMES} for g, arms in found.items()})
    choosers = held_out_and_all(tasks)
    choosers["refitted"] = lambda task: chosen_of_four(four, task)
    return "games", tasks, choosers


def chosen_of_four(four, task):
    name = held_out_choice(four, next(t for t in four if t.name == task.name), whole)
    return name, task, [name]


def kind_tables(parts, today, times):
    """Rows of refit_rows.csv: tables fitted on all tasks of a kind."""
    for place, setting in enumerate(greedy(list(times.values()), len(today)), 1):
        own = over_tasks([here[setting] for here in times.values()], geometric)
        yield ["small", place, name_of(setting), *(x - 1 for x in own)]
    for part, kind in (("robots", "robots"), ("games", "games")):
        _, tasks, _ = parts[part]
        regrets = [{s: 1 + max(0.0, t.lost([s])) for s in t.scores} for t in tasks]
        for place, setting in enumerate(greedy(regrets, 99), 1):
            own = [one[setting] - 1 for one in regrets if setting in one]
            yield [kind, place, setting, statistics.fmean(own), min(own), max(own)]


def verdicts(rows):
    by_key = {(part, task, who): row for part, task, who, *row in rows}

    def each(part, who):
        return {
            task: row
            for (p, task, w), row in by_key.items()
            if (p, w) == (part, who) and task != ALL
        }

    refitted = each("area", "refitted")
    near = sum(row[1] <= 0.05 for row in refitted.values())
    yield 1, "area: tasks on which the refitted shape loses at most 5 %", near, near < 4
    usual = sum(row[0] in ("4x64", "4x256") for row in refitted.values())
    yield 2, "area: folds that choose 4x64 or 4x256", usual, usual < 4
    fixed = each("area", "fixed")
    worse = sum(fixed[task][1] > row[1] for task, row in refitted.items())
    yield 3, "area: tasks on which a fixed rate loses more", worse, worse < 3
    four, whole_table = (by_key["ratio", ALL, words][1:4] for words in ("first four", "all rows"))
    yield (
        4,
        "seconds: refitted over today's [interval], four rows; all",
        "; ".join("{:.2f} [{:.2f}, {:.2f}]".format(*x) for x in (four, whole_table)),
        four[2] >= 1 or not whole_table[1] <= 1 <= whole_table[2],
    )
    most = max(row[1] for row in each("robots", "refitted").values())
    yield 5, "robots: largest loss of a setting chosen on the other", most, most < 0.2
    mean = by_key["two blocks", ALL, "refitted"][1]
    yield 6, "two blocks: mean loss, held out", mean, mean > 0.1
    games = each("games", "refitted")
    wide = sum(row[0] == "wide" for row in games.values())
    gain = by_key["games", ALL, "refitted"][1] < by_key["games", ALL, "base"][1]
    yield 7, "games: folds that choose 128x8", wide, wide < 4 or not gain
    anchored = [w for p, _, w in by_key if p == "robots" and w.startswith("row")]
    if anchored:
        usual_lost = each("robots", "1x2048")
        less = sum(
            row[1] > usual_lost[task][1]
            for who in dict.fromkeys(anchored)
            for task, row in each("robots", who).items()
        )
        yield 8, "anchors: of six, those below the defaults' area", less, less < 6
    defaults = each("area", "defaults")
    if defaults:
        worse = sum(row[1] > refitted[task][1] for task, row in defaults.items())
        yield 9, "anchors: tasks on which the defaults lose more", worse, worse < 4


def main():
    results = pathlib.Path(sys.argv[1])
    parts = {p[0]: p for p in (area_part(), robots_part(), blocks_part(), games_part())}
    rows = [row for part in parts.values() for row in part_rows(*part)]
    seconds, today, times = seconds_part()
    rows += seconds + list(scored_before())
    write(
        results / "refit.csv",
        ["part", "task", "who", "choice", "regret", "low", "high", "seeds"],
        rows,
    )
    for row in rows:
        if row[1] == ALL:
            print(row[0], row[2], *(f"{x:.3f}" for x in row[4:7]))
    write(
        results / "refit_rows.csv",
        ["kind", "place", "setting", "mean regret", "low", "high"],
        kind_tables(parts, today, times),
    )
    write(
        results / "refit_time.csv",
        ["task", "seconds of advice", "race", "defaults", "best", "with advice over best",
         "with advice over defaults", "trainings until it has paid"],
        own_time(),
    )  # fmt: skip
    write_verdicts(results / "refit_verdicts.csv", verdicts(rows))


if __name__ == "__main__":
    main()
