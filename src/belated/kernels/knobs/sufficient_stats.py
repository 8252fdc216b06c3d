"""Sufficient statistics of the answers: sums that do not depend on the order of arrival.

Answers count by when they were played, not by when they came: w = e^(-age of the play / W). For
every block of 32 rounds n, Phi = sum phi and Y = sum y are kept. With c = 1/(n + l),

    phi~ = phi - c Phi,    y~ = y - c Y,    A += w phi~ phi~'/(1 + c),    b += w phi~ y~/(1 + c),

and then the block takes in phi and y. That integrates out a level of the block with prior precision
l exactly. Sets without levels have c = 0. Weights are relative to an origin that moves along.
"""

from __future__ import annotations

import math

from belated.arrays import Floats
from belated.kernels.exact import exp
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.models import clipped, known, predict, reweigh, weight_of, window_of
from belated.kernels.knobs.views import Views


@limb
def learn(v: Views, t: int, y: float, before: float, is_new: bool, is_last: bool) -> float:
    """Learn the value of play t, whose features are in phi; return it as it was learned.

    One that is not new replaces ``before``. Sums include the newest value; weights, noise and
    variance follow final values alone, as an earlier one may mean nothing.
    """
    f = v.f
    block = _block_of(v, t, before, is_new)
    if not is_new:  # models are judged by what the others said of the block
        _add_to_block(block, v.phi, -before, -1.0)
    c = _write_net(v, block)
    if f[L.UNIT] > 0.0:
        for g in range(L.SETS):
            if g % L.LEVELS == 1:
                predict(v, g, v.net, c * block[L.SUM], 1.0 + c)
            else:
                predict(v, g, v.phi, 0.0, 1.0)
        wanted = y
        y = clipped(v, y, c)
        f[L.TAMED] += 1.0 if y != wanted else 0.0
        if is_last:
            reweigh(v, y, block[L.ANSWERS])
            away = y - f[L.MEAN]
            f[L.MEAN] += away / (known(f) + 1.0)
            f[L.SQUARES] += away * (y - f[L.MEAN])
    if is_new:
        _add_to_sets(v, t, y, y - c * block[L.SUM], 1.0 / (1.0 + c), True)
        f[L.COUNT] += 1.0
        f[L.PROVISIONAL] += 1.0
    _add_to_block(block, v.phi, y, 1.0)
    if not is_new:  # in sets with levels, the block has moved as well
        _write_net(v, block)
        _add_to_sets(v, t, y - before, y - before, 1.0, False)
    f[L.PROVISIONAL] -= 1.0 if is_last else 0.0
    return y


@leaf
def _block_of(v: Views, t: int, before: float, is_new: bool) -> Floats:
    """Return the block of play t; a spare one that knows of no other play if it was overwritten."""
    width, number = L.SUMS + v.most, t // L.BLOCK + 1
    place = (number - 1) % L.RING
    place = L.RING if v.blocks[place * width + L.NUMBER] > number else place
    block = v.blocks[place * width : (place + 1) * width]
    if place == L.RING or block[L.NUMBER] != number:
        for i in range(width):
            block[i] = 0.0
        block[L.NUMBER] = 0.0 if place == L.RING else number
        if not is_new:
            _add_to_block(block, v.phi, before, 1.0)
    return block


@leaf
def _add_to_block(block: Floats, phi: Floats, y: float, times: float) -> None:
    """Add y to the sum of a block, and the features of a play so many times."""
    block[L.SUM] += y
    block[L.ANSWERS] += times
    for i in range(phi.size):
        block[L.SUMS + i] += times * phi[i]


@leaf
def _write_net(v: Views, block: Floats) -> float:
    """Write the features net of a block; return c."""
    c = 1.0 / (block[L.ANSWERS] + L.LEVEL_PRECISION)
    for i in range(v.most):
        v.net[i] = v.phi[i] - c * block[L.SUMS + i]
    return c


@limb
def _add_to_sets(v: Views, t: int, y: float, net: float, kappa: float, is_new: bool) -> None:
    """Add play t to the sums of every set, with the value ``net`` and weight ``kappa`` in levels.

    One that is not new only moves its value.
    """
    most = v.most
    for g in range(L.SETS):
        is_net, at = g % L.LEVELS == 1, g * (most * (most + 1) // 2)
        row, value = v.net if is_net else v.phi, net if is_net else y
        scale = weight_of(v.f, g, t // L.BLOCK * L.BLOCK) * (kappa if is_net else 1.0)
        for i in range(most):
            factor = scale * row[i]
            v.b[g * most + i] += factor * value
            for j in range(i, most if is_new else i):
                v.a[at + j - i] += factor * row[j]
            at += most - i
        v.f[L.SINCE + g] += 1.0


@limb
def advance(v: Views, t: int) -> None:
    """Let play t be the latest if it is; move origins that are more than a window before it."""
    f, most = v.f, v.most
    f[L.LATEST] = max(f[L.LATEST], t)
    triangle = most * (most + 1) // 2
    for g in range(L.LEVELS, L.SETS):
        at = L.ORIGIN + g // L.LEVELS
        age = (f[L.LATEST] - f[at]) / window_of(g)
        if age > 1.0:
            for i in range(g * triangle, (g + 1) * triangle):
                v.a[i] *= exp(-age)
            for i in range(g * most, (g + 1) * most):
                v.b[i] *= exp(-age)
            f[L.SINCE + g] = math.inf
            f[at] = f[L.LATEST] if g % L.LEVELS == L.LEVELS - 1 else f[at]
