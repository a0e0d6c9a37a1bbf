#!/usr/bin/env python3
"""Lines of tests/requirements.txt for some packages, so that a test installs what it needs alone.

    tools/pinned.py NAME...               these packages and all that they need, with hashes
    tools/pinned.py --alone NAME...       these packages
    tools/pinned.py --installed NAME...   exit code 0: this Python has them in the pinned versions

pip takes the lines: pip install --require-hashes -r <(tools/pinned.py NAME...).
"""

import importlib.metadata
import pathlib
import re
import sys

REQUIREMENTS = pathlib.Path(__file__).resolve().parents[1] / "tests/requirements.txt"


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def read_blocks(text):
    """[(name, version, lines for pip, names that need it)]; a name has several where versions
    depend on Python's."""
    blocks = []
    for part in re.split(r"\n(?=[A-Za-z0-9])", "\n" + text)[1:]:
        name, version = re.match(r"([\w.-]+)==([\w.!+-]+)", part).groups()
        lines = [line for line in part.splitlines() if not line.lstrip().startswith("#")]
        needed_by = re.findall(r"^    #(?: via)? +([\w.-]+)$", part, re.M)
        blocks.append((plain(name), version, "\n".join(lines), {plain(n) for n in needed_by}))
    return blocks


def with_needs(names, blocks):
    """The names, and those of everything that they need."""
    found = set(names)
    while True:
        more = {name for name, _, _, needed_by in blocks if needed_by & found} - found
        if not more:
            return found
        found |= more


def is_installed(name, blocks):
    try:
        installed = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return any(installed == version for other, version, _, _ in blocks if other == name)


def main(arguments):
    options = [word for word in arguments if word.startswith("--")]
    names = {plain(word) for word in arguments if not word.startswith("--")}
    if not names or len(options) > 1 or not set(options) <= {"--alone", "--installed"}:
        sys.exit(__doc__)
    blocks = read_blocks(REQUIREMENTS.read_text())
    unknown = names - {name for name, _, _, _ in blocks}
    if unknown:
        sys.exit(f"pinned.py: {REQUIREMENTS} has no {', '.join(sorted(unknown))}")
    if options == ["--installed"]:
        missing = sorted(name for name in names if not is_installed(name, blocks))
        return f"not in the pinned version: {', '.join(missing)}" if missing else 0
    wanted = names if options else with_needs(names, blocks)
    print("\n".join(lines for name, _, lines, _ in blocks if name in wanted))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
