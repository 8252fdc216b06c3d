# cython: infer_types=True
"""The parts that published methods share: the events around a ticket, and mirror descent steps.

The types are in ``rival.pxd``. The methods are in ``rival_descent``, ``rival_experts`` and
``rival_matrices``; their references and guarantees are in ``belated.research.rivals``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cython
import numpy as np

from belated.core.bases import OMD, EntropyOMD
from belated.core.component import ANY, COUNT, VECTOR

if not cython.compiled:
    from math import fabs

    from belated.core.bases import Sums
    from belated.core.component import Component
    from belated.core.learner import HUGE, Player
    from belated.core.numerics import floats_at, norm, unit_vector
    from belated.core.rates import Rate
    from belated.core.tickets import BAD, DROPPED, OUT_OF_ORDER, TOO_LARGE, USED, Tickets

SLACK = cython.declare(cython.double, 1.0 + 1e-9)  # so close to a bound is not beyond it


class Setting(NamedTuple):
    """The arguments that every method takes from its spec."""

    chart: Any
    domain: Any
    first: Any  # the first point, in the chart
    is_entropy: bool  # whether steps use the entropy mirror
    lipschitz: float  # G, or 0 if it is unknown
    seed: int
    strict: bool
    inner: float = 0.0  # r, the radius of a ball in the set
    magnitude: float = 0.0  # M, the largest value, or 0 if it is unknown


class Method(Player):
    """A published method that plays around a point z of its set.

    Subclasses override ``begin_round``, ``play``, ``learn`` and ``lose``. The last two run after
    the arrival is counted: ``tickets.arrived`` includes it, ``tickets.lag`` is its dual delay. They
    may call ``tickets.hold(entry)`` to keep the record of the ticket, ``columns`` numbers at
    ``tickets.record(entry)``, until ``tickets.release(entry)``.

    z, the set and the newest step size belong to ``base``. ``gathered`` is a sum of costs, and
    ``hint`` a guess of missing ones, for methods that ask for them. ``work`` is scratch space.
    """

    PARTS = ("tickets", "base", "gathered", "hint")

    def __init__(self, setting, columns=0, gathers=False, hints=None):
        self.tickets = Tickets(columns)
        self.chart, self.seed, self.strict = setting.chart, setting.seed, setting.strict
        self.lipschitz, self.loses, self.has_user_parts = setting.lipschitz, False, False
        self.dim = self.play_size = self.answer_size = len(setting.first)
        step = EntropyOMD if setting.is_entropy else OMD
        sums = Sums(0.0, 0.0, setting.lipschitz)
        self.base = step(setting.first, setting.domain, Rate(self.tickets), self.tickets, sums)
        self.first_array, self.work_array = self.base.point.copy(), np.zeros(self.dim)
        self.gradient_array = np.zeros(self.dim)
        self.first, self.work = floats_at(self.first_array), floats_at(self.work_array)
        self.gradient, self.z = floats_at(self.gradient_array), floats_at(self.base.point)
        self.learned_cost = self.gradient
        self.gathered = Gathered(self.dim) if gathers else None
        self.hint = None if hints is None else Hint(self.tickets, self.dim, hints)

    @property
    def rate(self):
        """The newest step size, or None before the first."""
        return self.base.sums.rate or None

    # --- What differs between methods ------------------------------------------------------------

    def begin_round(self):
        """Run once per round, before its play."""

    def play(self, entry, x):
        """Write the play of a new ticket to x."""
        self.chart.to_user(self.z, x)

    def cost_of(self, answer):
        """Return the gradient in the chart, or the values as given."""
        return self.chart.scale_gradient(answer, self.gradient)

    def is_excessive(self, answer, size):
        """Tell whether an answer, whose cost has this norm, exceeds the assumed bound."""
        return 0.0 < self.lipschitz * SLACK < size

    def accepts(self, entry):
        """Tell whether the answer to a ticket is allowed now."""
        return True

    def learn(self, entry, cost):
        """Use the answer to a ticket; by default it is added to ``gathered``."""
        self.gathered.add(cost)

    def lose(self, entry):
        """Close a ticket without an answer; by default that is a zero gradient."""

    # --- Events ----------------------------------------------------------------------------------

    def predict(self, x):
        """Issue the next ticket and write its play."""
        if not self.tickets.make_room():
            self.tickets.grow()
        self.begin_round()
        entry = self.tickets.open_next()
        self.play(entry, x)
        return self.tickets.number[entry]

    def observe(self, ticket, answer):
        """Every check comes before the first change."""
        entry = self.tickets.locate(ticket)
        if entry < 0:
            return entry
        cost = self.cost_of(answer)
        if self.answer_size == self.dim:
            size = self.base.norm(cost)
        else:
            size = norm(answer, self.answer_size)
        if not size <= HUGE:
            return BAD
        excessive = self.is_excessive(answer, size)
        if excessive and self.strict:
            return TOO_LARGE
        if not self.accepts(entry):
            return OUT_OF_ORDER
        self.tickets.excess += excessive
        if self.tickets.is_expired(entry):
            self.tickets.late += 1
            self.tickets.drop_expired(entry)
            return DROPPED
        self.tickets.count_arrival(entry)
        self.tickets.close(entry)
        self.learned_cost = cost
        self.learn(entry, cost)
        return USED

    def cancel(self, ticket):
        """Close a ticket without an answer; one that was given up on is forgotten."""
        entry = self.tickets.locate(ticket)
        if entry < 0:
            return entry
        if self.tickets.is_expired(entry):
            self.tickets.drop_expired(entry)
            return DROPPED
        if not self.accepts(entry):
            return OUT_OF_ORDER
        self.tickets.count_arrival(entry)
        self.tickets.cancel(entry)
        self.lose(entry)
        return USED

    def peek(self, x):
        """Write the current point to x."""
        self.chart.to_user(self.z, x)

    # --- Steps -----------------------------------------------------------------------------------

    def descend(self, cost, eta):
        """z = argmin_K eta <cost, z> + B(z, z_old): Pi(z - eta cost), or a step of the entropy."""
        self.base.move(cost, 0.0, eta)
        self.base.sums.rate = eta

    def go_to_nearest(self, v):
        """z = Pi(v)."""
        self.base.domain.project(v, self.z)

    def step_with_gathered(self, eta):
        """Step with the sum of the costs since the last step, if there are any."""
        if self.gathered.count > 0:
            self.descend(self.gathered.sum, eta)
            self.gathered.clear()


class Gathered(Component):
    """The sum of all costs, or of those that arrived since the last step, and their number."""

    FIELDS = {"total": ANY, "count": COUNT}

    def __init__(self, dim):
        self.dim, self.count, self.total = dim, 0, np.zeros(dim)
        self.sum = floats_at(self.total)

    def add(self, cost):
        """Add a cost."""
        for i in range(self.dim):
            self.sum[i] += cost[i]
        self.count += 1

    def clear(self):
        """Begin a new sum."""
        for i in range(self.dim):
            self.sum[i] = 0.0
        self.count = 0


class Hint(Component):
    """A guess of the sum of all missing vectors and the next one: (open + 1) times the newest."""

    FIELDS = {"newest": VECTOR}

    def __init__(self, tickets, dim, is_used):
        self.tickets, self.dim, self.is_used = tickets, dim, is_used
        self.newest = np.zeros(dim)
        self.last = floats_at(self.newest)

    def weight(self):
        """Return the factor of the newest vector: open + 1, or 0 without hints."""
        return self.tickets.rounds - self.tickets.arrived + 1.0 if self.is_used else 0.0


class Exploring(Method):
    """A method whose answers are values at points around z, at distance ``delta`` or less.

    With z in (1 - delta / r) K the points z + delta u stay in K; u is a function of the ticket.
    """

    def __init__(self, setting, delta, columns=0, gathers=False):
        Method.__init__(self, setting, columns, gathers)
        self.inner, self.magnitude, self.delta = setting.inner, setting.magnitude, delta
        self.answer_size, self.direction_array = 1, np.zeros(self.dim)
        self.direction = floats_at(self.direction_array)

    def cost_of(self, answer):
        return answer

    def is_excessive(self, answer, size):
        """|value| > M."""
        return 0.0 < self.magnitude * SLACK < fabs(answer[0])

    def play(self, entry, x):
        """Play z + delta u."""
        self.play_along(self.tickets.number[entry], 1.0, 1.0, x)

    def answers_used(self):
        """Return the number of values that arrived; lost ones do not count."""
        return self.tickets.arrived - self.tickets.cancelled - self.tickets.skipped

    def play_along(self, ticket, sign, shrink, x):
        """Write ``shrink`` z + sign delta u."""
        unit_vector(self.direction, self.dim, 0, ticket, self.seed)
        for i in range(self.dim):
            self.work[i] = shrink * self.z[i] + sign * (self.delta * self.direction[i])
        self.chart.to_user(self.work, x)

    def estimate(self, ticket, value):
        """Return the estimate (k / delta) value u of a gradient, written to ``direction``."""
        unit_vector(self.direction, self.dim, 0, ticket, self.seed)
        factor = self.dim / self.delta * value
        for i in range(self.dim):
            self.direction[i] *= factor
        return self.direction

    def differ(self, first, second, apart):
        """|f(x) - f(x')| > G |x - x'|, with room for rounding of the two values."""
        allowed = self.lipschitz * apart * SLACK
        return fabs(first - second) > allowed + (SLACK - 1.0) * (fabs(first) + fabs(second))

    def go_inside(self, v):
        """z = q Pi(v / q), q = 1 - delta / r: the projection on the set q K. v is overwritten."""
        shrink = 1.0 - self.delta / self.inner
        for i in range(self.dim):
            v[i] = v[i] / shrink if shrink > 0.0 else 0.0
        self.go_to_nearest(v)
        for i in range(self.dim):
            self.z[i] = self.z[i] * shrink if shrink > 0.0 else 0.0

    def descend_inside(self, cost, eta):
        """Step to z - eta cost, projected on q K."""
        for i in range(self.dim):
            self.work[i] = self.z[i] - eta * cost[i]
        self.go_inside(self.work)
        self.base.sums.rate = eta
