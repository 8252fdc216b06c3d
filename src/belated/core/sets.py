# cython: infer_types=True
"""Convex sets with their Euclidean projections, and the charts that they are seen in.

Learners work in a chart: x = shift + scale * y, coordinate by coordinate. Sets are centred there as
their specs say, and a box is [-1, 1]^dim.

Levels of projections are counted from the largest entry, so that a huge step loses no digits: what
stays in the set is within 1 (or the radius) of it.
"""

from __future__ import annotations

import cython
import numpy as np

from belated.core.component import SLACK

if not cython.compiled:
    from math import fabs, sqrt

    from belated.core.component import Component
    from belated.core.numerics import DOWN, MOST_SQUARES, copy, dot, floats_at, norm, scaled_norm

INFINITY = cython.declare(cython.double, float("inf"))


# --- Charts --------------------------------------------------------------------------------------


class Chart(Component):
    """x = y."""

    def __init__(self, dim: int):
        self.dim = dim

    def seen(self, x):
        """Return the array y for an array x."""
        y = np.empty(self.dim)
        self.from_user(floats_at(np.ascontiguousarray(x, dtype=np.float64)), floats_at(y))
        return y

    def to_user(self, y, x):
        """Write x for a point y."""
        copy(y, x, self.dim)

    def from_user(self, x, y):
        """Write y for a point x."""
        copy(x, y, self.dim)

    def scale_gradient(self, gradient, work):
        """Return the gradient by y for one by x: itself, or ``work`` where that holds it."""
        return gradient

    def unscale_cost(self, cost, out):
        """Write the gradient by x for one by y."""
        copy(cost, out, self.dim)


class Scale(Chart):
    """x = shift + scale * y, clipped to [low, high], which rounding must not leave."""

    def __init__(self, shift, scale, low, high):
        self.dim = len(shift)
        self.arrays = np.array([shift, scale, low, high], dtype=np.float64)
        self.shift, self.scale = floats_at(self.arrays[0]), floats_at(self.arrays[1])
        self.low, self.high = floats_at(self.arrays[2]), floats_at(self.arrays[3])

    def to_user(self, y, x):
        for i in range(self.dim):
            value = self.shift[i] + self.scale[i] * y[i]
            x[i] = min(self.high[i], max(self.low[i], value))

    def from_user(self, x, y):
        for i in range(self.dim):
            y[i] = (x[i] - self.shift[i]) / self.scale[i]

    def scale_gradient(self, gradient, work):
        for i in range(self.dim):
            work[i] = self.scale[i] * gradient[i]
        return work

    def unscale_cost(self, cost, out):
        for i in range(self.dim):
            out[i] = cost[i] / self.scale[i]


# --- Sets ----------------------------------------------------------------------------------------


class Domain(Component):
    """A closed convex set in its chart."""

    def __init__(self, dim: int):
        self.dim = dim

    def project(self, v, z):
        """Write the point of the set nearest to v to z, which is another vector."""
        return 0

    def corner(self, g, v):
        """Write the point of the set with the least <g, v> to v."""

    def nearest(self, point):
        """Return the point of the set nearest to an array."""
        found = np.empty(self.dim)
        self.project(floats_at(np.ascontiguousarray(point, dtype=np.float64)), floats_at(found))
        return found

    def contains(self, points):
        """Tell whether points, one per row, are in the set but for rounding."""
        return True


class Ball(Domain):
    """{|z| <= radius}: the nearest point is v min(1, radius / |v|)."""

    def __init__(self, dim: int, radius: float):
        self.dim, self.radius = dim, radius

    def project(self, v, z):
        squares = dot(v, v, self.dim)
        length, down = sqrt(squares), 1.0
        if squares > MOST_SQUARES:
            length, down = scaled_norm(v, self.dim, DOWN), DOWN
        elif length <= self.radius:
            copy(v, z, self.dim)
            return 0
        factor = self.radius / length
        for i in range(self.dim):
            z[i] = factor * (down * v[i])
        return 0

    def corner(self, g, v):
        length = norm(g, self.dim)
        for i in range(self.dim):
            v[i] = -self.radius * (g[i] / length) if length > 0.0 else 0.0

    def contains(self, points):
        squares = (points * points).sum(axis=-1)
        return bool((squares <= (self.radius * (1.0 + SLACK)) ** 2).all())


class Box(Domain):
    """[-1, 1]^dim: the nearest point is v, clipped."""

    def project(self, v, z):
        for i in range(self.dim):
            z[i] = min(1.0, max(-1.0, v[i]))
        return 0

    def corner(self, g, v):
        for i in range(self.dim):
            v[i] = -1.0 if g[i] > 0.0 else 1.0

    def contains(self, points):
        return bool((abs(points) <= 1.0 + SLACK).all())


def water_level(v, n, absolute, top, floor, mass):
    """Return tau with sum_i max(0, w_i - tau) = mass, w_i = v_i (or |v_i|) - top - floor.

    Michelot's method: average over the coordinates still above the level until none drops out. The
    level only rises, so it ends after at most n passes, usually a few; no sorting, no memory.
    """
    level, count = -INFINITY, n + 1
    while True:
        total, higher = 0.0, 0
        for i in range(n):
            w = (fabs(v[i]) if absolute else v[i]) - top - floor
            if w > level:
                total += w
                higher += 1
        if higher >= count or higher == 0:
            return level
        count = higher
        level = max((total - mass) / higher, -floor - mass)  # a sum may overflow, not the level


class Simplex(Domain):
    """{z_i >= floor, sum z = 1}: the nearest point is max(floor, v_i - tau), tau by its sum."""

    def __init__(self, dim: int, floor: float):
        self.dim, self.floor = dim, floor

    def project(self, v, z):
        top, floor = v[0], self.floor
        for i in range(self.dim):
            top = max(top, v[i])
        level = water_level(v, self.dim, False, top, floor, 1.0 - self.dim * floor)
        for i in range(self.dim):
            z[i] = max(floor, (v[i] - top) - level)
        return 0

    def corner(self, g, v):
        best = 0
        for i in range(self.dim):
            best = i if g[i] < g[best] else best
            v[i] = self.floor
        v[best] = 1.0 - (self.dim - 1) * self.floor

    def contains(self, points):
        has_sum = (abs(points.sum(axis=-1) - 1.0) <= SLACK).all()
        return bool(has_sum and (points >= self.floor - SLACK).all())


class L1Ball(Domain):
    """{sum |z_i| <= radius}: the nearest point is sign(v_i) max(0, |v_i| - tau), tau by its sum."""

    def __init__(self, dim: int, radius: float):
        self.dim, self.radius = dim, radius

    def project(self, v, z):
        total = top = level = 0.0
        for i in range(self.dim):
            total += fabs(v[i])
            top = max(top, fabs(v[i]))
        if total <= self.radius:
            top = 0.0
        else:
            level = water_level(v, self.dim, True, top, 0.0, self.radius)
        for i in range(self.dim):
            height = max(0.0, (fabs(v[i]) - top) - level)
            z[i] = height if v[i] > 0.0 else -height
        return 0

    def corner(self, g, v):
        largest = 0
        for i in range(self.dim):
            largest = i if fabs(g[i]) > fabs(g[largest]) else largest
            v[i] = 0.0
        v[largest] = -self.radius if g[largest] > 0.0 else self.radius

    def contains(self, points):
        return bool((abs(points).sum(axis=-1) <= self.radius * (1.0 + SLACK)).all())
