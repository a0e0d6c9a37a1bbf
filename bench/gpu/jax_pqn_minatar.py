#!/usr/bin/env python3
"""PQN on gymnax's Breakout-MinAtar by purejaxql: environment steps a second on the device that JAX
finds.

usage: jax_pqn_minatar.py FOLDER [--num_envs 128 1024] [--runs 1 8] [--seconds 1.5] [--limit 40]
FOLDER: has purejaxql's pqn_minatar.py, imported unchanged, and its config/alg/pqn_minatar.yaml with
the settings: 128 environments, blocks of 32 steps, 2 epochs of 32 minibatches, a body of 16 filters
of 3x3 and 128 units with normalised layers. Other than in the file: the game; the length of a call
(--updates; schedules keep their ten million steps); and its evaluations between updates are off.
hydra, omegaconf and wandb serve its command line and its log: empty modules stand in for them.
Compilation lies before the clock."""

from __future__ import annotations

import importlib.util
import pathlib
from typing import Any

from jax_timing import Job, arguments, measure, pretend, version

ENV = "Breakout-MinAtar"


def import_trainer(folder: pathlib.Path) -> Any:
    pretend("hydra", main=lambda **_: lambda function: function)
    pretend("omegaconf", OmegaConf=None)
    pretend("wandb")
    spec = importlib.util.spec_from_file_location("pqn_minatar", folder / "pqn_minatar.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def number(value: Any) -> Any:
    """YAML 1.1 takes 1e7 for a word."""
    try:
        return int(float(value)) if isinstance(value, str) else value
    except ValueError:
        return value


def settings(folder: pathlib.Path, num_envs: int, updates: int) -> dict[str, Any]:
    import yaml

    config = yaml.safe_load((folder / "config" / "alg" / "pqn_minatar.yaml").read_text())
    config = {name: number(value) for name, value in config.items()}
    steps = num_envs * config["NUM_STEPS"] * updates
    return config | {
        "ENV_NAME": ENV,
        "NUM_ENVS": num_envs,
        "TOTAL_TIMESTEPS": steps,
        "TEST_DURING_TRAINING": False,
        "WANDB_MODE": "disabled",
    }


def job(
    trainer: Any, release: str, config: dict[str, Any], runs: int, precision: str | None = None
) -> Job:
    row = {
        "peer": "purejaxql",
        "version": release,
        "case": "minatar",
        "algorithm": "pqn",
        "env": ENV,
        "num_envs": config["NUM_ENVS"],
        "num_steps": config["NUM_STEPS"],
        "update_epochs": config["NUM_EPOCHS"],
        "num_minibatches": config["NUM_MINIBATCHES"],
        "network": "conv 16@3x3, 128, layer norm",
        "gymnax": version("gymnax"),
    }
    train = trainer.make_train(dict(config))
    return Job(
        row,
        train,
        config["TOTAL_TIMESTEPS"],
        runs,
        precision,
        lambda out: out["metrics"]["returned_episode_returns"][..., -1].mean(),
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "folder", type=pathlib.Path, help="with purejaxql's pqn_minatar.py and config"
    )
    parser.add_argument("--version", default="unknown", help="what its line says")
    parser.add_argument("--num_envs", type=int, nargs="+", default=[128, 1024])
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 8], help="trainings at once")
    parser.add_argument("--updates", type=int, default=20, help="updates of a call")
    options = parser.parse_args()
    trainer = import_trainer(options.folder)
    jobs = [
        job(trainer, options.version, settings(options.folder, n, options.updates), runs)
        for runs in options.runs
        for n in options.num_envs
    ]
    measure(jobs, options)


if __name__ == "__main__":
    main()
