#!/usr/bin/env python3
"""Checks the order of the rooms: each includes only itself and rooms before it, and the engine
never includes research. Also checks the places of heavy headers, that only the program includes
bridges, and that no bridge includes another."""

import pathlib
import re
import tempfile
import unittest

ENGINE = (
    "core math env env/conformance env/plugins env/tasks nn rollout learn instruments config setup "
    "record evaluate export train"
).split()
RESEARCH = "stats lab advise study audit report".split()
ORDER = [f"broadloom/{room}" for room in ENGINE] + [f"research/{room}" for room in RESEARCH]
CUDA_ORDER = "sides env tile collect learn".split()  # cuda/ itself includes all of them
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Headers that are slow to compile, and the files that may include them.
HEAVY = {
    "nlohmann/": ("broadloom/record/json.cc",),
    "toml++/": ("broadloom/core/toml_tree.cc",),
    "CLI/": ("cli/command_line.cc",),
    "xxhash.h": ("broadloom/core/hash.cc", "broadloom/record/safetensors.cc"),
}
# Text of others must not reach a terminal as it is.
RAW_PRINT = re.compile(r"\b(fmt::print|std::(printf|fprintf|puts|fputs|fwrite|cout|cerr))\b")
# The terminal functions themselves; the live line, with its own codes; the message when memory is
# out.
PRINTS_RAW = ("cli/console.cc", "cli/progress.cc", "cli/program.cc")


def problems(root):
    """Every breach below root (the repository), as readable lines."""
    found = []
    for path in sorted((root / "cli").rglob("*.*")):
        where = path.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if match and heavy(where, match.group(2)):
                found.append(f"{where}:{number}: {heavy(where, match.group(2))}")
            if RAW_PRINT.search(line) and where not in PRINTS_RAW:
                found.append(
                    f"{where}:{number}: text reaches a terminal as it is; print it with tell() of "
                    "cli/console.h"
                )
    found += bridge_problems(root)
    found += cuda_problems(root)
    for path in sorted([*(root / "broadloom").rglob("*"), *(root / "research").rglob("*")]):
        if path.suffix not in (".h", ".cc", ".inc", ".cu", ".cuh"):
            continue
        where = path.relative_to(root).as_posix()
        room = room_of(where)
        if room is None:
            found.append(f"{where}: its room is not in the order {' '.join(ORDER)}")
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                why = heavy(where, match.group(2)) or breach(
                    room, path.suffix, match.group(1), match.group(2)
                )
                if why:
                    found.append(f"{where}:{number}: {why}")
    return found


def bridge_problems(root):
    """Problems of bridges/: a bridge includes only the library and itself. bridges.cc includes all
    bridges, and other code includes only bridges.h."""
    found = []
    for path in sorted((root / "bridges").rglob("*.*")):
        where = path.relative_to(root).as_posix()
        if path.suffix not in (".h", ".cc"):
            continue
        own = "/".join(where.split("/")[:2]) + "/"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            target = match.group(2) if match else ""
            if target.startswith(("cli/", "python/", "tests/")) or (
                target.startswith("bridges/")
                and not target.startswith(own)
                and where.count("/") > 1
            ):
                found.append(
                    f"{where}:{number}: a bridge includes {target}; it may include the library and "
                    "itself"
                )
    for path in sorted([*(root / "cli").rglob("*.*"), *(root / "python" / "src").rglob("*.*")]):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if (
                match
                and match.group(2).startswith("bridges/")
                and match.group(2) != "bridges/bridges.h"
            ):
                found.append(
                    f"{path.relative_to(root).as_posix()}:{number}: includes {match.group(2)}; "
                    "bridges/bridges.h is all that it may"
                )
    return found


def cuda_problems(root):
    """Problems of cuda/: a room includes only the library, itself and the rooms before it."""
    found = []
    for path in sorted((root / "cuda").rglob("*.*")):
        where = path.relative_to(root).as_posix()
        room = path.relative_to(root / "cuda").parts[0]
        at_the_top = room == path.name
        if not at_the_top and room not in CUDA_ORDER:
            found.append(f"{where}: room '{room}' is not in the order {' '.join(CUDA_ORDER)}")
            continue
        rooms = [] if at_the_top else CUDA_ORDER[: CUDA_ORDER.index(room) + 1]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            target = match.group(2) if match else ""
            if target.startswith(("cli/", "bridges/", "tests/")) or (
                not at_the_top and target.startswith("cuda/") and target.split("/")[1] not in rooms
            ):
                found.append(
                    f"{where}:{number}: includes {target}; the order is {' '.join(CUDA_ORDER)}"
                )
            elif match and match.group(1) == '"' and "/" not in target and path.suffix == ".h":
                found.append(f'{where}:{number}: includes "{target}" without its folder')
    return found


def heavy(where, target):
    """Why this file may not include this heavy header; None when it may."""
    for prefix, homes in HEAVY.items():
        if target.startswith(prefix) and where not in homes:
            return f"includes {target}, which takes seconds; only {' and '.join(homes)} may"
    return None


def room_of(path):
    """The innermost room of a path such as broadloom/env/tasks/classic/cart_pole.h, or None."""
    parts = path.split("/")
    for length in (3, 2):
        if len(parts) > length and "/".join(parts[:length]) in ORDER:
            return "/".join(parts[:length])
    return None


def breach(room, suffix, quote, target):
    """Why a file of this room may not include this target; None when it may."""
    if target.startswith(("cli/", "bridges/", "cuda/", "tests/", "examples/", "bench/")):
        return f"the library includes {target}, which is not part of it"
    if not target.startswith(("broadloom/", "research/")):
        if quote == '"' and "/" not in target and suffix == ".h":
            return f'includes "{target}" without its folder; write "{room}/{target}"'
        return None
    other = room_of(target)
    if other is None:
        return f"includes {target}, whose room is not in the order {' '.join(ORDER)}"
    if ORDER.index(other) > ORDER.index(room):
        return f"{room} includes {target}, but {other} comes after it: {' '.join(ORDER)}"
    return None


class LayersTest(unittest.TestCase):
    def test_the_library_holds_the_order(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        self.assertTrue((root / "broadloom" / "core").is_dir())
        found = problems(root)
        self.assertFalse(found, "\n" + "\n".join(found))

    def test_breaches_are_found(self):
        cases = [
            ("core/a.h", '#include "broadloom/train/trainer.h"', 1),
            ("core/a.h", "  #  include <broadloom/env/spec.h>", 1),
            ("instruments/a.cc", '#include "broadloom/train/trainer.h"', 1),
            ("record/a.cc", '#include "broadloom/train/trainer.h"', 1),
            ("core/a.h", "#include <nlohmann/json.hpp>", 1),
            ("core/a.h", '#include "status.h"', 1),
            ("misc/a.h", "", 1),
            ("train/a.cc", '#include "cli/main.h"', 1),
            ("env/tasks/a.cc", '#include "bridges/bridges.h"', 1),
            ("env/a.h", '#include "broadloom/env/tasks/registry.h"', 1),
            ("env/tasks/classic/a.h", '#include "broadloom/env/spec.h"', 0),
            ("train/a.cc", '#include "research/stats/scores.h"', 1),
            ("../research/stats/a.cc", '#include "broadloom/train/run.h"', 0),
            ("../research/stats/a.cc", '#include "research/study/plan.h"', 1),
            ("../research/misc/a.cc", "", 1),
            ("../bridges/ale/a.cc", '#include "broadloom/env/vec_env.h"', 0),
            ("../bridges/ale/a.cc", '#include "bridges/ale/b.h"', 0),
            ("../bridges/ale/a.cc", '#include "bridges/mujoco/model.h"', 1),
            ("../bridges/ale/a.cc", '#include "cli/commands.h"', 1),
            ("../bridges/bridges.cc", '#include "bridges/mujoco/gymnasium/tasks.h"', 0),
            ("../cli/a.cc", '#include "bridges/bridges.h"', 0),
            ("../cli/a.cc", '#include "bridges/mujoco/model.h"', 1),
            ("../cli/a.cc", 'fmt::print("{}", name);', 1),
            ("../cli/a.cc", 'tell("{}", name);', 0),
            ("../cli/console.cc", "std::fwrite(text.data(), 1, text.size(), stdout);", 0),
            ("../cuda/tile/a.h", '#include "cuda/env/state.h"', 0),
            ("../cuda/env/a.h", '#include "cuda/tile/forward.h"', 1),
            ("../cuda/env/a.h", '#include "cuda/device_learning.h"', 1),
            ("../cuda/a.h", '#include "cli/commands.h"', 1),
            ("../cuda/tile/a.h", '#include "sums.h"', 1),
            ("../cuda/other/a.h", "", 1),
            ("core/a.h", '#include "cuda/env/state.h"', 1),
            ("../cuda/a.h", '#include "cuda/learn/device_update.h"', 0),
            ("train/a.cc", '#include "broadloom/record/ledger.h"', 0),
            ("core/a.cc", "#include <nlohmann/json.hpp>", 1),
            ("record/json.cc", "#include <nlohmann/json.hpp>", 0),
            ("core/a.h", '// #include "broadloom/train/trainer.h"', 0),
        ]
        for name, text, expected in cases:
            with self.subTest(name=name, text=text), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "broadloom" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text + "\n", encoding="utf-8")
                self.assertEqual(len(problems(pathlib.Path(folder))), expected)


if __name__ == "__main__":
    unittest.main()
