"""Checks of values of any type. Numbers of NumPy and torch count as Python's."""

from __future__ import annotations

import operator
from collections.abc import Mapping

from . import _core

MOST_ENVS = 1 << 20  # the limit of the program's num_envs
MOST_STEPS = 2**31 - 1  # that the engine counts; mjlab's environments for play have more


def whole_number(value):
    """An int, or None for what is no whole number: True, 2.0, "3" and arrays."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def check_count(name, value, least, most=None):
    number = whole_number(value)
    if number is None or number < least or (most is not None and number > most):
        limit = f" and at most {most}" if most is not None else ""
        raise _core.Error(f"{name}: got {value!r}, expected an integer of at least {least}{limit}")


def is_one_of(value, known):
    """Whether a value equals one of these and has its type. The type comes first, since
    comparisons of arrays give arrays."""
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        value = value.item()
    return any(
        isinstance(value, Mapping if isinstance(one, Mapping) else type(one)) and value == one
        for one in known
    )
