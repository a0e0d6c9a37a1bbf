#!/usr/bin/env python3
"""Means of the kept runs, and the verdicts: analyse.py [RESULTS]

A block counts with the seeds that all games have, if there are two."""

import math
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import read, write, write_verdicts  # noqa: E402

GAMES = ["Breakout", "Pong", "Boxing"]
LONG, WIDE = "8x128", "128x8"
BLOCKS = [LONG, WIDE, "16x128", "8x256"]
NUMBERS = {
    "return": "return",
    "last": "last",
    "approximate rank": "encoder_approximate_rank",
    "effective rank": "encoder_effective_rank",
    "idle units, %": "dormant",
    **{f"idle units of layer {i}, %": f"encoder_layer{i}_dormant" for i in range(1, 5)},
    "weight norm": "weight_norm",
    "kurtosis": "grad_kurtosis",
}
MEASURES = ["approximate rank", "idle units, %", "weight norm", "kurtosis"]


def values_of(runs):
    """{(game, block): {number: [its value of each seed]}}"""
    out = {}
    for block in BLOCKS:
        seeds = set.intersection(
            *(
                {int(r["seed"]) for r in runs if (r["game"], r["block"]) == (g, block)}
                for g in GAMES
            )
        )
        if len(seeds) < 2:
            continue
        for game in GAMES:
            same = [r for r in runs if (r["game"], r["block"]) == (game, block)]
            same = sorted(
                (r for r in same if int(r["seed"]) in seeds), key=lambda r: int(r["seed"])
            )
            out[game, block] = {n: [float(r[key]) for r in same] for n, key in NUMBERS.items()}
    return out


def verdicts(values):
    def mean(game, block, number):
        return statistics.fmean(values[game, block][number])

    def games(number, sign):
        return sum(sign * (mean(g, WIDE, number) - mean(g, LONG, number)) > 0 for g in GAMES)

    def spread(numbers):
        return max(numbers) - min(numbers)

    found = games("return", 1)
    yield 1, "games on which 128x8 has the higher mean return", found, found < 2
    found = games("approximate rank", 1)
    yield 2, "games on which 128x8 has the higher rank", found, found < 2
    found = games("idle units, %", -1)
    yield 3, "games on which 128x8 has fewer idle units", found, found < 2
    ratios = [mean(g, WIDE, "weight norm") / mean(g, LONG, "weight norm") for g in GAMES]
    furthest = max(ratios, key=lambda ratio: abs(ratio - 1))
    yield 4, "weight norms of 128x8 over 8x128, the furthest", furthest, abs(furthest - 1) > 0.05
    found = games("kurtosis", -1)
    yield 5, "games on which 128x8 has the lower kurtosis", found, found < 2

    def seeds_differ_more(game, number):
        seeds = max(spread(values[game, block][number]) for block in (LONG, WIDE))
        return seeds > abs(mean(game, WIDE, number) - mean(game, LONG, number))

    found = sum(any(seeds_differ_more(game, m) for m in MEASURES) for game in GAMES)
    yield 6, "games on which seeds differ by more than blocks in a measure", found, found < 3


def print_order(values):
    """How often one block's runs would all be ahead on all games if blocks did not differ."""
    longs, wides = ([values[game, block]["return"] for game in GAMES] for block in (LONG, WIDE))
    pairs = list(zip(longs, wides, strict=True))
    is_apart = all(min(a) > max(b) for a, b in pairs) or all(max(a) < min(b) for a, b in pairs)
    deals = math.prod(math.comb(len(a) + len(b), len(a)) for a, b in pairs)
    print(f"one block ahead in all runs: {is_apart}; by chance once in {deals // 2} times")


def main():
    results = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "results"
    values = values_of(read(results / "runs.csv"))
    write(
        results / "table.csv",
        ["game", "block", "number", "seeds", "mean", "least", "most"],
        [
            [
                game,
                block,
                number,
                len(of_seed),
                statistics.fmean(of_seed),
                min(of_seed),
                max(of_seed),
            ]
            for (game, block), numbers in values.items()
            for number, of_seed in numbers.items()
        ],
    )
    if all((game, block) in values for game in GAMES for block in (LONG, WIDE)):
        write_verdicts(results / "verdicts.csv", verdicts(values))
        print_order(values)


if __name__ == "__main__":
    main()
