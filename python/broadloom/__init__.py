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
    main,
    report,
    rerun,
)
from .frames import read_evaluations, read_ledger, read_metrics, read_store
from .progress import Progress
from .registering import allow_plugin, register
from .training import Run, resume, train

if TYPE_CHECKING:
    from . import sinks, warp, zoo
    from .envs import Env, VectorEnv
    from .importing import import_policy
    from .policy import Policy
    from .sinks import log_to
    from .watching import watch

__version__ = "0.1.0"
__all__ = [
    "Env",
    "Error",
    "Policy",
    "Progress",
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
    "log_to",
    "main",
    "read_evaluations",
    "read_ledger",
    "read_metrics",
    "read_store",
    "register",
    "report",
    "rerun",
    "resume",
    "sinks",
    "train",
    "warp",
    "watch",
    "zoo",
]
# They need NumPy or Gymnasium, which take longer to import than all of Broadloom.
# python -m broadloom.sinks wants that module not to be imported before.
_LATER = {
    "Env": "envs",
    "VectorEnv": "envs",
    "import_policy": "importing",
    "log_to": "sinks",
    "Policy": "policy",
    "watch": "watching",
}

# Commands without a function of their own.
_COMMANDS = ("bench", "curve", "diff", "env", "eval", "study")

for _folder in reversed(sys.path):
    _core.add_package_folder(_folder)  # Python's folders may hold MuJoCo
_registry.register_when_imported()


def __getattr__(name):
    from importlib import import_module

    if name in ("sinks", "warp", "zoo"):
        return import_module(f".{name}", __name__)
    if name not in _LATER:
        hint = ""
        if name in _COMMANDS:
            hint = f"; call broadloom.command({name!r}, ...), as the program's {name}"
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    value = globals()[name] = getattr(import_module(f".{_LATER[name]}", __name__), name)
    return value


def __dir__():
    return sorted(__all__)
