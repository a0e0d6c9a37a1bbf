"""A run's policy, for NumPy arrays."""

from __future__ import annotations

import json
import linecache
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _masks, _nested, spaces
from ._arrays import numpy_of
from ._errors import InvalidType, InvalidValue

if TYPE_CHECKING:
    import torch  # type: ignore[import-not-found,unused-ignore]
    from gymnasium import Space
    from numpy.typing import ArrayLike

    from ._types import Observations, StrPath


class Policy:
    """The policy of a run (its newest checkpoint) or of a checkpoint file, with its normaliser.

    It needs no environment, and may be pickled, copied and called from several threads. Computes
    in float32. observations: [n, ...] as the environment gives them, or a single one: arrays,
    data frames, or PyTorch's tensors. Images and choices may have any integer dtype, others any
    number that the space can hold. Images have their channels first, if the environment's have, or
    last. A dict or tuple, also within another one, needs only the keys or groups that the policy
    reads; in place of a dict of one such key, its array will do. Discrete observations and actions
    count from the space's start.

    A recurrent policy (`state_size` > 0) also takes and returns the `state` of its cells, an array
    [n, state_size]; None is the state before an episode's first step. Begin a new episode of row i
    with state[i] = 0."""

    def __init__(self, run: StrPath) -> None:
        self._hold(_core.Policy(os.fspath(run)))

    @classmethod
    def around(cls, core: Any) -> Policy:
        """A policy of the extension, as an object of this class."""
        policy = cls.__new__(cls)
        policy._hold(core)
        return policy

    def __reduce__(self) -> Any:  # other processes need neither the file nor the environment
        return _restored, self._core.state()

    def _hold(self, core):
        self._core = core
        self.spec, self.origin = self._core.spec, self._core.origin
        self._space, self._action = self.spec["observation"], self.spec["action"]
        self._given = json.loads(self._space.get("given", "{}"))

    def __repr__(self) -> str:
        where = self.origin["run_dir"] or self.spec["id"]
        return f"<Policy of {where} at step {self.origin['global_step']:,}>"

    @property
    def observation_space(self) -> Space[Any]:
        return spaces.to_gymnasium(self._space)

    @property
    def action_space(self) -> Space[Any]:
        own = {
            bound: self._action[f"own_{bound}"]
            for bound in ("low", "high")
            if f"own_{bound}" in self._action
        }
        return spaces.to_gymnasium({**self._action, **own})

    @property
    def state_size(self) -> int:
        """Numbers of a recurrent policy's state; 0 without memory."""
        return self._core.state_size

    def outputs(
        self, observations: Observations, *, state: ArrayLike | None = None
    ) -> tuple[Any, ...]:
        """(outputs, values): logits, means or action values [n, A], and the critic's values [n].
        With action_distribution = beta or std_form = state_dependent or sde, a Box has two outputs
        per number: [n, 2 A]. Logits come before outputs of a Box. Values are None if the critic
        reads observations of its own, or groups that are not there. A recurrent
        policy returns (outputs, values, state)."""
        rows, one = self._rows(observations)
        outputs, values, state = self._core.forward(rows, len(rows), self._states(state, len(rows)))
        values = None if values is None or self._lacks_values(observations) else values[:, 0]
        found = (outputs, values, state) if self.state_size else (outputs, values)
        return tuple(None if x is None else x[0] for x in found) if one else found

    def act(
        self,
        observations: Observations,
        *,
        rng: np.random.Generator | int | None = None,
        action_masks: ArrayLike | None = None,
        state: ArrayLike | None = None,
    ) -> Any:
        """The most likely actions; with a NumPy Generator `rng`, actions drawn from the policy; a
        seed in its place draws alike in each call. Box
        actions lie within their bounds. A squashed policy plays tanh(mean) without rng, a Beta its
        mean. action_masks: [n, M] booleans, or [M], of the valid choices; needed for an environment
        with action masks, unless observations has the key action_mask. A recurrent policy returns
        (actions, state)."""
        rng = None if rng is None else _generator(rng)
        if rng is not None and self._core.has_action_values:
            raise _core.Error(
                "rng: got a generator, but this policy has action values and no probabilities; "
                "leave "
                "rng out for the best action, or explore with evaluate(actions='sampled')"
            )
        if action_masks is None and spaces.is_dict(observations):
            action_masks = dict(observations.items()).get(_masks.KEY)
        rows, one = self._rows(observations)
        outputs, _, state = self._core.forward(rows, len(rows), self._states(state, len(rows)))
        structure = _nested.structure_of(self._action)
        if structure is not None:
            rows = self._rows_of_actions(outputs, action_masks, rng)
            actions = _nested.nested(structure, rows)
            actions = _nested.one_of(actions) if one else actions
        else:
            is_box = self._action["kind"] == "box"
            actions = (
                self._numbers(outputs, rng).reshape(-1, *self._action["shape"])
                if is_box
                else self._choices(self._scores(outputs, action_masks, rng))
            )
            actions = actions[0] if one else actions
        return (actions, state[0] if one else state) if self.state_size else actions

    def _rows_of_actions(self, outputs, masks, rng):
        """Choices, then numbers: [n, A]."""
        logits = sum(self._action.get("choices", []))
        parts = []
        if logits:
            parts.append(self._choices(self._scores(outputs[:, :logits], masks, rng)))
        if "low" in self._action:
            parts.append(self._numbers(outputs[:, logits:], rng))
        return np.concatenate([part.reshape(len(outputs), -1) for part in parts], axis=1)

    def _scores(self, outputs, masks, rng):
        # The largest of logits plus Gumbel noise is a draw from their distribution.
        scores = outputs if rng is None else outputs + rng.gumbel(size=outputs.shape)
        return self._masked(scores, masks)

    def _numbers(self, outputs, rng):
        """The numbers of a Box, float32 [n, A]."""
        low, high = (np.asarray(self._action[bound], np.float32) for bound in ("low", "high"))
        actions = self._box_actions(outputs, low, high, rng)
        if "own_low" in self._action:  # scaled from [-1, 1], in float32 as in training
            own_low, own_high = (
                np.asarray(self._action[f"own_{bound}"], np.float32) for bound in ("low", "high")
            )
            actions = _scaled(actions, own_low, own_high)
        return actions.astype(np.float32)

    def _box_actions(self, outputs, low, high, rng):
        """Actions within low and high: the best ones without rng, else draws."""
        distribution, least, most = self._core.distribution
        first, second = outputs[:, : len(low)], outputs[:, len(low) :]
        if distribution == "beta":
            alpha, beta = (1.0 + np.logaddexp(0.0, x.astype(np.float64)) for x in (first, second))
            share = alpha / (alpha + beta) if rng is None else rng.beta(alpha, beta)
            return _scaled(2.0 * share - 1.0, low, high)
        if rng is not None:
            log_std = self._core.log_std
            log_std = np.clip(second, least, most) if log_std is None else log_std
            first = first + np.exp(log_std) * rng.standard_normal(first.shape, np.float32)
        if distribution == "gaussian":
            return np.clip(first, low, high)
        return _scaled(np.tanh(first), low, high)

    def _masked(self, scores, masks):
        """Scores with -infinity for invalid choices."""
        if masks is None and not self._action.get("masked"):
            return scores
        array = np.asarray(masks)
        array = array.reshape(1, -1) if array.ndim == 1 else array
        if array.shape != scores.shape or array.dtype.kind not in "biu":
            got = "none" if masks is None else f"{array.dtype} of shape {np.shape(masks)}"
            raise InvalidValue(
                f"action_masks: got {got}, expected booleans of shape {scores.shape}, the valid "
                "choices in these states; env.action_masks() or infos['action_mask'] has them"
            )
        masked = np.where(array != 0, scores, -np.inf)
        ends = np.cumsum(self._action.get("choices", [scores.shape[1]]))[:-1]
        parts = np.split(masked, ends, axis=1)
        blocked = np.any([np.isneginf(part).all(axis=1) for part in parts], axis=0)
        if blocked.any():
            raise InvalidValue(
                f"action_masks: got no valid choice in row {int(np.flatnonzero(blocked)[0])}, "
                "expected at least one for each number of an action"
            )
        return masked

    def _choices(self, scores):
        """The index of the largest score, of each number of an action."""
        if self._action["kind"] == "discrete":
            return np.argmax(scores, axis=1) + self._action["start"]
        ends = np.cumsum(self._action["choices"])[:-1]
        chosen = [np.argmax(part, axis=1) for part in np.split(scores, ends, axis=1)]
        chosen = np.stack(chosen, axis=1)
        return chosen if "low" in self._action else chosen.reshape(-1, *self._action["shape"])

    def value(self, observations: Observations, *, state: ArrayLike | None = None) -> Any:
        """The critic's values of these states, [n]."""
        values = self.outputs(observations, state=state)[1]
        if values is None:
            raise _core.Error(
                "this policy's critic reads observations of its own, or a group, which value() "
                "does not get"
            )
        return values

    def to_torch(self, *, value: bool = True) -> torch.nn.Module:
        """A torch.nn.Module with named layers, these parameters and the normaliser.

        `module(observation)` takes a tensor [n, ...] as the environment gives it, of any dtype,
        or a dict of tensors if the policy reads keys of a Dict. Groups are a dict by their names,
        as in `observation_space`, also of a Tuple or a Dict within another. It returns a dict
        with gradients: action; logits, action_values, or mean and log_std; and value, unless
        value=False. A recurrent one also takes `state`, None for zeros, and returns
        next_state. The module does not import Broadloom; its source and state dict are those of
        `broadloom.export(run, "policy.py")`. Needs torch."""
        try:
            import torch
        except ImportError as error:
            raise ImportError(
                "to_torch() needs PyTorch: pip install torch. broadloom.export() to 'policy.npz' "
                "or "
                "'policy.onnx' works without it"
            ) from error
        source, arrays = self._core.torch_module(value)
        made = _define(source, f"<policy of {self.origin['hash']}>")()
        made.load_state_dict(
            {
                name: torch.from_numpy(numbers).reshape(shape)
                for name, (numbers, shape) in arrays.items()
            }
        )
        return made.eval()

    def _states(self, state, count):
        """The given states as an array [count, state_size]."""
        shape = (count, self.state_size)
        if state is None:
            return np.zeros(shape, np.float32)
        if not self.state_size:
            raise _core.Error("state: got one, but this policy has no memory; leave it out")
        array = np.ascontiguousarray(state, np.float32)
        if array.shape not in (shape, shape[1:] if count == 1 else shape):
            raise InvalidValue(f"state: got an array of shape {array.shape}, expected {shape}")
        if not np.isfinite(array).all():
            raise InvalidValue("state: got a number that is not finite, expected that of outputs()")
        return array.reshape(shape)

    def _range(self):
        """The smallest and largest integer observation."""
        if self._space["kind"] != "discrete":
            return 0, max(self._space["high"])
        return self._space["start"], self._space["start"] + self._space["n"] - 1

    def _lacks_values(self, observations):
        """Whether a group that the critic reads is not there."""
        if not self._space.get("groups"):
            return False
        return not set(self._core.groups_of("critic")) <= set(spaces.arrays_of(observations))

    def _group_rows(self, observations):
        """(rows of a space with groups, whether it was one observation)."""
        if not spaces.is_dict(observations) and not isinstance(observations, tuple):
            raise InvalidType(
                f"observations: got a {type(observations).__name__}, expected a dict or tuple of "
                f"arrays, as of the space {self.observation_space}"
            )
        arrays, read = spaces.arrays_of(observations), self._core.groups_of("policy")
        missing = [name for name in read if name not in arrays]
        if missing:
            raise InvalidValue(
                f"observations: got the groups {', '.join(map(repr, arrays))}, expected the group "
                f"'{missing[0]}', which the policy reads"
            )
        scalar = self._given.get("scalar", ())
        shapes = {
            group["name"]: ()
            if group["dtype"] == "int64" or group["name"] in scalar
            else tuple(group["shape"])
            for group in self._space["groups"]
        }
        known = {name: numpy_of(arrays[name]) for name in shapes if name in arrays}
        for name in self._given.get("channels_first", ()):
            known[name] = _channels_last(known[name], shapes[name]) if name in known else None
        known = {name: array for name, array in known.items() if array is not None}
        for name in {*scalar} & {*known}:  # [n, 1] are n numbers
            rows = known[name]
            known[name] = rows[:, 0] if rows.ndim == 2 and rows.shape[1] == 1 else rows
        # (1,) may be a scalar or a row of one, so another group tells where there is one.
        teller = next((name for name in read if name not in scalar), read[0])
        first, shape = known[teller], shapes[teller]
        one = first.ndim == 0 or first.shape == shape
        if not one and first.shape[1:] != shape and (first.ndim, shape) != (1, (1,)):
            expected = f"{('n', *shape)} or {shape}".replace("'n'", "n")
            raise InvalidValue(
                f"observations: group '{teller}': got an array of shape {first.shape}, expected "
                f"{expected}"
            )
        known = {name: array[None] if one else array for name, array in known.items()}
        rows = spaces.rows_of_groups(known, self._space, len(known[read[0]]), absent=shapes)
        if not np.isfinite(rows).all():
            place = int(np.flatnonzero(~np.isfinite(rows).all(axis=0))[0])
            ends = np.cumsum([np.prod(group["shape"]) for group in self._space["groups"]])
            group = self._space["groups"][int(np.searchsorted(ends, place, side="right"))]
            raise InvalidValue(
                f"observations: group '{group['name']}' has a number that is not finite, expected "
                "finite numbers"
            )
        return rows, one

    def _of_keys(self, observations):
        """The array of the keys of a dict that the policy reads."""
        keys = self._given.get("keys")
        if keys is None:  # a policy that an older version saved, or a space that is no Dict
            known = [key for key in observations if key != _masks.KEY]
            keys = [key for key in ("policy", "actor", "state", *known) if key in known][:1]
            is_clear = len(known) == 1 or {"policy", "actor", "state"} & {*known}
            keys = keys if is_clear else ()
        missing = [key for key in keys if key not in observations]
        if missing or not keys:
            names = ", ".join(map(repr, observations)) or "none"
            expected = f"the key {missing[0]!r}" if missing else "an array"
            raise InvalidValue(
                f"observations: got a dict with the keys {names}, expected {expected}, which the "
                "policy reads"
            )
        parts = [numpy_of(observations[key]) for key in keys]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)

    def _rows(self, observations):
        if self._space.get("groups"):
            return self._group_rows(observations)
        if spaces.is_dict(observations):
            observations = self._of_keys(dict(observations.items()))
        discrete = self._space["kind"] == "discrete"
        dtype = np.dtype(np.int64 if discrete else self._space["dtype"])
        array = numpy_of(observations)
        whole = discrete or dtype == np.uint8
        if array.dtype.kind not in ("iu" if whole else "iufb"):
            raise InvalidType(f"observations: got {array.dtype}, expected {dtype}")
        if whole and array.size:
            least, most = self._range()
            if array.min() < least or array.max() > most:
                raise InvalidValue(
                    f"observations: got numbers from {array.min()} to {array.max()}, expected "
                    "numbers "
                    f"of the space {self.observation_space}"
                )
        if not whole:
            with np.errstate(over="ignore"):
                array = array.astype(dtype)
            if not np.isfinite(array).all():
                raise InvalidValue(
                    f"observations: got {array[~np.isfinite(array)].flat[0]}, expected finite "
                    f"numbers of {dtype}"
                )
        shape = () if discrete else tuple(self._space["shape"])
        if self._given.get("channels_first"):
            array = _channels_last(array, shape)
        if self._given.get("scalar") and array.ndim < 2:
            array = array[..., None]
        one = array.shape == shape
        array = np.ascontiguousarray(array[None] if one else array, dtype)
        if discrete:
            array = array - self._space["start"]
        if array.shape[1:] != shape:
            expected = f"{('n', *shape)} or {shape}".replace("'n'", "n")
            got = np.shape(observations)
            raise InvalidValue(
                f"observations: got an array of shape {got}, expected {expected}"
                + self._stack_in_words()
            )
        return array, one

    def _stack_in_words(self):
        """The stack that the policy wants in place of one observation; "" if it wants none."""
        keys = dict(self._core.state()[0])
        frames = int(keys.get("env.frame_stack", 1))
        if frames < 2:
            return ""
        return (
            f", the last {frames} observations joined along the last axis, the newest last, "
            f"because env.frame_stack is {frames}"
        )


def _scaled(actions, low, high):
    """Numbers of [-1, 1], scaled to the bounds in float32 as in training."""
    half = np.float32(0.5) * high - np.float32(0.5) * low
    middle = np.float32(0.5) * high + np.float32(0.5) * low
    return np.clip(actions.astype(np.float32) * half + middle, low, high)


def _channels_last(array, shape):
    """Images [..., H, W, C] of those with channels first; others as they are. shape: [H, W, C]."""
    first = (shape[-1], *shape[:-1])
    return np.moveaxis(array, -3, -1) if array.shape[-3:] == first else array


def _restored(keys, described, tensors, origin):
    policy = Policy.around(_core.Policy.from_state(keys, described, tensors))
    policy.origin = origin
    return policy


def _generator(rng):
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InvalidType(f"rng: got {rng!r}, expected a NumPy Generator or a seed") from None


def _define(source, name):
    """The class of an exported module. Tracebacks and inspect.getsource() find its source."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace = {"__name__": "broadloom_policy", "__file__": name}
    exec(compile(source, name, "exec"), namespace)
    return namespace["Policy"]
