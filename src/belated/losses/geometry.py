"""How far things reach in a domain: what it contributes to the constants of the losses."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from belated.arrays import Floats
from belated.domains import Ball, Box, ConvexSet, Domain, L1Ball, Simplex
from belated.errors import SpecError


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
class Reach(ABC):
    """How far one domain reaches; a subclass per shape."""

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
        norm = np.linalg.norm(vectors * self.scales, axis=1)
        return Spread(norm, *self.range(vectors), targets)

    def bounded_spread(self, norm: float, reach: float, target: float) -> Spread:
        """Return the spread of rounds of which only bounds are known."""
        ones = np.ones(2)
        return Spread(norm * ones, -reach * ones, reach * ones, target * np.array([1.0, -1.0]))


class _OfBox(Reach):
    domain: Box

    def range(self, vectors: Floats) -> tuple[Floats, Floats]:
        low, high = (vectors * side for side in self.domain.bounds)
        return np.minimum(low, high).sum(axis=1), np.maximum(low, high).sum(axis=1)

    def farthest(self, points: Floats, weights: Floats) -> Floats:
        low, high = (np.abs(points - side) for side in self.domain.bounds)
        return np.asarray(np.linalg.norm(weights * np.maximum(low, high), axis=1))

    def widest(self) -> float:
        return float(self._largest().sum())

    def farthest_of_signs(self, length: float, weights: Floats) -> float:
        height = length / math.sqrt(self.domain.dim)
        return float(np.linalg.norm(weights * (self._largest() + height)))

    def _largest(self) -> Floats:
        return np.asarray(np.abs(self.domain.bounds).max(axis=0))


class _OfSimplex(Reach):
    domain: Simplex

    @property
    def _free(self) -> float:
        """What is left to share when every coordinate has its floor."""
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


class _OfL1Ball(Reach):
    domain: L1Ball

    def range(self, vectors: Floats) -> tuple[Floats, Floats]:
        reach = self.domain.radius * np.abs(vectors).max(axis=1)
        return -reach, reach

    def farthest(self, points: Floats, weights: Floats) -> Floats:
        gain = self.domain.radius * (2.0 * np.abs(points).max(axis=1) + self.domain.radius)
        return np.asarray(np.sqrt((points * points).sum(axis=1) + gain))

    def widest(self) -> float:
        return self.domain.radius


class _OfBall(Reach):
    """A ball, or the ball around a user's set."""

    domain: Ball | ConvexSet

    @property
    def _radius(self) -> float:
        return float(self.domain.outer_radius or self.domain.diameter)

    def range(self, vectors: Floats) -> tuple[Floats, Floats]:
        middle = vectors @ np.array(self.domain.center)
        reach = self._radius * np.linalg.norm(vectors, axis=1)
        return middle - reach, middle + reach

    def farthest(self, points: Floats, weights: Floats) -> Floats:
        center = np.array(self.domain.center)
        return np.asarray(np.linalg.norm(points - center, axis=1) + self._radius)

    def widest(self) -> float:
        center = np.abs(np.array(self.domain.center)).sum()
        return float(center + self._radius * math.sqrt(self.domain.dim))


_SHAPES: dict[type[Domain], type[Reach]] = {
    Ball: _OfBall,
    Box: _OfBox,
    Simplex: _OfSimplex,
    L1Ball: _OfL1Ball,
    ConvexSet: _OfBall,
}


def reach_of(domain: Domain) -> Reach:
    """Return how far a domain reaches."""
    if type(domain) not in _SHAPES:
        names = ", ".join(kind.kind for kind in _SHAPES)
        raise SpecError(f"losses: how far they reach is known for {names}, got {domain!r}")
    return _SHAPES[type(domain)](domain)
