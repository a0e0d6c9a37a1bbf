"""The success of an episode, as users' environments tell it."""

import unittest
import warnings
from unittest import mock

import gymnasium
import numpy as np

import broadloom
from broadloom import _probe
from simulator_cases import Steps, train


class SuccessTest(unittest.TestCase):
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


if __name__ == "__main__":
    unittest.main()
