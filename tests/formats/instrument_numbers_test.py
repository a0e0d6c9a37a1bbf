"""Computes the network instruments' numbers again from a checkpoint, with NumPy.

On a one-hot environment the probe has every state once, so the parameters determine the numbers.

usage: instrument_numbers_test.py PROGRAM
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from safetensors import safe_open

PROGRAM = sys.argv.pop(1)
STATES, ACTIONS, WIDTHS = 500, 6, (70, 65)  # Taxi-v3


def layers(params):
    """Hidden layers of both bodies, and the policy's head, as (weights [in, out], bias)."""
    place = 0

    def take(*shape):
        nonlocal place
        size = int(np.prod(shape))
        place += size
        return params[place - size : place].astype(np.float64).reshape(shape)

    def linear(inputs, outputs, head=False):
        weights = take(outputs, inputs).T if head else take(inputs, outputs)
        return weights, take(outputs)

    chain = list(zip((STATES, *WIDTHS), WIDTHS))
    actor = [linear(*shape) for shape in chain]
    policy = linear(WIDTHS[-1], ACTIONS, head=True)
    return actor, policy, [linear(*shape) for shape in chain]


def share_count(values, share=0.99):
    return int(np.searchsorted(np.cumsum(values) / values.sum(), share) + 1)


class Numbers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="broadloom_numbers_")
        folder = pathlib.Path(cls.temporary.name) / "run"
        subprocess.run(
            [
                PROGRAM,
                "train",
                "--env_id",
                "Taxi-v3",
                "--num_envs",
                "16",
                "--num_steps",
                "32",
                "--total_timesteps",
                "5120",
                "--learning_rate",
                "0.02",
                "--lr_schedule",
                "constant",
                "--activation",
                "relu",
                "--hidden_sizes",
                ",".join(map(str, WIDTHS)),
                "--instruments",
                "plasticity,policy,coverage",
                "--out",
                str(folder),
                "--quiet",
            ],
            check=True,
        )
        cls.said = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
        with safe_open(
            sorted((folder / "checkpoints").glob("*.safetensors"))[-1], framework="numpy"
        ) as file:
            cls.tensors = {name: file.get_tensor(name) for name in file.keys()}
        cls.actor, cls.policy, cls.critic = layers(cls.tensors["learner.params"])

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def outputs(self, body):
        h = np.eye(STATES)
        for weights, bias in body:
            h = np.maximum(h @ weights + bias, 0.0)
            yield h

    def test_ranks(self):
        for name, body in (("actor", self.actor), ("critic", self.critic)):
            features = list(self.outputs(body))[-1]
            s = np.linalg.svd(features, compute_uv=False)
            p = s[s > 0] / s.sum()
            expected = {
                "approximate_rank": share_count(s**2),
                "srank": share_count(s),
                "effective_rank": np.exp(-(p * np.log(p)).sum()),
                "feature_rank": (s / np.sqrt(STATES) > 0.01).sum(),
                "numeric_rank": np.linalg.matrix_rank(features, tol=s[0] * STATES * 2.0**-23),
                "feature_norm": np.linalg.norm(features, axis=1).mean(),
            }
            for key, value in expected.items():
                self.assertAlmostEqual(
                    self.said[f"plasticity/{name}_{key}"] / value, 1.0, 4, (name, key)
                )

    def test_idle_units(self):
        totals = np.zeros(4)
        for name, body in (("actor", self.actor), ("critic", self.critic)):
            for number, h in enumerate(self.outputs(body), 1):
                size = np.abs(h).mean(axis=0)
                counts = np.array(
                    [
                        (size < 1e-5).sum(),
                        (size / (size.mean() + 1e-9) <= 0.025).sum(),
                        (size == 0).sum(),
                        (h.std(axis=0) < 1e-3).sum(),
                    ]
                )
                totals += counts
                for key, count in zip(("dormant", "tau_dormant", "silent", "constant"), counts):
                    self.assertAlmostEqual(
                        self.said[f"plasticity/{name}_layer{number}_{key}"],
                        100.0 * count / h.shape[1],
                        9,
                        (name, number, key),
                    )
        self.assertGreater(totals[2], 0, "no unit died: the test has nothing to see")
        for key, count in zip(("dormant", "tau_dormant", "silent", "constant"), totals):
            self.assertAlmostEqual(
                self.said[f"plasticity/{key}"], 100.0 * count / (2 * sum(WIDTHS)), 9, key
            )

    def test_weights_policy_and_coverage(self):
        params = self.tensors["learner.params"].astype(np.float64)
        self.assertAlmostEqual(self.said["plasticity/weight_norm"], np.linalg.norm(params), 9)
        weights, bias = self.policy
        logits = list(self.outputs(self.actor))[-1] @ weights + bias
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        self.assertAlmostEqual(self.said["policy/variance"] / p.var(axis=0).mean(), 1.0, 4)
        cells = self.tensors["instruments.coverage.cells"]
        self.assertAlmostEqual(self.said["coverage/run"], 100.0 * cells.sum() / STATES, 9)
        self.assertEqual(self.said["coverage/states"], self.said["global_step"])


if __name__ == "__main__":
    unittest.main()
