#!/usr/bin/env python3
"""Measures Broadloom beside its peers, in turn, and writes one table (see README.md).

Needs Python 3.11 or newer, g++ and gcc. Everything else goes into a virtual environment beside this
file.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from calm import Neighbours
from cases import CASES, Game, Stepping
from install import install, versions
from machine import first_line, last_line, processor
from table import markdown

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PENDULUM = tuple(name for name in CASES if name.startswith("pendulum"))
TRAINING = tuple(name for name, case in CASES.items() if not isinstance(case, Stepping))
CARTPOLE = ("cartpole_wide", "cartpole_default")
GAMES = tuple(name for name, case in CASES.items() if isinstance(case, Game))


@dataclass(frozen=True)
class Contender:
    """A script with its arguments, and the cases it has. `package` names its line in install.py."""

    name: str
    script: str
    arguments: tuple[str, ...]
    cases: tuple[str, ...]
    package: str = ""
    needs_build: bool = False


def rltools(name: str, *arguments: str) -> Contender:
    return Contender(name, "rltools_ppo.py", arguments, PENDULUM, "rltools", True)


def sb3(name: str, *arguments: str) -> Contender:
    return Contender(name, "sb3.py", arguments, CARTPOLE, "sb3")


def compiled_peers(threads: int, isa: str) -> tuple[Contender, ...]:
    """Peers whose instruction set can be set."""
    isas = ("--isa", isa)
    many = ("--threads", str(threads), *isas)
    fast = ("--activation", "fast_tanh")
    return (
        rltools("RLtools", *isas),
        rltools(f"RLtools, {threads} BLAS threads", *many),
        rltools("RLtools, FAST_TANH", *fast, *isas),
        rltools(f"RLtools, FAST_TANH, {threads} BLAS threads", *fast, *many),
    )


def peers_with(threads: int, isa: str) -> tuple[Contender, ...]:
    """Each peer on one core, and on `threads` where that can be the better setting."""
    if isa != "native":
        return compiled_peers(threads, isa)
    many = ("--threads", str(threads))
    return (
        *compiled_peers(threads, isa),
        Contender("Gymnasium arrays", "gymnasium_env.py", (), ("cartpole_env",), "gymnasium"),
        Contender("scalar C", "scalar_c.py", (), ("cartpole_env",), needs_build=True),
        sb3("SB3"),
        sb3("SB3, array CartPole", "--envs", "batched"),
        sb3(f"SB3, array CartPole, {threads} torch threads", "--envs", "batched", *many),
        Contender("rejax, one core", "rejax_ppo.py", ("--threads", "1"), CARTPOLE, "rejax"),
        Contender(f"rejax, {threads} cores", "rejax_ppo.py", many, CARTPOLE, "rejax"),
        Contender("PyTorch", "torch_games.py", (), GAMES, "torch"),
        Contender(f"PyTorch, {threads} threads", "torch_games.py", many, GAMES, "torch"),
        Contender(f"rejax's games, {threads} cores", "rejax_games.py", many, GAMES[-1:], "rejax"),
    )


def broadlooms(options: argparse.Namespace) -> tuple[Contender, ...]:
    """Broadloom on all the threads asked for, and on one; an environment case has only the last."""
    common = ("--broadloom", options.broadloom, "--isa", options.isa)
    one = Contender(
        "Broadloom, one core", "broadloom_bench.py", (*common, "--threads", "1"), tuple(CASES)
    )
    if options.threads == 1:
        return (one,)
    arguments = (*common, "--threads", str(options.threads))
    return (Contender("Broadloom", "broadloom_bench.py", arguments, TRAINING), one)


def python_for(contender: Contender, options: argparse.Namespace) -> str:
    # The virtual environment's, or this one where no package is needed.
    return str(options.venv / "bin/python") if contender.package else sys.executable


def call(contender: Contender, case: str, extra: list[str], options: argparse.Namespace) -> str:
    """Standard output. Raises RuntimeError with the last line of a failed program's output."""
    command = [python_for(contender, options), str(HERE / contender.script), case]
    try:
        done = subprocess.run(
            [*command, *contender.arguments, *extra],
            check=False,
            capture_output=True,
            text=True,
            timeout=options.timeout,
        )
    except subprocess.TimeoutExpired as late:
        raise RuntimeError(f"nothing after {late.timeout:g} s") from late
    except OSError as error:
        raise RuntimeError(str(error)) from error
    if done.returncode != 0:
        raise RuntimeError(last_line(done.stderr))
    return done.stdout


@dataclass(frozen=True)
class Measurement:
    steps_per_second: float
    others: float  # cores that other processes kept busy meanwhile


def measure(contender: Contender, case: str, options: argparse.Namespace) -> Measurement:
    """The first that was left alone, or else the one that was disturbed least."""
    best = None
    for _ in range(options.tries):
        neighbours = Neighbours()
        output = call(contender, case, ["--seconds", str(options.seconds)], options)
        rate = json.loads(last_line(output))["steps_per_second"]
        found = Measurement(rate, round(neighbours.cores(), 2))
        if best is None or found.others < best.others:
            best = found
        if best.others <= options.calm:
            break
    assert best is not None
    return best


def measure_case(
    case: str, contenders: list[Contender], failed: dict[str, str], options: argparse.Namespace
) -> dict[str, list[Measurement]]:
    """Runs contenders in turn, so that other load on the machine affects all of them."""
    found: dict[str, list[Measurement]] = {}
    for contender in contenders:
        if contender.needs_build and contender.name not in failed:
            try:
                call(contender, case, ["--build-only"], options)
            except RuntimeError as error:
                failed[contender.name] = f"not built: {error}"
    for repeat in range(options.repeats):
        for contender in contenders:
            if contender.name in failed:
                continue
            try:
                one = measure(contender, case, options)
            except (RuntimeError, ValueError, KeyError) as error:
                failed[contender.name] = str(error)
                print(f"{case}: {contender.name}: {error}", file=sys.stderr, flush=True)
                continue
            found.setdefault(contender.name, []).append(one)
            print(
                f"{case} {repeat + 1}/{options.repeats}: {contender.name}: "
                f"{one.steps_per_second:,.0f} steps/s, others {one.others:.2f} cores",
                file=sys.stderr,
                flush=True,
            )
    return found


def summary(measurements: list[Measurement]) -> dict[str, object]:
    rates = [one.steps_per_second for one in measurements]
    return {
        "median": statistics.median(rates),
        "min": min(rates),
        "max": max(rates),
        "repeats": rates,
        "others": [one.others for one in measurements],
    }


def header(options: argparse.Namespace) -> dict[str, object]:
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(terse=True),
        "compiler": first_line([os.environ.get("CXX", "g++"), "--version"]),
        "python": platform.python_version(),
        "broadloom": first_line([options.broadloom, "--version"]),
        "revision": first_line(["git", "-C", str(ROOT), "describe", "--always", "--dirty"]),
        "threads": options.threads,
        "isa": options.isa,
        "repeats": options.repeats,
        "seconds": options.seconds,
        "load_at_start": round(os.getloadavg()[0], 2),
        "versions": versions(options.venv),
    }


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broadloom", default=str(ROOT / "build/release/cli/broadloom"))
    parser.add_argument("--threads", type=int, default=2, help="cores of a training (default 2)")
    parser.add_argument(
        "--isa", choices=("native", "avx2"), default="native", help="of Broadloom and RLtools"
    )
    parser.add_argument("--repeats", type=int, default=3, help="of each measurement (default 3)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of one of them (default 2)")
    parser.add_argument(
        "--tries", type=int, default=1, help="for a measurement that others leave alone (default 1)"
    )
    parser.add_argument(
        "--calm", type=float, default=0.1, help="cores others may use in it (default 0.1)"
    )
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds, for one process")
    parser.add_argument(
        "--case", action="append", choices=list(CASES), help="only this; repeatable"
    )
    parser.add_argument(
        "--peer",
        action="append",
        metavar="TEXT",
        help="only peers whose names contain this; repeatable",
    )
    parser.add_argument("--venv", type=Path, default=HERE / ".venv")
    parser.add_argument("--no-install", action="store_true", help="take the environment as it is")
    parser.add_argument("--out", type=Path, default=HERE / ".results")
    options = parser.parse_args()
    options.broadloom = str(Path(options.broadloom).resolve())
    if not os.access(options.broadloom, os.X_OK):
        parser.error(f"no Broadloom at {options.broadloom}: build it, or pass --broadloom PATH")
    return options


def chosen_peers(options: argparse.Namespace) -> list[Contender]:
    wanted = [text.lower() for text in options.peer or [""]]
    peers = peers_with(options.threads, options.isa)
    return [peer for peer in peers if any(text in peer.name.lower() for text in wanted)]


def main() -> None:
    options = parse()
    peers = chosen_peers(options)
    needed = {peer.package for peer in peers if peer.package}
    missing = {} if options.no_install else install(options.venv, needed)
    result = header(options)
    result["cases"] = []
    for case in options.case or CASES:
        contenders = [c for c in (*broadlooms(options), *peers) if case in c.cases]
        failed = {c.name: missing[c.package] for c in contenders if c.package in missing}
        found = measure_case(case, contenders, failed, options)
        speeds = {name: summary(measurements) for name, measurements in found.items()}
        entry = {"name": case, "what": str(CASES[case]), "speeds": speeds, "failed": failed}
        result["cases"].append(entry)
    result["load_at_end"] = round(os.getloadavg()[0], 2)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "peers.json").write_text(json.dumps(result, indent=2) + "\n")
    text = markdown(result)
    (options.out / "peers.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
