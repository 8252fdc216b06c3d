# cython: infer_types=True
"""Published methods that are told values: one, two or more per round."""

from __future__ import annotations

import cython
import numpy as np

from belated.core.component import ANY, COUNT, NOT_NEGATIVE, demand
from belated.core.rival import is_doubled

if not cython.compiled:
    from math import sqrt

    from belated.core.exploration import unit_vector
    from belated.core.numerics import cube_root, exp, floats_at, ln, part
    from belated.core.rival import Exploring, Pairs
    from belated.core.tickets import HELD


def power(t, exponent):
    """Return t^-exponent."""
    return exp(-exponent * ln(t))


# --- One value -----------------------------------------------------------------------------------


class Flaxman(Exploring):
    """y = Pi(y - step f u) onto the set shrunk for exploration. Flaxman, Kalai, McMahan 2005."""

    def __init__(self, setting, delta, step):
        Exploring.__init__(self, setting, delta)
        self.step = step

    def learn(self, entry, cost):
        unit_vector(self.direction, self.dim, 0, self.tickets.number[entry], self.seed)
        for i in range(self.dim):
            self.direction[i] *= cost[0]
        self.descend_inside(self.direction, self.step)


class Bistritz(Exploring):
    """Plays (1 - delta / r) y + delta u; y_{t+1} = Pi(y_t - eta sum of the estimates of round t).

    Bistritz, Zhou, Chen, Bambos and Blanchet 2022.
    """

    def __init__(self, setting, diameter, rounds, total_delay):
        Exploring.__init__(self, setting, 0.0, 0, True)
        self.diameter = diameter
        self.tune(rounds, total_delay)

    def tune(self, rounds, total_delay):
        """Set delta and eta for T rounds and a total delay d.

        delta / r = min{1, max(sqrt(A) T^(-1/4), (A d)^(1/3) T^(-2/3))} with A = k M / (G r), and
        eta = D / sqrt(T (k M / delta)^2 + 2 G (k M / delta) d).
        """
        noise = self.dim * self.magnitude
        ratio = noise / (self.lipschitz * self.inner)
        share = sqrt(ratio / sqrt(rounds))
        if total_delay > 0.0:
            share = max(share, cube_root(ratio * total_delay / rounds / rounds))
        self.delta = self.inner * min(1.0, share)
        size = noise / self.delta
        spread = rounds * size * size + 2.0 * self.lipschitz * size * total_delay
        self.gain = self.diameter / sqrt(spread)

    def begin_round(self):
        self.step_with_gathered(self.gain)

    def play(self, entry, x):
        shrink = 1.0 - self.delta / self.inner
        self.play_along(self.tickets.number[entry], 1.0, shrink, x)

    def learn(self, entry, cost):
        self.gathered.add(self.estimate(self.tickets.number[entry], cost[0]))


class BistritzDoubling(Bistritz):
    """``Bistritz`` in epochs, tuned for powers of two that grow once they are spent.

    An epoch has spent ``rounds`` of ``most_rounds``, and ``waiting``, the sum of the tickets that
    were open at its plays, of ``most_waiting``.
    """

    FIELDS = dict.fromkeys(("most_rounds", "most_waiting", "rounds", "waiting"), NOT_NEGATIVE)

    def __init__(self, setting, diameter):
        self.most_rounds = self.most_waiting = 1.0
        self.rounds = self.waiting = 0.0
        Bistritz.__init__(self, setting, diameter, 1.0, 1.0)

    def begin_round(self):
        self.step_with_gathered(self.gain)
        self.rounds += 1.0
        self.waiting += self.tickets.rounds - self.tickets.arrived
        if self.rounds <= self.most_rounds and self.waiting <= self.most_waiting:
            return
        while self.rounds > self.most_rounds:
            self.most_rounds *= 2.0
        while self.waiting > self.most_waiting:
            self.most_waiting *= 2.0
        self.rounds, self.waiting = 1.0, 0.0
        self.restart()
        self.tune(self.most_rounds, self.most_waiting)

    def restore(self, state):
        """Tune for the epoch of the state."""
        Bistritz.restore(self, state)
        self.tune(self.most_rounds, self.most_waiting)

    def verify(self, state):
        for spent, most in (("rounds", "most_rounds"), ("waiting", "most_waiting")):
            demand(is_doubled(state[most]) and state[spent] <= state[most], "an epoch")


class GOLD(Exploring):
    """One step per round with the oldest value of a pool.

    The pool is a skew heap of the tickets whose value waits. A record holds the value and its two
    children, each as ticket + 1, or 0 for none; both are younger. ``oldest`` is the root.
    Heliou, Mertikopoulos and Zhou 2020.
    """

    FIELDS = {"oldest": COUNT}

    def __init__(self, setting, breadth, gain, radius_power, step_power):
        Exploring.__init__(self, setting, breadth, 3)
        self.breadth, self.gain, self.oldest = breadth, gain, 0
        self.radius_power, self.step_power = radius_power, step_power

    def radius(self, ticket):
        """Return delta_t = min(r, delta t^-b)."""
        return min(self.inner, self.breadth * power(ticket + 1, self.radius_power))

    def merged(self, a, b):
        """Merge two heaps and return the root; O(log) steps, amortised."""
        if a == 0 or b == 0:
            return a + b
        root = min(a, b)
        b = max(a, b)
        a = root
        while True:  # b joins the heap on the right of a, and the sides of a are exchanged
            record = self.tickets.record(self.tickets.entry_of(a - 1))
            right = cython.cast(cython.longlong, record[2])
            record[2] = record[1]
            if right == 0:
                record[1] = b
                return root
            a = min(right, b)
            b = max(right, b)
            record[1] = a

    def begin_round(self):
        """Take the oldest value out of the pool and step with gamma_t."""
        if self.oldest == 0:
            return
        ticket = self.oldest - 1
        entry = self.tickets.entry_of(ticket)
        record = self.tickets.record(entry)
        left = cython.cast(cython.longlong, record[1])
        self.oldest = self.merged(left, cython.cast(cython.longlong, record[2]))
        self.delta = self.radius(ticket)
        self.tickets.release(entry)
        eta = self.gain * power(self.tickets.rounds, self.step_power)
        self.descend(self.estimate(ticket, record[0]), eta)

    def play(self, entry, x):
        """Play (1 - delta_t / r) z + delta_t u."""
        record, ticket = self.tickets.record(entry), self.tickets.number[entry]
        record[0] = record[1] = record[2] = 0.0
        self.delta = self.radius(ticket)
        self.play_along(ticket, 1.0, 1.0 - self.delta / self.inner, x)

    def learn(self, entry, cost):
        """Put a value into the pool."""
        self.tickets.record(entry)[0] = cost[0]
        self.tickets.hold(entry)
        self.oldest = self.merged(self.oldest, self.tickets.number[entry] + 1)

    def verify(self, state):
        """Demand a heap with every waiting value once, and older ones above younger ones."""
        held, records = state["tickets.seen"] == HELD, state["tickets.records"]
        tops = state["tickets.number"][held] + 1
        children = records[held, 1:]
        ordered = (children == 0.0) | (children > tops[:, None])
        below = np.append(children[children != 0.0], [state["oldest"]] * (state["oldest"] > 0))
        is_heap = np.array_equal(np.sort(below), tops) and ordered.all()
        demand(is_heap and not records[~held, 1:].any(), "the pool")


class DFTBL(Exploring):
    """Blocks of rounds around one point, and then y = Pi(-S / alpha), S the sum of all estimates.

    Wan, Yao, Song and Zhang 2024.
    """

    def __init__(self, setting, delta, block, alpha):
        Exploring.__init__(self, setting, delta, 0, True)
        self.block, self.alpha = block, alpha

    def ends_block(self):
        """Tell whether a block is complete."""
        return self.tickets.rounds > 0 and self.tickets.rounds % self.block == 0

    def begin_round(self):
        if self.ends_block():
            for i in range(self.dim):
                self.work[i] = -self.gathered.sum[i] / self.alpha
            self.go_inside(self.work)
            self.base.sums.rate = 1.0 / self.alpha

    def learn(self, entry, cost):
        self.gathered.add(self.estimate(self.tickets.number[entry], cost[0]))


class DFTBLStronglyConvex(DFTBL):
    """After block m, y = Pi(mean(y_1, .., y_m) - S / (lambda L m)), L the rounds of a block."""

    FIELDS = {"points": ANY, "blocks": COUNT}

    def __init__(self, setting, delta, block, curvature):
        DFTBL.__init__(self, setting, delta, block, 0.0)
        self.curvature, self.blocks, self.points = curvature, 0, np.zeros(self.dim)
        self.sum = floats_at(self.points)

    def begin_round(self):
        if self.ends_block():
            self.blocks += 1
            bend = self.curvature * self.block * self.blocks
            for i in range(self.dim):
                self.sum[i] += self.z[i]
                self.work[i] = self.sum[i] / self.blocks - self.gathered.sum[i] / bend
            self.go_inside(self.work)
            self.base.sums.rate = 1.0 / bend


# --- More values ---------------------------------------------------------------------------------


class AgarwalDekelXiao(Pairs):
    """A step with 1 / (lambda n) for the n-th pair, or without curvature with ``step``."""

    def __init__(self, setting, delta, step, curvature):
        Pairs.__init__(self, setting, delta)
        self.step, self.curvature = step, curvature

    def learn(self, entry, cost):
        eta = self.step
        if self.curvature > 0.0:
            eta = 1.0 / (self.curvature * self.answers_used())
        self.descend_inside(self.estimate_from(entry, cost), eta)


class DOGDSCTwoPoint(Pairs):
    """y_{t+1} = Pi(y_t - (sum of the estimates of round t) / (lambda N)), N counting all pairs."""

    def __init__(self, setting, delta, curvature):
        Pairs.__init__(self, setting, delta, True)
        self.curvature = curvature

    def learn(self, entry, cost):
        self.gathered.add(self.estimate_from(entry, cost))

    def begin_round(self):
        if self.gathered.count > 0:
            eta = 1.0 / (self.curvature * self.answers_used())
            self.descend_inside(self.gathered.sum, eta)
            self.gathered.clear()


class DOGDSCManyPoint(Exploring):
    """``DOGDSCTwoPoint`` with values at y and y + delta e_i, whose differences are the estimate."""

    def __init__(self, setting, delta, curvature):
        Exploring.__init__(self, setting, delta, 0, True)
        self.curvature, self.answer_size = curvature, self.dim + 1
        self.play_size = self.dim * self.answer_size

    def play(self, entry, x):
        for row in range(self.dim + 1):
            for i in range(self.dim):
                self.work[i] = self.z[i] + self.delta if row == i + 1 else self.z[i]
            self.chart.to_user(self.work, part(x, row * self.dim))

    def is_excessive(self, answer, size):
        steep = False
        for i in range(1, self.dim + 1):
            steep = steep or self.differ(answer[0], answer[i], self.delta)
        return steep

    def learn(self, entry, cost):
        for i in range(self.dim):
            self.work[i] = (cost[i + 1] - cost[0]) / self.delta
        self.gathered.add(self.work)

    def begin_round(self):
        if self.gathered.count > 0:
            eta = 1.0 / (self.curvature * self.answers_used())
            self.descend_inside(self.gathered.sum, eta)
            self.gathered.clear()
