"""The environments of Broadloom's Python package, as all contenders here step them, and what a
step of them costs by itself."""

from __future__ import annotations

import time

import numpy as np
from broadloom.envs import VectorEnv

from policy_peers.tasks import Task


def environments(task: Task, num_envs: int) -> VectorEnv:
    return VectorEnv(num_envs, env_id=task.env_id, threads=1, **task.options)


def valid_actions(envs: VectorEnv, random: np.random.Generator) -> np.ndarray:
    if not hasattr(envs, "action_masks"):
        return envs.action_space.sample()
    scores = random.random(envs.action_masks().shape)
    return np.where(envs.action_masks(), scores, -1.0).argmax(axis=1)


def steps_per_second(task: Task, seconds: float = 0.5) -> float:
    """Speed of the environments alone, with random valid actions."""
    envs, random = environments(task, task.keys["num_envs"]), np.random.default_rng(1)
    envs.reset(seed=1)
    envs.action_space.seed(1)
    busy, calls = 0.0, 0
    while busy < seconds:
        actions = valid_actions(envs, random)
        begin = time.process_time()
        envs.step(actions)
        busy += time.process_time() - begin
        calls += 1
    return calls * envs.num_envs / busy
