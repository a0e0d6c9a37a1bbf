#!/usr/bin/env python3
"""Cost as work grows: throughput over environments, block shapes, widths and threads, as markdown.

    bench/sweep.py [--broadloom build/release/cli/broadloom] [--seconds 0.5] [--repeats 3]

Each row is `broadloom bench` with flags over a case of bench/cases, with one thread and then with
two; a number is the median of the repeats.
"""

import argparse
import json
import os
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CARTPOLE = os.path.join(HERE, "cases", "cartpole_default.toml")
PENDULUM = os.path.join(HERE, "cases", "pendulum_64_k4.toml")


def measure(options, case, threads, **settings):
    """One case's entry of the JSON that `broadloom bench` writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bench.json")
        command = [
            options.broadloom,
            "bench",
            case,
            "--threads",
            str(threads),
            "--json",
            path,
            "--seconds",
            str(options.seconds),
            "--repeats",
            str(options.repeats),
        ]
        for key, value in settings.items():
            command += [f"--{key}", str(value)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            return json.load(file)["cases"][0]


def row(options, label, case, **settings):
    one = measure(options, case, 1, **settings)
    two = measure(options, case, 2, **settings)
    speeds = [run["steps_per_second"]["median"] for run in (one, two)]
    print(
        f"| {label} | {speeds[0]:,.0f} | {speeds[1]:,.0f} | {speeds[1] / speeds[0]:.2f} "
        f"| {two['flops_per_second'] * 1e-9:.0f} | {two['peak_memory_bytes'] / 1e6:.0f} |",
        flush=True,
    )


def table(title, first):
    print(f"\n{title}\n")
    print(f"| {first} | steps/s, 1 thread | 2 threads | ratio | GFLOP/s, 2 threads | memory MB |")
    print("|---|---|---|---|---|---|", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--broadloom", default=os.path.join(HERE, "..", "build", "release", "cli", "broadloom")
    )
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()

    table("CartPole-v1, 64-64, K 4, 4 minibatches, T = 16: N grows", "N")
    for num_envs in (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536):
        row(options, num_envs, CARTPOLE, num_envs=num_envs, num_steps=16)
    table("The same with B = N T = 65,536: the shape changes, the work does not", "N x T")
    for num_envs in (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536):
        row(
            options,
            f"{num_envs} x {65536 // num_envs}",
            CARTPOLE,
            num_envs=num_envs,
            num_steps=65536 // num_envs,
        )
    table("Pendulum-v1, N 64, T 64, M 1024, K 4: two hidden layers of width H", "H")
    for width in (32, 64, 128, 256, 512, 1024):
        row(options, width, PENDULUM, hidden_sizes=f"[{width}, {width}]")


if __name__ == "__main__":
    main()
