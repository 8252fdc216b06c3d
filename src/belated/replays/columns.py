"""Columns of numbers that may be larger than memory, and statistics of them part by part."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from belated.arrays import Array, Floats, Ints
from belated.errors import LogError

PART = 1 << 20
"""Rows of a column that are in memory at once."""
SAMPLE = 1 << 16
"""Values that ranges of values are cut by."""


class Column:
    """Numbers by row: in memory while there are few, and then in a temporary file.

    >>> column = Column()
    >>> column.append([1.0, 2.0, 4.0])
    >>> len(column), column[1:3].tolist()
    (3, [2.0, 4.0])
    """

    def __init__(self, dtype: Any = np.float64) -> None:
        self.dtype = np.dtype(dtype)
        self._file = tempfile.SpooledTemporaryFile(max_size=8 * PART)  # noqa: SIM115
        self._count = 0

    def __del__(self) -> None:
        """Delete the file."""
        self._file.close()

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._count

    def append(self, values: Any) -> None:
        """Add rows at the end."""
        array = np.ascontiguousarray(values, dtype=self.dtype)
        try:
            self._file.seek(0, 2)
            self._file.write(array.tobytes())
        except OSError as error:
            raise LogError(
                f"replay: a temporary file cannot be written ({error}); free some space, or name "
                "another folder with TMPDIR"
            ) from error
        self._count += len(array)

    def __getitem__(self, rows: slice) -> Array:
        """Return consecutive rows."""
        start, end, _ = rows.indices(self._count)
        self._file.seek(start * self.dtype.itemsize)
        found = self._file.read(max(end - start, 0) * self.dtype.itemsize)
        return np.frombuffer(bytearray(found), dtype=self.dtype)


Numbers: TypeAlias = Array | Column


def parts(*columns: Numbers, start: int = 0) -> Iterator[tuple[Array, ...]]:
    """Yield consecutive rows of columns of one length."""
    for first in range(start, len(columns[0]), PART):
        yield tuple(column[first : first + PART] for column in columns)


def total(of: Callable[..., Array], *columns: Numbers, start: int = 0) -> float:
    """Return the sum of what a function makes of columns, added part by part.

    >>> total(np.multiply, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    sums = [float(np.sum(of(*part))) for part in parts(*columns, start=start)]
    found = sums[0] if sums else 0.0
    for more in sums[1:]:
        found += more
    return found


def sums_between(cuts: Ints, values: Iterable[Array]) -> Floats:
    """Return the sums of consecutive values from each cut to the next one.

    >>> sums_between(np.array([0, 1, 4]), [np.array([1.0, 2.0]), np.array([3.0, 4.0])])
    array([1., 9.])
    """
    found, start = np.zeros(len(cuts) - 1), 0
    for part in values:
        inside = np.clip(cuts - start, 0, len(part))
        used = inside[:-1] < inside[1:]
        if used.any():
            found[used] += np.add.reduceat(part, inside[:-1][used])
        start += len(part)
    return found


def at_ranks(values: Numbers, ranks: Sequence[int] | Ints) -> Floats:
    """Return what a sort would put at these places, without a sort of all values at once.

    >>> at_ranks(np.array([5.0, 1.0, 3.0]), [0, 2])
    array([1., 5.])
    """
    places = np.asarray(ranks, dtype=np.int64)
    if len(values) <= PART:
        return np.sort(values[:])[places]
    cuts, ends = _ranges(values)
    codes = np.searchsorted(ends, places, side="right")
    found = np.empty(len(places))
    for code in np.unique(codes).tolist():
        numbers, counts = _gathered(values, cuts, code)
        mine = codes == code
        inside = places[mine] - (ends[code - 1] if code else 0)
        found[mine] = numbers[np.searchsorted(np.cumsum(counts), inside, side="right")]
    return found


def _ranges(values: Numbers) -> tuple[Floats, Ints]:
    """Return cuts between ranges of values, and how many values each range ends with."""
    step = len(values) // SAMPLE + 1
    sample = np.concatenate([part[::step] for (part,) in parts(values)])
    cuts = np.unique(np.sort(sample)[:: max(1, len(sample) // 256)])
    counts = np.zeros(len(cuts) + 1, dtype=np.int64)
    for (part,) in parts(values):
        counts += np.bincount(np.searchsorted(cuts, part), minlength=len(counts))
    return cuts, np.cumsum(counts)


def _gathered(values: Numbers, cuts: Floats, code: int) -> tuple[Floats, Ints]:
    """Return the different values of one range in order, and how often each one is there."""
    low = cuts[code - 1] if code else -np.inf
    high = cuts[code] if code < len(cuts) else np.inf
    found = [
        np.unique(part[(part > low) & (part <= high)], return_counts=True)
        for (part,) in parts(values)
    ]
    numbers, places = np.unique(np.concatenate([each[0] for each in found]), return_inverse=True)
    counts = np.bincount(places, np.concatenate([each[1] for each in found]))
    return numbers, counts.astype(np.int64)


def quantiles(values: Numbers, shares: Sequence[float] | Floats) -> Floats:
    """Return the least values that are at least as large as these shares of all others.

    They are those of ``np.quantile(..., method="higher")``.
    """
    return at_ranks(values, np.ceil((len(values) - 1) * np.asarray(shares)).astype(np.int64))


def pairs_won(values: Numbers, labels: Numbers, weights: Numbers) -> tuple[float, float, float]:
    """Return the weight of labels above 0, of others, and of pairs where those have more value.

    Equal values count half. Values are sorted range by range.
    """
    yes_sum = no_sum = won = 0.0
    count = -(-len(values) // PART)
    ends = at_ranks(values, [len(values) * i // count for i in range(1, count)])
    low = -np.inf
    for high in [*np.unique(ends).tolist(), np.inf]:
        found = [
            (part[inside], weight[inside], label[inside] > 0.0)
            for part, label, weight in parts(values, labels, weights)
            if (inside := (part > low) & (part <= high)).any()
        ]
        low = high
        if not found:
            continue
        numbers, weight, flag = (np.concatenate(each) for each in zip(*found, strict=True))
        _, places = np.unique(numbers, return_inverse=True)
        yes, no = np.bincount(places, weight * flag), np.bincount(places, weight * ~flag)
        won += float(np.sum(yes * (no_sum + np.cumsum(no) - 0.5 * no)))
        yes_sum, no_sum = yes_sum + float(np.sum(yes)), no_sum + float(np.sum(no))
    return yes_sum, no_sum, won


class Texts:
    """Texts by row in a temporary file."""

    def __init__(self) -> None:
        self._ends, self._bytes = Column(np.int64), Column(np.uint8)

    def append(self, texts: Iterable[str]) -> None:
        """Add rows at the end."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        self._ends.append(len(self._bytes) + np.cumsum([len(text) for text in encoded]))
        self._bytes.append(np.frombuffer(b"".join(encoded), dtype=np.uint8))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._ends)

    def __getitem__(self, rows: slice) -> list[str]:
        """Return consecutive rows."""
        start, end, _ = rows.indices(len(self))
        cuts = [*(self._ends[start - 1 : start] if start else [0]), *self._ends[start:end]]
        data = self._bytes[int(cuts[0]) : int(cuts[-1])].tobytes()
        return [
            data[a - cuts[0] : b - cuts[0]].decode("utf-8", "surrogatepass")
            for a, b in pairwise(cuts)
        ]
