#!/usr/bin/env python3
"""Stable-Baselines3's PPO, once. Times whole iterations: rollout and all epochs."""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from cases import Training, training
from result import arguments, report


class BatchedCartPole(VecEnv):
    """Gymnasium's array CartPole as Stable-Baselines3 wants it.

    Stable-Baselines3 wants ended environments reset within the step and the last observation in the
    info; Gymnasium's array environment resets in the next step. So this resets them itself, before
    Gymnasium would.
    """

    def __init__(self, num_envs: int) -> None:
        self.batch = CartPoleVectorEnv(num_envs=num_envs)
        super().__init__(
            num_envs, self.batch.single_observation_space, self.batch.single_action_space
        )
        self.actions = np.zeros(num_envs, dtype=np.int64)

    def reset(self) -> np.ndarray:
        return self.batch.reset(seed=1)[0]

    def step_async(self, actions: np.ndarray) -> None:
        self.actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        observations, rewards, terminated, truncated, _ = self.batch.step(self.actions)
        ended = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        rows = np.flatnonzero(ended)
        if rows.size:
            for row in rows:
                infos[row]["terminal_observation"] = observations[row].copy()
                infos[row]["TimeLimit.truncated"] = bool(truncated[row] and not terminated[row])
            fresh = self.batch.np_random.uniform(-0.05, 0.05, size=(4, rows.size))
            self.batch.state[:, rows] = fresh
            self.batch.steps[rows] = 0
            self.batch.prev_done[rows] = False
            observations[rows] = fresh.T
        return observations, rewards, ended, infos

    def close(self) -> None:
        self.batch.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.batch, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs


class Stopwatch(BaseCallback):
    """Measures from one start of a rollout to another, after two iterations of warm-up."""

    WARM_UP = 2

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self.iteration = 0
        self.start = 0.0
        self.elapsed = 0.0

    def _on_rollout_start(self) -> None:
        now = time.perf_counter()
        if self.iteration == self.WARM_UP:
            self.start = now
        self.iteration += 1
        if self.start and now - self.start >= self.seconds:
            self.elapsed = now - self.start

    def _on_step(self) -> bool:
        return self.elapsed == 0.0

    @property
    def iterations(self) -> int:
        return self.iteration - 1 - self.WARM_UP


def make_envs(kind: str, case: Training) -> VecEnv:
    if kind == "batched":
        return BatchedCartPole(case.num_envs)
    return DummyVecEnv([lambda: gymnasium.make(case.env_id) for _ in range(case.num_envs)])


def make_model(envs: VecEnv, case: Training) -> PPO:
    return PPO(
        "MlpPolicy",
        envs,
        learning_rate=2.5e-4,
        n_steps=case.num_steps,
        batch_size=case.minibatch,
        n_epochs=case.epochs,
        clip_range_vf=0.2,
        ent_coef=0.01,
        vf_coef=0.5,
        max_grad_norm=0.5,
        policy_kwargs={
            "net_arch": {"pi": [case.hidden] * 2, "vf": [case.hidden] * 2},
            "activation_fn": torch.nn.Tanh,
        },
        seed=1,
        device="cpu",
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--envs", choices=("dummy", "batched"), default="dummy")
    parser.add_argument("--threads", type=int, default=1, help="torch's (default 1)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    case = training(options.case)
    stopwatch = Stopwatch(options.seconds)
    make_model(make_envs(options.envs, case), case).learn(10**12, callback=stopwatch)
    report("sb3", options.case, stopwatch.iterations * case.block / stopwatch.elapsed)


if __name__ == "__main__":
    main()
