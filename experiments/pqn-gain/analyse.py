#!/usr/bin/env python3
"""Keeps the measured numbers and judges the predictions: analyse.py [RUNS] RESULTS

RUNS is the folder of run.sh, such as studies/pqn-gain. Without it the kept numbers are read. Means
are over policies, with Student's intervals; means of ratios are those of logarithms.
"""

import json
import math
import pathlib
import re
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from rows import interval, read, write  # noqa: E402

TASKS = {"CartPole-v1": "CartPole-v1", "Breakout-v1": "MinAtar/Breakout-v1"}
LOSSES = ["policy", "value", "td"]
SHAPES = {(1, 1024): "1x1024", (8, 128): "8x128", (32, 32): "32x32", (128, 8): "128x8"}
NARROW, WIDE = "1x1024", "128x8"
KEYS = ["task", "loss", "seed", "shape", "lambda"]
NUMBERS = ["inflation", "signal", "signal low", "agreement"]
JUDGED_LAMBDA = 0.95


def cells_of_report(path, loss):
    """(shape, lambda, the NUMBERS) of each cell of a gradients.json; "" where there is none."""
    report = json.loads(path.read_text(encoding="utf-8"))
    agreement = {
        (one["num_envs"], one["num_steps"], one["lambda"]): one["agreement"]["value"]
        for one in report["agreement"]
        if one["critic"] == "own" and one["norm_adv"] == (loss == "policy")
    }
    for one in report["variance"]:
        shape = one["num_envs"], one["num_steps"]
        signal = one["signal_to_noise"]
        values = [one["variance_inflation"]["value"], signal["value"], signal["low"],
                  agreement[(*shape, one["lambda"])]]  # fmt: skip
        yield SHAPES[shape], one["lambda"], ["" if value is None else value for value in values]


def measured(folder):
    """A row for each policy, loss, shape and lambda."""
    for path in sorted(folder.glob("*/*.json")):
        found = re.fullmatch(r"(.+)-(ppo|pqn)-(\d+)", path.parent.name)
        if found is None or path.stem not in LOSSES:
            continue
        for shape, lambda_, values in cells_of_report(path, path.stem):
            yield TASKS[found[1]], path.stem, int(found[3]), shape, lambda_, *values


def returns(folder):
    """Training return at the end of each run: the mean of five iterations that ended episodes."""
    for path in sorted(folder.glob("*/metrics.jsonl")):
        task, algorithm, seed = re.fullmatch(r"(.+)-(ppo|pqn)-(\d+)", path.parent.name).groups()
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        ended = [one["episodic_return"] for one in lines if one.get("episodes")]
        yield [TASKS[task], algorithm, int(seed), statistics.fmean(ended[-5:])]


def cells_of(rows):
    """(task, loss, lambda, shape, {seed: row}) of each cell."""
    for task in TASKS.values():
        for loss in LOSSES:
            for lambda_ in (0.65, 0.95):
                for shape in SHAPES.values():
                    yield task, loss, lambda_, shape, numbers_of(rows, task, loss, shape, lambda_)


def signals(rows):
    """How many policies of a cell have a signal above zero, and an agreement."""
    for *place, cell in cells_of(rows):
        above = sum(low > 0 for low in values(cell, "signal low"))
        yield *place, len(cell), above, len(values(cell, "agreement"))


def of_common_seeds(rows):
    """The rows of seeds that every task and loss has."""
    seeds = [
        {row["seed"] for row in rows if (row["task"], row["loss"]) == (task, loss)}
        for task in TASKS.values()
        for loss in LOSSES
    ]
    common = set.intersection(*seeds)
    return [row for row in rows if row["seed"] in common]


def numbers_of(rows, task, loss, shape, lambda_):
    """{seed: row} of a cell."""
    where = {"task": task, "loss": loss, "shape": shape, "lambda": f"{lambda_:g}"}
    return {
        row["seed"]: row for row in rows if all(row[key] == value for key, value in where.items())
    }


def values(cell, number):
    return [float(row[number]) for row in cell.values() if row[number] != ""]


def gains(rows, task, loss, lambda_):
    """(gains in log signal to noise, gains in agreement) of the policies that have them."""
    narrow, wide = (numbers_of(rows, task, loss, shape, lambda_) for shape in (NARROW, WIDE))
    signal, agreement = [], []
    for seed, one in narrow.items():
        other = wide[seed]
        if one["signal low"] and other["signal low"]:
            if float(one["signal low"]) > 0 and float(other["signal low"]) > 0:
                signal.append(math.log(float(other["signal"]) / float(one["signal"])))
        if one["agreement"] and other["agreement"]:
            agreement.append(float(other["agreement"]) - float(one["agreement"]))
    return signal, agreement


def mean_of(numbers, exponential=False):
    """(mean, low, high); empty texts for what so few numbers do not tell."""
    if not numbers:
        return "", "", ""
    return tuple(math.exp(x) if exponential and x != "" else x for x in interval(numbers))


def cells(rows):
    """A row for each task, loss, lambda and shape."""
    for *place, cell in cells_of(rows):
        yield [*place, int(place[-1].split("x")[0]), len(cell),
               *mean_of([math.log(x) for x in values(cell, "inflation")], True),
               *mean_of(values(cell, "signal")),
               *mean_of(values(cell, "agreement"))]  # fmt: skip


def gain_rows(rows):
    for task in TASKS.values():
        for loss in LOSSES:
            for lambda_ in (0.65, 0.95):
                signal, agreement = gains(rows, task, loss, lambda_)
                yield [task, loss, lambda_, len(signal), *mean_of(signal, True), len(agreement),
                       *mean_of(agreement)]  # fmt: skip


def verdicts(rows):
    """(prediction, what, value, refuted)"""

    def numbers(task, loss, number, shape=NARROW):
        return values(numbers_of(rows, task, loss, shape, JUDGED_LAMBDA), number)

    def shown(mean):
        if mean[1] == "":
            return "none" if mean[0] == "" else f"{mean[0]:.3g}, one policy"
        return "{:.3g} [{:.3g}, {:.3g}]".format(*mean)

    def word(known, refuted):
        return ("yes" if refuted else "no") if known else "not judged"

    smaller_gain, larger_gain = [], []
    for task in TASKS.values():
        inflation = {
            loss: mean_of([math.log(x) for x in numbers(task, loss, "inflation")], True)
            for loss in LOSSES
        }
        agreement = {loss: mean_of(numbers(task, loss, "agreement")) for loss in LOSSES}
        for prediction, loss in ((1, "td"), (2, "policy")):
            mean = inflation[loss]
            beyond = mean[1] != "" and (mean[2] < 1.5 if loss == "td" else mean[1] > 1.5)
            judged = word(mean[1] != "", beyond)
            yield prediction, f"{task}: inflation of {loss}", shown(mean), judged
        known = all(inflation[loss][0] != "" for loss in LOSSES)
        largest = max(LOSSES, key=lambda loss: inflation[loss][0]) if known else ""
        yield 3, f"{task}: largest inflation", largest, word(known, largest != "value")
        signal = {loss: gains(rows, task, loss, JUDGED_LAMBDA) for loss in LOSSES}
        for number, kept in ((0, smaller_gain), (1, larger_gain)):
            td, policy = (mean_of(signal[loss][number], number == 0) for loss in ("td", "policy"))
            kept.append((task, td, policy))
        for loss in ("td", "policy"):
            mean = agreement[loss]
            beyond = mean[1] != "" and (mean[2] < 0.5 if loss == "td" else mean[1] > 0.5)
            yield 5, f"{task}: agreement of {loss}", shown(mean), word(mean[1] != "", beyond)
    for prediction, kept, sign in ((4, smaller_gain, -1), (6, larger_gain, 1)):
        known = all(td[0] != "" and policy[0] != "" for _, td, policy in kept)
        against = known and all(sign * (td[0] - policy[0]) > 0 for _, td, policy in kept)
        for task, td, policy in kept:
            yield (
                prediction,
                f"{task}: td, policy",
                f"{shown(td)}; {shown(policy)}",
                word(known, against),
            )


def main():
    folder = pathlib.Path(sys.argv[-1])
    policies = folder / "policies.csv"
    if len(sys.argv) > 2:
        runs = pathlib.Path(sys.argv[1])
        write(policies, KEYS + NUMBERS, measured(runs))
        write(folder / "returns.csv", ["task", "algorithm", "seed", "return"], returns(runs))
    rows = of_common_seeds(read(policies))
    if not rows:
        sys.exit("not judged: no seed has every task and loss yet")
    ends = ("", " low", " high")
    header = ["task", "loss", "lambda", "shape", "N", "policies"]
    header += [name + end for name in ("inflation", "signal", "agreement") for end in ends]
    write(folder / "cells.csv", header, cells(rows))
    header = ["task", "loss", "lambda", "shape", "policies", "of signal", "of agreement"]
    write(folder / "signals.csv", header, signals(rows))
    header = ["task", "loss", "lambda", "policies of signal"]
    header += ["gain in signal" + end for end in ends] + ["policies of agreement"]
    header += ["gain in agreement" + end for end in ends]
    write(folder / "gains.csv", header, gain_rows(rows))
    write(folder / "verdicts.csv", ["prediction", "what", "value", "refuted"], verdicts(rows))


if __name__ == "__main__":
    main()
