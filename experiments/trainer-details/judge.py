#!/usr/bin/env python3
"""Keeps the runs, gives each detail's effect at both ends, and judges the predictions:
judge.py STORES RESULTS"""

import collections
import pathlib
import random
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "surface"), str(HERE)]
from analyse import runs_of  # noqa: E402
from arms import SIDES, arms_of, read_details  # noqa: E402
from fair import Arm, chance, p_better, quantile  # noqa: E402
from rows import write, write_verdicts  # noqa: E402

TASKS = ("HalfCheetah-v5", "Hopper-v5")
NAMES = {"cleanrl": "CleanRL", "rsl_rl": "RSL-RL"}
QUIET = ("time_limits", "advantages", "gradients", "values_and_std")
LEAST = 7  # with fewer, no comparison of 40 can be called


def kept_runs(stores, arms):
    """Rows of the runs, over the seeds that every arm has on every task."""
    rows = []
    for arm in arms:
        for task in TASKS:
            for run in runs_of(stores / f"{arm}-{task}.sqlite"):
                rows.append([task, arm, run["seed"], run["area"], run["last"], run["seconds"]])
    have = collections.defaultdict(set)
    for task, arm, seed, *_ in rows:
        have[task, arm].add(seed)
    seeds = set.intersection(*(have[task, arm] for task in TASKS for arm in arms))
    return sorted(row for row in rows if row[2] in seeds), len(seeds)


def holm(chances):
    """Holm's corrected p of each."""
    out, least = [0.0] * len(chances), 0.0
    for rank, i in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        least = max(least, min(1.0, chances[i] * (len(chances) - rank)))
        out[i] = least
    return out


def compare(arm, base, rng):
    """The change, its interval, P(arm better), its interval, and p."""
    draws = list(zip(arm.draws, base.draws, strict=True))
    gaps = [statistics.fmean(a) - statistics.fmean(b) for a, b in draws]
    chances = [p_better(a, b) for a, b in draws]
    return [
        statistics.fmean(arm.scores) - statistics.fmean(base.scores),
        quantile(gaps, 0.025), quantile(gaps, 0.975),
        p_better(arm.scores, base.scores),
        quantile(chances, 0.025), quantile(chances, 0.975),
        chance(arm.scores, base.scores, rng),
    ]  # fmt: skip


def call_of(low, high, p):
    if p > 0.05 or low <= 0.5 <= high:
        return "none"
    return "better" if low > 0.5 else "worse"


def effects_of(arms, details, rng):
    """{(end, detail, task): [numbers of compare(), Holm's p, call]}."""
    keys = [(end, detail, task) for end in SIDES for detail in details for task in TASKS]
    found = [compare(arms[t, f"{end}+{d}"], arms[t, end], rng) for end, d, t in keys]
    corrected = holm([row[-1] for row in found])
    return {
        key: [*row, p, call_of(row[4], row[5], p)]
        for key, row, p in zip(keys, found, corrected, strict=True)
    }


def verdicts_of(whole, effects, arms, details):
    def calls(detail):
        return [effects[end, detail, task][-1] for end in SIDES for task in TASKS]

    def least(task):
        return min(details, key=lambda d: statistics.fmean(arms[task, f"cleanrl+{d}"].scores))

    # At RSL-RL's end a detail is exchanged the other way.
    turned = [
        d
        for d in details
        for task in TASKS
        if effects["cleanrl", d, task][-1] == effects["rsl_rl", d, task][-1] != "none"
    ]
    loud = sum(call != "none" for detail in QUIET for call in calls(detail))
    back = [effects["rsl_rl", "updates", task][-1] for task in TASKS]
    lowest = [least(task) for task in TASKS]
    scaled = sum(call != "none" for call in calls("rewards"))
    return [
        (1, "CleanRL's choices, beside RSL-RL's", "; ".join(whole), set(whole) != {"better"}),
        (2, "lowest of ten at CleanRL's end", "; ".join(lowest), set(lowest) != {"updates"}),
        (3, "CleanRL's updates at RSL-RL's end", "; ".join(back), set(back) != {"better"}),
        (4, "calls of rewards, of four", scaled, scaled == 0),
        (5, "calls of four quiet details, of 16", loud, loud >= 2),
        (6, "details that help one way at one end and the other way at the other",
         "; ".join(turned) or "none", bool(turned)),
    ]  # fmt: skip


def main():
    stores, results = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    details = list(read_details(HERE / "details.toml")["details"])
    kept, seeds = kept_runs(stores, arms_of(details))
    write(results / "runs.csv", ["task", "arm", "seed", "area", "last", "seconds"], kept)
    if seeds < LEAST:
        sys.exit(f"{seeds} seeds, {LEAST} are needed: no result")
    for score, column in (("area", 3), ("last", 4)):
        rng = random.Random(1)
        scores = collections.defaultdict(list)
        for row in kept:
            scores[row[0], row[1]].append(row[column])
        arms = {key: Arm(key[1], [""], [values], rng) for key, values in scores.items()}
        rows = [
            [task, name, len(arm.scores), statistics.fmean(arm.scores),
             *(quantile([statistics.fmean(d) for d in arm.draws], q) for q in (0.025, 0.975))]
            for (task, name), arm in sorted(arms.items())
        ]  # fmt: skip
        write(results / f"{score}_arms.csv", ["task", "arm", "seeds", "mean", "low", "high"], rows)
        effects = effects_of(arms, details, rng)
        write(
            results / f"{score}_effects.csv",
            ["task", "from", "detail", "change", "low", "high", "P(better)", "P low", "P high",
             "p", "Holm's p", "call"],
            [[task, NAMES[end], detail.replace("_", " "), *row]
             for (end, detail, task), row in effects.items()],
        )  # fmt: skip
        whole = [compare(arms[task, "cleanrl"], arms[task, "rsl_rl"], rng) for task in TASKS]
        calls = [call_of(row[4], row[5], row[6]) for row in whole]
        if score == "area":
            verdicts = verdicts_of(calls, effects, arms, details)
    write_verdicts(results / "verdicts.csv", verdicts)


if __name__ == "__main__":
    main()
