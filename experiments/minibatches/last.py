#!/usr/bin/env python3
"""last.py: shuffled against unshuffled runs by last policies over all eight cases, and by area at
the smallest rate alone, and by area without CartPole. Prints what README.md says.

Rates are cross-fitted in five folds, as in judge.py; p is of dealt runs.
"""

import collections
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from rows import dealt, read  # noqa: E402

FOLDS = 5


def cross_fitted(rates):
    """Each seed's score at the rate that is best on the other folds."""
    seeds = range(len(next(iter(rates.values()))))
    return [
        max(
            rates.values(),
            key=lambda scores: statistics.fmean(
                scores[other] for other in seeds if other % FOLDS != seed % FOLDS
            ),
        )[seed]
        for seed in seeds
    ]


def main():
    scores = collections.defaultdict(lambda: collections.defaultdict(list))
    kept = read(pathlib.Path(__file__).parent / "results/runs.csv")
    for run in sorted(kept, key=lambda run: int(run["seed"])):
        if run["study"] == "shuffle":
            for score in ("area", "last"):
                key = score, run["variant"], run["task"], run["N"]
                scores[key][run["rate"]].append(float(run[score]))
    cases = sorted({key[2:] for key in scores})
    sides = [[scores[("last", variant, *case)] for variant in ("epoch", "off")] for case in cases]
    share, p = dealt([(cross_fitted(one), cross_fitted(other)) for one, other in sides], 10000)
    print(f"By last policies they are ahead in {100 * share:.0f} % (p = {p:.2f}".replace("0.", "."))
    others = [
        [cross_fitted(scores[("area", variant, *case)]) for variant in ("epoch", "off")]
        for case in cases
        if case[0] != "CartPole-v1"
    ]
    print(f"Without CartPole p is {dealt(others, 10000)[1]:.2f}".replace("0.", "."))
    alone = [
        dealt([[scores[("area", way, *case)]["0.0003"] for way in ("epoch", "off")]])
        for case in cases
    ]
    count = sum(share > 0.5 and p < 0.01 for share, p in alone)
    print(f"At 3e-4, the smallest rate, {count} cases differ alone (p below .01)")


if __name__ == "__main__":
    main()
