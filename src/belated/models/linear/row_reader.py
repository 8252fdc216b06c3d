"""Features as users give them, as the indices and values that the core takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.arrays import Floats, Ints
from belated.core.linear import NAMED, PLACED
from belated.errors import BadFeatures
from belated.frames import AnyFrame, Frame, each_row, is_frame
from belated.limits import HUGE_VALUE
from belated.models.linear.features import Features, Hasher
from belated.models.linear.rows import Rows, from_arrays, from_dense
from belated.models.linear.settings import Settings
from belated.scalars import plain
from belated.validation import numbers, whole

_NONE = np.empty(0)
_FLOAT = np.dtype(np.float64)

Row = Features | tuple[ArrayLike, ArrayLike] | ArrayLike
Many = tuple[ArrayLike, ArrayLike, ArrayLike] | NDArray[Any] | Sequence[Row] | AnyFrame
"""Sparse rows, a matrix, a list of rows, or a frame of pandas, polars or pyarrow."""
Entries = tuple[Ints, Floats, int]
"""Indices, values, and how many of them count."""


class GivenRows:
    """The reader that turns rows into entries, or says what is wrong with them."""

    __slots__ = ("_coordinates", "_positions", "hasher", "kind")

    def __init__(self, settings: Settings) -> None:
        self._coordinates = 1 << settings.bits
        self._positions: Ints = np.arange(64, dtype=np.int64)
        self.hasher = Hasher(settings.bits, settings.products, settings.columns)
        self.kind = 0
        """Whether the latest rows were NAMED or PLACED; 0: neither, as there were none."""

    def row(self, features: Any) -> Entries:
        """Return the entries of a row."""
        if features.__class__ is np.ndarray and features.dtype is _FLOAT and features.flags.carray:
            values = features
        elif isinstance(features, Mapping):
            return self.hasher.entries(features)
        elif isinstance(features, tuple):
            return _pair(features)
        else:
            values = numbers(features, "features: a vector must be numbers", BadFeatures)
        if values.ndim != 1:
            raise BadFeatures(
                "features: a row is a dict, a pair (indices, values) or a vector; got shape "
                f"{values.shape}"
            )
        if values.size > self._positions.size:
            self._positions = np.arange(2 * values.size, dtype=np.int64)
        return self._positions, values, values.size

    def rows(self, given: Any, who: str) -> Rows:
        """Return many rows, checked."""
        sparse: Rows
        self.kind = 0 if isinstance(given, Rows) else PLACED  # those of a hasher have had names
        if isinstance(given, tuple):
            sparse = from_arrays(given, who)
        elif isinstance(given, np.ndarray):
            sparse = from_dense(given, who)
        elif isinstance(given, Frame) or is_frame(given):
            given = given if isinstance(given, Frame) else Frame(given, who)
            sparse = self._framed(given, who)
        else:
            sparse = self._listed(each_row(given), who)
        indices, values = sparse.indices, sparse.values
        self.kind = self.kind if indices.size else 0
        if not (  # without arrays as long as all rows; NaN is in no range
            0 <= indices.min(initial=0) <= indices.max(initial=0) < self._coordinates
            and values.min(initial=0.0) >= -HUGE_VALUE
            and values.max(initial=0.0) <= HUGE_VALUE
        ):
            good = (indices >= 0) & (indices < self._coordinates) & (np.abs(values) <= HUGE_VALUE)
            place = int(np.argmin(good))
            row = int(np.searchsorted(sparse.indptr, place, side="right")) - 1
            index, value = sparse.indices[place], sparse.values[place]
            features = next(islice(given.dicts(), row, None)) if isinstance(given, Frame) else ()
            name = self._name(features, float(value))
            where = f"row {row}" if name is None else f"row {row}, column {name}"
            raise BadFeatures(f"{who}: {where}: {self._why(int(index), float(value))}")
        return sparse

    def refusal(self, features: Row, place: int, index: int, value: float, who: str) -> BadFeatures:
        """Return what is wrong with an entry of a row."""
        name = self._name(features, value) or f"entry {place}"
        return BadFeatures(f"{who}: {name}: {self._why(index, value)}; nothing has changed")

    def _listed(self, given: Any, who: str) -> Rows:
        """Return the rows of a list."""
        if isinstance(given, Mapping | str) or not isinstance(given, Iterable):
            raise BadFeatures(
                f"{who}: rows are (indptr, indices, values), a matrix, a frame, or a list of rows; "
                f"got {type(given).__name__}"
            )
        parts, self.kind = [], 0
        for position, row in enumerate(given):
            self.kind |= NAMED if isinstance(row, Mapping) else PLACED
            if self.kind == NAMED | PLACED:
                raise BadFeatures(
                    f"{who}: row {position}: some rows have named features, and others have places"
                )
            try:
                indices, values, count = self.row(row)
            except BadFeatures as error:
                raise BadFeatures(f"{who}: row {position}: {error}") from error
            parts.append((indices[:count].copy(), values[:count].copy()))
        lengths = [0, *(part[0].size for part in parts)]
        return Rows(
            np.cumsum(lengths, dtype=np.int64),
            np.concatenate([np.empty(0, dtype=np.int64), *(part[0] for part in parts)]),
            np.concatenate([np.empty(0), *(part[1] for part in parts)]),
        )

    def _framed(self, frame: Frame, who: str) -> Rows:
        """Return the rows of a frame, the same as its dicts would give."""
        self.kind = NAMED
        if self.hasher.columns is not None:  # rows as the log has them
            return self._listed(frame.dicts(), who)
        if not frame.columns:
            return Rows(np.zeros(frame.height + 1, dtype=np.int64), np.empty(0, np.int64), _NONE)
        try:
            return self.hasher.table(frame.columns)
        except BadFeatures as error:
            raise BadFeatures(f"{who}: {error}; nothing has changed") from None

    def _why(self, index: int, value: float) -> str:
        """Say why an entry cannot be used, and what to do."""
        if not 0 <= index < self._coordinates:
            return (
                f"index {index} must be from 0 to {self._coordinates - 1}; raise bits, or take it "
                "modulo 2^bits"
            )
        if np.isfinite(value):
            return f"value {value!r} is too large to compute with ({HUGE_VALUE:g}); rescale it"
        return f"value {value!r} is not finite; leave the feature out where it is not known"

    def _name(self, features: Any, value: float) -> str | None:
        """Return the name of the feature with a value that cannot be used, if it has one."""
        if isinstance(features, Mapping):
            for name, given in self.hasher.named(features).items():
                if repr(plain(given)) == repr(value):
                    return repr(name)
        return None


def _pair(features: tuple[Any, ...]) -> Entries:
    if len(features) != 2:
        raise BadFeatures(
            f"features: a tuple is a pair (indices, values), got {len(features)} parts; a vector "
            "is a list or an array"
        )
    indices = whole(features[0], "features: indices must be whole numbers", BadFeatures)
    values = numbers(features[1], "features: values must be numbers", BadFeatures)
    if indices.ndim != 1 or indices.shape != values.shape:
        raise BadFeatures(
            "features: indices and values must have one dimension and one length, got shapes "
            f"{indices.shape} and {values.shape}; a vector is a list or an array"
        )
    return indices, values, indices.size
