#!/usr/bin/env python3
"""PPO on gymnax's CartPole-v1 by the JAX peers: environment steps a second on the device that JAX
finds.

usage: jax_ppo.py [--purejaxrl FOLDER] [--rejax] [--runs 1 8 32] [--seconds 1.5] [--limit 45]
FOLDER: has PureJaxRL's ppo.py and wrappers.py, imported unchanged. wrappers.py imports brax and
navix; CartPole does not need them, so empty modules replace them. rejax is the installed package.

wide: one training run of --num_envs environments by each peer, --updates updates per call.
PureJaxRL also runs in full float32, since JAX uses TF32 on newer GPUs. small: whole runs of 500,000
steps with 64 environments by PureJaxRL, --runs at once. Separate networks 64-64 tanh, 4 epochs of 4
minibatches, Adam. Compilation is not timed. No peer evaluates: rejax's iterations are called
without its evaluation between them. PureJaxRL returns what each step logged, as it does."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from jax_timing import Job, arguments, measure, pretend, version

ENV = "CartPole-v1"


def row(peer: str, case: str, release: str, num_envs: int, num_steps: int) -> dict[str, Any]:
    return {
        "peer": peer,
        "version": release,
        "case": case,
        "algorithm": "ppo",
        "env": ENV,
        "num_envs": num_envs,
        "num_steps": num_steps,
        "update_epochs": 4,
        "num_minibatches": 4,
        "network": "64-64 tanh, two",
        "gymnax": version("gymnax"),
    }


def rejax_job(num_envs: int, num_steps: int, updates: int) -> Job:
    import jax
    from rejax import PPO

    algorithm = PPO.create(
        env=ENV,
        agent_kwargs={"activation": "tanh", "hidden_layer_sizes": (64, 64)},
        num_envs=num_envs,
        num_steps=num_steps,
        num_epochs=4,
        num_minibatches=4,
        learning_rate=2.5e-4,
        max_grad_norm=0.5,
        skip_initial_evaluation=True,
    )

    def train(key: Any) -> Any:
        return jax.lax.fori_loop(
            0, updates, lambda _, state: algorithm.train_iteration(state), algorithm.init_state(key)
        )

    return Job(
        row("rejax", "wide", version("rejax"), num_envs, num_steps),
        train,
        updates * num_envs * num_steps,
    )


def import_purejaxrl(folder: str) -> Any:
    pretend("brax")
    pretend("brax.envs")
    pretend("brax.envs.wrappers")
    pretend("brax.envs.wrappers.training", EpisodeWrapper=None, AutoResetWrapper=None)
    sys.modules["brax"].envs = sys.modules["brax.envs"]  # type: ignore[attr-defined]
    pretend("navix")
    sys.path.insert(0, folder)
    return importlib.import_module("ppo")


def purejaxrl_job(
    trainer: Any,
    release: str,
    case: str,
    num_envs: int,
    num_steps: int,
    updates: int,
    runs: int = 1,
    precision: str | None = None,
) -> Job:
    steps = updates * num_envs * num_steps
    config = {
        "LR": 2.5e-4,
        "NUM_ENVS": num_envs,
        "NUM_STEPS": num_steps,
        "TOTAL_TIMESTEPS": steps,
        "UPDATE_EPOCHS": 4,
        "NUM_MINIBATCHES": 4,
        "GAMMA": 0.99,
        "GAE_LAMBDA": 0.95,
        "CLIP_EPS": 0.2,
        "ENT_COEF": 0.01,
        "VF_COEF": 0.5,
        "MAX_GRAD_NORM": 0.5,
        "ACTIVATION": "tanh",
        "ENV_NAME": ENV,
        "ANNEAL_LR": True,
        "DEBUG": False,
    }
    return Job(
        row("purejaxrl", case, release, num_envs, num_steps),
        trainer.make_train(config),
        steps,
        runs,
        precision,
        lambda out: out["metrics"]["returned_episode_returns"][..., -1, :, :].mean(),
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--purejaxrl", help="the folder with PureJaxRL's ppo.py")
    parser.add_argument("--purejaxrl_version", default="unknown", help="what its line says")
    parser.add_argument("--rejax", action="store_true")
    parser.add_argument("--num_envs", type=int, default=4096)
    parser.add_argument("--num_steps", type=int, default=32)
    parser.add_argument("--updates", type=int, default=64, help="of a call in the wide case")
    parser.add_argument(
        "--runs",
        type=int,
        nargs="*",
        default=[1, 8, 32],
        help="trainings at once in the small case",
    )
    parser.add_argument(
        "--small_steps", type=int, default=500_000, help="environment steps of a small training"
    )
    options = parser.parse_args()
    jobs = []
    if options.purejaxrl:
        trainer, release = import_purejaxrl(options.purejaxrl), options.purejaxrl_version
        wide = (trainer, release, "wide", options.num_envs, options.num_steps, options.updates)
        small = (trainer, release, "small", 64, 128, options.small_steps // (64 * 128))
        jobs += (
            [purejaxrl_job(*wide)]
            + [purejaxrl_job(*small, runs) for runs in options.runs]
            + [purejaxrl_job(*wide, precision="float32")]
        )
    if options.rejax:
        jobs.insert(1, rejax_job(options.num_envs, options.num_steps, options.updates))
    measure(jobs, options)


if __name__ == "__main__":
    main()
