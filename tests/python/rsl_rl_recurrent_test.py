"""The runner's models with cells, with torch; beside RSL-RL's own where it is installed."""

import copy
import importlib.util
import pathlib
import re
import tempfile
import types
import unittest
import warnings

import numpy as np
import torch

import broadloom
from robot_fakes import PlainRslRl
from rsl_rl_test import CONFIG, learn, made, recurrent
from rsl_rl_torch_test import has_rsl_rl, Tensors

KINDS = ("lstm", "gru")
CELL = [f"rnn.rnn.{name}_l0" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]


def sequence(rows=9, steps=20):
    """Groups of observations, and which rows' episodes end with them."""
    random = np.random.default_rng(3)
    for _ in range(steps):
        groups = {"actor": random.normal(size=(rows, 2)), "critic": random.normal(size=(rows, 3))}
        groups["actor"][:, 1] = 1.0  # as the fakes' second observation
        tensors = {name: torch.from_numpy(one.astype("f4")) for name, one in groups.items()}
        yield tensors, torch.from_numpy(random.uniform(size=rows) < 0.2).long()


def actions_of(policy, turn=lambda rows: rows):
    """The actions of a policy that keeps its states, [steps, rows, A]."""
    found = []
    policy.reset()
    with torch.no_grad():
        for rows, dones in sequence():
            found.append(policy(turn(rows)))
            policy.reset(dones)
    return torch.stack(found).numpy()


class Watched(PlainRslRl):
    """Keeps what was seen, done and given."""

    def __init__(self, num_envs):
        super().__init__(num_envs)
        self.steps, self.rows = [], self.world.groups("policy", "critic")

    def step(self, actions):
        before = self.rows
        found = super().step(actions)
        self.rows = found[0]
        self.steps.append((before, actions.copy(), *copy.deepcopy(found)))
        return found


class RecurrentTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def saved(self, name):
        return torch.load(self.folder / name, weights_only=True)

    def assert_same(self, a, b):
        for part in ("actor_state_dict", "critic_state_dict"):
            self.assertEqual(list(a[part]), list(b[part]))
            for name, value in a[part].items():
                self.assertTrue(torch.allclose(value, b[part][name], rtol=1e-5), name)
        states = [one["optimizer_state_dict"]["state"] for one in (a, b)]
        self.assertEqual(*(sorted(one) for one in states))
        for i, state in states[0].items():
            for name, value in state.items():
                same = torch.allclose(value, states[1][i][name], rtol=1e-5, atol=1e-12)
                self.assertTrue(same, (i, name))

    def test_the_policy_acts_as_the_engine_does(self):
        for kind in KINDS:
            runner = learn(made(Tensors, recurrent(kind)), 3)
            policy, state, expected = broadloom.Policy(runner._run), None, []
            for rows, dones in sequence():
                actions, state = policy.act(rows["actor"].numpy(), state=state)
                state[dones.numpy() == 1] = 0.0
                expected.append(actions)
            found = runner.get_inference_policy()
            np.testing.assert_allclose(actions_of(found), expected, atol=1e-5)
            np.testing.assert_allclose(actions_of(found), expected, atol=1e-5)  # begins again
            with self.assertRaisesRegex(broadloom.Error, "got 3 rows, expected 9"):
                found(torch.zeros(3, 2))
            found.reset()
            self.assertEqual(found(torch.zeros(3, 2)).shape, (3, 3))

    def test_rows_that_do_not_fit_the_states_are_refused(self):
        policy = learn(made(Tensors, recurrent("lstm")), 1).get_inference_policy()
        for rows, words in (
            (torch.zeros(2), r"observations of shape \(2,\), expected rows \[n, 2\]"),
            (torch.zeros(1, 4, 2), r"observations of shape \(1, 4, 2\), expected rows"),
            ({"actor": torch.zeros(2)}, r"actor of shape \(2,\), expected rows"),
        ):
            with self.assertRaisesRegex(broadloom.Error, words):
                policy(rows)
        row = torch.full((4, 2), 0.5)
        first = policy(row)
        for dones, shape in ((1, "()"), (True, "()"), ([1], "(1,)"), ([[1] * 4], "(1, 4)"),
                             (torch.ones(5), "(5,)"), (np.ones((2, 2)), "(2, 2)")):  # fmt: skip
            words = re.escape(f"dones: got shape {shape}, expected (4,)")
            with self.subTest(shape), self.assertRaisesRegex(broadloom.Error, words):
                policy.reset(dones)
        for dones in ("all", [None] * 4, [[1], [1, 2]]):
            words = re.escape(f"dones: got {dones!r}, expected numbers of shape (4,)")
            with self.subTest(dones), self.assertRaisesRegex(broadloom.Error, words):
                policy.reset(dones)
        second = policy(row)
        self.assertTrue((second != first).any(dim=1).all())  # nothing began anew
        for dones in ([0, 1, 0, 0], np.array([[False], [True], [False], [False]])):
            policy.reset()
            policy(row)
            policy.reset(dones)
            expected = torch.stack([second[0], first[1], second[2], second[3]])
            self.assertTrue(torch.equal(policy(row), expected))

    def test_a_loaded_checkpoint_is_saved_again_as_it_was(self):
        for kind, gates in (("lstm", 4), ("gru", 3)):
            first = learn(made(Tensors, recurrent(kind)), 2)
            first.save(self.folder / "a.pt")
            a = self.saved("a.pt")
            for part, inputs in (("actor_state_dict", 2), ("critic_state_dict", 3)):
                layers = [f"mlp.{i}.{word}" for i in (0, 2, 4) for word in ("weight", "bias")]
                names = [name for name in a[part] if name.startswith(("mlp", "rnn"))]
                self.assertEqual(names, [*layers, *CELL])
                shapes = [tuple(a[part][name].shape) for name in CELL]
                sums = 6 * gates
                self.assertEqual(shapes, [(sums, inputs), (sums, 6), (sums,), (sums,)])
            second = made(Tensors, recurrent(kind))
            second.load(self.folder / "a.pt")
            second.save(self.folder / "b.pt")
            self.assert_same(a, self.saved("b.pt"))
            learn(second, 1)

    def test_a_checkpoint_of_rsl_rl_3_is_read(self):
        """It has one dict for both models, in which a cell precedes its layers."""
        learn(made(Tensors, recurrent("gru")), 2).save(self.folder / "a.pt")
        new = self.saved("a.pt")
        old, order = {"std": new["actor_state_dict"]["distribution.std_param"]}, [0]
        first = 1
        for name in ("actor", "critic"):
            parts = new[f"{name}_state_dict"]
            places = {}
            for part in parts:
                if part.startswith(("mlp", "rnn")):
                    places[part], first = first, first + 1
            for part in sorted(places, key=lambda one: not one.startswith("rnn")):
                prefix = {"rnn": f"memory_{name[0]}", "mlp": name}[part[:3]]
                old[prefix + part[3:]] = parts[part]
                order.append(places[part])
            for part in parts:
                if part.startswith("obs_normalizer"):
                    old[f"{name}_{part}"] = parts[part]
        adam = new["optimizer_state_dict"]
        adam["state"] = {i: adam["state"][place] for i, place in enumerate(order)}
        saved = {"model_state_dict": old, "optimizer_state_dict": adam, "iter": 1, "infos": None}
        torch.save(saved, self.folder / "old.pt")
        runner = made(Tensors, recurrent("gru"))
        runner.load(self.folder / "old.pt")
        runner.save(self.folder / "b.pt")
        self.assert_same(self.saved("a.pt"), self.saved("b.pt"))

    def test_a_checkpoint_of_another_model_is_refused(self):
        for name, config in (
            ("lstm", recurrent("lstm")),
            ("gru", recurrent("gru")),
            ("wide", recurrent("gru", rnn_hidden_dim=8)),
            ("plain", CONFIG),
        ):
            learn(made(Tensors, config), 1).save(self.folder / f"{name}.pt")
        gru = made(Tensors, recurrent("gru"))
        for name, words in (
            ("lstm", r"weight_ih_l0: got shape \(24, 2\), expected \(18, 2\)"),
            ("wide", r"mlp.0.weight: got shape \(16, 8\), expected \(16, 6\)"),
            ("plain", "actor: got nothing more, expected rnn.rnn.bias_hh_l0, rnn.rnn.bias_ih_l0"),
        ):
            before = gru._checkpoint
            with self.assertRaisesRegex(broadloom.Error, words):
                gru.load(self.folder / f"{name}.pt")
            self.assertEqual(gru._checkpoint, before)
        with self.assertRaisesRegex(broadloom.Error, "actor: got rnn.rnn.bias_hh_l0, .* no such"):
            made(Tensors).load(self.folder / "gru.pt")
        two = self.saved("gru.pt")
        two["actor_state_dict"]["rnn.rnn.weight_ih_l1"] = torch.zeros(18, 6)
        torch.save(two, self.folder / "two.pt")
        with self.assertRaisesRegex(broadloom.Error, "got rnn.rnn.weight_ih_l1, expected no such"):
            gru.load(self.folder / "two.pt")

    def exports(self, runner, folder):
        """{name of a file: actions of one environment in a sequence}"""
        runner.export_policy_to_jit(str(folder))
        module = torch.jit.load(folder / "policy.pt")
        found = {"jit": self.played(module, module.reset)}
        if importlib.util.find_spec("onnx") is None:
            return found
        import onnx
        import onnx.reference

        runner.export_policy_to_onnx(str(folder))
        graph = onnx.load(folder / "policy.onnx")
        names = [[one.name for one in ends] for ends in (graph.graph.input, graph.graph.output)]
        session = onnx.reference.ReferenceEvaluator(graph)
        states = {}

        def begin():
            states.update({name: np.zeros((1, 1, 6), "f4") for name in names[0][1:]})

        def act(rows):
            outputs = session.run(None, {"obs": rows.numpy(), **states})
            states.update(zip(names[0][1:], outputs[1:], strict=True))
            return torch.from_numpy(outputs[0])

        begin()
        found["onnx"], found["names"] = self.played(act, begin), names
        return found

    def played(self, act, reset):
        actions = []
        for rows, dones in sequence(rows=1, steps=30):
            actions.append(act(rows["actor"]).detach().numpy())
            if dones[0]:
                reset()
        return np.stack(actions)

    def test_exports_act_like_the_policy(self):
        for kind, states in (("lstm", "hc"), ("gru", "h")):
            runner = learn(made(Tensors, recurrent(kind)), 2)
            policy = runner.get_inference_policy()
            expected = self.played(policy, policy.reset)
            found = self.exports(runner, self.folder)
            np.testing.assert_allclose(found["jit"], expected, atol=1e-5)
            if "onnx" in found:
                np.testing.assert_allclose(found["onnx"], expected, atol=1e-5)
                names = [["obs", *(f"{one}_in" for one in states)]]
                names.append(["actions", *(f"{one}_out" for one in states)])
                self.assertEqual(found["names"], names)

    def theirs(self, env, config):
        from rsl_rl.runners import OnPolicyRunner as Theirs

        config = copy.deepcopy(config)
        del config["actor"]["cnn_cfg"]  # as mjlab's runner hands it on
        return Theirs(env, config, None, "cpu")

    @unittest.skipUnless(has_rsl_rl, "rsl-rl-lib is missing")
    def test_rsl_rl_plays_and_trains_on_ours_and_we_on_theirs(self):
        from tensordict import TensorDict

        def turn(rows):
            return TensorDict(rows, batch_size=[len(rows["actor"])])

        for kind in KINDS:
            config = recurrent(kind)
            ours = learn(made(Tensors, config), 3)
            ours.save(self.folder / "a.pt")
            theirs = self.theirs(Tensors(), config)
            theirs.load(str(self.folder / "a.pt"))
            theirs.save(str(self.folder / "again.pt"))
            self.assert_same(self.saved("a.pt"), self.saved("again.pt"))
            np.testing.assert_allclose(
                actions_of(theirs.get_inference_policy(), turn),
                actions_of(ours.get_inference_policy()),
                atol=1e-5,
            )
            theirs.alg.train_mode()
            theirs.alg.actor.reset()
            theirs.env.env.cfg.auto_reset = True
            theirs.learn(2)
            theirs.save(str(self.folder / "b.pt"))
            again = made(Tensors, config)
            again.load(self.folder / "b.pt")
            again.save(self.folder / "c.pt")
            self.assert_same(self.saved("b.pt"), self.saved("c.pt"))
            np.testing.assert_allclose(
                actions_of(theirs.get_inference_policy(), turn),
                actions_of(again.get_inference_policy()),
                atol=1e-5,
            )
            found = [self.exports(one, self.folder / kind) for one in (theirs, again)]
            self.assertEqual(*(sorted(one) for one in found))
            for name in found[0]:
                if name == "names":
                    self.assertEqual(found[0][name], found[1][name])
                else:
                    np.testing.assert_allclose(found[0][name], found[1][name], atol=1e-5)
            learn(again, 1)

    @unittest.skipUnless(has_rsl_rl, "rsl-rl-lib is missing")
    def test_updates_are_rsl_rl_s(self):
        for kind in KINDS:
            config = recurrent(kind, obs_normalization=False)
            config["obs_groups"] = {"actor": ["policy"], "critic": ["critic"]}
            env = Watched(4)
            ours = made(lambda env=env: env, config)
            ours.save(self.folder / "first.pt")
            learn(ours, 2)
            ours.save(self.folder / "ours.pt")
            self.replay(env, config)
            a, b = (self.saved(name) for name in ("ours.pt", "theirs.pt"))
            first = self.saved("first.pt")
            for part in ("actor_state_dict", "critic_state_dict"):
                for name, value in a[part].items():
                    np.testing.assert_allclose(value, b[part][name], atol=1e-5, err_msg=name)
                    moved = (value - first[part][name]).abs().max()
                    self.assertGreater(moved, 1e-3, name)
            rates = [one["optimizer_state_dict"]["param_groups"][0]["lr"] for one in (a, b)]
            self.assertAlmostEqual(*rates, places=9)

    def replay(self, env, config):
        """RSL-RL learns from what our runner did in env."""
        from tensordict import TensorDict

        def tensors(rows):
            rows = {name: torch.from_numpy(row.astype("f4")) for name, row in rows.items()}
            return TensorDict(rows, batch_size=[4])

        first = tensors(env.steps[0][0])
        world = types.SimpleNamespace(
            num_envs=4, num_actions=1, device="cpu", cfg={}, get_observations=lambda: first
        )
        theirs = self.theirs(world, config)
        theirs.load(str(self.folder / "first.pt"))
        algorithm = theirs.alg
        algorithm.train_mode()
        self.assertTrue(any(dones.any() for *_, dones, _ in env.steps))
        for begin in range(0, len(env.steps), CONFIG["num_steps_per_env"]):
            block = env.steps[begin : begin + CONFIG["num_steps_per_env"]]
            with torch.no_grad():
                for rows, actions, after, rewards, dones, extras in block:
                    algorithm.act(tensors(rows))
                    step = algorithm.transition
                    step.actions = torch.from_numpy(actions)
                    step.actions_log_prob = algorithm.actor.get_output_log_prob(step.actions)
                    ended = {"time_outs": torch.from_numpy(extras["time_outs"])}
                    rewards = torch.from_numpy(rewards).float()
                    algorithm.process_env_step(
                        tensors(after), rewards, torch.from_numpy(dones), ended
                    )
                algorithm.compute_returns(tensors(after))
            algorithm.update()
        theirs.save(str(self.folder / "theirs.pt"))


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        unittest.main()
