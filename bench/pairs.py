#!/usr/bin/env python3
"""Two builds of Broadloom in turn on the cases of bench/cases, as markdown: is the second one
faster?

    bench/pairs.py BEFORE AFTER [--case NAME ...] [--threads 2] [--pairs 8] [--seconds 0.1]
        [--repeats 5]
    bench/pairs.py PROGRAM PROGRAM --threads-before 1    # what does the second thread bring?
    bench/pairs.py PROGRAM PROGRAM --threads-before 1 --busy 1 --of median    # and under load?

Each measurement is a separate process, and the order within a pair alternates. A pair's ratio is
that of its best repeats, since other load can only slow a repeat down; with --of median, of its
medians."""

import argparse
import contextlib
import json
import pathlib
import statistics
import subprocess
import tempfile

CASES = pathlib.Path(__file__).resolve().parent / "cases"


@contextlib.contextmanager
def busy(processes):
    """So many processes that do nothing but keep a core busy."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(processes)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def speed(program, threads, case, options):
    """Steps per second of the best repeat, or of the median one."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "bench.json"
        subprocess.run(
            [
                program,
                "bench",
                CASES / f"{case}.toml",
                "--threads",
                str(threads),
                "--seconds",
                str(options.seconds),
                "--repeats",
                str(options.repeats),
                "--json",
                path,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return json.loads(path.read_text(encoding="utf-8"))["cases"][0]["steps_per_second"][
            options.of
        ]


def measure(case, options):
    before, after = [], []
    sides = [
        (before, options.before, options.threads_before or options.threads),
        (after, options.after, options.threads),
    ]
    for pair in range(options.pairs):
        for speeds, program, threads in sides[:: 1 if pair % 2 == 0 else -1]:
            speeds.append(speed(program, threads, case, options))
    low, middle, high = statistics.quantiles(
        [b / a for a, b in zip(before, after)], n=4, method="inclusive"
    )
    print(
        f"| {case} | {statistics.median(before):,.0f} | {statistics.median(after):,.0f} "
        f"| {middle:.3f} ({low:.3f} .. {high:.3f}) | {max(before):,.0f} | {max(after):,.0f} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument(
        "--case", action="append", choices=sorted(path.stem for path in CASES.glob("*.toml"))
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--threads-before", type=int, help="of BEFORE, where it has others")
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--of", choices=("max", "median"), default="max", help="the repeats (max)")
    parser.add_argument(
        "--busy", type=int, default=0, help="processes that keep cores busy meanwhile"
    )
    options = parser.parse_args()
    same_threads = options.threads_before in (None, options.threads)
    if (options.before == options.after and same_threads) or options.pairs < 2:
        parser.error("expected two different programs, or numbers of threads, and at least 2 pairs")
    print(
        "| case | before, steps/s | after | ratio, median (quartiles) | best before | best after "
        "|\n|---|---|---|---|---|---|"
    )
    with busy(options.busy):
        for case in options.case or sorted(path.stem for path in CASES.glob("*.toml")):
            measure(case, options)


main()
