"""Environments as users bring them: each of these once failed, or learnt something else."""

import ctypes
import json
import os
import pathlib
import pickle
import re
import sys
import threading
import unittest
import warnings
from unittest import mock

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Text
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import broadloom
from broadloom import _probe
from simulator_cases import HERE, out, SMALL


def train(env, name, **keys):
    return broadloom.train(env, name=f"{name}-v0", out=out(name), **{**SMALL, **keys})


class Steps(gymnasium.Env):
    """Ends after ten steps; the observation counts them."""

    observation_space, action_space = Box(0, 20, (3,), np.float32), Discrete(2)

    def look(self):
        return np.full(3, self.t, np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.look(), {}

    def step(self, action):
        self.t += 1
        return self.look(), 1.0, self.t >= 10, False, {}


class Long(Steps):
    """Never ends by itself."""

    def __init__(self, start=0):
        self.start = start

    def step(self, action):
        self.t += 1
        return np.full(3, self.start, np.float32), 1.0, False, False, {}


class Sized(Steps):
    def __init__(self, size):
        self.observation_space, self.shape = Box(0, 20, (size, 2), np.float32), (size, 2)

    def look(self):
        return np.full(self.shape, self.t, np.float32)


class Pair(Steps):
    observation_space = Dict(left=Box(0, 20, (3,), np.float32), right=Box(0, 20, (2,), np.float32))

    def look(self):
        return {"left": super().look(), "right": super().look()[:2]}


class Prints(Steps):
    """Prints in C, as PyBullet does."""

    def reset(self, *, seed=None, options=None):
        ctypes.CDLL(None).printf(b"hello from C\n")
        return super().reset(seed=seed)


class Texts(Steps):
    """Has an unread part without a shape."""

    observation_space = Dict(policy=Box(0, 20, (3,), np.float32), mission=Text(20))

    def look(self):
        return {"policy": super().look(), "mission": "go"}


class Bytes(Steps):
    observation_space = Box(0, 255, (3,), np.uint8)

    def look(self):
        return np.full(3, self.t, np.uint8)


class Picture(Steps):
    observation_space = Box(0, 255, (12, 12, 1), np.uint8)
    action_space = Box(-1, 1, (1,), np.float32)

    def look(self):
        return np.full((12, 12, 1), self.t, np.uint8)


class Valve(Steps):
    """Is best opened to 20, of 5 to 35: a new policy's actions around 0 never get there."""

    action_space = Box(5, 35, (1,), np.float32)

    def step(self, action):
        rows, _, terminated, truncated, infos = super().step(action)
        assert self.action_space.contains(np.asarray(action, np.float32)), action
        return rows, -(float((action[0] - 20) / 30) ** 2), terminated, truncated, infos


class Renamed(gymnasium.vector.VectorEnv):
    """Resets itself, hands out last observations under the older name, and has no metadata."""

    metadata = {}
    key = "final_observation"

    def __init__(self, num_envs):
        self.num_envs = num_envs
        self.inner = SyncVectorEnv([Steps] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
        self.single_observation_space = self.inner.single_observation_space
        self.single_action_space = self.inner.single_action_space

    def reset(self, *, seed=None, options=None):
        return self.inner.reset(seed=seed)

    def step(self, actions):
        *answer, infos = self.inner.step(actions)
        finals = infos.get("final_obs")
        if finals is not None:
            blank = np.zeros(3, np.float32)
            finals = np.stack([blank if row is None else row for row in finals])
        return *answer, {} if finals is None or self.key is None else {self.key: finals}


class Silent(Renamed):
    """Says that it resets within the step, and hands out no last observations."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
    key = None


PACKAGE = """
import gymnasium
import numpy as np


class Counts(gymnasium.Env):
    def __init__(self, size=3):
        self.observation_space = gymnasium.spaces.Box(0, 20, (size, 2), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)

    def look(self):
        return np.full(self.observation_space.shape, self.t, np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.look(), {}

    def step(self, action):
        self.t += 1
        return self.look(), 1.0, self.t >= 10, False, {}


gymnasium.register("Counts-v0", Counts)
gymnasium.register("Mine/Counts-v0", Counts)
"""


class IdsTest(unittest.TestCase):
    """Ids of other packages, with arguments, wrappers and processes."""

    @classmethod
    def setUpClass(cls):
        (pathlib.Path(HERE.name) / "counts_package.py").write_text(PACKAGE)
        sys.path.insert(0, HERE.name)

    def test_arguments_wrappers_and_processes(self):
        keys = {**SMALL, "out": out("counts")}
        run = broadloom.train("counts_package:Counts-v0", **keys)
        self.assertEqual(broadloom.Policy(run).observation_space.shape, (3, 2))
        run = broadloom.train("counts_package:Mine/Counts-v0", **keys | {"out": out("mine")})
        self.assertEqual(broadloom.evaluate(run, episodes=3)["mean_return"], 10)
        keys["out"] = out("counts_wrapped")
        run = broadloom.train(
            "counts_package:Counts-v0",
            env_kwargs={"size": 5},
            wrappers=[gymnasium.wrappers.FlattenObservation],
            vectorization="async",
            **keys,
        )
        self.assertEqual(broadloom.Policy(run).observation_space.shape, (10,))
        self.assertEqual(broadloom.evaluate(run, episodes=3)["mean_return"], 10)
        config = json.loads((run.dir / "manifest.json").read_text())["config"]
        self.assertEqual(config["env_id"], "python/Counts-v0")
        source = broadloom.Policy(run).spec["upstream"]
        self.assertIn("make('counts_package:Counts-v0', size=5), FlattenObservation", source)

    def test_the_program_takes_ids_of_packages(self):
        flags = ["--quiet", "--total_timesteps", 256, "--num_envs", 4, "--num_steps", 32]
        ids = ["--env_id", "counts_package:Counts-v0"], ["--env_id=counts_package:Counts-v0"]
        for i, word in enumerate(ids):
            folder = out(f"program_{i}")
            self.assertEqual(broadloom.main(["train", *word, *flags, "--out", folder]), 0)
            config = json.loads((folder / "manifest.json").read_text())["config"]
            self.assertEqual(config["env_id"], "gymnasium/counts_package:Counts-v0")
        self.assertEqual(broadloom.main(["env", "show", "counts_package:Counts-v0"]), 0)

    def test_ids_without_a_version_get_a_guess_and_no_traceback(self):
        with self.assertRaisesRegex(gymnasium.error.UnregisteredEnv, "did you mean CartPole-v1"):
            broadloom.train("gymnasium/CartPole", out=out("unknown"), **SMALL)

    def test_a_name_for_an_id(self):
        name = broadloom.register("Wide-v0", "counts_package:Counts-v0", env_kwargs={"size": 4})
        run = broadloom.train(name, out=out("wide"), **SMALL)
        self.assertEqual(broadloom.Policy(run).observation_space.shape, (4, 2))

    def test_names_arguments_and_processes_leave_an_id_its_facts_and_limit(self):
        gymnasium.register("Long-v0", Long, max_episode_steps=30, reward_threshold=7.0)
        for number, (options, threshold) in enumerate(
            (
                ({}, 7.0),
                ({"name": "Named-v0"}, 7.0),
                ({"env_kwargs": {"start": 1}}, 7.0),
                ({"vectorization": "async"}, 7.0),
                ({"wrappers": [gymnasium.wrappers.FlattenObservation]}, None),  # other rewards?
            )
        ):
            for given, limit in ({}, 30), ({"max_episode_steps": 50}, 50):
                with self.subTest(options, limit=limit):
                    folder = out(f"long{number}_{limit}")
                    run = broadloom.train(
                        "gymnasium/Long-v0", out=folder, **options, **given, **SMALL
                    )
                    spec = broadloom.Policy(run).spec
                    self.assertEqual(spec["reward_threshold"], threshold)
                    self.assertEqual(spec["max_episode_steps"], limit)
                    result = broadloom.evaluate(run, episodes=3)
                    self.assertEqual(result["mean_length"], limit)

    def test_time_limits_of_functions(self):
        broadloom.register("Eighteen-v0", Long, max_episode_steps=np.int64(18))
        broadloom.register("EighteenOfId-v0", "gymnasium/Pendulum-v1", max_episode_steps=18)
        for name, given, limit in (
            ("Eighteen-v0", {}, 18),
            ("EighteenOfId-v0", {}, 18),
            ("Eighteen-v0", {"max_episode_steps": 12}, 12),
        ):
            run = broadloom.train(name, out=out(f"{name}{limit}"), **given, **SMALL)
            self.assertEqual(broadloom.Policy(run).spec["max_episode_steps"], limit)
            self.assertEqual(broadloom.evaluate(run, episodes=3)["mean_length"], limit)

        def limited():
            return gymnasium.wrappers.TimeLimit(Long(), 30)

        run = train(limited, "Own", max_episode_steps=20)
        self.assertEqual(broadloom.evaluate(run, episodes=3)["mean_length"], 20)
        with self.assertRaisesRegex(ValueError, "max_episode_steps: got 50 .*after 30 steps"):
            train(limited, "Longer", max_episode_steps=50)

    def test_a_time_limit_that_is_only_named_is_kept(self):
        class Named(Long):
            max_episode_length = 15

        class Specified(Long):
            def __init__(self):
                super().__init__()
                self.spec = gymnasium.envs.registration.EnvSpec("Own-v0", max_episode_steps=15)

        for kind in Named, Specified:
            for limit in (12, 15, 40):
                with self.subTest(kind, limit=limit):
                    name = f"{kind.__name__}{limit}"
                    run = train(kind, name, max_episode_steps=limit)
                    self.assertEqual(broadloom.Policy(run).spec["max_episode_steps"], limit)
                    self.assertEqual(broadloom.evaluate(run, episodes=3)["mean_length"], limit)

    def test_images_that_truncate_before_their_limit(self):
        class Hasty(Long):
            observation_space = Box(0, 255, (64, 80, 3), np.uint8)

            def look(self):
                return np.full((64, 80, 3), self.t, np.uint8)

            def step(self, action):
                self.t += 1
                return self.look(), 1.0, False, self.t >= 3, {}

        run = train(Hasty, "Hasty", max_episode_steps=30, encoder="nature", total_timesteps=128)
        self.assertEqual(broadloom.evaluate(run, episodes=3)["mean_length"], 3)

    def test_atari_ids_take_no_wrappers(self):
        for options in (
            {"wrappers": [gymnasium.wrappers.FlattenObservation]},
            {"vectorization": "async"},
            {"observation_keys": "image"},
            {"env_kwargs": {"stack_num": 2}},
        ):
            for env_id in "gymnasium/ALE/Pong-v5", "ale_py:ALE/Pong-v5":
                key = next(iter(options.get("env_kwargs", options)))
                with self.subTest(options), self.assertRaisesRegex(ValueError, f"^{key}: got "):
                    broadloom.train(env_id, out=out("atari"), **options, **SMALL)

    def test_options_of_broadlooms_environments(self):
        run = broadloom.train("CartPole-v1", env_kwargs={"gravity": 5.0}, out=out("moon"), **SMALL)
        config = json.loads((run.dir / "manifest.json").read_text())["config"]
        self.assertEqual(config["env.gravity"], "5.0")

    def test_calls_that_cannot_work_say_so(self):
        wrap = [gymnasium.wrappers.FlattenObservation]
        with self.assertRaisesRegex(broadloom.Error, "wrappers: got it with the id 'CartPole-v1'"):
            broadloom.train("CartPole-v1", wrappers=wrap, **SMALL)
        with self.assertRaisesRegex(broadloom.Error, "let the function pass arguments and wrap"):
            train(lambda num_envs: None, "Wrapped", env_kwargs={"size": 5})
        with self.assertRaisesRegex(broadloom.Error, "env: got it with the id 'CartPole-v1'"):
            broadloom.register("Mine-v0", "CartPole-v1")

    def test_arguments_of_register_are_checked(self):
        def many(num_envs):
            self.fail("called with wrong arguments")

        arrays = np.array([1, 2])
        for name, values, expected in (
            ("max_episode_steps", (-5, 2.5, True, "9", arrays), "an integer of at least 0"),
            ("num_envs", (0, -1, 2.5, True, "3", 2**21, arrays), "an integer of at least 1"),
            ("vectorization", ("threads", 5, np.array(["sync", "async"])), "'sync' or 'async'"),
            ("observation_keys", (5, (3, "x"), (("a", 5), "b"), "", [], ("a", "b", "c"),
                                  (arrays, "b")), r"a key, or \(policy's, critic's\)"),
            ("env_kwargs", (5, {3: 4}, arrays), "a dict"),
            ("wrappers", (5, [5], "ab", arrays), "a list of functions"),
        ):  # fmt: skip
            for value in values:
                words = f"^{name}: got {re.escape(repr(value))}, expected {expected}"
                with self.subTest(words), self.assertRaisesRegex(broadloom.Error, words):
                    broadloom.register("Checked-v0", many, **{name: value})
        for name in (None, 5):
            with self.assertRaisesRegex(broadloom.Error, f"^name: got {name}, expected a text"):
                broadloom.register(name, many)
        for env in (5, Steps()):
            with self.assertRaisesRegex(TypeError, "expected an id or a function that makes"):
                broadloom.register("Checked-v0", env)
        for given, limit in ((np.int64(7), 7), (2**31, 0)):  # more than the engine counts is none
            name = broadloom.register(f"Limited{limit}-v0", Steps, max_episode_steps=given)
            run = broadloom.train(name, out=out(name), **SMALL)
            self.assertEqual(broadloom.Policy(run).spec["max_episode_steps"], limit)

    def test_a_function_takes_arguments_and_wrappers(self):
        for size in (4, 5):
            run = broadloom.train(
                Sized,
                name="Sized-v0",
                env_kwargs={"size": size},
                wrappers=[gymnasium.wrappers.FlattenObservation],
                out=out(f"sized{size}"),
                **SMALL,
            )
            policy = broadloom.Policy(run)
            self.assertEqual(policy.observation_space.shape, (2 * size,))
            self.assertEqual(policy.spec["upstream"], f"Sized(size={size}), FlattenObservation")
        self.assertEqual(broadloom.evaluate(run, episodes=3)["mean_return"], 10)

    def test_other_arguments_mean_other_environments(self):
        read = {}
        for keys in ("left", "right"), (("left", "right"), "right"):
            run = broadloom.train(
                Pair, name="Pair-v0", observation_keys=keys, out=out(f"pair{len(read)}"), **SMALL
            )
            read[keys] = broadloom.Policy(run).observation_space.shape
        self.assertEqual(list(read.values()), [(3,), (5,)])
        with self.assertRaisesRegex(broadloom.Error, "vectorization: got 'threads'"):
            train(Pair, "Pair", observation_keys=keys, vectorization="threads")

    def test_an_id_without_its_prefix(self):
        gymnasium.register("Bare-v0", Steps)
        with self.assertRaisesRegex(broadloom.Error, "name it 'gymnasium/Bare-v0'"):
            broadloom.train("Bare-v0", **SMALL)

    def test_a_missing_package_is_named(self):
        from broadloom.sources import package

        with self.assertRaisesRegex(ModuleNotFoundError, "games/X needs .*pip install no-package"):
            package("no_package", "no-package", "games/X")

        def lacks():
            raise gymnasium.error.DependencyNotInstalled("no_package is not installed")

        gymnasium.register("Lacking-v0", lacks)
        with self.assertRaises(gymnasium.error.DependencyNotInstalled) as missing:
            broadloom.train("gymnasium/Lacking-v0", out=out("lacking"), **SMALL)
        self.assertEqual(missing.exception.broadloom_kind, "not_found")  # of the program's exit

    def test_threads_need_no_folder(self):
        runs = []
        before = os.getcwd()
        os.chdir(HERE.name)
        try:
            threads = [
                threading.Thread(
                    target=lambda: runs.append(broadloom.train("CartPole-v1", **SMALL))
                )
                for _ in range(4)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            os.chdir(before)
        self.assertEqual(len({run.run_dir for run in runs}), 4)


class UsersTest(unittest.TestCase):
    def test_environments_may_print_in_c(self):
        run = train(Prints, "Prints")
        self.assertEqual(broadloom.evaluate(run, episodes=3)["mean_return"], 10)

    def test_a_command_within_a_command_leaves_its_answer(self):
        other = train(Steps, "Inner")

        class Asks(Steps):
            def reset(self, *, seed=None, options=None):
                if asks:
                    broadloom.evaluate(other, episodes=1)
                return super().reset(seed=seed)

        asks = []
        run = train(Asks, "Outer")
        asks.append(True)
        self.assertEqual(broadloom.evaluate(run, episodes=2)["episodes"], 2)

    def test_parts_that_nobody_reads_may_be_anything(self):
        self.assertTrue(train(Texts, "Texts").finished)

    def test_a_fixed_number_of_environments(self):
        asked = []

        def five(num_envs):
            asked.append(num_envs)
            if num_envs != 5:
                raise ValueError("rows are agents: there are 5")
            return SyncVectorEnv([Steps] * 5, autoreset_mode=AutoresetMode.SAME_STEP)

        self.assertTrue(train(five, "Five", num_envs=5, total_timesteps=320).finished)
        self.assertEqual(set(asked), {5})

        def always_five(num_envs):
            return five(5)

        with self.assertRaisesRegex(ValueError, "got 5 .* expected 4; .* num_envs=5"):
            train(always_five, "AlwaysFive")
        self.assertTrue(train(always_five, "Again", num_envs=5, total_timesteps=320).finished)

    def test_few_environments_are_made(self):
        made = []

        def counted(num_envs):
            made.append(num_envs)
            return SyncVectorEnv([Steps] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)

        train(counted, "Few")
        self.assertEqual(made, [4, 4])  # to look at, and to train on

    def test_the_older_name_of_last_observations(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = train(Renamed, "Renamed")
        metrics = [
            json.loads(line) for line in (run.dir / "metrics.jsonl").read_text().splitlines()
        ]
        self.assertEqual(metrics[-1]["episodic_return"], 10)  # 9.1 if resets counted as steps
        self.assertEqual(metrics[-1].get("filler_rows", 0), 0)

    def test_without_last_observations_time_limits_are_ends(self):
        with self.assertRaisesRegex(broadloom.Error, "truncation_mode: got bootstrap"):
            train(Silent, "Silent")
        self.assertTrue(train(Silent, "Ends", truncation_mode="as_termination").finished)

    def test_bytes_that_are_no_image_are_numbers(self):
        policies = [broadloom.Policy(train(env, env.__name__)) for env in (Bytes, Steps)]
        rows = np.arange(12, dtype=np.float32).reshape(4, 3)
        np.testing.assert_array_equal(*(policy.value(rows) for policy in policies))
        self.assertTrue(train(Bytes, "Normalised", norm_obs=True).finished)

    def test_defaults_suit_images_with_box_actions(self):
        run = train(Picture, "Picture", num_minibatches=4, update_epochs=1)
        self.assertIn('"norm_obs": "false"', (run.dir / "manifest.json").read_text())

    def test_keywords_that_an_id_has_itself_are_refused(self):
        for key, value in (
            ("vectorization", "async"),
            ("observation_keys", ("a", "b")),
            ("name", "x-v0"),
        ):
            with self.assertRaisesRegex(
                broadloom.Error, f"{key}: got .* with the id 'CartPole-v1'"
            ):
                broadloom.train("CartPole-v1", out=out("refused"), **{**SMALL, key: value})

    def test_ids_of_packages(self):
        folder = pathlib.Path(HERE.name)
        (folder / "some_package.py").write_text(
            "import gymnasium\n"
            "gymnasium.register('Sometimes-v0', "
            "entry_point='gymnasium.envs.classic_control:CartPoleEnv')\n"
        )
        sys.path.insert(0, str(folder))
        try:
            run = broadloom.train(
                "gymnasium/some_package:Sometimes-v0",
                out=out("package"),
                max_episode_steps=50,
                **SMALL,
            )
        finally:
            sys.path.remove(str(folder))
        self.assertTrue(run.finished)

    def test_running_statistics_are_warned_of(self):
        with self.assertWarnsRegex(UserWarning, "NormalizeObservation keeps running statistics"):
            train(lambda: gymnasium.wrappers.NormalizeObservation(Steps()), "Statistics")

    def test_a_strange_component_is_named(self):
        space = Box(np.array([-1, -1, 0], np.float32), np.array([20, 20, 20], np.float32))
        strange = type(
            "Strange",
            (Steps,),
            {"observation_space": space, "look": lambda self: np.array([0, 0, -0.5], np.float32)},
        )
        with self.assertWarnsRegex(UserWarning, "component 2 got -0.5 to -0.5, .* 0 to 20"):
            train(strange, "Strange")

    def test_a_notebooks_cell_may_run_twice(self):
        for length in (10, 5):
            env = type(
                "Task",
                (Steps,),
                {
                    "step": lambda self, action, length=length: (
                        *super(type(self), self).step(action)[:2],
                        self.t >= length,
                        False,
                        {},
                    )
                },
            )
            run = broadloom.train(lambda env=env: env(), out=out(f"cell{length}"), **SMALL)
            self.assertEqual(run.mean_return, length)

    def test_a_class_may_change_its_spaces_after_a_run(self):
        """As in a notebook: the older run's policy keeps the spaces that it was trained on."""
        rows = np.full((2, 3), 4, np.float32)
        older = broadloom.train(Steps, name="Changed-v0", out=out("changed"), **SMALL)
        before = broadloom.Policy(older).act(rows)

        class Wider(Steps):
            observation_space = Box(0, 20, (5,), np.float32)

            def look(self):
                return np.full(5, self.t, np.float32)

        newer = broadloom.train(Wider, name="Changed-v0", out=out("changed_2"), **SMALL)
        policy = broadloom.Policy(older)
        np.testing.assert_array_equal(policy.act(rows), before)
        self.assertEqual(policy.observation_space.shape, (3,))
        copied = pickle.loads(pickle.dumps(policy))
        np.testing.assert_array_equal(copied.act(rows), before)
        self.assertTrue(broadloom.export(older, out("changed.npz"))["files"])
        self.assertEqual(broadloom.Policy(newer).observation_space.shape, (5,))
        words = "other spaces than when the policy was trained.*5.*expected.*3"
        for call in (broadloom.evaluate, broadloom.gradients):
            with self.subTest(call.__name__), self.assertRaisesRegex(broadloom.Error, words):
                call(older)
        with self.assertRaisesRegex(broadloom.Error, "it belongs to another environment"):
            broadloom.resume(older)

    def test_a_class_may_change_its_bounds_after_a_run(self):
        """Shapes are equal; bounds scale actions, and `start` numbers choices."""
        cases = {
            "Bounds-v0": (
                {"action_space": Box(-1, 1, (2,), np.float32)},
                {"action_space": Box(-100, 300, (2,), np.float32)},
                {"action_distribution": "beta"},
            ),
            "Start-v0": (
                {"action_space": Discrete(2, start=1)},
                {"action_space": Discrete(2, start=5)},
                {},
            ),
        }
        rows = np.full((4, 3), 4, np.float32)
        for name, (now, later, keys) in cases.items():
            with self.subTest(name):
                keys = {**SMALL, **keys}
                older = broadloom.train(
                    type("Task", (Steps,), now), name=name, out=out(f"{name}.1"), **keys
                )
                before = broadloom.Policy(older).act(rows)
                broadloom.register(name, type("Task", (Steps,), later))
                policy = broadloom.Policy(older)
                np.testing.assert_array_equal(policy.act(rows), before)
                self.assertEqual(policy.action_space, now["action_space"])
                copied = pickle.loads(pickle.dumps(policy))
                np.testing.assert_array_equal(copied.act(rows), before)
                words = "have -100 to 300 as number 0 now, and have -1 to 1 .* when"
                words = words if name == "Bounds-v0" else "begin at 5 now, and begin at 1 when"
                with self.assertWarnsRegex(UserWarning, words):
                    found = broadloom.evaluate(older, episodes=2)
                self.assertEqual(found["episodes"], 2)
                panel = out(f"{name}.toml")
                panel.write_text(f'env_id = "{name}"\nepisodes = 2\nseeds = [1]\n')
                with self.assertWarnsRegex(UserWarning, words):
                    found = broadloom.evaluate(older, panel=panel)
                self.assertTrue(found["panel"])

    def test_float64_bounds_that_float32_cannot_hold(self):
        """Actions stay in the space; bounds beyond float32 count as none."""
        largest = float(np.finfo(np.float64).max)
        below = np.nextafter(np.float32(0.1), np.float32(0))
        cases = ((0.1, below), (1e39, np.inf), (largest, np.inf), (0.5, 0.5))
        for i, (bound, declared) in enumerate(cases):
            space, seen = Box(-bound, bound, (2,), np.float64), []

            class Checks(Steps):
                action_space = space

                def step(self, action):
                    assert self.action_space.contains(action), action
                    seen.append(float(np.abs(action).max()))
                    return super().step(action)

            with self.subTest(bound):
                run = train(Checks, f"float64_{i}", **{"env.scale_actions": False})
                self.assertEqual(broadloom.Policy(run).spec["action"]["high"], [declared] * 2)
                if bound < 1:
                    self.assertEqual(max(seen), declared)

    def test_threads_need_no_folder_of_their_own(self):
        runs, errors = [], []

        def go():
            try:
                runs.append(broadloom.train(lambda: Steps(), ledger=out("threads.jsonl"), **SMALL))
            except BaseException as error:
                errors.append(error)

        import os

        before = os.getcwd()
        os.chdir(HERE.name)
        try:
            threads = [threading.Thread(target=go) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            os.chdir(before)
        self.assertEqual(errors, [])
        self.assertEqual(len({str(run.dir) for run in runs}), 4)

    def test_far_actions_are_scaled_to_their_box(self):
        run = train(Valve, "valve", total_timesteps=20_480, num_envs=16, learning_rate=3e-3)
        self.assertGreater(broadloom.evaluate(run, episodes=5)["mean_return"] / 10, -0.01)
        policy = broadloom.Policy(run)
        self.assertEqual((policy.action_space.low[0], policy.action_space.high[0]), (5, 35))
        action = policy.act(np.full(3, 5, np.float32))
        self.assertTrue(policy.action_space.contains(action), action)
        self.assertLess(abs(action[0] - 20), 3)

    def test_evaluation_plays_in_waves_of_the_training_environments(self):
        made, seeds = [], []

        class Seeded(Steps):
            def __init__(self):
                made.append(self)

            def reset(self, *, seed=None, options=None):
                seeds.append(seed)
                return super().reset(seed=seed)

            def step(self, action):  # a return that tells the seed
                rows, _, terminated, truncated, infos = super().step(action)
                first = self.np_random.random() if self.t == 1 else 0.0
                return rows, first, terminated, truncated, infos

        few = train(Seeded, "few", num_envs=4)
        made.clear()
        waves = broadloom.evaluate(few, episodes=10)
        self.assertLessEqual(len(made), 4)
        many = train(Seeded, "many", num_envs=16, num_steps=16)
        whole = broadloom.evaluate(many, episodes=10)
        for number in ("mean_return", "std_return"):
            self.assertEqual(waves[number], whole[number])
        self.assertGreater(waves["std_return"], 0.01)

    def test_actions_of_several_choices(self):
        """Every action lies in the environment's own space, and the policy chooses such actions."""
        for name, space in {
            "pair": gymnasium.spaces.MultiDiscrete([2, 3]),
            "table": gymnasium.spaces.MultiDiscrete([[2, 1], [4, 3]]),
            "switches": gymnasium.spaces.MultiBinary(3),
        }.items():
            seen = []

            class Checks(Steps):
                action_space = space

                def step(self, action):
                    assert self.action_space.contains(action), action
                    seen.append(np.array(action).ravel())
                    return super().step(action)

            with self.subTest(name):
                run = train(Checks, name)
                self.assertGreater(len(np.unique(seen, axis=0)), 1)
                policy = broadloom.Policy(run)
                rows = np.zeros((5, 3), np.float32)
                self.assertEqual(policy.act(rows).shape, (5, *space.shape))
                drawn = policy.act(rows, rng=np.random.default_rng(1))
                self.assertTrue(all(policy.action_space.contains(one) for one in drawn))

    def test_nested_actions(self):
        """Every action has the environment's own structure, and so have those of the policy."""
        discrete, box = gymnasium.spaces.Discrete, gymnasium.spaces.Box
        numbers = box(np.float32([[-1, 0]]), np.float32([[1, 9]]))
        for name, space in {
            "two": gymnasium.spaces.Tuple([numbers, discrete(3, start=-1)]),
            "robot": gymnasium.spaces.Dict(
                {
                    "arm": gymnasium.spaces.Tuple([box(-2.0, 2.0, (2,), np.float64), discrete(2)]),
                    "gears": gymnasium.spaces.MultiDiscrete([[2, 3], [1, 4]]),
                    "lamps": gymnasium.spaces.MultiBinary(2),
                }
            ),
            "choices": gymnasium.spaces.Tuple([discrete(3), discrete(2)]),
            "starts": gymnasium.spaces.MultiDiscrete([[2], [3]], start=[[1], [-1]]),
            "tenths": gymnasium.spaces.Tuple([discrete(2), box(-0.1, 0.1, (2,), np.float64)]),
            "one": box(-1.0, 1.0, ()),
            "numbers": gymnasium.spaces.Dict({"a": numbers, "b": box(0.0, 1.0, ())}),
        }.items():
            seen = []

            class Checks(Steps):
                action_space = space

                def step(self, action):
                    assert self.action_space.contains(action), action
                    seen.append(gymnasium.spaces.flatten(self.action_space, action))
                    return super().step(action)

            with self.subTest(name):
                run = train(Checks, f"nested_{name}")
                self.assertGreater(len(np.unique(seen, axis=0)), 1)
                policy = broadloom.Policy(run)
                if name != "tenths":  # no float32
                    self.assertEqual(policy.action_space, space)
                for rng in (None, np.random.default_rng(1)):
                    action = policy.act(np.zeros(3, np.float32), rng=rng)
                    self.assertTrue(space.contains(action), action)
                actions = policy.act(np.zeros((5, 3), np.float32))
                vectors = gymnasium.vector.utils.batch_space(space, 5)
                one = next(iter(gymnasium.vector.utils.iterate(vectors, actions)))
                self.assertTrue(space.contains(one), one)
                self.assertTrue(np.isfinite(broadloom.evaluate(run, episodes=3)["mean_return"]))

    def test_nested_actions_that_no_policy_draws_are_refused(self):
        text, spaces = gymnasium.spaces.Text(3), gymnasium.spaces
        wrong = {"hand": spaces.Tuple([spaces.Discrete(2), text])}
        space = type("Words", (Steps,), {"action_space": spaces.Dict(wrong)})
        with self.assertRaisesRegex(TypeError, r"action space\['hand'\]\[1\]: got Text.*expected"):
            train(space, "words")

    def test_success_comes_from_infos(self):
        for key, makes_vectors in (("is_success", False), ("success", True)):

            class Reached(Steps):
                word = key

                def reset(self, *, seed=None, options=None):
                    first = super().reset(seed=seed)
                    self.good = self.np_random.random() < 0.5
                    return first

                def step(self, action):
                    *row, _ = super().step(action)
                    return *row, {self.word: bool(self.good and self.t >= 10)}

            def vectors(num_envs, kind=Reached):
                mode = gymnasium.vector.AutoresetMode.NEXT_STEP
                return gymnasium.vector.SyncVectorEnv([kind] * num_envs, autoreset_mode=mode)

            with self.subTest(key):
                run = train(vectors if makes_vectors else Reached, key)
                rate = broadloom.evaluate(run, episodes=40)["success_rate"]
                self.assertTrue(0.2 < rate < 0.8, rate)
                self.assertTrue(0.0 < run.metrics()["success_rate"].iloc[-1] < 1.0)
        self.assertIsNone(broadloom.evaluate(train(Steps, "none"), episodes=4)["success_rate"])

    def test_success_at_the_end_alone_is_read(self):
        """As with Gymnasium's RecordEpisodeStatistics, infos hold it in the last step of an episode
        only."""

        class Ends(Steps):
            def reset(self, *, seed=None, options=None):
                first = super().reset(seed=seed)
                self.good = self.np_random.random() < 0.5
                return first

            def step(self, action):
                *row, _ = super().step(action)
                return *row, {"success": bool(self.good)} if row[2] or row[3] else {}

        modes = gymnasium.vector.AutoresetMode
        for mode in (None, modes.NEXT_STEP, modes.SAME_STEP, modes.DISABLED):

            def vectors(num_envs, mode=mode):
                return gymnasium.vector.SyncVectorEnv([Ends] * num_envs, autoreset_mode=mode)

            with self.subTest(mode):
                run = train(vectors if mode else Ends, f"ends_{mode and mode.name}")
                rate = broadloom.evaluate(run, episodes=40)["success_rate"]
                self.assertTrue(0.2 < rate < 0.8, rate)
                self.assertTrue(0.0 < run.metrics()["success_rate"].iloc[-1] < 1.0)

    def test_metadata_may_name_the_key_of_success(self):
        """For episodes that are too long for the probe, and keys of other names."""

        class Long(Steps):
            metadata = {"success_key": "solved"}

            def step(self, action):
                *row, _ = super().step(action)
                return *row, {"solved": True} if row[2] or row[3] else {}

        run = train(Long, "solved")
        self.assertEqual(broadloom.evaluate(run, episodes=8)["success_rate"], 1.0)
        Wrong = type("Wrong", (Long,), {"metadata": {"success_key": 3}})
        with self.assertRaisesRegex(TypeError, "success_key.*got 3, expected the key of infos"):
            train(Wrong, "wrong")

    def test_a_key_of_success_that_is_never_there_is_told(self):
        class Long(Steps):
            metadata = {}

            def step(self, action):
                *row, _ = super().step(action)
                return *row, {"solved": True} if row[2] or row[3] else {}

        modes = gymnasium.vector.AutoresetMode
        for i, mode in enumerate((None, modes.NEXT_STEP, modes.SAME_STEP)):
            Typo = type("Typo", (Long,), {"metadata": {"success_key": "solvd"}})

            def vectors(num_envs, kind=Typo, mode=mode):
                return gymnasium.vector.SyncVectorEnv([kind] * num_envs, autoreset_mode=mode)

            with self.subTest(mode), self.assertRaisesRegex(ValueError, "did you mean 'solved'"):
                train(vectors if mode else Typo, f"typo_{i}")
        Other = type("Other", (Long,), {"metadata": {"success_key": "won"}})
        with self.assertWarnsRegex(UserWarning, "got 'won'.* the first episode .* has .*solved"):
            train(Other, "other")

    def test_a_key_that_only_some_ends_have_is_not_told(self):
        class Sometimes(Steps):
            def step(self, action):
                *row, _ = super().step(action)
                Sometimes.ends = getattr(Sometimes, "ends", 0) + row[2]
                return *row, {"success": True} if row[2] and Sometimes.ends < 3 else {}

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            train(Sometimes, "sometimes")

    def test_success_that_the_probe_did_not_see_is_told(self):
        class Late(Steps):
            def step(self, action):
                *row, _ = super().step(action)
                return *row, {"success": True} if row[2] or row[3] else {}

        with mock.patch.object(_probe, "STEPS_TO_AN_END", 1):
            with self.assertWarnsRegex(UserWarning, "'success'.* was not seen before training"):
                run = train(Late, "late")
        self.assertIsNone(run.success_rate)

    def test_success_of_another_form_is_not_read(self):
        mode = gymnasium.vector.AutoresetMode.SAME_STEP
        for name, value in (
            ("one", 0.35),
            ("pairs", np.zeros((4, 2))),
            ("none", None),
            ("unknown", np.full(4, np.nan)),
        ):

            class Vectors(gymnasium.vector.SyncVectorEnv):
                given = value

                def step(self, actions):
                    *step, infos = super().step(actions)
                    given = self.given[: self.num_envs] if np.ndim(self.given) else self.given
                    return *step, {**infos, "success": given}

            def vectors(num_envs, kind=Vectors):
                return kind([Steps] * num_envs, autoreset_mode=mode)

            with self.subTest(name):
                run = train(vectors, f"success_{name}")
                rates = run.metrics().get("success_rate")
                self.assertTrue(rates is None or rates.isna().all())

    def test_an_error_of_the_first_step_is_the_users_own(self):
        class Failing(Steps):
            def step(self, action):
                raise ValueError("the door is shut")

        for vectorization in ("sync", "async"):
            with self.subTest(vectorization), self.assertRaisesRegex(ValueError, "door is shut"):
                train(Failing, f"door_{vectorization}", vectorization=vectorization)

    def test_advice_fits_the_space(self):
        two = gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(2), Text(3)])
        many = type("Many", (Steps,), {"action_space": two})
        several = gymnasium.spaces.MultiDiscrete([3, 2])
        pair = type("Pair", (Steps,), {"observation_space": Dict(a=Box(0, 1, (2,)), b=several)})
        grid = type("Grid", (Steps,), {"observation_space": several})
        for env, words, never in (
            (grid, r"got MultiDiscrete.*FlattenObservation.*MultiDiscrete into one Box", "Rescale"),
            (many, "action space", "FlattenObservation"),
            (pair, r"group 'b' of obs.*observation_keys=\(\('a',\),\)", "RescaleAction"),
        ):
            with self.subTest(env.__name__), self.assertRaises(TypeError) as caught:
                train(env, env.__name__)
            self.assertRegex(str(caught.exception), words)
            self.assertNotIn(never, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
