#!/usr/bin/env python3
"""Keeps what the page needs of this folder's studies, as CSV.

    analyse.py STORES RESULTS [PART...]    parts: surface, parts, value_clip, health

The surface's runs become screen_runs.csv (seeds that choose) and final_runs.csv (seeds that are
scored); fair.py scores them.
"""

import collections
import csv
import math
import os
import random
import sqlite3
import statistics
import sys

THRESHOLDS = {
    "CartPole-v1": 475,
    "Acrobot-v1": -100,
    "FrozenLake8x8-v1": 0.85,
    "MountainCarContinuous-v0": 90,
}
REPLICATES = 2000
# How a run's block is used: minibatch (None: a quarter of the block), epochs, target_kl.
PANELS = {
    "one": (64, 4, 0.0),
    "four minibatches": (None, 4, 0.0),
    "one epoch": (64, 1, 0.0),
    "KL stop": (64, 4, 0.02),
}


class Run(dict):
    """task, N, T, rate, seed, what else the cell sets; metrics: the last of each."""


def runs_of(path, *settings):
    store = sqlite3.connect(path)
    pending = store.execute("SELECT count(*) FROM runs WHERE status = 'pending'").fetchone()[0]
    if pending:
        print(f"{path}: {pending} runs are still to be made", file=sys.stderr)
    curves = collections.defaultdict(list)
    for run, step, value in store.execute(
        "SELECT run_id, global_step, mean_return FROM evaluations ORDER BY 1, 2"
    ):
        curves[run].append((step, value))
    last = collections.defaultdict(dict)
    for run, key, value in store.execute(
        "SELECT run_id, key, value FROM metrics ORDER BY run_id, point"
    ):
        last[run][key] = value
    more = "".join(f", json_extract(config, '$.{key}')" for key in ("learning_rate",) + settings)
    query = (
        "SELECT runs.id, seed, json_extract(config, '$.env_id'), num_envs, num_steps, gradient_steps, seconds, parameters_hash"
        + more
        + " FROM runs JOIN cells ON cells.id = cell_id WHERE status = 'finished' ORDER BY runs.id"
    )
    for run, seed, task, n, t, steps, seconds, parameters, *values in store.execute(query):
        out = Run(
            {
                "task": task,
                "N": n,
                "T": t,
                "seed": seed,
                "gradient steps": steps,
                "seconds": seconds,
                "parameters": parameters,
            }
        )
        out.update(zip(("rate",) + settings, values))
        out["rate"] = float(out["rate"])
        out["metrics"] = last[run]
        out["area"] = statistics.fmean(value for _, value in curves[run])
        out["last"] = curves[run][-1][1]
        out["steps to threshold"] = steps_to(task, curves[run])
        yield out


def steps_to(task, curve):
    """Environment steps from which all evaluations are at the threshold; None: never, or there is none."""
    reached = None
    for step, value in curve if task in THRESHOLDS else []:
        if value < THRESHOLDS[task]:
            reached = None
        elif reached is None:
            reached = step
    return reached


def bootstrap(groups, statistic, seed=0):
    """value and 95 % percentile interval of a statistic of groups of numbers, each resampled by itself."""
    draws = random.Random(seed)
    values = sorted(
        statistic(*[draws.choices(group, k=len(group)) for group in groups])
        for _ in range(REPLICATES)
    )
    return statistic(*groups), values[int(0.025 * REPLICATES)], values[int(0.975 * REPLICATES) - 1]


def probability(a, b):
    """The probability that a run of a is better than one of b; ties count a half."""
    return sum((x > y) + 0.5 * (x == y) for x in a for y in b) / (len(a) * len(b))


def group_by(runs, *keys):
    out = collections.defaultdict(list)
    for run in runs:
        out[tuple(run[key] for key in keys)].append(run)
    return out


def interval(name, estimate):
    return dict(zip((name, f"{name} low", f"{name} high"), estimate))


def rounded(value):
    return float(f"{value:.5g}") if isinstance(value, float) and math.isfinite(value) else value


def write(path, rows):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows({key: rounded(value) for key, value in row.items()} for row in rows)


def run_rows(runs, *more):
    for run in runs:
        yield {
            key: run[key]
            for key in (
                "task",
                "N",
                "T",
                "rate",
                *more,
                "seed",
                "area",
                "last",
                "steps to threshold",
                "parameters",
            )
        }


# The surface.


def panel_of(run):
    """The first panel whose settings a run has: at 256 samples four minibatches are panel one."""
    used = int(run["minibatch_size"]), int(run["update_epochs"]), float(run["target_kl"])
    for name, (minibatch, epochs, kl) in PANELS.items():
        if used == (minibatch or run["N"] * run["T"] // 4, epochs, kl):
            return name
    sys.exit(f"no panel has minibatch, epochs and target_kl {used}")


def surface(stores, results):
    stages = {"screen": ("screen", "edges", "second"), "final": ("final", "second_final")}
    for kept, names in stages.items():
        runs = []
        for name in names:
            path = os.path.join(stores, f"{name}.sqlite")
            if os.path.exists(path):
                runs += runs_of(path, "minibatch_size", "update_epochs", "target_kl")
        if runs:
            keep(runs, os.path.join(results, f"{kept}_runs.csv"))
            if kept == "screen":
                write(os.path.join(results, "rates.csv"), list(rate_rows(runs)))


def keep(runs, path):
    for run in runs:
        run["panel"] = panel_of(run)
    write(path, sorted(run_rows(runs, "panel"), key=place))


def rate_rows(runs):
    """Mean areas of the screen at every rate, for the figure of the rates."""
    shapes = group_by([run for run in runs if run["panel"] == "one"], "task", "N", "T", "rate")
    for (task, n, t, rate), same in sorted(shapes.items()):
        area = statistics.fmean(run["area"] for run in same)
        yield {"task": task, "shape": f"{n}x{t}", "rate": rate, "runs": len(same), "area": area}


def place(row):
    """Rows stand by panel, task, size and N, rate and seed, whatever the order of the runs."""
    return (
        list(PANELS).index(row["panel"]),
        row["task"],
        row["N"] * row["T"],
        row["N"],
        row["rate"],
        row["seed"],
    )


# Taken apart, the value clip, health: the best of three rates is chosen by the mean area of all
# seeds, so that means are a little too good, alike for all arms.


def parts(stores, results):
    runs = list(runs_of(os.path.join(stores, "parts.sqlite"), "stagger_starts", "seed_families"))
    for run in runs:
        run["arm"] = (
            f"{run['N']}x{run['T']}"
            + (" from 8 starts" if run["seed_families"] == "8" else "")
            + (" in step" if run["stagger_starts"] == "false" else "")
        )
    best_rate_rows(
        runs,
        "arm",
        os.path.join(results, "parts"),
        [
            ("8x128", "8x16"),
            ("64x16 from 8 starts", "8x16"),
            ("64x16", "8x16"),
            ("64x16", "8x128"),
            ("64x16", "64x16 from 8 starts"),
            ("64x16", "64x16 in step"),
            ("8x16", "8x16 in step"),
        ],
    )


def value_clip(stores, results):
    runs = list(runs_of(os.path.join(stores, "value_clip.sqlite"), "clip_vloss"))
    for run in runs:
        run["arm"] = f"{run['N']}x{run['T']}" + (
            "" if run["clip_vloss"] == "true" else " no value clip"
        )
    shapes = ("1x1024", "8x128", "32x32", "128x8", "1024x1")
    best_rate_rows(
        runs,
        "arm",
        os.path.join(results, "value_clip"),
        [(f"{shape} no value clip", shape) for shape in shapes],
    )


def best_rate_rows(runs, arm, out, pairs):
    write(out + "_runs.csv", list(run_rows(runs, arm)))
    rows, best = [], {}
    for (task, name, rate), group in sorted(group_by(runs, "task", arm, "rate").items()):
        row = {
            "task": task,
            "arm": name,
            "N": group[0]["N"],
            "T": group[0]["T"],
            "rate": rate,
            "runs": len(group),
        }
        for score in ("area", "last"):
            row |= interval(score, bootstrap([[run[score] for run in group]], statistics.fmean))
        rows.append(row)
        if (task, name) not in best or row["area"] > best[task, name][0]:
            best[task, name] = row["area"], rate, group
    for row in rows:
        row["best rate"] = "yes" if best[row["task"], row["arm"]][1] == row["rate"] else ""
    write(out + ".csv", rows)
    compared = []
    for task in dict.fromkeys(row["task"] for row in rows):
        for a, b in pairs:
            row = {
                "task": task,
                "a": a,
                "b": b,
                "rate a": best[task, a][1],
                "rate b": best[task, b][1],
            }
            for score in ("area", "last"):
                x, y = ([run[score] for run in best[task, name][2]] for name in (a, b))
                row |= interval(f"P(a better) {score}", bootstrap([x, y], probability))
                row |= interval(
                    f"difference {score}",
                    bootstrap([x, y], lambda p, q: statistics.fmean(p) - statistics.fmean(q)),
                )
            compared.append(row)
    write(out + "_pairs.csv", compared)


def health(stores, results):
    keys = {
        "weight norm": "plasticity/weight_norm",
        "Lyle's rank": "plasticity/actor_feature_rank",
        "approximate rank": "plasticity/actor_approximate_rank",
        "dormant %": "plasticity/dormant",
        "constant %": "plasticity/constant",
    }
    rows = []
    for run in runs_of(os.path.join(stores, "health.sqlite"), "activation", "minibatch_size"):
        row = {
            key: run[key]
            for key in (
                "task",
                "N",
                "T",
                "activation",
                "minibatch_size",
                "seed",
                "gradient steps",
                "area",
                "last",
            )
        }
        rows.append(row | {name: run["metrics"].get(key) for name, key in keys.items()})
    write(os.path.join(results, "health_runs.csv"), rows)


def main():
    stores, results = sys.argv[1:3]
    for part in sys.argv[3:] or ("surface", "parts", "value_clip", "health"):
        {"surface": surface, "parts": parts, "value_clip": value_clip, "health": health}[part](
            stores, results
        )


if __name__ == "__main__":
    main()
