"""The memory of a linear model or of knobs: two arrays, and what Python reads from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belated.arrays import Floats, Ints
from belated.kernels.slots import ints as N
from belated.kernels.slots import table as T

FEWEST = 64
"""Smallest table of tickets."""


PARTS = {
    "f": "<f8",
    "n": "<i8",
    "tickets": "<i8",
    "records": "<f8",
    "copy_f": "<f8",
    "copy_n": "<i8",
}
"""Names and types of the arrays that ``Memory.parts`` returns; both copies are empty."""


class Memory:
    """The arrays ``f`` and ``n``, as the kernels take them; both are replaced when they grow."""

    __slots__ = ("f", "n")

    def __init__(self, f: Floats, n: Ints) -> None:
        self.f = f
        self.n = n

    @staticmethod
    def fresh(f: Floats, numbers: Mapping[int, int], capacity: int = FEWEST) -> Memory:
        """Return the memory of a model that has seen nothing.

        ``f`` is all that comes before what is kept per ticket, ``numbers`` what ``n`` begins with.
        """
        n = np.zeros(N.HEADER, dtype=np.int64)
        for slot, number in numbers.items():
            n[slot] = number
        n[N.KEPT_AT] = f.size
        memory = Memory(f, n)
        memory.resize(capacity)
        return memory

    def copy(self) -> Memory:
        """Return the same numbers in arrays of their own."""
        return Memory(aligned(self.f), self.n.copy())

    # --- Parameters and counts -------------------------------------------------------------------

    @property
    def dim(self) -> int:
        """How many knobs there are."""
        return int(self.n[N.DIM])

    @property
    def rounds(self) -> int:
        """Predictions made so far; also the next ticket."""
        return int(self.n[N.ROUNDS])

    @property
    def open(self) -> int:
        """Tickets that still wait for their answer."""
        return int(self.n[N.ROUNDS] - self.n[N.ARRIVED])

    @property
    def known(self) -> int:
        """Tickets that the table must keep: open ones, and those given up on or held back."""
        return self.open + int(self.n[N.GHOSTS] + self.n[N.HOLDING])

    @property
    def late(self) -> int:
        """Answers to tickets that had been given up on, or were past their deadline."""
        return self.n.item(N.LATE)

    @property
    def unanswered(self) -> int:
        """Tickets that are open, given up on or cancelled."""
        return self.open + self.given_up

    @property
    def given_up(self) -> int:
        """Tickets that were closed without an answer, by the learner or by the user."""
        return int(self.n[N.SKIPPED] + self.n[N.CANCELLED])

    @property
    def total_delay(self) -> int:
        """Sum of the backlogs at all predictions: the total delay so far.

        With R predictions and N arrivals it is sum s* + N(N-1)/2 - R(R-1)/2 + (R-N)(R-1): sum the
        identity s*_n = d + t - n of Theorem 3.4 (c) over the arrivals, and let the delay of an open
        ticket t be R - 1 - t.
        """
        rounds, arrived = self.rounds, int(self.n[N.ARRIVED])
        closed = int(self.n[N.SUM_DUAL]) + arrived * (arrived - 1) // 2
        return closed - rounds * (rounds - 1) // 2 + (rounds - arrived) * (rounds - 1)

    @property
    def max_backlog(self) -> int:
        """sigma_max so far: an arrival right after a prediction has s* equal to its backlog."""
        return max(int(self.n[N.MAX_DUAL]), self.open - 1)

    @property
    def oldest_age(self) -> int:
        """How many predictions came after the oldest open ticket; 0 when none is open."""
        if not self.open:
            return 0
        entries = self.entries
        return self.rounds - 1 - int(entries[np.argmax(entries[:, 1] >= 0), 0])

    def counts(self) -> dict[str, int]:
        """Return what every report says, by the name of its field."""
        n = self.n
        return {
            "rounds": self.rounds,
            "observed": self.rounds - self.unanswered,
            "open": self.open,
            "skipped": int(n[N.SKIPPED]),
            "cancelled": int(n[N.CANCELLED]),
            "late": self.late,
            "total_delay": self.total_delay,
            "max_delay": max(int(n[N.MAX_DELAY]), int(n[N.MAX_LOST]), self.oldest_age),
            "max_answered_delay": int(n[N.MAX_DELAY]),
            "max_unanswered_age": max(int(n[N.MAX_LOST]), self.oldest_age),
            "max_backlog": self.max_backlog,
            "max_dual_delay": int(n[N.MAX_DUAL_DELAY]),
        }

    # --- The table of tickets --------------------------------------------------------------------

    @property
    def capacity(self) -> int:
        """How many tickets the table has room for."""
        return int(self.n[N.CAPACITY])

    @property
    def entries(self) -> Ints:
        """A view of the table of tickets: one row (id, seen) per entry in use."""
        return self.n[N.HEADER : N.HEADER + 2 * self._tail].reshape(-1, 2)

    def entry(self, ticket: int) -> int | None:
        """Return the entry of a ticket that can still be answered, or None."""
        entries = self.entries
        place = int(np.searchsorted(entries[:, 0], ticket))
        if place < len(entries) and entries[place, 0] == ticket and not _closed(entries[place, 1]):
            return place
        return None

    def is_open(self, ticket: int) -> bool:
        """Tell whether a ticket is open."""
        entry = self.entry(ticket)
        return entry is not None and bool(self.entries[entry, 1] >= 0)

    def answerable(self) -> set[int]:
        """Return the tickets whose answer would not be refused."""
        return set(self.entries[~_closed(self.entries[:, 1]), 0].tolist())

    @property
    def records(self) -> Floats:
        """A view of what is kept per ticket: one row per entry in use."""
        tail, keep, start = self._tail, int(self.n[N.KEEP]), int(self.n[N.KEPT_AT])
        return self.f[start : start + tail * keep].reshape(tail, keep)

    @property
    def _tail(self) -> int:
        return int(self.n[N.ROUNDS] + self.n[N.OFFSET])

    def grow(self) -> None:
        """Make the table twice as large."""
        self.resize(2 * self.capacity)

    def resize(self, capacity: int) -> None:
        """Give the table room for ``capacity`` tickets; what is in use is kept.

        A reader of counts in another thread sees the old arrays or the new ones.
        """
        n = self.n
        kept_at = int(n[N.KEPT_AT])
        new = Memory(
            aligned_zeros(kept_at + capacity * int(n[N.KEEP])),
            np.zeros(N.HEADER + 2 * capacity, dtype=np.int64),
        )
        new.f[:kept_at] = self.f[:kept_at]
        new.n[: N.HEADER] = n[: N.HEADER]
        new.n[N.CAPACITY] = capacity
        new.entries[:] = self.entries
        new.records[:] = self.records
        self.f, self.n = new.f, new.n

    # --- Snapshots -------------------------------------------------------------------------------

    def parts(self) -> dict[str, NDArray[Any]]:
        """Return all there is, by name; equal memories have equal parts.

        What depends on how the table was filled (dead entries, capacity, head) is left out.
        """
        alive = self.entries[:, 1] != T.DEAD
        tickets = self.entries[alive]
        f, n = self.f[: self.n[N.KEPT_AT]].copy(), self.n[: N.HEADER].copy()
        n[N.SPARSE] = n[N.CAPACITY] = len(tickets)
        n[N.OFFSET] = len(tickets) - n[N.ROUNDS]
        n[N.HEAD] = np.argmax(np.append(tickets[:, 1], 0) >= 0)  # first open entry, or the end
        n[N.CALM] = n[N.FADING] = 0
        nothing = np.zeros((0, 0)), np.zeros((0, 0), dtype=np.int64)
        return dict(zip(PARTS, (f, n, tickets, self.records[alive], *nothing), strict=True))

    @staticmethod
    def joined(parts: Mapping[str, NDArray[Any]]) -> Memory:
        """Undo ``parts``, whose shapes are right; there is no room for one ticket more."""
        f, n, tickets, records = (parts[name] for name in ("f", "n", "tickets", "records"))
        return Memory(
            np.concatenate([f, records.ravel()]),
            np.concatenate([n, tickets.ravel()]),
        )

    def make_roomy(self) -> None:
        """Give a memory that was joined room to grow: at most ``FEWEST`` times what it has."""
        self.resize(max(FEWEST, 1 << (2 * len(self.entries)).bit_length()))


def _closed(states: Any) -> Any:
    """Tell of states in the table of tickets which are those of answered or cancelled tickets."""
    return (states == T.DEAD) | (states == T.HELD)


def aligned(values: Floats) -> Floats:
    """Return a copy that starts on a cache line."""
    copy = aligned_zeros(values.size)
    copy[:] = values
    return copy


def aligned_zeros(size: int) -> Floats:
    """Return zeros that start on a cache line: vectors across lines cost up to a tenth."""
    room = np.zeros(size + 8)
    start = (-room.ctypes.data % 64) // 8
    return room[start : start + size]
