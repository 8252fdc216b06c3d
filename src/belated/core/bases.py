"""Base learners: the next point z_{n+1} out of z_n, a cost c_n and a step size eta_n."""

from __future__ import annotations

import copy

import cython
import numpy as np

from belated.core.component import NOT_NEGATIVE, VECTOR, demand
from belated.validation import checked_point

if cython.compiled:
    from cython.cimports.belated.core.component import Component
    from cython.cimports.belated.core.memory import floats_at
    from cython.cimports.belated.core.numerics import exp, largest_entry, ln, norm
    from cython.cimports.belated.core.rates import Rate
    from cython.cimports.belated.core.sets import Chart, Domain
    from cython.cimports.belated.core.tickets import Tickets
else:
    from belated.core.component import Component
    from belated.core.memory import floats_at
    from belated.core.numerics import exp, largest_entry, ln, norm
    from belated.core.rates import Rate
    from belated.core.sets import Chart, Domain
    from belated.core.tickets import Tickets


@cython.final
@cython.cclass
class Sums(Component):
    """The sums of Theorem 4.1 that certificates need, and the bounds that go with them.

    ``learned`` = sum eta_n |c_n|^2 / 2, ``drifted`` = sum eta_n s*_n |c_n|, ``largest`` = max
    |c_n|.
    """

    FIELDS = dict.fromkeys(("rate", "learned", "drifted", "largest"), NOT_NEGATIVE)

    def __init__(self, diameter: float, width: float, lipschitz: float):
        self.diameter, self.width, self.lipschitz = diameter, width, lipschitz
        self.rate = self.learned = self.drifted = self.largest = 0.0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add(self, rate: cython.double, waiting: cython.double, norm: cython.double) -> cython.void:
        """Add a step."""
        if norm > self.largest:
            self.largest = norm
        self.rate = rate
        self.learned += 0.5 * (rate * norm) * norm
        self.drifted += rate * norm * waiting

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def see(self, norm: cython.double) -> cython.void:
        """Count the norm of a cost that may not be used: its round may have cost as much."""
        if norm > self.largest:
            self.largest = norm


@cython.cclass
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def norm(self, cost: cython.p_double) -> cython.double:
        """Return the dual norm of a cost."""
        return norm(cost, self.dim)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def choose_rate(self, norm: cython.double) -> cython.double:
        """Return eta_n for a cost of this norm, and add it to the sums."""
        eta: cython.double = self.rate.step_size(norm)
        self.sums.add(eta, self.tickets.waiting, norm)
        return eta

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=False)
    def move(self, cost: cython.p_double, norm: cython.double, eta: cython.double) -> cython.int:
        """Take a step with a positive eta."""
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=False)
    def update(self, cost: cython.p_double, norm: cython.double) -> cython.int:
        """Learn from the cost of the arrival that was counted last."""
        eta: cython.double = self.choose_rate(norm)
        if norm > 0.0 and eta > 0.0:
            return self.move(cost, norm, eta)
        return 0


@cython.cclass
class PFTRL(Base):
    """v = z_n + eta_n (p_n - c_n), z_{n+1} = Pi(v), p_{n+1} = (v - z_{n+1}) / eta_n.

    Theorem 4.1: regret <= D^2 / (2 eta_N) + sum eta_n |c_n|^2 / 2, drift <= sum eta_n nu_n |c_n|.
    """

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=False)
    def move(self, cost: cython.p_double, norm: cython.double, eta: cython.double) -> cython.int:
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


@cython.cclass
class OMD(Base):
    """z_{n+1} = Pi(z_n - eta_n c_n): Euclidean mirror descent (paper, equation OMD)."""

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=False)
    def move(self, cost: cython.p_double, norm: cython.double, eta: cython.double) -> cython.int:
        v: cython.p_double = self.work
        z: cython.p_double = self.z
        i: cython.Py_ssize_t
        for i in range(self.dim):
            v[i] = z[i] - eta * cost[i]
        self.domain.project(v, z)
        return 0


@cython.cclass
class DualAveraging(Base):
    """z_{n+1} = Pi(-eta_n (c_1 + .. + c_n)); p is the sum (Nesterov 2009)."""

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=False)
    def move(self, cost: cython.p_double, norm: cython.double, eta: cython.double) -> cython.int:
        v: cython.p_double = self.work
        i: cython.Py_ssize_t
        for i in range(self.dim):
            self.p[i] += cost[i]
            v[i] = -eta * self.p[i]
        self.domain.project(v, self.z)
        return 0


@cython.cclass
class EntropyOMD(Base):
    """z_i proportional to z_i exp(-eta c_i), kept at or above the floor (Theorem D.4).

    p holds log weights, so a weight that is 0 in floating point can still come back. Norms of costs
    are largest entries.
    """

    floor: cython.double

    def __init__(self, *arguments):
        Base.__init__(self, *arguments)
        self.floor = self.domain.floor

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def norm(self, cost: cython.p_double) -> cython.double:
        return largest_entry(cost, self.dim)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=False)
    def move(self, cost: cython.p_double, norm: cython.double, eta: cython.double) -> cython.int:
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def raise_to_floor(self) -> cython.void:
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


@cython.cclass
class UserBase(Base):
    """A base that is a Python object with ``start`` and ``update``; it chooses its own steps."""

    FIELDS = {"point": VECTOR}

    base = cython.declare(object, visibility="readonly")
    chart: Chart

    def __init__(self, base, chart: Chart, *arguments):
        Base.__init__(self, *arguments)
        self.base, self.chart, self.hears_all = base, chart, True

    @cython.cfunc
    @cython.with_gil
    @cython.exceptval(-1, check=False)
    def update(self, cost: cython.p_double, norm: cython.double) -> cython.int:
        self.choose_rate(norm)
        given = np.empty(self.dim)
        self.chart.unscale_cost(cost, floats_at(given))
        who = f"{type(self.base).__name__}.update"
        found = self.base.update(given, self.tickets.lag, self.tickets.open_lags)
        point = checked_point(found, self.dim, who)
        self.chart.from_user(floats_at(point), self.z)
        return 0

    def state(self):
        """Return the point, and as ``saved`` what the object saves of itself, or a copy of it."""
        can_save = hasattr(self.base, "save") and hasattr(self.base, "load")
        saved = bytes(self.base.save()) if can_save else copy.deepcopy(self.base)
        return {**Base.state(self), "saved": saved}

    def restore(self, state):
        """Take the point, and let the object take back what it has saved."""
        if isinstance(state["saved"], bytes):
            self.base.load(state["saved"])
        else:
            self.base = state["saved"]
        Base.restore(self, state)

    def check(self, state):
        """Demand that there is something to load; what it is is the object's business."""
        demand(isinstance(state.get("saved"), bytes), "what a user's base saved")
        Base.check(self, {name: value for name, value in state.items() if name != "saved"})
