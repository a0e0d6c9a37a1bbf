"""Environments by their ids: those that register() and train() name, and those of namespaces."""

from __future__ import annotations

import collections
import contextlib
import os
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from ._arguments import USUAL_KEYS, check_source
from ._checks import MOST_ENVS, check_count
from ._errors import InvalidType, error_of
from ._sameness import recipe_of, same

if TYPE_CHECKING:
    from ._types import EnvSource, ObservationKeys, StrPath, Vectorization


class _Known(NamedTuple):
    """Registered environments."""

    source: Any  # the function, class or EnvMaker
    arguments: tuple  # vectorization, observation_keys, max_episode_steps
    recipe: Any  # of the source
    kind: Any


_kinds = {}  # _Known by registered id
_notes = {}  # Kind.notes of ids that a namespace opened
_allowed = set()  # what allow_plugin() was called with
_in_use = collections.Counter()  # trainings in progress, by registered id
_lock = threading.RLock()  # guards them


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
        raise _core.Error("name: got None, expected a text such as 'Mine-v0'")
    vectorization = "sync" if vectorization is None else vectorization
    observation_keys = USUAL_KEYS if observation_keys is None else observation_keys
    check_source(name, env_kwargs, wrappers, vectorization, observation_keys)
    max_episode_steps = 0 if max_episode_steps is None else max_episode_steps
    num_envs = 2 if num_envs is None else num_envs
    check_count("max_episode_steps", max_episode_steps, 0)
    check_count("num_envs", num_envs, 1, MOST_ENVS)
    env, _ = source_of(env, name, env_kwargs, wrappers, vectorization, observation_keys, named=True)
    arguments = vectorization, observation_keys, max_episode_steps
    with _lock:
        if name in _kinds and _is_known(name, env, arguments):
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
        _kinds[name] = _Known(env, arguments, recipe_of(env), kind)
    return name


def _is_known(name, env, arguments):
    """Whether the name means just these environments."""
    known = _kinds[name]
    return same((known.arguments, known.recipe), (arguments, recipe_of(env)))


def is_registered(env_id):
    """Whether register() or train() of this process gave environments of Python this id."""
    with _lock:
        return env_id in _kinds


def maker_of(env_id):
    """The function that makes single environments of this id, or None."""
    with _lock:
        return _kinds[env_id].source if env_id in _kinds else None


def check_stack(env_id, keys):
    """Refuses env.frame_stack = 1 where Broadloom stacks by itself. The program takes it as a key
    that is left out, and refuses larger ones itself. keys: texts of the config."""
    from . import sources

    own = made_by(env_id) or (gymnasium_id(env_id),)
    name = own[0].rpartition(":")[2]
    if keys.get("env.frame_stack") == "1" and name.startswith("ALE/"):
        sources.refuse_for_atari("env.frame_stack", 1, name)


def notes_of(env_id):
    """Sentences on these environments for a run."""
    with _lock:
        return _kinds[env_id].kind.notes if env_id in _kinds else _notes.get(env_id, [])


def upstream_of(env_id):
    """The source of registered environments in words; None if the id was not registered."""
    with _lock:
        return _kinds[env_id].kind.spec["upstream"] if env_id in _kinds else None


def made_by(env_id):
    """(id of Gymnasium, arguments, wrappers) of such environments; None if a function makes
    them."""
    from .sources import EnvMaker

    made = maker_of(env_id)
    is_id = isinstance(made, EnvMaker) and isinstance(made.source, str)
    return (made.source, made.kwargs, made.wrappers) if is_id else None


@contextlib.contextmanager
def filmed(policy, cameras):
    """In the block the id of a policy means the environments of sources.filmed_kind(), if its
    networks fit them."""
    from . import sources
    from ._trained import check_spaces, trained_spec

    env_id = policy.spec["id"]

    with _lock:
        known = _kinds.get(env_id)
        if _in_use[env_id] > 0:
            raise _core.Error(
                f"got a film of '{env_id}', which a training in progress uses; wait for its end"
            )
    keys, limit = known.arguments[1:] if known else (USUAL_KEYS, 0)
    upstream = (known.kind if known else policy).spec["upstream"]
    trained = trained_spec(policy)
    frames = trained["observation"].get("frames", 1)
    kind = sources.filmed_kind(env_id, cameras, keys, limit, upstream, frames)
    check_spaces(trained, kind.spec)
    _core.register(kind.spec, kind.simulator)
    try:
        yield
    finally:
        cameras.end()
        if known:
            _core.register(known.kind.spec, known.kind.simulator)


def allow_plugin(path: StrPath) -> None:
    """Allows runs, records and panels to load code, in this process (docs/trust.md).

    path: a plug-in's library, a folder of libraries, or a Python package such as "gymnasium". A
    call that names the environment, train("plugin:./libmine.so:Task-v0"), allows it itself."""
    _core.allow_plugin(os.fspath(path))
    _allowed.add(os.fspath(path))


def check_allowed(env_id):
    """Refuses an id of Gymnasium that only a file names: its code would be imported."""
    if env_id not in _notes and "gymnasium" not in _allowed:
        raise _core.Error(
            f"env: got none for {env_id}, an environment that only the run names, and files may "
            'not import code. If you trust it, call broadloom.allow_plugin("gymnasium") before; '
            "see docs/trust.md"
        )


def gymnasium_id(env):
    """The id within Gymnasium, of gymnasium/<id> and <package>:<id>; "" for other ids."""
    space, _, rest = env.partition("/")
    if ":" in space:
        return "" if space.startswith("plugin:") else env
    return rest if space == "gymnasium" else ""


def source_of(env, name, env_kwargs, wrappers, vectorization, keys, named=False):
    """(id or function, name) of train()'s `env`: "pkg:Id" is Gymnasium's. An id with arguments,
    wrappers, keys or processes becomes a function that makes it."""
    changed = bool(env_kwargs or wrappers or vectorization != "sync" or keys != USUAL_KEYS or name)
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

    return EnvMaker(own, env_kwargs, wrappers), name


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
    env_id = _identify(env, name, vectorization, keys, num_envs)
    try:
        yield env_id
    finally:
        if not isinstance(env, str):
            with _lock:
                _in_use[env_id] -= 1


def _identify(env, name, vectorization, keys, num_envs):
    if isinstance(env, str):
        for key, given, usual in (
            ("name", name, None),
            ("vectorization", vectorization, "sync"),
            ("observation_keys", keys, USUAL_KEYS),
        ):
            if given != usual:
                raise _core.Error(
                    f"{key}: got {given!r} with the id '{env}', which has its own; leave it out, "
                    "or give a function that makes environments (lambda: gymnasium.make(...))"
                )
        return env
    with _lock:
        env_id = name or _own_name(env, (vectorization, keys, 0))
        count = num_envs if isinstance(num_envs, int) and num_envs > 0 else 2
        register(env_id, env, vectorization=vectorization, observation_keys=keys, num_envs=count)
        _in_use[env_id] += 1
        return env_id


def _own_name(env, arguments):
    """The default id: python/<word>-v0, or python/<word>_2-v0 and so on if the earlier ones mean
    other environments, whose runs would else be played and resumed in these."""
    from .sources import EnvMaker

    if isinstance(env, EnvMaker) and isinstance(env.source, str):
        word, version = re.fullmatch(r"(.*?)(-v\d+|)", env.source.rpartition(":")[2]).groups()
    else:
        word, version = getattr(env, "__name__", type(env).__name__), "-v0"
        word = "env" if word == "<lambda>" else word
    env_id, number = f"python/{word}{version}", 1
    while env_id in _kinds and not _is_known(env_id, env, arguments):
        number += 1
        env_id = f"python/{word}_{number}{version}"
    return env_id


def _opener(namespace):
    def opened(env_id):
        from . import sources

        try:
            kind = getattr(sources, f"{namespace}_kind")(env_id)
        except Exception as error:
            raise _refused(error) from None
        _notes[env_id] = kind.notes
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
