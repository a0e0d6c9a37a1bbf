"""Environments that break rules: each gives a clear error or a warning, and never a crash."""

import os
import signal
import subprocess
import sys
import unittest
import warnings

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import broadloom
from simulator_cases import out, SMALL

ZEROS = np.zeros(3, np.float32)
STEPS = 300  # steps before a change, more than the probe plays
PARENT = os.getpid()


class Meek(gymnasium.Env):
    """A correct environment. The others differ from it in one thing."""

    observation_space, action_space = Box(-1, 1, (3,), np.float32), Discrete(2)
    steps = 0

    def look(self):
        return ZEROS

    def reward(self):
        return 1.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.look(), {}

    def step(self, action):
        self.t += 1
        Meek.steps += 1
        return self.look(), self.reward(), False, self.t >= 10, {}


def but(**changes):
    return type("Other", (Meek,), changes)


def later(value, before):
    return lambda self: value if Meek.steps > STEPS else before


def broken(*_, **__):
    raise LookupError("broken on purpose")


class Dies(Meek):
    def step(self, action):
        if os.getpid() != PARENT and self.t > 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


def vector(change):
    """A function that makes N of them, with something changed."""

    def make(num_envs):
        env = SyncVectorEnv([Meek] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
        return change(env) or env

    return make


def with_step(change):
    def changed(env):
        step = env.step
        env.step = lambda actions: change(*step(actions))

    return vector(changed)


# name: (exception, words in it or in its notes, environment, further keywords)
CASES = {
    "a shape": (
        ValueError,
        r"environment [0-9] gave an array of shape \(4,\), expected \(3,\)(.|\n)*"
        r"In reset\(\) of a shape.*Box\(-1.0, 1.0, \(3,\)"
        if hasattr(Exception, "add_note")
        else r"environment [0-9] gave an array of shape \(4,\), expected \(3,\)",
        but(look=lambda self: np.zeros(4, np.float32)),
        {},
    ),
    "a shape later": (
        ValueError,
        r"environment [0-9] gave an array of shape \(4,\), expected \(3,\)",
        but(look=later(np.zeros(4, np.float32), ZEROS)),
        {},
    ),
    "no array": (
        ValueError,
        r"environment 0 gave None, expected an array of Box\(-1.0, 1.0, \(3,\)",
        but(look=lambda self: None),
        {},
    ),
    "no space": (
        TypeError,
        "got none as observation_space, expected one of gymnasium.spaces",
        but(observation_space=None),
        {},
    ),
    "a number as space": (
        TypeError,
        "got int as action_space, expected one of gymnasium.spaces",
        but(action_space=2),
        {},
    ),
    "a reward in a list": (
        ValueError,
        r"In step\(\) of(.|\n)*Each reward must be one number, such as float\(reward\)",
        but(reward=lambda self: [1.0, 2.0]),
        {},
    ),
    "one environment": (
        ValueError,
        "returned one environment twice; make a new environment in each call",
        lambda env=Meek(): gymnasium.wrappers.TimeLimit(env, 10),
        {},
    ),
    "one environment in processes": (
        ValueError,
        "returned one environment twice",
        lambda env=Meek(): env,
        {"vectorization": "async"},
    ),
    "complex numbers": (TypeError, "complex128", but(look=lambda self: np.zeros(3, complex)), {}),
    "fractions in bytes": (
        TypeError,
        "uint8",
        but(
            observation_space=Box(0, 255, (3,), np.uint8),
            look=lambda self: np.array([300, -1, 2.5]),
        ),
        {},
    ),
    "not a number": (
        broadloom.Error,
        "observation of environment [0-9] is not finite",
        but(look=later(np.array([0, np.nan, 0], np.float32), ZEROS)),
        {},
    ),
    "a reward that is not a number": (
        broadloom.Error,
        "reward of environment [0-9] is not finite",
        but(reward=later(float("nan"), 1.0)),
        {},
    ),
    "a reward beyond float32": (
        broadloom.Error,
        r"rewards: environment 0 gave 1e\+300, expected at most",
        but(reward=later(1e300, 1.0)),
        {},
    ),
    "a reward that is an array": (
        ValueError,
        r"In step\(\) of",
        but(reward=lambda self: np.ones(2)),
        {},
    ),
    "an index beyond": (
        broadloom.Error,
        "environment [0-9]: got 9, expected 0 to 3",
        but(observation_space=Discrete(4), look=lambda self: 9),
        {},
    ),
    "an index before the first": (
        broadloom.Error,
        "environment [0-9]: got 2, expected 3 to 6",
        but(observation_space=Discrete(4, start=3), look=lambda self: 2),
        {},
    ),
    "an index beyond later": (
        broadloom.Error,
        "got -1, expected 0 to 3",
        but(observation_space=Discrete(4), look=later(-1, 0)),
        {},
    ),
    "a constructor": (LookupError, "on purpose", but(__init__=broken), {}),
    "a reset": (LookupError, "on purpose", but(reset=broken), {}),
    "a step": (LookupError, "on purpose", but(step=broken), {}),
    "an exit": (SystemExit, "3", but(step=lambda self, action: sys.exit(3)), {}),
    "four values": (
        ValueError,
        "terminations, truncations",
        but(step=lambda self, action: (ZEROS, 1.0, False, {})),
        {},
    ),
    "a reset as of old": (
        ValueError,
        r"\(observations, infos\)",
        but(reset=lambda self, **_: ZEROS),
        {},
    ),
    "a reset without seed": (TypeError, "seed", but(reset=lambda self: (ZEROS, {})), {}),
    "whole numbers": (
        TypeError,
        "floating point",
        but(action_space=Box(-1, 1, (1,), np.int64)),
        {},
    ),
    "a tuple of several choices": (
        TypeError,
        "as group '0' of observations.*TransformObservation",
        but(observation_space=Tuple([MultiDiscrete([2, 3])])),
        {},
    ),
    "other keys": (
        TypeError,
        "observation_keys",
        but(observation_space=Dict(a=Discrete(2))),
        {"observation_keys": "b"},
    ),
    "three keys": (
        broadloom.Error,
        "a key, or",
        Meek,
        {"observation_keys": ("a", "b", "c")},
    ),
    "a critic's key that is not there": (
        TypeError,
        "the keys 'a', 'b' as observations, expected the key 'critic', as observation_keys says. "
        r"In Python, train\(..., observation_keys='b'\)",
        but(observation_space=Dict(a=Discrete(2), b=Discrete(2))),
        {"observation_keys": ("b", "critic")},
    ),
    "nothing to see": (
        broadloom.Error,
        "size 0",
        but(observation_space=Box(-1, 1, (0,), np.float32)),
        {},
    ),
    "nothing": (TypeError, "expected a gymnasium.Env", lambda: None, {}),
    "nothing of many": (
        TypeError,
        "expected a gymnasium.vector.VectorEnv",
        lambda num_envs: None,
        {},
    ),
    "one too many": (
        ValueError,
        "got 5 environments, expected 4",
        lambda num_envs: SyncVectorEnv([Meek] * (num_envs + 1)),
        {},
    ),
    "closed ones": (
        ValueError,
        "new environments in each call",
        vector(lambda env: env.close()),
        {},
    ),
    "another mode": (
        ValueError,
        "'sometimes'",
        vector(lambda env: setattr(env, "metadata", {"autoreset_mode": "sometimes"})),
        {},
    ),
    "few rewards": (
        ValueError,
        r"rewards: got an array of shape \(1,\)",
        with_step(lambda rows, rewards, *rest: (rows, rewards[:1], *rest)),
        {},
    ),
    "rows that are columns": (
        ValueError,
        r"observations: got an array of shape \(3, 4\), expected \(4, 3\)",
        with_step(lambda rows, *rest: (rows.T, *rest)),
        {},
    ),
    "no last observations": (
        broadloom.Error,
        "truncation_mode: got bootstrap",
        with_step(lambda *answer: (*answer[:4], {})),
        {},
    ),
    "empty last observations": (
        RuntimeError,
        "its last observation in infos is None",
        with_step(lambda *answer: (*answer[:4], {"final_obs": np.full(len(answer[1]), None)})),
        {},
    ),
    "a worker that raises": (
        LookupError,
        "on purpose",
        but(step=lambda self, action: broken() if self.t > 5 else Meek.step(self, action)),
        {"vectorization": "async"},
    ),
    "a worker that dies": (
        RuntimeError,
        "a process of its environments has died",
        Dies,
        {"vectorization": "async"},
    ),
    "a wrong word": (broadloom.Error, "'sync' or 'async'", Meek, {"vectorization": "threads"}),
}


class HostileTest(unittest.TestCase):
    def test_each_is_a_clear_error(self):
        for name, (kind, words, env, keys) in CASES.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                Meek.steps = 0
                try:
                    broadloom.train(
                        env,
                        name=f"{name}/v0".replace(" ", "_"),
                        out=out(name.replace(" ", "_")),
                        **{**SMALL, **keys},
                    )
                except BaseException as error:
                    self.assertIsInstance(error, kind)
                    answer = "\n".join([str(error), *getattr(error, "__notes__", [])])
                    if "In " not in words[:3] or hasattr(
                        error, "add_note"
                    ):  # notes are of Python 3.11
                        self.assertRegex(answer.replace("_", " "), words.replace("_", " "))
                else:
                    self.fail("nothing was raised")

    def test_the_same_object_twice_is_refused(self):
        env = SyncVectorEnv([Meek] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
        env.close = lambda: None
        with self.assertRaisesRegex(ValueError, "new environments in each call"):
            broadloom.train(
                lambda num_envs: env,
                name="Shared-v0",
                out=out("shared"),
                **SMALL,
            )

    def test_an_environment_may_truncate_before_its_limit(self):
        early = but(step=lambda self, action: (ZEROS, 1.0, False, True, {}))
        run = broadloom.train(
            early,
            name="Early-v0",
            max_episode_steps=900,
            out=out("early"),
            **SMALL,
        )
        self.assertTrue(run.finished)

    def test_observations_outside_of_their_space_are_warned_of(self):
        with self.assertWarnsRegex(UserWarning, "component 0 got 7 to 7, .* -1 to 1"):
            run = broadloom.train(
                but(look=lambda self: np.full(3, 7, np.float32)),
                name="Outside-v0",
                out=out("outside"),
                **SMALL,
            )
        self.assertTrue(run.finished)

    def test_numbers_of_other_kinds_are_rounded(self):
        for dtype in (np.float64, np.int32, np.float16):
            run = broadloom.train(
                but(look=lambda self, dtype=dtype: np.ones(3, dtype)),
                name=f"{dtype.__name__}-v0",
                out=out(dtype.__name__),
                **SMALL,
            )
            self.assertTrue(run.finished)

    def test_after_all_that_training_goes_on(self):
        self.assertTrue(broadloom.train(Meek, name="Meek-v0", out=out("meek"), **SMALL).finished)


class OursTest(unittest.TestCase):
    """Broadloom's environments in hostile hands."""

    def setUp(self):
        self.env = broadloom.VectorEnv(3, env_id="CartPole-v1")
        self.env.reset(seed=1)

    def test_actions_of_any_whole_number(self):
        rows = []
        for actions in (
            [0, 1, 1],
            np.array([0, 1, 1], np.uint8),
            np.array([0, 1, 1], np.int32),
            np.array([[0, 9], [1, 9], [1, 9]])[:, 0],
        ):
            self.env.reset(seed=1)
            rows.append(self.env.step(actions)[0])
        for row in rows:
            np.testing.assert_array_equal(row, rows[0])

    def test_other_actions_are_refused_and_nothing_is_stepped(self):
        before = self.env._core.observations.copy()
        for actions in (
            np.zeros(3),
            np.zeros((3, 1), int),
            [0, 1],
            None,
            "abc",
            np.array([0, 1, 2]),
            np.array([0, -1, 1]),
            np.zeros(3, complex),
        ):
            with self.assertRaises(broadloom.Error):
                self.env.step(actions)
            np.testing.assert_array_equal(self.env._core.observations, before)
        pendulum = broadloom.VectorEnv(2, env_id="Pendulum-v1")
        pendulum.reset(seed=1)
        for actions in (np.full((2, 1), np.nan), np.full((2, 1), np.inf), np.zeros(2), "ab"):
            with self.assertRaises((broadloom.Error, ValueError)):
                pendulum.step(actions)
        self.assertEqual(pendulum.step(np.zeros((2, 1)))[0].dtype, np.float32)

    def test_closed(self):
        self.env.close()
        self.env.close()
        for call in (lambda: self.env.step(np.zeros(3, int)), self.env.reset, self.env.render):
            self.assertRaises(gymnasium.error.ClosedEnvironmentError, call)
        single = broadloom.Env(env_id="CartPole-v1")
        single.reset(seed=1)
        single.close()
        for call in (lambda: single.step(0), single.reset):
            self.assertRaises(gymnasium.error.ClosedEnvironmentError, call)

    def test_odd_seeds_and_options(self):
        for seed in (-1, 1.5, "one", [1, 2, 3], True):
            with self.assertRaises(broadloom.Error):
                self.env.reset(seed=seed)
        self.assertEqual(self.env.reset(seed=np.int64(3))[0].shape, (3, 4))
        for keys in (
            {"threads": -1},
            {"max_episode_steps": -5},
            {"max_episode_steps": 2**31},
            {"num_envs": 0},
            {"num_envs": 10**9},
        ):
            with self.assertRaises(broadloom.Error):
                broadloom.VectorEnv(**{"num_envs": 2, "env_id": "CartPole-v1", **keys})
        for steps in (-5, True, 2.5, 2**31, 50_000_000_000):
            with self.assertRaisesRegex(broadloom.Error, f"max_episode_steps: got {steps}, expect"):
                broadloom.Env(env_id="CartPole-v1", max_episode_steps=steps)

    def test_forked_with_threads_that_have_run(self):
        words = (
            "import os, numpy as np, broadloom\n"
            "e, f = (broadloom.VectorEnv(600, env_id='CartPole-v1', threads=2) for _ in range(2))\n"
            "for env in (e, f): env.reset(seed=1); env.step(np.zeros(600, int))\n"
            "rows = f.step(np.ones(600, int))[0]\n"
            "if (pid := os.fork()) == 0:\n"
            "  same = np.array_equal(e.step(np.ones(600, int))[0], rows)\n"
            "  del e, f, env\n"
            "  os._exit(7 if same else 8)\n"
            "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), "
            "np.array_equal(e.step(np.ones(600, int))[0], rows))"
        )
        done = subprocess.run(
            [sys.executable, "-c", words], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(done.stdout.strip(), "7 True", done.stderr)


if __name__ == "__main__":
    unittest.main()
