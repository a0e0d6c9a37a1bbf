"""Broadloom: massively parallel on-policy reinforcement learning, measured.

    import broadloom
    run = broadloom.train("CartPole-v1", total_timesteps=100_000)         # Broadloom's environment
    run = broadloom.train("gymnasium/LunarLander-v3", num_envs=16)        # Gymnasium's
    run = broadloom.train(lambda: MyEnv(), num_envs=16, name="MyEnv-v0")  # your own
    broadloom.Policy(run).act(observations)

`python -m broadloom` runs the program, with the same environments. Gymnasium knows Broadloom's
environments, too: `gymnasium.make_vec("broadloom/CartPole-v1", num_envs=64)`.
"""

import sys
from typing import TYPE_CHECKING

from . import _core, _registry
from ._core import Error, list_envs
from .commands import (
    Study,
    advise,
    audit,
    command,
    compare,
    evaluate,
    export,
    gradients,
    report,
    rerun,
)
from .frames import read_evaluations, read_ledger, read_metrics, read_store
from .training import Run, allow_plugin, main, register, resume, train

if TYPE_CHECKING:
    from .envs import Env, VectorEnv
    from .importing import import_policy
    from .policy import Policy

__all__ = [
    "Env",
    "Error",
    "Policy",
    "Run",
    "Study",
    "VectorEnv",
    "advise",
    "allow_plugin",
    "audit",
    "command",
    "compare",
    "evaluate",
    "export",
    "gradients",
    "import_policy",
    "list_envs",
    "main",
    "read_evaluations",
    "read_ledger",
    "read_metrics",
    "read_store",
    "register",
    "report",
    "rerun",
    "resume",
    "train",
]
# They need NumPy or Gymnasium, which take longer to import than all of Broadloom.
_LATER = {"Env": "envs", "VectorEnv": "envs", "import_policy": "importing", "Policy": "policy"}

for _folder in reversed(sys.path):
    _core.add_package_folder(_folder)  # Python's folders may hold MuJoCo
_registry.register_when_imported()


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f".{_LATER[name]}", __name__), name)
    return value


def __dir__():
    return sorted(__all__)
