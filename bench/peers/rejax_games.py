#!/usr/bin/env python3
"""rejax's PQN on gymnax's games, on JAX's CPU backend, once.

rejax brings dense networks alone; the convolution before them is put in here. Compilation and the
first call lie before the clock.
"""

from __future__ import annotations

from typing import Any

from cases import Game, game
from rejax_timing import add_threads, time_training
from result import arguments


def algorithm_for(case: Game) -> Any:
    from flax import linen as nn
    from rejax import PQN
    from rejax.networks import DiscreteQNetwork, EpsilonGreedyPolicy

    class Body(nn.Module):
        @nn.compact
        def __call__(self, seen: Any) -> Any:
            def activated(x: Any) -> Any:
                return nn.relu(nn.LayerNorm()(x))

            x = activated(nn.Conv(16, kernel_size=(3, 3), padding="VALID")(seen))
            return activated(nn.Dense(case.hidden)(x.reshape((x.shape[0], -1))))

    # rejax's own interface over this body instead of its dense one.
    class ActionValues(DiscreteQNetwork):
        @nn.compact
        def __call__(self, seen: Any) -> Any:
            return nn.Dense(self.action_dim)(Body()(seen))

        def take(self, seen: Any, action: Any) -> Any:
            import jax.numpy as jnp

            values = self(seen)
            return jnp.take_along_axis(values, action[:, None], axis=1).squeeze(axis=1)

    made = PQN.create(
        env=case.env_id.split("/")[1].split("-")[0] + "-MinAtar",
        num_envs=case.num_envs,
        num_steps=case.num_steps,
        num_epochs=case.epochs,
        num_minibatches=case.num_minibatches,
        learning_rate=5e-4,
        max_grad_norm=10.0,
        skip_initial_evaluation=True,
    )
    # Sizes and activation are the body's.
    agent = EpsilonGreedyPolicy(ActionValues)(
        action_dim=int(made.action_dim), hidden_layer_sizes=(), activation=nn.relu
    )
    return made.replace(agent=agent)


def main() -> None:
    options = add_threads(arguments(__doc__))
    case = game(options.case)
    time_training(lambda: algorithm_for(case), case, options, steps_a_call=16384, warm_calls=1)


if __name__ == "__main__":
    main()
