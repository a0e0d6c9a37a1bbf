"""Policies exported from Python, of environments of one's own, too: read by the code of
docs/formats/export.md."""

import importlib.util
import os
import pathlib
import re
import sys
import tempfile
import unittest

import gymnasium
import numpy as np

import broadloom

PAGE = pathlib.Path(sys.argv.pop(1))
HERE = tempfile.TemporaryDirectory()
OUT = pathlib.Path(HERE.name)
FEW = {
    "total_timesteps": 256,
    "num_envs": 4,
    "num_steps": 16,
    "num_minibatches": 2,
    "update_epochs": 1,
    "quiet": True,
}


class Pictures(gymnasium.Env):
    """Pixels in colour, as large as Nature's network needs, and three numbers to choose."""

    observation_space = gymnasium.spaces.Box(0, 255, (36, 40, 3), np.uint8)
    action_space = gymnasium.spaces.Box(-1.0, 0.5, (3,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._draw(), {}

    def step(self, action):
        return self._draw(), float(action.sum()), False, False, {}

    def _draw(self):
        return self.np_random.integers(0, 256, self.observation_space.shape, dtype=np.uint8)


class TwoSides(gymnasium.Env):
    """The critic sees what the policy does not."""

    observation_space = gymnasium.spaces.Dict(
        {
            "policy": gymnasium.spaces.Box(-1, 1, (2,), np.float32),
            "critic": gymnasium.spaces.Box(-1, 1, (5,), np.float32),
        }
    )
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 1.0, bool(self.np_random.random() < 0.1), False, {}


class Rooms(gymnasium.Env):
    """Rooms 3 to 7, of which one goes to the one before or after: its spaces do not begin at 0."""

    observation_space, action_space = (
        gymnasium.spaces.Discrete(5, start=3),
        gymnasium.spaces.Discrete(3, start=-1),
    )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.room = int(self.np_random.integers(3, 8))
        return self.room, {}

    def step(self, action):
        assert action in self.action_space
        self.room = int(np.clip(self.room + action, 3, 7))
        return self.room, float(self.room == 7), self.room == 7, False, {}


class Starts(Rooms):
    """Choices of an action that do not begin at 0."""

    action_space = gymnasium.spaces.Dict(
        left=gymnasium.spaces.MultiDiscrete([2, 3], start=[-1, 4]),
        right=gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(3, start=5)]),
    )

    def step(self, action):
        assert self.action_space.contains(action)
        self.room = int(np.clip(self.room + action["left"][0], 3, 7))
        return self.room, float(self.room == 7), self.room == 7, False, {}


class StartsAndNumbers(Starts):
    action_space = gymnasium.spaces.Dict(
        **Starts.action_space.spaces, speed=gymnasium.spaces.Box(-1.0, 1.0, (2,))
    )


def replay(path, observation, **more):
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    page = {}
    exec(block, page)
    return page["replay"](np.load(path), observation, **more)


def by_onnxruntime(path, observation, **more):
    import onnxruntime

    session = onnxruntime.InferenceSession(os.fspath(path), providers=["CPUExecutionProvider"])
    return dict(
        zip(
            (output.name for output in session.get_outputs()),
            session.run(None, {"observation": observation, **more}),
        )
    )


def row_of(actions):
    """The numbers of nested actions [n, A], as exports give them."""
    parts = [actions["left"], actions["right"][0][:, None], *[actions.get("speed")][:1]]
    return np.concatenate([part for part in parts if part is not None], axis=1)


class ExportTest(unittest.TestCase):
    def test_nested_choices_count_from_their_starts(self):
        for kind in (Starts, StartsAndNumbers):
            run = broadloom.train(kind, name=f"{kind.__name__}-v0", out=OUT / kind.__name__, **FEW)
            parity, _ = self.check(run, kind.__name__, row_of)
            self.assertGreaterEqual(parity["action"][:, 1:3].min(), 4)

    def check(self, run, name, row_of=lambda actions: actions):
        path = OUT / f"{name}.npz"
        answer = broadloom.export(run, path)
        self.assertEqual(answer["files"], [str(path), f"{path}.parity.npz"])
        parity = dict(np.load(answer["files"][1]))
        readers = [(replay, path)]
        if importlib.util.find_spec("onnxruntime"):
            readers.append(
                (by_onnxruntime, broadloom.export(run, OUT / f"{name}.onnx")["files"][0])
            )
        else:
            print("SKIPPED: ONNX Runtime is not there")
        for reader, file in readers:
            got = reader(file, parity["observation"])
            for output in got:
                np.testing.assert_allclose(
                    got[output], parity[output], rtol=answer["tolerance"], atol=answer["tolerance"]
                )
        policy = broadloom.Policy(run)
        actions = row_of(policy.act(parity["observation"]))
        np.testing.assert_allclose(actions, parity["action"], rtol=1e-5, atol=1e-5)
        return parity, answer

    def test_natures_network_on_pictures_of_a_class(self):
        for stacked in (False, True):
            run = broadloom.train(
                Pictures,
                name=f"Pictures-v{int(stacked)}",
                out=OUT / f"nature{int(stacked)}",
                max_episode_steps=40,
                encoder="nature",
                shared_encoder=stacked,
                norm_obs=False,
                **{**FEW, **({"env.frame_stack": 2} if stacked else {})},
            )
            parity, answer = self.check(run, f"nature{int(stacked)}")
            self.assertEqual(answer["observation"], f"uint8 [N, 36, 40, {6 if stacked else 3}]")
            self.assertTrue((parity["action"] <= 0.5).all())
            self.assertEqual(answer["about"].get("frame_stack"), "2" if stacked else None)

    def test_a_critic_with_an_observation_of_its_own(self):
        run = broadloom.train(
            TwoSides,
            name="TwoSides-v0",
            out=OUT / "sides",
            norm_obs=True,
            max_episode_steps=20,
            **FEW,
        )
        parity, answer = self.check(run, "sides")
        self.assertEqual(sorted(parity), ["action", "logits", "observation", "tolerance"])
        self.assertIn(
            "The critic reads an observation that the policy does not have", answer["notes"][0]
        )

    def test_spaces_that_do_not_begin_at_0(self):
        run = broadloom.train(
            Rooms,
            name="Rooms-v0",
            out=OUT / "rooms",
            max_episode_steps=20,
            learning_rate=0.01,
            **{**FEW, "total_timesteps": 2048},
        )
        parity, _ = self.check(run, "rooms")
        self.assertTrue(((3 <= parity["observation"]) & (parity["observation"] <= 7)).all())
        np.testing.assert_array_equal(parity["action"], np.argmax(parity["logits"], axis=1) - 1)
        policy = broadloom.Policy(run)
        self.assertEqual(
            (policy.observation_space, policy.action_space),
            (Rooms.observation_space, Rooms.action_space),
        )
        env, room = Rooms(), 3
        env.reset(seed=1)
        for _ in range(20):
            room, _, ended, _, _ = env.step(policy.act(room))
            if ended:
                break
        self.assertTrue(ended)
        self.assertIn(policy.act(room, rng=np.random.default_rng(1)), Rooms.action_space)
        for room in (2, 8):
            with self.assertRaisesRegex(ValueError, f"from {room} to {room}, expected"):
                policy.act(room)

    def test_a_file_of_gymnasiums_environment_plays_it(self):
        run = broadloom.train("gymnasium/Pendulum-v1", out=OUT / "pendulum", norm_obs=True, **FEW)
        self.check(run, "pendulum")
        self.assertEqual(
            broadloom.export(run, value=False)["files"][0], str(OUT / "pendulum" / "policy.onnx")
        )

    def test_files_remember_as_the_policy_does(self):
        run = broadloom.train("TMaze-v0", out=OUT / "maze", recurrent="lstm", **FEW)
        policy, answer = broadloom.Policy(run), broadloom.export(run, OUT / "maze.npz")
        self.assertEqual(answer["outputs"]["next_state"], f"float32 [N, {policy.state_size}]")
        self.assertIn(f"float32 [N, {policy.state_size}], next_state", answer["state"])
        readers = [(replay, OUT / "maze.npz")]
        if importlib.util.find_spec("onnxruntime"):
            readers.append((by_onnxruntime, broadloom.export(run, OUT / "maze.onnx")["files"][0]))
        for reader, file in readers:
            rng, state = np.random.default_rng(1), np.zeros((3, policy.state_size), np.float32)
            expected = None
            for step in range(12):
                rows = rng.random((3, 3), np.float32)
                if step % 5 == 4:  # an episode begins
                    state[step % 3] = expected[step % 3] = 0
                got = reader(file, rows, state=state)
                logits, values, expected = policy.outputs(rows, state=expected)
                state = got["next_state"].copy()
                np.testing.assert_allclose(got["logits"], logits, atol=1e-5)
                np.testing.assert_allclose(got["value"], values, atol=1e-5)
                np.testing.assert_allclose(state, expected, atol=1e-5)

    def test_numbers_that_float32_cannot_tell(self):
        rng = np.random.default_rng(1)
        rows = rng.normal(size=(4, 4)).astype(np.float32)
        state = {
            "actor.0.weight": np.vstack([rows, rows * np.float32(1 + 1e-6)]),
            "actor.0.bias": np.zeros(8, np.float32),
            "actor.2.weight": np.repeat(np.float32([[1e5, -1e5], [-1e5, 1e5]]), 4, axis=1),
            "actor.2.bias": np.zeros(2, np.float32),
        }
        state |= {
            key.replace("actor", "critic"): value[:1] if key.startswith("actor.2") else value
            for key, value in state.items()
        }
        answer = broadloom.export(
            broadloom.import_policy(state, "CartPole-v1", out=OUT / "cancel.ckpt"),
            OUT / "cancel.npz",
        )
        self.assertGreater(answer["tolerance"], 1e-5)
        self.assertIn("float32", answer["notes"][-1])
        state["actor.2.bias"] = np.full(2, np.nan, np.float32)
        with self.assertRaisesRegex(broadloom.Error, "got nan") as caught:
            broadloom.export(
                broadloom.import_policy(state, "CartPole-v1", out=OUT / "astray.ckpt"),
                OUT / "astray.npz",
            )
        self.assertEqual(caught.exception.kind, "numeric")
        self.assertFalse((OUT / "astray.npz").exists())

    @unittest.skipIf(importlib.util.find_spec("torch"), "PyTorch is there: torch_test.py")
    def test_to_torch_says_that_there_is_no_torch(self):
        run = broadloom.train("CartPole-v1", out=OUT / "torchless", **FEW)
        with self.assertRaisesRegex(ImportError, "pip install torch"):
            broadloom.Policy(run).to_torch()

    def test_errors_are_the_programs(self):
        run = broadloom.train("CartPole-v1", out=OUT / "errors", **FEW)
        for out, kind, words in (
            (OUT / "a.pt", "invalid_config", "ends in .onnx"),
            (OUT / "none" / "a.npz", "not_found", "none/a.npz"),
        ):
            with self.assertRaisesRegex(broadloom.Error, words) as caught:
                broadloom.export(run, out)
            self.assertEqual(caught.exception.kind, kind)
        broadloom.export(run, OUT / "a.npz")
        with self.assertRaisesRegex(broadloom.Error, "exists already"):
            broadloom.export(run, OUT / "a.npz")
        broadloom.export(run, OUT / "a.npz", force=True)


if __name__ == "__main__":
    unittest.main()
