"""Delay, dual delay and dual backlog as events happen, in O(1) each."""

from __future__ import annotations

from typing import NamedTuple

from belated import refusals
from belated.core.tickets import Tickets
from belated.validation import checked_ticket


class Arrival(NamedTuple):
    """The counts of a ticket at the moment of its observation."""

    delay: int
    """d_t: predictions made while it was open."""
    dual_delay: int
    """d*_t: observations made while it was open."""
    dual_backlog: int
    """s*_t: tickets still open after its observation."""


class Counters:
    """The counts of the paper's section 3, online, from the same table that learners use.

    Memory is O(open tickets).

    >>> counters = Counters()
    >>> first, second = counters.predict(), counters.predict()
    >>> counters.observe(second)
    Arrival(delay=0, dual_delay=0, dual_backlog=1)
    >>> counters.observe(first)
    Arrival(delay=1, dual_delay=1, dual_backlog=0)
    """

    def __init__(self) -> None:
        self._tickets = Tickets()

    @property
    def rounds(self) -> int:
        """Predictions so far."""
        return int(self._tickets.rounds)

    @property
    def open(self) -> int:
        """Tickets that wait for their observation."""
        return int(self._tickets.open)

    @property
    def total_delay(self) -> int:
        """Sum of the backlogs at all predictions: the total delay so far."""
        return int(self._tickets.total_delay)

    @property
    def max_backlog(self) -> int:
        """sigma_max: most tickets open at a prediction."""
        return int(self._tickets.max_backlog)

    def predict(self) -> int:
        """Count a prediction and return its ticket."""
        return int(self._tickets.issue())

    def observe(self, ticket: int) -> Arrival:
        """Count the observation of a ticket and return its numbers."""
        ticket = checked_ticket(ticket)
        status = self._tickets.arrive(ticket)
        refusal = refusals.of_ticket(status, ticket, self.rounds, "Counters: ")
        if refusal is not None:
            raise refusal
        tickets = self._tickets
        return Arrival(self.rounds - ticket - 1, tickets.lag, tickets.open_lags)
