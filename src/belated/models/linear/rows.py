"""Many rows of features in three arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from belated.arrays import Floats, Ints
from belated.errors import BadFeatures
from belated.validation import numbers, whole


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


def from_arrays(given: Any, who: str) -> Rows:
    """Return the rows that three arrays hold, or say what is wrong with them."""
    if len(given) != 3:
        raise BadFeatures(f"{who}: sparse rows are (indptr, indices, values), got {len(given)}")
    # A copy, as it is not checked again, and the caller's own may change while rows are read.
    indptr = whole(given[0], f"{who}: indptr must be whole numbers", BadFeatures).copy()
    indices = whole(given[1], f"{who}: indices must be whole numbers", BadFeatures)
    values = numbers(given[2], f"{who}: values must be numbers", BadFeatures)
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
    values = numbers(given, f"{who}: a matrix of features must be numbers", BadFeatures)
    if values.ndim != 2:
        raise BadFeatures(f"{who}: a matrix has two dimensions, got shape {values.shape}")
    rows, columns = values.shape
    indptr = np.arange(rows + 1, dtype=np.int64) * columns
    indices = np.tile(np.arange(columns, dtype=np.int64), rows)
    return Rows(indptr, indices, values.reshape(-1))
