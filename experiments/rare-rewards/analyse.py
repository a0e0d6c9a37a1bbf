#!/usr/bin/env python3
"""Keeps what the page needs of the studies, as CSV, and judges the predictions.

    analyse.py STORES RESULTS PROGRAM

`broadloom report --tuned learning_rate` chooses the rates and makes the calls; `runs.csv` has every
run. A run has *found* the reward once a training episode was rewarded (MountainCar: ended at the
goal, so with a return above -200).
"""

import collections
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from rows import write, write_verdicts  # noqa: E402

STUDIES = {  # store: (task, panel)
    "corridor_12": ("12 moves", "one"),
    "corridor_26": ("26 moves", "one"),
    "mountain_car": ("MountainCar-v0", "one"),
    "fixed_12": ("12 moves", "two"),
    "fixed_26": ("26 moves", "two"),
}
NOTHING = {"MountainCar-v0": -200.0}  # mean return of episodes without a find; else 0
SOLVED = {"MountainCar-v0": -110.0}  # else 0.9
CALLS = {"a": "lower", "b": "better", "none": "none"}  # of b, where a has one environment


def runs_of(path, task):
    """{(algorithm, N, T, rate, seed): (last evaluation, steps until found)}"""
    query = """
        SELECT json_extract(config, '$.algorithm'), num_envs, num_steps,
               CAST(json_extract(config, '$.learning_rate') AS REAL), seed,
               (SELECT mean_return FROM evaluations e WHERE e.run_id = runs.id
                ORDER BY global_step DESC LIMIT 1),
               (SELECT min(global_step) FROM metrics JOIN points USING (run_id, point)
                WHERE metrics.run_id = runs.id AND key = 'episodic_return' AND value > ?)
        FROM runs JOIN cells ON cells.id = cell_id WHERE status = 'finished' ORDER BY runs.id"""
    with sqlite3.connect(path) as store:
        found = store.execute(query, (NOTHING.get(task, 0.0),)).fetchall()
    return {tuple(one[:5]): one[5:] for one in found}


def report_of(path, program):
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "report", path, "--tuned", "learning_rate", "--out", folder, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def algorithm_of(cell):
    return "ppo_rnd" if "ppo_rnd" in cell["name"] else "ppo"


def arm_row(task, panel, cell, runs):
    """An arm at its cross-fitted rate."""
    algorithm, tuned = algorithm_of(cell), cell["tuned"]
    evaluations, finds = [], []
    for seed, rate in zip(tuned["seeds"], tuned["chosen"], strict=True):
        key = algorithm, cell["num_envs"], cell["num_steps"], float(rate), seed
        evaluations.append(runs[key][0])
        finds.append(runs[key][1])
    score = cell["scores"]["evaluation"]["mean"]
    return [
        task, panel, algorithm, cell["num_envs"], cell["num_steps"], cell["gradient_steps"],
        len(evaluations), score["value"], score["low"], score["high"],
        sum(value >= SOLVED.get(task, 0.9) for value in evaluations),
        sum(steps is not None for steps in finds) if panel == "one" else "",
        tuned["best"], "yes" if tuned["at_edge"] else "", " ".join(tuned["like_best"]),
    ]  # fmt: skip


def pair_rows(task, panel, found):
    """Each arm against the one with a single environment, and RND against PPO, by evaluation."""
    cells = found["cells"]
    for pair in found["comparisons"]:
        a, b = (cells[found["arms"][pair[side]]["cells"][0]] for side in "ab")
        same = algorithm_of(a) == algorithm_of(b)
        if pair["score"] != "evaluation" or not (
            (same and a["num_envs"] == 1)
            or (not same and a["num_envs"] == b["num_envs"])
        ):  # fmt: skip
            continue
        p, gap = pair["probability"], pair["difference"]
        call = "depends on the rate" if pair["hangs_on_choice"] else CALLS[pair["result"]]
        yield [
            task, panel, f"{algorithm_of(a)} {a['num_envs']}x{a['num_steps']}",
            f"{algorithm_of(b)} {b['num_envs']}x{b['num_steps']}",
            *(p[key] for key in ("value", "low", "high")),
            *(gap[key] for key in ("value", "low", "high")), call,
        ]  # fmt: skip


def verdicts(arms, pairs):
    """(prediction, what, value, refuted)"""
    solved = {(a[0], a[1], a[2], a[3]): a[10] for a in arms}
    finds = {(a[0], a[1], a[2], a[3]): a[11] for a in arms}
    calls = collections.defaultdict(dict)
    for pair in pairs:
        a, b = pair[2].split(), pair[3].split()
        if a[0] == b[0]:
            calls[pair[0], pair[1], a[0]][int(b[1].partition("x")[0])] = pair[10]

    def better(task, algorithm):
        return [n for n, call in calls[task, "one", algorithm].items() if call == "better"]

    found = better("12 moves", "ppo")
    yield 1, "PPO, 12 moves: larger N better than one environment", len(found), len(found) > 0
    call = calls["12 moves", "one", "ppo"].get(1024, "")
    yield 2, "PPO, 12 moves: 1024x4 against 1x4096", call, call != "lower"
    most = max(solved["26 moves", "one", "ppo", n] for n in (1, 8, 64, 1024))
    yield 3, "PPO, 26 moves: most runs that solve it at one N", most, most > 1
    at_64, at_1024 = (solved["26 moves", "one", "ppo_rnd", n] for n in (64, 1024))
    yield 4, "RND, 26 moves: runs of 64x64 that solve it", at_64, at_64 < 8
    yield 5, "RND, 26 moves: 64x64 less 1024x4, runs", at_64 - at_1024, at_64 - at_1024 < 3
    key = "12 moves", "one", "ppo", 1024
    yield 6, "PPO, 12 moves, 1024x4: runs that find it", finds[key], finds[key] < 7
    yield 6, "and runs that solve it", solved[key], solved[key] >= finds[key] / 2
    for name, algorithm in (("PPO", "ppo"), ("RND", "ppo_rnd")):
        found = better("MountainCar-v0", algorithm)
        yield (
            7, f"{name}, MountainCar: larger N better than one environment",
            len(found), len(found) > 0,
        )  # fmt: skip
    wide, narrow = (solved.get(("12 moves", "two", "ppo", n)) for n in (1024, 8))
    if wide is not None:
        yield 8, "PPO, 12 moves, T = 64: 8x64 less 1024x64, runs", narrow - wide, wide >= narrow


def main():
    stores, results, program = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    kept, arms, pairs = [], [], []
    for name, (task, panel) in STUDIES.items():
        path = stores / f"{name}.sqlite"
        if not path.exists():
            continue
        runs, found = runs_of(path, task), report_of(path, program)
        kept += [
            [task, panel, *key, last, steps if panel == "one" and steps else ""]
            for key, (last, steps) in runs.items()
        ]
        arms += [arm_row(task, panel, cell, runs) for cell in found["cells"]]
        pairs += pair_rows(task, panel, found)
    arms.sort(
        key=lambda arm: (arm[1], list(STUDIES.values()).index((arm[0], arm[1])), arm[2], arm[3])
    )
    write(results / "runs.csv", [
        "task", "panel", "algorithm", "N", "T", "rate", "seed", "last evaluation", "steps until found",
    ], kept)  # fmt: skip
    write(results / "arms.csv", [
        "task", "panel", "algorithm", "N", "T", "gradient steps", "runs", "return", "return low",
        "return high", "solved", "found", "best rate", "at edge", "rates as good",
    ], arms)  # fmt: skip
    write(results / "pairs.csv", [
        "task", "panel", "a", "b", "P(a better)", "P low", "P high", "difference",
        "difference low", "difference high", "b is",
    ], pairs)  # fmt: skip
    write_verdicts(results / "verdicts.csv", verdicts(arms, pairs))


if __name__ == "__main__":
    main()
