"""Environments that step in the memory of a GPU, between kernels of a trainer with device = cuda.

The environments have Gymnasium's vector interface, which evaluations use, and besides:

dlpack_device: the device of their arrays in DLPack's numbers, such as (2, 0) for CUDA's first GPU.
observe_on_device(rows, stream): writes rows.observations. Called before each block.
step_on_device(rows, stream): steps with rows.actions, begins ended episodes, and writes the rest.
bring_from_device(stream): waits for the stream, and returns (observations, infos) as reset() does.
take_to_device(stream), took_block(): optional; before the first block and after a restored state,
    and after each block, where they may raise an error.

stream: a cudaStream_t as an integer. Work goes there, and nobody needs to wait for it."""

import types

from ._errors import InvalidType

DEVICE_CALLS = ("observe_on_device", "step_on_device", "bring_from_device")


class DeviceRows(types.SimpleNamespace):
    """Arrays of a step, in the device's memory, for from_dlpack() of Warp, PyTorch or CuPy. They
    keep their places during a training, so that a step can be recorded as a CUDA graph.

    actions: float32 [N, A], to read; a choice is its index.
    observations: [N, D], with the numbers of the observation space in their order, like
        final_observations, which counts where an episode was truncated.
    rewards: float32 [N]; NaN when the step begins, so that a missing one is found.
    terminated, truncated, successes: uint8 [N]; 0 when the step begins.
    critic_observations, final_critic_observations, valid_actions: None, or arrays [N, K]."""


class OnDevice:
    """The calls of the extension to environments that step on a device."""

    def __init__(self, simulator, env):
        self.simulator, self.env = simulator, env
        self.memory = env.dlpack_device

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
        if hasattr(self.env, "take_to_device"):
            self.call("take_to_device", stream)

    def bring(self, stream):
        self.simulator.show_begun(self.call("bring_from_device", stream))

    def observe(self, rows, stream):
        self.call("observe_on_device", rows, stream)

    def step(self, rows, stream):
        self.call("step_on_device", rows, stream)

    def took_block(self):
        if hasattr(self.env, "took_block"):
            self.call("took_block")


def on_device(simulator, env):
    """An OnDevice, or None if the host must step these environments."""
    kind, memory = simulator.kind, getattr(env, "dlpack_device", None)
    if memory is None:
        return None
    is_pair = isinstance(memory, tuple) and len(memory) == 2
    if not is_pair or not all(isinstance(number, int) for number in memory):
        raise InvalidType(
            f"dlpack_device of {kind.id}: got {memory!r}, expected DLPack's numbers of a kind of "
            "device and a device, such as (2, 0) for CUDA's first"
        )
    missing = [name for name in DEVICE_CALLS if not callable(getattr(env, name, None))]
    if missing:
        raise InvalidType(
            f"{kind.id} has dlpack_device, but no function {missing[0]}(), which then is needed"
        )
    is_whole = simulator.made == simulator.num_envs and kind.mode == "SameStep"
    return OnDevice(simulator, env) if is_whole and has_plain_spaces(kind) else None


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
