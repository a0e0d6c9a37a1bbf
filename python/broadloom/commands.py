"""The program's commands as functions: what they print with --json, as Python has it."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any

from . import _core
from .training import answer, flags_of, text_of

if TYPE_CHECKING:
    from ._types import Answer, DataFrame, Definition, StrPath

_KINDS = {2: "invalid_config", 3: "not_found", 4: "io", 5: "corrupt", 6: "mismatch", 7: "numeric"}
_ANSWERS = (0, 20, 21, 22)  # of audit and advise, too: docs/reference/exit_codes.md
_FOUND = (6, 7)  # what was compared differs, or runs of a study failed: an answer, where there is one


def command(name: str, /, *arguments: Any, **options: Any) -> Answer:
    """A command of the program, and its answer as a dict: `command("eval", run, episodes=500)`. Options are its flags (`python -m broadloom eval --help`):
    a list is joined by commas, True is the flag alone. The answer is what it prints with --json; of a command that has no such flag, {"text": what it prints}.
    That two things differ (`diff`, `rerun`, `env check`), or that runs of a study failed, is an answer. Progress goes to standard error unless quiet=True. Raises
    broadloom.Error, and KeyboardInterrupt with what was done saved where the command can."""
    words = [name, *map(text_of, arguments)]
    has_json = _core.has_json(words)
    code, text, error = answer([*words, *flags_of(options), *(["--json"] if has_json else [])])
    found = (json.loads(text) if has_json and not error else {"text": text}) if text.strip() else {}
    if not (code in _FOUND and has_json and found and not error):
        _check(name, code, error)
    return found


def _check(name, code, why=None):
    if code == 130:
        raise KeyboardInterrupt(f"broadloom {name} was stopped; what it had done is saved")
    if code not in _ANSWERS:
        error = _core.Error(why or f"broadloom {name} ended with exit code {code}; standard error says why")
        error.kind = _KINDS.get(code, "")
        raise error


def evaluate(run: StrPath, *, quiet: bool = True, **options: Any) -> Answer:
    """Plays a run's policy on fresh episodes: episodes=100, seed=1, actions="most_likely" or "sampled"; panel="panel.toml" for a held-out panel."""
    return command("eval", run, quiet=quiet, **options)


def audit(run: StrPath, *, quiet: bool = True, **options: Any) -> Answer:
    """What is wrong with a run, or was with its batches: a dict with every check. iterations=K goes on for K iterations to measure."""
    return command("audit", run, quiet=quiet, **options)


def export(run: StrPath, out: StrPath | None = None, *, quiet: bool = True, **options: Any) -> Answer:
    """A run's policy as a file that runs without Broadloom, normaliser inside: out="policy.onnx", "policy.py" (a module of PyTorch's, with policy.safetensors) or
    "policy.npz". Beside it goes <out>.parity.npz, states and what the policy makes of them. value=False: without the critic. force=True: replaces what is there.
    Returns a dict: files, observation and outputs in words, the largest difference on the parity file's states."""
    return command("export", run, **{"out": None if out is None else os.fspath(out), "quiet": quiet, **options})


def compare(*runs: StrPath, panel: StrPath, quiet: bool = True, **options: Any) -> Answer:
    """Runs on the same held-out panel, episode by episode."""
    return command("compare", *runs, panel=panel, quiet=quiet, **options)


def rerun(record: StrPath, *, quiet: bool = True, **options: Any) -> Answer:
    """Makes a run once more from its record, and says whether it came to the same: "agrees" of the dict."""
    return command("rerun", record, quiet=quiet, **options)


def advise(env_id: str = "CartPole-v1", *, quiet: bool = True, **options: Any) -> Answer:
    """Which N x T, minibatch and learning rate suit a task on this machine: time="60s", or steps=..."""
    return command("advise", env_id=env_id, quiet=quiet, **options)


def gradients(run: StrPath, *, out: StrPath = "gradients", quiet: bool = True, **options: Any) -> Answer:
    """The laboratory: a policy's gradient by the shape of the block. The dict is that of gradients.json in `out`; study="variance,bias", shapes="4x256,16x64"."""
    code, _, error = answer(["gradients", os.fspath(run), *flags_of({"out": os.fspath(out), "quiet": quiet, **options})])
    _check("gradients", code, error)
    return json.loads((pathlib.Path(out) / "gradients.json").read_text())


class Study:
    """A grid of settings over many seeds, in a store that goes on where it was stopped.

    definition: a study's TOML file, or a dict that is laid out like one: {"seeds": 5, "base": {"env_id": "CartPole-v1"}, "grid": {"learning_rate": [1e-3, 1e-4]}}.
    out: the store (studies/<name>.sqlite)."""

    def __init__(self, definition: Definition, *, name: str | None = None, out: StrPath | None = None) -> None:
        self.definition = definition
        self.name = name or ("study" if isinstance(definition, dict) else pathlib.Path(definition).stem)
        self.store = pathlib.Path(out or f"studies/{self.name}.sqlite")

    def run(self, *, quiet: bool = False, **options: Any) -> Answer:
        """Makes the runs that are missing, and returns their summary, which says which runs failed. jobs=: runs at once; other keywords win over the definition."""
        with tempfile.TemporaryDirectory() as folder:
            file = self.definition
            if isinstance(file, dict):
                file = pathlib.Path(folder) / "study.toml"
                file.write_text(_toml(self.definition))
            return command("study", file, out=self.store, name=self.name, report=False, quiet=quiet, **options)

    def report(self, *, out: StrPath | None = None, **options: Any) -> Answer:
        """The pages of the report, and study.json as a dict."""
        return report(self.store, out=out, **options)

    def frame(self, view: str = "scores", **how: Any) -> DataFrame:
        """A view of the store: scores, learning_curves, learning_curves_by_time, settings, evaluations. As read_store() has it."""
        from .frames import read_store

        return read_store(self.store, view, **how)


def report(*stores: StrPath, out: StrPath | None = None, quiet: bool = True, **options: Any) -> Answer:
    """What studies came to: writes the pages, and returns study.json as a dict."""
    return command("report", *stores, quiet=quiet, **({"out": out} if out else {}), **options)


def _toml(table):
    """A file's text, of plain values, lists and tables in tables."""
    return "".join(f"{json.dumps(key)} = {_toml_value(value)}\n" for key, value in table.items())


def _toml_value(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return json.dumps(os.fspath(value)) if isinstance(value, (str, os.PathLike)) else text_of(value)
