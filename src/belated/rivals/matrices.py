"""Symmetric matrices for the methods that keep one: k x k numbers, row by row, in one vector.

Loops run along rows, so that they become vectors without a change in the order of any sum.
"""

from __future__ import annotations

from belated.arrays import Floats
from belated.kernels.jit import leaf
from belated.kernels.learners.state import State

STALE = 1024
"""Rank-one updates after which an inverse is computed afresh, which rounding errors call for."""


@leaf
def sum_at(s: State, header: int) -> Floats:
    """Return the vector b of a method whose own numbers are a header, b, and two matrices."""
    return s.own[header : header + s.z.size]


@leaf
def matrix_at(s: State, header: int) -> Floats:
    """Return the first of those matrices, row after row."""
    k = s.z.size
    return s.own[header + k : header + k + k * k]


@leaf
def inverse_at(s: State, header: int) -> Floats:
    """Return the second."""
    k = s.z.size
    return s.own[header + k + k * k : header + k + 2 * k * k]


@leaf
def times(matrix: Floats, v: Floats, out: Floats) -> None:
    """Put M v into out."""
    k = v.size
    for i in range(k):
        out[i] = 0.0
    for j in range(k):
        row = matrix[j * k : j * k + k]
        for i in range(k):
            out[i] += row[i] * v[j]


@leaf
def add_outer(matrix: Floats, v: Floats, scale: float) -> None:
    """M += scale v v'."""
    k = v.size
    for j in range(k):
        row = matrix[j * k : j * k + k]
        factor = scale * v[j]
        for i in range(k):
            row[i] += factor * v[i]


@leaf
def invert_sum(matrix: Floats, scale: float, ridge: float, inverse: Floats, k: int) -> None:
    """Put (ridge I + scale M)^-1 into inverse: Gauss and Jordan, in place.

    M is positive semidefinite and ridge > 0, so no pivot has to be looked for.
    """
    for i in range(k * k):
        inverse[i] = scale * matrix[i]
    for i in range(k):
        inverse[i * k + i] += ridge
    for p in range(k):
        chosen = inverse[p * k : p * k + k]
        pivot = 1.0 / chosen[p]
        chosen[p] = 1.0
        for i in range(k):
            chosen[i] *= pivot
        for j in range(k):
            if j != p:
                row = inverse[j * k : j * k + k]
                factor = row[p]
                row[p] = 0.0
                for i in range(k):
                    row[i] -= factor * chosen[i]
