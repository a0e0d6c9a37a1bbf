"""Runs while they train: a dict for on_iteration, a line of progress, and numbers for sinks."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    from .policy import Policy

# Signals of batch systems and terminals, which end a process.
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGXCPU)
_ignored: set[int] = set()  # signals that _end() has told the process to ignore
LINE_SECONDS = 5.0  # between lines of progress in a notebook or a file


class Progress(dict[str, Any]):
    """A dict for on_iteration, after each iteration.

    Keys: iteration, num_iterations, global_step, total_timesteps, steps_per_second, seconds_left,
    mean_return, success_rate; run_dir; all numbers of metrics.jsonl, such as policy_loss,
    approx_kl and entropy, also in iterations that are not logged; None: not known. evaluation: the
    line of eval.jsonl as a dict if this iteration was evaluated, else None."""

    def __init__(self, numbers: dict[str, Any], copy: Callable[[], Any]) -> None:
        super().__init__(numbers)
        self._copy = copy

    @property
    def policy(self) -> Policy:
        """A copy of the policy as it is now. It costs a copy of the parameters."""
        from .policy import Policy

        return Policy.around(self._copy())


class _Line:
    """A line of progress that is rewritten; in a notebook or a file, a new line now and then."""

    def __init__(self, quiet):
        self.shows = not quiet and sys.stderr is not None
        self.rewrites = self.shows and sys.stderr.isatty()
        self.due = 0.0  # of the next line where none can be rewritten, by time.monotonic()

    def __call__(self, progress):
        if not self.shows:
            return
        is_last = progress["iteration"] == progress["num_iterations"]
        if not self.rewrites:
            now = time.monotonic()
            if now < self.due and not is_last:
                return
            self.due = now + LINE_SECONDS
        result = (
            "" if progress["mean_return"] is None else f"  return {progress['mean_return']:.2f}"
        )
        text = (
            f"{progress['global_step']:>12,} of {progress['total_timesteps']:,}  "
            f"{progress['steps_per_second']:,.0f} steps/s{result}"
        )
        if self.rewrites:
            print(f"\r{text}  ", end="\n" if is_last else "", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)


class Calls:
    """Functions that the extension calls during a run: `all` is (on_contract, on_iteration,
    on_note, on_end), with None for silence."""

    def __init__(self, quiet, on_iteration, feeder, env_id):
        self.env_id, self.show, self.on_iteration, self.feeder = (
            env_id,
            _Line(quiet),
            on_iteration,
            feeder,
        )
        self.finished, self.saved = False, None
        listens = on_iteration is not None or feeder is not None
        self.all = (
            None if quiet else self.tell_contract,
            self if listens or self.show.shows else None,
            None if quiet else _tell_note,
            self.end,
        )

    def tell_contract(self, text):
        from .registering import notes_of

        print(_core.terminal_text(text))
        for note in notes_of(self.env_id):
            _tell_note(note)

    def end(self, run_dir, step):
        """Keeps the folder and the step from which a resume would go on."""
        self.saved = run_dir, step

    def __call__(self, found):
        numbers, evaluation, copy = found
        numbers["evaluation"] = json.loads(evaluation) if evaluation else None
        progress = Progress(numbers, copy)
        self.show(progress)
        if self.feeder is not None:
            self.feeder(progress["run_dir"])
        return None if self.on_iteration is None else self.on_iteration(progress)


def _tell_note(note):
    print(_core.terminal_text(f"Note: {note}"), file=sys.stderr)


@contextlib.contextmanager
def calls_of(quiet, on_iteration, sinks, env_id, base):
    """The Calls of a run on environments of this id, whose folder is relative to `base`. Closes the
    sinks when it ends, whatever ends it. After Ctrl-C, another signal, or an exception of a
    callback or the environment, says how the run can go on."""
    feeder = None
    if sinks:
        from .sinks import Feeder

        feeder = Feeder(sinks, env_id, base)
    calls = Calls(quiet, on_iteration, feeder, env_id)
    try:
        with _ending_signals():
            yield calls
    except BaseException as stop:
        is_engines = type(stop) is _core.Error  # its message says so
        if calls.saved is not None and not is_engines:
            run_dir, step = calls.saved
            words = (
                f"The run is saved up to step {step:,}; go on with broadloom.resume({run_dir!r})"
            )
            if hasattr(stop, "add_note"):  # Python 3.11 and later
                stop.add_note(words)
            has_shown = hasattr(stop, "add_note") and not isinstance(stop, SystemExit)
            if not (has_shown or quiet):
                print(words, file=sys.stderr)
        raise
    finally:
        if feeder is not None:
            feeder.close(calls.finished)


@contextlib.contextmanager
def _ending_signals():
    """In the block, signals that would kill the process raise SystemExit, so that the run is saved
    as after Ctrl-C. Only in the main thread, and where nobody else handles them."""
    is_main = threading.current_thread() is threading.main_thread()
    taken = [one for one in ENDING if is_main and signal.getsignal(one) is signal.SIG_DFL]
    for one in taken:
        signal.signal(one, _end)
        _ignored.discard(one)
    try:
        yield
    finally:
        for one in taken:
            _release(one)


def _end(number, _):
    """Ends as the program does: a second SIGTERM kills, and a second warning of a batch system does
    not disturb the saving."""
    kills = number in (signal.SIGTERM, signal.SIGHUP)
    signal.signal(number, signal.SIG_DFL if kills else signal.SIG_IGN)
    if not kills:
        _ignored.add(number)
    raise SystemExit(130)


def _release(number):
    """Undoes what this module has set. A handler that a callback has set stays."""
    ours = signal.SIG_IGN if number in _ignored else _end
    if signal.getsignal(number) is ours:
        signal.signal(number, signal.SIG_DFL)


def _release_all():
    for one in ENDING:
        if signal.getsignal(one) is _end:
            signal.signal(one, signal.SIG_DFL)


os.register_at_fork(after_in_child=_release_all)  # whose parent ends them by SIGTERM
