"""The program, and its commands as functions, which return as a dict what --json prints."""

from __future__ import annotations

import json
import os
import pathlib
import re
import sys
import tempfile
import warnings
from typing import TYPE_CHECKING, Any

from . import _core
from ._arguments import flags_of, is_table, plain, text_of
from ._errors import error_of
from ._source_text import with_call
from .registering import gymnasium_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ._types import Answer, DataFrame, Definition, StrPath

_KINDS = {2: "invalid_config", 3: "not_found", 4: "io", 5: "corrupt", 6: "mismatch", 7: "numeric"}
_ANSWERS = (0, 20, 21, 22)  # also of audit and advise: docs/reference/exit_codes.md
_FIXED = {  # of a Study
    "out": "it in Study(definition, out=...)",
    "name": "it in Study(definition, name=...)",
    "report": "a call of report() afterwards",
}
_ID_FLAGS = ("--env_id", "--env-id")
_FOUND = (6, 7)  # a difference, or failed runs of a study: results, if there is output


def main(arguments: Sequence[Any] | None = None) -> int:
    """Runs the program, `main(["eval", "runs/a"])`; prints, and returns the exit code."""
    sys.stdout.flush()
    code, raised = _core.program(_words(sys.argv[1:] if arguments is None else arguments))
    _print_traceback(raised)
    return code


def answer(words):
    """Runs the program without printing: (exit code, its output, its error or "")."""
    *found, raised = _core.answer_of_program(_words(words))
    _print_traceback(raised)
    return found


def _words(arguments):
    """The words of a command. "pkg:Id-v0" is gymnasium/pkg:Id-v0 in it, as in train()."""
    words = [str(word) for word in arguments]
    for i, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if equals and flag in _ID_FLAGS:
            words[i] = f"{flag}={_full_id(value)}"
        elif i > 0 and (words[i - 1] in _ID_FLAGS or (words[0] == "env" and i == 2)):
            words[i] = _full_id(word)
    return words


def _full_id(env_id):
    is_package = gymnasium_id(env_id) == env_id != ""
    return f"gymnasium/{env_id}" if is_package else env_id


def _print_traceback(raised):
    """Prints the traceback of a Python exception. The program has printed its message already."""
    if raised is None:
        return
    if not isinstance(raised, Exception):
        raise raised
    if hasattr(raised, "broadloom_kind"):
        return  # Broadloom's own words, which need no traceback
    import traceback

    traceback.print_exception(type(raised), raised, raised.__traceback__)


def command(name: str, /, *arguments: Any, **options: Any) -> Answer:
    """Runs a command of the program and returns its answer: `command("eval", run, episodes=500)`.

    options: the command's flags (`python -m broadloom eval --help`). A list is joined by commas.
    Returns the object that the command prints with --json. A command without --json gives
    {"text": its output}. A report of runs, or with follow=True, prints where its page is, and
    gives {}. A difference (`diff`, `rerun`, `env check`) and failed runs of a study are
    answers, not errors. Progress goes to standard error unless quiet=True.

    Raises broadloom.Error. After Ctrl-C raises KeyboardInterrupt; commands that can do so have
    saved their work."""
    where = f"argument of {name}"
    words = [name, *(text_of(plain(word, where)) for word in arguments if word is not None)]
    has_json = _core.has_json(words) and not (name == "report" and _is_page(words, options))
    code, text, error = answer([*words, *flags_of(options), *(["--json"] if has_json else [])])
    found = (json.loads(text) if has_json and not error else {"text": text}) if text.strip() else {}
    if not (code in _FOUND and has_json and found and not error):
        _check(name, code, error, arguments)
    return found


def _is_page(words, options):
    """Whether a report writes pages alone, so that it refuses --json: of runs, or again and again.
    Stores are files, so a folder is a run or an error."""
    return bool(options.get("follow")) or any(map(os.path.isdir, words[1:]))


def _check(name, code, why, runs):
    """Raises what a command ended with. runs: those of its arguments, and others."""
    if code == 130:
        raise KeyboardInterrupt(f"broadloom {name} was stopped; results that it had are saved")
    if code not in _ANSWERS:
        words = why or f"broadloom {name} ended with exit code {code}; see standard error"
        raise with_call(error_of(_KINDS.get(code, "io"), words), runs)


def evaluate(run: StrPath, *, quiet: bool = True, **options: Any) -> Answer:
    """Plays a run's policy on fresh episodes.

    Options: episodes=100, seed=1, actions="most_likely" or "sampled"; panel="panel.toml" plays a
    held-out panel. Warns if the environments' source, engine or bounds are other than in
    training, and if episodes were cut at max_steps."""
    found = command("eval", run, quiet=quiet, **options)
    if "note" in found:
        warnings.warn(found["note"], stacklevel=2)
    cut = found.get("reasons", {}).get("unfinished", 0)
    if cut:
        warnings.warn(
            f"{cut} of {found['episodes']} episodes were cut after {found['max_steps']:,} steps, "
            "and their returns end there; max_steps= sets this limit",
            stacklevel=2,
        )
    return found


def audit(run: StrPath, *, quiet: bool = True, **options: Any) -> Answer:
    """Checks a run and its batches; returns a dict with every check. iterations=K: measures K more
    iterations."""
    return command("audit", run, quiet=quiet, **options)


def export(
    run: StrPath, out: StrPath | None = None, *, quiet: bool = True, **options: Any
) -> Answer:
    """Writes a run's policy, with its normaliser, to a file that works without Broadloom.

    out: "policy.onnx", "policy.py" (a PyTorch module, with policy.safetensors), "policy.npz" or
    "policy.h" (C++17, with policy_parity.cc, a test; namespace="policy": of its names).
    Also writes <out>.parity.npz: states and the policy's outputs for them. value=False: leaves out
    the critic. force=True: replaces existing files. Returns a dict with the files, a description of
    observation and outputs, and the largest difference on the states of the parity file."""
    return command(
        "export", run, **{"out": None if out is None else os.fspath(out), "quiet": quiet, **options}
    )


def compare(*runs: StrPath, panel: StrPath, quiet: bool = True, **options: Any) -> Answer:
    """Scores runs on the same held-out panel, episode by episode."""
    return command("compare", *runs, panel=panel, quiet=quiet, **options)


def rerun(record: StrPath, *, quiet: bool = True, **options: Any) -> Answer:
    """Trains a run again from its record. "agrees" of the returned dict says if both are the
    same."""
    return command("rerun", record, quiet=quiet, **options)


def advise(env_id: str = "CartPole-v1", *, quiet: bool = True, **options: Any) -> Answer:
    """Finds the N x T, minibatch and learning rate that suit a task on this machine.

    Options: time="60s", or steps=...; **{"for": "return,robots"}: the goal, and whose candidates to
    try."""
    return command("advise", env_id=env_id, quiet=quiet, **options)


def gradients(
    run: StrPath, *, out: StrPath = "gradients", quiet: bool = True, **options: Any
) -> Answer:
    """Measures a policy's gradient for several block shapes; returns gradients.json as a dict.

    out: folder for gradients.json and a page. Options: study="variance,bias",
    shapes="4x256,16x64". With study="windows" it is windows.json."""
    code, _, error = answer(
        ["gradients", os.fspath(run), *flags_of({"out": os.fspath(out), "quiet": quiet, **options})]
    )
    _check("gradients", code, error, [run])
    name = "windows" if options.get("study") == "windows" else "gradients"
    return json.loads((pathlib.Path(out) / f"{name}.json").read_text())


class Study:
    """A grid of settings over many seeds, or settings that Optuna chooses. Its store lets a stopped
    study continue.

    definition: a study's TOML file, or a dict of the same layout: {"seeds": 5,
    "base": {"env_id": "CartPole-v1"}, "grid": {"learning_rate": [1e-3, 1e-4]}}.
    out: the store; by default studies/<name>.sqlite."""

    def __init__(
        self, definition: Definition, *, name: str | None = None, out: StrPath | None = None
    ) -> None:
        self.definition = definition
        self.name = name or (
            "study" if isinstance(definition, dict) else pathlib.Path(definition).stem
        )
        self._is_default = not out
        self.store = pathlib.Path(out or f"studies/{self.name}.sqlite")

    def run(self, *, quiet: bool = False, **options: Any) -> Answer:
        """Trains the missing runs and returns a summary, failed runs included. jobs=: runs at once;
        part="1/4" or runs="1-3": only these, a part by default into a store of its own ("store" of
        the summary); other keywords override the definition."""
        for key, words in _FIXED.items():
            if key in options:
                raise _core.Error(f"{key}: got it in a call of run() or search(), expected {words}")
        with tempfile.TemporaryDirectory() as folder:
            file = self.definition
            if isinstance(file, dict):
                file = pathlib.Path(folder) / "study.toml"
                file.write_text(_toml(self.definition))
            try:
                return command(
                    "study",
                    file,
                    out=self._out_of(options),
                    name=self.name,
                    report=False,
                    quiet=quiet,
                    **options,
                )
            except _core.Error as error:
                if file is self.definition:
                    raise
                # The file is gone, and its lines are not those of the dict.
                words = re.sub(re.escape(str(file)) + r"(:\d+)?", "definition", str(error))
                raise error_of(error.kind, words) from None

    def _out_of(self, options):
        """The store of a call. By default, the program names one after each part."""
        return None if self._is_default and options.get("part") else self.store

    def search(
        self,
        space: Mapping[str, Any],
        *,
        trials: int,
        sampler: Callable[..., Any],
        seed: int = 1,
        at_once: int = 1,
        quiet: bool = False,
        **options: Any,
    ) -> Any:
        """Lets a sampler of Optuna choose settings, each trained on all seeds of the definition,
        which has no grid. Returns the optuna.Study; its trials' values are mean evaluation returns.

        space: {key: a distribution of optuna.distributions, or a list of choices}.
        sampler: its class or a function of `seed`, such as optuna.samplers.TPESampler.
        at_once: settings that are chosen before any of them is trained.
        options: those of run().

        The store has a cell a setting, and records sampler, seed and space. The same call goes on
        where another stopped; with more `trials` it goes on longer, and with other seeds or
        settings it is refused. A trial with a failed run is told as failed. retry_failed=True tries
        the last one again, unless the sampler has chosen settings since."""
        from .searching import search

        return search(self, space, trials, sampler, seed, at_once, quiet, options)

    def report(self, *, out: StrPath | None = None, **options: Any) -> Answer:
        """Writes the pages of the report, and returns study.json as a dict."""
        return report(self.store, out=out, **options)

    def frame(self, view: str = "scores", **options: Any) -> DataFrame:
        """A view of the store as a data frame; read_store() lists the views."""
        from .frames import read_store

        return read_store(self.store, view, **options)


def report(
    *stores: StrPath, out: StrPath | None = None, quiet: bool = True, **options: Any
) -> Answer:
    """Reports the results of studies: writes the pages, and returns study.json as a dict. Runs in
    place of stores: writes their page, and returns {}."""
    return command("report", *stores, quiet=quiet, **({"out": out} if out else {}), **options)


def _toml(table):
    """TOML text of plain values, lists and nested tables."""
    return "".join(f"{pair}\n" for pair in _toml_pairs(table))


def _toml_pairs(table):
    """None means a key that is left out."""
    return [
        f"{json.dumps(key)} = {_toml_value(plain(value, key, tables=True))}"
        for key, value in table.items()
        if value is not None
    ]


def _toml_value(value):
    if is_table(value):
        return "{" + ", ".join(_toml_pairs(value)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return json.dumps(os.fspath(value)) if isinstance(value, (str, os.PathLike)) else text_of(value)
