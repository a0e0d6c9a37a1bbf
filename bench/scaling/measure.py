#!/usr/bin/env python3
"""What model.py is held against: one rank, several on this machine, and two that are far apart.

    bench/scaling/measure.py BUILD RESULTS [--case NAME ...] [--turns 3]     # as root, on a machine that does nothing else; some 15 minutes

Writes into RESULTS: cases.csv (what parts of an iteration take one thread, from `broadloom bench`), networks.csv (rank_probe over each
network) and ranks.csv (steps a second of whole trainings, medians of turns). Far networks need what far.py needs."""
import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FAR = HERE / "far.py"
CHECKED = ["cartpole_default", "cartpole_wide", "pendulum_64_k4", "pendulum_64_k1_wide", "pendulum_256_k4", "breakout_ppo"]
FORETOLD = ["quadruped_2048", "breakout_1024", "cartpole_4096"]
# name: (ranks, seconds one way, bytes a second); the first three share memory
NETWORKS = {"here 2": (2, None, None), "here 3": (3, None, None), "here 4": (4, None, None),
            "0.1 ms, 1 GB/s": (2, 1e-4, 1e9), "1 ms, 125 MB/s": (2, 1e-3, 1.25e8), "10 ms, 12.5 MB/s": (2, 1e-2, 1.25e7)}
SECONDS, LEAST_ITERATIONS = 2.0, 12
STAGES = ["collect", "bootstrap", "advantages", "update", "instruments", "record"]


def case_file(name):
    for folder in (HERE / "cases", HERE.parent / "cases"):
        if (folder / f"{name}.toml").exists():
            return folder / f"{name}.toml"
    sys.exit(f"measure.py: no case of the name {name}")


def environment():
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def launch(network):
    """Words before the program."""
    ranks, delay, rate = NETWORKS[network]
    if delay is None:
        return ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    return [sys.executable, str(FAR), "--delay", str(delay), "--rate", str(rate), "--", "mpirun", "-n", str(ranks), "{far}"]


def output(words, cwd):
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"measure.py: {' '.join(map(str, words))} failed:\n{done.stderr}")
    return done.stdout


def bench(program, names, folder):
    """Rows of cases.csv."""
    file = pathlib.Path(folder) / "bench.json"
    output([program, "bench", *map(case_file, names), "--threads", "1", "--seconds", "0.5", "--repeats", "5", "--json", file], folder)
    for case in json.loads(file.read_text(encoding="utf-8"))["cases"]:
        n, t = (int(case["config"][key]) for key in ("num_envs", "num_steps"))
        size = int(case["config"]["minibatch_size"]) or -(-n * t // int(case["config"]["num_minibatches"]))
        yield {"case": case["name"], "num_envs": n, "num_steps": t, "minibatch_size": size, "update_epochs": case["config"]["update_epochs"],
               "parameters": case["parameters"], "row_bytes": f"{case['shared_bytes_per_env'] / t:.1f}", "steps_1": f"{case['steps_per_second']['median']:.0f}",
               **{stage: f"{case['stage_shares'][stage]:.4f}" for stage in STAGES}}


def trained(program, case, network, seconds, folder):
    """(steps a second, the share of the time that exchanges take, exchanges and bytes received an iteration) of a training."""
    batch = int(case["num_envs"]) * int(case["num_steps"])
    is_far = network and NETWORKS[network][1] is not None  # where few take long
    iterations = LEAST_ITERATIONS if is_far else max(LEAST_ITERATIONS, round(seconds * float(case["steps_1"]) / batch))
    with tempfile.TemporaryDirectory(dir=folder) as out:
        words = [program, "train", case_file(case["case"]), "--total_timesteps", iterations * batch, "--threads", "1", "--json", "--quiet",
                 "--ledger", "none", "--no-tensorboard", "--checkpoint_interval", "1000000", "--out", f"{out}/run"]
        answer = json.loads(output([*(launch(network) if network else []), *words], folder))
    ranks = answer["ranks"]
    return answer["steps_per_second"], ranks["seconds"] / answer["seconds"], ranks["exchanges"] / iterations, ranks["received_bytes"] / iterations


def write(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{len(rows)} rows in {path}", flush=True)


def measure_networks(probe, turns, folder):
    rows = {}
    for _ in range(turns):
        for network in NETWORKS:
            for row in csv.DictReader(output([*launch(network), probe], folder).splitlines()):
                rows.setdefault((network, row["ranks"], row["message_bytes"]), []).append(float(row["seconds"]))
    return [{"network": network, "ranks": ranks, "message_bytes": size, "seconds": f"{statistics.median(values):.4g}"}
            for (network, ranks, size), values in rows.items()]


def measure_ranks(program, cases, turns, folder):
    found = {}
    for _ in range(turns):
        for case in cases:
            for network in (None, *NETWORKS):
                found.setdefault((case["case"], network), []).append(trained(program, case, network, SECONDS, folder))
    rows = []
    for (case, network), runs in found.items():
        speed, share, exchanges, received = (statistics.median(run[i] for run in runs) for i in range(4))
        rows.append({"case": case, "network": network or "", "ranks": NETWORKS[network][0] if network else 1, "steps_per_second": f"{speed:.0f}",
                     "least": f"{min(run[0] for run in runs):.0f}", "most": f"{max(run[0] for run in runs):.0f}",
                     "exchange_share": f"{share:.3f}", "exchanges": f"{exchanges:.1f}", "received_bytes": f"{received:.0f}"})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--case", action="append")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    program, probe = options.build.resolve() / "cli/broadloom", options.build.resolve() / "bench/scaling/rank_probe"
    for file in (program, probe):
        if not file.is_file():
            parser.error(f"{options.build} has no {file.relative_to(options.build.resolve())}: expected the folder of a release build with MPI, such as build/release")
    options.results.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        cases = list(bench(program, options.case or CHECKED + FORETOLD, folder))
        write(options.results / "cases.csv", cases)
        write(options.results / "networks.csv", measure_networks(probe, options.turns, folder))
        checked = [case for case in cases if case["case"] not in FORETOLD]
        if checked:
            write(options.results / "ranks.csv", measure_ranks(program, checked, options.turns, folder))


if __name__ == "__main__":
    main()
