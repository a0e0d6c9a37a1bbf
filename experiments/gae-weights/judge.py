#!/usr/bin/env python3
"""Keeps the runs and judges the predictions: judge.py [STORES] RESULTS

Without STORES it reads the kept runs. Rate and lambda are chosen and scored by the surface's rule,
which is the product's (docs/statistics.md, "Tuned settings").
"""

import collections
import pathlib
import random
import sys

EXPERIMENTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(EXPERIMENTS), str(EXPERIMENTS / "surface")]
from analyse import runs_of  # noqa: E402
from fair import Arm, call, chance, gain, other_is  # noqa: E402
from rows import read, write, write_verdicts  # noqa: E402

TASKS = ["CartPole-v1", "Acrobot-v1", "Pendulum-v1"]
LANDER = "LunarLander-v3"
BLOCKS = ["4x256", "16x64", "64x16", "256x4"]
GEOMETRIC, NORMALISED = "geometric", "normalised"
WAYS = [GEOMETRIC, NORMALISED]
COLUMNS = ["task", "block", "weights", "lambda", "rate", "seed", "area", "last"]
NUMBERS = {"lambda": float, "rate": float, "seed": int, "area": float, "last": float}
SCORES = ["area", "last"]
FIXED_LAMBDA = 0.95
LEAST_SEEDS = 4  # fewer cannot be told apart


def made(stores):
    for path in sorted(stores.glob("*.sqlite")):
        for run in runs_of(path, "gae_weights", "gae_lambda"):
            yield {
                **run,
                "task": run["task"].removeprefix("gymnasium/"),
                "block": f"{run['N']}x{run['T']}",
                "weights": run["gae_weights"],
                "lambda": float(run["gae_lambda"]),
            }


def kept(path):
    return [{key: NUMBERS.get(key, str)(value) for key, value in row.items()} for row in read(path)]


def key_of(run):
    return tuple(run[key] for key in COLUMNS[:6])


def with_all(runs):
    """The runs of the seeds that every setting of the task has."""
    seeds = collections.defaultdict(lambda: collections.defaultdict(set))
    for run in runs:
        setting = run["block"], run["weights"], run["lambda"], run["rate"]
        seeds[run["task"]][setting].add(run["seed"])
    wanted = {task: set.intersection(*settings.values()) for task, settings in seeds.items()}
    return [run for run in runs if run["seed"] in wanted[run["task"]]]


def arms_of(runs, score, fixed, rng):
    """{(task, block, weights): its arm}; fixed: lambda .95 alone, the rate chosen."""
    scores = collections.defaultdict(lambda: collections.defaultdict(dict))
    for run in runs:
        if not fixed or run["lambda"] == FIXED_LAMBDA:
            arm = scores[run["task"], run["block"], run["weights"]]
            arm[run["lambda"], run["rate"]][run["seed"]] = run[score]
    return {
        key: Arm(
            key[2],
            sorted(settings),
            [[value for _, value in sorted(settings[s].items())] for s in sorted(settings)],
            rng,
        )
        for key, settings in scores.items()
    }


def compared(base, other, rng):
    gained = gain(base, other)
    *chances, result = call(base, other, rng)
    return [
        len(base.scores), *gained, *chances, chance(base.scores, other.scores, rng),
        other_is(result),
    ]  # fmt: skip


def pair_rows(arms, rng):
    """Normalised against geometric in each block; then, within each way, 256x4 against the
    others."""
    for task, block in dict.fromkeys(key[:2] for key in arms):
        base, other = (arms[task, block, way] for way in WAYS)
        yield [task, f"{block} {GEOMETRIC}", f"{block} {NORMALISED}", *compared(base, other, rng)]
    for task in dict.fromkeys(key[0] for key in arms if key[1] == BLOCKS[-1]):
        for way in WAYS:
            for block in BLOCKS[:-1]:
                base, other = arms[task, block, way], arms[task, BLOCKS[-1], way]
                yield [
                    task, f"{block} {way}", f"{BLOCKS[-1]} {way}", *compared(base, other, rng),
                ]  # fmt: skip


def verdicts(pairs, arms):
    """(prediction, what, value, refuted). pairs: {(score, fixed): rows}."""
    small = [key[0] for key in arms if key[1] == BLOCKS[-1] and key[2] == GEOMETRIC]
    seeds = min((len(arms[t, BLOCKS[-1], GEOMETRIC].scores) for t in small), default=0)

    def called(rows, words, task_wanted=None, block=None):
        return [
            row for row in rows
            if row[1].split()[0] == row[2].split()[0] and row[-1] in words
            and (row[0] == LANDER) == (task_wanted == LANDER)
            and block in (None, row[1].split()[0])
        ]  # fmt: skip

    area, last = pairs["area", False], pairs["last", False]
    better = called(area, ["better"])
    short_lower = called(pairs["area", True], ["lower"], block=BLOCKS[-1])
    felt = {
        row[0] for row in area
        if row[2] == f"{BLOCKS[-1]} {NORMALISED}" and row[-1] == "lower"
        and row[1] in (f"{BLOCKS[0]} {NORMALISED}", f"{BLOCKS[1]} {NORMALISED}")
    }  # fmt: skip
    below = [
        task for task in small
        if arms[task, BLOCKS[-1], NORMALISED].best_label[0]
        < arms[task, BLOCKS[-1], GEOMETRIC].best_label[0]
    ]  # fmt: skip
    apart = called(last, ["better", "lower"])
    judged = [
        (1, "normalised is better, of 12", len(better), bool(better)),
        (2, "lambda .95, 256x4: tasks on which normalised is lower", len(short_lower),
         not short_lower),
        (3, "normalised: tasks on which 256x4 is lower than 4x256 or 16x64", len(felt), not felt),
        (4, "256x4: tasks on which the best lambda of normalised is below", len(below),
         bool(below)),
        (5, "by last policies: told apart, of 12", len(apart), bool(apart)),
    ]  # fmt: skip
    for number, what, value, refuted in judged:
        few = f"not judged: {seeds} seeds, {LEAST_SEEDS} needed"
        yield number, what, value, few if seeds < LEAST_SEEDS else refuted
    lander = [row for row in area if row[0] == LANDER]
    if lander and lander[0][3] >= LEAST_SEEDS:
        found = called(area, ["better"], LANDER)
        yield 6, "LunarLander: normalised is better", len(found), not found
    else:
        yield 6, "LunarLander: normalised is better", "", "not judged: no runs"


def main():
    results = pathlib.Path(sys.argv[-1])
    runs = kept(results / "runs.csv")
    if len(sys.argv) == 3:
        new = {key_of(run): run for run in made(pathlib.Path(sys.argv[1]))}
        runs = [run for run in runs if key_of(run) not in new]
        runs += new.values()
        place = {task: i for i, task in enumerate([*TASKS, LANDER])}
        runs.sort(key=lambda run: (place[run["task"]], *(run[key] for key in COLUMNS[1:6])))
        write(results / "runs.csv", COLUMNS, [[run[key] for key in COLUMNS] for run in runs])
        runs = kept(results / "runs.csv")
    runs = with_all(runs)
    rng = random.Random(1)
    pairs, main_arms = {}, {}
    for score in SCORES:
        for fixed in (False, True):
            arms = arms_of(runs, score, fixed, rng)
            pairs[score, fixed] = list(pair_rows(arms, rng))
            name = f"{score}_fixed" if fixed else score
            write(results / f"arms_{name}.csv", [
                "task", "block", "weights", "seeds", "score", "score low", "score high",
                "best lambda", "best rate",
            ], [
                [*key, len(arm.scores), *arm.area, *arm.best_label] for key, arm in arms.items()
            ])  # fmt: skip
            if (score, fixed) == ("area", False):
                main_arms = arms
    write(results / "pairs.csv", [
        "score", "lambda", "task", "base", "other", "seeds", "difference", "difference low",
        "difference high", "P(base better)", "P low", "P high", "p", "other is",
    ], [
        [score, FIXED_LAMBDA if fixed else "chosen", *row]
        for (score, fixed), rows in pairs.items()
        for row in rows
    ])  # fmt: skip
    write_verdicts(results / "verdicts.csv", verdicts(pairs, main_arms))


if __name__ == "__main__":
    main()
