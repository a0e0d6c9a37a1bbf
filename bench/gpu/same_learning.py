#!/usr/bin/env python3
"""Whether two stores of one study hold the same runs: parameters' hashes, last evaluations, and how
long.

usage: same_learning.py ONE.sqlite OTHER.sqlite
For two that were trained with different --device. Says for each cell how many seeds end with the
same parameters, the returns of the last evaluation (mean and standard deviation over seeds, of each
store), and the seconds of a run. Ends with 1 where a seed differs, or one of the stores has not
finished it."""

import sqlite3
import statistics
import sys

RUNS = """SELECT cells.name, runs.seed, runs.parameters_hash, runs.seconds, runs.id
          FROM runs JOIN cells ON cells.id = runs.cell_id WHERE runs.status = 'finished'"""
LAST = "SELECT mean_return FROM evaluations WHERE run_id = ? ORDER BY global_step DESC LIMIT 1"


def runs_of(path):
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    runs = {}
    for cell, seed, parameters, seconds, run in store.execute(RUNS):
        value = store.execute(LAST, (run,)).fetchone()
        runs.setdefault(cell, {})[seed] = (parameters, seconds, value[0] if value else float("nan"))
    return runs


def spread(values):
    return f"{statistics.mean(values):.1f} +- {statistics.pstdev(values):.1f}"


def main():
    one, other = (runs_of(path) for path in sys.argv[1:3])
    differ = 0
    for cell in sorted(set(one) | set(other)):
        every = set(one.get(cell, {})) | set(other.get(cell, {}))
        seeds = sorted(set(one.get(cell, {})) & set(other.get(cell, {})))
        same = sum(one[cell][seed][0] == other[cell][seed][0] for seed in seeds)
        differ += len(every) - same
        if not seeds:
            print(f"{cell}: no seed that both have finished")
            continue
        returns = " | ".join(
            spread([runs[cell][seed][2] for seed in seeds]) for runs in (one, other)
        )
        seconds = " | ".join(
            spread([runs[cell][seed][1] for seed in seeds]) for runs in (one, other)
        )
        print(
            f"{cell}: {same} of {len(every)} seeds with the same parameters; returns {returns}; "
            f"seconds a run {seconds}"
        )
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
