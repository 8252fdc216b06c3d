"""The arrays of a linear model, and how they grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from belated.arrays import Floats, Ints
from belated.kernels.linear import layout as lm
from belated.kernels.slots import ints as N
from belated.learner.program import capacity_of, resized
from belated.linear.settings import Settings

_POOL = 256  # pairs that the pool has room for at the start


@dataclass
class Store:
    """``f``, ``n``, ``c`` and ``pool``; see ``belated.kernels.linear.layout``."""

    f: Floats
    n: Ints
    c: Floats
    pool: Floats

    @classmethod
    def fresh(cls, settings: Settings) -> Self:
        """Return the arrays of a model that has seen nothing."""
        f, n = settings.fresh()
        return cls(f, n, coordinates(1 << settings.bits), np.zeros(2 * _POOL))

    @property
    def arrays(self) -> tuple[Floats, Ints, Floats, Floats]:
        """All four, as every entry takes them."""
        return self.f, self.n, self.c, self.pool

    def make_room(self, entries: int) -> None:
        """Let grow whatever has no room for one more ticket with so many entries."""
        n = self.n
        room = (int(n[N.KEPT_AT]) - lm.HEADER) // lm.SCALES
        if entries > room:
            self._widen(2 * entries)
        pairs = int(n[N.POOL_LIVE]) + entries
        if 4 * pairs > self.pool.size:
            pool = np.zeros(2 << (4 * pairs).bit_length())
            used = 2 * int(n[N.POOL_TAIL])
            pool[:used] = self.pool[:used]
            self.pool = pool
        known = int(n[N.ROUNDS] - n[N.ARRIVED] + n[N.GHOSTS])
        if 2 * known > capacity_of(n):
            self.f, self.n = resized(self.f, self.n, 2 * capacity_of(n))

    def _widen(self, entries: int) -> None:
        """Make the passing work, between parameters and what is kept per ticket, longer."""
        begin, kept = lm.HEADER, int(self.n[N.KEPT_AT])
        work = np.zeros(lm.SCALES * entries)
        self.f = np.concatenate([self.f[:begin], work, self.f[kept:]])
        self.n[N.KEPT_AT] = begin + work.size


def coordinates(count: int) -> Floats:
    """Return zeros for so many coordinates and the bias; memory is taken as they are first seen."""
    return np.zeros(lm.ROW * (count + 1))


def rows_of(c: Floats) -> Floats:
    """Return a view of the coordinates, one row each."""
    return c.reshape(-1, lm.ROW)
