"""Runs, ledgers and stores of studies as data frames of pandas or Polars."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import sqlite3
import warnings
from typing import TYPE_CHECKING

from . import _core
from ._checks import is_one_of
from ._errors import InvalidValue, NotFound, error_of

if TYPE_CHECKING:
    from ._types import DataFrame, Library, StrPath

VIEWS = ("scores", "learning_curves", "learning_curves_by_time", "settings", "evaluations", "runs")


def frame_of(columns, library=None):
    """A data frame of {name: list}. library: "pandas" or "polars"; None: the first one
    installed."""
    for name in ("pandas", "polars") if library is None else (library,):
        try:
            return importlib.import_module(name).DataFrame(columns)
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(
        f"data frames need {library or 'pandas or polars'}: pip install {library or 'pandas'}"
    )


def read_metrics(run: StrPath, library: Library | None = None) -> DataFrame:
    """A run's metrics: one row per logged iteration."""
    return _log(run, "metrics.jsonl", library)


def read_evaluations(run: StrPath, library: Library | None = None) -> DataFrame:
    """The evaluations during a run: one row each."""
    return _log(run, "eval.jsonl", library)


def read_ledger(path: StrPath, library: Library | None = None) -> DataFrame:
    """A ledger, or one record: one row per run. Nested values have names such as
    contract.num_envs. Warns of damaged lines, and leaves them out."""
    expected = "a ledger, such as runs/ledger.jsonl"
    lines = _lines(path, expected, _core.is_whole_ledger_line)
    damaged = [number for number, row in lines if row is None]
    if damaged and len(damaged) == len(lines):
        raise error_of("mismatch", f"'{os.fspath(path)}' has no record; expected {expected}")
    if damaged:
        warnings.warn(
            f"'{os.fspath(path)}': left out its damaged lines {', '.join(map(str, damaged))}; "
            "each run's folder keeps a copy of its line (ledger_line.json)",
            stacklevel=2,
        )
    return frame_of(_columns([row for _, row in lines if row is not None]), library)


def read_store(store: StrPath, view: str = "scores", library: Library | None = None) -> DataFrame:
    """A view of a study's store: scores, learning_curves, learning_curves_by_time, settings,
    evaluations or runs."""
    if not is_one_of(view, VIEWS):
        raise InvalidValue(f"view: got {view!r}, expected one of {', '.join(VIEWS)}")
    path = pathlib.Path(store)
    if not path.is_file():
        raise _missing(f"store '{path}'", "a file that `broadloom study` wrote")
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        cursor = connection.execute(f"SELECT * FROM {view}")
        names = [column[0] for column in cursor.description]
        rows = cursor.fetchall()
    except sqlite3.DatabaseError as error:
        raise error_of("corrupt", f"{path} is no store of a study: {error}") from None
    finally:
        connection.close()
    return frame_of({name: [row[i] for row in rows] for i, name in enumerate(names)}, library)


def _log(run, name, library):
    path = pathlib.Path(os.fspath(run)) / name
    lines = _lines(path, "a run's folder")
    for number, row in lines:
        if row is None:
            raise error_of(
                "corrupt",
                f"'{path}' is damaged: line {number} is no JSON object; `broadloom train --resume "
                f"{os.fspath(run)}` checks the run",
            )
    return frame_of(_columns([row for _, row in lines]), library)


def _lines(path, expected, is_whole=lambda line: True):
    """Numbers, from 1, and values of a file's JSON lines; None for one that is no whole object."""
    path = pathlib.Path(path)
    if not path.is_file():
        raise _missing(f"file '{path}'", expected)
    out = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if line.strip():
            row = _object(line) if is_whole(line) else None
            out.append((number, None if row is None else _flat(row)))
    return out


def _object(line):
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _missing(what, expected):
    return NotFound(f"there is no {what}; expected {expected}")


def _flat(item, prefix=""):
    out = {}
    for key, value in item.items():
        if isinstance(value, dict):
            out |= _flat(value, f"{prefix}{key}.")
        else:
            out[prefix + key] = json.dumps(value) if isinstance(value, list) else value
    return out


def _columns(rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: [row.get(name) for row in rows] for name in names}
