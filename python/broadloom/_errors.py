"""Errors with a kind, which is invalid_config for a broadloom.Error unless it is set."""

import dis
import os

from . import _core


class InvalidValue(_core.Error, ValueError):
    """A ValueError of Broadloom's own checks."""


class InvalidType(_core.Error, TypeError):
    """A TypeError of Broadloom's own checks."""


def error_of(kind, text):
    """A broadloom.Error of this kind, to raise."""
    error = _core.Error(text)
    error.kind = kind
    return error


def refusal_of(error):
    """The broadloom.Error for a TypeError or ValueError that code of this package raised; other
    errors as they are, such as the TypeError of a call that a user's function does not take."""
    if isinstance(error, _core.Error) or not isinstance(error, (TypeError, ValueError)):
        return error
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    is_raised = code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]  # by a `raise`
    if not is_raised or os.path.dirname(code.co_filename) != os.path.dirname(__file__):
        return error
    kind = InvalidType if isinstance(error, TypeError) else InvalidValue
    refusal = kind(*error.args).with_traceback(error.__traceback__)
    for note in getattr(error, "__notes__", ()):
        refusal.add_note(note)
    return refusal
