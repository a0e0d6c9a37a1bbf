#!/usr/bin/env python3
"""The price of MuJoCo Warp's determinism: steps a second with its flags on and off, in turns.

    python bench/mujoco/warp_price.py --worlds 1 64 512 --tasks Hopper-v5 --device cpu

Needs broadloom, mujoco-warp and gymnasium. A step is one of the task, such as 4 of the physics for
Hopper. On the CPU device seconds are those of the process, which other work disturbs less."""

import argparse
import hashlib
import json
import statistics
import tempfile
import time

import numpy as np

from broadloom import warp
from broadloom._warp_tasks import task, TASKS


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--worlds", nargs="+", type=int, default=[1, 64, 512])
    parser.add_argument("--device", help="of Warp; by default a GPU if there is one")
    parser.add_argument("--steps", type=int, default=20, help="in a turn")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--cold", action="store_true", help="compile kernels anew")
    return parser.parse_args()


def played(envs, seed, steps, clock):
    """(seconds, a hash of observations and rewards) of random actions."""
    random, space = np.random.default_rng(seed), envs.single_action_space
    actions = random.uniform(space.low, space.high, (steps, envs.num_envs, *space.shape))
    found = hashlib.sha256(envs.reset(seed=seed)[0].tobytes())
    begin = clock()
    for one in actions.astype(np.float32):
        rows, rewards, *_ = envs.step(one)
        found.update(rows.tobytes() + rewards.tobytes())
    return clock() - begin, found.hexdigest()


def measured(name, count, options):
    found = {}
    for flags in (True, False):
        begin = time.perf_counter()
        envs = task(name, count, device=options.device, deterministic=flags)
        clock = time.process_time if envs.device.is_cpu else time.perf_counter
        played(envs, 0, 1, clock)
        found[flags] = envs, clock, [], set(), time.perf_counter() - begin
    for turn in range(options.turns):
        for envs, clock, seconds, hashes, _ in list(found.values())[:: 1 - 2 * (turn % 2)]:
            spent, digest = played(envs, 1, options.steps, clock)
            seconds.append(spent)
            hashes.add(digest)
    speeds = {
        flags: count * options.steps / statistics.median(seconds)
        for flags, (_, _, seconds, _, _) in found.items()
    }
    hashes = {flags: one[3] for flags, one in found.items()}
    return {
        "task": name,
        "worlds": count,
        "deterministic": round(speeds[True]),
        "not_deterministic": round(speeds[False]),
        "price": round(speeds[False] / speeds[True], 3),
        "different_results": {str(flags): len(one) for flags, one in hashes.items()},
        "equal_bits": hashes[True] == hashes[False],
        "first_seconds": [round(one[4], 1) for one in found.values()],
        "engine": found[True][0].metadata["engine"],
    }


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        if options.cold:
            warp.load()[1].config.kernel_cache_dir = folder
        for name in options.tasks:
            for count in options.worlds:
                print(json.dumps(measured(name, count, options)), flush=True)


if __name__ == "__main__":
    main()
