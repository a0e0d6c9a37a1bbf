"""A run's folder, read while it grows."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._types import StrPath

_NOT_NUMBERS = {"source", "seed", "global_step"}  # of evaluations


class RunFiles:
    """A run's folder, read while it grows."""

    name: str  # the folder's name
    dir: pathlib.Path
    id: str  # the same for a run that was resumed or whose folder moved
    config: dict[str, Any]  # bools, ints, floats and texts by key
    facts: dict[str, str]  # version, revision, bits and hardware

    def __init__(self, run: StrPath) -> None:
        self.dir = pathlib.Path(os.fspath(run))
        self.name = self.dir.resolve().name
        try:
            manifest = json.loads((self.dir / "manifest.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(
                f"there is no manifest.json in '{self.dir}'; expected a run's folder"
            ) from None
        self.config = {key: _value(text) for key, text in manifest["config"].items()}
        hashed = json.dumps([manifest["created"], self.name, manifest["config"]["seed"]])
        self.id = hashlib.sha256(hashed.encode()).hexdigest()[:16]
        self.facts = {key: str(manifest[key]) for key in ("version", "revision", "bits", "created")}
        self._metrics = _Lines(self.dir / "metrics.jsonl")
        self._evaluations = _Lines(self.dir / "eval.jsonl")
        self._environment = _Lines(self.dir / "environment.jsonl")
        self._held: list[tuple[int, float, dict[str, float]]] = []

    def read(self, last: bool = False) -> list[tuple[int, float, dict[str, float]]]:
        """(environment step, Unix time, numbers) of the lines that came since the last call, by
        step. Lines of other files wait for the metrics of their step, unless last."""
        found = []
        for line in self._metrics.read():
            when = line.get("wall_time") or 0.0
            found.append((line["global_step"], when, _numbers(line)))
        steps = self._metrics.step
        for line in self._evaluations.read():
            kept = {key: value for key, value in line.items() if key not in _NOT_NUMBERS}
            self._held.append((line["global_step"], 0.0, _numbers(kept, "eval/")))
        for line in self._environment.read():
            self._held.append((line.pop("global_step"), 0.0, _numbers(line)))
        ready = [item for item in self._held if last or item[0] <= steps]
        self._held = [item for item in self._held if not (last or item[0] <= steps)]
        times = {step: when for step, when, _ in found}
        found += [(step, times.get(step, 0.0), numbers) for step, _, numbers in ready]
        return sorted(found, key=lambda item: item[0])

    def has_ended(self) -> bool:
        """Whether the run is finished. Its record is written last."""
        return (self.dir / "ledger_line.json").is_file()

    def is_training(self) -> bool:
        """Whether a process holds the run's lock (docs/formats/run_folder.md)."""
        import fcntl

        layout = "hhqqi"  # type, whence, start, length, process
        try:
            with open(self.dir / "lock", "rb") as file:
                asked = struct.pack(layout, fcntl.F_WRLCK, os.SEEK_SET, 1 << 52, 1, 0)
                answer = fcntl.fcntl(file, fcntl.F_OFD_GETLK, asked)
        except (OSError, AttributeError):  # a folder of others, or a system without such locks
            return not self.has_ended()
        return struct.unpack(layout, answer)[0] != fcntl.F_UNLCK


class _Lines:
    """Whole lines of a log that grows. A resume cuts logs and writes their end again."""

    def __init__(self, path):
        self.path, self.place, self.step = path, 0, -1

    def read(self):
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            return []
        if size < self.place:
            self.place = 0
        if size == self.place:
            return []
        with open(self.path, "rb") as file:
            file.seek(self.place)
            data = file.read(size - self.place)
        whole = data.rfind(b"\n") + 1
        self.place += whole
        lines = [json.loads(line) for line in data[:whole].decode(errors="replace").splitlines()]
        new = [line for line in lines if line["global_step"] > self.step]
        if new:
            self.step = new[-1]["global_step"]
        return new


def _numbers(line, prefix=""):
    """The numbers of a line, without null; those of a nested object as <name>/<inner name>."""
    out = {}
    for key, value in line.items():
        if isinstance(value, dict):
            out |= _numbers(value, f"{prefix}{key}/")
        elif isinstance(value, (int, float)):
            out[prefix + key] = value
    return out


def _value(text):
    """The value of a setting's text."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text
