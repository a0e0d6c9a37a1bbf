#!/usr/bin/env python3
"""Shares of pairs in which a schedule is ahead of the best fixed block over the five tasks, by area
and by last policies, with all seeds and with each half. Reads the kept runs.csv, whose scores are
rounded, so a share may differ from together.csv by ties."""

import pathlib
import random

from judge import BEST, arms_of, is_schedule, together
from rows import read

HERE = pathlib.Path(__file__).resolve().parent
NUMBERS = {"rate": float, "seed": int, "area": float, "last": float}


def main():
    runs = [
        {key: NUMBERS.get(key, str)(value) for key, value in row.items()}
        for row in read(HERE / "results/runs.csv")
    ]
    rng = random.Random(1)
    seeds = sorted({run["seed"] for run in runs})
    middle = len(seeds) // 2
    parts = {"all seeds": seeds, "first half": seeds[:middle], "second half": seeds[middle:]}
    for score in ("area", "last"):
        for part, kept in parts.items():
            arms = arms_of([run for run in runs if run["seed"] in kept], score, rng)
            for panel in dict.fromkeys(panel for panel, _ in arms):
                tasks = [same for (name, _), same in arms.items() if name == panel]
                for name in filter(is_schedule, tasks[0]):
                    sides = [(same[name].scores, same[BEST].scores) for same in tasks]
                    share, p = together(sides, rng)
                    print(f"{score}, {part}, {panel}, {name}: {100 * share:.0f} % (p = {p:.3f})")


if __name__ == "__main__":
    main()
