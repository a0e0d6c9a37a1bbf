"""broadloom.watch(): films of Broadloom's environments and of Python's, as others read them."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import broadloom
import gymnasium
import numpy as np
from broadloom import watching
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple
from PIL import Image

from masks_test import ByInfos, ByKey, ByMethod

played = []  # actions of Noting
SMALL = {"total_timesteps": 256, "num_envs": 2, "num_steps": 32, "quiet": True}


class Bar(gymnasium.Env):
    """Each step adds a red column to a grey picture."""

    observation_space, action_space = Box(0, 20, (1,), np.float32), Discrete(2)
    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.t += 1
        return np.full(1, self.t, np.float32), 1.0, self.t >= 6, False, {}

    def render(self):
        picture = np.full((21, 31, 3), 128, np.uint8)  # odd sides lose a row and a column
        picture[:, : self.t] = (255, 0, 0)
        return picture


def frames_of(path):
    with Image.open(path) as film:
        rows = []
        for frame in range(film.n_frames):
            film.seek(frame)
            rows.append(np.asarray(film.convert("RGB")))
        return rows


class WatchingTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def test_a_drawn_environment(self):
        run = broadloom.train("CartPole-v1", out="a", **SMALL)
        answer = broadloom.watch(run, "a.gif", seed=3)
        frames = frames_of("a.gif")
        self.assertEqual(len(frames), answer["episodes"][0]["steps"] + 1)
        env = broadloom.Env(env_id="CartPole-v1", render_mode="rgb_array")
        env.reset(seed=3)
        drawn = env.render()
        self.assertTrue(all(frame.shape[1] == drawn.shape[1] == 480 for frame in frames))
        for colour in ((255, 255, 255), (0x1C, 0x21, 0x28)):  # paper and ink, whatever the state
            share = [
                np.mean((np.abs(one.astype(int) - colour) < 9).all(-1))
                for one in (frames[0], drawn)
            ]
            self.assertAlmostEqual(share[0], share[1], delta=0.01)
        changed = [np.mean(a != b) for a, b in zip(frames, frames[1:])]
        self.assertTrue(all(0 < share < 0.2 for share in changed), changed)
        self.assertTrue(broadloom.watch(run)["file"].endswith("watch.html"))

    def test_an_environment_of_python(self):
        run = broadloom.train(Bar, out="a", **SMALL)
        answer = broadloom.watch(run, env=lambda: Bar("rgb_array"), episodes=2)
        self.assertEqual(answer["episodes"], [{"return": 6.0, "steps": 6}] * 2)
        self.assertEqual(answer["file"], os.path.join("a", "watch.gif"))
        frames = frames_of(answer["file"])
        self.assertEqual((len(frames), frames[0].shape), (14, (20, 30, 3)))
        for t, frame in enumerate(frames):
            expected = np.full((20, 30, 3), 128)
            expected[:, : t % 7] = (255, 0, 0)
            np.testing.assert_array_equal(frame, expected, str(t))

    def test_an_id_of_gymnasium(self):
        gymnasium.register("WatchedBar-v0", entry_point=Bar)
        run = broadloom.train("gymnasium/WatchedBar-v0", out="a", **SMALL)
        answer = broadloom.watch(run, "a.gif", max_steps=4)
        self.assertEqual(answer["episodes"], [{"return": 4.0, "steps": 4}])
        self.assertEqual(len(frames_of("a.gif")), 5)

    def test_a_run_imports_no_code_that_only_it_names(self):
        os.mkdir("package")
        with open("package/named_by_a_run.py", "w") as file:
            file.write(
                "import gymnasium\nfrom gymnasium.envs.classic_control import CartPoleEnv\n"
                "gymnasium.register('Named-v0', CartPoleEnv)\n"
            )
        code = (
            "import sys, broadloom\n"
            "if sys.argv[1] == 'train':\n"
            f"    broadloom.train('named_by_a_run:Named-v0', out='a', **{SMALL})\n"
            "try:\n"
            "    if sys.argv[1] != 'train':\n"
            "        broadloom.watch('a', 'a.gif')\n"
            "except broadloom.Error as error:\n"
            "    print(error)\n"
            "print('named_by_a_run' in sys.modules)\n"
        )
        paths = os.pathsep.join([*sys.path, os.path.abspath("package")])
        answers = [
            subprocess.run(
                [sys.executable, "-c", code, word],
                env={**os.environ, "PYTHONPATH": paths},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for word in ("train", "watch")
        ]
        self.assertIn("True", answers[0])
        self.assertRegex(answers[1], r"files may not import code.*allow_plugin\(.gymnasium.\)")
        self.assertIn("False", answers[1])

    def test_settings_of_the_run_act_in_a_film(self):
        gymnasium.register("PaintedCart-v0", entry_point=Painted, max_episode_steps=40)

        def cart():
            return gymnasium.make("PaintedCart-v0", render_mode="rgb_array")

        for name, options in {
            "limit": {"max_episode_steps": 7},
            "noise": {"disturb.obs_noise": 5.0},
            "hidden": {"env.hide_obs": "1,3"},
            "stack": {"env.frame_stack": 3},
            "delay": {"disturb.action_delay": 3},
        }.items():
            for source, env in (("gymnasium/PaintedCart-v0", None), (cart, cart)):
                with self.subTest(name, source=source):
                    folder = name + type(source).__name__
                    run = broadloom.train(source, out=folder, **{**SMALL, **options})
                    answer = broadloom.watch(run, f"{folder}.gif", env=env, episodes=3, seed=4)
                    played = broadloom.evaluate(run, episodes=3, seed=4)
                    returns = [episode["return"] for episode in answer["episodes"]]
                    self.assertAlmostEqual(np.mean(returns), played["mean_return"])
                    steps = [episode["steps"] for episode in answer["episodes"]]
                    self.assertAlmostEqual(np.mean(steps), played["mean_length"])
                    self.assertEqual(len(frames_of(f"{folder}.gif")), sum(steps) + 3)

    def test_keys_names_and_arguments_of_the_run_act_in_a_film(self):
        class Seen(gymnasium.ObservationWrapper):
            observation_space = Dict(image=Bar.observation_space, other=Box(-1, 1, (2,)))

            def observation(self, row):
                return {"image": row, "other": np.zeros(2, np.float32)}

        run = broadloom.train(
            lambda: Seen(Bar()), name="Seen-v0", observation_keys="image", out="a", **SMALL
        )
        answer = broadloom.watch(run, "a.gif", env=lambda: Seen(Bar("rgb_array")))
        self.assertEqual(answer["episodes"], [{"return": 6.0, "steps": 6}])
        gymnasium.register("NamedBar-v0", entry_point=Bar)
        gymnasium.register("Limited-v0", entry_point=Bar, max_episode_steps=3)
        run = broadloom.train(
            "gymnasium/Limited-v0", name="Five-v0", max_episode_steps=5, out="five", **SMALL
        )
        answer = broadloom.watch(run, "a.gif")
        self.assertEqual(answer["episodes"], [{"return": 5.0, "steps": 5}])
        for name in "gymnasium/Mine-v0", "Mine-v0", None:
            run = broadloom.train(
                "gymnasium/NamedBar-v0", name=name, wrappers=[Shorter], out=f"b{name}"[:4], **SMALL
            )
            answer = broadloom.watch(run, "b.gif", seed=2)
            self.assertEqual(answer["episodes"], [{"return": 4.0, "steps": 4}])
            os.rename(f"b{name}"[:4], f"c{name}".replace("/", "-"))
        broadloom.allow_plugin("gymnasium")
        with self.assertRaisesRegex(ValueError, "env: got none for gymnasium/Nowhere-v0"):
            watching._maker({"id": "gymnasium/Nowhere-v0", "upstream": "", "summary": ""})

    def test_a_film_leaves_the_environment_as_it_was(self):
        run = broadloom.train(Bar, name="Kept-v0", out="a", **SMALL)
        before = broadloom.evaluate(run, episodes=2)
        broadloom.watch(run, "a.gif", env=lambda: Shorter(Bar("rgb_array")))
        self.assertEqual(broadloom.evaluate(run, episodes=2), before)
        few = broadloom.train(Bar, name="Few-v0", out="b", **{**SMALL, "num_envs": 2})
        answer = broadloom.watch(few, "b.gif", env=lambda: Bar("rgb_array"), episodes=5)
        self.assertEqual(answer["episodes"], [{"return": 6.0, "steps": 6}] * 5)
        self.assertEqual(len(frames_of("b.gif")), 35)
        with self.assertRaisesRegex(broadloom.Error, "episodes: got 21, expected .* at most 20"):
            broadloom.watch(few, "b.gif", env=Bar, episodes=21)

    def test_pictures_of_shares_are_those_of_bytes(self):
        run = broadloom.train(Bar, out="a", **SMALL)
        broadloom.watch(run, "a.gif", env=with_shares)
        for frame in frames_of("a.gif"):
            np.testing.assert_array_equal(frame, np.full((4, 4, 3), (0, 128, 255)))

    def test_a_film_plays_the_actions_of_the_runs_evaluations(self):
        def steps(own, **options):
            played.clear()
            out, keys = tempfile.mkdtemp() + "/a", {**SMALL, "eval_actions": own}
            run = broadloom.train(Noting, name="Noting-v0", out=out, **keys)
            broadloom.watch(run, env=lambda: Noting("rgb_array"), **options)
            return played[-6:]

        likely, sampled = steps("most_likely"), steps("sampled")
        self.assertEqual(len({*likely}), 1)  # the observations are alike
        self.assertEqual(len({*sampled}), 2)
        self.assertEqual(steps("most_likely", actions="sampled"), sampled)

    def test_masks_from_each_place(self):
        for kind in (ByMethod, ByInfos, ByKey):
            with self.subTest(kind.__name__):
                run = broadloom.train(kind, out=kind.__name__, **SMALL)
                answer = broadloom.watch(run, env=lambda kind=kind: Film(kind()))
                self.assertEqual(answer["episodes"][0]["steps"], 6)

    def test_a_class_that_takes_render_mode_needs_no_env(self):
        for source, keys, steps in (
            (Bar, {}, 6),
            (Bar, {"wrappers": [Shorter]}, 4),
            (lambda render_mode=None: Bar(render_mode), {}, 6),
        ):
            keys = {**SMALL, **keys, "out": f"own{steps}{len(keys)}"}
            run = broadloom.train(source, name="Own-v0", **keys)
            answer = broadloom.watch(run, "own.gif")
            self.assertEqual(answer["episodes"], [{"return": float(steps), "steps": steps}])
            os.rename(answer["run_dir"], tempfile.mkdtemp(dir=".") + "/run")
        run = broadloom.train(lambda: Bar(), name="Own-v0", out="blind", **SMALL)
        with self.assertRaisesRegex(ValueError, r"env: got none for Own-v0.*env=lambda: MyEnv\("):
            broadloom.watch(run, "own.gif")

    def test_it_refuses_other_spaces_than_those_of_the_policy(self):
        row, image = Box(-1, 1, (3,)), Box(0, 255, (8, 8, 1), np.uint8)
        groups = Dict(a=row, b=Discrete(3, start=2), c=image)
        pair = Tuple((Discrete(3), row))
        for seen, acted, shown in (
            (row, Discrete(4), "Box(3) and actions Discrete(4)"),
            (image, MultiDiscrete([3, 2]), "Box(8, 8, 1; uint8) and actions MultiDiscrete(3, 2)"),
            (
                groups,
                pair,
                "Dict(a: 3, b: 3; one-hot from 2, c: 8 x 8 x 1; uint8) and actions "
                "Hybrid(3; 3 numbers)",
            ),
        ):
            with self.subTest(shown):
                options = {**SMALL, "name": "Spaced-v0", "out": tempfile.mkdtemp(dir=".") + "/run"}
                run = broadloom.train(lambda: Spaced(seen, acted), **options)
                answer = broadloom.watch(run, env=lambda: Spaced(seen, acted))
                self.assertEqual(answer["episodes"][0]["steps"], 6)
                for other in ((Box(-1, 1, (5,)), acted), (seen, Discrete(9))):
                    with self.assertRaisesRegex(ValueError, re.escape(shown)) as refused:
                        broadloom.watch(run, env=lambda: Spaced(*other))
                    self.assertEqual(refused.exception.kind, "mismatch")
        broadloom.register("Spaced-v0", lambda render_mode=None: Spaced(row, acted))
        with self.assertRaisesRegex(ValueError, r"Spaced-v0 .* got observations Box\(3\)"):
            broadloom.watch(run)  # a name that means another environment by now

    def test_what_it_refuses(self):
        run = broadloom.train(Bar, out="a", **SMALL)
        for words, options in (
            ("got out='x.html' for python/Bar-v0", {"out": "x.html"}),
            ("got view= for python/Bar-v0", {"out": "x.gif", "view": "3d"}),
            (r"render\(\): got None.*render_mode", {"out": "x.gif", "env": without_render}),
            (
                r"render\(\): got float64 from 0.5 to 1.5, expected uint8 from 0 to 255",
                {"out": "x.gif", "env": with_fractions},
            ),
        ):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words) as refused:
                broadloom.watch(run, **options)
            self.assertIsInstance(refused.exception, broadloom.Error)
            self.assertEqual(refused.exception.kind, "invalid_config")


class Noting(Bar):
    def step(self, action):
        played.append(int(action))
        return np.zeros(1, np.float32), *super().step(action)[1:]


class Spaced(Bar):
    def __init__(self, observation_space, action_space):
        self.observation_space, self.action_space = observation_space, action_space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), *super().step(action)[1:]


class Painted(CartPoleEnv):
    def __init__(self, render_mode=None):
        super().__init__()

    def render(self):
        return np.zeros((4, 4, 3), np.uint8)


class Shorter(gymnasium.Wrapper):
    """Ends after four steps."""

    def step(self, action):
        row, reward, _, truncated, infos = self.env.step(action)
        return row, reward, self.env.unwrapped.t >= 4, truncated, infos


class Film(gymnasium.Wrapper):
    def render(self):
        return np.zeros((4, 4, 3), np.uint8)


def with_shares():
    env = Bar()
    env.render = lambda: np.broadcast_to(np.array([0.0, 0.5, 1.0]), (4, 4, 3))
    return env


def with_fractions():
    env = Bar()
    env.render = lambda: np.broadcast_to(np.array([0.5, 1.0, 1.5]), (4, 4, 3))
    return env


def without_render():
    env = Bar()
    env.render = lambda: None
    return env


if __name__ == "__main__":
    unittest.main()
