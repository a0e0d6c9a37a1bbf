"""Spaces of Gymnasium's from Broadloom's specs, and back. A spec's space is {"kind": "discrete", "n", "start"} or {"kind": "box",
"low", "high", "shape", "dtype"}, with bounds as flat lists."""

import numpy as np


def to_gymnasium(space):
    from gymnasium import spaces

    if space["kind"] == "discrete":
        return spaces.Discrete(space["n"], start=space["start"])
    shape, dtype = tuple(space["shape"]), np.dtype(space["dtype"])
    low, high = (np.asarray(space[bound], np.float32).reshape(shape).astype(dtype) for bound in ("low", "high"))
    return spaces.Box(low, high, shape, dtype.type)


def from_gymnasium(space, what):
    """TypeError for kinds that networks of Broadloom's cannot read or choose from."""
    kind = type(space).__name__
    if kind == "Discrete":
        return {"kind": "discrete", "n": int(space.n), "start": int(getattr(space, "start", 0))}
    if kind == "MultiBinary" and what != "action":
        return {"kind": "box", "low": [0.0] * int(np.prod(space.shape)), "high": [1.0] * int(np.prod(space.shape)), "shape": list(space.shape),
                "dtype": "float32", "channels_first": False}
    if kind != "Box":
        raise TypeError(f"{what} space: got {space}, expected Box or Discrete; wrap the environment so that it has one of them "
                        "(gymnasium.wrappers.FlattenObservation, for one)")
    if what == "action" and not (np.issubdtype(space.dtype, np.floating) and np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        raise TypeError(f"action space: got {space}, expected a Box of floating point numbers with finite bounds; "
                        "gymnasium.wrappers.RescaleAction gives it some")
    channels_first = what != "action" and are_channels_first(space)
    if channels_first:
        moved = [np.moveaxis(bound, 0, -1) for bound in (space.low, space.high)]
        space = type(space)(*moved, dtype=space.dtype.type)
    dtype = "uint8" if space.dtype == np.uint8 and what != "action" else "float32"
    shape = [int(extent) for extent in space.shape] or [1]
    with np.errstate(over="ignore"):
        low, high = (np.asarray(bound, np.float32).ravel().tolist() for bound in (space.low, space.high))
    return {"kind": "box", "low": low, "high": high, "shape": shape, "dtype": dtype, "channels_first": channels_first}


def are_channels_first(space):
    """Whether images are [C, H, W], as PyTorch likes them and frame stacks come; those of Broadloom's are [H, W, C]."""
    return space.dtype == np.uint8 and len(space.shape) == 3 and space.shape[0] <= 16 < min(space.shape[1:])
