"""Gymnasium's tasks that need positions and velocities alone, by its documentation of version 5."""

import os

import numpy as np

from ._errors import InvalidValue, error_of
from .warp import WarpEnvs


def forward_speed(worlds):
    return (worlds.qpos[:, 0] - worlds.last.qpos[:, 0]) / worlds.dt


def is_between(values, low, high):
    return (low < values) & (values < high)


def walker(skipped=1, limit=np.inf, cost=0.0, healthy=None, **others):
    """A task whose reward is speed less `cost` times the squared actions; 1 more while healthy."""

    def observe(worlds):
        speeds = np.clip(worlds.qvel, -limit, limit)
        return np.concatenate([worlds.qpos[:, skipped:], speeds], axis=1)

    def reward(worlds, actions):
        bonus = 0.0 if healthy is None else healthy(worlds)
        return forward_speed(worlds) + bonus - cost * np.square(actions).sum(axis=1)

    done = None if healthy is None else lambda worlds: ~healthy(worlds)
    return {"observe": observe, "reward": reward, "done": done, "frame_skip": 4, **others}


def is_upright(worlds):
    return np.isfinite(worlds.qpos[:, 1]) & (abs(worlds.qpos[:, 1]) <= 0.2)


def hops(worlds):
    state = np.concatenate([worlds.qpos[:, 2:], worlds.qvel], axis=1)
    stands = (worlds.qpos[:, 1] > 0.7) & is_between(worlds.qpos[:, 2], -0.2, 0.2)
    return stands & is_between(state, -100.0, 100.0).all(axis=1)


def walks(worlds):
    return is_between(worlds.qpos[:, 1], 0.8, 2.0) & is_between(worlds.qpos[:, 2], -1.0, 1.0)


def cheetah_start(draws, qpos, qvel):
    qpos = qpos + draws.uniform(-0.1, 0.1, qpos.shape[1])
    return qpos, qvel + draws.normal(0.1, qvel.shape[1])


TASKS = {  # name: (file among Gymnasium's, threshold of "solved" or None, arguments)
    "InvertedPendulum-v5": (
        "inverted_pendulum.xml",
        950.0,
        {
            "observe": lambda worlds: np.concatenate([worlds.qpos, worlds.qvel], axis=1),
            "reward": lambda worlds, actions: is_upright(worlds),
            "done": lambda worlds: ~is_upright(worlds),
            "reset_noise": 0.01,
            "frame_skip": 2,
        },
    ),
    "Hopper-v5": (
        "hopper.xml",
        3800.0,
        walker(limit=10.0, cost=1e-3, healthy=hops, reset_noise=5e-3),
    ),
    "HalfCheetah-v5": (
        "half_cheetah.xml",
        4800.0,
        {**walker(cost=0.1, reset=cheetah_start), "frame_skip": 5},
    ),
    "Walker2d-v5": (
        "walker2d_v5.xml",
        None,
        walker(limit=10.0, cost=1e-3, healthy=walks, reset_noise=5e-3),
    ),
    "Swimmer-v5": ("swimmer.xml", 360.0, walker(skipped=2, cost=1e-4, reset_noise=0.1)),
}


def task(name, num_envs, **others):
    """N worlds of one of Gymnasium's tasks. others: arguments of WarpEnvs."""
    import gymnasium

    if name not in TASKS:
        raise error_of(
            "not_found",
            f"warp/{name}: got no task that Broadloom plays with MuJoCo Warp, expected one of "
            f"{', '.join(TASKS)}; for other models call broadloom.warp.WarpEnvs",
            InvalidValue,
        )
    file, _, arguments = TASKS[name]
    folder = os.path.join(os.path.dirname(gymnasium.__file__), "envs", "mujoco", "assets")
    return WarpEnvs(os.path.join(folder, file), num_envs, **{**arguments, **others})
