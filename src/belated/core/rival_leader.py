# cython: infer_types=True
"""Published methods that play what was best so far: dual averaging, FTRL, and Frank-Wolfe steps.

``gathered`` is the sum of all costs.
"""

from __future__ import annotations

import cython
import numpy as np

from belated.core.component import ANY, NOT_NEGATIVE, demand

if not cython.compiled:
    from math import sqrt

    from belated.core.numerics import floats_at
    from belated.core.rival import Hint, Method
    from belated.core.tickets import BAD


class DelayedDualAveraging(Method):
    """x_t = Pi(x_1 - eta_t S_t), eta_t = gain / sqrt(V_t), V_t = sum_{s <= t} (1/2 + backlog).

    Hsieh, Iutzeler, Malick and Mertikopoulos 2022.
    """

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

    def learn(self, entry, cost):
        self.gathered.add(cost)


class FTDRL(Method):
    """x = Pi((x_1 / eta - B) / (1 / eta + C)) for losses <b, x> + (c / 2) |x|^2, answers (b, c).

    B and C = ``bend`` are their sums. Wu, Huang and Liu 2024.
    """

    FIELDS = {"bend": NOT_NEGATIVE}

    def __init__(self, setting, gain):
        Method.__init__(self, setting, 0, True)
        self.gain, self.bend, self.answer_size = gain, 0.0, self.dim + 1

    def cost_of(self, answer):
        return answer

    def is_excessive(self, answer, size):
        return False

    def observe(self, ticket, answer):
        """Refuse a loss with negative curvature."""
        if answer[self.dim] < 0.0 and self.tickets.locate(ticket) >= 0:
            return BAD
        return Method.observe(self, ticket, answer)

    def begin_round(self):
        eta = self.gain / (1.0 + self.gain * self.bend)
        for i in range(self.dim):
            self.work[i] = eta * (self.first[i] / self.gain - self.gathered.sum[i])
        self.go_to_nearest(self.work)
        self.base.sums.rate = eta

    def learn(self, entry, cost):
        self.gathered.add(cost)
        self.bend += cost[self.dim]


class QiuEspositoZhang(Method):
    """x = Pi(mean of x_s - g_s / lambda over the rounds received); a ticket keeps its x_s.

    A lost gradient is zero, and its point still pulls.
    """

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
    """x_t = argmin_K <sum of received g_s + n g_last, x> + psi(x) / eta.

    n is that of ``Hint``, or fixed if ``copies`` is not negative, as WOFTRL may have it.
    Flaspohler et al. 2021; Fujimoto, Abe and Ariu 2025.
    """

    def __init__(self, setting, eta, has_hints, copies=-1.0):
        Method.__init__(self, setting, 0, True)
        self.eta, self.copies = eta, copies
        self.hint = Hint(self.tickets, self.dim, has_hints)
        self.base.sums.rate = eta

    def parts(self):
        return {**Method.parts(self), "hint": self.hint}

    def begin_round(self):
        """One step from the start."""
        weight = self.copies if self.copies >= 0.0 else self.hint.current()
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
    """y_{n+1} = y_n + r_n (v_n - y_n), v_n = argmin_K <grad F_n(y_n), v>, r_n the best for F_n.

    F_n(y) = gain <sum of n gradients, y> + |y - y_1|^2. Wan, Tu and Zhang 2022.
    """

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
    """The same with F_n(y) = <sum of gradients, y> + (lambda / 2) sum_{i <= n} |y - y_i|^2.

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
