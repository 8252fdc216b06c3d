"""Slow, obvious versions of published methods for experts and arms with late answers.

Flaspohler et al. (2021): ODFTRL, DOOMD, DORM, DORM+, AdaHedgeD and DUB. Thune, Cesa-Bianchi and
Seldin (2019): delayed Exp3, its skipping version and an anytime one. Zimmert and Seldin (2020), and
Masoudian, Zimmert and Seldin (2022): FTRL with two regularisers. ``naive_banker`` has the others.

As in ``naive``: nothing here imports the library, complete lists are kept and sums are taken afresh
whenever they are needed, and all vectors are in chart coordinates (on the simplex the chart is the
identity). ``predict`` returns a ticket 0, 1, 2, .. and a point; ``observe`` takes the cost vector
or, for arms, the loss of the arm played; ``cancel`` says that no answer will come, which counts as
a zero cost. A ticket is open from its prediction to its closing by ``observe`` or ``cancel``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq

from naive import (
    Array,
    ChartSet,
    Geometry,
    philox4x32,
    project_entropy,
)

Hint = Literal["none", "recent"]
Answer = Array | float

_WORD = 0xFFFFFFFF
LAST_BIT = 4.0 * float(np.finfo(np.float64).eps)  # the least that brentq takes


# --- The two events ------------------------------------------------------------------------------


def run_rounds(
    learner: Any, delays: Sequence[int], answer: Callable[[int, Array], Answer]
) -> list[Array]:
    """Play one round per delay; the answer to round s comes at the end of round s + d_s.

    Answers due in one round come in ticket order, and those due after the last round come at the
    end, also in the order of s + d_s. Returns the points played.
    """
    played: list[Array] = []
    for t in range(len(delays)):
        ticket, y = learner.predict()
        assert ticket == t
        played.append(y)
        for s in range(t + 1):
            if s + delays[s] == t:
                learner.observe(s, answer(s, played[s]))
    rounds = len(delays)
    for s in sorted(range(rounds), key=lambda s: (s + delays[s], s)):
        if s + delays[s] >= rounds:
            learner.observe(s, answer(s, played[s]))
    return played


class Tickets:
    """Which tickets are open, and everything about each ticket that later formulas ask for."""

    def __init__(self, dim: int, seed: int = 0) -> None:
        self.dim = dim
        self.seed = seed
        self.closed: list[bool] = []  # per ticket
        self.plays: list[Array] = []  # per ticket
        self.pending: list[list[int]] = []  # per ticket: those open when it was played, and itself

    def open_tickets(self) -> list[int]:
        """Tickets issued and not closed."""
        return [ticket for ticket, closed in enumerate(self.closed) if not closed]

    def issue(self, play: Array) -> tuple[int, Array]:
        """Hand out the next ticket for this play."""
        ticket = len(self.closed)
        self.pending.append([*self.open_tickets(), ticket])
        self.closed.append(False)
        self.plays.append(play.copy())
        return ticket, play.copy()

    def observe(self, ticket: int, answer: Answer) -> bool:
        """Close a ticket with its answer."""
        self.closed[ticket] = True
        self.learn(ticket, answer)
        return True

    def learn(self, ticket: int, answer: Any) -> None:
        """Take an answer."""

    def cancel(self, ticket: int) -> None:
        """Close a ticket without one."""
        self.closed[ticket] = True


def total(vectors: Sequence[Array], dim: int) -> Array:
    """Plain sum, first to last."""
    result = np.zeros(dim)
    for item in vectors:
        result = result + item
    return result


# --- Delay as optimism: learners with hints (section 8) ------------------------------------------


class Hinted(Tickets):
    """The hint of section 8, a guess of the sum of all missing vectors and the coming one.

    ``recent``: h = (open + 1) * last, where last is the vector received last (zero before any) and
    open counts the open tickets, without the one that is about to be issued. A cancelled ticket
    brings no vector: it lowers the count and leaves last as it is.
    """

    def __init__(self, dim: int, hint: Hint, seed: int) -> None:
        super().__init__(dim, seed)
        self.hint = hint
        self.last = np.zeros(dim)

    def current_hint(self) -> Array:
        """Return h for a play that would be made now."""
        if self.hint == "none":
            return np.zeros(self.dim)
        return (len(self.open_tickets()) + 1) * self.last


class NaiveODFTRL(Hinted):
    """Section 8, ODFTRL: w = argmin over K of <sum of received costs + h, w> + lambda psi(w).

    psi(w) = |w - start|^2 / 2, or KL(w, uniform) with the entropy.
    """

    def __init__(
        self,
        *,
        domain: ChartSet,
        strength: float,
        mirror: Geometry = "euclidean",
        hint: Hint = "none",
        seed: int = 0,
    ) -> None:
        super().__init__(domain.dim, hint, seed)
        self.domain = domain
        self.strength = strength
        self.mirror = mirror
        self.received: list[Array] = []  # in order of arrival

    def predict(self) -> tuple[int, Array]:
        """Solve for the play with the hint of this moment."""
        h = self.current_hint()
        v = (total(self.received, self.dim) + h) / self.strength
        if self.mirror == "euclidean":
            return self.issue(self.domain.project(self.domain.start - v))
        return self.issue(project_entropy(np.exp(-(v - v.min())), self.domain.floor))

    def learn(self, ticket: int, answer: Array) -> None:
        """Add the cost to the sum."""
        self.received.append(answer)
        self.last = answer


def instantaneous_regret(cost: Array, play: Array) -> Array:
    """r_s = <c_s, w_s> 1 - c_s: what each expert would have saved."""
    return float(cost @ play) - cost


def normalised(weights: Array) -> Array:
    """weights / sum(weights), and the uniform distribution where all are zero."""
    mass = float(weights.sum())
    if mass == 0.0:
        return np.full(len(weights), 1.0 / len(weights))
    return weights / mass


class NaiveDORM(Hinted):
    """Section 8, DORM: play in proportion to max(0, sum of received r_s + h)^(q - 1).

    The hint lives in regret space. The largest weight is divided out before taking the power.
    """

    def __init__(
        self, *, arms: int, power: float = 2.0, hint: Hint = "none", seed: int = 0
    ) -> None:
        super().__init__(arms, hint, seed)
        self.power = power
        self.regrets: list[Array] = []  # in order of arrival

    def predict(self) -> tuple[int, Array]:
        """Match the regrets received so far."""
        h = self.current_hint()
        positive = np.maximum(0.0, total(self.regrets, self.dim) + h)
        largest = float(positive.max())
        if largest > 0.0:
            positive = (positive / largest) ** (self.power - 1.0)
        return self.issue(normalised(positive))

    def learn(self, ticket: int, answer: Array) -> None:
        """Add the regret of the ticket's own play to the sum; a zero cost leaves none."""
        self.last = instantaneous_regret(answer, self.plays[ticket])
        self.regrets.append(self.last)


# --- Delay as optimism: learners that tune themselves (section 8) --------------------------------


def softmin(v: Array, strength: float) -> Array:
    """w_i in proportion to exp(-v_i / lambda); at lambda = 0 uniform over the smallest v_i."""
    if strength == 0.0:
        return normalised(np.where(v == v.min(), 1.0, 0.0))
    return normalised(np.exp(-(v - v.min()) / strength))


def mixability_gap(x: Array, w: Array, strength: float) -> float:
    """lambda ln(sum w_i exp(x_i / lambda)) - <x, w>, shifted by the largest x_i with w_i > 0.

    For w = softmin(theta + x, lambda) it is F(w) - min F with F(w) = <theta, w> - lambda H(w).
    """
    support = w > 0.0
    shift = float(x[support].max())
    mass = float((w[support] * np.exp((x[support] - shift) / strength)).sum())
    return strength * math.log(mass) + shift - float(x @ w)


class SelfTuned(Tickets):
    """Section 8, the learner of AdaHedgeD, without hints: w = softmin(theta, lambda).

    theta is the sum of all costs received, in whatever order, and lambda starts at 0. lambda learns
    in ticket order, from a ticket once it and every earlier one is closed. The pending set P_s of a
    ticket, itself included, is known by then: what its play did not know of the costs up to s.
    """

    def __init__(self, *, arms: int, seed: int = 0) -> None:
        super().__init__(arms, seed)
        self.alpha = math.log(arms)
        self.costs: dict[int, Array] = {}  # of closed tickets, in order of arrival
        self.strength = 0.0  # lambda
        self.used = 0  # lambda has learned from tickets 0, .., used - 1
        self.strengths: list[float] = []  # per ticket: lambda_s
        self.turns: list[int] = []  # per ticket: how many lambda_s had learned from

    def prefix(self, count: int) -> Array:
        """Return the sum of the first costs."""
        return total([self.costs[j] for j in range(count)], self.dim)

    def pending_sum(self, ticket: int) -> Array:
        """Return the sum of the costs in P_s."""
        return total([self.costs[j] for j in self.pending[ticket]], self.dim)

    def known(self, ticket: int) -> Array:
        """Return the sum of the costs up to s that the play of s knew."""
        waiting = self.pending[ticket]
        return total([self.costs[j] for j in range(ticket) if j not in waiting], self.dim)

    def predict(self) -> tuple[int, Array]:
        """Play softmin(theta, lambda)."""
        self.strengths.append(self.strength)
        self.turns.append(self.used)
        theta = total(list(self.costs.values()), self.dim)
        return self.issue(softmin(theta, self.strength))

    def cancel(self, ticket: int) -> None:
        """Keep a zero cost."""
        self.observe(ticket, np.zeros(self.dim))

    def learn(self, ticket: int, answer: Array) -> None:
        """Keep the cost, and learn from closed tickets in order up to the first that is open."""
        self.costs[ticket] = answer
        while self.used in self.costs:
            self.used += 1
            self.strength = self.new_strength(self.used - 1)

    def new_strength(self, ticket: int) -> float:
        """Lambda after this ticket, the last one used."""
        raise NotImplementedError


class NaiveAdaHedgeD(SelfTuned):
    """Section 8, AdaHedgeD: lambda grows by delta_s / ln K.

    delta_s is the smallest of three upper bounds on what playing w_s cost against the leader that
    knows all costs up to s, and not below zero.
    """

    def __init__(self, *, arms: int, seed: int = 0) -> None:
        super().__init__(arms=arms, seed=seed)
        self.deltas: list[float] = []  # in ticket order

    def new_strength(self, ticket: int) -> float:
        """Lambda = sum of delta_s / alpha."""
        self.deltas.append(max(0.0, min(self.drift(ticket), self.aux(ticket), self.hat(ticket))))
        return sum(self.deltas) / self.alpha

    def drift(self, ticket: int) -> float:
        """<g_s, w_s - wbar>, wbar = softmin(theta, lambda_s)."""
        leader = softmin(self.prefix(ticket + 1), self.strengths[ticket])
        return float(self.costs[ticket] @ (self.plays[ticket] - leader))

    def excess(self, ticket: int, error: Array, play: Array) -> float:
        """F(play) - min F with lambda_s, for play = softmin(theta + error, lambda_s)."""
        if self.strengths[ticket] > 0.0:
            return mixability_gap(error, play, self.strengths[ticket])
        theta = self.prefix(ticket + 1)
        return float(theta @ play) - float(theta.min())

    def aux(self, ticket: int) -> float:
        """F(w_s) - min F, where the error of the hint is e = h_s - gP = -gP."""
        return self.excess(ticket, -self.pending_sum(ticket), self.plays[ticket])

    def hat(self, ticket: int) -> float:
        """F(what) - min F + <g_s, w_s - what>, with the error shrunk to sigma e.

        sigma = min(1, |g_s| / |e|) in the sup norm, and 1 where e = 0.
        """
        missing = self.pending_sum(ticket)
        size = float(np.abs(missing).max())
        own = float(np.abs(self.costs[ticket]).max())
        sigma = 1.0 if size <= own else own / size
        play = softmin(self.known(ticket) + (1.0 - sigma) * missing, self.strengths[ticket])
        return self.excess(ticket, -sigma * missing, play) + float(
            self.costs[ticket] @ (self.plays[ticket] - play)
        )


# --- Arms (section 15) ---------------------------------------------------------------------------


def uniform_number(seed: int, ticket: int) -> float:
    """U_t in (0, 1): the first word of Philox at counter (0, 1, ticket), centred in its cell."""
    key = (seed & _WORD, seed >> 32)
    words = philox4x32((0, 1, ticket & _WORD, ticket >> 32), key)
    return (words[0] + 0.5) * 2.0**-32


def draw(probabilities: Array, uniform: float) -> int:
    """Return the first arm whose cumulative probability exceeds the uniform number, or the last."""
    cumulative = 0.0
    for arm, probability in enumerate(probabilities.tolist()):
        cumulative += probability
        if cumulative > uniform:
            return arm
    return len(probabilities) - 1


class Arms(Tickets):
    """Draws an arm from p_t and estimates losses by Lhat[a_s] += loss_s / p_s[a_s] on arrival."""

    def __init__(self, *, arms: int, seed: int = 0) -> None:
        super().__init__(arms, seed)
        self.estimates: list[Array] = []  # in order of arrival
        self.distributions: list[Array] = []  # per ticket
        self.drawn: list[int] = []  # per ticket

    def loss_sums(self) -> Array:
        """Lhat."""
        return total(self.estimates, self.dim)

    def distribution(self, ticket: int) -> Array:
        """p_t for the ticket about to be issued."""
        raise NotImplementedError

    def predict(self) -> tuple[int, Array]:
        """Draw an arm; the play is its unit vector."""
        ticket = len(self.closed)
        p = self.distribution(ticket)
        arm = self.choose(p, ticket)
        self.distributions.append(p)
        self.drawn.append(arm)
        return self.issue(np.eye(self.dim)[arm])

    def choose(self, probabilities: Array, ticket: int) -> int:
        """Draw the arm of a ticket; tests that follow every draw put their own in its place."""
        return draw(probabilities, uniform_number(self.seed, ticket))

    def learn(self, ticket: int, answer: float) -> None:
        """Add the estimate of the loss vector of that round."""
        arm = self.drawn[ticket]
        estimate = np.zeros(self.dim)
        estimate[arm] = answer / self.distributions[ticket][arm]
        self.estimates.append(estimate)


def exp3_rate(arms: int, rounds: int, total_delay: float) -> float:
    """eta = sqrt(ln K / (K T / 2 + D))."""
    return math.sqrt(math.log(arms) / (arms * rounds / 2.0 + total_delay))


class NaiveDelayedExp3(Arms):
    """Section 15.1: p_t in proportion to exp(-eta Lhat). No cap on eta: see its bound."""

    def __init__(self, *, arms: int, rounds: int, total_delay: float, seed: int = 0) -> None:
        super().__init__(arms=arms, seed=seed)
        self.rate = exp3_rate(arms, rounds, total_delay)

    def distribution(self, ticket: int) -> Array:
        """Exponential weights on the estimates received."""
        return softmin(self.loss_sums(), 1.0 / self.rate)


class NaiveSkippingExp3(Arms):
    """Section 15.1, the skipping wrapper: use only rounds with d_t <= beta.

    Known before an answer is that its round is still open at age beta or more: so before ticket t
    is issued, every open s with t - s > beta is given up on, and a value that comes later is
    dropped. beta = sqrt((K T / 2 + D) / ln K) and eta = 1 / beta, the rate of delayed Exp3.
    """

    def __init__(self, *, arms: int, rounds: int, total_delay: float, seed: int = 0) -> None:
        super().__init__(arms=arms, seed=seed)
        self.rate = exp3_rate(arms, rounds, total_delay)
        self.threshold = math.sqrt((arms * rounds / 2.0 + total_delay) / math.log(arms))
        self.given_up: set[int] = set()

    def distribution(self, ticket: int) -> Array:
        """Give up on old rounds, then exponential weights on the estimates received."""
        for s in self.open_tickets():
            if ticket - s > self.threshold:
                self.given_up.add(s)
        return softmin(self.loss_sums(), 1.0 / self.rate)

    def observe(self, ticket: int, answer: Answer) -> bool:
        """Use the value, or drop it if it comes too late."""
        if ticket not in self.given_up:
            return super().observe(ticket, answer)
        self.cancel(ticket)
        return False


def bisect(increasing: Callable[[float], float], low: float, high: float) -> float:
    """The zero of an increasing function between low and high, to the last bit."""
    while True:
        middle = low + (high - low) / 2.0
        if not low < middle < high:
            return high
        if increasing(middle) < 0.0:
            low = middle
        else:
            high = middle


def hybrid_ftrl(losses: Array, t: float, inverse: float) -> Array:
    """Section 15.2: argmin over the simplex of <L, x> - 2 sqrt(t) sum sqrt(x_i) + m sum x_i ln x_i.

    With y = sqrt(x) and the multiplier mu of sum x = 1, each arm solves
    -sqrt(t) / y + 2 m ln y = mu - L_i - m, whose left side increases in y; and sum x increases in
    mu. The best arm has x between 1/K and 1, which brackets mu.
    """
    root = math.sqrt(t)
    shifted: list[float] = (losses - losses.min()).tolist()

    def left(y: float) -> float:
        return -root / y + 2.0 * inverse * math.log(y)

    def arm(mu: float, loss: float) -> float:
        right = mu - loss - inverse
        return bisect(lambda y: left(y) - right, 0.0, 1.0) ** 2

    def excess(mu: float) -> float:
        return math.fsum(arm(mu, loss) for loss in shifted) - 1.0

    low, high = left(1.0 / math.sqrt(len(shifted))) + inverse, left(1.0) + inverse
    mu = brentq(excess, low, high, xtol=1e-300, rtol=LAST_BIT) if excess(low) < 0.0 else low
    return normalised(np.array([arm(mu, loss) for loss in shifted]))


class NaiveZimmertSeldin(Arms):
    """Section 15.2: x_t = ``hybrid_ftrl``(Lhat, t, 1 / eta_t) with t = 1, 2, ..

    Simple tuning: 1 / eta_t = sqrt(2 D_t / ln K), D_t the sum over rounds of the open tickets just
    before. Skipping tuning: 1 / eta_t = sqrt(D_t / ln K), and D_t counts only a set C of open
    tickets; after the count, those older than 1 / eta_t leave C for good and t joins it. Late
    values are used all the same.
    """

    def __init__(self, *, arms: int, skipping: bool = False, seed: int = 0) -> None:
        super().__init__(arms=arms, seed=seed)
        self.skipping = skipping
        self.counts: list[int] = []  # per ticket: what it added to D
        self.dropped: set[int] = set()  # tickets no longer counted

    def distribution(self, ticket: int) -> Array:
        counted = [s for s in self.open_tickets() if s not in self.dropped]
        self.counts.append(len(counted))
        factor = 1.0 if self.skipping else 2.0
        inverse = math.sqrt(factor * sum(self.counts) / math.log(self.dim))
        if self.skipping:
            self.dropped.update(s for s in counted if ticket - s > inverse)
        return hybrid_ftrl(self.loss_sums(), ticket + 1.0, inverse)


class NaiveMasoudianZimmertSeldin(Arms):
    """Section 7.3: x_t = ``hybrid_ftrl``(Lhat, t + h0, sqrt((S_t + g0) / ln K)).

    h0 = 10 d + d^2 / (K^(1/3) ln K)^2 and g0 = 24^2 d^2 K^(2/3) ln K, d being the largest delay.
    """

    def __init__(self, *, arms: int, max_delay: int, seed: int = 0) -> None:
        super().__init__(arms=arms, seed=seed)
        third, logarithm = float(np.cbrt(arms)), math.log(arms)
        self.head_start = 10.0 * max_delay + max_delay**2 / (third * logarithm) ** 2
        self.floor = 24.0**2 * max_delay**2 * third**2 * logarithm
        self.weights: list[tuple[float, float]] = []  # per ticket: a_t and b_t
        self.waiting: list[int] = []  # per ticket: sigma_t

    def distribution(self, ticket: int) -> Array:
        """Count, weigh the two regularisers, and solve."""
        self.waiting.append(len(self.open_tickets()))
        inverse = math.sqrt((sum(self.waiting) + self.floor) / math.log(self.dim))
        moment = ticket + 1.0 + self.head_start
        self.weights.append((math.sqrt(moment), inverse))
        return hybrid_ftrl(self.loss_sums(), moment, inverse)


# --- Bounds --------------------------------------------------------------------------------------
# Those with observed quantities hold for every run; those for arms hold for the expectation over
# the draws, for losses in [0, 1] and delays that do not depend on the draws.


def bound_delayed_exp3(arms: int, rounds: int, total_delay: float, rate: float) -> float:
    """ln K / eta + eta (K T / 2 + D), for every eta.

    Proof: let q_t be the weights after all estimates of rounds before t. The mix losses
    m_t = -ln(sum_i q_t(i) exp(-eta est_t(i))) / eta add up to at most ln K / eta more than the best
    arm. Only the arm a drawn at t has an estimate, L, and m_t grows with q_t(a). The play p_t lacks
    the estimates of the rounds open at t; those of other arms only raise q_t(a), those of a, S_a in
    sum, leave it above p_t(a) (1 - eta S_a). So m_t >= p_t(a) (1 - eta S_a) L - eta p_t(a) L^2 / 2,
    and p_t(a) L - m_t <= eta p_t(a) (L S_a + L^2 / 2). The last term has expectation at most
    eta K / 2, and each open round adds at most eta, since p_t does not depend on its draw.
    """
    return math.log(arms) / rate + rate * (arms * rounds / 2.0 + total_delay)


def bound_skipping_exp3(
    arms: int, rounds: int, delays: Sequence[int], rate: float, threshold: float
) -> float:
    """|S| + ln K / eta + eta (K (T - |S|) / 2 + D'), S the rounds later than beta, D' the rest."""
    kept = [d for d in delays if d <= threshold]
    return rounds - len(kept) + bound_delayed_exp3(arms, len(kept), sum(kept), rate)


def bound_zimmert_seldin(arms: int, rounds: int, total_delay: float) -> float:
    """Section 15.2, simple tuning: 4 sqrt(K T) + sqrt(8 D ln K)."""
    return 4.0 * math.sqrt(arms * rounds) + math.sqrt(8.0 * total_delay * math.log(arms))


def bound_zimmert_seldin_skipping(arms: int, delays: Sequence[int]) -> float:
    """Section 7.13: 4 sqrt(K T) + 10 max{2 ln K, min over sets Q of |Q| + sqrt(D_notQ ln K)}."""
    logarithm, latest = math.log(arms), sorted(delays, reverse=True)
    best = min(size + math.sqrt(sum(latest[size:]) * logarithm) for size in range(len(delays) + 1))
    return 4.0 * math.sqrt(arms * len(delays)) + 10.0 * max(2.0 * logarithm, best)


def bound_masoudian_zimmert_seldin(learner: NaiveMasoudianZimmertSeldin) -> float:
    """2 (sqrt(K) - 1) a_T + b_T ln K + sum sqrt(K) / a_t + sum sigma_t / b_t, over its own run."""
    arms = learner.dim
    last_a, last_b = learner.weights[-1]
    paid = math.fsum(
        math.sqrt(arms) / a + (open_then / b if open_then else 0.0)
        for (a, b), open_then in zip(learner.weights, learner.waiting, strict=True)
    )
    return 2.0 * (math.sqrt(arms) - 1.0) * last_a + last_b * math.log(arms) + paid
