"""What a learner plays and is told: plays out of points, and costs out of answers.

Directions of exploration are a function of seed and ticket, so an answer finds that of its play.
"""

from __future__ import annotations

import cython
import numpy as np

from belated.core.component import VECTOR

if not cython.compiled:
    from math import fabs

    from belated.core.component import Component
    from belated.core.exploration import Smoothing, unit_vector
    from belated.core.numerics import floats_at, part
    from belated.core.sets import Chart
    from belated.core.tickets import Tickets

SLACK = cython.declare(cython.double, 1.0 + 1e-9)  # so close to a bound is not beyond it


class Feedback(Component):
    """How to play a point, and what an answer says of it.

    A play has ``play_size`` numbers and an answer ``answer_size``; ``columns`` floats are kept per
    open ticket, first in its record.
    """

    def __init__(self, tickets: Tickets, chart: Chart):
        self.dim, self.tickets, self.chart = chart.dim, tickets, chart
        self.play_size = self.answer_size = chart.dim
        self.columns = 0
        self.work_array = np.zeros(self.dim)
        self.work = floats_at(self.work_array)

    def open(self, entry):
        """Note what the answer to a new ticket will need."""

    def play(self, ticket, z, x):
        """Write the play of a ticket to x, z being the point of the base."""

    def cost(self, entry, answer):
        """Return the cost vector of an answer in the chart; it may be the answer itself."""
        return answer

    def is_excessive(self, entry, answer, norm):
        """Tell whether an answer, whose cost has this norm, is larger than was assumed."""
        return False

    def use(self, answer):
        """Note an answer that is learned from."""


class FirstOrder(Feedback):
    """Answers are gradients: c_n = grad f_s(x_s) (W_OCO, Algorithm 1). ``lipschitz`` 0: unknown."""

    def __init__(self, tickets: Tickets, chart: Chart, lipschitz: float):
        Feedback.__init__(self, tickets, chart)
        self.lipschitz = lipschitz

    def play(self, ticket, z, x):
        self.chart.to_user(z, x)

    def cost(self, entry, answer):
        return self.chart.scale_gradient(answer, self.work)

    def is_excessive(self, entry, answer, norm):
        return 0.0 < self.lipschitz * SLACK < norm


class Exploring(Feedback):
    """Plays (1 - delta_t / r) z + delta_t u_t, u_t uniform on the sphere."""

    def __init__(self, tickets: Tickets, chart: Chart, smoothing: Smoothing, seed: int):
        Feedback.__init__(self, tickets, chart)
        self.smoothing, self.seed = smoothing, seed
        self.point_array = np.zeros(self.dim)
        self.point = floats_at(self.point_array)

    def explore(self, ticket, sign, z, x):
        """Write the play along the direction in ``work``, or against it."""
        delta: cython.double = self.smoothing.radius(ticket + 1)
        shrink: cython.double = 1.0 - delta / self.smoothing.inner_radius
        i: cython.Py_ssize_t
        for i in range(self.dim):
            self.point[i] = shrink * z[i] + sign * (delta * self.work[i])
        self.chart.to_user(self.point, x)

    def along(self, entry, value):
        """Return (k / delta_s) value u_s, with radius and direction of the ticket's own round."""
        ticket: cython.longlong = self.tickets.number[entry]
        unit_vector(self.work, self.dim, 0, ticket, self.seed)
        factor: cython.double = self.dim / self.smoothing.radius(ticket + 1) * value
        i: cython.Py_ssize_t
        for i in range(self.dim):
            self.work[i] *= factor
        return self.work


class OnePoint(Exploring):
    """Answers are values: c_n = (k / delta_s) (f_s(x_s) - b_s) u_s (W_BCO, Algorithm 2).

    b_s is 0, or with a baseline the mean of the values used before the ticket was issued.
    """

    FIELDS = {"values": VECTOR}

    def __init__(
        self,
        tickets: Tickets,
        chart: Chart,
        smoothing: Smoothing,
        seed: int,
        magnitude: float,
        has_baseline: bool,
    ):
        Exploring.__init__(self, tickets, chart, smoothing, seed)
        self.magnitude, self.has_baseline = magnitude, has_baseline
        self.answer_size, self.columns, self.values = 1, int(has_baseline), 0.0

    def open(self, entry):
        used: cython.longlong
        if self.has_baseline:
            used = self.tickets.arrived - self.tickets.skipped - self.tickets.cancelled
            self.tickets.record(entry)[0] = self.values / used if used > 0 else 0.0

    def play(self, ticket, z, x):
        unit_vector(self.work, self.dim, 0, ticket, self.seed)
        self.explore(ticket, 1.0, z, x)

    def cost(self, entry, answer):
        baseline: cython.double = self.tickets.record(entry)[0] if self.has_baseline else 0.0
        return self.along(entry, answer[0] - baseline)

    def is_excessive(self, entry, answer, norm):
        return fabs(answer[0]) > self.magnitude * SLACK

    def use(self, answer):
        if self.has_baseline:
            self.values += answer[0]


class TwoPoint(Exploring):
    """Answers are pairs of values: c_n = (k / (2 delta_s)) (v_1 - v_2) u_s (Algorithm 4).

    Plays a pair, along the direction and against it.
    """

    def __init__(
        self,
        tickets: Tickets,
        chart: Chart,
        smoothing: Smoothing,
        seed: int,
        lipschitz: float,
    ):
        Exploring.__init__(self, tickets, chart, smoothing, seed)
        self.play_size, self.answer_size, self.lipschitz = 2 * self.dim, 2, lipschitz

    def play(self, ticket, z, x):
        unit_vector(self.work, self.dim, 0, ticket, self.seed)
        self.explore(ticket, 1.0, z, x)
        self.explore(ticket, -1.0, z, part(x, self.dim))

    def cost(self, entry, answer):
        return self.along(entry, 0.5 * (answer[0] - answer[1]))

    def is_excessive(self, entry, answer, norm):
        """|v_1 - v_2| > 2 G delta, with room for the rounding of the two values."""
        ticket: cython.longlong = self.tickets.number[entry]
        allowed: cython.double = 2.0 * self.lipschitz * self.smoothing.radius(ticket + 1) * SLACK
        rounding: cython.double = (SLACK - 1.0) * (fabs(answer[0]) + fabs(answer[1]))
        apart: cython.double = fabs(answer[0] - answer[1])
        return self.lipschitz > 0.0 and apart > allowed + rounding
