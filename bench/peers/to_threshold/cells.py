"""Results of one contender on one task, for tables and figures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from to_threshold.rule import (
    median,
    median_interval,
    ratio_interval,
    seconds_at_least,
    seconds_to,
)

ADVISED = "Broadloom, advised"
DEFAULTS = "Broadloom, defaults"


@dataclass(frozen=True)
class Cell:
    """Seconds are infinite for runs that were never at the threshold; `at_least` has all of theirs
    instead."""

    contender: str
    task: str
    seconds: list[float]
    at_least: list[float]
    steps: list[float]
    threads: int
    compile_seconds: float
    evaluation_seconds: float
    process_seconds: float
    others: float

    @property
    def count(self) -> int:
        return len(self.seconds)

    @property
    def reached(self) -> int:
        return sum(map(math.isfinite, self.seconds))

    @property
    def median(self) -> float:
        return median(self.seconds)

    @property
    def interval(self) -> tuple[float, float]:
        return median_interval(self.seconds)


def cell_of(
    name: str, task: str, threshold: float, runs: list[dict[str, Any]], broken: int
) -> Cell:
    """`broken` runs ended with an error: not reached, after an unknown time."""
    return Cell(
        contender=name,
        task=task,
        seconds=[seconds_to(run["points"], threshold) for run in runs] + [math.inf] * broken,
        at_least=[seconds_at_least(run["points"], threshold) for run in runs] + [0.0] * broken,
        steps=[run["steps"] if run["reached"] else math.inf for run in runs] + [math.inf] * broken,
        threads=runs[0]["threads"],
        compile_seconds=median([run["compile_seconds"] for run in runs]),
        evaluation_seconds=median([run["evaluation_seconds"] for run in runs]),
        process_seconds=median([run["process_seconds"] for run in runs]),
        others=max(run["others"] for run in runs),
    )


def cells(data: dict[str, Any]) -> list[Cell]:
    """In the order of the tasks, and of the contenders as they first came."""
    thresholds = data["conditions"]["protocol"]["thresholds"]
    names = list(dict.fromkeys(run["contender"] for run in data["runs"]))
    found = []
    for task, threshold in thresholds.items():
        for name in names:
            runs = [r for r in data["runs"] if (r["contender"], r["task"]) == (name, task)]
            broken = [f for f in data["failed"] if (f["contender"], f["task"]) == (name, task)]
            seeds = sum(one["seed"] is not None for one in broken)
            if runs:
                runs.sort(key=lambda run: run["seed"])
                found.append(cell_of(name, task, threshold, runs, seeds))
    return found


@dataclass(frozen=True)
class Ratio:
    """Median seconds of theirs over ours; `bound`: at least so much, as at least half of theirs
    never were there."""

    value: float
    low: float
    high: float
    bound: bool


def ratio(theirs: Cell, ours: Cell) -> Ratio | None:
    """None if fewer than half of our runs reached the threshold."""
    if not math.isfinite(ours.median):
        return None
    bound = not math.isfinite(theirs.median)
    # Only a bound needs stand-ins. If the median is a number, runs that never reached the threshold
    # stay infinite.
    seconds = theirs.at_least if bound else theirs.seconds
    low, high = ratio_interval(seconds, ours.seconds)
    return Ratio(median(seconds) / ours.median, low, high, bound)


def find_cell(found: list[Cell], name: str, task: str) -> Cell | None:
    return next((cell for cell in found if (cell.contender, cell.task) == (name, task)), None)
