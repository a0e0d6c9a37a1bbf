#!/usr/bin/env python3
"""rejax's PPO on JAX's CPU backend, once. Compilation and the first call lie before the clock."""

from __future__ import annotations

import os
import time

from cases import training
from result import arguments, report


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--threads", type=int, default=0, help="cores to use; 0: all (default)")
    options = parser.parse_args()
    if options.threads:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    os.environ["JAX_PLATFORMS"] = "cpu"
    # JAX counts the cores when it is first imported.
    import jax
    from rejax import PPO

    case = training(options.case)
    algorithm = PPO.create(
        env=case.env_id,
        agent_kwargs={"activation": "tanh", "hidden_layer_sizes": (case.hidden, case.hidden)},
        num_envs=case.num_envs,
        num_steps=case.num_steps,
        num_epochs=case.epochs,
        num_minibatches=case.num_minibatches,
        learning_rate=2.5e-4,
        max_grad_norm=0.5,
        skip_initial_evaluation=True,
    )
    # Many updates in one call, so that Python's share is nothing.
    updates = max(1, 65536 // case.block)
    advance = jax.jit(
        lambda state: jax.lax.fori_loop(
            0, updates, lambda _, inner: algorithm.train_iteration(inner), state
        )
    )
    state = jax.block_until_ready(jax.jit(algorithm.init_state)(jax.random.PRNGKey(1)))
    for _ in range(2):
        state = jax.block_until_ready(advance(state))
    calls = 0
    start = time.perf_counter()
    elapsed = 0.0
    while elapsed < options.seconds:
        state = jax.block_until_ready(advance(state))
        calls += 1
        elapsed = time.perf_counter() - start
    report("rejax", options.case, calls * updates * case.block / elapsed)


if __name__ == "__main__":
    main()
