"""Compares two arms by the runs that results/ keeps, of one study or of two."""

import csv
import pathlib
import random

RESULTS = pathlib.Path(__file__).parent / "results"
RESAMPLES = 2000


def runs(study, score):
    """{(task, arm): scores of its runs}, score: evaluation (of the last policy), area (mean of the curve of evaluations) or training."""
    out = {}
    with open(RESULTS / f"{study}_runs.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            out.setdefault((row["task"], row["arm"]), []).append(float(row[score]))
    return out


def better(a, b):
    """P(a run of a is better than one of b), a tie counting half, with the 2.5 and 97.5 percentiles of 2,000 bootstrap samples of
    the runs of each (Agarwal et al. 2021); the same random numbers at every call."""
    wins = [[(x > y) + 0.5 * (x == y) for y in b] for x in a]
    rng = random.Random(1)
    samples = []
    for _ in range(RESAMPLES):
        rows, columns = rng.choices(range(len(a)), k=len(a)), rng.choices(range(len(b)), k=len(b))
        counts = [columns.count(j) for j in range(len(b))]
        samples.append(
            sum(sum(map(float.__mul__, map(float, counts), map(float, wins[i]))) for i in rows)
            / (len(a) * len(b))
        )
    samples.sort()
    return (
        sum(map(sum, wins)) / (len(a) * len(b)),
        samples[int(0.025 * RESAMPLES)],
        samples[int(0.975 * RESAMPLES) - 1],
    )


def verdict(p):
    return "better" if p[1] > 0.5 else "worse" if p[2] < 0.5 else "none"


def text(p):
    return "{:.2f} [{:.2f}, {:.2f}]".format(*p)
