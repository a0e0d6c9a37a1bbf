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
from broadloom import registering
from broadloom._adapter import Request, closing
from simulator_cases import out, parameters, SMALL, Steps

ZEROS = np.zeros(3, np.float32)
PIXELS = Box(0, 255, (8, 8, 1), np.uint8)
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


def count():
    """Counts a step, and ends no episode."""
    Meek.steps += 1
    return False


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


def with_reset(change):
    def changed(env):
        reset = env.reset
        env.reset = lambda **options: change(*reset(**options))

    return vector(changed)


def declaring(mode):
    """They reset at once, whatever they declare."""

    def make(num_envs):
        env = SyncVectorEnv([Steps] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
        env.metadata = {"autoreset_mode": mode}
        return env

    return make


class SharesRow(Meek):
    """Each writes its state into the array of all."""

    row = np.zeros(3, np.float32)

    def look(self):
        self.row[:] = self.np_random.uniform(-1, 1, 3)
        return self.row


class OwnRow(Meek):
    """Writes each observation into one array of its own. Episodes are truncated."""

    copies = False

    def reset(self, *, seed=None, options=None):
        self.row = getattr(self, "row", np.zeros(3, np.float32))
        return super().reset(seed=seed)

    def look(self):
        self.row[:] = self.np_random.uniform(-1, 1, 3)
        return self.row.copy() if self.copies else self.row


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
        r"reward of step\(\): got \[1.0, 2.0\], expected one number; return float\(reward\)",
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
        ValueError,
        "got 300.0 in an array of float64, expected numbers that uint8",
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
    "a reward that is a text": (
        ValueError,
        r"reward of step\(\): got '1', expected one number; return float\(reward\)",
        but(reward=lambda self: "1"),
        {},
    ),
    "a text as reward later": (
        ValueError,
        r"later/v0: reward of step\(\): got '1', expected one number; return float\(reward\)",
        but(reward=later("1", 1.0)),
        {},
    ),
    "None as reward later": (
        ValueError,
        r"reward of step\(\): got None, expected one number; return float\(reward\)",
        but(reward=later(None, 1.0)),
        {},
    ),
    "None as reward of many": (
        ValueError,
        "rewards: environment 0 gave None, expected one number",
        with_step(lambda rows, rewards, *rest: (rows, np.full(len(rewards), None), *rest)),
        {},
    ),
    "a reward that is an array later": (
        ValueError,
        r"reward of step\(\): got array\(\[1., 1.\]\), expected one number",
        but(reward=later(np.ones(2), 1.0)),
        {},
    ),
    "None as end later": (
        ValueError,
        r"terminated of step\(\): got None, expected True or False; return bool\(terminated\)",
        but(step=lambda self, action: (ZEROS, 1.0, later(None, False)(self), count(), {})),
        {},
    ),
    "an array as end later": (
        ValueError,
        r"truncated of step\(\): got array\(\[ True, False\]\), expected True or False",
        but(
            step=lambda self, action: (
                *(ZEROS, 1.0, False),
                later(np.array([True, False]), count())(self),
                {},
            )
        ),
        {},
    ),
    "a list as end later": (
        ValueError,
        r"truncated of step\(\): got \[False\], expected True or False",
        but(
            step=lambda self, action: (
                *(ZEROS, 1.0, False),
                later([False], count())(self),
                {},
            )
        ),
        {},
    ),
    "no infos later": (
        ValueError,
        r"infos of step\(\): got None, expected a dict; return {} if there are none",
        but(step=lambda self, action: (ZEROS, 1.0, False, count(), later(None, {})(self))),
        {},
    ),
    "no end": (
        ValueError,
        r"terminated of step\(\): got None, expected True or False",
        but(step=lambda self, action: (ZEROS, 1.0, None, False, {})),
        {},
    ),
    "no infos": (
        ValueError,
        r"infos of step\(\): got None, expected a dict",
        but(step=lambda self, action: (ZEROS, 1.0, False, False, None)),
        {},
    ),
    "a large pixel": (
        ValueError,
        r"observation of reset\(\): got 300 in an array of int32, expected numbers that uint8",
        but(observation_space=PIXELS, look=lambda self: np.full((8, 8, 1), 300, np.int32)),
        {},
    ),
    "a large pixel later": (
        ValueError,
        "observation of environment 0: got 300 in an array of int32, expected .* uint8",
        but(
            observation_space=PIXELS,
            look=later(np.full((8, 8, 1), 300, np.int32), np.zeros((8, 8, 1), np.uint8)),
        ),
        {},
    ),
    "other pixels later": (
        ValueError,
        r"environment 0: got int32, expected uint8, as .* says; return np.asarray\(row, np.uint8\)",
        but(
            observation_space=PIXELS,
            look=later(np.zeros((8, 8, 1), np.int32), np.zeros((8, 8, 1), np.uint8)),
        ),
        {},
    ),
    "other pixels of a key later": (
        ValueError,
        "observation of environment 0, group 'b': got int32, expected uint8, as its observation",
        but(
            observation_space=Dict(a=Discrete(2), b=PIXELS),
            look=later(
                {"a": 1, "b": np.zeros((8, 8, 1), np.int32)},
                {"a": 1, "b": np.zeros((8, 8, 1), np.uint8)},
            ),
        ),
        {},
    ),
    "a missing key": (
        ValueError,
        r"observation of reset\(\): got the keys 'a', expected the key 'b', as its observation",
        but(observation_space=Dict(a=Discrete(2), b=Discrete(2)), look=lambda self: {"a": 1}),
        {},
    ),
    "a missing key later": (
        ValueError,
        "observation of environment 0: got the keys 'a', expected the key 'b', as its observation",
        but(
            observation_space=Dict(a=Discrete(2), b=Discrete(2)),
            look=later({"a": 1}, {"a": 1, "b": 0}),
        ),
        {},
    ),
    "another shape at the end": (
        ValueError,
        r"last observation of environment 0: got an array of shape \(1,\), expected \(3,\)",
        but(look=lambda self: np.zeros(1, np.float32) if self.t == 10 else ZEROS),
        {},
    ),
    "an index beyond": (
        ValueError,
        r"observation of reset\(\): got 9, expected 0 to 3",
        but(observation_space=Discrete(4), look=lambda self: 9),
        {},
    ),
    "an index before the first": (
        ValueError,
        r"observation of reset\(\): got 2, expected 3 to 6",
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
        ValueError,
        r"got Box.* without numbers, expected at least one",
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
        r"truncation_mode: got bootstrap.*or let step\(\) give .* as infos\['final_obs'\]",
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
    "infos in a list": (
        ValueError,
        r"infos of step\(\) of infos in a list/v0: got a list, expected a dict with one entry",
        with_step(lambda *answer: (*answer[:4], [{}] * len(answer[1]))),
        {},
    ),
    "infos of a reset in a list": (
        ValueError,
        r"infos of reset\(\) of infos of .*: got a list, expected a dict",
        with_reset(lambda rows, infos: (rows, [{}] * len(rows))),
        {},
    ),
    "a reset of one value": (
        ValueError,
        r"reset\(\): got one value of ndarray, expected \(observation, info\); return both",
        but(
            observation_space=Box(-1, 1, (2,), np.float32),
            reset=lambda self, **_: np.zeros(2, np.float32),
        ),
        {},
    ),
    "a reset of one value in processes": (
        ValueError,
        r"reset\(\): got one value of ndarray, expected \(observation, info\); return both",
        but(
            observation_space=Box(-1, 1, (2,), np.float32),
            reset=lambda self, **_: np.zeros(2, np.float32),
        ),
        {"vectorization": "async"},
    ),
    "a reset of one value of many": (
        ValueError,
        r"reset\(\) of .*: got one value of ndarray, expected \(observations, infos\)",
        with_reset(lambda rows, infos: rows),
        {},
    ),
    "four values of many": (
        ValueError,
        r"step\(\) of .*: got 4 values, expected \(observations, rewards, terminations, trunc",
        with_step(lambda *answer: answer[:4]),
        {},
    ),
    "another name than num_envs": (
        TypeError,
        "got a function that needs 'count', expected one .* must have the name num.envs; rename",
        lambda count: vector(lambda env: None)(count),
        {},
    ),
    "a choice for the critic": (
        TypeError,
        "the critic's key 'b' is Discrete\\(3\\), expected a Box or MultiBinary; let the "
        "environment give it one-hot, as 3 numbers",
        but(observation_space=Dict(a=Box(-1, 1, (3,)), b=Discrete(3))),
        {"observation_keys": ("a", "b")},
    ),
    "one array for all": (
        ValueError,
        r"observation of reset\(\): environment 0 returned an array that changed while another "
        "environment stepped; environments share it .*; return a copy",
        SharesRow,
        {},
    ),
    "one array for all of many": (
        ValueError,
        "environments 0 and 1 returned the same array as observation; environments share it",
        lambda num_envs: SyncVectorEnv(
            [SharesRow] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP
        ),
        {},
    ),
    "a reset at once after NEXT_STEP": (
        ValueError,
        r"declares NEXT.STEP, but step\(\) gave other observations than the last ones in infos "
        r"when episodes ended, so episodes begin within a step; set .*AutoresetMode.SAME.STEP",
        declaring(AutoresetMode.NEXT_STEP),
        {},
    ),
    "a reset at once after DISABLED": (
        ValueError,
        r"declares DISABLED, but step\(\) gave other observations .*AutoresetMode.SAME.STEP",
        declaring(AutoresetMode.DISABLED),
        {},
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

    def test_whole_numbers_of_other_types_become_those_of_the_space(self):
        def episodes(space, dtype, **options):
            def look(self):
                return np.full(space.shape, self.t % 5, dtype)

            run = broadloom.train(
                lambda: but(observation_space=space, look=look)(),
                name="Typed-v0",
                out=out(f"typed_{len(made)}"),
                **{**SMALL, **options},
            )
            played = broadloom.evaluate(run, episodes=3)["mean_return"]
            made.append(run)
            return broadloom.Policy(run)._core.state()[2]["learner.params"], played

        made = []

        for space, dtype, other in (
            (PIXELS, np.uint8, np.int32),
            (PIXELS, np.uint8, np.float64),
            (Discrete(5), np.int64, np.float32),
        ):
            with self.subTest(space=space, other=other):
                self.assertEqual(episodes(space, dtype), episodes(space, other))
        options = {"vectorization": "async"}
        self.assertEqual(episodes(PIXELS, np.uint8), episodes(PIXELS, np.int64, **options))

    def test_arrays_of_one_element_are_numbers(self):
        def episodes(name, change, **options):
            def step(self, action):
                row, reward, *ends, infos = Meek.step(self, action)
                return row, change(reward), *map(change, ends), infos

            run = broadloom.train(
                but(step=step), name=f"{name}-v0", out=out(name), **{**SMALL, **options}
            )
            return broadloom.evaluate(run, episodes=3)["mean_return"]

        for name, change in (
            ("one", lambda value: np.array([value])),
            ("nested", lambda value: np.array([[value]])),
            ("scalar", lambda value: np.array(value)),
            ("whole", int),
        ):
            self.assertEqual(episodes(name, change), 10)
        one = lambda value: np.array([value])  # noqa: E731
        self.assertEqual(episodes("processes", one, vectorization="async"), 10)

    def test_an_environment_may_return_one_array_of_its_own(self):
        found = {}
        for copies in (False, True):
            for way in ("sync", "async"):
                run = broadloom.train(
                    type("Own", (OwnRow,), {"copies": copies}),
                    name=f"Own-{way}-{copies}-v0",
                    out=out(f"own_{way}_{copies}"),
                    vectorization=way,
                    **SMALL,
                )
                found[way, copies] = parameters(run)
        self.assertEqual(len(set(found.values())), 1)

    def test_last_observations_that_equal_the_rows_may_come_in_every_mode(self):
        def telling(num_envs, mode=AutoresetMode.DISABLED, tells=True):
            env = SyncVectorEnv([Steps] * num_envs, autoreset_mode=mode)
            step = env.step
            if tells:
                env.step = lambda actions: with_finals(*step(actions))
            return env

        def with_finals(rows, *rest):
            return rows, *rest[:3], {"final_obs": rows.copy()}

        runs = [
            broadloom.train(
                lambda num_envs: telling(num_envs, mode, tells),
                name=f"Told-{mode.value}-{tells}-v0",
                out=out(f"told_{mode.value}_{tells}"),
                **SMALL,
            )
            for mode in (AutoresetMode.DISABLED, AutoresetMode.NEXT_STEP)
            for tells in (False, True)
        ]
        self.assertEqual(len({parameters(run) for run in runs}), 1)

    def test_the_usual_path_has_no_wrapper(self):
        run = broadloom.train(Meek, name="Bare-v0", out=out("bare"), **SMALL)
        kind = registering._kinds["Bare-v0"].kind
        with closing(kind.make(Request(2))) as env:
            self.assertEqual([type(one) for one in env.envs], [Meek, Meek])
            first, _ = env.reset(seed=1)
            rows, *given, _ = env.step([0, 1])
            self.assertEqual([one.dtype for one in given], [np.float64, np.bool_, np.bool_])
            self.assertIsNot(env.step([0, 1])[0], rows)
            self.assertIsNot(first, rows)
        self.assertTrue(run.finished)

    def test_a_reward_of_nan_or_none_is_warned_of_once(self):
        def none_later(env):
            env.step = lambda actions, step=env.step: paid(*step(actions))

        def paid(rows, rewards, *rest):
            return rows, rewards if Meek.steps < STEPS else rewards * np.nan, *rest

        Meek.steps = 0
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            with self.assertRaisesRegex(broadloom.Error, "reward of environment 0 is not finite"):
                broadloom.train(vector(none_later), name="Nan-v0", out=out("nan"), **SMALL)
        self.assertEqual(["nan or None" in str(one.message) for one in found], [True])

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
