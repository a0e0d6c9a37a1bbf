#!/usr/bin/env python3
"""A model of an iteration's time: collect, exchange, gradient, reduction. README.md has its equations.

    bench/scaling/model.py                       # what it says of two threads, beside what was measured
    bench/scaling/model.py --ranks 2,8,32 --latency 2e-6 --bandwidth 1.2e10    # foretold, of a network with these numbers

It is calibrated on one thread, case by case. Of the machine's numbers one, longer_side, is from a timeline of cartpole_default on two threads; none is
fitted to a speed on two."""
import argparse
import csv
import math
import os
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
TILE_ROWS = 64          # rows of a tile: broadloom/nn/layer.h
USUAL_PARTIALS, MOST_PARTIALS, LEAST_TILES = 16, 64, 16  # of a minibatch: broadloom/algo/gradient_cut.cc
CACHED_PARAMETERS = 32768
SIDES = 2               # policy and value, which several threads learn side by side


@dataclass(frozen=True)
class Machine:
    """Numbers of the machine of bench/RESULTS.md, measured there by a timeline and by probes, in seconds."""
    section: float = 0.3e-6         # to hand out work to threads and have them back
    sections: int = 3               # of a gradient step: clear and sum tiles, add up, optimiser
    permutation: float = 1.46e-9    # a sample and epoch, on one thread alone: 12 us of 8,192
    statistics: float = 0.68e-9     # the same, of advantages: 8 x 0.7 us of 8,192
    longer_side: float = 20.0 / 39.1  # the policy's part of both sides' gradient
    group_step: float = 0.21e-6     # of a group of environments and one step, beside its rows: cartpole_default and _wide

    # Of a network. Infinite bandwidth and no latency: ranks are free.
    latency: float = 0.0            # of one message
    bandwidth: float = math.inf     # bytes a second


@dataclass(frozen=True)
class Case:
    """A configuration, and how long its parts take one thread."""
    name: str
    num_envs: int
    num_steps: int
    minibatch_size: int
    update_epochs: int
    parameters: int
    row_bytes: int          # of a transition that all ranks need: observation, action, four numbers
    iteration: float        # seconds on one thread
    shares: dict            # of it, by stage

    @property
    def batch(self):
        return self.num_envs * self.num_steps

    @property
    def minibatches(self):
        return math.ceil(self.batch / self.minibatch_size)


@dataclass(frozen=True)
class Iteration:
    """Seconds of its parts."""
    collect: float
    exchange: float
    targets: float
    gradient: float
    reduction: float
    alone: float

    @property
    def seconds(self):
        return self.collect + self.exchange + self.targets + self.gradient + self.reduction + self.alone


def partial_gradients(samples, parameters):
    """Into how many a minibatch is cut."""
    tiles = math.ceil(samples / TILE_ROWS)
    worth = tiles // LEAST_TILES
    most = min(max(2 ** (worth.bit_length() - 1) if worth else 0, USUAL_PARTIALS), MOST_PARTIALS)
    return min(max(4, tiles // (2 if parameters <= CACHED_PARAMETERS else 4)), tiles, most)


def all_reduce(count, parameters, machine):
    """Of that many ranks and float32 parameters: recursive doubling, or recursive halving and an all-gather, whichever is faster
    (Thakur, Rabenseifner, Gropp, Optimization of collective communication operations in MPICH, 2005, section 3, without the arithmetic)."""
    if count == 1:
        return 0.0
    rounds, wire = math.ceil(math.log2(count)), 4 * parameters / machine.bandwidth
    return min(rounds * (machine.latency + wire), 2 * rounds * machine.latency + 2 * (count - 1) / count * wire)


def all_gather(count, total_bytes, machine):
    """Of that many ranks, each of which has its part of the bytes: recursive doubling."""
    if count == 1:
        return 0.0
    return math.ceil(math.log2(count)) * machine.latency + (count - 1) / count * total_bytes / machine.bandwidth


def shard_size(num_envs):
    """Environments of a shard, which no two workers share: broadloom/rollout/block.h."""
    narrowest = (num_envs + 1) // 2 if num_envs <= 16 else 16
    return min(max(math.ceil(num_envs / 16), narrowest), TILE_ROWS)


def rows_of_busiest(case, workers):
    """Environments of the worker that has most, and the groups that they make."""
    size = shard_size(case.num_envs)
    shards = math.ceil(case.num_envs / size)
    rows = min(case.num_envs, math.ceil(shards / workers) * size)
    return rows, math.ceil(rows / TILE_ROWS)


def collect(case, machine, workers):
    rows, groups = rows_of_busiest(case, 1)
    step = case.shares["collect"] * case.iteration / case.num_steps
    row_step = (step - groups * machine.group_step) / rows
    rows, groups = rows_of_busiest(case, workers)
    return case.num_steps * (groups * machine.group_step + rows * row_step)


def gradient_share(case, machine, ranks, threads):
    """Of a gradient's work, what the worker with most of it does: ranks have runs of partial gradients, threads a side of them each, or a
    run of a side's."""
    partials = partial_gradients(case.minibatch_size, case.parameters)
    of_rank = math.ceil(partials / ranks)
    if threads == 1:
        return of_rank / partials
    return machine.longer_side * math.ceil(of_rank / (threads // SIDES)) / partials


def alone(case, machine):
    """What one thread of each rank does while all others wait: permutations, statistics of advantages, explained variance."""
    samples = case.batch * case.update_epochs
    return samples * (machine.permutation + machine.statistics) + case.shares["instruments"] * case.iteration


def foretell(case, machine, ranks=1, threads=1):
    """The parts of an iteration. With one rank and one thread they sum to what was measured."""
    workers = ranks * threads
    one = {stage: share * case.iteration for stage, share in case.shares.items()}
    serial = alone(case, machine)
    gradient = max(0.0, one["update"] - (serial - one["instruments"]))
    steps = case.update_epochs * case.minibatches
    meetings = steps * machine.sections * machine.section if threads > 1 else 0.0
    return Iteration(
        collect=collect(case, machine, workers),
        exchange=all_gather(ranks, case.batch * case.row_bytes, machine),
        targets=one["bootstrap"] / min(workers, case.num_envs) + one["advantages"] / min(threads, case.num_envs),
        gradient=gradient * gradient_share(case, machine, ranks, threads) + meetings,
        reduction=steps * all_reduce(ranks, case.parameters, machine),
        alone=serial)


def read_cases(path=os.path.join(HERE, "threads.csv")):
    """[(case, steps a second of one thread, of two)], as measured."""
    cases = []
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            n, t, m, k, p, b = (int(row[key]) for key in ("num_envs", "num_steps", "minibatch_size", "update_epochs", "parameters", "row_bytes"))
            shares = {key: float(row[key]) for key in ("collect", "bootstrap", "advantages", "update", "instruments")}
            total = sum(shares.values())  # rounded, so not quite one
            shares = {key: share / total for key, share in shares.items()}
            cases.append((Case(row["case"], n, t, m, k, p, b, n * t / float(row["steps_1"]), shares), float(row["steps_1"]), float(row["steps_2"])))
    return cases


def threads_table(cases, machine):
    lines = ["| case | 1 thread, measured | 2 threads, measured | 2 threads, foretold | error |", "|---|---|---|---|---|"]
    for case, one, two in cases:
        foretold = case.batch / foretell(case, machine, threads=2).seconds
        lines.append(f"| `{case.name}` | {one:,.0f} | {two:,.0f} | {foretold:,.0f} | {100 * (foretold / two - 1):+.1f} % |")
    return lines


def ranks_table(cases, machine, counts):
    lines = ["| case, foretold | " + " | ".join(f"{count} ranks" for count in counts) + " | largest part |", "|---" * (len(counts) + 2) + "|"]
    for case, one, _ in cases:
        speeds, last = [], None
        for count in counts:
            last = foretell(case, machine, ranks=count)
            speeds.append(f"{case.batch / last.seconds / one:.2f}")
        largest = max(vars(last), key=lambda part: getattr(last, part))
        lines.append(f"| `{case.name}` | " + " | ".join(speeds) + f" | {largest} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=lambda text: [int(word) for word in text.split(",")], help="foretell these, one thread each: speed over one rank")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds of a message")
    parser.add_argument("--bandwidth", type=float, default=math.inf, help="bytes a second")
    options = parser.parse_args()
    machine = Machine(latency=options.latency, bandwidth=options.bandwidth)
    print("\n".join(ranks_table(read_cases(), machine, options.ranks) if options.ranks else threads_table(read_cases(), machine)))


if __name__ == "__main__":
    main()
