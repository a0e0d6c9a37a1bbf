"""Policies on arrays: their outputs equal those that NumPy computes from the checkpoint."""

import json
import pathlib
import tempfile
import unittest

import gymnasium
import numpy as np

import broadloom

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
        games = broadloom.Policy(
            trained("bytes", "MinAtar/Breakout-v1", total_timesteps=512, encoder="minatar")
        )
        with self.assertRaisesRegex(ValueError, "from 0 to 300"):
            games.act(np.pad([[[300]]], ((0, 9), (0, 9), (0, 3))))
        with self.assertRaisesRegex(broadloom.Error, "nowhere"):
            broadloom.Policy("nowhere")


if __name__ == "__main__":
    unittest.main()
