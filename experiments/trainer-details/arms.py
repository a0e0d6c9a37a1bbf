#!/usr/bin/env python3
"""Writes a study for each arm of details.toml: arms.py FOLDER

An arm is one library's choices, all of them or with one detail of the other library.
"""

import pathlib
import sys
import tomllib

SIDES = ("cleanrl", "rsl_rl")


def read_details(path):
    with path.open("rb") as file:
        return tomllib.load(file)


def arms_of(details):
    """{arm: {detail: side}}."""
    out = {}
    for side, other in (SIDES, SIDES[::-1]):
        out[side] = dict.fromkeys(details, side)
        for detail in details:
            out[f"{side}+{detail}"] = out[side] | {detail: other}
    return out


def as_toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


def main():
    folder = pathlib.Path(sys.argv[1])
    study = read_details(pathlib.Path(__file__).parent / "details.toml")
    details, base = study.pop("details"), study.pop("base")
    folder.mkdir(parents=True, exist_ok=True)
    for arm, sides in arms_of(details).items():
        keys = dict(base)
        for detail, side in sides.items():
            keys |= details[detail][side]
        lines = [f"{key} = {as_toml(value)}" for key, value in study.items()]
        lines += ["[base]"] + [f"{key} = {as_toml(value)}" for key, value in keys.items()]
        (folder / f"{arm}.toml").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
