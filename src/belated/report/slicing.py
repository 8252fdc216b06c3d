"""Columns as slices: which rows have the same value, and what it is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from belated.arrays import Array, Bools, Ints
from belated.report.plain import plain

VALUES = 12
"""Most values of a column that are shown by themselves."""
FEW = 60
"""Most values of a column that is sliced without being asked for."""
COLUMNS = 3
"""Most columns that are sliced without being asked for."""


def coded(column: Array) -> tuple[list[str], Ints]:
    """Return names of values, and for every row the number of its value."""
    if column.dtype.kind == "f":
        missing = np.isnan(column)
        values = np.unique(column[~missing])
        if len(values) > VALUES:
            names, codes = _fifths(column, missing)
        else:
            names = [plain(float(value)) for value in values]
            codes = np.searchsorted(values, np.where(missing, np.inf, column))
        if missing.any():
            names.append("missing")
            codes[missing] = len(names) - 1
        return names, codes
    texts = np.array(["missing" if cell is None else str(cell) for cell in column])
    values, codes = np.unique(texts, return_inverse=True)
    return values.tolist(), codes.astype(np.int64)


def _fifths(column: Array, missing: Bools) -> tuple[list[str], Ints]:
    """Return a column of many numbers as five ranges with about as many rows each."""
    present = column[~missing]
    edges = np.unique(np.quantile(present, (0.2, 0.4, 0.6, 0.8), method="higher"))
    codes = np.searchsorted(edges, np.where(missing, -np.inf, column), side="left")
    used = np.unique(codes[~missing])
    names = []
    for code in used:
        inside = column[~missing & (codes == code)]
        names.append(f"{plain(float(inside.min()))} to {plain(float(inside.max()))}")
    return names, np.searchsorted(used, codes).astype(np.int64)


def usual(columns: Mapping[str, Array]) -> tuple[str, ...]:
    """Return the first columns of text with few values."""
    found = [
        name
        for name, column in columns.items()
        if column.dtype.kind != "f" and 2 <= len({*column.tolist()}) <= FEW
    ]
    return tuple(found[:COLUMNS])


def ranked(names: Sequence[str], counts: Ints) -> list[tuple[str, list[int]]]:
    """Return the numbers of the most frequent values by name; those of all others are one group."""
    order = np.argsort(-counts, kind="stable").tolist()
    shown = order if len(order) <= VALUES + 1 else order[:VALUES]
    found = [(names[code], [code]) for code in shown]
    if rest := order[len(shown) :]:
        found.append((f"{len(rest):,} other values", rest))
    return found


def parted(column: Array) -> list[tuple[str, Ints]]:
    """Return the rows of the most frequent values by name; those of all others are one slice.

    >>> [(name, rows.tolist()) for name, rows in parted(np.array(["b", "a", "b"], dtype=object))]
    [('b', [0, 2]), ('a', [1])]
    """
    names, codes = coded(column)
    groups = ranked(names, np.bincount(codes, minlength=len(names)))
    found = [(name, np.flatnonzero(np.isin(codes, group))) for name, group in groups]
    return [(name, rows) for name, rows in found if rows.size]
