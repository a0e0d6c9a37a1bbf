"""Errors with a kind, which is invalid_config for a broadloom.Error unless it is set.

Checks of this package raise these, never a plain ValueError or TypeError: those come from code of
users, and pass through as they are."""

from . import _core


class InvalidValue(_core.Error, ValueError):
    """A ValueError of Broadloom's own checks."""


class InvalidType(_core.Error, TypeError):
    """A TypeError of Broadloom's own checks."""


def error_of(kind, text, error_class=_core.Error):
    """A broadloom.Error of this kind and class, to raise."""
    error = error_class(text)
    error.kind = kind
    return error
