"""Whether two functions make the same environments, as far as Python can tell."""

import dis
import functools
import types

import numpy as np

_DEEPEST = 4  # of containers that are copied


def recipe_of(source):
    """All that a function, class or EnvMaker makes environments of, as it is now, for same(): the
    names that a function reads may mean other things later."""
    from .sources import EnvMaker

    if isinstance(source, EnvMaker):
        wrappers = [recipe_of(one) for one in source.wrappers]
        return "made", recipe_of(source.source), wrappers, source.upstream, _copied(source.kwargs)
    if isinstance(source, functools.partial):
        return "partial", recipe_of(source.func), source.args, _copied(source.keywords)
    if isinstance(source, types.FunctionType):
        read = _read_by(source)
        return "function", source.__code__, source.__defaults__, source.__kwdefaults__, read
    return source


def same(first, second):
    """Whether two recipes, or values in them, are equal; False if nobody can tell."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(same, first, second))
    try:
        if isinstance(first, np.ndarray):
            return first.dtype == second.dtype and np.array_equal(first, second)
        return bool(first == second)
    except Exception:  # a comparison of the user's
        return False


def _read_by(function):
    """The values that a function reads from around it, by their names."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    values = {name: _content(cell) for name, cell in cells}
    around = function.__globals__
    names = [name for name in _globals_of(function.__code__) if name in around]
    return {name: _copied(value) for name, value in values.items()}, {
        name: _copied(around[name]) for name in names if around[name] is not function
    }


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return None


def _globals_of(code):
    """Names of globals that code reads, with those of functions within it."""
    names = {one.argval for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL"}
    inner = [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return names.union(*map(_globals_of, inner))


def _copied(value, deepest=_DEEPEST):
    """The value with its dicts, lists and tuples copied, since they may change in place."""
    if deepest > 0 and type(value) is dict:
        return {key: _copied(one, deepest - 1) for key, one in value.items()}
    if deepest > 0 and type(value) in (list, tuple):
        return type(value)(_copied(one, deepest - 1) for one in value)
    return value
