"""How trainings in JAX are timed.

A training run is a function of one key, and one compiled program with environments, blocks and
updates. Several runs at once are that function mapped over keys. All programs of a script are
traced and compiled first, some in parallel threads (--compilers), since that takes most of the time
on a GPU. Only then are they run, one after another: one call that is timed apart, and calls until
--seconds have passed. The host waits for all results of a call before it looks at the clock. Each
measurement is a line of JSON as soon as it is there, and what could not be measured is a line with
the reason. --limit is kept by not beginning what would not end in time, and three quarters of it at
most are spent on compiling: what is ready then is measured."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.machinery
import json
import os
import sys
import time
import types
from collections.abc import Callable
from concurrent import futures
from importlib import metadata
from typing import Any

BEGUN = time.perf_counter()


@dataclasses.dataclass(frozen=True)
class Job:
    """`runs` training runs at once, of `steps` environment steps each. `row`: the line's fields
    besides the numbers."""

    row: dict[str, Any]
    train: Callable[[Any], Any]
    steps: int
    runs: int = 1
    precision: str | None = None  # of matrix products; None: JAX's default, TF32 on an H100
    mean_return: Callable[[Any], Any] | None = None  # of the last step that a call logged


def arguments(what: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=what.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=1.5, help="of each measurement, at least")
    parser.add_argument(
        "--limit", type=float, default=1e9, help="seconds after which nothing new is begun"
    )
    parser.add_argument("--compilers", type=int, default=3, help="programs compiled at a time")
    return parser


def left(options: argparse.Namespace) -> float:
    return options.limit - (time.perf_counter() - BEGUN)


def say(row: dict[str, Any]) -> None:
    print(json.dumps(row), flush=True)


def version(*packages: str) -> str:
    return ", ".join(f"{package} {metadata.version(package)}" for package in packages)


def pretend(name: str, **names: Any) -> None:
    """An empty module of this name, for imports that a trainer makes and does not need."""
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    module.__path__ = []  # so that it can have submodules
    module.__dict__.update(names)
    sys.modules[name] = module


def build(job: Job) -> tuple[Any, float]:
    """The program, and the seconds that tracing and compiling took."""
    import jax

    begin = time.perf_counter()
    keys = jax.random.split(jax.random.PRNGKey(1), job.runs)
    with jax.default_matmul_precision(job.precision):
        train = job.train if job.runs == 1 else jax.vmap(job.train)
        program = jax.jit(train).lower(keys[0] if job.runs == 1 else keys).compile()
    return program, time.perf_counter() - begin


def keys_of(job: Job, call: int) -> Any:
    import jax

    keys = jax.random.split(jax.random.PRNGKey(call), job.runs)
    return jax.block_until_ready(keys[0] if job.runs == 1 else keys)


def timed_calls(program: Any, job: Job, options: argparse.Namespace) -> tuple[list[float], Any]:
    """(seconds of each call, result of the last). The first call is a warm-up, unless it is long:
    then it is the only one."""
    seconds: list[float] = []
    while len(seconds) < 2 or sum(seconds[1:]) < options.seconds:
        if seconds and (left(options) < seconds[-1] or seconds[0] > 3 * options.seconds):
            break
        keys, out = keys_of(job, len(seconds)), None  # frees the result of the previous call
        begin = time.perf_counter()
        out = jax_wait(program(keys))
        seconds.append(time.perf_counter() - begin)
    return seconds, out


def jax_wait(out: Any) -> Any:
    import jax

    return jax.block_until_ready(out)


def numbers(job: Job, seconds: list[float], out: Any) -> dict[str, Any]:
    warm = seconds[1:] or seconds
    each = sum(warm) / len(warm)
    return {
        "steps_per_second": round(job.runs * job.steps / each, 1),
        "fastest_steps_per_second": round(job.runs * job.steps / min(warm), 1),
        "seconds_a_call": round(each, 5),
        "calls": len(warm),
        "warmed_up": len(seconds) > 1,
        "first_call_seconds": round(seconds[0], 4),
        "runs": job.runs,
        "steps_a_run": job.steps,
        "runs_per_hour": round(job.runs * 3600 / each, 1),
        "mean_return": round(float(job.mean_return(out)), 2) if job.mean_return else None,
    }


def measure(jobs: list[Job], options: argparse.Namespace) -> None:
    """Compiles all, then times each in the given order, and ends the process: threads that still
    compile are not waited for."""
    import jax

    device = jax.devices()[0].device_kind
    pool = futures.ThreadPoolExecutor(options.compilers)
    built = [pool.submit(build, job) for job in jobs]
    futures.wait(built, timeout=max(0.0, left(options) * 0.75))
    pool.shutdown(wait=False, cancel_futures=True)
    for job, program in zip(jobs, built):
        beside = sum(other.running() for other in built)
        row = job.row | {
            "device": device,
            "jax": jax.__version__,
            "matmul_precision": job.precision or "default",
            "compiling_beside": beside,
        }
        try:
            if program.cancelled() or not program.done():
                raise TimeoutError("not compiled in time")
            if left(options) < 0.5:
                raise TimeoutError("no time left")
            made, compiling = program.result()
            seconds, out = timed_calls(made, job, options)
            say(
                row
                | numbers(job, seconds, out)
                | {"compile_seconds": round(compiling, 2), "compilers": options.compilers}
            )
            del out
        except Exception as error:  # noqa: BLE001 - the others go on
            say(row | {"runs": job.runs, "failed": f"{type(error).__name__}: {error}"[:400]})
    sys.stderr.flush()
    os._exit(0)
