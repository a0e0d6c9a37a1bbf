#!/usr/bin/env python3
"""analyse.py STORE RESULTS: what is kept of the laboratories and runs of run.sh, and the verdict on every prediction of PREREGISTRATION.md."""

import collections
import csv
import glob
import json
import os
import random
import statistics
import sys

SHAPES = ["1x1024", "16x64", "64x16", "256x4", "1024x1"]
SHARES = ["5 %", "20 %", "60 %"]
REPLICATES = 2000
UNTOLD = []  # laboratories' numbers that there are none of: (task, checkpoint)


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read(store):
    """A row a laboratory's number, and a row a run."""
    labs, runs = [], []
    for run in sorted(glob.glob(os.path.join(store, "*-*-*"))):
        task, trained, seed = os.path.basename(run).rsplit("-", 2)
        found = sorted(glob.glob(os.path.join(run, "iteration_*.json")))
        if len(found) < len(SHARES):
            continue
        area = statistics.fmean(
            line["mean_return"] for line in lines(os.path.join(run, "eval.jsonl"))
        )
        with open(os.path.join(run, "ledger_line.json"), encoding="utf-8") as file:
            record = json.load(file)
        runs.append(
            {
                "task": task,
                "trained": trained,
                "seed": int(seed),
                "rate": float(record["config"]["learning_rate"]),
                "area": area,
                "last": record["evaluation"]["mean_return"],
                "parameters": record["result"]["parameters_hash"],
            }
        )
        for share, path in zip(SHARES, found):
            with open(path, encoding="utf-8") as file:
                lab = json.load(file)
            for one in lab["agreement"]:
                if (
                    one["agreement"]["value"] is None
                ):  # the true gradient was not told from zero: nothing to agree with
                    UNTOLD.append((task, share))
                    continue
                labs.append(
                    {
                        "task": task,
                        "trained": trained,
                        "seed": int(seed),
                        "checkpoint": share,
                        "step": lab["checkpoint"]["global_step"],
                        "measured": f"{one['num_envs']}x{one['num_steps']}",
                        "critic": one["critic"],
                        "normalised": "yes" if one["norm_adv"] else "no",
                        "agreement": one["agreement"]["value"],
                        "low": one["agreement"]["low"],
                        "high": one["agreement"]["high"],
                        "away": one["away"]["value"],
                    }
                )
    return labs, runs


def select(rows, **where):
    return [row for row in rows if all(row[key] == value for key, value in where.items())]


def mean(rows, key="agreement"):
    return statistics.fmean(row[key] for row in rows)


def over_seeds(groups, statistic):
    """value and 95 % interval of statistic(groups), where every group {seed: rows} is drawn anew by its seeds, all groups by the same draw
    (they are measurements of the same policies). A policy without a true gradient has no row: a draw that leaves a group empty is made again."""
    seeds = sorted(set().union(*groups))
    draws = random.Random(1)
    values = []
    while len(values) < REPLICATES:
        drawn = draws.choices(seeds, k=len(seeds))
        sample = [[row for seed in drawn for row in group.get(seed, [])] for group in groups]
        if all(sample):
            values.append(statistic(sample))
    values.sort()
    whole = statistic([[row for seed in seeds for row in group.get(seed, [])] for group in groups])
    return whole, values[int(0.025 * REPLICATES)], values[int(0.975 * REPLICATES) - 1]


def seeds_of(rows):
    out = {}
    for row in rows:
        out.setdefault(row["seed"], []).append(row)
    return out


def interval(name, estimate):
    return dict(zip((name, f"{name} low", f"{name} high"), estimate))


def text(estimate):
    return "{:.3f} [{:.3f}, {:.3f}]".format(*estimate)


def ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    out = [0.0] * len(values)
    i = 0
    while i < len(order):
        j = i
        while j + 1 < len(order) and values[order[j + 1]] == values[order[i]]:
            j += 1
        for k in range(i, j + 1):
            out[order[k]] = (i + j) / 2
        i = j + 1
    return out


def spearman(pairs):
    x, y = ranks([pair[0] for pair in pairs]), ranks([pair[1] for pair in pairs])
    if len(set(x)) < 2 or len(set(y)) < 2:
        return 0.0
    return statistics.correlation(x, y)


def difference(groups):
    return mean(groups[0]) - mean(groups[1])


def table(labs):
    """Mean agreement by task, checkpoint, critic and measured shape, over all trained shapes and seeds."""
    for task in dict.fromkeys(row["task"] for row in labs):
        for share in SHARES:
            for critic in ("own", "refitted", "exact"):
                for shape in SHAPES:
                    rows = select(
                        labs,
                        task=task,
                        checkpoint=share,
                        critic=critic,
                        measured=shape,
                        normalised="yes",
                    )
                    if rows:
                        yield {
                            "task": task,
                            "checkpoint": share,
                            "critic": critic,
                            "measured": shape,
                            "N": int(shape.split("x")[0]),
                            "policies": len(rows),
                        } | interval(
                            "agreement", over_seeds([seeds_of(rows)], lambda g: mean(g[0]))
                        )


def short_against_long(labs, task, share, critic):
    pick = [
        seeds_of(
            select(
                labs, task=task, checkpoint=share, critic=critic, measured=shape, normalised="yes"
            )
        )
        for shape in ("1024x1", "1x1024")
    ]
    return over_seeds(pick, difference) if pick[0] else None


def gap(labs, task, share):
    """The gain of the refitted over the own critic, each measured at its trained shape: that of 1024x1 less that of 1x1024."""

    def own_shape(shape, critic):
        return seeds_of(
            select(
                labs,
                task=task,
                checkpoint=share,
                critic=critic,
                measured=shape,
                trained=shape,
                normalised="yes",
            )
        )

    groups = [
        own_shape(shape, critic) for shape in ("1024x1", "1x1024") for critic in ("refitted", "own")
    ]
    return over_seeds(groups, lambda g: (mean(g[0]) - mean(g[1])) - (mean(g[2]) - mean(g[3])))


def critics(labs):
    """Not asked beforehand: what refitting gains, measured at one shape for all, by the shape that the critic was trained on."""
    for task in dict.fromkeys(row["task"] for row in labs):
        for share in SHARES:
            for trained in SHAPES:
                pick = [
                    seeds_of(
                        select(
                            labs,
                            task=task,
                            checkpoint=share,
                            critic=critic,
                            trained=trained,
                            measured="16x64",
                            normalised="yes",
                        )
                    )
                    for critic in ("refitted", "own")
                ]
                if pick[0] and len(pick[0]) > 1:
                    yield {
                        "task": task,
                        "checkpoint": share,
                        "trained": trained,
                        "measured": "16x64",
                        "N": int(trained.split("x")[0]),
                        "policies": len(pick[0]),
                    } | interval("gain", over_seeds(pick, difference))


def longer_and_shorter(labs):
    """From those gains, 1024x1 less the mean of 1x1024 and 16x64."""
    for task in dict.fromkeys(row["task"] for row in labs):
        for share in SHARES:
            groups = [
                seeds_of(
                    [
                        row
                        for row in select(
                            labs,
                            task=task,
                            checkpoint=share,
                            critic=critic,
                            measured="16x64",
                            normalised="yes",
                        )
                        if row["trained"] in trained
                    ]
                )
                for trained in (("1024x1",), ("1x1024", "16x64"))
                for critic in ("refitted", "own")
            ]
            yield {
                "task": task,
                "checkpoint": share,
                "measured": "16x64",
                "what": "1024x1 less the mean of 1x1024 and 16x64",
            } | interval(
                "gain",
                over_seeds(groups, lambda g: (mean(g[0]) - mean(g[1])) - (mean(g[2]) - mean(g[3]))),
            )


def agreements(labs, runs, task, critic):
    """{seed: [(mean agreement over checkpoints at the trained shape, area, trained shape)]}"""
    areas = {(row["trained"], row["seed"]): row["area"] for row in select(runs, task=task)}
    pairs = {}
    for (trained, seed), area in areas.items():
        rows = select(
            labs,
            task=task,
            critic=critic,
            trained=trained,
            measured=trained,
            seed=seed,
            normalised="yes",
        )
        if rows:
            pairs.setdefault(seed, []).append((mean(rows), area, trained))
    return pairs


def within_shapes(pairs):
    """Rank correlation within a shape, mean over shapes in which both vary."""
    found = []
    for shape in SHAPES:
        own = [pair for pair in pairs if pair[2] == shape]
        if len(set(p[0] for p in own)) > 1 and len(set(p[1] for p in own)) > 1:
            found.append(spearman(own))
    return statistics.fmean(found) if found else 0.0


def between(pairs):
    """The correlation of the means of the shapes."""
    means = [
        (statistics.fmean(p[0] for p in own), statistics.fmean(p[1] for p in own))
        for own in ([pair for pair in pairs if pair[2] == shape] for shape in SHAPES)
        if own
    ]
    return spearman(means)


def predicts(labs, runs, task, critic):
    return over_seeds([agreements(labs, runs, task, critic)], lambda g: spearman(g[0]))


def correlations(labs, runs):
    for task in dict.fromkeys(row["task"] for row in labs):
        for critic in ("own", "refitted"):
            pairs = agreements(labs, runs, task, critic)
            for what, statistic in (
                ("over all runs", spearman),
                ("within a shape", within_shapes),
                ("between shapes", between),
            ):
                yield {
                    "task": task,
                    "critic": critic,
                    "what": what,
                    "runs": sum(map(len, pairs.values())),
                } | interval("correlation", over_seeds([pairs], lambda g: statistic(g[0])))


def verdicts(labs, runs):
    tasks = list(dict.fromkeys(row["task"] for row in labs))
    out = []

    def say(prediction, what, estimate, refuted):
        out.append(
            {"prediction": prediction, "what": what}
            | interval("value", estimate)
            | {"refuted": "yes" if refuted else "no"}
        )

    for task in tasks:
        for share in SHARES:
            for critic in ("refitted", "exact"):
                found = short_against_long(labs, task, share, critic)
                if found:
                    say(
                        1,
                        f"{task} at {share}, {critic} critic: agreement of 1024x1 less that of 1x1024",
                        found,
                        found[2] < 0,
                    )
    for task in ("CartPole-v1", "FrozenLake8x8-v1"):
        found = short_against_long(labs, task, SHARES[0], "own")
        say(
            2,
            f"{task} at {SHARES[0]}, own critic: agreement of 1024x1 less that of 1x1024",
            found,
            found[1] > 0,
        )
    gaps = {task: gap(labs, task, SHARES[1]) for task in tasks}
    held = sum(found[1] > 0 for found in gaps.values())
    for task, found in gaps.items():
        say(
            3,
            f"{task} at {SHARES[1]}: what refitting gains, trained and measured at 1024x1 less at 1x1024",
            found,
            held < 2,
        )
    for task in tasks:
        for critic in ("own", "refitted"):
            found = predicts(labs, runs, task, critic)
            asked = task != "FrozenLake8x8-v1"
            refuted = asked and (found[1] <= 0 if critic == "own" else found[1] > 0)
            say(
                4,
                f"{task}: rank correlation of area and agreement, {critic} critic"
                + ("" if asked else " (not asked)"),
                found,
                refuted,
            )
    return out


def write(path, rows):
    rows = list(rows)
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(
            {
                key: float(f"{value:.5g}") if isinstance(value, float) else value
                for key, value in row.items()
            }
            for row in rows
        )


def main():
    store, results = sys.argv[1:3]
    os.makedirs(results, exist_ok=True)
    labs, runs = read(store)
    # Two files, since one would be larger than what belongs into a repository.
    for normalised, name in (
        ("yes", "laboratories.csv"),
        ("no", "laboratories_not_normalised.csv"),
    ):
        write(os.path.join(results, name), select(labs, normalised=normalised))
    write(os.path.join(results, "runs.csv"), runs)
    write(os.path.join(results, "agreement.csv"), table(labs))
    for (task, share), count in sorted(collections.Counter(UNTOLD).items()):
        print(
            f"{task} at {share}: {count} numbers are left out, the true gradient is not told from zero"
        )
    write(os.path.join(results, "critics.csv"), critics(labs))
    write(os.path.join(results, "critics_compared.csv"), longer_and_shorter(labs))
    write(os.path.join(results, "correlations.csv"), correlations(labs, runs))
    found = verdicts(labs, runs)
    write(os.path.join(results, "verdicts.csv"), found)
    for row in found:
        print(
            f"{row['prediction']}  {row['what']}: {text((row['value'], row['value low'], row['value high']))}"
            + ("  REFUTED" if row["refuted"] == "yes" else "")
        )


if __name__ == "__main__":
    main()
