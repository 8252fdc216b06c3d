"""One step of a base learner: z_{n+1} out of z_n, a cost and a step size."""

from __future__ import annotations

import math

from belated.arrays import Code, Floats
from belated.kernels.choices import switch
from belated.kernels.exact import exp, ln
from belated.kernels.fours import first_of, four, put, rest
from belated.kernels.jit import leaf
from belated.kernels.learners.sets import SETS, norm_of, onto, padded, threshold
from belated.kernels.learners.state import State
from belated.kernels.learners.uses import of_set
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F


@leaf
def euclidean_norm(code: Code, cost: Floats) -> float:
    return norm_of(cost)


@leaf
def largest_entry(code: Code, cost: Floats) -> float:
    largest = 0.0
    for i in range(cost.size):
        entry = abs(cost[i])
        if not entry <= largest:
            largest = entry
            if math.isnan(entry):
                return entry
    return largest


@leaf
def pftrl_step(code: Code, s: State, cost: Floats, eta: float, norm: float) -> None:
    """v = z + eta (p - c), then z = Pi(v) and p = (v - z) / eta."""
    whole = s.z.size - s.z.size % 4  # four entries of a cost that has so many are read at once
    for i in range(0, whole, 4):
        put(s.z, i, four(s.z, i) + eta * (four(s.p, i) - four(cost, i)))
    if whole < s.z.size:
        put(s.z, whole, four(s.z, whole) + eta * (four(s.p, whole) - rest(cost, whole)))
    settle(of_set(code), s, eta, True)


@leaf
def omd_step(code: Code, s: State, cost: Floats, eta: float, norm: float) -> None:
    """v = z - eta c, then z = Pi(v)."""
    for i in range(0, s.z.size, 4):
        put(s.z, i, four(s.z, i) - eta * rest(cost, i))
    settle(of_set(code), s, eta, False)


@leaf
def dual_averaging_step(code: Code, s: State, cost: Floats, eta: float, norm: float) -> None:
    """v = -eta times the sum of all costs, then z = Pi(v); p holds the sum."""
    for i in range(0, s.z.size, 4):
        total = four(s.p, i) + rest(cost, i)
        put(s.p, i, total)
        put(s.z, i, first_of(-eta * total, s.z.size - i))
    settle(of_set(code), s, eta, False)


@leaf
def _settle_in_set(code: Code, s: State, eta: float, normal: bool) -> None:
    """Put Pi(v) in the place of v; P-FTRL also keeps the normal vector."""
    z, p = s.z, s.p
    a, b = threshold(code, s.f[F.SIZE], z)
    inverse = 1.0 / eta
    for i in range(0, z.size, 4):
        v = four(z, i)
        inside = padded(code, onto(code, s.f[F.SIZE], a, b, v), z.size - i)
        put(z, i, inside)
        if normal:
            put(p, i, (v - inside) * inverse)


# Put Pi(v) in the place of v.
settle = switch(C.DOMAIN, dict.fromkeys(SETS.choices("onto"), _settle_in_set))


@leaf
def entropy_step(code: Code, s: State, cost: Floats, eta: float, norm: float) -> None:
    """z_i proportional to z_i exp(-eta c_i), kept at or above the floor.

    Log weights are the state, so a weight that is 0 in floating point can still come back.
    """
    z, weights = s.z, s.p
    top = -math.inf
    for i in range(z.size):
        weights[i] -= eta * cost[i]
        top = max(top, weights[i])
    total = 0.0
    for i in range(z.size):
        weights[i] -= top
        z[i] = exp(weights[i])
        total += z[i]
    for i in range(z.size):
        z[i] /= total
    if s.f[F.SIZE] > 0.0:
        _raise_to_floor(z, weights, s.f[F.SIZE])


@leaf
def _raise_to_floor(z: Floats, weights: Floats, floor: float) -> None:
    """Project on {z_i >= floor, sum = 1} in divergence: z_i = max(floor, factor * z_i).

    Lifting some coordinates shrinks the factor for the rest, so more may fall below; it ends after
    at most dim passes.
    """
    factor = 1.0
    low = -1
    while True:
        count = 0
        left = 0.0
        for i in range(z.size):
            if factor * z[i] < floor:
                count += 1
            else:
                left += z[i]
        if count == low or count == 0:
            break
        low = count
        factor = (1.0 - count * floor) / left
    if low > 0:
        for i in range(z.size):
            z[i] = max(floor, factor * z[i])
            weights[i] = ln(z[i])
