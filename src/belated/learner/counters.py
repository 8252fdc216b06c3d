"""Delay, dual delay and dual backlog as events happen, in O(1) each."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from belated.errors import AlreadyObserved, UnknownTicket
from belated.kernels.learners import entries
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.kernels.tickets import max_backlog, total_delay
from belated.learner.program import FEWEST, capacity_of, resized


def checked_ticket(ticket: Any) -> int:
    """Return a ticket as an int that the kernels can take, or say that it is none."""
    try:
        value = operator.index(ticket)
    except TypeError as error:
        raise UnknownTicket(f"a ticket is an int, got {ticket!r}") from error
    if isinstance(ticket, bool) or not -(1 << 63) <= value < 1 << 63:
        raise UnknownTicket(f"ticket {ticket!r} was never handed out")
    return value


class Arrival(NamedTuple):
    """What is known of a ticket at the moment of its observation."""

    delay: int
    """d_t: predictions made while it was open."""
    dual_delay: int
    """d*_t: observations made while it was open."""
    dual_backlog: int
    """s*_t: tickets still open after its observation."""


class Counters:
    """The counts of the paper's section 3, online, from the same kernels that learners use.

    Memory is O(open tickets).

    >>> counters = Counters()
    >>> first, second = counters.predict(), counters.predict()
    >>> counters.observe(second)
    Arrival(delay=0, dual_delay=0, dual_backlog=1)
    >>> counters.observe(first)
    Arrival(delay=1, dual_delay=1, dual_backlog=0)
    """

    def __init__(self) -> None:
        self._f = np.zeros(F.HEADER)
        self._n = np.zeros(N.HEADER, dtype=np.int64)
        self._n[N.OWN_AT] = self._n[N.KEPT_AT] = F.HEADER
        self._grow(FEWEST)
        self._count_prediction, self._count_arrival = entries.counting()

    @property
    def rounds(self) -> int:
        """Predictions so far."""
        return int(self._n[N.ROUNDS])

    @property
    def open(self) -> int:
        """Tickets that wait for their observation."""
        return int(self._n[N.ROUNDS] - self._n[N.ARRIVED])

    @property
    def total_delay(self) -> int:
        """Sum of the backlogs at all predictions: the total delay so far."""
        return total_delay(self._n)

    @property
    def max_backlog(self) -> int:
        """sigma_max: most tickets open at a prediction."""
        return max_backlog(self._n)

    def predict(self) -> int:
        """Count a prediction and return its ticket."""
        ticket = self._count_prediction(self._f, self._n)
        if ticket < 0:
            self._grow(2 * capacity_of(self._n))
            ticket = self._count_prediction(self._f, self._n)
        return ticket

    def observe(self, ticket: int) -> Arrival:
        """Count the observation of a ticket and return its numbers."""
        ticket = checked_ticket(ticket)
        status = self._count_arrival(self._f, self._n, ticket)
        if status == S.UNKNOWN:
            raise UnknownTicket(f"Counters: ticket {ticket} was never handed out")
        if status == S.CLOSED:
            raise AlreadyObserved(f"Counters: ticket {ticket} was observed before")
        delay = self.rounds - ticket - 1
        return Arrival(delay, int(self._n[N.LAG]), int(self._n[N.OPEN_LAGS]))

    def _grow(self, capacity: int) -> None:
        self._f, self._n = resized(self._f, self._n, capacity)
