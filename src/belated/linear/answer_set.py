"""Answers since the last prediction: a set, as no prediction was made between any two of them.

Their order says nothing, so they are applied in one that depends on their tickets alone (see
``belated.linear.order``), when the next event comes that is no answer. The first of them is applied
at once, as nearly always it is the only one. A model that is looked at applies all of them for the
time being, and keeps what takes that back: if another answer comes it is taken back, and the whole
set is applied later; if not, it stays.
"""

from __future__ import annotations

import operator
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from belated.arrays import Floats, Ints
from belated.kernels.linear import direct, entries
from belated.kernels.linear import layout as lm
from belated.kernels.linear import undo as kernel
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.learner.whole import Call
from belated.linear.memory import ModelMemory, ranges
from belated.linear.order import order_of

if TYPE_CHECKING:
    from belated.linear.settings import Settings

_DENSE = 4  # entries of all rows for each coordinate that there is, as a part, to look for equals


Answer = tuple[int, float, float, bool, bool]
"""A ticket, its label, how often that counts, whether it is the last word, and whether it is used.

It is not where the ticket was given up on before; then the label is dropped.
"""


Batch = tuple[Ints, Floats, Floats, NDArray[np.bool_]]
"""Tickets, labels, how often these count, and whether they are used; each is the last word."""


Told = tuple[Ints, Floats, Floats, Ints]
"""Tickets, labels, how often these count, and what is the last word."""


class AnswerSet:
    """Answers that came after so many predictions; more predictions have closed the set."""

    __slots__ = ("_closed", "_dropped", "_read", "_revised", "answers", "batches", "rounds", "undo")

    def __init__(
        self, rounds: int, answers: list[Answer] | None = None, batches: list[Batch] | None = None
    ) -> None:
        self.rounds = rounds
        self.answers: list[Answer] = [] if answers is None else answers
        self.batches: list[Batch] = [] if batches is None else batches
        """Many answers of one call; of these tickets there are no later ones."""
        self.undo: Undo | FirstAnswer | None = None
        """What takes the answers back, where they are applied for the time being."""
        self._read = 0, 0
        self._closed: set[int] = set()
        self._dropped: set[int] = set()
        self._revised: set[int] = set()

    @property
    def size(self) -> int:
        """How many answers there are."""
        return len(self.answers) + sum(batch[0].size for batch in self.batches)

    def _note(self) -> None:
        """Note which tickets answers belong to; it may be interrupted and done again."""
        singles, batches = self._read
        for ticket, _, _, is_last, is_used in self.answers[singles:]:
            (self._closed if is_last else self._revised).add(ticket)
            if not is_used:
                self._dropped.add(ticket)
        for tickets, _, _, used in self.batches[batches:]:
            self._closed.update(tickets.tolist())
            self._dropped.update(tickets[~used].tolist())
        self._read = len(self.answers), len(self.batches)

    @property
    def closed(self) -> set[int]:
        """Tickets that the answers close."""
        self._note()
        return self._closed

    @property
    def closing(self) -> int:
        """How many open tickets they close."""
        self._note()
        return len(self._closed) - len(self._dropped)

    @property
    def revised(self) -> set[int]:
        """Tickets that have a label so far by one of the answers."""
        self._note()
        return self._revised

    def arrays(self) -> Told:
        """Return tickets, labels, weights and what is the last word, in the order of learning."""
        singles = zip(*self.answers, strict=True) if self.answers else repeat((), 5)
        tickets, labels, weights, lasts, _ = singles
        given = _joined(np.array(tickets, dtype=np.int64), self.batches, 0)
        order = order_of(given) if given.size > 1 else slice(None)
        ends = np.ones(given.size, dtype=np.int64)
        ends[: len(lasts)] = lasts
        return (
            given[order],
            _joined(np.array(labels, dtype=np.float64), self.batches, 1)[order],
            _joined(np.array(weights, dtype=np.float64), self.batches, 2)[order],
            ends[order],
        )

    def applying(self, settings: Settings, memory: ModelMemory, told: Told | None = None) -> Call:
        """Return the call that applies all answers, which ``told`` may have in their order."""
        told = self.arrays() if told is None else told
        return entries.observe_many(settings.code), *memory.arrays, *told


def _joined(first: NDArray[Any], batches: list[Batch], column: int) -> NDArray[Any]:
    return np.concatenate([first, *(batch[column] for batch in batches)])


class Undo:
    """What a model was before answers were applied to it, as far as they change it."""

    __slots__ = ("_coordinates", "_entries", "_f", "_n", "_records", "_rows", "_states")

    def __init__(self, memory: ModelMemory, tickets: Ints) -> None:
        self._f, self._n = memory.f[: lm.HEADER].copy(), memory.n[: N.HEADER].copy()
        self._entries = np.empty(tickets.size, dtype=np.int64)
        entries.find()(memory.f, memory.n, tickets, self._entries)
        self._records = memory.records[self._entries]
        self._states = memory.entries[self._entries, 1]
        labels = self._f.item(lm.LABELS)
        if labels <= lm.FIRST_LABELS <= labels + tickets.size:  # a slip may reset all coordinates
            self._coordinates = np.flatnonzero(memory.rows.view(np.uint32)[:, lm.SEEN])
        else:
            self._coordinates = self._of_rows(memory)
        self._rows = memory.rows[self._coordinates]

    def _of_rows(self, memory: ModelMemory) -> Ints:
        """Return the coordinates of the rows of tickets that are open."""
        rows = self._records[self._states >= 0, lm.START : lm.PAIRS + 1].astype(np.int64)
        index = memory.pool.reshape(-1, 2)[:, 0]
        if len(rows) == 1:
            start, count = rows[0].tolist()
            return index[start : start + count].astype(np.int64)
        starts, counts = rows.T
        found = index[np.repeat(starts, counts) + ranges(counts)].astype(np.int64)
        if _DENSE * found.size < len(memory.rows):
            return found
        is_there = np.zeros(len(memory.rows), dtype=np.bool_)
        is_there[found] = True
        return np.flatnonzero(is_there)

    def calls(self, memory: ModelMemory) -> tuple[Call, ...]:
        """Return the calls that put all of it back."""
        put = operator.setitem
        return (
            (put, memory.f, slice(lm.HEADER), self._f),
            (put, memory.n, slice(N.HEADER), self._n),
            (put, memory.records, self._entries, self._records),
            (put, memory.entries, (self._entries, 1), self._states),
            (put, memory.rows, self._coordinates, self._rows),
        )


class FirstAnswer:
    """The first answer of a set, which kernels apply at once; see ``kernels.linear.undo``."""

    __slots__ = ("saved",)

    def __init__(self) -> None:
        most = kernel.ROWS + (1 + lm.ROW) * (direct.LONGEST + 1)
        self.saved: tuple[Floats, Ints] = np.zeros(kernel.SAVED), np.zeros(most, dtype=np.int64)
        """What takes it back."""

    def as_set(self, rounds: int) -> AnswerSet:
        """Return the set of this answer alone, which is applied."""
        numbers, marks = self.saved
        label, weight = numbers.item(kernel.LABEL), numbers.item(kernel.WEIGHT)
        is_used = bool(marks[kernel.USED] == S.USED)
        answers = AnswerSet(rounds, [(marks.item(kernel.TICKET), label, weight, True, is_used)])
        answers.undo = self
        return answers

    def calls(self, memory: ModelMemory) -> tuple[Call, ...]:
        """Return the call that takes it back."""
        return ((entries.take_back(), *memory.arrays, *self.saved),)
