"""Sends a run's numbers to Weights & Biases, MLflow, TensorBoard or CSV files, or films its policy.

    run = broadloom.train("CartPole-v1", sinks=["wandb", "csv"])       # while it trains
    broadloom.log_to(run, broadloom.sinks.MLflow(experiment="poles"))  # afterwards
    python -m broadloom.sinks wandb runs/a --project=poles --follow    # from another shell

A sink reads the run's folder: its settings, metrics.jsonl, eval.jsonl and environment.jsonl, which
rsl_rl.OnPolicyRunner writes. So it changes no bit of the run. log_to() sends later what a sink
missed. Numbers have the names of the files, and those of evaluations begin with eval/."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import importlib
import json
import os
import pathlib
import re
import struct
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

from . import _core
from ._checks import is_one_of
from ._errors import InvalidType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._types import StrPath

POLL_SECONDS = 1.0
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


def _import(name, package):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"this sink needs {package}: pip install {package}") from error


class Sink:
    """Base of all sinks, and of your own: open() once, write() for each step, close() once."""

    def open(self, run: RunFiles) -> None:
        raise NotImplementedError

    def write(self, step: int, wall_time: float, numbers: dict[str, float]) -> None:
        """step: environment steps; steps never fall, and one step may come twice. wall_time: Unix
        time, 0 if not known."""
        raise NotImplementedError

    def close(self, finished: bool) -> str:
        """Returns in words where the numbers are."""
        raise NotImplementedError


class WandB(Sink):
    """Weights & Biases. mode, dir: as of wandb.init(); other keywords go there, too.

    Runs keep their id, so that a run that is sent again continues on its page."""

    def __init__(
        self,
        project: str = "broadloom",
        mode: str | None = None,
        dir: StrPath | None = None,
        **init: Any,
    ) -> None:
        self.wandb = _import("wandb", "wandb")
        self.init = {"project": project, "mode": mode, "dir": dir and os.fspath(dir), **init}

    def open(self, run: RunFiles) -> None:
        own = {
            "id": run.id,
            "name": run.name,
            "config": {**run.config, **{f"broadloom_{k}": v for k, v in run.facts.items()}},
            "reinit": "create_new",  # several runs may be open in threads
            "settings": self.wandb.Settings(console="off", silent=True),
        }
        if (self.init["mode"] or os.environ.get("WANDB_MODE")) not in ("offline", "disabled"):
            own["resume"] = "allow"
        if self.init["dir"]:
            os.makedirs(self.init["dir"], exist_ok=True)
        self.run = self.wandb.init(**{**own, **self.init})

    def write(self, step: int, wall_time: float, numbers: dict[str, float]) -> None:
        self.run.log(numbers, step=step)

    def close(self, finished: bool) -> str:
        place = pathlib.Path(self.run.dir).parent
        offline = self.run.offline
        self.run.finish(exit_code=0 if finished else 1)
        return f"{place}; send it with: wandb sync {place}" if offline else self.run.url


class MLflow(Sink):
    """MLflow. tracking_uri: MLflow's own by default; "sqlite:///mlflow.db" is a local file.

    A run that is sent again continues its MLflow run."""

    def __init__(self, experiment: str = "broadloom", tracking_uri: str | None = None) -> None:
        self.mlflow = _import("mlflow", "mlflow")
        self.experiment, self.uri = experiment, tracking_uri

    def open(self, run: RunFiles) -> None:
        self.client = self.mlflow.tracking.MlflowClient(tracking_uri=self.uri)
        found = self.client.get_experiment_by_name(self.experiment)
        where = found.experiment_id if found else self.client.create_experiment(self.experiment)
        old = self.client.search_runs([where], f"tags.`broadloom.id` = '{run.id}'", max_results=1)
        self.last = int(old[0].data.tags.get("broadloom.step", -1)) if old else -1
        tags = {f"broadloom.{key}": value for key, value in {"id": run.id, **run.facts}.items()}
        new = old[0] if old else self.client.create_run(where, run_name=run.name, tags=tags)
        self.id, self.step = new.info.run_id, self.last
        if not old:
            entity = self.mlflow.entities.Param
            params = [entity(key, str(value)) for key, value in run.config.items()]
            self.client.log_batch(self.id, params=params)
        self.waiting: list[Any] = []

    def write(self, step: int, wall_time: float, numbers: dict[str, float]) -> None:
        if step <= self.last:
            return
        when = int((wall_time or time.time()) * 1000)
        for key, value in numbers.items():
            name = re.sub(r"[^\w\-. :/]", "_", key)
            self.waiting.append(self.mlflow.entities.Metric(name, float(value), when, step))
        self.step = step
        if len(self.waiting) > 800:  # a batch takes 1,000
            self.flush()

    def flush(self) -> None:
        for i in range(0, len(self.waiting), 900):
            self.client.log_batch(self.id, metrics=self.waiting[i : i + 900])
        self.waiting = []
        self.client.set_tag(self.id, "broadloom.step", str(self.step))

    def close(self, finished: bool) -> str:
        self.flush()
        self.client.set_terminated(self.id, "FINISHED" if finished else "KILLED")
        return f"MLflow's run {self.id}"


class TensorBoard(Sink):
    """A run's settings for TensorBoard's tab HPARAMS, beside the curves that the run itself writes.

    dir: a folder that gets the settings and the curves, in a folder of the run's name; by default
    the run's folder, which has the curves already unless tensorboard=False."""

    FILE = "broadloom.hparams.tfevents"  # read before events.out.tfevents.*, no resume takes it

    def __init__(self, dir: StrPath | None = None) -> None:
        self.summary = _import("tensorboard.plugins.hparams.summary_v2", "tensorboard")
        self.records = _import("tensorboard.summary.writer.record_writer", "tensorboard")
        self.event = _import("tensorboard.compat.proto.event_pb2", "tensorboard").Event
        self.dir = dir

    def open(self, run: RunFiles) -> None:
        self.place = run.dir if self.dir is None else pathlib.Path(self.dir) / run.name
        self.place.mkdir(parents=True, exist_ok=True)
        self.with_curves = self.dir is not None or not run.config.get("tensorboard", True)
        self.file = open(self.place / self.FILE, "wb")
        self.records = self.records.RecordWriter(self.file)
        settings = self.summary.hparams_pb(run.config, trial_id=run.id)
        for event in ({"file_version": "brain.Event:2"}, {"summary": settings}):
            self.add(self.event(wall_time=time.time(), **event))

    def write(self, step: int, wall_time: float, numbers: dict[str, float]) -> None:
        event = self.event(step=step, wall_time=wall_time or time.time())
        for key, value in numbers.items():
            event.summary.value.add(tag=key, simple_value=value)
        if self.with_curves:
            self.add(event)

    def add(self, event: Any) -> None:
        self.records.write(event.SerializeToString())

    def flush(self) -> None:
        self.records.flush()

    def close(self, finished: bool) -> str:
        self.records.close()
        return str(self.place)


class CSV(Sink):
    """metrics.csv, one row a step. dir: its folder, with one file a run; by default the run's."""

    def __init__(self, dir: StrPath | None = None) -> None:
        self.dir = dir

    def open(self, run: RunFiles) -> None:
        place = run.dir if self.dir is None else pathlib.Path(self.dir)
        place.mkdir(parents=True, exist_ok=True)
        self.path = place / ("metrics.csv" if self.dir is None else f"{run.name}.csv")
        self.row: dict[str, float] = {}
        self.columns: list[str] = []
        self.save([])

    def write(self, step: int, wall_time: float, numbers: dict[str, float]) -> None:
        if self.row and self.row["global_step"] != step:
            self.put()
        self.row |= {"global_step": step, **numbers}

    def put(self) -> None:
        """Appends the row of the last step. A new column means a new file with the old rows."""
        new = [name for name in self.row if name not in self.columns]
        if new:
            with open(self.path, newline="", encoding="utf-8") as file:
                rows = list(csv.reader(file))[1:]
            self.columns += new
            self.save(row + [""] * (len(self.columns) - len(row)) for row in rows)
        with open(self.path, "a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow([self.row.get(name, "") for name in self.columns])
        self.row = {}

    def save(self, rows: Iterable[list[str]]) -> None:
        part = self.path.with_name(f".{self.path.name}.part")
        with open(part, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([[_cell(name) for name in self.columns], *rows])
        part.replace(self.path)

    def close(self, finished: bool) -> str:
        if self.row:
            self.put()
        return str(self.path)


def _cell(name):
    """A name as a cell that no spreadsheet takes for a formula."""
    return f"'{name}" if name[:1] in ("=", "+", "-", "@") else name


class Film(Sink):
    """Films of the policy while it trains, films/step_<steps>.gif in the run's folder.

    every: environment steps between films, of which there is at most one a second; each shows the
    newest checkpoint, so the run's checkpoint_interval must be short enough. kind: gif or mp4.
    env: for environments of Python, a function that makes one with render_mode="rgb_array", or
    "module:function". A process that trains on such environments cannot film them. Another
    one can: it calls register(), and then log_to(RUN, Film(), follow=True)."""

    def __init__(
        self,
        every: int = 100_000,
        kind: str = "gif",
        episodes: int = 1,
        max_steps: int = 1000,
        env: Any = None,
    ) -> None:
        self.every, self.kind = int(every), kind
        self.options = {"episodes": int(episodes), "max_steps": int(max_steps)}
        if isinstance(env, str):
            module, _, function = env.partition(":")
            env = getattr(importlib.import_module(module), function)
        self.env = env
        if self.every < 1 or not is_one_of(kind, ("gif", "mp4")):
            raise _core.Error(f"got every={every}, kind={kind!r}; expected steps and gif or mp4")

    def open(self, run: RunFiles) -> None:
        from .watching import is_rendered

        self.is_drawn = not is_rendered(run.config["env_id"])
        self.run, self.step, self.due, self.filmed = run, 0, self.every, ""

    def write(self, step: int, wall_time: float, numbers: dict[str, float]) -> None:
        self.step = step

    def flush(self) -> None:
        if self.step >= self.due:
            self.film()

    def film(self) -> None:
        """Films the newest checkpoint, unless it was filmed."""
        from .policy import Policy
        from .watching import watch

        found = sorted((self.run.dir / "checkpoints").glob("*.safetensors"))
        if not found or found[-1].name == self.filmed:
            return
        steps = Policy(found[-1]).origin["global_step"]
        folder = self.run.dir / "films"
        folder.mkdir(exist_ok=True)
        drawn = {"view": "drawn"} if self.is_drawn else {}
        path = folder / f"step_{steps:012d}.{self.kind}"
        watch(found[-1], path, env=self.env, **self.options, **drawn)
        self.filmed, self.due = found[-1].name, (self.step // self.every + 1) * self.every

    def close(self, finished: bool) -> str:
        self.film()
        return str(self.run.dir / "films")


NAMES = {"wandb": WandB, "mlflow": MLflow, "tensorboard": TensorBoard, "csv": CSV, "film": Film}


def made(sinks: Iterable[str | Sink]) -> list[Sink]:
    """The sinks that these names and objects mean. Raises ModuleNotFoundError for a package."""
    if isinstance(sinks, (str, Sink)):
        sinks = [sinks]
    out = []
    for sink in sinks:
        if isinstance(sink, str):
            if sink not in NAMES:
                raise _core.Error(f"sinks: got {sink!r}, expected one of {', '.join(NAMES)}")
            sink = NAMES[sink]()
        missing = [name for name in ("open", "write", "close") if not hasattr(sink, name)]
        if missing:
            raise InvalidType(
                f"sinks: got a {type(sink).__name__} without {', '.join(missing)}; expected names "
                f"({', '.join(NAMES)}) or objects like broadloom.sinks.Sink"
            )
        out.append(sink)
    return out


class Feeder:
    """Feeds sinks from a run that trains in this process on environments of this id. A sink that
    fails is left out with a warning, since log_to() can send everything later. base: the folder
    that the run's is relative to."""

    def __init__(self, sinks: Iterable[str | Sink], env_id: str, base: str) -> None:
        from .registering import gymnasium_id
        from .watching import is_rendered

        self.sinks, self.files, self.next = made(sinks), None, 0.0
        self.base = base
        if is_rendered(env_id) and any(isinstance(sink, Film) for sink in self.sinks):
            other = (
                "`python -m broadloom.sinks film RUN --follow`"
                if gymnasium_id(env_id)
                else f"a script that calls broadloom.register({env_id!r}, ...) and then "
                "broadloom.log_to(RUN, broadloom.sinks.Film(), follow=True)"
            )
            raise _core.Error(
                f"sinks: got a Film of {env_id}, expected other sinks, since the process that "
                "trains on environments of Python cannot film them; leave it out, and start beside "
                f"this process {other}"
            )

    def __call__(self, run: StrPath) -> None:
        """Sends what is new, at most once a second."""
        if time.monotonic() >= self.next:
            self.feed(run)
            self.next = time.monotonic() + POLL_SECONDS

    def feed(self, run, last=False):
        if self.files is None:
            self.files = RunFiles(os.path.join(self.base, os.fspath(run)))
            for sink in list(self.sinks):
                self.attempt(sink, lambda sink=sink: sink.open(self.files))
        lines = self.files.read(last)
        for sink in list(self.sinks):
            self.attempt(sink, lambda sink=sink: _send(sink, lines))

    def close(self, finished):
        if self.files is None:
            return
        self.feed(None, last=True)
        for sink in list(self.sinks):
            self.attempt(sink, lambda sink=sink: sink.close(finished))

    def attempt(self, sink, action):
        try:
            action()
        except Exception as error:
            self.sinks.remove(sink)
            warnings.warn(
                f"the sink {type(sink).__name__} failed and gets no more numbers "
                f"({type(error).__name__}: {error}); the run goes on, and broadloom.log_to("
                f"{str(self.files.dir)!r}, ...) sends all of it later",
                stacklevel=2,
            )


def _send(sink, lines):
    for line in lines:
        sink.write(*line)
    if lines and hasattr(sink, "flush"):
        sink.flush()


def log_to(run: StrPath, *sinks: str | Sink, follow: bool = False) -> list[str]:
    """Sends a run to sinks: names (wandb, mlflow, tensorboard, csv) or objects of broadloom.sinks.

    follow: goes on until the run's process ends. Returns for each sink where the numbers are."""
    files, targets = RunFiles(run), made(sinks)
    if not targets:
        raise _core.Error(f"sinks: got none, expected one or more of {', '.join(NAMES)}")
    for sink in targets:
        sink.open(files)
    try:
        while True:
            goes_on = follow and files.is_training()
            lines = files.read(last=not goes_on)
            for sink in targets:
                _send(sink, lines)
            if not goes_on:
                break
            time.sleep(POLL_SECONDS)
    finally:
        places = [sink.close(files.has_ended()) for sink in targets]
    return places


def main(arguments: list[str] | None = None) -> int:
    """`python -m broadloom.sinks SINK RUN...`"""
    import argparse
    import inspect

    parser = argparse.ArgumentParser(
        prog="python -m broadloom.sinks", description="Sends runs to a place for experiments."
    )
    commands = parser.add_subparsers(dest="sink", required=True)
    for name, kind in NAMES.items():
        command = commands.add_parser(name, help=(kind.__doc__ or "").splitlines()[0])
        command.add_argument("run", nargs="+", help="a run's folder")
        command.add_argument("--follow", action="store_true", help="until the run ends")
        for parameter in inspect.signature(kind).parameters.values():
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                command.add_argument(f"--{parameter.name}", default=parameter.default)
    given = vars(parser.parse_args(arguments))
    kind, runs, follow = NAMES[given.pop("sink")], given.pop("run"), given.pop("follow")
    try:
        for run in runs:
            if len(runs) > 1 and os.path.isfile(run):  # runs/* has the ledger
                print(f"{run}: left out, since it is no folder", file=sys.stderr)
                continue
            print(f"{run}: {log_to(run, kind(**given), follow=follow)[0]}", flush=True)
    except (_core.Error, OSError, ModuleNotFoundError) as error:
        print(f"broadloom.sinks: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
