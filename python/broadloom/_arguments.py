"""Arguments of train(), resume() and register(): their checks, and settings as texts."""

import difflib
import numbers
import os
from collections.abc import Mapping, Sequence

from . import _core
from ._checks import is_one_of, whole_number
from ._errors import InvalidType

USUAL_KEYS = ("policy", "critic")  # of observations
_NAMES_ELSEWHERE = {  # of train()'s keywords
    **dict.fromkeys(("run_dir", "log_dir", "output_dir", "save_path", "folder", "dir"), "out"),
    **dict.fromkeys(("n_threads", "num_threads", "jobs"), "threads"),
    "callback": "on_iteration",
    "verbose": "quiet",
    "init_from": "init",
    "policy": "hidden_sizes",
}
_ARGUMENTS = {  # of commands that take no run
    **dict.fromkeys(("train", "advise", "bench"), "a config: a file in TOML"),
    "study": "the definition of a study: a file in TOML",
    "report": "the store of a study, or a run: what train() returns, or its folder",
    "rerun": "a record, such as runs/ledger.jsonl:3, or a run: what train() returns, or its folder",
    "zoo": "the id of a task, such as CartPole-v1",
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
    return {key: text_of(plain(value, key)) for key, value in options.items() if value is not None}


def plain(value, key, tables=False):
    """The value of a key as numbers, texts and lists of them, from arrays, ranges and data frames'
    columns, too. None is refused in a list, since it could only mean the whole key. tables: whether
    dicts may be among them; they stay as they are."""
    if isinstance(value, (str, numbers.Number, os.PathLike)) or (tables and is_table(value)):
        return value
    if isinstance(value, (list, tuple, range)):
        if any(item is None for item in value):
            raise _core.Error(
                f"{key}: got None in the list {value!r}, expected values only; None in place "
                "of a list leaves its key out"
            )
        return [plain(item, key, tables) for item in value]
    if hasattr(value, "tolist"):  # arrays, their numbers, and columns of data frames
        return plain(value.tolist(), key, tables)
    if hasattr(value, "to_list"):  # a column of Polars
        return plain(value.to_list(), key, tables)
    if callable(value):
        name = getattr(value, "__name__", type(value).__name__)
        advice = _in_place_of_a_function(key, name)
        raise InvalidType(f"{key}: got {name} itself, expected {advice}")
    raise InvalidType(
        f"{key}: got {value!r} of type {type(value).__qualname__}, expected a number, a text, or a "
        "list, tuple, range or array of them"
    )


def _in_place_of_a_function(key, name):
    if key == "env":
        return (
            f"a text; leave it out, and call broadloom.register(ID, {name}) before, with the id of "
            "the run"
        )
    if key in ("env_id", "argument of env"):
        return f'a text; call broadloom.register("{name}-v0", {name}) before, and give that id'
    command = key.removeprefix("argument of ")
    if command == key:
        return "a number, a text, or a list of them"
    return _ARGUMENTS.get(command, "a run: what train() returns, or its folder")


def is_table(value):
    return isinstance(value, Mapping)


def text_of(value):
    """A value as the text of a flag."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(text_of(item) for item in value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return repr(value) if type(value) is float else str(value)
