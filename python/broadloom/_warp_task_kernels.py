"""Kernels of Warp for _warp_tasks.py."""

import warp as wp

from ._warp_tasks import ANY, HOPPER, UPRIGHT
from .warp_kernels import begin_near, normal

IS_UPRIGHT, IS_HOPPER = wp.constant(UPRIGHT), wp.constant(HOPPER)


@wp.func
def is_healthy(
    rule: int, qpos: wp.array2d(dtype=float), qvel: wp.array2d(dtype=float), i: int
) -> bool:
    if rule == IS_UPRIGHT:
        return wp.abs(qpos[i, 1]) <= 0.2  # false if it is no number
    height = qpos[i, 1]
    angle = qpos[i, 2]
    if rule != IS_HOPPER:
        return 0.8 < height and height < 2.0 and -1.0 < angle and angle < 1.0
    stands = 0.7 < height and -0.2 < angle and angle < 0.2
    for j in range(2, qpos.shape[1]):
        stands = stands and -100.0 < qpos[i, j] and qpos[i, j] < 100.0
    for j in range(qvel.shape[1]):
        stands = stands and -100.0 < qvel[i, j] and qvel[i, j] < 100.0
    return stands


@wp.kernel
def show(
    hidden: int,
    limit: float,
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    rows: wp.array2d(dtype=float),
):
    i = wp.tid()
    shown = qpos.shape[1] - hidden
    for j in range(shown):
        rows[i, j] = qpos[i, hidden + j]
    for j in range(qvel.shape[1]):
        rows[i, shown + j] = wp.clamp(qvel[i, j], -limit, limit)


@wp.kernel
def pay(
    rule: int,
    speed: float,
    cost: float,
    dt: float,
    last: wp.array2d(dtype=float),
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    actions: wp.array2d(dtype=float),
    rewards: wp.array(dtype=float),
):
    i = wp.tid()
    paid = speed * ((qpos[i, 0] - last[i, 0]) / dt)
    if rule != 0 and is_healthy(rule, qpos, qvel, i):
        paid += 1.0
    squares = float(0.0)
    for j in range(actions.shape[1]):
        squares += actions[i, j] * actions[i, j]
    rewards[i] = paid - cost * squares


@wp.kernel
def end(
    rule: int,
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    flags: wp.array(dtype=wp.uint8),
):
    i = wp.tid()
    if not is_healthy(rule, qpos, qvel, i):
        flags[i] = wp.uint8(1)


@wp.kernel
def draw_normal_speeds(
    width: float,
    begins: wp.array(dtype=bool),
    seeds: wp.array(dtype=wp.uint64),
    episodes: wp.array(dtype=wp.int64),
    first_place: int,
    qvel: wp.array2d(dtype=float),
):
    i = wp.tid()
    if not begins[i]:
        return
    for j in range(qvel.shape[1]):
        qvel[i, j] = normal(seeds[i], episodes[i], first_place + j, width)


def functions_of(task, num_envs, dt):
    """The functions of GraphEnvs for N worlds of a task."""

    def observe(data, rows):
        wp.launch(show, num_envs, [task.hidden, task.limit, data.qpos, data.qvel], [rows])

    def reward(data, last, actions, rewards):
        numbers = [task.health, task.speed, task.cost, dt, last.qpos, data.qpos, data.qvel, actions]
        wp.launch(pay, num_envs, numbers, [rewards])

    def done(data, flags):
        wp.launch(end, num_envs, [task.health, data.qpos, data.qvel], [flags])

    def reset(data, starts):
        begun = [task.noise, starts.begins, starts.seeds, starts.episodes]
        wp.launch(begin_near, num_envs, begun, [data.qpos, data.qvel])
        wp.launch(draw_normal_speeds, num_envs, [*begun, data.qpos.shape[1]], [data.qvel])

    return {
        "observe": observe,
        "reward": reward,
        "done": None if task.health == ANY else done,
        "reset": reset if task.normal_speeds else None,
    }
