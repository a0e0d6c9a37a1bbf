"""Reads checkpoints as docs/formats/checkpoint.md describes, with NumPy and safetensors. Compares
the policies' outputs, and their returns in Gymnasium.

usage: checkpoint_page_test.py PROGRAM POLICY_OUTPUTS
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import gymnasium
import numpy as np
from safetensors import safe_open

PROGRAM, POLICY_OUTPUTS = sys.argv.pop(1), sys.argv.pop(1)

ACTIVATIONS = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0.0),
    "elu": lambda x: np.where(x > 0.0, x, np.expm1(np.minimum(x, 0.0))),
}


class Policy:
    """heads_turned: takes the heads' weights for [in, out], which they are not."""

    def __init__(self, path, env, heads_turned=False):
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}
        config = {
            key[len("config.") :]: text
            for key, text in metadata.items()
            if key.startswith("config.")
        }
        self.activation = ACTIVATIONS[config["activation"]]
        self.space, self.one_hot = env.action_space, None
        if isinstance(env.observation_space, gymnasium.spaces.Discrete):
            self.one_hot = np.eye(env.observation_space.n)
        self.normaliser = None
        if config["norm_obs"] == "true":
            self.normaliser = (
                tensors["obs_normalizer.mean"],
                tensors["obs_normalizer.var"],
                float(config["clip_obs"]),
            )
        self.params, self.place = tensors["learner.params"].astype(np.float64), 0
        self.heads_turned = heads_turned
        self.is_scaled = config.get("env.scale_actions") == "true"
        self.read(
            self.one_hot.shape[0] if self.one_hot is not None else env.observation_space.shape[0],
            self.space.n if self.is_discrete() else self.space.shape[0],
            [int(width) for width in config["hidden_sizes"].split(",")],
            config["shared_encoder"] == "true",
        )

    def is_discrete(self):
        return isinstance(self.space, gymnasium.spaces.Discrete)

    def read(self, inputs, outputs, widths, shared):
        chain = list(zip([inputs, *widths], widths))
        self.policy_body = [self.hidden(*shape) for shape in chain]
        if shared:
            self.value_body = self.policy_body
        self.policy_head = self.head(widths[-1], outputs)
        if not shared:
            self.value_body = [self.hidden(*shape) for shape in chain]
        self.value_head = self.head(widths[-1], 1)
        if not self.is_discrete():
            self.take(outputs)  # log_std
        assert self.place == self.params.size, (self.place, self.params.size)

    def take(self, *shape):
        self.place += int(np.prod(shape))
        return self.params[self.place - int(np.prod(shape)) : self.place].reshape(shape)

    def hidden(self, inputs, outputs):
        return self.take(inputs, outputs), self.take(outputs)

    def head(self, inputs, outputs):
        weights = self.take(inputs, outputs) if self.heads_turned else self.take(outputs, inputs).T
        return weights, self.take(outputs)

    def seen(self, observations):
        """As the network sees them; observations: as the environments gave them."""
        x = (
            self.one_hot[observations]
            if self.one_hot is not None
            else np.asarray(observations, np.float64)
        )
        if self.normaliser is not None:
            mean, var, clip = self.normaliser
            x = np.clip((x - mean) / np.sqrt(var + 1e-8), -clip, clip)
        return x.astype(np.float32)

    def outputs(self, observations, body, head):
        x = self.seen(observations).astype(np.float64)
        for weights, bias in body:
            x = self.activation(x @ weights + bias)
        return x @ head[0] + head[1]

    def policy(self, observations):
        return self.outputs(observations, self.policy_body, self.policy_head)

    def value(self, observations):
        return self.outputs(observations, self.value_body, self.value_head)

    def act(self, observations):
        outputs = self.policy(observations)
        if self.is_discrete():
            return outputs.argmax(axis=1)
        low, high = self.space.low, self.space.high
        if self.is_scaled:
            outputs = low + (outputs + 1) * (high - low) / 2
        return np.clip(outputs, low, high).astype(np.float32)


def play(policy, env_id, options, episodes):
    """Returns of the episodes, and every observation of the first."""
    envs = [gymnasium.make(env_id, disable_env_checker=True, **options) for _ in range(episodes)]
    observations = [env.reset(seed=i)[0] for i, env in enumerate(envs)]
    returns, first, under_way = np.zeros(episodes), [observations[0]], list(range(episodes))
    while under_way:
        still = []
        for i, action in zip(under_way, policy.act([observations[i] for i in under_way])):
            observations[i], reward, terminated, truncated, _ = envs[i].step(action)
            returns[i] += reward
            if i == 0:
                first.append(observations[i])
            if not terminated and not truncated:
                still.append(i)
        under_way = still
    return returns, first


def apart(returns, printed):
    """The difference of the mean return from `broadloom eval`, in standard errors."""
    error = np.hypot(
        returns.std(ddof=1) / len(returns) ** 0.5,
        printed["std_return"] / printed["episodes"] ** 0.5,
    )
    return abs(returns.mean() - printed["mean_return"]) / max(
        error, 1e-3 * abs(printed["mean_return"]), 1e-9
    )


class CheckpointPage(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="broadloom_page_")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name) / "run"

    def trained(self, env_id, **config):
        flags = [word for key, value in config.items() for word in ("--" + key, str(value))]
        subprocess.run(
            [PROGRAM, "train", "--env_id", env_id, *flags, "--out", self.folder, "--quiet"],
            check=True,
        )
        printed = subprocess.run(
            [PROGRAM, "eval", self.folder, "--episodes", "2000", "--json"],
            check=True,
            capture_output=True,
            text=True,
        )
        return max((self.folder / "checkpoints").glob("*.safetensors")), json.loads(printed.stdout)

    def check_outputs(self, policy, path, observations):
        rows = observations
        if policy.one_hot is not None:
            rows = policy.one_hot[observations]
        lines = "".join(" ".join(f"{x:.9g}" for x in row) + "\n" for row in rows)
        printed = subprocess.run(
            [POLICY_OUTPUTS, path], input=lines, capture_output=True, text=True, check=True
        ).stdout
        printed = np.array([[float(x) for x in line.split()] for line in printed.splitlines()])
        expected = np.hstack([policy.policy(observations), policy.value(observations)])
        np.testing.assert_allclose(printed, expected, rtol=1e-5, atol=1e-5)

    def check(self, env_id, episodes, options=None, heads_matter=False, **config):
        path, printed = self.trained(env_id, **config)
        env = gymnasium.make(env_id, **(options or {}))
        policy = Policy(path, env)
        returns, observations = play(policy, env_id, options or {}, episodes)
        print(
            f"{env_id} {config}: here {returns.mean():.2f} over {episodes} episodes, `eval` "
            f"{printed['mean_return']:.2f} "
            f"[{printed['ci_low']:.2f}, {printed['ci_high']:.2f}], "
            f"{apart(returns, printed):.1f} standard "
            "errors apart",
            flush=True,
        )
        self.check_outputs(policy, path, observations)
        self.assertLess(apart(returns, printed), 4.0)
        if heads_matter:
            # A few are enough to tell: those of Acrobot never reach the goal, and are the longest.
            turned, _ = play(Policy(path, env, heads_turned=True), env_id, options or {}, 20)
            print(
                f"  with its heads taken for [in, out]: {turned.mean():.2f}, "
                f"{apart(turned, printed):.1f} apart",
                flush=True,
            )
            self.assertGreater(
                apart(turned, printed),
                4.0,
                "the test would not see heads stored the other way round",
            )

    def test_cart_pole(self):
        self.check("CartPole-v1", 100, total_timesteps=100000, learning_rate=1e-3)

    def test_acrobot(self):
        self.check(
            "Acrobot-v1",
            100,
            heads_matter=True,
            total_timesteps=150000,
            learning_rate=1e-3,
            activation="elu",
        )

    def test_pendulum_with_normalised_observations_and_scaled_actions(self):
        self.check(
            "Pendulum-v1",
            100,
            total_timesteps=150000,
            num_envs=8,
            num_steps=256,
            learning_rate=1e-3,
            gamma=0.9,
            clip_obs=1.5,
            **{"env.scale_actions": "true"},
        )

    def test_one_body(self):
        self.check(
            "CartPole-v1",
            100,
            heads_matter=True,
            total_timesteps=100000,
            learning_rate=1e-3,
            shared_encoder="true",
            activation="relu",
            hidden_sizes="48,32",
        )

    def test_discrete_observations(self):
        self.check("FrozenLake-v1", 1000, total_timesteps=200000, num_envs=16, learning_rate=3e-3)


if __name__ == "__main__":
    unittest.main()
