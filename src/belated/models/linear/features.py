"""From names and values to coordinates: the hashing trick.

A number named ``name`` has the coordinate hash(name); a string has hash(name, separator, string)
and the value 1. The hash is XXH64 with seed 0 (https://xxhash.com), of UTF-8 text,
modulo 2^bits; see ``core.hashing``, which has all that one row needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from belated.arrays import Bools, Floats, Ints
from belated.core import hashing
from belated.errors import BadFeatures, SpecError
from belated.frames import cells_of
from belated.models.linear.rows import Rows

if TYPE_CHECKING:
    from belated.logs.kinds import Kinds

__all__ = ["Hasher"]

Features = Mapping[str, Any]
Entries = tuple[Ints, Floats, Bools]
Interactions = tuple[tuple[str, ...], ...]


class Hasher(hashing.Hasher):
    """Turns features with names into coordinates below 2^bits.

    ``interactions`` are tuples of names: a row that has all of them gets one more entry, whose
    coordinate is the hash of all parts and whose value is the product of their values. Which
    coordinate a name has depends on nothing else than ``bits``. With ``columns``, rows are as a log
    has them: cells become what the columns of the log became.

    >>> hasher = Hasher(bits=10, interactions=[("origin", "hour")])
    >>> hasher.row({"origin": "JFK", "hour": 17, "tail": None})
    (array([809, 597, 525]), array([ 1., 17., 17.]))
    >>> hasher.coordinate(("origin", "JFK")), hasher.coordinate("hour")
    (809, 597)
    >>> hasher.coordinate(("origin", "JFK"), "hour")
    525
    """

    def __init__(
        self,
        bits: int = 20,
        interactions: Iterable[Sequence[str]] = (),
        columns: Kinds | None = None,
    ) -> None:
        super().__init__(bits, checked_interactions(interactions), columns)

    def rows(self, many: Iterable[Features]) -> Rows:
        """Return many rows."""
        return Rows(*self.arrays_of(many))

    def table(self, columns: Mapping[str, Any]) -> Rows:
        """Return the rows of a table, the same as its dicts would give, column by column.

        Columns are arrays, lists, or those of a frame. NaN, None and masked values are missing.

        >>> Hasher(bits=10).table({"origin": ["JFK", None], "hour": [17, 18]})
        Rows(indptr=array([0, 2, 3]), indices=array([809, 597, 597]), values=array([ 1., 17., 18.]))
        """
        parts = {name: _Column(self, name, column) for name, column in columns.items()}
        lengths = {column.values.size for column in parts.values()}
        if len(lengths) > 1:
            raise BadFeatures(f"table: columns must have one length, got {sorted(lengths)}")
        together = [
            _together(self, [parts[name] for name in group])
            for group in self.interactions
            if all(name in parts for name in group)
        ]
        shape = (max(lengths, default=0), len(parts) + len(together))
        if shape[0]:  # all rows have the same names
            self.entries(dict.fromkeys(columns))
            self.rows_read += shape[0] - 1
        indices = np.zeros(shape, dtype=np.int64)
        values = np.zeros(shape)
        present = np.zeros(shape, dtype=np.bool_)
        for j, entries in enumerate([*(column.entries for column in parts.values()), *together]):
            indices[:, j], values[:, j], present[:, j] = entries
        indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
        return Rows(indptr, indices[present], values[present])

    def name_of(self, index: int) -> str | tuple[str, str] | int:
        """Return the name of a coordinate, (name, string) of a string, or itself without one.

        Of several names with one coordinate it is the first that came.

        >>> hasher = Hasher(bits=10)
        >>> indices, _ = hasher.row({"origin": "JFK", "hour": 17})
        >>> [hasher.name_of(index) for index in indices.tolist()], hasher.name_of(3)
        ([('origin', 'JFK'), 'hour'], 3)
        """
        text = self.names.get(index)
        if text is None:
            return index
        first, *others = hashing.parts_of(text)
        if others:
            return " * ".join("=".join(part) for part in [first, *others])
        return (first[0], first[1]) if len(first) > 1 else first[0]


class _Column:
    """A column taken apart: which of its words a row is, or its number, and whether it is there."""

    def __init__(self, hasher: Hasher, name: str, given: Any) -> None:
        if not isinstance(name, str):
            raise BadFeatures(f"table: names must be strings, got {name!r}")
        cells = cells_of(given, name)
        self.words: list[str | tuple[str, str]] = [*((name, word) for word in cells.words), name]
        """The hashed parts; the last one, also -1, stands for a number."""
        self.present = ~cells.missing
        if cells.codes is None:
            self.codes, self.values = np.full(cells.numbers.size, -1), cells.numbers
        else:
            self.codes, self.values = cells.codes, np.where(cells.codes < 0, cells.numbers, 1.0)
        index = np.array([hasher.remembered(word) for word in self.words], dtype=np.int64)
        self.entries: Entries = (index[self.codes], self.values, self.present)
        """Coordinates, values, and where there are any."""


def _together(hasher: Hasher, columns: list[_Column]) -> Entries:
    """Return the entries of an interaction; each combination of strings is hashed once."""
    present = np.logical_and.reduce([column.present for column in columns])
    value = np.ones(present.size)
    with np.errstate(over="ignore"):  # too large is said where rows are checked
        for column in columns:
            value *= np.where(present, column.values, 1.0)
    codes = np.stack([column.codes for column in columns], axis=1)[present]
    combinations, which = np.unique(codes, axis=0, return_inverse=True)
    index = np.array(
        [
            hasher.remembered(*(c.words[code] for c, code in zip(columns, row, strict=True)))
            for row in combinations.tolist()
        ],
        dtype=np.int64,
    )
    indices = np.zeros(present.size, dtype=np.int64)
    indices[present] = index[which.reshape(-1)] if index.size else 0
    return indices, value, present


def is_auto(given: Any) -> bool:
    """Tell whether pairs are to be found by the model."""
    return isinstance(given, str) and given == "auto"


def checked_interactions(given: Any) -> Interactions:
    """Return interactions as tuples of names, or say what is wrong with them."""
    try:
        groups = tuple(tuple(group) for group in given if not isinstance(group, str))
        whole = isinstance(given, str) or len(groups) != len(tuple(given))
    except TypeError:
        groups, whole = (), True
    if whole or any(len(g) < 2 or not all(isinstance(n, str) for n in g) for g in groups):
        raise SpecError(
            "LinearModel: interactions must be tuples of at least two names, such as "
            f"[('origin', 'hour')], () for none, or 'auto', got {given!r}"
        )
    return groups
