"""A base made of bases: members that hear the same costs, and weights that learn whom to follow.

The play is z = sum_i w_i z_i. An answer c_n to a play made after s arrivals charges member i

    l_i = <c_n, (z_i(a) + z_i(b)) / 2> + |c_n| min(D, half the way from z_i(a) to z_i(b)),

a <= s <= b being the arrivals around s after which points are kept (see ``Past``), and the way the
sum of the member's own moves. That is at least <c_n, z_i(s)>, what its own play would have cost,
and equal to it if s itself is kept. The mixture is charged in the same way,

    A = <l, (w(a) + w(b)) / 2> + h min(2, half the way from w(a) to w(b)) >= <l, w(s)>,

h being half the span of l, and ways of weights being measured in the 1-norm. Member i's gap, the
sum of A - l_i, is what would have been saved by following it. The weights are exponential in it,

    w_i ~ prior_i exp(rate gap_i),   rate = ln 4 / sum of max(0, rise),

the rise being that of the soft maximum ln(sum_i prior_i exp(rate gap_i)) / rate of all gaps with an
answer, at the rate before it: what the play lost to weights that knew the answer. They give way to
the anchor alone while

    gap + G D open > leash (D^2 / (2 eta) + sum eta |c|^2 / 2 + G sum eta s* |c|),

the anchor's gap against what Theorem 4.1 allows it. Then the members take their steps with c_n.
"""

from __future__ import annotations

import cython
import numpy as np

from belated.core.component import ANY, NOT_NEGATIVE, SLACK, VECTOR, WEIGHT, demand

if not cython.compiled:
    from math import fabs, sqrt

    from belated.core.bases import Base, Past
    from belated.core.component import Component
    from belated.core.numerics import exp, floats_at, ln, part, squared_distance

LN_FOUR = cython.declare(cython.double, 1.3862943611198906)
FLOOR = cython.declare(cython.double, 2.0**-30)
"""Keeps differences by rounding, as parts of D times the largest cost, from moving the weights."""


class Member(Component):
    """A member of a portfolio, and the members after it.

    Members form a chain, so that loops over them need no Python objects. ``way`` is the length of
    the way that it went.
    """

    FIELDS = {"way": NOT_NEGATIVE}

    def __init__(self, base: Base, number: int, following):
        self.base, self.number, self.following = base, number, following
        self.is_last, self.way = following is None, 0.0

    def parts(self):
        return {"base": self.base}

    def choose_rates(self, norm, weights, mean):
        """Let everyone choose a step; add their mean under the weights to ``mean``."""
        mean += weights[self.number] * self.base.choose_rate(norm)
        return mean if self.is_last else self.following.choose_rates(norm, weights, mean)

    def move(self, cost, norm, work):
        """Let everyone take a step."""
        dim: cython.Py_ssize_t = self.base.dim
        i: cython.Py_ssize_t
        if self.base.sums.rate > 0.0:
            for i in range(dim):
                work[i] = self.base.z[i]
            self.base.move(cost, norm, self.base.sums.rate)
            self.way += sqrt(squared_distance(work, self.base.z, dim))
        if not self.is_last:
            self.following.move(cost, norm, work)

    def mix(self, weights, z):
        """Add the points of everyone, times their weights, to z."""
        weight: cython.double = weights[self.number]
        i: cython.Py_ssize_t
        for i in range(self.base.dim):
            z[i] += weight * self.base.z[i]
        if not self.is_last:
            self.following.mix(weights, z)

    def keep(self, count, record):
        """Write way and point of everyone to a record; points stand by coordinate."""
        i: cython.Py_ssize_t
        record[self.number] = self.way
        for i in range(self.base.dim):
            record[(1 + i) * count + self.number] = self.base.z[i]
        if not self.is_last:
            self.following.keep(count, record)


class Portfolio(Base):
    """The mixture of the members; see the module.

    ``weights`` are w, ``targets`` what they are without the leash, ``gaps`` and ``misread`` (what
    members were charged for not knowing their points) stand by member. ``weights_rate`` is the rate
    of the weights, ``risen`` the sum under it, ``soft_top`` the soft maximum, ``weights_way`` the
    length of their way. A record of the past holds ways and points of all members, then the way
    and the values of the weights.
    """

    FIELDS = {
        "point": VECTOR,
        "weights": WEIGHT,
        "targets": WEIGHT,
        "gaps": ANY,
        "misread": NOT_NEGATIVE,
        "weights_rate": NOT_NEGATIVE,
        "risen": NOT_NEGATIVE,
        "weights_way": NOT_NEGATIVE,
        "soft_top": ANY,
    }

    def __init__(self, bases, prior, anchor, leash: float, reach: int, first, *arguments):
        Base.__init__(self, first, *arguments)
        self.hears_all, self.leash, self.count = True, leash, len(bases)
        chain, members = None, []
        for number in reversed(range(len(bases))):
            chain = Member(bases[number], number, chain)
            members.append(chain)
        self.first_member, self.members = chain, tuple(reversed(members))
        self.anchor = self.members[anchor or 0]
        # Tied to an anchor it begins with that one alone: where all members stand is the same.
        self.prior = np.array(prior, dtype=np.float64)
        self.weights = self.prior.copy() if anchor is None else np.eye(self.count)[anchor]
        self.targets = self.prior.copy()
        self.gaps, self.misread = np.zeros(self.count), np.zeros(self.count)
        self.charge_array = np.zeros(self.count)
        self.w, self.target = floats_at(self.weights), floats_at(self.targets)
        self.gap, self.lost = floats_at(self.gaps), floats_at(self.misread)
        self.priors, self.charges = floats_at(self.prior), floats_at(self.charge_array)
        self.weights_rate = self.risen = self.weights_way = self.soft_top = 0.0
        points = np.repeat(first, self.count)
        record = [np.zeros(self.count), points, np.zeros(1), self.weights]
        self.past = Past(self.tickets, reach, np.concatenate(record))

    def parts(self):
        members = {f"members{number}": member for number, member in enumerate(self.members)}
        return {"sums": self.sums, "past": self.past, **members}

    def verify(self, state):
        Base.verify(self, state)
        count = self.count
        records = state["past.records"]
        ways, points, way, weights = np.split(
            records, [count, count * (1 + self.dim), count * (1 + self.dim) + 1], axis=1
        )
        points = points.reshape(-1, self.dim, count).swapaxes(1, 2)
        demand(self.domain.contains(points), "a point outside of the set")
        demand((ways >= 0.0).all() and (way >= 0.0).all(), "ways of members")
        for found in (state["weights"][None], state["targets"][None], weights):
            demand(((found >= 0.0) & (found <= 1.0 + SLACK)).all(), "weights of members")
            demand((abs(found.sum(axis=1) - 1.0) <= SLACK).all(), "weights of members")

    def update(self, cost, norm):
        """Charge the members, move the weights, move the members, and mix them.

        A cost of zero charges nobody and moves nothing, but its arrival counts.
        """
        i: cython.Py_ssize_t
        eta: cython.double = self.first_member.choose_rates(norm, self.w, 0.0)
        self.sums.add(eta, self.tickets.waiting, norm)
        if norm > 0.0:
            self.weigh(cost, norm)
            if self.past.level() >= 0:
                self.follow()
            self.first_member.move(cost, norm, self.work)
            for i in range(self.dim):
                self.z[i] = 0.0
            self.first_member.mix(self.w, self.z)
        self.keep()
        return 0

    def keep(self):
        """Keep where everyone stands now."""
        record: cython.p_double = self.past.at(self.tickets.arrived)
        self.first_member.keep(self.count, record)
        record = part(record, (1 + self.dim) * self.count)
        record[0] = self.weights_way
        i: cython.Py_ssize_t
        for i in range(self.count):
            record[1 + i] = self.w[i]

    def charge(self, cost, norm):
        """Write what a cost charges every member, counted from the mean; return the span.

        Beyond the reach nobody is charged, and half of what the play may have cost more than any
        member's counts as misread.
        """
        count: cython.Py_ssize_t = self.count
        charges: cython.p_double = self.charges
        level: cython.int = self.past.level()
        low: cython.p_double = self.past.below(level if level > 0 else 0)
        high: cython.p_double = self.past.beyond(level if level > 0 else 0)
        diameter: cython.double = self.sums.diameter
        away: cython.double
        mean: cython.double = 0.0
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        for i in range(count):
            charges[i] = 0.0
        if level >= 0:
            for j in range(self.dim):
                low = part(low, count)
                high = part(high, count)
                for i in range(count):
                    charges[i] += cost[j] * (0.5 * (low[i] + high[i]))
            low = self.past.below(level)
            high = self.past.beyond(level)
        for i in range(count):
            away = 0.5 * diameter
            if level >= 0:
                away = 0.5 * (high[i] - low[i])
                away = away if away < diameter else diameter
            self.lost[i] += norm * away
            charges[i] += norm * away
            mean += charges[i]
        if level < 0:
            return 0.0
        mean /= count
        lowest: cython.double = charges[0] - mean
        highest: cython.double = lowest
        for i in range(count):
            charges[i] -= mean
            lowest = charges[i] if charges[i] < lowest else lowest
            highest = charges[i] if charges[i] > highest else highest
        return highest - lowest

    def mixed_charge(self, span):
        """Return A, from the records of the weights around the play."""
        level: cython.int = self.past.level()
        place: cython.Py_ssize_t = (1 + self.dim) * self.count
        low: cython.p_double = part(self.past.below(level), place)
        high: cython.p_double = part(self.past.beyond(level), place)
        mixed: cython.double = 0.0
        half: cython.double = 0.5 * (high[0] - low[0])
        i: cython.Py_ssize_t
        for i in range(self.count):
            mixed += self.charges[i] * (0.5 * (low[1 + i] + high[1 + i]))
        return mixed + 0.5 * span * (half if half < 2.0 else 2.0)

    def weigh(self, cost, norm):
        """Charge everyone, lower the rate of the weights, and let targets follow the gaps."""
        span: cython.double = self.charge(cost, norm)
        if span == 0.0:  # nobody is better than another; rounding must not make a difference
            return
        mixed: cython.double = self.mixed_charge(span)
        old: cython.double = self.soft_top
        i: cython.Py_ssize_t
        for i in range(self.count):
            self.gap[i] += mixed - self.charges[i]
        total: cython.double = self.soften()
        if self.soft_top > old:
            self.risen += self.soft_top - old
        floor: cython.double = FLOOR * self.sums.diameter * self.sums.largest
        rate: cython.double = LN_FOUR / (self.risen + floor)
        if rate != self.weights_rate:
            self.weights_rate = rate
            total = self.soften()
        for i in range(self.count):
            self.target[i] /= total

    def soften(self):
        """Set the soft maximum ln(sum_i prior_i exp(rate gap_i)) / rate; return the sum of targets.

        Targets become the terms, shifted by the largest gap. Before the first rate that gap is all
        there is.
        """
        rate: cython.double = self.weights_rate
        top: cython.double = self.gap[0]
        total: cython.double = 0.0
        i: cython.Py_ssize_t
        for i in range(self.count):
            top = self.gap[i] if self.gap[i] > top else top
        self.soft_top = top
        if rate == 0.0:
            return 1.0
        for i in range(self.count):
            self.target[i] = exp(rate * (self.gap[i] - top)) * self.priors[i]
            total += self.target[i]
        self.soft_top += ln(total) / rate
        return total

    def follow(self):
        """Let the weights follow their targets, or the anchor alone while the leash is taut."""
        is_tied: cython.bint = self.exceeds_leash()
        new: cython.double
        i: cython.Py_ssize_t
        for i in range(self.count):
            new = self.target[i]
            if is_tied:
                new = 1.0 if i == self.anchor.number else 0.0
            self.weights_way += fabs(new - self.w[i])
            self.w[i] = new

    def exceeds_leash(self):
        """Tell whether the play has lost, or soon may, what the leash allows over the anchor."""
        bound: cython.double = self.sums.lipschitz
        bound = bound if bound > self.sums.largest else self.sums.largest
        rate: cython.double = self.anchor.base.sums.rate
        diameter: cython.double = self.anchor.base.sums.diameter
        allowed: cython.double = (
            self.anchor.base.sums.learned + bound * self.anchor.base.sums.drifted
        )
        if rate > 0.0:
            allowed += diameter * diameter / (2.0 * rate)
        risk: cython.double = bound * self.sums.diameter * self.tickets.open_lags
        return self.gap[self.anchor.number] + risk > self.leash * allowed
