"""Runs, ledgers and stores of studies as data frames of pandas or Polars."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import sqlite3
from typing import TYPE_CHECKING

from ._checks import is_one_of
from ._errors import InvalidValue, error_of

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
    return _lines(run, "metrics.jsonl", library)


def read_evaluations(run: StrPath, library: Library | None = None) -> DataFrame:
    """The evaluations during a run: one row each."""
    return _lines(run, "eval.jsonl", library)


def read_ledger(path: StrPath, library: Library | None = None) -> DataFrame:
    """A ledger, or one record: one row per run. Nested values have names such as
    contract.num_envs."""
    return frame_of(
        _columns([_flat(json.loads(line)) for line in _text(path).splitlines() if line.strip()]),
        library,
    )


def read_store(store: StrPath, view: str = "scores", library: Library | None = None) -> DataFrame:
    """A view of a study's store: scores, learning_curves, learning_curves_by_time, settings,
    evaluations or runs."""
    if not is_one_of(view, VIEWS):
        raise InvalidValue(f"view: got {view!r}, expected one of {', '.join(VIEWS)}")
    path = pathlib.Path(store)
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no store '{path}'; expected a file that `broadloom study` wrote"
        )
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


def _lines(run, name, library):
    path = pathlib.Path(os.fspath(run)) / name
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {name} in '{os.fspath(run)}'; expected a run's folder"
        )
    return frame_of(
        _columns([_flat(json.loads(line)) for line in _text(path).splitlines() if line.strip()]),
        library,
    )


def _text(path):
    return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")


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
