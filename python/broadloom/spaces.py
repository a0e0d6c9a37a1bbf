"""Converts spaces between Gymnasium and Broadloom.

Broadloom's form is {"kind": "discrete", "n", "start"}, {"kind": "multi_discrete", "choices",
"shape"} for actions, or {"kind": "box", "low", "high", "shape", "dtype"}. Bounds and choices are
flat lists. Nested actions are rows: {"kind": "hybrid", "choices", "low", "high", "shape"}, and any
kind may have a "structure" (_nested.py)."""

import numpy as np

from . import _nested


def to_gymnasium(space):
    from gymnasium import spaces

    if space["kind"] == "hybrid" or space.get("structure"):
        return _nested.to_gymnasium(space)
    if space["kind"] == "discrete":
        return spaces.Discrete(space["n"], start=space["start"])
    if space["kind"] == "multi_discrete":
        return spaces.MultiDiscrete(np.reshape(space["choices"], space["shape"]))
    shape, dtype = tuple(space["shape"]), np.dtype(space["dtype"])
    low, high = (
        np.asarray(space[bound], np.float32).reshape(shape).astype(dtype)
        for bound in ("low", "high")
    )
    return spaces.Box(low, high, shape, dtype.type)


def as_gymnasium(space):
    """A space of mjlab as one of Gymnasium; others as they are. mjlab's have one bound for all
    numbers, and the dtype's name."""
    if hasattr(space, "contains") or not (hasattr(space, "spaces") or hasattr(space, "low")):
        return space
    from gymnasium import spaces

    if hasattr(space, "spaces"):
        return spaces.Dict({key: as_gymnasium(inner) for key, inner in space.spaces.items()})
    shape, dtype = tuple(space.shape), np.dtype(space.dtype)
    low, high = (np.broadcast_to(bound, shape) for bound in (space.low, space.high))
    return spaces.Box(low.astype(dtype), high.astype(dtype), shape, dtype.type)


def joined(parts, name):
    """One Box of several, number after number. name: as in from_gymnasium()."""
    if len(parts) == 1:
        return parts[0]
    for part in parts:
        if type(part).__name__ != "Box" or len(part.shape) != 1:
            raise TypeError(
                f"{name} space: got {part} among several groups, expected a Box of one dimension "
                "for each; name one group, or flatten it"
            )
    low, high = (np.concatenate([getattr(part, bound) for part in parts]) for bound in BOUNDS)
    return type(parts[0])(low, high, dtype=np.result_type(*(part.dtype for part in parts)).type)


BOUNDS = ("low", "high")


def from_gymnasium(space, name):
    """TypeError for a space that Broadloom's networks cannot use. name: "observation", "action" or
    "critic observation"."""
    kind = type(space).__name__
    if kind == "Discrete":
        return {"kind": "discrete", "n": int(space.n), "start": int(getattr(space, "start", 0))}
    if name == "action" and _nested.is_nested(space):
        return _nested.form(space)
    if name == "action" and kind in ("MultiDiscrete", "MultiBinary"):
        return several_choices(space)
    if kind == "MultiBinary":
        return {
            "kind": "box",
            "low": [0.0] * int(np.prod(space.shape)),
            "high": [1.0] * int(np.prod(space.shape)),
            "shape": list(space.shape),
            "dtype": "float32",
            "channels_first": False,
        }
    if kind != "Box" and name == "action":
        raise TypeError(
            f"action space: got {space}, expected Discrete, MultiDiscrete, MultiBinary, a Box of "
            "floating point numbers, or a Tuple or Dict of them; wrap the environment in "
            "gymnasium.wrappers.TransformAction, which maps such actions to its own"
        )
    if kind != "Box":
        raise TypeError(
            f"{name} space: got {space}, expected Box, Discrete or MultiBinary; wrap the "
            "environment in gymnasium.wrappers.FlattenObservation, which turns a Dict, Tuple or "
            "MultiDiscrete into one Box"
        )
    if name == "action" and not np.issubdtype(space.dtype, np.floating):
        raise TypeError(
            f"action space: got {space}, expected a Box of floating point numbers; "
            "gymnasium.wrappers.TransformAction can round them to integers"
        )
    channels_first = name != "action" and are_channels_first(space)
    if channels_first:
        moved = [np.moveaxis(bound, 0, -1) for bound in (space.low, space.high)]
        space = type(space)(*moved, dtype=space.dtype.type)
    dtype = "uint8" if name != "action" and is_image(space) else "float32"
    shape = [int(extent) for extent in space.shape] or [1]
    with np.errstate(over="ignore"):
        low, high = (
            np.asarray(bound, np.float32).ravel().tolist() for bound in (space.low, space.high)
        )
    return {
        "kind": "box",
        "low": low,
        "high": high,
        "shape": shape,
        "dtype": dtype,
        "channels_first": channels_first,
    }


def several_choices(space):
    """The form of a MultiDiscrete or MultiBinary action space."""
    is_binary = type(space).__name__ == "MultiBinary"
    if not is_binary and np.any(getattr(space, "start", 0)):
        raise TypeError(
            f"action space: got {space}, expected choices that count from 0; "
            "gymnasium.wrappers.TransformAction can add the first ones"
        )
    choices = np.full(space.shape, 2) if is_binary else space.nvec
    return {
        "kind": "multi_discrete",
        "choices": choices.ravel().tolist(),
        "shape": [int(extent) for extent in choices.shape],
    }


def is_image(space):
    """Whether networks read an observation as an image, divided by 255. An image has bytes from 0
    to 255 in two or more dimensions. Other bytes, such as boards or memory, are numbers."""
    return (
        space.dtype == np.uint8
        and len(space.shape) >= 2
        and (space.low == 0).all()
        and (space.high == 255).all()
    )


def are_channels_first(space):
    """Whether images are [C, H, W], as in PyTorch and in frame stacks. Broadloom's are [H, W,
    C]."""
    return is_image(space) and len(space.shape) == 3 and space.shape[0] <= 16 < min(space.shape[1:])
