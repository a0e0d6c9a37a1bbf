"""The protocol for all contenders: tasks, thresholds, and how often a policy is evaluated."""

from __future__ import annotations

import math

# Mean evaluation return to reach. Pendulum has no threshold upstream; README.md explains -200.
THRESHOLDS = {
    "CartPole-v1": 475.0,
    "Acrobot-v1": -100.0,
    "Pendulum-v1": -200.0,
    "MountainCarContinuous-v0": 90.0,
}
EVERY = 1000  # environment steps of training between evaluations, in whole blocks
EPISODES = 20  # of an evaluation
IN_A_ROW = 3  # evaluations that must be there
FIRST_SEED = 101  # seeds before it are for `advise` and probes, and are never scored


def interval(block: int) -> int:
    """Iterations between evaluations, for a block of this many environment steps."""
    return math.ceil(EVERY / block)


def protocol() -> dict[str, object]:
    """The settings that a file of results must share to be continued."""
    return {
        "thresholds": THRESHOLDS,
        "every": EVERY,
        "episodes": EPISODES,
        "in_a_row": IN_A_ROW,
    }
