# cython: infer_types=True
"""Published methods for experts, whose answers are the costs of all, and for arms.

The point z is a vector of probabilities. Experts play it. Methods for arms draw an arm from it:
their play is the unit vector of that arm, and the answer is its loss.

Sections: vectors; experts; drawing arms (Exp3); two regularisers; Banker-OMD; solving for
probabilities.
"""

from __future__ import annotations

import math

import cython
import numpy as np

from belated.core.component import ANY, COUNT, NOT_NEGATIVE, SUM, VECTOR, Range, demand
from belated.core.component import SLACK as ROUNDING

if not cython.compiled:
    from math import fabs, sqrt
    from math import inf as INFINITY

    from belated.core.numerics import exp, floats_at, largest_entry, ln, part, word_share
    from belated.core.tickets import HELD
    from belated.research.core.rival import SLACK, Method

RAREST = 1e-30  # no word of 32 bits draws an arm of this probability
ESTIMATES = Range(-1e150, 1e150)  # costs of 1e100 over the rarest, in any number of rounds
DRAWS = cython.declare(cython.int, 1)  # stream of the generator

CLOSE = cython.declare(cython.double, 1e-8)  # how far sums may be from 1 before the last step ...
NEAR = cython.declare(cython.double, 1e-5)  # ... and before one that is an order better
PASSES = cython.declare(cython.int, 60)


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
    """Divide by the sum; if all are 0, write the uniform distribution."""
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


# --- Experts -------------------------------------------------------------------------------------


class DORM(Method):
    """w in proportion to max(0, sum of r_s + h)^(q - 1), ``power`` q - 1, with ``Hint`` h.

    ``regrets`` is the sum of r_s = <c_s, w_s> - c_s; a ticket keeps its play w_s.
    """

    FIELDS = {"regrets": VECTOR}

    def __init__(self, setting, has_hints, power):
        Method.__init__(self, setting, len(setting.first), hints=has_hints)
        self.power, self.regrets = power, np.zeros(self.dim)
        self.p = floats_at(self.regrets)

    def begin_round(self):
        weight, top = self.hint.weight(), 0.0
        for i in range(self.dim):
            self.z[i] = max(0.0, self.p[i] + weight * self.hint.last[i])
            top = max(top, self.z[i])
        for i in range(self.dim):
            if self.z[i] > 0.0:
                self.z[i] /= top
                if self.power != 1.0:
                    self.z[i] = exp(self.power * ln(self.z[i]))
        normalise(self.z, self.dim)

    def play(self, entry, x):
        record = self.tickets.record(entry)
        for i in range(self.dim):
            record[i] = self.z[i]
        Method.play(self, entry, x)

    def learn(self, entry, cost):
        paid = inner_product(cost, self.tickets.record(entry), self.dim)
        for i in range(self.dim):
            self.hint.last[i] = paid - cost[i]
            self.p[i] += self.hint.last[i]


class AdaHedgeD(Method):
    """Plays softmin(theta, lambda), theta the sum of all costs received, ``strength`` lambda.

    lambda += max(0, min(drift, aux, hat)) / ln k, as ``rivals.AdaHedgeD`` says, in the order of
    tickets: an answer tunes as soon as it and all before it have arrived. ``turn`` is the ticket
    that tunes next, ``in_turn`` the sum of the costs that have tuned. A record is theta at the
    play, the answer, lambda at the play, and the play.
    """

    FIELDS = {"turn": COUNT, "in_turn": ANY, "strength": NOT_NEGATIVE}

    def __init__(self, setting):
        Method.__init__(self, setting, 3 * len(setting.first) + 1, True)
        self.turn, self.strength, self.in_turn = 0, 0.0, np.zeros(self.dim)
        self.turned = floats_at(self.in_turn)

    def begin_round(self):
        softmin(self.gathered.sum, self.strength, self.z, self.dim)
        if self.strength > 0.0:
            self.base.sums.rate = 1.0 / self.strength

    def play(self, entry, x):
        record, k = self.tickets.record(entry), self.dim
        for i in range(k):
            record[i], record[k + i] = self.gathered.sum[i], 0.0
            record[2 * k + 1 + i] = self.z[i]
        record[2 * k] = self.strength
        Method.play(self, entry, x)

    def learn(self, entry, cost):
        self.gathered.add(cost)
        answer = part(self.tickets.record(entry), self.dim)
        for i in range(self.dim):
            answer[i] = cost[i]
        self.lose(entry)

    def lose(self, entry):
        """Keep the record, with an answer or zeros; tune up to the first that has not arrived."""
        self.tickets.hold(entry)
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

    def gap(self, seen, share, w, strength, passing):
        """Return the distance of w from the best, x = share (seen - theta) being unknown to it.

        lambda ln(sum_i w_i exp(x_i / lambda)) - <x, w>; the largest x_i with w_i > 0 is subtracted
        before exp. At lambda = 0: <theta, w> - min theta.
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
        cost, strength, then = part(seen, k), seen[2 * k], part(seen, 2 * k + 1)
        played = inner_product(cost, then, k)
        aux = self.gap(seen, 1.0, then, strength, w)
        softmin(theta, strength, w, k)  # with no answer missing
        drift = played - inner_product(cost, w, k)
        pending, size = farthest(theta, seen, k), largest_entry(cost, k)
        share = 1.0 if pending <= size else size / pending
        for i in range(k):
            w[i] = seen[i] + (1.0 - share) * (theta[i] - seen[i])
        softmin(w, strength, w, k)  # w', with only a share missing
        gap = self.gap(seen, share, w, strength, then)  # overwrites the play
        hat = gap + played - inner_product(cost, w, k)
        self.strength += max(0.0, min(drift, min(aux, hat))) / ln(k)

    def verify(self, state):
        number, seen = state["tickets.number"], state["tickets.seen"]
        turn, rounds = state["turn"], state["tickets.rounds"]
        fits = len(number) == rounds - turn and (number == np.arange(turn, rounds)).all()
        demand(fits and not (seen[:1] == HELD).any(), "the ticket that tunes next")
        demand((state["tickets.records"][:, 2 * self.dim] >= 0.0).all(), "records of tickets")


# --- Drawing arms: Exp3 --------------------------------------------------------------------------


class Bandit(Method):
    """Draws arms from z and sums up estimates of losses, losses[a_s] += l_s / p_s[a_s].

    A record begins with the arm and its probability. ``backlogs`` is the sum of the backlogs at all
    plays, for methods that have this field.
    """

    FIELDS = {"losses": ESTIMATES}

    def __init__(self, setting, columns=2):
        Method.__init__(self, setting, columns)
        self.answer_size, self.losses, self.backlogs = 1, np.zeros(self.dim), 0
        self.lost = floats_at(self.losses)

    def play(self, entry, x):
        """Draw the first arm i with z_0 + .. + z_i > U, U uniform; keep it and its probability."""
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
        demand(state.get("backlogs", 0) <= state["tickets.rounds"] ** 2, "the sum of backlogs")


class DelayedExp3(Bandit):
    """z proportional to exp(-eta losses); gives up on tickets older than ``threshold``."""

    def __init__(self, setting, eta, threshold=math.inf):
        Bandit.__init__(self, setting)
        self.eta, self.threshold, self.base.sums.rate = eta, threshold, eta

    def begin_round(self):
        oldest = self.tickets.advance_head()
        while self.tickets.rounds - oldest > self.threshold:
            self.tickets.count_arrival(self.tickets.head)
            self.tickets.skip(self.tickets.head)
            oldest = self.tickets.advance_head()
        self.weigh(self.eta)


# --- Two regularisers ----------------------------------------------------------------------------


class TwoRegularisers(Bandit):
    """z = argmin <losses, x> - 2 a_t sum sqrt(x_i) + b_t sum x_i ln x_i.

    a_t = sqrt(t + h0), b_t = sqrt((c S_t + g0) / ln k), S_t the sum of the backlogs up to t; h0 is
    ``head_start``, g0 ``floor``, c ``share``. ``multiplier`` is that of the constraint sum x = 1.
    """

    FIELDS = {**Bandit.FIELDS, "multiplier": ANY, "backlogs": SUM}

    def __init__(self, setting, logarithm, share=1.0, head_start=0.0, floor=0.0):
        Bandit.__init__(self, setting)
        self.logarithm, self.share = logarithm, share
        self.head_start, self.floor = head_start, floor
        a, b = math.sqrt(1.0 + head_start), math.sqrt(floor / logarithm)
        self.multiplier = b * (1.0 - logarithm) - a * math.sqrt(self.dim)

    def backlog(self):
        """Return the number of open tickets that count."""
        return self.tickets.rounds - self.tickets.arrived

    def entropy_weight(self):
        """Return b_t."""
        return sqrt((self.share * self.backlogs + self.floor) / self.logarithm)

    def begin_round(self):
        self.backlogs += self.backlog()
        a, b = sqrt(self.tickets.rounds + 1.0 + self.head_start), self.entropy_weight()
        self.multiplier = solve(self.lost, a, b, self.multiplier, self.z, self.dim)
        if b > 0.0:
            self.base.sums.rate = 1.0 / b

    def verify(self, state):
        Bandit.verify(self, state)
        demand((state["base.point"] > 0.0).all(), "probabilities")
        a = math.sqrt(max(state["tickets.rounds"], 1) + self.head_start)
        b = math.sqrt((self.share * state["backlogs"] + self.floor) / self.logarithm)
        check_multiplier(state["multiplier"], self.dim, a, b)


class ZimmertSeldinSkipping(TwoRegularisers):
    """``TwoRegularisers`` in which open tickets of an age above b_t stop counting after the play.

    The oldest ticket that counts is ``oldest``, or the next one if there is none; ``counted`` is
    their number. Ages fall and b_t rises from ticket to ticket, so tickets stop in their order.
    """

    FIELDS = {**TwoRegularisers.FIELDS, **dict.fromkeys(("counted", "oldest"), COUNT)}

    def __init__(self, setting, logarithm):
        TwoRegularisers.__init__(self, setting, logarithm)
        self.counted = self.oldest = 0

    def backlog(self):
        return self.counted

    def begin_round(self):
        TwoRegularisers.begin_round(self)
        most = self.entropy_weight()
        while self.tickets.rounds - self.oldest > most:
            self.stop_counting(self.tickets.entry_of(self.oldest))
        self.counted += 1  # the new ticket

    def stop_counting(self, entry):
        """Leave out a ticket; ``oldest`` moves to the next entry, passing each entry once."""
        self.counted -= 1
        if self.tickets.number[entry] == self.oldest:
            tail = self.tickets.tail()
            entry += 1
            while entry < tail and self.tickets.seen[entry] < 0:
                entry += 1
            self.oldest = self.tickets.number[entry] if entry < tail else self.tickets.rounds

    def learn(self, entry, cost):
        self.lose(entry)
        Bandit.learn(self, entry, cost)

    def lose(self, entry):
        if self.tickets.number[entry] >= self.oldest:
            self.stop_counting(entry)

    def verify(self, state):
        TwoRegularisers.verify(self, state)
        is_open = state["tickets.number"][state["tickets.seen"] >= 0]
        counting = is_open[is_open >= state["oldest"]]
        demand(state["counted"] == len(counting), "tickets that count")
        first = counting[0] if len(counting) else state["tickets.rounds"]
        demand(state["oldest"] == first, "the oldest ticket that counts")


# --- Banker-OMD ----------------------------------------------------------------------------------


class BankerTINF(Bandit):
    """A play of scale c_t takes from savings v_s, which answers return; Psi(x) = -2 sum sqrt(x_i).

    1 / c_t = 1 / sqrt(t) + sigma_t sqrt(ln(S_t + 1) / S_t), S_t the sum of the ``backlogs``.
    ``losses`` is the sum of v_s grad Psi(z_s), ``savings`` that of the v_s. The gradient of the
    uniform distribution is the same for all arms, so borrowing there changes no play. A record is
    the arm, its probability, the scale c_s and x_s.
    """

    FIELDS = {
        **Bandit.FIELDS,
        "losses": ANY,
        "multiplier": ANY,
        **dict.fromkeys(("savings", "scale"), NOT_NEGATIVE),
        "backlogs": SUM,
    }

    def __init__(self, setting):
        Bandit.__init__(self, setting, 3 + len(setting.first))
        self.savings, self.multiplier, self.scale = 0.0, -math.sqrt(self.dim), 0.0

    def begin_round(self):
        """Take c_t from the savings, in proportion, or all of them, and solve for the play."""
        waiting = self.tickets.rounds - self.tickets.arrived
        self.backlogs += waiting
        inverse = 1.0 / sqrt(self.tickets.rounds + 1.0)
        if waiting > 0:
            inverse += waiting * sqrt(ln(self.backlogs + 1.0) / self.backlogs)
        scale, savings = 1.0 / inverse, self.savings
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
        """Save as with a loss of 0."""
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


# --- Solving for probabilities -------------------------------------------------------------------


def omega(k, w):
    """Return w > 0 with w + ln w = k, starting from a guess w.

    Far from the root, Newton's method: the left side is concave, so iterates rise to the root from
    below, and fall below it from above after a few steps. Close to the root, the step of Fritsch,
    Shafer and Crowley, whose relative error is at most (r / t)^4 / 36.
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
    multiplier mu. The sum is convex and increasing in mu, so Newton's method approaches from above
    after at most one step; mu = b - a, where the largest y_i is 1, is never too small. It starts
    from the old x and mu. A step from a sum that is 1e-8 off leaves 1e-16, so the last step moves
    every x_i along its slope.
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
    """Demand that mu is a possible result of ``solve``: a <= b - mu <= a sqrt(k) + b ln k."""
    most = (1.0 + ROUNDING) * (a * math.sqrt(arms) + b * math.log(arms))
    demand((1.0 - ROUNDING) * a <= b - mu <= most, "the multiplier")
