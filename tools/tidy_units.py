#!/usr/bin/env python3
"""tidy_units.py BUILD FILE...: prints what clang-tidy -p BUILD is to read to see these files, one name a line. Most of what it does for a
file is to walk the headers, so files of a folder share a unit, which is written to BUILD, with the folder's settings, and joins its
compile_commands.json. By themselves stay those that Highway includes again for each instruction set, those that no target of BUILD
compiles, and ALONE. Called at the root of the repository."""

import json
import pathlib
import re
import shutil
import sys

FILES_A_UNIT = 12
# Files whose helpers have names that another file of their folder has given to something else:
# clang would say so.
ALONE = {
    "bridges/mujoco/physics.cc",
    "bridges/mujoco/render/webp.cc",
    "broadloom/instruments/audit/learning_signal.cc",
    "research/lab/correlation.cc",
    "research/lab/gradient_study.cc",
    "research/lab/variance.cc",
    "broadloom/math/symmetric_eigenvalues.cc",
    "broadloom/env/plugins/plugin_spec.cc",
    "research/stats/run_statistics.cc",
    "research/stats/sample_efficiency.cc",
}


def main():
    build, files = (
        pathlib.Path(sys.argv[1]),
        {str(pathlib.Path(f).resolve()): f in ALONE for f in sys.argv[2:]},
    )
    database = build / "compile_commands.json"
    entries = {e["file"]: e for e in json.loads(database.read_text())}
    alone, groups = [], {}
    for name, by_itself in files.items():
        path = pathlib.Path(name)
        if by_itself or name not in entries or "hwy/foreach_target.h" in path.read_text():
            alone.append(name)
            continue
        same = re.sub(r" -o \S+| -c \S+", "", entries[name]["command"])
        groups.setdefault((path.parent, same), []).append(name)
    units = []
    for (folder, _), names in groups.items():
        for first in range(0, len(names), FILES_A_UNIT):
            some = names[first : first + FILES_A_UNIT]
            unit = build / folder.relative_to(pathlib.Path.cwd()) / f"unit_{len(units)}.cc"
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
