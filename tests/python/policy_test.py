"""Policies on arrays: their outputs equal those that NumPy computes from the checkpoint."""

import concurrent.futures
import copy
import importlib.util
import json
import multiprocessing
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

import gymnasium
import numpy as np

import broadloom
from simulator_cases import GIVEN, given

HERE = tempfile.TemporaryDirectory()
KEYS = {"total_timesteps": 2048, "num_envs": 8, "num_steps": 32, "quiet": True}


def trained(name, env_id, **keys):
    return broadloom.train(env_id, out=pathlib.Path(HERE.name) / name, **{**KEYS, **keys})


def tensors(run):
    data = sorted((run.dir / "checkpoints").glob("*.safetensors"))[-1].read_bytes()
    size = int.from_bytes(data[:8], "little")
    kinds = {"F32": np.float32, "F64": np.float64, "I64": np.int64}
    return {
        name: np.frombuffer(
            data[8 + size + t["data_offsets"][0] : 8 + size + t["data_offsets"][1]],
            kinds[t["dtype"]],
        ).reshape(t["shape"])
        for name, t in json.loads(data[8 : 8 + size]).items()
        if name != "__metadata__" and t["dtype"] in kinds
    }


class PolicyTest(unittest.TestCase):
    def test_observations_as_environments_give_them(self):
        for name, (space, keys, read) in GIVEN.items():
            with self.subTest(name):
                run = trained(f"given_{name}", given(space), **keys)
                policy, env = broadloom.Policy(run), given(space)()
                rows = [env.reset(seed=seed)[0] for seed in range(3)]
                many = gymnasium.vector.utils.concatenate(
                    space, rows, gymnasium.vector.utils.create_empty_array(space, 3)
                )
                expected, _ = policy.outputs(read(many))
                np.testing.assert_array_equal(policy.outputs(many)[0], expected)
                for row, one in zip(rows, expected, strict=True):
                    np.testing.assert_array_equal(policy.outputs(row)[0], one)
                chosen = [1] * 3 if name == "masked" else expected.argmax(axis=1)
                self.assertEqual(policy.act(many).tolist(), list(chosen))
                self.assertEqual(policy.act(rows[1]), chosen[1])
                single = gymnasium.vector.utils.concatenate(
                    space, rows[:1], gymnasium.vector.utils.create_empty_array(space, 1)
                )
                np.testing.assert_array_equal(policy.outputs(single)[0], expected[:1])
                if name == "scalars":  # a scalar is a row of one in the policy's own space
                    row = policy.observation_space.sample()
                    self.assertEqual(policy.outputs(row)[0].shape, (2,))

    def test_data_frames_are_arrays_and_tensordicts_are_dicts(self):
        class Keyed:  # as TensorDict: its iteration and `in` mean rows
            __iter__ = __contains__ = None

            def __init__(self, arrays):
                self.keys, self.items = arrays.keys, arrays.items

        class Frame(Keyed):  # as of pandas
            def __array__(self, dtype=None, copy=None):
                return np.stack(list(dict(self.items()).values()), axis=1)

        rows = np.float64([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]])
        policy = broadloom.Policy(trained("framed", "CartPole-v1", total_timesteps=256))
        frame = Frame(dict(zip("abcd", rows.T, strict=True)))
        np.testing.assert_array_equal(policy.outputs(frame)[0], policy.outputs(rows)[0])
        self.assertEqual(policy.act(frame).tolist(), policy.act(rows).tolist())
        if importlib.util.find_spec("pandas"):
            import pandas

            frame = pandas.DataFrame(rows)
            self.assertEqual(policy.act(frame).tolist(), policy.act(rows).tolist())
            self.assertEqual(policy.act(frame.iloc[0]), policy.act(rows[0]))
        for name in "keys", "masked", "scalars":
            space, keys, _ = GIVEN[name]
            policy = broadloom.Policy(trained(f"keyed_{name}", given(space), **keys))
            row = given(space)().reset(seed=1)[0]
            self.assertEqual(policy.act(Keyed(row)), policy.act(row))

    def test_dtypes(self):
        policy = broadloom.Policy(trained("dtypes", "CartPole-v1", total_timesteps=256))
        for dtype in (np.float16, np.float64, np.int8, np.uint64, np.bool_):
            self.assertIn(policy.act(np.zeros(4, dtype)), (0, 1))
        for name, env_id in (("lake", "FrozenLake-v1"), ("bricks", "MinAtar/Breakout-v1")):
            policy = broadloom.Policy(trained(name, env_id, total_timesteps=256))
            zeros = np.zeros((2, *policy.observation_space.shape))
            for dtype in (np.int8, np.uint8, np.int64):
                self.assertEqual(len(policy.act(zeros.astype(dtype))), 2)
            with self.assertRaisesRegex(TypeError, r"got float32, expected (int64|uint8)$"):
                policy.act(zeros.astype(np.float32))

    def test_outputs_are_those_of_the_network(self):
        run = trained("pendulum", "Pendulum-v1", norm_obs=True, hidden_sizes=[16])
        policy = broadloom.Policy(run)
        rows = np.random.default_rng(1).normal(size=(150, 3)).astype(np.float32)
        saved = tensors(run)
        mean, var = saved["obs_normalizer.mean"], saved["obs_normalizer.var"]
        x = np.clip((rows - mean) / np.sqrt(var + 1e-8), -10, 10)
        p = saved["learner.params"]

        # As docs/formats/checkpoint.md lays parameters out: the policy's hidden layer, then its
        # head.
        hidden = np.tanh(x @ p[:48].reshape(3, 16) + p[48:64])
        means = hidden @ p[64:80].reshape(1, 16).T + p[80:81]
        outputs, values = policy.outputs(rows)
        np.testing.assert_allclose(outputs, means, atol=1e-5)
        self.assertEqual(values.shape, (150,))
        np.testing.assert_array_equal(policy.act(rows), np.clip(outputs, -2, 2))
        one, value = policy.outputs(rows[3])
        np.testing.assert_array_equal(one, outputs[3])
        self.assertEqual(value, values[3])
        drawn = np.stack([policy.act(rows[:2], rng=np.random.default_rng(i)) for i in range(200)])
        self.assertTrue((np.abs(drawn) <= 2).all())
        self.assertGreater(drawn.std(axis=0).min(), 0.1)

    def test_other_policies_of_a_box(self):
        rows = np.random.default_rng(1).normal(size=(50, 3)).astype(np.float32)
        for distribution, form in (
            ("squashed", "log"),
            ("squashed", "state_dependent"),
            ("gaussian", "state_dependent"),
            ("gaussian", "sde"),
            ("beta", None),
        ):
            with self.subTest(distribution=distribution, form=form):
                keys = {} if form is None else {"std_form": form}
                policy = broadloom.Policy(
                    trained(
                        f"{distribution}_{form}",
                        "Pendulum-v1",
                        action_distribution=distribution,
                        **keys,
                    )
                )
                outputs, _ = policy.outputs(rows)
                self.assertEqual(outputs.shape, (50, 1 if form == "log" else 2))
                first, second = outputs[:, :1], outputs[:, -1:]
                if distribution == "beta":
                    alpha, beta = 1 + np.log1p(np.exp(first)), 1 + np.log1p(np.exp(second))
                    best = 4 * alpha / (alpha + beta) - 2
                    deviation = 4 * np.sqrt(
                        alpha * beta / ((alpha + beta) ** 2 * (alpha + beta + 1))
                    )
                else:
                    best = 2 * np.tanh(first)
                    if distribution == "gaussian":
                        best = np.clip(first, -2, 2)
                    deviation = None
                np.testing.assert_allclose(policy.act(rows), best, atol=1e-6)
                rng = np.random.default_rng(2)
                drawn = np.stack([policy.act(rows, rng=rng) for _ in range(400)])
                self.assertTrue((np.abs(drawn) <= 2).all())
                if deviation is not None:
                    np.testing.assert_allclose(drawn.mean(axis=0), best, atol=0.3)
                    np.testing.assert_allclose(drawn.std(axis=0), deviation, rtol=0.2)
                again = pickle.loads(pickle.dumps(policy))
                np.testing.assert_array_equal(again.act(rows), policy.act(rows))

    def test_kinds_of_observations_and_actions(self):
        for env_id, keys in (
            ("Taxi-v3", {}),
            ("MinAtar/Breakout-v1", {"total_timesteps": 512, "encoder": "minatar"}),
            ("CartPole-v1", {"algorithm": "pqn"}),
        ):
            with self.subTest(env_id):
                policy = broadloom.Policy(trained(env_id.replace("/", "_"), env_id, **keys))
                env = broadloom.VectorEnv(5, env_id=env_id)
                rows, _ = env.reset(seed=1)
                for _ in range(10):
                    actions = policy.act(rows)
                    self.assertIn(actions, env.action_space)
                    self.assertEqual(policy.act(rows[0]), actions[0])
                    rows = env.step(actions)[0]
                if keys.get("algorithm") == "pqn":
                    with self.assertRaisesRegex(broadloom.Error, "no probabilities"):
                        policy.act(rows, rng=np.random.default_rng(1))
                else:
                    self.assertIn(policy.act(rows, rng=np.random.default_rng(1)), env.action_space)

    def test_it_plays_what_eval_plays(self):
        run = trained("cart", "CartPole-v1", total_timesteps=20480)
        policy, env = broadloom.Policy(run), gymnasium.make("CartPole-v1")
        returns = []
        for seed in range(10):
            rows, done, total = env.reset(seed=seed)[0], False, 0
            while not done:
                rows, reward, terminated, truncated, _ = env.step(policy.act(rows))
                total, done = total + reward, terminated or truncated
            returns.append(total)
        self.assertGreater(np.mean(returns), 40)  # random play: 22

    def test_a_recurrent_policy_takes_and_returns_its_state(self):
        run = trained("maze", "TMaze-v0", recurrent="mingru", hidden_sizes=[8])
        policy = broadloom.Policy(run)
        self.assertEqual(policy.state_size, 16)  # of actor and critic
        p = tensors(run)["learner.params"].astype(np.float64)

        def take(*shape):
            nonlocal p
            part, p = p[: np.prod(shape)].reshape(shape), p[np.prod(shape) :]
            return part

        # As docs/networks.md has the cell: hidden layer, cell and head of actor and of critic.
        layers = [
            (take(3, 8), take(8), take(8, 24), take(24), take(heads, 8), take(heads))
            for heads in (4, 1)
        ]

        def step(layer, x, state):
            weight, bias, cell, cell_bias, head, head_bias = layer
            x = np.tanh(x @ weight + bias)
            a, g, o = np.split(x @ cell + cell_bias, 3, axis=1)
            g, o = 1 / (1 + np.exp(-g)), 1 / (1 + np.exp(-o))
            state = (1 - g) * state + g * np.where(a >= 0, a + 0.5, 1 / (1 + np.exp(-a)))
            return ((1 - o) * x + o * state) @ head.T + head_bias, state

        rng = np.random.default_rng(1)
        state, actor, critic = None, np.zeros((5, 8)), np.zeros((5, 8))
        for t in range(6):
            rows = rng.random((5, 3), np.float32)
            if t == 3:  # an episode begins
                state[1] = actor[1] = critic[1] = 0
            actions, after = policy.act(rows, state=state)
            outputs, values, state = policy.outputs(rows, state=state)
            np.testing.assert_array_equal(after, state)
            expected, actor = step(layers[0], rows, actor)
            np.testing.assert_allclose(outputs, expected, atol=1e-5)
            np.testing.assert_array_equal(actions, np.argmax(outputs, axis=1))
            expected, critic = step(layers[1], rows, critic)
            np.testing.assert_allclose(values, expected[:, 0], atol=1e-5)
            np.testing.assert_allclose(state, np.hstack([actor, critic]), atol=1e-5)
        one, one_state = policy.act(rows[2], state=state[2])
        self.assertEqual(one, policy.act(rows, state=state)[0][2])
        self.assertEqual(one_state.shape, (16,))
        with self.assertRaisesRegex(ValueError, r"shape \(5, 8\), expected \(5, 16\)"):
            policy.act(rows, state=state[:, :8])
        with self.assertRaisesRegex(broadloom.Error, "no memory"):
            broadloom.Policy(trained("plain", "TMaze-v0")).act(rows, state=state)

    def test_bad_input_is_refused(self):
        run = trained("bad", "CartPole-v1")
        policy = broadloom.Policy(run)
        for rows, kind, words in (
            (np.zeros((2, 3), np.float32), ValueError, r"shape \(2, 3\), expected \(n, 4\)"),
            ("text", TypeError, "float32"),
            (np.float32([0, np.nan, 0, 0]), ValueError, "got nan, expected finite"),
            (np.zeros(4, complex), TypeError, "complex128"),
            (np.full(4, 1e300), ValueError, "got inf, expected finite"),
        ):
            with self.assertRaisesRegex(kind, words):
                policy.act(rows)
        stack = broadloom.Policy(trained("stack", "CartPole-v1", **{"env.frame_stack": 4}))
        self.assertEqual(stack.act(np.zeros((2, 16))).shape, (2,))
        with self.assertRaisesRegex(
            ValueError,
            r"\(2, 4\), expected \(n, 16\) or \(16,\), the last 4 observations joined along the "
            "last axis, the newest last, because env.frame_stack is 4$",
        ):
            stack.act(np.zeros((2, 4)))
        games = broadloom.Policy(
            trained("bytes", "MinAtar/Breakout-v1", total_timesteps=512, encoder="minatar")
        )
        with self.assertRaisesRegex(ValueError, "from 0 to 300"):
            games.act(np.pad([[[300]]], ((0, 9), (0, 9), (0, 3))))
        with self.assertRaisesRegex(broadloom.Error, "nowhere"):
            broadloom.Policy("nowhere")


ELSEWHERE = """
import json, pickle, sys
import numpy as np
import broadloom

run, pickled, out = sys.argv[1:]
rows = np.load(f"{out}/rows.npy")
policy = broadloom.Policy(run)
np.save(f"{out}/acted.npy", policy.act(rows))
np.save(f"{out}/unpickled.npy", pickle.load(open(pickled, "rb")).act(rows))
made = broadloom.export(run, f"{out}/policy.npz")
said = []
for call in (broadloom.evaluate, broadloom.audit, lambda run: broadloom.resume(
    run, total_timesteps=4096, quiet=True), lambda run: broadloom.command("watch", run)):
    try:
        call(run)
    except broadloom.Error as error:
        said.append(str(error))
known = [spec["id"] for spec in broadloom.list_envs()]


class Valve(__import__("gymnasium").Env):
    observation_space, action_space = policy.observation_space, policy.action_space

    def reset(self, *, seed=None, options=None):
        return np.zeros(3, np.float32), {}

    def step(self, action):
        return np.zeros(3, np.float32), 1.0, True, False, {}


broadloom.register("Valve-v0", Valve)
score = broadloom.evaluate(run, episodes=2)["mean_return"]
print(json.dumps({"said": said, "known": known, "score": score, "files": made["files"],
                  "spaces": [str(policy.observation_space), str(policy.action_space)]}))
"""


class Valve(gymnasium.Env):
    """Actions far from 0, so that they are scaled, and observations with infinite bounds."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = gymnasium.spaces.Box(5, 35, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.np_random.normal(size=3).astype(np.float32), {}

    def step(self, action):
        self.t += 1
        row = self.np_random.normal(size=3).astype(np.float32)
        return row, -float(np.abs(action - 20).sum()), self.t >= 10, False, {}


class AloneTest(unittest.TestCase):
    """A policy works where nobody knows its environment."""

    def test_another_process_has_the_policy_and_says_what_to_register(self):
        run = broadloom.train(
            Valve,
            name="Valve-v0",
            out=pathlib.Path(HERE.name) / "valve",
            norm_obs=True,
            lr_schedule="constant",
            **KEYS,
        )
        policy = broadloom.Policy(run)
        with tempfile.TemporaryDirectory() as out:
            rows = np.random.default_rng(2).normal(size=(20, 3)).astype(np.float32)
            np.save(f"{out}/rows.npy", rows)
            (pathlib.Path(out) / "pickled").write_bytes(pickle.dumps(policy))
            words = [sys.executable, "-c", ELSEWHERE, str(run.dir), f"{out}/pickled", out]
            done = subprocess.run(words, capture_output=True, text=True, cwd=HERE.name)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(done.stdout.splitlines()[-1])
            for name in ("acted", "unpickled"):
                np.testing.assert_array_equal(np.load(f"{out}/{name}.npy"), policy.act(rows))
        self.assertEqual(len(found["said"]), 4)
        for words in found["said"]:
            self.assertIn('broadloom.register("Valve-v0", ', words)
        self.assertNotIn("Valve-v0", found["known"])
        self.assertEqual(found["score"], 1)
        self.assertTrue(found["files"])
        self.assertEqual(found["spaces"], [str(Valve.observation_space), str(Valve.action_space)])

    def test_threads_and_copies_share_a_policy(self):
        run = trained("shared", "CartPole-v1")
        policy = broadloom.Policy(run)
        rows = np.random.default_rng(3).normal(size=(500, 4)).astype(np.float32)
        expected = policy.outputs(rows)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for outputs, values in pool.map(lambda _: policy.outputs(rows), range(40)):
                np.testing.assert_array_equal(outputs, expected[0])
                np.testing.assert_array_equal(values, expected[1])
        again = copy.deepcopy(policy)
        np.testing.assert_array_equal(again.outputs(rows)[0], expected[0])
        self.assertEqual(again.origin, policy.origin)
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            np.testing.assert_array_equal(pool.apply(again.act, (rows,)), again.act(rows))

    def test_kinds_of_spaces_come_back(self):
        for env_id in ("FrozenLake-v1", "MinAtar/Breakout-v1", "Pendulum-v1"):
            name = "kinds_" + env_id.replace("/", "_")
            policy = broadloom.Policy(trained(name, env_id, total_timesteps=256))
            again = pickle.loads(pickle.dumps(policy))
            self.assertEqual(again.spec, policy.spec)
            rows = np.stack([policy.observation_space.sample() for _ in range(9)])
            np.testing.assert_array_equal(again.act(rows), policy.act(rows))


if __name__ == "__main__":
    unittest.main()
