"""Times rejax's training by whole iterations, many in one call, so Python's share is negligible."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

from cases import Training
from result import report


def add_threads(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The arguments; the process is held to so many cores. To be called before JAX, which counts
    them, is imported."""
    parser.add_argument("--threads", type=int, default=0, help="cores to use; 0: all (default)")
    options = parser.parse_args()
    if options.threads:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    os.environ["JAX_PLATFORMS"] = "cpu"
    return options


def time_training(
    make: Callable[[], Any],
    case: Training,
    options: argparse.Namespace,
    steps_a_call: int,
    warm_calls: int,
) -> None:
    """Reports steps per second. Compilation and the first calls lie before the clock."""
    import jax

    algorithm = make()
    updates = max(1, steps_a_call // case.block)
    advance = jax.jit(
        lambda state: jax.lax.fori_loop(
            0, updates, lambda _, inner: algorithm.train_iteration(inner), state
        )
    )
    state = jax.block_until_ready(jax.jit(algorithm.init_state)(jax.random.PRNGKey(1)))
    for _ in range(warm_calls):
        state = jax.block_until_ready(advance(state))
    calls = 0
    start = time.perf_counter()
    elapsed = 0.0
    while elapsed < options.seconds:
        state = jax.block_until_ready(advance(state))
        calls += 1
        elapsed = time.perf_counter() - start
    report("rejax", options.case, calls * updates * case.block / elapsed)
