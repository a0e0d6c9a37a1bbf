#!/usr/bin/env python3
"""analyse.py RUNS RESULTS: what is kept of run.sh's laboratories, and the verdict on every
prediction of PREREGISTRATION.md. Needs numpy."""

import csv
import json
import pathlib
import sys

import numpy

TASKS = ["CartPole-v1", "Pendulum-v1", "FrozenLake8x8-v1", "HalfCheetah-v5", "Hopper-v5"]
SMALL = TASKS[:3]
LAMBDAS = [0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 1.0]
LONG, SHORT = "1x1024", "1024x1"
REPLICATES = 2000


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def read(store):
    """Agreement by task, critic, measured shape, seed and trained shape: one number a lambda. Also
    how many policies have no true gradient, by task."""
    found, untold = {}, {}
    for path in sorted(store.glob("*/agreement.json")):
        task, trained, seed = path.parent.name.rsplit("-", 2)
        cases = [one for one in load(path)["agreement"] if one["norm_adv"]]
        if any(one["agreement"]["value"] is None for one in cases):
            untold[task] = untold.get(task, 0) + 1
            continue
        for one in cases:
            shape = f"{one['num_envs']}x{one['num_steps']}"
            numbers = found.setdefault((task, one["critic"], shape), {}).setdefault(
                (int(seed), trained), dict.fromkeys(LAMBDAS)
            )
            numbers[one["lambda"]] = one["agreement"]["value"]
    for shapes in found.values():
        for numbers in shapes.values():
            assert None not in numbers.values()
    return found, untold


class Policies:
    """Sums over the policies of each seed, for one task and critic: seeds are what is drawn."""

    def __init__(self, found, task, critic):
        shapes = {key[2]: one for key, one in found.items() if key[:2] == (task, critic)}
        self.seeds = sorted({seed for one in shapes.values() for seed, _ in one})
        self.sums, self.count = {}, numpy.zeros(len(self.seeds))
        for shape, policies in shapes.items():
            sums = numpy.zeros((len(self.seeds), len(LAMBDAS)))
            for (seed, _), numbers in policies.items():
                sums[self.seeds.index(seed)] += [numbers[one] for one in LAMBDAS]
            self.sums[shape] = sums
        for seed, _ in shapes[LONG]:
            self.count[self.seeds.index(seed)] += 1

    def whole(self):
        return numpy.ones(len(self.seeds))

    def draws(self):
        random = numpy.random.default_rng(1)
        made = 0
        while made < REPLICATES:
            drawn = random.integers(len(self.seeds), size=len(self.seeds))
            weights = numpy.bincount(drawn, minlength=len(self.seeds)).astype(float)
            if numpy.count_nonzero(weights * self.count) > 1:  # a lambda needs another seed
                made += 1
                yield weights

    def with_lambda(self, shape, lamb, weights):
        return weights @ self.sums[shape][:, LAMBDAS.index(lamb)] / (weights @ self.count)

    def choices(self, shape, weights):
        """The index of each seed's lambda: the best on the other seeds."""
        sums = weights[:, None] * self.sums[shape]
        return numpy.argmax(sums.sum(axis=0) - sums, axis=1)

    def best(self, shape, weights):
        chosen = self.choices(shape, weights)
        scored = self.sums[shape][numpy.arange(len(self.seeds)), chosen]
        return weights @ scored / (weights @ self.count)

    def interval(self, statistic):
        drawn = sorted(statistic(weights) for weights in self.draws())
        ends = drawn[int(0.025 * REPLICATES)], drawn[int(0.975 * REPLICATES) - 1]
        return (statistic(self.whole()), *ends)

    def parts(self):
        return {
            "gain": lambda w: self.with_lambda(SHORT, 0.0, w) - self.with_lambda(LONG, 0.95, w),
            "lambda": lambda w: self.best(LONG, w) - self.with_lambda(LONG, 0.95, w),
            "independence": lambda w: self.with_lambda(SHORT, 0.0, w) - self.best(LONG, w),
        }


def named(name, estimate):
    return dict(zip((name, f"{name} low", f"{name} high"), estimate))


def critics_of(found, task):
    return [c for c in ("own", "refitted", "exact") if (task, c, LONG) in found]


def primary(task):
    return "exact" if task == "FrozenLake8x8-v1" else "refitted"


def environments(shape):
    return int(shape.split("x")[0])


def laboratories(found):
    for (task, critic, shape), policies in found.items():
        for (seed, trained), numbers in sorted(policies.items()):
            for lamb in LAMBDAS[:1] if shape == SHORT else LAMBDAS:
                yield {
                    "task": task,
                    "trained": trained,
                    "seed": seed,
                    "critic": critic,
                    "measured": shape,
                    "lambda": lamb,
                    "agreement": numbers[lamb],
                }


def tables(found, untold):
    """Parts; agreement by shape, at 0.95 and at the best lambda; agreement by lambda."""
    parts, shapes, lambdas = [], [], []
    for task in TASKS:
        for critic in critics_of(found, task):
            one = Policies(found, task, critic)
            about = {"task": task, "critic": critic}
            row = about | {
                "policies": int(one.count.sum()),
                "left out": untold.get(task, 0),
                "seeds": len(one.seeds),
            }
            for name, statistic in one.parts().items():
                row |= named(name, one.interval(statistic))
            parts.append(row)
            for shape in sorted(one.sums, key=environments):
                chosen = [LAMBDAS[i] for i in one.choices(shape, one.whole())]
                often = max(sorted(set(chosen)), key=chosen.count)
                shapes.append(
                    about
                    | {"measured": shape, "N": environments(shape)}
                    | named("at .95", one.interval(lambda w, s=shape: one.with_lambda(s, 0.95, w)))
                    | named("best", one.interval(lambda w, s=shape: one.best(s, w)))
                    | named(
                        "less 1x1024",
                        one.interval(lambda w, s=shape: one.best(s, w) - one.best(LONG, w)),
                    )
                    | {"lambda": often, "seeds that choose it": chosen.count(often)}
                    | {"seeds below .95": sum(value < 0.95 for value in chosen)}
                )
                for lamb in LAMBDAS:
                    lambdas.append(
                        about
                        | {"measured": shape, "lambda": lamb}
                        | named(
                            "agreement",
                            one.interval(lambda w, s=shape, x=lamb: one.with_lambda(s, x, w)),
                        )
                    )
    return parts, shapes, lambdas


def exact(store):
    for path in sorted(store.glob("*/exact.json")):
        task, trained, seed = path.parent.name.rsplit("-", 2)
        for case in load(path)["exact"]["cases"]:
            yield {
                "task": task,
                "trained": trained,
                "seed": int(seed),
                "T": case["num_steps"],
                "lambda": case["lambda"],
                "variance": case["total"]["exact"],
                "expected norm": case["expected_norm"]["exact"],
                "cosine": case["cosine"]["exact"],
            }


def ratios(solved):
    """T = 1,024 over T = 1 in exact variance, by lambda: median, quartiles and extremes over
    policies."""
    variance = {(r["trained"], r["seed"], r["T"], r["lambda"]): r["variance"] for r in solved}
    policies = sorted({key[:2] for key in variance})
    for steps in sorted({key[2] for key in variance}):
        for lamb in LAMBDAS:
            found = [variance[(*p, steps, lamb)] / variance[(*p, 1, lamb)] for p in policies]
            q = numpy.quantile(found, [0, 0.25, 0.5, 0.75, 1])
            names = ("least", "lower quartile", "median", "upper quartile", "largest")
            yield {
                "T": steps,
                "lambda": lamb,
                "policies": len(found),
                **dict(zip(names, q)),
                "within a tenth": sum(abs(value - 1) <= 0.1 for value in found),
                "twice or more": sum(value >= 2 for value in found),
            }


def verdicts(parts, shapes, ratio):
    part = {(row["task"], row["critic"]): row for row in parts}
    shape = {(row["task"], row["critic"], row["measured"]): row for row in shapes}

    def inside(row, name, limit):
        return -limit < row[f"{name} low"] and row[f"{name} high"] < limit

    def say(prediction, what, row, name, held):
        yield {
            "prediction": prediction,
            "what": what,
            "value": row[name],
            "low": row.get(f"{name} low", ""),
            "high": row.get(f"{name} high", ""),
            "held": "yes" if held else "no",
        }

    lake = part["FrozenLake8x8-v1", "exact"]
    none = inside(lake, "independence", 0.05)
    yield from say(1, "FrozenLake, exact: independence", lake, "independence", none)
    yield from say(1, "FrozenLake, exact: lambda", lake, "lambda", lake["lambda low"] > 0.15)
    for task in TASKS[:2]:
        row = part[task, "refitted"]
        yield from say(
            2, f"{task}, refitted: independence", row, "independence", row["independence low"] > 0
        )
        yield from say(
            3, f"{task}, refitted: lambda", row, "lambda", row["lambda"] < row["independence"]
        )
    for task in SMALL:
        row = part[task, "own"]
        yield from say(
            4, f"{task}, own: independence", row, "independence", row["independence low"] <= 0
        )
    for task in SMALL:
        row = shape[task, primary(task), "16x64"]
        what = f"{task}, {primary(task)}: 16x64 less 1x1024, both at their best"
        yield from say(5, what, row, "less 1x1024", inside(row, "less 1x1024", 0.05))
    for task in SMALL:
        row = shape[task, primary(task), LONG]
        seeds = part[task, primary(task)]["seeds"]
        what = f"{task}, {primary(task)}: seeds whose best lambda of 1x1024 is below .95"
        yield from say(6, what, row, "seeds below .95", 2 * row["seeds below .95"] > seeds)
    for task in TASKS[3:]:
        if (task, "refitted") in part:
            row = part[task, "refitted"]
            more = row["independence low"] > 0
            yield from say(7, f"{task}, refitted: independence", row, "independence", more)
    for row in ratio:
        if row["T"] == 1024 and row["lambda"] in (0.0, 0.95):
            name = "within a tenth" if row["lambda"] == 0 else "twice or more"
            what = f"FrozenLake, own, lambda {row['lambda']}: policies with a variance {name}"
            yield from say(8, what, row, name, row[name] >= 0.8 * row["policies"])


def write(path, rows):
    rows = list(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        out.writeheader()
        for row in rows:
            out.writerow({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()})


def main():
    store, results = map(pathlib.Path, sys.argv[1:3])
    results.mkdir(exist_ok=True)
    found, untold = read(store)
    parts, shapes, lambdas = tables(found, untold)
    solved = list(exact(store))
    ratio = list(ratios(solved))
    write(results / "laboratories.csv", laboratories(found))
    write(results / "parts.csv", parts)
    write(results / "shapes.csv", shapes)
    write(results / "lambdas.csv", lambdas)
    write(results / "exact.csv", solved)
    write(results / "exact_ratios.csv", ratio)
    write(results / "verdicts.csv", verdicts(parts, shapes, ratio))


if __name__ == "__main__":
    main()
