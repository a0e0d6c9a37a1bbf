"""Environments as users bring them: each of these once failed, or learnt something else."""

import ctypes
import json
import os
import pathlib
import pickle
import sys
import threading
import unittest
import warnings

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Text
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import broadloom
from simulator_cases import HERE, out, SMALL, Steps, train


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
            (grid, r"got MultiDiscrete.*FlattenObservation.*turns it into one Box", "Rescale"),
            (many, "action space", "FlattenObservation"),
            (pair, r"group 'b' of obs.*observation_keys=\(\('a',\),\)", "RescaleAction"),
        ):
            with self.subTest(env.__name__), self.assertRaises(TypeError) as caught:
                train(env, env.__name__)
            self.assertRegex(str(caught.exception), words)
            self.assertNotIn(never, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
