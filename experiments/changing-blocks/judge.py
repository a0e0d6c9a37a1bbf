#!/usr/bin/env python3
"""Keeps the runs of all panels and judges the predictions: judge.py STORES RESULTS

`together` is the plan's test over several tasks (it calls it the test of halves.py).

Rates are chosen and scored by the surface's rule, which is the product's (docs/statistics.md,
"Tuned settings").
"""

import collections
import pathlib
import random
import re
import sys

EXPERIMENTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(EXPERIMENTS), str(EXPERIMENTS / "surface")]
from analyse import runs_of  # noqa: E402
from fair import Arm, call, gain, other_is  # noqa: E402
from kl import NAME as DOUBLED  # noqa: E402
from rows import read, write, write_verdicts  # noqa: E402

DEALS = 20000
OLD = 78  # the last seed of the first eight
SMALL, LARGE, BEST = "4x64", "16x256", "best fixed"
SOONER = f"{SMALL} to {LARGE} at 0.3"
PANELS = {"one": "one", "four": "four minibatches"}


def short(schedule):
    """'4x64 @ 0, 16x256 @ 0.3' as '4x64 to 16x256 at 0.3', and '4x64 @ 0' as '4x64'."""
    first, *later = re.findall(r"(\d+x\d+)[^@]*@ ([\d.]+)", schedule)
    return " ".join([first[0], *(f"to {shape} at {start}" for shape, start in later)])


def arms_of(kept, score, rng):
    """{(panel, task): {name: its arm}}."""
    scores = collections.defaultdict(lambda: collections.defaultdict(dict))
    for run in kept:
        scores[run["panel"], run["task"]].setdefault((run["block"], run["rate"]), {})[
            run["seed"]
        ] = run[score]
    out = {}
    for (panel, task), by_setting in scores.items():
        settings = dict(by_setting)
        if panel != "one":  # four minibatches of 4x64 have 64 samples, as in panel one
            one = scores["one", task]
            settings |= {key: one[key] for key in one if key[0] == SMALL}
        columns = {
            key: [score for _, score in sorted(values.items())] for key, values in settings.items()
        }
        names = {key[0]: sorted(k for k in columns if k[0] == key[0]) for key in columns}
        arms = {
            name: Arm(name, [key[1] for key in keys], [columns[key] for key in keys], rng)
            for name, keys in names.items()
        }
        fixed = names[SMALL] + names[LARGE]
        arms[BEST] = Arm(BEST, fixed, [columns[key] for key in fixed], rng)
        out[panel, task] = arms
    return out


def is_schedule(name):
    return " to " in name


def pairs_of(arms, rng):
    """(panel, task, base, other, difference with interval, P(base better) with interval, call)"""
    for (panel, task), same in arms.items():
        wanted = [(BEST, name) for name in same if is_schedule(name)]
        for base, other in [*wanted, (SMALL, LARGE)]:
            one, two = same[base], same[other]
            gained = gain(one, two)
            *chances, result = call(one, two, rng)
            yield [panel, task, base, other, *gained, *chances, other_is(result)]


def ranks(values):
    places = collections.defaultdict(list)
    for place, value in enumerate(sorted(values)):
        places[value].append(place)
    return [sum(places[value]) / len(places[value]) for value in values]


def together(sides, rng):
    """Share of pairs in which the first side is ahead, averaged over tasks, and how often runs
    dealt to the sides at random, within each task, are as far apart. As rows.together, whose exact
    count takes too long for twelve runs a side."""
    found, tasks = 0.0, []
    for one, other in sides:
        order, least = ranks(one + other), len(one) * (len(one) - 1) / 2
        whole = len(one) * len(other)
        tasks.append((order, len(one), least, whole))
        found += (sum(order[: len(one)]) - least) / whole
    middle = len(tasks) / 2
    far = sum(
        abs(sum((sum(rng.sample(o, k)) - least) / whole for o, k, least, whole in tasks) - middle)
        >= abs(found - middle) - 1e-9
        for _ in range(DEALS)
    )
    return found / len(tasks), (far + 1) / (DEALS + 1)


def beside(tasks, name, other, rng):
    return together([(same[name].scores, same[other].scores) for same in tasks], rng)


def together_rows(arms, rng):
    """Each schedule against the best fixed block, over all tasks; then whether it leads by mean
    rank. A share above one half: the schedule is ahead."""
    for panel in dict.fromkeys(panel for panel, _ in arms):
        tasks = [same for (name, _), same in arms.items() if name == panel]
        schedules = [name for name in tasks[0] if is_schedule(name)]
        places = collections.Counter()
        for same in tasks:
            order = sorted(schedules, key=lambda name: -same[name].middle)
            places.update({name: order.index(name) for name in schedules})
        leader = min(schedules, key=lambda name: places[name])
        for name in schedules:
            found = beside(tasks, name, BEST, rng)
            yield [panel, name, len(tasks), *found, "yes" if name == leader else ""]


def doubled_rows(area, last, rng):
    """The doubled block against the best fixed one, and a schedule of panel one, over all tasks."""
    for score, arms in {"area": area, "last": last}.items():
        tasks = list(arms.values())
        for other in (BEST, SOONER) if tasks else ():
            seeds = len(tasks[0][DOUBLED].scores)
            yield [score, seeds, other, *beside(tasks, DOUBLED, other, rng)]


def doubled_arms(area, last, rng):
    for (_, task), arms in area.items():
        one, two = arms[BEST], arms[DOUBLED]
        *chances, result = call(one, two, rng)
        yield [task, len(two.scores), *two.area, two.best_label, last["one", task][DOUBLED].middle,
               *chances, other_is(result)]  # fmt: skip


def verdicts(pairs, last_pairs, arms, both):
    """(prediction, what, value, refuted)"""

    def count(rows, word, panel=None, other=None):
        return sum(
            row[-1] == word and panel in (None, row[0]) and is_schedule(row[3])
            and other in (None, row[3])
            for row in rows
        )  # fmt: skip

    found = count(pairs, "better", "one")
    yield 1, "panel one: calls of a better schedule", found, found > 0
    found = count(pairs, "lower", "one", f"{LARGE} to {SMALL} at 0.6")
    yield 2, "large to small at .6: tasks on which it is lower", found, found < 2
    found = sum(
        same[f"{SMALL} to {LARGE} at {start}"].middle
        > same[f"{LARGE} to {SMALL} at {start}"].middle
        for (panel, _), same in arms.items()
        if panel == "one"
        for start in ("0.3", "0.6")
    )
    yield 3, "of ten pairs, small to large has the larger area in", found, found < 7
    found = count(last_pairs, "better")
    yield 4, "last policies: calls of a better schedule", found, found > 0
    four = PANELS["four"]
    found = sum(row[0] == four and row[2] == SMALL and row[-1] == "lower" for row in pairs)
    yield 5, "four minibatches: tasks on which 16x256 is lower than 4x64", found, found < 3
    found = count(pairs, "lower", four, f"{SMALL} to {LARGE} at 0.6")
    yield 6, "four minibatches: tasks on which 4x64 to 16x256 at .6 is lower", found, found > 1
    found = max(row[5] for row in both if row[:2] == ["area", "all"] and row[7])
    yield 7, "share of pairs in which the leading schedule is ahead", round(found, 3), found > 0.6


def later_verdicts(both, beside_doubled, doubled):
    """Predictions about the new seeds, and about the block that a KL doubles."""
    new = [row for row in both if row[1] == "new"]
    area, last = ([row for row in new if row[0] == score] for score in ("area", "last"))
    if new:
        found = sum(row[5] > 0.5 and row[6] < 0.05 for row in area)
        yield 8, "new seeds: schedules that are ahead of the best fixed block", found, found > 0
        back = [row for row in area if row[3].startswith(LARGE)]
        found = sum(row[5] < 0.5 and row[6] < 0.05 for row in back)
        yield 9, "new seeds: schedules from large to small that are behind", found, found < 2
        found = sum(row[2] == "one" and row[6] < 0.05 for row in last)
        yield 10, "new seeds, last policies: schedules of panel one that are told", found, found > 0
    tests = {(score, other): (share, p) for score, _, other, share, p in beside_doubled}
    if tests:
        share, p = tests["area", BEST]
        yield 11, "doubled by KL: p against the best fixed block", p, p < 0.05 and share > 0.5
        _, p = tests["last", BEST]
        yield 12, "doubled by KL, last policies: p against the best fixed block", p, p < 0.05
        _, p = tests["area", SOONER]
        yield 13, f"doubled by KL: p against {SOONER}", p, p < 0.05
        found = sum(len(run["doubled at"].split()) >= 2 for run in doubled) / len(doubled)
        yield 14, "share of runs whose N doubles at least twice", round(found, 3), found <= 0.5


def common(runs):
    """The runs of the seeds that every setting has."""
    seeds = collections.defaultdict(set)
    for run in runs:
        seeds[run["panel"], run["task"], run["block"], run["rate"]].add(run["seed"])
    wanted = set.intersection(*seeds.values()) if seeds else set()
    return [run for run in runs if run["seed"] in wanted]


def check_kept(path, columns, runs):
    """Says whether runs that were kept before came again."""
    texts = {tuple(f"{x:.5g}" if isinstance(x, float) else str(x) for x in row) for row in runs}
    kept = [tuple(row[key] for key in columns) for row in read(path)]
    print(f"{sum(row in texts for row in kept)} of {len(kept)} kept runs came again")


def main():
    stores, results = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    rng = random.Random(1)
    kept = common(
        [
            {**run, "panel": PANELS[study], "block": short(run["shape_schedule"])}
            for study in PANELS
            for path in sorted(stores.glob(f"{study}-*.sqlite"))
            for run in runs_of(path, "shape_schedule")
        ]
    )
    columns = ["panel", "task", "block", "rate", "seed", "area", "last", "gradient steps"]
    rows = [[run[key] for key in columns] for run in kept]
    check_kept(results / "runs.csv", columns, rows)
    write(results / "runs.csv", columns, rows)
    arms = arms_of(kept, "area", rng)
    last = arms_of(kept, "last", rng)
    steps = {(run["panel"], run["task"], run["block"]): run["gradient steps"] for run in kept}
    write(results / "arms.csv", [
        "panel", "task", "block", "gradient steps", "seeds", "area", "area low", "area high",
        "best rate", "at edge", "rates as good", "last",
    ], [
        [panel, task, name, steps.get((panel, task, name), steps["one", task, SMALL]),
         len(arm.scores), *arm.area, arm.best_label,
         "yes" if arm.best in (0, len(arm.labels) - 1) else "",
         " ".join(f"{arm.labels[i]:g}" for i in arm.like), last[panel, task][name].middle]
        for (panel, task), same in arms.items()
        for name, arm in same.items()
        if name != BEST
    ])  # fmt: skip
    header = [
        "panel", "task", "base", "other", "difference", "difference low", "difference high",
        "P(base better)", "P low", "P high", "other is",
    ]  # fmt: skip
    pairs, last_pairs = list(pairs_of(arms, rng)), list(pairs_of(last, rng))
    write(results / "pairs.csv", header, pairs)
    write(results / "pairs_last.csv", header, last_pairs)
    both = [
        [score, part, *row]
        for part, runs in {"all": kept, "new": [run for run in kept if run["seed"] > OLD]}.items()
        for score in ("area", "last")
        for row in together_rows(arms_of(runs, score, rng), rng)
    ]
    write(
        results / "together.csv",
        ["score", "seeds", "panel", "schedule", "tasks", "share ahead of best fixed", "p", "leads"],
        both,
    )
    made = read(stores / "kl.csv") or read(results / "doubled.csv")
    doubled = common(
        [
            {**run, "panel": "one", "rate": float(run["rate"]), "seed": int(run["seed"]),
             "area": float(run["area"]), "last": float(run["last"])}
            for run in made
        ]
    )  # fmt: skip
    columns = ["task", "block", "rate", "seed", "area", "last", "gradient steps", "doubled at"]
    write(results / "doubled.csv", columns, [[run[key] for key in columns] for run in doubled])
    seeds = {run["seed"] for run in doubled}
    same = [run for run in kept if run["panel"] == "one" and run["seed"] in seeds]
    area, last = (arms_of(same + doubled, score, rng) for score in ("area", "last"))
    beside_doubled = list(doubled_rows(area, last, rng))
    write(results / "doubled_together.csv", ["score", "seeds", "beside", "share ahead", "p"],
          beside_doubled)  # fmt: skip
    write(results / "doubled_arms.csv", [
        "task", "seeds", "area", "area low", "area high", "best rate", "last",
        "P(best fixed better)", "P low", "P high", "is",
    ], list(doubled_arms(area, last, rng)))  # fmt: skip
    write_verdicts(
        results / "verdicts.csv",
        [*verdicts(pairs, last_pairs, arms, both), *later_verdicts(both, beside_doubled, doubled)],
    )


if __name__ == "__main__":
    main()
