"""Policies of other libraries: imported checkpoints act as NumPy computes from their parameters."""

import json
import pathlib
import tempfile
import unittest

import gymnasium
import numpy as np

import broadloom

HERE = tempfile.TemporaryDirectory()
RNG = np.random.default_rng(1)


def out(name):
    return pathlib.Path(HERE.name) / f"{name}.safetensors"


def dense(found, prefix, sizes):
    for i, (before, after) in enumerate(zip(sizes, sizes[1:])):
        found[f"{prefix}{2 * i}.weight"] = (
            RNG.normal(size=(after, before)).astype(np.float32) / before**0.5
        )
        found[f"{prefix}{2 * i}.bias"] = RNG.normal(size=after).astype(np.float32)


def forward(found, prefix, x):
    """As torch's Linear and Tanh, the last layer without."""
    layers = sorted(
        {int(key[len(prefix) :].split(".")[0]) for key in found if key.startswith(prefix)}
    )
    for i in layers:
        x = x @ found[f"{prefix}{i}.weight"].T + found[f"{prefix}{i}.bias"]
        x = x if i == layers[-1] else np.tanh(x)
    return x


def convolved(image, weight, bias, stride):
    """torch's Conv2d on [C, H, W], without padding."""
    _, _, kernel, _ = weight.shape
    sides = [(extent - kernel) // stride + 1 for extent in image.shape[1:]]
    rows = np.lib.stride_tricks.sliding_window_view(image, (kernel, kernel), axis=(1, 2))[
        :, ::stride, ::stride
    ][:, : sides[0], : sides[1]]
    return np.einsum("chwij,ocij->ohw", rows, weight) + bias[:, None, None]


def header(path):
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def metadata(path):
    return header(path)[0]["__metadata__"]


def numbers(path, prefix, names):
    """Single ones of a checkpoint, in double precision, as far as they are there."""
    tensors, data = header(path)
    return {
        name: np.frombuffer(data[slice(*tensors[prefix + name]["data_offsets"])], np.float64)[0]
        for name in names
        if prefix + name in tensors
    }


class ImportTest(unittest.TestCase):
    def check(self, found, env, rows, policy_prefix, value_prefix, **keys):
        path = broadloom.import_policy(found, env, out=out(self.id()), **keys)
        outputs, values = broadloom.Policy(path).outputs(rows)
        np.testing.assert_allclose(
            outputs, forward(found, policy_prefix, rows), rtol=2e-5, atol=2e-5
        )
        np.testing.assert_allclose(
            values, forward(found, value_prefix, rows)[:, 0], rtol=2e-5, atol=2e-5
        )
        return path

    def test_cleanrl_discrete(self):
        found = {}
        dense(found, "actor.", (4, 64, 64, 2))
        dense(found, "critic.", (4, 64, 64, 1))
        path = self.check(
            found, "CartPole-v1", RNG.normal(size=(70, 4)).astype(np.float32), "actor.", "critic."
        )
        self.assertEqual(broadloom.evaluate(path, episodes=3)["episodes"], 3)
        self.assertEqual(
            broadloom.train(
                "CartPole-v1",
                out=out("go_on").with_suffix(""),
                total_timesteps=512,
                quiet=True,
                init=path,
            ).global_step,
            512,
        )

    def test_cleanrl_continuous_goes_through_the_laboratory(self):
        found = {"actor_logstd": np.full((1, 1), -0.5, np.float32)}
        dense(found, "actor_mean.", (3, 16, 1))
        dense(found, "critic.", (3, 16, 1))
        path = self.check(
            found,
            "Pendulum-v1",
            RNG.normal(size=(9, 3)).astype(np.float32),
            "actor_mean.",
            "critic.",
        )
        answer = broadloom.gradients(
            path,
            out=pathlib.Path(HERE.name) / "gradients",
            study="variance",
            batch=32,
            shapes="4x8,8x4",
            blocks=10,
        )
        self.assertTrue(answer)
        drawn = broadloom.Policy(path).act(
            np.zeros((4000, 3), np.float32), rng=np.random.default_rng(2)
        )
        self.assertLess(abs(np.clip(drawn, -2, 2).std() - np.exp(-0.5)), 0.1)

    def test_stable_baselines(self):
        found = {}
        dense(found, "mlp_extractor.policy_net.", (6, 32, 32))
        dense(found, "mlp_extractor.value_net.", (6, 32, 32))
        heads = {}
        dense(heads, "", (32, 3, 1))
        for name, count in (("action_net", 3), ("value_net", 1)):
            found[f"{name}.weight"], found[f"{name}.bias"] = (
                RNG.normal(size=(count, 32)).astype(np.float32),
                RNG.normal(size=count).astype(np.float32),
            )
        rows = RNG.normal(size=(5, 6)).astype(np.float32)
        policy = broadloom.Policy(broadloom.import_policy(found, "Acrobot-v1", out=out("sb3")))
        outputs, values = policy.outputs(rows)
        hidden = np.tanh(forward(found, "mlp_extractor.policy_net.", rows))
        np.testing.assert_allclose(
            outputs,
            hidden @ found["action_net.weight"].T + found["action_net.bias"],
            rtol=2e-5,
            atol=2e-5,
        )
        self.assertEqual(values.shape, (5,))

    def test_images(self):
        class Images(gymnasium.Env):
            observation_space, action_space = (
                gymnasium.spaces.Box(0, 255, (4, 84, 84), np.uint8),
                gymnasium.spaces.Discrete(6),
            )

            def reset(self, *, seed=None, options=None):
                return np.zeros((4, 84, 84), np.uint8), {}

            def step(self, action):
                return np.zeros((4, 84, 84), np.uint8), 0.0, False, True, {}

        found = {}
        for i, (outs, ins, kernel) in zip((0, 2, 4), ((32, 4, 8), (64, 32, 4), (64, 64, 3))):
            found[f"network.{i}.weight"] = (
                RNG.normal(size=(outs, ins, kernel, kernel)) / (ins * kernel**2) ** 0.5
            ).astype(np.float32)
            found[f"network.{i}.bias"] = RNG.normal(size=outs).astype(np.float32)
        for name, shape in (("network.7", (512, 3136)), ("actor", (6, 512)), ("critic", (1, 512))):
            found[f"{name}.weight"], found[f"{name}.bias"] = (
                (RNG.normal(size=shape) / shape[1] ** 0.5).astype(np.float32),
                RNG.normal(size=shape[0]).astype(np.float32),
            )
        image = RNG.integers(0, 256, (4, 84, 84)).astype(np.uint8)
        x = image.astype(np.float32) / 255
        for i, stride in ((0, 4), (2, 2), (4, 1)):
            x = np.maximum(
                convolved(x, found[f"network.{i}.weight"], found[f"network.{i}.bias"], stride), 0
            )
        x = np.maximum(found["network.7.weight"] @ x.ravel() + found["network.7.bias"], 0)
        path = broadloom.import_policy(found, Images, name="Images-v0", out=out("images"))
        outputs, value = broadloom.Policy(path).outputs(np.moveaxis(image, 0, -1))
        np.testing.assert_allclose(
            outputs, found["actor.weight"] @ x + found["actor.bias"], rtol=1e-4, atol=1e-4
        )
        np.testing.assert_allclose(
            value, (found["critic.weight"] @ x + found["critic.bias"])[0], rtol=1e-4, atol=1e-4
        )

    def test_normalised_observations(self):
        class Statistics:
            mean, var, count = np.array([0.1, 0.2, 3.0]), np.array([1.0, 4.0, 0.25]), 500.0

        class Normalize:
            norm_obs, norm_reward, obs_rms, clip_obs = True, False, Statistics, 5.0

        found = {"actor_logstd": np.zeros((1, 1), np.float32)}
        dense(found, "actor_mean.", (3, 16, 1))
        dense(found, "critic.", (3, 16, 1))
        rows = 3 * RNG.normal(size=(50, 3)).astype(np.float32)
        outputs, _ = broadloom.Policy(
            broadloom.import_policy(
                found, "Pendulum-v1", out=out("normalised"), vec_normalize=Normalize
            )
        ).outputs(rows)
        seen = np.clip((rows - Statistics.mean) / np.sqrt(Statistics.var + 1e-8), -5, 5)
        np.testing.assert_allclose(
            outputs, forward(found, "actor_mean.", seen), rtol=2e-5, atol=2e-5
        )

    def test_rewards_are_normalised_where_they_were(self):
        class Returns:
            mean, var, count = 0.5, 9.0, 500.0

        class Normalize:
            norm_obs, norm_reward, ret_rms, clip_reward = False, True, Returns, 4.0

        found = {"actor_logstd": np.zeros((1, 1), np.float32)}
        dense(found, "actor_mean.", (3, 16, 1))
        dense(found, "critic.", (3, 16, 1))
        for name, keys, expected in (
            ("raw", {}, {}),
            ("scaled", {"vec_normalize": Normalize}, {"mean": 0.5, "var": 9.0, "count": 500.0}),
            ("asked_for", {"norm_reward": True}, {"mean": 0.0, "var": 1.0, "count": 1e-4}),
        ):
            with self.subTest(name):
                path = broadloom.import_policy(
                    found, "Pendulum-v1", out=out(f"rewards_{name}"), **keys
                )
                answer = broadloom.gradients(
                    path,
                    out=pathlib.Path(HERE.name) / f"rewards_{name}",
                    study="variance",
                    batch=32,
                    shapes="4x8,8x4",
                    blocks=10,
                )
                self.assertEqual(
                    "Rewards are scaled by the run's statistics" in " ".join(answer["notes"]),
                    bool(expected),
                )
                self.assertEqual(
                    numbers(path, "reward_normalizer.", ("mean", "var", "count")), expected
                )
        self.assertEqual(metadata(out("rewards_scaled"))["config.clip_reward"], "4")

    def test_numbers_that_are_not_finite_are_named(self):
        class Statistics:
            mean, var, count = np.zeros(4), np.array([1.0, np.nan, 1.0, 1.0]), 5.0

        class Normalize:
            norm_obs, norm_reward, obs_rms, clip_obs = True, False, Statistics, 5.0

        found = {}
        dense(found, "actor.", (4, 8, 2))
        dense(found, "critic.", (4, 8, 1))
        broken = {**found, "critic.2.bias": np.full(1, np.inf, np.float32)}
        for source, keys, words in (
            (broken, {}, r"source: critic\.2\.bias: got inf at \[0\], expected finite"),
            (found, {"vec_normalize": Normalize}, r"vec_normalize: var of .*: got nan at \[1\]"),
        ):
            with self.subTest(words), self.assertRaisesRegex(broadloom.Error, words) as caught:
                broadloom.import_policy(source, "CartPole-v1", out=out("not_finite"), **keys)
            self.assertEqual(caught.exception.kind, "numeric")
            self.assertFalse(out("not_finite").exists())

    def test_what_does_not_fit_is_refused(self):
        found = {}
        dense(found, "actor.", (4, 8, 2))
        dense(found, "critic.", (4, 8, 1))
        odd = {**found}
        dense(odd, "critic.", (4, 9, 1))
        for words, call in (
            (
                "learner.params: got",
                lambda: broadloom.import_policy(found, "Acrobot-v1", out=out("a")),
            ),
            (
                r"hidden layers \[8\]",
                lambda: broadloom.import_policy(odd, "CartPole-v1", out=out("b")),
            ),
            (
                "expected a PPO",
                lambda: broadloom.import_policy(
                    {"weights": np.zeros(3)}, "CartPole-v1", out=out("c")
                ),
            ),
            (
                "exists already",
                lambda: [
                    broadloom.import_policy(found, "CartPole-v1", out=out("d")) for _ in range(2)
                ],
            ),
        ):
            with self.subTest(words), self.assertRaisesRegex(broadloom.Error, words):
                call()
            self.assertFalse(out("a").exists())


if __name__ == "__main__":
    unittest.main()
