#!/usr/bin/env python3
"""analyse.py keep STORES RESULTS: a row for each finished run of run.sh's stores, into RESULTS/runs.csv (one of the same task, block and seed is
replaced). analyse.py judge RESULTS: means, differences and the verdicts on PREREGISTRATION.md."""

import json
import sqlite3
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from rows import interval, read, together, write  # noqa: E402

TASKS = [
    "InvertedPendulum",
    "InvertedDoublePendulum",
    "Reacher",
    "Swimmer",
    "HalfCheetah",
    "Hopper",
    "Walker2d",
    "Pusher",
    "Ant",
    "Humanoid",
]
BLOCKS = {"cleanrl": "1x2048", "wide": "8x256", "hour": "8x256, 3M"}
# docs.cleanrl.dev, ppo_continuous_action.py, v4, 1M steps: mean and standard deviation of three
# seeds.
PUBLISHED = {
    "HalfCheetah": (1442.64, 46.03),
    "Hopper": (2382.86, 271.74),
    "Walker2d": (2287.95, 571.78),
    "InvertedPendulum": (963.09, 22.20),
    "Pusher": (-40.38, 7.15),
    "Humanoid": (716.11, 49.08),
}
COLUMNS = ["task", "block", "seed", "training", "last", "parameters_hash"]


def keep(stores, results):
    path = results / "runs.csv"
    rows = {(row["task"], row["block"], row["seed"]): row for row in read(path)}
    for file in sorted(stores.glob("*.sqlite")):
        with sqlite3.connect(file) as store:
            for cell, seed, training, last, parameters in store.execute(
                "SELECT cells.name, runs.seed, scores.training_return, (SELECT mean_return FROM evaluations WHERE run_id = runs.id "
                "ORDER BY global_step DESC LIMIT 1), runs.parameters_hash FROM runs JOIN cells ON cells.id = runs.cell_id "
                "JOIN scores ON scores.run_id = runs.id WHERE runs.status = 'finished'"
            ):
                env, _, block = cell.removeprefix("env_id=").partition(" ")
                row = [
                    env.removesuffix("-v5"),
                    BLOCKS[block],
                    str(seed),
                    f"{training:.6g}",
                    f"{last:.6g}",
                    parameters,
                ]
                rows[tuple(row[:3])] = dict(zip(COLUMNS, row))
    order = sorted(
        rows.values(), key=lambda row: (TASKS.index(row["task"]), row["block"], int(row["seed"]))
    )
    write(path, COLUMNS, [[row[column] for column in COLUMNS] for row in order])
    print(f"{len(rows)} runs in {path}")
    keep_kl(stores, results)
    blind = [
        (*line.parent.name.split("-v5_"), found["mean_return"], found["parameters_hash"])
        for line in sorted(stores.glob("blind/*/ledger_line.json"))
        for found in [json.loads(line.read_text())["result"]]
    ]
    if blind:
        write(
            results / "without_contact_forces.csv",
            ["task", "seed", "training", "parameters_hash"],
            blind,
            digits=6,
        )


def keep_kl(stores, results):
    """Mean over seeds of an update's KL, along the runs of Ant and Humanoid."""
    rows = []
    for file in sorted([*stores.glob("Ant-v5*.sqlite"), *stores.glob("Humanoid-v5*.sqlite")]):
        with sqlite3.connect(file) as store:
            for cell, steps, runs, kl in store.execute(
                "SELECT cell, environment_steps, count(*), avg(value) FROM learning_curves WHERE key = 'approx_kl' "
                "AND environment_steps % 150000 = 0 GROUP BY 1, 2"
            ):
                env, _, block = cell.removeprefix("env_id=").partition(" ")
                rows.append((env.removesuffix("-v5"), BLOCKS[block], steps, runs, kl))
    if rows:
        write(results / "kl.csv", ["task", "block", "environment_steps", "runs", "approx_kl"], rows)


def judge(results):
    rows = read(results / "runs.csv")
    runs = {}  # (task, block): {seed: row}
    for row in rows:
        runs.setdefault((row["task"], row["block"]), {})[int(row["seed"])] = row
    means, differences, verdicts = [], [], []
    for task in TASKS:
        for block in BLOCKS.values():
            own_runs = runs.get((task, block), {})
            if len(own_runs) < 2:
                continue
            training = interval([float(row["training"]) for row in own_runs.values()])
            last = interval([float(row["last"]) for row in own_runs.values()])
            bar, spread = PUBLISHED.get(task, ("", ""))
            means.append((task, block, len(own_runs), *training, *last, bar, spread))
            if block == "1x2048" and bar != "":
                # The first prediction names four tasks; Pusher has another model here than
                # CleanRL's.
                number = {"Pusher": "", "Humanoid": 4}.get(task, 1)
                verdicts.append(
                    (
                        number,
                        f"{task}: training return, at least {bar - spread:.5g}",
                        training[0],
                        "held" if training[0] >= bar - spread else "refuted",
                    )
                )
        one, eight, hour = (runs.get((task, block), {}) for block in BLOCKS.values())
        seeds = sorted(one.keys() & eight.keys())
        if len(seeds) >= 2:
            found = interval(
                [float(eight[seed]["training"]) - float(one[seed]["training"]) for seed in seeds]
            )
            differences.append((task, "8x256 less 1x2048", len(seeds), *found))
            verdicts.append(
                (
                    2,
                    f"{task}: 8x256 less 1x2048, interval reaches 0",
                    found[2],
                    "refuted" if found[2] < 0 else "held",
                )
            )
        seeds = sorted(one.keys() & hour.keys())
        if len(seeds) >= 2:
            found = interval(
                [float(hour[seed]["training"]) - float(one[seed]["training"]) for seed in seeds]
            )
            differences.append((task, "8x256 for 3M less 1x2048 for 1M", len(seeds), *found))
            verdicts.append(
                (
                    5,
                    f"{task}: 3M less 1M, interval above 0",
                    found[1],
                    "held" if found[1] > 0 else "refuted",
                )
            )
    for task, bar in (("InvertedPendulum", 950.0), ("InvertedDoublePendulum", 9100.0)):
        own_runs = [float(row["last"]) for row in runs.get((task, "8x256"), {}).values()]
        if own_runs:
            verdicts.append(
                (
                    3,
                    f"{task}, 8x256: least of {len(own_runs)} last evaluations, above {bar:.0f}",
                    min(own_runs),
                    "held" if min(own_runs) > bar else "refuted",
                )
            )
    hour = {
        task: [float(row["training"]) for row in runs.get((task, BLOCKS["hour"]), {}).values()]
        for task in ("Ant", "Humanoid")
    }
    if hour["Ant"]:
        verdicts.append(
            (
                6,
                f"Ant, 3M: least of {len(hour['Ant'])} training returns, above 1000",
                min(hour["Ant"]),
                "held" if min(hour["Ant"]) > 1000 else "refuted",
            )
        )
        mean = sum(hour["Ant"]) / len(hour["Ant"])
        verdicts.append(
            (6, "Ant, 3M: mean, below 3500", mean, "held" if mean < 3500 else "refuted")
        )
    if hour["Humanoid"]:
        mean = sum(hour["Humanoid"]) / len(hour["Humanoid"])
        verdicts.append(
            (
                7,
                "Humanoid, 3M: mean, between 800 and 2500",
                mean,
                "held" if 800 <= mean <= 2500 else "refuted",
            )
        )
    write(
        results / "means.csv",
        [
            "task",
            "block",
            "runs",
            "training",
            "training_low",
            "training_high",
            "last",
            "last_low",
            "last_high",
            "cleanrl",
            "cleanrl_sd",
        ],
        means,
    )
    write(
        results / "differences.csv", ["task", "what", "runs", "value", "low", "high"], differences
    )
    whole = [
        (runs[task, "1x2048"].values(), runs[task, "8x256"].values())
        for task in TASKS
        if len(runs.get((task, "8x256"), {})) == 5
    ]
    all_tasks = []
    for score in ("training", "last"):
        pairs = [[[float(row[score]) for row in side] for side in pair] for pair in whole]
        all_tasks.append((score, len(pairs), *together(pairs)))
    write(results / "together.csv", ["score", "tasks", "1x2048 ahead", "p"], all_tasks)
    write(results / "verdicts.csv", ["prediction", "what", "value", "verdict"], verdicts)
    for row in [*means, *differences, *verdicts]:
        print(*[f"{x:.5g}" if isinstance(x, float) else x for x in row], sep="  ")


if __name__ == "__main__":
    if sys.argv[1] == "keep":
        keep(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        judge(Path(sys.argv[2]))
