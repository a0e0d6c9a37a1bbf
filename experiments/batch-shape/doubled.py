#!/usr/bin/env python3
"""doubled.py: the tables of E2 and how many pairs are called different, from what run.sh keeps of the three doubled_* studies."""

import collections

from arms import better, runs, text, verdict

TASKS = ("CartPole-v1", "Acrobot-v1", "Pendulum-v1")
BASES = (("8x128", "16x128", "8x256"), ("128x8", "256x8", "128x16"))
STARTS = {"synchronised": "false", "staggered": "true"}
STUDIES = ("doubled_minibatch_count", "doubled_minibatch_size", "doubled_gradient_steps")
KINDS = (
    "N doubled better than base",
    "T doubled better than base",
    "N doubled better than T doubled",
)


def arm(scores, task, shape, start):
    return scores[task, f"{shape} stagger_starts={STARTS[start]}"]


def pairs_of_study(study, score):
    scores, counts = runs(study, score), collections.Counter()
    for start in STARTS:
        print(
            f"\n{study}, {score}, {start}\n\n| task | base | "
            + " | ".join(f"P({k})" for k in KINDS)
            + " |\n|"
            + "---|" * 5
        )
        for task in TASKS:
            for base, n, t in BASES:
                found = [
                    better(arm(scores, task, a, start), arm(scores, task, b, start))
                    for a, b in ((n, base), (t, base), (n, t))
                ]
                counts.update((kind, verdict(p)) for kind, p in zip(KINDS, found))
                print(f"| {task} | {base} | " + " | ".join(map(text, found)) + " |")
    print()
    for kind in KINDS:
        print(
            f"{kind}: "
            + ", ".join(
                f"{counts[kind, result]} {result}" for result in ("better", "worse", "none")
            )
        )


def across(study, other, score):
    """The same doubled block under two rules."""
    scores, others, counts = runs(study, score), runs(other, score), collections.Counter()
    print(
        f"\n{study} better than {other}, {score}\n\n| task | block | "
        + " | ".join(STARTS)
        + " |\n|"
        + "---|" * 4
    )
    for task in TASKS:
        for shape in (shape for _, *doubled in BASES for shape in doubled):
            found = [
                better(arm(scores, task, shape, start), arm(others, task, shape, start))
                for start in STARTS
            ]
            counts.update((task, verdict(p)) for p in found)
            print(f"| {task} | {shape} | " + " | ".join(map(text, found)) + " |")
    for task in TASKS:
        print(
            f"{task}: "
            + ", ".join(
                f"{counts[task, result]} {result}" for result in ("better", "worse", "none")
            )
        )


for score in ("evaluation", "area"):
    for study in STUDIES:
        pairs_of_study(study, score)
    across(STUDIES[1], STUDIES[0], score)
    across(STUDIES[2], STUDIES[1], score)
