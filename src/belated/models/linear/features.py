"""From names and values to coordinates: the hashing trick.

A number named ``name`` has the coordinate hash(name); a string has hash(name, separator, string)
and the value 1. The hash is XXH64 with seed 0 (https://xxhash.com), of UTF-8 text,
modulo 2^bits; see ``core.hashing``, which has all that one row needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.arrays import Floats, Ints
from belated.core import hashing
from belated.errors import BadFeatures, SpecError
from belated.models.linear.rows import Rows

if TYPE_CHECKING:
    from belated.logs.kinds import Kinds

__all__ = ["Hasher"]

Features = Mapping[str, Any]
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

    def table(
        self, columns: Mapping[str, ArrayLike], *, nan: Literal["refuse", "skip"] = "refuse"
    ) -> Rows:
        """Return the rows of a table, the same as its dicts would give, column by column.

        None and masked values are missing. NaN is refused, or with ``nan="skip"`` missing too.

        >>> Hasher(bits=10).table({"origin": ["JFK", None], "hour": [17, 18]})
        Rows(indptr=array([0, 2, 3]), indices=array([809, 597, 597]), values=array([ 1., 17., 18.]))
        """
        parts = {name: _Column(self, name, values, nan) for name, values in columns.items()}
        lengths = {column.present.size for column in parts.values()}
        if len(lengths) > 1:
            raise BadFeatures(f"table: columns must have one length, got {sorted(lengths)}")
        shape = (max(lengths, default=0), len(parts) + len(self.interactions))
        indices = np.zeros(shape, dtype=np.int64)
        values = np.zeros(shape)
        present = np.zeros(shape, dtype=np.bool_)
        for j, column in enumerate(parts.values()):
            indices[:, j], values[:, j], present[:, j] = column.entries()
        for j, group in enumerate(self.interactions, start=len(parts)):
            if all(name in parts for name in group):
                together = _together(self, [parts[name] for name in group])
                indices[:, j], values[:, j], present[:, j] = together
        indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
        return Rows(indptr, indices[present], values[present])


class _Column:
    """A column taken apart: for each row a code for its string (or for a number), and its value."""

    def __init__(self, hasher: Hasher, name: str, given: ArrayLike, nan: str) -> None:
        if not isinstance(name, str):
            raise BadFeatures(f"table: names must be strings, got {name!r}")
        self.name = name
        self.hasher = hasher
        self.words: list[str | None] = [None]  # code 0 stands for a number
        column = given if isinstance(given, np.ma.MaskedArray) else np.asarray(given, _kind(given))
        if column.ndim != 1:
            raise BadFeatures(f"table: column {name!r} must have one dimension, got {column.shape}")
        self.present = ~np.ma.getmaskarray(column)
        plain = np.ma.getdata(column)
        if plain.dtype.kind in "fiub":
            self.values = plain.astype(np.float64)
            self.codes = np.zeros(plain.size, dtype=np.int64)
        else:
            self._read_objects(plain.astype(object))
        if nan == "skip":
            self.present &= ~np.isnan(self.values)
        elif np.isnan(self.values[self.present]).any():
            row = int(np.argmax(np.isnan(self.values) & self.present))
            raise BadFeatures(
                f"table: column {name!r} is NaN in row {row}; leave it out, or use nan='skip'"
            )

    def _read_objects(self, plain: NDArray[Any]) -> None:
        self.values = np.ones(plain.size)
        self.codes = np.zeros(plain.size, dtype=np.int64)
        known: dict[str, int] = {}
        for row, value in enumerate(plain.tolist()):
            if isinstance(value, str):
                code = known.get(value)
                if code is None:
                    code = known[value] = len(self.words)
                    self.words.append(str(value))
                self.codes[row] = code
            else:
                self.present[row] &= value is not None
                self.values[row] = 0.0 if value is None else hashing.to_number(self.name, value)

    def part(self, code: int) -> str | tuple[str, str]:
        """Return what is hashed."""
        word = self.words[code]
        return self.name if word is None else (self.name, word)

    def entries(self) -> tuple[Ints, Floats, NDArray[np.bool_]]:
        """Return coordinates, values, and where there are any."""
        index = np.zeros(len(self.words), dtype=np.int64)
        for code in np.unique(self.codes[self.present]).tolist():
            index[code] = self.hasher.coordinate(self.part(code))
        return index[self.codes], self.values, self.present


def _together(hasher: Hasher, columns: list[_Column]) -> tuple[Ints, Floats, NDArray[np.bool_]]:
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
            hasher.coordinate(*(c.part(code) for c, code in zip(columns, row, strict=True)))
            for row in combinations.tolist()
        ],
        dtype=np.int64,
    )
    indices = np.zeros(present.size, dtype=np.int64)
    indices[present] = index[which.reshape(-1)] if index.size else 0
    return indices, value, present


def _kind(given: ArrayLike) -> Any:
    """Return the dtype to read a column with: lists may mix strings, numbers and None."""
    return None if hasattr(given, "dtype") else object if _is_mixed(given) else None


def _is_mixed(given: Any) -> bool:
    return any(isinstance(value, str) or value is None for value in given)


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
            f"[('origin', 'hour')], got {given!r}"
        )
    return groups
