"""The contenders. Each training run or probe is a separate process."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calm import Neighbours
from machine import last_line
from to_threshold.record import Record
from to_threshold.settings import RLTOOLS_TASKS
from to_threshold.tasks import FIRST_SEED, THRESHOLDS

PEERS = Path(__file__).resolve().parents[1]
ALL = tuple(THRESHOLDS)


class Missing(RuntimeError):
    """A contender cannot take part. The others continue."""


@dataclass(frozen=True)
class Contender:
    """`probe` is the environment steps that its speed is measured over; `package` its line in
    install.py; `advised` trains with the settings of `broadloom advise`."""

    name: str
    module: str
    probe: int
    arguments: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ALL
    package: str = ""
    advised: bool = False


def contenders(options: argparse.Namespace) -> tuple[Contender, ...]:
    program = ("--broadloom", options.broadloom)

    def rltools(name: str, zoo: str) -> Contender:
        arguments = ("--zoo", zoo)
        return Contender(name, "rltools_run", 500_000, arguments, RLTOOLS_TASKS, "rltools")

    return (
        Contender("Broadloom, advised", "broadloom_run", 100_000, program, advised=True),
        Contender("Broadloom, defaults", "broadloom_run", 100_000, program),
        Contender("SB3, RL Zoo's settings", "sb3_run", 4000, package="sb3"),
        Contender("SB3, advised", "sb3_run", 4000, program, package="sb3", advised=True),
        Contender("rejax", "rejax_run", 20_000, package="rejax"),
        rltools("RLtools, zoo of 2025", "2025"),
        rltools("RLtools, zoo of 2026", "2026"),
    )


def which_advice(seed: int, advices: int) -> int:
    """Trainings take a task's advices in turn. Probes have the seed before the first: they take the
    last."""
    return (seed - FIRST_SEED) % advices


def command(
    who: Contender, task: str, seed: int, threads: int, record: Record, options: argparse.Namespace
) -> list[str]:
    python = str(options.venv / "bin/python") if who.package else sys.executable
    words = [python, "-m", f"to_threshold.{who.module}", task, "--seed", str(seed)]
    words += ["--threads", str(threads), *who.arguments]
    if who.advised:
        place = which_advice(seed, options.advices)
        config = record.path.parent / f"{record.path.stem}_advice" / f"{task}_{place + 1}.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(record.advice(task)[place]["config"])
        words += ["--config", str(config)]
    return words


def call(words: list[str], options: argparse.Namespace) -> str:
    """Standard output of a process, which has the cores that this one has."""
    try:
        done = subprocess.run(
            words,
            cwd=PEERS,
            check=False,
            capture_output=True,
            text=True,
            timeout=options.timeout,
        )
    except subprocess.TimeoutExpired as late:
        raise Missing(f"nothing after {late.timeout:g} s") from late
    except OSError as error:
        raise Missing(str(error)) from error
    if done.returncode != 0:
        raise Missing(f"ended with {done.returncode}: {last_line(done.stderr)}")
    return done.stdout


def run(
    who: Contender,
    task: str,
    seed: int,
    threads: int,
    record: Record,
    options: argparse.Namespace,
    probe: bool = False,
) -> dict[str, Any]:
    words = command(who, task, seed, threads, record, options)
    if who.module == "rltools_run":
        call([*words, "--build-only"], options)
    if probe:
        words += ["--probe", str(who.probe)]
    else:
        longer = options.advised_steps if who.advised else None
        budget = options.budget or longer
        words += ["--budget", str(budget)] if budget else []
    neighbours, start = Neighbours(), time.perf_counter()
    output = call(words, options)
    try:
        line = json.loads(last_line(output))
    except ValueError as error:
        raise Missing(f"expected one line of JSON, got {last_line(output)[:80]}") from error
    line["others"] = round(neighbours.cores(), 2)
    line["process_seconds"] = round(time.perf_counter() - start, 3)
    return line
