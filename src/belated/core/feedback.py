"""What a learner plays and is told: plays out of points, and costs out of answers.

Directions of exploration are a function of seed and ticket, so an answer finds that of its play.
"""

from __future__ import annotations

import cython
import numpy as np

from belated.core.component import VECTOR

if cython.compiled:
    from cython.cimports.belated.core.component import Component
    from cython.cimports.belated.core.directions import unit_vector
    from cython.cimports.belated.core.memory import floats_at, part
    from cython.cimports.belated.core.sets import Chart
    from cython.cimports.belated.core.smoothing import Smoothing
    from cython.cimports.belated.core.tickets import Tickets
    from cython.cimports.libc.math import fabs
else:
    from math import fabs

    from belated.core.component import Component
    from belated.core.directions import unit_vector
    from belated.core.memory import floats_at, part
    from belated.core.sets import Chart
    from belated.core.smoothing import Smoothing
    from belated.core.tickets import Tickets

SLACK = cython.declare(cython.double, 1.0 + 1e-9)  # so close to a bound is not beyond it


@cython.cclass
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def open(self, entry: cython.longlong) -> cython.void:
        """Note what the answer to a new ticket will need."""

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def play(self, ticket: cython.longlong, z: cython.p_double, x: cython.p_double) -> cython.void:
        """Write the play of a ticket to x, z being the point of the base."""

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def cost(self, entry: cython.longlong, answer: cython.p_double) -> cython.p_double:
        """Return the cost vector of an answer in the chart; it may be the answer itself."""
        return answer

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def is_excessive(
        self, entry: cython.longlong, answer: cython.p_double, norm: cython.double
    ) -> cython.bint:
        """Tell whether an answer, whose cost has this norm, is larger than was assumed."""
        return False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def use(self, answer: cython.p_double) -> cython.void:
        """Note an answer that is learned from."""


@cython.cclass
class FirstOrder(Feedback):
    """Answers are gradients: c_n = grad f_s(x_s) (W_OCO, Algorithm 1). ``lipschitz`` 0: unknown."""

    lipschitz: cython.double

    def __init__(self, tickets: Tickets, chart: Chart, lipschitz: float):
        Feedback.__init__(self, tickets, chart)
        self.lipschitz = lipschitz

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def play(self, ticket: cython.longlong, z: cython.p_double, x: cython.p_double) -> cython.void:
        self.chart.to_user(z, x)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def cost(self, entry: cython.longlong, answer: cython.p_double) -> cython.p_double:
        return self.chart.scale_gradient(answer, self.work)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def is_excessive(
        self, entry: cython.longlong, answer: cython.p_double, norm: cython.double
    ) -> cython.bint:
        return 0.0 < self.lipschitz * SLACK < norm


@cython.cclass
class Exploring(Feedback):
    """Plays (1 - delta_t / r) z + delta_t u_t, u_t uniform on the sphere."""

    seed: cython.ulonglong
    smoothing: Smoothing
    point_array: object
    point: cython.p_double

    def __init__(self, tickets: Tickets, chart: Chart, smoothing: Smoothing, seed: int):
        Feedback.__init__(self, tickets, chart)
        self.smoothing, self.seed = smoothing, seed
        self.point_array = np.zeros(self.dim)
        self.point = floats_at(self.point_array)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def explore(
        self,
        ticket: cython.longlong,
        sign: cython.double,
        z: cython.p_double,
        x: cython.p_double,
    ) -> cython.void:
        """Write the play along the direction in ``work``, or against it."""
        delta: cython.double = self.smoothing.radius(ticket + 1)
        shrink: cython.double = 1.0 - delta / self.smoothing.inner_radius
        i: cython.Py_ssize_t
        for i in range(self.dim):
            self.point[i] = shrink * z[i] + sign * (delta * self.work[i])
        self.chart.to_user(self.point, x)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def along(self, entry: cython.longlong, value: cython.double) -> cython.p_double:
        """Return (k / delta_s) value u_s, with radius and direction of the ticket's own round."""
        ticket: cython.longlong = self.tickets.number[entry]
        unit_vector(self.work, self.dim, 0, ticket, self.seed)
        factor: cython.double = self.dim / self.smoothing.radius(ticket + 1) * value
        i: cython.Py_ssize_t
        for i in range(self.dim):
            self.work[i] *= factor
        return self.work


@cython.cclass
class OnePoint(Exploring):
    """Answers are values: c_n = (k / delta_s) (f_s(x_s) - b_s) u_s (W_BCO, Algorithm 2).

    b_s is 0, or with a baseline the mean of the values used before the ticket was issued.
    """

    FIELDS = {"values": VECTOR}

    magnitude: cython.double
    has_baseline: cython.bint
    values = cython.declare(cython.double, visibility="public")  # sum of those used

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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def open(self, entry: cython.longlong) -> cython.void:
        used: cython.longlong
        if self.has_baseline:
            used = self.tickets.arrived - self.tickets.skipped - self.tickets.cancelled
            self.tickets.record(entry)[0] = self.values / used if used > 0 else 0.0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def play(self, ticket: cython.longlong, z: cython.p_double, x: cython.p_double) -> cython.void:
        unit_vector(self.work, self.dim, 0, ticket, self.seed)
        self.explore(ticket, 1.0, z, x)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def cost(self, entry: cython.longlong, answer: cython.p_double) -> cython.p_double:
        baseline: cython.double = self.tickets.record(entry)[0] if self.has_baseline else 0.0
        return self.along(entry, answer[0] - baseline)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def is_excessive(
        self, entry: cython.longlong, answer: cython.p_double, norm: cython.double
    ) -> cython.bint:
        return fabs(answer[0]) > self.magnitude * SLACK

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def use(self, answer: cython.p_double) -> cython.void:
        if self.has_baseline:
            self.values += answer[0]


@cython.cclass
class TwoPoint(Exploring):
    """Answers are pairs of values: c_n = (k / (2 delta_s)) (v_1 - v_2) u_s (Algorithm 4).

    Plays a pair, along the direction and against it.
    """

    lipschitz: cython.double

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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def play(self, ticket: cython.longlong, z: cython.p_double, x: cython.p_double) -> cython.void:
        unit_vector(self.work, self.dim, 0, ticket, self.seed)
        self.explore(ticket, 1.0, z, x)
        self.explore(ticket, -1.0, z, part(x, self.dim))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def cost(self, entry: cython.longlong, answer: cython.p_double) -> cython.p_double:
        return self.along(entry, 0.5 * (answer[0] - answer[1]))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def is_excessive(
        self, entry: cython.longlong, answer: cython.p_double, norm: cython.double
    ) -> cython.bint:
        """|v_1 - v_2| > 2 G delta, with room for the rounding of the two values."""
        ticket: cython.longlong = self.tickets.number[entry]
        allowed: cython.double = 2.0 * self.lipschitz * self.smoothing.radius(ticket + 1) * SLACK
        rounding: cython.double = (SLACK - 1.0) * (fabs(answer[0]) + fabs(answer[1]))
        apart: cython.double = fabs(answer[0] - answer[1])
        return self.lipschitz > 0.0 and apart > allowed + rounding
