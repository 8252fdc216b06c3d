"""Delay, dual delay and dual backlog as events happen, in O(1) each."""

from __future__ import annotations

from typing import NamedTuple

from belated.kernels.learners import entries
from belated.learner import refusals
from belated.learner.given import checked_ticket
from belated.learner.state import Memory


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
        self._memory = Memory.counting()
        self._count_prediction, self._count_arrival = entries.counting()

    @property
    def rounds(self) -> int:
        """Predictions so far."""
        return self._memory.rounds

    @property
    def open(self) -> int:
        """Tickets that wait for their observation."""
        return self._memory.open

    @property
    def total_delay(self) -> int:
        """Sum of the backlogs at all predictions: the total delay so far."""
        return self._memory.total_delay

    @property
    def max_backlog(self) -> int:
        """sigma_max: most tickets open at a prediction."""
        return self._memory.max_backlog

    def predict(self) -> int:
        """Count a prediction and return its ticket."""
        memory = self._memory
        ticket = self._count_prediction(memory.f, memory.n)
        if ticket < 0:
            memory.grow()
            ticket = self._count_prediction(memory.f, memory.n)
        return ticket

    def observe(self, ticket: int) -> Arrival:
        """Count the observation of a ticket and return its numbers."""
        ticket = checked_ticket(ticket)
        status = self._count_arrival(self._memory.f, self._memory.n, ticket)
        refusal = refusals.of_ticket(status, ticket, self.rounds, "Counters: ")
        if refusal is not None:
            raise refusal
        return Arrival(self.rounds - ticket - 1, *self._memory.lags)
