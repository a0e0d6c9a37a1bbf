"""Environments that users name by an id, or register."""

import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import unittest

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict

import broadloom
from broadloom._source_text import register_call
from simulator_cases import HERE, out, SMALL, Steps, train


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


# Prints the calls that four errors name, and the score after one of them.
ELSEWHERE = """
import re, sys
import broadloom, gymnasium

run = sys.argv[1]
for use in (
    broadloom.evaluate,
    broadloom.audit,
    lambda run: broadloom.resume(run, more_timesteps=256),
    lambda run: broadloom.watch(run, "film.gif"),
):
    try:
        use(run)
    except broadloom.Error as error:
        call = re.search(r"broadloom.register\\(.*?\\)", str(error))[0]
        print(call)
exec(call)
print(broadloom.evaluate(run, episodes=3)["mean_return"])
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

    def test_another_process_is_told_the_call_that_registers_an_id_again(self):
        flat = gymnasium.wrappers.FlattenObservation
        run = broadloom.train(
            "gymnasium/CartPole-v1", env_kwargs={"sutton_barto_reward": True}, wrappers=[flat],
            lr_schedule="constant", out=out("elsewhere"), **SMALL,
        )  # fmt: skip
        expected = broadloom.evaluate(run, episodes=3)["mean_return"]
        done = subprocess.run(
            [sys.executable, "-c", ELSEWHERE, run], capture_output=True, text=True, check=True
        )
        *calls, found = done.stdout.split("\n")[:-1]
        call = (
            'broadloom.register("python/CartPole-v1", "gymnasium/CartPole-v1", '
            'env_kwargs={"sutton_barto_reward": True}, '
            "wrappers=[gymnasium.wrappers.FlattenObservation])"
        )
        self.assertEqual(calls, [call] * 4, done.stdout)
        self.assertEqual(float(found), expected)

    def test_calls_of_other_sources(self):
        for source, summary, call in (
            (
                "gymnasium 1: make('a:B-v1', g=9.0), <lambda>, FlattenObservation, Mine",
                "",
                '"gymnasium/a:B-v1", env_kwargs={"g": 9.0}, '
                "wrappers=[MY_WRAPPER, gymnasium.wrappers.FlattenObservation, Mine])",
            ),
            (
                "gymnasium 1: make('B-v1', f=<function <lambda> at 0x7>, g='<b>', h=array([1.]))",
                "",
                '"gymnasium/B-v1", env_kwargs={"f": MY_F, "g": "<b>", "h": MY_H})',
            ),
            (
                "gymnasium 1: make('B-v1', m='8x8', n=[{'a': ('b',)}, None, \"it's\"])",
                "",
                '"gymnasium/B-v1", env_kwargs={"m": "8x8", "n": [{"a": ("b",)}, None, "it\'s"]})',
            ),
            (
                "gymnasium 1: make('B-v1', f=Mine of 3), functools.partial(<function f at 0x7>)",
                "",
                '"gymnasium/B-v1", env_kwargs={**MY_ARGUMENTS}, wrappers=[*MY_WRAPPERS])',
            ),
            (
                "ale-py 0: ale_py:AtariVectorEnv, img_height=42",
                "ALE/Pong-v5 of ale-py 0: grey",
                '"gymnasium/ALE/Pong-v5", env_kwargs={"img_height": 42})',
            ),
            ("MyEnv(size=3)", "", None),
            ("", "", None),
        ):
            spec = {"id": "Mine-v0", "upstream": source, "summary": summary}
            expected = call and 'broadloom.register("Mine-v0", ' + call
            self.assertEqual(register_call(spec), expected or "", source)

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
            for given in (None, 12, 15, 40):
                with self.subTest(kind, limit=given):
                    limit = given or 15
                    run = train(kind, f"{kind.__name__}{given}", max_episode_steps=given)
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


if __name__ == "__main__":
    unittest.main()
