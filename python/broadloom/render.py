"""Draws the shapes of an environment's picture into an array, with NumPy alone. Text is left
out."""

import numpy as np

LONGER_SIDE = 480  # pixels

# The colours of the pages' light theme. broadloom/env/drawing.h has the use of each ink.
_INKS = ("1c2128", "59636e", "d1d9e0", "f6f8fa", "ffffff", "0b5cad", "0072b2", "c2410c")
_COLOURS = (
    "0072b2",
    "d55e00",
    "008a65",
    "a3538a",
    "b57b00",
    "4c4c4c",
    "3b3aa8",
    "1d7a3c",
    "8b1e5a",
    "3a9fbf",
    "8a7a1f",
    "c04a63",
)
_RGB = np.array(
    [[int(word[i : i + 2], 16) for i in (0, 2, 4)] for word in _INKS + _COLOURS], np.float32
)


def picture(view, shapes):
    """Returns uint8 [height, width, 3]. view: (left, bottom, right, top) of the plane. shapes:
    (kind, ink, strength, numbers); later ones cover earlier ones."""
    left, bottom, right, top = view
    scale = LONGER_SIDE / max(right - left, top - bottom)
    size = max(1, round((top - bottom) * scale)), max(1, round((right - left) * scale))
    image = np.broadcast_to(_RGB[4], (*size, 3)).copy()
    for kind, ink, strength, numbers in shapes:
        distance_to = _KINDS.get(kind)
        if distance_to is None:
            continue
        numbers = np.asarray(numbers, np.float64)
        points, reach = _in_pixels(kind, numbers, scale, left, top)
        low = np.floor(points.min(0) - reach - 1).astype(int).clip(0, (size[1], size[0]))
        high = np.ceil(points.max(0) + reach + 2).astype(int).clip(0, (size[1], size[0]))
        if (high <= low).any():
            continue
        x, y = np.meshgrid(np.arange(low[0], high[0]) + 0.5, np.arange(low[1], high[1]) + 0.5)
        cover = (np.clip(0.5 - distance_to(x, y, points, reach), 0, 1) * strength)[
            ..., None
        ].astype(np.float32)
        part = image[low[1] : high[1], low[0] : high[0]]
        part += cover * (_RGB[ink] - part)
    return np.rint(image).astype(np.uint8)


def _in_pixels(kind, numbers, scale, left, top):
    """(points [n, 2] with y downwards, the distance that a shape reaches beyond them)."""
    reach = 0.0
    if kind == "line":
        reach, numbers = max(0.5 * numbers[0] * scale, 0.5), numbers[1:]
    elif kind == "circle":
        reach, numbers = numbers[2] * scale, numbers[:2]
    elif kind == "rectangle":
        x, y, width, height = numbers
        numbers = np.array([x, y, x + width, y + height])
    points = numbers.reshape(-1, 2)
    return np.stack([(points[:, 0] - left) * scale, (top - points[:, 1]) * scale], axis=1), reach


# Signed distances in pixels; negative inside.


def _to_circle(x, y, points, reach):
    return np.hypot(x - points[0, 0], y - points[0, 1]) - reach


def _to_rectangle(x, y, points, reach):
    low, high = points.min(0), points.max(0)
    return np.maximum(np.maximum(low[0] - x, x - high[0]), np.maximum(low[1] - y, y - high[1]))


def _to_segment(x, y, a, b):
    along = b - a
    length = float(along @ along)
    share = (
        np.clip(((x - a[0]) * along[0] + (y - a[1]) * along[1]) / length, 0, 1)
        if length > 0
        else 0.0
    )
    return np.hypot(x - a[0] - share * along[0], y - a[1] - share * along[1])


def _to_line(x, y, points, reach):
    if len(points) == 1:
        return _to_circle(x, y, points, reach)
    return np.min([_to_segment(x, y, a, b) for a, b in zip(points, points[1:])], axis=0) - reach


def _to_polygon(x, y, points, reach):
    inside, nearest = np.zeros(x.shape, bool), np.full(x.shape, np.inf)
    for a, b in zip(points, np.roll(points, -1, axis=0)):
        nearest = np.minimum(nearest, _to_segment(x, y, a, b))
        crosses = (a[1] > y) != (b[1] > y)
        if a[1] != b[1]:
            inside ^= crosses & (x < (b[0] - a[0]) * (y - a[1]) / (b[1] - a[1]) + a[0])
    return np.where(inside, -nearest, nearest)


_KINDS = {
    "circle": _to_circle,
    "rectangle": _to_rectangle,
    "line": _to_line,
    "polygon": _to_polygon,
}
