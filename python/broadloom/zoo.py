"""Policies by name: tuned settings that are trained on first use, and loaded afterwards."""

from __future__ import annotations

import json
import os
import pathlib
import sys
import tempfile
from typing import TYPE_CHECKING

from ._errors import error_of
from .commands import command

if TYPE_CHECKING:
    from ._types import Answer
    from .policy import Policy


def names() -> list[str]:
    """The tasks of the zoo."""
    return [entry["task"] for entry in command("zoo")["zoo"]]


def show(name: str) -> Answer:
    """A task's settings, returns and hash, as `broadloom zoo <name> --json` prints them."""
    return command("zoo", name)


def cache_folder() -> pathlib.Path:
    """The folder of the trained policies: BROADLOOM_CACHE, or broadloom/ in the user's caches."""
    own = os.environ.get("BROADLOOM_CACHE")
    if own:
        return pathlib.Path(own)
    if sys.platform == "darwin":
        return pathlib.Path.home() / "Library" / "Caches" / "broadloom"
    usual = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    return pathlib.Path(usual or pathlib.Path.home() / ".cache") / "broadloom"


def load(name: str, *, quiet: bool = False) -> Policy:
    """The zoo's policy for a task. The first call trains it into cache_folder(); `show(name)` says
    how many seconds of one core that takes.

    Its parameters must have the zoo's hash, to the bit. Tasks on MuJoCo are an exception, since
    their bits depend on the processor and the C library. A processor without fused multiply-add
    trains once more, slowly, with `isa="exact"`.

    Raises broadloom.Error, of kind "not_found" for an unknown name and "mismatch" for other
    parameters."""
    from .policy import Policy

    entry = show(name)
    hashed = entry["parameters_hash"]
    folder = cache_folder() / "zoo" / f"{name.replace('/', '_')}-{hashed[:12]}"
    if not folder.is_dir():
        _train(name, folder, quiet, entry)
    record = _record_in(folder)
    found = record["result"]["parameters_hash"]
    if entry["same_bits_anywhere"] and found != hashed:
        raise error_of(
            "mismatch",
            f"got parameters {found} for '{name}', expected the zoo's {hashed}; this version of "
            f"Broadloom trains other bits. The policy is in {folder}",
        )
    policy = Policy(folder)
    if policy.origin["hash"] != record["checkpoint"]["hash"]:
        raise error_of(
            "mismatch",
            f"got a checkpoint in {folder} that is not the one of its record; delete the folder, "
            "and load() trains it again",
        )
    return policy


def _record_in(folder):
    path = folder / "ledger_line.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise error_of(
            "mismatch",
            f"got no record of a training in {path} ({problem}); delete the folder {folder}, and "
            "load() trains it again",
        ) from problem


def _train(name, folder, quiet, entry):
    """Trains beside the folder and renames, so that a killed training leaves none."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".training-", dir=folder.parent) as beside:
        run = pathlib.Path(beside) / "run"
        settings = {"zoo": name, "ledger": "none", "tensorboard": False, "quiet": quiet}
        command("train", out=run, **settings)
        record = _record_in(run)
        if (
            entry["same_bits_anywhere"]
            and record["machine"].get("bits") == "own"
            and record["result"]["parameters_hash"] != entry["parameters_hash"]
        ):
            run = run.with_name("exact")
            command("train", out=run, isa="exact", **settings)
        try:
            run.rename(folder)
        except OSError:  # another process was sooner
            if not folder.is_dir():
                raise
