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
from rows import read, write  # noqa: E402

BUDGETS = [100_000, 200_000, 300_000, 500_000, 700_000, 1_000_000, 1_500_000, 2_000_000, 3_000_000]
SMALL, LARGE, DRAWS = "8x32", "512x32", 2000
LEAST_SEEDS = 4  # fewer cannot be told apart
LEAST_FOR_CROSSING = 3
WORDS = {"better": "lower", "worse": "better", "none": "no difference found"}
LATER = "later"


def evaluations(stores):
    """(task, block, rate, seed, step, return) of every finished run."""
    for path in sorted([*stores.glob("constant-*.sqlite"), *stores.glob("short-*.sqlite")]):
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


def by_task(rows):
    """{task: {block: {rate: {seed: curve}}}}"""
    found = collections.defaultdict(
        lambda: collections.defaultdict(lambda: collections.defaultdict(dict))
    )
    for task, block, rate, seed, step, value in rows:
        found[task][block][rate].setdefault(seed, []).append((step, value))
    return found


def reaching(blocks, budget):
    """{block: {rate: curves}} of the seeds whose runs all came to the budget."""
    sets = [
        {seed for seed, curve in seeds.items() if curve[-1][0] > 0.95 * budget}
        for rates in blocks.values()
        for seeds in rates.values()
    ]
    wanted = sorted(set.intersection(*sets))
    return {
        block: {rate: [rates[rate][seed] for seed in wanted] for rate in sorted(rates)}
        for block, rates in sorted(blocks.items())
    }


def seeds_of(blocks):
    return len(next(iter(blocks[SMALL].values())))


def columns(rates, budget, metric):
    return [[score(curve, budget, metric) for curve in curves] for curves in rates.values()]


def arm(block, rates, budget, metric, rng):
    return Arm(block, list(rates), columns(rates, budget, metric), rng)


def crossing(small, large, judged):
    """The least budget from which on the large block's number is at least the small one's."""
    found = LATER
    for budget in reversed(judged):
        if large[budget] < small[budget]:
            break
        found = budget
    return found


def crossing_with_ends(at_budget, metric, rng):
    """at_budget: the curves of each judged budget, of the same seeds."""
    judged = list(at_budget)
    tables = {
        block: {
            budget: columns(blocks[block], budget, metric) for budget, blocks in at_budget.items()
        }
        for block in (SMALL, LARGE)
    }
    seeds = range(seeds_of(at_budget[judged[0]]))

    def numbers(block, drawn):
        return {
            budget: iqm(fitted_scores(candidates, drawn))
            for budget, candidates in tables[block].items()
        }

    def draw():
        return rng.choices(seeds, k=len(seeds))

    draws = sorted(
        (crossing(numbers(SMALL, draw()), numbers(LARGE, draw()), judged) for _ in range(DRAWS)),
        key=lambda budget: float("inf") if budget == LATER else budget,
    )
    found = crossing(numbers(SMALL, seeds), numbers(LARGE, seeds), judged)
    return found, draws[int(0.025 * DRAWS)], draws[int(0.975 * DRAWS) - 1]


def verdicts(pairs, crossings, best_rates):
    """(prediction, what, value, refuted). Budgets above 1 M have too few seeds."""
    tasks, not_judged = len(crossings), "not judged"
    first = [row for row in pairs if row[1:3] == [BUDGETS[0], "half"]]
    is_judged = bool(best_rates)

    def judged(refuted):
        return refuted if is_judged else not_judged

    found = sum(row[-1] == "lower" for row in first)
    yield 1, "at .1 M: tasks on which 512x32 is lower", found, judged(found < tasks)
    yield 2, "at 3 M: tasks on which 512x32 is better", "", not_judged
    found = sum(row[1] == LATER or row[1] >= 1_000_000 for row in crossings)
    yield 3, "tasks with the crossing at 1 M or later", found, judged(found < tasks)
    yield 4, "64x32", "", not_judged
    yield 5, "at 3e-3 and 3 M", "", not_judged
    rises = sum(rates[-1] > rates[0] for rates in best_rates.values())
    falls = sum(rates[-1] < rates[0] for rates in best_rates.values())
    what = "to 1 M: tasks on which the best rate of 8x32 rises, falls"
    yield 6, what, f"{rises} {falls}", judged(rises > 0 or falls < 1)
    yield 7, "annealed rates", "", not_judged
    yield 8, "at 3 M: share of pairs in which 512x32 is ahead", "", not_judged


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
    budgets, pairs, crossings, rates_of = [], [], [], []
    best_rates = collections.defaultdict(list)
    for task, blocks in by_task(rows).items():
        for metric in ("half", "area", "end"):
            judged = {}
            for budget in BUDGETS:
                kept = reaching(blocks, budget)
                if seeds_of(kept) < 2:
                    continue
                arms = {b: arm(b, rates, budget, metric, rng) for b, rates in kept.items()}
                for block, one in arms.items():
                    budgets.append([
                        task, block, metric, budget, len(one.scores), *one.area, one.best_label,
                        "yes" if one.best in (0, len(one.labels) - 1) else "",
                        " ".join(f"{one.labels[i]:g}" for i in one.like),
                    ])  # fmt: skip
                if metric == "half":
                    rates_of += [
                        [task, rate, budget, seeds_of(kept), *means]
                        for rate, *means in zip(
                            arms[SMALL].labels, arms[SMALL].means, arms[LARGE].means, strict=True
                        )
                    ]
                if seeds_of(kept) >= LEAST_FOR_CROSSING:
                    judged[budget] = kept
                small, large = arms[SMALL], arms[LARGE]
                *chances, result = call(small, large, rng)
                p = chance(small.scores, large.scores, rng)
                pairs.append([
                    task, budget, metric, seeds_of(kept), large.middle - small.middle, *chances, p,
                    WORDS.get(result, "depends on the rate"),
                ])  # fmt: skip
                if metric == "half" and seeds_of(kept) >= LEAST_SEEDS:
                    best_rates[task].append(small.best_label)
            if judged:
                crossings.append([metric, task, *crossing_with_ends(judged, metric, rng)])
    write(results / "budgets.csv", [
        "task", "block", "metric", "budget", "seeds", "score", "score low", "score high",
        "best rate", "at edge", "rates as good",
    ], budgets)  # fmt: skip
    write(results / "pairs.csv", [
        "task", "budget", "metric", "seeds", "difference", "P(8x32 better)", "P low", "P high", "p",
        "512x32 is",
    ], pairs)  # fmt: skip
    write(results / "crossings.csv", ["metric", "task", "crossing", "low", "high"], crossings)
    write(
        results / "rates.csv",
        ["task", "rate", "budget", "seeds", "mean 8x32", "mean 512x32"],
        rates_of,
    )
    half = [row[1:] for row in crossings if row[0] == "half"]
    judged = [
        (number, what, value, refuted if isinstance(refuted, str) else "yes" if refuted else "no")
        for number, what, value, refuted in verdicts(pairs, half, best_rates)
    ]
    write(results / "verdicts.csv", ["prediction", "what", "value", "refuted"], judged)
    for verdict in judged:
        print(*verdict)


if __name__ == "__main__":
    main()
