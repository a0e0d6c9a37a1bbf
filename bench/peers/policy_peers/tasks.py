"""Tasks, thresholds and settings of policies.py. Each setting is a key of Broadloom."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field
from typing import Any

EVERY = 1000  # environment steps of training between evaluations, in whole blocks
FIRST_SEED = 101


@dataclass(frozen=True)
class Task:
    """`options` are the environment's, `keys` the settings of all contenders."""

    env_id: str
    threshold: float  # mean return of an evaluation
    episodes: int  # of an evaluation
    keys: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    cap: int = 10**9  # environment steps after which a peer ends, before its schedules do

    @property
    def block(self) -> int:
        return self.keys["num_envs"] * self.keys["num_steps"]

    @property
    def interval(self) -> int:
        """Iterations between evaluations."""
        return math.ceil(EVERY / self.block)


CARTPOLE = {"hide_obs": "1,3"}
# RL Zoo's settings of ppo_lstm for CartPoleNoVel-v1, commit 038ab1617a48, with networks of 64.
ZOO = {
    "total_timesteps": 100_000,
    "num_envs": 8,
    "num_steps": 32,
    "num_minibatches": 1,
    "update_epochs": 20,
    "gae_lambda": 0.8,
    "gamma": 0.98,
    "ent_coef": 0.0,
    "learning_rate": 1e-3,
    "lr_schedule": "linear",
    "clip_schedule": "linear",
    "clip_vloss": False,
    "vf_coef": 1.0,
    "hidden_sizes": "64",
}

TASKS = {
    "t_maze": Task(  # configs/t_maze.toml
        "TMaze-v0",
        3.9,
        20,
        {
            "total_timesteps": 150_000,
            "num_envs": 64,
            "num_steps": 32,
            "num_minibatches": 4,
            "hidden_sizes": "32",
            "learning_rate": 0.004,
            "gamma": 0.98,
        },
        {"length": 6},
    ),
    "cartpole_hidden": Task(  # configs/cartpole_hidden.toml
        "CartPole-v1",
        195.0,
        20,
        {
            "total_timesteps": 400_000,
            "num_envs": 8,
            "num_steps": 128,
            "num_minibatches": 4,
            "hidden_sizes": "64,64",
            "learning_rate": 0.001,
        },
        CARTPOLE,
        200_000,
    ),
    "cartpole_hidden_zoo": Task("CartPole-v1", 195.0, 20, ZOO, CARTPOLE),
    "tic_tac_toe": Task(  # configs/tic_tac_toe.toml
        "TicTacToe-v0",
        0.9,
        100,
        {
            "total_timesteps": 400_000,
            "num_envs": 64,
            "num_steps": 32,
            "num_minibatches": 16,
            "update_epochs": 4,
            "hidden_sizes": "64,64",
            "learning_rate": 3e-3,
            "gamma": 1.0,
            "ent_coef": 0.03,
        },
    ),
    "dials": Task(
        "Dials-v0",
        31.0,
        20,
        {
            "total_timesteps": 200_000,
            "num_envs": 64,
            "num_steps": 32,
            "num_minibatches": 16,
            "hidden_sizes": "64,64",
            "learning_rate": 3e-3,
        },
    ),
}
MEMORY = ("t_maze", "cartpole_hidden", "cartpole_hidden_zoo")


@dataclass(frozen=True)
class Contender:
    """`python`: steps the environment through Gymnasium's interface, as the peers do. `first`: the
    cell is before the hidden layers, as RecurrentPPO's."""

    name: str
    module: str
    tasks: tuple[str, ...]
    recurrent: str = "none"
    python: bool = False
    first: bool = False


CONTENDERS = (
    Contender("Broadloom, mingru", "own_run", MEMORY, "mingru"),
    Contender("Broadloom, gru", "own_run", MEMORY, "gru"),
    Contender("Broadloom, lstm", "own_run", MEMORY, "lstm"),
    Contender("Broadloom, lstm, Gymnasium", "own_run", MEMORY, "lstm", True),
    Contender("Broadloom, gru first", "own_run", MEMORY, "gru", first=True),
    Contender("Broadloom, lstm first", "own_run", MEMORY, "lstm", first=True),
    Contender("Broadloom, no memory", "own_run", MEMORY),
    Contender("RecurrentPPO", "sb3_run", MEMORY, "lstm", True),
    Contender("Broadloom", "own_run", ("tic_tac_toe", "dials")),
    Contender("Broadloom, Gymnasium", "own_run", ("tic_tac_toe", "dials"), python=True),
    Contender("MaskablePPO", "sb3_run", ("tic_tac_toe",), python=True),
    Contender("PPO of SB3", "sb3_run", ("dials",), python=True),
)


def contender(name: str) -> Contender:
    return next(one for one in CONTENDERS if one.name == name)


def arguments(about: str | None) -> argparse.Namespace:
    """The arguments of one training: task, contender, seed, and a budget of steps or 0."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("task", choices=list(TASKS))
    parser.add_argument("contender")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=0)
    return parser.parse_args()
