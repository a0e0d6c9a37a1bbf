"""Decides when a run reaches the threshold, and computes medians with runs that never do. Needs
only the standard library."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from to_threshold.tasks import IN_A_ROW

Point = Sequence[float]  # environment steps, seconds of training, mean return
RESAMPLES = 2000


def reached(points: Sequence[Point], threshold: float, in_a_row: int = IN_A_ROW) -> int | None:
    """Place of the first of `in_a_row` evaluations one after another at the threshold; None: never.

    Not "the first that stays there to the end": that would depend on the length of a run.
    """
    there = 0
    for place, point in enumerate(points):
        # A mean return that is no number is not at the threshold.
        there = there + 1 if point[2] >= threshold else 0
        if there == in_a_row:
            return place - in_a_row + 1
    return None


def seconds_to(points: Sequence[Point], threshold: float) -> float:
    """Training seconds until the threshold; infinite where the run was never there."""
    place = reached(points, threshold)
    return math.inf if place is None else float(points[place][1])


def seconds_at_least(points: Sequence[Point], threshold: float) -> float:
    """The same, but for a run that was never there all of its seconds: it would have taken
    longer."""
    found = seconds_to(points, threshold)
    return found if math.isfinite(found) else float(points[-1][1])


def median(values: Sequence[float]) -> float:
    """Infinite where the middle of them is: at least half of the runs were never there."""
    if not values:
        return math.nan
    ordered = sorted(values)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return (ordered[half - 1] + ordered[half]) / 2


def _middle_95(values: list[float]) -> tuple[float, float]:
    ordered = sorted(values)
    last = len(ordered) - 1
    # Places, not weighted means of neighbours: between a number and infinity there is none.
    return ordered[math.floor(0.025 * last)], ordered[math.ceil(0.975 * last)]


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """Bootstrap 95 % interval of the median, by percentiles; the same for the same values."""
    if len(values) < 2:
        return math.nan, math.nan
    draw = random.Random(1)
    return _middle_95([median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES)])


def ratio_interval(theirs: Sequence[float], ours: Sequence[float]) -> tuple[float, float]:
    """The bootstrap interval of the ratio of the medians. Two infinite medians have the ratio 1."""
    if len(theirs) < 2 or len(ours) < 2:
        return math.nan, math.nan
    draw = random.Random(1)
    found = []
    for _ in range(RESAMPLES):
        top = median(draw.choices(theirs, k=len(theirs)))
        bottom = median(draw.choices(ours, k=len(ours)))
        both = math.isinf(top) and math.isinf(bottom)
        found.append(1.0 if both else top / bottom)
    return _middle_95(found)
