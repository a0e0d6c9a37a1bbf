#!/usr/bin/env python3
"""mjlab's Go1 through our runner and through RSL-RL's, on mjlab's CPU device (RUNNER.md).

mjlab's own `train` makes the environments and calls the runner, and its own `play` loads the
models; the runner's class is all that differs. Needs Python 3.11 and a build with the Python
package. mjlab goes into a virtual environment beside this file, unless --no-install says that it is
there. The same call continues a stopped measurement."""

from __future__ import annotations

import argparse
import csv
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from calm import Neighbours
from install import install, versions
from machine import first_line, last_line, processor

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TASK = "Mjlab-Velocity-Flat-Unitree-Go1"
RUNS = ("ours", "rsl_rl", "ours_again")
PLAYS = ("ours", "rsl_rl", "zero")
CLOCKS = {"seconds": time.process_time, "wall": time.perf_counter}
TIMES = ("wall_time", "steps_per_second")  # numbers of a log that no two runs share
ROWS = 10  # updates in a row of the kept table
PLAY_SEED = 7


class Course:
    """Seconds and episodes of each update. It ends when the environments are closed."""

    def __init__(self, num_envs: int, num_steps: int) -> None:
        self.num_steps, self.steps = num_steps, 0
        self.simulator = dict.fromkeys(CLOCKS, 0.0)
        self.marks: list[dict[str, float]] = []
        self.rewards: list[float] = []
        self.episodes: list[tuple[int, int, float]] = []  # update, length, return
        self.age, self.sum = [0] * num_envs, [0.0] * num_envs

    def mark(self) -> None:
        mark = {name: clock() for name, clock in CLOCKS.items()}
        self.marks.append(mark | {f"simulator_{k}": v for k, v in self.simulator.items()})

    def timed(self, call: Any, *arguments: Any, **keys: Any) -> Any:
        begin = {name: clock() for name, clock in CLOCKS.items()}
        found = call(*arguments, **keys)
        for name, clock in CLOCKS.items():
            self.simulator[name] += clock() - begin[name]
        return found

    def count(self, rewards: list[float], ended: list[bool]) -> None:
        self.rewards.append(sum(rewards) / len(rewards))
        for i, reward in enumerate(rewards):
            self.age[i] += 1
            self.sum[i] += reward
            if ended[i]:
                self.episodes.append((self.steps // self.num_steps, self.age[i], self.sum[i]))
                self.age[i], self.sum[i] = 0, 0.0
        self.steps += 1

    def updates(self) -> list[dict[str, Any]]:
        found = []
        for i, (begin, end) in enumerate(zip(self.marks, self.marks[1:])):
            block = self.rewards[i * self.num_steps : (i + 1) * self.num_steps]
            ended = [one for one in self.episodes if one[0] == i]
            one: dict[str, Any] = {name: end[name] - begin[name] for name in begin}
            one |= {"reward": sum(block) / len(block), "episodes": len(ended)}
            one |= {"length": sum(e[1] for e in ended), "return": sum(e[2] for e in ended)}
            found.append(one)
        return found


def timed_environment(course: Course) -> type:
    from mjlab.envs import ManagerBasedRlEnv

    class Timed(ManagerBasedRlEnv):
        def step(self, action: Any) -> Any:
            if course.steps % course.num_steps == 0:
                course.mark()
            found = course.timed(super().step, action)
            course.count(found[1].tolist(), (found[2] | found[3]).tolist())
            return found

        def reset(self, **keys: Any) -> Any:
            return course.timed(super().reset, **keys)

        def close(self) -> None:
            course.mark()
            super().close()

    return Timed


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def log_digests(path: Path) -> list[str]:
    """Hashes of metrics.jsonl without its times, up to and with each line."""
    hashed, found = hashlib.sha256(), []
    for line in path.read_text().splitlines():
        kept = {k: v for k, v in json.loads(line).items() if k not in TIMES}
        hashed.update(json.dumps(kept).encode())
        found.append(hashed.hexdigest())
    return found


def updates_of(name: str, options: argparse.Namespace) -> int:
    """The same seed again is trained to the model after half of the updates."""
    return options.updates // 2 + 1 if name == "ours_again" else options.updates


def one_training(name: str, options: argparse.Namespace) -> dict[str, Any]:
    import mjlab.scripts.train as script
    import mjlab.tasks  # noqa: F401  registers the tasks
    from mjlab.rl import MjlabOnPolicyRunner
    from mjlab.tasks.registry import load_env_cfg, load_rl_cfg, register_mjlab_task

    import broadloom.rsl_rl

    ours = functools.partial(broadloom.rsl_rl.OnPolicyRunner, threads=1)
    runner = MjlabOnPolicyRunner if name == "rsl_rl" else ours
    agent = load_rl_cfg(TASK)
    agent.seed, agent.max_iterations = options.seed, updates_of(name, options)
    agent.logger, agent.upload_model = "tensorboard", False
    environment = load_env_cfg(TASK)
    environment.scene.num_envs = options.num_envs
    task = f"{TASK}-{name}"
    register_mjlab_task(task, environment, load_env_cfg(TASK, play=True), agent, runner)
    course = Course(options.num_envs, agent.num_steps_per_env)
    script.ManagerBasedRlEnv = timed_environment(course)
    folder = options.models / name
    shutil.rmtree(folder, ignore_errors=True)  # what a stopped measurement left
    script.run_train(task, script.TrainConfig.from_task(task), folder)
    found: dict[str, Any] = {"updates": course.updates()}
    found["models"] = {path.name: digest(path) for path in sorted(folder.glob("model_*.pt"))}
    if name != "rsl_rl":
        found["logs"] = log_digests(folder / "broadloom_1/metrics.jsonl")
    return found


def one_play(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Steps of mjlab's play without its viewer: rewards, falls, and how far our own policies of the
    same file act from the policy that mjlab loaded."""
    import mjlab.scripts.play as script
    import mjlab.tasks  # noqa: F401  registers the tasks
    import numpy as np
    import torch
    from dataclasses import asdict
    from mjlab.tasks.registry import load_rl_cfg
    from mjlab.utils.random import seed_rng

    import broadloom.rsl_rl

    model = options.models / name / f"model_{options.updates - 1}.pt"
    found: dict[str, Any] = {"rewards": [], "falls": 0}

    class Steps:
        """In the place of mjlab's viewer."""

        def __init__(self, env: Any, policy: Any, checkpoint_manager: Any = None) -> None:
            self.env, self.policy, self.others = env, policy, {}
            if name == "zero":
                return
            known = [entry[0] for entry in checkpoint_manager.fetch_available()]
            self.policy = checkpoint_manager.load_checkpoint(model.name)
            found["models_in_viewer"] = len(known)
            runner = broadloom.rsl_rl.OnPolicyRunner(env, asdict(load_rl_cfg(TASK)))
            runner.load(model, load_cfg={"actor": True})
            self.others["runner"] = runner.get_inference_policy("cpu")
            if name == "ours":
                engine = broadloom.Policy(model.parent / "broadloom_1")
                self.others["engine"] = lambda rows: torch.from_numpy(
                    engine.outputs(rows["actor"].numpy())[0]
                )
            found["difference"] = dict.fromkeys(self.others, 0.0)

        def run(self) -> None:
            for _ in range(options.play_steps):
                with torch.no_grad():
                    rows = self.env.get_observations()
                    actions = self.policy(rows)
                    for key, policy in self.others.items():
                        gap = float((policy(rows) - actions).abs().max())
                        found["difference"][key] = max(gap, found["difference"][key])
                    _, rewards, ended, _ = self.env.step(actions)
                found["rewards"].append(float(rewards.mean()))
                found["falls"] += int(ended.sum())
            found["largest_action"] = float(np.abs(actions.numpy()).max())

    script.ViserPlayViewer = Steps
    seed_rng(PLAY_SEED)
    agent = {"agent": "zero"} if name == "zero" else {"checkpoint_file": str(model)}
    keys = {"device": "cpu", "num_envs": options.num_envs, "viewer": "viser"}
    script.run_play(TASK, script.PlayConfig(**agent, **keys))
    found["reward"] = sum(found.pop("rewards")) / options.play_steps
    if name != "zero":
        saved = torch.load(model, weights_only=True)["optimizer_state_dict"]
        found["learning_rate"] = saved["param_groups"][0]["lr"]
    return found


def in_process(what: str, name: str, options: argparse.Namespace) -> dict[str, Any]:
    words = [str(options.venv / "bin/python"), __file__, "--one", what, name]
    for key in ("updates", "num_envs", "seed", "play_steps", "models"):
        words += [f"--{key.replace('_', '-')}", str(getattr(options, key))]
    path = os.pathsep.join([str(options.package), os.environ.get("PYTHONPATH", "")])
    one_core = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": path}
    neighbours = Neighbours()
    log = options.models / f"{what}_{name}.log"
    with log.open("w") as errors:
        done = subprocess.run(
            words,
            check=False,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=os.environ | one_core,
        )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: {last_line(log.read_text())}; see {log}")
    return {"others": round(neighbours.cores(), 2), **json.loads(last_line(done.stdout))}


def conditions(options: argparse.Namespace) -> dict[str, Any]:
    keys = ("updates", "num_envs", "seed", "play_steps")
    own = {key: getattr(options, key) for key in keys}
    return {"processor": processor(), **own, "versions": versions(options.venv)}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    record: dict[str, Any] = {"conditions": conditions(options), "train": {}, "play": {}}
    if options.out.exists():
        record = json.loads(options.out.read_text())
        if record["conditions"] != conditions(options):
            raise SystemExit(f"{options.out}: made under other conditions; name another file")
    record["revision"] = first_line(["git", "-C", str(ROOT), "describe", "--always", "--dirty"])
    for what, names in (("train", RUNS), ("play", PLAYS)):
        for name in names:
            if name in record[what]:
                continue
            record[what][name] = in_process(what, name, options)
            options.out.write_text(json.dumps(record))
            print(f"{what} {name}", file=sys.stderr, flush=True)
    return record


def mean(rows: list[dict[str, Any]], key: str) -> float:
    return sum(row[key] for row in rows) / len(rows)


def shares(one: dict[str, Any]) -> dict[str, float]:
    """Seconds of an update."""
    rows = one["updates"]
    found = {name: mean(rows, name) for name in CLOCKS}
    found |= {f"simulator_{name}": mean(rows, f"simulator_{name}") for name in CLOCKS}
    return found | {"rest": found["seconds"] - found["simulator_seconds"]}


def table(record: dict[str, Any]) -> str:
    trained = {name: shares(record["train"][name]) for name in RUNS}
    updates = {name: record["train"][name]["updates"] for name in RUNS}
    part = max(1, len(updates["ours"]) // 10)

    def ended(rows: list[dict[str, Any]], key: str) -> float:
        return sum(row[key] for row in rows) / max(1, sum(row["episodes"] for row in rows))

    lines: list[tuple[str, Any]] = [
        ("updates a second", lambda name: f"{1 / trained[name]['seconds']:.3f}"),
        ("seconds of an update", lambda name: f"{trained[name]['seconds']:.3f}"),
        ("- in the simulator", lambda name: f"{trained[name]['simulator_seconds']:.3f}"),
        ("- in the rest, the learner", lambda name: f"{trained[name]['rest']:.4f}"),
        (
            "share of the simulator",
            lambda name: f"{trained[name]['simulator_seconds'] / trained[name]['seconds']:.1%}",
        ),
        ("seconds of an update by the clock", lambda name: f"{trained[name]['wall']:.3f}"),
        ("cores of others meanwhile", lambda name: f"{record['train'][name]['others']:.2f}"),
        (
            f"reward of a step, first {part} updates",
            lambda name: f"{mean(updates[name][:part], 'reward'):.4f}",
        ),
        (
            f"reward of a step, last {part} updates",
            lambda name: f"{mean(updates[name][-part:], 'reward'):.4f}",
        ),
        ("episodes that ended", lambda name: f"{sum(r['episodes'] for r in updates[name])}"),
        ("steps of an episode", lambda name: f"{ended(updates[name], 'length'):.0f}"),
        (
            f"steps of an episode, last {3 * part} updates",
            lambda name: f"{ended(updates[name][-3 * part :], 'length'):.0f}",
        ),
    ]
    text = "| | Broadloom's runner | RSL-RL's | Broadloom's again |\n|---|---|---|---|\n"
    for what, cell in lines:
        text += f"| {what} | " + " | ".join(cell(name) for name in RUNS) + " |\n"
    text += "\n| played by mjlab | reward of a step | falls | largest gap of actions | rate |\n"
    text += "|---|---|---|---|---|\n"
    for name in PLAYS:
        one = record["play"][name]
        gaps = ", ".join(f"{gap:.1e} ({key})" for key, gap in one.get("difference", {}).items())
        rate = one.get("learning_rate", "")
        text += f"| {name} | {one['reward']:.4f} | {one['falls']} | {gaps} | {rate} |\n"
    return text + "\n" + repeats(record["train"]["ours"], record["train"]["ours_again"])


def repeats(first: dict[str, Any], again: dict[str, Any]) -> str:
    """Whether both runs of one seed have the same bits, as far as the second one goes."""
    shared = sorted(first["models"].keys() & again["models"].keys(), key=len)
    equal = [name for name in shared if first["models"][name] == again["models"][name]]
    count = len(again["logs"])
    logs = "equal" if first["logs"][count - 1] == again["logs"][-1] else "DIFFER"
    return f"files equal: {equal} of {shared}; logs of {count} updates: {logs}\n"


def write_csv(path: Path, record: dict[str, Any]) -> None:
    """Rows of ROWS updates; beside them the hashes of both runs of a seed, and what play gave."""
    names = ("seconds", "simulator_seconds", "wall", "simulator_wall", "reward")
    counts = ("episodes", "length", "return")
    with path.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["run", "last update", *names, *counts])
        for run in RUNS:
            rows = record["train"][run]["updates"]
            for first in range(0, len(rows), ROWS):
                block = rows[first : first + ROWS]
                means = [f"{mean(block, name):.5g}" for name in names]
                sums = [f"{sum(row[name] for row in block):.6g}" for name in counts]
                writer.writerow([run, first + len(block), *means, *sums])
    again = record["train"]["ours_again"]["logs"]
    with path.with_name(f"{path.stem}_hashes.csv").open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["run", "file", "hash"])
        for run in ("ours", "ours_again"):
            one = record["train"][run]
            logs = {f"log of {len(again)} updates": one["logs"][len(again) - 1]}
            writer.writerows([run, *item] for item in (one["models"] | logs).items())
    gaps, facts = ("runner", "engine"), ("models_in_viewer", "learning_rate")
    with path.with_name(f"{path.stem}_play.csv").open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        titles = [*(f"{key} gap" for key in gaps), *(key.replace("_", " ") for key in facts)]
        writer.writerow(["model", "reward", "falls", *titles])
        for name in PLAYS:
            one = record["play"][name]
            found = [one.get("difference", {}).get(key, "") for key in gaps]
            found += [one.get(key, "") for key in facts]
            writer.writerow([name, f"{one['reward']:.6g}", one["falls"], *found])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--num-envs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--play-steps", type=int, default=250, help="of each environment")
    parser.add_argument("--package", type=Path, default=ROOT / "build/release/python")
    parser.add_argument("--venv", type=Path, default=HERE / ".venv")
    parser.add_argument("--no-install", action="store_true", help="take the environment as it is")
    parser.add_argument("--models", type=Path, default=Path("mjlab_go1"), help="folder of models")
    parser.add_argument("--out", type=Path, default=Path("mjlab_go1.json"))
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.models = options.models.resolve()
    if options.one:
        what, name = options.one
        print(json.dumps({"train": one_training, "play": one_play}[what](name, options)))
        return
    missing = {} if options.no_install else install(options.venv, {"mjlab"})
    if missing:
        raise SystemExit(f"mjlab: {missing['mjlab']}")
    options.models.mkdir(parents=True, exist_ok=True)
    record = measure(options)
    write_csv(options.out.with_suffix(".csv"), record)
    print(table(record))


if __name__ == "__main__":
    main()
