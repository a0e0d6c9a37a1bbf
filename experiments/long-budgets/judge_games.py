#!/usr/bin/env python3
"""Keeps the games' evaluations and judges part two: judge_games.py [STORES] RESULTS

Runs of STORES join those that are kept. Without STORES it reads the kept ones. Rates, calls and
crossings are those of analyse.py.
"""

import collections
import pathlib
import random
import sqlite3
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "surface")]
from analyse import DRAWS, LEAST_SEEDS, crossing, order_of, score  # noqa: E402
from fair import Arm, call, chance, fitted_scores, gain, iqm, other_is  # noqa: E402
from rows import read, write, write_verdicts  # noqa: E402

BUDGETS = [500_000, 1_000_000, 2_000_000, 3_000_000, 5_000_000, 7_000_000, 10_000_000]
FIRST, LAST = BUDGETS[0], BUDGETS[-1]
SMALL, LARGE, CHANGING, BEST = "8x32", "512x32", "8x32 to 512x32", "best fixed"
BLOCKS = {
    "8x32 @ 0": SMALL,
    "512x32 @ 0": LARGE,
    "8x32 @ 0, 512x32 @ 0.3": CHANGING,
}
METRICS = ["half", "area", "end"]
HEADER = ["game", "block", "rate", "seed", "step", "return"]


def made(stores):
    """{(game, block, rate, seed): [(step, return), ...]} of every finished run."""
    query = """SELECT json_extract(config, '$.env_id'), json_extract(config, '$.shape_schedule'),
        json_extract(config, '$.learning_rate'), seed, global_step, mean_return
        FROM runs JOIN cells ON cells.id = cell_id JOIN evaluations ON run_id = runs.id
        WHERE status = 'finished' ORDER BY runs.id, global_step"""
    runs = collections.defaultdict(list)
    for path in sorted(stores.glob("games-*.sqlite")):
        for game, schedule, rate, seed, *point in sqlite3.connect(path).execute(query):
            runs[game, BLOCKS[schedule], float(rate), seed].append(tuple(point))
    return runs


def kept(path):
    runs = collections.defaultdict(list)
    for row in read(path):
        key = row["game"], row["block"], float(row["rate"]), int(row["seed"])
        runs[key].append((int(row["step"]), float(row["return"])))
    return runs


def curves_of(runs, game):
    """{block: {rate: curves}} of the seeds that all settings of the fixed blocks have. The changing
    block is left out until it has them, too."""
    settings = collections.defaultdict(dict)
    for (name, block, rate, seed), curve in runs.items():
        if name == game:
            settings[block, rate][seed] = curve
    fixed = {key: curves for key, curves in settings.items() if key[0] != CHANGING}
    seeds = sorted(set.intersection(*map(set, fixed.values())))
    changing = {key: curves for key, curves in settings.items() if key[0] == CHANGING}
    if len(changing) == len(fixed) / 2 and all(c.keys() >= set(seeds) for c in changing.values()):
        fixed |= changing
    blocks = collections.defaultdict(dict)
    for (block, rate), curves in sorted(fixed.items()):
        blocks[block][rate] = [curves[seed] for seed in seeds]
    return blocks


def arms_at(blocks, budget, metric, rng):
    """{name: arm} with the best fixed block, whose shape and rate are chosen together."""
    columns = {
        (block, rate): [score(curve, budget, metric) for curve in curves]
        for block, rates in blocks.items()
        for rate, curves in rates.items()
    }

    def arm(name, keys, labels):
        return Arm(name, labels, [columns[key] for key in keys], rng)

    arms = {
        block: arm(block, [(block, rate) for rate in rates], list(rates))
        for block, rates in blocks.items()
    }
    fixed = [key for key in columns if key[0] != CHANGING]
    arms[BEST] = arm(BEST, fixed, [f"{block} {rate:g}" for block, rate in fixed])
    return arms


def crossing_of(blocks, metric, rng):
    """(budget, low end, high end) from which on large is at least as good as small."""
    seeds = range(len(next(iter(blocks[SMALL].values()))))
    tables = {
        block: {
            budget: [[score(c, budget, metric) for c in curves] for curves in rates.values()]
            for budget in BUDGETS
        }
        for block, rates in blocks.items()
        if block != CHANGING
    }

    def numbers(block, drawn):
        return {budget: iqm(fitted_scores(tables[block][budget], drawn)) for budget in BUDGETS}

    def draw():
        return rng.choices(seeds, k=len(seeds))

    draws = sorted(
        (crossing(numbers(SMALL, draw()), numbers(LARGE, draw()), BUDGETS) for _ in range(DRAWS)),
        key=order_of,
    )
    found = crossing(numbers(SMALL, seeds), numbers(LARGE, seeds), BUDGETS)
    return found, draws[int(0.025 * DRAWS)], draws[int(0.975 * DRAWS) - 1]


def pair_rows(arms, rng):
    """Each comparison of each budget; the changing block at the last one alone, if it was made."""
    for (game, metric, budget), same in arms.items():
        last = budget == LAST and CHANGING in same
        for base, other in [(SMALL, LARGE)] + [(BEST, CHANGING), (SMALL, CHANGING)] * last:
            one, two = same[base], same[other]
            gained = gain(one, two)
            *chances, result = call(one, two, rng)
            p = chance(one.scores, two.scores, rng)
            yield [
                game, metric, budget, base, other, len(one.scores), *gained, *chances, p,
                other_is(result),
            ]  # fmt: skip


def verdicts(pairs, arms, crossings):
    """(prediction, what, value, refuted), by the primary metric."""
    games = sorted({key[0] for key in arms})
    seeds = min(len(same[SMALL].scores) for same in arms.values())

    def called(budget, base, other, word):
        wanted = ["half", budget, base, other, word]
        return sum([*row[1:5], row[-1]] == wanted for row in pairs)

    def rate_above():
        last = [arms[game, "half", LAST] for game in games]
        return sum(same[SMALL].best_label > same[LARGE].best_label for same in last)

    has_changing = all(CHANGING in same for same in arms.values())
    early = called(FIRST, SMALL, LARGE, "lower")
    late = called(LAST, SMALL, LARGE, "better")
    crossed = sum(order_of(crossings[game, "half"][0]) <= LAST for game in games)
    gained, lost = called(LAST, BEST, CHANGING, "better"), called(LAST, BEST, CHANGING, "lower")
    judged = [
        (9, "at .5 M: games on which large is lower", early, early < len(games)),
        (10, "at 10 M: games on which large is better", late, late == 0),
        (11, "games with the crossing by 10 M", crossed, crossed == 0),
        (12, "at 10 M: games on which changing beats the best fixed block", gained, gained > 0),
        (13, "at 10 M: games on which changing is lower than it", lost, lost > 0),
        (14, "at 10 M: games on which the best rate of small is above that of large",
         rate_above(), rate_above() > 0),
    ]  # fmt: skip
    for number, what, value, refuted in judged:
        if number in (12, 13) and not has_changing:
            yield number, what, "", "not judged: no runs"
            continue
        few = f"not judged: {seeds} seeds, {LEAST_SEEDS} needed"
        yield number, what, f"{value} of {len(games)}", few if seeds < LEAST_SEEDS else refuted


def main():
    results = pathlib.Path(sys.argv[-1])
    runs = kept(results / "games_evaluations.csv")
    if len(sys.argv) == 3:
        runs |= made(pathlib.Path(sys.argv[1]))
        write(results / "games_evaluations.csv", HEADER, [
            [*key, *point] for key, curve in sorted(runs.items()) for point in curve
        ])  # fmt: skip
        runs = kept(results / "games_evaluations.csv")  # rounded, as for all who have these alone
    rng = random.Random(1)
    arms, crossings, rates = {}, {}, []
    for game in sorted({key[0] for key in runs}):
        blocks = curves_of(runs, game)
        for metric in METRICS:
            for budget in BUDGETS:
                arms[game, metric, budget] = arms_at(blocks, budget, metric, rng)
            crossings[game, metric] = crossing_of(blocks, metric, rng)
    write(results / "games_budgets.csv", [
        "game", "metric", "budget", "block", "seeds", "score", "score low", "score high",
        "best rate", "at edge", "rates as good",
    ], [
        [*key, name, len(arm.scores), *arm.area, arm.best_label,
         "yes" if arm.best in (0, len(arm.labels) - 1) else "",
         " ".join(f"{arm.labels[i]:g}" for i in arm.like)]
        for key, same in arms.items()
        for name, arm in same.items()
        if name != BEST
    ])  # fmt: skip
    for (game, metric, budget), same in arms.items():
        rates += [
            [game, metric, budget, name, rate, mean]
            for name, arm in same.items()
            if name != BEST and metric == "half"
            for rate, mean in zip(arm.labels, arm.means, strict=True)
        ]
    write(results / "games_rates.csv", ["game", "metric", "budget", "block", "rate", "mean"], rates)
    pairs = list(pair_rows(arms, rng))
    write(results / "games_pairs.csv", [
        "game", "metric", "budget", "base", "other", "seeds", "difference", "difference low",
        "difference high", "P(base better)", "P low", "P high", "p", "other is",
    ], pairs)  # fmt: skip
    write(
        results / "games_crossings.csv",
        ["game", "metric", "crossing", "low", "high"],
        [[*key, *found] for key, found in crossings.items()],
    )
    write_verdicts(results / "games_verdicts.csv", verdicts(pairs, arms, crossings))


if __name__ == "__main__":
    main()
