#!/usr/bin/env python3
"""Keeps the numbers of part two and judges predictions 7 to 11: analyse_early.py [RUNS] RESULTS

RUNS is the folder of run_early.sh. Without it the kept numbers are read. A seed's number is the
mean over its two moments. Losses are compared by Welch's 95 % intervals over seeds.
"""

import math
import pathlib
import re
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from analyse import (  # noqa: E402
    JUDGED_LAMBDA,
    NARROW,
    NUMBERS,
    SHAPES,
    TASKS,
    WIDE,
    cells_of_report,
    mean_of,
)
from rows import T_95, interval, read, write, write_verdicts  # noqa: E402

LOSSES = {"ppo": "policy", "pqn": "td"}
MOMENTS = [20, 40]  # iterations of 1,024 steps
LEAST = 9  # of twelve policies, which must have an agreement
KEYS = ["task", "loss", "iteration", "seed", "shape", "lambda"]
COMPARED = ["inflation", "gain in signal", "gain in agreement"]


def measured(folder):
    """A row for each policy, shape and lambda."""
    for path in sorted(folder.glob("*/[0-9]*.json")):
        task, algorithm, seed = re.fullmatch(r"(.+)-(ppo|pqn)-(\d+)", path.parent.name).groups()
        loss = LOSSES[algorithm]
        for shape, lambda_, values in cells_of_report(path, loss):
            yield TASKS[task], loss, int(path.stem), int(seed), shape, lambda_, *values


class Policies:
    """The kept numbers of every policy."""

    def __init__(self, rows):
        self.numbers = {
            tuple(row[key] for key in KEYS): {
                name: None if row[name] == "" else float(row[name]) for name in NUMBERS
            }
            for row in rows
        }
        seeds = [
            {seed for one, two, when, seed, *_ in self.numbers if (one, two, when) == place}
            for place in {key[:3] for key in self.numbers}
        ]
        self.seeds = sorted(set.intersection(*seeds))

    def number(self, task, loss, iteration, seed, shape, lambda_, name):
        found = self.numbers[task, loss, str(iteration), seed, shape, f"{lambda_:g}"]
        return found[name]

    def of_cell(self, task, loss, iteration, shape, lambda_, name):
        """The numbers of the policies that have one."""
        found = [
            self.number(task, loss, iteration, seed, shape, lambda_, name) for seed in self.seeds
        ]
        return [x for x in found if x is not None]

    def of_seed(self, task, loss, seed, lambda_, name):
        """The mean over the seed's moments that have the number; None without any."""
        numbers = [self.compared(task, loss, when, seed, lambda_, name) for when in MOMENTS]
        found = [x for x in numbers if x is not None]
        return statistics.fmean(found) if found else None

    def compared(self, task, loss, when, seed, lambda_, name):
        """One policy's number: of 1x1024, or that of 128x8 beside it. Ratios are logarithms."""

        def number(shape, column):
            return self.number(task, loss, when, seed, shape, lambda_, column)

        if name == "inflation":
            return math.log(number(NARROW, name))
        if name == "gain in agreement":
            ends = number(NARROW, "agreement"), number(WIDE, "agreement")
            return None if None in ends else ends[1] - ends[0]
        if min(number(shape, "signal low") or 0 for shape in (NARROW, WIDE)) <= 0:
            return None
        return math.log(number(WIDE, "signal") / number(NARROW, "signal"))

    def of_loss(self, task, loss, lambda_, name):
        found = [self.of_seed(task, loss, seed, lambda_, name) for seed in self.seeds]
        return [x for x in found if x is not None]


def welch(one, other):
    """(mean difference, low, high), 95 % by Welch's t with its degrees of freedom rounded down."""
    parts = [statistics.variance(side) / len(side) for side in (one, other)]
    free = sum(parts) ** 2 / sum(
        part**2 / (len(side) - 1) for part, side in zip(parts, (one, other), strict=True)
    )
    middle = statistics.fmean(one) - statistics.fmean(other)
    half = T_95[min(int(free) + 1, len(T_95) - 1)] * math.sqrt(sum(parts))
    return middle, middle - half, middle + half


def shown(name, mean):
    """Ratios, not their logarithms."""
    return [math.exp(x) for x in mean] if name in ("inflation", "gain in signal") else list(mean)


def cells(policies):
    """A row for each task, loss, moment, lambda and shape."""
    for task in TASKS.values():
        for loss in LOSSES.values():
            for when in MOMENTS:
                for lambda_ in (0.65, 0.95):
                    for shape in SHAPES.values():
                        place = task, loss, when, shape, lambda_
                        logs = [math.log(x) for x in policies.of_cell(*place, "inflation")]
                        agreement = policies.of_cell(*place, "agreement")
                        above = [x for x in policies.of_cell(*place, "signal low") if x > 0]
                        yield [task, loss, when, lambda_, shape, int(shape.split("x")[0]),
                               len(logs), *map(math.exp, interval(logs)),
                               *mean_of(policies.of_cell(*place, "signal")), len(above),
                               *mean_of(agreement), len(agreement)]  # fmt: skip


def comparisons(policies):
    """((task, lambda, name), (seeds of td, td, seeds of policy, policy, td beside policy)); losses
    and their comparison are (mean, low, high)."""
    for task in TASKS.values():
        for lambda_ in (0.65, 0.95):
            for name in COMPARED:
                td, policy = (
                    policies.of_loss(task, loss, lambda_, name) for loss in ("td", "policy")
                )
                yield (task, lambda_, name), (len(td), interval(td), len(policy), interval(policy),
                                              welch(td, policy))  # fmt: skip


def judged(policies, compared):
    """(prediction, what, value, refuted)"""

    def text(name, mean):
        return "{:.3g} [{:.3g}, {:.3g}]".format(*shown(name, mean))

    for task in TASKS.values():
        for when in MOMENTS:
            counts = [
                len(policies.of_cell(task, "policy", when, shape, JUDGED_LAMBDA, "agreement"))
                for shape in (NARROW, WIDE)
            ]
            what = f"{task}, iteration {when}: PPO policies with an agreement"
            yield 7, what, min(counts), min(counts) < LEAST
        ratio = compared[task, JUDGED_LAMBDA, "gain in signal"][4]
        yield (
            8,
            f"{task}: gain in signal, td over policy",
            text("gain in signal", ratio),
            (ratio[2] >= 0),
        )
        name = "gain in agreement"
        _, td, _, policy, difference = compared[task, JUDGED_LAMBDA, name]
        for loss, mean in (("td", td), ("policy", policy)):
            yield 9, f"{task}: gain in agreement of {loss}", text(name, mean), mean[1] > 0
        yield (
            10,
            f"{task}: gain in agreement, td less policy",
            text(name, difference),
            (difference[1] > 0),
        )
        ratio = compared[task, JUDGED_LAMBDA, "inflation"][4]
        yield 11, f"{task}: inflation, td over policy", text("inflation", ratio), ratio[1] <= 0
    below = any(
        compared[task, JUDGED_LAMBDA, "gain in agreement"][4][2] < 0 for task in TASKS.values()
    )
    yield 10, "an interval below zero", "yes" if below else "none", not below


def main():
    folder = pathlib.Path(sys.argv[-1])
    kept = folder / "early_policies.csv"
    if len(sys.argv) > 2:
        write(kept, KEYS + NUMBERS, measured(pathlib.Path(sys.argv[1])))
    policies = Policies(read(kept))
    if len(policies.seeds) < 2:
        sys.exit("not judged: two seeds must have all policies")
    ends = ("", " low", " high")
    header = ["task", "loss", "iteration", "lambda", "shape", "N", "policies"]
    header += ["inflation" + end for end in ends] + ["signal" + end for end in ends]
    header += ["of signal"] + ["agreement" + end for end in ends] + ["of agreement"]
    write(folder / "early_cells.csv", header, cells(policies))
    compared = dict(comparisons(policies))
    header = ["task", "lambda", "number"]
    for side in ("td", "policy"):
        header += [f"{side} seeds"] + [side + end for end in ends]
    header += ["td beside policy" + end for end in ends]
    write(
        folder / "early_pairs.csv",
        header,
        (
            [*key, n, *shown(key[2], td), m, *shown(key[2], policy), *shown(key[2], beside)]
            for key, (n, td, m, policy, beside) in compared.items()
        ),
    )
    write_verdicts(folder / "early_verdicts.csv", judged(policies, compared))


if __name__ == "__main__":
    main()
