"""Follow the leader on the quadratics below strongly convex losses.

With h_n(z) = <c_n, z> + (lambda / 2) |z - y_n|^2 and F_n = h_1 + .. + h_n, the regret of the points
y_n on the h_n against the best fixed point, z_{n+1} = argmin F_n itself, is

    sum_n h_n(y_n) - F_n(z_{n+1}) = sum_n {h_n(y_n) - h_n(z_n)} + {F_n(z_n) - F_n(z_{n+1})},

which is kept term by term, as every term is small. y_n is the mean of the two points kept around
x_s, the play's own, so |x_s - y_n| <= e = min(D, half the way between them), and x_s in the place
of y_n adds at most (|c_n| + lambda D) e - (lambda / 2) e^2 to the regret on h_n.
"""

from __future__ import annotations

import cython
import numpy as np

from belated.core.component import ANY, NOT_NEGATIVE, VECTOR, demand

if cython.compiled:
    from cython.cimports.belated.core.bases import Base
    from cython.cimports.belated.core.memory import floats_at, part
    from cython.cimports.belated.core.numerics import dot
    from cython.cimports.belated.core.past import Past
    from cython.cimports.libc.math import sqrt
else:
    from math import sqrt

    from belated.core.bases import Base
    from belated.core.memory import floats_at, part
    from belated.core.numerics import dot
    from belated.core.past import Past


@cython.cclass
class Leader(Base):
    """z_{n+1} = Pi(mean of y_m - c_m / lambda); p holds the sum.

    ``learning`` = sum of F_n(z_n) - F_n(z_{n+1}), ``drift`` = sum of h_n(y_n) - h_n(z_n),
    ``unsure`` the most that knowing x_s instead of y_n would add, ``way`` the length of the way of
    z. A record of the past is the way so far, then the point.
    """

    FIELDS = {
        "point": VECTOR,
        "inner": VECTOR,
        "learning": ANY,
        "drift": ANY,
        "unsure": ANY,
        "way": NOT_NEGATIVE,
    }

    past: Past
    spare_arrays: object
    apart: cython.p_double
    slope: cython.p_double
    learning = cython.declare(cython.double, visibility="public")
    drift = cython.declare(cython.double, visibility="public")
    unsure = cython.declare(cython.double, visibility="public")
    way = cython.declare(cython.double, visibility="public")

    def __init__(self, reach: int, first, *arguments):
        Base.__init__(self, first, *arguments)
        self.hears_all = True
        self.past = Past(self.tickets, reach, np.concatenate([[0.0], first]))
        self.spare_arrays = np.zeros((2, self.dim))
        self.apart = floats_at(self.spare_arrays[0])
        self.slope = floats_at(self.spare_arrays[1])
        self.learning = self.drift = self.unsure = self.way = 0.0

    def parts(self):
        return {**Base.parts(self), "past": self.past}

    def verify(self, state):
        Base.verify(self, state)
        records = state["past.records"]
        demand((records[:, 0] >= 0.0).all(), "the way of a leader")
        demand(self.domain.contains(records[:, 1:]), "a point outside of the set")

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=False)
    def update(self, cost: cython.p_double, norm: cython.double) -> cython.int:
        eta: cython.double = self.choose_rate(norm)
        return self.move(cost, norm, eta)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=False)
    def move(self, cost: cython.p_double, norm: cython.double, eta: cython.double) -> cython.int:
        curvature: cython.double = self.curvature
        diameter: cython.double = self.sums.diameter
        count: cython.double = self.tickets.arrived
        below: cython.p_double = self.z
        beyond: cython.p_double = self.z
        away: cython.double = diameter  # an answer from beyond the reach is taken to be about z_n
        level: cython.int = self.past.level()
        old: cython.p_double = self.past.at(self.tickets.arrived - 1)
        new: cython.p_double = self.past.at(self.tickets.arrived)
        if level >= 0:
            below = self.past.below(level)
            beyond = self.past.beyond(level)
            away = 0.5 * (beyond[0] - below[0])
            away = away if away < diameter else diameter
            below = part(below, 1)
            beyond = part(beyond, 1)
        self.drift += self.lead(cost, below, beyond, count)
        self.domain.project(self.work, self.z)
        self.keep(part(old, 1), new)
        self.unsure += away * (norm + curvature * (diameter - 0.5 * away))
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def lead(
        self,
        cost: cython.p_double,
        below: cython.p_double,
        beyond: cython.p_double,
        count: cython.double,
    ) -> cython.double:
        """Write the mean to ``work`` and return h_n(y_n) - h_n(z_n)."""
        curvature: cython.double = self.curvature
        y: cython.double
        i: cython.Py_ssize_t
        for i in range(self.dim):
            y = 0.5 * (below[i] + beyond[i])
            self.apart[i] = y - self.z[i]
            self.slope[i] = cost[i] - 0.5 * curvature * self.apart[i]
            self.p[i] += y - cost[i] / curvature
            self.work[i] = self.p[i] / count
        return dot(self.apart, self.slope, self.dim)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def keep(self, old: cython.p_double, record: cython.p_double) -> cython.void:
        """Keep z_{n+1}, and count how far it went and what F_n fell by.

        F_n(z) = (lambda n / 2) |z - mean|^2 but for a constant, and p is n times the mean.
        """
        count: cython.double = self.tickets.arrived
        twice: cython.double = 2.0 / count
        new: cython.p_double = part(record, 1)
        i: cython.Py_ssize_t
        for i in range(self.dim):
            new[i] = self.z[i]
            self.apart[i] = old[i] - self.z[i]
            self.slope[i] = old[i] + self.z[i] - twice * self.p[i]
        fell: cython.double = dot(self.apart, self.slope, self.dim)
        self.way += sqrt(dot(self.apart, self.apart, self.dim))
        record[0] = self.way
        self.learning += 0.5 * self.curvature * count * fell
