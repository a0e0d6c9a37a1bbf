#!/usr/bin/env python3
"""Scores each shape of the surface with a cross-fitted learning rate.

    fair.py results    reads results/final_runs.csv, writes fair.csv, fair_pairs.csv, fair_sizes.csv
                       and, by the last policies, fair_last.csv

Seeds 1 to 3 chose two of seven rates for each shape. This script chooses one of the two on seeds 11
and up by the rule of docs/statistics.md ("Tuned settings"), as `broadloom report --tuned
learning_rate` does from a store. Scores are areas under the evaluation curve.
"""

import bisect
import collections
import functools
import itertools
import pathlib
import random
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from rows import read, write  # noqa: E402

FOLDS, REPLICATES, DEALS = 5, 2000, 5000
GRID = [3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2]
SIZES = [256, 1024, 4096, 16384]


def iqm(values):
    """Mean without the lowest and highest floor(n / 4)."""
    cut = len(values) // 4
    return statistics.fmean(sorted(values)[cut : len(values) - cut])


def cross_fitted(candidates, drawn):
    """The candidate for each drawn seed: the highest mean over the other folds' draws."""
    folds = [seed % FOLDS for seed in drawn]
    alone = len(set(folds)) == 1
    totals = []
    for scores in candidates:
        sums = dict.fromkeys(folds, 0.0)
        for seed, fold in zip(drawn, folds, strict=True):
            sums[fold] += scores[seed]
        total = sum(sums.values())
        totals.append({fold: total - (0 if alone else sums[fold]) for fold in sums})
    best = {fold: max(range(len(totals)), key=lambda i: totals[i][fold]) for fold in totals[0]}
    return [best[fold] for fold in folds]


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
        far += abs(sum(rng.sample(ranks, len(x))) - middle) >= found - 1e-9
    return (far + 1) / (DEALS + 1)


def exact_chance(x, y):
    """As `chance`, over all deals."""
    order = sorted(x + y)
    twice = [bisect.bisect_left(order, v) + bisect.bisect_right(order, v) - 1 for v in x + y]
    deals = collections.Counter({(0, 0): 1})  # (numbers dealt to the first side, their ranks)
    for rank in twice:
        for (dealt, total), ways in list(deals.items()):
            deals[dealt + 1, total + rank] += ways
    sums = {total: ways for (dealt, total), ways in deals.items() if dealt == len(x)}
    middle = statistics.fmean(twice) * len(x)
    far = abs(sum(twice[: len(x)]) - middle) - 1e-9
    return sum(n for total, n in sums.items() if abs(total - middle) >= far) / sum(sums.values())


def quantile(values, share):
    values = sorted(values)
    place = share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


class Arm:
    """An arm with several candidates, such as the rates of a shape; each has a score of each seed."""

    def __init__(self, name, labels, candidates, rng):
        self.name, self.labels, self.candidates, self.rng = name, labels, candidates, rng
        self.means = [statistics.fmean(values) for values in candidates]
        self.best = self.means.index(max(self.means))
        self.best_label = labels[self.best]
        self.choice = cross_fitted(candidates, range(len(candidates[0])))
        self.scores = [candidates[c][seed] for seed, c in enumerate(self.choice)]
        self.middle = iqm(self.scores)

    @functools.cached_property
    def like(self):
        """Places of the candidates that are as good as the best."""
        top = self.candidates[self.best]
        return [
            i
            for i, values in enumerate(self.candidates)
            if i == self.best or chance(top, values, self.rng) > 0.05
        ]

    @property
    def like_means(self):
        return [self.means[i] for i in self.like]

    @functools.cached_property
    def draws(self):
        seeds = range(len(self.scores))
        return [
            fitted_scores(self.candidates, self.rng.choices(seeds, k=len(seeds)))
            for _ in range(REPLICATES)
        ]

    @property
    def area(self):
        areas = [iqm(draw) for draw in self.draws]
        return self.middle, quantile(areas, 0.025), quantile(areas, 0.975)


def arm_of(name, scores, rng):
    """The arm of {rate: {seed: score}}, over the seeds that all its rates have."""
    rates = sorted(scores)
    seeds = sorted(set.intersection(*(set(of_seed) for of_seed in scores.values())))
    return Arm(name, rates, [[scores[rate][seed] for seed in seeds] for rate in rates], rng)


class Shape(Arm):
    """A shape with the two rates that went on, on the seeds that both have."""

    def __init__(self, key, rates, tried, score, rng):
        self.panel, self.task, self.n, self.t = key
        self.tried = sorted(tried)
        self.size = self.n * self.t
        labels = sorted(rates)
        self.seeds = sorted(set.intersection(*(set(rates[rate]) for rate in labels)))
        self.runs = [[rates[rate][seed] for seed in self.seeds] for rate in labels]
        candidates = [[float(run[score]) for run in runs] for runs in self.runs]
        super().__init__(f"{self.n}x{self.t}", labels, candidates, rng)

    @property
    def at_edge(self):
        return self.best_label in (self.tried[0], self.tried[-1])


def size_of(shapes, size, rng):
    """All shapes of a size as one arm: shape and rate are chosen together."""
    same = [shape for shape in shapes if shape.size == size]
    seeds = set.intersection(*(set(shape.seeds) for shape in same))
    labels, candidates = [], []
    for shape in same:
        for rate, scores in zip(shape.labels, shape.candidates, strict=True):
            labels.append((shape.name, rate))
            candidates.append(
                [score for seed, score in zip(shape.seeds, scores, strict=True) if seed in seeds]
            )
    return Arm(str(size), labels, candidates, rng)


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


def gain(base, other):
    """(score of the other arm - that of the base, its interval's low end, high end)"""
    gaps = [iqm(b) - iqm(a) for a, b in zip(base.draws, other.draws, strict=True)]
    return other.middle - base.middle, quantile(gaps, 0.025), quantile(gaps, 0.975)


NO_DIFFERENCE = "no difference found"


def other_is(result):
    """The word for the other arm, by the result of `call` for the base."""
    words = {"better": "lower", "worse": "better", "none": NO_DIFFERENCE}
    return words.get(result, "depends on the rate")


def is_by_draws(base, other, draws=10):
    """(the word for the other arm, exact p), of {rate: {seed: score}} for each.

    A call whose bootstrap or permutations decide it one way or the other "hangs on the draws".
    """
    words = set()
    for draw in range(draws):
        rng = random.Random(draw)
        one, two = arm_of("base", base, rng), arm_of("other", other, rng)
        words.add(other_is(call(one, two, rng)[3]))
    word = words.pop() if len(words) == 1 else "hangs on the draws"
    return word, exact_chance(one.scores, two.scores)


def shapes_of(results, rng, score="area"):
    """Every shape of every panel."""
    runs, tried = collections.defaultdict(dict), collections.defaultdict(set)
    for row in read(results / "screen_runs.csv"):
        key = row["panel"], row["task"], int(row["N"]), int(row["T"])
        tried[key].add(float(row["rate"]))
    for row in read(results / "final_runs.csv"):
        key = row["panel"], row["task"], int(row["N"]), int(row["T"])
        runs[key].setdefault(float(row["rate"]), {})[int(row["seed"])] = row
    for key in sorted(runs, key=lambda k: (k[0] != "one", k[0], k[1], k[2] * k[3], k[2])):
        yield Shape(key, runs[key], tried[key], score, rng)


def best(shapes, size):
    return max((shape for shape in shapes if shape.size == size), key=lambda s: s.middle)


def by_task(shapes, panel):
    """task: its shapes in a panel."""
    out = collections.defaultdict(list)
    for shape in shapes:
        if shape.panel == panel:
            out[shape.task].append(shape)
    if panel == "four minibatches":
        for task, same in by_task(shapes, "one").items():
            if task in out:
                out[task].insert(0, best(same, SIZES[0]))
    return out


WORDS = {"better": "lower", "worse": "higher", "none": NO_DIFFERENCE}


def shape_rows(shapes, rng):
    leader = max(shapes, key=lambda shape: shape.middle)
    for shape in shapes:
        p, low, high, result = (
            ("", "", "", "leads") if shape is leader else call(leader, shape, rng)
        )
        yield [
            shape.panel, shape.task, shape.name, shape.n, shape.t, shape.size, len(shape.scores),
            *shape.area, len(shape.tried), shape.best_label, "yes" if shape.at_edge else "",
            " ".join(f"{shape.labels[i]:g}" for i in shape.like),
            p, low, high, WORDS.get(result, result), "yes" if shape is best(shapes, shape.size) else "",
        ]  # fmt: skip


def pair_row(panel, task, one, other, size, rng):
    return [panel, task, one.name, other.name, size, *gain(other, one), *call(one, other, rng)]


def last_rows(results, shapes):
    """256 against 16,384 samples by the last policies. The best shape of a size is the best by
    last policies, or by area as in the page's table, or is chosen with its rate on other seeds."""
    for chosen_by in ("last", "area"):
        rng = random.Random(1)
        lasts = list(shapes_of(results, rng, "last"))
        of_name = {(shape.panel, shape.task, shape.name): shape for shape in lasts}
        pool = by_task(lasts if chosen_by == "last" else shapes, "one")
        for task, same in pool.items():
            small, large = (
                of_name["one", task, best(same, size).name] for size in (SIZES[0], SIZES[-1])
            )
            yield [
                chosen_by, task, small.name, large.name, small.middle, large.middle,
                *call(small, large, rng), chance(small.scores, large.scores, rng),
            ]  # fmt: skip
    rng = random.Random(1)
    for task, same in by_task(list(shapes_of(results, rng, "last")), "one").items():
        small, large = (size_of(same, size, rng) for size in (SIZES[0], SIZES[-1]))
        yield [
            "together", task, small.best_label[0], large.best_label[0], small.middle, large.middle,
            *call(small, large, rng), chance(small.scores, large.scores, rng),
        ]  # fmt: skip


def main():
    results = pathlib.Path(sys.argv[1])
    rng = random.Random(1)
    shapes = list(shapes_of(results, rng))
    rows, pairs, sizes = [], [], []
    for panel in dict.fromkeys(shape.panel for shape in shapes):
        for task, same in by_task(shapes, panel).items():
            if panel == "one":
                rows += shape_rows(same, rng)
                arms = {size: size_of(same, size, rng) for size in SIZES}
                for size, arm in arms.items():
                    other = call(arms[SIZES[0]], arm, rng) if size > SIZES[0] else [""] * 4
                    sizes.append([
                        task, size, len(arm.labels), len(arm.scores), *arm.area, *arm.best_label, *other
                    ])  # fmt: skip
            else:
                rows += shape_rows([shape for shape in same if shape.panel == panel], rng)
            small = best(same, SIZES[0])
            for size in SIZES[1:]:
                if any(shape.size == size for shape in same):
                    pairs.append(pair_row(panel, task, small, best(same, size), size, rng))
    write(results / "fair.csv", [
        "panel", "task", "shape", "N", "T", "size", "seeds", "area", "area low", "area high",
        "rates tried", "best rate", "at edge", "rates as good", "P(leader better)", "P low", "P high", "call",
        "best of size",
    ], rows)  # fmt: skip
    write(results / "fair_pairs.csv", [
        "panel", "task", "best of 256 samples", "best of the larger size", "larger size",
        "difference of areas", "difference low", "difference high",
        "P(smaller better)", "P low", "P high", "call",
    ], pairs)  # fmt: skip
    write(results / "fair_sizes.csv", [
        "task", "size", "candidates", "seeds", "area", "area low", "area high", "best shape",
        "best rate", "P(256 better)", "P low", "P high", "call",
    ], sizes)  # fmt: skip
    write(results / "fair_last.csv", [
        "shapes chosen by", "task", "best of 256 samples", "best of 16384", "return, 256",
        "return, 16384", "P(256 better)", "P low", "P high", "call", "p",
    ], last_rows(results, shapes))  # fmt: skip


if __name__ == "__main__":
    main()
