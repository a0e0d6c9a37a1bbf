"""Trains on any environment, and resumes runs."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._arguments import USUAL_KEYS, check_calls, check_keywords, check_source, texts_of
from ._checks import is_one_of
from ._errors import NotFound, error_of
from ._source_text import with_call
from .commands import main
from .progress import Progress, calls_of
from .registering import (
    allow_plugin,
    check_stack,
    gymnasium_id,
    identified,
    register,
    source_of,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keys import ConfigKeys
    from ._types import (
        DataFrame,
        EnvSource,
        Library,
        ObservationKeys,
        OnIteration,
        Sinks,
        StrPath,
        Vectorization,
    )

__all__ = ["Progress", "Run", "allow_plugin", "main", "register", "resume", "train"]


class Run(os.PathLike):
    """A run's folder and results. Functions that take a run's folder take this object."""

    dir: pathlib.Path
    run_dir: str
    global_step: int  # environment steps so far
    total_timesteps: int  # environment steps of the whole run
    finished: bool
    stopped_by: str  # the key that ended the run early, "stop_at_return"; "": none
    stopped_return: float | None  # the mean return that reached it
    best_return: float | None  # of the evaluations in training; None before the first
    best_step: int  # its environment step
    episodes: int  # episodes that have ended
    mean_return: float | None  # of the last block's or the last 100 episodes; None before the first
    success_rate: float | None
    seconds: float  # of this process
    record: str  # file and line of the ledger; "" if not finished

    def __init__(self, summary: dict[str, Any], base: str = "") -> None:
        """base: the folder in which the call began, if the process is in another one by now."""
        self.__dict__.update(summary)
        self.dir = pathlib.Path(base, summary["run_dir"])

    def __fspath__(self) -> str:
        return str(self.dir)

    @property
    def best(self) -> pathlib.Path:
        """The checkpoint of the best evaluation in training (eval_interval=): for Policy(), init=.

        Its logged return is too high, since it was chosen for it: evaluate it with another seed.
        Raises broadloom.Error if there was no evaluation."""
        best = self.dir / "best.safetensors"
        if not best.exists():
            raise NotFound(
                f"best: got '{self.dir}', which had no evaluation in training, expected one; train "
                "with eval_interval=10, or use the run itself, its newest checkpoint"
            )
        return best

    def metrics(self, library: Library | None = None) -> DataFrame:
        """The numbers of each logged iteration as a data frame."""
        from .frames import read_metrics

        return read_metrics(self.dir, library)

    def evaluations(self, library: Library | None = None) -> DataFrame:
        """The evaluations during training as a data frame (eval_interval=)."""
        from .frames import read_evaluations

        return read_evaluations(self.dir, library)

    def __repr__(self) -> str:
        result = (
            "no episode has ended"
            if self.mean_return is None
            else f"mean return {self.mean_return:.2f}"
        )
        return f"<Run {self.dir}: {self.global_step:,} of {self.total_timesteps:,} steps, {result}>"


def train(
    env: EnvSource,
    *,
    out: StrPath | None = None,
    threads: int | None = 0,
    ledger: StrPath | None = "",
    quiet: bool | None = False,
    on_iteration: OnIteration | None = None,
    sinks: Sinks | None = (),
    name: str | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    wrappers: Sequence[Callable[[Any], Any]] | None = (),
    vectorization: Vectorization | None = "sync",
    observation_keys: ObservationKeys | None = ("policy", "critic"),
    init: StrPath | None = None,
    init_optimizer: bool | None = False,
    panel: StrPath | None = None,
    **config: Unpack[ConfigKeys],
) -> Run:
    """Starts a run, trains it to its end and returns it.

    env: an id, or a function that makes environments.
        Ids: of Broadloom ("CartPole-v1"), Gymnasium ("gymnasium/Hopper-v5",
        "gymnasium/ALE/Pong-v5"), a package that registers one ("pkg:Id-v0"), EnvPool
        ("envpool/Ant-v5"), gymnax ("gymnax/CartPole-v1"), MuJoCo Warp ("warp/Hopper-v5") or a
        plug-in ("plugin:./libmine.so:Task-v0").
        Functions: without arguments, for one environment; or of `num_envs` (and `seed`, if it takes
        one), for a VectorEnv or Stable-Baselines3's VecEnv.
    name: the id of a function's environments; by default "python/<function's name>-v0". With an id
        of Gymnasium: another name for it.
    env_kwargs: arguments of gymnasium.make(), or of a function that makes one environment. For
        other ids: options of the environment, {"gravity": 9.5} for the key env.gravity.
    wrappers: functions such as classes of gymnasium.wrappers, in order; as env_kwargs for ids of
        Gymnasium and functions that make one environment. With either the name of an id's
        environment is python/<id>, and the run records both in words only. For ids of ALE,
        env_kwargs are AtariVectorEnv's, and there are no wrappers.
    config: keys of the config, such as num_envs=16 or norm_obs=True;
        `python -m broadloom train --help` lists them. None is a key or keyword that is left out.
    out: the run's folder, which must be new.
    threads: 0 for all cores. Results do not depend on it.
    on_iteration: called with a Progress, a dict, after each iteration. If it returns False, the run
        is saved and ends there: lambda p: p["mean_return"] is None or p["mean_return"] < 475. It
        changes no bit of the run.
    sinks: "wandb", "mlflow", "tensorboard", "csv", or objects of broadloom.sinks, which get the
        run's numbers about once a second. One that fails warns, and log_to() can send all later.
    init: a run or checkpoint whose policy the run begins with.
    init_optimizer: also take its optimiser's state and the statistics that scale rewards.
    panel: a held-out panel in TOML, to score the final policy on.
    vectorization: "sync", or "async" for one process per environment; for ids of Gymnasium and
        functions without num_envs.

    Raises broadloom.Error. KeyboardInterrupt and exceptions of on_iteration or the environment come
    out after the last finished iteration is saved. A note of the exception names its step, from
    which broadloom.resume() goes on. If environments save their state (JAX, MuJoCo Warp) and fail
    within an iteration, the last checkpoint remains (checkpoint_interval)."""
    threads = 0 if threads is None else threads
    vectorization = "sync" if vectorization is None else vectorization
    observation_keys = USUAL_KEYS if observation_keys is None else observation_keys
    check_calls(threads, on_iteration)
    base = os.getcwd()
    if not is_one_of(init_optimizer, (True, False, None)):
        raise _core.Error(f"init_optimizer: got {init_optimizer!r}, expected True or False")
    check_keywords(config, train.__kwdefaults__)
    settings: dict[str, Any] = {**config}
    check_source(name, env_kwargs, wrappers, vectorization, observation_keys)
    if env_kwargs and isinstance(env, str) and not gymnasium_id(env):
        settings |= {f"env.{key}": value for key, value in env_kwargs.items()}
        env_kwargs = None
    env, name = source_of(env, name, env_kwargs, wrappers, vectorization, observation_keys)
    with identified(env, name, vectorization, observation_keys, settings.get("num_envs")) as env_id:
        keys = {"env_id": env_id, **texts_of(settings)}
        check_stack(env_id, keys)
        with calls_of(quiet, on_iteration, sinks, env_id, base) as calls, _in_words_of_python():
            summary = _core.train(
                keys,
                base,
                _without_slash(str(out)) if out else "",
                threads,
                os.fspath(ledger or ""),
                os.fspath(init or ""),
                bool(init_optimizer),
                os.fspath(panel or ""),
                *calls.all,
            )
            calls.finished = summary["finished"]
        return _run_of(summary, base)


@contextlib.contextmanager
def _in_words_of_python():
    """In place of a list of all keys, errors name the two places that describe the keywords. The
    error of missing last observations says how an environment of Python gives them."""
    try:
        yield
    except _core.Error as error:
        text, listed, _ = str(error).partition("; expected one of: env_id, ")
        if "which needs the final observation of every" in text:
            raise error_of(
                error.kind,
                f"{text}; or let step() give the last observations of ended episodes as "
                "infos['final_obs']",
            ) from None
        if not listed:
            raise
        raise _core.Error(
            f"{text}; `python -m broadloom train --help` describes the config's keys, and "
            "help(broadloom.train) the other keywords"
        ) from None


def resume(
    run: StrPath,
    *,
    total_timesteps: int | None = 0,
    more_timesteps: int | None = 0,
    threads: int | None = 0,
    device: str | None = "",
    memory_limit: int | None = None,
    stop_at_return: float | str | None = None,
    ledger: StrPath | None = "",
    quiet: bool = False,
    on_iteration: OnIteration | None = None,
    sinks: Sinks | None = (),
) -> Run:
    """Resumes a run, or makes it longer with total_timesteps or more_timesteps.

    device, memory_limit: replace the run's own. stop_at_return: a higher return than the run's, or
    "none", for a run that stopped there. Register your own environments again before, with
    register()."""
    threads = 0 if threads is None else threads
    check_calls(threads, on_iteration)
    base = os.getcwd()
    replaced = {
        "device": device or None,
        "memory_limit": memory_limit,
        "stop_at_return": stop_at_return,
    }
    changed = texts_of(replaced)
    env_id = ""
    if sinks:
        from .run_files import RunFiles

        env_id = RunFiles(run).config["env_id"]
    with calls_of(quiet, on_iteration, sinks, env_id, base) as calls:
        try:
            summary = _core.resume(
                base,
                _without_slash(run),
                total_timesteps or 0,
                more_timesteps or 0,
                threads,
                changed,
                os.fspath(ledger or ""),
                *calls.all,
            )
        except _core.Error as error:
            raise with_call(error, [run]) from error.__cause__
        calls.finished = summary["finished"]
    return _run_of(summary, base)


def _without_slash(path):
    return os.fspath(path).rstrip("/") or "/"


def _run_of(summary, base):
    """The Run of a call that began in the folder `base`."""
    return Run(summary, "" if os.getcwd() == base else base)
