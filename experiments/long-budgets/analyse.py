#!/usr/bin/env python3
"""Keeps the runs' evaluations and judges the predictions: analyse.py [STORES] RESULTS

Without STORES it reads the kept evaluations. Rates are chosen and scored at each budget by the
surface's rule, which is the product's (docs/statistics.md, "Tuned settings").
"""

import collections
import pathlib
import random
import sqlite3
import statistics
import sys

EXPERIMENTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(EXPERIMENTS), str(EXPERIMENTS / "surface")]
from fair import Arm, call, chance, fitted_scores, iqm, quantile  # noqa: E402
from rows import dealt, read, write  # noqa: E402

BUDGETS = [100_000, 200_000, 300_000, 500_000, 700_000, 1_000_000, 1_500_000, 2_000_000, 3_000_000]
SMALL, LARGE, LEAST_SEEDS, DRAWS = "8x32", "512x32", 4, 2000
WORDS = {"better": "lower", "worse": "better", "none": "no difference found"}
LATER = "later"


def evaluations(stores):
    """(task, block, rate, seed, step, return) of every finished run."""
    for path in sorted(stores.glob("constant-*.sqlite")):
        store = sqlite3.connect(path)
        query = """SELECT json_extract(config, '$.env_id'), num_envs || 'x' || num_steps,
            json_extract(config, '$.learning_rate'), seed, global_step, mean_return
            FROM runs JOIN cells ON cells.id = cell_id JOIN evaluations ON run_id = runs.id
            WHERE status = 'finished' ORDER BY runs.id, global_step"""
        for task, block, rate, *rest in store.execute(query):
            yield (task, block, float(rate), *rest)


def score(curve, budget, metric):
    """Mean of the evaluations after half of the budget, of all of them, or after nine tenths."""
    first = {"half": budget / 2, "area": 0, "end": 0.9 * budget}[metric]
    kept = [value for step, value in curve if first < step <= budget]
    if not kept:  # the end of a small budget: its last evaluation
        kept = [[value for step, value in curve if step <= budget][-1]]
    return statistics.fmean(kept)


def complete(rows):
    """{task: {block: {rate: {seed: curve}}}} of tasks whose settings all have four seeds, with the
    seeds that all have."""
    found = collections.defaultdict(
        lambda: collections.defaultdict(lambda: collections.defaultdict(dict))
    )
    for task, block, rate, seed, step, value in rows:
        found[task][block][rate].setdefault(seed, []).append((step, value))
    out = {}
    for task, blocks in found.items():
        sets = [set(seeds) for rates in blocks.values() for seeds in rates.values()]
        wanted = sorted(set.intersection(*sets))
        if len(blocks) < 2 or len(wanted) < LEAST_SEEDS:
            continue
        out[task] = {
            block: {rate: [seeds[s] for s in wanted] for rate, seeds in sorted(rates.items())}
            for block, rates in blocks.items()
        }
    return out


def columns(rates, budget, metric):
    return [[score(curve, budget, metric) for curve in curves] for curves in rates.values()]


def arm(block, rates, budget, metric, rng):
    return Arm(block, list(rates), columns(rates, budget, metric), rng)


def crossing(small, large):
    """The least budget from which on the large block's number is at least the small one's."""
    found = LATER
    for budget in reversed(BUDGETS):
        if large[budget] < small[budget]:
            break
        found = budget
    return found


def crossing_with_ends(blocks, metric, rng):
    tables = {
        block: {budget: columns(rates, budget, metric) for budget in BUDGETS}
        for block, rates in blocks.items()
        if block in (SMALL, LARGE)
    }
    seeds = range(len(tables[SMALL][BUDGETS[0]][0]))

    def numbers(block, drawn):
        return {
            budget: iqm(fitted_scores(candidates, drawn))
            for budget, candidates in tables[block].items()
        }

    def draw():
        return rng.choices(seeds, k=len(seeds))

    draws = sorted(
        (crossing(numbers(SMALL, draw()), numbers(LARGE, draw())) for _ in range(DRAWS)),
        key=lambda budget: float("inf") if budget == LATER else budget,
    )
    found = crossing(numbers(SMALL, seeds), numbers(LARGE, seeds))
    return found, draws[int(0.025 * DRAWS)], draws[int(0.975 * DRAWS) - 1]


def verdicts(pairs, crossings, together, untuned, best_rates):
    """(prediction, what, value, refuted)"""
    tasks = len(crossings)
    at = {(row[0], row[1]): row[-1] for row in pairs if row[2] == "half"}
    names = sorted({task for task, _ in at})
    found = sum(at[task, BUDGETS[0]] == "lower" for task in names)
    yield 1, "at .1 M: tasks on which 512x32 is lower", found, found < tasks
    found = sum(at[task, BUDGETS[-1]] == "better" for task in names)
    yield 2, "at 3 M: tasks on which 512x32 is better", found, found > 0
    found = sum(row[2] == LATER or row[2] >= 1_000_000 for row in crossings)
    yield 3, "tasks with the crossing at 1 M or later", found, found < tasks
    yield 4, "64x32", "", "not judged"
    found = sum(row[3] > row[2] for row in untuned if row[1] == 3e-3)
    yield 5, "at 3e-3 and 3 M: tasks on which 512x32 has the higher mean", found, found < tasks - 1
    rises = sum(rates[-1] > rates[0] for rates in best_rates.values())
    falls = sum(rates[-1] < rates[0] for rates in best_rates.values())
    yield 6, "tasks on which the best rate of 8x32 rises / falls", f"{rises} / {falls}", (
        rises > 0 or falls < 1
    )
    yield 7, "panel two", "", "not judged"
    (found,) = (row[2] for row in together if row[:2] == ["half", BUDGETS[-1]])
    yield 8, "at 3 M: share of pairs in which 512x32 is ahead", round(found, 3), found > 0.6


def main():
    results = pathlib.Path(sys.argv[-1])
    header = ["task", "block", "rate", "seed", "step", "return"]
    if len(sys.argv) == 3:
        write(results / "evaluations.csv", header, evaluations(pathlib.Path(sys.argv[1])))
    rows = [
        (row["task"], row["block"], float(row["rate"]), int(row["seed"]), int(row["step"]),
         float(row["return"]))
        for row in read(results / "evaluations.csv")
    ]  # fmt: skip
    rng = random.Random(1)
    tasks = complete(rows)
    budgets, pairs, crossings, together, untuned = [], [], [], [], []
    best_rates = collections.defaultdict(list)
    for metric in ("half", "area", "end"):
        sides = collections.defaultdict(list)
        for task, blocks in tasks.items():
            for budget in BUDGETS:
                arms = {b: arm(b, rates, budget, metric, rng) for b, rates in blocks.items()}
                for block, one in arms.items():
                    budgets.append([
                        task, block, metric, budget, len(one.scores), *one.area, one.best_label,
                        "yes" if one.best in (0, len(one.labels) - 1) else "",
                        " ".join(f"{one.labels[i]:g}" for i in one.like),
                    ])  # fmt: skip
                small, large = arms[SMALL], arms[LARGE]
                *chances, result = call(small, large, rng)
                p = chance(small.scores, large.scores, rng)
                pairs.append([
                    task, budget, metric, large.middle - small.middle, *chances, p,
                    WORDS.get(result, "depends on the rate"),
                ])  # fmt: skip
                sides[budget].append((large.scores, small.scores))
                if metric == "half":
                    best_rates[task].append(small.best_label)
            crossings.append([metric, task, *crossing_with_ends(blocks, metric, rng)])
        together += [[metric, budget, *dealt(pair, 20000)] for budget, pair in sides.items()]
    for task, blocks in tasks.items():
        for rate in blocks[SMALL]:
            means = [
                statistics.fmean(score(curve, BUDGETS[-1], "half") for curve in blocks[block][rate])
                for block in (SMALL, LARGE)
            ]
            untuned.append([task, rate, *means])
    write(results / "budgets.csv", [
        "task", "block", "metric", "budget", "seeds", "score", "score low", "score high",
        "best rate", "at edge", "rates as good",
    ], budgets)  # fmt: skip
    write(results / "pairs.csv", [
        "task", "budget", "metric", "difference", "P(8x32 better)", "P low", "P high", "p",
        "512x32 is",
    ], pairs)  # fmt: skip
    write(results / "crossings.csv", ["metric", "task", "crossing", "low", "high"], crossings)
    write(results / "together.csv", ["metric", "budget", "share 512x32 ahead", "p"], together)
    write(results / "untuned.csv", ["task", "rate", "mean 8x32", "mean 512x32"], untuned)
    half = [row[1:] for row in crossings if row[0] == "half"]
    judged = [
        (number, what, value, refuted if isinstance(refuted, str) else "yes" if refuted else "no")
        for number, what, value, refuted in verdicts(
            pairs, [["half", *row] for row in half], together, untuned, best_rates
        )
    ]
    write(results / "verdicts.csv", ["prediction", "what", "value", "refuted"], judged)
    for verdict in judged:
        print(*verdict)


if __name__ == "__main__":
    main()
