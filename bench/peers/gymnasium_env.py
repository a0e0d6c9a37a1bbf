#!/usr/bin/env python3
"""Gymnasium's array CartPole under random actions, once. The actions are drawn before the clock.

Rows in which an ended environment is only reset count as steps too.
"""

from __future__ import annotations

import time

import gymnasium
import numpy as np

from cases import stepping
from result import arguments, report


def main() -> None:
    options = arguments(__doc__).parse_args()
    case = stepping(options.case)
    envs = gymnasium.make_vec(
        case.env_id, num_envs=case.num_envs, vectorization_mode="vector_entry_point"
    )
    envs.reset(seed=1)
    actions = np.random.default_rng(1).integers(0, 2, size=(64, case.num_envs))

    def run(seconds: float) -> float:
        rounds = 0
        start = time.perf_counter()
        elapsed = 0.0
        while elapsed < seconds:
            for row in actions:
                envs.step(row)
            rounds += 1
            elapsed = time.perf_counter() - start
        return rounds * actions.size / elapsed

    run(options.seconds / 4)
    report("gymnasium", options.case, run(options.seconds))


if __name__ == "__main__":
    main()
