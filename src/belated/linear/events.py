"""Events of a log, checked before the first of them is played."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from belated.arrays import Floats, Ints
from belated.errors import AlreadyObserved, BadFeedback, UnknownTicket
from belated.linear.order import in_sets
from belated.refusals import out_of_turn
from belated.validation import numbers


class Log(NamedTuple):
    """Events, t for the prediction of ticket t and ~t for its label, and what belongs to them.

    ``labels`` and ``weights`` begin with those of ticket ``first``; ``times`` are of events, or one
    of all.
    """

    events: Ints
    labels: Floats
    weights: Floats
    first: int
    times: Floats

    @property
    def begun(self) -> int:
        """The place of the first prediction."""
        return int(np.argmax(self.events >= 0))

    @property
    def ended(self) -> int:
        """The place behind the last prediction."""
        return self.events.size - int(np.argmax(self.events[::-1] >= 0))

    def sorted_in_sets(self) -> Log:
        """Return the log with labels between two predictions in the order of their set.

        Times stay where they are, so that clocks go as before.
        """
        times = self.times
        if times.size > 1:
            times = np.where(self.events < 0, np.fmax.accumulate(times), times)
        return self._replace(events=in_sets(self.events), times=times)

    def part(self, begin: int, end: int, size: int) -> Log:
        """Return about so many events, the last of them a prediction, as the one before ``end``."""
        stop = min(begin + size, end)
        stop += int(np.argmax(self.events[stop - 1 : end] >= 0))
        times = self.times[begin:stop] if self.times.size > 1 else self.times
        return self._replace(events=self.events[begin:stop], times=times)


def runs_with_deadlines(
    log: Log, begin: int, spans: Floats, older: tuple[Ints, Floats], clock: float
) -> list[tuple[int, int]]:
    """Return where runs of labels begin and end in which an open ticket may be due.

    ``spans`` are the deadlines of tickets from ``begin`` on, or one of all; ``older`` are tickets
    that are open, and when they are due.
    """
    events, at = log.events, np.fmax.accumulate(np.append(clock, log.times))[1:]
    asked = np.flatnonzero(events >= 0)
    tickets = np.append(older[0], events[asked])
    due = np.append(older[1], at[asked] + (spans if spans.size == 1 else spans[: asked.size]))
    told = np.flatnonzero(events < 0)
    by_ticket = told[np.argsort(~events[told], kind="stable")]
    place = np.searchsorted(~events[by_ticket], tickets)
    known = np.append(~events[by_ticket], -1)[place] == tickets
    told_at = np.where(known, np.append(by_ticket, 0)[place], events.size)
    passed = np.searchsorted(at, due, side="right")  # the first event at a later time
    is_label = np.append(events < 0, False)[passed]
    begins = np.append(asked, events.size)[np.searchsorted(asked, passed) - 1] + 1
    inside = (passed > asked[0]) & (passed < asked[-1])
    found = np.unique(begins[is_label & inside & (told_at >= begins)])
    return [(int(run), int(asked[np.searchsorted(asked, run)])) for run in found]


def check_predictions(events: Ints, rounds: int, rows: int) -> int:
    """Return how many predictions there are, each of the next ticket and with a row."""
    positions = np.flatnonzero(events >= 0)
    tickets = events[positions]
    wrong = np.flatnonzero(tickets != np.arange(rounds, rounds + tickets.size))
    if wrong.size:
        where = int(wrong[0])
        raise out_of_turn(rounds + where, tickets[where], f"replay: event {positions[where]}: ")
    if tickets.size > rows:
        raise UnknownTicket(f"replay: {tickets.size} predictions, but only {rows} rows of features")
    return int(tickets.size)


def check_labels(events: Ints, rounds: int, first: int, labels: int) -> Ints:
    """Return the tickets that are observed; each was handed out before, and has a label."""
    positions = np.flatnonzero(events < 0)
    tickets = ~events[positions]
    handed_out = rounds + positions - np.arange(positions.size)
    _refuse(tickets >= handed_out, positions, tickets, "was never handed out before", UnknownTicket)
    absent = (tickets < first) | (tickets >= first + labels)
    _refuse(absent, positions, tickets, "has no label", UnknownTicket)
    new = tickets >= rounds
    counts = np.bincount(tickets[new] - rounds, minlength=1)
    if counts.max(initial=0) > 1:
        twice = rounds + int(np.argmax(counts > 1))
        repeated = np.zeros(tickets.size, dtype=np.bool_)
        repeated[np.flatnonzero(tickets == twice)[1]] = True
        _refuse(repeated, positions, tickets, "is observed twice", AlreadyObserved)
    return tickets


def _refuse(
    wrong: Any,
    positions: Ints,
    tickets: Ints,
    why: str,
    error: type[UnknownTicket | AlreadyObserved],
) -> None:
    if wrong.any():
        where = int(np.argmax(wrong))
        raise error(f"replay: event {positions[where]}: ticket {tickets[where]} {why}")


def vector(given: ArrayLike, who: str, length: int | None = None) -> Floats:
    """Return numbers in one dimension, of a given length."""
    try:
        array = numbers(given, f"{who} must be numbers", BadFeedback)
    except BadFeedback:
        place = _first_odd(given)
        if place is None:
            raise
        raise BadFeedback(
            f"{who} must be numbers, got {place[1]!r} at position {place[0]}; nothing has changed"
        ) from None
    if array.ndim != 1 or (length is not None and array.size != length):
        expected = "one dimension" if length is None else f"shape ({length},)"
        raise BadFeedback(f"{who} must have {expected}, got shape {array.shape}")
    return array


def _first_odd(given: Any) -> tuple[int, Any] | None:
    """Return where in a list something is no number, and what it is; None: nowhere, or no list."""
    if isinstance(given, str | bytes | Mapping | Set) or not isinstance(given, Iterable):
        return None
    items = enumerate(given)
    return next((each for each in items if not isinstance(each[1], Real | np.bool_)), None)
