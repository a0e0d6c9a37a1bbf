"""One training of RecurrentPPO, MaskablePPO or Stable-Baselines3's PPO, with Broadloom's settings,
on Broadloom's environments through Gymnasium's interface."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import torch
from broadloom.envs import VectorEnv
from sb3_contrib import MaskablePPO, RecurrentPPO
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from policy_peers.clock import Clock
from policy_peers.stepping import environments, steps_per_second
from policy_peers.tasks import TASKS, Task, arguments, contender
from to_threshold.rule import reached

# Broadloom's defaults of what a task leaves open.
DEFAULTS: dict[str, Any] = {
    "update_epochs": 4,
    "lr_schedule": "linear",
    "clip_schedule": "constant",
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "clip_coef": 0.2,
    "clip_vloss": True,
    "ent_coef": 0.01,
    "vf_coef": 0.5,
    "max_grad_norm": 0.5,
}


class Adapter(VecEnv):
    """Gymnasium's vector interface as Stable-Baselines3 wants it."""

    def __init__(self, envs: VectorEnv, seed: int) -> None:
        self.envs, self.first_seed = envs, seed
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> np.ndarray:
        return self.envs.reset(seed=self.first_seed)[0]

    def step_async(self, actions: np.ndarray) -> None:
        self.actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        observations, rewards, terminated, truncated, info = self.envs.step(self.actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        ended = terminated | truncated
        for row in np.flatnonzero(ended):
            infos[row]["terminal_observation"] = info["final_obs"][row]
            infos[row]["TimeLimit.truncated"] = bool(truncated[row] and not terminated[row])
        return observations, rewards.astype(np.float32), ended, infos

    def close(self) -> None:
        self.envs.close()

    def has_attr(self, attr_name: str) -> bool:
        return hasattr(self.envs, attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.envs, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        return list(getattr(self.envs, method_name)(*args, **kwargs))

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs


def falling(value: float, schedule: str) -> Any:
    return (lambda left: value * left) if schedule == "linear" else value


def make_model(task: Task, recurrent: bool, seed: int) -> PPO:
    """The value loss has no factor of 1/2, so its weight is halved."""
    keys = DEFAULTS | task.keys
    sizes = [int(size) for size in keys["hidden_sizes"].split(",")]
    policy: dict[str, Any] = {"net_arch": sizes, "activation_fn": torch.nn.Tanh}
    algorithm, name = PPO, "MlpPolicy"
    if recurrent:
        algorithm, name = RecurrentPPO, "MlpLstmPolicy"
        policy["lstm_hidden_size"] = sizes[-1]
    envs = Adapter(environments(task, keys["num_envs"]), seed)
    if envs.has_attr("action_masks"):
        algorithm = MaskablePPO
    clip = falling(keys["clip_coef"], keys["clip_schedule"])
    return algorithm(
        name,
        envs,
        n_steps=keys["num_steps"],
        batch_size=task.block // keys["num_minibatches"],
        n_epochs=keys["update_epochs"],
        learning_rate=falling(keys["learning_rate"], keys["lr_schedule"]),
        gamma=keys["gamma"],
        gae_lambda=keys["gae_lambda"],
        clip_range=clip,
        clip_range_vf=clip if keys["clip_vloss"] else None,
        ent_coef=keys["ent_coef"],
        vf_coef=keys["vf_coef"] / 2,
        max_grad_norm=keys["max_grad_norm"],
        policy_kwargs=policy,
        seed=seed,
        device="cpu",
    )


class Evaluation:
    """The mean return of the same episodes each time, with the most likely actions."""

    def __init__(self, task: Task, seed: int) -> None:
        self.envs, self.seed = environments(task, task.episodes), 1_000_000 + seed

    def mean_return(self, model: PPO) -> float:
        envs = self.envs
        seen, _ = envs.reset(seed=self.seed)
        returns, plays = np.zeros(envs.num_envs), np.ones(envs.num_envs, dtype=bool)
        state, starts = None, np.ones(envs.num_envs, dtype=bool)
        while plays.any():
            more: dict[str, Any] = {}
            if isinstance(model, MaskablePPO):
                more["action_masks"] = envs.action_masks()
            if isinstance(model, RecurrentPPO):
                more |= {"state": state, "episode_start": starts}
            actions, state = model.predict(seen, deterministic=True, **more)
            seen, rewards, terminated, truncated, _ = envs.step(actions)
            returns += np.where(plays, rewards, 0.0)
            starts = terminated | truncated
            plays &= ~starts
        return float(returns.mean())


class Watch(BaseCallback):
    """Evaluates between iterations, with the clock stopped, and ends at the threshold."""

    def __init__(self, task: Task, evaluation: Evaluation) -> None:
        super().__init__()
        self.task, self.evaluation, self.clock = task, evaluation, Clock()
        self.points: list[tuple[int, float, float]] = []
        self.iteration = -1  # so many are finished
        self.over = False

    def _on_rollout_start(self) -> None:
        self.clock.stop()
        self.iteration += 1
        if self.iteration > 0 and self.iteration % self.task.interval == 0:
            found = self.evaluation.mean_return(self.model)
            self.points.append((self.num_timesteps, round(self.clock.seconds, 6), found))
            self.over = reached(self.points, self.task.threshold) is not None
            self.over |= self.num_timesteps >= self.task.cap
        self.clock.start()

    def _on_training_end(self) -> None:
        if not self.over:
            self._on_rollout_start()

    def _on_step(self) -> bool:
        return not self.over


def main() -> None:
    options = arguments(__doc__)
    torch.set_num_threads(1)
    task, who = TASKS[options.task], contender(options.contender)
    model = make_model(task, who.recurrent != "none", options.seed)
    watch = Watch(task, Evaluation(task, options.seed))
    model.learn(options.budget or task.keys["total_timesteps"], callback=watch)
    print(
        json.dumps(
            {
                "points": watch.points,
                "steps_per_second": watch.points[-1][0] / watch.points[-1][1],
                "env_steps_per_second": steps_per_second(task),
                "parameters": sum(one.numel() for one in model.policy.parameters()),
            }
        )
    )


if __name__ == "__main__":
    main()
