#!/usr/bin/env python3
"""rejax's PPO or PQN on gymnax's games, on JAX's CPU backend, once.

rejax brings dense networks alone; the convolution before them is put in here. Compilation and the first call lie before
the clock.
"""

from __future__ import annotations

import os
import time
from typing import Any

from cases import Game, game
from result import arguments, report


def algorithm_for(case: Game) -> Any:
    from flax import linen as nn
    from rejax import PPO, PQN
    from rejax.networks import DiscretePolicy, DiscreteQNetwork, EpsilonGreedyPolicy, VNetwork

    class Body(nn.Module):
        normalises: bool

        @nn.compact
        def __call__(self, seen: Any) -> Any:
            def activated(x: Any) -> Any:
                return nn.relu(nn.LayerNorm()(x) if self.normalises else x)

            x = activated(nn.Conv(16, kernel_size=(3, 3), padding="VALID")(seen))
            return activated(nn.Dense(case.hidden)(x.reshape((x.shape[0], -1))))

    # Heads of rejax's own over this body instead of theirs.
    class Policy(DiscretePolicy):
        def setup(self) -> None:
            self.features = Body(False)
            self.action_logits = nn.Dense(self.action_dim)

    class Value(VNetwork):
        @nn.compact
        def __call__(self, seen: Any) -> Any:
            return nn.Dense(1)(Body(False)(seen)).squeeze(1)

    class ActionValues(DiscreteQNetwork):
        @nn.compact
        def __call__(self, seen: Any) -> Any:
            return nn.Dense(self.action_dim)(Body(True)(seen))

        def take(self, seen: Any, action: Any) -> Any:
            import jax.numpy as jnp

            values = self(seen)
            return jnp.take_along_axis(values, action[:, None], axis=1).squeeze(axis=1)

    settings = {
        "env": case.env_id.split("/")[1].split("-")[0] + "-MinAtar",
        "num_envs": case.num_envs,
        "num_steps": case.num_steps,
        "num_epochs": case.epochs,
        "num_minibatches": case.num_minibatches,
        "learning_rate": 2.5e-4,
        "skip_initial_evaluation": True,
    }
    # What the bodies above do not look at.
    unused = {"hidden_layer_sizes": (), "activation": nn.relu}
    if case.algorithm == "pqn":
        made = PQN.create(**settings, max_grad_norm=10.0, agent_kwargs={})
        agent = EpsilonGreedyPolicy(ActionValues)(action_dim=int(made.action_dim), **unused)
        return made.replace(agent=agent)
    made = PPO.create(**settings, max_grad_norm=0.5, agent_kwargs={})
    return made.replace(actor=Policy(int(made.action_dim), **unused), critic=Value(**unused))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--threads", type=int, default=0, help="cores to use; 0: all (default)")
    options = parser.parse_args()
    if options.threads:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    os.environ["JAX_PLATFORMS"] = "cpu"
    # JAX counts the cores when it is first imported.
    import jax

    case = game(options.case)
    algorithm = algorithm_for(case)
    # A second or so in one call, so that Python's share is nothing.
    updates = max(1, 16384 // case.block)
    advance = jax.jit(
        lambda state: jax.lax.fori_loop(
            0, updates, lambda _, inner: algorithm.train_iteration(inner), state
        )
    )
    state = jax.block_until_ready(jax.jit(algorithm.init_state)(jax.random.PRNGKey(1)))
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
