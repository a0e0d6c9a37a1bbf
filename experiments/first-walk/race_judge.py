#!/usr/bin/env python3
"""Judges the race of race.py from its kept lines: race_judge.py RESULTS

Writes race_seeds.csv, a line a seed: seconds to the walk of each, and their ratio. `walked` is 0 if
one had not walked when its training ended; then its seconds are those that it had trained."""

import statistics
import sys
from itertools import groupby
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from rows import read, write, write_verdicts  # noqa: E402

BAR = 0.5  # of the peer's seconds


def walk(rows):
    """(its line, whether it walked): the first of two lines in a row that walk, or the last."""
    for first, second in zip(rows, rows[1:], strict=False):
        if first["walks"] == second["walks"] == "1":
            return first, True
    return rows[-1], False


def compared(rows):
    for seed, group in groupby(sorted(rows, key=lambda row: row["seed"]), lambda row: row["seed"]):
        lines = list(group)
        ours, walked = walk([row for row in lines if row["who"] == "ours"])
        peer, peer_walked = walk([row for row in lines if row["who"] == "mjbatch"])
        ratio = float(ours["wall_s"]) / float(peer["wall_s"])
        yield {
            "seed": seed,
            "ours walked": int(walked),
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
    walked = sum(seed["ours walked"] for seed in seeds)
    yield 7, "seeds of ours that walk, of five", walked, walked < 5
    met = sum(seed["ours walked"] and seed["ratio"] <= BAR for seed in seeds)
    yield 8, "seeds with at most half of the peer's seconds", met, met < 5
    ratio = statistics.median(seed["ratio"] if seed["ours walked"] else 1e9 for seed in seeds)
    yield 9, "median of the ratios", ratio, ratio > BAR
    shares = [
        statistics.median(float(seed[f"{who} learner_share"]) for seed in seeds)
        for who in ("ours", "mjbatch")
    ]
    yield 10, "learner's share: ours less the peer's", shares[0] - shares[1], shares[0] >= shares[1]


def main():
    results = Path(sys.argv[1])
    seeds = list(compared(read(results / "race.csv")))
    write(results / "race_seeds.csv", list(seeds[0]), [list(seed.values()) for seed in seeds])
    write_verdicts(results / "race_verdicts.csv", verdicts(seeds))


if __name__ == "__main__":
    main()
