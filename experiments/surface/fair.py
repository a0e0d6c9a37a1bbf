#!/usr/bin/env python3
"""Scores each shape of the surface with a cross-fitted learning rate.

    fair.py results    reads results/final_runs.csv, writes results/fair.csv and fair_pairs.csv

Two rates of each shape ran on seeds 11 to 22; seeds 1 to 3 had chosen the two of five. This script
chooses one of the two by the rule of docs/statistics.md ("Tuned settings"), as `broadloom report
--tuned learning_rate` does from a store. Scores are areas under the evaluation curve.
"""

import collections
import itertools
import pathlib
import random
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from rows import read, write  # noqa: E402

FOLDS, REPLICATES, DEALS = 5, 2000, 5000
GRID = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2]


def iqm(values):
    """Mean without the lowest and highest floor(n / 4)."""
    cut = len(values) // 4
    return statistics.fmean(sorted(values)[cut : len(values) - cut])


def cross_fitted(candidates, drawn):
    """The candidate for each drawn seed: the highest mean over the other folds' draws."""
    by_fold = {}
    for fold in {seed % FOLDS for seed in drawn}:
        others = [seed for seed in drawn if seed % FOLDS != fold] or drawn
        means = [statistics.fmean(scores[seed] for seed in others) for scores in candidates]
        by_fold[fold] = means.index(max(means))
    return [by_fold[seed % FOLDS] for seed in drawn]


def fitted_scores(candidates, drawn):
    choice = cross_fitted(candidates, drawn)
    return [candidates[c][seed] for c, seed in zip(choice, drawn, strict=True)]


def p_better(x, y):
    wins = sum((a > b) + 0.5 * (a == b) for a, b in itertools.product(x, y))
    return wins / (len(x) * len(y))


def chance(x, y, rng):
    """How often dealt sides are as far apart: the permutation test of Mann and Whitney."""
    both = x + y
    order = sorted(both)
    places = collections.defaultdict(list)
    for i, value in enumerate(order):
        places[value].append(i)
    ranks = [statistics.fmean(places[value]) for value in both]
    middle = statistics.fmean(ranks) * len(x)
    found = abs(sum(ranks[: len(x)]) - middle)
    far = 0
    for _ in range(DEALS):
        rng.shuffle(ranks)
        far += abs(sum(ranks[: len(x)]) - middle) >= found - 1e-9
    return (far + 1) / (DEALS + 1)


def quantile(values, share):
    values = sorted(values)
    place = share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


class Shape:
    def __init__(self, key, rates, scores, rng):
        self.task, self.n, self.t = key
        self.rates, self.candidates = rates, scores
        seeds = list(range(len(scores[0])))
        means = [statistics.fmean(values) for values in scores]
        self.best = means.index(max(means))
        self.like = [
            i == self.best or chance(scores[self.best], scores[i], rng) > 0.05
            for i in range(len(rates))
        ]
        self.like_means = [mean for mean, like in zip(means, self.like, strict=True) if like]
        self.scores = fitted_scores(scores, seeds)
        self.draws = [
            fitted_scores(scores, rng.choices(seeds, k=len(seeds))) for _ in range(REPLICATES)
        ]
        areas = [iqm(draw) for draw in self.draws]
        self.area = iqm(self.scores), quantile(areas, 0.025), quantile(areas, 0.975)

    @property
    def name(self):
        return f"{self.n}x{self.t}"

    @property
    def rates_as_good(self):
        return " ".join(
            f"{rate:g}" for rate, like in zip(self.rates, self.like, strict=True) if like
        )

    @property
    def at_edge(self):
        return self.rates[self.best] in (GRID[0], GRID[-1])


def call(one, other, rng):
    """(P with its interval, "better", "worse", "hangs on the rate" or "none")."""
    p = p_better(one.scores, other.scores)
    draws = [p_better(a, b) for a, b in zip(one.draws, other.draws, strict=True)]
    low, high = quantile(draws, 0.025), quantile(draws, 0.975)
    ahead = (low > 0.5) - (high < 0.5)
    if ahead == 0 or chance(one.scores, other.scores, rng) > 0.05:
        return p, low, high, "none"
    holds = (
        min(one.like_means) > max(other.like_means)
        if ahead > 0
        else max(one.like_means) < min(other.like_means)
    )
    return p, low, high, ("better" if ahead > 0 else "worse") if holds else "hangs on the rate"


def shapes_of(results, rng):
    runs = collections.defaultdict(dict)
    for row in read(results / "final_runs.csv"):
        key = row["task"], int(row["N"]), int(row["T"])
        runs[key].setdefault(float(row["rate"]), {})[int(row["seed"])] = float(row["area"])
    for key in sorted(runs, key=lambda k: (k[0], k[1] * k[2], k[1])):
        rates = sorted(runs[key])
        seeds = sorted(set.intersection(*(set(runs[key][rate]) for rate in rates)))
        yield Shape(key, rates, [[runs[key][rate][seed] for seed in seeds] for rate in rates], rng)


def main():
    results = pathlib.Path(sys.argv[1])
    rng = random.Random(1)
    shapes = list(shapes_of(results, rng))
    rows, pairs = [], []
    for task in dict.fromkeys(shape.task for shape in shapes):
        of_task = [shape for shape in shapes if shape.task == task]
        leader = max(of_task, key=lambda shape: shape.area[0])
        for shape in of_task:
            p, low, high, result = (
                ("", "", "", "leads") if shape is leader else call(leader, shape, rng)
            )
            words = {"better": "lower", "worse": "higher", "none": "no difference found"}
            rows.append([
                task, shape.name, shape.n, shape.t, shape.n * shape.t, len(shape.scores), *shape.area,
                shape.rates[shape.best], "yes" if shape.at_edge else "", shape.rates_as_good,
                p, low, high, words.get(result, result),
            ])  # fmt: skip
        for batch in (1024, 4096, 16384):
            small = max((s for s in of_task if s.n * s.t == 256), key=lambda s: s.area[0])
            large = max((s for s in of_task if s.n * s.t == batch), key=lambda s: s.area[0])
            pairs.append([task, small.name, large.name, batch, *call(small, large, rng)])
    write(results / "fair.csv", [
        "task", "shape", "N", "T", "batch", "seeds", "area", "area low", "area high", "best rate",
        "at edge", "rates as good", "P(leader better)", "P low", "P high", "call",
    ], rows)  # fmt: skip
    write(results / "fair_pairs.csv", [
        "task", "best of 256 samples", "best of the larger block", "larger block",
        "P(smaller better)", "P low", "P high", "call",
    ], pairs)  # fmt: skip


if __name__ == "__main__":
    main()
