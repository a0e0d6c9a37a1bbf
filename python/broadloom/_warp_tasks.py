"""Gymnasium's tasks that need positions and velocities alone, by its documentation of version 5."""

import os
import typing

from ._errors import InvalidValue, error_of
from .warp import load

ANY, UPRIGHT, HOPPER, WALKER = range(4)  # rules of health


class Task(typing.NamedTuple):
    """A task whose reward is `speed` times the forward speed, less `cost` times the squared
    actions, and 1 more while healthy. An episode ends when the robot no longer is."""

    file: str  # among Gymnasium's
    threshold: float | None  # the mean return of "solved"
    noise: float  # of starts
    frame_skip: int = 4
    health: int = ANY
    speed: float = 1.0
    cost: float = 0.0
    hidden: int = 1  # first positions that are not observed
    limit: float = float("inf")  # of observed velocities
    normal_speeds: bool = False  # velocities begin with normal noise


TASKS = {
    "InvertedPendulum-v5": Task(
        "inverted_pendulum.xml", 950.0, 0.01, frame_skip=2, health=UPRIGHT, speed=0.0, hidden=0
    ),
    "Hopper-v5": Task("hopper.xml", 3800.0, 5e-3, health=HOPPER, cost=1e-3, limit=10.0),
    "HalfCheetah-v5": Task(
        "half_cheetah.xml", 4800.0, 0.1, frame_skip=5, cost=0.1, normal_speeds=True
    ),
    "Walker2d-v5": Task("walker2d_v5.xml", None, 5e-3, health=WALKER, cost=1e-3, limit=10.0),
    "Swimmer-v5": Task("swimmer.xml", 360.0, 0.1, cost=1e-4, hidden=2),
}


def task(name, num_envs, **others):
    """N worlds of one of Gymnasium's tasks. others: arguments of GraphEnvs."""
    import gymnasium

    if name not in TASKS:
        raise error_of(
            "not_found",
            f"warp/{name}: got no task that Broadloom plays with MuJoCo Warp, expected one of "
            f"{', '.join(TASKS)}; for other models call WarpEnvs of broadloom.warp, or GraphEnvs "
            "of broadloom.warp_graph",
            InvalidValue,
        )
    mujoco, _, _ = load()
    from ._warp_task_kernels import functions_of
    from .warp_graph import GraphEnvs

    one = TASKS[name]
    file = os.path.join(os.path.dirname(gymnasium.__file__), "envs", "mujoco", "assets", one.file)
    model = mujoco.MjModel.from_xml_path(file)
    given = {
        "observation_size": model.nq - one.hidden + model.nv,
        "frame_skip": one.frame_skip,
        "reset_noise": one.noise,
        "forward": False,  # positions and velocities are all that they read
        **functions_of(one, num_envs, model.opt.timestep * one.frame_skip),
    }
    return GraphEnvs(file, num_envs, **{**given, **others})
