"""When the newest tickets were asked for: as the server heard it, and by times of their own."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from typing import NamedTuple

from belated.models.clock import AFTER_DATES, SINCE_1970
from belated.store import events as of
from belated.store.events import Event

REMEMBERED = 1 << 17
"""Tickets whose times are known."""
_SAME = 0.1  # seconds that an event may take to get from the server to the store


def told(event: Event, heard: float) -> float:
    """Return the time that an event was given, or when it was heard of where it has none.

    Only seconds since 1970 are times that ages can be told by. One that the store put in is now.

    >>> told([of.PREDICT, {"x": 1.0}, "key", 1.7e9], 1.8e9)
    1700000000.0
    >>> told([of.PREDICT, {"x": 1.0}, "key", 12.0], 1.8e9)
    1800000000.0
    """
    at = of.time_in(of.at_of(event))
    if at is None or -_SAME < at - heard < _SAME or not SINCE_1970 <= at < AFTER_DATES:
        return heard
    return float(at)


class Moment(NamedTuple):
    """When something happened."""

    heard: float
    """By the clock of the server."""
    told: float
    """By the time that it was given; the same where it was given none."""


class Asked:
    """The times of the newest tickets; those that differ from the server's take room of their own.

    >>> asked = Asked()
    >>> asked.place(7, 100.0, 100.0)
    >>> asked.place(8, 101.0, 50.0)
    >>> asked.of(7), asked.of(8), asked.of(9)
    ((100.0, 100.0), (101.0, 50.0), None)
    """

    def __init__(self, first: int = 0, moments: Iterable[Moment] = ()) -> None:
        self._first = first  # ticket of the oldest time
        self._heard = array("d")
        self._told: array[float] | None = None  # as long as the other, where one differs
        for ticket, moment in enumerate(moments, first):
            self.place(ticket, *moment)

    def place(self, ticket: int, heard: float, told: float) -> None:
        """Remember when a ticket was asked for; some before it may come later, or never."""
        times = self._heard
        if times and ticket - self._first == len(times) and told == heard and self._told is None:
            times.append(heard)  # as nearly always
        else:
            self._put(ticket, heard, told)
        if len(self._heard) >= 2 * REMEMBERED:
            self._first += REMEMBERED
            del self._heard[:REMEMBERED]
            if self._told is not None:
                del self._told[:REMEMBERED]

    def _put(self, ticket: int, heard: float, told: float) -> None:
        if not self._heard or ticket - self._first >= len(self._heard) + REMEMBERED:
            self._first, self._heard, self._told = ticket, array("d"), None
        times, place = self._heard, ticket - self._first
        if place < 0:
            return
        times.extend([math.nan] * (place + 1 - len(times)))
        times[place] = heard
        if self._told is None and told != heard:
            self._told = array("d", times)
        if self._told is not None:
            self._told.extend(times[len(self._told) :])
            self._told[place] = told

    def of(self, ticket: int) -> tuple[float, float] | None:
        """Return when a ticket was asked for, as in a ``Moment``; None where nobody knows."""
        place = ticket - self._first
        if not 0 <= place < len(self._heard):
            return None
        heard = self._heard[place]
        if heard != heard:  # some between were lost
            return None
        return heard, heard if self._told is None else self._told[place]
