#!/usr/bin/env python3
"""rejax's PPO on JAX's CPU backend, once. Compilation and the first call lie before the clock."""

from __future__ import annotations

from typing import Any

from cases import Training, training
from rejax_timing import add_threads, time_training
from result import arguments


def algorithm_for(case: Training) -> Any:
    from rejax import PPO

    return PPO.create(
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


def main() -> None:
    options = add_threads(arguments(__doc__))
    case = training(options.case)
    time_training(lambda: algorithm_for(case), case, options, steps_a_call=65536, warm_calls=2)


if __name__ == "__main__":
    main()
