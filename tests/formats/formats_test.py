"""A run's files as other people's tools see them.

usage: formats_test.py PROGRAM
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from safetensors import safe_open
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

PROGRAM = sys.argv.pop(1)


class Formats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="broadloom_formats_")
        cls.run_dir = pathlib.Path(cls.temporary.name) / "run"
        subprocess.run(
            [
                PROGRAM,
                "train",
                "--env_id",
                "Pendulum-v1",
                "--num_envs",
                "4",
                "--num_steps",
                "128",
                "--total_timesteps",
                "5120",
                "--num_minibatches",
                "4",
                "--eval_interval",
                "5",
                "--instruments",
                "gradient,plasticity,policy,coverage,audit",
                "--instrument_every",
                "4",
                "--log_interval",
                "3",
                "--out",
                str(cls.run_dir),
                "--quiet",
            ],
            check=True,
        )
        cls.metrics = [
            json.loads(line) for line in (cls.run_dir / "metrics.jsonl").read_text().splitlines()
        ]

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_tensorboard_reads_the_scalars(self):
        events = EventAccumulator(str(self.run_dir), size_guidance={"scalars": 0})
        events.Reload()
        for tag, key in (
            ("losses/value_loss", "value_loss"),
            ("losses/policy_loss", "policy_loss"),
            ("losses/approx_kl", "approx_kl"),
            ("losses/clipfrac", "clipfrac"),
            ("losses/entropy", "entropy"),
            ("losses/old_approx_kl", "old_approx_kl"),
            ("losses/explained_variance", "explained_variance"),
            ("charts/learning_rate", "learning_rate"),
            ("charts/episodic_return", "episodic_return"),
            ("charts/episodic_length", "episodic_length"),
            ("charts/success_rate", "success_rate"),
            ("charts/termination_rate", "termination_rate"),
        ):
            written = [(m["global_step"], m[key]) for m in self.metrics if m[key] is not None]
            read = [(s.step, s.value) for s in events.Scalars(tag)]
            self.assertEqual([s for s, _ in read], [s for s, _ in written], tag)
            np.testing.assert_allclose(
                [v for _, v in read], np.float32([v for _, v in written]), rtol=1e-6
            )
        self.assertEqual(len(events.Scalars("charts/SPS")), len(self.metrics))
        evaluations = [
            json.loads(line) for line in (self.run_dir / "eval.jsonl").read_text().splitlines()
        ]
        self.assertEqual(
            [s.step for s in events.Scalars("eval/episodic_return")],
            [e["global_step"] for e in evaluations],
        )

    def test_instruments_add_their_numbers_where_they_ran(self):
        self.assertEqual([m["iteration"] for m in self.metrics], [3, 4, 6, 8, 9, 10])
        events = EventAccumulator(str(self.run_dir), size_guidance={"scalars": 0})
        events.Reload()
        instruments = ("grad", "plasticity", "policy", "coverage", "audit")
        tags = [tag for tag in events.Tags()["scalars"] if tag.split("/")[0] in instruments]
        for tag in (
            "grad/full_norm",
            "plasticity/actor_srank",
            "policy/kl",
            "coverage/run",
            "audit/kl",
        ):
            self.assertIn(tag, tags)
        for tag in tags:
            written = [(m["global_step"], m[tag]) for m in self.metrics if m.get(tag) is not None]
            read = [(s.step, s.value) for s in events.Scalars(tag)]
            self.assertEqual([s for s, _ in read], [s for s, _ in written], tag)
            np.testing.assert_allclose(
                [v for _, v in read], np.float32([v for _, v in written]), rtol=1e-6
            )
        for m in self.metrics:
            self.assertEqual("grad/full_norm" in m, m["iteration"] in (4, 8, 10))

    def test_safetensors_reads_the_checkpoint(self):
        path = sorted((self.run_dir / "checkpoints").glob("*.safetensors"))[-1]
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}
        self.assertEqual(metadata["config.env_id"], "Pendulum-v1")
        # Two 64-64 networks on 3 observations, 1 action, and log_std.
        self.assertEqual(
            tensors["learner.params"].shape, (2 * (3 * 64 + 64 + 64 * 64 + 64 + 64 + 1) + 1,)
        )
        self.assertEqual(tensors["learner.params"].dtype, np.float32)
        self.assertTrue(np.isfinite(tensors["learner.params"]).all())
        self.assertEqual(tensors["trainer.global_step"].tolist(), [5120])
        self.assertEqual(tensors["envs.episode_step"].shape, (4,))

    def test_manifest_says_what_the_run_was(self):
        manifest = json.loads((self.run_dir / "manifest.json").read_text())
        self.assertEqual(manifest["config"]["num_steps"], "128")
        for key in ("revision", "compiler", "isa", "threads", "hardware", "seeds"):
            self.assertIn(key, manifest)


if __name__ == "__main__":
    unittest.main(verbosity=1)
