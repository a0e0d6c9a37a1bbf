#!/usr/bin/env python3
"""Writes python/broadloom/_keys.py: the keys of a config with their types, for type checkers.

    PYTHONPATH=build/release/python tools/python_keys.py

The test python.typing fails if the file is older than the keys."""

import pathlib

TARGET = pathlib.Path(__file__).parent.parent / "python" / "broadloom" / "_keys.py"
TYPES = {"int": "int", "float": "float", "bool": "bool", "list": "Sequence[int] | str"}
TYPES["names"] = "Sequence[str] | str"
HEAD = '''"""Keys of a config for type checkers. Written by tools/python_keys.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict


class ConfigKeys(TypedDict, total=False):
'''


def type_of(kind, values):
    words = values.split(" | ")
    if kind == "choice" and len(words) > 1:
        return f"Literal[{', '.join(repr(word) for word in words)}]".replace("'", '"')
    return TYPES.get(kind, "str | float" if kind != "text" else "str")


def text():
    """The file's text, from the extension."""
    from broadloom import _core

    lines = []
    for name, kind, values in _core.config_keys():
        line = f"    {name}: {type_of(kind, values)}"
        if len(line) > 100:
            inner = line[line.index("[") + 1 : -1]
            parts = "".join(f"        {part},\n" for part in inner.split(", "))
            line = f"{line[: line.index('[') + 1]}\n{parts}    ]"
        lines.append(line)
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
