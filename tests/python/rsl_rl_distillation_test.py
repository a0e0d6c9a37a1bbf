"""The runner in the form of RSL-RL's DistillationRunner, with torch; beside RSL-RL's own where it
is installed."""

import contextlib
import copy
import io
import json
import pathlib
import tempfile
import threading
import unittest
import warnings

import numpy as np

import broadloom
from broadloom.rsl_rl import DistillationRunner
from rsl_rl_test import CONFIG, learn, made
from rsl_rl_torch_test import has_rsl_rl, ROWS, Tensors
from simulator_cases import parameters

# The teacher reads the critic's group.
DISTIL = {
    "num_steps_per_env": 16,
    "save_interval": 2,
    "seed": 7,
    "obs_groups": {"student": ("actor",), "teacher": ("critic",)},
    "student": {**CONFIG["actor"], "hidden_dims": (8, 6)},
    "teacher": CONFIG["actor"],
    "algorithm": {
        "class_name": "Distillation",
        "gradient_length": 8,
        "learning_rate": 2e-3,
        "max_grad_norm": 1.0,
        "loss_type": "huber",
    },
}


def runner_of(config=DISTIL, **keys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return DistillationRunner(Tensors(), copy.deepcopy(config), **keys)


def changed(part, **keys):
    config = copy.deepcopy(DISTIL)
    (config if part is None else config[part]).update(keys)
    return config


class DistillationTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        config = copy.deepcopy(CONFIG)
        config["obs_groups"] = {"actor": ("critic",), "critic": ("critic",)}
        self.expert = learn(made(Tensors, config=config), 2)
        self.teacher = self.folder / "teacher.pt"
        self.expert.save(self.teacher)

    def test_keys_become_those_of_broadloom(self):
        runner = runner_of(log_dir=self.folder / "logs")
        runner.load(self.teacher)
        learn(runner, 2)
        config = json.loads((runner._run.dir / "manifest.json").read_text())["config"]
        for key, value in {
            "algorithm": "distill",
            "gradient_length": "8",
            "distill_loss": "huber",
            "learning_rate": "0.002",
            "max_grad_norm": "1",
            "update_epochs": "1",
            "hidden_sizes": "8,6",
            "lr_schedule": "constant",
            "adam_eps": "1e-08",
        }.items():
            self.assertEqual(config[key], value, key)
        line = json.loads((runner._run.dir / "ledger_line.json").read_text())
        first = pathlib.Path(line["teacher"]["file"])
        self.assertEqual(first.parent, self.folder / "logs")

        before = first.read_bytes()
        runner.load(self.expert._checkpoint)
        self.assertNotEqual(runner.settings["teacher"], str(first))
        self.assertEqual(first.read_bytes(), before, "the record of the first run names it")
        runner.load(first)
        self.assertEqual(runner.settings["teacher"], str(first))

    def test_teachers_of_both_formats_give_the_same_student(self):
        students = []
        for path in (self.teacher, self.expert._checkpoint):
            runners = [runner_of(threads=threads) for threads in (1, 2)]
            for runner in runners:
                runner.load(path)
            self.assertEqual(*(parameters(learn(runner, 2)._run) for runner in runners))
            students.append(runners[0].get_inference_policy()(ROWS))
        np.testing.assert_allclose(*students, atol=1e-5)  # RSL-RL's statistics are float32

    def test_a_saved_student_goes_on(self):
        first = runner_of()
        first.load(self.teacher)
        learn(first, 2)
        first.save(self.folder / "student.pt", infos={"note": 3})
        again = runner_of()
        self.assertEqual(again.load(self.folder / "student.pt"), {"note": 3})
        self.assertEqual(again.current_learning_iteration, first.current_learning_iteration)
        np.testing.assert_allclose(
            again.get_inference_policy()(ROWS), first.get_inference_policy()(ROWS), atol=1e-6
        )
        learn(again, 1)

    @unittest.skipUnless(has_rsl_rl, "rsl-rl-lib is not installed: its runner reads no file here")
    def test_rsl_rl_reads_the_student(self):
        from rsl_rl.runners import DistillationRunner as Theirs

        ours = runner_of()
        ours.load(self.teacher)
        learn(ours, 2)
        ours.save(self.folder / "student.pt")
        config = copy.deepcopy(DISTIL) | {"multi_gpu": None, "check_for_nan": True}
        for name in ("student", "teacher"):  # RSL-RL takes class_name out of dicts they share
            kept = {k: v for k, v in config[name].items() if k != "cnn_cfg"}
            config[name] = copy.deepcopy(kept)
        theirs = Theirs(Tensors(), config, log_dir=None, device="cpu")
        theirs.load(str(self.folder / "student.pt"))
        from tensordict import TensorDict

        rows = TensorDict(ROWS, batch_size=[len(ROWS["actor"])])
        np.testing.assert_allclose(
            theirs.get_inference_policy()(rows).detach(),
            ours.get_inference_policy()(ROWS),
            atol=1e-5,
        )

    def test_wrong_configurations_and_files_are_refused(self):
        with self.assertRaisesRegex(broadloom.Error, "teacher: got none.*load"):
            runner_of().learn(1)
        for config, words in (
            (changed("algorithm", gradient_length=5), "length = 5.*divisor.*gradient_length = 4"),
            (changed("algorithm", gradient_length=0), "length = 0 .*whole number of at least 1"),
            (changed("student", activation="nope"), "student.activation = 'nope'"),
            (changed("teacher", hidden_dims="x"), "teacher.hidden_dims = 'x'.*such as"),
            (changed("teacher", hidden_dims=5), "teacher.hidden_dims = 5.*such as"),
            (changed("teacher", foo=1), "'teacher.foo'"),
            (changed(None, student=5), "student = 5, expected a dict"),
            (changed(None, obs_groups={"student": "actor"}), "obs_groups.student = 'actor'"),
            (None, "got None, expected a dict"),
            (changed("algorithm", loss_type="l1"), "loss_type = 'l1'.*'mse' or 'huber'"),
            (changed("algorithm", loss_type=np.array(["mse", "huber"])), "'mse' or 'huber'"),
            (changed("algorithm", max_grad_norm="1.0"), "norm = '1.0' .str., expected a number,"),
            (changed("algorithm", max_grad_norm=""), "norm = '' .str., expected a number, not"),
            (changed(None, teacher=np.array([1, 2])), "teacher = array.*expected a dict"),
            (changed(None, algorithm=np.array([1, 2])), "algorithm = array.*expected a dict"),
            (changed("algorithm", class_name="PPO"), "class_name = 'PPO'.*'Distillation'"),
            (changed("algorithm", clip_param=0.2), "algorithm.clip_param"),
            (changed("student", rnn_type="gru"), "student with .* rnn_type = 'gru', expected no m"),
            (changed("teacher", class_name="RNNModel"), "teacher with class_name = 'RNNModel'"),
            (changed(None, actor={}), "'actor', expected 'student' and 'teacher'"),
        ):
            with self.assertRaisesRegex(broadloom.Error, words):
                runner_of(config)
        small = runner_of(changed("teacher", hidden_dims=(4, 4)))
        with self.assertRaisesRegex(broadloom.Error, "got shape.*expected"):
            small.load(self.teacher)
        with self.assertRaisesRegex(broadloom.Error, "load_cfg: got 'actor'"):
            runner_of().load(self.teacher, load_cfg={"actor": True})
        with self.assertRaisesRegex(broadloom.Error, "teacher: got none"):
            runner_of().save(self.folder / "student.pt")
        runner = runner_of()
        runner.load(self.teacher)
        with self.assertRaisesRegex(broadloom.Error, "no student_state_dict.*a Distillation"):
            runner.load(self.teacher, load_cfg={"student": True})
        with self.assertRaisesRegex(broadloom.Error, "got 1.5, expected an integer"):
            runner.learn(1.5)
        junk = self.folder / "junk.pt"
        for data in (b"junk", b"", b"PK\x03\x04 junk"):
            junk.write_bytes(data)
            for one in (runner, self.expert):
                with self.assertRaisesRegex(broadloom.Error, "junk.pt.*cannot read.*model_"):
                    one.load(junk)

    def test_runners_of_one_class_learn_at_once(self):
        errors = []

        def learns(widths):
            try:
                runner = runner_of(changed("student", hidden_dims=widths))
                runner.load(self.teacher)
                runner.learn(2)
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=learns, args=((8, n),)) for n in (4, 5, 6, 7)]
        none = io.StringIO()
        with contextlib.redirect_stdout(none), contextlib.redirect_stderr(none):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(errors, [])

    def test_the_module_names_both_runners(self):
        self.assertLessEqual({"DistillationRunner", "OnPolicyRunner"}, {*dir(broadloom.rsl_rl)})


if __name__ == "__main__":
    unittest.main()
