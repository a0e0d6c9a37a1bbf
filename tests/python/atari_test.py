"""Atari by id. A stand-in for ale-py's AtariVectorEnv needs no package."""

import importlib.util
import os
import sys
import tempfile
import types
import unittest

import broadloom
import gymnasium
import numpy as np
from broadloom import sources, watching
from broadloom._adapter import Request
from broadloom._atari_film import atari_maker
from gymnasium.spaces import Box, Discrete
from gymnasium.vector.utils import batch_space

SMALL = {"total_timesteps": 64, "num_envs": 2, "num_steps": 16, "num_minibatches": 2}
SMALL |= {"encoder": "nature", "shared_encoder": True, "quiet": True, "ledger": "none"}
LIVES, STEPS_OF_A_LIFE = 3, 5
HAS_ALE = all(importlib.util.find_spec(name) for name in ("ale_py", "cv2"))


class AtariVectorEnv(gymnasium.vector.VectorEnv):
    """Games of three lives, a reward of 2 a step. Modes end episodes as ale-py's do."""

    def __init__(
        self,
        game,
        num_envs,
        *,
        max_num_frames_per_episode=108000,
        frameskip=4,
        autoreset_mode=None,
        img_height=84,
        img_width=84,
        grayscale=True,
        stack_num=4,
        episodic_life=False,
        life_loss_info=False,
        reward_clipping=True,
    ):
        self.num_envs, self.reward = num_envs, 1.0 if reward_clipping else 2.0
        self.episodic_life, self.life_loss_info = episodic_life, life_loss_info
        shape = (stack_num, img_height, img_width, *([] if grayscale else [3]))
        self.single_observation_space = Box(0, 255, shape, np.uint8)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.single_action_space = Discrete(4)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.metadata = {"autoreset_mode": autoreset_mode}

    def look(self):
        shape = self.observation_space.shape
        return np.full(shape, self.t.reshape(-1, *[1] * (len(shape) - 1)), np.uint8)

    def reset(self, *, seed=None, options=None):
        self.t = np.zeros(self.num_envs, np.int64)
        return self.look(), {}

    def step(self, actions):
        self.t += 1
        is_life_lost = self.t % STEPS_OF_A_LIFE == 0
        is_over = self.t >= LIVES * STEPS_OF_A_LIFE
        starts = is_life_lost if self.episodic_life else is_over
        ended = is_life_lost if self.episodic_life or self.life_loss_info else is_over
        final = self.look()
        self.t[starts] = 0
        infos = {"final_obs": final} if ended.any() else {}
        rewards = np.full(self.num_envs, self.reward)
        return self.look(), rewards, ended, np.zeros(self.num_envs, bool), infos


class Single(gymnasium.Env):
    """A game for watch(), with the preprocessing of AtariPreprocessing."""


def setUpModule():
    package = types.ModuleType("ale_py")
    package.__version__ = "0"
    sys.modules["ale_py"] = package
    gymnasium.register(
        "ALE/Fake-v5",
        Single,
        vector_entry_point=AtariVectorEnv,
        kwargs={"game": "fake", "frameskip": 4, "max_num_frames_per_episode": 400},
    )


class AtariTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def train(self, **options):
        kwargs = {"img_height": 42, "img_width": 42, **options.pop("env_kwargs", {})}
        return broadloom.train("gymnasium/ALE/Fake-v5", env_kwargs=kwargs, **SMALL, **options)

    def test_evaluation_plays_whole_games_for_their_rewards(self):
        for key, lives in (("episodic_life", 1), ("life_loss_info", 1), (None, LIVES)):
            with self.subTest(key):
                run = self.train(env_kwargs={key: True} if key else {}, out=f"run_{key}")
                self.assertEqual(run.mean_return, lives * STEPS_OF_A_LIFE)
                found = broadloom.evaluate(run, episodes=3)
                steps = LIVES * STEPS_OF_A_LIFE
                self.assertEqual((found["mean_return"], found["mean_length"]), (2 * steps, steps))

    def test_panels_play_whole_games_too(self):
        maker = sources.EnvMaker("ALE/Fake-v5", {"episodic_life": True}, ())
        kind = sources.gymnasium_kind("gymnasium/ALE/Fake-v5", maker)
        found = {
            streams: kind.make(Request(2, streams=streams)).episodic_life
            for streams in ("training", "evaluation", "panel")
        }
        self.assertEqual(found, {"training": True, "evaluation": False, "panel": False})

    def test_arguments_that_cannot_be_are_named(self):
        for kwargs, words in (
            ({"grayscale": False}, r"^grayscale: got False .* in grey .* lambda: gymnasium\.make"),
            (
                {"img_heigth": 42},
                r"^env_kwargs: got 'img_heigth' .*: max_num_.* mean 'img_height'.$",
            ),
            ({"obs_type": "ram"}, r"^env_kwargs: got 'obs_type' .*make\('ALE/Fake-v5', obs_type="),
        ):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words) as refused:
                self.train(env_kwargs=kwargs)
            self.assertEqual(refused.exception.kind, "invalid_config")
        self.assertTrue(self.train(env_kwargs={"grayscale": True}).finished)

    def test_broadloom_alone_stacks(self):
        broadloom.register("Stacked-v0", "gymnasium/ALE/Fake-v5")
        for env_id, frames in (
            ("gymnasium/ALE/Fake-v5", 1),
            ("gymnasium/ALE/Fake-v5", np.int64(2)),
            ("ale_py:ALE/Fake-v5", "1"),
            ("Stacked-v0", 1),
        ):
            words = "^env.frame_stack: got [12]"
            with self.subTest(env_id), self.assertRaisesRegex(broadloom.Error, words):
                broadloom.train(env_id, **SMALL, **{"env.frame_stack": frames})


@unittest.skipUnless(HAS_ALE, "ale-py or OpenCV is not installed")
class FilmTest(unittest.TestCase):
    """With ale-py itself."""

    @classmethod
    def setUpClass(cls):
        fake = sys.modules.pop("ale_py", None)
        cls.addClassCleanup(sys.modules.__setitem__, "ale_py", fake)
        gymnasium.register_envs(importlib.import_module("ale_py"))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def test_films_have_the_frames_of_training(self):
        for game, size, options in (
            ("Breakout", (84, 84), {}),
            ("Pong", (42, 50), {"frameskip": 3}),
            ("SpaceInvaders", (84, 84), {"use_fire_reset": False}),
        ):
            height, width = size
            kwargs = {"noop_max": 0, "repeat_action_probability": 0.0, **options}
            kwargs |= {"img_height": height, "img_width": width}
            maker = sources.EnvMaker(f"ALE/{game}-v5", kwargs, ())
            kind = sources.gymnasium_kind(f"gymnasium/ALE/{game}-v5", maker)
            many = kind.make(Request(1, streams="evaluation"))
            one = atari_maker(f"ALE/{game}-v5", kwargs)()
            rows, row = many.reset(seed=np.array([1], np.int32))[0], one.reset(seed=1)[0]
            random = np.random.default_rng(1)
            for t in range(100):
                np.testing.assert_array_equal(rows[0, 0], row, f"{game} at {t}")
                action = random.integers(one.action_space.n, size=1)
                rows, rewards, ended, *_ = many.step(action)
                row, reward, is_over, *_ = one.step(action[0])
                self.assertEqual((rewards[0], ended[0]), (reward, is_over))

    def test_an_id_is_filmed_and_env_is_not_stacked(self):
        kwargs = {"img_height": 42, "img_width": 42}
        run = broadloom.train(
            "gymnasium/ALE/Breakout-v5", env_kwargs=kwargs, name="Bricks-v0", out="run", **SMALL
        )
        single = atari_maker("ALE/Breakout-v5", kwargs)

        def stacked():
            return gymnasium.wrappers.FrameStackObservation(single(), 4)

        for env in (None, single):
            answer = broadloom.watch(run, "film.gif", env=env, max_steps=20)
            self.assertEqual(answer["episodes"][0]["steps"], 20)
        for env, got in (
            (stacked, "42, 42, 16; uint8; 4 frames"),
            (unprocessed, "210, 160, 12; uint8;"),
        ):
            words = rf"got observations Box\({got}.*expected observations Box\(42, 42, 4; uint8; 4"
            with self.assertRaisesRegex(ValueError, words):
                broadloom.watch(run, "film.gif", env=env)
        broadloom.allow_plugin("gymnasium")
        spec = {"id": "gymnasium/ALE/Pong-v5", "upstream": "", "summary": ""}
        self.assertEqual(watching._maker(spec)().observation_space.shape, (84, 84))
        broadloom.register("Blurred-v0", "gymnasium/ALE/Pong-v5", env_kwargs={"maxpool": False})
        words = (
            r"^env: got none for Blurred-v0.*AtariPreprocessing\(gymnasium.make\(\"ALE/Pong-v5\""
        )
        with self.assertRaisesRegex(ValueError, words):
            watching._maker({**spec, "id": "Blurred-v0"})


def unprocessed():
    return gymnasium.make("ALE/Breakout-v5", render_mode="rgb_array")


if __name__ == "__main__":
    unittest.main()
