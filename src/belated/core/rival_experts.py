# cython: infer_types=True
"""Published methods for experts, and others after Flaspohler et al. 2021 that tune in turn.

The plays of experts are probabilities, and answers the costs of all.
"""

from __future__ import annotations

import cython
import numpy as np

from belated.core.component import ANY, COUNT, NOT_NEGATIVE, VECTOR, demand, section

if not cython.compiled:
    from math import fabs, sqrt
    from math import inf as INFINITY

    from belated.core.numerics import exp, floats_at, ln, part
    from belated.core.rival import Hint, Method
    from belated.core.tickets import HELD


# --- Vectors -------------------------------------------------------------------------------------


def inner_product(v, w, n):
    """Return <v, w>, summed up in order."""
    total = 0.0
    for i in range(n):
        total += v[i] * w[i]
    return total


def least(v, n):
    """Return the smallest entry."""
    smallest = v[0]
    for i in range(n):
        smallest = min(smallest, v[i])
    return smallest


def farthest(v, w, n):
    """Return max |v_i - w_i|."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, fabs(v[i] - w[i]))
    return largest


def normalise(w, n):
    """Divide by the sum; where all are 0, the uniform distribution."""
    total = 0.0
    for i in range(n):
        total += w[i]
    for i in range(n):
        w[i] = w[i] / total if total > 0.0 else 1.0 / n


def softmin(v, strength, w, n):
    """w_i in proportion to exp(-v_i / lambda); at lambda = 0 uniform over the smallest v_i.

    w may be v itself.
    """
    lowest = least(v, n)
    for i in range(n):
        if strength > 0.0:
            w[i] = exp(-(v[i] - lowest) / strength)
        else:
            w[i] = 1.0 if v[i] == lowest else 0.0
    normalise(w, n)


# --- Regret matching -----------------------------------------------------------------------------


class RegretMatching(Method):
    """Keeps regrets p of the experts; a ticket keeps its play w_s, r_s = <c_s, w_s> - c_s."""

    FIELDS = {"regrets": VECTOR}

    def __init__(self, setting, has_hints):
        Method.__init__(self, setting, len(setting.first))
        self.hint, self.regrets = Hint(self.tickets, self.dim, has_hints), np.zeros(self.dim)
        self.p = floats_at(self.regrets)

    def parts(self):
        return {**Method.parts(self), "hint": self.hint}

    def play(self, entry, x):
        record = self.tickets.record(entry)
        for i in range(self.dim):
            record[i] = self.z[i]
        Method.play(self, entry, x)

    def verify(self, state):
        self.hint.verify_with(section(state, "hint"), state["tickets.rounds"])


class DORM(RegretMatching):
    """w in proportion to max(0, sum of r_s + h)^(q - 1), ``power`` q - 1, with ``Hint`` h."""

    def __init__(self, setting, has_hints, power):
        RegretMatching.__init__(self, setting, has_hints)
        self.power = power

    def begin_round(self):
        weight, top = self.hint.current(), 0.0
        for i in range(self.dim):
            self.z[i] = max(0.0, self.p[i] + weight * self.hint.last[i])
            top = max(top, self.z[i])
        for i in range(self.dim):
            if self.z[i] > 0.0:
                self.z[i] /= top
                if self.power != 1.0:
                    self.z[i] = exp(self.power * ln(self.z[i]))
        normalise(self.z, self.dim)

    def learn(self, entry, cost):
        paid = inner_product(cost, self.tickets.record(entry), self.dim)
        for i in range(self.dim):
            self.hint.last[i] = paid - cost[i]
            self.p[i] += self.hint.last[i]


class DORMPlus(RegretMatching):
    """p <- max(0, p + r_s + h_new - h_old); the play is p over its sum."""

    def change_hint(self):
        """p <- max(0, p + h_new - h_old), if the hints differ."""
        new, old, last = self.hint.current(), self.hint.weight, self.hint.last
        self.hint.weight = new
        if new != old:
            for i in range(self.dim):
                self.p[i] = max(0.0, self.p[i] + new * last[i] - old * last[i])

    def begin_round(self):
        self.change_hint()
        for i in range(self.dim):
            self.z[i] = self.p[i]
        normalise(self.z, self.dim)

    def learn(self, entry, cost):
        paid = inner_product(cost, self.tickets.record(entry), self.dim)
        new, old, last = self.hint.current(), self.hint.weight, self.hint.last
        for i in range(self.dim):
            r = paid - cost[i]
            self.p[i] = max(0.0, self.p[i] + r + new * r - old * last[i])
            last[i] = r
        self.hint.weight = new

    def lose(self, entry):
        self.change_hint()


# --- Tuning in turn ------------------------------------------------------------------------------


class InTurn(Method):
    """Answers tune in the order of tickets, each once it and all before it are there.

    ``turn`` is the ticket that tunes next, ``in_turn`` the sum of the costs that have. Records have
    the answer behind k numbers; until there is one it is 0.
    """

    FIELDS = {"turn": COUNT, "in_turn": ANY}

    def __init__(self, setting, columns):
        Method.__init__(self, setting, columns)
        self.turn, self.in_turn = 0, np.zeros(self.dim)
        self.turned = floats_at(self.in_turn)

    def tune(self, entry):
        """Learn from an answer in its turn."""

    def take_turns(self):
        """Let answers tune, as far as they are there."""
        while self.turn < self.tickets.rounds:
            entry = self.tickets.entry_of(self.turn)
            if self.tickets.seen[entry] != HELD:
                return
            cost = part(self.tickets.record(entry), self.dim)
            for i in range(self.dim):
                self.turned[i] += cost[i]
            self.tune(entry)
            self.tickets.release(entry)
            self.turn += 1

    def learn(self, entry, cost):
        answer = part(self.tickets.record(entry), self.dim)
        for i in range(self.dim):
            answer[i] = cost[i]
        self.lose(entry)

    def lose(self, entry):
        """Hold the record, with an answer or zeros, until its turn."""
        self.tickets.hold(entry)
        self.take_turns()

    def verify(self, state):
        number, seen = state["tickets.number"], state["tickets.seen"]
        turn, rounds = state["turn"], state["tickets.rounds"]
        fits = len(number) == rounds - turn and (number == np.arange(turn, rounds)).all()
        demand(fits and not (seen[:1] == HELD).any(), "whose turn it is")


class Hedging(InTurn):
    """Plays softmin(theta, lambda), theta the sum of all costs received, ``strength`` lambda.

    A record is theta at the play, the answer, lambda and ``paid`` at the play, and the play.
    """

    FIELDS = {
        **InTurn.FIELDS,
        "received": VECTOR,
        **dict.fromkeys(("strength", "paid"), NOT_NEGATIVE),
    }

    def __init__(self, setting):
        InTurn.__init__(self, setting, 3 * len(setting.first) + 2)
        self.strength, self.paid, self.received = 0.0, 0.0, np.zeros(self.dim)
        self.theta = floats_at(self.received)

    def begin_round(self):
        softmin(self.theta, self.strength, self.z, self.dim)
        if self.strength > 0.0:
            self.base.sums.rate = 1.0 / self.strength

    def play(self, entry, x):
        record, k = self.tickets.record(entry), self.dim
        for i in range(k):
            record[i], record[k + i] = self.theta[i], 0.0
            record[2 * k + 2 + i] = self.z[i]
        record[2 * k], record[2 * k + 1] = self.strength, self.paid
        Method.play(self, entry, x)

    def learn(self, entry, cost):
        for i in range(self.dim):
            self.theta[i] += cost[i]
        InTurn.learn(self, entry, cost)

    def verify(self, state):
        InTurn.verify(self, state)
        kept = state["tickets.records"][:, 2 * self.dim : 2 * self.dim + 2]
        demand((kept >= 0.0).all(), "what tickets keep")


class DUB(Hedging):
    """lambda = (2 max window + sqrt(sum of a^2 + 2 alpha b)) / alpha, alpha = ln k.

    Rounds tune in ticket order, so the window of s, the a_j of all j < s that had not tuned when s
    was played, is what was paid since then.
    """

    FIELDS = {**Hedging.FIELDS, **dict.fromkeys(("widest", "squares"), NOT_NEGATIVE)}

    def __init__(self, setting):
        Hedging.__init__(self, setting)
        self.widest = self.squares = 0.0

    def tune(self, entry):
        record, alpha = self.tickets.record(entry), ln(self.dim)
        pending, size = farthest(self.turned, record, self.dim), 0.0
        for i in range(self.dim):
            size = max(size, fabs(record[self.dim + i]))
        excess = max(0.0, pending - size)
        a = 2.0 * min(size, pending)
        b = 0.5 * pending * pending - 0.5 * excess * excess
        self.widest = max(self.widest, self.paid - record[2 * self.dim + 1])
        self.paid += a
        self.squares += a * a + 2.0 * alpha * b
        self.strength = (2.0 * self.widest + sqrt(self.squares)) / alpha


class AdaHedgeD(Hedging):
    """lambda += max(0, min(drift, aux, hat)) / ln k; see ``belated.rivals.AdaHedgeD``."""

    def gap(self, seen, share, w, strength, passing):
        """How far w is from the best, if x = share (seen - theta) is what it did not know.

        lambda ln(sum_i w_i exp(x_i / lambda)) - <x, w>, the largest x_i under some weight being
        shifted out before exp; at lambda = 0: <theta, w> - min theta.
        """
        theta, top, mass, mean = self.turned, -INFINITY, 0.0, 0.0
        if strength == 0.0:
            return inner_product(theta, w, self.dim) - least(theta, self.dim)
        for i in range(self.dim):
            if w[i] > 0.0:
                top = max(top, share * (seen[i] - theta[i]))
        for i in range(self.dim):
            passing[i] = exp(min(share * (seen[i] - theta[i]) - top, 0.0) / strength)
        for i in range(self.dim):
            if w[i] > 0.0:
                mass += w[i] * passing[i]
                mean += w[i] * (share * (seen[i] - theta[i]))
        return strength * ln(mass) + top - mean

    def tune(self, entry):
        k, seen, theta, w = self.dim, self.tickets.record(entry), self.turned, self.work
        cost, strength, then = part(seen, k), seen[2 * k], part(seen, 2 * k + 2)
        played = inner_product(cost, then, k)
        aux = self.gap(seen, 1.0, then, strength, w)
        softmin(theta, strength, w, k)  # as if nothing had been missing
        drift = played - inner_product(cost, w, k)
        pending, size = farthest(theta, seen, k), 0.0
        for i in range(k):
            size = max(size, fabs(cost[i]))
        share = 1.0 if pending <= size else size / pending
        for i in range(k):
            w[i] = seen[i] + (1.0 - share) * (theta[i] - seen[i])
        softmin(w, strength, w, k)  # w', as if all but a share had been there
        gap = self.gap(seen, share, w, strength, then)  # the play is not needed any more
        hat = gap + played - inner_product(cost, w, k)
        self.strength += max(0.0, min(drift, min(aux, hat))) / ln(k)


class LearnedHints(InTurn):
    """ODFTRL with a mixture of three hints: none, and the newest gradient or the mean, so often.

    p_j <- max(0, p_j + <c, w> - c_j), c the slope of |g| |error of the hint|; weights are p over
    its sum. A record is the sum received, the answer, the newest gradient, the weights of the
    three, and the factors of the newest gradient and of the sum.
    """

    FIELDS = {
        **InTurn.FIELDS,
        **dict.fromkeys(("newest", "received"), ANY),
        "regrets": NOT_NEGATIVE,
        "used": COUNT,
    }

    def __init__(self, setting, eta):
        InTurn.__init__(self, setting, 3 * len(setting.first) + 5)
        self.eta, self.is_entropy, self.used = eta, setting.is_entropy, 0
        self.newest, self.received = np.zeros((2, self.dim))
        self.regrets = np.zeros(3)
        self.regret, self.last = floats_at(self.regrets), floats_at(self.newest)
        self.sum, self.base.sums.rate = floats_at(self.received), eta

    def guess(self, record, i):
        """Return coordinate i of the hint of a record."""
        k = self.dim
        by_last = record[3 * k + 1] * record[3 * k + 3] * record[2 * k + i]
        return by_last + record[3 * k + 2] * record[3 * k + 4] * record[i]

    def play(self, entry, x):
        """One step from the start with all that was received and the hint."""
        record, k = self.tickets.record(entry), self.dim
        copies = 1.0 * (self.tickets.rounds - self.tickets.arrived)
        for j in range(3):
            record[3 * k + j] = self.regret[j]
        normalise(part(record, 3 * k), 3)
        record[3 * k + 3], record[3 * k + 4] = copies, copies / max(1.0, 1.0 * self.used)
        for i in range(k):
            record[i], record[k + i], record[2 * k + i] = self.sum[i], 0.0, self.last[i]
            self.work[i] = self.sum[i] + self.guess(record, i)
            self.z[i], self.base.p[i] = self.first[i], 0.0
        self.base.move(self.work, 0.0, self.eta)
        Method.play(self, entry, x)

    def learn(self, entry, cost):
        for i in range(self.dim):
            self.last[i] = cost[i]
            self.sum[i] += cost[i]
        self.used += 1
        InTurn.learn(self, entry, cost)

    def tune(self, entry):
        record, k, error = self.tickets.record(entry), self.dim, self.work
        along_last = along_sum = 0.0
        place = 0
        for i in range(k):
            error[i] = self.guess(record, i) - (self.turned[i] - record[i])
            place = i if fabs(error[i]) > fabs(error[place]) else place
        size = self.base.norm(error)
        if size == 0.0:
            return
        if self.is_entropy:  # the largest entry counts, whatever its sign
            sign = 1.0 if error[place] > 0.0 else -1.0
            along_last, along_sum = sign * record[2 * k + place], sign * record[place]
        else:
            for i in range(k):
                along_last += error[i] / size * record[2 * k + i]
                along_sum += error[i] / size * record[i]
        steep = self.base.norm(part(record, k))
        by_last = steep * record[3 * k + 3] * along_last
        by_mean = steep * record[3 * k + 4] * along_sum
        paid = record[3 * k + 1] * by_last + record[3 * k + 2] * by_mean
        self.regret[0] = max(0.0, self.regret[0] + paid)
        self.regret[1] = max(0.0, self.regret[1] + (paid - by_last))
        self.regret[2] = max(0.0, self.regret[2] + (paid - by_mean))

    def verify(self, state):
        InTurn.verify(self, state)
        weights = state["tickets.records"][:, 3 * self.dim : 3 * self.dim + 3]
        demand(((weights >= 0.0) & (weights <= 1.0)).all(), "the weights of hints")
        demand(state["used"] <= state["tickets.arrived"], "answers used")
