"""The memory of a linear model, and how it grows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from belated.arrays import Floats, Ints
from belated.kernels.linear import layout as lm
from belated.kernels.memory import PARTS as OF_TICKETS
from belated.kernels.memory import Memory, aligned, aligned_zeros
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.kernels.slots import table as T
from belated.linear import sound
from belated.linear.coordinates import Coordinates, narrowed
from belated.linear.settings import WORK, Settings
from belated.linear.timed import TimedMemory

PARTS = {**OF_TICKETS, "pairs": "<f8", "seen": "<i8", "rows": "<i8"}
"""Names and types of the arrays that ``ModelMemory.parts`` returns."""

_POOL = 256  # pairs that the pool has room for at the start


class ModelMemory(TimedMemory):
    """``f``, ``n``, ``c`` and ``pool``; see ``belated.kernels.linear.layout``."""

    __slots__ = ("c", "pool")

    def __init__(self, settings: Settings, memory: Memory) -> None:
        super().__init__(memory.f, memory.n)
        rows = (1 << settings.bits) + 1 + lm.SPARE
        self.c: Ints = aligned_zeros(lm.ROW * rows).view(np.int64)
        self.pool: Floats = np.zeros(2 * _POOL)

    @property
    def arrays(self) -> tuple[Floats, Ints, Ints, Floats]:
        """All four, as every entry takes them."""
        return self.f, self.n, self.c, self.pool

    @property
    def rows(self) -> Ints:
        """A view of the coordinates as they are kept, one row each; the last is the bias."""
        return self.c.reshape(-1, lm.ROW)[: -lm.SPARE]

    def coordinates(self, indices: Ints | slice = slice(None)) -> Coordinates:
        """Return what is known of coordinates."""
        return Coordinates.of(self.rows[indices])

    def put_scales(self, indices: Ints, weights: Floats, energies: Floats) -> None:
        """Put weights and energies of the scales in the place of those that coordinates have."""
        words = self.c.view(np.uint32).reshape(-1, lm.WORDS)
        words[indices, lm.WEIGHT : lm.WEIGHT + lm.SCALES] = narrowed(weights)
        words[indices, lm.ENERGY : lm.ENERGY + lm.ENERGIES] = narrowed(energies)

    @property
    def shares(self) -> list[float]:
        """How much each expert counts."""
        return [float(share) for share in self.f[lm.SHARE : lm.SHARE + lm.EXPERTS]]

    @property
    def mean_loss(self) -> float | None:
        """Mean loss of the predictions as they were issued; None before the first label."""
        scored = float(self.f[lm.SCORED])
        return float(self.f[lm.LOST]) / scored if scored else None

    @property
    def spread(self) -> float:
        """Standard deviation of the labels so far, as they were learned; 0 before the first."""
        counted, spread = self.f.item(lm.COUNT), self.f.item(lm.SPREAD)
        return math.sqrt(spread / counted) if counted > 0.0 and spread > 0.0 else 0.0

    def label_counts(self) -> dict[str, int]:
        """Return what reports say, by the name of the field."""
        n, counts = self.n, self.counts()
        counts["skipped"] -= int(n[N.HEARD])
        return counts | {
            "settled": int(n[N.SETTLED]),
            "corrected": int(n[N.CORRECTED]),
            "tamed": int(self.f[lm.TAMED]),
        }

    def kinds(self) -> Floats:
        """Return labels, how many came, the sum of their ages and the largest; none if too many."""
        count = int(self.f[lm.KINDS])
        table = self.f[lm.OF_KINDS : lm.AGES].reshape(-1, lm.OF_KIND)
        return table[: count if count <= lm.MOST_KINDS else 0]

    def weights(self, indices: Ints) -> Floats:
        """Return the weights of coordinates, as the experts are mixed now."""
        known = self.coordinates(indices)
        of_experts = np.column_stack([known.weights, known.coin, known.average])
        mixed: Floats = of_experts @ self.f[lm.SHARE : lm.SHARE + lm.EXPERTS]
        return mixed

    def next_row(self, given: int) -> Floats:
        """Return the pairs of the row that ``peek`` was last asked for, with ``given`` entries."""
        start, count = int(self.n[N.POOL_TAIL]), given + int(self.n[N.INTERCEPT])
        return self.pool[2 * start : 2 * (start + count)].reshape(count, 2)

    # --- Tickets ---------------------------------------------------------------------------------

    def label(self, entry: int) -> float:
        """Return the label so far of an entry; NaN if there is none."""
        return self.f.item(self.n.item(N.KEPT_AT) + entry * lm.KEEP + lm.LABEL)

    def found(self, ticket: int) -> int:
        """Return the entry of a ticket that can still be answered, or why there is none."""
        item = self.n.item
        if not item(N.FORGOTTEN) <= ticket < item(N.ROUNDS):
            return S.FORGOTTEN if 0 <= ticket < item(N.FORGOTTEN) else S.UNKNOWN
        place = ticket + item(N.OFFSET)
        if place < item(N.SPARSE):
            entry = self.entry(ticket)
            return S.CLOSED if entry is None else entry
        state = item(N.HEADER + 2 * place + 1)
        return S.CLOSED if state in (T.DEAD, T.HELD) else place

    def is_open_at(self, entry: int) -> bool:
        """Tell whether the ticket of an entry is open."""
        return self.n.item(N.HEADER + 2 * entry + 1) >= 0

    def pairs(self, entry: int) -> float:
        """Return how many pairs the row of an entry has."""
        return self.f.item(self.n.item(N.KEPT_AT) + entry * lm.KEEP + lm.PAIRS)

    def due(self, entry: int) -> float:
        """Return when the ticket of an entry is due."""
        return self.f.item(self.n.item(N.KEPT_AT) + entry * lm.KEEP + lm.DUE)

    def has_due(self, now: float) -> bool:
        """Tell whether an open ticket is due before a time; see ``kernels.linear.due``."""
        places, top = [0], self.pool.size - 2
        while places:
            place = places.pop()
            at = top - 2 * place
            if place < self.n.item(N.DUE) and self.pool.item(at) < now:
                if self.is_open(int(self.pool.item(at + 1))):
                    return True
                places += [2 * place + 1, 2 * place + 2]
        return False

    @property
    def clock(self) -> float:
        """The latest time that was told."""
        return self.f.item(lm.CLOCK)

    # --- Room ------------------------------------------------------------------------------------

    def has_room(self, entries: int) -> bool:
        """Tell whether there is room for one more ticket with so many entries as things stand."""
        item = self.n.item
        return (
            lm.HEADER + lm.OF_ROW + lm.OF_ENTRY * entries <= item(N.KEPT_AT)
            and 2 * (item(N.POOL_TAIL) + item(N.DUE) + entries) + 2 <= self.pool.size
            and item(N.ROUNDS) + item(N.OFFSET) < item(N.CAPACITY)
        )

    def with_room(self, entries: int) -> Self:
        """Return the same with room for one more ticket with so many entries.

        What has to grow is new, and what changes with it a copy. Nothing changes here, so that one
        who is interrupted, or finds no memory, goes on with what there was.
        """
        other = copy(self)
        other.n = self.n.copy()
        other._make_room(entries)
        return other

    def _make_room(self, entries: int) -> None:
        """Let grow whatever has no room for one more ticket with so many entries."""
        if lm.HEADER + lm.OF_ROW + lm.OF_ENTRY * entries > self.n[N.KEPT_AT]:
            self._widen(2 * entries)
        due = int(self.n[N.DUE])
        pairs = int(self.n[N.POOL_LIVE]) + due + entries
        if 4 * pairs + 2 > self.pool.size:
            used, heap = self.pool[: 2 * int(self.n[N.POOL_TAIL])], self.pool[-2 * due :]
            self.pool = np.zeros(2 << (4 * pairs).bit_length())
            self.pool[: used.size] = used
            if due:
                self.pool[-2 * due :] = heap
        if 2 * self.known > self.capacity:
            self.grow()

    def _widen(self, entries: int) -> None:
        """Make the passing work, between parameters and what is kept per ticket, longer."""
        work = np.zeros(lm.OF_ROW + lm.OF_ENTRY * entries)
        self.f = aligned(np.concatenate([self.f[: lm.HEADER], work, self.f[self.n[N.KEPT_AT] :]]))
        self.n[N.KEPT_AT] = lm.HEADER + work.size

    def parts(self) -> dict[str, NDArray[Any]]:
        """Return all there is by name: tickets, their pairs, and the coordinates that were seen.

        Free of accidents: the pool is written without gaps, without the passing work, and ages
        up to the last one that a label had.
        """
        parts = super().parts()
        n, records = parts["n"], parts["records"]
        is_open = parts["tickets"][:, 1] >= 0
        records[~is_open] = 0.0
        starts = records[:, lm.START].astype(np.int64)
        counts = records[:, lm.PAIRS].astype(np.int64)
        records[:, lm.START] = np.where(is_open, np.cumsum(counts) - counts, 0)
        pairs = np.repeat(starts, counts) + ranges(counts)
        n[N.KEPT_AT], n[N.POOL_TAIL], n[N.DUE], n[N.APPLIED] = lm.HEADER, pairs.size, 0, 0
        parts["f"] = sound.shortened(parts["f"][: lm.HEADER])
        seen = np.flatnonzero(self.rows.view(np.uint32)[:, lm.SEEN])
        more = {"pairs": self.pool.reshape(-1, 2)[pairs], "seen": seen, "rows": self.rows[seen]}
        return parts | more

    @classmethod
    def restored(cls, settings: Settings, parts: Mapping[str, NDArray[Any]]) -> Self:
        """Undo ``parts``, with room to grow, or refuse what no model can have come to."""
        checked = sound.checked(settings, parts)
        counts = checked.records[:, lm.PAIRS].copy()
        checked.make_roomy()
        memory = cls(settings, checked)
        pairs, seen, rows = parts["pairs"], parts["seen"], parts["rows"]
        memory._widen(max(WORK, int(counts.max(initial=0))))
        due = memory._due()
        room = 2 * (pairs.size + due.size)
        memory.pool = np.zeros(max(memory.pool.size, 2 << room.bit_length()))
        memory.pool[: pairs.size] = pairs.ravel()
        if due.size:
            memory.n[N.DUE] = len(due)
            memory.pool[-due.size :] = due[::-1].ravel()
        memory.rows[seen] = rows
        return memory

    def _due(self) -> Floats:
        """Return when open tickets are due and which, in order: a heap as it should be."""
        is_open = self.entries[:, 1] >= 0
        due = np.column_stack([self.records[:, lm.DUE], self.entries[:, 0]])[is_open]
        due = due[np.isfinite(due[:, 0])]
        return due[np.lexsort((due[:, 1], due[:, 0]))]


def ranges(counts: Ints) -> Ints:
    """Return 0, 1, ..., count - 1 for every count, one after the other."""
    total = int(counts.sum())
    return np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
