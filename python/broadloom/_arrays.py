"""Arrays and rows of environments. Rows are an array [N, ...], or a dict of such arrays."""

import numpy as np

from ._errors import InvalidType, InvalidValue, error_of


def check_finite(file, name, array):
    """Refuses numbers of a checkpoint that are not finite. name: of the part within the file."""
    wrong = np.argwhere(~np.isfinite(array)).tolist()
    if wrong:
        raise error_of(
            "numeric",
            f"{file}: {name}: got {array[tuple(wrong[0])]} at {wrong[0]}, expected finite numbers; "
            "use a checkpoint from before",
        )


def numpy_of(rows):
    """Takes arrays of NumPy, PyTorch or JAX. Arrays on a device are copied."""
    if isinstance(rows, np.ndarray):
        return rows
    if hasattr(rows, "detach"):
        rows = rows.detach().cpu()
    return np.from_dlpack(rows) if hasattr(rows, "__dlpack__") else np.asarray(rows)


def cast(array, dtype, name):
    """The array as a contiguous one of this dtype. Rounding to a float is allowed; any other change
    of a value is an error. name: the values in an error."""
    dtype = np.dtype(dtype)
    if array.dtype == object:
        array = array.astype(np.float64)
    if array.dtype.kind not in "biuf":
        raise InvalidType(f"{name}: got an array of {array.dtype}, expected numbers of {dtype}")
    if dtype.kind in "fb" or np.can_cast(array.dtype, dtype):
        with np.errstate(over="ignore"):  # infinite numbers are refused later
            return np.asarray(array, dtype, order="C")
    with np.errstate(invalid="ignore"):
        out = np.asarray(array, dtype, order="C")
    changed = out != array
    if changed.any():
        raise InvalidValue(
            f"{name}: got {array[changed].flat[0]} in an array of {array.dtype}, expected numbers "
            f"that {dtype}, the dtype of the space, can hold; return such numbers, or declare a "
            f"space with dtype={array.dtype}"
        )
    return out


def flat(values, dtype, count, name):
    """A contiguous array [count]. name: the values in an error."""
    array = cast(numpy_of(values), dtype, name)
    if array.shape != (count,):
        raise InvalidValue(f"{name}: got an array of shape {array.shape}, expected ({count},)")
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


def merged(rows, mask, base):
    """`rows` where the mask is true, and `base` elsewhere."""
    if isinstance(rows, dict):
        return {key: merged(rows[key], mask, base[key]) for key in rows}
    out = np.array(numpy_of(base))
    out[mask] = numpy_of(rows)[mask]
    return out


def joined(rows, keys):
    """The rows of several keys, number after number; None without keys."""
    if len(keys) < 2:
        return rows[keys[0]] if keys else None
    return np.concatenate([numpy_of(rows[key]) for key in keys], axis=1)


def put(rows, i, row):
    if isinstance(rows, dict):
        for key in rows:
            rows[key][i] = row[key]
    else:
        row = numpy_of(row)
        if row.shape != rows[i].shape:
            raise InvalidValue(
                f"last observation of environment {i}: got an array of shape {row.shape}, expected "
                f"{rows[i].shape}, as its observation_space says"
            )
        rows[i] = cast(row, rows.dtype, f"last observation of environment {i}")
