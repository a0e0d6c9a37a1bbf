"""Environments that step in the memory of a GPU, between kernels of a trainer with device = cuda.

The environments have Gymnasium's vector interface, which evaluations use, same-step autoreset and
one array of observations. Both ways of stepping must give the same bits. Besides:

dlpack_device: the device of their arrays in DLPack's numbers, such as (2, 0) for CUDA's first GPU.
observe_on_device(rows, stream): writes rows.observations. Called before each block.
step_on_device(rows, stream): steps with rows.actions, truncates episodes at the time limit that the
    environments declare, begins ended ones, and writes the other arrays.
bring_from_device(stream): waits for the stream, and returns (observations, infos) as reset() does.
take_to_device(stream), took_block(): optional; before the first block and after a restored state,
    and after each block, where they may raise an error.

stream: a cudaStream_t as an integer. Work goes there, and nobody needs to wait for it."""

import inspect
import operator
import types

from ._errors import InvalidType

DEVICE_CALLS = ("observe_on_device", "step_on_device", "bring_from_device")


class DeviceRows(types.SimpleNamespace):
    """Arrays of a step, in the device's memory, for from_dlpack() of Warp, PyTorch or CuPy. They
    keep their places during a training, so that a step can be recorded as a CUDA graph. They are
    gone when the environments are closed.

    actions: float32 [N, A], to read; a choice is its index.
    observations: float32 [N, D], or uint8 of images, with the numbers of the observation space in
        their order, like final_observations, which counts where an episode was truncated.
    rewards: float32 [N]; NaN when the step begins, so that a missing one is found.
    terminated, truncated, successes: uint8 [N]; 0 when the step begins.
    critic_observations, final_critic_observations, valid_actions: None, or arrays [N, K]."""


class OnDevice:
    """The calls of the extension to environments that step on a device."""

    def __init__(self, simulator, env, memory):
        self.simulator, self.env, self.memory = simulator, env, memory

    def view(self, arrays):
        return DeviceRows(**arrays)

    def call(self, name, *arguments):
        try:
            return getattr(self.env, name)(*arguments)
        except Exception as error:
            if hasattr(error, "add_note"):  # Python 3.11 and later
                error.add_note(f"In {name}() of {self.simulator.kind.id}.")
            raise

    def take(self, stream):
        if callable(getattr(self.env, "take_to_device", None)):
            self.call("take_to_device", stream)

    def bring(self, stream):
        found = self.call("bring_from_device", stream)
        self.simulator.show_begun(found, "bring_from_device()")

    def observe(self, rows, stream):
        self.call("observe_on_device", rows, stream)

    def step(self, rows, stream):
        self.call("step_on_device", rows, stream)

    def took_block(self):
        if callable(getattr(self.env, "took_block", None)):
            self.call("took_block")


def on_device(simulator, env):
    """An OnDevice, or None if the host must step these environments."""
    kind = simulator.kind
    # Not what a wrapper's __getattr__ finds: no step may bypass the wrapper.
    if inspect.getattr_static(env, "dlpack_device", None) is None or env.dlpack_device is None:
        return None
    memory = checked_memory(env.dlpack_device, kind.id)
    missing = [name for name in DEVICE_CALLS if not callable(getattr(env, name, None))]
    if missing:
        raise InvalidType(
            f"{kind.id} has dlpack_device, but no function {missing[0]}(), which then is needed"
        )
    is_whole = simulator.made == simulator.num_envs and kind.mode == "SameStep"
    is_one = is_whole and steps_alike(env) and has_plain_spaces(kind)
    return OnDevice(simulator, env, memory) if is_one else None


def checked_memory(found, env_id):
    try:
        kind, number = map(operator.index, found)
    except (TypeError, ValueError):
        kind = number = -1
    if not 0 <= min(kind, number) <= max(kind, number) < 1 << 31:
        raise InvalidType(
            f"dlpack_device of {env_id}: got {found!r}, expected DLPack's numbers of a kind of "
            "device and a device, such as (2, 0) for CUDA's first"
        )
    return kind, number


def steps_alike(env):
    """Whether no derived class changes step() alone."""
    first = [
        next((i for i, part in enumerate(type(env).__mro__) if name in vars(part)), -1)
        for name in ("step", "step_on_device")
    ]
    return first[0] >= first[1]


def has_plain_spaces(kind):
    """Whether the trainer's arrays have the form of the environments' own."""
    seen = kind.spec["observation"]
    return (
        kind.paths is None
        and seen["kind"] == "box"
        and not seen.get("channels_first")
        and kind.structure is None
        and not kind.first_action
        and kind.mask_source != "observations"
    )
