#!/usr/bin/env python3
"""analyse.py keep STORES RESULTS: a row for each finished run of run.sh's stores, added to RESULTS/runs.csv (one of the same study, arm, game and
seed is replaced). analyse.py judge RESULTS: means, differences and the verdicts on PREREGISTRATION.md."""

import random
import sqlite3
import statistics
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from rows import interval, read, write  # noqa: E402

REPLICATES = 10_000
DIGITS = 4
ARMS = [
    "base",
    "wide",
    "N doubled",
    "T doubled",
    "N doubled, steps equal",
    "T doubled, steps equal",
    "8 epochs",
    "16 epochs",
]
GRADIENT_STEPS = dict(zip(ARMS, [31248, 31248, 15616, 15616, 31232, 31232, 62496, 124992]))
DEPTH, BREADTH = ["Breakout", "SpaceInvaders"], ["Asterix", "Freeway", "Seaquest"]
NUMBERS = {
    "weight_norm": "plasticity/weight_norm",
    "idle": "plasticity/dormant",
    "tau_dormant": "plasticity/tau_dormant",
    "rank": "plasticity/{}_approximate_rank",
    "grad_kurtosis": "plasticity/grad_kurtosis",
}
COLUMNS = ["study", "game", "arm", "seed", "area", "last", "training", *NUMBERS, "parameters_hash"]
KEY = COLUMNS[:4]


def arm_and_game(study, cell):
    """Names of cells are `env_id=MinAtar/<game>-v1 <arm>`, or the game alone where it is the variant."""
    if not cell.startswith("env_id="):
        return study, cell
    task, _, arm = cell.partition(" ")
    return arm, task.split("/")[1].removesuffix("-v1")


def last_number(store, run, key):
    """The numbers of the body that acts: `encoder` where policy and value share one, else `actor`."""
    for name in (key.format("encoder"), key.format("actor")):
        found = store.execute(
            "SELECT value FROM metrics WHERE run_id = ? AND key = ? ORDER BY point DESC LIMIT 1",
            (run, name),
        ).fetchone()
        if found:
            return found[0]
    return ""


def keep(stores, results):
    path = results / "runs.csv"
    rows = {tuple(row[key] for key in KEY): row for row in read(path)}
    for file in sorted(stores.glob("*.sqlite")):
        study = file.stem.rpartition("-")[0]
        with sqlite3.connect(file) as store:
            finished = store.execute(
                "SELECT runs.id, cells.name, runs.seed, runs.parameters_hash FROM runs JOIN cells ON cells.id = runs.cell_id "
                "WHERE runs.status = 'finished' ORDER BY runs.id"
            ).fetchall()
            training = dict(store.execute("SELECT run_id, training_return FROM scores"))
            for run, cell, seed, parameters in finished:
                returns = [
                    value
                    for (value,) in store.execute(
                        "SELECT mean_return FROM evaluations WHERE run_id = ? ORDER BY global_step",
                        (run,),
                    )
                ]
                arm, game = arm_and_game(study, cell)
                row = {
                    "study": study,
                    "game": game,
                    "arm": arm,
                    "seed": str(seed),
                    "area": f"{statistics.fmean(returns):.5g}",
                    "last": f"{returns[-1]:.5g}",
                    "training": "" if training[run] is None else f"{training[run]:.5g}",
                    "parameters_hash": parameters,
                }
                for name, key in NUMBERS.items():
                    value = last_number(store, run, key)
                    row[name] = f"{value:.5g}" if value != "" else ""
                rows[tuple(row[key] for key in KEY)] = row
    write(
        path,
        COLUMNS,
        [
            [row[column] for column in COLUMNS]
            for _, row in sorted(rows.items(), key=lambda item: (*item[0][:3], int(item[0][3])))
        ],
    )
    print(f"{len(rows)} runs in {path}")


class Runs:
    def __init__(self, path):
        self.rows = read(path)
        if not self.rows:
            sys.exit(f"no runs in {path}: make it with `analyse.py keep`")

    def numbers(self, study, game, arm, number="area"):
        """{seed: number}"""
        return {
            int(row["seed"]): float(row[number])
            for row in self.rows
            if (row["study"], row["game"], row["arm"]) == (study, game, arm) and row[number] != ""
        }


def difference(runs, study, games, arm, other):
    """Mean over seeds of arm less other, over the mean of the base, as mean over games; 95 % by drawing seeds within each game,
    as was written down before the runs: of five seeds alone such an interval is too narrow (with no effect 6 % lie on one side by their signs alone),
    which the page must say. None: too few runs."""
    shares = []  # a game's differences, seed by seed
    for game in games:
        a, b, base = (runs.numbers(study, game, name) for name in (arm, other, "base"))
        seeds = sorted(a.keys() & b.keys() & base.keys())
        if len(seeds) < 3:
            return None
        scale = statistics.fmean(base[seed] for seed in seeds)
        if scale == 0.0:  # nothing was learnt to compare with
            return None
        shares.append([(a[seed] - b[seed]) / scale for seed in seeds])
    draws = random.Random(1)
    values = sorted(
        statistics.fmean(statistics.fmean(draws.choices(game, k=len(game))) for game in shares)
        for _ in range(REPLICATES)
    )
    value = statistics.fmean(statistics.fmean(game) for game in shares)
    return (
        value,
        values[int(0.025 * REPLICATES)],
        values[int(0.975 * REPLICATES) - 1],
        min(len(game) for game in shares),
    )


# gymnax-blines, PPO with dense layers, no sticky actions: gymnax's table of trained agents.
PUBLISHED = {"Asterix": 15, "Breakout": 28, "Freeway": 58, "SpaceInvaders": 131}
ALGORITHMS = {
    "scores_ppo": "PPO",
    "scores_ppo_blines": "PPO, gymnax-blines' settings",
    "scores_pqn": "PQN",
}


def scores(runs):
    """(algorithm, game, runs, mean of the last policies, 95 % by Student's t, published)"""
    out = []
    for study, algorithm in ALGORITHMS.items():
        for game, published in PUBLISHED.items():
            found = list(runs.numbers(study, game, study, "last").values())
            if not found:
                continue
            out.append((algorithm, game, len(found), *interval(found), published))
    return out


def rank_correlation(x, y):
    def ranks(values):
        order = sorted(values)
        return [
            statistics.fmean(i for i, one in enumerate(order) if one == value) for value in values
        ]

    return statistics.correlation(ranks(x), ranks(y))


def verdict_on_sign(found, other):
    """Held only where both intervals leave out 0 and lie on the same side of it."""
    (value, low, high, _), (other_value, other_low, other_high, _) = found, other
    if value * other_value < 0 and (low > 0 or high < 0):
        return "refuted"
    return "held" if min(low, other_low) > 0 or max(high, other_high) < 0 else "not refuted"


def verdicts(runs):
    """(prediction, what, value, low, high, what became of it)"""
    out = []

    def judge(number, what, found, refuted):
        if found is not None:
            out.append((number, what, *found[:3], "refuted" if refuted(*found[:3]) else "held"))
        return found

    ppo = "depth_ppo"
    wide = [
        judge(
            1,
            f"wide less base, {game}",
            difference(runs, ppo, [game], "wide", "base"),
            lambda v, low, high: high < 0,
        )
        for game in DEPTH
    ]
    if all(wide):
        out.append(
            (
                1,
                "games with an interval above 0",
                sum(one[1] > 0 for one in wide),
                "",
                "",
                "held" if any(one[1] > 0 for one in wide) else "refuted",
            )
        )
    for arm in ("N doubled", "T doubled"):
        judge(
            2,
            f"{arm} less base",
            difference(runs, ppo, DEPTH, arm, "base"),
            lambda v, low, high: low > 0,
        )
    for suffix in ("", ", steps equal"):
        judge(
            3,
            f"N doubled less T doubled{suffix}",
            difference(runs, ppo, DEPTH, "N doubled" + suffix, "T doubled" + suffix),
            lambda v, low, high: low > 0 or high < 0,
        )
    equal = [
        judge(
            4,
            f"{arm}: steps equal less half of them",
            difference(runs, ppo, DEPTH, arm + ", steps equal", arm),
            lambda v, low, high: high < 0,
        )
        for arm in ("N doubled", "T doubled")
    ]
    if all(equal):
        out.append(
            (
                4,
                "doubled shapes with an interval above 0",
                sum(one[1] > 0 for one in equal),
                "",
                "",
                "held" if any(one[1] > 0 for one in equal) else "refuted",
            )
        )
    judge(
        5,
        "16 epochs less 4",
        difference(runs, ppo, DEPTH, "16 epochs", "base"),
        lambda v, low, high: high >= 0,
    )
    judge(
        5,
        "8 epochs less 4",
        difference(runs, ppo, DEPTH, "8 epochs", "base"),
        lambda v, low, high: high < 0,
    )
    for game in DEPTH:
        norms = {arm: runs.numbers(ppo, game, arm, "weight_norm") for arm in ARMS}
        if not all(norms.values()):
            continue
        pairs = [(GRADIENT_STEPS[arm], norm) for arm in ARMS for norm in norms[arm].values()]
        correlation = rank_correlation([steps for steps, _ in pairs], [norm for _, norm in pairs])
        out.append(
            (
                6,
                f"weight norm and gradient steps, {game}: rank correlation",
                correlation,
                "",
                "",
                "held" if correlation >= 0.8 else "refuted",
            )
        )
        ratio = statistics.fmean(norms["N doubled, steps equal"].values()) / statistics.fmean(
            norms["base"].values()
        )
        out.append(
            (
                6,
                f"weight norm of N doubled, steps equal, over the base's, {game}",
                ratio,
                "",
                "",
                "held" if abs(ratio - 1) <= 0.05 else "refuted",
            )
        )
    of_ppo = difference(runs, ppo, DEPTH, "wide", "base")
    if of_ppo is not None:
        name = f"PQN, wide less base (PPO: {of_ppo[0]:.2g})"
        found = difference(runs, "depth_pqn", DEPTH, "wide", "base")
        if found is not None:
            out.append((7, name, *found[:3], verdict_on_sign(found, of_ppo)))
    return out


def judge_all(results):
    runs = Runs(results / "runs.csv")
    groups = sorted({(row["study"], row["game"], row["arm"]) for row in runs.rows})
    means = []
    for study, game, arm in groups:
        for number in ("area", "last", *NUMBERS):
            found = list(runs.numbers(study, game, arm, number).values())
            if found:
                means.append(
                    (
                        study,
                        game,
                        arm,
                        number,
                        len(found),
                        statistics.fmean(found),
                        min(found),
                        max(found),
                    )
                )
    write(
        results / "means.csv",
        ["study", "game", "arm", "number", "runs", "mean", "least", "most"],
        means,
        DIGITS,
    )
    differences = []
    for study, games in (("depth_ppo", DEPTH), ("depth_pqn", DEPTH), ("breadth_ppo", BREADTH)):
        for arm in ARMS[1:]:
            for some in [[game] for game in games] + [games]:
                found = difference(runs, study, some, arm, "base")
                if found is not None:
                    differences.append((study, some[0] if len(some) == 1 else "all", arm, *found))
    write(
        results / "differences.csv",
        ["study", "game", "arm", "value", "low", "high", "seeds"],
        differences,
        DIGITS,
    )
    write(
        results / "scores.csv",
        ["algorithm", "game", "runs", "mean", "low", "high", "gymnax-blines"],
        scores(runs),
        DIGITS,
    )
    found = verdicts(runs)
    write(
        results / "verdicts.csv",
        ["prediction", "what", "value", "low", "high", "verdict"],
        found,
        DIGITS,
    )
    for row in found:
        print(*[f"{x:.3g}" if isinstance(x, float) else x for x in row], sep="  ")


if __name__ == "__main__":
    if sys.argv[1] == "keep":
        keep(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        judge_all(Path(sys.argv[2]))
