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
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol

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


def project_shrunk(domain: ChartSet, shrink: float, v: Array) -> Array:
    """Nearest point of s K = {s y : y in K}, which is s Pi_K(v / s); the origin for s <= 0."""
    if shrink <= 0.0:
        return np.zeros(domain.dim)
    return shrink * domain.project(v / shrink)


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


# --- Tickets -------------------------------------------------------------------------------------


class Rival:
    """A current point x, and the tickets that every method keeps in the same way."""

    def __init__(self, domain: ChartSet, seed: int) -> None:
        self.domain = domain
        self.seed = seed
        self.x = domain.start
        self.events: list[tuple[Literal["predict", "close"], int]] = []

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

    def _issue(self) -> int:
        ticket = self.issued()
        self.events.append(("predict", ticket))
        return ticket

    def _close(self, ticket: int) -> None:
        if not 0 <= ticket < self.issued():
            raise KeyError(ticket)
        if ("close", ticket) in self.events:
            raise ValueError(f"ticket {ticket} is closed")
        self.events.append(("close", ticket))


class ByArrival(Rival, abc.ABC):
    """Projected gradient steps, one per arrival: x <- Pi_K(x - eta_n c_n), played as it stands."""

    def __init__(self, domain: ChartSet, seed: int) -> None:
        super().__init__(domain, seed)
        self.costs: list[Array] = []

    @abc.abstractmethod
    def rate(self, ticket: int) -> float:
        """eta_n of the arrival that is last in ``costs``."""

    def predict(self) -> tuple[int, Array]:
        """Play x."""
        return self._issue(), self.x.copy()

    def observe(self, ticket: int, cost: Array) -> bool:
        """Take c_n and step."""
        self._close(ticket)
        self.costs.append(cost)
        self.x = self.domain.project(self.x - self.rate(ticket) * cost)
        return True

    def cancel(self, ticket: int) -> None:
        """Observe a zero gradient."""
        self.observe(ticket, np.zeros(self.domain.dim))


class ByRound(Rival, abc.ABC):
    """Projected gradient steps, one per round with arrivals, on the sum of them."""

    def __init__(self, domain: ChartSet, seed: int) -> None:
        super().__init__(domain, seed)
        self.batch: dict[int, Array] = {}
        self.arrivals = 0

    @abc.abstractmethod
    def rate(self) -> float:
        """eta of this round; ``arrivals`` is N_t, this round's included."""

    def predict(self) -> tuple[int, Array]:
        """Finish the last round, then play x."""
        self._finish_round()
        return self._issue(), self.x.copy()

    def observe(self, ticket: int, cost: Array) -> bool:
        """Put the gradient of a round into the batch."""
        self._close(ticket)
        self.batch[ticket] = cost
        return True

    def cancel(self, ticket: int) -> None:
        """Observe a zero gradient."""
        self.observe(ticket, np.zeros(self.domain.dim))

    def _finish_round(self) -> None:
        if self.batch:
            self.arrivals += len(self.batch)
            self._step(in_ticket_order(self.batch, self.domain.dim))
            self.batch = {}

    def _step(self, total: Array) -> None:
        self.x = self.domain.project(self.x - self.rate() * total)


# --- 1, 2: copies of a method that expects no delay ----------------------------------------------


class Copy(Protocol):
    """A learner that is always answered before its next prediction."""

    def predict(self) -> tuple[int, Array]:
        """Return the copy's own ticket and its play."""
        ...

    def observe(self, ticket: int, feedback: Any, /) -> bool:
        """Take an answer."""
        ...

    def cancel(self, ticket: int) -> None:
        """Close a ticket without an answer."""
        ...


BaseFactory = NaiveConfig | Callable[[int], Copy]


def copy_seed(seed: int, number: int) -> int:
    """Seed of a copy: the given one, with j Weyl steps added to its upper half for copy j."""
    high = ((seed >> 32) + number * 0x9E3779B9) & 0xFFFFFFFF
    return high << 32 | seed & 0xFFFFFFFF


def make_copy(base: BaseFactory, seed: int, number: int) -> Copy:
    """Copy ``number`` of the base, with its own seed."""
    own = copy_seed(seed, number)
    if isinstance(base, NaiveConfig):
        return NaiveLearner(replace(base, seed=own))
    return base(own)


class NaiveWeinbergerOrdentlich:
    """Section 1 (Weinberger, Ordentlich 2002): round t is played by copy t mod (d + 1).

    Choices: every copy is an ordinary learner with its own tickets 0, 1, 2, .. and the seed of
    ``copy_seed``; a prediction is refused while its copy's last ticket is open, since the delay is
    then longer than told. Shorter delays do no harm.
    """

    def __init__(self, *, base: BaseFactory, delay: int, seed: int = 0) -> None:
        self.copies = [make_copy(base, seed, j) for j in range(delay + 1)]
        self.inner: list[int] = []  # the copy's ticket, per ticket
        self.closed: set[int] = set()

    def predict(self) -> tuple[int, Array]:
        """Play the copy whose turn it is."""
        ticket = len(self.inner)
        last = ticket - len(self.copies)
        if last >= 0 and last not in self.closed:
            raise ValueError(f"ticket {last} is later than the fixed delay")
        inner, play = self.copies[ticket % len(self.copies)].predict()
        self.inner.append(inner)
        return ticket, play

    def observe(self, ticket: int, feedback: Any) -> bool:
        """Pass the answer to the copy that played."""
        copy, inner = self._close(ticket)
        return copy.observe(inner, feedback)

    def cancel(self, ticket: int) -> None:
        """Cancel at the copy that played."""
        copy, inner = self._close(ticket)
        copy.cancel(inner)

    def _close(self, ticket: int) -> tuple[Copy, int]:
        if not 0 <= ticket < len(self.inner):
            raise KeyError(ticket)
        if ticket in self.closed:
            raise ValueError(f"ticket {ticket} is closed")
        self.closed.add(ticket)
        return self.copies[ticket % len(self.copies)], self.inner[ticket]


class NaiveBOLD:
    """Section 2 (Joulani, Gyorgy, Szepesvari 2013): any free copy plays, a new one if none is free.

    Choices: the copy that was freed last plays next; copies are numbered as they are made and get
    the seed of ``copy_seed``; cancelling frees a copy too.
    """

    def __init__(self, *, base: BaseFactory, seed: int = 0) -> None:
        self.base = base
        self.seed = seed
        self.copies: list[Copy] = []
        self.free: list[Copy] = []
        self.busy: dict[int, tuple[Copy, int]] = {}
        self.issued = 0

    def predict(self) -> tuple[int, Array]:
        """Play a copy that waits for nothing."""
        if self.free:
            copy = self.free.pop()
        else:
            copy = make_copy(self.base, self.seed, len(self.copies))
            self.copies.append(copy)
        inner, play = copy.predict()
        ticket = self.issued
        self.issued += 1
        self.busy[ticket] = (copy, inner)
        return ticket, play

    def observe(self, ticket: int, feedback: Any) -> bool:
        """Pass the answer to the copy that played, and free it."""
        copy, inner = self._close(ticket)
        return copy.observe(inner, feedback)

    def cancel(self, ticket: int) -> None:
        """Cancel at the copy that played, and free it."""
        copy, inner = self._close(ticket)
        copy.cancel(inner)

    def _close(self, ticket: int) -> tuple[Copy, int]:
        if not 0 <= ticket < self.issued:
            raise KeyError(ticket)
        if ticket not in self.busy:
            raise ValueError(f"ticket {ticket} is closed")
        copy, inner = self.busy.pop(ticket)
        self.free.append(copy)
        return copy, inner


# --- 3: SOLID ------------------------------------------------------------------------------------


class NaiveSOLID(Rival):
    """Section 3 (Joulani, Gyorgy, Szepesvari 2016): one OMD base, fed in arrival order.

    eta = D / (G sqrt(T + 2 d_tot)). With ``feedback="function"`` the answer is the gradient map of
    f_s, and its value at the current point is the cost.
    """

    def __init__(
        self,
        *,
        domain: ChartSet,
        lipschitz: float,
        rounds: int,
        total_delay: int,
        feedback: Literal["gradient", "function"] = "gradient",
        seed: int = 0,
    ) -> None:
        super().__init__(domain, seed)
        self.feedback = feedback
        self.eta = fixed_step(rounds, total_delay, domain.diameter, lipschitz)

    def predict(self) -> tuple[int, Array]:
        """Play x."""
        return self._issue(), self.x.copy()

    def observe(self, ticket: int, answer: Array | GradientMap) -> bool:
        """x <- Pi_K(x - eta g), where g came or is the map's value at x."""
        if callable(answer) != (self.feedback == "function"):
            raise TypeError(f"{self.feedback} expected")
        self._close(ticket)
        cost = answer(self.x) if callable(answer) else answer
        self.x = self.domain.project(self.x - self.eta * cost)
        return True

    def cancel(self, ticket: int) -> None:
        """Close the ticket: a zero gradient does not move x."""
        self._close(ticket)


def fixed_step(rounds: int, total_delay: int, diameter: float, lipschitz: float) -> float:
    """Sections 3 and 6: eta = D / (G sqrt(T + 2 d_tot))."""
    return diameter / (lipschitz * math.sqrt(rounds + 2 * total_delay))


# --- 4: Langford, Smola and Zinkevich ------------------------------------------------------------


class NaiveLangfordSmolaZinkevich(ByArrival):
    """Section 4: x_{t+1} = Pi_K(x_t - eta_n g_{t-tau}) for a fixed delay tau.

    eta_n = F / (G sqrt(2 max(tau, 1) n)) with F = D / sqrt 2, or 1 / (lambda n); n counts applied
    gradients. Choices: an answer (or cancellation) is refused and changes nothing unless it is the
    oldest open ticket and at most tau predictions followed its own; earlier is accepted, as the end
    of a game brings it.
    """

    def __init__(
        self,
        *,
        domain: ChartSet,
        lipschitz: float,
        delay: int,
        curvature: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__(domain, seed)
        self.lipschitz = lipschitz
        self.delay = delay
        self.curvature = curvature

    def rate(self, ticket: int) -> float:
        """eta_n."""
        n = len(self.costs)
        if self.curvature > 0.0:
            return 1.0 / (self.curvature * n)
        f = self.domain.diameter / math.sqrt(2.0)
        sigma = f / (self.lipschitz * math.sqrt(2.0 * max(self.delay, 1)))
        return sigma / math.sqrt(n)

    def observe(self, ticket: int, cost: Array) -> bool:
        """Take the oldest open ticket's gradient."""
        oldest = len(self.costs)
        if oldest < ticket < self.issued():
            raise ValueError(f"ticket {oldest} must be answered before {ticket}")
        if ticket == oldest and self.issued() - 1 - ticket > self.delay:
            raise ValueError(f"ticket {ticket} is later than the fixed delay")
        return super().observe(ticket, cost)


# --- 5: AdaptiveRevision -------------------------------------------------------------------------


class NaiveAdaptiveRevision(Rival):
    """Section 5 (McMahan, Streeter 2014), per coordinate.

    gold = gbar at the prediction. On g: b = gbar - gold; eta_old = alpha / (beta + sqrt zmax);
    z += g^2 + 2 g b; zmax = max(zmax, z); eta = alpha / (beta + sqrt zmax);
    w += -eta g + (eta_old - eta) b; gbar += g. Choices: alpha = scale sqrt(2) R, R = 1 on a box and
    D / 2 elsewhere; z = zmax = 0 at the start, beta > 0, w is never projected, the play is Pi_K(w).
    """

    def __init__(
        self, *, domain: ChartSet, scale: float = 1.0, offset: float = 1.0, seed: int = 0
    ) -> None:
        super().__init__(domain, seed)
        self.alpha = scale * math.sqrt(2.0)
        if domain.kind != "box":
            self.alpha *= domain.diameter / 2.0
        self.offset = offset
        self.w = domain.start
        self.z = np.zeros(domain.dim)
        self.zmax = np.zeros(domain.dim)
        self.costs: list[Array] = []
        self.seen: list[int] = []  # gradients applied before each prediction

    def predict(self) -> tuple[int, Array]:
        """Play Pi_K(w) and remember how many gradients were applied."""
        self.seen.append(len(self.costs))
        return self._issue(), self.domain.project(self.w)

    def observe(self, ticket: int, cost: Array) -> bool:
        """Step, and take back part of the steps since the prediction."""
        self._close(ticket)
        since = np.zeros(self.domain.dim)
        for other in self.costs[self.seen[ticket] :]:
            since = since + other
        old = self.alpha / (self.offset + np.sqrt(self.zmax))
        self.z = self.z + cost**2 + 2.0 * cost * since
        self.zmax = np.maximum(self.zmax, self.z)
        eta = self.alpha / (self.offset + np.sqrt(self.zmax))
        self.w = self.w - eta * cost + (old - eta) * since
        self.costs.append(cost)
        return True

    def cancel(self, ticket: int) -> None:
        """Observe a zero gradient."""
        self.observe(ticket, np.zeros(self.domain.dim))


# --- 6: Quanrud and Khashabi, and delayed dual averaging -----------------------------------------


class NaiveQuanrudKhashabi(ByRound):
    """Section 6: x_{t+1} = Pi_K(x_t - eta sum_{s in F_t} g_s), eta = D / (G sqrt(T + 2 d_tot))."""

    def __init__(
        self, *, domain: ChartSet, lipschitz: float, rounds: int, total_delay: int, seed: int = 0
    ) -> None:
        super().__init__(domain, seed)
        self.eta = fixed_step(rounds, total_delay, domain.diameter, lipschitz)

    def rate(self) -> float:
        """eta."""
        return self.eta


class NaiveQuanrudKhashabiDoubling(ByRound):
    """Section 6 with doubling: epoch m has budget 2^m and eta = D / (G 2^(m/2)).

    Each prediction finishes the last round, then adds 1 + 2 (open tickets of this epoch) to V. If
    V > 2^m, m grows until V fits, and the epoch starts afresh with this prediction: x = x_1, V = 1,
    answers to earlier tickets are thrown away. Starts with m = 0, V = 0.
    """

    def __init__(self, *, domain: ChartSet, lipschitz: float, seed: int = 0) -> None:
        super().__init__(domain, seed)
        self.lipschitz = lipschitz
        self.m = 0
        self.spent = 0
        self.first = 0

    def rate(self) -> float:
        """eta of the epoch."""
        return self.domain.diameter / (self.lipschitz * math.sqrt(2.0**self.m))

    def predict(self) -> tuple[int, Array]:
        """Finish the round, restart if the budget is spent, play x."""
        self._finish_round()
        self.spent += 1 + 2 * len(self.pending(self.first))
        if self.spent > 2**self.m:
            while self.spent > 2**self.m:
                self.m += 1
            self.x = self.domain.start
            self.spent = 1
            self.first = self.issued()
        return self._issue(), self.x.copy()

    def observe(self, ticket: int, cost: Array) -> bool:
        """Put the gradient into the batch unless its epoch is over."""
        if ticket < self.first:
            self._close(ticket)
            return False
        return super().observe(ticket, cost)


class NaiveDelayedDualAveraging(Rival):
    """Section 6b: V += 1/2 + sigma_t; x_t = Pi_K(x_1 - S / lambda_t), lambda_t = (2G/R) sqrt V.

    S is the sum of the gradients received, sigma_t the open tickets before prediction t.
    """

    def __init__(self, *, domain: ChartSet, lipschitz: float, seed: int = 0) -> None:
        super().__init__(domain, seed)
        self.lipschitz = lipschitz
        self.costs: list[Array] = []
        self.backlogs: list[int] = []

    def predict(self) -> tuple[int, Array]:
        """Play x_t."""
        self.backlogs.append(len(self.pending()))
        v = sum(0.5 + sigma for sigma in self.backlogs)
        strength = (2.0 * self.lipschitz / outer_radius(self.domain)) * math.sqrt(v)
        total = np.zeros(self.domain.dim)
        for cost in self.costs:
            total = total + cost
        self.x = self.domain.project(self.domain.start - total / strength)
        return self._issue(), self.x.copy()

    def observe(self, ticket: int, cost: Array) -> bool:
        """Add a gradient to S."""
        self._close(ticket)
        self.costs.append(cost)
        return True

    def cancel(self, ticket: int) -> None:
        """Observe a zero gradient."""
        self.observe(ticket, np.zeros(self.domain.dim))


# --- 7: GOLD -------------------------------------------------------------------------------------


class NaiveGOLD(Rival):
    """Section 7 (Heliou, Mertikopoulos, Zhou 2020): at most one value, the oldest, per round.

    Play (1 - delta_t / r) x + delta_t u_t. When round t ends, pop the oldest arrived round q and
    x <- Pi_K(x - gamma_t (k / delta_q) f_q u_q). gamma_t = gamma t^-c, delta_t = delta t^-b with
    c = max(3/4, 2/3 + a/3), b = min(1/4, 1/3 - a/3). Choices: delta_t <= r, delta = r sqrt(nu k),
    nu = M / (G r), gamma = D delta / (k M); rounds without arrivals pop too.
    """

    def __init__(
        self,
        *,
        domain: ChartSet,
        magnitude: float,
        lipschitz: float,
        growth: float = 0.0,
        smoothing: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__(domain, seed)
        k, r = domain.dim, domain.inner_radius
        nu = magnitude / (lipschitz * r)
        self.delta = smoothing if smoothing > 0.0 else r * math.sqrt(nu * k)
        self.gamma = domain.diameter * self.delta / (k * magnitude)
        self.c = max(0.75, 2.0 / 3.0 + growth / 3.0)
        self.b = min(0.25, 1.0 / 3.0 - growth / 3.0)
        self.pool: list[tuple[int, float]] = []

    def smoothing(self, t: int) -> float:
        """delta_t."""
        return min(self.domain.inner_radius, self.delta * math.pow(t, -self.b))

    def predict(self) -> tuple[int, Array]:
        """Use one value from the pool, then play around x."""
        t = self.issued()
        if self.pool:
            q, value = heapq.heappop(self.pool)
            estimate = one_point_estimate(value, self.smoothing(q + 1), self.direction(q))
            self.x = self.domain.project(self.x - self.gamma * math.pow(t, -self.c) * estimate)
        ticket = self._issue()
        delta = self.smoothing(ticket + 1)
        shrink = 1.0 - delta / self.domain.inner_radius
        return ticket, shrink * self.x + delta * self.direction(ticket)

    def observe(self, ticket: int, value: float) -> bool:
        """Put a value into the pool."""
        self._close(ticket)
        heapq.heappush(self.pool, (ticket, value))
        return True

    def cancel(self, ticket: int) -> None:
        """Forget the ticket."""
        self._close(ticket)


# --- 9: DOGD-SC ----------------------------------------------------------------------------------


class NaiveDOGDSC(ByRound):
    """Section 9 (Wan, Tu, Zhang 2022): x_{t+1} = Pi_K(x_t - (1 / (lambda N_t)) sum_{F_t} g_s)."""

    def __init__(self, *, domain: ChartSet, curvature: float, seed: int = 0) -> None:
        super().__init__(domain, seed)
        self.curvature = curvature

    def rate(self) -> float:
        """1 / (lambda N_t)."""
        return 1.0 / (self.curvature * self.arrivals)


class _ShrunkDOGDSC(Rival):
    """DOGD-SC on (1 - delta / r) K with gradients estimated from values.

    Choices: delta = r min(1, ln(e T) / T); G is for the bound only; cancelled tickets are not
    counted in N_t.
    """

    def __init__(
        self, *, domain: ChartSet, curvature: float, lipschitz: float, rounds: int, seed: int = 0
    ) -> None:
        super().__init__(domain, seed)
        self.curvature = curvature
        self.delta = domain.inner_radius * min(1.0, math.log(math.e * rounds) / rounds)
        self.batch: dict[int, Array] = {}
        self.arrivals = 0

    def _finish_round(self) -> None:
        if self.batch:
            self.arrivals += len(self.batch)
            total = in_ticket_order(self.batch, self.domain.dim)
            moved = self.x - total / (self.curvature * self.arrivals)
            shrink = 1.0 - self.delta / self.domain.inner_radius
            self.x = project_shrunk(self.domain, shrink, moved)
            self.batch = {}

    def cancel(self, ticket: int) -> None:
        """Forget the ticket."""
        self._close(ticket)


class NaiveDOGDSCTwoPoint(_ShrunkDOGDSC):
    """Section 9, two values: rows y + delta u and y - delta u."""

    def predict(self) -> tuple[int, Array]:
        """Finish the round, then play two points."""
        self._finish_round()
        ticket = self._issue()
        move = self.delta * self.direction(ticket)
        return ticket, np.array([self.x + move, self.x - move])

    def observe(self, ticket: int, values: tuple[float, float]) -> bool:
        """Put the estimate into the batch."""
        self._close(ticket)
        self.batch[ticket] = two_point_estimate(values, self.delta, self.direction(ticket))
        return True


class NaiveDOGDSCManyPoint(_ShrunkDOGDSC):
    """Section 9, k + 1 values: rows y, y + delta e_1, .., y + delta e_k.

    ghat_i = (f_i - f_0) / delta. No randomness: ``seed`` is not used.
    """

    def predict(self) -> tuple[int, Array]:
        """Finish the round, then play k + 1 points."""
        self._finish_round()
        moves = self.delta * np.eye(self.domain.dim)
        return self._issue(), np.vstack([self.x, self.x + moves])

    def observe(self, ticket: int, values: Sequence[float]) -> bool:
        """Put the estimate into the batch."""
        self._close(ticket)
        self.batch[ticket] = np.array([(f - values[0]) / self.delta for f in values[1:]])
        return True


# --- 10: the families of Wu, Huang and Liu -------------------------------------------------------


class _DelayedMirrorDescent(Rival):
    """One mirror step per round with arrivals, on the sum of their costs.

    eta = D_psi / (G sqrt(T + 2 d_tot)) for curvature 0, else 1 / (lambda N_t). Choices: D_psi is D
    or sqrt(2 Bmax) of the entropy, whose G is in the sup norm; the entropy with curvature runs on
    {y_i >= max(floor, 1 / (k T))}, because its divergence must stay bounded.
    """

    def __init__(
        self,
        *,
        domain: ChartSet,
        lipschitz: float,
        rounds: int = 1,
        total_delay: int = 0,
        curvature: float = 0.0,
        mirror: Mirror = "euclidean",
        seed: int = 0,
    ) -> None:
        super().__init__(domain, seed)
        self.curvature = curvature
        self.base: OMD | EntropyOMD
        if mirror == "euclidean":
            self.base = OMD(domain)
            diameter = domain.diameter
        elif domain.kind != "simplex":
            raise ValueError("the entropy needs the simplex")
        else:
            floor = domain.floor
            if curvature > 0.0:
                floor = max(floor, 1.0 / (domain.dim * rounds))
            self.base = EntropyOMD(domain.dim, floor)
            diameter = entropy_diameter(domain.dim, floor)
        self.eta = fixed_step(rounds, total_delay, diameter, lipschitz)
        self.batch: dict[int, GradientMap] = {}
        self.arrivals = 0

    def predict(self) -> tuple[int, Array]:
        """Finish the last round, then play x."""
        if self.batch:
            costs = {ticket: gradient(self.x) for ticket, gradient in self.batch.items()}
            self.arrivals += len(costs)
            eta = self.eta if self.curvature == 0.0 else 1.0 / (self.curvature * self.arrivals)
            self.x = self.base.update(in_ticket_order(costs, self.domain.dim), eta)
            self.batch = {}
        return self._issue(), self.x.copy()

    def cancel(self, ticket: int) -> None:
        """Take a gradient that is zero everywhere."""
        self._close(ticket)
        self.batch[ticket] = lambda y: np.zeros(len(y))


class NaiveSDMD(_DelayedMirrorDescent):
    """Section 10, SDMD: x_{t+1} = argmin sum_{F_t} <g_s, x> + B_psi(x, x_t) / eta_t."""

    def observe(self, ticket: int, cost: Array) -> bool:
        """Take a gradient, the same wherever it is evaluated."""
        self._close(ticket)
        self.batch[ticket] = lambda _: cost
        return True


class NaiveDMD(_DelayedMirrorDescent):
    """Section 10, DMD: as SDMD with grad f_s(x_t), the map's value at the current point.

    All maps of a round are evaluated at x_t, before its step.
    """

    def observe(self, ticket: int, gradient: GradientMap) -> bool:
        """Take a gradient map."""
        self._close(ticket)
        self.batch[ticket] = gradient
        return True


class NaiveFTDRL(Rival):
    """Section 10, FTDRL: x_{t+1} = argmin sum_{received} f_s(x) + |x - x_1|^2 / (2 eta).

    An answer is (b_1, .., b_k, c) for f(y) = <b, y> + (c / 2) sum_i scale_i^2 y_i^2, where b is in
    the chart, c belongs to the user's coordinates and ``scale`` is the chart's (1 unless given;
    unequal entries only on the box, where the minimum splits by coordinates). Choice:
    eta = R / (G sqrt(T + 2 d_tot)).
    """

    def __init__(
        self,
        *,
        domain: ChartSet,
        lipschitz: float,
        rounds: int,
        total_delay: int,
        scale: Array | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(domain, seed)
        self.eta = fixed_step(rounds, total_delay, outer_radius(domain), lipschitz)
        self.scale = np.ones(domain.dim) if scale is None else scale
        self.answers: list[Array] = []

    def predict(self) -> tuple[int, Array]:
        """Play Pi_K((x_1 / eta - sum b) / (1 / eta + sum c))."""
        slope = np.zeros(self.domain.dim)
        bend = np.zeros(self.domain.dim)
        for answer in self.answers:
            slope = slope + answer[:-1]
            bend = bend + answer[-1] * self.scale**2
        peak = (self.domain.start / self.eta - slope) / (1.0 / self.eta + bend)
        self.x = self.domain.project(peak)
        return self._issue(), self.x.copy()

    def observe(self, ticket: int, answer: Array) -> bool:
        """Take the coefficients of f_s."""
        self._close(ticket)
        self.answers.append(answer)
        return True

    def cancel(self, ticket: int) -> None:
        """Take f_s = 0."""
        self.observe(ticket, np.zeros(self.domain.dim + 1))


# --- 11: Qiu, Esposito and Zhang -----------------------------------------------------------------


class NaiveQiuEspositoZhang(Rival):
    """Section 11: x_{t+1} = argmin_K sum_{s in o_t} (<g_s, x> + (lambda / 2) |x - x_s|^2).

    o_t are the rounds received and x_s the points played there, so
    x_{t+1} = Pi_K((sum x_s - (1 / lambda) sum g_s) / |o_t|), and x_1 while o_t is empty.
    """

    def __init__(self, *, domain: ChartSet, curvature: float, seed: int = 0) -> None:
        super().__init__(domain, seed)
        self.curvature = curvature
        self.plays: list[Array] = []
        self.received: list[tuple[int, Array]] = []

    def predict(self) -> tuple[int, Array]:
        """Play the minimiser."""
        if self.received:
            total = np.zeros(self.domain.dim)
            for ticket, cost in self.received:
                total = total + self.plays[ticket] - cost / self.curvature
            self.x = self.domain.project(total / len(self.received))
        self.plays.append(self.x)
        return self._issue(), self.x.copy()

    def observe(self, ticket: int, cost: Array) -> bool:
        """Take g_s."""
        self._close(ticket)
        self.received.append((ticket, cost))
        return True

    def cancel(self, ticket: int) -> None:
        """Take g_s = 0; its proximal term stays."""
        self.observe(ticket, np.zeros(self.domain.dim))


# --- 12: Bistritz et al. -------------------------------------------------------------------------


def bistritz_tuning(
    domain: ChartSet, magnitude: float, lipschitz: float, rounds: float, total_delay: float
) -> tuple[float, float]:
    """delta and eta of section 12.

    delta / r = min{1, max(sqrt(kM/(Gr)) T^(-1/4), (kM d_tot/(Gr))^(1/3) T^(-2/3))},
    eta = D / sqrt(T (kM/delta)^2 + 2G (kM/delta) d_tot).
    """
    k, r = domain.dim, domain.inner_radius
    a = k * magnitude / (lipschitz * r)
    learning = math.sqrt(a) * math.pow(rounds, -0.25)
    delay = math.pow(a * total_delay, 1.0 / 3.0) * math.pow(rounds, -2.0 / 3.0)
    delta = r * min(1.0, max(learning, delay))
    size = k * magnitude / delta
    eta = domain.diameter / math.sqrt(rounds * size**2 + 2.0 * lipschitz * size * total_delay)
    return delta, eta


class _Bistritz(Rival):
    """Play (1 - delta / r) y + delta u; y <- Pi_K(y - eta sum_{F_t} (k / delta) f_s u_s)."""

    def __init__(
        self,
        domain: ChartSet,
        magnitude: float,
        lipschitz: float,
        seed: int,
        tuning: tuple[float, float],
    ) -> None:
        super().__init__(domain, seed)
        self.magnitude = magnitude
        self.lipschitz = lipschitz
        self.delta, self.eta = tuning
        self.batch: dict[int, Array] = {}

    def predict(self) -> tuple[int, Array]:
        """Finish the last round, then play around y."""
        self._finish_round()
        ticket = self._issue()
        shrink = 1.0 - self.delta / self.domain.inner_radius
        return ticket, shrink * self.x + self.delta * self.direction(ticket)

    def observe(self, ticket: int, value: float) -> bool:
        """Put the estimate into the batch."""
        self._close(ticket)
        self.batch[ticket] = one_point_estimate(value, self.delta, self.direction(ticket))
        return True

    def cancel(self, ticket: int) -> None:
        """Forget the ticket."""
        self._close(ticket)

    def _finish_round(self) -> None:
        if self.batch:
            total = in_ticket_order(self.batch, self.domain.dim)
            self.x = self.domain.project(self.x - self.eta * total)
            self.batch = {}


class NaiveBistritz(_Bistritz):
    """Section 12 with T and d_tot known."""

    def __init__(
        self,
        *,
        domain: ChartSet,
        magnitude: float,
        lipschitz: float,
        rounds: int,
        total_delay: int,
        seed: int = 0,
    ) -> None:
        tuning = bistritz_tuning(domain, magnitude, lipschitz, rounds, total_delay)
        super().__init__(domain, magnitude, lipschitz, seed, tuning)


class NaiveBistritzDoubling(_Bistritz):
    """Section 12 with two-dimensional doubling: epoch (h, v) is tuned for T = 2^h, d_tot = 2^v.

    Each prediction finishes the last round, then counts one round and adds the open tickets of the
    epoch to the pending count. If rounds > 2^h or pending > 2^v, each index grows until its count
    fits, and the epoch starts afresh with this prediction (rounds = 1, pending = 0, y = y_1);
    answers to earlier tickets are thrown away. Starts with h = v = 0.
    """

    def __init__(
        self, *, domain: ChartSet, magnitude: float, lipschitz: float, seed: int = 0
    ) -> None:
        super().__init__(
            domain, magnitude, lipschitz, seed, bistritz_tuning(domain, magnitude, lipschitz, 1, 1)
        )
        self.h = 0
        self.v = 0
        self.rounds = 0
        self.waiting = 0
        self.first = 0

    def predict(self) -> tuple[int, Array]:
        """Finish the round, restart if an epoch is over, play around y."""
        self._finish_round()
        self.rounds += 1
        self.waiting += len(self.pending(self.first))
        if self.rounds > 2**self.h or self.waiting > 2**self.v:
            while self.rounds > 2**self.h:
                self.h += 1
            while self.waiting > 2**self.v:
                self.v += 1
            self.x = self.domain.start
            self.rounds, self.waiting, self.first = 1, 0, self.issued()
            self.delta, self.eta = bistritz_tuning(
                self.domain, self.magnitude, self.lipschitz, 2.0**self.h, 2.0**self.v
            )
        return super().predict()

    def observe(self, ticket: int, value: float) -> bool:
        """Put the estimate into the batch unless its epoch is over."""
        if ticket < self.first:
            self._close(ticket)
            return False
        return super().observe(ticket, value)


# --- 13: D-FTBL ----------------------------------------------------------------------------------


def block_length(dim: int, magnitude: float, lipschitz: float, delta: float, rounds: int) -> int:
    """K_len = ceil((kM / (G delta))^2) within 1 .. T.

    A part in 1e9 is taken off before rounding up, so that float noise adds no round.
    """
    wanted = (dim * magnitude / (lipschitz * delta)) ** 2
    return min(rounds, max(1, math.ceil(wanted * (1.0 - 1e-9))))


class _BlockLearner(Rival, abc.ABC):
    """Blocks of K_len rounds: play y_m + delta u_t, and move y when a block ends.

    y lives in (1 - delta / r) K. Ghat is the sum of (k / delta) f_s u_s over all values received.
    """

    def __init__(self, domain: ChartSet, delta: float, length: int, seed: int) -> None:
        super().__init__(domain, seed)
        self.delta = delta
        self.length = length
        self.received: dict[int, float] = {}
        self.centres = [self.x]  # y_1, y_2, ..

    @abc.abstractmethod
    def target(self, total: Array) -> Array:
        """Point whose projection is the next y; ``total`` is Ghat."""

    def predict(self) -> tuple[int, Array]:
        """End a block if it is full, then play around y."""
        issued = self.issued()
        if issued > 0 and issued % self.length == 0:
            total = np.zeros(self.domain.dim)
            for s, value in self.received.items():
                total = total + one_point_estimate(value, self.delta, self.direction(s))
            shrink = 1.0 - self.delta / self.domain.inner_radius
            self.x = project_shrunk(self.domain, shrink, self.target(total))
            self.centres.append(self.x)
        ticket = self._issue()
        return ticket, self.x + self.delta * self.direction(ticket)

    def observe(self, ticket: int, value: float) -> bool:
        """Take f_s."""
        self._close(ticket)
        self.received[ticket] = value
        return True

    def cancel(self, ticket: int) -> None:
        """Forget the ticket."""
        self._close(ticket)


class NaiveDFTBL(_BlockLearner):
    """Section 13 (Wan, Yao, Song, Zhang 2024), convex: y = Pi(-Ghat / alpha) on (1 - delta/r) K.

    delta = r min(1, sqrt(nu k) T^(-1/4)), alpha = (2G / R) sqrt(T (d_max + 2 K_len)).
    """

    def __init__(
        self,
        *,
        domain: ChartSet,
        magnitude: float,
        lipschitz: float,
        rounds: int,
        max_delay: int,
        seed: int = 0,
    ) -> None:
        k, r = domain.dim, domain.inner_radius
        nu = magnitude / (lipschitz * r)
        delta = r * min(1.0, math.sqrt(nu * k) * math.pow(rounds, -0.25))
        length = block_length(k, magnitude, lipschitz, delta, rounds)
        super().__init__(domain, delta, length, seed)
        spread = math.sqrt(rounds * (max_delay + 2 * length))
        self.alpha = (2.0 * lipschitz / outer_radius(domain)) * spread

    def target(self, total: Array) -> Array:
        """-Ghat / alpha."""
        return -total / self.alpha


class NaiveDFTBLStronglyConvex(_BlockLearner):
    """Section 13, strongly convex: y_{m+1} = Pi(mean(y_1 .. y_m) - Ghat / (lambda K_len m)).

    delta = r min(1, ((nu k)^2 ln(e T) / T)^(1/3)).
    """

    def __init__(
        self,
        *,
        domain: ChartSet,
        magnitude: float,
        lipschitz: float,
        curvature: float,
        rounds: int,
        seed: int = 0,
    ) -> None:
        k, r = domain.dim, domain.inner_radius
        nu = magnitude / (lipschitz * r)
        inside = (nu * k) ** 2 * math.log(math.e * rounds) / rounds
        delta = r * min(1.0, math.pow(inside, 1.0 / 3.0))
        length = block_length(k, magnitude, lipschitz, delta, rounds)
        super().__init__(domain, delta, length, seed)
        self.curvature = curvature

    def target(self, total: Array) -> Array:
        """Mean of the centres so far, moved against Ghat."""
        m = len(self.centres)
        mean = np.mean(self.centres, axis=0)
        return np.asarray(mean - total / (self.curvature * self.length * m), dtype=np.float64)


# --- 14: methods that do not know of delays ------------------------------------------------------


class NaiveZinkevich(ByArrival):
    """Section 14 (Zinkevich 2003): eta_n = D / (G sqrt n), n counts arrivals."""

    def __init__(self, *, domain: ChartSet, lipschitz: float, seed: int = 0) -> None:
        super().__init__(domain, seed)
        self.lipschitz = lipschitz

    def rate(self, ticket: int) -> float:
        """eta_n."""
        return self.domain.diameter / (self.lipschitz * math.sqrt(len(self.costs)))


class NaiveHazanAgarwalKale(ByArrival):
    """Section 14 (Hazan, Agarwal, Kale 2007): eta_n = 1 / (lambda n), n counts arrivals."""

    def __init__(self, *, domain: ChartSet, curvature: float, seed: int = 0) -> None:
        super().__init__(domain, seed)
        self.curvature = curvature

    def rate(self, ticket: int) -> float:
        """eta_n."""
        return 1.0 / (self.curvature * len(self.costs))


class NaiveAdaGrad(ByArrival):
    """Norm version of AdaGrad: eta_n = scale (D / sqrt 2) / sqrt(sum_{m <= n} |c_m|^2).

    Choice: no step while the sum is zero.
    """

    def __init__(self, *, domain: ChartSet, scale: float = 1.0, seed: int = 0) -> None:
        super().__init__(domain, seed)
        self.scale = scale

    def rate(self, ticket: int) -> float:
        """eta_n, zero while every cost was zero."""
        total = math.fsum(float(cost @ cost) for cost in self.costs)
        if total == 0.0:
            return 0.0
        return self.scale * (self.domain.diameter / math.sqrt(2.0)) / math.sqrt(total)


class NaiveFlaxman(Rival):
    """Section 14 (Flaxman, Kalai, McMahan 2005), the tuning for G-Lipschitz losses.

    Play y + delta u; on each value y <- Pi(y - (R / (M sqrt T)) f u) on (1 - delta / r) K with
    delta = T^(-1/4) sqrt(R k M r / (3 (G r + M))), at most r.
    """

    def __init__(
        self, *, domain: ChartSet, magnitude: float, lipschitz: float, rounds: int, seed: int = 0
    ) -> None:
        super().__init__(domain, seed)
        k, r, outer = domain.dim, domain.inner_radius, outer_radius(domain)
        inside = outer * k * magnitude * r / (3.0 * (lipschitz * r + magnitude))
        self.delta = min(r, math.pow(rounds, -0.25) * math.sqrt(inside))
        self.step = outer / (magnitude * math.sqrt(rounds))

    def predict(self) -> tuple[int, Array]:
        """Play around y."""
        ticket = self._issue()
        return ticket, self.x + self.delta * self.direction(ticket)

    def observe(self, ticket: int, value: float) -> bool:
        """Step against f u."""
        self._close(ticket)
        shrink = 1.0 - self.delta / self.domain.inner_radius
        moved = self.x - self.step * value * self.direction(ticket)
        self.x = project_shrunk(self.domain, shrink, moved)
        return True

    def cancel(self, ticket: int) -> None:
        """Forget the ticket."""
        self._close(ticket)


class _TwoPoint(Rival, abc.ABC):
    """Rows y + delta u and y - delta u; on each pair of values one step on (1 - delta / r) K."""

    def __init__(self, domain: ChartSet, delta: float, seed: int) -> None:
        super().__init__(domain, seed)
        self.delta = delta
        self.arrivals = 0

    @abc.abstractmethod
    def rate(self) -> float:
        """eta_n; ``arrivals`` is n."""

    def predict(self) -> tuple[int, Array]:
        """Play two points."""
        ticket = self._issue()
        move = self.delta * self.direction(ticket)
        return ticket, np.array([self.x + move, self.x - move])

    def observe(self, ticket: int, values: tuple[float, float]) -> bool:
        """Step against the estimate."""
        self._close(ticket)
        self.arrivals += 1
        estimate = two_point_estimate(values, self.delta, self.direction(ticket))
        shrink = 1.0 - self.delta / self.domain.inner_radius
        self.x = project_shrunk(self.domain, shrink, self.x - self.rate() * estimate)
        return True

    def cancel(self, ticket: int) -> None:
        """Forget the ticket."""
        self._close(ticket)


class NaiveAgarwalDekelXiao(_TwoPoint):
    """Section 14 (Agarwal, Dekel, Xiao 2010): eta = 1 / sqrt T, or 1 / (lambda n) with curvature.

    Choices: delta = min(r, ln(e T) / T), since ln T is zero at T = 1; G is for the bound only.
    """

    def __init__(
        self,
        *,
        domain: ChartSet,
        lipschitz: float,
        rounds: int,
        curvature: float = 0.0,
        seed: int = 0,
    ) -> None:
        delta = min(domain.inner_radius, math.log(math.e * rounds) / rounds)
        super().__init__(domain, delta, seed)
        self.rounds = rounds
        self.curvature = curvature

    def rate(self) -> float:
        """eta_n."""
        if self.curvature > 0.0:
            return 1.0 / (self.curvature * self.arrivals)
        return 1.0 / math.sqrt(self.rounds)


class NaiveShamir(_TwoPoint):
    """Section 14 (Shamir 2017), Euclidean: eta = R / (G sqrt(k T)).

    Choice: delta = r min(1, sqrt(k / T)), which meets the condition delta <= R sqrt(k / T).
    """

    def __init__(self, *, domain: ChartSet, lipschitz: float, rounds: int, seed: int = 0) -> None:
        k = domain.dim
        super().__init__(domain, domain.inner_radius * min(1.0, math.sqrt(k / rounds)), seed)
        self.eta = outer_radius(domain) / (lipschitz * math.sqrt(k * rounds))

    def rate(self) -> float:
        """eta."""
        return self.eta


# --- 16: asynchronous stochastic gradients, and dynamic regret -----------------------------------


class NaiveDelayAdaptiveSGD(ByArrival):
    """Section 16.1: step M / max(M, tau), tau = d*_n, the arrivals since the prediction."""

    def __init__(self, *, domain: ChartSet, step: float, workers: int, seed: int = 0) -> None:
        super().__init__(domain, seed)
        self.step = step
        self.workers = workers

    def rate(self, ticket: int) -> float:
        """eta_n."""
        return self.step * self.workers / max(self.workers, self.dual_delay(ticket))


class NaiveAdaDelay(ByArrival):
    """Section 16.3: x <- Pi_K(x - g / (L + c sqrt(n + tau))), tau = d*_n, n counts this arrival."""

    def __init__(self, *, domain: ChartSet, smoothness: float, scale: float, seed: int = 0) -> None:
        super().__init__(domain, seed)
        self.smoothness = smoothness
        self.scale = scale

    def rate(self, ticket: int) -> float:
        """eta_n."""
        late = len(self.costs) + self.dual_delay(ticket)
        return 1.0 / (self.smoothness + self.scale * math.sqrt(late))


class NaiveDelayedOGD(ByArrival):
    """Section 16.4, DOGD: each arrival x <- Pi_K(x - eta g), eta = D / (G sqrt(T + 2 d_tot))."""

    def __init__(
        self, *, domain: ChartSet, lipschitz: float, rounds: int, total_delay: int, seed: int = 0
    ) -> None:
        super().__init__(domain, seed)
        self.eta = fixed_step(rounds, total_delay, domain.diameter, lipschitz)

    def rate(self, ticket: int) -> float:
        """eta."""
        return self.eta


def mild_beta(rounds: int, max_delay: int | None, total_delay: int | None, in_order: bool) -> int:
    """beta = T + d_tot if answers come in order, else T (d_max + 1)."""
    if in_order:
        if total_delay is None:
            raise ValueError("in_order needs total_delay")
        return rounds + total_delay
    if max_delay is None:
        raise ValueError("max_delay is missing")
    return rounds * (max_delay + 1)


class NaiveMildOGD(Rival):
    """Section 16.4, Mild-OGD: experts x^i with eta_i = 2^(i-1) D / (G sqrt beta), play sum w_i x^i.

    On g_s: w_i prop. to prior_i exp(-alpha sum_s <g_s, x_s^i - x_s>), alpha = 1 / (G D sqrt beta),
    then x^i <- Pi_K(x^i - eta_i g_s). prior_i = (N + 1) / (N i (i + 1)), i = 1 .. N,
    N = ceil(log2(T + 1) / 2) + 1. Choices: beta = T (d_max + 1), as their delays start at 1, or
    T + d_tot if ``in_order``; answers out of order are never refused.
    """

    def __init__(
        self,
        *,
        domain: ChartSet,
        lipschitz: float,
        rounds: int,
        max_delay: int | None = None,
        total_delay: int | None = None,
        in_order: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(domain, seed)
        beta = mild_beta(rounds, max_delay, total_delay, in_order)
        half = 0
        while 4**half < rounds + 1:
            half += 1
        self.numbers = range(1, half + 2)
        unit = domain.diameter / (lipschitz * math.sqrt(beta))
        self.etas = [2.0 ** (i - 1) * unit for i in self.numbers]
        self.alpha = 1.0 / (lipschitz * domain.diameter * math.sqrt(beta))
        self.experts = [domain.start for _ in self.numbers]
        self.plays: list[tuple[Array, list[Array]]] = []
        self.losses: list[list[float]] = [[] for _ in self.numbers]

    def weights(self) -> Array:
        """w_1 .. w_N from all losses so far."""
        count = len(self.numbers)
        prior = np.array([(count + 1) / (count * i * (i + 1)) for i in self.numbers])
        totals = np.array([math.fsum(losses) for losses in self.losses])
        raw = prior * np.exp(-self.alpha * (totals - totals.min()))
        return np.asarray(raw / raw.sum(), dtype=np.float64)

    def predict(self) -> tuple[int, Array]:
        """Play the weighted mean and keep every expert's point."""
        self.x = np.zeros(self.domain.dim)
        for weight, expert in zip(self.weights(), self.experts, strict=True):
            self.x = self.x + weight * expert
        self.plays.append((self.x, list(self.experts)))
        return self._issue(), self.x.copy()

    def observe(self, ticket: int, cost: Array) -> bool:
        """Charge the experts for their points of that round, then let them step."""
        self._close(ticket)
        played, points = self.plays[ticket]
        for i, point in enumerate(points):
            self.losses[i].append(float(cost @ (point - played)))
            self.experts[i] = self.domain.project(self.experts[i] - self.etas[i] * cost)
        return True

    def cancel(self, ticket: int) -> None:
        """Observe a zero gradient."""
        self.observe(ticket, np.zeros(self.domain.dim))


# --- Bounds, where the survey gives constants ----------------------------------------------------


def bound_weinberger_ordentlich(
    rounds: int, delay: int, diameter: float, lipschitz: float
) -> float:
    """Section 1 over OGD: 1.5 G D sqrt((d + 1) T)."""
    return 1.5 * lipschitz * diameter * math.sqrt((delay + 1) * rounds)


def bound_bold(rounds: int, max_backlog: int, diameter: float, lipschitz: float) -> float:
    """Section 2 over OGD: 1.5 G D sqrt(T (sigma_max + 1))."""
    return 1.5 * lipschitz * diameter * math.sqrt(rounds * (max_backlog + 1))


def bound_fixed_step(
    rounds: int, total_delay: int, diameter: float, lipschitz: float, eta: float
) -> float:
    """Sections 3 and 6, any fixed step: D^2 / (2 eta) + eta G^2 (T / 2 + d_tot)."""
    return diameter**2 / (2.0 * eta) + eta * lipschitz**2 * (rounds / 2.0 + total_delay)


def bound_solid(rounds: int, total_delay: int, diameter: float, lipschitz: float) -> float:
    """Section 3, tuned: G D sqrt(T + 2 d_tot). For the delayed OGD of section 16.4 too."""
    return lipschitz * diameter * math.sqrt(rounds + 2 * total_delay)


def bound_solid_data(
    norms: Sequence[float], dual_delays: Sequence[int], diameter: float, eta: float
) -> float:
    """Section 3: D^2 / (2 eta) + (eta / 2) sum Gb_n, from the norms in arrival order.

    Gb_n = |g_n|^2 + 2 |g_n| sum_{m = n - d*_n}^{n - 1} |g_m|.
    """
    total = 0.0
    for n, (norm, lag) in enumerate(zip(norms, dual_delays, strict=True)):
        total += norm**2 + 2.0 * norm * math.fsum(norms[n - lag : n])
    return diameter**2 / (2.0 * eta) + 0.5 * eta * total


def bound_langford_smola_zinkevich(
    rounds: int, delay: int, diameter: float, lipschitz: float, curvature: float = 0.0
) -> float:
    """Section 4, with F = D / sqrt 2 and sigma = F / (G sqrt(2 max(tau, 1))).

    Convex: sigma G^2 sqrt T + F^2 sqrt T / sigma + G^2 sigma tau^2 / 2 + 2 G^2 sigma tau sqrt T.
    Strongly convex: lambda tau F^2 + (1/2 + tau) (G^2 / lambda) (1 + tau + ln T).
    """
    f = diameter / math.sqrt(2.0)
    if curvature > 0.0:
        logarithm = 1.0 + delay + math.log(rounds)
        return curvature * delay * f**2 + (0.5 + delay) * lipschitz**2 / curvature * logarithm
    sigma = f / (lipschitz * math.sqrt(2.0 * max(delay, 1)))
    root = math.sqrt(rounds)
    return (
        sigma * lipschitz**2 * root
        + f**2 * root / sigma
        + lipschitz**2 * sigma * delay**2 / 2.0
        + 2.0 * lipschitz**2 * sigma * delay * root
    )


def bound_quanrud_khashabi(
    rounds: int, total_delay: int, diameter: float, lipschitz: float
) -> float:
    """Section 6, tuned: G D sqrt(T + 2 d_tot)."""
    return lipschitz * diameter * math.sqrt(rounds + 2 * total_delay)


def bound_quanrud_khashabi_doubling(
    rounds: int, total_delay: int, diameter: float, lipschitz: float
) -> float:
    """Section 6, doubling: 8 G D sqrt(T + 2 d_tot)."""
    return 8.0 * bound_quanrud_khashabi(rounds, total_delay, diameter, lipschitz)


def bound_delayed_dual_averaging(
    rounds: int, total_delay: int, outer: float, lipschitz: float
) -> float:
    """Section 6b: 2 G R sqrt(T / 2 + d_tot)."""
    return 2.0 * lipschitz * outer * math.sqrt(rounds / 2.0 + total_delay)


def bound_dogd_sc(rounds: int, max_backlog: int, lipschitz: float, curvature: float) -> float:
    """Section 9: (3 G^2 / lambda) (sigma_max + 1) ln(e T)."""
    return 3.0 * lipschitz**2 / curvature * (max_backlog + 1) * math.log(math.e * rounds)


def bound_sdmd(rounds: int, total_delay: int, diameter: float, lipschitz: float) -> float:
    """Section 10, convex, with D the D_psi of the mirror: G D sqrt(T + 2 d_tot). For DMD too."""
    return lipschitz * diameter * math.sqrt(rounds + 2 * total_delay)


def bound_ftdrl(rounds: int, total_delay: int, outer: float, lipschitz: float) -> float:
    """Section 10 by the argument of sections 6b and 8: G R sqrt(T + 2 d_tot)."""
    return lipschitz * outer * math.sqrt(rounds + 2 * total_delay)


def bound_zinkevich(rounds: int, diameter: float, lipschitz: float) -> float:
    """Section 14, without delay: 1.5 G D sqrt T."""
    return 1.5 * lipschitz * diameter * math.sqrt(rounds)


def bound_hazan_agarwal_kale(rounds: int, lipschitz: float, curvature: float) -> float:
    """Section 14, without delay: (G^2 / (2 lambda)) (1 + ln T)."""
    return lipschitz**2 / (2.0 * curvature) * (1.0 + math.log(rounds))


def bound_ada_grad(norms: Sequence[float], diameter: float, scale: float = 1.0) -> float:
    """Without delay: D (1 / scale + scale) sqrt(sum |g|^2 / 2), i.e. sqrt 2 D sqrt(sum |g|^2) at 1.

    From D^2 / (2 eta_T) + (1/2) sum eta_n |g_n|^2.
    """
    return diameter * (1.0 / scale + scale) * math.sqrt(math.fsum(g**2 for g in norms) / 2.0)


def bound_flaxman(
    rounds: int, dim: int, inner: float, outer: float, magnitude: float, lipschitz: float
) -> float:
    """Section 14, without delay, in expectation: 2 T^(3/4) sqrt(3 R k M (G + M / r))."""
    inside = 3.0 * outer * dim * magnitude * (lipschitz + magnitude / inner)
    return 2.0 * math.pow(rounds, 0.75) * math.sqrt(inside)


def bound_agarwal_dekel_xiao(
    rounds: int,
    dim: int,
    inner: float,
    diameter: float,
    lipschitz: float,
    curvature: float = 0.0,
) -> float:
    """Section 14, without delay, in expectation, the loss being the mean of the two points.

    Convex: (k^2 G^2 + D^2) sqrt T + G ln(e T) (3 + D / r). Strongly convex:
    (k^2 G^2 / lambda) (1 + ln T) in place of the first term. ln(e T) as in the smoothing.
    """
    smoothing = lipschitz * math.log(math.e * rounds) * (3.0 + diameter / inner)
    if curvature > 0.0:
        return (dim * lipschitz) ** 2 / curvature * (1.0 + math.log(rounds)) + smoothing
    return ((dim * lipschitz) ** 2 + diameter**2) * math.sqrt(rounds) + smoothing
