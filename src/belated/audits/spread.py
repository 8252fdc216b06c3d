"""How values are spread, in little memory: counts and sums in bins of about a thousandth.

The bins are those of the first eleven significant bits: whole numbers below 2048 have a bin of
their own, and every other number shares one with numbers that differ by less than 0.1 %.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from belated.arrays import Array, Floats, Ints

_SHIFT = 52 - 10
"""Bits of a float64 below the first eleven significant ones, of which the first is not stored."""
_LEAST = (1023 - 64) << 10
"""The bin of 2 ** -64, in which all smaller numbers are put, as if they were zero."""


@dataclass
class Spread:
    """Counts of positive numbers and zeros, and sums of something that comes with them.

    >>> spread = Spread()
    >>> spread.add(np.array([3.0, 1.0, 0.0, 7.0]), np.array([30.0, 10.0, 0.0, 70.0]))
    >>> spread.count, spread.largest, spread.quantile(0.5)
    (4, 7.0, 1.0)
    >>> spread.add(np.full(9, 3.5), np.zeros(9))
    >>> round(spread.quantile(0.5), 2)
    3.5
    """

    first: int = 0
    counts: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    sums: Floats = field(default_factory=lambda: np.zeros(0))
    largest: float = 0.0
    total: float = 0.0
    are_whole: bool = True

    @property
    def count(self) -> int:
        """How many values there are."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """The mean of all values."""
        return self.total / self.count if self.count else 0.0

    def add(self, values: Array, parts: Array) -> None:
        """Count values that are not negative; ``parts`` are summed beside them."""
        if not len(values):
            return
        exact = np.asarray(values, dtype=np.float64)
        keys = np.maximum(exact.view(np.int64) >> _SHIFT, _LEAST)
        self._reach(int(keys.min()), int(keys.max()))
        size = len(self.counts)
        self.counts += np.bincount(keys - self.first, minlength=size)
        self.sums += np.bincount(keys - self.first, weights=parts, minlength=size)
        self.largest = max(self.largest, float(exact.max()))
        self.are_whole = self.are_whole and bool((exact == np.floor(exact)).all())
        self.total += float(exact.sum())

    def _reach(self, low: int, high: int) -> None:
        """Make room for bins from low to high."""
        if not len(self.counts):
            self.first = low
        before = max(0, self.first - low)
        after = max(0, high + 1 - self.first - len(self.counts))
        if before or after:
            self.counts = np.pad(self.counts, (before, after))
            self.sums = np.pad(self.sums, (before, after))
            self.first -= before

    @property
    def edges(self) -> Floats:
        """The largest value that each bin can hold, but none above the largest there is."""
        keys = np.arange(self.first + 1, self.first + 1 + len(self.counts))
        below = np.nextafter((keys << _SHIFT).view(np.float64), 0.0)
        return np.minimum(np.where(keys - 1 == _LEAST, 0.0, below), self.largest)

    def quantile(self, share: float) -> float:
        """Return a value that this share of all values does not exceed, to 0.1 %.

        Where all of them are whole, that is the last whole number in its bin.
        """
        if not self.count:
            return 0.0
        place = int(np.searchsorted(np.cumsum(self.counts), share * self.count, side="left"))
        edge = float(self.edges[place])
        return float(np.floor(edge)) if self.are_whole else edge

    def filled(self) -> tuple[Floats, Ints, Floats]:
        """Return edges, counts and sums of the bins that are not empty."""
        used = self.counts > 0
        return self.edges[used], self.counts[used], self.sums[used]
