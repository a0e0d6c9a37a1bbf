"""Read kept files and pages for the checks of claims."""

import csv
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def text_of(page):
    return re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)


def rows(path, **where):
    """Rows of a kept file with these values; columns of several words by `{"a b": value}`."""
    with (ROOT / path).open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert not where or where.keys() <= found[0].keys(), (path, where, list(found[0]))
    return [row for row in found if all(row[key] == str(value) for key, value in where.items())]


def row(path, **where):
    (found,) = rows(path, **where)
    return found


def value(path, column, **where):
    return float(row(path, **where)[column])


def holds(condition, *about):
    """An assertion that -O does not remove."""
    if not condition:
        raise AssertionError(about)


def per_cent(share):
    return f"{100 * share:.0f}"
