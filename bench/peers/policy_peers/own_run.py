"""One training of Broadloom, on its own environment or on the same one through Gymnasium.

It runs twice, with evaluations and without: the second gives the clock, set-up and files included.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import broadloom

from policy_peers.clock import Clock
from policy_peers.stepping import environments, steps_per_second
from policy_peers.tasks import TASKS, Task, arguments, contender
from to_threshold.broadloom_run import lines_of, training_again

NEVER = 10**9  # iterations


def train(task: Task, keys: dict[str, Any], python: bool, out: Path) -> None:
    keys = {**task.keys, **keys, "threads": 1, "checkpoint_interval": NEVER, "quiet": True}
    keys |= {"tensorboard": False, "ledger": "none", "out": str(out)}
    if python:
        broadloom.train(lambda num_envs: environments(task, num_envs), name="Peer-v0", **keys)
    else:
        broadloom.train(task.env_id, env_kwargs=task.options or None, **keys)


def parameter_count(run: Path) -> int:
    last = max((run / "checkpoints").glob("*.safetensors"))
    with last.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return header["learner.params"]["shape"][0]


def main() -> None:
    options = arguments(__doc__)
    task, who = TASKS[options.task], contender(options.contender)
    keys: dict[str, Any] = {"seed": options.seed, "recurrent": who.recurrent}
    if who.first:
        keys["recurrent_units"] = int(task.keys["hidden_sizes"].split(",")[-1])
    if options.budget:
        keys["total_timesteps"] = options.budget
    evaluated = keys | {"eval_interval": task.interval, "eval_episodes": task.episodes}
    with tempfile.TemporaryDirectory() as folder:
        plain, other = Path(folder) / "plain", Path(folder) / "evaluated"
        clock = Clock()
        clock.start()
        train(task, keys, who.python, plain)
        clock.stop()
        train(task, evaluated, who.python, other)
        metrics = lines_of(plain / "metrics.jsonl")
        training_again(metrics, lines_of(other / "metrics.jsonl"))
        steps = metrics[-1]["global_step"]
        points = [
            (line["global_step"], clock.seconds * line["global_step"] / steps, line["mean_return"])
            for line in lines_of(other / "eval.jsonl")
        ]
        parameters = parameter_count(plain)
    print(
        json.dumps(
            {
                "points": points,
                "steps_per_second": steps / clock.seconds,
                "env_steps_per_second": steps_per_second(task) if who.python else None,
                "parameters": parameters,
            }
        )
    )


if __name__ == "__main__":
    main()
