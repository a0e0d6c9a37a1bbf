"""Arrays and rows of environments. Rows are an array [N, ...], or a dict of such arrays."""

import numpy as np


def numpy_of(rows):
    """Takes arrays of NumPy, PyTorch or JAX. Arrays on a device are copied."""
    if isinstance(rows, np.ndarray):
        return rows
    if hasattr(rows, "detach"):
        rows = rows.detach().cpu()
    return np.from_dlpack(rows) if hasattr(rows, "__dlpack__") else np.asarray(rows)


def flat(values, dtype, count, name):
    """A contiguous array [count]. name: the values in an error."""
    array = np.ascontiguousarray(numpy_of(values), dtype)
    if array.shape != (count,):
        raise ValueError(f"{name}: got an array of shape {array.shape}, expected ({count},)")
    return array


def leaves(rows):
    return [numpy_of(row) for row in (rows.values() if isinstance(rows, dict) else [rows])]


def same_rows(a, b, mask):
    return all(np.array_equal(x[mask], y[mask]) for x, y in zip(leaves(a), leaves(b), strict=True))


def copy_of(rows):
    if isinstance(rows, dict):
        return {key: copy_of(row) for key, row in rows.items()}
    return np.array(numpy_of(rows))


def scattered(rows, mask, base):
    """A copy of `base` with `rows` at the places where the mask is true."""
    if isinstance(rows, dict):
        return {key: scattered(rows[key], mask, base[key]) for key in rows}
    out = np.array(base)
    out[mask] = numpy_of(rows)
    return out


def joined(rows, keys):
    """The rows of several keys, number after number; None without keys."""
    if len(keys) < 2:
        return rows[keys[0]] if keys else None
    return np.concatenate([numpy_of(rows[key]) for key in keys], axis=1)


def allocate(space, count):
    """Rows of zeros for `count` environments."""
    if hasattr(space, "spaces"):
        return {key: allocate(inner, count) for key, inner in space.spaces.items()}
    return np.zeros((count, *space.shape), space.dtype)


def put(rows, i, row):
    if isinstance(rows, dict):
        for key in rows:
            rows[key][i] = row[key]
    else:
        rows[i] = row
