"""Nested action spaces: Tuple and Dict of Discrete, MultiDiscrete, MultiBinary and Box.

Broadloom plays an action as one row: all choices, then all numbers. A structure says where each
leaf of the nested action is in that row. It is plain JSON, so that records and policies keep it:

    {"tuple": [...]} or {"dict": [[key, ...], ...]}, and leaves
    {"kind": "discrete", "at": 0, "size": 1, "shape": [], "dtype": "int64", "start": 0},
    {"kind": "box", "at": 1, "size": 2, "shape": [2], "dtype": "float32"}"""

import json

import numpy as np

from . import _core
from ._errors import InvalidType

CONTAINERS = ("Tuple", "Dict")
KINDS = (*CONTAINERS, "Box", "Discrete", "MultiDiscrete", "MultiBinary")


def class_of(space):
    """The class of KINDS that a space is of, or is derived from; its own one if there is none."""
    found = (one for one in type(space).__mro__ if one.__name__ in KINDS)
    return next(found, type(space))


def kind_of(space):
    return class_of(space).__name__


def is_nested(space):
    return kind_of(space) in CONTAINERS


def form(space):
    """The form of spaces.py of a nested action space: with its structure."""
    choices, low, high = [], [], []
    structure = described(space, choices, low, high, "action space")
    place(structure, len(choices))
    text = json.dumps(structure)
    size = len(choices) + len(low)
    if not choices:
        return {
            "kind": "box",
            "low": low,
            "high": high,
            "shape": [size],
            "dtype": "float32",
            "channels_first": False,
            "structure": text,
        }
    if not low:
        return {"kind": "multi_discrete", "choices": choices, "shape": [size], "structure": text}
    return {
        "kind": "hybrid",
        "choices": choices,
        "low": low,
        "high": high,
        "shape": [size],
        "structure": text,
    }


def described(space, choices, low, high, where):
    """The structure of a space. Appends its choices and bounds."""
    kind = kind_of(space)
    if kind == "Tuple":
        parts = enumerate(space.spaces)
        return {"tuple": [described(p, choices, low, high, f"{where}[{i}]") for i, p in parts]}
    if kind == "Dict":
        parts = space.spaces.items()
        return {
            "dict": [[k, described(p, choices, low, high, f"{where}[{k!r}]")] for k, p in parts]
        }
    leaf = {"shape": [int(extent) for extent in space.shape or ()], "dtype": str(space.dtype)}
    if kind == "Discrete":
        leaf.update(kind="discrete", at=len(choices), size=1, start=int(space.start))
        choices.append(int(space.n))
        return leaf
    if kind in ("MultiDiscrete", "MultiBinary"):
        counts = np.full(space.shape, 2) if kind == "MultiBinary" else space.nvec
        start = np.broadcast_to(getattr(space, "start", 0), counts.shape)
        leaf.update(kind="choices", at=len(choices), size=int(counts.size))
        leaf["start"] = [int(first) for first in start.ravel()]
        choices.extend(int(count) for count in counts.ravel())
        return leaf
    if kind == "Box" and np.issubdtype(space.dtype, np.floating):
        leaf.update(kind="box", at=len(low), size=int(np.prod(space.shape)))
        for bounds, rounded in zip((low, high), action_bounds(space, where), strict=True):
            bounds.extend(rounded)
        return leaf
    raise InvalidType(
        f"{where}: got {space}, expected Discrete, MultiDiscrete, MultiBinary, a Box of floating "
        "point numbers, or a Tuple or Dict of them; wrap the environment in "
        "gymnasium.wrappers.TransformAction, which maps such actions to its own"
    )


def action_bounds(space, where):
    """(low, high) of a Box of actions. InvalidType if float32, which actions are in, has no range
    there."""
    low, high = rounded_bounds(space.low, np.inf), rounded_bounds(space.high, -np.inf)
    for i, (least, most) in enumerate(zip(space.low.ravel(), space.high.ravel(), strict=True)):
        if low[i] > high[i] or (low[i] == high[i] and least < most):
            raise InvalidType(
                f"{where}: got bounds {least!r} to {most!r} as number {i}, expected a range that "
                "float32 can hold, since actions are float32; wrap the environment in "
                "gymnasium.wrappers.RescaleAction(env, -1, 1)"
            )
    return low, high


def rounded_bounds(bounds, inwards):
    """Bounds as float32, rounded towards `inwards`, so that actions stay in the space. inwards 0:
    to the nearest. Bounds beyond float32 become infinite, as if there were none."""
    with np.errstate(over="ignore"):
        rounded = np.asarray(bounds, np.float32)
    outside = rounded < bounds if inwards > 0 else rounded > bounds
    outside &= (inwards != 0) & np.isfinite(rounded)
    return np.where(outside, np.nextafter(rounded, np.float32(inwards)), rounded).ravel().tolist()


def place(structure, first_number):
    """Moves the numbers of Boxes behind the choices."""
    for leaf in leaves(structure):
        if leaf["kind"] == "box":
            leaf["at"] += first_number


def leaves(structure):
    if "tuple" in structure:
        parts = structure["tuple"]
    elif "dict" in structure:
        parts = [part for _, part in structure["dict"]]
    else:
        return [structure]
    return [leaf for part in parts for leaf in leaves(part)]


def structure_of(space):
    """The structure of a space in Broadloom's form; None if its actions are not nested. A hybrid
    space of Broadloom's own is a Tuple of its choices and its Box."""
    if space.get("structure"):
        return json.loads(space["structure"])
    if space["kind"] != "hybrid":
        return None
    count = len(space["choices"])
    one = count == 1
    leaf = {"kind": "discrete", "start": 0} if one else {"kind": "choices", "start": [0] * count}
    leaf.update(at=0, size=count, shape=[] if one else [count], dtype="int64")
    size = space["shape"][0] - count
    box = {"kind": "box", "at": count, "size": size, "shape": [size], "dtype": "float32"}
    return {"tuple": [leaf, box]}


def to_gymnasium(space):
    from gymnasium import spaces

    choices = space.get("choices", [])
    low, high = (np.asarray(space.get(bound, []), np.float32) for bound in ("low", "high"))

    def build(node):
        if "tuple" in node:
            return spaces.Tuple([build(part) for part in node["tuple"]])
        if "dict" in node:
            return spaces.Dict({key: build(part) for key, part in node["dict"]})
        first, size, shape = node["at"], node["size"], tuple(node["shape"])
        if node["kind"] == "discrete":
            return spaces.Discrete(choices[first], start=node["start"])
        if node["kind"] == "choices":
            counts, start = (
                np.reshape(part, shape) for part in (choices[first : first + size], node["start"])
            )
            if node["dtype"] == "int8":
                return spaces.MultiBinary(shape[0] if len(shape) == 1 else shape)
            dtype = np.dtype(node["dtype"]).type
            if start.any():
                return spaces.MultiDiscrete(counts, dtype=dtype, start=start)
            return spaces.MultiDiscrete(counts, dtype=dtype)
        first -= len(choices)
        bounds = (bound[first : first + size].reshape(shape) for bound in (low, high))
        dtype = np.dtype(node["dtype"])
        return spaces.Box(*(bound.astype(dtype) for bound in bounds), dtype=dtype.type)

    return build(structure_of(space))


def nested(structure, rows):
    """The nested actions of rows [n, A], each leaf with a leading axis [n, ...]."""
    if "tuple" in structure:
        return tuple(nested(part, rows) for part in structure["tuple"])
    if "dict" in structure:
        return {key: nested(part, rows) for key, part in structure["dict"]}
    part = rows[:, structure["at"] : structure["at"] + structure["size"]]
    if structure["kind"] != "box":
        part = part.astype(np.int64) + np.asarray(structure["start"])
    return part.reshape(len(rows), *structure["shape"]).astype(structure["dtype"])


def one_of(actions):
    """The first of nested actions with a leading axis."""
    if isinstance(actions, tuple):
        return tuple(one_of(part) for part in actions)
    if isinstance(actions, dict):
        return {key: one_of(part) for key, part in actions.items()}
    return actions[0]


def many_of(structure, action):
    """A nested action with a leading axis of one. Wrong parts stay, for fill() to name."""
    if "tuple" in structure and isinstance(action, (tuple, list)):
        parts = structure["tuple"]
        return tuple(many_of(*pair) for pair in zip(parts, action)) + tuple(action[len(parts) :])
    if "dict" in structure and isinstance(action, dict):
        known = dict(structure["dict"])
        return {k: many_of(known[k], v) if k in known else v for k, v in action.items()}
    return np.asarray(action)[None] if "kind" in structure else action


def rows_of(structure, actions, count, name="actions"):
    """float32 [count, A], the rows of nested actions whose leaves are [count, ...]."""
    rows = np.zeros((count, sum(leaf["size"] for leaf in leaves(structure))), np.float32)
    fill(structure, actions, rows, name)
    return rows


def fill(structure, actions, rows, name):
    if "tuple" in structure:
        parts = list(enumerate(structure["tuple"]))
        is_right = isinstance(actions, (tuple, list)) and len(actions) == len(parts)
        expected = f"a tuple of {len(parts)}"
    elif "dict" in structure:
        parts = structure["dict"]
        is_right = isinstance(actions, dict) and set(actions) == {key for key, _ in parts}
        expected = f"a dict of {', '.join(repr(key) for key, _ in parts)}"
    else:
        return fill_leaf(structure, np.asarray(actions), rows, name)
    if not is_right:
        raise _core.Error(f"{name}: got {type(actions).__name__}, expected {expected}")
    for key, part in parts:
        fill(part, actions[key], rows, f"{name}[{key!r}]")
    return None


def fill_leaf(leaf, array, rows, name):
    shape = (len(rows), *leaf["shape"])
    if array.shape != shape:
        raise _core.Error(f"{name}: got an array of shape {array.shape}, expected {shape}")
    if leaf["kind"] != "box":
        if array.dtype.kind not in "biu":
            raise _core.Error(f"{name}: got {array.dtype}, expected integers")
        array = array - np.reshape(leaf["start"], leaf["shape"])
    rows[:, leaf["at"] : leaf["at"] + leaf["size"]] = array.reshape(len(rows), -1)
