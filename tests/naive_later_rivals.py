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
from naive_rivals import Rival
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
class NaiveRingmaster(Rival):
    """Every gradient has a version, the number of steps when its point was read."""

    step: float
    threshold: int

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
        if len(self.points) - 1 - self.version[ticket] < self.threshold:
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


# --- Learned hints -------------------------------------------------------------------------------
