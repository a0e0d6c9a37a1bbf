"""Compares spaces of environments with those that a policy was trained on, as changed_error() of
broadloom/evaluate/policy.cc does."""

import json

import numpy as np

from ._errors import InvalidValue, error_of

SIDES = ("observation", "action", "critic_observation")


def trained_spec(policy):
    """The spec of a policy's environments as records have it, without the settings of its run."""
    return json.loads(policy._core.state()[1])


def check_spaces(trained, spec):
    """Refuses environments whose spaces the networks do not fit. trained: of trained_spec(). spec:
    of a Kind."""
    spec = {**spec, "observation": _stacked(spec["observation"], spec["frames"])}
    now, then = ([shape_text(one.get(side)) for side in SIDES] for one in (spec, trained))
    if now == then:
        return
    # The critic's own observations only if they alone differ.
    got, expected = (
        f"the critic's observations {texts[2]}"
        if now[:2] == then[:2]
        else f"observations {texts[0]} and actions {texts[1]}"
        for texts in (now, then)
    )
    raise error_of(
        "mismatch",
        f"env: {spec['id']} has other spaces than when the policy was trained: got {got}, expected "
        f"{expected}; make the environments of then",
        InvalidValue,
    )


def shape_text(space):
    """Facts of a space that networks depend on, in words. space: of a Kind, or of records, which
    have bounds as [number, how many in a row, ...]."""
    if not space:
        return "none"
    if space.get("groups"):
        return f"Dict({', '.join(map(_group_text, space['groups']))})"
    if "n" in space:
        return f"Discrete({space['n']})"
    low, high = (_numbers(space.get(bound, ()), "kind" in space) for bound in ("low", "high"))
    choices = space.get("choices")
    if "leading_choices" in space:
        choices = [int(most) + 1 for most in high[: space["leading_choices"]]]
        low = low[len(choices) :]
    if choices:
        listed = ", ".join(map(str, choices))
        is_hybrid = len(low) > 0
        return f"Hybrid({listed}; {len(low)} numbers)" if is_hybrid else f"MultiDiscrete({listed})"
    extents = ", ".join(map(str, space.get("shape") or [len(low)]))
    is_bytes = space["dtype"] == "uint8"
    scale = f" to {high[0]:g}" if is_bytes and high[0] != 255 else ""
    frames = f"; {space['frames']} frames" if space.get("frames", 1) > 1 else ""
    return f"Box({extents}{'; uint8' * is_bytes}{scale}{frames})"


def _stacked(space, frames):
    """The space of observations that Broadloom stacks, as the spec's `frames` says."""
    shape = space.get("shape")
    if frames < 2 or not shape:
        return space
    shape = [*shape, 1] if len(shape) % 2 == 0 else shape
    return {**space, "shape": [*shape[:-1], shape[-1] * frames], "frames": frames}


def _group_text(group):
    extents = " x ".join(map(str, group["shape"]))
    if group["dtype"] == "int64":
        return f"{group['name']}: {extents}; one-hot from {group.get('start', 0)}"
    return f"{group['name']}: {extents}{'; uint8' * (group['dtype'] == 'uint8')}"


def _numbers(bounds, is_plain):
    """Bounds as an array of all numbers."""
    numbers = np.array(bounds, np.float64)
    return numbers if is_plain else np.repeat(numbers[::2], numbers[1::2].astype(np.int64))
