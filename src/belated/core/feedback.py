# cython: infer_types=True
"""Plays out of points, costs out of answers; wrappers: giving up on answers, and their weights.

Directions of exploration are a function of seed and ticket, so an answer finds that of its play.
"""

from __future__ import annotations

import math

import cython
import numpy as np

from belated.core.component import ANY, NOT_NEGATIVE, SLACK, SUM, VECTOR, demand

if not cython.compiled:
    from math import fabs, sqrt

    from belated.core.component import Component
    from belated.core.numerics import floats_at, ln, part, uniform, unit_vector
    from belated.core.rates import Smoothing
    from belated.core.sets import Chart
    from belated.core.tickets import Tickets

ROUNDING = cython.declare(cython.double, 1.0 + 1e-9)  # so close to a bound is not beyond it


class Feedback(Component):
    """How to play a point, and what an answer says of it.

    A play has ``play_size`` numbers and an answer ``answer_size``; ``columns`` floats are kept per
    open ticket, first in its record. Costs with norms up to ``most_norm`` are never too large.
    """

    def __init__(self, tickets: Tickets, chart: Chart):
        self.dim, self.tickets, self.chart = chart.dim, tickets, chart
        self.play_size = self.answer_size = chart.dim
        self.columns, self.most_norm, self.explores = 0, math.inf, False
        self.work_array = np.zeros(self.dim)
        self.work = floats_at(self.work_array)

    def open(self, entry):
        """Note what the answer to a new ticket will need."""

    def play(self, ticket, z, x):
        """Write the play of a ticket to x, z being the point of the base, where it ``explores``."""

    def cost(self, entry, answer):
        """Return the cost vector of an answer in the chart; it may be the answer itself."""
        return answer

    def is_excessive(self, entry, answer):
        """Tell whether an answer whose cost is beyond ``most_norm`` is larger than was assumed."""
        return True

    def use(self, answer):
        """Note an answer that is learned from."""


class FirstOrder(Feedback):
    """Answers are gradients: c_n = grad f_s(x_s) (W_OCO, Algorithm 1). ``lipschitz`` 0: unknown."""

    def __init__(self, tickets: Tickets, chart: Chart, lipschitz: float):
        Feedback.__init__(self, tickets, chart)
        if lipschitz > 0.0:
            self.most_norm = lipschitz * ROUNDING

    def cost(self, entry, answer):
        return self.chart.scale_gradient(answer, self.work)


class Exploring(Feedback):
    """Plays (1 - delta_t / r) z + delta_t u_t, u_t uniform on the sphere."""

    def __init__(self, tickets: Tickets, chart: Chart, smoothing: Smoothing, seed: int):
        Feedback.__init__(self, tickets, chart)
        self.smoothing, self.seed, self.most_norm = smoothing, seed, -1.0
        self.explores = True
        self.point_array = np.zeros(self.dim)
        self.point = floats_at(self.point_array)

    def explore(self, ticket, sign, z, x):
        """Write the play along the direction in ``work``, or against it."""
        delta = self.smoothing.radius(ticket + 1)
        shrink = 1.0 - delta / self.smoothing.inner_radius
        for i in range(self.dim):
            self.point[i] = shrink * z[i] + sign * (delta * self.work[i])
        self.chart.to_user(self.point, x)

    def along(self, entry, value):
        """Return (k / delta_s) value u_s, with radius and direction of the ticket's own round."""
        ticket = self.tickets.number[entry]
        unit_vector(self.work, self.dim, 0, ticket, self.seed)
        factor = self.dim / self.smoothing.radius(ticket + 1) * value
        for i in range(self.dim):
            self.work[i] *= factor
        return self.work


class OnePoint(Exploring):
    """Answers are values: c_n = (k / delta_s) (f_s(x_s) - b_s) u_s (W_BCO, Algorithm 2).

    b_s is 0, or with a baseline the mean of the values used before the ticket was issued.
    """

    FIELDS = {"values": VECTOR}

    def __init__(self, tickets, chart, smoothing, seed, magnitude, has_baseline):
        Exploring.__init__(self, tickets, chart, smoothing, seed)
        self.magnitude, self.has_baseline = magnitude, has_baseline
        self.answer_size, self.columns, self.values = 1, int(has_baseline), 0.0

    def open(self, entry):
        if self.has_baseline:
            used = self.tickets.arrived - self.tickets.skipped - self.tickets.cancelled
            self.tickets.record(entry)[0] = self.values / used if used > 0 else 0.0

    def play(self, ticket, z, x):
        unit_vector(self.work, self.dim, 0, ticket, self.seed)
        self.explore(ticket, 1.0, z, x)

    def cost(self, entry, answer):
        baseline = self.tickets.record(entry)[0] if self.has_baseline else 0.0
        return self.along(entry, answer[0] - baseline)

    def is_excessive(self, entry, answer):
        return fabs(answer[0]) > self.magnitude * ROUNDING

    def use(self, answer):
        if self.has_baseline:
            self.values += answer[0]


class TwoPoint(Exploring):
    """Answers are pairs of values: c_n = (k / (2 delta_s)) (v_1 - v_2) u_s (Algorithm 4).

    Plays a pair, along the direction and against it.
    """

    def __init__(self, tickets, chart, smoothing, seed, lipschitz):
        Exploring.__init__(self, tickets, chart, smoothing, seed)
        self.play_size, self.answer_size, self.lipschitz = 2 * self.dim, 2, lipschitz

    def play(self, ticket, z, x):
        unit_vector(self.work, self.dim, 0, ticket, self.seed)
        self.explore(ticket, 1.0, z, x)
        self.explore(ticket, -1.0, z, part(x, self.dim))

    def cost(self, entry, answer):
        return self.along(entry, 0.5 * (answer[0] - answer[1]))

    def is_excessive(self, entry, answer):
        """|v_1 - v_2| > 2 G delta, with room for the rounding of the two values."""
        ticket = self.tickets.number[entry]
        allowed = 2.0 * self.lipschitz * self.smoothing.radius(ticket + 1) * ROUNDING
        rounding = (ROUNDING - 1.0) * (fabs(answer[0]) + fabs(answer[1]))
        apart = fabs(answer[0] - answer[1])
        return self.lipschitz > 0.0 and apart > allowed + rounding


# --- Giving up on answers, and their weights -----------------------------------------------------

STREAM = cython.declare(cython.ulonglong, 33)  # of the numbers that decide what is tracked


class Wrapper(Component):
    """Gives up on no answer by itself, and every answer weighs 1.

    ``gives_up``: ``overdue`` is asked before predictions. ``weighs``: answers have weights, and
    what is given up on is lost. ``forgets``: tickets that were given up on are forgotten after
    ``forget`` predictions. Before round ``calm`` nothing can be overdue.
    """

    def __init__(self, tickets: Tickets, forget=None):
        self.tickets = tickets
        self.gives_up = self.weighs = False
        self.forgets, self.forget = forget is not None, forget or 0
        self.calm = 0

    def begin_round(self):
        """Count what is counted once per round, before its prediction."""

    def overdue(self):
        """Return the entry to give up on before the next prediction, or -1; asked until then."""
        return -1

    def admits(self, entry):
        """Tell whether a ticket that was just issued is tracked."""
        return True

    def weight(self, ticket):
        """Return what the answer to a tracked ticket weighs now, where answers have weights."""
        return 1.0

    def count_waiting(self, weight, open_lags):
        """Count an arrival of this weight; return the weights that still wait."""
        return open_lags

    def restore(self, state):
        Component.restore(self, state)
        self.calm = 0

    def verify_with(self, own, tickets):
        """Demand that own fields and those of the tickets fit together."""


class Skip(Wrapper):
    """Gives up on tickets of an age above sqrt(patience); ages fall with tickets.

    Patience is D_t, the sum of the open counts so far (S_skip, Algorithm 3; Theorem 6.1).
    """

    FIELDS = {"patience": SUM}

    def __init__(self, tickets: Tickets, forget=None):
        Wrapper.__init__(self, tickets, forget)
        self.gives_up, self.patience = True, 0

    def begin_round(self):
        self.patience += self.tickets.rounds - self.tickets.arrived

    def overdue(self):
        """Return the entry of the oldest ticket if t - s > sqrt(patience).

        Patience never falls, so nothing can be overdue before round s + sqrt(patience), s being the
        oldest open ticket now.
        """
        oldest = self.tickets.advance_head()
        age = self.tickets.rounds - oldest
        if age * age > self.patience:
            return self.tickets.head
        root = cython.cast(cython.longlong, sqrt(self.patience))
        self.calm = oldest + root - 1  # 1 less: the root is rounded
        return -1

    def verify_with(self, own, tickets):
        """Demand that the sum is possible, and that no open ticket is overdue."""
        patience, is_open = own.get("patience", self.patience), tickets["seen"] >= 0
        demand("patience" not in own or patience <= tickets["rounds"] ** 2, "patience")
        if is_open.any():
            age = tickets["rounds"] - 1 - int(tickets["number"][np.argmax(is_open)])
            demand(age * age <= patience, "open tickets that are overdue")


class Deadline(Skip):
    """Patience is the square of a fixed number of predictions."""

    FIELDS: dict = {}

    def __init__(self, tickets: Tickets, rounds: int, forget=None):
        Skip.__init__(self, tickets, forget)
        self.patience = rounds * rounds

    def begin_round(self):
        """Count nothing."""


class Coins(Wrapper):
    """Tracks a ticket with probability p = ``chance`` if one of C places is free; w = 1 / p.

    A Bernoulli scheduler for a known backlog. U_s, uniform on (0, 1], is a function of seed and
    ticket: a ticket is tracked if U_s <= p.
    """

    def __init__(self, tickets: Tickets, most: int, chance: float, seed: int):
        Wrapper.__init__(self, tickets)
        self.weighs, self.most, self.chance, self.seed = True, most, chance, seed

    def admits(self, entry):
        has_room: cython.bint = self.tickets.rounds - self.tickets.arrived <= self.most
        return has_room and uniform(STREAM, self.tickets.number[entry], self.seed) <= self.chance

    def weight(self, ticket):
        return 1.0 / self.chance

    def count_waiting(self, weight, open_lags):
        return open_lags * weight

    def verify_with(self, own, tickets):
        """Demand that no more tickets are tracked than may be."""
        check_capacity(tickets, self.most)


class Thinning(Wrapper):
    """Pareto scheduler: before prediction t that g divides, s stays if U_s (t - s + 1) <= B.

    B = ``chance`` = (C / 2 - g + 1) / (1 + ln T), T = ``ahead`` a power of 2 that reaches the next
    thinning. An answer weighs max{1, (age + 1) / B}, the age at the newest thinning. ``extra`` is
    the sum of what tracked tickets weigh beyond 1. U_s is kept in the record of its ticket once it
    was asked for: most answers come before that.
    """

    FIELDS = {"chance": NOT_NEGATIVE, "ahead": NOT_NEGATIVE, "extra": ANY}

    def __init__(self, tickets: Tickets, most: int, gap: int, column: int, seed: int):
        Wrapper.__init__(self, tickets)
        self.gives_up = self.weighs = True
        self.most, self.gap, self.column, self.seed = most, gap, column, seed
        self.next_entry, self.chance, self.ahead, self.extra = 0, 0.0, 0.0, 0.0

    def drawn(self, entry):
        """Return U of the ticket of an entry."""
        record = self.tickets.record(entry)
        if record[self.column] == 0.0:
            record[self.column] = uniform(STREAM, self.tickets.number[entry], self.seed)
        return record[self.column]

    def look_ahead(self):
        """Set B for the time until the next thinning."""
        until = self.tickets.rounds + self.gap
        if until > self.ahead:
            self.ahead = max(1.0, self.ahead)
            while self.ahead < until:
                self.ahead *= 2.0
            self.chance = (0.5 * self.most - self.gap + 1.0) / (1.0 + ln(self.ahead))

    def overdue(self):
        """Return the entry to lose next in the thinning before this prediction, or -1.

        Entries stand in the order of tickets, so those that weigh more than 1 come first, and the
        others are not looked at.
        """
        t = self.tickets.rounds
        since = t & (self.gap - 1)
        entry = self.next_entry
        if since != 0:
            self.calm = t - since + self.gap
            return -1
        if entry == 0:
            self.look_ahead()
            self.extra = 0.0
            self.tickets.advance_head()
            entry = self.tickets.head
        while entry < self.tickets.tail():
            age = t - self.tickets.number[entry] + 1  # 1 more, as in B / (a + 1)
            if age <= self.chance:
                break
            if self.tickets.seen[entry] >= 0:
                if self.drawn(entry) * age > self.chance:
                    self.next_entry = entry + 1
                    return entry
                self.extra += age / self.chance - 1.0
            entry += 1
        if entry - self.tickets.head > 2 * (t - self.tickets.arrived) + 8:
            self.tickets.compact()  # so that the next thinning does not pass what is closed
        self.next_entry = 0
        self.calm = t + self.gap
        return -1

    def admits(self, entry):
        """Keep a new ticket if one of C places is free and, where B is below 1, if U <= B."""
        self.tickets.record(entry)[self.column] = 0.0
        if self.tickets.rounds - self.tickets.arrived > self.most:
            return False
        if self.chance < 1.0:
            if self.drawn(entry) > self.chance:
                return False
            self.extra += 1.0 / self.chance - 1.0
        return True

    def weight(self, ticket):
        newest = self.tickets.rounds - 1
        age = newest - ticket + 1
        if age <= self.chance:
            return 1.0
        newest -= newest & (self.gap - 1)
        return max(1.0, (max(newest - ticket, 0) + 1) / self.chance)

    def count_waiting(self, weight, open_lags):
        self.extra -= weight - 1.0
        return open_lags + max(0.0, self.extra)  # rounding must not lower it

    def verify_with(self, own, tickets):
        """Demand that weights are those of the tracked tickets."""
        check_capacity(tickets, self.most)
        drawn = tickets["records"][:, self.column]
        demand(((drawn >= 0.0) & (drawn <= 1.0)).all(), "what is drawn for tickets")
        rounds = tickets["rounds"]
        if not rounds:
            demand(own == dict.fromkeys(self.FIELDS, 0.0), "weights")
            return
        newest = (rounds - 1) - (rounds - 1) % self.gap
        ahead = 1 << (newest + self.gap - 1).bit_length()
        limit = (0.5 * self.most - self.gap + 1.0) / (1.0 + math.log(ahead))
        demand(own["ahead"] == ahead and abs(own["chance"] - limit) <= SLACK * limit, "weights")
        ages = np.maximum(newest - tickets["number"], 0) + 1
        extra = (np.maximum(1.0, ages / own["chance"]) - 1.0).sum()
        demand(abs(own["extra"] - extra) <= SLACK * (1.0 + extra), "weights")


def check_capacity(tickets, most):
    """Demand that no more tickets are tracked than may be, and that what is lost is forgotten."""
    demand(tickets["rounds"] - tickets["arrived"] <= most, "more tickets than the capacity")
    demand(tickets["late"] == 0 and tickets["expired"] == 0, "tickets that are lost")
