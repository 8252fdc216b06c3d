"""Slow, obvious versions of the first-order methods that were published last.

Protocol, coordinates and what a cancelled ticket is are those of ``naive_rivals``. Every play is
computed afresh from complete lists of what was received.
"""

from __future__ import annotations

import abc
import itertools
import math
from dataclasses import dataclass

import numpy as np

from naive import Array, ChartSet, Geometry, project_entropy
from naive_rivals import ByArrival, Rival
from naive_simplex_rivals import total

# --- Weighted optimism ---------------------------------------------------------------------------


@dataclass(kw_only=True)
class NaiveWOFTRL(Rival):
    """x = argmin over K of <sum of what was received + n times the newest, x> + lambda psi(x).

    n is ``copies``, or without that one more than there are open tickets.
    """

    smoothness: float
    delay: int
    mirror: Geometry = "euclidean"
    copies: int | None = None

    def start(self) -> None:
        """Choose the step."""
        extra = (self.delay + 1) * (self.delay + 2) / 2.0
        self.eta = 1.0 / (2.0 * extra * self.smoothness)
        self.received: list[Array] = []

    def before(self) -> None:
        """Solve for the play."""
        n = len(self.pending()) + 1 if self.copies is None else self.copies
        pull = total(self.received + self.received[-1:] * n, self.domain.dim)
        if self.mirror == "euclidean":
            self.x = self.domain.project(self.domain.start - self.eta * pull)
        else:
            self.x = project_entropy(np.exp(-self.eta * (pull - pull.min())), self.domain.floor)

    def learn(self, ticket: int, answer: Array) -> None:
        """Keep the gradient."""
        self.received.append(answer)

    def cancel(self, ticket: int) -> None:
        """Close the ticket."""
        self.events.append(("close", ticket))


# --- Asynchronous SGD ----------------------------------------------------------------------------


@dataclass(kw_only=True)
class NaiveKoloskovaStichJaggi(ByArrival):
    """eta while tau <= tau_C, else the smaller of eta and 1 / (4 L tau)."""

    step: float
    smoothness: float
    workers: int

    def rate(self, ticket: int) -> float:
        """eta_n by staleness."""
        tau = self.dual_delay(ticket)
        if tau <= self.workers:
            return self.step
        return min(self.step, 1.0 / (4.0 * self.smoothness * tau))


@dataclass(kw_only=True)
class NaiveRingmaster(Rival):
    """Every gradient has a version, the number of steps when its point was read."""

    step: float
    stalest: int

    def start(self) -> None:
        """No step was taken."""
        self.points = [self.x]  # x^0, x^1, ..
        self.version: list[int] = []

    def play(self, ticket: int) -> Array:
        """Read the newest point."""
        self.version.append(len(self.points) - 1)
        return self.points[-1]

    def learn(self, ticket: int, answer: Array) -> None:
        """Step unless the gradient is too old."""
        if len(self.points) - 1 - self.version[ticket] <= self.stalest:
            self.points.append(self.domain.project(self.points[-1] - self.step * answer))

    def cancel(self, ticket: int) -> None:
        """Close the ticket."""
        self.events.append(("close", ticket))


# --- Frank-Wolfe ---------------------------------------------------------------------------------


def corner(domain: ChartSet, g: Array) -> Array:
    """Return the point of K with the least <g, v>, out of all corners where there are some."""
    k = domain.dim
    match domain.kind:
        case "ball":
            norm = float(np.linalg.norm(g))
            return -domain.radius * g / norm if norm else np.zeros(k)
        case "box":
            corners = np.array(list(itertools.product((1.0, -1.0), repeat=k)))
        case "simplex":
            corners = domain.floor + (1.0 - k * domain.floor) * np.eye(k)
        case _:
            corners = domain.radius * np.concatenate([np.eye(k), -np.eye(k)])
    return np.asarray(corners[np.argmin(corners @ g)])


class NaiveFrankWolfe(Rival, abc.ABC):
    """One step towards a corner per closed ticket; the new point has the least F on that way."""

    def start(self) -> None:
        """No cost has come."""
        self.costs: list[Array] = []
        self.points = [self.x]  # y_1, y_2, ..

    @abc.abstractmethod
    def slope(self, y: Array) -> Array:
        """Return the gradient of F, which is quadratic."""

    def play(self, ticket: int) -> Array:
        """Play the latest y."""
        return self.points[-1]

    def learn(self, ticket: int, answer: Array) -> None:
        """Go to the best point between y and the corner: the derivative of F there is linear."""
        self.costs.append(answer)
        y = self.points[-1]
        v = corner(self.domain, self.slope(y))
        here, there = float(self.slope(y) @ (v - y)), float(self.slope(v) @ (v - y))
        part = 0.0 if here >= 0.0 else min(1.0, here / (here - there) if there > here else 1.0)
        self.points.append(y + part * (v - y))


class NaiveDelayedFrankWolfe(NaiveFrankWolfe):
    """F(y) = eta <sum of costs, y> + |y - y_1|^2, eta = D / (G (T + 2)^(3/4))."""

    def slope(self, y: Array) -> Array:
        """Return the gradient of F."""
        eta = self.domain.diameter / (self.lipschitz * (self.rounds + 2.0) ** 0.75)
        return np.asarray(eta * total(self.costs, self.domain.dim) + 2.0 * (y - self.points[0]))


class NaiveDelayedFrankWolfeStronglyConvex(NaiveFrankWolfe):
    """F(y) = sum over what was received of <c_i, y> + (lambda / 2) |y - y_i|^2."""

    def slope(self, y: Array) -> Array:
        """Return the gradient of F."""
        pulls = [
            cost + self.curvature * (y - point)
            for cost, point in zip(self.costs, self.points, strict=True)
        ]
        return total(pulls, self.domain.dim)


# --- The online Newton step ----------------------------------------------------------------------


def least_on_face(bend: Array, slope: Array, fixed: Array, free: Array, sides: Array) -> Array:
    """Minimise <slope, x> + x' bend x / 2 over fixed + span(free) with <sides_i, x> = given there.

    ``fixed`` meets the equations, and columns of ``free`` span what may be added.
    """
    if free.shape[1] == 0:
        return fixed
    basis = free
    if sides.shape[0]:
        directions = np.linalg.svd(sides @ free)[2][np.linalg.matrix_rank(sides @ free) :]
        basis = free @ directions.T
    if basis.shape[1] == 0:
        return fixed
    inner = basis.T @ bend @ basis
    return fixed - basis @ np.linalg.solve(inner, basis.T @ (slope + bend @ fixed))


def quadratic_minimum(domain: ChartSet, bend: Array, slope: Array) -> Array:
    """Minimise <slope, x> + x' bend x / 2 over K: the best of the minima on all faces of K."""
    k = domain.dim
    plain: Array = np.asarray(-np.linalg.solve(bend, slope), dtype=np.float64)
    if domain.violation(plain) == 0.0:
        return plain
    if domain.kind == "ball":
        return _on_sphere(domain, bend, slope)
    found = []
    for pattern in itertools.product((-1.0, 0.0, 1.0), repeat=k):
        signs = np.array(pattern)
        used = signs != 0.0
        if domain.kind == "box":
            found.append(least_on_face(bend, slope, signs, np.eye(k)[:, ~used], np.zeros((0, k))))
        elif domain.kind == "l1" and used.any():
            fixed = signs * domain.radius / used.sum()
            found.append(least_on_face(bend, slope, fixed, np.eye(k)[:, used], signs[None]))
        elif domain.kind == "simplex" and used.any() and (signs >= 0.0).all():
            mass = 1.0 - (k - used.sum()) * domain.floor
            fixed = np.where(used, mass / used.sum(), domain.floor)
            found.append(least_on_face(bend, slope, fixed, np.eye(k)[:, used], np.ones((1, k))))
    allowed = [x for x in found if domain.violation(x) <= 1e-9]
    return min(allowed, key=lambda x: float(slope @ x + 0.5 * x @ bend @ x))


def _on_sphere(domain: ChartSet, bend: Array, slope: Array) -> Array:
    """Solve (bend + mu I) x = -slope with |x| = radius, by bisection for mu."""
    eye = np.eye(domain.dim)
    low, high = 0.0, float(np.linalg.norm(slope)) / domain.radius
    for _ in range(200):
        middle = 0.5 * (low + high)
        if np.linalg.norm(np.linalg.solve(bend + middle * eye, slope)) > domain.radius:
            low = middle
        else:
            high = middle
    return np.asarray(-np.linalg.solve(bend + high * eye, slope), dtype=np.float64)


@dataclass(kw_only=True)
class NaiveDelayedONS(Rival):
    """The minimum over K of the quadratics received and (lambda_t / 2) |x - x_1|^2."""

    exp_concavity: float

    def start(self) -> None:
        """Choose beta and lambda_0."""
        diameter = self.domain.diameter
        self.beta = 0.5 * min(1.0 / (4.0 * self.lipschitz * diameter), self.exp_concavity)
        self.least = 1.0 / (self.beta * diameter**2)
        self.plays: list[Array] = []
        self.received: list[tuple[Array, Array]] = []  # gradient and point
        self.waiting: list[list[int]] = []  # what was pending at each prediction

    def ridge(self) -> float:
        """lambda_t, rounded up to lambda_0 times a power of 2."""
        t, k, diameter = len(self.waiting), self.domain.dim, self.domain.diameter
        backlogs = sum(len(each) for each in self.waiting)
        ages = [now - ticket for now, each in enumerate(self.waiting) for ticket in each]
        growth = self.beta * self.lipschitz**2 * t / (k * self.least)
        by_age = max(ages, default=0) * (k / self.beta) * math.log1p(growth) / diameter**2
        by_root = self.lipschitz / diameter * math.sqrt(backlogs)
        rounded = self.least
        while rounded < self.least + min(by_age, by_root):
            rounded *= 2.0
        return rounded

    def before(self) -> None:
        """Build the objective and minimise it."""
        self.waiting.append(self.pending())
        start, ridge = self.domain.start, self.ridge()
        bend, slope = ridge * np.eye(self.domain.dim), -ridge * start
        for g, x in self.received:
            bend = bend + self.beta * np.outer(g, g)
            slope = slope + g - self.beta * float(g @ x) * g
        self.x = quadratic_minimum(self.domain, bend, slope)
        self.plays.append(self.x)

    def learn(self, ticket: int, answer: Array) -> None:
        """Keep the gradient with the point that it was taken at."""
        self.received.append((answer, self.plays[ticket]))

    def cancel(self, ticket: int) -> None:
        """Close the ticket."""
        self.events.append(("close", ticket))


# --- Regression that knows all features ----------------------------------------------------------


class NaiveDelayedVAW:
    """z' A^-1 b, cut off at Y; A has the features of all rounds, b the labels received.

    The width of a pending round is sqrt(z' A^-1 z) with the A of its own prediction, or that of the
    last prediction before which lambda has doubled.
    """

    def __init__(
        self, *, dimension: int, magnitude: float, norm: float, ridge: float, caution: float
    ) -> None:
        self.magnitude = magnitude
        self.least = self.ridge = ridge
        self.growth = caution * magnitude**2 / norm**2
        self.rows: list[Array] = []
        self.labels: dict[int, float] = {}
        self.closed: set[int] = set()
        self.widths: dict[int, float] = {}
        self.squares: list[float] = []  # of widths, each of its own prediction
        self.drifts: list[float] = []
        self.dimension = dimension

    def inverse(self) -> Array:
        """A^-1."""
        outer = [np.outer(z, z) for z in self.rows]
        a = self.ridge * np.eye(self.dimension) + sum(outer, np.zeros((self.dimension,) * 2))
        return np.asarray(np.linalg.inv(a), dtype=np.float64)

    def pending(self) -> list[int]:
        """Rounds without a label."""
        return [t for t in range(len(self.rows)) if t not in self.closed]

    def predict(self, z: Array) -> tuple[int, float]:
        """Raise lambda, take the features in, and predict."""
        ridge, pending = self.least + self.growth * math.fsum(self.drifts), self.pending()
        if ridge > self.ridge:
            while self.ridge < ridge:
                self.ridge *= 2.0
            inverse = self.inverse()
            for t in pending:
                self.widths[t] = math.sqrt(self.rows[t] @ inverse @ self.rows[t])
        self.rows.append(z)
        inverse, ticket = self.inverse(), len(self.rows) - 1
        self.squares.append(float(z @ inverse @ z))
        self.widths[ticket] = math.sqrt(self.squares[-1])
        self.drifts.append(self.widths[ticket] * math.fsum(self.widths[t] for t in pending))
        b = sum((y * self.rows[t] for t, y in self.labels.items()), np.zeros(self.dimension))
        return ticket, float(np.clip(z @ inverse @ b, -self.magnitude, self.magnitude))

    def observe(self, ticket: int, label: float) -> None:
        """Keep a label."""
        self.closed.add(ticket)
        self.labels[ticket] = label

    def cancel(self, ticket: int) -> None:
        """Wait no more."""
        self.closed.add(ticket)


# --- Learned hints -------------------------------------------------------------------------------


def slope_of_norm(v: Array, largest: bool) -> Array:
    """Return the gradient of |v|, Euclidean or the largest entry; 0 at 0."""
    if not v.any():
        return np.zeros(len(v))
    if not largest:
        return np.asarray(v / np.linalg.norm(v))
    at = int(np.argmax(np.abs(v)))
    return np.asarray(np.sign(v[at]) * np.eye(len(v))[at])


def size_of(v: Array, largest: bool) -> float:
    """Return |v|."""
    return float(np.abs(v).max()) if largest else float(np.linalg.norm(v))


@dataclass(kw_only=True)
class NaiveLearnedHints(Rival):
    """ODFTRL with the hint H w; w by regret matching plus on |g| |H w - what was missing|."""

    strength: float
    mirror: Geometry = "euclidean"

    def start(self) -> None:
        """Nothing was received."""
        self.largest = self.mirror == "entropy"
        self.received: list[tuple[int, Array]] = []  # ticket and gradient, in order of arrival
        self.answers: dict[int, Array] = {}  # zero for a lost one
        self.guesses: list[Array] = []  # H, by ticket
        self.weights: list[Array] = []  # w, by ticket
        self.lacked: list[set[int]] = []  # tickets up to this one that its play did not know
        self.turns: list[int] = []  # how many turns had come at the play of a ticket
        self.regrets: list[Array] = []  # r, by turn
        self.p = np.zeros(3)

    def before(self) -> None:
        """Guess, weigh, and solve for the play."""
        k, ticket = self.domain.dim, self.issued()
        gradients = [g for _, g in self.received]
        copies = len(self.pending()) + 1
        columns = [np.zeros(k), np.zeros(k), np.zeros(k)]
        if gradients:
            columns = [np.zeros(k), copies * gradients[-1], copies * np.mean(gradients, axis=0)]
        self.guesses.append(np.column_stack(columns))
        self.weights.append(self.p / self.p.sum() if self.p.sum() else np.full(3, 1.0 / 3.0))
        self.lacked.append(set(range(ticket + 1)) - {s for s, _ in self.received})
        self.turns.append(len(self.regrets))
        pull = total(gradients, k) + self.guesses[-1] @ self.weights[-1]
        if self.largest:
            scaled = (pull - pull.min()) / self.strength
            self.x = project_entropy(np.exp(-scaled), self.domain.floor)
        else:
            self.x = self.domain.project(self.domain.start - pull / self.strength)

    def learn(self, ticket: int, answer: Array) -> None:
        """Take a gradient."""
        self.received.append((ticket, answer))
        self._answered(ticket, answer)

    def cancel(self, ticket: int) -> None:
        """Let a lost answer be zero."""
        self.events.append(("close", ticket))
        self._answered(ticket, np.zeros(self.domain.dim))

    def _answered(self, ticket: int, cost: Array) -> None:
        self.answers[ticket] = cost
        while len(self.regrets) in self.answers:
            self.regrets.append(self.regret(len(self.regrets)))
            self.p = np.maximum(0.0, self.p + self.regrets[-1])

    def error(self, ticket: int, weights: Array) -> Array:
        """H w minus what was missing."""
        missing = total([self.answers[s] for s in self.lacked[ticket]], self.domain.dim)
        return np.asarray(self.guesses[ticket] @ weights - missing)

    def hint_loss(self, ticket: int, weights: Array) -> float:
        """|g| |H w - what was missing|."""
        error = size_of(self.error(ticket, weights), self.largest)
        return size_of(self.answers[ticket], self.largest) * error

    def regret(self, ticket: int) -> Array:
        """<c, w> - c, c being the slope of the loss at w."""
        w = self.weights[ticket]
        along = slope_of_norm(self.error(ticket, w), self.largest)
        steep = size_of(self.answers[ticket], self.largest)
        c = steep * (self.guesses[ticket].T @ along)
        return np.asarray(float(c @ w) - c)
