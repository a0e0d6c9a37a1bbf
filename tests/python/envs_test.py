"""Broadloom's environments as Gymnasium's: the package in a build tree, with real Gymnasium."""

import subprocess
import sys
import unittest
import warnings

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import broadloom
import broadloom.envs
from broadloom._registry import gymnasium_id
from broadloom.render import picture

IDS = [spec["id"] for spec in broadloom.list_envs()]


def play(env, steps, seed=3):
    """A vector environment's results of each step, under random actions."""
    random = np.random.default_rng(seed)
    space = env.single_action_space
    choices = getattr(space, "n", getattr(space, "nvec", None))

    def draw():
        if choices is not None:
            return random.integers(choices)
        return random.uniform(space.low, space.high).astype(np.float32)

    def draw_all():
        if not hasattr(space, "spaces"):
            return np.stack([draw() for _ in range(env.num_envs)])
        return env.action_space.sample()

    env.action_space.seed(seed)
    rows, _ = env.reset(seed=seed)
    out = [rows]
    for _ in range(steps):
        out.append(env.step(draw_all()))
    return out


class ImportTest(unittest.TestCase):
    def test_fractions_are_no_choices(self):
        env, envs = (
            broadloom.Env(env_id="CartPole-v1"),
            broadloom.VectorEnv(1, env_id="CartPole-v1"),
        )
        for one, many, name in ((1.7, [1.7], "float64"), (True, [True], "bool")):
            for made, actions in ((env, one), (envs, np.array(many))):
                made.reset(seed=1)
                with self.assertRaisesRegex(broadloom.Error, f"got {name}, expected integers"):
                    made.step(actions)
        env.reset(seed=1)
        env.step(np.int8(1))

    def test_gymnasium_knows_the_environments_in_whichever_order_they_are_imported(self):
        for imports in (
            "import gymnasium, broadloom",
            "import broadloom, gymnasium",
            "import broadloom; from gymnasium.envs import registration; import gymnasium",
            "import gymnasium; gymnasium.make('broadloom:broadloom/Taxi-v3')",
        ):
            with self.subTest(imports):
                code = (
                    f"{imports}; gymnasium.make('broadloom/CartPole-v1').reset(); "
                    "gymnasium.make_vec('broadloom/MinAtar-Breakout-v1', 3).reset()"
                )
                subprocess.run([sys.executable, "-c", code], check=True)

    def test_numpy_and_gymnasium_are_not_imported_before_they_are_needed(self):
        code = (
            "import sys, broadloom; "
            "assert not {'numpy', 'gymnasium', 'torch', 'pandas'} & set(sys.modules), "
            "sorted(sys.modules); broadloom.Policy; assert 'numpy' in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_every_name_that_is_offered_is_there(self):
        self.assertEqual([name for name in broadloom.__all__ if not hasattr(broadloom, name)], [])
        self.assertRaises(AttributeError, getattr, broadloom, "Polcy")


class HybridTest(unittest.TestCase):
    def test_actions_may_be_lists(self):
        env = broadloom.Env(env_id="Golf-v0")
        env.reset(seed=1)
        for action in ((1, [0.1, 0.2]), [1, [0.1, 0.2]], (1, np.float32([0.1, 0.2]))):
            env.step(action)
        with self.assertRaisesRegex(broadloom.Error, "expected a tuple of 2"):
            env.step((1, [0.1, 0.2], 3))


class VectorEnvTest(unittest.TestCase):
    def test_every_environment_keeps_to_its_spaces(self):
        for env_id in IDS:
            with self.subTest(env_id):
                env = broadloom.VectorEnv(5, env_id=env_id, max_episode_steps=7)
                first, *steps = play(env, 20)
                self.assertIn(first, env.observation_space)
                for rows, rewards, terminated, truncated, infos in steps:
                    self.assertIn(rows, env.observation_space)
                    self.assertEqual(
                        (rewards.dtype, terminated.dtype, truncated.dtype),
                        (np.float64, np.bool_, np.bool_),
                    )
                    self.assertEqual("final_obs" in infos, bool((terminated | truncated).any()))
                    for i in np.flatnonzero(infos.get("_final_obs", [])):
                        self.assertIn(infos["final_obs"][i], env.single_observation_space)
                self.assertTrue(
                    any((step[2] | step[3]).all() or (step[2] | step[3]).any() for step in steps)
                )

    def test_modes_give_the_same_transitions(self):
        for env_id in ("CartPole-v1", "Taxi-v3", "MinAtar/Breakout-v1", "Pendulum-v1"):
            with self.subTest(env_id):
                make = lambda mode: broadloom.VectorEnv(
                    6, env_id=env_id, autoreset_mode=mode, max_episode_steps=9
                )
                random = np.random.default_rng(1)
                same, following, disabled = (
                    make(AutoresetMode.SAME_STEP),
                    make(AutoresetMode.NEXT_STEP),
                    make(AutoresetMode.DISABLED),
                )
                rows = [env.reset(seed=5)[0] for env in (same, following, disabled)]
                queue = [[] for _ in range(6)]  # transitions of each environment under next-step
                seen = [[] for _ in range(6)]
                script = {}
                for step in range(40):
                    actions = np.stack(
                        [np.asarray(same.single_action_space.sample()) for _ in range(6)]
                    )
                    script[step] = actions
                    a, b = same.step(actions), disabled.step(actions)
                    ended = a[2] | a[3]
                    for i in range(6):
                        last = a[4]["final_obs"][i] if ended[i] else a[0][i]
                        np.testing.assert_array_equal(last, b[0][i])
                        seen[i].append((actions[i], np.array(last), a[1][i], a[2][i], a[3][i]))
                    np.testing.assert_array_equal(a[1], b[1])
                    after = (
                        disabled.reset(options={"reset_mask": ended})[0] if ended.any() else b[0]
                    )
                    np.testing.assert_array_equal(a[0], after)
                # Next-step: the same actions for each environment's own transitions, and one step
                # more for each reset.
                index, waits = np.zeros(6, int), np.zeros(6, bool)
                while (index < 40).all():
                    actions = np.stack([seen[i][index[i]][0] for i in range(6)])
                    rows, rewards, terminated, truncated, _ = following.step(actions)
                    for i in range(6):
                        if waits[i]:
                            self.assertEqual(
                                (rewards[i], terminated[i], truncated[i]), (0.0, False, False)
                            )
                            waits[i] = False
                            continue
                        _, last, reward, term, trunc = seen[i][index[i]]
                        np.testing.assert_array_equal(rows[i], last)
                        self.assertEqual(
                            (rewards[i], terminated[i], truncated[i]), (reward, term, trunc)
                        )
                        index[i] += 1
                        waits[i] = term or trunc
                del queue, random, script

    def test_seeds_threads_and_views(self):
        def fingerprint(**keys):
            return [
                step if isinstance(step, np.ndarray) else step[:4]
                for step in play(broadloom.VectorEnv(700, env_id="CartPole-v1", **keys), 30)
            ]

        one, two, views = fingerprint(threads=1), fingerprint(threads=2), None
        for a, b in zip(one, two, strict=True):
            np.testing.assert_array_equal(
                np.concatenate([np.ravel(x) for x in a]), np.concatenate([np.ravel(x) for x in b])
            )
        env = broadloom.VectorEnv(3, env_id="CartPole-v1", copy=False)
        rows, _ = env.reset(seed=1)
        views = env.step(np.zeros(3, np.int64))[0]
        self.assertTrue(np.shares_memory(rows, views))
        del env
        self.assertTrue(np.isfinite(views).all())  # a view keeps its memory alive
        other = play(broadloom.VectorEnv(3, env_id="CartPole-v1"), 1, seed=9)[0]
        self.assertFalse(np.array_equal(rows, other))

    def test_resets_without_a_seed_go_on_from_the_last(self):
        a, b = (broadloom.VectorEnv(2, env_id="CartPole-v1") for _ in range(2))
        for env in (a, b):
            env.reset(seed=4)
        first, second = a.reset()[0], a.reset()[0]
        self.assertFalse(np.array_equal(first, second))
        np.testing.assert_array_equal(b.reset()[0], first)

    def test_gymnasium_knows_them(self):
        env = gymnasium.make_vec(
            "broadloom/MinAtar-Breakout-v1", num_envs=4, sticky_action_prob=0.0
        )
        self.assertEqual(env.reset(seed=1)[0].shape, (4, 10, 10, 4))
        self.assertIs(env.metadata["autoreset_mode"], AutoresetMode.SAME_STEP)
        wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(
            gymnasium.make_vec("broadloom/CartPole-v1", num_envs=4)
        )
        episodes = [
            step[4]["episode"]["l"][step[4]["_episode"]]
            for step in play(wrapped, 60)[1:]
            if "episode" in step[4]
        ]
        self.assertGreater(len(episodes), 0)
        self.assertTrue((np.concatenate(episodes) > 5).all())

    def test_bad_input_is_refused(self):
        env = broadloom.VectorEnv(3, env_id="CartPole-v1")
        with self.assertRaises(gymnasium.error.ResetNeeded):
            env.step(np.zeros(3, np.int64))
        env.reset(seed=1)
        for actions, words in (
            (np.zeros(2, np.int64), r"shape \(2,\), expected \(3,\)"),
            (np.array([0, 1, 2]), r"actions\[2\]: got 2, expected 0 to 1"),
            (np.zeros(3), "actions: got float64"),
        ):
            with self.assertRaisesRegex(broadloom.Error, words):
                env.step(actions)
        with self.assertRaisesRegex(broadloom.Error, "have not ended"):
            env.reset(options={"reset_mask": np.array([True, False, False])})
        with self.assertRaisesRegex(broadloom.Error, "expected bool"):
            env.reset(options={"reset_mask": np.zeros(3, bool)})
        with self.assertRaisesRegex(broadloom.Error, "did you mean 'CartPole-v1'"):
            broadloom.VectorEnv(1, env_id="CartPol-v1")
        with self.assertRaisesRegex(broadloom.Error, "did you mean 'gravity'"):
            broadloom.VectorEnv(1, env_id="CartPole-v1", gravty=3)
        with self.assertRaisesRegex(broadloom.Error, "num_envs: got 0"):
            broadloom.VectorEnv(0, env_id="CartPole-v1")
        with self.assertRaisesRegex(broadloom.Error, "render_mode"):
            broadloom.VectorEnv(1, env_id="CartPole-v1", render_mode="human")
        pendulum = broadloom.VectorEnv(2, env_id="Pendulum-v1")
        pendulum.reset(seed=1)
        with self.assertRaisesRegex(broadloom.Error, "finite"):
            pendulum.step(np.full((2, 1), np.nan, np.float32))
        env.close()
        with self.assertRaises(gymnasium.error.ClosedEnvironmentError):
            env.reset()


class RenderTest(unittest.TestCase):
    def test_every_environment_is_drawn(self):
        for env_id in IDS:
            with self.subTest(env_id):
                env = broadloom.VectorEnv(2, env_id=env_id, render_mode="rgb_array")
                env.reset(seed=1)
                before = env.render()
                self.assertEqual(len(before), 2)
                self.assertEqual(
                    (before[0].dtype, before[0].shape[2], max(before[0].shape)), (np.uint8, 3, 480)
                )
                self.assertGreater(len(np.unique(before[0].reshape(-1, 3), axis=0)), 1)
                for _ in range(5):
                    env.step(env.action_space.sample())
                self.assertEqual(env.render()[0].shape, before[0].shape)

    def test_shapes_are_where_they_are_said_to_be(self):
        accent, ink, paper = (11, 92, 173), (28, 33, 40), (255, 255, 255)
        image = picture(
            (0, 0, 10, 5),
            [
                ("rectangle", 0, 1.0, [0, 0, 5, 2.5]),
                ("circle", 5, 1.0, [7.5, 2.5, 1]),
                ("polygon", 0, 1.0, [8, 4, 9.5, 4, 9.5, 4.8]),
                ("line", 5, 1.0, [0.2, 1, 4, 3, 4]),
                ("text", 0, 1.0, [5, 5, 1]),
                ("rectangle", 0, 0.5, [0, 0, 99, -1]),
            ],
        )
        self.assertEqual(image.shape, (240, 480, 3))
        index = lambda x, y: tuple(int(v) for v in image[int((5 - y) * 48), int(x * 48)])
        self.assertEqual(
            [index(1, 1), index(7.5, 2.5), index(9.3, 4.1), index(2, 4)], [ink, accent, ink, accent]
        )
        self.assertEqual(
            [index(6, 1), index(8.8, 2.5), index(8.2, 4.7), index(2, 4.3), index(4.5, 4)],
            [paper] * 5,
        )

    def test_gymnasium_records_them(self):
        env = gymnasium.wrappers.RenderCollection(
            gymnasium.make("broadloom/Pendulum-v1", render_mode="rgb_array")
        )
        env.reset(seed=1)
        for _ in range(3):
            env.step(np.zeros(1, np.float32))
        frames = env.render()
        self.assertEqual(len(frames), 4)
        self.assertFalse(np.array_equal(frames[0], frames[3]))

    def test_what_cannot_be_drawn_is_said(self):
        with self.assertRaisesRegex(broadloom.Error, "render_mode: got 'human'"):
            broadloom.Env(env_id="CartPole-v1", render_mode="human")
        self.assertIsNone(broadloom.VectorEnv(1, env_id="CartPole-v1").render())


class EnvTest(unittest.TestCase):
    def test_gymnasiums_checks_pass(self):
        for env_id in IDS:
            with self.subTest(env_id), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check_env(gymnasium.make(gymnasium_id(env_id)).unwrapped)

    def test_stacks_are_those_of_gymnasium(self):
        for env_id, ours, theirs in (
            ("CartPole-v1", "first", "reset"),
            ("CartPole-v1", "zero", "zero"),
            ("Pendulum-v1", "first", "reset"),
        ):
            options = {"env_id": env_id, "hide_obs": "1", "max_episode_steps": 40}
            with self.subTest(env_id, padding=ours):
                stacked = broadloom.Env(frame_stack=4, frame_padding=ours, **options)
                wrapped = gymnasium.wrappers.FrameStackObservation(
                    broadloom.Env(**options), 4, padding_type=theirs
                )
                wrapped.action_space.seed(5)
                seed, ended = 3, False
                for _ in range(150):
                    if seed is not None or ended:
                        a, b = stacked.reset(seed=seed)[0], wrapped.reset(seed=seed)[0]
                        seed, ended = None, False
                        np.testing.assert_array_equal(a, b.ravel())
                    action = wrapped.action_space.sample()
                    a, *results = stacked.step(action)
                    b, *expected = wrapped.step(action)
                    np.testing.assert_array_equal(a, b.ravel())
                    self.assertEqual(results, expected)
                    ended = results[1] or results[2]

    def test_episodes_are_those_of_the_vector(self):
        one, many = (
            gymnasium.make("broadloom/CartPole-v1"),
            broadloom.VectorEnv(1, env_id="CartPole-v1"),
        )
        a, b = one.reset(seed=2)[0], many.reset(seed=2)[0]
        for step in range(200):
            np.testing.assert_array_equal(a, b[0])
            action = step % 3 % 2
            last, reward, terminated, truncated, _ = one.step(action)
            b, rewards, terminations, _, infos = many.step(np.array([action]))
            self.assertEqual((reward, terminated), (rewards[0], terminations[0]))
            a = last
            if terminated or truncated:
                np.testing.assert_array_equal(last, infos["final_obs"][0])
                with self.assertRaises(gymnasium.error.ResetNeeded):
                    one.step(0)
                a = one.reset()[0]


if __name__ == "__main__":
    unittest.main()
