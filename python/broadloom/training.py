"""Trains on any environment, and runs commands of the program."""

from __future__ import annotations

import collections
import contextlib
import difflib
import json
import os
import pathlib
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._checks import MOST_ENVS, check_count, is_one_of, whole_number
from ._errors import InvalidType, error_of

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
    from .policy import Policy

_kinds = {}  # (function, other arguments, Kind) by registered id
_in_use = collections.Counter()  # trainings in progress, by registered id
LINE_SECONDS = 5.0  # between lines of progress in a notebook or a file
_USUAL_KEYS = ("policy", "critic")
_ID_FLAGS = ("--env_id", "--env-id")
_NAMES_ELSEWHERE = {  # of train()'s keywords
    **dict.fromkeys(("run_dir", "log_dir", "output_dir", "save_path", "folder", "dir"), "out"),
    **dict.fromkeys(("n_threads", "num_threads", "jobs"), "threads"),
    "callback": "on_iteration",
    "verbose": "quiet",
    "init_from": "init",
    "policy": "hidden_sizes",
}
_lock = threading.RLock()  # guards both


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

    def __init__(self, summary: dict[str, Any]) -> None:
        self.__dict__.update(summary)
        self.dir = pathlib.Path(summary["run_dir"])

    def __fspath__(self) -> str:
        return str(self.dir)

    @property
    def best(self) -> pathlib.Path:
        """The checkpoint of the best evaluation in training (eval_interval=): for Policy(), init=.

        Its logged return is too high, since it was chosen for it: evaluate it with another seed."""
        return self.dir / "best.safetensors"

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


class Progress(dict[str, Any]):
    """A dict for on_iteration, after each iteration.

    Keys: iteration, num_iterations, global_step, total_timesteps, steps_per_second, seconds_left,
    mean_return, success_rate; run_dir; all numbers of metrics.jsonl, such as policy_loss,
    approx_kl and entropy, also in iterations that are not logged; None: not known. evaluation: the
    line of eval.jsonl as a dict if this iteration was evaluated, else None."""

    def __init__(self, numbers: dict[str, Any], copy: Callable[[], Any]) -> None:
        super().__init__(numbers)
        self._copy = copy

    @property
    def policy(self) -> Policy:
        """A copy of the policy as it is now. It costs a copy of the parameters."""
        from .policy import Policy

        return Policy.around(self._copy())


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
    observation_keys = _USUAL_KEYS if observation_keys is None else observation_keys
    _check_calls(threads, on_iteration)
    if not is_one_of(init_optimizer, (True, False, None)):
        raise _invalid(f"init_optimizer: got {init_optimizer!r}, expected True or False")
    _check_keywords(config)
    settings: dict[str, Any] = {**config}
    _check_source(name, env_kwargs, wrappers, vectorization, observation_keys)
    if env_kwargs and isinstance(env, str) and not gymnasium_id(env):
        settings |= {f"env.{key}": value for key, value in env_kwargs.items()}
        env_kwargs = None
    env, name = source_of(env, name, env_kwargs, wrappers, vectorization, observation_keys)
    with identified(env, name, vectorization, observation_keys, settings.get("num_envs")) as env_id:
        keys = {"env_id": env_id, **texts_of(settings)}
        with calls_of(quiet, on_iteration, sinks) as calls, _without_lists():
            summary = _core.train(
                keys,
                str(out or ""),
                threads,
                os.fspath(ledger or ""),
                os.fspath(init or ""),
                bool(init_optimizer),
                os.fspath(panel or ""),
                *calls.all,
            )
            calls.finished = summary["finished"]
        return Run(summary)


def _check_keywords(config):
    """Refuses words for train()'s own keywords. Config keys are checked later, with all others."""
    from ._keys import ConfigKeys

    if "env_id" in config:
        raise _invalid(
            f"env_id: got {config['env_id']!r}, expected the environment as the first argument"
        )
    for key in config:
        if key in ConfigKeys.__annotations__ or "." in key:
            continue
        near = difflib.get_close_matches(key, train.__kwdefaults__, 1, 0.8)
        guess = _NAMES_ELSEWHERE.get(key) or "".join(near)
        if guess:
            raise _invalid(f"unknown keyword '{key}'; did you mean '{guess}'?")


def _check_calls(threads, on_iteration):
    number = whole_number(threads)
    if number is None or number < 0:
        raise _invalid(f"threads: got {threads!r}, expected a whole number; 0 for all cores")
    if on_iteration is not None and not callable(on_iteration):
        raise _invalid(f"on_iteration: got {on_iteration!r}, expected a function of a Progress")


def _check_source(name, env_kwargs, wrappers, vectorization, keys):
    arguments = {} if env_kwargs is None else env_kwargs
    has_names = isinstance(arguments, Mapping) and all(isinstance(one, str) for one in arguments)
    functions = () if wrappers is None else wrappers
    wrapped = isinstance(functions, Sequence) and all(map(callable, functions))
    is_known = is_one_of(vectorization, ("sync", "async"))
    for key, value, is_right, expected in (
        ("name", name, isinstance(name, (str, type(None))), "a text such as 'Mine-v0'"),
        ("env_kwargs", env_kwargs, has_names, "a dict of arguments by their names"),
        ("wrappers", wrappers, wrapped, "a list of functions"),
        ("vectorization", vectorization, is_known, "'sync' or 'async'"),
        (
            "observation_keys",
            keys,
            _are_keys(keys),
            "a key, or (policy's, critic's); several keys in place of one: "
            "(('image', 'speed'), 'critic')",
        ),
    ):
        if not is_right:
            raise _invalid(f"{key}: got {value!r}, expected {expected}")


def _are_keys(keys):
    """Whether these are a key or keys for the policy, and for the critic, which may have none."""
    pair = (keys,) if isinstance(keys, str) else keys
    if not isinstance(pair, Sequence) or len(pair) not in (1, 2):
        return False
    parts = [(one,) if isinstance(one, str) else () if one is None else one for one in pair]
    are_texts = all(
        isinstance(part, Sequence) and all(isinstance(one, str) for one in part) for part in parts
    )
    return are_texts and any(parts[0])


def _invalid(text):
    return error_of("invalid_config", text)


@contextlib.contextmanager
def _without_lists():
    """In place of a list of all keys, errors name the two places that describe the keywords."""
    try:
        yield
    except _core.Error as error:
        text, listed, _ = str(error).partition("; expected one of: env_id, ")
        if not listed:
            raise
        raise _invalid(
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
    _check_calls(threads, on_iteration)
    replaced = {
        "device": device or None,
        "memory_limit": memory_limit,
        "stop_at_return": stop_at_return,
    }
    changed = texts_of(replaced)
    with calls_of(quiet, on_iteration, sinks) as calls:
        summary = _core.resume(
            os.fspath(run),
            total_timesteps or 0,
            more_timesteps or 0,
            threads,
            changed,
            os.fspath(ledger or ""),
            *calls.all,
        )
        calls.finished = summary["finished"]
    return Run(summary)


def register(
    name: str,
    env: EnvSource,
    *,
    env_kwargs: Mapping[str, Any] | None = None,
    wrappers: Sequence[Callable[[Any], Any]] | None = (),
    vectorization: Vectorization | None = "sync",
    observation_keys: ObservationKeys | None = ("policy", "critic"),
    max_episode_steps: int | None = 0,
    num_envs: int | None = 2,
) -> str:
    """Gives environments a name, for train() and every command of main(): those that a function
    makes, or those of an id of Gymnasium.

    Other arguments are those of train(). A name that is registered again means the new function.
    max_episode_steps: a time limit of ids and single environments, or the one that a function of
    num_envs sets itself; 0: their own.
    num_envs: number of environments to ask a function of num_envs for at first, to learn about
    them.

    Raises broadloom.Error if a training in progress uses the name."""
    from . import sources

    if name is None:
        raise _invalid("name: got None, expected a text such as 'Mine-v0'")
    vectorization = "sync" if vectorization is None else vectorization
    observation_keys = _USUAL_KEYS if observation_keys is None else observation_keys
    _check_source(name, env_kwargs, wrappers, vectorization, observation_keys)
    max_episode_steps = 0 if max_episode_steps is None else max_episode_steps
    num_envs = 2 if num_envs is None else num_envs
    check_count("max_episode_steps", max_episode_steps, 0)
    check_count("num_envs", num_envs, 1, MOST_ENVS)
    env, _ = source_of(env, name, env_kwargs, wrappers, vectorization, observation_keys, named=True)
    arguments = vectorization, observation_keys, max_episode_steps
    with _lock:
        if name in _kinds and _kinds[name][0] is env and _kinds[name][1] == arguments:
            return name
        if _in_use[name] > 0:
            raise _core.Error(
                f"name: got '{name}', which a training in progress uses with another "
                "function or other arguments; expected another name"
            )
    if isinstance(env, sources.EnvMaker) and isinstance(env.source, str):
        kind = sources.gymnasium_kind(
            name,
            env,
            vectorization=vectorization,
            keys=observation_keys,
            limit=max_episode_steps,
        )
    else:
        kind = sources.function_kind(
            name,
            env,
            vectorization=vectorization,
            keys=observation_keys,
            max_episode_steps=max_episode_steps,
            num_envs=num_envs,
        )
    with _lock:
        _core.register(kind.spec, kind.simulator)
        _kinds[name] = env, arguments, kind
    return name


def is_registered(env_id):
    """Whether register() or train() of this process gave environments of Python this id."""
    with _lock:
        return env_id in _kinds


def maker_of(env_id):
    """The function that makes single environments of this id, or None."""
    with _lock:
        return _kinds[env_id][0] if env_id in _kinds else None


def made_by(env_id):
    """(id of Gymnasium, arguments, wrappers) of such environments; None if a function makes
    them."""
    from .sources import EnvMaker

    made = maker_of(env_id)
    is_id = isinstance(made, EnvMaker) and isinstance(made.source, str)
    return (made.source, made.kwargs, made.wrappers) if is_id else None


@contextlib.contextmanager
def filmed(env_id, cameras):
    """In the block this id means the environments of sources.filmed_kind()."""
    from . import sources

    with _lock:
        known = _kinds.get(env_id)
        if _in_use[env_id] > 0:
            raise _core.Error(
                f"got a film of '{env_id}', which a training in progress uses; wait for its end"
            )
    keys, limit = known[1][1:] if known else (_USUAL_KEYS, 0)
    kind = sources.filmed_kind(env_id, cameras, keys, limit)
    _core.register(kind.spec, kind.simulator)
    try:
        yield
    finally:
        cameras.end()
        if known:
            _core.register(known[2].spec, known[2].simulator)


def allow_plugin(path: StrPath) -> None:
    """Allows runs, records and panels to load code, in this process (docs/trust.md).

    path: a plug-in's library, a folder of libraries, or a Python package such as "gymnasium". A
    call that names the environment, train("plugin:./libmine.so:Task-v0"), allows it itself."""
    _core.allow_plugin(os.fspath(path))


def main(arguments: Sequence[Any] | None = None) -> int:
    """Runs the program, `main(["eval", "runs/a"])`; prints, and returns the exit code."""
    sys.stdout.flush()
    code, raised = _core.program(_words(sys.argv[1:] if arguments is None else arguments))
    _print_traceback(raised)
    return code


def answer(words):
    """Runs the program without printing: (exit code, its output, its error or "")."""
    *found, raised = _core.answer_of_program(_words(words))
    _print_traceback(raised)
    return found


def _words(arguments):
    """The words of a command. "pkg:Id-v0" is gymnasium/pkg:Id-v0 in it, as in train()."""
    words = [str(word) for word in arguments]
    for i, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if equals and flag in _ID_FLAGS:
            words[i] = f"{flag}={_full_id(value)}"
        elif i > 0 and (words[i - 1] in _ID_FLAGS or (words[0] == "env" and i == 2)):
            words[i] = _full_id(word)
    return words


def _full_id(env_id):
    is_package = gymnasium_id(env_id) == env_id != ""
    return f"gymnasium/{env_id}" if is_package else env_id


def _print_traceback(raised):
    """Prints the traceback of a Python exception. The program has printed its message already."""
    if raised is None:
        return
    if not isinstance(raised, Exception):
        raise raised
    if hasattr(raised, "broadloom_kind"):
        return  # Broadloom's own words, which need no traceback
    import traceback

    traceback.print_exception(type(raised), raised, raised.__traceback__)


def gymnasium_id(env):
    """The id within Gymnasium, of gymnasium/<id> and <package>:<id>; "" for other ids."""
    space, _, rest = env.partition("/")
    if ":" in space:
        return "" if space.startswith("plugin:") else env
    return rest if space == "gymnasium" else ""


def source_of(env, name, env_kwargs, wrappers, vectorization, keys, named=False):
    """(id or function, name) of train()'s `env`: "pkg:Id" is Gymnasium's. An id with arguments,
    wrappers, keys or processes becomes a function that makes it."""
    changed = bool(env_kwargs or wrappers or vectorization != "sync" or keys != _USUAL_KEYS or name)
    if not isinstance(env, str):
        if not callable(env):
            raise InvalidType(
                f"env: got {type(env).__name__}, expected an id or a function that makes "
                "environments, since training needs num_envs of them and evaluation makes more; "
                "write lambda: gymnasium.make(...), or lambda num_envs: gymnasium.make_vec(..., "
                "num_envs=num_envs)"
            )
        if not (env_kwargs or wrappers):
            return env, name
        from .sources import EnvMaker, parameters_of

        if "num_envs" in parameters_of(env):
            raise _core.Error(
                "env_kwargs, wrappers: got them with a function of num_envs; expected a function "
                "that makes one environment, or an id of Gymnasium; let the function pass "
                "arguments and wrap"
            )
        return EnvMaker(env, env_kwargs, wrappers), name
    own = gymnasium_id(env)
    if not own:
        _check_bare_id(env)
        if named or wrappers:
            given = "env" if named else "wrappers"
            raise _core.Error(
                f"{given}: got it with the id '{env}', expected an id of Gymnasium "
                "('gymnasium/Id-v0', 'package:Id-v0') or a function that makes environments"
            )
        return env, name
    if not changed:
        return f"gymnasium/{own}", name
    from .sources import EnvMaker

    return EnvMaker(own, env_kwargs, wrappers), name or f"python/{own.rpartition(':')[2]}"


def _check_bare_id(env_id):
    """Gymnasium's own ids need a prefix, since some are also those of Broadloom's environments."""
    gymnasium = sys.modules.get("gymnasium")
    if gymnasium is None or env_id.startswith("broadloom/") or env_id not in gymnasium.registry:
        return
    if env_id in _kinds or any(known["id"] == env_id for known in _core.list_envs()):
        return
    raise error_of(
        "not_found",
        f"unknown environment '{env_id}'; Gymnasium has one of this id: name it "
        f"'gymnasium/{env_id}'",
    )


@contextlib.contextmanager
def identified(env, name, vectorization, keys, num_envs):
    """The id of train()'s `env`. No other call can register it during the block."""
    env_id = identify(env, name, vectorization, keys, num_envs)
    try:
        yield env_id
    finally:
        if not isinstance(env, str):
            with _lock:
                _in_use[env_id] -= 1


def identify(env, name, vectorization, keys, num_envs):
    if isinstance(env, str):
        for key, given, usual in (
            ("name", name, None),
            ("vectorization", vectorization, "sync"),
            ("observation_keys", keys, _USUAL_KEYS),
        ):
            if given != usual:
                raise _core.Error(
                    f"{key}: got {given!r} with the id '{env}', which has its own; leave it out, "
                    "or "
                    "give a function that makes environments (lambda: gymnasium.make(...))"
                )
        return env
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
    """Keywords as flags of the program, without those that are None."""
    return [f"--{key}={text}" for key, text in texts_of(options).items()]


def texts_of(options):
    """The texts of options. None means one that is left out, as everywhere."""
    return {
        key: text_of(refuse_none_in(value, key))
        for key, value in options.items()
        if value is not None
    }


def refuse_none_in(value, key):
    """The value of a key, unless it is a list with None, which could only mean the whole key."""
    if isinstance(value, (list, tuple)):
        for item in value:
            if item is None:
                raise _invalid(
                    f"{key}: got None in the list {value!r}, expected values only; None in place "
                    "of a list leaves its key out"
                )
            refuse_none_in(item, key)
    return value


def text_of(value):
    """A value as the text of a flag."""
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

        try:
            kind = getattr(sources, f"{namespace}_kind")(env_id)
        except Exception as error:
            raise _refused(error) from None
        return kind.spec, kind.simulator

    return opened


def _refused(error):
    """The error with the kind that the program ends with, if an id cannot be opened: a name that is
    not known, or environments that Broadloom itself refuses. Others come from their code."""
    known = sys.modules.get("gymnasium")
    missing = [ModuleNotFoundError]
    if known is not None:
        missing += [known.error.UnregisteredEnv, known.error.DependencyNotInstalled]
    if isinstance(error, tuple(missing)):
        error.broadloom_kind = "not_found"
        return error
    if isinstance(error, _core.Error):
        error.broadloom_kind = error.kind
    return error


for _name in ("gymnasium", "envpool", "gymnax", "warp"):
    _core.register_namespace(_name, _opener(_name))


class _Progress:
    """A line of progress that is rewritten; in a notebook or a file, a new line now and then."""

    def __init__(self, quiet):
        self.shows = not quiet and sys.stderr is not None
        self.rewrites = self.shows and sys.stderr.isatty()
        self.due = 0.0  # of the next line where none can be rewritten, by time.monotonic()

    def __call__(self, progress):
        if not self.shows:
            return
        is_last = progress["iteration"] == progress["num_iterations"]
        if not self.rewrites:
            now = time.monotonic()
            if now < self.due and not is_last:
                return
            self.due = now + LINE_SECONDS
        result = (
            "" if progress["mean_return"] is None else f"  return {progress['mean_return']:.2f}"
        )
        text = (
            f"{progress['global_step']:>12,} of {progress['total_timesteps']:,}  "
            f"{progress['steps_per_second']:,.0f} steps/s{result}"
        )
        if self.rewrites:
            print(f"\r{text}  ", end="\n" if is_last else "", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)


class Calls:
    """Functions that the extension calls during a run: `all` is (on_contract, on_iteration,
    on_note, on_end), with None for silence."""

    def __init__(self, quiet, on_iteration, feeder):
        self.show, self.on_iteration, self.feeder = _Progress(quiet), on_iteration, feeder
        self.finished, self.saved = False, None
        listens = on_iteration is not None or feeder is not None
        self.all = (
            None if quiet else lambda text: print(_core.terminal_text(text)),
            self if listens or self.show.shows else None,
            None
            if quiet
            else lambda note: print(_core.terminal_text(f"Note: {note}"), file=sys.stderr),
            self.end,
        )

    def end(self, run_dir, step):
        """Keeps the folder and the step from which a resume would go on."""
        self.saved = run_dir, step

    def __call__(self, found):
        numbers, evaluation, copy = found
        numbers["evaluation"] = json.loads(evaluation) if evaluation else None
        progress = Progress(numbers, copy)
        self.show(progress)
        if self.feeder is not None:
            self.feeder(progress["run_dir"])
        return None if self.on_iteration is None else self.on_iteration(progress)


@contextlib.contextmanager
def calls_of(quiet, on_iteration, sinks):
    """The Calls of a run. Closes the sinks when it ends, whatever ends it. After Ctrl-C, or an
    exception of a callback or the environment, says how the run can go on."""
    feeder = None
    if sinks:
        from .sinks import Feeder

        feeder = Feeder(sinks)
    calls = Calls(quiet, on_iteration, feeder)
    try:
        yield calls
    except BaseException as stop:
        is_engines = type(stop) is _core.Error  # its message says so
        if calls.saved is not None and not is_engines:
            run_dir, step = calls.saved
            words = (
                f"The run is saved up to step {step:,}; go on with broadloom.resume({run_dir!r})"
            )
            if hasattr(stop, "add_note"):  # Python 3.11 and later
                stop.add_note(words)
            elif not quiet:
                print(words, file=sys.stderr)
        raise
    finally:
        if feeder is not None:
            feeder.close(calls.finished)
