"""Optuna searches with Broadloom: the example's trials report their evaluations, and its pruner
ends some of them."""

import importlib.util
import pathlib
import sys
import tempfile
import unittest

import optuna

import broadloom

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


if __name__ == "__main__":
    unittest.main()
