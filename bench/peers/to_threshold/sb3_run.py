"""Stable-Baselines3's PPO, evaluated in Gymnasium: with RL Zoo's settings, or with those of a
config of `broadloom advise`."""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from to_threshold.course import Course, arguments, report_probe
from to_threshold.settings import RL_ZOO
from to_threshold.tasks import EPISODES, interval
from to_threshold.translate import settings_of


class Evaluation:
    """Plays the same episodes each time, in separate environments, with the most likely actions."""

    def __init__(self, env_id: str, seed: int) -> None:
        self.envs = [gymnasium.make(env_id) for _ in range(EPISODES)]
        self.first = 1_000_000 + seed * EPISODES

    def mean_return(self, model: PPO) -> float:
        normalizer = model.get_vec_normalize_env()
        starts = [env.reset(seed=self.first + row)[0] for row, env in enumerate(self.envs)]
        observations = np.stack(starts)
        returns = np.zeros(EPISODES)
        running = list(range(EPISODES))
        while running:
            seen = observations[running]
            actions, _ = model.predict(
                normalizer.normalize_obs(seen) if normalizer else seen, deterministic=True
            )
            still = []
            for row, action in zip(running, actions):
                observation, reward, terminated, truncated, _ = self.envs[row].step(action)
                observations[row] = observation
                returns[row] += float(reward)
                if not (terminated or truncated):
                    still.append(row)
            running = still
        return float(returns.mean())


class Watch(BaseCallback):
    """Stops the clock between iterations, where it evaluates."""

    def __init__(self, course: Course, evaluation: Evaluation | None, every: int) -> None:
        super().__init__()
        self.course = course
        self.evaluation = evaluation
        self.every = every
        self.iteration = -1  # so many are finished
        self.seconds = 0.0
        self.mark = 0.0

    def _on_rollout_start(self) -> None:
        self._iteration_ended(last=False)

    def _on_training_end(self) -> None:
        if not self.course.over:
            self._iteration_ended(last=True)

    def _on_step(self) -> bool:
        return not self.course.over

    def _iteration_ended(self, last: bool) -> None:
        now = time.perf_counter()
        self.iteration += 1
        if self.iteration > 0:
            self.seconds += now - self.mark
            if self.evaluation and (last or self.iteration % self.every == 0):
                found = self.evaluation.mean_return(self.model)
                self.course.add(self.num_timesteps, self.seconds, found)
                self.course.evaluation_seconds += time.perf_counter() - now
        self.mark = time.perf_counter()


def scheduled(value: Any) -> Any:
    """RL Zoo's "lin_X" is X times the share of the budget that is left."""
    if isinstance(value, tuple):
        return lambda left: value[1] * left
    return value


def make_envs(env_id: str, seed: int, settings: dict[str, Any]) -> VecEnv:
    envs = make_vec_env(env_id, n_envs=settings["n_envs"], seed=seed)
    obs, reward = settings.get("norm_obs", False), settings.get("norm_reward", False)
    if not (obs or reward):
        return envs
    return VecNormalize(envs, norm_obs=obs, norm_reward=reward, gamma=settings["gamma"])


def make_model(envs: VecEnv, seed: int, settings: dict[str, Any]) -> PPO:
    other = {"norm_obs", "norm_reward", "n_envs", "n_timesteps"}
    own = {key: scheduled(value) for key, value in settings.items() if key not in other}
    return PPO("MlpPolicy", envs, seed=seed, device="cpu", verbose=0, **own)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--config", help="TOML of `broadloom advise`; without it RL Zoo's settings")
    parser.add_argument("--broadloom", help="program that reads it")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    settings = settings_of(options) if options.config else RL_ZOO[options.task]
    block = settings["n_envs"] * settings["n_steps"]
    budget = options.probe or options.budget or settings["n_timesteps"]
    course = Course(options.task)
    evaluation = None if options.probe else Evaluation(options.task, options.seed)
    watch = Watch(course, evaluation, interval(block))
    model = make_model(make_envs(options.task, options.seed, settings), options.seed, settings)
    model.learn(budget, callback=watch)
    if options.probe:
        report_probe(watch.num_timesteps, watch.seconds)
    else:
        course.report(settings)


if __name__ == "__main__":
    main()
