"""Finds and reads the action masks of Python environments.

Environments give them by a method action_masks(), as for sb3-contrib, by infos["action_mask"], as
Gymnasium's own do, or by a key "action_mask" of Dict observations, as PettingZoo's do."""

import numpy as np

from ._arrays import numpy_of
from ._errors import InvalidValue

KEY = "action_mask"


def find_source(env, reset):
    """Returns "method", "call", "infos" or None. reset: function that resets the environments and
    returns infos."""
    if callable(getattr(env, "action_masks", None)):
        return "method"
    if each_has_method(env):
        return "call"
    return "infos" if isinstance(infos := reset(), dict) and KEY in infos else None


def each_has_method(env):
    """Whether each single environment of Gymnasium's vector environments has action_masks()."""
    try:
        return all(env.call("has_wrapper_attr", "action_masks"))
    except Exception:  # no call(), or environments from before Gymnasium 1.0
        return False


def read_masks(kind, env, rows, infos, idle=None):
    """uint8 [N, M], 1 for valid choices; None if the kind has no masks. idle: bool [N],
    environments whose next action is ignored, so that they need no mask."""
    source, count = kind.mask_source, env.num_envs
    idle = np.zeros(count, np.bool_) if idle is None else idle
    has_key = isinstance(infos, dict) and KEY in infos
    if source is None:
        if has_key and kind.mask_size:
            raise InvalidValue(
                f"{kind.id}: infos of step() have '{KEY}', but those of reset() had none; give it "
                "in both, or in neither"
            )
        return None
    if source == "infos" and not has_key and not idle.all():
        raise InvalidValue(
            f"{kind.id}: infos of reset() had '{KEY}', but those of this step have none; give it "
            "in both, or in neither"
        )
    given = (
        env.action_masks()
        if source == "method"
        else env.call("action_masks")
        if source == "call"
        else infos.get(KEY, ())
        if source == "infos"
        else rows[KEY]
    )
    there = infos.get(f"_{KEY}") if source == "infos" else None
    masks = one_array(given, count, kind.mask_size) if there is None or np.all(there) else None
    if masks is None:
        masks = np.stack(
            [
                np.ones(kind.mask_size, np.uint8)
                if idle[i]
                else one_mask(kind, i, given, kind.mask_size, there)
                for i in range(count)
            ]
        )
    return np.ascontiguousarray(masks, np.uint8)


def best_choices(scores, space):
    """The choice with the largest score, of each number of an action: [n, ...]. scores: [n, M].
    Numbers of a Box beside choices are those of its bounds that are nearest to 0."""
    ends = np.cumsum(space.get("choices", [space.get("n")]))[:-1]
    chosen = [np.argmax(part, axis=1) for part in np.split(scores, ends, axis=1)]
    if space["kind"] == "hybrid":
        numbers = np.clip(0.0, space["low"], space["high"])
        chosen.extend(np.full(len(scores), number) for number in numbers)
    return np.stack(chosen, axis=1).reshape(len(scores), *space.get("shape", ()))


def one_array(given, count, size):
    """Masks [N, M] if they have a usual form, else None."""
    array = given if isinstance(given, np.ndarray) else None
    if array is None and hasattr(given, "__dlpack__"):
        array = numpy_of(given)
    if array is None or array.dtype.kind not in "biu" or array.size != count * size:
        return None
    if count > 1 and len(array) != count:  # such as [M, N]
        return None
    array = array.reshape(count, size)
    return array if array.dtype == np.bool_ or ((array == 0) | (array == 1)).all() else None


def one_mask(kind, i, given, size, there):
    """The mask of environment i. Several numbers' masks may come one by one, as Gymnasium's
    MultiDiscrete.sample() takes them."""
    mask = given[i] if len(given) > i and (there is None or there[i]) else None
    if isinstance(mask, (tuple, list)) and mask and not np.isscalar(mask[0]):
        mask = np.concatenate([np.ravel(numpy_of(part)) for part in mask])
    got = "none"
    if mask is not None:
        mask = np.ravel(numpy_of(mask))
        got = f"{mask.size} numbers of {mask.dtype}"
        if mask.size == size and mask.dtype.kind in "biu" and np.isin(mask, (0, 1)).all():
            return mask
    raise InvalidValue(
        f"action mask of environment {i} of {kind.id}: got {got}, expected {size} booleans, or "
        "integers 0 and 1, one for each choice"
    )
