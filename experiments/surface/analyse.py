#!/usr/bin/env python3
"""analyse.py STORES RESULTS: what is kept of the studies of this folder, from their stores, as CSV: runs, curves, and per part the tables
behind the page. The seeds that choose a rate, and those that are reported: PREREGISTRATION.md."""

import collections
import csv
import glob
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
CHOOSING = set(range(1, 4)) | set(range(11, 15))
REPORTED = set(range(15, 23))
REPLICATES = 2000
ALONG = {"KL": "approx_kl", "clip share": "clipfrac"}  # kept at every evaluation


class Run(dict):
    """task, N, T, rate, seed, what else the cell sets; curve: [(step, mean return)]; metrics: the last of each; at: those of a step."""

    @property
    def shape(self):
        return self["task"], self["N"], self["T"]


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
    last, area_at = collections.defaultdict(dict), collections.defaultdict(dict)
    for run, key, value, step in store.execute(
        "SELECT run_id, key, value, global_step FROM metrics JOIN points USING (run_id, point) ORDER BY run_id, point"
    ):
        last[run][key] = value
        if key in ALONG.values():
            area_at[run][key, step] = value
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
        out["curve"], out["metrics"], out["at"] = curves[run], last[run], area_at[run]
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


def curve_rows(arms, keys):
    """25 points at most: mean and interval over runs of one arm at every evaluation, with the mean KL and clip share of the block before it."""
    for key, runs in arms.items():
        for point in range(max(len(run["curve"]) for run in runs)):
            values = [run["curve"][point][1] for run in runs if point < len(run["curve"])]
            step = runs[0]["curve"][point][0]
            row = (
                dict(zip(keys, key))
                | {"step": step}
                | interval("return", bootstrap([values], statistics.fmean, point))
            )
            for name, metric in ALONG.items():
                found = [run["at"][metric, step] for run in runs if (metric, step) in run["at"]]
                row[name] = statistics.fmean(found) if found else None
            yield row


# The surface.


def surface(stores, results):
    screen = list(runs_of(os.path.join(stores, "screen.sqlite")))
    final = [
        run
        for path in sorted(glob.glob(os.path.join(stores, "final_*.sqlite")))
        for run in runs_of(path)
    ]
    write(os.path.join(results, "screen_runs.csv"), list(run_rows(screen)))
    write(os.path.join(results, "rates.csv"), rate_rows(screen))
    if not final:
        return
    write(os.path.join(results, "final_runs.csv"), list(run_rows(final)))
    chosen = chosen_rates(screen + final)
    arms = {
        shape: [
            run
            for run in final
            if run.shape == shape and run["rate"] == rate and run["seed"] in REPORTED
        ]
        for shape, rate in chosen.items()
    }
    if not all(arms.values()):
        sys.exit("runs of the seeds that are reported are still to be made")
    write(os.path.join(results, "shapes.csv"), shape_rows(arms, chosen))
    write(os.path.join(results, "curves.csv"), list(curve_rows(arms, ("task", "N", "T"))))


def rate_rows(screen):
    rows = []
    for (task, n, t, rate), runs in sorted(group_by(screen, "task", "N", "T", "rate").items()):
        rows.append(
            {
                "task": task,
                "shape": f"{n}x{t}",
                "N": n,
                "T": t,
                "rate": rate,
                "runs": len(runs),
                "area": statistics.fmean(run["area"] for run in runs),
                "last": statistics.fmean(run["last"] for run in runs),
            }
        )
    return rows


def chosen_rates(runs):
    """For every shape: of the two rates that went on, the one with the larger mean area over the seeds that choose."""
    scores = collections.defaultdict(dict)
    for (task, n, t, rate), group in group_by(runs, "task", "N", "T", "rate").items():
        chosen = [run["area"] for run in group if run["seed"] in CHOOSING]
        if len(chosen) > 3:  # in the final, too
            scores[task, n, t][rate] = statistics.fmean(chosen)
    return {
        shape: max(rates, key=lambda rate: (rates[rate], -rate))
        for shape, rates in sorted(scores.items())
    }


def shape_rows(arms, chosen):
    rows = []
    best = {}
    for score in ("area", "last"):
        for (task, n, t), runs in arms.items():
            mean = statistics.fmean(run[score] for run in runs)
            if (task, score) not in best or mean > best[task, score][0]:
                best[task, score] = mean, (task, n, t)
    for shape, runs in arms.items():
        task, n, t = shape
        row = {
            "task": task,
            "shape": f"{n}x{t}",
            "N": n,
            "T": t,
            "batch": n * t,
            "rate": chosen[shape],
            "runs": len(runs),
        }
        for score in ("area", "last"):
            scores = [run[score] for run in runs]
            top = [run[score] for run in arms[best[task, score][1]]]
            row |= interval(score, bootstrap([scores], statistics.fmean))
            row |= interval(f"P(best better) {score}", bootstrap([top, scores], probability))
        reached = [run["steps to threshold"] for run in runs]
        row["at threshold"] = (
            sum(step is not None for step in reached) if task in THRESHOLDS else None
        )
        known = sorted(step if step is not None else math.inf for step in reached)
        middle = statistics.median_low(known) if task in THRESHOLDS else None
        row["median steps to threshold"] = (
            middle if middle is not None and math.isfinite(middle) else None
        )
        row["seconds a run"] = statistics.median(run["seconds"] for run in runs)
        rows.append(row)
    return rows


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
