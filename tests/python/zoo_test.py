"""broadloom.zoo: policies by name, trained on first use and loaded afterwards."""

import os
import pathlib
import shutil
import tempfile
import unittest
from unittest import mock

import numpy as np

import broadloom

TASK = "Dials-v0"  # the quickest
HERE = tempfile.TemporaryDirectory()


def setUpModule():
    os.environ["BROADLOOM_CACHE"] = HERE.name
    broadloom.zoo.load(TASK, quiet=True)


def folder():
    (found,) = (pathlib.Path(HERE.name) / "zoo").iterdir()
    return found


class Zoo(unittest.TestCase):
    def test_names_are_tasks(self):
        names = broadloom.zoo.names()
        known = {spec["id"] for spec in broadloom.list_envs()}
        self.assertIn("MinAtar/Breakout-v1", names)
        small = {name for name in names if not broadloom.zoo.show(name)["same_bits_anywhere"]}
        self.assertLessEqual(set(names) - small, known)

    def test_a_second_load_trains_nothing(self):
        with mock.patch.object(broadloom.zoo, "_train", side_effect=AssertionError):
            policy = broadloom.zoo.load(TASK, quiet=True)
        self.assertEqual(policy.spec["id"], TASK)
        action = policy.act(np.zeros((3, 12), np.float32))
        self.assertEqual(np.shape(action), (3, 3))

    def test_returns_what_the_zoo_says(self):
        entry = broadloom.zoo.show(TASK)
        score = broadloom.evaluate(folder(), episodes=entry["episodes"], seed=2)
        self.assertAlmostEqual(score["mean_return"], entry["return"]["mean"], 4)

    def test_an_unknown_name_gets_a_guess(self):
        with self.assertRaises(broadloom.Error) as caught:
            broadloom.zoo.load("Dial-v0")
        self.assertEqual(caught.exception.kind, "not_found")
        self.assertIn(TASK, str(caught.exception))

    def test_refuses_another_policy(self):
        entry = broadloom.zoo.show(TASK)
        with tempfile.TemporaryDirectory() as cache:
            with mock.patch.dict(os.environ, BROADLOOM_CACHE=cache):
                place = pathlib.Path(cache) / "zoo" / folder().name
                broadloom.command("train", zoo=TASK, seed=77, out=place, ledger="none", quiet=True)
                with self.assertRaises(broadloom.Error) as caught:
                    broadloom.zoo.load(TASK, quiet=True)
        self.assertEqual(caught.exception.kind, "mismatch")
        self.assertIn(entry["parameters_hash"], str(caught.exception))

    def test_a_damaged_cache_is_named(self):
        with tempfile.TemporaryDirectory() as cache:
            with mock.patch.dict(os.environ, BROADLOOM_CACHE=cache):
                place = pathlib.Path(cache) / "zoo" / folder().name
                shutil.copytree(folder(), place)
                for text in ("", '{"result":'):
                    (place / "ledger_line.json").write_text(text)
                    with self.assertRaises(broadloom.Error) as caught:
                        broadloom.zoo.load(TASK, quiet=True)
                    self.assertIn("delete the folder", str(caught.exception))

    def test_cache_folders(self):
        with mock.patch.dict(os.environ, BROADLOOM_CACHE="", XDG_CACHE_HOME="/caches"):
            with mock.patch("sys.platform", "linux"):
                self.assertEqual(broadloom.zoo.cache_folder(), pathlib.Path("/caches/broadloom"))


if __name__ == "__main__":
    unittest.main()
