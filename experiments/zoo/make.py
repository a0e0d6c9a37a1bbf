#!/usr/bin/env python3
"""make.py PROGRAM FOLDER [TASK...]: trains the zoo's settings and writes seeds.csv, results.csv and
configs/zoo/results.csv. FOLDER: for runs. Without words: only writes results.csv from seeds.csv.
make.py table: prints the table of README.md.

Each small task: seeds 1 to 10, each policy scored on the same 100 episodes. The best of them is
kept, and scored on 200 other episodes. Its seed goes into the settings."""

import concurrent.futures
import csv
import hashlib
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CONFIGS = ROOT / "configs" / "zoo"
SEEDS = range(1, 11)
CHOOSING, SCORING = 1, 2  # evaluation seeds
EPISODES = 100
KEPT_EPISODES = 200
T_QUANTILE = {2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262}  # Student's t, 97.5 %, by degrees of freedom
SEED_COLUMNS = ["task", "settings", "seed", "return", "parameters_hash", "steps", "cpu_seconds"]
KEPT_COLUMNS = ["kept", "return_low", "return_high"]  # of the kept seed alone
COLUMNS = (
    "task settings seed parameters_hash bits return return_low return_high episodes seeds_return "
    "seeds_return_low seeds_return_high seeds steps cpu_seconds threshold reference published "
    "published_by source"
).split()


def settings_file(task):
    return CONFIGS / (task.replace("/", "_") + ".toml")


def settings_hash(task):
    """A hash of the settings without comments and seed, which says only which policy is kept."""
    keys = tomllib.loads(settings_file(task).read_text(encoding="utf-8"))
    keys.pop("seed", None)
    return hashlib.sha256(json.dumps(keys, sort_keys=True).encode()).hexdigest()[:16]


def steps_of(task):
    """Environment steps of a training: whole blocks only."""
    keys = tomllib.loads(settings_file(task).read_text(encoding="utf-8"))
    return keys["total_timesteps"]


def set_seed(task, seed):
    path = settings_file(task)
    text = re.sub(r"(?m)^seed = .*\n", "", path.read_text(encoding="utf-8"))
    text = re.sub(r"(?m)^(env_id = .*\n)", rf"\g<1>seed = {seed}\n", text)
    path.write_text(text, encoding="utf-8")


def read(path):
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path, columns, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def short(number):
    return f"{number:.6g}"


def interval(values):
    """Mean and 95 % interval by Student's t."""
    mean = statistics.mean(values)
    if len(values) < 3:
        return {"mean": mean, "low": "", "high": ""}
    half = T_QUANTILE[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values))
    return {"mean": mean, "low": short(mean - half), "high": short(mean + half)}


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, pathlib.Path(folder)

    def call(self, *words):
        done = subprocess.run(
            [self.path, *map(str, words), "--threads", "1", "--quiet", "--json"],
            capture_output=True, text=True, cwd=self.folder,
        )  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout)

    def run_of(self, task, seed):
        return self.folder / f"{task}_{seed}"

    def score(self, run, seed, episodes):
        return self.call("eval", run, "--seed", seed, "--episodes", episodes)

    def train(self, task, seed):
        """One row of seeds.csv; the run stays in the folder."""
        run = self.run_of(task, seed)
        shutil.rmtree(run, ignore_errors=True)
        process = subprocess.Popen(
            [self.path, "train", settings_file(task), "--seed", str(seed), "--out", run,
             "--no-tensorboard", "--ledger", "none", "--threads", "1", "--quiet"],
        )  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)  # the seconds of this process alone
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{task}, seed {seed}: exit code {process.returncode}")
        record = json.loads((run / "ledger_line.json").read_text(encoding="utf-8"))
        seconds = used.ru_utime + used.ru_stime
        return {
            "task": task,
            "settings": settings_hash(task),
            "seed": seed,
            "return": short(self.score(run, CHOOSING, EPISODES)["mean_return"]),
            "parameters_hash": record["result"]["parameters_hash"],
            "steps": record["result"]["global_step"],
            "cpu_seconds": f"{seconds:.2f}",
        }


def train_task(program, task):
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", 1))) as pool:
        trained = list(pool.map(lambda seed: program.train(task, seed), SEEDS))
    best = max(trained, key=lambda row: (float(row["return"]), -row["seed"]))
    found = program.score(program.run_of(task, best["seed"]), SCORING, KEPT_EPISODES)
    best["kept"] = short(found["mean_return"])
    best["return_low"], best["return_high"] = short(found["ci_low"]), short(found["ci_high"])
    set_seed(task, best["seed"])
    for seed in SEEDS:
        shutil.rmtree(program.run_of(task, seed))
    return trained


def small_row(task, rows):
    (kept,) = [row for row in rows if row["kept"]]
    over = interval([float(row["return"]) for row in rows])
    seconds = [float(row["cpu_seconds"]) for row in rows if row["cpu_seconds"]]
    return {
        "task": task,
        "settings": kept["settings"],
        "seed": kept["seed"],
        "parameters_hash": kept["parameters_hash"],
        "bits": "any",
        "return": kept["kept"],
        "return_low": kept["return_low"],
        "return_high": kept["return_high"],
        "episodes": KEPT_EPISODES,
        "seeds_return": short(over["mean"]),
        "seeds_return_low": over["low"],
        "seeds_return_high": over["high"],
        "seeds": len(rows),
        "steps": kept["steps"],
        "cpu_seconds": f"{statistics.mean(seconds):.1f}",
        "source": "experiments/zoo",
    }


def other_row(task, source, rows, score, kept, seed, episodes, **more):
    """A row from kept runs of another experiment, whose first seed is the kept policy."""
    over = interval([float(row[score]) for row in rows])
    return {
        "task": task,
        "settings": settings_hash(task),
        "seed": seed,
        "parameters_hash": kept["parameters_hash"],
        "return": kept[score],
        "episodes": episodes,
        "seeds_return": short(over["mean"]),
        "seeds_return_low": over["low"],
        "seeds_return_high": over["high"],
        "seeds": len(rows),
        "steps": steps_of(task),
        "source": source,
        **more,
    }


# Thresholds, and what the reference policy returns, as `broadloom env list --json` has them.
GOALS = {
    "CartPole-v1": (475, 500),
    "Acrobot-v1": (-100, -100),
    "MountainCar-v0": (-110, -110),
    "MountainCarContinuous-v0": (90, 90),
    "Pendulum-v1": ("", -138.2),
    "FrozenLake-v1": (0.7, 0.74419029),
    "FrozenLake8x8-v1": (0.85, 0.91322015),
    "CliffWalking-v1": ("", -13),
    "Taxi-v3": (8, 7.93),
    "Dials-v0": ("", 32),
    "TicTacToe-v0": ("", 0.9598296957671959),
    "TMaze-v0": ("", 4),
    "InvertedPendulum-v5": (950, ""),
    "InvertedDoublePendulum-v5": (9100, ""),
    "Reacher-v5": (-3.75, ""),
    "Swimmer-v5": (360, ""),
    "Hopper-v5": (3800, ""),
    "HalfCheetah-v5": (4800, ""),
    "Ant-v5": (6000, ""),
    "Pusher-v5": (0, ""),
}

MINATAR = {  # the better of PPO and PQN over ten seeds, by scores.csv
    "Asterix": "PQN",
    "Breakout": "PQN",
    "Freeway": "PPO",
    "SpaceInvaders": "PPO",
}


def minatar_rows():
    folder = ROOT / "experiments/minatar/results"
    for game, algorithm in MINATAR.items():
        task = f"MinAtar/{game}-v1"
        rows = [
            row
            for row in read(folder / "runs.csv")
            if row["study"] == f"scores_{algorithm.lower()}" and row["game"] == game
        ]
        (score,) = [
            row
            for row in read(folder / "scores.csv")
            if row["game"] == game and row["algorithm"] == algorithm
        ]
        yield other_row(
            task, "experiments/minatar", rows, "last", rows[0], 1, 100, bits="any",
            published=score["gymnax-blines"], published_by="gymnax-blines",
        )  # fmt: skip


def mujoco_rows():
    folder = ROOT / "experiments/mujoco/results"
    speeds = {}
    for line in (folder / "times.jsonl").read_text(encoding="utf-8").splitlines():
        found = json.loads(line)
        speeds[found["task"]] = found["seconds_per_million"]["broadloom"]
    tasks = dict.fromkeys(row["task"] for row in read(folder / "runs.csv"))
    for task in tasks:
        rows = [
            row
            for row in read(folder / "runs.csv")
            if row["task"] == task and row["block"] == "1x2048"
        ]
        means = [r for r in read(folder / "means.csv") if r["task"] == task and r["cleanrl"]]
        yield other_row(
            f"{task}-v5", "experiments/mujoco", rows, "last", rows[0], 1, 10, bits="machine",
            cpu_seconds=speeds.get(task, ""),
            published=means[0]["cleanrl"] if means else "",
            published_by="CleanRL v4" if means else "",
        )  # fmt: skip


def quadruped_row():
    path = ROOT / "experiments/quadruped/results/ledger.jsonl"
    record = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    score = record["evaluation"]
    kept = {
        "parameters_hash": record["result"]["parameters_hash"],
        "last": short(score["mean_return"]),
    }
    return other_row(
        "Quadruped-v0", "experiments/quadruped", [kept], "last", kept, 1, score["episodes"],
        bits="machine", return_low=short(score["ci_low"]), return_high=short(score["ci_high"]),
        cpu_seconds=round(record["speed"]["seconds"]),
    )  # fmt: skip


def results():
    seeds = read(HERE / "seeds.csv")
    small = dict.fromkeys(row["task"] for row in seeds)
    rows = [small_row(task, [row for row in seeds if row["task"] == task]) for task in small]
    rows += [*minatar_rows(), *mujoco_rows(), quadruped_row()]
    for row in rows:
        row["threshold"], row["reference"] = GOALS.get(row["task"], ("", ""))
    return rows


def digits(text):
    if text == "":
        return ""
    number = float(text)
    size = abs(number)
    return f"{number:,.{0 if size >= 100 else 1 if size >= 10 else 2}f}"


def bracketed(row, name):
    if row[f"{name}_low"] == "":
        return digits(row[name])
    return f"{digits(row[name])} [{digits(row[f'{name}_low'])}, {digits(row[f'{name}_high'])}]"


def table(rows):
    """The page's table, as lines of Markdown."""
    yield "| task | kept policy | episodes | over seeds | seeds | steps | seconds | goal |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in rows:
        goals = [f"{word} {digits(row[word])}" for word in ("threshold", "reference") if row[word]]
        if row["published"]:
            goals.append(f"{row['published_by']} {digits(row['published'])}")
        cells = [
            row["task"], bracketed(row, "return"), row["episodes"], bracketed(row, "seeds_return"),
            row["seeds"], f"{int(row['steps']):,}", digits(row["cpu_seconds"]),
            ", ".join(goals),
        ]  # fmt: skip
        yield "| " + " | ".join(str(cell) for cell in cells) + " |"


SMALL = (  # in the order of `broadloom env list`
    "CartPole-v1 Acrobot-v1 MountainCar-v0 MountainCarContinuous-v0 Pendulum-v1 FrozenLake-v1 "
    "FrozenLake8x8-v1 CliffWalking-v1 Taxi-v3 Dials-v0 TicTacToe-v0 TMaze-v0"
).split()


def main():
    seeds = read(HERE / "seeds.csv")
    if sys.argv[1:] == ["table"]:
        print("\n".join(table(read(HERE / "results.csv"))))
        return
    if len(sys.argv) > 2:
        program = Program(str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2])
        for task in sys.argv[3:] or SMALL:
            done = [row for row in seeds if row["task"] == task]
            if len(done) == len(SEEDS) and done[0]["settings"] == settings_hash(task):
                continue
            seeds = [row for row in seeds if row["task"] != task] + train_task(program, task)
            seeds.sort(key=lambda row: SMALL.index(row["task"]))
            write(HERE / "seeds.csv", SEED_COLUMNS + KEPT_COLUMNS, seeds)
            print(task, flush=True)
    rows = results()
    for path in (HERE / "results.csv", CONFIGS / "results.csv"):
        write(path, COLUMNS, rows)


if __name__ == "__main__":
    main()
