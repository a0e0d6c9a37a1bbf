#!/usr/bin/env python3
"""Keeps the runs of the three ways and judges the predictions: judge.py [STORES] RESULTS

Without STORES it reads the kept runs. Rates are chosen and scored by the surface's rule, which is
the product's (docs/statistics.md, "Tuned settings").
"""

import collections
import pathlib
import random
import sys

EXPERIMENTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(EXPERIMENTS), str(EXPERIMENTS / "surface")]
from analyse import runs_of  # noqa: E402
from fair import arm_of, call, chance, gain, other_is  # noqa: E402
from rows import read, write, write_verdicts  # noqa: E402

COLUMNS = ["way", "task", "block", "rate", "seed", "area", "last", "gradient steps"]
NUMBERS = {"rate": float, "seed": int, "area": float, "last": float, "gradient steps": int}
SETTINGS = {"ppo": 9, "proximal": 9, "scaled": 3}  # blocks at three rates
LEAST_SEEDS = 4  # fewer cannot be told apart
# (way, block) that is the base, and the one that is compared with it.
PAIRS = {
    1: (("ppo", "4x64"), ("ppo", "256x64")),
    2: (("proximal", "4x64"), ("proximal", "256x64")),
    3: (("ppo", "4x64"), ("proximal", "4x64")),
    4: (("ppo", "32x64"), ("proximal", "32x64")),
    5: (("ppo", "256x64"), ("proximal", "256x64")),
    6: (("proximal", "4x64"), ("scaled", "32x64")),
}


def made(stores):
    """The runs of the seeds that every setting of a way has on a task; none if it lacks one."""
    runs = [
        {**run, "way": way, "block": f"{run['N']}x{run['T']}"}
        for way in ("ppo", "proximal", "scaled")
        for path in sorted(stores.glob(f"{way}-*.sqlite"))
        for run in runs_of(path)
    ]
    seeds = collections.defaultdict(lambda: collections.defaultdict(set))
    for run in runs:
        seeds[run["way"], run["task"]][run["block"], run["rate"]].add(run["seed"])
    wanted = {
        key: set.intersection(*settings.values())
        for key, settings in seeds.items()
        if len(settings) == SETTINGS[key[0]]
    }
    return [run for run in runs if run["seed"] in wanted.get((run["way"], run["task"]), ())]


def kept_runs(results):
    return [
        {key: NUMBERS.get(key, str)(value) for key, value in row.items()}
        for row in read(results / "runs.csv")
    ]


def arms_of(kept, score, rng):
    """{task: {(way, block): its arm}}"""
    scores = collections.defaultdict(lambda: collections.defaultdict(dict))
    for run in kept:
        setting = scores[run["task"]][run["way"], run["block"]]
        setting.setdefault(run["rate"], {})[run["seed"]] = run[score]
    return {
        task: {key: arm_of(key[1], rates, rng) for key, rates in settings.items()}
        for task, settings in scores.items()
    }


def pair_rows(arms, rng):
    for task, same in arms.items():
        for number, (base, other) in PAIRS.items():
            if not (base in same and other in same):
                continue
            one, two = same[base], same[other]
            gained = gain(one, two)
            *chances, result = call(one, two, rng)
            yield [
                number, task, " ".join(base), " ".join(other), *gained, *chances,
                chance(one.scores, two.scores, rng), other_is(result),
            ]  # fmt: skip


def verdicts(pairs, arms):
    """(prediction, what, value, refuted). A task with too few seeds is not judged."""

    def seeds_of(number, task):
        same = arms[task]
        return min(len(same[key].scores) if key in same else 0 for key in PAIRS[number])

    def row(number, what, words, refuted):
        tasks = [task for task in arms if seeds_of(number, task) >= LEAST_SEEDS]
        found = sum(row[0] == number and row[1] in tasks and row[-1] in words for row in pairs)
        if not tasks:
            most = max((seeds_of(number, task) for task in arms), default=0)
            return number, what, "", f"not judged: {most} seeds, {LEAST_SEEDS} needed"
        return number, what, f"{found} of {len(tasks)}", refuted(found, len(tasks))

    def some_lack(found, tasks):
        return found < tasks

    def any_has(found, _):
        return found > 0

    apart = ("lower", "better")
    yield row(1, "PPO: tasks on which 256x64 is lower than 4x64", ["lower"], some_lack)
    yield row(2, "proximal: tasks on which 256x64 is lower than 4x64", ["lower"], some_lack)
    yield row(3, "4x64: tasks on which proximal and PPO are told apart", apart, any_has)
    yield row(4, "32x64: tasks on which proximal is better", ["better"], any_has)
    yield row(5, "256x64: tasks on which proximal is better", ["better"], any_has)
    what = "tasks on which scaled 32x64 is told apart from proximal 4x64"
    yield row(6, what, apart, any_has)


def main():
    results = pathlib.Path(sys.argv[-1])
    if len(sys.argv) == 3:
        kept = made(pathlib.Path(sys.argv[1]))
        write(results / "runs.csv", COLUMNS, [[run[key] for key in COLUMNS] for run in kept])
    kept = kept_runs(results)
    rng = random.Random(1)
    arms, last = arms_of(kept, "area", rng), arms_of(kept, "last", rng)
    steps = {(run["task"], run["way"], run["block"]): run["gradient steps"] for run in kept}
    write(results / "arms.csv", [
        "task", "way", "block", "gradient steps", "seeds", "area", "area low", "area high",
        "best rate", "at edge", "rates as good", "last", "last low", "last high",
    ], [
        [task, *key, steps[(task, *key)], len(arm.scores), *arm.area, arm.best_label,
         "yes" if arm.best in (0, len(arm.labels) - 1) else "",
         " ".join(f"{arm.labels[i]:g}" for i in arm.like), *last[task][key].area]
        for task, same in arms.items()
        for key, arm in same.items()
    ])  # fmt: skip
    header = [
        "prediction", "task", "base", "other", "difference", "difference low", "difference high",
        "P(base better)", "P low", "P high", "p", "other is",
    ]  # fmt: skip
    pairs = list(pair_rows(arms, rng))
    write(results / "pairs.csv", header, pairs)
    write(results / "pairs_last.csv", header, list(pair_rows(last, rng)))
    write_verdicts(results / "verdicts.csv", verdicts(pairs, arms))


if __name__ == "__main__":
    main()
