"""Base learners: the next point z_{n+1} out of z_n, a cost c_n and a step size eta_n."""

from __future__ import annotations

import math

import cython
import numpy as np

from belated.core.component import ANY, NOT_NEGATIVE, VECTOR, demand

if not cython.compiled:
    from math import sqrt

    from belated.core.component import Component
    from belated.core.numerics import bits_of, dot, exp, floats_at, largest_entry, ln, norm, part
    from belated.core.rates import Rate
    from belated.core.sets import Domain
    from belated.core.tickets import Tickets


class Sums(Component):
    """The sums of Theorem 4.1 that certificates need, and the bounds that go with them.

    ``learned`` = sum eta_n |c_n|^2 / 2, ``drifted`` = sum eta_n s*_n |c_n|, ``largest`` = max
    |c_n|.
    """

    FIELDS = dict.fromkeys(("rate", "learned", "drifted", "largest"), NOT_NEGATIVE)

    def __init__(self, diameter: float, width: float, lipschitz: float):
        self.diameter, self.width, self.lipschitz = diameter, width, lipschitz
        self.rate = self.learned = self.drifted = self.largest = 0.0

    def add(self, rate, waiting, norm):
        """Add a step of this rate, and return it."""
        if norm > self.largest:
            self.largest = norm
        self.rate = rate
        self.learned += 0.5 * (rate * norm) * norm
        self.drifted += rate * norm * waiting
        return rate

    def see(self, norm):
        """Count the norm of a cost that may not be used: its round may have cost as much."""
        if norm > self.largest:
            self.largest = norm


class Base(Component):
    """A base learner in the chart of its set.

    ``point`` is z, ``inner`` whatever vector the base keeps beside it (``p``). ``curvature`` is
    lambda if its losses are strongly convex, else 0. ``hears_all``: it hears of costs of zero.
    """

    FIELDS = {"point": VECTOR, "inner": VECTOR}

    def __init__(
        self,
        first,
        domain: Domain,
        rate: Rate,
        tickets: Tickets,
        sums: Sums,
        curvature: float = 0.0,
    ):
        self.dim = len(first)
        self.tickets, self.domain, self.rate, self.sums = tickets, domain, rate, sums
        self.curvature, self.hears_all = curvature, False
        self.point = np.array(first, dtype=np.float64)
        self.inner, self.work_array = np.zeros(self.dim), np.zeros(self.dim)
        self.z, self.p = floats_at(self.point), floats_at(self.inner)
        self.work = floats_at(self.work_array)

    def parts(self):
        return {"rate": self.rate, "sums": self.sums}

    def verify(self, state):
        demand(self.domain.contains(state["point"]), "a point outside of the set")

    def norm(self, cost):
        """Return the dual norm of a cost."""
        return norm(cost, self.dim)

    def choose_rate(self, norm):
        """Return eta_n for a cost of this norm, and add it to the sums."""
        return self.sums.add(self.rate.step_size(norm), self.tickets.waiting, norm)

    def move(self, cost, norm, eta):
        """Take a step with a positive eta."""
        return 0

    def update(self, cost, norm):
        """Learn from the cost of the arrival that was counted last."""
        eta: cython.double = self.sums.add(self.rate.step_size(norm), self.tickets.waiting, norm)
        if norm > 0.0 and eta > 0.0:
            return self.move(cost, norm, eta)
        return 0


class PFTRL(Base):
    """v = z_n + eta_n (p_n - c_n), z_{n+1} = Pi(v), p_{n+1} = (v - z_{n+1}) / eta_n.

    Theorem 4.1: regret <= D^2 / (2 eta_N) + sum eta_n |c_n|^2 / 2, drift <= sum eta_n nu_n |c_n|.
    """

    def move(self, cost, norm, eta):
        v: cython.p_double = self.work
        z: cython.p_double = self.z
        p: cython.p_double = self.p
        i: cython.Py_ssize_t
        for i in range(self.dim):
            v[i] = z[i] + eta * (p[i] - cost[i])
        self.domain.project(v, z)
        inverse: cython.double = 1.0 / eta
        for i in range(self.dim):
            p[i] = (v[i] - z[i]) * inverse
        return 0


class OMD(Base):
    """z_{n+1} = Pi(z_n - eta_n c_n): Euclidean mirror descent (paper, equation OMD)."""

    def move(self, cost, norm, eta):
        v: cython.p_double = self.work
        z: cython.p_double = self.z
        i: cython.Py_ssize_t
        for i in range(self.dim):
            v[i] = z[i] - eta * cost[i]
        self.domain.project(v, z)
        return 0


class DualAveraging(Base):
    """z_{n+1} = Pi(-eta_n (c_1 + .. + c_n)); p is the sum (Nesterov 2009)."""

    def move(self, cost, norm, eta):
        v: cython.p_double = self.work
        i: cython.Py_ssize_t
        for i in range(self.dim):
            self.p[i] += cost[i]
            v[i] = -eta * self.p[i]
        self.domain.project(v, self.z)
        return 0


class EntropyOMD(Base):
    """z_i proportional to z_i exp(-eta c_i), kept at or above the floor (Theorem D.4).

    p holds log weights, so a weight that is 0 in floating point can still come back. Norms of costs
    are largest entries.
    """

    def __init__(self, *arguments):
        Base.__init__(self, *arguments)
        self.floor = self.domain.floor

    def norm(self, cost):
        return largest_entry(cost, self.dim)

    def move(self, cost, norm, eta):
        z: cython.p_double = self.z
        weights: cython.p_double = self.p
        total: cython.double = 0.0
        i: cython.Py_ssize_t
        weights[0] -= eta * cost[0]
        top: cython.double = weights[0]
        for i in range(1, self.dim):
            weights[i] -= eta * cost[i]
            top = weights[i] if weights[i] > top else top
        for i in range(self.dim):
            weights[i] -= top
            z[i] = exp(weights[i])
            total += z[i]
        for i in range(self.dim):
            z[i] /= total
        if self.floor > 0.0:
            self.raise_to_floor()
        return 0

    def raise_to_floor(self):
        """Project on {z_i >= floor, sum = 1} in divergence: z_i = max(floor, factor z_i).

        Lifting some coordinates shrinks the factor for the rest, so more may fall below; it ends
        after at most dim passes.
        """
        z: cython.p_double = self.z
        factor: cython.double = 1.0
        left: cython.double
        low: cython.Py_ssize_t = -1
        count: cython.Py_ssize_t
        i: cython.Py_ssize_t
        while True:
            count = 0
            left = 0.0
            for i in range(self.dim):
                if factor * z[i] < self.floor:
                    count += 1
                else:
                    left += z[i]
            if count == low or count == 0:
                break
            low = count
            factor = (1.0 - count * self.floor) / left
        if low > 0:
            for i in range(self.dim):
                z[i] = factor * z[i] if factor * z[i] > self.floor else self.floor
                self.p[i] = ln(z[i])


# --- Follow the leader ---------------------------------------------------------------------------

PLACES = 16  # points per level
RING = 8  # records per ring


def records_for(reach):
    """Return how many records serve answers that come after so many other arrivals."""
    levels = max(1, math.ceil(math.log2(reach / (PLACES - 1))) + 1)
    return (levels + PLACES.bit_length() - 1) * RING


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def bit_length(number: cython.longlong) -> cython.int:
    """Return how many binary digits a number above 0 has."""
    return (bits_of(number) >> 52) - 1022  # from the exponent of a float; exact below 2^53


class Past(Component):
    """Points of the past, kept so that an answer finds about where the base stood at its play.

    Which ones are kept does not depend on the open tickets: of the points after a multiple of 2^j
    arrivals the last 16 are there, on every level j. The points for s arrivals are the two around s
    on the first level that goes back so far: the point itself for the last 16 arrivals, and for
    older ones two that are 2^j <= 2/15 of the arrivals since s apart. A record holds the point and
    other numbers of its owner. ``tickets`` count the arrivals.

    Every second point of a level is one of the next level too, so a point is written once, into the
    ring of the last level that it is on, and 8 places in each ring are enough. Of the points of the
    last level, half stand in its ring, a quarter in the next, and so on: 4 rings more.
    """

    FIELDS = {"records": VECTOR}

    def __init__(self, tickets: Tickets, reach: int, record):
        self.tickets, self.reach, self.width = tickets, reach, len(record)
        count = records_for(reach)
        self.last_ring = count // RING - 1
        self.records = np.tile(np.array(record, dtype=np.float64), (count, 1))
        self.first = floats_at(self.records)

    def at(self, arrivals):
        """Return the record after so many arrivals."""
        marked: cython.longlong = arrivals | (cython.cast(cython.longlong, 1) << self.last_ring)
        ring: cython.longlong = bit_length(marked & -marked) - 1
        place: cython.longlong = (arrivals >> (ring + 1)) & 7
        return part(self.first, (ring * 8 + place) * self.width)

    def seen(self):
        """Return how many answers had arrived at the play of the newest one."""
        return self.tickets.arrived - 1 - self.tickets.lag

    def level(self):
        """Return the first level that goes back to the play of the newest answer, or -1."""
        newest: cython.longlong = self.tickets.arrived - 1
        seen: cython.longlong = self.seen()
        if newest - seen > self.reach:
            return -1
        # No level before the one where so many arrivals are fewer than 16, and at most one after
        # it; a loop over levels would be mispredicted.
        level: cython.int = bit_length((newest - seen) | 8) - 4
        return level + 1 if (newest >> level) - (seen >> level) >= 16 else level

    def below(self, level):
        """Return the record at or before the play of the newest answer, on a level."""
        return self.at(self.seen() >> level << level)

    def beyond(self, level):
        """Return the record at or after it."""
        one: cython.longlong = 1
        return self.at((self.seen() + (one << level) - 1) >> level << level)


class Leader(Base):
    """z_{n+1} = Pi(mean of y_m - c_m / lambda): the leader on quadratics below the losses.

    With h_n(z) = <c_n, z> + (lambda / 2) |z - y_n|^2 and F_n = h_1 + .. + h_n, the regret of the
    points y_n on the h_n against the best fixed point, z_{n+1} = argmin F_n itself, is

        sum_n h_n(y_n) - F_n(z_{n+1}) = sum_n {h_n(y_n) - h_n(z_n)} + {F_n(z_n) - F_n(z_{n+1})},

    which is kept term by term, as every term is small. y_n is the mean of the two points kept
    around x_s, the play's own, so |x_s - y_n| <= e = min(D, half the way between them), and x_s in
    the place of y_n adds at most (|c_n| + lambda D) e - (lambda / 2) e^2 to the regret on h_n.

    p holds the sum of y_m - c_m / lambda.
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

    def update(self, cost, norm):
        eta: cython.double = self.choose_rate(norm)
        return self.move(cost, norm, eta)

    def move(self, cost, norm, eta):
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

    def lead(self, cost, below, beyond, count):
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

    def keep(self, old, record):
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
