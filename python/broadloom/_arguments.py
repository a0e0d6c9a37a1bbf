"""Arguments of train(), resume() and register(): their checks, and settings as texts."""

import difflib
import os
from collections.abc import Mapping, Sequence

from . import _core
from ._checks import is_one_of, whole_number

USUAL_KEYS = ("policy", "critic")  # of observations
_NAMES_ELSEWHERE = {  # of train()'s keywords
    **dict.fromkeys(("run_dir", "log_dir", "output_dir", "save_path", "folder", "dir"), "out"),
    **dict.fromkeys(("n_threads", "num_threads", "jobs"), "threads"),
    "callback": "on_iteration",
    "verbose": "quiet",
    "init_from": "init",
    "policy": "hidden_sizes",
}


def check_keywords(config, keywords):
    """Refuses other words for train()'s own keywords. Config keys are checked later, with all
    others."""
    from ._keys import ConfigKeys

    if "env_id" in config:
        raise _core.Error(
            f"env_id: got {config['env_id']!r}, expected the environment as the first argument"
        )
    for key in config:
        if key in ConfigKeys.__annotations__ or "." in key:
            continue
        near = difflib.get_close_matches(key, keywords, 1, 0.8)
        guess = _NAMES_ELSEWHERE.get(key) or "".join(near)
        if guess:
            raise _core.Error(f"unknown keyword '{key}'; did you mean '{guess}'?")


def check_calls(threads, on_iteration):
    number = whole_number(threads)
    if number is None or number < 0:
        raise _core.Error(f"threads: got {threads!r}, expected a whole number; 0 for all cores")
    if on_iteration is not None and not callable(on_iteration):
        raise _core.Error(f"on_iteration: got {on_iteration!r}, expected a function of a Progress")


def check_source(name, env_kwargs, wrappers, vectorization, keys):
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
            raise _core.Error(f"{key}: got {value!r}, expected {expected}")


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
                raise _core.Error(
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
