#!/usr/bin/env python3
"""Seconds of training until a policy is good enough: Broadloom beside its peers, in turn (see
THRESHOLD.md).

Continues a stopped call: runs in FILE.json are not repeated. Also writes
FILE.md (the table), FILE_cells.csv, FILE_runs.csv, FILE_curve.csv and figure_FILE.toml, which
experiments/figures.py draws."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from install import install
from to_threshold.advice import advise
from to_threshold.contenders import Contender, Missing, contenders, run
from to_threshold.record import Record
from to_threshold.report import write_report
from to_threshold.tasks import FIRST_SEED, THRESHOLDS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--cores", type=int, default=2, help="that everybody is held to (default 2)"
    )
    parser.add_argument("--seeds", type=int, default=10, help="trainings of each (default 10)")
    parser.add_argument("--out", type=Path, default=HERE / ".results/threshold.json")
    parser.add_argument("--broadloom", default=str(ROOT / "build/release/cli/broadloom"))
    parser.add_argument("--task", action="append", choices=list(THRESHOLDS), help="repeatable")
    parser.add_argument(
        "--peer",
        action="append",
        metavar="TEXT",
        help="only those with this in their names; repeatable",
    )
    parser.add_argument("--advice", default="60s", help="time that `advise` has (default 60s)")
    parser.add_argument(
        "--advices",
        type=int,
        default=1,
        help="advices a task, each with its seed; trainings take them in turn (default 1)",
    )
    parser.add_argument(
        "--advised_steps",
        type=int,
        help="environment steps of an advised training run; default: from the advice",
    )
    parser.add_argument(
        "--budget", type=int, help="environment steps at most, to try the harness; not for results"
    )
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds, for one training")
    parser.add_argument("--venv", type=Path, default=HERE / ".venv")
    parser.add_argument("--no-install", action="store_true", help="take the environment as it is")
    options = parser.parse_args()
    options.broadloom = str(Path(options.broadloom).resolve())
    options.out = options.out.resolve()
    options.venv = options.venv.absolute()
    if options.seeds < 1 or options.cores < 1:
        parser.error("--seeds and --cores: expected at least 1")
    if not 1 <= options.advices < FIRST_SEED:
        parser.error(f"--advices: got {options.advices}; expected 1 to {FIRST_SEED - 1}")
    options.cpus = sorted(os.sched_getaffinity(0))[: options.cores]
    if len(options.cpus) < options.cores:
        parser.error(f"--cores {options.cores}: this process has {len(options.cpus)}")
    if not os.access(options.broadloom, os.X_OK):
        parser.error(f"no Broadloom at {options.broadloom}: build it, or pass --broadloom PATH")
    return options


def chosen(options: argparse.Namespace) -> list[Contender]:
    wanted = [text.lower() for text in options.peer or [""]]
    found = [c for c in contenders(options) if any(text in c.name.lower() for text in wanted)]
    if not found:
        names = ", ".join(c.name for c in contenders(options))
        raise SystemExit(f"--peer: got {', '.join(options.peer)}; expected part of one of {names}")
    return found


def prepare(who: Contender, task: str, record: Record, options: argparse.Namespace) -> None:
    """Advice where it is needed, and the number of threads that is faster; each only once a
    file."""
    while who.advised and len(record.advice(task)) < options.advices:
        record.add_advice(task, advise(task, len(record.advice(task)) + 1, options))
    for threads in sorted({1, options.cores}):
        for _ in range(max(0, 2 - len(record.probes(who.name, task, threads)))):
            line = run(who, task, FIRST_SEED - 1, threads, record, options, probe=True)
            record.add_probe(who.name, task, threads, line["steps_per_second"])
            say(f"{task}: {who.name}, {threads} threads: {line['steps_per_second']:,.0f} steps/s")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure(
    who: Contender, task: str, seed: int, record: Record, options: argparse.Namespace
) -> None:
    go_on()
    if record.has_run(who.name, task, seed):
        return
    prepare(who, task, record, options)
    threads = record.faster_threads(who.name, task)
    line = run(who, task, seed, threads, record, options)
    kept = record.add_run(who.name, task, seed, threads, line)
    found = f"{kept['seconds']:.3f} s" if kept["reached"] else "not reached"
    say(f"{task}, seed {seed}: {who.name}: {found}, others {line['others']:.2f} cores")


def main() -> None:
    options = parse()
    everybody = chosen(options)
    packages = {c.package for c in everybody if c.package}
    missing = {} if options.no_install else install(options.venv, packages)
    os.sched_setaffinity(0, options.cpus)  # and of all that is started from here on
    record = Record.open(options)
    # Leaves out a contender that fails, with the reason, and continues with the others. A later
    # call tries it again.
    failed = {
        (c.name, t): missing[c.package] for c in everybody if c.package in missing for t in c.tasks
    }
    broken: dict[tuple[str, str, int], str] = {}
    tasks = options.task or list(THRESHOLDS)
    for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
        for task in tasks:
            for who in everybody:
                if task not in who.tasks or (who.name, task) in failed:
                    continue
                try:
                    measure(who, task, seed, record, options)
                except Missing as error:
                    # A contender that succeeded before continues with the next seed. This one
                    # counts as not reached.
                    if record.runs(who.name, task):
                        broken[who.name, task, seed] = str(error)
                    else:
                        failed[who.name, task] = str(error)
                    say(f"{task}: {who.name}: {error}")
    record.finish(failed, broken)
    print(write_report(options.out))


stopped = False


def stop(_signal: int, _frame: object) -> None:
    global stopped
    stopped = True
    raise KeyboardInterrupt  # subprocess.run ends the training that is on


def go_on() -> None:
    """Raises again where Python dropped it, as it does in hooks that it calls itself (after a fork,
    say)."""
    if stopped:
        raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped; the same call goes on with what is there")
