"""What plays: it predicts, observes and cancels. Live models and games drive it alike."""

from __future__ import annotations

import cython
import numpy as np

from belated.core.component import section

if not cython.compiled:
    from belated.core.bases import Base
    from belated.core.component import Component
    from belated.core.feedback import Feedback
    from belated.core.numerics import floats_at
    from belated.core.tickets import BAD, CLOSED, DROPPED, FULL, TOO_LARGE, USED, Tickets
    from belated.core.wrappers import Wrapper

HUGE = cython.declare(cython.double, 1e100)  # sums of squares of larger costs could overflow


class Player(Component):
    """Something with open tickets that plays; learners of the paper and published methods.

    Events return a ticket, or a status of ``tickets``: USED, DROPPED, or below 0 a refusal, and
    then nothing has changed. They run without the interpreter lock; only parts written in Python
    take it. An exception of such a part leaves the state half way, so the caller restores it.
    """

    def parts(self):
        return {"tickets": self.tickets}

    @property
    def rate(self):
        """The newest step size, or None before the first."""
        return self.base.sums.rate or None

    def grow(self):
        """Make room after an event returned FULL."""
        self.tickets.grow()

    def predict(self, x):
        """Issue the next ticket, write its play to x and return it; FULL: the table must grow."""
        return FULL

    def observe(self, ticket, answer):
        """Use the answer to a ticket."""
        return CLOSED

    def cancel(self, ticket):
        """Close a ticket whose answer will never come."""
        return CLOSED

    def look(self, ticket):
        """Return what an answer to a ticket would meet: USED, DROPPED or a refusal.

        Where few tickets are tracked (``loses``) it is not known of the others whether they were
        answered or lost, so their answers are dropped.
        """
        entry: cython.longlong = self.tickets.locate(ticket)
        if entry >= 0:
            return DROPPED if self.tickets.is_expired(entry) else USED
        return DROPPED if self.loses and entry == CLOSED else entry

    def peek(self, x):
        """Write the current point to x, without exploration."""


class Composition(Player):
    """A learner of the paper: feedback, base and wrapper.

    Events are those of Algorithms 1 to 4. ``learned_cost`` is the cost of the newest step.
    """

    def __init__(
        self,
        tickets: Tickets,
        feedback: Feedback,
        base: Base,
        wrapper: Wrapper,
        strict: bool = False,
        has_user_parts: bool = False,
    ):
        self.tickets, self.feedback, self.base, self.wrapper = tickets, feedback, base, wrapper
        self.dim, self.play_size = base.dim, feedback.play_size
        self.answer_size = feedback.answer_size
        self.strict, self.has_user_parts, self.loses = strict, has_user_parts, wrapper.weighs
        self.work_array = np.zeros(base.dim)
        self.work = self.learned_cost = floats_at(self.work_array)

    def parts(self):
        return {
            "tickets": self.tickets,
            "feedback": self.feedback,
            "base": self.base,
            "wrapper": self.wrapper,
        }

    def verify(self, state):
        """Demand what concerns tickets and other parts together."""
        self.wrapper.verify_with(section(state, "wrapper"), section(state, "tickets"))

    def predict(self, x):
        """Give up on what is overdue (Algorithm 3), then issue the next ticket."""
        ticket: cython.longlong = self.tickets.rounds
        entry: cython.longlong
        if ticket + self.tickets.offset >= self.tickets.capacity and not self.tickets.has_room():
            return FULL
        if self.wrapper.gives_up:
            self.wrapper.begin_round()
            if ticket >= self.wrapper.calm:
                entry = self.wrapper.overdue()
                while entry >= 0:
                    self.give_up(entry)
                    entry = self.wrapper.overdue()
        if self.wrapper.forgets:
            self.tickets.forget_expired(self.wrapper.forget)
        entry = self.tickets.open_next()
        if self.feedback.columns > 0:
            self.feedback.open(entry)
        self.feedback.play(ticket, self.base.z, x)
        if self.wrapper.weighs and not self.wrapper.admits(entry):
            self.tickets.lose(entry)
        return ticket

    def observe(self, ticket, answer):
        """Every check comes before the first change."""
        entry: cython.longlong = self.tickets.locate(ticket)
        i: cython.Py_ssize_t
        if entry < 0:
            return DROPPED if self.loses and entry == CLOSED else entry
        cost: cython.p_double = self.feedback.cost(entry, answer)
        norm: cython.double = self.base.norm(cost)
        if not norm <= HUGE:
            return BAD
        if self.feedback.is_excessive(entry, answer, norm):
            if self.strict:
                return TOO_LARGE
            self.tickets.excess += 1
            self.base.sums.see(norm)
        if self.tickets.seen[entry] < 0:
            self.tickets.late += 1
            self.tickets.drop_expired(entry)
            return DROPPED
        if self.feedback.columns > 0:
            self.feedback.use(answer)
        if self.wrapper.weighs:
            self.count(entry)
            norm = self.tickets.weight * norm
            for i in range(self.base.dim):
                self.work[i] = self.tickets.weight * cost[i]
            cost = self.work
        else:
            self.tickets.feed_arrival(entry)
        self.learned_cost = cost
        self.base.update(cost, norm)
        self.tickets.close(entry)
        return USED

    def count(self, entry):
        """Count the arrival for an open entry, and what it weighs."""
        weight: cython.double
        open_lags: cython.longlong
        if not self.wrapper.weighs:
            self.tickets.feed_arrival(entry)
            return
        weight = self.wrapper.weight(self.tickets.number[entry])
        open_lags = self.tickets.count_arrival(entry)
        self.tickets.count_weight(weight, self.wrapper.count_waiting(weight, open_lags))

    def feed_nothing(self, entry):
        """Feed an entry that has no answer: a zero cost, which counts in every sum.

        Under strong convexity it is the gradient of (lambda / 2) |y|^2 at the current point.
        """
        curvature: cython.double = self.base.curvature
        norm: cython.double = 0.0
        i: cython.Py_ssize_t
        self.count(entry)
        for i in range(self.base.dim):
            self.work[i] = curvature * self.base.z[i] if curvature > 0.0 else 0.0
        if curvature > 0.0:
            norm = self.base.norm(self.work)
            if self.base.hears_all:
                self.tickets.lag = 0  # this gradient is not one at the point of the ticket
        return self.base.update(self.work, norm)

    def give_up(self, entry):
        """Close an open entry that is overdue."""
        if self.wrapper.weighs:
            self.tickets.lose(entry)
            return 0
        self.feed_nothing(entry)
        self.tickets.skip(entry)
        return 0

    def cancel(self, ticket):
        """A ticket that was given up on is just forgotten."""
        entry: cython.longlong = self.tickets.locate(ticket)
        if entry < 0:
            return DROPPED if self.loses and entry == CLOSED else entry
        if self.tickets.is_expired(entry):
            self.tickets.drop_expired(entry)
            return DROPPED
        self.feed_nothing(entry)
        self.tickets.cancel(entry)
        return USED

    def peek(self, x):
        self.feedback.chart.to_user(self.base.z, x)
