#!/usr/bin/env python3
"""A model of an iteration's time: collect, exchange, gradient, reduction. README.md has its equations.

    bench/scaling/model.py threads               # what it says of two threads, beside what was measured
    bench/scaling/model.py ranks                 # of ranks, on one machine and far apart, beside what was measured
    bench/scaling/model.py foretell              # of 10 to 10,000 ranks: nobody has measured these
    bench/scaling/model.py foretell --latency 2e-6 --bandwidth 1.2e10 --overhead 5e-7    # of a network with these numbers

It is calibrated on one thread, case by case, and on what messages take, network by network. Of the machine's numbers one, longer_side, is from a timeline of
cartpole_default on two threads; none is fitted to a speed on two, or of ranks."""
import argparse
import csv
import math
import os
from dataclasses import dataclass, field, replace

HERE = os.path.dirname(os.path.abspath(__file__))
TILE_ROWS = 64          # rows of a tile: broadloom/nn/layer.h
USUAL_PARTIALS, MOST_PARTIALS, LEAST_TILES = 16, 64, 16  # of a minibatch: broadloom/learn/gradient_cut.cc
CACHED_PARAMETERS = 32768
SIDES = 2               # policy and value, which several threads learn side by side
SENT_WHOLE, NOTE_BYTES = 256 * 1024, 192  # of all nodes of a gradient; of a partial gradient: broadloom/learn/rank_sums.cc, broadloom/setup/rank_plan.cc
MOST_BYTES = 8 << 20    # of one exchange of a block: broadloom/core/exchange.h
EAGER_BYTES = 1 << 16   # of a message, above which Open MPI asks over TCP before it sends
FEW_BYTES_EXCHANGES = 5  # of an iteration: bootstrap values, statistics, agreements, whether to stop
STAGES = ("collect", "bootstrap", "advantages", "update", "instruments", "record")
CORES = 2               # of the machine of ranks.csv
NOMINAL = {"0.1 ms, 1 GB/s": (1e-4, 1e9), "1 ms, 125 MB/s": (1e-3, 1.25e8), "10 ms, 12.5 MB/s": (1e-2, 1.25e7)}  # of measure.py
FORETOLD = ("quadruped_2048", "breakout_1024", "cartpole_4096")
COUNTS = (10, 100, 1000, 10000)
EVERY_COUNT = sorted({2 ** i for i in range(14)} | set(COUNTS))


@dataclass(frozen=True)
class Machine:
    """Numbers of the machine of bench/RESULTS.md, measured there by a timeline and by probes, in seconds."""
    section: float = 0.3e-6         # to hand out work to threads and have them back
    sections: int = 3               # of a gradient step: clear and sum tiles, add up, optimiser
    permutation: float = 1.46e-9    # a sample and epoch, on one thread alone: 12 us of 8,192
    statistics: float = 0.68e-9     # the same, of advantages: 8 x 0.7 us of 8,192
    longer_side: float = 20.0 / 39.1  # the policy's part of both sides' gradient
    group_step: float = 0.21e-6     # of a group of environments and one step, beside its rows: cartpole_default and _wide
    optimiser: float = 0.29e-9      # of a parameter and gradient step, which every rank takes by itself: BM_Adam of bench/micro
    memory: float = 5e9             # bytes a second that are copied or added: assumed
    cores: float = math.inf         # that ranks of one machine share


@dataclass(frozen=True)
class Network:
    """What exchanges take. Of one in which each rank has a message for each other: as rank_probe measured it, or by three numbers."""
    latency: float = 0.0            # seconds of one message
    bandwidth: float = math.inf     # bytes a second of a rank, in and out at once, that messages reach
    overhead: float = 0.0           # seconds of a rank's processor for each further message
    doubling: bool = False          # whether messages go to partners by recursive doubling, which Broadloom's do not, or to everybody
    measured: dict = field(default_factory=dict)  # {ranks: [(bytes of a message, seconds), ascending]}

    def exchange(self, ranks, message):
        if ranks == 1:
            return 0.0
        if ranks not in self.measured:
            rounds, others = (math.ceil(math.log2(ranks)), 0) if self.doubling else (1, ranks - 2)
            asked = 3 if message > EAGER_BYTES else 1
            return asked * rounds * self.latency + others * self.overhead + (ranks - 1) * message / self.bandwidth
        points = self.measured[ranks]
        if message <= points[0][0]:
            return points[0][1]
        upper = next((i for i in range(1, len(points)) if message <= points[i][0]), len(points) - 1)
        (low, least), (high, most) = points[upper - 1], points[upper]
        return max(0.0, least + (message - low) / (high - low) * (most - least))


# Orders of size of what is sold, and no measurement of ours; of their bandwidth a half, which is what messages reached over the networks that were measured.
CLUSTERS = {"100 Gbit/s, 2 us": Network(latency=2e-6, bandwidth=6.25e9, overhead=0.5e-6),
            "10 Gbit/s, 30 us": Network(latency=30e-6, bandwidth=0.625e9, overhead=2e-6)}
CLUSTER = CLUSTERS["100 Gbit/s, 2 us"]


@dataclass(frozen=True)
class Case:
    """A configuration, and how long its parts take one thread."""
    name: str
    num_envs: int
    num_steps: int
    minibatch_size: int
    update_epochs: int
    parameters: int
    row_bytes: float        # of a transition that all ranks need: observation, action, four numbers
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


def partial_gradients(samples, parameters, finest=False):
    """Into how many a minibatch is cut; finest: one for each tile, which Broadloom's are not."""
    tiles = math.ceil(samples / TILE_ROWS)
    if finest:
        return tiles
    worth = tiles // LEAST_TILES
    most = min(max(2 ** (worth.bit_length() - 1) if worth else 0, USUAL_PARTIALS), MOST_PARTIALS)
    return min(max(4, tiles // (2 if parameters <= CACHED_PARAMETERS else 4)), tiles, most)


def reduction(ranks, case, partials, network, machine):
    """Of one gradient: RankSums (broadloom/learn/rank_sums.cc). Small ones go whole, with their notes; of large ones each rank adds a slice."""
    if ranks == 1:
        return 0.0
    nodes, size = math.ceil(partials / run_length(partials, ranks)), 4 * case.parameters
    notes = NOTE_BYTES * partials / ranks
    if nodes * size <= SENT_WHOLE:
        return network.exchange(ranks, size + notes) + nodes * size / machine.memory
    return network.exchange(ranks, notes) + 2 * network.exchange(ranks, size / ranks) + nodes * size / ranks / machine.memory


def exchange(ranks, case, network, machine, spread=False):
    """Of the block, which everybody has afterwards; and what few bytes pass beside it. Only ranks with shards have something to send: to all others.
    A chunk is filled line by line, environment by environment, so that where a line of all environments is longer than a chunk, few of them send at a time.
    spread: as if all ranks passed on an equal part of everything, which Broadloom's do not."""
    if ranks == 1:
        return 0.0
    everything = case.batch * case.row_bytes
    chunks = math.ceil(everything / MOST_BYTES)
    line = case.num_envs * case.row_bytes
    senders = math.ceil(min(ranks, shard_count(case.num_envs)) * min(1.0, MOST_BYTES / line)) if not spread else ranks
    return (chunks * network.exchange(ranks, everything / chunks / senders) + FEW_BYTES_EXCHANGES * network.exchange(ranks, 64)
            + everything / machine.memory)


def run_length(partials, ranks):
    """Of a rank's run of partial gradients, a power of two: RankRuns (broadloom/learn/rank_sums.cc)."""
    length = 1
    while math.ceil(partials / length) > ranks:
        length *= 2
    return length


def shard_size(num_envs):
    """Environments of a shard, which no two workers share: broadloom/rollout/block.h."""
    narrowest = (num_envs + 1) // 2 if num_envs <= 16 else 16
    return min(max(math.ceil(num_envs / 16), narrowest), TILE_ROWS)


def shard_count(num_envs):
    return math.ceil(num_envs / shard_size(num_envs))


def rows_of_busiest(case, workers):
    """Environments of the worker that has most, and the groups that they make."""
    rows = min(case.num_envs, math.ceil(shard_count(case.num_envs) / workers) * shard_size(case.num_envs))
    return rows, math.ceil(rows / TILE_ROWS)


def collect(case, machine, workers):
    rows, groups = rows_of_busiest(case, 1)
    step = case.shares["collect"] * case.iteration / case.num_steps
    row_step = (step - groups * machine.group_step) / rows
    rows, groups = rows_of_busiest(case, workers)
    return case.num_steps * (groups * machine.group_step + rows * row_step)


def gradient_share(machine, ranks, threads, partials):
    """Of a gradient's work, what the worker with most of it does: ranks have runs of partial gradients, threads a side of them each, or a
    run of a side's."""
    of_rank = run_length(partials, ranks)
    if threads == 1:
        return of_rank / partials
    return machine.longer_side * math.ceil(of_rank / (threads // SIDES)) / partials


def alone(case, machine):
    """What one thread of each rank does while all others wait: permutations, statistics of advantages, explained variance."""
    samples = case.batch * case.update_epochs
    return samples * (machine.permutation + machine.statistics) + case.shares["instruments"] * case.iteration


def foretell(case, machine, ranks=1, threads=1, network=Network(), finest=False, spread=False):
    """The parts of an iteration. With one rank and one thread they sum to what was measured."""
    workers = ranks * threads
    slower = max(1.0, workers / machine.cores)  # each of them: those that wait look for messages all the time
    one = {stage: share * case.iteration for stage, share in case.shares.items()}
    serial = alone(case, machine)
    steps = case.update_epochs * case.minibatches
    optimiser = steps * case.parameters * machine.optimiser
    gradient = max(0.0, one["update"] - optimiser - (serial - one["instruments"]))
    partials = partial_gradients(case.minibatch_size, case.parameters, finest)
    meetings = steps * machine.sections * machine.section if threads > 1 else 0.0
    return Iteration(
        collect=slower * collect(case, machine, workers),
        exchange=exchange(ranks, case, network, machine, spread),
        targets=slower * (one["bootstrap"] / min(workers, shard_count(case.num_envs)) + one["advantages"] / min(threads, case.num_envs)),
        gradient=slower * gradient * gradient_share(machine, ranks, threads, partials) + meetings,
        reduction=steps * reduction(ranks, case, partials, network, machine),
        alone=slower * (serial + optimiser / min(threads, SIDES) + one.get("record", 0.0)))


def read_rows(name):
    with open(os.path.join(HERE, name), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_cases(name="threads.csv"):
    """{name: (case, its row)}, as measured on one thread."""
    cases = {}
    for row in read_rows(name):
        n, t, m, k, p = (int(row[key]) for key in ("num_envs", "num_steps", "minibatch_size", "update_epochs", "parameters"))
        shares = {key: float(row[key]) for key in STAGES if key in row}
        total = sum(shares.values())  # rounded, so not quite one
        shares = {key: share / total for key, share in shares.items()}
        cases[row["case"]] = (Case(row["case"], n, t, m, k, p, float(row["row_bytes"]), n * t / float(row["steps_1"]), shares), row)
    return cases


def read_networks():
    """{name: Network}, as rank_probe measured them."""
    points = {}
    for row in read_rows("networks.csv"):
        points.setdefault(row["network"], {}).setdefault(int(row["ranks"]), []).append((int(row["message_bytes"]), float(row["seconds"])))
    return {name: Network(measured=found) for name, found in points.items()}


def threads_table(machine=Machine()):
    lines = ["| case | 1 thread, measured | 2 threads, measured | 2 threads, foretold | error |", "|---|---|---|---|---|"]
    for name, (case, row) in read_cases().items():
        two, foretold = float(row["steps_2"]), case.batch / foretell(case, machine, threads=2).seconds
        lines.append(f"| `{name}` | {float(row['steps_1']):,.0f} | {two:,.0f} | {foretold:,.0f} | {100 * (foretold / two - 1):+.1f} % |")
    return lines


def ranks_rows():
    """(case, network, ranks, steps/s measured, least, most, of one rank, foretold, the share of its time that exchanges take, measured, foretold)"""
    cases, networks = read_cases("cases.csv"), read_networks()
    measured = read_rows("ranks.csv")
    alone = {row["case"]: float(row["steps_per_second"]) for row in measured if row["ranks"] == "1"}
    for row in measured:
        if row["ranks"] == "1":
            continue
        # What one rank makes in a training, which has a recorder and fresh memory, is what several are held against.
        case = replace(cases[row["case"]][0], iteration=cases[row["case"]][0].batch / alone[row["case"]])
        machine = replace(Machine(), cores=CORES)
        parts = foretell(case, machine, ranks=int(row["ranks"]), network=networks[row["network"]])
        yield (row["case"], row["network"], int(row["ranks"]), float(row["steps_per_second"]), float(row["least"]), float(row["most"]), alone[row["case"]],
               case.batch / parts.seconds,
               float(row["exchange_share"]), (parts.exchange + parts.reduction) / parts.seconds)


def ranks_table():
    lines = ["| case | network | ranks | steps/s, measured (least .. most) | of one rank | foretold | error | of the time in exchanges, measured | foretold |",
             "|---|---|---|---|---|---|---|---|---|"]
    for case, network, ranks, measured, least, most, alone, foretold, share, share_foretold in ranks_rows():
        place = "one machine" if network.startswith("here") else network
        lines.append(f"| `{case}` | {place} | {ranks} | {measured:,.0f} ({least:,.0f} .. {most:,.0f}) | {measured / alone:.2f} | {foretold:,.0f} "
                     f"| {100 * (foretold / measured - 1):+.0f} % | {100 * min(share, 1.0):.0f} % | {100 * share_foretold:.0f} % |")
    return lines


def messages_table():
    """x(s) by the formula, over what was measured of the three networks between two ranks."""
    networks = read_networks()
    sizes = [size for size, _ in networks["1 ms, 125 MB/s"].measured[2]]
    lines = ["| formula over measured | " + " | ".join(f"{size:,} bytes" for size in sizes) + " |", "|---" * (len(sizes) + 1) + "|"]
    for name, (latency, rate) in NOMINAL.items():
        formula = Network(latency=latency, bandwidth=rate / 2)
        lines.append(f"| {name} | " + " | ".join(f"{formula.exchange(2, size) / seconds:.2f}" for size, seconds in networks[name].measured[2]) + " |")
    return lines


def foretold_cases():
    cases = read_cases("cases.csv")
    return [cases[name][0] for name in FORETOLD]


def speed_up(case, ranks, network, machine=Machine(), **changes):
    return case.iteration / foretell(case, machine, ranks=ranks, network=network, **changes).seconds


def most_of(case, ranks, network):
    """The longest part of an iteration, and its share."""
    parts = vars(foretell(case, Machine(), ranks=ranks, network=network))
    largest = max(parts, key=parts.get)
    return largest, parts[largest] / sum(parts.values())


def fastest(case, network, **changes):
    """(speed over one rank, how many ranks)"""
    return max((speed_up(case, count, network, **changes), count) for count in EVERY_COUNT)


def foretold_table(network):
    """The same block on more ranks: speed over one."""
    lines = ["| task, foretold | " + " | ".join(f"{count:,} ranks" for count in COUNTS) + " | fastest | most of its time then |", "|---" * (len(COUNTS) + 3) + "|"]
    for case in foretold_cases():
        speed, best = fastest(case, network)
        largest, share = most_of(case, best, network)
        lines.append(f"| `{case.name}` | " + " | ".join(f"{speed_up(case, count, network):.2g}" for count in COUNTS)
                     + f" | {speed:.2g} with {best:,} | {largest}, {100 * share:.0f} % |")
    return lines


def changes_table(network):
    """What the fastest number of ranks would bring were something else."""
    both = {"finest": True, "spread": True}
    variants = {"as it is": {}, "the block passed on by all": {"spread": True}, "a partial gradient a tile": {"finest": True}, "both": both,
                "and messages by doubling": {**both, "network": replace(network, doubling=True)}}
    lines = ["| task, foretold | " + " | ".join(variants) + " |", "|---" * (len(variants) + 1) + "|"]
    for case in foretold_cases():
        found = [fastest(case, **{"network": network, **changes}) for changes in variants.values()]
        lines.append(f"| `{case.name}` | " + " | ".join(f"{speed:.2g} with {best:,}" for speed, best in found) + " |")
    return lines


def grown(case, ranks):
    """A block of so many times the environments, in as many minibatches."""
    return replace(case, num_envs=case.num_envs * ranks, minibatch_size=case.minibatch_size * ranks, iteration=case.iteration * ranks)


def grown_table(network):
    """A block that grows with the ranks: the share of ideal speed that is left, the block that each must hold, and what takes most of the time."""
    lines = ["| task, foretold | " + " | ".join(f"{count:,} ranks" for count in COUNTS) + " |", "|---" * (len(COUNTS) + 1) + "|"]
    for case in foretold_cases():
        cells = []
        for count in COUNTS:
            large = grown(case, count)
            cells.append(f"{100 * speed_up(large, count, network) / count:.2g} %, {large.batch * large.row_bytes * 1e-9:.3g} GB, {most_of(large, count, network)[0]}")
        lines.append(f"| `{case.name}` | " + " | ".join(cells) + " |")
    return lines


def write_figure_data(path):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["network", "task", "ranks", "speed"])
        for name, network in CLUSTERS.items():
            for case in foretold_cases():
                for count in EVERY_COUNT:
                    writer.writerow([name, case.name, count, f"{speed_up(case, count, network):.4g}"])


def positive(text):
    value = float(text)
    if not value > 0.0:
        raise argparse.ArgumentTypeError(f"got {text}, expected a number above 0")
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    commands.add_parser("threads", help="two threads, measured and foretold")
    commands.add_parser("ranks", help="ranks, measured and foretold")
    commands.add_parser("figure_data", help="what the figure of the page draws, for foretold.csv").add_argument("file")
    foretell_command = commands.add_parser("foretell", help="10 to 10,000 ranks")
    foretell_command.add_argument("--latency", type=positive, default=CLUSTER.latency, help="seconds of a message (%(default)s)")
    foretell_command.add_argument("--bandwidth", type=positive, default=CLUSTER.bandwidth, help="bytes a second that messages reach (%(default)s)")
    foretell_command.add_argument("--overhead", type=positive, default=CLUSTER.overhead, help="seconds for each further message (%(default)s)")
    options = parser.parse_args()
    if options.what == "figure_data":
        write_figure_data(options.file)
        return
    tables = [threads_table()] if options.what == "threads" else [ranks_table(), messages_table()]
    if options.what == "foretell":
        network = Network(options.latency, options.bandwidth, options.overhead)
        tables = [foretold_table(network), changes_table(network), grown_table(network)]
    print("\n\n".join("\n".join(table) for table in tables))


if __name__ == "__main__":
    main()
