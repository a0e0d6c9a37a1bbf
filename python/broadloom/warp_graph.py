"""MuJoCo Warp's worlds as environments whose whole step is one graph of Warp.

Your functions launch kernels of Warp on arrays in the device's memory. With device = cuda a trainer
then replays the graph between kernels of its own, and no number passes through the host."""

import types

import numpy as np

from ._errors import InvalidValue
from .warp import WarpEnvs, count_of, function_of, in_turn, quiet, shaped

MARGIN = 16  # rows behind the observations that show kernels that write too much


class Starts(types.SimpleNamespace):
    """Worlds that begin an episode, for reset(). Arrays of Warp, [N].

    begins: bool. seeds: uint64 and episodes: int64, for broadloom.warp_kernels.uniform()."""


class GraphEnvs(WarpEnvs):
    """N worlds with Gymnasium's vector interface and same-step autoreset.

    observe(data, rows): writes rows, float32 [N, observation_size]. data: mujoco_warp.Data.
    reward(data, last, actions, rewards): writes rewards, float32 [N]. last: qpos and qvel before
        the step, and of a new episode the first ones. actions: float32 [N, nu].
    done(data, flags): sets flags, uint8 [N], of episodes that end. They are 0 before.
    reset(data, starts): sets data.qpos and data.qvel where starts.begins is true. They hold the
        model's qpos0 and 0 there; see Starts.
    control(data, actions, ctrl): writes the controls [N, nu] of actions in [-1, 1].
    forward: computes numbers that follow from qpos and qvel, such as xpos and sensors, anew before
        observe(), reward() and done(), and for new episodes. Without it these are old ones, and
        with functions that read them a resume is not exact.

    Functions launch kernels or copy arrays, and do the same in each call. They must not read or
    write arrays on the host, nor allocate some: make those before. They are called for the first
    step, while the graph is recorded, and when a trainer looks at the worlds. A step lasts
    model.opt.timestep * frame_skip seconds. Other arguments are those of
    broadloom.warp.WarpEnvs."""

    def __init__(self, model, num_envs, *, observation_size, reset=None, forward=True, **others):
        self.width = count_of("observation_size", observation_size)
        self.forward, self.own_reset = forward, None
        if reset is not None:
            self.own_reset = function_of("reset", reset)
        self.noise = others.get("reset_noise", 0.0)
        super().__init__(model, num_envs, **others)

    def make_arrays(self):
        with quiet(self.warp):
            from . import warp_kernels

        self.kernels, count, zeros = warp_kernels, self.num_envs, self.zeros
        self.seeds = self.warp.array(self.seeds, dtype=self.warp.uint64, device=self.device)
        self.episodes, self.steps = (zeros(count, self.warp.int64) for _ in range(2))
        self.lost = zeros(count, self.warp.int32)
        self.starts = Starts(begins=self.begins, seeds=self.seeds, episodes=self.episodes)
        self.last = types.SimpleNamespace(
            qpos=self.warp.clone(self.data.qpos), qvel=self.warp.clone(self.data.qvel)
        )
        numbers, flags = self.warp.float32, self.warp.uint8
        self.marked = zeros((count + MARGIN, self.width), numbers)
        self.own_rows = types.SimpleNamespace(
            actions=zeros((count, self.model.nu), numbers),
            observations=self.marked[:count],
            final_observations=zeros((count, self.width), numbers),
            rewards=zeros(count, numbers),
            terminated=zeros(count, flags),
            truncated=zeros(count, flags),
        )
        self.stream = self.trainer_rows = None  # (the trainer's object, its arrays as Warp's)
        return self.width

    @property
    def dlpack_device(self):
        return (1, 0) if self.device.is_cpu else (2, self.device.ordinal)

    def zeros(self, shape, dtype):
        return self.warp.zeros(shape, dtype=dtype, device=self.device)

    def launch(self, kernel, inputs, outputs):
        self.warp.launch(kernel, dim=self.num_envs, inputs=inputs, outputs=outputs)

    def transition(self, rows):
        """Launches a step of all worlds."""
        data, last, kernels = self.data, self.last, self.kernels
        self.keep_last()
        if self.control is None:
            self.warp.copy(data.ctrl, rows.actions)
        else:
            self.call("control", data, rows.actions, data.ctrl)
        self.advance()
        if self.forward:
            self.mjw.forward(self.put, data)
        self.call("observe", data, rows.observations)
        self.call("reward", data, last, rows.actions, rows.rewards)
        if self.done is not None:
            self.call("done", data, rows.terminated)
        self.warp.copy(rows.final_observations, rows.observations)
        self.launch(
            kernels.end_step,
            [self.warp.int64(self.max_episode_length), data.overflow, rows.terminated],
            [rows.truncated, self.steps, self.begins, self.lost],
        )
        self.begin_marked(rows)

    def begin_marked(self, rows):
        """Launches the beginning of episodes where `begins` is true, and shows all worlds."""
        data, starts = self.data, self.starts
        self.mjw.reset_data(self.put, data, reset=self.begins)
        self.launch(self.kernels.count_episode, [self.begins], [self.episodes, self.steps])
        if self.own_reset is not None:
            self.call("own_reset", data, starts)
        else:
            self.launch(
                self.kernels.begin_near,
                [float(self.noise), self.begins, self.seeds, self.episodes],
                [data.qpos, data.qvel],
            )
        if self.forward:
            self.mjw.forward(self.put, data)
        self.call("observe", data, rows.observations)

    def call(self, name, *arrays):
        """Calls one of the user's functions."""
        try:
            getattr(self, name)(*arrays)
        except Exception as error:
            if hasattr(error, "add_note"):  # Python 3.11 and later
                error.add_note(f"In {name.removeprefix('own_')}(), a function of GraphEnvs.")
            raise

    def keep_last(self):
        for name in ("qpos", "qvel"):
            self.warp.copy(getattr(self.last, name), getattr(self.data, name))

    @in_turn
    def reset(self, *, seed=None, options=None):
        rows = self.own_rows
        if "step" not in self.graphs:
            self.record_step(rows)
        if seed is not None:  # without one, the worlds' next episodes begin
            self.seeds.assign(self.seeds_of(seed).astype(np.uint64))
            self.episodes.zero_()
        self.lost.zero_()
        self.begins.fill_(True)
        self.play("begin", lambda: self.begin_marked(rows))
        return self.array_of(rows.observations), {}

    def record_step(self, rows):
        """Records the graph of a step. Then two steps by the graph must be those by calls."""
        start = [array.tobytes() for array in self.state()]
        space = self.single_action_space
        pushed = np.where(np.isfinite(space.high), 0.75 * space.high + 0.25 * space.low, 0.5)
        rows.actions.assign(np.tile(pushed.astype(np.float32), (self.num_envs, 1)))

        def twice(step):
            self.restore(start)
            with self.warp.ScopedDevice(self.device), quiet(self.warp):
                for _ in range(2):
                    self.mark(rows)
                    step()
            return self.shown(rows)

        called = twice(lambda: self.transition(rows))
        self.check_written(called)
        self.restore(start)  # what calls read on the host now, a graph would keep
        with self.warp.ScopedDevice(self.device):
            self.record("step", lambda: self.transition(rows))
        played = twice(lambda: self.play("step", None))
        for name, array in called.items() if self.metadata["deterministic"] else ():
            if array.tobytes() != played[name].tobytes():
                raise InvalidValue(
                    f"{name} of the recorded step differ from those of the calls that it has "
                    "recorded; functions must launch kernels, and not read or write arrays on the "
                    "host or change from call to call"
                )
        self.restore(start)

    def mark(self, rows):
        """Shows which numbers a step leaves out, as the trainer's arrays do."""
        self.marked.fill_(np.nan)
        rows.rewards.fill_(np.nan)
        rows.terminated.zero_()
        rows.truncated.zero_()

    def shown(self, rows):
        names = ("observations", "rewards", "terminated", "final_observations")
        return {name: self.array_of(getattr(rows, name)) for name in names}

    def check_written(self, shown):
        rows, margin = shown["observations"], self.marked.numpy()[self.num_envs :]
        if not np.isnan(margin).all():
            raise InvalidValue(
                f"observe(): wrote beyond rows of observation_size = {self.width} numbers"
            )
        if np.isnan(rows).any():
            world, number = np.argwhere(np.isnan(rows))[0]
            raise InvalidValue(
                f"observe(): left out number {number} of world {world}, or wrote NaN; expected "
                f"{self.num_envs} rows of observation_size = {self.width} numbers"
            )

    def array_of(self, array):
        """A copy on the host, after all work on the device."""
        return np.array(array.numpy())

    @in_turn
    def step(self, actions):
        if "step" not in self.graphs:
            raise RuntimeError("step(): got no reset() before; call it first")
        rows = self.own_rows
        rows.actions.assign(shaped(actions, rows.actions.shape, "actions"))
        self.mark(rows)
        self.play("step", None)
        self.check_room(self.lost.numpy())
        terminated, truncated = (
            self.array_of(flags).astype(bool) for flags in (rows.terminated, rows.truncated)
        )
        infos = {}
        if (terminated | truncated).any():
            infos["final_obs"] = self.array_of(rows.final_observations)
        rewards = self.array_of(rows.rewards)
        return self.array_of(rows.observations), rewards, terminated, truncated, infos

    @in_turn
    def take_to_device(self, stream):
        self.lost.zero_()
        self.warp.synchronize_device(self.device)  # this work is not on the trainer's stream

    def trainer_arrays(self, rows):
        """The trainer's arrays as Warp's."""
        if self.trainer_rows is None or self.trainer_rows[0] is not rows:
            arrays = {
                name: self.warp.from_dlpack(getattr(rows, name)) for name in vars(self.own_rows)
            }
            self.trainer_rows = rows, types.SimpleNamespace(**arrays)
            self.graphs.pop("trainer", None)
        return self.trainer_rows[1]

    @in_turn
    def observe_on_device(self, rows, stream):
        arrays = self.trainer_arrays(rows)
        on_device = self.warp.ScopedDevice(self.device)
        with on_device, self.warp.ScopedStream(self.stream_of(stream)):
            self.call("observe", self.data, arrays.observations)

    @in_turn
    def step_on_device(self, rows, stream):
        arrays = self.trainer_arrays(rows)
        with self.warp.ScopedDevice(self.device):
            if "trainer" not in self.graphs:  # reset() has compiled all kernels
                self.record("trainer", lambda: self.transition(arrays))
            self.warp.capture_launch(self.graphs["trainer"], self.stream_of(stream))

    @in_turn
    def bring_from_device(self, stream):
        self.warp.synchronize_device(self.device)
        with self.warp.ScopedDevice(self.device):
            self.call("observe", self.data, self.own_rows.observations)
        return self.array_of(self.own_rows.observations), {}

    @in_turn
    def took_block(self):
        self.check_room(self.lost.numpy())

    def stream_of(self, stream):
        """The trainer's stream as Warp's. The CPU device has none."""
        if self.device.is_cpu:
            return None
        if self.stream is None or self.stream.cuda_stream != stream:
            self.stream = self.warp.Stream(self.device, cuda_stream=stream)
        return self.stream

    def state_arrays(self):
        return [*super().state_arrays(), self.seeds, self.episodes, self.steps]

    def own_arrays(self):
        return []

    @in_turn
    def restore(self, arrays):
        super().restore(arrays)
        if self.forward:
            with self.warp.ScopedDevice(self.device):
                self.mjw.forward(self.put, self.data)
