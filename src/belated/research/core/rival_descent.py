# cython: infer_types=True
"""Published methods that learn from gradients, or estimate them from values.

Sections: a step for each gradient; one step per round; the best point so far; one value per round;
two or more values per round.
"""

from __future__ import annotations

import cython
import numpy as np

from belated.core.component import ANY, COUNT, NOT_NEGATIVE, VECTOR, demand

if not cython.compiled:
    from math import sqrt

    from belated.core.numerics import dot, exp, floats_at, ln, part, unit_vector
    from belated.core.tickets import HELD
    from belated.research.core.rival import Exploring, Method


# --- A step for each gradient --------------------------------------------------------------------


class GradientDescent(Method):
    """x = Pi(x - eta_n g_n), eta_n = gain, gain / sqrt(n) or, with a curvature, 1 / (lambda n)."""

    def __init__(self, setting, gain, curvature=0.0, falls=False, gathers=False):
        Method.__init__(self, setting, 0, gathers)
        self.gain, self.curvature, self.falls = gain, curvature, falls

    def step_size(self):
        n = self.tickets.arrived
        if self.curvature > 0.0:
            return 1.0 / (self.curvature * n)
        return self.gain / sqrt(n) if self.falls else self.gain

    def learn(self, entry, cost):
        self.descend(cost, self.step_size())


class LangfordSmolaZinkevich(GradientDescent):
    """``GradientDescent`` for answers in the order of tickets, after at most ``delay`` rounds."""

    def __init__(self, setting, gain, curvature, delay):
        GradientDescent.__init__(self, setting, gain, curvature, True)
        self.delay = delay

    def accepts(self, entry):
        ticket = self.tickets.number[entry]
        return ticket == self.tickets.arrived and self.tickets.rounds - 1 - ticket <= self.delay


class AdaGrad(Method):
    """x = Pi(x - eta_n g_n), eta_n = gain / sqrt(sum of |g_m|^2, m <= n); no step while it is 0."""

    FIELDS = {"squares": NOT_NEGATIVE}

    def __init__(self, setting, gain):
        Method.__init__(self, setting)
        self.gain, self.squares = gain, 0.0

    def learn(self, entry, cost):
        self.squares += dot(cost, cost, self.dim)
        if self.squares > 0.0:
            self.descend(cost, self.gain / sqrt(self.squares))


class AdaDelay(Method):
    """x = Pi(x - g_n / (L + c sqrt(n + tau_n))), tau_n the dual delay, c = ``scale``."""

    def __init__(self, setting, smoothness, scale):
        Method.__init__(self, setting)
        self.smoothness, self.scale = smoothness, scale

    def learn(self, entry, cost):
        late = self.tickets.arrived + self.tickets.lag
        self.descend(cost, 1.0 / (self.smoothness + self.scale * sqrt(late)))


class DelayAdaptiveSGD(Method):
    """x = Pi(x - step (M / max(M, tau_n)) g_n), tau_n the dual delay, M the ``workers``."""

    def __init__(self, setting, step, workers):
        Method.__init__(self, setting)
        self.step, self.workers = step, workers

    def learn(self, entry, cost):
        late = max(self.workers, 1.0 * self.tickets.lag)
        self.descend(cost, self.step * self.workers / late)


class Ringmaster(Method):
    """x = Pi(x - gamma g_s) if fewer than R = ``threshold`` steps were taken since the play of s.

    A ticket keeps how many steps led to its play.
    """

    FIELDS = {"steps": COUNT}

    def __init__(self, setting, step, threshold):
        Method.__init__(self, setting, 1)
        self.step, self.threshold, self.steps = step, threshold, 0

    def play(self, entry, x):
        self.tickets.record(entry)[0] = self.steps
        Method.play(self, entry, x)

    def learn(self, entry, cost):
        if self.steps - self.tickets.record(entry)[0] < self.threshold:
            self.descend(cost, self.step)
            self.steps += 1

    def verify(self, state):
        kept, steps = state["tickets.records"], state["steps"]
        demand(steps <= state["tickets.arrived"], "steps")
        demand(((kept >= 0.0) & (kept <= steps)).all(), "steps before plays")


class AdaptiveRevision(Method):
    """``squares`` is z, ``unprojected`` w; a ticket keeps the ``gathered`` sum before it."""

    FIELDS = {"unprojected": ANY, "squares": ANY, "largest": NOT_NEGATIVE}

    def __init__(self, setting, gain, offset):
        Method.__init__(self, setting, len(setting.first), True)
        self.gain, self.offset, self.unprojected = gain, offset, self.base.point.copy()
        self.squares, self.largest = np.zeros((2, self.dim))
        self.w, self.square = floats_at(self.unprojected), floats_at(self.squares)
        self.top = floats_at(self.largest)

    def begin_round(self):
        self.go_to_nearest(self.w)

    def play(self, entry, x):
        record = self.tickets.record(entry)
        for i in range(self.dim):
            record[i] = self.gathered.sum[i]
        Method.play(self, entry, x)

    def learn(self, entry, cost):
        record = self.tickets.record(entry)
        for i in range(self.dim):
            g = cost[i]
            b = self.gathered.sum[i] - record[i]
            old = self.gain / (self.offset + sqrt(self.top[i]))
            self.square[i] += g * g + 2.0 * g * b
            self.top[i] = max(self.top[i], self.square[i])
            eta = self.gain / (self.offset + sqrt(self.top[i]))
            self.w[i] += (old - eta) * b - eta * g
        self.gathered.add(cost)

    def verify(self, state):
        demand((state["largest"] >= state["squares"]).all(), "the largest sums of squares")


class MildOGD(Method):
    """Experts j = 0, 1, ..; a ticket keeps the points of all experts and the play."""

    FIELDS = {"points": VECTOR, "losses": ANY}

    def __init__(self, setting, experts, gain, alpha):
        Method.__init__(self, setting, (experts + 1) * len(setting.first))
        self.experts, self.gain, self.alpha = experts, gain, alpha
        self.points = np.tile(self.base.point, (experts, 1))
        self.losses, self.weight_array = np.zeros((2, experts))
        self.x, self.loss = floats_at(self.points), floats_at(self.losses)
        self.weight = floats_at(self.weight_array)

    def begin_round(self):
        least = self.loss[0]
        for j in range(self.experts):
            least = min(least, self.loss[j])
        total = 0.0
        for j in range(self.experts):
            weight = exp(-self.alpha * (self.loss[j] - least)) / ((j + 1.0) * (j + 2.0))
            self.weight[j] = weight
            total += weight
        for j in range(self.experts):
            self.weight[j] /= total
        for i in range(self.dim):
            self.z[i] = 0.0
            for j in range(self.experts):
                self.z[i] += self.weight[j] * self.x[j * self.dim + i]

    def play(self, entry, x):
        record = self.tickets.record(entry)
        for i in range(self.experts * self.dim):
            record[i] = self.x[i]
        for i in range(self.dim):
            record[self.experts * self.dim + i] = self.z[i]
        Method.play(self, entry, x)

    def learn(self, entry, cost):
        record = self.tickets.record(entry)
        played = part(record, self.experts * self.dim)
        eta = self.gain
        for j in range(self.experts):
            point, before = part(self.x, j * self.dim), part(record, j * self.dim)
            for i in range(self.dim):
                self.loss[j] += cost[i] * (before[i] - played[i])
                self.work[i] = point[i] - eta * cost[i]
            self.base.domain.project(self.work, point)
            eta *= 2.0

    def verify(self, state):
        demand(self.base.domain.contains(state["points"]), "a point outside of the set")


# --- One step per round --------------------------------------------------------------------------


class RoundDescent(GradientDescent):
    """x_{t+1} = Pi(x_t - eta_n sum of the gradients that arrived in round t), n counting all."""

    def __init__(self, setting, gain, curvature=0.0):
        GradientDescent.__init__(self, setting, gain, curvature, False, True)

    def learn(self, entry, cost):
        self.gathered.add(cost)

    def begin_round(self):
        if self.gathered.count > 0:
            self.step_with_gathered(self.step_size())


# --- The best point so far, where ``gathered`` is the sum of all costs ----------------------------


class DelayedDualAveraging(Method):
    """x_t = Pi(x_1 - eta_t S_t), eta_t = gain / sqrt(V_t), V_t = sum_{s <= t} (1/2 + backlog)."""

    FIELDS = {"spread": NOT_NEGATIVE}

    def __init__(self, setting, gain):
        Method.__init__(self, setting, 0, True)
        self.gain, self.spread = gain, 0.0

    def begin_round(self):
        self.spread += 0.5 + (self.tickets.rounds - self.tickets.arrived)
        eta = self.gain / sqrt(self.spread)
        for i in range(self.dim):
            self.work[i] = self.first[i] - eta * self.gathered.sum[i]
        self.go_to_nearest(self.work)
        self.base.sums.rate = eta


class QiuEspositoZhang(Method):
    """Gathers x_s - g_s / lambda; a ticket keeps its x_s, and a lost gradient counts as zero."""

    def __init__(self, setting, curvature):
        Method.__init__(self, setting, len(setting.first), True)
        self.curvature = curvature

    def begin_round(self):
        n = self.tickets.arrived
        if n > 0:
            for i in range(self.dim):
                self.work[i] = self.gathered.sum[i] / n
            self.go_to_nearest(self.work)
            self.base.sums.rate = 1.0 / (self.curvature * n)

    def play(self, entry, x):
        record = self.tickets.record(entry)
        for i in range(self.dim):
            record[i] = self.z[i]
        Method.play(self, entry, x)

    def learn(self, entry, cost):
        record = self.tickets.record(entry)
        for i in range(self.dim):
            self.work[i] = record[i] - cost[i] / self.curvature
        self.gathered.add(self.work)

    def lose(self, entry):
        self.gathered.add(self.tickets.record(entry))


class ODFTRL(Method):
    """The factor of the hint is that of ``Hint``, or ``copies`` if that is not negative."""

    def __init__(self, setting, eta, has_hints, copies=-1.0):
        Method.__init__(self, setting, 0, True, has_hints)
        self.eta, self.copies = eta, copies
        self.base.sums.rate = eta

    def begin_round(self):
        """One step from the start."""
        weight = self.copies if self.copies >= 0.0 else self.hint.weight()
        for i in range(self.dim):
            self.work[i] = self.gathered.sum[i] + weight * self.hint.last[i]
            self.z[i] = self.first[i]
            self.base.p[i] = 0.0
        self.base.move(self.work, 0.0, self.eta)

    def learn(self, entry, cost):
        for i in range(self.dim):
            self.hint.last[i] = cost[i]
        self.gathered.add(cost)


class FrankWolfe(Method):
    """Steps towards corners, for F_n(y) = gain <sum of n gradients, y> + |y - y_1|^2."""

    def __init__(self, setting, gain):
        Method.__init__(self, setting, 0, True)
        self.gain, self.corner_array = gain, np.zeros(self.dim)
        self.corner = floats_at(self.corner_array)

    def go_towards_corner(self, slope, bend):
        """y + r (v - y), r in [0, 1] the best for this slope and bend."""
        self.base.domain.corner(slope, self.corner)
        fall = length = 0.0
        for i in range(self.dim):
            ahead = self.corner[i] - self.z[i]
            fall -= slope[i] * ahead
            length += ahead * ahead
        if fall > 0.0 and length > 0.0:
            share = min(1.0, fall / (bend * length))
            for i in range(self.dim):
                self.z[i] += share * (self.corner[i] - self.z[i])

    def step(self):
        for i in range(self.dim):
            self.work[i] = self.gain * self.gathered.sum[i] + 2.0 * (self.z[i] - self.first[i])
        self.go_towards_corner(self.work, 2.0)

    def learn(self, entry, cost):
        self.gathered.add(cost)
        self.step()

    def lose(self, entry):
        self.step()


class FrankWolfeStronglyConvex(FrankWolfe):
    """``FrankWolfe`` with F_n(y) = <sum of gradients, y> + (lambda / 2) sum_{i <= n} |y - y_i|^2.

    No coordinate of a point is larger than ``reach``.
    """

    FIELDS = {"points": ANY}

    def __init__(self, setting, curvature, reach):
        FrankWolfe.__init__(self, setting, 0.0)
        self.curvature, self.reach, self.points = curvature, reach, np.zeros(self.dim)
        self.sum = floats_at(self.points)

    def step(self):
        n = self.tickets.arrived
        for i in range(self.dim):
            self.sum[i] += self.z[i]
            self.work[i] = self.gathered.sum[i] + self.curvature * (n * self.z[i] - self.sum[i])
        self.go_towards_corner(self.work, self.curvature * n)

    def verify(self, state):
        most = state["tickets.arrived"] * self.reach
        demand((abs(state["points"]) <= most).all(), "the sum of points")


# --- One value per round -------------------------------------------------------------------------


def power(t, exponent):
    """Return t^-exponent."""
    return exp(-exponent * ln(t))


class Flaxman(Exploring):
    """y = Pi(y - step f u) onto the set shrunk for exploration."""

    def __init__(self, setting, delta, step):
        Exploring.__init__(self, setting, delta)
        self.step = step

    def learn(self, entry, cost):
        unit_vector(self.direction, self.dim, 0, self.tickets.number[entry], self.seed)
        for i in range(self.dim):
            self.direction[i] *= cost[0]
        self.descend_inside(self.direction, self.step)


class Bistritz(Exploring):
    """Plays (1 - delta / r) y + delta u; y_{t+1} = Pi(y_t - eta sum of estimates of round t)."""

    def __init__(self, setting, delta, gain):
        Exploring.__init__(self, setting, delta, 0, True)
        self.gain = gain

    def begin_round(self):
        self.step_with_gathered(self.gain)

    def play(self, entry, x):
        shrink = 1.0 - self.delta / self.inner
        self.play_along(self.tickets.number[entry], 1.0, shrink, x)

    def learn(self, entry, cost):
        self.gathered.add(self.estimate(self.tickets.number[entry], cost[0]))


class GOLD(Exploring):
    """One step per round with the oldest value of a pool.

    The pool is a skew heap of the tickets whose value is not used yet. A record holds the value and
    its two children, each as ticket + 1, or 0 for none; both are younger. ``oldest`` is the root.
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
        while True:  # b is merged with the right child of a, and the children of a are swapped
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
        """Remove the oldest value from the pool, and step with gamma_t."""
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
        """Demand a heap that has every unused value once, with older ones above younger ones."""
        held, records = state["tickets.seen"] == HELD, state["tickets.records"]
        tops = state["tickets.number"][held] + 1
        children = records[held, 1:]
        ordered = (children == 0.0) | (children > tops[:, None])
        below = np.append(children[children != 0.0], [state["oldest"]] * (state["oldest"] > 0))
        is_heap = np.array_equal(np.sort(below), tops) and ordered.all()
        demand(is_heap and not records[~held, 1:].any(), "the pool")


class DFTBL(Exploring):
    """Blocks of rounds around one point, then y = Pi(-S / alpha), S the sum of all estimates."""

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


# --- Two or more values per round ----------------------------------------------------------------


class AgarwalDekelXiao(Exploring):
    """Plays z + delta u and z - delta u; eta = ``step``, or 1 / (lambda n) for the n-th pair."""

    def __init__(self, setting, delta, step, curvature, gathers=False):
        Exploring.__init__(self, setting, delta, 0, gathers)
        self.step, self.curvature = step, curvature
        self.play_size, self.answer_size = 2 * self.dim, 2

    def play(self, entry, x):
        self.play_along(self.tickets.number[entry], 1.0, 1.0, x)
        self.play_along(self.tickets.number[entry], -1.0, 1.0, part(x, self.dim))

    def is_excessive(self, answer, size):
        return self.differ(answer[0], answer[1], 2.0 * self.delta)

    def estimate_from(self, entry, values):
        """Return (k / (2 delta)) (f(z + delta u) - f(z - delta u)) u."""
        return self.estimate(self.tickets.number[entry], 0.5 * (values[0] - values[1]))

    def learn(self, entry, cost):
        eta = self.step
        if self.curvature > 0.0:
            eta = 1.0 / (self.curvature * self.answers_used())
        self.descend_inside(self.estimate_from(entry, cost), eta)


class DOGDSCTwoPoint(AgarwalDekelXiao):
    """y_{t+1} = Pi(y_t - (sum of the estimates of round t) / (lambda N)), N counting all pairs."""

    def __init__(self, setting, delta, curvature):
        AgarwalDekelXiao.__init__(self, setting, delta, 0.0, curvature, True)

    def learn(self, entry, cost):
        self.gathered.add(self.estimate_from(entry, cost))

    def begin_round(self):
        if self.gathered.count > 0:
            eta = 1.0 / (self.curvature * self.answers_used())
            self.descend_inside(self.gathered.sum, eta)
            self.gathered.clear()


class DOGDSCManyPoint(DOGDSCTwoPoint):
    """``DOGDSCTwoPoint`` with values at y and y + delta e_i, whose differences are the estimate."""

    def __init__(self, setting, delta, curvature):
        DOGDSCTwoPoint.__init__(self, setting, delta, curvature)
        self.answer_size, self.play_size = self.dim + 1, self.dim * (self.dim + 1)

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
