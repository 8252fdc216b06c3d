# cython: infer_types=True
"""Base learners: the next point z_{n+1} out of z_n, a cost c_n and a step size eta_n."""

from __future__ import annotations

import math

import cython
import numpy as np

from belated.core.component import ANY, NOT_NEGATIVE, SLACK, VECTOR, WEIGHT, demand

if not cython.compiled:
    from math import fabs, sqrt
    from math import inf as INFINITY

    from belated.core.component import Component
    from belated.core.numerics import (
        bits_of,
        copy,
        dot,
        exp,
        floats_at,
        largest_entry,
        ln,
        norm,
        part,
        squared_distance,
    )
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
        self.see(norm)
        self.rate = rate
        self.learned += 0.5 * (rate * norm) * norm
        self.drifted += rate * norm * waiting
        return rate

    def see(self, norm):
        """Count the norm of a cost that may not be used: its round may have cost as much."""
        self.largest = max(self.largest, norm)


class Base(Component):
    """A base learner in the chart of its set.

    ``point`` is z, ``inner`` whatever vector the base keeps beside it (``p``). ``curvature`` is
    lambda if its losses are strongly convex, else 0. ``hears_all``: it hears of costs of zero.
    """

    FIELDS = {"point": VECTOR, "inner": VECTOR}
    PARTS: tuple = ("rate", "sums")

    def __init__(self, first, domain, rate, tickets, sums, curvature=0.0):
        self.dim = len(first)
        self.tickets, self.domain, self.rate, self.sums = tickets, domain, rate, sums
        self.curvature, self.hears_all = curvature, False
        self.point = np.array(first, dtype=np.float64)
        self.inner, self.work_array = np.zeros(self.dim), np.zeros(self.dim)
        self.z, self.p = floats_at(self.point), floats_at(self.inner)
        self.work = floats_at(self.work_array)

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
        eta = self.choose_rate(norm)
        if norm > 0.0 and eta > 0.0:
            return self.move(cost, norm, eta)
        return 0


class PFTRL(Base):
    """v = z_n + eta_n (p_n - c_n), z_{n+1} = Pi(v), p_{n+1} = (v - z_{n+1}) / eta_n.

    Theorem 4.1: regret <= D^2 / (2 eta_N) + sum eta_n |c_n|^2 / 2, drift <= sum eta_n nu_n |c_n|.
    """

    def move(self, cost, norm, eta):
        v, z, p = self.work, self.z, self.p
        for i in range(self.dim):
            v[i] = z[i] + eta * (p[i] - cost[i])
        self.domain.project(v, z)
        inverse = 1.0 / eta
        for i in range(self.dim):
            p[i] = (v[i] - z[i]) * inverse
        return 0


class OMD(Base):
    """z_{n+1} = Pi(z_n - eta_n c_n): Euclidean mirror descent (paper, equation OMD)."""

    def move(self, cost, norm, eta):
        v, z = self.work, self.z
        for i in range(self.dim):
            v[i] = z[i] - eta * cost[i]
        self.domain.project(v, z)
        return 0


class DualAveraging(Base):
    """z_{n+1} = Pi(-eta_n (c_1 + .. + c_n)); p is the sum (Nesterov 2009)."""

    def move(self, cost, norm, eta):
        v = self.work
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
        z, weights, total, top = self.z, self.p, 0.0, -INFINITY
        for i in range(self.dim):
            weights[i] -= eta * cost[i]
            top = max(top, weights[i])
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
        z, factor, low = self.z, 1.0, -1
        while True:
            count, left = 0, 0.0
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
                z[i] = max(self.floor, factor * z[i])
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

    Of the points after a multiple of 2^j arrivals the last 16 are kept, on every level j. The
    points for s arrivals are the two around s on the first level that goes back so far: the point
    itself for the last 16 arrivals, and for older ones two that are 2^j <= 2/15 of the arrivals
    since s apart. A record holds the point and other numbers of its owner.

    Every second point of a level is one of the next too, so a point is written once, into the ring
    of its last level, with 8 places. Of the points of the last level, half stand in its ring, a
    quarter in the next, and so on: 4 rings more.
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
        marked = arrivals | (cython.cast(cython.longlong, 1) << self.last_ring)
        ring = bit_length(marked & -marked) - 1
        place = (arrivals >> (ring + 1)) & 7
        return part(self.first, (ring * 8 + place) * self.width)

    def seen(self):
        """Return how many answers had arrived at the play of the newest one."""
        return self.tickets.arrived - 1 - self.tickets.lag

    def level(self):
        """Return the first level that goes back to the play of the newest answer, or -1."""
        newest = self.tickets.arrived - 1
        seen = self.seen()
        if newest - seen > self.reach:
            return -1
        # No level before the one where so many arrivals are fewer than 16, and at most one after
        # it; a loop over levels would be mispredicted.
        level = bit_length((newest - seen) | 8) - 4
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
        **dict.fromkeys(("point", "inner"), VECTOR),
        **dict.fromkeys(("learning", "drift", "unsure"), ANY),
        "way": NOT_NEGATIVE,
    }
    PARTS = ("rate", "sums", "past")

    def __init__(self, reach: int, first, *arguments):
        Base.__init__(self, first, *arguments)
        self.hears_all = True
        self.past = Past(self.tickets, reach, np.concatenate([[0.0], first]))
        self.spare = np.zeros((2, self.dim))
        self.apart, self.slope = floats_at(self.spare[0]), floats_at(self.spare[1])
        self.learning = self.drift = self.unsure = self.way = 0.0

    def verify(self, state):
        Base.verify(self, state)
        records = state["past.records"]
        demand((records[:, 0] >= 0.0).all(), "the way of a leader")
        demand(self.domain.contains(records[:, 1:]), "a point outside of the set")

    def update(self, cost, norm):
        below = beyond = self.z
        diameter, level = self.sums.diameter, self.past.level()
        away = diameter  # an answer from beyond the reach is taken to be about z_n
        self.choose_rate(norm)
        if level >= 0:
            below, beyond = self.past.below(level), self.past.beyond(level)
            away = min(diameter, 0.5 * (beyond[0] - below[0]))
            below, beyond = part(below, 1), part(beyond, 1)
        self.drift += self.lead(cost, below, beyond)
        self.domain.project(self.work, self.z)
        self.keep(part(self.past.at(self.tickets.arrived - 1), 1))
        self.unsure += away * (norm + self.curvature * (diameter - 0.5 * away))
        return 0

    def lead(self, cost, below, beyond):
        """Write the mean to ``work`` and return h_n(y_n) - h_n(z_n).

        Each loop has few vectors, so that compilers use vector instructions, also to divide.
        """
        curvature, work, count = self.curvature, self.work, 1.0 * self.tickets.arrived
        for i in range(self.dim):
            work[i] = 0.5 * (below[i] + beyond[i])  # y_n
        for i in range(self.dim):
            self.apart[i] = work[i] - self.z[i]
            self.slope[i] = cost[i] - 0.5 * curvature * self.apart[i]
        for i in range(self.dim):
            self.p[i] += work[i] - cost[i] / curvature
            work[i] = self.p[i] / count
        return dot(self.apart, self.slope, self.dim)

    def keep(self, old):
        """Keep z_{n+1}, and count how far it went from the point before and what F_n fell by.

        F_n(z) = (lambda n / 2) |z - mean|^2 but for a constant, and p is n times the mean.
        """
        record, count = self.past.at(self.tickets.arrived), 1.0 * self.tickets.arrived
        twice = 2.0 / count
        for i in range(self.dim):
            self.apart[i] = old[i] - self.z[i]
            self.slope[i] = old[i] + self.z[i] - twice * self.p[i]
        fell = dot(self.apart, self.slope, self.dim)
        self.way += sqrt(dot(self.apart, self.apart, self.dim))
        self.learning += 0.5 * self.curvature * count * fell
        record[0] = self.way
        copy(self.z, part(record, 1), self.dim)


# --- Portfolios -----------------------------------------------------------------------------------

LN_FOUR = cython.declare(cython.double, 1.3862943611198906)
FLOOR = cython.declare(cython.double, 2.0**-30)
"""Keeps differences by rounding, as parts of D times the largest cost, from moving the weights."""


class Member(Component):
    """A member of a portfolio, and the members after it.

    Members form a chain, so that loops over them need no Python objects. ``way`` is the length of
    the way that it went.
    """

    FIELDS = {"way": NOT_NEGATIVE}
    PARTS = ("base",)

    def __init__(self, base: Base, number: int, following):
        self.base, self.number, self.following = base, number, following
        self.is_last, self.way = following is None, 0.0

    def choose_rates(self, norm, weights, mean):
        """Let everyone choose a step; add their mean under the weights to ``mean``."""
        mean += weights[self.number] * self.base.choose_rate(norm)
        return mean if self.is_last else self.following.choose_rates(norm, weights, mean)

    def move(self, cost, norm, work, weights, z):
        """Let everyone take a step, and add the points times their weights to z."""
        own, weight = self.base.z, weights[self.number]
        if self.base.sums.rate > 0.0:
            copy(own, work, self.base.dim)
            self.base.move(cost, norm, self.base.sums.rate)
            self.way += sqrt(squared_distance(work, own, self.base.dim))
        for i in range(self.base.dim):
            z[i] += weight * own[i]
        if not self.is_last:
            self.following.move(cost, norm, work, weights, z)

    def keep(self, count, record):
        """Write way and point of everyone to a record; points stand by coordinate."""
        record[self.number] = self.way
        for i in range(self.base.dim):
            record[(1 + i) * count + self.number] = self.base.z[i]
        if not self.is_last:
            self.following.keep(count, record)


class Portfolio(Base):
    """A base made of bases: members hear the same costs, and weights learn whom to follow.

    The play is z = sum_i w_i z_i. An answer c_n to a play made after s arrivals charges member i

        l_i = <c_n, (z_i(a) + z_i(b)) / 2> + |c_n| min(D, half the way from z_i(a) to z_i(b)),

    a <= s <= b being the arrivals around s after which points are kept (see ``Past``), and the way
    the sum of the member's own moves. That is at least <c_n, z_i(s)>, what its own play would have
    cost, and equal to it if s itself is kept. The mixture is charged in the same way,

        A = <l, (w(a) + w(b)) / 2> + h min(2, half the way from w(a) to w(b)) >= <l, w(s)>,

    h being half the span of l, and ways of weights being measured in the 1-norm. Member i's gap,
    the sum of A - l_i, is what would have been saved by following it. The weights are exponential
    in it,

        w_i ~ prior_i exp(rate gap_i),   rate = ln 4 / sum of max(0, rise),

    the rise being that of the soft maximum ln(sum_i prior_i exp(rate gap_i)) / rate of all gaps
    with an answer, at the rate before it: what the play lost to weights that knew the answer. They
    give way to the anchor alone while

        gap + G D open > leash (D^2 / (2 eta) + sum eta |c|^2 / 2 + G sum eta s* |c|),

    the anchor's gap against what Theorem 4.1 allows it. Then the members take their steps with c_n.

    ``weights`` are w, ``targets`` what they are without the leash, ``gaps`` and ``misread`` (what
    members were charged for not knowing their points) stand by member. ``weights_rate`` is the rate
    of the weights, ``risen`` the sum under it, ``soft_top`` the soft maximum. A record of the past
    holds ways and points of all members, then the way and the values of the weights.
    """

    FIELDS = {
        "point": VECTOR,
        **dict.fromkeys(("weights", "targets"), WEIGHT),
        "gaps": ANY,
        **dict.fromkeys(("misread", "weights_rate", "risen", "weights_way"), NOT_NEGATIVE),
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

        A cost of zero charges no member and moves nothing, but its arrival counts.
        """
        eta = self.first_member.choose_rates(norm, self.w, 0.0)
        self.sums.add(eta, self.tickets.waiting, norm)
        if norm > 0.0:
            self.weigh(cost, norm)
            if self.past.level() >= 0:
                self.follow()
            for i in range(self.dim):
                self.z[i] = 0.0
            self.first_member.move(cost, norm, self.work, self.w, self.z)
        self.keep()
        return 0

    def keep(self):
        """Keep where everyone stands now."""
        record = self.past.at(self.tickets.arrived)
        self.first_member.keep(self.count, record)
        record = part(record, (1 + self.dim) * self.count)
        record[0] = self.weights_way
        copy(self.w, part(record, 1), self.count)

    def charge(self, cost, norm):
        """Write what a cost charges every member, counted from the mean; return the span.

        Beyond the reach no member is charged, and half of what the play may have cost more than any
        member's counts as misread.
        """
        count, charges, level = self.count, self.charges, self.past.level()
        low, high = self.past.below(max(level, 0)), self.past.beyond(max(level, 0))
        mean = 0.0
        for i in range(count):
            charges[i] = 0.0
        for j in range(1, self.dim + 1 if level >= 0 else 0):
            for i in range(count):
                charges[i] += cost[j - 1] * (0.5 * (low[j * count + i] + high[j * count + i]))
        for i in range(count):
            away = 0.5 * self.sums.diameter
            if level >= 0:
                away = min(self.sums.diameter, 0.5 * (high[i] - low[i]))
            self.lost[i] += norm * away
            charges[i] += norm * away
            mean += charges[i]
        if level < 0:
            return 0.0
        mean /= count
        lowest, highest = INFINITY, -INFINITY
        for i in range(count):
            charges[i] -= mean
            lowest, highest = min(lowest, charges[i]), max(highest, charges[i])
        return highest - lowest

    def mixed_charge(self, span):
        """Return A, from the records of the weights around the play."""
        level = self.past.level()
        place = (1 + self.dim) * self.count
        low = part(self.past.below(level), place)
        high = part(self.past.beyond(level), place)
        mixed = 0.0
        for i in range(self.count):
            mixed += self.charges[i] * (0.5 * (low[1 + i] + high[1 + i]))
        return mixed + 0.5 * span * min(2.0, 0.5 * (high[0] - low[0]))

    def weigh(self, cost, norm):
        """Charge everyone, lower the rate of the weights, and let targets follow the gaps."""
        span = self.charge(cost, norm)
        if span == 0.0:  # all members cost the same; rounding must not make a difference
            return
        mixed = self.mixed_charge(span)
        old = self.soft_top
        for i in range(self.count):
            self.gap[i] += mixed - self.charges[i]
        total = self.soften()
        self.risen += max(0.0, self.soft_top - old)
        floor = FLOOR * self.sums.diameter * self.sums.largest
        rate = LN_FOUR / (self.risen + floor)
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
        rate, top, total = self.weights_rate, -INFINITY, 0.0
        for i in range(self.count):
            top = max(top, self.gap[i])
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
        for i in range(self.count):
            new = self.target[i]
            if is_tied:
                new = 1.0 if i == self.anchor.number else 0.0
            self.weights_way += fabs(new - self.w[i])
            self.w[i] = new

    def exceeds_leash(self):
        """Tell whether the play has lost, or soon may, what the leash allows over the anchor."""
        bound, rate = max(self.sums.largest, self.sums.lipschitz), self.anchor.base.sums.rate
        diameter, learned = self.anchor.base.sums.diameter, self.anchor.base.sums.learned
        allowed = learned + bound * self.anchor.base.sums.drifted
        if rate > 0.0:
            allowed += diameter * diameter / (2.0 * rate)
        risk = bound * self.sums.diameter * self.tickets.open_lags
        return self.gap[self.anchor.number] + risk > self.leash * allowed
