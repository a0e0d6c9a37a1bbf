"""The cases, with the names and settings of bench/cases/<name>.toml."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Training:
    """One PPO training: N environments, T steps of each, minibatches of M, K epochs."""

    env_id: str
    hidden: int
    num_envs: int
    num_steps: int
    minibatch: int
    epochs: int

    @property
    def block(self) -> int:
        return self.num_envs * self.num_steps

    @property
    def num_minibatches(self) -> int:
        return self.block // self.minibatch

    def __str__(self) -> str:
        return (
            f"{self.env_id}, {self.hidden}-{self.hidden} tanh, N {self.num_envs}, "
            f"T {self.num_steps}, M {self.minibatch}, K {self.epochs}"
        )


@dataclass(frozen=True)
class Game(Training):
    """A training on pixels: one body of 16 filters of 3x3 and `hidden` dense units, ReLU."""

    algorithm: str = "ppo"

    def __str__(self) -> str:
        return (
            f"{self.env_id}, {self.algorithm.upper()}, 3x3x16 and {self.hidden} ReLU, "
            f"N {self.num_envs}, T {self.num_steps}, M {self.minibatch}, K {self.epochs}"
        )


@dataclass(frozen=True)
class Stepping:
    """Environments only: random actions in; observations, rewards and flags out."""

    env_id: str
    num_envs: int

    def __str__(self) -> str:
        return f"{self.env_id}, environments only, N {self.num_envs}, one core"


CASES: dict[str, Training | Stepping] = {
    "pendulum_64_k4": Training("Pendulum-v1", 64, 64, 64, 1024, 4),
    "pendulum_64_k1": Training("Pendulum-v1", 64, 64, 64, 1024, 1),
    "pendulum_64_k1_wide": Training("Pendulum-v1", 64, 4096, 16, 16384, 1),
    "pendulum_32_k1": Training("Pendulum-v1", 32, 64, 128, 1024, 1),
    "pendulum_256_k4": Training("Pendulum-v1", 256, 64, 64, 1024, 4),
    "cartpole_env": Stepping("CartPole-v1", 4096),
    "cartpole_wide": Training("CartPole-v1", 64, 1024, 16, 4096, 4),
    "cartpole_default": Training("CartPole-v1", 64, 4, 128, 128, 4),
    "breakout_ppo": Game("MinAtar/Breakout-v1", 128, 8, 128, 256, 4),
    "breakout_pqn": Game("MinAtar/Breakout-v1", 128, 8, 128, 256, 4, "pqn"),
    "breakout_pqn_wide": Game("MinAtar/Breakout-v1", 128, 128, 32, 128, 2, "pqn"),
}


def training(name: str) -> Training:
    case = CASES[name]
    if not isinstance(case, Training):
        raise SystemExit(f"{name} is no training case")
    return case


def game(name: str) -> Game:
    case = CASES[name]
    if not isinstance(case, Game):
        raise SystemExit(f"{name} is no game")
    return case


def stepping(name: str) -> Stepping:
    case = CASES[name]
    if not isinstance(case, Stepping):
        raise SystemExit(f"{name} is no environment case")
    return case
