"""The geometry of sets for games: their extent, and minima of linear functions on them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from belated.arrays import Floats
from belated.domains import Ball, Box, ConvexSet, Domain, L1Ball, Simplex
from belated.errors import SpecError


def norms(rows: Floats) -> Floats:
    """Return |a| for every row a, also where its square is no number."""
    with np.errstate(over="ignore"):
        plain = np.asarray(np.linalg.norm(rows, axis=1))
    if not rows.size or not ((plain < _LEAST) | (plain > _MOST)).any():
        return plain
    largest = np.abs(rows).max(axis=1)
    scale = np.where((largest > 0.0) & np.isfinite(largest), largest, 1.0)
    scaled = scale * np.linalg.norm(rows / scale[:, None], axis=1)
    return np.where((plain < _LEAST) | (plain > _MOST), scaled, plain)


# Norms outside of this range come from squares that overflow, or lose digits to underflow.
_LEAST, _MOST = 1e-145, 1e150


def _norm(vector: Floats) -> float:
    """Return |a|, as plainly as it can be computed; the sum of one row has other last digits."""
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(vector))


class Spread(NamedTuple):
    """For some rounds, how large a_t is and what <a_t, x> can be; one entry per round."""

    norm: Floats
    """|a_t| in the chart."""
    low: Floats
    """Smallest <a_t, x> over the domain."""
    high: Floats
    """Largest <a_t, x> over the domain."""
    target: Floats
    """b_t."""


@dataclass(frozen=True)
class Shape(ABC):
    """The facts about one set; a subclass per kind of set."""

    domain: Any

    @abstractmethod
    def range(self, vectors: Floats) -> tuple[Floats, Floats]:
        """Return the smallest and the largest <a, x> over the domain, for every row a."""

    @abstractmethod
    def farthest(self, points: Floats, weights: Floats) -> Floats:
        """Return the largest |weights * (x - a)| over the domain, for every row a.

        A convex function is largest at an extreme point. Only a box may have weights other than 1.
        """

    @abstractmethod
    def widest(self) -> float:
        """Return the largest sum of |x_i| over the domain."""

    @abstractmethod
    def lowest(self, slope: Floats) -> tuple[Floats, float]:
        """Return a point of the domain where <slope, x> is smallest, and that smallest value."""

    @abstractmethod
    def unit(self) -> Unit:
        """Return how the domain is made from a unit set of its kind."""

    @property
    def scales(self) -> Floats:
        """The scale of the chart per coordinate."""
        widths = self.domain.half_widths
        return np.ones(self.domain.dim) if widths is None else np.array(widths)

    def extent(self, weights: Floats | None = None) -> float:
        """Return the largest |weights * x| over the domain."""
        dim = self.domain.dim
        weights = np.ones(dim) if weights is None else weights
        return float(self.farthest(np.zeros((1, dim)), weights)[0])

    def farthest_of_signs(self, length: float, weights: Floats) -> float:
        """Return the largest |weights * (x - a)| over the a of a length with all |a_i| alike.

        It is largest where the signs of a are opposite to those of x.
        """
        cross = 2.0 * (length / math.sqrt(self.domain.dim)) * self.widest()
        return math.sqrt(self.extent() ** 2 + cross + length**2)

    def exact_spread(self, vectors: Floats, targets: Floats) -> Spread:
        """Return the spread of known rounds."""
        return Spread(norms(vectors * self.scales), *self.range(vectors), targets)

    def bounded_spread(self, norm: float, reach: float, target: float) -> Spread:
        """Return the spread of rounds of which only bounds are known."""
        ones = np.ones(2)
        return Spread(norm * ones, -reach * ones, reach * ones, target * np.array([1.0, -1.0]))


class Unit(NamedTuple):
    """A set as a unit ball, cube, simplex or cross-polytope: x = origin + scale * z.

    The unit set is written as: ``sides @ (z, extra)`` + slack = ``room``, with the slack in
    ``cones``, one after the other; ``extra`` is |z| where there are more columns than coordinates.
    """

    domain: Ball | Box | Simplex | L1Ball
    origin: Floats
    scale: float | Floats
    sides: Floats
    room: Floats
    cones: tuple[tuple[Literal["zero", "positive", "second order"], int], ...]


class _OfBox(Shape):
    domain: Box

    def range(self, vectors: Floats) -> tuple[Floats, Floats]:
        low, high = (vectors * side for side in self.domain.bounds)
        return np.minimum(low, high).sum(axis=1), np.maximum(low, high).sum(axis=1)

    def farthest(self, points: Floats, weights: Floats) -> Floats:
        low, high = (np.abs(points - side) for side in self.domain.bounds)
        return norms(weights * np.maximum(low, high))

    def widest(self) -> float:
        return float(self._largest().sum())

    def farthest_of_signs(self, length: float, weights: Floats) -> float:
        height = length / math.sqrt(self.domain.dim)
        return float(np.linalg.norm(weights * (self._largest() + height)))

    def lowest(self, slope: Floats) -> tuple[Floats, float]:
        low, high = self.domain.bounds
        x = np.where(slope > 0.0, low, np.where(slope < 0.0, high, self.domain.center))
        return x, float(slope @ x)

    def unit(self) -> Unit:
        k = self.domain.dim
        return Unit(
            Box(-1.0, 1.0, k),
            np.array(self.domain.center),
            self.scales,
            sides=np.vstack([np.eye(k), -np.eye(k)]),
            room=np.ones(2 * k),
            cones=(("positive", 2 * k),),
        )

    def _largest(self) -> Floats:
        return np.asarray(np.abs(self.domain.bounds).max(axis=0))


class _OfSimplex(Shape):
    domain: Simplex

    @property
    def _free(self) -> float:
        """The sum that is left to share when every coordinate has its floor."""
        return 1.0 - self.domain.dim * self.domain.floor

    def range(self, vectors: Floats) -> tuple[Floats, Floats]:
        base = self.domain.floor * vectors.sum(axis=1)
        return base + self._free * vectors.min(axis=1), base + self._free * vectors.max(axis=1)

    def farthest(self, points: Floats, weights: Floats) -> Floats:
        base = self.domain.floor - points
        gain = self._free * (2.0 * base.max(axis=1) + self._free)
        return np.asarray(np.sqrt((base * base).sum(axis=1) + gain))

    def widest(self) -> float:
        return 1.0

    def lowest(self, slope: Floats) -> tuple[Floats, float]:
        x = np.full(self.domain.dim, self.domain.floor)
        x[np.argmin(slope)] = 1.0 - (self.domain.dim - 1) * self.domain.floor
        return x, float(slope @ x)

    def unit(self) -> Unit:
        k = self.domain.dim
        return Unit(
            Simplex(k),
            np.full(k, self.domain.floor),
            self._free,
            sides=np.vstack([np.ones(k), -np.eye(k)]),
            room=np.append(1.0, np.zeros(k)),
            cones=(("zero", 1), ("positive", k)),
        )


class _OfL1Ball(Shape):
    domain: L1Ball

    def range(self, vectors: Floats) -> tuple[Floats, Floats]:
        reach = self.domain.radius * np.abs(vectors).max(axis=1)
        return -reach, reach

    def farthest(self, points: Floats, weights: Floats) -> Floats:
        gain = self.domain.radius * (2.0 * np.abs(points).max(axis=1) + self.domain.radius)
        return np.asarray(np.sqrt((points * points).sum(axis=1) + gain))

    def widest(self) -> float:
        return self.domain.radius

    def lowest(self, slope: Floats) -> tuple[Floats, float]:
        x, steepest = np.zeros(self.domain.dim), np.argmax(np.abs(slope))
        x[steepest] = -self.domain.radius * np.sign(slope[steepest])
        return x, float(slope @ x)

    def unit(self) -> Unit:
        k = self.domain.dim
        one, none, some = np.eye(k), np.zeros(k), np.ones(k)
        return Unit(
            L1Ball(k),
            np.array(self.domain.center),
            self.domain.radius,
            sides=np.block([[one, -one], [-one, -one], [none, some]]),
            room=np.append(np.zeros(2 * k), 1.0),
            cones=(("positive", 2 * k + 1),),
        )


class _OfBall(Shape):
    domain: Ball | ConvexSet

    @property
    def _radius(self) -> float:
        return float(self.domain.outer_radius or self.domain.diameter)

    def range(self, vectors: Floats) -> tuple[Floats, Floats]:
        middle = vectors @ np.array(self.domain.center)
        reach = self._radius * norms(vectors)
        return middle - reach, middle + reach

    def farthest(self, points: Floats, weights: Floats) -> Floats:
        center = np.array(self.domain.center)
        return norms(points - center) + self._radius

    def widest(self) -> float:
        center = np.abs(np.array(self.domain.center)).sum()
        return float(center + self._radius * math.sqrt(self.domain.dim))

    def lowest(self, slope: Floats) -> tuple[Floats, float]:
        center, norm = np.array(self.domain.center), _norm(slope)
        if not _LEAST <= norm <= _MOST and slope.any():
            scale = float(np.abs(slope).max())  # the direction does not depend on it
            x, least = self.lowest(slope / scale)
            return x, scale * least
        x = center - slope * (self._radius / norm) if norm > 0.0 else center
        return x, float(slope @ center) - self._radius * norm

    def unit(self) -> Unit:
        k = self.domain.dim
        return Unit(
            Ball(k),
            np.array(self.domain.center),
            self._radius,
            sides=np.vstack([np.zeros(k), -np.eye(k)]),
            room=np.append(1.0, np.zeros(k)),
            cones=(("second order", k + 1),),
        )


class _OfUsersSet(_OfBall):
    """Reaches as far as the ball around it; where linear functions are smallest is unknown."""

    def lowest(self, slope: Floats) -> tuple[Floats, float]:
        raise self._unknown()

    def unit(self) -> Unit:
        raise self._unknown()

    def _unknown(self) -> SpecError:
        return SpecError(
            "the best action is found on Ball, Box, Simplex or L1Ball, where linear functions have "
            f"their minimum in closed form, got {self.domain!r}"
        )


_SHAPES: dict[type[Domain], type[Shape]] = {
    Ball: _OfBall,
    Box: _OfBox,
    Simplex: _OfSimplex,
    L1Ball: _OfL1Ball,
    ConvexSet: _OfUsersSet,
}


def shape_of(domain: Domain) -> Shape:
    """Return what is known about a set."""
    if type(domain) not in _SHAPES:
        names = ", ".join(kind.kind for kind in _SHAPES)
        raise SpecError(f"games are played on {names}, got {domain!r}")
    return _SHAPES[type(domain)](domain)
