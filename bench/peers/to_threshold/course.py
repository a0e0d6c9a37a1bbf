"""The arguments, evaluations and printed line that all runners share."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

from to_threshold.rule import reached
from to_threshold.tasks import THRESHOLDS


def arguments(what: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("task", choices=list(THRESHOLDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--budget", type=int, help="environment steps; default: the peer's own")
    parser.add_argument(
        "--probe",
        type=int,
        default=0,
        help="train so many steps without evaluations, for the speed",
    )
    return parser


class Course:
    """One training. Seconds are of training alone: evaluations, start-up and compilation lie
    outside."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.points: list[tuple[int, float, float]] = []
        self.evaluation_seconds = 0.0
        self.compile_seconds = 0.0

    def add(self, steps: int, seconds: float, mean_return: float) -> None:
        # JSON has no NaN; the replacement for minus infinity is far below any return.
        finite = mean_return if math.isfinite(mean_return) else -1e30
        self.points.append((steps, round(seconds, 6), round(finite, 4)))

    @property
    def over(self) -> bool:
        """The answer is known: the threshold was reached."""
        return reached(self.points, THRESHOLDS[self.task]) is not None

    def report(self, settings: dict[str, Any]) -> None:
        line = {
            "points": self.points,
            "evaluation_seconds": round(self.evaluation_seconds, 3),
            "compile_seconds": round(self.compile_seconds, 3),
            "settings": settings,
        }
        print(json.dumps(line), flush=True)


def report_probe(steps: int, seconds: float) -> None:
    print(json.dumps({"steps_per_second": round(steps / seconds, 1)}), flush=True)
