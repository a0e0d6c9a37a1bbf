"""The file of results. It is written after each run, so a stop loses at most one."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
from pathlib import Path
from typing import Any

from install import versions
from machine import first_line, processor
from to_threshold.rule import reached
from to_threshold.tasks import THRESHOLDS, protocol

FORMAT = 2  # 2: a list of advices for each task
ROOT = Path(__file__).resolve().parents[3]


def conditions(options: argparse.Namespace) -> dict[str, Any]:
    """The conditions of all runs in one file. A file with other conditions is not continued."""
    return {
        "format": FORMAT,
        "protocol": protocol(),
        "cores": options.cores,
        "budget": options.budget,
        "advice": options.advice,
        "advices": options.advices,
        "advised_steps": options.advised_steps,
        "processor": processor(),
        "broadloom": first_line([options.broadloom, "--version"]),
    }


def about(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "begun": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "system": platform.platform(terse=True),
        "compiler": first_line([os.environ.get("CXX", "g++"), "--version"]),
        "python": platform.python_version(),
        "revision": first_line(["git", "-C", str(ROOT), "describe", "--always", "--dirty"]),
        "versions": versions(options.venv),
    }


class Record:
    def __init__(self, path: Path, data: dict[str, Any]) -> None:
        self.path = path
        self.data = data

    @staticmethod
    def open(options: argparse.Namespace) -> "Record":
        """Raises SystemExit where the file has runs that were made otherwise."""
        wanted = conditions(options)
        if not options.out.exists():
            options.out.parent.mkdir(parents=True, exist_ok=True)
            empty = {"advice": {}, "probes": [], "runs": [], "failed": []}
            return Record(options.out, {"conditions": wanted, "about": about(options), **empty})
        try:
            data = json.loads(options.out.read_text())
            had = data["conditions"]
        except (ValueError, KeyError, TypeError) as error:
            raise SystemExit(
                f"{options.out}: no results of threshold.py ({error}); take another --out"
            ) from error
        for key, value in wanted.items():
            if had.get(key) != value:
                raise SystemExit(
                    f"{options.out}: has runs with {key} {had.get(key)!r}, and this call is with "
                    f"{value!r}; "
                    "call it as then, or take another --out"
                )
        return Record(options.out, data)

    def advice(self, task: str) -> list[dict[str, Any]]:
        return self.data["advice"].get(task, [])

    def add_advice(self, task: str, advice: dict[str, Any]) -> None:
        self.data["advice"].setdefault(task, []).append(advice)
        self._save()

    def probes(self, name: str, task: str, threads: int) -> list[float]:
        return [
            probe["steps_per_second"]
            for probe in self.data["probes"]
            if (probe["contender"], probe["task"], probe["threads"]) == (name, task, threads)
        ]

    def add_probe(self, name: str, task: str, threads: int, rate: float) -> None:
        probe = {"contender": name, "task": task, "threads": threads, "steps_per_second": rate}
        self.data["probes"].append(probe)
        self._save()

    def faster_threads(self, name: str, task: str) -> int:
        """The number of threads with the best probe; of two that are equal, the smaller."""
        tried = sorted({probe["threads"] for probe in self.data["probes"]})
        rates = {threads: max(self.probes(name, task, threads), default=0.0) for threads in tried}
        return max(rates, key=lambda threads: (rates[threads], -threads))

    def runs(self, name: str, task: str) -> list[dict[str, Any]]:
        return [r for r in self.data["runs"] if (r["contender"], r["task"]) == (name, task)]

    def has_run(self, name: str, task: str, seed: int) -> bool:
        return any(run["seed"] == seed for run in self.runs(name, task))

    def add_run(
        self, name: str, task: str, seed: int, threads: int, line: dict[str, Any]
    ) -> dict[str, Any]:
        points = line["points"]
        if not points:
            raise SystemExit(f"{name} on {task}: a training without an evaluation")
        place = reached(points, THRESHOLDS[task])
        kept = {
            "contender": name,
            "task": task,
            "seed": seed,
            "threads": threads,
            "reached": place is not None,
            "seconds": None if place is None else points[place][1],
            "steps": None if place is None else points[place][0],
            **line,
        }
        self.data["runs"].append(kept)
        self._save()
        return kept

    def finish(
        self, failed: dict[tuple[str, str], str], broken: dict[tuple[str, str, int], str]
    ) -> None:
        """Contenders that could not take part, and failed runs. The next call tries both again."""
        whole = [
            {"contender": name, "task": task, "seed": None, "reason": reason}
            for (name, task), reason in sorted(failed.items())
        ]
        single = [
            {"contender": name, "task": task, "seed": seed, "reason": reason}
            for (name, task, seed), reason in sorted(broken.items())
        ]
        self.data["failed"] = whole + single
        self._save()

    def _save(self) -> None:
        beside = self.path.with_name(self.path.name + ".new")
        beside.write_text(json.dumps(self.data, indent=1) + "\n")
        os.replace(beside, self.path)
