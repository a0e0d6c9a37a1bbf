#!/usr/bin/env python3
"""tidy_units.py BUILD FILE...: prints the units in which clang-tidy -p BUILD reads these files.

One name per line. Headers take most of clang-tidy's time for a file, so files with equal options
share a unit. Units are written to BUILD and added to its compile_commands.json. Files that Highway
includes once per instruction set, and files that no target of BUILD compiles, are read alone. If
names clash in a unit, check_tidy.sh reads its files one by one. Run it at the repository's root.
"""

import json
import pathlib
import re
import shutil
import sys

FILES_A_UNIT = 24
OTHER = ("using ", "template", "namespace ")  # lines that two files may have alike


def local_names(text):
    """Definitions of a file in unnamed namespaces: names, and functions with their types. Two files
    with a common one cannot share a unit."""
    names, inside = set(), False
    for line in text.splitlines():
        if line.startswith(("namespace {", "}  // namespace")):
            inside = line.startswith("namespace {")
        elif inside and line[:1].isalpha() and not line.startswith(OTHER):
            head, opened, rest = re.sub(r"<[^()]*>", "", line).partition("(")
            word = re.findall(r"\w+", re.split(r"[={;\[]", head)[0])[-1:]
            types = [t.strip().rpartition(" ")[0] for t in rest.partition(")")[0].split(",")]
            names.add((*word, *types) if opened and "=" not in head else tuple(word))
    return names


def main():
    root = pathlib.Path.cwd()
    build, files = pathlib.Path(sys.argv[1]), {str(pathlib.Path(f).resolve()) for f in sys.argv[2:]}
    database = build / "compile_commands.json"
    entries = {e["file"]: e for e in json.loads(database.read_text())}
    alone, groups = [], {}
    for name in sorted(files):
        path = pathlib.Path(name)
        if name not in entries or "hwy/foreach_target.h" in path.read_text():
            alone.append(name)
            continue
        same = re.sub(r" -o \S+| -c \S+", "", entries[name]["command"])
        settings = "cli" if path.relative_to(root).parts[0] == "cli" else "."
        groups.setdefault((settings, same), []).append(name)
    units = []
    for (settings, _), names in groups.items():
        parts = []  # files, and their local names
        for name in names:
            local = local_names(pathlib.Path(name).read_text())
            part = next((p for p in parts if len(p[0]) < FILES_A_UNIT and not p[1] & local), None)
            if part is None:
                part = ([], set())
                parts.append(part)
            part[0].append(name)
            part[1].update(local)
        for some, _ in parts:
            unit = build / settings / f"unit_{len(units)}.cc"
            unit.parent.mkdir(parents=True, exist_ok=True)
            unit.write_text("".join(f'#include "{n}"  // NOLINT\n' for n in some))
            entry = dict(entries[some[0]])
            entry["command"] = entry["command"].replace(some[0], str(unit))
            entry["file"] = str(unit)
            units.append(entry)
    for settings in (".clang-tidy", "cli/.clang-tidy"):
        (build / settings).parent.mkdir(exist_ok=True)
        shutil.copy(settings, build / settings)
    database.write_text(json.dumps(list(entries.values()) + units))
    print("\n".join([u["file"] for u in units] + alone))


if __name__ == "__main__":
    main()
