"""MuJoCo Warp's worlds as environments, of any MJCF file.

MuJoCo Warp 4.0 steps N worlds at once, on a GPU or on Warp's CPU device. Your functions see NumPy
arrays [N, ...]. The steps of an action are recorded as a graph of Warp, which has the bits of
single calls and saves Python's time."""

import contextlib
import difflib
import functools
import hashlib
import numbers
import operator
import os
import sys
import threading
import types

import numpy as np

from ._arrays import flat, numpy_of
from ._errors import InvalidType, InvalidValue, NotFound
from ._memory import free_memory, refuse_over
from .sources import package

# All that the next step depends on. The rest of mujoco_warp.Data is computed in each step.
STATE = ("time", "qpos", "qvel", "act", "qacc_warmstart", "history", "plastic")
SHOWN = (*STATE, "ctrl")  # known without a computation
# Names in mujoco_warp.OverflowType of lost contacts or constraints, and the argument to raise.
TOO_FEW = {
    "NEFC": "njmax",
    "NJMAX_NNZ": "njmax",
    "BROADPHASE": "nconmax",
    "NARROWPHASE": "nconmax",
    "CCD": "nconmax",
    "HFIELD": "",
}

# Warp records the launches of all threads in a graph, so threads take turns.
_turns = threading.RLock()


def in_turn(method):
    @functools.wraps(method)
    def call(*arguments, **others):
        with _turns:
            return method(*arguments, **others)

    return call


@contextlib.contextmanager
def quiet(warp):
    """Warp prints no line for each kernel that it compiles."""
    level = warp.config.log_level
    warp.config.log_level = max(level, warp.LOG_WARNING)
    try:
        yield
    finally:
        warp.config.log_level = level


def load():
    """The modules (mujoco, warp, mujoco_warp). Warp would print a line for each kernel."""
    mujoco = package("mujoco", "mujoco", "broadloom.warp")
    is_new = "warp" not in sys.modules
    warp = package("warp", "warp-lang", "broadloom.warp")
    if is_new:
        warp.config.log_level = warp.LOG_WARNING
    return mujoco, warp, package("mujoco_warp", "mujoco-warp", "broadloom.warp")


class Draws:
    """Random numbers of K beginning episodes. They depend on a world's seed and episode alone."""

    def __init__(self, seeds, episodes):
        keys = np.stack([seeds, episodes], axis=1).astype(np.uint64)
        self.generators = [np.random.Generator(np.random.Philox(key=key)) for key in keys]

    def uniform(self, low, high, width):
        """An array [K, width] from low to high."""
        return np.stack([one.uniform(low, high, width) for one in self.generators])

    def normal(self, scale, width):
        """An array [K, width] with mean 0 and this deviation."""
        return np.stack([one.normal(0.0, scale, width) for one in self.generators])


class Worlds:
    """Arrays of mujoco_warp.Data for your functions, by their names there, as copies: qpos [N, nq],
    xpos [N, nbody, 3]. All belong to the state shown: numbers that follow from qpos and qvel are
    computed when they are read.

    last: qpos and qvel before the step, and of a new episode the first ones. dt: seconds of a step.
    model: the mujoco.MjModel."""

    def __init__(self, envs):
        self.model, self.dt = envs.model, envs.model.opt.timestep * envs.frame_skip
        self._envs = envs
        self.last = types.SimpleNamespace(qpos=self.qpos, qvel=self.qvel)

    def __getattr__(self, name):
        if name.startswith("_"):  # before __init__, as in copies
            raise AttributeError(name)
        return self._envs.read(name)


class WarpEnvs:
    """N worlds with Gymnasium's vector interface and same-step autoreset.

    model: a file of MJCF or MJB, a text of MJCF, or a mujoco.MjModel.
    observe(worlds): rows [N, K]. reward(worlds, actions): [N]. done(worlds): bool [N], or None.
        Resumes and reruns are exact if these keep no state and draw no numbers of their own.
    reset_noise: worlds begin at the model's qpos0 and velocity 0, with uniform noise of this width.
    reset(draws, qpos, qvel): instead, returns both for K worlds that begin; see Draws.
    control(worlds, actions): the controls [N, nu] of actions in [-1, 1]; by default, actions are
        controls, within the model's bounds.
    device: of Warp, "cuda:0" or "cpu"; by default a GPU if there is one.
    deterministic: MuJoCo Warp orders contacts, constraints and sums. Without it, bits on a GPU
        differ between runs.
    nconmax, njmax: room for contacts and constraints of a world; by default MuJoCo Warp's."""

    @in_turn
    def __init__(
        self,
        model,
        num_envs,
        *,
        observe,
        reward,
        done=None,
        reset=None,
        reset_noise=0.0,
        control=None,
        frame_skip=1,
        max_episode_steps=1000,
        device=None,
        deterministic=True,
        nconmax=None,
        njmax=None,
    ):
        from gymnasium import spaces

        self.mujoco, self.warp, self.mjw = load()
        self.num_envs = count_of("num_envs", num_envs)
        self.frame_skip = count_of("frame_skip", frame_skip)
        self.max_episode_length = count_of("max_episode_steps", max_episode_steps)
        self.sizes = {
            name: None if value is None else count_of(name, value)
            for name, value in (("nconmax", nconmax), ("njmax", njmax))
        }
        self.observe, self.reward = (
            function_of(name, one) for name, one in (("observe", observe), ("reward", reward))
        )
        self.done, self.control, reset = (
            None if one is None else function_of(name, one)
            for name, one in (("done", done), ("control", control), ("reset", reset))
        )
        self.draw = reset or uniform_start(reset_noise)
        self.device = self.device_of(device)
        self.model, name = self.read_model(model)
        with self.warp.ScopedDevice(self.device):
            try:
                self.put = self.mjw.put_model(self.model)
            except NotImplementedError as error:
                raise NotImplementedError(
                    f"model: MuJoCo Warp cannot use {name}: {error}"
                ) from None
            if not hasattr(self.put.opt, "deterministic"):
                raise ImportError(
                    f"got mujoco-warp {self.mjw.__version__}, expected 4.0 or later: "
                    "pip install -U mujoco-warp",
                    name="mujoco_warp",
                )
            flags = self.mjw.DeterminismType
            self.put.opt.deterministic = flags.ALL if deterministic else flags.NONE
            self.put.opt.warn_overflow = 0  # Broadloom's error tells of it
            self.check_memory()
            self.data = self.mjw.make_data(self.model, nworld=self.num_envs, **self.sizes)
        # The CPU device runs worlds one after the other.
        repeats = deterministic or self.device.is_cpu
        self.metadata = {
            "autoreset_mode": "SameStep",
            "final_obs": True,
            "deterministic": repeats,
            "common_bits": False,  # Warp compiles for this processor
            "engine": self.engine_words(name, deterministic),
        }
        count = self.num_envs
        self.seeds = np.random.SeedSequence().generate_state(count, np.uint64)  # until a reset
        self.episodes, self.steps = (np.zeros(count, np.int64) for _ in range(2))
        self.begins = self.warp.zeros(count, dtype=bool, device=self.device)
        self.graphs, self.is_current = {}, True
        width = self.make_arrays()
        self.single_observation_space = spaces.Box(-np.inf, np.inf, (width,), np.float32)
        self.single_action_space = self.action_space()

    def make_arrays(self):
        """Returns the number of numbers of an observation."""
        self.worlds = Worlds(self)
        return self.rows(None).shape[1]

    def check_memory(self):
        """Refuses worlds that need more memory than the device has."""
        one, two = (
            bytes_of(self.mjw.make_data(self.model, nworld=count, **self.sizes), self.warp.array)
            for count in (1, 2)
        )
        device = self.device
        refuse_over(
            free_memory() if device.is_cpu else device.total_memory,
            self.num_envs * (two - one),
            self.num_envs,
            f"worlds of {(two - one) * 1e-3:.0f} KB (less with a smaller nconmax or njmax)",
        )

    def device_of(self, name):
        try:
            return self.warp.get_device(name)
        except Exception:
            known = ", ".join(device.alias for device in self.warp.get_devices())
            raise InvalidValue(
                f"device: got {name!r}, expected one of Warp's devices here: {known}"
            ) from None

    def read_model(self, model):
        """(the model, its name in records)."""
        if isinstance(model, self.mujoco.MjModel):
            return self.fitting(model), "a model"
        if not isinstance(model, (str, os.PathLike)):
            raise InvalidType(
                f"model: got {model!r}, expected a file of MJCF (.xml) or MJB (.mjb), a text of "
                "MJCF, or a mujoco.MjModel"
            )
        text = os.fspath(model)
        is_file = not text.lstrip().startswith("<")
        if is_file and not os.path.isfile(text):
            raise NotFound(
                f"model: got '{text}', which is no file; expected MJCF (.xml) or MJB (.mjb), or "
                "the text of MJCF"
            )
        kind = self.mujoco.MjModel
        read = kind.from_xml_string
        if is_file:
            read = kind.from_binary_path if text.endswith(".mjb") else kind.from_xml_path
        name = os.path.basename(text) if is_file else "a text"
        try:
            return self.fitting(read(text)), name
        except ValueError as error:
            raise InvalidValue(f"model: MuJoCo cannot use {name}: {error}") from None

    def fitting(self, model):
        if model.nu == 0:
            raise InvalidValue("got a model without actuators, expected one or more")
        if model.opt.enableflags & self.mujoco.mjtEnableBit.mjENBL_SLEEP:
            raise InvalidValue(
                "got sleep='enable', expected none: a checkpoint has no sleeping trees"
            )
        return model

    def engine_words(self, name, deterministic):
        """Versions, device, flags and model, as a run's record has them."""
        array = np.empty(self.mujoco.mj_sizeModel(self.model), np.uint8)
        self.mujoco.mj_saveModel(self.model, None, array)
        digest = hashlib.sha256(array.tobytes()).hexdigest()[:16]
        place = "cpu" if self.device.is_cpu else self.device.name
        sizes = "".join(
            f", {key} {value}" for key, value in self.sizes.items() if value is not None
        )
        return (
            f"MuJoCo Warp {self.mjw.__version__}, MuJoCo {self.mujoco.__version__}, "
            f"Warp {self.warp.__version__} on {place}, "
            f"{'' if deterministic else 'not '}deterministic{sizes}, {name} {digest}"
        )

    def action_space(self):
        from gymnasium import spaces

        count, model = self.model.nu, self.model
        if self.control is not None:
            return spaces.Box(-1.0, 1.0, (count,), np.float32)
        limited = model.actuator_ctrllimited.astype(bool)
        low, high = (
            np.where(limited, model.actuator_ctrlrange[:, i], bound).astype(np.float32)
            for i, bound in enumerate((-np.inf, np.inf))
        )
        return spaces.Box(low, high, (count,), np.float32)

    @in_turn
    def read(self, name):
        """A copy of an array of the worlds."""
        if name not in SHOWN and not self.is_current:
            self.is_current = True
            self.play("look", lambda: self.mjw.forward(self.put, self.data))
        array = getattr(self.data, name, None)
        if not self.is_of_worlds(array):
            known = [key for key, one in vars(self.data).items() if self.is_of_worlds(one)]
            near = difflib.get_close_matches(name, known, 1)
            guess = f"; did you mean {near[0]}?" if near else ""
            raise AttributeError(
                f"worlds.{name}: expected an array [N, ...] of mujoco_warp.Data{guess}"
            )
        return np.array(array.numpy())

    def is_of_worlds(self, array):
        return isinstance(array, self.warp.array) and array.shape[:1] == (self.num_envs,)

    def play(self, name, calls):
        """Plays calls of MuJoCo Warp as a graph, which the first one records."""
        with self.warp.ScopedDevice(self.device):
            if name not in self.graphs:
                with quiet(self.warp):
                    calls()  # compiles kernels, which cannot be recorded before
                return self.record(name, calls)
            self.warp.capture_launch(self.graphs[name])
        return None

    def record(self, name, calls):
        with self.warp.ScopedCapture(device=self.device) as capture:
            calls()
        self.graphs[name] = capture.graph

    def advance(self):
        for _ in range(self.frame_skip):
            self.mjw.step(self.put, self.data)

    def begin(self, mask):
        """Begins new episodes where the mask is true."""
        self.begins.assign(mask)
        self.play("begin", lambda: self.mjw.reset_data(self.put, self.data, reset=self.begins))
        self.episodes[mask] += 1
        self.steps[mask] = 0
        draws = Draws(self.seeds[mask], self.episodes[mask])
        count = np.count_nonzero(mask)
        zeros = np.zeros((count, self.model.nv))
        found = self.draw(draws, np.tile(self.model.qpos0, (count, 1)), zeros)
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise InvalidType(
                f"reset(): got a {type(found).__name__}, expected a pair (qpos, qvel) of the "
                "worlds that begin"
            )
        for name, rows in zip(("qpos", "qvel"), found, strict=True):
            array = np.array(getattr(self.data, name).numpy())
            array[mask] = shaped(rows, array[mask].shape, f"{name} of reset()")
            getattr(self.data, name).assign(array)
            getattr(self.worlds.last, name)[mask] = array[mask]
        self.is_current = False

    def rows(self, width):
        """The observations [N, K]. width: K; None: any."""
        rows = np.array(numpy_of(self.observe(self.worlds)), np.float32)
        if rows.ndim != 2 or len(rows) != self.num_envs or width not in (None, rows.shape[1]):
            expected = f"({self.num_envs}, {'K' if width is None else width})"
            raise InvalidValue(
                f"observe(): got an array of shape {rows.shape}, expected {expected}"
            )
        if rows.shape[1] == 0:
            raise InvalidValue(f"observe(): got no numbers, shape {rows.shape}, expected K >= 1")
        return rows

    @in_turn
    def reset(self, *, seed=None, options=None):
        if seed is not None:  # without one, the worlds' next episodes begin
            self.seeds[:] = self.seeds_of(seed)
            self.episodes[:] = 0
        if "step" not in self.graphs:
            self.play("step", self.advance)
        self.begin(np.ones(self.num_envs, bool))
        return self.rows(self.single_observation_space.shape[0]), {}

    def seeds_of(self, seed):
        """A seed for each world. World i of a single one takes seed + i, as in Gymnasium."""
        seeds = np.asarray(seed)
        fits = seeds.shape in ((), (self.num_envs,)) and seeds.dtype.kind in "iu"
        if not fits or seeds.min() < 0:
            raise InvalidValue(
                f"seed: got {seed!r}, expected an integer of 0 or more, or {self.num_envs} of them"
            )
        return seeds if seeds.ndim else seeds + np.arange(self.num_envs)

    @in_turn
    def step(self, actions):
        if "step" not in self.graphs:
            raise RuntimeError("step(): got no reset() before; call it first")
        actions = np.asarray(actions, np.float32)
        for name in ("qpos", "qvel"):
            setattr(self.worlds.last, name, self.read(name))
        controls = actions if self.control is None else self.control(self.worlds, actions)
        name = "actions" if self.control is None else "control()"
        self.data.ctrl.assign(shaped(controls, (self.num_envs, self.model.nu), name))
        self.play("step", self.advance)
        self.is_current = False
        self.steps += 1
        width = self.single_observation_space.shape[0]
        rows = self.rows(width)
        rewards = flat(self.reward(self.worlds, actions), np.float64, self.num_envs, "reward()")
        terminated = np.zeros(self.num_envs, bool)
        if self.done is not None:
            terminated = flat(self.done(self.worlds), np.bool_, self.num_envs, "done()")
        self.check_room(self.data.overflow.numpy())
        truncated = (self.steps >= self.max_episode_length) & ~terminated
        ended, infos = terminated | truncated, {}
        if ended.any():
            infos["final_obs"] = rows
            self.begin(ended)
            rows = np.where(ended[:, None], self.rows(width), rows)
        return rows, rewards, terminated, truncated, infos

    def check_room(self, flags):
        """Refuses worlds that lost contacts or constraints. MuJoCo Warp goes on without them.
        flags: of mujoco_warp.OverflowType, [N]."""
        for name, argument in TOO_FEW.items():
            lost = flags & int(self.mjw.OverflowType[name]) != 0
            if not lost.any():
                continue
            room = self.data.njmax
            if argument == "nconmax":  # shared by all worlds
                room = self.data.naconmax // self.num_envs
            way = f"{argument}: got {room}, expected more; give WarpEnvs {argument}={2 * room + 2}"
            raise RuntimeError(
                f"environment {np.flatnonzero(lost)[0]}: MuJoCo Warp has no room for its contacts "
                f"or constraints ({name}). {way if argument else 'Make its height field coarser'}"
            )

    def saves_state(self):
        """Whether state() can be all: Broadloom's probe then compares steps after restore(). Soft
        bodies keep more in MuJoCo Warp."""
        return self.model.nflex == 0

    def state_arrays(self):
        return [
            array
            for array in (getattr(self.data, name, None) for name in STATE)
            if array is not None and array.size
        ]

    def own_arrays(self):
        return [self.seeds, self.episodes, self.steps]

    def state_types(self):
        return [(str(array.dtype), list(array.shape)) for array in self.state()]

    @in_turn
    def state(self):
        return [np.array(array.numpy()) for array in self.state_arrays()] + self.own_arrays()

    @in_turn
    def restore(self, arrays):
        """arrays: the bytes of each array of state()."""
        values = [
            np.frombuffer(array, dtype).reshape(shape)
            for array, (dtype, shape) in zip(arrays, self.state_types(), strict=True)
        ]
        held, own = self.state_arrays(), self.own_arrays()
        for array, value in zip(held, values[: len(held)], strict=True):
            array.assign(value)
        for array, value in zip(own, values[len(held) :], strict=True):
            array[...] = value
        self.is_current = False

    def close(self):
        self.graphs = {}


def bytes_of(data, kind):
    """Bytes of the arrays of this kind in an object and the objects that it holds."""
    parts = vars(data).values()
    inner = [part for part in parts if hasattr(part, "__dict__") and not isinstance(part, kind)]
    own = sum(part.capacity for part in parts if isinstance(part, kind))
    return own + sum(bytes_of(part, kind) for part in inner)


def count_of(name, value):
    try:
        count = operator.index(value)
    except TypeError:
        count = 0
    if count < 1 or isinstance(value, bool):
        raise InvalidValue(f"{name}: got {value!r}, expected an integer of at least 1")
    return count


def function_of(name, value):
    if not callable(value):
        raise InvalidType(f"{name}: got {value!r}, expected a function")
    return value


def shaped(values, shape, name):
    array = np.asarray(numpy_of(values), np.float32)
    if array.shape != shape:
        raise InvalidValue(f"{name}: got an array of shape {array.shape}, expected {shape}")
    wrong = ~np.isfinite(array).all(axis=1)
    if wrong.any():  # MuJoCo Warp clamps controls that are no numbers
        row = np.flatnonzero(wrong)[0]
        raise InvalidValue(f"{name}: row {row} got {array[row]}, expected finite numbers")
    return array


def uniform_start(width):
    if not isinstance(width, numbers.Real) or not 0 <= width < np.inf:
        raise InvalidValue(f"reset_noise: got {width!r}, expected a finite number of 0 or more")

    def start(draws, qpos, qvel):
        return tuple(x + draws.uniform(-width, width, x.shape[1]) for x in (qpos, qvel))

    return start
