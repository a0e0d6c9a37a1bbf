#!/usr/bin/env python3
"""Judges a race of race.py from its kept lines: race_judge.py RESULTS

RESULTS is results/race_1 or results/race_2. Writes race_seeds.csv, a line a seed: seconds to the
walk of each, and their ratio. `walked` is 0 if one had not walked when its training ended. Then its
seconds are those that it had trained; without a walk of ours there is no ratio."""

import math
import statistics
import sys
from itertools import groupby
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from rows import read, write, write_verdicts  # noqa: E402

BAR = 0.5  # of the peer's seconds


def walk(rows, column="walks"):
    """(its line, whether it walked): the first of two lines in a row that walk, or the last."""
    for first, second in zip(rows, rows[1:], strict=False):
        if first[column] == second[column] == "1":
            return first, True
    return rows[-1], False


def compared(rows):
    for seed, group in groupby(sorted(rows, key=lambda row: row["seed"]), lambda row: row["seed"]):
        lines = list(group)
        own = [row for row in lines if row["who"] == "ours"]
        ours, walked = walk(own)
        peer, peer_walked = walk([row for row in lines if row["who"] == "mjbatch"])
        ratio = float(ours["wall_s"]) / float(peer["wall_s"]) if walked else ""
        long = {}
        if "walks_long" in own[0]:
            row, did = walk(own, "walks_long")
            later = own[own.index(ours) :] if walked else []
            long = {
                "ours walked, long": int(did),
                "ours wall_s, long": row["wall_s"],
                "ours from then on": len(later),
                "ours that walk of these": sum(row["walks"] == "1" for row in later),
            }
        yield {
            "seed": seed,
            "ours walked": int(walked),
            **long,
            "ours steps": ours["steps"],
            "ours wall_s": ours["wall_s"],
            "ours processor_s": ours["processor_s"],
            "ours learner_share": ours["learner_share"],
            "mjbatch walked": int(peer_walked),
            "mjbatch steps": peer["steps"],
            "mjbatch wall_s": peer["wall_s"],
            "mjbatch processor_s": peer["processor_s"],
            "mjbatch learner_share": peer["learner_share"],
            "ratio": ratio,
        }


def verdicts(seeds):
    second = "ours walked, long" in seeds[0]
    one = 11 if second else 7  # the number of the plan's first prediction
    walked = sum(seed["ours walked"] for seed in seeds)
    yield one, "seeds of ours that walk, of five", walked, walked < 5
    met = sum(seed["ours walked"] and seed["ratio"] <= BAR for seed in seeds)
    yield one + 1, "seeds with at most half of the peer's seconds", met, met < 5
    ratio = statistics.median(seed["ratio"] or math.inf for seed in seeds)
    yield one + 2, "median of the ratios", ratio, ratio > BAR
    shares = [
        statistics.median(float(seed[f"{who} learner_share"]) for seed in seeds)
        for who in ("ours", "mjbatch")
    ]
    less = shares[0] - shares[1]
    yield one + 3, "learner's share: ours less the peer's", less, less >= 0
    if second:
        long = sum(seed["ours walked, long"] for seed in seeds)
        yield one + 4, "seeds of ours that walk by long episodes", long, long < 3


def main():
    results = Path(sys.argv[1])
    seeds = list(compared(read(results / "race.csv")))
    write(results / "race_seeds.csv", list(seeds[0]), [list(seed.values()) for seed in seeds])
    write_verdicts(results / "race_verdicts.csv", verdicts(seeds))


if __name__ == "__main__":
    main()
