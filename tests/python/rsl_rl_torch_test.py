"""The runner's checkpoints, policies and exports, with torch; beside RSL-RL's own where it is
installed."""

import copy
import importlib.util
import pathlib
import tempfile
import unittest
import warnings

import numpy as np
import torch

import broadloom
from broadloom._rsl_rl_checkpoint import read_tensors
from robot_fakes import Mjlab, PlainRslRl, RslRl
from rsl_rl_test import changed, CONFIG, learn, made

ROWS = {
    "actor": torch.from_numpy(np.random.default_rng(1).normal(size=(9, 2)).astype("f4")),
    "critic": torch.from_numpy(np.random.default_rng(2).normal(size=(9, 3)).astype("f4")),
}
# The fakes' second observation is always 1. RSL-RL does not clip what differs from the constant.
ROWS["actor"][:, 1] = 1.0
has_rsl_rl = importlib.util.find_spec("rsl_rl") is not None


class Tensors(RslRl):
    """The fake of RSL-RL's interface with tensors, as mjlab and Isaac Lab give them."""

    def __init__(self, num_envs=4):
        super().__init__(Mjlab(num_envs, num_actions=3))
        self.episode_length_buf = torch.zeros(num_envs, dtype=torch.long)
        self.env.reset = self.reset_ids
        self.env.device = "cpu"

    def tensors(self, rows):
        rows = {key: torch.from_numpy(row) for key, row in rows.items()}
        if has_rsl_rl:
            from tensordict import TensorDict

            return TensorDict(rows, batch_size=[self.num_envs])
        return rows

    def reset_ids(self, *, seed=None, env_ids=None, options=None):
        ids = None if env_ids is None else env_ids.numpy()
        rows, infos = Mjlab.reset(self.env, seed=seed, env_ids=ids)
        return self.tensors(rows), infos

    def get_observations(self):
        return self.tensors(self.env.get_observations())

    def step(self, actions):
        assert torch.is_tensor(actions) and not torch.is_grad_enabled()
        rows, rewards, dones, extras = super().step(actions.numpy())
        extras["time_outs"] = torch.from_numpy(extras["time_outs"])
        rewards = torch.from_numpy(rewards).float()
        return self.tensors(rows), rewards, torch.from_numpy(dones), extras


def left_and_right(env, obs, actions):
    """Rows and their images, in the form that RSL-RL asks for."""
    turn = {"actor": torch.tensor([-1.0, 1.0]), "critic": torch.tensor([-1.0, 1.0, 1.0])}
    if obs is not None:
        rows = {name: torch.cat([obs[name], obs[name] * turn[name]]) for name in turn}
        obs = rows
    return obs, None if actions is None else torch.cat([actions, -actions])


class SymmetryTest(unittest.TestCase):
    def config(self, **keys):
        base = {"data_augmentation_func": left_and_right, "use_data_augmentation": True}
        return changed("algorithm.symmetry_cfg", {**base, **keys})

    def test_the_function_becomes_signed_permutations(self):
        runner = made(Tensors, self.config(use_mirror_loss=True, mirror_loss_coeff=0.25))
        expected = {
            "mirror_samples": True, "mirror_coef": 0.25, "env.mirror_obs": "-0 +1",
            "env.mirror_critic": "-0 +1 +2", "env.mirror_action": "-0 -1 -2",
        }  # fmt: skip
        self.assertEqual({key: runner.settings.get(key) for key in expected}, expected)
        learn(runner, 2)
        plain = learn(made(Tensors), 2)
        own, other = (read_tensors(one._checkpoint)["learner.params"] for one in (runner, plain))
        self.assertFalse(np.array_equal(own, other))
        mean = read_tensors(runner._checkpoint)["obs_normalizer.mean"]
        self.assertEqual(mean[0], 0.0)

    def test_a_function_that_only_logs_changes_nothing(self):
        runner = made(Tensors, self.config(use_data_augmentation=False))
        self.assertNotIn("env.mirror_obs", runner.settings)

    def test_functions_that_cannot_be_honoured_are_refused(self):
        def thrice(env, obs, actions):
            rows = {name: torch.cat([obs[name]] * 3) for name in obs.keys()}
            return rows, torch.cat([actions] * 3)

        def scaled(env, obs, actions):
            rows = {name: torch.cat([obs[name], 0.5 * obs[name]]) for name in obs.keys()}
            return rows, torch.cat([actions, -actions])

        def a_third(env, obs, actions):
            rows = {name: torch.cat([obs[name], obs[name]]) for name in obs.keys()}
            return rows, torch.cat([actions, actions.roll(1, -1)])

        def a_quarter(env, obs, actions):
            _, acted = left_and_right(env, None, actions)
            turned = {name: obs[name].flip(-1).clone() for name in obs.keys()}
            turned["actor"][:, 0] *= -1
            return {name: torch.cat([obs[name], turned[name]]) for name in turned}, acted

        for keys, words in (
            ({"data_augmentation_func": thrice}, "gives 3 rows for one, expected 2"),
            ({"data_augmentation_func": scaled}, "no signed permutations"),
            ({"data_augmentation_func": a_third}, "expected a mirror: twice gives the row again"),
            ({"data_augmentation_func": a_quarter}, "expected a mirror: twice gives the row"),
            ({"data_augmentation_func": "nowhere:at_all"}, "'nowhere:at_all', expected a function"),
            ({"use_augmentation": True}, "the key 'use_augmentation' in algorithm.symmetry_cfg"),
            ({"use_data_augmentation": "False"}, "augmentation = 'False' .*expected True or False"),
            ({"use_mirror_loss": torch.ones(2)}, "use_mirror_loss = .*expected True or False"),
            ({"mirror_loss_coeff": "0.5"}, "coeff = '0.5' .*expected a number, not its text"),
        ):
            with self.subTest(words), self.assertRaisesRegex(broadloom.Error, words):
                made(Tensors, self.config(**keys))

    def test_tensors_count_as_numbers_but_not_as_words(self):
        config = self.config()
        config["algorithm"] |= {"learning_rate": torch.tensor(2e-3), "gamma": torch.ones(2)}
        with self.assertRaisesRegex(broadloom.Error, "gamma = .*expected a value such as 0.99"):
            made(Tensors, config)
        config["algorithm"] |= {"gamma": 0.9, "schedule": torch.ones(2)}
        with self.assertRaisesRegex(broadloom.Error, "expected 'adaptive' or 'fixed'"):
            made(Tensors, config)
        config["algorithm"]["schedule"] = "fixed"
        rate = made(Tensors, config).settings["learning_rate"]
        self.assertAlmostEqual(rate, 2e-3, places=9)


class CheckpointTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_models_have_the_names_and_layout_of_rsl_rl(self):
        runner = learn(made(Tensors, log_dir=self.folder), 4, init_at_random_ep_len=True)
        found = sorted(path.name for path in self.folder.glob("*.pt"))
        self.assertEqual(found, ["model_0.pt", "model_2.pt", "model_3.pt"])
        saved = torch.load(self.folder / "model_3.pt", weights_only=True)
        self.assertEqual(saved["iter"], 3)
        self.assertEqual(
            sorted(saved["actor_state_dict"]),
            sorted(
                [f"mlp.{i}.{kind}" for i in (0, 2, 4) for kind in ("bias", "weight")]
                + [f"obs_normalizer.{name}" for name in ("_mean", "_var", "_std", "count")]
                + ["distribution.std_param"]
            ),
        )
        count = int(saved["actor_state_dict"]["obs_normalizer.count"])
        self.assertEqual(count, 4 * 4 * CONFIG["num_steps_per_env"])
        policy = runner.get_inference_policy()
        actions = broadloom.Policy(runner._run).act(ROWS["actor"].numpy())
        self.assertTrue(np.allclose(policy(ROWS).numpy(), actions, atol=1e-5))

    def test_a_loaded_checkpoint_is_saved_again_as_it_was(self):
        for std_type in ("scalar", "log"):
            config = changed("actor.distribution_cfg.std_type", std_type)
            first = learn(made(Tensors, config), 3)
            first.save(self.folder / "a.pt", {"note": 1})
            second = made(Tensors, config)
            self.assertEqual(second.load(self.folder / "a.pt"), {"note": 1})
            self.assertEqual(second.current_learning_iteration, 2)
            second.save(self.folder / "b.pt", {"note": 1})
            a, b = (torch.load(self.folder / name, weights_only=True) for name in ("a.pt", "b.pt"))
            for part in ("actor_state_dict", "critic_state_dict"):
                for name, value in a[part].items():
                    self.assertTrue(torch.allclose(value, b[part][name], rtol=1e-5), name)
            for i, state in a["optimizer_state_dict"]["state"].items():
                for name, value in state.items():
                    other = b["optimizer_state_dict"]["state"][i][name]
                    self.assertTrue(torch.allclose(value, other, rtol=1e-5, atol=1e-12), (i, name))
            rate = a["optimizer_state_dict"]["param_groups"][0]["lr"]
            self.assertEqual(rate, b["optimizer_state_dict"]["param_groups"][0]["lr"])
            learn(second, 1)
            self.assertEqual(second.current_learning_iteration, 2)

    def test_parts_of_a_checkpoint_are_taken_alone(self):
        first = learn(made(Tensors), 2)
        first.save(self.folder / "a.pt")
        second = made(Tensors)
        before = second._saved()
        second.load(self.folder / "a.pt", load_cfg={"actor": True})
        after, theirs = second._saved(), first._saved()
        weight = "mlp.0.weight"
        for part, expected in (("actor_state_dict", theirs), ("critic_state_dict", before)):
            self.assertTrue(np.array_equal(after[part][weight], expected[part][weight]))
        self.assertEqual(second.current_learning_iteration, 0)

    def test_a_checkpoint_of_another_task_is_refused(self):
        learn(made(Tensors), 1).save(self.folder / "a.pt")
        other = made(lambda: PlainRslRl(4), changed("obs_groups", {"actor": ["policy", "critic"]}))
        with self.assertRaisesRegex(broadloom.Error, r"got shape \(16, 2\), expected \(16, 5\)"):
            other.load(self.folder / "a.pt")
        without = made(Tensors, changed("actor.obs_normalization", False, "critic"))
        with self.assertRaisesRegex(broadloom.Error, "actor: got obs_normalizer, expected"):
            without.load(self.folder / "a.pt")
        with self.assertRaisesRegex(broadloom.Error, "got 'actr', expected some of actor"):
            without.load(self.folder / "a.pt", load_cfg={"actr": True})
        head = 5  # the actor's last weights, after the deviation and two layers of two arrays
        for words, change in (
            (r"deviation: got shape \(1,\), expected \(3,\)", ("distribution.std_param", (1,))),
            (r"obs_normalizer._std: got shape \(5,\), expected \(2,\)",
             ("obs_normalizer._std", (1, 5))),
            (r"moments of parameter 5: got shape \(8, 3\), expected \(3, 8\)", (head, (8, 3))),
        ):  # fmt: skip
            found = torch.load(self.folder / "a.pt", weights_only=True)
            part, shape = change
            if part == head:
                found["optimizer_state_dict"]["state"][head]["exp_avg"] = torch.zeros(shape)
            else:
                found["actor_state_dict"][part] = torch.ones(shape)
            torch.save(found, self.folder / "b.pt")
            with self.assertRaisesRegex(broadloom.Error, words):
                made(Tensors).load(self.folder / "b.pt")
        torch.save({"student_state_dict": {}}, self.folder / "c.pt")
        with self.assertRaisesRegex(broadloom.Error, "got no actor_state_dict"):
            made(Tensors).load(self.folder / "c.pt")

    def test_numbers_that_are_not_finite_are_named(self):
        learn(made(Tensors), 1).save(self.folder / "a.pt")
        for words, change in (
            (r"actor's mlp\.2\.weight: got nan at \[1, 0\]",
             lambda one: one["actor_state_dict"]["mlp.2.weight"][1].fill_(torch.nan)),
            (r"critic's mlp\.4\.bias: got inf at \[0\]",
             lambda one: one["critic_state_dict"]["mlp.4.bias"].fill_(torch.inf)),
            (r"actor's deviation: got nan at \[2\]",
             lambda one: one["actor_state_dict"]["distribution.std_param"][2:].fill_(torch.nan)),
            (r"actor's obs_normalizer\._mean: got nan at \[1\]",
             lambda one: one["actor_state_dict"]["obs_normalizer._mean"][0, 1:].fill_(torch.nan)),
            (r"moments of parameter 5: got nan at \[0, 0\]",
             lambda one: one["optimizer_state_dict"]["state"][5]["exp_avg_sq"].fill_(torch.nan)),
            (r"learning rate: got nan",
             lambda one: one["optimizer_state_dict"]["param_groups"][0].update(lr=torch.nan)),
        ):  # fmt: skip
            found = torch.load(self.folder / "a.pt", weights_only=True)
            change(found)
            torch.save(found, self.folder / "b.pt")
            with self.subTest(words), self.assertRaisesRegex(broadloom.Error, "b.pt: " + words):
                made(Tensors).load(self.folder / "b.pt")

    def test_numbers_of_fewer_bits_are_read(self):
        learn(made(Tensors), 1).save(self.folder / "a.pt")
        for dtype in (torch.bfloat16, torch.float16, torch.float8_e5m2):
            found = torch.load(self.folder / "a.pt", weights_only=True)
            adam = found["optimizer_state_dict"]["state"]
            for part in (found["actor_state_dict"], found["critic_state_dict"], *adam.values()):
                for name, value in part.items():
                    if value.is_floating_point() and name != "step":
                        part[name] = torch.nn.Parameter(value.to(dtype), requires_grad=False)
            torch.save(found, self.folder / "b.pt")
            runner = made(Tensors)
            runner.load(self.folder / "b.pt")
            runner.save(self.folder / "c.pt")
            again = torch.load(self.folder / "c.pt", weights_only=True)
            for part in ("actor_state_dict", "critic_state_dict"):
                for name, value in again[part].items():
                    expected = found[part][name].to(value.dtype)
                    if name != "obs_normalizer._var":  # the square of _std
                        self.assertTrue(torch.equal(value, expected), (dtype, part, name))
            for i, state in again["optimizer_state_dict"]["state"].items():
                for name, value in state.items():
                    self.assertTrue(torch.equal(value, adam[i][name].float()), (dtype, i, name))

    def test_parts_that_are_no_real_numbers_are_named(self):
        learn(made(Tensors), 1).save(self.folder / "a.pt")
        zeros = torch.zeros(8, 16)

        def weight(value):
            return lambda one: one["actor_state_dict"].update({"mlp.2.weight": value})

        for words, change in (
            (r"actor's mlp\.2\.weight: got a tensor of torch.complex64, expected a tensor of real",
             weight(zeros.to(torch.complex64))),
            (r"actor's mlp\.2\.weight: got a tensor of torch.bool, expected", weight(zeros.bool())),
            (r"actor's mlp\.2\.weight: got a tensor of torch.float32, torch.sparse_coo, expected",
             weight(zeros.to_sparse())),
            (r"actor's mlp\.2\.weight: got list, expected a tensor of real", weight([1.0])),
            (r"actor_state_dict: got a list, expected a dict",
             lambda one: one.update(actor_state_dict=[1])),
            (r"critic_state_dict: got a NoneType, expected a dict",
             lambda one: one.update(critic_state_dict=None)),
            (r"model_state_dict: got a int, expected a dict",
             lambda one: one.update(model_state_dict=5)),
            (r"actor's obs_normalizer\.count: got shape \(2,\), expected \(1,\)",
             lambda one: one["actor_state_dict"].update({"obs_normalizer.count": torch.ones(2)})),
            (r"actor's obs_normalizer\.count: got shape None, expected \(1,\)",
             lambda one: one["actor_state_dict"].pop("obs_normalizer.count")),
            (r"iter: got 'x', expected a whole number", lambda one: one.update(iter="x")),
            (r"moments of parameter 5: got a tensor of torch.complex64, expected",
             lambda one: one["optimizer_state_dict"]["state"][5].update(
                 exp_avg=torch.zeros(3, 8, dtype=torch.complex64))),
        ):  # fmt: skip
            found = torch.load(self.folder / "a.pt", weights_only=True)
            change(found)
            torch.save(found, self.folder / "b.pt")
            with self.subTest(words), self.assertRaisesRegex(broadloom.Error, "b.pt: " + words):
                made(Tensors).load(self.folder / "b.pt")

    def test_another_optimizer_is_refused_unless_it_is_left_out(self):
        runner = learn(made(Tensors), 1)
        runner.save(self.folder / "a.pt")
        found = torch.load(self.folder / "a.pt", weights_only=True)
        weight = torch.ones(2, requires_grad=True)
        sgd = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
        weight.sum().backward()
        sgd.step()
        for state in (sgd.state_dict(), [1], {}, {"state": {}, "param_groups": []}):
            found["optimizer_state_dict"] = state
            torch.save(found, self.folder / "b.pt")
            other = made(Tensors, changed("seed", 8))
            with self.assertRaisesRegex(broadloom.Error, "b.pt: optimizer_state_dict: got anoth"):
                other.load(self.folder / "b.pt")
            other.load(self.folder / "b.pt", load_cfg={"actor": True})
            actions = [one.get_inference_policy()(ROWS) for one in (other, runner)]
            self.assertTrue(torch.equal(*actions))
        for load_cfg in (["actor"], 5):
            with self.assertRaisesRegex(broadloom.Error, "load_cfg: got .*, expected a dict"):
                runner.load(self.folder / "a.pt", load_cfg=load_cfg)

    def test_observations_that_do_not_fit_are_refused(self):
        policy = learn(made(Tensors), 1).get_inference_policy()
        rows = ROWS["actor"]
        for given, words in (
            (rows.numpy(), r"got a ndarray, expected a tensor \[n, 2\], or a dict"),
            ({"critic": rows}, r"got the groups \['critic'\], expected \['actor'\]"),
            ({"actor": rows.numpy()}, "actor: got a ndarray, expected a tensor"),
            (torch.zeros(9, 3), r"observations of shape \(9, 3\), expected rows \[n, 2\]"),
            (torch.tensor(1.0), r"observations of shape \(\), expected rows \[n, 2\]"),
        ):
            with self.subTest(words), self.assertRaisesRegex(broadloom.Error, words):
                policy(given)
        expected = policy(ROWS)
        self.assertTrue(torch.equal(policy(rows), expected))
        self.assertTrue(torch.allclose(policy(rows.reshape(3, 3, 2)), expected.reshape(3, 3, 3)))

    def test_exports_act_like_the_policy(self):
        runner = learn(made(Tensors), 2)
        expected = runner.get_inference_policy()(ROWS)
        runner.export_policy_to_jit(str(self.folder))
        module = torch.jit.load(self.folder / "policy.pt")
        self.assertTrue(torch.allclose(module(ROWS["actor"]), expected, atol=1e-6))
        if importlib.util.find_spec("onnx") is None:
            self.skipTest("onnx is missing")
        runner.export_policy_to_onnx(str(self.folder))
        import onnx

        graph = onnx.load(self.folder / "policy.onnx").graph
        names = [one.name for one in (*graph.input, *graph.output)]
        self.assertEqual(names, ["obs", "actions"])

    @unittest.skipUnless(has_rsl_rl, "rsl-rl-lib is missing")
    def test_rsl_rl_plays_and_trains_on_ours_and_we_on_theirs(self):
        from rsl_rl.runners import OnPolicyRunner as Theirs

        ours = learn(made(Tensors), 3)
        ours.save(self.folder / "a.pt")
        theirs = Theirs(Tensors(), self.config(), None, "cpu")
        theirs.load(str(self.folder / "a.pt"))
        rows = Tensors(9).tensors({key: row.numpy() for key, row in ROWS.items()})
        expected = ours.get_inference_policy()(ROWS)
        with torch.no_grad():
            self.assertTrue(
                torch.allclose(theirs.get_inference_policy()(rows), expected, atol=1e-5)
            )
        theirs.alg.train_mode()
        theirs.env.env.cfg.auto_reset = True
        theirs.learn(2)
        theirs.save(str(self.folder / "b.pt"))
        again = made(Tensors)
        again.load(self.folder / "b.pt")
        with torch.no_grad():
            theirs_actions = theirs.get_inference_policy()(rows)
        self.assertTrue(
            torch.allclose(again.get_inference_policy()(ROWS), theirs_actions, atol=1e-5)
        )
        learn(again, 1)

    def config(self):
        """The configuration as mjlab's runner hands it on: without keys that are None."""
        config = copy.deepcopy(CONFIG)
        del config["actor"]["cnn_cfg"]
        return config


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        unittest.main()
