#!/usr/bin/env python3
"""Stable-Baselines3's PPO on CartPole-v1 with its networks on a GPU: environment steps a second.

usage: sb3_ppo.py [--device cuda] [--seconds 2] [--limit 25]
Three cases. 64 environments of Gymnasium, stepped one by one as in the documentation (DummyVecEnv).
4,096 stepped at once by Gymnasium's CartPoleVectorEnv, through the adapter in bench/peers/sb3.py.
4,096 stepped one by one, in shorter blocks, since they take seconds. Separate networks 64-64 tanh,
4 epochs of 4 minibatches. The clock covers whole iterations, rollout and all epochs, after one of
warm-up. Each measurement is a line of JSON as soon as it is there. After --limit nothing new is
begun, and what runs is stopped."""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import time
from typing import Any

BEGUN = time.perf_counter()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))

import gymnasium  # noqa: E402
import stable_baselines3  # noqa: E402
import torch  # noqa: E402
from sb3 import BatchedCartPole  # noqa: E402
from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.callbacks import BaseCallback  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv  # noqa: E402

CASES = [("DummyVecEnv", 64, 32), ("CartPoleVectorEnv", 4096, 32), ("DummyVecEnv", 4096, 8)]


class Clock(BaseCallback):
    """When each rollout began. Stops the training some seconds after the second one, or at the
    limit."""

    def __init__(self, seconds: float, limit: float) -> None:
        super().__init__()
        self.seconds = seconds
        self.limit = limit
        self.begun: list[float] = []
        self.over = False

    def _on_rollout_start(self) -> None:
        self.begun.append(time.perf_counter())
        self.over = len(self.begun) > 2 and self.begun[-1] - self.begun[1] >= self.seconds

    def _on_step(self) -> bool:
        return not self.over and time.perf_counter() - BEGUN < self.limit


def make_envs(kind: str, num_envs: int) -> VecEnv:
    if kind == "CartPoleVectorEnv":
        return BatchedCartPole(num_envs)
    return DummyVecEnv([lambda: gymnasium.make("CartPole-v1") for _ in range(num_envs)])


def make_model(envs: VecEnv, num_steps: int, device: str) -> PPO:
    return PPO(
        "MlpPolicy",
        envs,
        learning_rate=2.5e-4,
        n_steps=num_steps,
        batch_size=envs.num_envs * num_steps // 4,
        n_epochs=4,
        clip_range_vf=0.2,
        ent_coef=0.01,
        policy_kwargs={
            "net_arch": {"pi": [64, 64], "vf": [64, 64]},
            "activation_fn": torch.nn.Tanh,
        },
        seed=1,
        device=device,
    )


def measure(
    kind: str, num_envs: int, num_steps: int, options: argparse.Namespace
) -> dict[str, Any]:
    begin = time.perf_counter()
    clock = Clock(options.seconds, options.limit)
    model = make_model(make_envs(kind, num_envs), num_steps, options.device)
    ready = time.perf_counter()
    model.learn(10**12, callback=clock)
    if len(clock.begun) < 3:
        raise TimeoutError("no whole iteration in time")
    iterations = len(clock.begun) - 2
    elapsed = clock.begun[-1] - clock.begun[1]
    return {
        "steps_per_second": round(iterations * num_envs * num_steps / elapsed, 1),
        "iterations": iterations,
        "first_iteration_seconds": round(clock.begun[1] - clock.begun[0], 3),
        "compile_seconds": 0.0,
        "setup_seconds": round(ready - begin, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--limit", type=float, default=1e9)
    options = parser.parse_args()
    name = torch.cuda.get_device_name() if options.device == "cuda" else "cpu"
    for kind, num_envs, num_steps in CASES:
        row = {
            "peer": "stable-baselines3",
            "version": stable_baselines3.__version__,
            "case": kind,
            "algorithm": "ppo",
            "env": "CartPole-v1",
            "num_envs": num_envs,
            "num_steps": num_steps,
            "update_epochs": 4,
            "num_minibatches": 4,
            "network": "64-64 tanh, two",
            "device": name,
            "torch": torch.__version__,
            "gymnasium": gymnasium.__version__,
            "threads": torch.get_num_threads(),
        }
        try:
            if time.perf_counter() - BEGUN > options.limit:
                raise TimeoutError("no time left")
            print(json.dumps(row | measure(kind, num_envs, num_steps, options)), flush=True)
        except Exception as error:  # noqa: BLE001 - the others go on
            print(
                json.dumps(row | {"failed": f"{type(error).__name__}: {error}"[:400]}), flush=True
            )


if __name__ == "__main__":
    main()
