"""Many rows of features in three arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.arrays import Floats, Ints
from belated.errors import BadFeatures, BelatedError


class Rows(NamedTuple):
    """Compressed sparse rows: row i is ``indptr[i]`` to ``indptr[i + 1]`` of the other two."""

    indptr: Ints
    indices: Ints
    """Coordinates."""
    values: Floats
    """Their values. Zeros that are written out count as values like any other."""

    @property
    def height(self) -> int:
        """How many rows there are."""
        return self.indptr.size - 1

    @property
    def widest(self) -> int:
        """Entries of the longest row."""
        return int(np.diff(self.indptr).max(initial=0))


def numbers(given: Any, who: str, error: type[BelatedError] = BadFeatures) -> Floats:
    """Return real numbers as an array that the kernels take; masked ones become NaN."""
    return np.require(
        _array(given, "fiub", f"{who} must be numbers", error), np.float64, ["C", "W"]
    )


def whole(given: Any, who: str, error: type[BelatedError] = BadFeatures) -> Ints:
    """Return whole numbers as an array that the kernels take."""
    array = _array(given, "iu", f"{who} must be whole numbers", error)
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise error(f"{who} must be below 2^63, got {array.max()}")
    return np.require(array, np.int64, ["C", "W"])


def _array(given: Any, kinds: str, rule: str, error: type[BelatedError]) -> NDArray[Any]:
    masked = isinstance(given, np.ma.MaskedArray)
    try:
        array = np.asarray(np.ma.filled(given.astype(np.float64), np.nan) if masked else given)
    except (TypeError, ValueError) as reason:
        raise error(f"{rule}, got {given!r}") from reason
    if array.dtype.kind not in kinds and array.size:
        raise error(f"{rule}, got {_shown(given)}")
    return array


def _shown(given: Any) -> str:
    return f"an array of {given.dtype}" if isinstance(given, np.ndarray) else repr(given)


def from_arrays(given: Any, who: str) -> Rows:
    """Return the rows that three arrays hold, or say what is wrong with them."""
    if len(given) != 3:
        raise BadFeatures(f"{who}: sparse rows are (indptr, indices, values), got {len(given)}")
    indptr = whole(given[0], f"{who}: indptr")
    indices = whole(given[1], f"{who}: indices")
    values = numbers(given[2], f"{who}: values")
    if indptr.ndim != 1 or indptr.size == 0 or indices.ndim != 1 or indices.shape != values.shape:
        raise BadFeatures(
            f"{who}: indptr, indices and values must have one dimension, and indices as many "
            f"entries as values; got shapes {indptr.shape}, {indices.shape}, {values.shape}"
        )
    if indptr[0] != 0 or indptr[-1] != indices.size or (np.diff(indptr) < 0).any():
        raise BadFeatures(
            f"{who}: indptr must rise from 0 to the number of entries, {indices.size}; it goes "
            f"from {indptr[0]} to {indptr[-1]}"
        )
    return Rows(indptr, indices, values)


def from_dense(given: Any, who: str) -> Rows:
    """Return the rows of a matrix: coordinate = position, zeros included."""
    values = numbers(given, f"{who}: a matrix of features")
    if values.ndim != 2:
        raise BadFeatures(f"{who}: a matrix has two dimensions, got shape {values.shape}")
    rows, columns = values.shape
    indptr = np.arange(rows + 1, dtype=np.int64) * columns
    indices = np.tile(np.arange(columns, dtype=np.int64), rows)
    return Rows(indptr, indices, values.reshape(-1))
