#!/usr/bin/env python3
"""Keeps the runs' evaluations and judges the predictions: analyse.py [STORES] RESULTS

Runs of STORES join those that are kept, and replace their like. Without STORES it reads the kept
ones. Rates are chosen and scored at each budget by the surface's rule, which is the product's
(docs/statistics.md, "Tuned settings").
"""

import collections
import pathlib
import random
import sqlite3
import statistics
import sys

EXPERIMENTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(EXPERIMENTS), str(EXPERIMENTS / "surface")]
from fair import NO_DIFFERENCE, Arm, call, chance, fitted_scores, iqm, other_is  # noqa: E402
from rows import read, together, write, write_verdicts  # noqa: E402

BUDGETS = [100_000, 200_000, 300_000, 500_000, 700_000, 1_000_000, 1_500_000, 2_000_000, 3_000_000]
MILLION, LAST = 1_000_000, BUDGETS[-1]
SMALL, MIDDLE, LARGE, DRAWS = "8x32", "64x32", "512x32", 2000
RATES = [3e-4, 1e-3, 3e-3]
LEAST_SEEDS = 4  # fewer cannot be told apart
CONSTANT, ANNEALED, LONG = "constant", "annealed", "annealed_long"
STORES = {"constant": CONSTANT, "middle": CONSTANT, "annealed": ANNEALED, "annealed_long": LONG}
COMPARED = [  # (panel, the block that 8x32 is compared with, budgets)
    (CONSTANT, LARGE, BUDGETS),
    (CONSTANT, MIDDLE, BUDGETS),
    (ANNEALED, LARGE, [MILLION]),
    (LONG, LARGE, [LAST]),
    (LONG, MIDDLE, [LAST]),
]
LATER = "later"
HEADER = ["task", "block", "rate", "seed", "step", "return"]


def evaluations(stores):
    """{(panel, task, block, rate, seed): [(step, return), ...]} of every finished run."""
    query = """SELECT json_extract(config, '$.env_id'), num_envs || 'x' || num_steps,
        json_extract(config, '$.learning_rate'), seed, global_step, mean_return
        FROM runs JOIN cells ON cells.id = cell_id JOIN evaluations ON run_id = runs.id
        WHERE status = 'finished' ORDER BY runs.id, global_step"""
    runs = collections.defaultdict(list)
    for name, panel in STORES.items():
        for path in sorted(stores.glob(f"{name}-*.sqlite")):
            for task, block, rate, seed, *point in sqlite3.connect(path).execute(query):
                runs[panel, task, block, float(rate), seed].append(tuple(point))
    return runs


def file_of(results, panel):
    return results / f"evaluations_{panel}.csv"


def kept_evaluations(results):
    runs = collections.defaultdict(list)
    for panel in dict.fromkeys(STORES.values()):
        for row in read(file_of(results, panel)):
            key = panel, row["task"], row["block"], float(row["rate"]), int(row["seed"])
            runs[key].append((int(row["step"]), float(row["return"])))
    return runs


def keep(results, runs):
    for panel in dict.fromkeys(key[0] for key in runs):
        write(file_of(results, panel), HEADER, [
            [*key[1:], *point]
            for key, curve in sorted(runs.items())
            if key[0] == panel
            for point in curve
        ])  # fmt: skip


def score(curve, budget, metric):
    """Mean of the evaluations after half of the budget, of all of them, or after nine tenths."""
    first = {"half": budget / 2, "area": 0, "end": 0.9 * budget}[metric]
    kept = [value for step, value in curve if first < step <= budget]
    if not kept:  # the end of a small budget: its last evaluation
        kept = [[value for step, value in curve if step <= budget][-1]]
    return statistics.fmean(kept)


def reaching(runs, panel, task, other, budget):
    """{block: {rate: curves}} of the seeds whose runs of both blocks came to the budget, at each
    rate."""
    found = {
        (block, rate): {
            seed: curve
            for (*key, seed), curve in runs.items()
            if key == [panel, task, block, rate] and curve[-1][0] > 0.95 * budget
        }
        for block in (SMALL, other)
        for rate in RATES
    }
    wanted = sorted(set.intersection(*map(set, found.values())))
    return {
        block: {rate: [found[block, rate][seed] for seed in wanted] for rate in RATES}
        for block in (SMALL, other)
    }


def seeds_of(blocks):
    return len(blocks[SMALL][RATES[0]])


def columns(rates, budget, metric):
    return [[score(curve, budget, metric) for curve in curves] for curves in rates.values()]


def arm(block, rates, budget, metric, rng):
    return Arm(block, list(rates), columns(rates, budget, metric), rng)


def crossing(small, other, judged):
    """The least budget from which on the larger block's number is at least the small one's."""
    found = LATER
    for budget in reversed(judged):
        if other[budget] < small[budget]:
            break
        found = budget
    return found


def crossing_with_ends(at_budget, other, metric, rng):
    """at_budget: the curves of each judged budget."""
    least = min(map(seeds_of, at_budget.values()))
    judged = list(at_budget)
    tables = {
        block: {
            budget: columns(blocks[block], budget, metric) for budget, blocks in at_budget.items()
        }
        for block in (SMALL, other)
    }

    def numbers(block, drawn):
        return {
            budget: iqm(fitted_scores(candidates, drawn))
            for budget, candidates in tables[block].items()
        }

    def draw():
        return rng.choices(range(least), k=least)

    draws = sorted(
        (crossing(numbers(SMALL, draw()), numbers(other, draw()), judged) for _ in range(DRAWS)),
        key=order_of,
    )
    found = crossing(numbers(SMALL, range(least)), numbers(other, range(least)), judged)
    return found, draws[int(0.025 * DRAWS)], draws[int(0.975 * DRAWS) - 1]


def order_of(budget):
    return float("inf") if budget == LATER else budget


class Measured:
    """Numbers that judge the predictions, by the primary metric."""

    def __init__(self):
        self.seeds = {}  # (panel, other block, task, budget): how many
        self.pairs = {}  # the same key: what the other block is
        self.arms = {}  # the same key: {block: its arm}
        self.crossings = {}  # (other block, task): the budget
        self.falling = {}  # task: what 8x32 with a falling rate is, beside a constant one

    def tasks(self, panel, other, budget):
        """Tasks with enough seeds there."""
        return [
            task
            for (*key, task, reached), seeds in self.seeds.items()
            if key == [panel, other] and reached == budget and seeds >= LEAST_SEEDS
        ]

    def most_seeds(self, panel, other, budget):
        return max(
            (seeds for (*key, _, reached), seeds in self.seeds.items()
             if key == [panel, other] and reached == budget),
            default=0,
        )  # fmt: skip

    def counted(self, panel, other, budget, word):
        return sum(
            self.pairs[panel, other, task, budget] == word
            for task in self.tasks(panel, other, budget)
        )


def all_but_one(tasks):
    return max(1, len(tasks) - 1)


def both_ahead(measured, tasks):
    """Share of pairs in which 512x32 is ahead at the last budget, over the tasks, and its p."""
    arms = [measured.arms[CONSTANT, LARGE, task, LAST] for task in tasks]
    return together([(same[LARGE].scores, same[SMALL].scores) for same in arms])


def verdicts(measured):
    """(prediction, what, value, refuted). A task counts if each setting has enough seeds."""

    def row(number, what, panel, other, budget, value_and_refuted):
        tasks = measured.tasks(panel, other, budget)
        if not tasks:
            seeds = measured.most_seeds(panel, other, budget)
            return number, what, "", f"not judged: {seeds} seeds, {LEAST_SEEDS} needed"
        value, refuted = value_and_refuted(tasks)
        return number, what, value, "yes" if refuted else "no"

    def calls(panel, budget, word, refuted):
        def judge(tasks):
            found = measured.counted(panel, LARGE, budget, word)
            return f"{found} of {len(tasks)}", refuted(found, len(tasks))

        return judge

    yield row(
        1, "at .1 M: tasks on which 512x32 is lower", CONSTANT, LARGE, BUDGETS[0],
        calls(CONSTANT, BUDGETS[0], "lower", lambda found, tasks: found < tasks),
    )  # fmt: skip
    yield row(
        2, "at 3 M: tasks on which 512x32 is better", CONSTANT, LARGE, LAST,
        calls(CONSTANT, LAST, "better", lambda found, _: found > 0),
    )  # fmt: skip

    def late(tasks):
        found = sum(order_of(measured.crossings[LARGE, task]) >= MILLION for task in tasks)
        return f"{found} of {len(tasks)}", found < len(tasks)

    yield row(3, "tasks with the crossing at 1 M or later", CONSTANT, LARGE, LAST, late)

    def middle_first(tasks):
        both = [task for task in tasks if (LARGE, task) in measured.crossings]
        if not both:
            return "", False
        crossed = {task: order_of(measured.crossings[MIDDLE, task]) for task in both}
        sooner = sum(
            budget <= order_of(measured.crossings[LARGE, task]) for task, budget in crossed.items()
        )
        in_time = sum(budget <= LAST for budget in crossed.values())
        return (
            f"{sooner} and {in_time} of {len(both)}",
            sooner < len(both) or in_time < all_but_one(both),
        )

    what = "tasks on which 64x32 crosses no later than 512x32, and by 3 M"
    yield row(4, what, CONSTANT, MIDDLE, LAST, middle_first)

    def at_large_rate(tasks):
        found = 0
        for task in tasks:
            small, large = (
                measured.arms[CONSTANT, LARGE, task, LAST][block].means[RATES.index(3e-3)]
                for block in (SMALL, LARGE)
            )
            found += large > small
        return f"{found} of {len(tasks)}", found < all_but_one(tasks)

    what = "at 3e-3 and 3 M: tasks on which 512x32 has the higher mean"
    yield row(5, what, CONSTANT, LARGE, LAST, at_large_rate)

    def best_rates(tasks):
        rises = falls = 0
        for task in tasks:
            first, last = (
                measured.arms[CONSTANT, LARGE, task, budget][SMALL].best_label
                for budget in (BUDGETS[0], LAST)
            )
            rises += last > first
            falls += last < first
        return f"{rises} and {falls} of {len(tasks)}", rises > 0 or falls < 1

    what = "to 3 M: tasks on which the best rate of 8x32 rises, and falls"
    yield row(6, what, CONSTANT, LARGE, LAST, best_rates)
    yield row(
        7, "rates that fall, at 1 M: tasks on which 512x32 is better", ANNEALED, LARGE, MILLION,
        calls(ANNEALED, MILLION, "better", lambda found, _: found > 0),
    )  # fmt: skip

    def together_late(tasks):
        share, p = both_ahead(measured, tasks)
        return f"{share:.3f} (p = {p:.2g}; {len(tasks)} tasks)", share > 0.6

    what = "at 3 M: share of pairs in which 512x32 is ahead"
    yield row(8, what, CONSTANT, LARGE, LAST, together_late)

    def is_not(wanted, task):
        def judge(tasks):
            word = measured.pairs[LONG, MIDDLE, task, LAST]
            return word, word != wanted

        return judge

    for number, task, wanted in ((15, "Acrobot-v1", "better"), (16, "Pendulum-v1", NO_DIFFERENCE)):
        what = f"rates that fall to 3 M: 64x32 on {task} is"
        yield row(number, what, LONG, MIDDLE, LAST, is_not(wanted, task))
    what = "rates that fall to 3 M: tasks on which 512x32 is better"
    yield row(17, what, LONG, LARGE, LAST, calls(LONG, LAST, "better", lambda found, _: found > 0))

    def mended(tasks):
        wanted = [task for task in tasks if task != "CartPole-v1"]
        found = sum(measured.falling.get(task) == "better" for task in wanted)
        return f"{found} of {len(wanted)}", found < len(wanted)

    what = "at 3 M: tasks without CartPole on which 8x32 is better with a rate that falls"
    yield row(18, what, LONG, LARGE, LAST, mended)


def main():
    results = pathlib.Path(sys.argv[-1])
    runs = kept_evaluations(results)
    if len(sys.argv) == 3:
        runs |= evaluations(pathlib.Path(sys.argv[1]))
        keep(results, runs)
        runs = kept_evaluations(results)  # rounded, as for everybody who has the kept ones alone
    rng = random.Random(1)
    measured = Measured()
    budgets, pairs, crossings, rates_of = [], [], [], []
    tasks = sorted({key[1] for key in runs}, key=["CartPole-v1", "Pendulum-v1", "Acrobot-v1"].index)
    for panel, other, judged_at in COMPARED:
        for task in tasks:
            for metric in ("half", "area", "end"):
                judged = {}
                for budget in judged_at:
                    kept = reaching(runs, panel, task, other, budget)
                    seeds = seeds_of(kept)
                    if metric == "half":
                        measured.seeds[panel, other, task, budget] = seeds
                    if seeds < 2:
                        continue
                    arms = {b: arm(b, rates, budget, metric, rng) for b, rates in kept.items()}
                    for block, one in arms.items():
                        if block == SMALL and other == MIDDLE:
                            continue  # it stands beside 512x32
                        budgets.append([
                            panel, task, block, metric, budget, seeds, *one.area, one.best_label,
                            "yes" if one.best in (0, len(one.labels) - 1) else "",
                            " ".join(f"{one.labels[i]:g}" for i in one.like),
                        ])  # fmt: skip
                        if metric == "half":
                            rates_of += [
                                [panel, task, block, rate, budget, seeds, mean]
                                for rate, mean in zip(one.labels, one.means, strict=True)
                            ]
                    if seeds >= LEAST_SEEDS:
                        judged[budget] = kept
                    small, large = arms[SMALL], arms[other]
                    *chances, result = call(small, large, rng)
                    p = chance(small.scores, large.scores, rng)
                    word = other_is(result)
                    pairs.append([
                        panel, task, other, budget, metric, seeds, large.middle - small.middle,
                        *chances, p, word,
                    ])  # fmt: skip
                    if metric == "half":
                        measured.pairs[panel, other, task, budget] = word
                        measured.arms[panel, other, task, budget] = arms
                if len(judged) > 1:
                    found = crossing_with_ends(judged, other, metric, rng)
                    crossings.append([metric, task, other, max(judged), *found])
                    if metric == "half":
                        measured.crossings[other, task] = found[0]
    for task in tasks:
        both = [measured.arms.get((panel, LARGE, task, LAST)) for panel in (CONSTANT, LONG)]
        if all(both):
            constant, falling = (arms[SMALL] for arms in both)
            *chances, result = call(constant, falling, rng)
            p = chance(constant.scores, falling.scores, rng)
            measured.falling[task] = other_is(result)
            pairs.append([
                "constant, annealed_long", task, SMALL, LAST, "half", len(constant.scores),
                falling.middle - constant.middle, *chances, p, measured.falling[task],
            ])  # fmt: skip
    write(results / "budgets.csv", [
        "panel", "task", "block", "metric", "budget", "seeds", "score", "score low", "score high",
        "best rate", "at edge", "rates as good",
    ], budgets)  # fmt: skip
    write(results / "pairs.csv", [
        "panel", "task", "other", "budget", "metric", "seeds", "difference", "P(8x32 better)",
        "P low", "P high", "p", "other is",
    ], pairs)  # fmt: skip
    write(
        results / "crossings.csv",
        ["metric", "task", "other", "judged to", "crossing", "low", "high"],
        crossings,
    )
    write(
        results / "rates.csv",
        ["panel", "task", "block", "rate", "budget", "seeds", "mean"],
        rates_of,
    )
    write_verdicts(results / "verdicts.csv", verdicts(measured))


if __name__ == "__main__":
    main()
