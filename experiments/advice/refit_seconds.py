"""The part of refit.py in seconds: tables of settings, and the time of an advice."""

import collections
import math
import pathlib
import random
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "surface")]
from fair import quantile  # noqa: E402
from rows import read  # noqa: E402

ALL = "all"  # tasks
REPLICATES = 1000
RATES = {1: 3e-4, 4: 1e-3, 12: 3e-3, 40: 1e-2}  # of the grid, by times the default
FIRST = 4  # rows that a race has room for if a simulator is slow


def mean_log(values):
    return statistics.fmean(map(math.log, values))


def greedy(regrets, rows):
    """Rows of a table. regrets: [{setting: time over the best}] of each task."""
    settings = list(dict.fromkeys(s for one in regrets for s in one))
    best = [math.inf] * len(regrets)
    table = []

    def gain(setting):
        left = [min(b, one.get(setting, math.inf)) for b, one in zip(best, regrets, strict=True)]
        own = mean_log([one.get(setting, max(one.values())) for one in regrets])
        return sum(math.log(x) if x < math.inf else 50.0 for x in left), own

    while len(table) < min(rows, len(settings)):
        row = min((s for s in settings if s not in table), key=gain)
        table.append(row)
        best = [min(b, one.get(row, math.inf)) for b, one in zip(best, regrets, strict=True)]
    return table


def name_of(setting):
    return "{}x{} M{} K{} {:g}".format(*setting)


def grid_times():
    """{task: {setting: seconds over those of the best}}"""
    out = collections.defaultdict(dict)
    keys = ("num_envs", "num_steps", "minibatch_size", "update_epochs")
    for row in read(HERE / "results" / "grid.csv"):
        setting = *(int(row[key]) for key in keys), float(row["learning_rate"])
        out[row["task"]][setting] = float(row["seconds"])
    return {
        task: {s: seconds / min(by_setting.values()) for s, seconds in by_setting.items()}
        for task, by_setting in out.items()
    }


def todays_rows(settings):
    """Today's rows that the grid has, in order."""
    rows = []
    for row in read(HERE / "results" / "table_before.csv"):
        *kind, times = map(int, row.values())
        setting = *kind, RATES.get(times, 0.0)
        if setting in settings and setting not in rows:
            rows.append(setting)
    return rows


def over_tasks(values, statistic):
    """(statistic, low, high) by bootstrap over tasks."""
    rng = random.Random(1)
    drawn = [statistic(rng.choices(values, k=len(values))) for _ in range(REPLICATES)]
    return statistic(values), quantile(drawn, 0.025), quantile(drawn, 0.975)


def geometric(values):
    return math.exp(mean_log(values))


def seconds_part():
    """(rows of refit.csv, today's rows, the grid's times). Ratio: refitted time over today's."""
    times = grid_times()
    today = todays_rows(next(iter(times.values())))
    sizes = {"first four": FIRST, "all rows": len(today)}
    found, ratios = collections.defaultdict(list), {}
    for task, here in times.items():
        others = [regret for name, regret in times.items() if name != task]
        found["best fixed setting"].append((task, *scored(here, greedy(others, 1))))
        found["today's first row"].append((task, *scored(here, today[:1])))
        for words, size in sizes.items():
            refitted = scored(here, greedy(others, size))
            before = scored(here, today[:size])
            found[f"refitted, {words}"].append((task, *refitted))
            found[f"today's, {words}"].append((task, *before))
            ratios.setdefault(words, []).append(math.log(refitted[1] / before[1]))
    rows = []
    for who, entries in found.items():
        rows += [["seconds", task, who, name_of(s), x - 1, "", "", 3] for task, s, x in entries]
        mean, low, high = over_tasks([x for *_, x in entries], geometric)
        rows.append(["seconds", ALL, who, "", mean - 1, low - 1, high - 1, ""])
    for words, logs in ratios.items():
        mean, low, high = over_tasks(logs, statistics.fmean)
        rows.append(
            ["ratio", ALL, words, "", *map(math.exp, (mean, low, high)), ""]
        )  # fmt: skip
    return rows, today, times


def scored(here, table):
    """(the table's best row on a task, its time over the best)"""
    row = min(table, key=here.get)
    return row, here[row]


def scored_before():
    """Rows of refit.csv from the first plan's scored runs: twenty seeds."""
    for row in read(HERE / "results" / "regret.csv"):
        if row["who"] in ("race", "defaults", "fixed"):
            who = {"race": "today's race", "fixed": "today's first row, scored"}
            yield [
                "seconds", row["task"], who.get(row["who"], row["who"]), "",
                *(float(row[key]) - 1 for key in ("times", "times low", "times high")), 20,
            ]  # fmt: skip


def own_time():
    """Rows of refit_time.csv."""
    spent = collections.defaultdict(list)
    for row in read(HERE / "results" / "advice.csv"):
        if row["rule"] == "race":
            spent[row["task"]].append(float(row["spent_seconds"]))
    seconds = {(r["task"], r["who"]): r for r in read(HERE / "results" / "regret.csv")}
    for task, seconds_spent in spent.items():
        race, defaults = (float(seconds[task, who]["seconds"]) for who in ("race", "defaults"))
        best = float(seconds[task, "race"]["best_seconds"])
        mean = statistics.fmean(seconds_spent)
        yield [
            task, mean, race, defaults, best, (mean + race) / best, (mean + race) / defaults,
            math.ceil(mean / (defaults - race)),
        ]  # fmt: skip
