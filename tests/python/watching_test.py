"""broadloom.watch(): films of Broadloom's environments and of Python's, as others read them."""

import os
import tempfile
import unittest

import broadloom
import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from PIL import Image

from masks_test import ByInfos, ByKey, ByMethod

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

    def test_masks_from_each_place(self):
        for kind in (ByMethod, ByInfos, ByKey):
            with self.subTest(kind.__name__):
                run = broadloom.train(kind, out=kind.__name__, **SMALL)
                answer = broadloom.watch(run, env=lambda kind=kind: Film(kind()))
                self.assertEqual(answer["episodes"][0]["steps"], 6)

    def test_what_it_refuses(self):
        run = broadloom.train(Bar, out="a", **SMALL)
        for words, options in (
            ("env: got none for python/Bar-v0", {}),
            ("got out='x.html' for python/Bar-v0", {"out": "x.html"}),
            ("got view= for python/Bar-v0", {"out": "x.gif", "view": "3d"}),
            (r"render\(\): got None.*render_mode", {"out": "x.gif", "env": without_render}),
        ):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                broadloom.watch(run, **options)


class Film(gymnasium.Wrapper):
    def render(self):
        return np.zeros((4, 4, 3), np.uint8)


def without_render():
    env = Bar()
    env.render = lambda: None
    return env


if __name__ == "__main__":
    unittest.main()
