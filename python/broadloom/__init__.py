"""Broadloom: massively parallel on-policy reinforcement learning, measured.

    import broadloom
    run = broadloom.train("CartPole-v1", total_timesteps=100_000)          # an environment of Broadloom's
    run = broadloom.train("gymnasium/LunarLander-v3", num_envs=16)         # one of Gymnasium's
    run = broadloom.train(lambda: MyEnv(), num_envs=16, name="MyEnv-v0")   # one of your own
    broadloom.Policy(run).act(observations)

`python -m broadloom` is the program, with the same environments. Environments of Broadloom's are Gymnasium's, too:
`gymnasium.make_vec("broadloom/CartPole-v1", num_envs=64)`.
"""

from ._core import Error
from .envs import Env, VectorEnv, list_envs
from .policy import Policy
from .training import Run, main, register, resume, train

__all__ = ["Env", "Error", "Policy", "Run", "VectorEnv", "list_envs", "main", "register", "resume", "train"]
