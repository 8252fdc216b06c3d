"""From names and values to coordinates: the hashing trick.

A number named ``name`` has the coordinate hash(name); a string has hash(name, separator, string)
and the value 1. The hash is XXH3 with 64 bits and seed 0 (https://xxhash.com), of UTF-8 text,
modulo 2^bits.
"""

from __future__ import annotations

import numbers as abstract
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.arrays import Floats, Ints
from belated.errors import BadFeatures, MissingExtra, SpecError
from belated.linear.rows import Rows

if TYPE_CHECKING:
    from belated.logs.kinds import Kinds

__all__ = ["Hasher"]

BETWEEN = "\x1f"
"""Stands between a name and its string (the ASCII unit separator)."""
AND = "\x1e"
"""Stands between the parts of an interaction (the ASCII record separator)."""
REMEMBERED = 1 << 17
"""Coordinates that are remembered by name; then all are forgotten."""

_NEW: Any = object()
_EXACT = 1 << 53  # whole numbers below are floats without any rounding

Features = Mapping[str, Any]
Interactions = tuple[tuple[str, ...], ...]


def _digest() -> Callable[[bytes], int]:
    try:
        import xxhash
    except ImportError:
        raise MissingExtra("xxhash", extra="hashing", where="hashing features by name") from None
    return cast("Callable[[bytes], int]", xxhash.xxh3_64_intdigest)


class Hasher:
    """Turns features with names into coordinates below 2^bits.

    ``interactions`` are tuples of names: a row that has all of them gets one more entry, whose
    coordinate is the hash of all parts and whose value is the product of their values. Which
    coordinate a name has depends on nothing else than ``bits``.

    >>> hasher = Hasher(bits=10, interactions=[("origin", "hour")])
    >>> hasher.row({"origin": "JFK", "hour": 17, "tail": None})
    (array([597, 596, 599]), array([ 1., 17., 17.]))
    """

    def __init__(self, bits: int = 20, interactions: Iterable[Sequence[str]] = ()) -> None:
        self.bits = bits
        self.interactions = checked_interactions(interactions)
        self._mask = (1 << bits) - 1
        self._hash: Callable[[bytes], int] | None = None
        self._grow(64)
        self._names: dict[str, int] = {}
        self._strings: dict[str, dict[str, int]] = {}
        self._joint: dict[tuple[str | None, ...], int] = {}
        self._alike: dict[tuple[str, ...], tuple[Ints, Callable[..., None], int] | None] = {}
        self._known = 0

    def _grow(self, size: int) -> None:
        """Make the two arrays into which rows are written; the views of them are fast to write.

        Between the assignments no call is made, so that an interrupt comes before all or after all.
        """
        indices: Ints = np.zeros(size, dtype=np.int64)
        values: Floats = np.zeros(size)
        to_indices: Any = memoryview(cast(Any, indices))
        to_values: Any = memoryview(cast(Any, values))
        self.indices, self.values = indices, values
        self._to_indices, self._to_values = to_indices, to_values

    def coordinate(self, *parts: str | tuple[str, str]) -> int:
        """Return the coordinate of a name, of a name with a string, or of several such parts.

        >>> hasher = Hasher(bits=10)
        >>> hasher.coordinate("hour"), hasher.coordinate(("origin", "JFK"))
        (596, 597)
        >>> hasher.coordinate(("origin", "JFK"), "hour")
        599
        """
        if self._hash is None:
            self._hash = _digest()
        text = AND.join(p if isinstance(p, str) else p[0] + BETWEEN + p[1] for p in parts)
        return self._hash(text.encode("utf-8", "surrogatepass")) & self._mask

    def named(self, features: Features) -> Features:
        """Return what is hashed of a dict: itself."""
        return features

    def row(self, features: Features) -> tuple[Ints, Floats]:
        """Return coordinates and values of one row, in the order of its names."""
        indices, values, count = self.entries(features)
        return indices[:count].copy(), values[:count].copy()

    def entries(self, features: Features) -> tuple[Ints, Floats, int]:
        """Return two arrays that begin with a row, and its length; the next row overwrites them."""
        names = tuple(features)
        alike = self._alike.get(names, _NEW)
        if alike is _NEW:
            return self._first(names, features)
        if alike is not None:
            indices, write, count = alike
            try:
                write(self._to_values, 0, *features.values())
            except struct.error:
                self._alike[names] = None
            else:
                return indices, self.values, count
        return self.indices, self.values, self._fill(features)

    def _first(self, names: tuple[str, ...], features: Features) -> tuple[Ints, Floats, int]:
        """Return a row with new names; if it is all numbers, the next ones will be quicker."""
        count = self._fill(features)
        self._remember(len(names))
        plain = all(value.__class__ is float for value in features.values())
        if plain and not self.interactions:
            write = struct.Struct(f"{count}d").pack_into
            self._alike[names] = self.indices[:count].copy(), write, count
        else:
            self._alike[names] = None
        return self.indices, self.values, count

    def _fill(self, features: Features) -> int:
        """Write a row to the start of ``indices`` and ``values``, and return its length."""
        room = len(features) + len(self.interactions)
        if room > self.indices.size:
            self._grow(2 * room)
        indices, values = self._to_indices, self._to_values
        names, strings = self._names, self._strings
        j = 0
        for name, value in features.items():
            kind = value.__class__
            try:
                if kind is str:
                    indices[j] = strings[name][value]
                    values[j] = 1.0
                elif kind is float or (kind is int and -_EXACT < value < _EXACT):
                    indices[j] = names[name]
                    values[j] = value
                else:
                    number = self._number(name, value)
                    if number is None:
                        continue
                    indices[j] = names[name]
                    values[j] = number
            except KeyError:
                indices[j], values[j] = self._learned(name, value)
            j += 1
        for group in self.interactions:
            pair = self._interaction(group, features)
            if pair is not None:
                indices[j], values[j] = pair
                j += 1
        return j

    def _number(self, name: str, value: Any) -> float | None:
        """Return a value that is neither a str nor a float as a number; None: there is none."""
        if value is None:
            return None
        if isinstance(value, str):
            raise KeyError(name)  # a subclass of str, which ``_learned`` knows what to do with
        if isinstance(value, float | int | abstract.Real | np.bool_):
            try:
                return float(value)
            except OverflowError:
                raise BadFeatures(f"features: {name!r} is too large, got {value!r}") from None
        raise BadFeatures(f"features: {name!r} must be a number, a string or None, got {value!r}")

    def _learned(self, name: str, value: Any) -> tuple[int, float]:
        """Return coordinate and value of a feature that was not remembered, and remember it."""
        if not isinstance(name, str):
            raise BadFeatures(f"features: names must be strings, got {name!r}")
        self._remember(1)
        if isinstance(value, str):
            text = str(value)
            index = self.coordinate((str(name), text))
            self._strings.setdefault(name, {})[text] = index
            return index, 1.0
        number = self._number(name, value)
        assert number is not None  # None is left out before
        index = self._names[name] = self.coordinate(str(name))
        return index, number

    def _remember(self, count: int) -> None:
        """Count what is remembered, and forget everything when it is too much."""
        if self._known + count > REMEMBERED:
            # In place, since ``_fill`` holds on to them.
            self._names.clear()
            self._strings.clear()
            self._joint.clear()
            self._alike.clear()
            self._known = 0
        self._known += count

    def _interaction(self, names: tuple[str, ...], features: Features) -> tuple[int, float] | None:
        """Return coordinate and value of an interaction, or None where a part is missing."""
        product = 1.0
        key: list[str | None] = [*names]
        for name in names:
            value = features.get(name)
            if value is None:
                return None
            if isinstance(value, str):
                key.append(str(value))
            else:
                number = self._number(name, value)
                assert number is not None
                key.append(None)
                product *= number
        known = tuple(key)
        index = self._joint.get(known)
        if index is None:
            self._remember(1)
            strings = key[len(names) :]
            index = self._joint[known] = self.coordinate(
                *(n if t is None else (n, t) for n, t in zip(names, strings, strict=True))
            )
        return index, product

    def rows(self, many: Iterable[Features]) -> Rows:
        """Return many rows."""
        indptr, indices, values = [0], [], []
        for features in many:
            row = self.row(features)
            indices.append(row[0])
            values.append(row[1])
            indptr.append(indptr[-1] + row[0].size)
        return Rows(
            np.array(indptr, dtype=np.int64),
            np.concatenate([np.empty(0, dtype=np.int64), *indices]),
            np.concatenate([np.empty(0), *values]),
        )

    def table(
        self, columns: Mapping[str, ArrayLike], *, nan: Literal["refuse", "skip"] = "refuse"
    ) -> Rows:
        """Return the rows of a table, the same as its dicts would give, column by column.

        None and masked values are missing. NaN is refused, or with ``nan="skip"`` missing too.

        >>> Hasher(bits=10).table({"origin": ["JFK", None], "hour": [17, 18]})
        Rows(indptr=array([0, 2, 3]), indices=array([597, 596, 596]), values=array([ 1., 17., 18.]))
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


class ReadingHasher(Hasher):
    """A hasher of rows as a log has them: cells become what the columns of the log became."""

    def __init__(self, bits: int, interactions: Iterable[Sequence[str]], columns: Kinds) -> None:
        super().__init__(bits, interactions)
        self.columns = columns

    def named(self, features: Features) -> Features:
        """Return the features that a row becomes."""
        return self.columns.row(features)

    def entries(self, features: Features) -> tuple[Ints, Floats, int]:
        """Return two arrays that begin with a row, and its length; the next row overwrites them."""
        return super().entries(self.columns.row(features))


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
                number = self.hasher._number(self.name, value)
                self.present[row] &= number is not None
                self.values[row] = 0.0 if number is None else number

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
