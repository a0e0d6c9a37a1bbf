"""Shared by the experiments' scripts: rows of CSV files, intervals of few numbers, and a test over
several tasks."""

import collections
import csv
import itertools
import math
import random
import statistics

# Student's t of 95 %, by how many numbers there are, up to 20.
T_95 = [
    math.nan,
    math.nan,
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
    2.120,
    2.110,
    2.101,
    2.093,
]


def read(path):
    """Rows that were kept, none where nothing was yet."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path, header, rows, digits=5):
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(
            [f"{x:.{digits}g}" if isinstance(x, float) else x for x in row] for row in rows
        )


def write_verdicts(path, judged):
    """Writes and prints (prediction, what, value, refuted: True, False or a sentence)."""
    rows = [
        (*row, refuted if isinstance(refuted, str) else "yes" if refuted else "no")
        for *row, refuted in judged
    ]
    write(path, ["prediction", "what", "value", "refuted"], rows)
    for row in rows:
        print(*row)


def interval(numbers):
    """(mean, low, high), 95 % by Student's t; no ends of one number, of which nothing is known of others."""
    mean = statistics.fmean(numbers)
    if len(numbers) < 2:
        return mean, "", ""
    half = T_95[len(numbers)] * statistics.stdev(numbers) / math.sqrt(len(numbers))
    return mean, mean - half, mean + half


def together(pairs):
    """Share of pairs in which a run of the first side is ahead, averaged over tasks, and how often
    runs dealt to the sides at random, within each task, are as far apart."""

    def ahead(one, other):
        wins = sum((a > b) + (a == b) / 2 for a, b in itertools.product(one, other))
        return wins / len(one) / len(other)

    chances = {0.0: 1.0}
    for one, other in pairs:
        both = one + other
        deals = [
            ahead([both[i] for i in side], [both[i] for i in range(len(both)) if i not in side])
            for side in itertools.combinations(range(len(both)), len(one))
        ]
        sums = collections.defaultdict(float)
        for total, chance in chances.items():
            for share, times in collections.Counter(deals).items():
                sums[round(total + share, 6)] += chance * times / len(deals)
        chances = sums
    found = sum(ahead(*pair) for pair in pairs)
    far = abs(found - len(pairs) / 2) - 1e-6
    p = sum(chance for total, chance in chances.items() if abs(total - len(pairs) / 2) >= far)
    return found / len(pairs), p


def dealt(pairs, deals=2000):
    """As `together`, for sides of equal size that are too large for all deals: some of them."""
    rng = random.Random(1)
    shares, ranks = [], []
    for one, other in pairs:
        order = sorted(one + other)
        ranked = [order.index(x) + (order.count(x) - 1) / 2 for x in one + other]
        ranks.append(ranked)
        shares.append(sum(ranked[: len(one)]))
    size = len(pairs[0][0])

    def share_of(sums):
        least = size * (size - 1) / 2
        return statistics.fmean((total - least) / size**2 for total in sums)

    share = share_of(shares)
    far = sum(
        abs(share_of([sum(rng.sample(ranked, size)) for ranked in ranks]) - 0.5)
        >= abs(share - 0.5) - 1e-9
        for _ in range(deals)
    )
    return share, (far + 1) / (deals + 1)
