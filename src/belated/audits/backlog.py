"""The number of open tickets over time, in a fixed number of stretches of time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from belated.arrays import Array, Ints

MOST = 1024
"""Stretches of time."""


@dataclass
class Backlogs:
    """Largest and mean backlog by stretch of time; stretches grow as the log does.

    >>> backlogs = Backlogs()
    >>> backlogs.add(np.array([0.0, 1.0, 2.0]), np.array([0, 1, 2]))
    >>> len(backlogs.curves()[0])
    3
    """

    width: float = 0.0
    largest: Ints = field(default_factory=lambda: np.full(MOST, -1, dtype=np.int64))
    counts: Ints = field(default_factory=lambda: np.zeros(MOST, dtype=np.int64))
    sums: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(MOST))

    def add(self, times: Array, backlog: Ints) -> None:
        """Count predictions at times after the beginning of the log."""
        if not len(times):
            return
        self._reach(float(times.max()))
        places = np.minimum((times / self.width).astype(np.int64), MOST - 1)
        np.maximum.at(self.largest, places, backlog)
        self.counts += np.bincount(places, minlength=MOST)
        self.sums += np.bincount(places, weights=backlog, minlength=MOST)

    def _reach(self, end: float) -> None:
        """Make stretches longer, by twos, until they reach the end."""
        if self.width == 0.0:
            self.width = max(end, 1e-9) / (MOST - 1)
        while end >= self.width * MOST:
            self.width *= 2.0
            spare = MOST // 2
            self.largest = np.pad(
                self.largest.reshape(-1, 2).max(axis=1), (0, spare), constant_values=-1
            )
            self.counts = np.pad(self.counts.reshape(-1, 2).sum(axis=1), (0, spare))
            self.sums = np.pad(self.sums.reshape(-1, 2).sum(axis=1), (0, spare))

    def curves(self) -> tuple[Array, Array, Ints]:
        """Return middles of stretches with predictions, and mean and largest backlog there."""
        used = self.counts > 0
        middles = (np.flatnonzero(used) + 0.5) * self.width
        return middles, self.sums[used] / self.counts[used], self.largest[used]
