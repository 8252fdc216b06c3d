# cython: infer_types=True
"""Published methods that descend: a step for each answer, or one per round."""

from __future__ import annotations

import cython
import numpy as np

from belated.core.component import ANY, COUNT, NOT_NEGATIVE, VECTOR, demand, section
from belated.core.rival import is_doubled

if not cython.compiled:
    from math import sqrt

    from belated.core.numerics import dot, exp, floats_at, part
    from belated.core.rival import Hint, Method


# --- A step for each gradient --------------------------------------------------------------------


class FixedDescent(Method):
    """x = Pi(x - eta g) for each gradient that arrives, eta = ``step``."""

    def __init__(self, setting, step):
        Method.__init__(self, setting)
        self.step = step

    def learn(self, entry, cost):
        self.descend(cost, self.step)


class FallingDescent(Method):
    """x = Pi(x - eta_n g_n), eta_n = gain / sqrt(n), or 1 / (lambda n) with a ``curvature``."""

    def __init__(self, setting, gain, curvature=0.0):
        Method.__init__(self, setting)
        self.gain, self.curvature = gain, curvature

    def learn(self, entry, cost):
        n = self.tickets.arrived
        if self.curvature > 0.0:
            self.descend(cost, 1.0 / (self.curvature * n))
        else:
            self.descend(cost, self.gain / sqrt(n))


class LangfordSmolaZinkevich(FallingDescent):
    """``FallingDescent`` for answers in the order of tickets, after at most ``delay`` rounds."""

    def __init__(self, setting, gain, curvature, delay):
        FallingDescent.__init__(self, setting, gain, curvature)
        self.delay = delay

    def accepts(self, entry):
        ticket = self.tickets.number[entry]
        return ticket == self.tickets.arrived and self.tickets.rounds - 1 - ticket <= self.delay


class AdaGrad(Method):
    """x = Pi(x - eta_n g_n), eta_n = gain / sqrt(sum of |g_m|^2, m <= n); no step while that is 0.

    Duchi, Hazan and Singer 2011, with one step size for all coordinates.
    """

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


class KoloskovaStichJaggi(Method):
    """x = Pi(x - eta_n g_n), eta_n = eta, or min{eta, 1 / (4 L tau_n)} if tau_n > ``workers``."""

    def __init__(self, setting, step, smoothness, workers):
        Method.__init__(self, setting)
        self.step, self.smoothness, self.workers = step, smoothness, workers

    def learn(self, entry, cost):
        eta = self.step
        late = 1.0 * self.tickets.lag
        if late > self.workers:
            eta = min(eta, 1.0 / (4.0 * self.smoothness * late))
        self.descend(cost, eta)


class Ringmaster(Method):
    """x = Pi(x - gamma g_s) if at most R = ``stalest`` steps were taken since the play of s.

    A ticket keeps how many steps led to its play.
    """

    FIELDS = {"steps": COUNT}

    def __init__(self, setting, step, stalest):
        Method.__init__(self, setting, 1)
        self.step, self.stalest, self.steps = step, stalest, 0

    def play(self, entry, x):
        self.tickets.record(entry)[0] = self.steps
        Method.play(self, entry, x)

    def learn(self, entry, cost):
        if self.steps - self.tickets.record(entry)[0] <= self.stalest:
            self.descend(cost, self.step)
            self.steps += 1

    def verify(self, state):
        kept, steps = state["tickets.records"], state["steps"]
        demand(steps <= state["tickets.arrived"], "steps")
        demand(((kept >= 0.0) & (kept <= steps)).all(), "steps before plays")


class AdaptiveRevision(Method):
    """AdaGrad per coordinate that revises its steps; a ticket keeps the sum of gradients before it.

    With b the sum of those since then: z += g^2 + 2 g b, eta = alpha / (beta + sqrt(max z)),
    w += (eta_old - eta) b - eta g. The play is Pi(w). McMahan and Streeter 2014.
    """

    FIELDS = {
        **dict.fromkeys(("unprojected", "applied", "squares"), ANY),
        "largest": NOT_NEGATIVE,
    }

    def __init__(self, setting, gain, offset):
        Method.__init__(self, setting, len(setting.first))
        self.gain, self.offset, self.unprojected = gain, offset, self.base.point.copy()
        self.applied, self.squares, self.largest = np.zeros((3, self.dim))
        self.w, self.sum = floats_at(self.unprojected), floats_at(self.applied)
        self.square, self.top = floats_at(self.squares), floats_at(self.largest)

    def begin_round(self):
        self.go_to_nearest(self.w)

    def play(self, entry, x):
        record = self.tickets.record(entry)
        for i in range(self.dim):
            record[i] = self.sum[i]
        Method.play(self, entry, x)

    def learn(self, entry, cost):
        record = self.tickets.record(entry)
        for i in range(self.dim):
            g = cost[i]
            b = self.sum[i] - record[i]
            old = self.gain / (self.offset + sqrt(self.top[i]))
            self.square[i] += g * g + 2.0 * g * b
            self.top[i] = max(self.top[i], self.square[i])
            eta = self.gain / (self.offset + sqrt(self.top[i]))
            self.w[i] += (old - eta) * b - eta * g
            self.sum[i] += g

    def verify(self, state):
        demand((state["largest"] >= state["squares"]).all(), "the largest sums of squares")


class DOOMD(Method):
    """x <- argmin_K <g_s + h_new - h_old, x> + lambda B(x, x'), with ``Hint`` h; eta = 1 / lambda.

    One step for each gradient, and one with the hints alone where these change by themselves.
    """

    def __init__(self, setting, eta, has_hints):
        Method.__init__(self, setting)
        self.eta, self.hint = eta, Hint(self.tickets, self.dim, has_hints)
        self.base.sums.rate = eta

    def parts(self):
        return {**Method.parts(self), "hint": self.hint}

    def learn(self, entry, cost):
        new, old, last = self.hint.current(), self.hint.weight, self.hint.last
        for i in range(self.dim):
            self.work[i] = cost[i] + new * cost[i] - old * last[i]
            last[i] = cost[i]
        self.hint.weight = new
        self.base.move(self.work, 0.0, self.eta)

    def change_hint(self):
        """Step with h_new - h_old, if they differ."""
        new, old, last = self.hint.current(), self.hint.weight, self.hint.last
        self.hint.weight = new
        if new != old:
            for i in range(self.dim):
                self.work[i] = new * last[i] - old * last[i]
            self.base.move(self.work, 0.0, self.eta)

    def begin_round(self):
        self.change_hint()

    def lose(self, entry):
        self.change_hint()

    def verify(self, state):
        self.hint.verify_with(section(state, "hint"), state["tickets.rounds"])


class MildOGD(Method):
    """Experts j = 0, 1, .. with x^j <- Pi(x^j - 2^j eta g_s), and the play sum_j w_j x^j.

    w_j is proportional to exp(-alpha sum_s <g_s, x_s^j - x_s>) / ((j + 1) (j + 2)). A ticket keeps
    the points of all experts and the play. Wan, Yao, Song and Zhang 2024.
    """

    FIELDS = {"points": VECTOR, "losses": ANY}

    def __init__(self, setting, experts, gain, alpha):
        Method.__init__(self, setting, (experts + 1) * len(setting.first))
        self.experts, self.gain, self.alpha = experts, gain, alpha
        self.points = np.tile(self.base.point, (experts, 1))
        self.losses, self.weight_array = np.zeros((2, experts))
        self.x, self.loss = floats_at(self.points), floats_at(self.losses)
        self.weight = floats_at(self.weight_array)

    def weigh(self):
        """Compute the weights."""
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

    def begin_round(self):
        self.weigh()
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


class RoundDescent(Method):
    """x_{t+1} = Pi(x_t - eta sum of the gradients that arrived in round t).

    eta = ``step``, or 1 / (lambda N) with ``curvature`` lambda, N counting all gradients.
    """

    def __init__(self, setting, step, curvature=0.0):
        Method.__init__(self, setting, 0, True)
        self.step, self.curvature = step, curvature

    def learn(self, entry, cost):
        self.gathered.add(cost)

    def begin_round(self):
        if self.curvature == 0.0:
            self.step_with_gathered(self.step)
        elif self.tickets.arrived > 0:
            self.step_with_gathered(1.0 / (self.curvature * self.tickets.arrived))


class QuanrudKhashabiDoubling(Method):
    """``RoundDescent`` with eta = gain / sqrt(budget), in epochs.

    A round spends 1 + 2 x (open tickets); once the budget is exceeded it is doubled until it holds
    what the new epoch begins with, and the play starts again.
    """

    FIELDS = {"spent": NOT_NEGATIVE, "budget": NOT_NEGATIVE}

    def __init__(self, setting, gain):
        Method.__init__(self, setting, 0, True)
        self.gain, self.spent, self.budget = gain, 0.0, 1.0

    def learn(self, entry, cost):
        self.gathered.add(cost)

    def begin_round(self):
        self.step_with_gathered(self.gain / sqrt(self.budget))
        self.spent += 1.0 + 2.0 * (self.tickets.rounds - self.tickets.arrived)
        if self.spent > self.budget:
            while self.spent > self.budget:
                self.budget *= 2.0
            self.spent = 1.0
            self.restart()

    def verify(self, state):
        fits = is_doubled(state["budget"]) and state["spent"] <= state["budget"]
        demand(fits, "the budget of an epoch")
