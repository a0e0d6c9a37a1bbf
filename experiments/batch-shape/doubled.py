#!/usr/bin/env python3
"""doubled.py results/NAME_pairs.csv...: the tables of E2, and how many pairs are called different, from what run.sh keeps."""
import collections
import csv
import sys

TASKS = ("CartPole-v1", "Acrobot-v1", "Pendulum-v1")
BASES = (("8x128", "16x128", "8x256"), ("128x8", "256x8", "128x16"))
KINDS = ("N doubled better than base", "T doubled better than base", "N doubled better than T doubled")


def read(path):
    """(task, a, b) -> P(a better), its interval and "better", "worse" or "none", both ways round."""
    pairs = {}
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            p, low, high = (float(row[f"P(a better){end}"]) for end in ("", " low", " high"))
            words = {"a": ("better", "worse"), "b": ("worse", "better"), "none": ("none", "none")}[row["result"]]
            pairs[row["task"], row["a"], row["b"]] = (p, low, high, words[0])
            pairs[row["task"], row["b"], row["a"]] = (1 - p, 1 - high, 1 - low, words[1])
    return pairs


def main():
    for path in sys.argv[1:]:
        pairs, counts = read(path), collections.Counter()
        for stagger in ("false", "true"):
            print(f"\n{path}, stagger_starts={stagger}\n\n| task | base | " + " | ".join(f"P({k})" for k in KINDS) + " |\n|" + "---|" * 5)
            for task in TASKS:
                for base, n, t in BASES:
                    found = [pairs[(task, *(f"{arm} stagger_starts={stagger}" for arm in pair))]
                             for pair in ((n, base), (t, base), (n, t))]
                    counts.update((kind, result) for kind, (*_, result) in zip(KINDS, found))
                    print(f"| {task} | {base} | " + " | ".join(f"{p:.2f} [{low:.2f}, {high:.2f}]" for p, low, high, _ in found) + " |")
        for kind in KINDS:
            print(f"{kind}: " + ", ".join(f"{counts[kind, result]} {result}" for result in ("better", "worse", "none")))


main()
