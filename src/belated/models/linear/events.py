"""Events of a log, checked before the first of them is played."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from belated.arrays import Floats, Ints
from belated.errors import AlreadyObserved, BadFeedback, UnknownTicket
from belated.frames import cells_of, is_column
from belated.refusals import SEVERAL_CLASSES, out_of_turn
from belated.validation import numbers


def check_predictions(events: Ints, rounds: int, rows: int) -> int:
    """Return how many predictions there are, each of the next ticket and with a row."""
    positions = np.flatnonzero(events >= 0)
    tickets = events[positions]
    wrong = np.flatnonzero(tickets != np.arange(rounds, rounds + tickets.size))
    if wrong.size:
        where = int(wrong[0])
        if where == 0 < rounds and tickets[0] == 0:
            raise UnknownTicket(
                f"replay: this model has already made {rounds} predictions; use a fresh one, or "
                f"first={rounds} and events with tickets from {rounds} on"
            )
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


_NO_NUMBERS = np.timedelta64, complex, np.complexfloating


def vector(given: ArrayLike, who: str, length: int | None = None) -> Floats:
    """Return numbers in one dimension, of a given length."""
    given = list(given) if isinstance(given, Iterator) else given
    try:
        array = numbers(given, f"{who} must be numbers", BadFeedback)
    except BadFeedback:
        array = _numbers_of(given, who)
    if array.ndim != 1 or (length is not None and array.size != length):
        expected = "one dimension" if length is None else f"shape ({length},)"
        raise BadFeedback(f"{who} must have {expected}, got shape {array.shape}")
    return array


def _numbers_of(given: Any, who: str) -> Floats:
    """Return the numbers of a list or a column that are not plain ones, such as Decimals."""
    rule = f"{who} must be numbers"
    if not is_column(given) or isinstance(given, Mapping | Set):
        raise BadFeedback(f"{rule}, got {given!r}")
    items = given.to_pylist() if hasattr(given, "to_pylist") else list(given)
    for place, item in enumerate(items):
        if not isinstance(item, Number | np.bool_) or isinstance(item, _NO_NUMBERS):
            hint = f": {SEVERAL_CLASSES}" if isinstance(item, str) and "label" in who else ""
            raise BadFeedback(
                f"{rule}, got {item!r} at position {place}; nothing has changed{hint}"
            )
    return cells_of(given).numbers
