"""Optuna searches with Broadloom: the example's trials report their evaluations, and its pruner
ends some of them."""

import contextlib
import functools
import importlib.util
import io
import pathlib
import re
import sqlite3
import sys
import tempfile
import unittest

import optuna

import broadloom
from broadloom import searching

EXAMPLE = pathlib.Path(sys.argv.pop(1))


class OptunaTest(unittest.TestCase):
    def test_the_pruner_ends_trials_that_fall_behind(self):
        spec = importlib.util.spec_from_file_location("optuna_search", EXAMPLE)
        example = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(example)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with tempfile.TemporaryDirectory() as folder:
            study = example.main(["--trials", "12", "--steps", "20480", "--out", folder])
            states = [trial.state.name for trial in study.trials]
            self.assertEqual(set(states), {"COMPLETE", "PRUNED"}, states)
            for trial in study.trials:
                run = pathlib.Path(folder) / str(trial.number)
                reported = trial.intermediate_values
                steps = [int(step) for step in reported]
                lines = broadloom.sinks.RunFiles(run).read(last=True)
                logged = {
                    step: numbers["eval/mean_return"]
                    for step, _, numbers in lines
                    if "eval/mean_return" in numbers
                }
                self.assertEqual(reported, logged)
                ended = max(step for step, _, _ in lines)
                self.assertEqual(steps[-1], ended)
                self.assertEqual(ended < 20480, trial.state.name == "PRUNED")
            self.assertEqual(study.best_value, max(t.value for t in study.trials if t.value))
            pruned = study.get_trials(states=[optuna.trial.TrialState.PRUNED])[0]
            run = broadloom.resume(f"{folder}/{pruned.number}", quiet=True)  # it was saved
            self.assertTrue(run.finished)


BASE = {
    "env_id": "CartPole-v1",
    "total_timesteps": 4096,
    "num_envs": 4,
    "num_steps": 32,
    "hidden_sizes": [8],
    "eval_episodes": 4,
}
SPACE = {
    "learning_rate": optuna.distributions.FloatDistribution(1e-5, 1e-1, log=True),
    "update_epochs": optuna.distributions.IntDistribution(1, 8),
    "activation": ["tanh", "relu"],
}


class SearchTest(unittest.TestCase):
    """Studies whose settings Optuna's sampler chooses."""

    def setUp(self):
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def study(self, name, **changes):
        definition = {"seeds": 2, "points": 3, "base": BASE, **changes}
        return broadloom.Study(definition, name="lr", out=self.folder / f"{name}.sqlite")

    def search(self, study, trials, **options):
        given = {"sampler": optuna.samplers.TPESampler, "seed": 7, "quiet": True, **options}
        return study.search(options.pop("space", SPACE), trials=trials, **given)

    def rows(self, name, sql):
        with contextlib.closing(sqlite3.connect(self.folder / f"{name}.sqlite")) as database:
            return database.execute(sql).fetchall()

    RESULTS = "SELECT id, cell_id, seed, config_hash, status, parameters_hash FROM runs ORDER BY id"

    def test_settings_are_those_of_optuna_alone(self):
        """The reference: the same sampler in a loop of its own, told the stored returns."""
        searched = self.search(self.study("a"), 12)
        self.assertEqual(len(searched.trials), 12)
        alone = optuna.create_study(
            direction="maximize", sampler=optuna.samplers.TPESampler(seed=7)
        )
        choices = optuna.distributions.CategoricalDistribution(("tanh", "relu"))
        space = {**SPACE, "activation": choices}
        means = "SELECT cell_id, avg(evaluation_return) FROM scores GROUP BY cell_id"
        returns = dict(self.rows("a", means))
        for trial in searched.trials:
            asked = alone.ask(space)
            self.assertEqual(asked.params, trial.params)
            self.assertAlmostEqual(trial.value, returns[trial.user_attrs["cell"]])
            alone.tell(asked, trial.value)
        self.assertEqual(searched.best_value, max(returns.values()))
        stored = self.rows("a", "SELECT learning_rate, update_epochs, activation FROM settings")
        self.assertEqual(stored, [tuple(t.params.values()) for t in searched.trials])

    def test_paths_of_a_study_s_file_are_beside_it(self):
        (self.folder / "robot.xml").write_text("")
        base = '[base]\nenv_id = "Hopper-v5"\n"env.xml_file" = "./robot.xml"\nteacher = "./no"\n'
        file = self.folder / "study.toml"
        file.write_text(base + '[match]\nother = ["../none", "robot.xml"]\n')
        found = searching._definition(file, "TPE")
        self.assertEqual(found["base"]["env.xml_file"], str(self.folder / "robot.xml"))
        self.assertEqual(found["base"]["teacher"], "./no")
        self.assertEqual(found["match"], {"other": ["../none", "robot.xml"]})

    def test_a_search_that_stopped_goes_on_as_if_it_had_not(self):
        self.search(self.study("whole"), 8)
        self.search(self.study("grown"), 3)
        trained = self.rows("grown", "SELECT parameters_hash, finished FROM runs ORDER BY id")
        # Stopped in its fourth trial: one of two runs is there.
        self.search(self.study("grown"), 4)
        with contextlib.closing(sqlite3.connect(self.folder / "grown.sqlite")) as database:
            for table in ("metrics", "points", "evaluations"):
                database.execute(f"DELETE FROM {table} WHERE run_id = 8")
            database.execute(
                "UPDATE runs SET status = 'pending', parameters_hash = NULL, error = NULL,"
                " version = NULL, revision = NULL, isa = NULL, hardware = NULL, started = NULL,"
                " finished = NULL, seconds = NULL WHERE id = 8"
            )
            database.commit()
        self.search(self.study("grown"), 8)
        self.assertEqual(self.rows("grown", self.RESULTS), self.rows("whole", self.RESULTS))
        again = self.rows("grown", "SELECT parameters_hash, finished FROM runs ORDER BY id")
        self.assertEqual(again[: len(trained)], trained)  # none was trained twice
        finished = self.search(self.study("grown"), 8)  # trains nothing
        self.assertEqual(len(finished.trials), 8)

    def test_the_store_is_that_of_a_study_and_its_report_says_that_it_is_no_grid(self):
        study = self.study("a")
        self.search(study, 4)
        definition = self.rows("a", "SELECT definition FROM study")[0][0]
        words = re.search("^sampler (.*)$", definition, re.MULTILINE)[1]
        for part in ("TPESampler (seed 7)", "learning_rate 1e-05 to 0.1 log", "tanh|relu"):
            self.assertIn(part, words)
        report = study.report(out=self.folder / "report")
        self.assertEqual(report["studies"][0]["sampler"], words)
        self.assertIn("is not a grid", report["notes"][0])
        self.assertTrue((self.folder / "report/study.html").is_file())
        frame = study.frame("scores")
        self.assertEqual(len(frame), 8)

    def test_several_at_once_and_repeated_settings(self):
        two = {"activation": ["tanh", "relu"]}
        study = self.study("few")
        searched = study.search(
            two, trials=6, sampler=optuna.samplers.RandomSampler, seed=1, at_once=3, quiet=True
        )
        self.assertEqual(len(searched.trials), 6)
        self.assertEqual(len(self.rows("few", "SELECT * FROM cells")), 2)  # each is trained once
        for trial in searched.trials:
            same = [t.value for t in searched.trials if t.params == trial.params]
            self.assertEqual(set(same), {trial.value})

    def test_a_failed_run_is_a_failed_trial(self):
        rates = {"learning_rate": [1e-3, 10.0]}
        deep = {"activation": "relu", "hidden_sizes": [16] * 10, "lr_schedule": "constant"}
        base = {**BASE, "max_grad_norm": 1e30, **deep}
        study = self.study("bad", base=base)
        searched = study.search(
            rates, trials=6, sampler=optuna.samplers.RandomSampler, seed=2, quiet=True
        )
        states = {t.params["learning_rate"]: t.state.name for t in searched.trials}
        self.assertEqual(states, {1e-3: "COMPLETE", 10.0: "FAIL"})

    def test_wrong_calls(self):
        study = self.study("a")
        tpe = optuna.samplers.TPESampler
        for words, call in (
            ("expected a class of optuna.samplers", {"sampler": tpe(seed=1)}),
            ("trials: got 0", {"trials": 0}),
            ("space: got nothing", {"space": {}}),
            ("space: gamma is 0.9", {"space": {"gamma": 0.9}}),
            ("unknown key 'lerning_rate'", {"space": {"lerning_rate": [1e-3]}}),
        ):
            given = {"space": SPACE, "trials": 2, "sampler": tpe, "quiet": True, **call}
            with self.subTest(words), self.assertRaisesRegex(broadloom.Error, re.escape(words)):
                study.search(given.pop("space"), **given)
        with self.assertRaisesRegex(broadloom.Error, "grid: got it in the definition of a search"):
            self.search(self.study("g", grid={"gamma": [0.9]}), 2)
        self.search(study, 2)
        with self.assertRaisesRegex(broadloom.Error, "of another sampler, seed, space"):
            self.search(study, 2, seed=8)
        for options, words in (
            ({"trials": True}, "trials: got True"),
            ({"seed": True}, "seed: got True"),
            ({"out": "b.sqlite"}, "out: got it in a call of run"),
            ({"plan": True}, "plan: got it in a search"),
        ):
            with self.subTest(words), self.assertRaisesRegex(broadloom.Error, re.escape(words)):
                self.search(study, **{"trials": 2, **options})

    def test_a_store_with_all_its_trials_is_compared_too(self):
        self.search(self.study("a"), 3)
        rows = self.rows("a", self.RESULTS)
        for trials in (3, 2):
            for changes in (
                {"base": {**BASE, "env_id": "Pendulum-v1"}},
                {"base": {**BASE, "total_timesteps": 8192}},
                {"seeds": 4},
                {"points": 4},
            ):
                with self.subTest(changes), self.assertRaisesRegex(broadloom.Error, "of another"):
                    self.search(self.study("a", **changes), trials)
            for options in ({"sampler": optuna.samplers.RandomSampler}, {"at_once": 2}):
                with self.subTest(options), self.assertRaisesRegex(broadloom.Error, "another"):
                    self.search(self.study("a"), trials, **options)
            self.assertEqual(len(self.search(self.study("a"), trials).trials), trials)
        self.assertEqual(self.rows("a", self.RESULTS), rows)

    def test_a_failed_run_is_tried_again(self):
        study = self.study("a")
        self.search(study, 3)
        whole = self.rows("a", self.RESULTS)
        with contextlib.closing(sqlite3.connect(self.folder / "a.sqlite")) as database:
            for table in ("metrics", "points", "evaluations"):
                database.execute(f"DELETE FROM {table} WHERE run_id = 6")
            database.execute("UPDATE runs SET status = 'failed', error = 'x' WHERE id = 6")
            database.commit()
        self.assertEqual(self.search(study, 3).trials[-1].state.name, "FAIL")
        searched = self.search(study, 3, retry_failed=True)
        self.assertEqual(searched.trials[-1].state.name, "COMPLETE")
        self.assertEqual(self.rows("a", self.RESULTS), whole)
        with contextlib.closing(sqlite3.connect(self.folder / "a.sqlite")) as database:
            database.execute("UPDATE runs SET status = 'failed', error = 'x' WHERE id = 4")
            database.commit()
        with self.assertRaisesRegex(broadloom.Error, "retry_failed: got a failed run of #2 "):
            self.search(study, 3, retry_failed=True)

    def test_a_sampler_that_has_nothing_left_ends_the_search(self):
        two = {"activation": ["tanh", "relu"]}
        grid = functools.partial(optuna.samplers.GridSampler, two)
        for _ in range(2):
            searched = self.study("g").search(two, trials=4, sampler=grid, quiet=True)
            self.assertEqual({t.params["activation"] for t in searched.trials}, {"tanh", "relu"})
            self.assertEqual(len(searched.trials), 2)

    def test_the_progress_numbers_settings_as_the_store_does(self):
        two = {"activation": ["tanh", "relu"]}
        output = io.StringIO()
        with contextlib.redirect_stderr(output):
            self.study("n").search(two, trials=6, sampler=optuna.samplers.RandomSampler, seed=1)
        for (name,) in self.rows("n", "SELECT name FROM cells"):
            self.assertIn(f"Next: {name}\n", output.getvalue())


if __name__ == "__main__":
    unittest.main()
