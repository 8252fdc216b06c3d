"""Slow, obvious versions of the published rivals, for gradient and value feedback on convex sets.

Section numbers are those of the survey of algorithms. Nothing here imports the library and nothing
here is fast: complete lists are kept, and counts are taken from them when needed.

Coordinates are those of the chart, as in ``naive``: y = 0 is the centre (the uniform distribution
on the simplex), costs are gradients in y, and D, r, R, G, M are in chart units.

Protocol. ``predict() -> (ticket, play)`` with tickets 0, 1, 2, .., round t = ticket + 1;
``observe(ticket, answer) -> bool``, False if the answer is thrown away; ``cancel(ticket)``.
Arrival-order methods step inside ``observe``. Per-round methods collect what arrives between two
predictions and step at the next one, summing in ticket order; a round without arrivals changes
nothing. A cancelled ticket is a zero gradient that counts like any other; with value feedback it is
forgotten and counts in nothing. Parameters derived from a horizon stay fixed beyond it.
"""

from __future__ import annotations

import abc
import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from naive import (
    OMD,
    Array,
    ChartSet,
    EntropyOMD,
    NaiveConfig,
    NaiveLearner,
    direction,
    entropy_diameter,
)

GradientMap = Callable[[Array], Array]
Mirror = Literal["euclidean", "entropy"]


# --- Geometry and estimates ----------------------------------------------------------------------


def outer_radius(domain: ChartSet) -> float:
    """R, the largest distance from the first point to a point of the set."""
    if domain.kind == "box":
        return math.sqrt(domain.dim)
    if domain.kind == "simplex":
        return math.sqrt(1.0 - 1.0 / domain.dim) * (1.0 - domain.dim * domain.floor)
    return domain.radius


def one_point_estimate(value: float, delta: float, u: Array) -> Array:
    """Estimate the gradient by (k / delta) f u."""
    return (len(u) / delta) * value * u


def two_point_estimate(values: tuple[float, float], delta: float, u: Array) -> Array:
    """Estimate the gradient by (k / (2 delta)) (f(y + delta u) - f(y - delta u)) u."""
    first, second = values
    return (len(u) / (2.0 * delta)) * (first - second) * u


def in_ticket_order(batch: dict[int, Array], dim: int) -> Array:
    """Sum of a round's arrivals, in increasing ticket order."""
    total = np.zeros(dim)
    for ticket in sorted(batch):
        total = total + batch[ticket]
    return total


def fixed_step(rounds: int, total_delay: int, diameter: float, lipschitz: float) -> float:
    """Sections 3 and 6: eta = D / (G sqrt(T + 2 d_tot))."""
    return diameter / (lipschitz * math.sqrt(rounds + 2 * total_delay))


# --- Tickets -------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Rival:
    """A current point x, what a method may be told, and the tickets that all keep alike."""

    domain: ChartSet
    seed: int = 0
    lipschitz: float = 1.0
    magnitude: float = 1.0
    curvature: float = 0.0
    rounds: int = 1
    total_delay: int = 0

    def __post_init__(self) -> None:
        self.x = self.domain.start
        self.events: list[tuple[Literal["predict", "close"], int]] = []
        self.start()

    def start(self) -> None:
        """Prepare what the method keeps beside x."""

    def before(self) -> None:
        """Do what is due before a prediction."""

    def play(self, ticket: int) -> Array:
        """Return the play of a ticket."""
        return self.x

    def learn(self, ticket: int, answer: Any) -> None:
        """Take an answer."""

    def predict(self) -> tuple[int, Array]:
        """Hand out the next ticket and its play."""
        self.before()
        ticket = self.issued()
        self.events.append(("predict", ticket))
        return ticket, self.play(ticket).copy()

    def observe(self, ticket: int, answer: Any) -> bool:
        """Close a ticket with its answer."""
        self.events.append(("close", ticket))
        self.learn(ticket, answer)
        return True

    def cancel(self, ticket: int) -> None:
        """Observe a zero gradient."""
        self.observe(ticket, np.zeros(self.domain.dim))

    def issued(self) -> int:
        """Number of predictions so far."""
        return sum(kind == "predict" for kind, _ in self.events)

    def pending(self, first: int = 0) -> list[int]:
        """Open tickets from ``first`` on."""
        closed = {ticket for kind, ticket in self.events if kind == "close"}
        return [ticket for ticket in range(first, self.issued()) if ticket not in closed]

    def dual_delay(self, ticket: int) -> int:
        """d* of a ticket closed just now: closings between its prediction and its own closing."""
        start = self.events.index(("predict", ticket))
        end = self.events.index(("close", ticket))
        return sum(kind == "close" for kind, _ in self.events[start:end])

    def direction(self, ticket: int) -> Array:
        """u_t, uniform on the unit sphere."""
        return direction(self.seed, ticket, self.domain.dim)


class ByArrival(Rival, abc.ABC):
    """Projected gradient steps, one per arrival: x <- Pi_K(x - eta_n c_n), played as it stands."""

    def start(self) -> None:
        """No cost has come."""
        self.costs: list[Array] = []

    @abc.abstractmethod
    def rate(self, ticket: int) -> float:
        """eta_n of the arrival that is last in ``costs``."""

    def learn(self, ticket: int, answer: Array) -> None:
        """Take c_n and step."""
        self.costs.append(answer)
        self.x = self.domain.project(self.x - self.rate(ticket) * answer)


class ByRound(Rival, abc.ABC):
    """Projected gradient steps, one per round with arrivals, on the sum of them."""

    def start(self) -> None:
        """No cost has come."""
        self.batch: dict[int, Array] = {}
        self.arrivals = 0

    @abc.abstractmethod
    def rate(self) -> float:
        """eta of this round; ``arrivals`` is N_t, this round's included."""

    def before(self) -> None:
        """Finish the last round."""
        if self.batch:
            self.arrivals += len(self.batch)
            total = in_ticket_order(self.batch, self.domain.dim)
            self.x = self.project(self.x - self.rate() * total)
            self.batch = {}

    def project(self, v: Array) -> Array:
        """Return the nearest point of the set that the method plays on."""
        return self.domain.project(v)

    def learn(self, ticket: int, answer: Array) -> None:
        """Put the gradient of a round into the batch."""
        self.batch[ticket] = answer


class OfValues(Rival):
    """What methods share that learn from values at points at most delta away from y.

    y lives in (1 - delta / r) K, which is {s y : y in K} with s = 1 - delta / r.
    """

    delta: float

    def project(self, v: Array) -> Array:
        """s Pi_K(v / s); the origin for s <= 0."""
        shrink = self.shrink(self.delta)
        if shrink <= 0.0:
            return np.zeros(self.domain.dim)
        return shrink * self.domain.project(v / shrink)

    def shrink(self, delta: float) -> float:
        """1 - delta / r."""
        return 1.0 - delta / self.domain.inner_radius

    def around(self, ticket: int) -> Array:
        """y + delta u."""
        return np.asarray(self.x + self.delta * self.direction(ticket))

    def pair(self, ticket: int) -> Array:
        """Rows y + delta u and y - delta u."""
        move = self.delta * self.direction(ticket)
        return np.array([self.x + move, self.x - move])

    def cancel(self, ticket: int) -> None:
        """Forget the ticket."""
        self.events.append(("close", ticket))


# --- 1, 2: copies of a method that expects no delay ----------------------------------------------


def copy_seed(seed: int, number: int) -> int:
    """Seed of a copy: the given one, with j Weyl steps added to its upper half for copy j."""
    high = ((seed >> 32) + number * 0x9E3779B9) & 0xFFFFFFFF
    return high << 32 | seed & 0xFFFFFFFF


class _Copies:
    """Copies of a base, each with tickets 0, 1, 2, .. of its own and the seed of ``copy_seed``."""

    def __init__(self, *, base: NaiveConfig, delay: int | None = None, seed: int = 0) -> None:
        self.base, self.delay, self.seed = base, delay, seed
        self.copies: list[NaiveLearner] = []
        self.free: list[NaiveLearner] = []
        self.played: list[tuple[NaiveLearner, int]] = []  # the copy and its ticket, per ticket

    def copy(self) -> NaiveLearner:
        """The copy that plays next."""
        raise NotImplementedError

    def new_copy(self) -> NaiveLearner:
        """Make another copy."""
        seed = copy_seed(self.seed, len(self.copies))
        self.copies.append(NaiveLearner(replace(self.base, seed=seed)))
        return self.copies[-1]

    def predict(self) -> tuple[int, Array]:
        """Play the next copy."""
        copy = self.copy()
        inner, play = copy.predict()
        self.played.append((copy, inner))
        return len(self.played) - 1, play

    def observe(self, ticket: int, feedback: Any) -> bool:
        """Pass the answer to the copy that played, and free it."""
        copy, inner = self.played[ticket]
        self.free.append(copy)
        return copy.observe(inner, feedback)

    def cancel(self, ticket: int) -> None:
        """Cancel at the copy that played, and free it."""
        copy, inner = self.played[ticket]
        self.free.append(copy)
        copy.cancel(inner)


class NaiveWeinbergerOrdentlich(_Copies):
    """Section 1 (Weinberger, Ordentlich 2002): round t is played by copy t mod (d + 1).

    Choice: shorter delays than told do no harm.
    """

    def copy(self) -> NaiveLearner:
        """The copy whose turn it is."""
        assert self.delay is not None
        turn = len(self.played) % (self.delay + 1)
        return self.copies[turn] if turn < len(self.copies) else self.new_copy()


class NaiveBOLD(_Copies):
    """Section 2 (Joulani, Gyorgy, Szepesvari 2013): any free copy plays, a new one if none is free.

    Choices: the copy that was freed last plays next; cancelling frees a copy too.
    """

    def copy(self) -> NaiveLearner:
        """A copy that waits for nothing."""
        return self.free.pop() if self.free else self.new_copy()


# --- 3: SOLID ------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class NaiveSOLID(Rival):
    """Section 3 (Joulani, Gyorgy, Szepesvari 2016): one OMD base, fed in arrival order.

    eta = D / (G sqrt(T + 2 d_tot)). With ``feedback="function"`` the answer is the gradient map of
    f_s, and its value at the current point is the cost. A zero gradient does not move x.
    """

    feedback: Literal["gradient", "function"] = "gradient"

    def learn(self, ticket: int, answer: Array | GradientMap) -> None:
        """x <- Pi_K(x - eta g), where g came or is the map's value at x."""
        eta = fixed_step(self.rounds, self.total_delay, self.domain.diameter, self.lipschitz)
        cost = answer(self.x) if callable(answer) else answer
        self.x = self.domain.project(self.x - eta * cost)


# --- 4: Langford, Smola and Zinkevich ------------------------------------------------------------


@dataclass(kw_only=True)
class NaiveLangfordSmolaZinkevich(ByArrival):
    """Section 4: x_{t+1} = Pi_K(x_t - eta_n g_{t-tau}) for a fixed delay tau.

    eta_n = F / (G sqrt(2 max(tau, 1) n)) with F = D / sqrt 2, or 1 / (lambda n); n counts applied
    gradients.
    """

    delay: int

    def rate(self, ticket: int) -> float:
        n = len(self.costs)
        if self.curvature > 0.0:
            return 1.0 / (self.curvature * n)
        f = self.domain.diameter / math.sqrt(2.0)
        sigma = f / (self.lipschitz * math.sqrt(2.0 * max(self.delay, 1)))
        return sigma / math.sqrt(n)


# --- 5: AdaptiveRevision -------------------------------------------------------------------------


@dataclass(kw_only=True)
class NaiveAdaptiveRevision(Rival):
    """Section 5 (McMahan, Streeter 2014), per coordinate.

    gold = gbar at the prediction. On g: b = gbar - gold; eta_old = alpha / (beta + sqrt zmax);
    z += g^2 + 2 g b; zmax = max(zmax, z); eta = alpha / (beta + sqrt zmax);
    w += -eta g + (eta_old - eta) b; gbar += g. Choices: alpha = scale sqrt(2) R, R = 1 on a box and
    D / 2 elsewhere; z = zmax = 0 at the start, beta > 0, w is never projected, the play is Pi_K(w).
    """

    scale: float = 1.0
    offset: float = 1.0

    def start(self) -> None:
        """Begin with rates for gradients of zero."""
        self.alpha = self.scale * math.sqrt(2.0)
        if self.domain.kind != "box":
            self.alpha *= self.domain.diameter / 2.0
        self.z = np.zeros(self.domain.dim)
        self.zmax = np.zeros(self.domain.dim)
        self.costs: list[Array] = []
        self.seen: list[int] = []  # gradients applied before each prediction

    def play(self, ticket: int) -> Array:
        """Pi_K(w); remember how many gradients were applied."""
        self.seen.append(len(self.costs))
        return self.domain.project(self.x)

    def learn(self, ticket: int, answer: Array) -> None:
        """Step, and take back part of the steps since the prediction."""
        since = np.zeros(self.domain.dim)
        for other in self.costs[self.seen[ticket] :]:
            since = since + other
        old = self.alpha / (self.offset + np.sqrt(self.zmax))
        self.z = self.z + answer**2 + 2.0 * answer * since
        self.zmax = np.maximum(self.zmax, self.z)
        eta = self.alpha / (self.offset + np.sqrt(self.zmax))
        self.x = self.x - eta * answer + (old - eta) * since
        self.costs.append(answer)


# --- 6: Quanrud and Khashabi, and delayed dual averaging -----------------------------------------


class NaiveQuanrudKhashabi(ByRound):
    """Section 6: x_{t+1} = Pi_K(x_t - eta sum_{s in F_t} g_s), eta = D / (G sqrt(T + 2 d_tot))."""

    def rate(self) -> float:
        return fixed_step(self.rounds, self.total_delay, self.domain.diameter, self.lipschitz)


class NaiveDelayedDualAveraging(Rival):
    """Section 6b: V += 1/2 + sigma_t; x_t = Pi_K(x_1 - S / lambda_t), lambda_t = (2G/R) sqrt V.

    S is the sum of the gradients received, sigma_t the open tickets before prediction t.
    """

    def start(self) -> None:
        self.costs: list[Array] = []
        self.backlogs: list[int] = []

    def before(self) -> None:
        self.backlogs.append(len(self.pending()))
        v = sum(0.5 + sigma for sigma in self.backlogs)
        strength = (2.0 * self.lipschitz / outer_radius(self.domain)) * math.sqrt(v)
        total = in_ticket_order(dict(enumerate(self.costs)), self.domain.dim)
        self.x = self.domain.project(self.domain.start - total / strength)

    def learn(self, ticket: int, answer: Array) -> None:
        self.costs.append(answer)


# --- 7: GOLD -------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class NaiveGOLD(OfValues):
    """Section 7 (Heliou, Mertikopoulos, Zhou 2020): at most one value, the oldest, per round.

    Play (1 - delta_t / r) x + delta_t u_t. When round t ends, pop the oldest arrived round q and
    x <- Pi_K(x - gamma_t (k / delta_q) f_q u_q). gamma_t = gamma t^-c, delta_t = delta t^-b with
    c = max(3/4, 2/3 + a/3), b = min(1/4, 1/3 - a/3). Choices: delta_t <= r, delta = r sqrt(nu k),
    nu = M / (G r), gamma = D delta / (k M); rounds without arrivals pop too.
    """

    growth: float = 0.0
    smoothing: float = 0.0

    def start(self) -> None:
        k, r = self.domain.dim, self.domain.inner_radius
        nu = self.magnitude / (self.lipschitz * r)
        self.delta = self.smoothing if self.smoothing > 0.0 else r * math.sqrt(nu * k)
        self.gamma = self.domain.diameter * self.delta / (k * self.magnitude)
        self.c = max(0.75, 2.0 / 3.0 + self.growth / 3.0)
        self.b = min(0.25, 1.0 / 3.0 - self.growth / 3.0)
        self.pool: list[tuple[int, float]] = []

    def radius(self, t: int) -> float:
        """delta_t."""
        return min(self.domain.inner_radius, self.delta * math.pow(t, -self.b))

    def before(self) -> None:
        """Use one value from the pool."""
        if self.pool:
            q, value = heapq.heappop(self.pool)
            estimate = one_point_estimate(value, self.radius(q + 1), self.direction(q))
            gamma = self.gamma * math.pow(self.issued(), -self.c)
            self.x = self.domain.project(self.x - gamma * estimate)

    def play(self, ticket: int) -> Array:
        delta = self.radius(ticket + 1)
        return self.shrink(delta) * self.x + delta * self.direction(ticket)

    def learn(self, ticket: int, answer: float) -> None:
        """Put a value into the pool."""
        heapq.heappush(self.pool, (ticket, answer))


# --- 9: DOGD-SC ----------------------------------------------------------------------------------


class NaiveDOGDSC(ByRound):
    """Section 9 (Wan, Tu, Zhang 2022): x_{t+1} = Pi_K(x_t - (1 / (lambda N_t)) sum_{F_t} g_s)."""

    def rate(self) -> float:
        return 1.0 / (self.curvature * self.arrivals)


class NaiveDOGDSCTwoPoint(OfValues, NaiveDOGDSC):
    """Section 9, two values: DOGD-SC on (1 - delta / r) K with estimated gradients.

    Choices: delta = r min(1, ln(e T) / T); G is for the bound only; cancelled tickets are not
    counted in N_t.
    """

    def start(self) -> None:
        super().start()
        radius = self.domain.inner_radius
        self.delta = radius * min(1.0, math.log(math.e * self.rounds) / self.rounds)

    def play(self, ticket: int) -> Array:
        return self.pair(ticket)

    def learn(self, ticket: int, answer: Any) -> None:
        """Put the estimate into the batch."""
        self.batch[ticket] = two_point_estimate(answer, self.delta, self.direction(ticket))


class NaiveDOGDSCManyPoint(NaiveDOGDSCTwoPoint):
    """Section 9, k + 1 values: rows y, y + delta e_1, .., y + delta e_k.

    ghat_i = (f_i - f_0) / delta. No randomness: ``seed`` is not used.
    """

    def play(self, ticket: int) -> Array:
        return np.vstack([self.x, self.x + self.delta * np.eye(self.domain.dim)])

    def learn(self, ticket: int, answer: Any) -> None:
        """Put the estimate into the batch."""
        self.batch[ticket] = np.array([(f - answer[0]) / self.delta for f in answer[1:]])


# --- 10: the families of Wu, Huang and Liu -------------------------------------------------------


@dataclass(kw_only=True)
class NaiveDMD(Rival):
    """Section 10, DMD: one mirror step per round with arrivals, on the sum of grad f_s(x_t).

    x_{t+1} = argmin sum_{F_t} <grad f_s(x_t), x> + B_psi(x, x_t) / eta_t. All maps of a round are
    evaluated at x_t, before its step. eta = D_psi / (G sqrt(T + 2 d_tot)) for curvature 0, else
    1 / (lambda N_t). Choices: D_psi is D or sqrt(2 Bmax) of the entropy, whose G is in the sup
    norm; the entropy with curvature runs on {y_i >= max(floor, 1 / (k T))}, because its divergence
    must stay bounded.
    """

    mirror: Mirror = "euclidean"

    def start(self) -> None:
        """Choose the base and its step."""
        domain, diameter = self.domain, self.domain.diameter
        self.base: OMD | EntropyOMD = OMD(domain)
        if self.mirror == "entropy":
            floor = domain.floor
            if self.curvature > 0.0:
                floor = max(floor, 1.0 / (domain.dim * self.rounds))
            self.base = EntropyOMD(domain.dim, floor)
            diameter = entropy_diameter(domain.dim, floor)
        self.eta = fixed_step(self.rounds, self.total_delay, diameter, self.lipschitz)
        self.batch: dict[int, GradientMap] = {}
        self.arrivals = 0

    def before(self) -> None:
        if self.batch:
            costs = {ticket: gradient(self.x) for ticket, gradient in self.batch.items()}
            self.arrivals += len(costs)
            eta = self.eta if self.curvature == 0.0 else 1.0 / (self.curvature * self.arrivals)
            self.x = self.base.update(in_ticket_order(costs, self.domain.dim), eta)
            self.batch = {}

    def learn(self, ticket: int, answer: Array | GradientMap) -> None:
        """Take a gradient map, or a gradient, which is the same everywhere."""
        self.batch[ticket] = answer if callable(answer) else lambda _: answer


# --- 11: Qiu, Esposito and Zhang -----------------------------------------------------------------


class NaiveQiuEspositoZhang(Rival):
    """Section 11: x_{t+1} = argmin_K sum_{s in o_t} (<g_s, x> + (lambda / 2) |x - x_s|^2).

    o_t are the rounds received and x_s the points played there, so
    x_{t+1} = Pi_K((sum x_s - (1 / lambda) sum g_s) / |o_t|), and x_1 while o_t is empty.
    """

    def start(self) -> None:
        self.plays: list[Array] = []
        self.received: list[tuple[int, Array]] = []

    def before(self) -> None:
        if self.received:
            total = np.zeros(self.domain.dim)
            for ticket, cost in self.received:
                total = total + self.plays[ticket] - cost / self.curvature
            self.x = self.domain.project(total / len(self.received))
        self.plays.append(self.x)

    def learn(self, ticket: int, answer: Array) -> None:
        """Take g_s; the proximal term of a zero stays."""
        self.received.append((ticket, answer))


# --- 12: Bistritz et al. -------------------------------------------------------------------------


class NaiveBistritz(OfValues, ByRound):
    """Section 12: play (1 - delta / r) y + delta u; y <- Pi_K(y - eta sum_{F_t} (k/delta) f_s u_s).

    delta / r = min{1, max(sqrt(kM/(Gr)) T^(-1/4), (kM d_tot/(Gr))^(1/3) T^(-2/3))},
    eta = D / sqrt(T (kM/delta)^2 + 2G (kM/delta) d_tot).
    """

    def start(self) -> None:
        super().start()
        self.tune(self.rounds, self.total_delay)

    def tune(self, rounds: float, total_delay: float) -> None:
        """Choose delta and eta."""
        k, r = self.domain.dim, self.domain.inner_radius
        a = k * self.magnitude / (self.lipschitz * r)
        learning = math.sqrt(a) * math.pow(rounds, -0.25)
        delay = math.pow(a * total_delay, 1.0 / 3.0) * math.pow(rounds, -2.0 / 3.0)
        self.delta = r * min(1.0, max(learning, delay))
        size = k * self.magnitude / self.delta
        late = 2.0 * self.lipschitz * size * total_delay
        self.eta = self.domain.diameter / math.sqrt(rounds * size**2 + late)

    def rate(self) -> float:
        return self.eta

    def project(self, v: Array) -> Array:
        return self.domain.project(v)

    def play(self, ticket: int) -> Array:
        return self.shrink(self.delta) * self.x + self.delta * self.direction(ticket)

    def learn(self, ticket: int, answer: Any) -> None:
        """Put the estimate into the batch."""
        self.batch[ticket] = one_point_estimate(answer, self.delta, self.direction(ticket))


# --- 13: D-FTBL ----------------------------------------------------------------------------------


class _BlockLearner(OfValues, abc.ABC):
    """Blocks of K_len rounds: play y_m + delta u_t, and move y when a block ends.

    y lives in (1 - delta / r) K. Ghat is the sum of (k / delta) f_s u_s over all values received.
    """

    def start(self) -> None:
        """Choose delta and K_len = ceil((kM / (G delta))^2) within 1 .. T.

        A part in 1e9 is taken off before rounding up, so that float noise adds no round.
        """
        k, r = self.domain.dim, self.domain.inner_radius
        self.delta = r * min(1.0, self.ratio(k * self.magnitude / (self.lipschitz * r)))
        wanted = (k * self.magnitude / (self.lipschitz * self.delta)) ** 2
        self.length = min(self.rounds, max(1, math.ceil(wanted * (1.0 - 1e-9))))
        self.received: dict[int, float] = {}
        self.centres = [self.x]  # y_1, y_2, ..

    @abc.abstractmethod
    def ratio(self, a: float) -> float:
        """delta / r, unless that is above 1; a = k M / (G r)."""

    @abc.abstractmethod
    def target(self, total: Array) -> Array:
        """Point whose projection is the next y; ``total`` is Ghat."""

    def before(self) -> None:
        """End a block if it is full."""
        issued = self.issued()
        if issued > 0 and issued % self.length == 0:
            total = np.zeros(self.domain.dim)
            for s, value in self.received.items():
                total = total + one_point_estimate(value, self.delta, self.direction(s))
            self.x = self.project(self.target(total))
            self.centres.append(self.x)

    def play(self, ticket: int) -> Array:
        """Play around y."""
        return self.around(ticket)

    def learn(self, ticket: int, answer: float) -> None:
        """Take f_s."""
        self.received[ticket] = answer


@dataclass(kw_only=True)
class NaiveDFTBL(_BlockLearner):
    """Section 13 (Wan, Yao, Song, Zhang 2024), convex: y = Pi(-Ghat / alpha) on (1 - delta/r) K.

    delta = r min(1, sqrt(nu k) T^(-1/4)), alpha = (2G / R) sqrt(T (d_max + 2 K_len)).
    """

    max_delay: int

    def ratio(self, a: float) -> float:
        return math.sqrt(a) * math.pow(self.rounds, -0.25)

    def target(self, total: Array) -> Array:
        spread = math.sqrt(self.rounds * (self.max_delay + 2 * self.length))
        return -total / ((2.0 * self.lipschitz / outer_radius(self.domain)) * spread)


class NaiveDFTBLStronglyConvex(_BlockLearner):
    """Section 13, strongly convex: y_{m+1} = Pi(mean(y_1 .. y_m) - Ghat / (lambda K_len m)).

    delta = r min(1, ((nu k)^2 ln(e T) / T)^(1/3)).
    """

    def ratio(self, a: float) -> float:
        return math.pow(a**2 * math.log(math.e * self.rounds) / self.rounds, 1.0 / 3.0)

    def target(self, total: Array) -> Array:
        """Mean of the centres so far, moved against Ghat."""
        m = len(self.centres)
        mean = np.mean(self.centres, axis=0)
        return np.asarray(mean - total / (self.curvature * self.length * m), dtype=np.float64)


# --- 14: methods that do not know of delays ------------------------------------------------------


class NaiveZinkevich(ByArrival):
    """Section 14 (Zinkevich 2003): eta_n = D / (G sqrt n), n counts arrivals."""

    def rate(self, ticket: int) -> float:
        return self.domain.diameter / (self.lipschitz * math.sqrt(len(self.costs)))


class NaiveHazanAgarwalKale(ByArrival):
    """Section 14 (Hazan, Agarwal, Kale 2007): eta_n = 1 / (lambda n), n counts arrivals."""

    def rate(self, ticket: int) -> float:
        return 1.0 / (self.curvature * len(self.costs))


class NaiveAdaGrad(ByArrival):
    """Norm version of AdaGrad: eta_n = (D / sqrt 2) / sqrt(sum_{m <= n} |c_m|^2).

    Choice: no step while the sum is zero.
    """

    def rate(self, ticket: int) -> float:
        """eta_n, zero while every cost was zero."""
        total = math.fsum(float(cost @ cost) for cost in self.costs)
        return (self.domain.diameter / math.sqrt(2.0)) / math.sqrt(total) if total else 0.0


class NaiveFlaxman(OfValues):
    """Section 14 (Flaxman, Kalai, McMahan 2005), the tuning for G-Lipschitz losses.

    Play y + delta u; on each value y <- Pi(y - (R / (M sqrt T)) f u) on (1 - delta / r) K with
    delta = T^(-1/4) sqrt(R k M r / (3 (G r + M))), at most r.
    """

    def start(self) -> None:
        k, r, outer = self.domain.dim, self.domain.inner_radius, outer_radius(self.domain)
        inside = outer * k * self.magnitude * r / (3.0 * (self.lipschitz * r + self.magnitude))
        self.delta = min(r, math.pow(self.rounds, -0.25) * math.sqrt(inside))
        self.step = outer / (self.magnitude * math.sqrt(self.rounds))

    def play(self, ticket: int) -> Array:
        return self.around(ticket)

    def learn(self, ticket: int, answer: float) -> None:
        self.x = self.project(self.x - self.step * answer * self.direction(ticket))


class _TwoPoint(OfValues, abc.ABC):
    """Rows y + delta u and y - delta u; on each pair of values one step on (1 - delta / r) K."""

    arrivals = 0

    @abc.abstractmethod
    def rate(self) -> float:
        """eta_n; ``arrivals`` is n."""

    def play(self, ticket: int) -> Array:
        """Play two points."""
        return self.pair(ticket)

    def learn(self, ticket: int, answer: tuple[float, float]) -> None:
        """Step against the estimate."""
        self.arrivals += 1
        estimate = two_point_estimate(answer, self.delta, self.direction(ticket))
        self.x = self.project(self.x - self.rate() * estimate)


class NaiveAgarwalDekelXiao(_TwoPoint):
    """Section 14 (Agarwal, Dekel, Xiao 2010): eta = 1 / sqrt T, or 1 / (lambda n) with curvature.

    Choices: delta = min(r, ln(e T) / T), since ln T is zero at T = 1; G is for the bound only.
    """

    def start(self) -> None:
        wanted = math.log(math.e * self.rounds) / self.rounds
        self.delta = min(self.domain.inner_radius, wanted)

    def rate(self) -> float:
        if self.curvature > 0.0:
            return 1.0 / (self.curvature * self.arrivals)
        return 1.0 / math.sqrt(self.rounds)


class NaiveShamir(_TwoPoint):
    """Section 14 (Shamir 2017), Euclidean: eta = R / (G sqrt(k T)).

    Choice: delta = r min(1, sqrt(k / T)), which meets the condition delta <= R sqrt(k / T).
    """

    def start(self) -> None:
        self.delta = self.domain.inner_radius * min(1.0, math.sqrt(self.domain.dim / self.rounds))

    def rate(self) -> float:
        spread = math.sqrt(self.domain.dim * self.rounds)
        return outer_radius(self.domain) / (self.lipschitz * spread)


# --- 16: asynchronous stochastic gradients, and dynamic regret -----------------------------------


@dataclass(kw_only=True)
class NaiveDelayAdaptiveSGD(ByArrival):
    """Section 16.1: step M / max(M, tau), tau = d*_n, the arrivals since the prediction."""

    step: float
    workers: int

    def rate(self, ticket: int) -> float:
        return self.step * self.workers / max(self.workers, self.dual_delay(ticket))


@dataclass(kw_only=True)
class NaiveAdaDelay(ByArrival):
    """Section 16.3: x <- Pi_K(x - g / (L + c sqrt(n + tau))), tau = d*_n, n counts this arrival."""

    smoothness: float
    scale: float

    def rate(self, ticket: int) -> float:
        late = len(self.costs) + self.dual_delay(ticket)
        return 1.0 / (self.smoothness + self.scale * math.sqrt(late))


@dataclass(kw_only=True)
class NaiveMildOGD(Rival):
    """Section 16.4, Mild-OGD: experts x^i with eta_i = 2^(i-1) D / (G sqrt beta), play sum w_i x^i.

    On g_s: w_i prop. to prior_i exp(-alpha sum_s <g_s, x_s^i - x_s>), alpha = 1 / (G D sqrt beta),
    then x^i <- Pi_K(x^i - eta_i g_s). prior_i = (N + 1) / (N i (i + 1)), i = 1 .. N,
    N = ceil(log2(T + 1) / 2) + 1. Choices: beta = T (d_max + 1), as their delays start at 1, or
    T + d_tot if ``in_order``; answers out of order are never refused.
    """

    max_delay: int = 0
    in_order: bool = False

    def start(self) -> None:
        """Choose the experts and their steps."""
        late = self.rounds * (self.max_delay + 1)
        beta = self.rounds + self.total_delay if self.in_order else late
        half = 0
        while 4**half < self.rounds + 1:
            half += 1
        self.numbers = range(1, half + 2)
        unit = self.domain.diameter / (self.lipschitz * math.sqrt(beta))
        self.etas = [2.0 ** (i - 1) * unit for i in self.numbers]
        self.alpha = 1.0 / (self.lipschitz * self.domain.diameter * math.sqrt(beta))
        self.experts = [self.domain.start for _ in self.numbers]
        self.plays: list[tuple[Array, list[Array]]] = []
        self.losses: list[list[float]] = [[] for _ in self.numbers]

    def weights(self) -> Array:
        """w_1 .. w_N from all losses so far."""
        count = len(self.numbers)
        prior = np.array([(count + 1) / (count * i * (i + 1)) for i in self.numbers])
        totals = np.array([math.fsum(losses) for losses in self.losses])
        raw = prior * np.exp(-self.alpha * (totals - totals.min()))
        return np.asarray(raw / raw.sum(), dtype=np.float64)

    def before(self) -> None:
        """Compute the weighted mean, and keep every expert's point."""
        self.x = np.zeros(self.domain.dim)
        for weight, expert in zip(self.weights(), self.experts, strict=True):
            self.x = self.x + weight * expert
        self.plays.append((self.x, list(self.experts)))

    def learn(self, ticket: int, answer: Array) -> None:
        """Charge the experts for their points of that round, then let them step."""
        played, points = self.plays[ticket]
        for i, point in enumerate(points):
            self.losses[i].append(float(answer @ (point - played)))
            self.experts[i] = self.domain.project(self.experts[i] - self.etas[i] * answer)


# --- Bounds, where the survey gives constants ----------------------------------------------------


def bound_over_ogd(rounds: int, copies: int, diameter: float, lipschitz: float) -> float:
    """Sections 1 and 2 over OGD: 1.5 G D sqrt(n T), n = d + 1 or sigma_max + 1 copies."""
    return 1.5 * lipschitz * diameter * math.sqrt(rounds * copies)


def bound_fixed_step(rounds: int, total_delay: int, width: float, lipschitz: float) -> float:
    """Sections 3, 6, 10 and 16.4, tuned: G W sqrt(T + 2 d_tot).

    W is D, or the D_psi of a mirror, or R for FTDRL by the argument of sections 6b and 8.
    """
    return lipschitz * width * math.sqrt(rounds + 2 * total_delay)


def bound_langford_smola_zinkevich(
    rounds: int, delay: int, diameter: float, lipschitz: float, curvature: float
) -> float:
    """Section 4, F = D / sqrt 2: lambda tau F^2 + (1/2 + tau) (G^2 / lambda) (1 + tau + ln T)."""
    logarithm = 1.0 + delay + math.log(rounds)
    away = curvature * delay * diameter**2 / 2.0
    return away + (0.5 + delay) * lipschitz**2 / curvature * logarithm
