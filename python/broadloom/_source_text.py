"""The call of register() that gives a run its environments again, by the source that it records."""

import ast
import json
import os
import re

from . import _core
from ._errors import error_of


def with_call(error, runs):
    """The error of a name that is not registered, with the call that registers it in place of one
    with MyEnv, if one of the runs has its source in words."""
    text = str(error)
    if 'broadloom.register("' not in text:
        return error
    for run in runs:
        try:
            spec = _core.Policy(os.fspath(run)).spec
        except (_core.Error, TypeError):  # such as a record, or an id
            continue
        call, general = register_call(spec), f'broadloom.register("{spec["id"]}", MyEnv)'
        if call and general in text:
            return error_of(error.kind, text.replace(general, call))
    return error


def register_call(spec):
    """The call; "" if the source is no id of Gymnasium. MY_... stands for each object whose words
    are no Python."""
    source, name = spec["upstream"], spec["summary"].partition(" of ")[0]
    made = re.fullmatch(r"gymnasium [^:]+: make\((.*)", source, re.DOTALL)
    atari = re.fullmatch(r"ale-py [^:]+: [\w.:]+, (.*)", source, re.DOTALL)
    if not made and not atari:
        return ""
    words = f"[make({made[1]}]" if made else f"[make({name!r}, {atari[1]})]"
    kwargs = wrappers = ""
    try:
        call, *others = ast.parse(_without_objects(words), mode="eval").body.elts
        name = ast.literal_eval(call.args[0])
        kwargs = ", ".join(f"{_text(one.arg)}: {_argument(one)}" for one in call.keywords)
        wrappers = ", ".join(map(_wrapper, others))
    except (SyntaxError, ValueError, AttributeError, IndexError):  # objects of unusual words
        inner, _, outer = words.partition("), ")
        name = re.match(r"\[make\(\W?([\w/:.-]*)", words)[1]
        kwargs, wrappers = "**MY_ARGUMENTS" * ("=" in inner), "*MY_WRAPPERS" * bool(outer)
    arguments = [_text(spec["id"]), _text(f"gymnasium/{name}")]
    arguments += [f"env_kwargs={{{kwargs}}}"] * bool(kwargs)
    arguments += [f"wrappers=[{wrappers}]"] * bool(wrappers)
    return f"broadloom.register({', '.join(arguments)})"


def _without_objects(words):
    """The words with a name in place of each <object at 0x...> outside of texts."""
    pattern = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(<[^<>]*>)"""
    after = re.sub(pattern, lambda found: "OBJECT" if found[1] else found[0], words)
    return after if after == words else _without_objects(after)  # <function <lambda> at 0x...>


def _argument(keyword):
    try:
        return _text(ast.literal_eval(keyword.value))
    except ValueError:
        return f"MY_{keyword.arg.upper()}"


def _wrapper(node):
    """The name of a wrapper as a program finds it after `import gymnasium`."""
    if not isinstance(node, ast.Name) or node.id == "OBJECT":
        return "MY_WRAPPER"
    import gymnasium

    return f"gymnasium.wrappers.{node.id}" if hasattr(gymnasium.wrappers, node.id) else node.id


def _text(value):
    """A literal with double quotes, which the program's own words have, too."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(key)}: {_text(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))}{',' * (len(value) == 1)})"
    return repr(value)
