"""The memory of a learner or a linear model: two arrays, and all that is read off them in Python.

Nobody else on this side knows which number stands where, except those who write parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.arrays import Floats, Ints
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import own as OWN
from belated.kernels.slots import table as T

FEWEST = 64
"""Smallest table of tickets."""


def roomy(most_open: int) -> int:
    """Return how large a table serves a whole run with so many tickets open at once.

    When a table is full, the open tickets are moved together. With eight times their number that
    costs next to nothing; very many get twice as much, as memory then matters more.
    """
    return max(1024, min(8 * most_open, 2 * most_open + 32_768) + 2)


PARTS = {
    "f": "<f8",
    "n": "<i8",
    "tickets": "<i8",
    "records": "<f8",
    "copy_f": "<f8",
    "copy_n": "<i8",
}
"""Names and types of the arrays that ``Memory.parts`` returns."""


class Sums(NamedTuple):
    """Parameters and sums of a base, or of a member of a portfolio."""

    diameter: float
    width: float
    lipschitz: float
    rate: float
    """Current step size; 0 before the first."""
    learned: float
    drifted: float
    largest: float

    @classmethod
    def of(cls, f: Floats) -> Sums:
        """Read them off a header."""
        slots = (F.DIAMETER, F.WIDTH, F.LIPSCHITZ, F.ETA, F.LEARNED, F.DRIFTED, F.LARGEST)
        return cls(*(float(f[slot]) for slot in slots))


class Lead(NamedTuple):
    """What a leader knows of its regret; see ``kernels.learners.leader``."""

    learning: float
    drift: float
    unsure: float


class Member(NamedTuple):
    """A member of a portfolio."""

    misread: float
    """What it was charged for not knowing its point exactly."""
    gap: float
    """What the mixture was charged more than it."""
    sums: Sums


class Memory:
    """The arrays ``f`` and ``n``, as the kernels take them; both are replaced when they grow."""

    __slots__ = ("f", "n")

    def __init__(self, f: Floats, n: Ints) -> None:
        self.f = f
        self.n = n

    @staticmethod
    def fresh(
        f: Floats,
        numbers: Mapping[int, int],
        capacity: int = FEWEST,
        template: Memory | None = None,
    ) -> Memory:
        """Return the memory of a learner that has seen nothing.

        ``f`` is all that comes before what is kept per ticket, ``numbers`` what ``n`` begins with,
        and ``template`` what copies are made from.
        """
        n = np.zeros(N.HEADER, dtype=np.int64)
        for slot, number in numbers.items():
            n[slot] = number
        n[N.KEPT_AT] = f.size
        if template is not None:
            n[N.COPY_F], n[N.COPY_N] = template.f.size, template.n.size
            f, n = np.concatenate([f, template.f]), np.concatenate([n, template.n])
            shared = [N.SEED_LOW, N.SEED_HIGH, N.STRICT]
            n[N.HEADER :][shared] = n[shared]
        memory = Memory(f, n)
        memory.resize(capacity)
        return memory

    def copy(self) -> Memory:
        """Return the same numbers in arrays of their own."""
        return Memory(aligned(self.f), self.n.copy())

    # --- Parameters and counts -------------------------------------------------------------------

    @property
    def dim(self) -> int:
        """Coordinates of the base's point."""
        return int(self.n[N.DIM])

    @property
    def seed(self) -> int:
        """The seed of the exploration directions."""
        return int(self.n[N.SEED_LOW]) | int(self.n[N.SEED_HIGH]) << 32

    @property
    def strict(self) -> bool:
        """Whether answers larger than assumed are refused."""
        return bool(self.n[N.STRICT])

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
    def excess(self) -> int:
        """Answers larger than assumed."""
        return int(self.n[N.EXCESS])

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

    @property
    def lags(self) -> tuple[int, int]:
        """Dual delay and dual backlog of the newest arrival, where somebody asks for them."""
        return int(self.n[N.LAG]), int(self.n[N.OPEN_LAGS])

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

    # --- Sums and vectors ------------------------------------------------------------------------

    @property
    def sums(self) -> Sums:
        """Those of the base."""
        return Sums.of(self.f)

    @property
    def rate(self) -> float | None:
        """The newest step size, or None before the first."""
        return self.sums.rate or None

    @property
    def lead(self) -> Lead:
        """The sums of a leader."""
        slots = (OWN.LEARNING, OWN.DRIFT, OWN.UNSURE)
        return Lead(*(float(self.own[slot]) for slot in slots))

    @property
    def members(self) -> list[Member]:
        """What a portfolio knows of its members."""
        own = self.own
        count = int(own[OWN.MEMBERS])
        at = OWN.places(count, self.dim)
        rows = own[at.rows : at.headers].reshape(OWN.ROWS, at.wide).tolist()
        blocks = [own[at.headers + i * OWN.MEMBER_HEADER :] for i in range(count)]
        return [
            Member(rows[OWN.MISREAD][i], rows[OWN.GAP][i], Sums.of(block))
            for i, block in enumerate(blocks)
        ]

    @property
    def own(self) -> Floats:
        """A view of the method's own region."""
        return self.f[self.n[N.OWN_AT] : self.n[N.KEPT_AT]]

    @property
    def point(self) -> Floats:
        """A view of z, the base's point in the chart."""
        return self._vector(0)

    @property
    def work(self) -> Floats:
        """A view of the scratch vector."""
        return self._vector(2)

    def _vector(self, place: int) -> Floats:
        start = F.HEADER + place * F.padded(self.dim)
        return self.f[start : start + self.dim]

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
    def copies(self) -> tuple[Floats, Ints]:
        """Views of the copies, one row each; row 0 is the one that others are made from."""
        n, capacity = self.n, self.capacity
        floats, ints = int(n[N.COPY_F]), int(n[N.COPY_N])
        f_at = int(n[N.KEPT_AT] + capacity * n[N.KEEP])
        n_at = N.HEADER + 2 * capacity
        rows = int(n[N.MADE]) + 1 if floats else 0
        return (
            self.f[f_at : f_at + rows * floats].reshape(rows, floats),
            n[n_at : n_at + rows * ints].reshape(rows, ints),
        )

    @property
    def _tail(self) -> int:
        return int(self.n[N.ROUNDS] + self.n[N.OFFSET])

    def reserve(self, capacity: int) -> None:
        """Make the table at least this large."""
        if capacity > self.capacity:
            self.resize(1 << (capacity - 1).bit_length())

    def grow(self) -> None:
        """Make the table twice as large."""
        self.resize(2 * self.capacity)

    def resize(self, capacity: int) -> None:
        """Give the table room for ``capacity`` tickets and copies; what is in use is kept.

        Whoever reads counts from another thread sees the old arrays or the new ones, both whole.
        """
        n = self.n
        rows = capacity + 1 if n[N.COPY_F] else 0
        kept_at = int(n[N.KEPT_AT])
        new = Memory(
            aligned_zeros(kept_at + capacity * int(n[N.KEEP]) + rows * int(n[N.COPY_F])),
            np.zeros(N.HEADER + 2 * capacity + rows * int(n[N.COPY_N]), dtype=np.int64),
        )
        new.f[:kept_at] = self.f[:kept_at]
        new.n[: N.HEADER] = n[: N.HEADER]
        new.n[N.CAPACITY] = capacity
        new.entries[:] = self.entries
        new.records[:] = self.records
        for mine, theirs in zip(new.copies, self.copies, strict=True):
            mine[:] = theirs
        self.f, self.n = new.f, new.n

    # --- Snapshots -------------------------------------------------------------------------------

    def parts(self) -> dict[str, NDArray[Any]]:
        """Return all there is, by name and free of accidents, so that equals have equal parts.

        What depends on how the table happened to be filled (dead entries, capacity, head) and the
        scratch vector are normalised away.
        """
        alive = self.entries[:, 1] != T.DEAD
        tickets = self.entries[alive]
        work = F.HEADER + 2 * F.padded(self.dim)
        f, n = self.f[: self.n[N.KEPT_AT]].copy(), self.n[: N.HEADER].copy()
        f[work : work + F.padded(self.dim)] = 0.0
        n[N.SPARSE] = n[N.CAPACITY] = len(tickets)
        n[N.OFFSET] = len(tickets) - n[N.ROUNDS]
        n[N.HEAD] = np.argmax(np.append(tickets[:, 1], 0) >= 0)  # first open entry, or the end
        n[N.CALM] = n[N.FADING] = 0
        return dict(zip(PARTS, (f, n, tickets, self.records[alive], *self.copies), strict=True))

    @staticmethod
    def joined(parts: Mapping[str, NDArray[Any]]) -> Memory:
        """Undo ``parts``, whose shapes are right; there is no room for one ticket more."""
        f, n, tickets, records, copy_f, copy_n = (parts[name] for name in PARTS)
        return Memory(
            np.concatenate([f, records.ravel(), copy_f.ravel()]),
            np.concatenate([n, tickets.ravel(), copy_n.ravel()]),
        )

    def make_roomy(self) -> None:
        """Give a memory that was joined room to grow: at most ``FEWEST`` times what it has."""
        needed = max(2 * len(self.entries), int(self.n[N.MADE]))
        self.resize(max(FEWEST, 1 << needed.bit_length()))


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
