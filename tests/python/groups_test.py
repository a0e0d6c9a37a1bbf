"""Observations that are a Dict or a Tuple: images, vectors and choices together."""

import importlib.util
import pathlib
import re
import sys
import unittest

import gymnasium
import numpy as np
from gymnasium.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiDiscrete,
    OneOf,
    Sequence,
    Text,
    Tuple,
)

import broadloom
from simulator_cases import HERE, SMALL

PAGE = pathlib.Path(__file__).parents[2] / "docs/formats/export.md"
OUT = pathlib.Path(HERE.name)


class Arm(gymnasium.Env):
    """Name the marked half of a picture, or the other half if the arm's state is negative."""

    observation_space = Dict(
        image=Box(0, 255, (6, 6, 1), np.uint8), state=Box(-1.0, 1.0, (2,), np.float32)
    )
    action_space = Discrete(2)

    def look(self):
        image = np.zeros((6, 6, 1), np.uint8)
        image[self.np_random.integers(6), self.np_random.integers(6)] = 255
        sign = self.np_random.integers(2) * 2.0 - 1.0
        state = np.array([sign * self.np_random.uniform(0.5, 1.0), self.t / 10], np.float32)
        self.right = int(image[:, 3:].any()) ^ int(state[0] < 0)
        return {"image": image, "state": state}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.look(), {}

    def step(self, action):
        reward = float(action == self.right)
        self.t += 1
        return self.look(), reward, self.t == 10, False, {}


class Nested(Arm):
    """The same in a Tuple, with a choice that counts from 3 and channels in front."""

    observation_space = Tuple(
        [
            Box(0, 255, (3, 20, 18), np.uint8),
            Dict({"joint angles": Box(-1.0, 1.0, (2,), np.float32), "mode": Discrete(4, start=3)}),
        ]
    )

    def look(self):
        rows = super().look()
        image = np.zeros((3, 20, 18), np.uint8)
        image[0, :6, :6] = rows["image"][..., 0]
        return image, {"joint angles": rows["state"], "mode": np.int64(3 + self.t % 4)}


def changed(**members):
    return type("Arm", (Arm,), members)


class Lengths(Arm):
    """Episodes of several lengths; no choice is 0, and one number has no dimension."""

    observation_space = Dict(number=Box(-1.0, 1.0, ()), mode=Discrete(3, start=1))
    clash = Dict({"a b": Box(-1.0, 1.0, (2,)), "a_b": Box(-1.0, 1.0, (2,))})

    def look(self):
        return {"number": np.float32(0.5), "mode": 1 + self.t % 3}

    def step(self, action):
        self.t += 1
        return self.look(), 1.0, bool(self.np_random.random() < 0.2), False, {}


def joined(rows):
    """Gymnasium's stack of three as Broadloom's: two images by channels, and all vectors."""
    other = next(key for key in rows if key != "image")
    image = np.moveaxis(rows["image"][-2:], 0, -2).reshape(6, 6, 2)
    return {"image": image, other: rows[other].ravel()}


def replay(path, observation):
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    page = {}
    exec(block, page)
    return page["replay"](np.load(path), observation)


def groups_of(parity):
    """The observation of a parity file in its own form."""
    prefix = "observation."
    return {key[len(prefix) :]: rows for key, rows in parity.items() if key.startswith(prefix)}


class GroupsTest(unittest.TestCase):
    def test_three_lines_train_on_an_image_and_a_state(self):
        run = broadloom.train(
            Arm, name="Arm-v0", out=OUT / "learns", total_timesteps=40_000, num_envs=16,
            num_steps=32, encoder="minatar", norm_obs=True, learning_rate=2e-3, quiet=True,
        )  # fmt: skip
        self.assertGreater(broadloom.evaluate(run, episodes=50)["mean_return"], 8.0)
        policy = broadloom.Policy(run)
        self.assertEqual(policy.observation_space, Arm.observation_space)
        env = Arm()
        row, _ = env.reset(seed=3)
        one = policy.act(row)
        many = policy.act({key: np.stack([part, part]) for key, part in row.items()})
        self.assertEqual(many.tolist(), [one, one])
        self.check_exports(run, "learns")

    def test_last_observations_are_read_where_episodes_end(self):
        run = broadloom.train(Lengths, name="Lengths-v0", out=OUT / "lengths", **SMALL)
        policy = broadloom.Policy(run)
        self.assertIn(policy.act({"number": 0.5, "mode": 2}), (0, 1))
        self.assertEqual(policy.act({"number": [0.5, 0.1], "mode": [2, 1]}).shape, (2,))

    def test_names_that_become_one_are_refused(self):
        words = r"the keys \('a b',\) and \('a_b',\), which both become the group 'a_b'"
        alike = changed(observation_space=Lengths.clash)
        with self.assertRaisesRegex(TypeError, words):
            broadloom.train(alike, name="Alike-v0", out=OUT / "alike", **SMALL)

    def check_exports(self, run, name):
        answer = broadloom.export(run, OUT / f"{name}.npz")
        parity = dict(np.load(answer["files"][1]))
        shown = groups_of(parity)
        readers = {"npz": replay(OUT / f"{name}.npz", shown)}
        if importlib.util.find_spec("onnxruntime"):
            import onnxruntime

            file = broadloom.export(run, OUT / f"{name}.onnx")["files"][0]
            session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
            names = [output.name for output in session.get_outputs()]
            given = {f"observation.{key}": rows for key, rows in shown.items()}
            readers["onnx"] = dict(zip(names, session.run(None, given), strict=True))
        if importlib.util.find_spec("torch"):
            import torch

            module = broadloom.Policy(run).to_torch()
            tensors = {key: torch.from_numpy(rows) for key, rows in shown.items()}
            readers["torch"] = {key: x.detach().numpy() for key, x in module(tensors).items()}
        for reader, got in readers.items():
            for output, numbers in got.items():
                np.testing.assert_allclose(
                    numbers, parity[output], rtol=1e-5, atol=1e-5, err_msg=f"{reader} {output}"
                )
        policy = broadloom.Policy(run)
        np.testing.assert_array_equal(policy.act(shown), parity["action"])
        with self.assertRaisesRegex(broadloom.Error, "got cpp for observations in groups"):
            broadloom.export(run, OUT / f"{name}.h")

    def test_a_tuple_with_a_dict_and_choices(self):
        run = broadloom.train(
            Nested, name="Nested-v0", out=OUT / "nested", group_encoders=["0:minatar/9"],
            critic_groups=["1.joint_angles", "1.mode"], policy_groups=["0", "1.mode"], **SMALL,
        )  # fmt: skip
        policy, env = broadloom.Policy(run), Nested()
        row, _ = env.reset(seed=1)
        own = (np.moveaxis(row[0], 0, -1), row[1])
        outputs, value = policy.outputs(own)
        self.assertEqual(outputs.shape, (2,))
        self.assertIsNotNone(value)
        less = {"0": own[0], "1.mode": row[1]["mode"]}
        np.testing.assert_array_equal(policy.outputs(less)[0], outputs)
        self.assertIsNone(policy.outputs(less)[1])
        with self.assertRaisesRegex(ValueError, "expected the group '1.mode', which the policy"):
            policy.act({"0": own[0]})
        with self.assertRaisesRegex(ValueError, "group '1.mode': got 7, expected choices from 3"):
            policy.act({**less, "1.mode": 7})
        with self.assertRaisesRegex(TypeError, "expected a dict or tuple of arrays"):
            policy.act(own[0])
        self.check_exports(run, "nested")

    def test_vectors_and_choices_alone_are_flattened(self):
        space = Dict(a=Box(-1.0, 1.0, (2, 2), np.float32), b=Discrete(3), c=Box(-9.0, 9.0, (1,)))

        def look(self):
            a = self.np_random.uniform(-1, 1, (2, 2)).astype(np.float32)
            rows = {"a": a, "b": np.int64(1)}
            self.right = int(rows["a"][0, 1] > 0)
            return {**rows, "c": np.full(1, self.t, np.float32)}

        plain = changed(observation_space=space, look=look)
        flat = [gymnasium.wrappers.FlattenObservation]
        parameters = [
            broadloom.Policy(
                broadloom.train(plain, name=f"Flat-v{n}", out=OUT / f"flat{n}", wrappers=w, **SMALL)
            )._core.state()[2]["learner.params"]
            for n, w in enumerate(([], flat))
        ]
        self.assertEqual(*parameters)

    def test_advice_on_groups_that_are_no_numbers_works(self):
        row, words = Box(-1.0, 1.0, (2,), np.float32), Text(9)
        zeros = np.zeros(2, np.float32)
        for number, (space, look, kept) in enumerate(
            (
                (Tuple([row, words]), (zeros, "go"), {"0": row}),
                (Tuple([row, words, Discrete(3)]), (zeros, "go", 1), {"0": row, "2": Discrete(3)}),
                (
                    Dict(a=Dict(x=row, y=words), c=Discrete(3)),
                    {"a": {"x": zeros, "y": "go"}, "c": 1},
                    {"a.x": row, "c": Discrete(3)},
                ),
                (Dict(a=Tuple([row]), b=words), {"a": (zeros,), "b": "go"}, {"a.0": row}),
            )
        ):
            env = changed(observation_space=space, look=lambda self, rows=look: rows, right=0)
            keys = {"name": f"Advice{number}-v0", **SMALL}
            with self.assertRaises(TypeError) as refused:
                broadloom.train(env, out=OUT / f"advice{number}", **keys)
            text = str(refused.exception).partition("keep the others: with `")[2]
            first, _, wrappers = text.partition("`, wrappers=")
            known = {"gymnasium": gymnasium}
            exec(first, known)
            run = broadloom.train(
                env, out=OUT / f"advice{number}", wrappers=eval(wrappers, known), **keys
            )
            self.assertEqual(broadloom.Policy(run).observation_space, Dict(kept))

    def test_spaces_of_derived_classes_are_those_they_derive_from(self):
        class Choice(Discrete):
            pass

        class Pixels(Box):
            def __init__(self):
                super().__init__(0, 255, (3, 20, 18), np.uint8)

        class Row(Box):
            pass

        class Groups(Dict):
            pass

        space = Groups(pixels=Pixels(), row=Row(-1.0, 1.0, (2,), np.float32), choice=Choice(3))
        rows = {"pixels": np.zeros((3, 20, 18), np.uint8), "row": np.zeros(2, np.float32)}
        env = changed(
            observation_space=space,
            action_space=Tuple([Row(-1.0, 1.0, (2,), np.float32), Choice(2)]),
            look=lambda self: {**rows, "choice": 1},
            step=lambda self, action: Arm.step(self, action[1]),
            right=0,
        )
        run = broadloom.train(env, name="Derived-v0", out=OUT / "derived", **SMALL)
        shapes = {key: one.shape for key, one in broadloom.Policy(run).observation_space.items()}
        self.assertEqual(shapes, {"pixels": (20, 18, 3), "row": (2,), "choice": ()})

    def test_what_is_wrong_names_its_group(self):
        wide = changed(look=lambda self: {**Arm.look(self), "state": np.zeros(3, np.float32)})
        with self.assertRaisesRegex(
            ValueError,
            r"group 'state' of environment 0 gave an array of shape \(3,\), expected \(2,\)",
        ):
            broadloom.train(wide, name="Wide-v0", out=OUT / "wide", **SMALL)

        def broken(self):
            rows = Arm.look(self)
            if self.t == 5:
                rows["state"][1] = np.nan
            return rows

        with self.assertRaisesRegex(broadloom.Error, "observation 'state' of environment 0 is not"):
            broadloom.train(changed(look=broken), name="Nan-v0", out=OUT / "nan", **SMALL)
        words = Dict({**Arm.observation_space.spaces, "mission": Text(9)})
        named = changed(
            observation_space=words, look=lambda self: {**Arm.look(self), "mission": "go"}
        )
        advice = r"group 'mission'.*name the others: observation_keys=\(\('image', 'state'"
        with self.assertRaisesRegex(TypeError, advice):
            broadloom.train(named, name="Words-v0", out=OUT / "words", **SMALL)
        run = broadloom.train(
            named, name="Words-v0", out=OUT / "words", observation_keys=(("image", "state"),),
            **SMALL,
        )  # fmt: skip
        self.assertEqual(broadloom.Policy(run).observation_space, Arm.observation_space)
        with self.assertRaisesRegex(TypeError, "set policy_groups and critic_groups"):
            broadloom.train(
                Arm, name="Two-v0", out=OUT / "two", observation_keys=(("image", "state"), "state"),
                **SMALL,
            )  # fmt: skip
        with self.assertRaisesRegex(broadloom.Error, "no one reads group 'image'"):
            broadloom.train(
                Arm, name="No-v0", out=OUT / "no", policy_groups=["state"], critic_groups=["state"],
                **SMALL,
            )  # fmt: skip
        with self.assertRaisesRegex(broadloom.Error, "the groups of Arm-v1 are image, state"):
            broadloom.train(
                Arm, name="Arm-v1", out=OUT / "name", group_encoders=["picture:minatar"], **SMALL
            )

    def test_spaces_that_networks_cannot_read_get_advice_that_works(self):
        row = Box(-1.0, 1.0, (2,), np.float32)
        flatten, other = "FlattenObservation", "TransformObservation"
        pairs = OneOf([Discrete(2), row])
        for space, advice in (
            (Text(3), flatten),
            (pairs, flatten),
            (MultiDiscrete([2, 3]), flatten),
            (Graph(row, None), other),
            (Sequence(row), other),
        ):
            env = changed(
                observation_space=space, look=lambda self, one=space: one.sample(), right=0
            )
            words = f"^observation space: got {type(space).__name__}.*or a Dict or Tuple.*{advice}"
            with self.subTest(space=space), self.assertRaisesRegex(TypeError, words):
                broadloom.train(env, name="Odd-v0", out=OUT / "odd", **SMALL)
        flat = gymnasium.wrappers.FlattenObservation
        env = changed(observation_space=pairs, look=lambda self: pairs.sample(), right=0)
        run = broadloom.train(env, name="Flat-v0", wrappers=[flat], out=OUT / "flat", **SMALL)
        self.assertEqual(broadloom.Policy(run).observation_space.shape, (3,))
        nothing = Box(-1.0, 1.0, (0,), np.float32)
        for space, words in (
            (nothing, "^observation space: got Box.* without numbers, expected at least one"),
            (Dict(a=row, b=nothing), "^observation group 'b' space: got Box.* without numbers"),
            (Dict(), "observations without a key, expected at least one"),
        ):
            with self.subTest(space=space), self.assertRaisesRegex(ValueError, words):
                broadloom.train(
                    changed(observation_space=space), name="No-v0", out=OUT / "no", **SMALL
                )
        with self.assertRaisesRegex(ValueError, "^action space: got Box.* without numbers"):
            broadloom.train(changed(action_space=nothing), name="No-v0", out=OUT / "no", **SMALL)

    def test_stacks_are_those_of_gymnasium(self):
        for ours, theirs in (("first", "reset"), ("zero", "zero")):
            options = {"env_id": "Turntable-v0", "max_episode_steps": 7}
            stacked = broadloom.Env(
                frame_stack_of=["image:2", "turn:3"], frame_padding=ours, **options
            )
            wrapped = gymnasium.wrappers.FrameStackObservation(
                broadloom.Env(**options), 3, padding_type=theirs
            )
            wrapped.action_space.seed(5)
            ended = True
            for step in range(40):
                if ended:
                    seed = 3 if step == 0 else None
                    a, b = stacked.reset(seed=seed)[0], wrapped.reset(seed=seed)[0]
                else:
                    action = wrapped.action_space.sample()
                    a, b = stacked.step(action)[0], wrapped.step(action)
                    b, ended = b[0], b[2] or b[3]
                    self.assertTrue(stacked.observation_space.contains(a))
                    np.testing.assert_equal(a, joined(b))
                    continue
                ended = False
                np.testing.assert_equal(a, joined(b))

    def test_stacks_train_as_those_of_gymnasium(self):
        space = Dict(image=Box(0, 255, (6, 6, 2), np.uint8), state=Box(-1.0, 1.0, (6,), np.float32))
        wrappers = [
            lambda env: gymnasium.wrappers.FrameStackObservation(env, 3),
            lambda env: gymnasium.wrappers.TransformObservation(env, joined, space),
        ]
        stacks = {"env.frame_stack_of": ["image:2", "state:3"]}
        runs = [
            broadloom.train(Arm, name=f"Stack-v{n}", out=OUT / f"stack{n}", norm_obs=True, **keys)
            for n, keys in enumerate(({**SMALL, **stacks}, {**SMALL, "wrappers": wrappers}))
        ]
        policies = [broadloom.Policy(run) for run in runs]
        self.assertEqual(*(policy._core.state()[2]["learner.params"] for policy in policies))
        self.assertEqual(policies[0].observation_space, space)
        self.check_exports(runs[0], "stack0")
        answer = broadloom.export(runs[0], OUT / "again.npz")
        self.assertEqual(answer["about"]["frame_stack_of"], "image:2,state:3")
        self.assertEqual(answer["about"]["frame_padding"], "first")
        self.assertIn("image 2, state 3", " ".join(answer["notes"]))

    def test_stacks_of_choices_are_vectors_of_bytes(self):
        run = broadloom.train(
            Nested, name="Modes-v0", out=OUT / "modes", **{"env.frame_stack": 2, **SMALL}
        )
        space = broadloom.Policy(run).observation_space
        self.assertEqual(space["1.mode"], Box(0, 1, (8,), np.uint8))
        self.assertEqual(space["0"].shape, (20, 18, 6))
        frame = {name: np.zeros(part.shape, part.dtype) for name, part in space.items()}
        for shape in ((20, 18), (20, 18, 3)):
            frame["0"] = np.zeros(shape, np.uint8)
            with self.assertRaisesRegex(ValueError, r"expected \(n, 20, 18, 6\) or \(20, 18, 6\)"):
                broadloom.Policy(run).act(frame)
        self.check_exports(run, "modes")

    def test_gymnasium_sees_the_dictionary(self):
        envs = gymnasium.make_vec("broadloom/Turntable-v0", num_envs=3)
        rows, _ = envs.reset(seed=1)
        self.assertIn("image", envs.single_observation_space.spaces)
        self.assertTrue(envs.observation_space.contains(rows))
        self.assertEqual(rows["image"].dtype, np.uint8)
        for _ in range(32):
            rows, _, _, truncated, infos = envs.step(np.zeros(3, np.int64))
        self.assertTrue(truncated.all())
        self.assertEqual(infos["final_obs"][0]["image"].shape, (6, 6, 1))
        env = gymnasium.make("broadloom/Turntable-v0")
        row, _ = env.reset(seed=1)
        self.assertTrue(env.observation_space.contains(row))


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    unittest.main(verbosity=2)
