"""Plays: Thompson sampling over the models.

A window is drawn in proportion to the fourth power of its weight, a model of it by weight, and then
theta~ = U^-1 (w + SCALE s xi) with normal xi; the play is where that surface is least. All
randomness is a function of (seed, ticket).

Before there is a unit, a share of the plays is uniform over a wide range, about as many as there
are coefficients. All others are near the start, and the nearer the longer there is no answer: D
rounds without one can be paid back by a sum of squared radii in proportion to sqrt(D).
"""

from __future__ import annotations

import math

from belated.arrays import Floats, Ints
from belated.kernels.directions import normals, philox
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.features import write_features
from belated.kernels.knobs.minimise import minimise
from belated.kernels.knobs.models import backward, factor_of, leading, predict
from belated.kernels.knobs.views import Views
from belated.kernels.slots import ints as N

UNIFORM, NORMAL = 48, 49  # second words of counters, beside those of directions and choosers
_WORD = 0xFFFFFFFF
_INVERSE = 2.3283064365386963e-10  # 2^-32
_SCALE = 0.43  # of posterior deviations: full Thompson sampling explores too long
_WIDE = 0.7  # sum of the squared radii of wide plays
_SLACK = 1e-6  # of a level: what a step may lack by rounding
_NEAR, _NEARER = 0.3, 0.5  # radius of the others in round t: min(_NEAR, _NEARER (t + 1)^(-1/4))


@leaf
def _write_uniforms(u: Floats, t: int, low: int, high: int) -> None:
    """Fill u with numbers in (0, 1) that belong to ticket t."""
    for i in range(u.size):
        word, _, _, _ = philox(i, t - t + UNIFORM, t & _WORD, t >> 32, low, high)
        u[i] = (word + 0.5) * _INVERSE


@leaf
def _mass(weights: Floats, w: int) -> float:
    """Return the fourth power of the weight of a window."""
    mass = 0.0
    for i in range(L.PER_WINDOW * w, L.PER_WINDOW * (w + 1)):
        mass += weights[i]
    return mass * mass * mass * mass


@leaf
def _pick(weights: Floats, by_window: float, by_model: float) -> int:
    """Return a model: a window by the fourth power of its weight, then one of it by weight."""
    total, below, window = 0.0, 0.0, 0
    for w in range(L.WINDOWS):
        total += _mass(weights, w)
    for w in range(L.WINDOWS):
        window = w if by_window * total >= below else window
        below += _mass(weights, w)
    left, model = by_model * math.sqrt(math.sqrt(_mass(weights, window))), 0
    for i in range(L.PER_WINDOW * window, L.PER_WINDOW * (window + 1)):
        model = i if left >= 0.0 else model
        left -= weights[i]
    return model


@limb
def _write_surface(v: Views, n: Ints, model: int, t: int, scale: float) -> None:
    """Write the coefficients of a play in the context: ``scale`` deviations from the mean."""
    k, g, draw = v.k, model // L.FEATURES, v.draw
    theta = draw[0 : v.base if model % L.FEATURES == 0 else v.most]
    for i in range(v.most):
        draw[i] = 0.0
    if scale > 0.0:
        normals(theta, t - t + NORMAL, t, n[N.SEED_LOW], n[N.SEED_HIGH])
    deviation = scale * math.sqrt(v.noise[g])
    for i in range(theta.size):
        theta[i] = v.whitened[g * v.most + i] + deviation * theta[i]
    backward(factor_of(v, g), theta, v.most)
    at = 1 + 2 * k + k * (k - 1) // 2
    for c in range(v.context.size):
        for i in range(1 + k):
            draw[i] += v.context[c] * draw[at + i]
            draw[at + i] = 0.0
        at += 1 + k


@leaf
def _play_early(v: Views, t: int, is_best: bool) -> None:
    """Write the play of ticket t to x before there is a unit."""
    k = v.k
    wide_rounds = 0.6 * (10.0 + 1 + 2 * k + k * (k - 1) // 2)
    radius = min(_NEAR, _NEARER / math.sqrt(math.sqrt(t + 1.0)))
    if v.random[3] * (t + 1.0) < wide_rounds:
        radius = min(1.0, math.sqrt(_WIDE / k))
    if is_best:
        radius = 0.0
    for i in range(k):
        v.x[i] = v.start[i] + radius * (2.0 * v.random[4 + i] - 1.0 - v.start[i])


@limb
def propose(v: Views, n: Ints, t: int, is_best: bool) -> None:
    """Write the play of ticket t to x, or the best one as far as is known."""
    k = v.k
    _write_uniforms(v.random, t, n[N.SEED_LOW], n[N.SEED_HIGH])
    if v.f[L.UNIT] == 0.0:
        _play_early(v, t, is_best)
        return
    model = leading(v.weights, 0, L.MODELS)
    if not is_best:
        model = _pick(v.weights, v.random[1], v.random[2])
    _write_surface(v, n, model, t, 0.0 if is_best else _SCALE)
    terms = 1 + 2 * k + k * (k - 1) // 2
    reach = min(1.0, math.sqrt(_WIDE / k)) * (0.5 + v.f[L.COUNT] / (3.0 * terms))
    for i in range(k):
        v.low[i] = max(v.start[i] - reach, -1.0)
        v.high[i] = min(v.start[i] + reach, 1.0)
        v.x[i] = min(max(v.last[i], v.low[i]), v.high[i])
    minimise(v, n, model % L.FEATURES == 1)


@limb
def settle(v: Views, is_free: bool) -> None:
    """Round x to what settings can be; unless it is free, within a step of the last play."""
    for i in range(v.k):
        x, step, levels, last = v.x[i], v.step[i], v.levels[i], v.last[i]
        if not is_free:
            x = min(max(x, last - step), last + step)
        if not x >= -1.0:
            x = -1.0
        x = min(x, 1.0)
        if levels > 1.0:
            level = math.floor(0.5 * (x + 1.0) * (levels - 1.0) + 0.5)
            if not is_free:
                here = math.floor(0.5 * (last + 1.0) * (levels - 1.0) + 0.5)
                most = math.floor(0.5 * step * (levels - 1.0) + _SLACK)
                level = min(max(level, here - most), here + most)
            x = 2.0 * level / (levels - 1.0) - 1.0
        place = math.floor((x + 1.0) * L.GRID + 0.5)
        if levels <= 1.0 and not is_free:  # rounding takes no step that is too long
            place = max(place, -math.floor(-(last - step + 1.0) * L.GRID))
            place = min(place, math.floor((last + step + 1.0) * L.GRID))
        v.x[i] = place / L.GRID - 1.0


@limb
def expect(v: Views, given: Floats, out: Floats) -> None:
    """Write the mean and deviation of y at a place in a context."""
    for i in range(v.k):
        v.x[i] = given[i]
    for i in range(v.context.size):
        v.context[i] = given[v.k + i]
    model = leading(v.weights, 0, L.MODELS)
    write_features(v)
    predict(v, model // L.FEATURES, v.phi, 0.0, 0.0)
    out[0] = v.expected[model]
    out[1] = math.sqrt(v.variances[model] * v.noise[model // L.FEATURES])
