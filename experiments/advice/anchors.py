#!/usr/bin/env python3
"""anchors.py STORES RESULTS: keeps a row for each run of anchors_small and anchors_robots."""

import pathlib
import re
import sqlite3
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from rows import write  # noqa: E402

ARM = re.compile(r"defaults|first row|row \d")  # in the name of a cell
QUERY = """SELECT env_id, cell, runs.seed, mean_return FROM evaluations
JOIN runs ON runs.id = run_id JOIN settings USING (cell_id) ORDER BY runs.id, global_step"""


def kept(path):
    """(task, arm, seed, area, last) of each run."""
    store = sqlite3.connect(path)
    if store.execute("SELECT count(*) FROM runs WHERE status != 'finished'").fetchone()[0]:
        raise SystemExit(f"{path}: some runs are not finished; start run.sh anchors again")
    runs = {}
    for task, cell, seed, value in store.execute(QUERY):
        runs.setdefault((task, ARM.search(cell)[0], seed), []).append(value)
    for key, values in runs.items():
        yield [*key, statistics.fmean(values), values[-1]]


def main():
    stores, results = map(pathlib.Path, sys.argv[1:3])
    for name in ("anchors_small", "anchors_robots"):
        if (stores / f"{name}.sqlite").exists():
            rows = sorted(kept(stores / f"{name}.sqlite"))
            write(results / f"{name}.csv", ["task", "arm", "seed", "area", "last"], rows)


if __name__ == "__main__":
    main()
