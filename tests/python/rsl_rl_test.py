"""The runner in RSL-RL's form, on NumPy fakes. The parts with torch are in rsl_rl_torch_test.py."""

import contextlib
import copy
import csv
import io
import json
import pathlib
import re
import tempfile
import unittest
import warnings
from unittest import mock

import numpy as np
from tensorboard.backend.event_processing import event_accumulator

import broadloom
from broadloom import _robots, rsl_rl
from broadloom._arguments import text_of
from broadloom._rsl_rl_checkpoint import read_tensors
from broadloom._rsl_rl_keys import ALGORITHM, DISTRIBUTION, MODEL
from broadloom._rsl_rl_log import mean_of
from broadloom._rsl_rl_shapes import Memory, Shapes
from robot_fakes import IsaacLab, LIMIT, Mjlab, PlainRslRl, RslRl
from simulator_cases import parameters

# The form of mjlab's configurations (mjlab 1.6.0, asdict(load_rl_cfg(...))).
CONFIG = {
    "num_steps_per_env": 16,
    "save_interval": 2,
    "seed": 7,
    "max_iterations": 100,
    "experiment_name": "walkers",
    "clip_actions": None,
    "obs_groups": {"actor": ("actor",), "critic": ("critic",)},
    "actor": {
        "class_name": "MLPModel",
        "hidden_dims": (16, 8),
        "activation": "elu",
        "obs_normalization": True,
        "distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 0.5},
        "cnn_cfg": None,
    },
    "critic": {
        "class_name": "MLPModel",
        "hidden_dims": [16, 8],
        "activation": "elu",
        "obs_normalization": True,
    },
    "algorithm": {
        "class_name": "PPO",
        "num_learning_epochs": 2,
        "num_mini_batches": 2,
        "value_loss_coef": 1.5,
        "entropy_coef": 0.003,
        "desired_kl": 0.02,
    },
}


def changed(path, value, also=""):
    """CONFIG with another value. also: a part that gets the value of the same name, too."""
    config = copy.deepcopy(CONFIG)
    *parts, last = path.split(".")
    inner = config
    for part in parts:
        inner = inner[part]
    inner[last] = value
    if also:
        config[also][last] = value
    return config


def recurrent(kind, **keys):
    """CONFIG with a cell of 6 units in both models."""
    config = copy.deepcopy(CONFIG)
    for part in ("actor", "critic"):
        memory = {"class_name": "RNNModel", "rnn_type": kind, "rnn_hidden_dim": 6}
        config[part] |= {**memory, "rnn_num_layers": 1, **keys}
    return config


def made(make=lambda: RslRl(Mjlab(4)), config=CONFIG, **keys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return rsl_rl.OnPolicyRunner(make(), copy.deepcopy(config), **keys)


def learn(runner, iterations, **keys):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        runner.learn(iterations, **keys)
    return runner


def remembered(kind, model, x, h, c):
    """The states (h, c) after x, in the formulas of torch's cells."""
    sums, last = (
        numbers @ model[f"rnn.rnn.weight_{side}_l0"].T + model[f"rnn.rnn.bias_{side}_l0"]
        for side, numbers in (("ih", x), ("hh", h))
    )

    def sigmoid(numbers):
        return 1.0 / (1.0 + np.exp(-numbers))

    if kind == "gru":
        (r, z, n), (r_last, z_last, n_last) = (np.split(one, 3, axis=1) for one in (sums, last))
        n = np.tanh(n + sigmoid(r + r_last) * n_last)
        z = sigmoid(z + z_last)
        return (1.0 - z) * n + z * h, c
    i, f, g, o = np.split(sums + last, 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


class RunnerTest(unittest.TestCase):
    def test_the_same_seed_gives_the_same_bits_with_any_threads(self):
        runs = [
            parameters(learn(made(threads=threads), 3, init_at_random_ep_len=True)._run)
            for threads in (1, 2, 5)
        ]
        self.assertEqual(len(set(runs)), 1)
        other = learn(made(config=changed("seed", 8)), 3, init_at_random_ep_len=True)
        self.assertNotEqual(parameters(other._run), runs[0])

    def test_keys_become_those_of_broadloom(self):
        runner = learn(made(), 1)
        line = json.loads((runner._run.dir / "ledger_line.json").read_text())
        config = json.loads((runner._run.dir / "manifest.json").read_text())["config"]
        for key, value in {
            "num_steps": 16,
            "num_envs": 4,
            "seed": 7,
            "hidden_sizes": [16, 8],
            "activation": "elu",
            "norm_obs": True,
            "norm_reward": False,
            "update_epochs": 2,
            "num_minibatches": 2,
            "clip_coef": 0.2,
            "clip_vloss": True,
            "gamma": 0.99,
            "gae_lambda": 0.95,
            "vf_coef": 3,
            "ent_coef": 0.003,
            "learning_rate": 0.001,
            "lr_schedule": "adaptive",
            "desired_kl": 0.02,
            "max_grad_norm": 1,
            "adam_eps": 1e-8,
            "clip_grads": "apart",
            "shuffle": "block",
            "kl_estimate": "analytic",
            "norm_adv": "batch",
            "truncation_mode": "bootstrap",
        }.items():
            self.assertEqual(config[key], text_of(value), key)
        self.assertTrue(line["contract"]["simulator"]["has_final_observations"])

    def test_keys_that_would_do_nothing_are_left_out(self):
        for path, value, idle in (
            ("algorithm.num_learning_epochs", 1, {"shuffle"}),
            ("algorithm.max_grad_norm", 0.0, {"clip_grads"}),
            ("algorithm.value_loss_coef", 0.0, {"clip_grads", "clip_vloss"}),
            ("num_steps_per_env", 1, {"gae_lambda"}),
        ):
            config = changed(path, value)
            config["algorithm"] |= {"lam": 0.9, "use_clipped_value_loss": False}
            runner = learn(made(config=config), 1)
            self.assertFalse(idle & set(runner.settings), path)
        one_step = changed("algorithm.num_learning_epochs", 1)
        one_step["algorithm"] |= {"num_mini_batches": 1, "clip_param": 0.1, "schedule": "fixed"}
        learn(made(config=one_step), 1)

    def test_a_block_s_first_step_leaves_the_adaptive_rate(self):
        """Its KL is 0, which rounding must not raise above 0."""
        for std in (0.3, 0.5, 0.7, 1.1):
            config = changed("algorithm.desired_kl", 10.0)
            config["algorithm"] |= {"num_learning_epochs": 1, "num_mini_batches": 2}
            config["actor"]["distribution_cfg"]["init_std"] = std
            runner = learn(made(config=config), 3)
            rate = read_tensors(runner._checkpoint)["learner.learning_rate"][0]
            self.assertAlmostEqual(rate, 1e-3 * 1.5**3, places=12, msg=std)

    def test_truncation_is_exact_only_with_last_observations(self):
        for make, exact in (
            (lambda: RslRl(Mjlab(4)), True),
            (lambda: RslRl(IsaacLab(4)), True),
            (lambda: PlainRslRl(4), False),
        ):
            config = changed("obs_groups", {})
            runner = learn(made(make, config), 2)
            line = json.loads((runner._run.dir / "ledger_line.json").read_text())
            found = line["contract"]["simulator"]["has_final_observations"]
            self.assertEqual(found, exact)
            mode = "bootstrap" if exact else "state_value"
            self.assertEqual(runner.settings["truncation_mode"], mode)

    def test_learning_goes_on_with_the_same_episodes(self):
        env = RslRl(Mjlab(4))
        runner = made(lambda: env)
        self.assertTrue(env.cfg.auto_reset)
        learn(runner, 2)
        places = env.env.world.x.copy()
        self.assertEqual(runner.current_learning_iteration, 1)
        self.assertTrue(env.cfg.auto_reset)
        self.assertIsNone(env.env.closed_with)
        moved = []
        step, env.step = (
            env.step,
            lambda actions: (moved.append(env.env.world.x.copy()),) and step(actions),
        )
        learn(runner, 2)
        self.assertEqual(moved[0].tolist(), places.tolist())
        self.assertEqual(len(moved), 2 * CONFIG["num_steps_per_env"])
        self.assertEqual(runner._run.global_step, 4 * 4 * 16)

    def test_iterations_are_counted_on_after_a_simulator_failed(self):
        for before in (0, 2):
            with self.subTest(before=before):
                env = RslRl(Mjlab(4))
                runner = made(lambda env=env: env)
                if before:
                    learn(runner, before)
                step, left = env.step, [3 * CONFIG["num_steps_per_env"] + 5]

                def failing(actions, step=step, left=left):
                    left[0] -= 1
                    if left[0] == 0:
                        raise RuntimeError("out of power")
                    return step(actions)

                env.step = failing
                with self.assertRaisesRegex(RuntimeError, "out of power"):
                    learn(runner, 6)
                last = runner.current_learning_iteration
                self.assertEqual(last, max(before - 1, 0) + 2)
                learn(runner, 2)
                self.assertEqual(runner.current_learning_iteration, last + 1)
                self.assertEqual(runner._run.global_step, 2 * 4 * 16)  # of a run of its own

    def test_a_new_runner_steps_no_environment(self):
        for make in (lambda: RslRl(Mjlab(4)), lambda: RslRl(IsaacLab(4)), lambda: PlainRslRl(4)):
            env = make()
            with mock.patch.object(env, "step", side_effect=AssertionError) as step:
                made(lambda env=env: env, changed("obs_groups", {}))
            self.assertFalse(step.called)

    def test_episodes_without_end_can_be_played_and_learnt_from(self):
        env = RslRl(Mjlab(4))
        env.env.max_episode_length = env.max_episode_length = 50_000_000_000  # mjlab's `play`
        learn(made(lambda: env), 1, init_at_random_ep_len=True)

    def test_what_environments_log_is_averaged_as_rsl_rl_does(self):
        class Watched(Mjlab):
            def __init__(self, num_envs):
                super().__init__(num_envs)
                self.places, self.counts = [], []

            def step(self, actions):
                found = super().step(actions)
                self.places.append(found[4]["log"]["Metrics/place"])
                found[4]["log"] |= {"learning_rate": 5.0, "global_step": 9}
                self.counts.append([])
                return found

            def reset(self, **keys):
                found = super().reset(**keys)
                if self.counts:
                    self.counts[-1].append(found[1]["log"]["Episode_Termination/time_out"])
                return found

        env, steps = Watched(4), CONFIG["num_steps_per_env"]
        with tempfile.TemporaryDirectory() as folder:
            runner = made(lambda: RslRl(env), log_dir=folder)
            runner.save = lambda path: None  # needs torch
            learn(learn(runner, 2), 3)
            lines = (runner._run.dir / "environment.jsonl").read_text().splitlines()
            broadloom.log_to(runner._run, "csv")
            with open(runner._run.dir / "metrics.csv", newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            events = event_accumulator.EventAccumulator(folder).Reload()
            tag = "Metrics/place"
            curve = [(one.step, one.tensor_proto.float_val[0]) for one in events.Tensors(tag)]
            self.assertIn("Episode/learning_rate", events.Tags()["tensors"])
        self.assertEqual(len(lines), 5)
        for i, line in enumerate(map(json.loads, lines)):
            block = slice(i * steps, (i + 1) * steps)
            counts = sum(env.counts[block], [])
            self.assertEqual(line["global_step"], (i + 1) * 4 * steps)
            self.assertAlmostEqual(line[tag], np.mean(env.places[block]), places=6)
            self.assertAlmostEqual(line["Episode_Termination/time_out"], np.mean(counts))
            self.assertEqual(float(rows[i][tag]), line[tag])
            self.assertEqual((line["Episode/learning_rate"], line["Episode/global_step"]), (5, 9))
            self.assertLess(float(rows[i]["learning_rate"]), 1)  # the learner's own
            self.assertAlmostEqual(curve[i][1], line[tag], places=6)
        # learn() repeats the number of its last iteration, as RSL-RL's does.
        self.assertEqual([step for step, _ in curve], [0, 1, 1, 2, 3])

    def test_logs_that_are_no_numbers_are_left_out(self):
        steps = [{"episode/a": 1.0, "b": "text"}, {"episode/a": [2.0, 6.0], "c": float("nan")}]
        found = {key: mean_of(steps, key) for key in ("episode/a", "b", "c")}
        self.assertEqual(found, {"episode/a": 3.0, "b": None, "c": None})
        for extras, expected in (
            ({"episode": {"a": 1}, "log": {"b": 2}}, {"a": 1}),
            ({"log": {"b": 2}}, {"b": 2}),
            ({}, {}),
        ):
            self.assertEqual(_robots.log_of(extras), expected)

    def test_counts_of_steps_are_drawn_within_an_episode(self):
        env = PlainRslRl(64)
        runner = made(lambda: env, changed("obs_groups", {}))
        runner._stagger()
        counts = env.episode_length_buf
        self.assertTrue(counts.min() >= 0 and counts.max() < LIMIT and counts.max() > LIMIT // 2)

    def test_counts_that_cannot_hold_the_limit_stay(self):
        for dtype, limit, stay in (
            (np.int32, 50_000_000_000, True),
            (np.int64, 50_000_000_000, False),
            (np.int32, 2**31, False),
            (np.int16, LIMIT, False),
        ):
            with self.subTest(dtype=dtype, limit=limit):
                env = PlainRslRl(64)
                env.max_episode_length = limit
                env.episode_length_buf = np.full(64, 3, dtype)
                made(lambda env=env: env, changed("obs_groups", {}))._stagger()
                counts = env.episode_length_buf
                self.assertEqual(counts.dtype, dtype)
                self.assertEqual((counts == 3).all(), stay)
                self.assertTrue(counts.min() >= 0 and counts.max() < limit)

    def test_what_cannot_be_honoured_is_refused(self):
        for path, value, words in (
            ("algorithm.optimizer", "adamw", "algorithm.optimizer = 'adamw', expected 'adam'"),
            ("algorithm.rnd_cfg", {"weight": 1.0}, "algorithm.rnd_cfg"),
            ("algorithm.use_mixed_precision", True, "algorithm.use_mixed_precision"),
            ("algorithm.nothing_like_it", 1, "algorithm.nothing_like_it"),
            ("algorithm.class_name", "Distillation", "expected 'PPO'"),
            ("actor.class_name", "rsl_rl.models:CNNModel", "expected 'MLPModel'"),
            ("actor.rnn_type", "lstm", "class_name = 'MLPModel', expected class_name = 'RNNModel'"),
            ("actor.class_name", "RNNModel", "actor with lstm of 256 units and critic with no mem"),
            ("actor.hidden_dims", (8, 8), "actor.hidden_dims = .* expected equal ones"),
            ("actor.activation", "selu", "expected 'elu' or 'relu' or 'tanh'"),
            ("critic.obs_normalization", False, "expected equal ones"),
            ("actor.distribution_cfg.class_name", "BetaDistribution", "GaussianDistribution"),
            ("actor.distribution_cfg.learn_std", False, "learn_std"),
            ("obs_groups", {"actor": ["lidar"]}, "'lidar' for actor, expected some of 'actor', 'c"),
            ("obs_groups", {"actor": "actor"}, "expected a list of groups"),
            ("obs_groups", {"actor": 5}, "obs_groups.actor = 5, expected a list of groups"),
            ("obs_groups", {"actor": []}, r"obs_groups.actor = \[\], expected a list of groups"),
            ("save_interval", 0, r"save_interval = 0 \(int\), expected a whole number of at least"),
            ("seed", None, r"seed = None \(NoneType\), expected a whole number of at least 0"),
            ("seed", True, r"seed = True \(bool\), expected a whole number"),
            ("num_steps_per_env", 2.7, r"steps_per_env = 2.7 \(float\), expected a whole number"),
            ("algorithm.num_learning_epochs", "3", r"epochs = '3' \(str\), expected a whole"),
            ("algorithm.num_mini_batches", 2.0, r"batches = 2.0 \(float\), expected a whole"),
            ("algorithm.max_grad_norm", None, r"max_grad_norm = None .*expected a value such as 1"),
            ("algorithm.gamma", 10**400, r"gamma = 10{400} \(int\), expected a value such as 0.99"),
            ("algorithm.desired_kl", [1], r"desired_kl = \[1\] \(list\), expected a value such as"),
            ("algorithm.symmetry_cfg", True, "algorithm.symmetry_cfg = True, expected a dict"),
            ("actor.distribution_cfg.init_std", 0.0, "init_std = 0.0 .*expected a number above 0"),
            ("actor.distribution_cfg.std_range", 2.0, "std_range = 2.0 .*expected a value such as"),
        ):
            with self.subTest(path), self.assertRaisesRegex(broadloom.Error, words):
                made(config=changed(path, value))
        # A value of a type that no key takes, wherever a key takes words, numbers or a dict.
        array = np.array(["elu", "relu"])
        for path, expected in (
            ("actor", "a dict"),
            ("algorithm", "a dict"),
            ("obs_groups", "a dict"),
            ("multi_gpu", "None"),
            ("check_for_nan", "True or False"),
            ("upload_model", "True or False"),
            ("algorithm.optimizer", "'adam'"),
            ("algorithm.schedule", "'adaptive' or 'fixed'"),
            ("algorithm.rnd_cfg", "None or {}"),
            ("algorithm.symmetry_cfg", "a dict"),
            ("algorithm.class_name", "'PPO'"),
            ("algorithm.use_mixed_precision", "False"),
            ("algorithm.use_clipped_value_loss", "True or False"),
            ("algorithm.normalize_advantage_per_mini_batch", "True or False"),
            ("actor.activation", "'elu' or 'relu' or 'tanh'"),
            ("actor.obs_normalization", "True or False"),
            ("actor.cnn_cfg", "None"),
            ("actor.distribution_cfg", "a dict"),
            ("actor.distribution_cfg.std_type", "'scalar' or 'log'"),
            ("actor.distribution_cfg.learn_std", "True"),
            ("algorithm.desired_kl", "a value such as 0.01"),
        ):
            for value in (array, np.array([["elu"]])):
                got = f"got {path} = {value!r}"
                with self.subTest(path), self.assertRaises(broadloom.Error) as refused:
                    made(config=changed(path, value))
                text = str(refused.exception)
                self.assertIn(got, text)
                self.assertIn(f"expected {expected}", text)
        for logger in (array, 5):
            with self.assertRaisesRegex(broadloom.Error, "expected 'tensorboard' or 'wandb'"):
                made(config=changed("logger", logger))._sinks()
        project = changed("logger", "wandb") | {"wandb_project": array}
        with self.assertRaisesRegex(broadloom.Error, "wandb_project = array.* expected a name"):
            made(config=project)._sinks()
        for value in (array, 1, "False"):
            words = re.escape(f"load_cfg: got actor = {value!r}, expected True or False")
            with self.assertRaisesRegex(broadloom.Error, words):
                rsl_rl.check_load_cfg({"actor": value}, ("actor",))
        for value in (array, True, 2.0, 0):
            words = re.escape(f"num_learning_iterations: got {value!r}, expected an integer")
            with self.assertRaisesRegex(broadloom.Error, words):
                made().learn(value)
        for value in ((16.0, 8), (True, 8), (0, 8), (-1, 8), (16, 10**9)):
            words = re.escape(f"actor.hidden_dims = {value} (tuple), expected a list of whole")
            with self.subTest(value), self.assertRaisesRegex(broadloom.Error, words):
                made(config=changed("actor.hidden_dims", value, "critic"))
        with self.assertRaisesRegex(broadloom.Error, r"logger = \{\}, expected 'tensorboard'"):
            made(config=changed("logger", {}))._sinks()
        old = {"policy": {"class_name": "ActorCritic"}, "algorithm": {}}
        with self.assertRaisesRegex(broadloom.Error, "'policy' of RSL-RL before 4.0"):
            made(config=old)
        with self.assertRaisesRegex(broadloom.Error, "get_observations"):
            made(lambda: IsaacLab(2))

    def test_texts_of_numbers_and_truths_are_refused(self):
        for path, value in (
            ("algorithm.learning_rate", "1e-3"),  # as YAML reads it
            ("algorithm.gamma", "0.99"),
            ("algorithm.lam", "0.95"),
            ("algorithm.clip_param", "0.2"),
            ("algorithm.entropy_coef", "0.01"),
            ("algorithm.value_loss_coef", "1.0"),
            ("algorithm.max_grad_norm", b"1.0"),
            ("algorithm.desired_kl", "0.01"),
            ("actor.distribution_cfg.init_std", "0.5"),
            ("actor.distribution_cfg.std_range", "12"),
            ("actor.distribution_cfg.std_range", ("0.1", "1.0")),
        ):
            got = f"{path} = {value!r} ({type(value).__name__})"
            words = re.escape(f"{got}, expected a number, not")
            with self.subTest(path), self.assertRaisesRegex(broadloom.Error, words):
                made(config=changed(path, value))
        for path in ("algorithm.use_clipped_value_loss", "check_for_nan", "upload_model"):
            for value in ("False", 0, None):
                words = re.escape(f"{path} = {value!r} ({type(value).__name__}), expected True or")
                with self.subTest(path), self.assertRaisesRegex(broadloom.Error, words):
                    made(config=changed(path, value))
        for value in (True, np.True_):
            with self.assertRaisesRegex(broadloom.Error, "gamma = .*expected a value such as 0.99"):
                made(config=changed("algorithm.gamma", value))

    def test_numbers_of_numpy_count_as_numbers(self):
        config = changed("algorithm.learning_rate", np.array(2e-3))
        config["algorithm"] |= {"gamma": np.float64(0.9), "use_clipped_value_loss": np.False_}
        config["algorithm"] |= {"use_mixed_precision": np.False_, "rnd_cfg": {}}
        config["algorithm"] |= {"schedule": np.str_("fixed"), "max_grad_norm": 2}
        settings = made(config=config).settings
        expected = {
            "learning_rate": 2e-3, "gamma": 0.9, "clip_vloss": False, "lr_schedule": "constant",
            "max_grad_norm": 2.0,
        }  # fmt: skip
        self.assertEqual({key: settings[key] for key in expected}, expected)

    def test_cells_that_broadloom_has_not_are_refused(self):
        symmetric, many = recurrent("gru"), recurrent("gru")
        symmetric["algorithm"]["symmetry_cfg"] = {"data_augmentation_func": None}
        many["algorithm"]["num_mini_batches"] = 5
        other = recurrent("lstm")
        other["critic"]["rnn_type"] = "gru"
        for config, words in (
            (recurrent("mingru"), "actor.rnn_type = 'mingru', expected 'lstm' or 'gru'"),
            (recurrent(None), "actor.rnn_type = None, expected 'lstm' or 'gru'"),
            (recurrent(5), "actor.rnn_type = 5, expected 'lstm' or 'gru'"),
            *((recurrent("lstm", rnn_num_layers=one),
               re.escape(f"actor.rnn_num_layers = {one!r} ({name}), expected 1, since"))
              for one, name in ((2, "int"), (True, "bool"), (1.0, "float"))),
            *((recurrent("lstm", rnn_hidden_dim=one),
               re.escape(f"actor.rnn_hidden_dim = {one!r} ({name}), expected a whole number from 1 "
                         "to 65536"))
              for one, name in ((0, "int"), (10**9, "int"), (True, "bool"), (2.0, "float"),
                                ("6", "str"), (None, "NoneType"))),
            (other, "actor with lstm of 6 units and critic with gru of 6 units, expected equal"),
            (symmetric, "symmetry_cfg with RNNModel, expected none"),
            (many, "num_minibatches: got 5 .* expected at most num_envs"),
        ):  # fmt: skip
            with self.subTest(words), self.assertRaisesRegex(broadloom.Error, words):
                made(config=config)

    def test_keys_of_a_cell_become_those_of_broadloom(self):
        for config, expected in (
            (recurrent("GRU"), ("gru", 6)),
            (recurrent("lstm", class_name="rsl_rl.models:RNNModel"), ("lstm", 6)),
            (recurrent("gru", rnn_hidden_dim=np.int64(6), rnn_num_layers=np.int64(1)), ("gru", 6)),
        ):
            settings = made(config=config).settings
            self.assertEqual((settings["recurrent"], settings["recurrent_units"]), expected)
            self.assertEqual(settings["shuffle"], "off")
        config = recurrent("lstm")
        for part in ("actor", "critic"):  # RSL-RL's defaults
            for key in ("rnn_type", "rnn_hidden_dim", "rnn_num_layers"):
                del config[part][key]
        settings = made(config=config).settings
        self.assertEqual((settings["recurrent"], settings["recurrent_units"]), ("lstm", 256))
        with self.assertWarnsRegex(UserWarning, "RSL-RL leaves out the last 1"):
            rsl_rl.OnPolicyRunner(RslRl(Mjlab(5)), recurrent("lstm"))

    def test_networks_that_memory_cannot_hold_are_refused(self):
        # Actor and critic have 2 and 3 numbers to read, 16 and 8 hidden ones, 3 and 1 outputs. A
        # cell of 6 units has 4 sums of its inputs, of its state, and two biases each.
        plain = (3 * 16 + 17 * 8 + 9 * 3) + (4 * 16 + 17 * 8 + 9 * 1) + 3
        cells = 4 * 6 * (2 + 6 + 2) + 4 * 6 * (3 + 6 + 2) + (7 - 3) * 16 + (7 - 4) * 16
        for config, count, words in (
            (CONFIG, plain, "make hidden_dims smaller"),
            (recurrent("lstm"), plain + cells, "make hidden_dims or rnn_hidden_dim smaller"),
        ):
            for memory in (0, 20 * count):  # 0: not known
                with mock.patch.object(rsl_rl, "free_memory", return_value=memory):
                    made(lambda: RslRl(Mjlab(4, num_actions=3)), config)
            words = f"got networks of {count} parameters, .* expected at most .* MB .*{words}"
            with mock.patch.object(rsl_rl, "free_memory", return_value=20 * count - 1):
                with self.assertRaisesRegex(broadloom.Error, words):
                    made(lambda: RslRl(Mjlab(4, num_actions=3)), config)

    def test_differences_are_named_in_one_warning(self):
        config = changed("check_for_nan", False)
        config["strange"] = 1
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rsl_rl.OnPolicyRunner(RslRl(Mjlab(2)), config)
        texts = [str(one.message) for one in caught if "train_cfg" in str(one.message)]
        self.assertEqual(len(texts), 1)
        for key in (
            "strange",
            "check_for_nan",
        ):
            self.assertIn(key, texts[0])
        self.assertNotIn("experiment_name", texts[0])

    def test_first_parameters_are_drawn_as_torch_draws_them(self):
        shapes = Shapes((5, 400, 3), (7, 400, 1))
        actor, critic, deviation = shapes.unpacked(shapes.drawn(1, 0.5))
        self.assertEqual(deviation.tolist(), [0.5] * 3)
        for model, inputs in ((actor, 5), (critic, 7)):
            for name, bound in (("mlp.0", inputs**-0.5), ("mlp.2", 400**-0.5)):
                for kind in ("weight", "bias"):
                    drawn = np.abs(model[f"{name}.{kind}"])
                    self.assertLessEqual(drawn.max(), np.float32(bound))
            self.assertGreater(np.abs(model["mlp.0.weight"]).max(), 0.99 * inputs**-0.5)
        self.assertFalse(np.array_equal(shapes.drawn(1, 1), shapes.drawn(2, 1)))
        packed = shapes.packed(actor, critic, deviation)
        self.assertTrue(np.array_equal(packed, shapes.drawn(1, 0.5)))

    def test_cells_are_drawn_as_torch_draws_them(self):
        for kind, gates in (("lstm", 4), ("gru", 3)):
            shapes = Shapes((5, 8, 3), (7, 8, 1), Memory(kind, 400))
            models = shapes.unpacked(shapes.drawn(1, 0.5))
            for model, inputs, outputs in zip(models[:2], (5, 7), (3, 1), strict=True):
                sums = 400 * gates
                expected = {
                    "mlp.0.weight": (8, 400), "mlp.0.bias": (8,),
                    "mlp.2.weight": (outputs, 8), "mlp.2.bias": (outputs,),
                    "rnn.rnn.weight_ih_l0": (sums, inputs), "rnn.rnn.weight_hh_l0": (sums, 400),
                    "rnn.rnn.bias_ih_l0": (sums,), "rnn.rnn.bias_hh_l0": (sums,),
                }  # fmt: skip
                self.assertEqual(
                    [(name, array.shape) for name, array in model.items()], list(expected.items())
                )
                for name, array in model.items():
                    if name.startswith(("rnn", "mlp.0")):
                        self.assertLessEqual(np.abs(array).max(), np.float32(0.05))
                        self.assertGreater(np.abs(array).max(), 0.03)
            packed = shapes.packed(*models)
            self.assertTrue(np.array_equal(packed, shapes.drawn(1, 0.5)))

    def test_a_cell_is_torch_s(self):
        for kind in ("lstm", "gru"):
            runner = learn(made(lambda: RslRl(Mjlab(4, num_actions=3)), recurrent(kind)), 2)
            tensors = read_tensors(runner._checkpoint)
            actor = runner._shapes.unpacked(tensors["learner.params"])[0]
            policy = broadloom.Policy(runner._run)
            state, h, c = None, np.zeros((9, 6)), np.zeros((9, 6))
            random = np.random.default_rng(1)
            for step in range(20):
                rows = random.normal(size=(9, 2)).astype(np.float32)
                outputs, _, state = policy.outputs(rows, state=state)
                x = rows - tensors["obs_normalizer.mean"]
                x = x / (np.sqrt(tensors["obs_normalizer.var"]) + 1e-2)
                h, c = remembered(kind, actor, x, h, c)
                x = h
                for i in (0, 2, 4):
                    x = x @ actor[f"mlp.{i}.weight"].T + actor[f"mlp.{i}.bias"]
                    x = x if i == 4 else np.where(x > 0, x, np.expm1(x))
                self.assertTrue(np.allclose(outputs, x, atol=1e-5), (kind, step))
                ended = random.uniform(size=9) < 0.2
                for one in (h, c, state):
                    one[ended] = 0.0

    def test_parameters_lie_where_the_engine_reads_them(self):
        runner = learn(made(lambda: RslRl(Mjlab(4, num_actions=3))), 2)
        tensors = read_tensors(runner._checkpoint)
        actor = runner._shapes.unpacked(tensors["learner.params"])[0]
        rows = np.random.default_rng(1).normal(size=(9, 2)).astype(np.float32)
        x = rows - tensors["obs_normalizer.mean"]
        x = x / (np.sqrt(tensors["obs_normalizer.var"]) + 1e-2)
        for i in (0, 2, 4):
            x = x @ actor[f"mlp.{i}.weight"].T + actor[f"mlp.{i}.bias"]
            x = x if i == 4 else np.where(x > 0, x, np.expm1(x))
        policy = broadloom.Policy(runner._run)
        self.assertTrue(np.allclose(policy.outputs(rows)[0], x, atol=1e-5))

    def test_the_page_names_every_key(self):
        page = pathlib.Path(__file__).parents[2] / "docs" / "robots.md"
        text = page.read_text()
        for table in (ALGORITHM, MODEL, DISTRIBUTION):
            for key, row in table.items():
                self.assertIn(key, text)
                if row.turn is not None:
                    self.assertIn(row.ours, text)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        unittest.main()
