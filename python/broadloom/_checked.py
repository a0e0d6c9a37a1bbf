"""Checks what single environments return, before Gymnasium stores it: its errors name little, and
None or a text becomes a number."""

import copy
import math

import gymnasium
import numpy as np

from . import spaces
from ._arrays import cast, numpy_of
from ._errors import InvalidValue

ARRAYS = ("Box", "Discrete", "MultiBinary", "MultiDiscrete")
PLAIN = {bool, int, float, np.bool_, np.int32, np.int64, np.float32, np.float64}
SHARED = "environments share it and write over each other; return a copy, such as np.array(row)"
EXPECTED = {
    "reward": "one number; return float(reward)",
    "terminated": "True or False; return bool(terminated)",
    "truncated": "True or False; return bool(truncated)",
}


class CheckedEnvs(gymnasium.vector.SyncVectorEnv):
    """Checks rewards, ends and infos of each step. A wrapper around each environment costs more:
    here they stay objects until all environments have stepped."""

    def __init__(self, env_fns, name, **options):
        super().__init__(env_fns, copy=False, **options)
        self.name = name

    def reset(self, **options):
        rows, infos = super().reset(**options)
        self.check_arrays("reset()")
        self._rewards, self._terminations, self._truncations = (
            np.full(self.num_envs, False, object) for _ in range(3)
        )
        return copied(rows), infos

    def step(self, actions):
        try:
            rows, rewards, terminated, truncated, infos = super().step(actions)
        except Exception as error:
            self.numbers(self._rewards, self._terminations, self._truncations)
            self.check_infos(error)
            raise
        self.check_arrays("step()")
        given = rewards.tolist() + terminated.tolist() + truncated.tolist()
        if not PLAIN.issuperset(map(type, given)):
            rewards, terminated, truncated = self.numbers(rewards, terminated, truncated)
        ends = terminated.astype(np.bool_), truncated.astype(np.bool_)
        return copied(rows), rewards.astype(np.float64), *ends, infos

    def _add_info(self, infos, one, i):
        if "final_obs" in one:  # reset() may write the same array
            one = {**one, "final_obs": copied(one["final_obs"])}
        return super()._add_info(infos, one, i)

    def check_arrays(self, call):
        """Refuses an array that one environment returned and another one then wrote. Only a probe
        has copies to compare with."""
        for i, one in enumerate(self.envs):
            if isinstance(one, Checked) and one.has_changed():
                raise InvalidValue(
                    f"{self.name}: observation of {call}: environment {i} returned an array that "
                    f"changed while another environment stepped; {SHARED}"
                )

    def numbers(self, *given):
        return [
            np.array([one_number(self.name, key, value) for value in values], np.float64)
            for key, values in zip(EXPECTED, given, strict=True)
        ]

    def check_infos(self, error):
        """Explains Gymnasium's error of infos that are no dict."""
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        if trace.tb_frame.f_code is gymnasium.vector.VectorEnv._add_info.__code__:
            check_info(self.name, trace.tb_frame.f_locals.get("env_info"), "step()")


def copied(rows):
    return rows.copy() if isinstance(rows, np.ndarray) else copy.deepcopy(rows)  # much slower


class Checked(gymnasium.Wrapper):
    """Also checks observations: of a probe, of other processes, and where they need a cast, which
    a probe notes in facts["casts"]."""

    def __init__(self, env, name, facts, compares=False):
        """compares: whether has_changed() will be asked."""
        super().__init__(env)
        self.name, self.facts, self.compares = name, facts, compares
        self.row, self.copy = None, []

    def has_changed(self):
        """Whether the arrays that this environment returned last have other numbers since."""
        return any(
            not np.array_equal(numpy_of(row), copy, equal_nan=copy.dtype.kind in "fc")
            for row, copy in zip(arrays_in(self.row), self.copy, strict=True)
        )

    def reset(self, **options):
        found = self.env.reset(**options)
        if not isinstance(found, tuple) or len(found) != 2:
            raise InvalidValue(
                f"{self.name}: reset(): got {count_of(found)}, expected (observation, info); return"
                " both, with {} as info if there is none"
            )
        return self.fit(found[0], "reset()"), check_info(self.name, found[1], "reset()")

    def step(self, action):
        found = self.env.step(action)
        if not isinstance(found, tuple) or len(found) != 5:
            raise InvalidValue(
                f"{self.name}: step(): got {count_of(found)}, expected (observation, reward, "
                "terminated, truncated, info)"
            )
        row, reward, terminated, truncated, info = found
        reward, terminated, truncated = (
            one_number(self.name, *pair)
            for pair in zip(EXPECTED, (reward, terminated, truncated), strict=True)
        )
        row = self.fit(row, "step()")
        if terminated or truncated:
            row = copied(row)  # a vector environment keeps it while reset() may write its array
        return row, reward, terminated, truncated, check_info(self.name, info, "step()")

    def fit(self, row, call):
        where = f"{self.name}: observation of {call}"
        fitted = fitted_to(self.env.observation_space, row, where)
        self.facts["casts"] |= fitted is not row
        if self.compares:
            self.row = row
            self.copy = [np.array(part) for part in arrays_in(row)]
        return fitted


def arrays_in(row):
    """The arrays of NumPy in an observation."""
    if isinstance(row, (tuple, list)):
        return [array for part in row for array in arrays_in(part)]
    if spaces.is_dict(row):
        return [array for part in row.values() for array in arrays_in(part)]
    return [row] if isinstance(row, np.ndarray) and row.dtype != object else []


def one_number(name, key, value):
    """A reward or end of step(), out of its array of one element if it is in one."""
    is_one = math.prod(np.shape(value)) == 1 and not isinstance(value, (str, bytes, list, tuple))
    if value is None or not is_one:
        raise InvalidValue(f"{name}: {key} of step(): got {value!r}, expected {EXPECTED[key]}")
    return numpy_of(value).item() if np.ndim(value) else value


def count_of(found):
    """The number of values that a call returned, in words."""
    if isinstance(found, (tuple, list)):
        return f"{len(found)} values in a {type(found).__name__}"
    return f"one value of {type(found).__name__}"


def check_info(name, info, call):
    if not hasattr(info, "items"):
        raise InvalidValue(
            f"{name}: infos of {call}: got {info!r}, expected a dict; return {{}} if there are none"
        )
    return info


def fitted_to(space, row, where):
    """The observation with the dtypes of its space, or the same object if Gymnasium can store it.
    Refuses values that these dtypes do not hold, and missing keys. Shapes are checked later."""
    kind = spaces.kind_of(space)
    if kind in ("Dict", "Tuple"):
        return _fitted_parts(space, row, where)
    if kind not in ARRAYS or row is None:
        return row
    given = numpy_of(row)
    if not np.can_cast(given.dtype, space.dtype, "same_kind"):
        row = given = cast(given, space.dtype, where)
    if kind == "Discrete" and given.shape == ():
        first = int(getattr(space, "start", 0))
        if not first <= given < first + space.n:
            raise InvalidValue(f"{where}: got {given}, expected {first} to {first + space.n - 1}")
    return row


def _fitted_parts(space, row, where):
    is_dict = hasattr(space.spaces, "items")
    parts = dict(space.spaces.items() if is_dict else enumerate(space.spaces))
    known = ()
    if spaces.is_dict(row) if is_dict else isinstance(row, (tuple, list)):
        known = tuple(row.keys() if is_dict else range(len(row)))
    missing = [key for key in parts if key not in known]
    if missing:
        got = f"the keys {', '.join(map(repr, known))}" if known else repr(row)
        raise InvalidValue(
            f"{where}: got {got}, expected the key {missing[0]!r}, as its observation_space says; "
            "return all of its keys, or take that one out of the space"
        )
    fitted = {key: fitted_to(part, row[key], f"{where}, {key!r}") for key, part in parts.items()}
    if all(fitted[key] is row[key] for key in parts):
        return row
    return fitted if is_dict else tuple(fitted.values())
