"""Studies whose settings a sampler of Optuna chooses: Study.search()."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import sqlite3
import sys
import time
from typing import Any

from . import _core
from ._arguments import refuse_none_in, text_of
from ._errors import error_of

_OWN_AXES = ("grid", "shapes", "variants", "sampler", "tuned")
_WHOLE_STUDIES = ("plan", "part", "runs", "launcher", "grid", "shapes", "doubled", "tuned")


def search(study, space, trials, sampler, seed, at_once, quiet, options):
    """Study.search(): asks, trains what the store lacks, tells, until there are enough trials.

    A call on an existing store asks the same sampler again and finds its answers there, so that it
    goes on as if it had never stopped."""
    optuna = _optuna()
    space = _distributions(optuna, space)
    _check_options(trials, at_once, options)
    words = _sampler_words(optuna, sampler, seed, space, at_once)
    definition = _definition(study.definition, words)
    searched = optuna.create_study(direction="maximize", sampler=_made(sampler, seed))
    ended: list[bool] = []  # whether the sampler has nothing left to ask, as GridSampler says
    searched.stop = lambda: ended.append(True)
    store = _Store(study.store)
    tell = _Teller(quiet, trials)
    tell.begin(study.name, words)
    cells: list[dict[str, Any]] = []  # the settings of each cell
    scores: dict[str, float | None] = {}  # by the text of the settings; None: a run failed
    kept = {key: value for key, value in options.items() if key != "retry_failed"}
    done, is_checked = 0, not store.settings
    while done < trials and not ended:
        asked = [searched.ask(space) for _ in range(min(at_once, trials - done))]
        fresh = []
        for trial in asked:
            if _key(trial.params) not in scores and trial.params not in fresh:
                fresh.append(trial.params)
        store.check(cells, fresh)
        cells += fresh
        numbers = range(len(cells) - len(fresh) + 1, len(cells) + 1)
        retries = options.get("retry_failed") and any(map(store.has_failed, numbers))
        if retries and len(cells) < len(store.settings):
            raise _core.Error(
                f"retry_failed: got a failed run of {_name(numbers[0], fresh[0])}, after which the "
                f"sampler chose {len(store.settings) - len(cells)} more settings in the knowledge "
                "that it failed; leave retry_failed out, or begin another store (out=)"
            )
        # run() compares the whole store with this study, so it is called even if it trains nothing.
        reaches_end = not is_checked and len(cells) >= len(store.settings)
        is_stored = all(map(store.has_all, numbers)) and not retries
        if not is_stored or reaches_end:
            if not is_stored:
                tell.trials(done, asked, cells)
            _train(study, definition, cells, options if retries else kept)
            store.read()
            is_checked = True
        for number, params in zip(numbers, fresh):
            scores[_key(params)] = store.score(number)
        for trial in asked:
            _tell(optuna, searched, trial, scores[_key(trial.params)], cells)
        done += len(asked)
        tell.results(searched, done)
    if not is_checked:
        rest = [store.values(i, space) for i in range(len(cells), len(store.settings))]
        _train(study, definition, cells + rest, kept)
    del searched.stop
    tell.end(searched)
    return searched


def _check_options(trials, at_once, options):
    for name, value in (("trials", trials), ("at_once", at_once)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise _core.Error(f"{name}: got {value!r}, expected a whole number from 1 on")
    for name in _WHOLE_STUDIES:
        if options.get(name):
            raise _core.Error(
                f"{name}: got it in a search, which trains one setting after another; leave it "
                "out, or call run()"
            )


def _optuna():
    try:
        import optuna
    except ModuleNotFoundError:
        raise ModuleNotFoundError("a search needs Optuna: pip install optuna") from None
    return optuna


def _distributions(optuna, space):
    """The space with lists as choices."""
    if not space:
        raise _core.Error(
            "space: got nothing, expected keys of the config with what they may be, such as "
            '{"learning_rate": optuna.distributions.FloatDistribution(1e-5, 1e-2, log=True)}'
        )
    out = {}
    for key, values in space.items():
        if isinstance(values, (list, tuple)):
            refuse_none_in(values, key)
            values = optuna.distributions.CategoricalDistribution(tuple(values))
        if not isinstance(values, optuna.distributions.BaseDistribution):
            raise _core.Error(
                f"space: {key} is {values!r}, expected a distribution of optuna.distributions, or "
                "a list of choices"
            )
        out[key] = values
    return out


def _made(sampler, seed):
    return sampler(seed=seed)


def _sampler_words(optuna, sampler, seed, space, at_once):
    """One line that says all on which the choices depend."""
    if not callable(sampler) or isinstance(sampler, optuna.samplers.BaseSampler):
        raise _core.Error(
            f"sampler: got {sampler!r}, expected a class of optuna.samplers or a function of "
            "`seed`, so that the store can record the seed: sampler=TPESampler, seed=1; "
            "functools.partial(TPESampler, multivariate=True) gives it options"
        )
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise _core.Error(f"seed: got {seed!r}, expected a whole number")
    function, given = sampler, {}
    while hasattr(function, "func"):  # functools.partial
        given = {**function.keywords, **given}
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    name += f"({', '.join(f'{k}={v!r}' for k, v in given.items())})" if given else ""
    keys = ", ".join(f"{key} {_range(values)}" for key, values in space.items())
    times = "" if at_once == 1 else f", {at_once} at a time"
    return f"Optuna {optuna.__version__} {name} (seed {seed}{times}) over {keys}".replace("\n", " ")


def _range(values):
    if hasattr(values, "choices"):
        return "of " + "|".join(map(text_of, values.choices))
    scale = " log" if values.log else ""
    step = "" if values.step in (None, 1) else f" step {text_of(values.step)}"
    return f"{text_of(values.low)} to {text_of(values.high)}{scale}{step}"


def _definition(definition, words):
    """The study's definition as a dict, without settings."""
    if not isinstance(definition, dict):
        path = pathlib.Path(definition)
        try:
            import tomllib
        except ModuleNotFoundError:
            raise _core.Error(
                f"definition: got the file '{path}', expected a dict; Python 3.10 reads no TOML"
            ) from None
        definition = _placed(tomllib.loads(path.read_text(encoding="utf-8")), path.parent)
        if isinstance(definition.get("base"), str):
            definition["base"] = os.fspath((path.parent / definition["base"]).absolute())
    for key in _OWN_AXES:
        if key in definition:
            raise _core.Error(
                f"{key}: got it in the definition of a search, whose sampler chooses the settings; "
                "leave it out, or call run() for a grid"
            )
    return {"match": "none", **definition, "sampler": words}


def _placed(value, folder):
    """A value of a file in this folder for a file elsewhere: paths are what the first one means."""
    if isinstance(value, dict):
        return {key: _placed(one, folder) for key, one in value.items()}
    if isinstance(value, list):
        return [_placed(one, folder) for one in value]
    if isinstance(value, str) and value.startswith(("./", "../")) and (folder / value).exists():
        return os.fspath((folder / value).absolute())
    return value


def _key(params):
    return json.dumps({key: text_of(value) for key, value in params.items()}, sort_keys=True)


def _name(number, params):
    def short(value):
        return f"{value:.3g}" if isinstance(value, float) else text_of(value)

    return f"#{number} " + " ".join(f"{key}={short(value)}" for key, value in params.items())


def _train(study, definition, cells, options):
    variants = [{"name": _name(i + 1, cell), **cell} for i, cell in enumerate(cells)]
    grown = type(study)({**definition, "variants": variants}, name=study.name, out=study.store)
    grown.run(quiet=True, **options)


def _number(cells, params):
    """The cell with these settings, from 1."""
    return 1 + next(i for i, cell in enumerate(cells) if _key(cell) == _key(params))


def _tell(optuna, searched, trial, score, cells):
    trial.set_user_attr("cell", _number(cells, trial.params))
    if score is None:
        searched.tell(trial, state=optuna.trial.TrialState.FAIL)
    else:
        searched.tell(trial, score)


class _Store:
    """The cells of the store, as far as there is one."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.read()

    def read(self):
        self.settings: list[dict[str, str]] = []
        self.statuses: dict[int, list[str]] = {}
        self.returns: dict[int, list[float]] = {}
        if not self.path.is_file():
            return
        uri = f"{self.path.absolute().as_uri()}?mode=ro"
        try:
            with contextlib.closing(sqlite3.connect(uri, uri=True)) as database:
                for (changes,) in database.execute("SELECT changes FROM cells ORDER BY id"):
                    self.settings.append(json.loads(changes))
                for cell, status in database.execute("SELECT cell_id, status FROM runs"):
                    self.statuses.setdefault(cell, []).append(status)
                for cell, training, evaluation in database.execute(
                    "SELECT cell_id, training_return, evaluation_return FROM scores"
                ):
                    found = training if evaluation is None else evaluation
                    if found is not None:
                        self.returns.setdefault(cell, []).append(found)
        except (sqlite3.DatabaseError, ValueError) as error:
            raise error_of("corrupt", f"{self.path} is no store of a study: {error}") from None

    def has_all(self, cell):
        """Whether no run of this cell (from 1) is to be trained."""
        statuses = self.statuses.get(cell, ["pending"])
        return "pending" not in statuses

    def has_failed(self, cell):
        return "failed" in self.statuses.get(cell, [])

    def check(self, before, fresh):
        """Refuses a store whose next settings are not those that the sampler chooses."""
        for i, params in enumerate(fresh, start=len(before)):
            if i < len(self.settings) and not _same(self.settings[i], params):
                raise self.other(i, f"{_key(params)}")

    def other(self, i, words):
        return error_of(
            "mismatch",
            f"'{self.path}' has the setting {self.settings[i]} at place {i + 1}, where this search "
            f"has {words}: it is of another sampler, seed, space or Optuna; use the same, or "
            "another file (out=)",
        )

    def values(self, i, space):
        """The values of the store's setting i (from 0), which are texts there."""
        texts = self.settings[i]
        if set(texts) != set(space):
            raise self.other(i, f"the keys {', '.join(space)}")
        return {key: self.value(i, key, space[key]) for key in space}

    def value(self, i, key, values):
        text = self.settings[i][key]
        choices = getattr(values, "choices", None)
        if choices is None:
            return type(values.low)(text)
        for choice in choices:
            if _same({key: text}, {key: choice}):
                return choice
        raise self.other(i, f"{key} {_range(values)}")

    def score(self, cell):
        """The mean return over the seeds of this cell; None if a run failed."""
        returns = self.returns.get(cell, [])
        if not returns or len(returns) < len(self.statuses[cell]):
            return None
        return sum(returns) / len(returns)


def _same(texts, params):
    """Whether texts of a store mean these values."""
    if set(texts) != set(params):
        return False
    for key, value in params.items():
        if texts[key] == text_of(value):
            continue
        try:
            if float(texts[key]) != float(value):
                return False
        except (TypeError, ValueError):
            return False
    return True


class _Teller:
    """Says which trial is trained, and how long the others may take."""

    def __init__(self, quiet, trials):
        self.quiet, self.trials_asked = quiet, trials
        self.start, self.trained = time.monotonic(), 0

    def say(self, text):
        if not self.quiet and sys.stderr is not None:
            print(_core.terminal_text(text), file=sys.stderr, flush=True)

    def begin(self, name, words):
        self.say(f"Search {name}: {self.trials_asked} trials; settings chosen by {words}")

    def trials(self, done, asked, cells):
        left = ""
        if self.trained:
            seconds = (time.monotonic() - self.start) / self.trained * (self.trials_asked - done)
            left = f", about {seconds:.0f} s left"
        settings = "; ".join(_name(_number(cells, t.params), t.params) for t in asked)
        self.say(f"{done} of {self.trials_asked} trials{left}. Next: {settings}")
        self.trained += len(asked)

    def results(self, searched, done):
        if self.trained:
            values = [trial.value for trial in searched.trials if trial.value is not None]
            last = searched.trials[-1].value
            result = "failed" if last is None else f"{last:.2f}, best {max(values):.2f}"
            self.say(f"   mean return {result}")

    def end(self, searched):
        if any(trial.value is not None for trial in searched.trials):
            best = searched.best_trial
            self.say(
                f"Best of {len(searched.trials)}: {best.value:.2f} with {best.params}. It was "
                "chosen for its return, so train it with new seeds before you quote it"
            )
