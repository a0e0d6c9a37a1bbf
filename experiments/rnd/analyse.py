"""From the studies' stores to the small files of results/ and the verdicts on PREREGISTRATION.md: analyse.py STORES RESULTS."""

import csv
import math
import sqlite3
import sys
from pathlib import Path

stores, results = Path(sys.argv[1]), Path(sys.argv[2])
SOLVED = 0.9


def moves(desc):
    """Points on the way to the goal: five along each row of passage, two from one to the next."""
    rows = desc.split("/")
    return 5 * ((len(rows) + 1) // 2) + 2 * (len(rows) // 2)


def wilson(successes, runs, z=1.959964):
    """95 % interval of a share (Wilson 1927)."""
    share, scale = successes / runs, 1 + z * z / runs
    centre = (share + z * z / (2 * runs)) / scale
    half = z * math.sqrt(share * (1 - share) / runs + z * z / (4 * runs * runs)) / scale
    return max(0.0, centre - half), min(1.0, centre + half)


def scores(name, columns):
    with sqlite3.connect(stores / f"{name}.sqlite") as store:
        query = f"SELECT seed, evaluation_return, training_return, {columns} FROM scores ORDER BY cell_id, seed"
        return store.execute(query).fetchall()


def write(name, header, rows):
    with open(results / name, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([f"{x:.5g}" if isinstance(x, float) else x for x in row] for row in rows)


def arm_of(algorithm, bonus):
    return f"{algorithm}, ent_coef {bonus:g}"


corridors = []  # arm, moves, seed, evaluation, training
for seed, evaluation, training, algorithm, bonus, desc in scores(
    "study", 'algorithm, ent_coef, "env.desc"'
):
    corridors.append((arm_of(algorithm, bonus), moves(desc), seed, evaluation, training))
for seed, evaluation, training, desc in scores("without", '"env.desc"'):
    corridors.append(
        ("ppo_rnd, ent_coef 0.01, int_coef 0", moves(desc), seed, evaluation, training)
    )
cars = [
    (arm_of(algorithm, bonus), seed, evaluation, training)
    for seed, evaluation, training, algorithm, bonus in scores(
        "mountain_car", "algorithm, ent_coef"
    )
]

results.mkdir(exist_ok=True)
write("corridors.csv", ["arm", "moves", "seed", "evaluation", "training"], corridors)
write("mountain_car.csv", ["arm", "seed", "evaluation", "training"], cars)

solved = {}
for arm, length, _, evaluation, _ in corridors:
    solved.setdefault((arm, length), []).append(evaluation >= SOLVED)
rows = []
for (arm, length), runs in solved.items():
    low, high = wilson(sum(runs), len(runs))
    rows.append((arm, length, len(runs), sum(runs), sum(runs) / len(runs), low, high))
write("solved.csv", ["arm", "moves", "runs", "solved", "share", "share low", "share high"], rows)

count = {key: sum(runs) for key, runs in solved.items()}
arms = [arm_of(algorithm, bonus) for algorithm in ("ppo", "ppo_rnd") for bonus in (0.01, 0.1)]
rnd, without = arm_of("ppo_rnd", 0.01), "ppo_rnd, ent_coef 0.01, int_coef 0"
means = {
    arm: sum(e for a, _, e, _ in cars if a == arm) / sum(a == arm for a, *_ in cars) for arm in arms
}
gap = means[rnd] - means[arm_of("ppo", 0.01)]
verdicts = [
    (1, f"{arm}: solved of 10 at 5 moves", count[arm, 5], count[arm, 5] < 8)
    for arm in arms + [without]
]
verdicts += [(2, f"{rnd}: solved of 10 at 26 moves", count[rnd, 26], count[rnd, 26] < 8)]
verdicts += [
    (2, f"{arm}: solved of 10 at 26 moves", count[arm, 26], count[arm, 26] > 2) for arm in arms[:2]
]
verdicts += [(3, f"{rnd}: solved of 10 at 40 moves", count[rnd, 40], count[rnd, 40] < 5)]
verdicts += [
    (4, f"{without}: solved of 10 at 26 moves", count[without, 26], count[without, 26] > 2)
]
verdicts += [
    (
        5,
        "MountainCar-v0: mean return of ppo_rnd less that of ppo, ent_coef 0.01",
        gap,
        abs(gap) > 15,
    )
]
write(
    "verdicts.csv",
    ["prediction", "what", "value", "refuted"],
    [
        (number, what, value, "yes" if refuted else "no")
        for number, what, value, refuted in verdicts
    ],
)
write("mountain_car_means.csv", ["arm", "mean return"], list(means.items()))
for verdict in verdicts:
    print(*verdict)
