"""Converts spaces between Gymnasium and Broadloom.

Broadloom's form is {"kind": "discrete", "n", "start"}, {"kind": "multi_discrete", "choices",
"shape"} for actions, or {"kind": "box", "low", "high", "shape", "dtype"}. Bounds and choices are
flat lists. Nested actions are rows: {"kind": "hybrid", "choices", "low", "high", "shape"}, and any
kind may have a "structure" (_nested.py).

An observation may have "given", JSON of how the environment gives it: {"keys": [...]}, the keys of
a Dict that the policy reads; "scalar", of a Box of shape (), and "channels_first": each true or a
list of groups.

Observations that are a Dict or Tuple are a box with "groups": [{"name", "shape", "dtype",
"full_scale", "start"}]. Its rows hold the groups' numbers as floats, one after the other. A group
of "int64" is a Discrete space, one-hot in rows."""

import json
import re
from collections.abc import Mapping

import numpy as np

from . import _nested
from ._arrays import cast, flat, numpy_of
from ._errors import InvalidType, InvalidValue
from ._nested import class_of, kind_of


def to_gymnasium(space):
    from gymnasium import spaces

    if space["kind"] == "hybrid" or space.get("structure"):
        return _nested.to_gymnasium(space)
    if space["kind"] == "discrete":
        return spaces.Discrete(space["n"], start=space["start"])
    if space["kind"] == "multi_discrete":
        return spaces.MultiDiscrete(np.reshape(space["choices"], space["shape"]))
    if space.get("groups"):
        return spaces.Dict({part["name"]: to_gymnasium(part) for part in group_spaces(space)})
    shape, dtype = tuple(space["shape"]), np.dtype(space["dtype"])
    low, high = (
        np.asarray(space[bound], np.float32).reshape(shape).astype(dtype)
        for bound in ("low", "high")
    )
    return spaces.Box(low, high, shape, dtype.type)


def group_spaces(space):
    """The groups of a box as spaces with names, in order."""
    first = 0
    for group in space["groups"]:
        end = first + int(np.prod(group["shape"]))
        if group["dtype"] == "int64":
            yield {**group, "kind": "discrete", "n": end - first}
        else:
            low, high = (space[bound][first:end] for bound in BOUNDS)
            yield {**group, "kind": "box", "low": low, "high": high}
        first = end


def parts_of(space, prefix=()):
    """(path of keys, space) of each group of a Dict or Tuple; those within another one, too."""
    inner = space.spaces
    for key, part in inner.items() if hasattr(inner, "items") else enumerate(inner):
        if kind_of(part) in _nested.CONTAINERS:
            yield from parts_of(part, (*prefix, key))
        else:
            yield (*prefix, key), part


def check_groups(parts, env_id):
    """Refuses groups of a Dict or Tuple that are no numbers, such as texts, and says how to leave
    them out. parts: as of parts_of()."""
    wrong = [(path, part) for path, part in parts if kind_of(part) not in GROUP_KINDS]
    if not parts:
        raise InvalidValue(f"{env_id}: got observations without a key, expected at least one")
    if not wrong:
        return
    raise InvalidType(
        f"{env_id}: got {wrong[0][1]} as group '{group_name(wrong[0][0])}' of observations, "
        f"expected {', '.join(GROUP_KINDS[:-1])} or {GROUP_KINDS[-1]}; "
        + advice_without([path for path, _ in wrong], [path for path, _ in parts])
    )


def advice_without(wrong, paths):
    """Words for a user who trains with the other groups."""
    others = [path for path in paths if path not in wrong]
    if not others:
        return "wrap the environment in gymnasium.wrappers.TransformObservation"
    if all(len(path) == 1 and isinstance(path[0], str) for path in (*wrong, *others)):
        return f"name the others: observation_keys=({tuple(key for (key,) in others)!r},)"
    # observation_keys are the outermost keys of a Dict.
    items = [f"{group_name(path)!r}: o" + "".join(f"[{key!r}]" for key in path) for path in others]
    return (
        f"keep the others: with `pick = lambda o: {{{', '.join(items)}}}`, wrappers=[lambda env: "
        "gymnasium.wrappers.TransformObservation(env, pick, "
        "gymnasium.spaces.Dict(pick(env.observation_space)))]"
    )


def rows_at(rows, path):
    """The rows of the group at a path of keys."""
    for key in path:
        rows = rows[key]
    return rows


def is_dict(observations):
    """Whether they are a dict, or like one as TensorDict. Data frames are arrays."""
    is_like = hasattr(observations, "keys") and not hasattr(observations, "__array__")
    return is_like or isinstance(observations, Mapping)


def arrays_of(observations, prefix=()):
    """The arrays of a dict or tuple by names of groups."""
    arrays = {}
    for key, part in observations.items() if is_dict(observations) else enumerate(observations):
        path = (*prefix, key)
        if is_dict(part) or isinstance(part, tuple):
            arrays.update(arrays_of(part, path))
        else:
            arrays[group_name(path)] = part
    return arrays


def group_name(path):
    """Records allow few characters in names."""
    words = [re.sub(r"[^A-Za-z0-9_.-]", "_", str(key)).lstrip("_.-") or "group" for key in path]
    return ".".join(words)


def group_names(paths):
    """{name: path}. Two paths of one name are an error."""
    names = {}
    for path in paths:
        name = group_name(path)
        if name in names:
            raise InvalidType(
                f"observation space: got the keys {names[name]} and {path}, which both become the "
                f"group '{name}'; rename one, with letters and digits of ASCII"
            )
        names[name] = path
    return names


def grouped(parts):
    """The form of a Dict or Tuple. parts: (name, space) of each group."""
    groups, low, high = [], [], []
    for name, part in parts:
        if kind_of(part) == "Discrete":
            n = int(part.n)
            form = {"dtype": "int64", "shape": [n], "low": [0.0] * n, "high": [1.0] * n}
            form["start"] = int(getattr(part, "start", 0))
        else:
            form = from_gymnasium(part, f"observation group '{name}'")
        low += form["low"]
        high += form["high"]
        groups.append(
            {
                "name": name,
                "shape": form["shape"],
                "dtype": form["dtype"],
                "full_scale": 255.0 if form["dtype"] == "uint8" else 1.0,
                "start": form.get("start", 0),
                "channels_first": form.get("channels_first", False),
            }
        )
    return {
        "kind": "box",
        "low": low,
        "high": high,
        "shape": [len(low)],
        "dtype": "float32",
        "channels_first": False,
        "groups": groups,
    }


def how_given(observation, keys, form):
    """ "given" of a form; {} if observations are as in the form. observation: the space that the
    policy reads. keys: of the Dict that it is in, or none."""
    given = {"keys": list(keys)} if keys else {}
    first = [group["name"] for group in form.get("groups", ()) if group["channels_first"]]
    if form.get("channels_first") or first:
        given["channels_first"] = first or True
    if form.get("groups"):
        parts = {group_name(path): part for path, part in parts_of(observation)}
        names = [group["name"] for group in form["groups"] if group["dtype"] != "int64"]
        scalar = [name for name in names if parts[name].shape == ()]
    else:
        scalar = form["kind"] == "box" and getattr(observation, "shape", None) == ()
    if scalar:
        given["scalar"] = scalar
    return {"given": json.dumps(given)} if given else {}


def rows_of_groups(arrays, space, count, name="observations", absent=()):
    """Rows [count, D] of a space with groups. arrays: for each group, an array [count, ...].
    absent: groups that may be missing; their numbers are 0."""
    rows, first = np.zeros((count, space["shape"][0]), np.float32), 0
    for group in space["groups"]:
        end = first + int(np.prod(group["shape"]))
        if group["name"] in arrays or group["name"] not in absent:
            out = rows[:, first:end]
            fill_group(out, arrays[group["name"]], group, count, name)
        first = end
    return rows


def fill_group(out, array, group, count, name):
    where = f"{name}: group '{group['name']}'"
    if group["dtype"] == "int64":
        choices = flat(array, np.int64, count, where) - group["start"]
        if choices.size and not 0 <= choices.min() <= choices.max() < out.shape[1]:
            wrong = choices.min() if choices.min() < 0 else choices.max()
            raise InvalidValue(
                f"{where}: got {wrong + group['start']}, expected choices from {group['start']} to "
                f"{group['start'] + out.shape[1] - 1}"
            )
        out[np.arange(count), choices] = 1.0
        return
    array = numpy_of(array)
    if group.get("channels_first"):
        array = np.moveaxis(array, 1, -1)
    expected = (count, *group["shape"])
    if array.shape != expected and (array.shape, group["shape"]) != ((count,), [1]):
        raise InvalidValue(f"{where}: got an array of shape {array.shape}, expected {expected}")
    out[...] = cast(array, group["dtype"], where).reshape(count, -1)


def split_rows(rows, space):
    """Rows [N, D] as a dict of groups, as to_gymnasium() describes them; other rows as they are."""
    if not space.get("groups"):
        return rows
    arrays, first = {}, 0
    for group in space["groups"]:
        end = first + int(np.prod(group["shape"]))
        part = rows[..., first:end]
        if group["dtype"] == "int64":
            arrays[group["name"]] = part.argmax(-1) + group["start"]
        else:
            shape = (*rows.shape[:-1], *group["shape"])
            arrays[group["name"]] = part.reshape(shape).astype(group["dtype"])
        first = end
    return arrays


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
        if kind_of(part) != "Box" or len(part.shape) != 1:
            raise InvalidType(
                f"{name} space: got {part} among several groups, expected a Box of one dimension "
                "for each; name one group, or flatten it"
            )
    low, high = (np.concatenate([getattr(part, bound) for part in parts]) for bound in BOUNDS)
    return class_of(parts[0])(low, high, dtype=np.result_type(*(part.dtype for part in parts)).type)


BOUNDS = ("low", "high")
GROUP_KINDS = ("Box", "Discrete", "MultiBinary")  # of single groups of observations


def from_gymnasium(space, name):
    """InvalidType for a space that Broadloom's networks cannot use. name: "observation", "action"
    or "critic observation"."""
    form = _form_of(space, name)
    if 0 in form.get("shape", ()):
        raise InvalidValue(
            f"{name} space: got {space} without numbers, expected at least one, such as shape (3,)"
        )
    return form


def _form_of(space, name):
    kind = kind_of(space)
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
        raise InvalidType(
            f"action space: got {space}, expected Discrete, MultiDiscrete, MultiBinary, a Box of "
            "floating point numbers, or a Tuple or Dict of them; wrap the environment in "
            "gymnasium.wrappers.TransformAction, which maps such actions to its own"
        )
    if kind != "Box":
        wrapper = (
            "FlattenObservation, which turns it into one"
            if getattr(space, "is_np_flattenable", False)
            else "TransformObservation, which maps it to a"
        )
        raise InvalidType(
            f"{name} space: got {space}, expected Box, Discrete or MultiBinary, or a Dict or Tuple "
            f"of them; wrap the environment in gymnasium.wrappers.{wrapper} Box"
        )
    if name == "action" and not np.issubdtype(space.dtype, np.floating):
        raise InvalidType(
            f"action space: got {space}, expected a Box of floating point numbers; "
            "gymnasium.wrappers.TransformAction can round them to integers"
        )
    if name == "action" and space.shape == ():
        return _nested.form(space)
    channels_first = name != "action" and are_channels_first(space)
    if channels_first:
        moved = [np.moveaxis(bound, 0, -1) for bound in (space.low, space.high)]
        space = class_of(space)(*moved, dtype=space.dtype.type)
    dtype = "uint8" if name != "action" and is_image(space) else "float32"
    shape = [int(extent) for extent in space.shape] or [1]
    if name == "action":
        low, high = _nested.action_bounds(space, "action space")
    else:
        low, high = (_nested.rounded_bounds(bound, 0) for bound in (space.low, space.high))
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
    is_binary = kind_of(space) == "MultiBinary"
    if not is_binary and np.any(getattr(space, "start", 0)):
        return _nested.form(space)
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
