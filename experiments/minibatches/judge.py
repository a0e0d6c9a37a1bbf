#!/usr/bin/env python3
"""Keeps the runs of both studies and judges the predictions: judge.py STORES RESULTS

Areas are scored with cross-fitted rates by the surface's rule, which is the product's
(docs/statistics.md, "Tuned settings"; `broadloom report --tuned` applies it to last policies).
"""

import collections
import pathlib
import random
import sys

EXPERIMENTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(EXPERIMENTS), str(EXPERIMENTS / "surface")]
from analyse import runs_of  # noqa: E402
from fair import Arm, call, gain, other_is  # noqa: E402
from rows import read, together, write, write_verdicts  # noqa: E402

SETTINGS = {"shuffle": ("shuffle",), "pqn": ("update_epochs", "num_minibatches")}
# Pairs of variants at one shape: the base, and the other.
PAIRS = {
    "shuffle": [("epoch", "off")],
    "pqn": [("4 of 4", "2 of 4"), ("4 of 4", "2 of 8")],
}


def variant(study, run):
    return " of ".join(str(run[key]) for key in SETTINGS[study])


def arms_of(kept, rng):
    """{(study, task, shape, variant): its arm}, over the seeds that all its rates have."""
    scores = collections.defaultdict(lambda: collections.defaultdict(dict))
    for study, task, n, t, name, rate, seed, area, *_ in kept:
        scores[study, task, f"{n}x{t}", name][rate][seed] = area
    common = {}
    for key, rates in scores.items():
        have = set.intersection(*(set(by_seed) for by_seed in rates.values()))
        common[key[:2]] = common.get(key[:2], have) & have
    for key, rates in scores.items():
        seeds, labels = sorted(common[key[:2]]), sorted(rates)
        yield (
            key,
            Arm(" ".join(key), labels, [[rates[rate][s] for s in seeds] for rate in labels], rng),
        )


def pair_row(what, base, other, rng):
    _ = other.draws  # first, as when the kept results were drawn
    gained = gain(base, other)
    *chances, result = call(base, other, rng)
    return [*what, *gained, *chances, other_is(result)]


def pairs_of(arms, rng):
    """Each pair of variants at a shape, then both shapes of PQN at a variant."""
    for (study, task, shape, name), arm in arms.items():
        for base, other in PAIRS[study]:
            if name == other:
                first = arms[study, task, shape, base]
                yield pair_row([study, task, shape, base, other], first, arm, rng)
        if study == "pqn" and shape == "128x8":
            first = arms[study, task, "8x128", name]
            yield pair_row([study, task, name, "8x128", "128x8"], first, arm, rng)


def verdicts(arms, pairs, lowest):
    """(prediction, what, value, refuted)"""

    def calls(word, study, place=None, other=None):
        return sum(
            pair[0] == study and pair[2] == (place or pair[2]) and pair[4] == other
            and pair[-1] == word
            for pair in pairs
        )  # fmt: skip

    found = calls("lower", "shuffle", "64x16", "off")
    yield 1, "64x16: tasks on which off is lower", found, found > 0
    found = calls("lower", "shuffle", "1x1024", "off")
    yield 2, "1x1024: of two tasks, off is lower on", found, found < 2
    found = calls("lower", "shuffle", "4x256", "off")
    yield 3, "4x256: tasks on which off is lower", found, found > 1
    found = sum(
        arm.best_label > arms["shuffle", key[1], "1x1024", "epoch"].best_label
        for key, arm in arms.items()
        if key[0] == "shuffle" and key[2:] == ("1x1024", "off")
    )
    yield 4, "1x1024: tasks on which off has the larger best rate", found, found > 0
    found = calls("better", "pqn", other="2 of 4")
    yield 5, "PQN: pairs in which two epochs are better", found, found > 0
    found = calls("lower", "pqn", other="2 of 4")
    yield 6, "PQN: pairs in which two epochs are lower", found, found == 0
    found = sum(calls(word, "pqn", other="2 of 8") for word in ("lower", "better"))
    yield 7, "PQN: of four pairs at equal gradient steps, told apart", found, found > 1
    found = sum(calls(word, "pqn", "2 of 4", "128x8") for word in ("lower", "better"))
    yield 8, "PQN, two epochs: of two tasks, shapes told apart on", found, found > 0
    if lowest is not None:
        yield 9, "least mean effective sample size, %", lowest, lowest < 95


def all_cases(arms):
    """Rows of together.csv: all cases of two variants in one test, which was not planned."""
    for study, names in PAIRS.items():
        for base, other in names:
            sides = {
                key[1:3]: (arms[(*key[:3], base)], arm)
                for key, arm in arms.items()
                if key[0] == study and key[3] == other
            }
            tests = {"cross-fitted": [(x.scores, y.scores) for x, y in sides.values()]}
            if study == "shuffle":
                first = ("CartPole-v1", "1x1024")
                tests[f"cross-fitted, without {' '.join(first)}"] = [
                    (x.scores, y.scores) for case, (x, y) in sides.items() if case != first
                ]
                for i, rate in enumerate(sides[first][0].labels):
                    tests[f"rate {rate:g}"] = [
                        (x.candidates[i], y.candidates[i]) for x, y in sides.values()
                    ]
            for what, pairs in tests.items():
                yield study, base, other, what, len(pairs), *together(pairs)


def least_size():
    """The least mean of policy/ess at any point, of the picture's kept curves."""
    path = EXPERIMENTS / "batch-shape/results/health_curves_curves.csv"
    if not path.exists():
        return None
    sizes = (row["effective sample size %"] for row in read(path))
    return min(float(size) for size in sizes if size)


def main():
    stores, results = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    rng = random.Random(1)
    kept = [
        [study, run["task"], run["N"], run["T"], variant(study, run), run["rate"], run["seed"],
         run["area"], run["last"], run["gradient steps"]]
        for study, keys in SETTINGS.items()
        for path in sorted(stores.glob(f"{study}-*.sqlite"))
        for run in runs_of(path, *keys)
    ]  # fmt: skip
    steps = {(row[0], row[1], f"{row[2]}x{row[3]}", row[4]): row[9] for row in kept}
    arms = dict(arms_of(kept, rng))
    pairs = list(pairs_of(arms, rng))
    write(results / "runs.csv", [
        "study", "task", "N", "T", "variant", "rate", "seed", "area", "last", "gradient steps",
    ], kept)  # fmt: skip
    write(results / "arms.csv", [
        "study", "task", "shape", "variant", "gradient steps", "seeds", "area", "area low",
        "area high", "best rate", "at edge", "rates as good",
    ], [
        [*key, steps[key], len(arm.scores), *arm.area, arm.best_label,
         "yes" if arm.best in (0, len(arm.labels) - 1) else "",
         " ".join(f"{arm.labels[i]:g}" for i in arm.like)]
        for key, arm in arms.items()
    ])  # fmt: skip
    write(results / "pairs.csv", [
        "study", "task", "at", "base", "other", "difference of areas", "difference low",
        "difference high", "P(base better)", "P low", "P high", "other is",
    ], pairs)  # fmt: skip
    write(results / "together.csv", [
        "study", "base", "other", "runs", "cases", "base ahead", "p",
    ], all_cases(arms))  # fmt: skip
    write_verdicts(results / "verdicts.csv", verdicts(arms, pairs, least_size()))


if __name__ == "__main__":
    main()
