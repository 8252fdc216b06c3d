"""Slow, obvious versions of the first-order methods that were published last.

Protocol, coordinates and what a cancelled ticket is are those of ``naive_rivals``. Every play is
computed afresh from complete lists of what was received.
"""

from __future__ import annotations

import abc
import itertools

import numpy as np

from naive import Array, ChartSet, Geometry, project_entropy
from naive_rivals import ByArrival, Rival
from naive_simplex_rivals import total

# --- Weighted optimism ---------------------------------------------------------------------------


class NaiveWOFTRL(Rival):
    """x = argmin over K of <sum of what was received + n times the newest, x> + lambda psi(x).

    n is ``copies``, or without that one more than there are open tickets.
    """

    def __init__(
        self,
        *,
        domain: ChartSet,
        smoothness: float,
        delay: int,
        mirror: Geometry = "euclidean",
        copies: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(domain, seed)
        extra = (delay + 1) * (delay + 2) / 2.0
        self.eta = 1.0 / (2.0 * extra * smoothness)
        self.mirror = mirror
        self.copies = copies
        self.received: list[Array] = []

    def predict(self) -> tuple[int, Array]:
        """Solve for the play."""
        n = len(self.pending()) + 1 if self.copies is None else self.copies
        pull = total(self.received + self.received[-1:] * n, self.domain.dim)
        if self.mirror == "euclidean":
            x = self.domain.project(self.domain.start - self.eta * pull)
        else:
            x = project_entropy(np.exp(-self.eta * (pull - pull.min())), self.domain.floor)
        return self._issue(), x

    def observe(self, ticket: int, cost: Array) -> bool:
        """Keep the gradient."""
        self._close(ticket)
        self.received.append(cost)
        return True

    def cancel(self, ticket: int) -> None:
        """Close the ticket."""
        self._close(ticket)


# --- Asynchronous SGD ----------------------------------------------------------------------------


class NaiveKoloskovaStichJaggi(ByArrival):
    """eta while tau <= tau_C, else the smaller of eta and 1 / (4 L tau)."""

    def __init__(
        self, *, domain: ChartSet, step: float, smoothness: float, workers: int, seed: int = 0
    ) -> None:
        super().__init__(domain, seed)
        self.step = step
        self.smoothness = smoothness
        self.workers = workers

    def rate(self, ticket: int) -> float:
        """eta_n by staleness."""
        tau = self.dual_delay(ticket)
        if tau <= self.workers:
            return self.step
        return min(self.step, 1.0 / (4.0 * self.smoothness * tau))


class NaiveRingmaster(Rival):
    """Every gradient has a version, the number of steps when its point was read."""

    def __init__(self, *, domain: ChartSet, step: float, stalest: int, seed: int = 0) -> None:
        super().__init__(domain, seed)
        self.step = step
        self.stalest = stalest
        self.points = [domain.start]  # x^0, x^1, ..
        self.version: dict[int, int] = {}

    def predict(self) -> tuple[int, Array]:
        """Read the newest point."""
        ticket = self._issue()
        self.version[ticket] = len(self.points) - 1
        return ticket, self.points[-1].copy()

    def observe(self, ticket: int, cost: Array) -> bool:
        """Step unless the gradient is too old."""
        self._close(ticket)
        if len(self.points) - 1 - self.version[ticket] <= self.stalest:
            self.points.append(self.domain.project(self.points[-1] - self.step * cost))
        return True

    def cancel(self, ticket: int) -> None:
        """Close the ticket."""
        self._close(ticket)


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

    def __init__(self, domain: ChartSet, seed: int) -> None:
        super().__init__(domain, seed)
        self.costs: list[Array] = []
        self.points = [domain.start]  # y_1, y_2, ..

    @abc.abstractmethod
    def slope(self, y: Array) -> Array:
        """Return the gradient of F, which is quadratic."""

    def predict(self) -> tuple[int, Array]:
        """Play the latest y."""
        return self._issue(), self.points[-1].copy()

    def observe(self, ticket: int, cost: Array) -> bool:
        """Go to the best point between y and the corner: the derivative of F there is linear."""
        self._close(ticket)
        self.costs.append(cost)
        y = self.points[-1]
        v = corner(self.domain, self.slope(y))
        here, there = float(self.slope(y) @ (v - y)), float(self.slope(v) @ (v - y))
        part = 0.0 if here >= 0.0 else min(1.0, here / (here - there) if there > here else 1.0)
        self.points.append(y + part * (v - y))
        return True

    def cancel(self, ticket: int) -> None:
        """Observe a zero gradient."""
        self.observe(ticket, np.zeros(self.domain.dim))


class NaiveDelayedFrankWolfe(NaiveFrankWolfe):
    """F(y) = eta <sum of costs, y> + |y - y_1|^2, eta = D / (G (T + 2)^(3/4))."""

    def __init__(self, *, domain: ChartSet, lipschitz: float, rounds: int, seed: int = 0) -> None:
        super().__init__(domain, seed)
        self.eta = domain.diameter / (lipschitz * (rounds + 2.0) ** 0.75)

    def slope(self, y: Array) -> Array:
        """Return the gradient of F."""
        return self.eta * total(self.costs, self.domain.dim) + 2.0 * (y - self.points[0])


class NaiveDelayedFrankWolfeStronglyConvex(NaiveFrankWolfe):
    """F(y) = sum over what was received of <c_i, y> + (lambda / 2) |y - y_i|^2."""

    def __init__(self, *, domain: ChartSet, curvature: float, seed: int = 0) -> None:
        super().__init__(domain, seed)
        self.curvature = curvature

    def slope(self, y: Array) -> Array:
        """Return the gradient of F."""
        pulls = [
            cost + self.curvature * (y - point)
            for cost, point in zip(self.costs, self.points, strict=True)
        ]
        return total(pulls, self.domain.dim)
