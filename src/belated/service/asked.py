"""When the newest tickets were asked for: as the server heard it, and by times of their own."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from typing import NamedTuple

from belated.linear.clock import AFTER_DATES, SINCE_1970
from belated.store import events as of
from belated.store.events import Event

REMEMBERED = 1 << 17
"""Tickets whose times are known."""
_PLACES = {"LinearModel": 3, "Intervals": 3, "Knobs": 4, "Chooser": 5}
_ANSWERED = 4  # the place of the time in all answers


def told(kind: str, event: Event, heard: float) -> float:
    """Return the time that an event was given, or when it was heard of where it has none.

    Only seconds since 1970 are times that ages can be told by.

    >>> told("LinearModel", [of.PREDICT, {"x": 1.0}, "key", 1.7e9], 1.8e9)
    1700000000.0
    >>> told("LinearModel", [of.PREDICT, {"x": 1.0}, "key", 12.0], 1.8e9)
    1800000000.0
    """
    place = _PLACES.get(kind, len(event)) if event[0] == of.PREDICT else _ANSWERED
    if place >= len(event):  # nulls at the end are left out
        return heard
    at = event[place]
    return float(at) if at is not None and SINCE_1970 <= at < AFTER_DATES else heard


class Moment(NamedTuple):
    """When something happened."""

    heard: float
    """By the clock of the server."""
    told: float
    """By the time that it was given; the same where it was given none."""


class Asked:
    """The times of the newest tickets; those that differ from the server's take room of their own.

    >>> asked = Asked()
    >>> asked.place(7, Moment(100.0, 100.0))
    >>> asked.place(8, Moment(101.0, 50.0))
    >>> asked.of(7), asked.of(8), asked.of(9)
    (Moment(heard=100.0, told=100.0), Moment(heard=101.0, told=50.0), None)
    """

    def __init__(self, first: int = 0, moments: Iterable[Moment] = ()) -> None:
        self._first = first  # ticket of the oldest time
        self._heard = array("d")
        self._told: array[float] | None = None  # as long as the other, where one differs
        for ticket, moment in enumerate(moments, first):
            self.place(ticket, moment)

    def place(self, ticket: int, moment: Moment) -> None:
        """Remember when a ticket was asked for; some before it may come later, or never."""
        heard = self._heard
        if not heard or ticket - self._first >= len(heard) + REMEMBERED:
            self._first, self._heard, self._told = ticket, array("d"), None
            heard = self._heard
        place = ticket - self._first
        if place < 0:
            return
        if place == len(heard):  # as nearly always
            heard.append(moment.heard)
        else:
            heard.extend([math.nan] * (place + 1 - len(heard)))
            heard[place] = moment.heard
        if self._told is None and moment.told != moment.heard:
            self._told = array("d", heard)
        if self._told is not None:
            self._told.extend(heard[len(self._told) :])
            self._told[place] = moment.told
        if len(heard) >= 2 * REMEMBERED:
            self._first += REMEMBERED
            for times in (heard, self._told):
                if times is not None:
                    del times[:REMEMBERED]

    def of(self, ticket: int) -> Moment | None:
        """Return when a ticket was asked for; None where that is not known any more."""
        place = ticket - self._first
        if not 0 <= place < len(self._heard) or math.isnan(self._heard[place]):
            return None
        heard = self._heard[place]
        return Moment(heard, heard if self._told is None else self._told[place])
