"""Reads exported policies of every kind, and computes their outputs for the states of the parity
file.

usage: export_page_test.py PROGRAM PAGE READER

READER: numpy (the code of the page, and nothing else), onnxruntime, or torch.
"""

import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

PROGRAM, PAGE, READER = (sys.argv.pop(1) for _ in range(3))
PROGRAM, PAGE = (str(pathlib.Path(path).resolve()) for path in (PROGRAM, PAGE))
ENDINGS = {"numpy": "npz", "onnxruntime": "onnx", "torch": "py"}

FEW = {"total_timesteps": 512, "num_envs": 8, "num_steps": 32}
KINDS = {
    "tanh": {"env_id": "CartPole-v1"},
    "gaussian, normalised": {
        "env_id": "Pendulum-v1",
        "norm_obs": "true",
        "clip_obs": 1.5,
        "total_timesteps": 4096,
    },
    "squashed, scaled": {
        "env_id": "Pendulum-v1",
        "action_distribution": "squashed",
        "std_form": "state_dependent",
        "std_max": 1.5,
        "env.scale_actions": "true",
    },
    "gaussian, scaled": {"env_id": "Pendulum-v1", "env.scale_actions": "true"},
    "sde": {"env_id": "Pendulum-v1", "std_form": "sde"},
    "beta": {"env_id": "Pendulum-v1", "action_distribution": "beta"},
    "one body, elu": {"env_id": "CartPole-v1", "shared_encoder": "true", "activation": "elu"},
    "layer_norm": {"env_id": "Acrobot-v1", "layer_norm": "all", "activation": "relu"},
    "discrete observations": {"env_id": "Taxi-v3"},
    "minatar, frames": {
        "env_id": "MinAtar/Breakout-v1",
        "encoder": "minatar",
        "shared_encoder": "true",
        "env.frame_stack": 3,
        "env.frame_padding": "zero",
    },
    "minatar, layer_norm": {
        "env_id": "MinAtar/Asterix-v1",
        "encoder": "minatar",
        "layer_norm": "channels",
    },
    "impala": {
        "env_id": "MinAtar/Freeway-v1",
        "encoder": "impala",
        "shared_encoder": "true",
        "total_timesteps": 256,
    },
    "several choices": {"env_id": "Dials-v0"},
    "choices and numbers": {"env_id": "Golf-v0"},
    "choices and scaled pairs": {"env_id": "Golf-v0", "action_distribution": "beta"},
    "masks": {"env_id": "TicTacToe-v0"},
    "pqn": {"env_id": "MinAtar/Breakout-v1", "algorithm": "pqn", "layer_norm": "all"},
    "pqn, dense": {"env_id": "CartPole-v1", "algorithm": "pqn"},
    "rnd": {"env_id": "CartPole-v1", "algorithm": "ppo_rnd", "num_iterations_obs_norm_init": 2},
    "mingru": {"env_id": "TMaze-v0", "recurrent": "mingru", "norm_obs": "true"},
    "gru, one body": {
        "env_id": "Pendulum-v1",
        "recurrent": "gru",
        "shared_encoder": "true",
        "num_minibatches": 4,
    },
    "lstm, masks": {"env_id": "TicTacToe-v0", "recurrent": "lstm", "hidden_sizes": "24,8"},
}


def by_the_page(path, **inputs):
    (block,) = re.findall(
        r"^```python\n(.*?)^```$", pathlib.Path(PAGE).read_text(encoding="utf-8"), re.M | re.S
    )
    page = {}
    exec(block, page)
    return page["replay"](np.load(path), **inputs)


def by_onnxruntime(path, **inputs):
    import onnxruntime

    if importlib.util.find_spec("onnx"):
        import onnx

        onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return dict(
        zip(
            (output.name for output in session.get_outputs()),
            session.run(None, inputs),
        )
    )


def by_torch(path, **inputs):
    import torch

    spec = importlib.util.spec_from_file_location("policy", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with torch.no_grad():
        return {
            name: output.numpy()
            for name, output in module.load()(
                **{name: torch.from_numpy(rows) for name, rows in inputs.items()}
            ).items()
        }


READ = {"numpy": by_the_page, "onnxruntime": by_onnxruntime, "torch": by_torch}[READER]


def apart(got, expected):
    """The largest difference, relative for large numbers; infinite if an index, type or shape
    differs."""
    if sorted(got) != sorted(expected):
        return np.inf
    largest = 0.0
    for name, numbers in expected.items():
        if got[name].shape != numbers.shape or got[name].dtype != numbers.dtype:
            return np.inf
        if numbers.dtype == np.int64:
            largest = largest if (got[name] == numbers).all() else np.inf
        else:
            largest = max(
                largest, float(np.max(np.abs(got[name] - numbers) / np.maximum(1, np.abs(numbers))))
            )
    return largest


def beta_mean(alpha, beta):
    alpha, beta = 1 + np.logaddexp(0, alpha), 1 + np.logaddexp(0, beta)
    return alpha / (alpha + beta)


class ExportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="broadloom_export_")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def exported(self, name, *more):
        """(path of the file, inputs, expected outputs, tolerance)."""
        run, path = self.folder / name, str(self.folder / f"{name}.{ENDINGS[READER]}")
        if not run.exists():
            flags = [
                word
                for key, value in {**FEW, **KINDS[name]}.items()
                for word in (f"--{key}", str(value))
            ]
            subprocess.run(
                [PROGRAM, "train", *flags, "--threads", "1", "--out", run, "--quiet"], check=True
            )
        subprocess.run(
            [PROGRAM, "export", run, "--out", path, "--quiet", "--force", *more], check=True
        )
        parity = dict(np.load(path + ".parity.npz"))
        names = ("observation", "action_mask", "state")
        inputs = {name: parity.pop(name) for name in names if name in parity}
        return path, inputs, parity, float(parity.pop("tolerance"))

    def test_every_kind_comes_to_what_the_network_does(self):
        for name in KINDS:
            with self.subTest(name):
                path, inputs, expected, tolerance = self.exported(name)
                off = apart(READ(path, **inputs), expected)
                count = len(inputs["observation"])
                print(
                    f"{name}: {count} states, {', '.join(expected)}: {off:.1e} apart",
                    flush=True,
                )
                self.assertLess(off, tolerance)
                self.assertEqual(tolerance, 1e-5)
                one = apart(
                    READ(path, **{key: rows[:1] for key, rows in inputs.items()}),
                    {
                        key: numbers[:1] if len(numbers) == count else numbers
                        for key, numbers in expected.items()
                    },
                )
                self.assertLess(one, tolerance)

    @unittest.skipUnless(READER == "numpy", "reads the file's arrays")
    def test_actions_follow_from_the_other_outputs_as_the_page_says(self):
        places = {
            "gaussian, scaled": lambda outputs: outputs["mean"],
            "squashed, scaled": lambda outputs: np.tanh(outputs["mean"]),
            "beta": lambda outputs: 2 * beta_mean(outputs["alpha"], outputs["beta"]) - 1,
        }
        for name, place in places.items():
            path, _, expected, tolerance = self.exported(name)
            file = np.load(path)
            low, high = file["action_low"], file["action_high"]
            scaled = low + (place(expected) + 1) * (high - low) / 2
            np.testing.assert_allclose(
                np.clip(scaled, low, high), expected["action"], rtol=0, atol=2 * tolerance
            )

    def test_states_go_from_step_to_step(self):
        for name in ("mingru", "gru, one body", "lstm, masks"):
            path, inputs, expected, tolerance = self.exported(name)
            (begins,) = np.nonzero((inputs["state"] == 0).all(1))
            self.assertEqual((begins[0], len(begins)), (0, 4))
            for row in begins:  # the parity file has the first three steps of an episode
                state = np.zeros_like(inputs["state"][:1])
                for _ in range(2):
                    given = {key: rows[row : row + 1] for key, rows in inputs.items()}
                    state = READ(path, **{**given, "state": state})["next_state"]
                    apart_by_row = np.abs(inputs["state"] - state).max(1)
                    row = apart_by_row.argmin()
                    self.assertLess(apart_by_row[row], tolerance)
            _, inputs, expected, _ = self.exported(name, "--value", "false")
            self.assertNotIn("value", expected)
            self.assertLess(apart(READ(path, **inputs), expected), tolerance)
            refused = subprocess.run(
                [PROGRAM, "export", self.folder / name, "--out", self.folder / "policy.h"],
                capture_output=True,
                text=True,
            )
            self.assertEqual(refused.returncode, 2)
            self.assertIn("expected onnx, torch or npz", refused.stderr)

    def test_states_are_as_the_environment_shows_them(self):
        _, inputs, expected, _ = self.exported("gaussian, normalised")
        observation = inputs["observation"]
        np.testing.assert_allclose(observation[:, 0] ** 2 + observation[:, 1] ** 2, 1.0, atol=1e-5)
        self.assertEqual(sorted(expected), ["action", "log_std", "mean", "value"])
        self.assertLessEqual(np.abs(expected["action"]).max(), 2.0)
        _, inputs, expected, _ = self.exported("minatar, frames")
        observation = inputs["observation"]
        self.assertEqual((observation.dtype, observation.shape[1:]), (np.uint8, (10, 10, 12)))
        self.assertTrue(
            (observation[0, :, :, :8] == 0).all() and observation[0, :, :, 8:].any(),
            "the first stack: two images of zeros, then the newest",
        )
        _, _, expected, _ = self.exported("rnd", "--value", "false")
        self.assertEqual(sorted(expected), ["action", "logits"])

    @unittest.skipUnless(
        READER == "onnxruntime" and importlib.util.find_spec("gymnasium"),
        "of docs/export.md, with ONNX Runtime and Gymnasium",
    )
    def test_the_guides_example_runs(self):
        guide = (pathlib.Path(PAGE).parent.parent / "export.md").read_text(encoding="utf-8")
        (commands,) = (
            block
            for block in re.findall(r"^```sh\n(.*?)^```$", guide, re.M | re.S)
            if "broadloom train" in block
        )
        for line in commands.splitlines():
            subprocess.run([PROGRAM, *line.split()[1:], "--quiet"], check=True, cwd=self.folder)
        plays, stacks, remembers, compares = re.findall(
            r"^```python\n(.*?)^```$", guide, re.M | re.S
        )[:4]
        printed = subprocess.run(
            [sys.executable, "-c", plays],
            check=True,
            cwd=self.folder,
            capture_output=True,
            text=True,
        ).stdout
        self.assertGreater(float(printed.split()[1]), -600)  # random play: some -1,200
        subprocess.run([sys.executable, "-c", compares], check=True, cwd=self.folder)
        path, *_ = self.exported("minatar, frames")
        pathlib.Path(path).rename(self.folder / "policy.onnx")
        images = (
            "images = numpy.random.default_rng(1).integers(\n"
            "    0, 2, (5, 10, 10, 4), dtype=numpy.uint8)\n"
        )
        acts = (
            images + "for i, image in enumerate(images):\n    print(act(image, i == 0), "
            "[len(frames), numpy.array_equal(frames[-1], image)])\n"
        )
        printed = subprocess.run(
            [sys.executable, "-c", stacks + acts],
            check=True,
            cwd=self.folder,
            capture_output=True,
            text=True,
        ).stdout
        self.assertRegex(printed, r"^([012] \[3, True\]\n){5}$")
        import onnxruntime

        path, inputs, expected, _ = self.exported("mingru")
        names = {"numpy": np, "session": onnxruntime.InferenceSession(path)}
        exec(remembers, names)
        begins = (inputs["state"] == 0).all(1)
        given = inputs["state"] + begins[:, None].astype(np.float32)
        _, state = names["remember"](inputs["observation"], begins, given)
        np.testing.assert_allclose(state, expected["next_state"], atol=1e-5)

    def test_what_is_wrong_is_seen(self):
        path, inputs, expected, tolerance = self.exported("gaussian, normalised")
        inputs["observation"] += np.float32(1e-3)
        self.assertGreater(apart(READ(path, **inputs), expected), tolerance)


if __name__ == "__main__":
    unittest.main()
