"""Training on any environment, and every command of the program, from Python."""

from __future__ import annotations

import collections
import contextlib
import os
import pathlib
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    from ._types import DataFrame, EnvSource, Library, OnIteration, StrPath, Vectorization

_kinds = {}  # (function, Kind) by registered id
_in_use = collections.Counter()  # trainings that are under way with a registered id
_lock = threading.RLock()  # of both


class Run(os.PathLike):
    """A finished run: its folder, and what it came to. Whatever takes a run's folder takes this."""

    dir: pathlib.Path
    run_dir: str
    global_step: int  # environment steps made
    total_timesteps: int  # of a whole run
    finished: bool
    episodes: int  # ended since the run began
    mean_return: float | None  # of the last block's episodes, or the last 100; None before the first
    success_rate: float | None
    seconds: float  # of this process
    record: str  # file and line of the ledger; "" where it is not finished

    def __init__(self, summary: dict[str, Any]) -> None:
        self.__dict__.update(summary)
        self.dir = pathlib.Path(summary["run_dir"])

    def __fspath__(self) -> str:
        return str(self.dir)

    def metrics(self, library: Library | None = None) -> DataFrame:
        """The numbers of each logged iteration as a data frame."""
        from .frames import read_metrics

        return read_metrics(self.dir, library)

    def evaluations(self, library: Library | None = None) -> DataFrame:
        """The evaluations on the way as a data frame (eval_interval=)."""
        from .frames import read_evaluations

        return read_evaluations(self.dir, library)

    def __repr__(self) -> str:
        result = "no episode has ended" if self.mean_return is None else f"mean return {self.mean_return:.2f}"
        return f"<Run {self.dir}: {self.global_step:,} of {self.total_timesteps:,} steps, {result}>"


def train(env: EnvSource, *, out: StrPath | None = None, threads: int = 0, ledger: StrPath = "", quiet: bool = False, on_iteration: OnIteration | None = None,
          name: str | None = None, vectorization: Vectorization = "sync", observation_keys: tuple[str, str] = ("policy", "critic"), init: StrPath | None = None,
          panel: StrPath | None = None, **config: Any) -> Run:
    """Trains from the start, and returns the finished Run.

    env: an id of Broadloom's ("CartPole-v1"), one of Gymnasium's ("gymnasium/Hopper-v5", "gymnasium/ALE/Pong-v5"), of EnvPool's ("envpool/Ant-v5") or of a plug-in ("plugin:./libmine.so:Task-v0"), a function that
    makes one environment, or one of `num_envs` (and `seed`, if it takes one) that makes a VectorEnv or Stable-Baselines3's VecEnv; functions are known as
    `name` ("python/<its name>-v0").
    config: keys as the program's flags have them, num_envs=16, norm_obs=True, **{"env.gravity": 9.8}; `python -m broadloom train --help` lists them.
    out: the run's folder, which must be new. threads: 0 for all cores; results do not depend on it. on_iteration: called with a dict after each iteration.
    init: a run or checkpoint whose policy this one begins with. panel: a held-out panel in TOML that the final policy is scored on.
    vectorization: "sync" or "async" (a process each), where single environments are put together.

    Raises broadloom.Error for what cannot be done; KeyboardInterrupt and what on_iteration raised, with the run saved; and what step() of the environment raised,
    after which the last checkpoint is there (checkpoint_interval). broadloom.resume() goes on from it."""
    with identified(env, name, vectorization, observation_keys, config.get("num_envs")) as env_id:
        keys = {"env_id": env_id, **{key: text_of(value) for key, value in config.items()}}
        return Run(_core.train(keys, str(out or ""), threads, str(ledger), os.fspath(init or ""),
                               os.fspath(panel or ""), *ears(quiet, on_iteration)))


def resume(run: StrPath, *, total_timesteps: int = 0, threads: int = 0, device: str = "", memory_limit: int | None = None, ledger: StrPath = "", quiet: bool = False, on_iteration: OnIteration | None = None) -> Run:
    """Goes on with a run, or makes it longer. device, memory_limit: in the place of the run's own. Environments that its process registered must be registered again
    (register())."""
    machine = {key: str(value) for key, value in (("device", device or None), ("memory_limit", memory_limit)) if value is not None}
    return Run(_core.resume(os.fspath(run), total_timesteps, threads, machine, str(ledger), *ears(quiet, on_iteration)))


def register(name: str, env: EnvSource, *, vectorization: Vectorization = "sync",
             observation_keys: tuple[str, str] = ("policy", "critic"), max_episode_steps: int = 0,
             num_envs: int = 2) -> str:
    """Makes a function that makes environments known by a name, to every command of main() and to
    train(). As train() has it. A name that is registered already means the new function from now
    on. num_envs: how many environments to look at first, of a function of num_envs.

    Raises broadloom.Error where a training that is under way uses the name."""
    from . import sources

    with _lock:
        if name in _kinds and _kinds[name][0] is env:
            return name
        if _in_use[name] > 0:
            raise _core.Error(f"'{name}' is in use by a training that is under way, with another "
                              "function; give this one another name (name=)")
    kind = sources.of_function(name, env, vectorization=vectorization, keys=observation_keys,
                               max_episode_steps=max_episode_steps, num_envs=num_envs)
    with _lock:
        _core.register(kind.spec, kind.simulator)
        _kinds[name] = env, kind
    return name


def allow_plugin(path: StrPath) -> None:
    """Lets runs, records and panels name code: a plug-in's library, a folder of them, or a Python package, "gymnasium". For this process. A call that names the
    environment itself, train("plugin:./libmine.so:Task-v0"), allows it. docs/trust.md has the rule."""
    _core.allow_plugin(os.fspath(path))


def main(arguments: Sequence[Any] | None = None) -> int:
    """The program: `main(["eval", "runs/a"])`. Prints, and returns the exit code."""
    sys.stdout.flush()
    code, raised = _core.program([str(word) for word in (sys.argv[1:] if arguments is None else arguments)])
    _say_where(raised)
    return code


def answer(words):
    """The same, without printing: (exit code, what it printed, its error or "")."""
    *found, raised = _core.answer_of_program([str(word) for word in words])
    _say_where(raised)
    return found


def _say_where(raised):
    """The program has said what an exception of Python's came to; this says where it was."""
    if raised is None:
        return
    if not isinstance(raised, Exception):
        raise raised
    import traceback

    traceback.print_exception(type(raised), raised, raised.__traceback__)


@contextlib.contextmanager
def identified(env, name, vectorization, keys, num_envs):
    """The id of what train() was given, which nobody else registers meanwhile."""
    env_id = identify(env, name, vectorization, keys, num_envs)
    try:
        yield env_id
    finally:
        if not isinstance(env, str):
            with _lock:
                _in_use[env_id] -= 1


def identify(env, name, vectorization, keys, num_envs):
    if isinstance(env, str):
        for key, given, usual in (("name", name, None), ("vectorization", vectorization, "sync"),
                                  ("observation_keys", keys, ("policy", "critic"))):
            if given != usual:
                raise _core.Error(
                    f"{key}: got {given!r} with the id '{env}', which has its own; it is for a "
                    "function that makes environments (lambda: gymnasium.make(...))")
        return env
    if not callable(env):
        raise TypeError(f"env: got {type(env).__name__}, expected an id or a function that makes environments: how many are needed depends on num_envs, and to "
                        "evaluate others are made (lambda: gymnasium.make(...), or lambda num_envs: gymnasium.make_vec(..., num_envs=num_envs))")
    word = getattr(env, "__name__", type(env).__name__)
    word = "env" if word == "<lambda>" else word
    with _lock:
        env_id, number = name or f"python/{word}-v0", 1
        while name is None and _in_use[env_id] > 0 and _kinds[env_id][0] is not env:
            number += 1
            env_id = f"python/{word}_{number}-v0"
        count = num_envs if isinstance(num_envs, int) and num_envs > 0 else 2
        register(env_id, env, vectorization=vectorization, observation_keys=keys, num_envs=count)
        _in_use[env_id] += 1
        return env_id


def flags_of(options):
    """Keywords as the program's flags; None: left out."""
    return [f"--{key}={text_of(value)}" for key, value in options.items() if value is not None]


def text_of(value):
    """As a config file or flag has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(text_of(item) for item in value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return repr(value) if type(value) is float else str(value)


def _opener(namespace):
    def opened(env_id):
        from . import sources

        kind = getattr(sources, f"of_{namespace}")(env_id)
        return kind.spec, kind.simulator
    return opened


for _name in ("gymnasium", "envpool"):
    _core.register_namespace(_name, _opener(_name))


class _Progress:
    """One line that is written over, on a terminal; else nothing but the end."""

    def __init__(self, quiet):
        self.shows = not quiet and sys.stderr.isatty()

    def __call__(self, progress):
        if not self.shows:
            return
        result = "" if progress["mean_return"] is None else f"  return {progress['mean_return']:.2f}"
        end = "\n" if progress["iteration"] == progress["num_iterations"] else ""
        print(f"\r{progress['global_step']:>12,} of {progress['total_timesteps']:,}  {progress['steps_per_second']:,.0f} steps/s{result}  ", end=end, file=sys.stderr, flush=True)


def ears(quiet, on_iteration):
    """What is called with the contract, after iterations, and with notes."""
    shown = _Progress(quiet)

    def both(progress):
        shown(progress)
        if on_iteration is not None:
            on_iteration(progress)

    if quiet:
        return None, both if on_iteration else None, None
    return lambda text: print(_core.terminal_text(text)), both, lambda note: print(_core.terminal_text(f"Note: {note}"), file=sys.stderr)
