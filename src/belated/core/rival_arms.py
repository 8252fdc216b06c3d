# cython: infer_types=True
"""Published methods that draw one of k arms and hear its loss: Exp3, two regularisers, Banker-OMD.

z are the probabilities. A play is the unit vector of the arm drawn, and a record begins with the
arm and its probability.
"""

from __future__ import annotations

import math

import cython
import numpy as np

from belated.core.component import (
    ANY,
    COUNT,
    LARGE_SUM,
    NOT_NEGATIVE,
    SUM,
    Range,
    demand,
)
from belated.core.component import (
    SLACK as ROUNDING,
)

if not cython.compiled:
    from math import fabs, sqrt

    from belated.core.exploration import word_share
    from belated.core.numerics import exp, floats_at, ln
    from belated.core.rival import SLACK, Method
    from belated.core.rival_experts import least, normalise

RAREST = 1e-30  # no word of 32 bits draws an arm of this probability
ESTIMATES = Range(-1e150, 1e150)  # costs of 1e100 over the rarest, in any number of rounds
DRAWS = cython.declare(cython.int, 1)  # stream of the generator

CLOSE = cython.declare(cython.double, 1e-8)  # how far sums may be from 1 before the last step ...
NEAR = cython.declare(cython.double, 1e-5)  # ... and before one that is an order better
PASSES = cython.declare(cython.int, 60)


# --- Two regularisers ----------------------------------------------------------------------------


def omega(k, w):
    """Return w > 0 with w + ln w = k, from a guess.

    Newton's method from afar: the left side is concave, so that it rises to the root from below,
    and from above falls below it in a step or a few. Close to the root the step of Fritsch, Shafer
    and Crowley, which leaves a relative error of at most (r / t)^4 / 36.
    """
    for _ in range(PASSES):
        r, t = k - w - ln(w), 1.0 + w
        if fabs(r) > 0.25 * t:
            w *= max(0.1, 1.0 + r / t)
        else:
            s = 2.0 * t * (t + 2.0 / 3.0 * r)
            w *= 1.0 + r * (s - r) / (t * (s - 2.0 * r))
        if fabs(r) <= 5e-4 * t:
            break
    return w


def solve(losses, a, b, mu, x, n):
    """Write argmin <losses, x> - 2 a sum sqrt(x_i) + b sum x_i ln x_i over the simplex; return mu.

    x_i = y_i^2 with a / y_i - 2 b ln y_i = L_i - min L + b - mu, and sum x_i = 1 fixes the
    multiplier mu. The sum is convex and increasing in mu, so Newton's method closes in from above
    after at most one step; mu = b - a, where the largest y_i is 1, is never too small. The old x
    and mu are where it starts. A step from a sum that is 1e-8 off leaves 1e-16, so for the last one
    every x_i moves along its slope.
    """
    lowest = least(losses, n)
    if b > 0.0:
        mu = solve_both(losses, lowest, a, b, mu, x, n)
    else:
        mu = solve_roots(losses, lowest, a, mu, x, n)
    normalise(x, n)
    return mu


def solve_roots(losses, lowest, a, mu, x, n):
    """Solve with b = 0: y_i = a / (L_i - min L - mu), whose slope is y_i^2 / a."""
    mu = min(mu, -a)
    for _ in range(PASSES):
        total = slope = 0.0
        for i in range(n):
            y = a / ((losses[i] - lowest) - mu)
            x[i] = y * y
            total += x[i]
            slope += x[i] * y
        step = 0.5 * a * (1.0 - total) / slope
        mu = min(mu + step, -a)
        if fabs(total - 1.0) <= CLOSE:
            for i in range(n):
                x[i] *= 1.0 + 2.0 * sqrt(x[i]) * step / a
            break
    return mu


def solve_both(losses, lowest, a, b, mu, x, n):
    """Solve with b > 0, where w_i = c / y_i, c = a / (2 b), has w_i + ln w_i = k_i.

    With v = 1 / (1 + w_i), x_i has slope x_i v / b in mu and second derivative
    x_i v^2 (3 - v) / (2 b^2). Until the end x holds w. The last step is an order better than
    Newton's.
    """
    half = 0.5 / b
    c = half * a
    shift = ln(c)
    for i in range(n):
        x[i] = c / sqrt(x[i])
    mu = min(mu, b - a)
    last = 0.0
    for _ in range(PASSES):
        total = slope = bend = 0.0
        for i in range(n):
            w = omega(half * ((losses[i] - lowest) + (b - mu)) + shift, x[i])
            x[i] = w
            inverse = 1.0 / (w * (1.0 + w))
            y, v = c * inverse * (1.0 + w), inverse * w
            share = y * y * v
            total += y * y
            slope += share
            bend += share * v * (3.0 - v)
        step = (1.0 - total) / slope  # in units of b
        if fabs(total - 1.0) <= NEAR:
            last = step * (1.0 - 0.25 * step * bend / slope)
            mu = min(mu + last * b, b - a)
            break
        mu = min(mu + step * b, b - a)
    for i in range(n):
        w = x[i]
        y, v = c / w, last / (1.0 + w)
        x[i] = y * y * (1.0 + v + 0.25 * v * v * (3.0 - 1.0 / (1.0 + w)))
    return mu


def check_multiplier(mu, arms, a, b):
    """Demand that mu can be what ``solve`` returned: a <= b - mu <= a sqrt(k) + b ln k."""
    most = (1.0 + ROUNDING) * (a * math.sqrt(arms) + b * math.log(arms))
    demand((1.0 - ROUNDING) * a <= b - mu <= most, "the multiplier")


# --- Exp3 ----------------------------------------------------------------------------------------


class Bandit(Method):
    """Draws arms from z and sums up estimates of losses, losses[a_s] += l_s / p_s[a_s]."""

    FIELDS = {"losses": ESTIMATES}

    def __init__(self, setting, columns=2):
        Method.__init__(self, setting, columns)
        self.answer_size, self.losses = 1, np.zeros(self.dim)
        self.lost = floats_at(self.losses)

    def play(self, entry, x):
        """Draw the first arm i with z_0 + .. + z_i > U, U uniform, and keep how likely it was."""
        record, total, arm = self.tickets.record(entry), 0.0, self.dim - 1
        mark = word_share(DRAWS, self.tickets.number[entry], self.seed)
        for i in range(self.dim):
            total += self.z[i]
            if total > mark:
                arm = i
                break
        for i in range(self.dim):
            x[i] = 1.0 if i == arm else 0.0
        record[0], record[1] = arm, self.z[arm]

    def cost_of(self, answer):
        return answer

    def is_excessive(self, answer, size):
        """Tell whether a loss is not in [0, 1]."""
        return not 1.0 - SLACK <= answer[0] <= SLACK

    def learn(self, entry, cost):
        record = self.tickets.record(entry)
        self.lost[cython.cast(cython.Py_ssize_t, record[0])] += cost[0] / record[1]

    def weigh(self, eta):
        """z in proportion to exp(-eta losses)."""
        lowest = least(self.lost, self.dim)
        for i in range(self.dim):
            self.z[i] = exp(-eta * (self.lost[i] - lowest))
        normalise(self.z, self.dim)
        self.base.sums.rate = eta

    def verify(self, state):
        arm, chance = state["tickets.records"][state["tickets.seen"] >= 0, :2].T
        demand(np.isin(arm, np.arange(self.dim)).all(), "arms")
        demand(((chance > RAREST) & (chance <= 1.0)).all(), "probabilities of arms")


class DelayedExp3(Bandit):
    """Probabilities proportional to exp(-eta losses); gives up on what is later than ``threshold``.

    Thune, Cesa-Bianchi and Seldin 2019.
    """

    def __init__(self, setting, eta, threshold=math.inf):
        Bandit.__init__(self, setting)
        self.eta, self.threshold, self.base.sums.rate = eta, threshold, eta

    def begin_round(self):
        oldest = self.tickets.find_oldest()
        while self.tickets.rounds - oldest > self.threshold:
            self.give_up(self.tickets.head)
            oldest = self.tickets.find_oldest()
        self.weigh(self.eta)


class AnytimeExp3(Bandit):
    """Exp3 with eta_t = sqrt(ln k / (k t + 2 S_t)), S_t the sum of the ``backlogs`` up to t."""

    FIELDS = {**Bandit.FIELDS, "backlogs": SUM}

    def __init__(self, setting, logarithm):
        Bandit.__init__(self, setting)
        self.logarithm, self.backlogs = logarithm, 0

    def begin_round(self):
        self.backlogs += self.tickets.rounds - self.tickets.arrived
        spread = self.dim * (self.tickets.rounds + 1) + 2 * self.backlogs
        self.weigh(sqrt(self.logarithm / spread))


# --- Two regularisers, methods -------------------------------------------------------------------


class ZimmertSeldin(Bandit):
    """z = argmin <losses, x> - 2 sqrt(t) sum sqrt(x_i) + b_t sum x_i ln x_i, b_t^2 = 2 S_t / ln k.

    S_t is the sum of the backlogs up to t. With ``skipping`` b_t^2 = S_t / ln k, and after the play
    open tickets of an age above b_t do not count any more; the first that may is ``oldest``.
    """

    FIELDS = {
        **Bandit.FIELDS,
        "multiplier": ANY,
        "backlogs": SUM,
        **dict.fromkeys(("counted", "oldest"), COUNT),
    }

    def __init__(self, setting, skipping):
        Bandit.__init__(self, setting)
        self.skipping, self.multiplier = skipping, -math.sqrt(self.dim)
        self.backlogs = self.counted = self.oldest = 0

    def begin_round(self):
        if self.skipping:
            self.backlogs += self.counted
        else:
            self.backlogs += self.tickets.rounds - self.tickets.arrived
        share = 1.0 if self.skipping else 2.0
        a, b = sqrt(self.tickets.rounds + 1.0), sqrt(share * self.backlogs / ln(self.dim))
        self.multiplier = solve(self.lost, a, b, self.multiplier, self.z, self.dim)
        if b > 0.0:
            self.base.sums.rate = 1.0 / b
        if self.skipping:
            self.stop_counting(b)
            self.counted += 1  # the new ticket

    def stop_counting(self, most):
        """Leave out every s with t - s > most; ages fall and ``most`` rises: oldest first."""
        while self.oldest < self.tickets.rounds:
            entry = self.tickets.entry_of(self.oldest)
            if entry >= 0 and self.tickets.seen[entry] >= 0:
                if self.tickets.rounds - self.oldest <= most:
                    break
                self.counted -= 1
            self.oldest += 1

    def uncount(self, entry):
        """Count a closed ticket no more."""
        if self.skipping and self.tickets.number[entry] >= self.oldest:
            self.counted -= 1

    def learn(self, entry, cost):
        self.uncount(entry)
        Bandit.learn(self, entry, cost)

    def lose(self, entry):
        self.uncount(entry)

    def verify(self, state):
        Bandit.verify(self, state)
        rounds, waits = state["tickets.rounds"], state["tickets.seen"] >= 0
        counts = np.count_nonzero(state["tickets.number"][waits] >= state["oldest"])
        demand(state["oldest"] <= rounds, "the oldest that counts")
        demand(state["counted"] == counts * self.skipping, "tickets that count")
        demand((state["base.point"] > 0.0).all(), "probabilities")
        demand(state["backlogs"] <= rounds**2, "the sum of backlogs")
        share = 1.0 if self.skipping else 2.0
        b = math.sqrt(share * state["backlogs"] / math.log(self.dim))
        check_multiplier(state["multiplier"], self.dim, math.sqrt(max(rounds, 1)), b)


class MasoudianZimmertSeldin(Bandit):
    """z = argmin <losses, x> - 2 a_t sum sqrt(x_i) + b_t sum x_i ln x_i.

    a_t = sqrt(t + h0), b_t = sqrt((S_t + g0) / ln k), S_t the sum of the backlogs up to t.
    """

    FIELDS = {**Bandit.FIELDS, "multiplier": ANY, "backlogs": SUM}

    def __init__(self, setting, logarithm, head_start, floor):
        Bandit.__init__(self, setting)
        self.logarithm, self.head_start, self.floor = logarithm, head_start, floor
        a, b = math.sqrt(1.0 + head_start), math.sqrt(floor / logarithm)
        self.multiplier, self.backlogs = b * (1.0 - logarithm) - a * math.sqrt(self.dim), 0

    def begin_round(self):
        self.backlogs += self.tickets.rounds - self.tickets.arrived
        a = sqrt(self.tickets.rounds + 1.0 + self.head_start)
        b = sqrt((self.backlogs + self.floor) / self.logarithm)
        self.multiplier = solve(self.lost, a, b, self.multiplier, self.z, self.dim)
        if b > 0.0:
            self.base.sums.rate = 1.0 / b

    def verify(self, state):
        Bandit.verify(self, state)
        rounds = state["tickets.rounds"]
        demand((state["base.point"] > 0.0).all(), "probabilities")
        demand(state["backlogs"] <= rounds**2, "the sum of backlogs")
        a = math.sqrt(max(rounds, 1) + self.head_start)
        b = math.sqrt((state["backlogs"] + self.floor) / self.logarithm)
        check_multiplier(state["multiplier"], self.dim, a, b)


# --- Banker-OMD ----------------------------------------------------------------------------------


class Banker(Bandit):
    """Plays are paid from what answers gave back; Psi(x) = -2 sum sqrt(x_i).

    ``losses`` is the sum of v_s grad Psi(z_s), ``savings`` that of the v_s. The gradient of the
    uniform distribution is the same for all arms, so what is borrowed there changes no play. A
    record is the arm, its probability, the scale c_s and x_s. Huang, Dai and Huang 2023.
    """

    FIELDS = {
        "losses": ANY,
        "savings": NOT_NEGATIVE,
        "multiplier": ANY,
        "scale": NOT_NEGATIVE,
    }

    def __init__(self, setting, columns=3):
        Bandit.__init__(self, setting, columns + len(setting.first))
        self.savings, self.multiplier, self.scale = 0.0, -math.sqrt(self.dim), 0.0

    def spend(self, scale):
        """Take the savings' share of c_t, in proportion, and solve for the play."""
        savings = self.savings
        share = min(scale / savings, 1.0) if savings > 0.0 else 1.0
        for i in range(self.dim):
            taken = share * self.lost[i]
            self.work[i] = -taken / scale
            self.lost[i] -= taken
        self.savings = savings - scale if share < 1.0 else 0.0
        self.scale, self.base.sums.rate = scale, 1.0 / scale
        self.multiplier = solve(self.work, 1.0, 0.0, self.multiplier, self.z, self.dim)

    def play(self, entry, x):
        Bandit.play(self, entry, x)
        record = self.tickets.record(entry)
        record[2] = self.scale
        for i in range(self.dim):
            record[3 + i] = self.z[i]

    def save(self, entry, loss):
        """Add v_s = c_s at grad Psi(z_s) = grad Psi(x_s) - lhat_s / c_s to the savings."""
        record = self.tickets.record(entry)
        for i in range(self.dim):
            self.lost[i] -= record[2] / sqrt(record[3 + i])
        self.lost[cython.cast(cython.Py_ssize_t, record[0])] -= loss / record[1]
        self.savings += record[2]

    def learn(self, entry, cost):
        self.save(entry, cost[0])

    def lose(self, entry):
        """Pay back what a lost round had invested, as if its loss had been 0."""
        self.save(entry, 0.0)

    def verify(self, state):
        Bandit.verify(self, state)
        records, k = state["tickets.records"][state["tickets.seen"] >= 0], self.dim
        plays, arms = records[:, 3 : 3 + k], records[:, 0].astype(np.int64)
        demand((state["base.point"] > 0.0).all() and (plays > 0.0).all(), "probabilities")
        demand((plays[np.arange(len(arms)), arms] == records[:, 1]).all(), "probabilities of arms")
        has_scale = state["scale"] > 0.0 or state["tickets.rounds"] == 0
        demand(has_scale and (records[:, 2] > 0.0).all(), "scales")
        demand(state["savings"] > 0.0 or not state["losses"].any(), "savings")
        check_multiplier(state["multiplier"], k, 1.0, 0.0)


class BankerTINF(Banker):
    """1 / c_t = 1 / sqrt(t) + sigma_t sqrt(ln(S_t + 1) / S_t), S_t the sum of the backlogs."""

    FIELDS = {**Banker.FIELDS, "backlogs": SUM}

    def __init__(self, setting):
        Banker.__init__(self, setting)
        self.backlogs = 0

    def begin_round(self):
        waiting = 1.0 * (self.tickets.rounds - self.tickets.arrived)
        self.backlogs += self.tickets.rounds - self.tickets.arrived
        inverse = 1.0 / sqrt(self.tickets.rounds + 1.0)
        if waiting > 0.0:
            total = 1.0 * self.backlogs
            inverse += waiting * sqrt(ln(total + 1.0) / total)
        self.spend(1.0 / inverse)

    def verify(self, state):
        Banker.verify(self, state)
        demand(state["backlogs"] <= state["tickets.rounds"] ** 2, "the sum of backlogs")


class BankerSFTINF(Banker):
    """1 / c_t = (sigma_t + 1) sqrt(ln(3 + S_t / L^2) / (3 + S_t)), S_t += (sigma_t + 1) L^2.

    L is what losses are ``believed`` to be below, which records have behind all else.
    """

    FIELDS = {**Banker.FIELDS, "believed": Range(1.0, LARGE_SUM), "spread": NOT_NEGATIVE}

    def __init__(self, setting):
        Banker.__init__(self, setting, 4)
        self.believed, self.spread = 1.0, 0.0

    def begin_round(self):
        count = self.tickets.rounds - self.tickets.arrived + 1.0
        square = self.believed * self.believed
        self.spread += count * square
        total = self.spread
        self.spend(1.0 / (count * sqrt(ln(3.0 + total / square) / (3.0 + total))))

    def play(self, entry, x):
        Banker.play(self, entry, x)
        self.tickets.record(entry)[3 + self.dim] = self.believed

    def is_excessive(self, answer, size):
        """Tell whether a loss is below 0, by more than rounding."""
        return answer[0] < 1.0 - SLACK

    def learn(self, entry, cost):
        """A loss above L_s is not learned from, and pays nothing back."""
        if cost[0] <= self.tickets.record(entry)[3 + self.dim]:
            self.save(entry, cost[0])
        self.believed = max(self.believed, 2.0 * cost[0])

    def verify(self, state):
        Banker.verify(self, state)
        records = state["tickets.records"][state["tickets.seen"] >= 0]
        demand((records[:, 3 + self.dim] >= 1.0).all(), "what losses are believed to be below")
