"""Bayesian linear models: their posteriors, predictions and weights.

The set with sums A and b has the model of all features, with prior precisions P and prior means m,

    U'U = A + s^2 P,    w = U'^-1 (b + s^2 P m),    theta = U^-1 w.

The quadratic features come first, so the first parts of U and w belong to the quadratic model of
the set, and one factorisation serves both. With z = U'^-1 phi~ they predict features phi~ (net of
their block) from prefixes of the same sums: the mean is w'z, the variance v s^2 with
v = 1 + c + z'z.

The weight of a model is multiplied by the density of Student's distribution with 6 degrees of
freedom at e = y~ - w'z. The noise s^2 of a set is the mean of e^2 / v of its best model over the
last 300 answers.
"""

from __future__ import annotations

import math

from belated.arrays import Floats
from belated.kernels.exact import exp, ln
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.views import Views

_NOISE_ANSWERS = 300.0  # the same for all: a younger estimate would look like a better model
_LEAST_NOISE = 1e-6  # s^2 in units of the variance of y: costs without noise stay solvable
_LEAST_PIVOT = 1e-12  # rounding of sums can leave a matrix slightly indefinite
_REFRESH = 0.03  # a set is solved again after this share of new answers
_CLIP, _CLIP_GROWTH = 3.0, 0.5  # clipping threshold in deviations, and its growth with sqrt(n)
_SHARING = 100.0  # prior weights are mixed in with 1 / (n + this), so that no weight vanishes


@leaf
def window_of(g: int) -> float:
    """Return the window of a set in rounds."""
    return math.inf if g < L.LEVELS else L.LONG if g < 2 * L.LEVELS else L.SHORT


@leaf
def weight_of(f: Floats, g: int, t: float) -> float:
    """Return how much play t counts in a set, relative to the origin of its window."""
    age = (t - f[L.ORIGIN + g // L.LEVELS]) / window_of(g)
    return exp(age) if age <= 0.0 else 1.0 / exp(-age)


@leaf
def known(f: Floats) -> float:
    """Return the number of answers that cannot be revised any more."""
    return f[L.COUNT] - f[L.PROVISIONAL]


@leaf
def spread(f: Floats) -> float:
    """Return the variance of y that the prior is relative to; at least that of the unit."""
    return max(f[L.SQUARES] / max(known(f), 1.0), 1.0)


@limb
def solve_due(v: Views) -> None:
    """Solve the sets that have enough new answers."""
    f = v.f
    for g in range(L.SETS):
        count = min(f[L.COUNT], window_of(g))
        if f[L.SINCE + g] >= _REFRESH * count:
            f[L.SINCE + g] = 0.0
            _solve(v, g, 1.0 / weight_of(f, g, f[L.LATEST]))


@leaf
def factor_of(v: Views, g: int) -> Floats:
    """Return the triangle of a set."""
    size = v.most * (v.most + 1) // 2
    return v.factor[g * size : (g + 1) * size]


@limb
def _solve(v: Views, g: int, fade: float) -> None:
    """Write U and w of a set; ``fade`` brings its sums to the time of the latest play."""
    most, k, s2 = v.most, v.k, spread(v.f)
    u, w = factor_of(v, g), v.whitened[g * most : (g + 1) * most]
    bowl = 2.0 * math.sqrt(s2 / k) / min(1.0, 2.0 / k)
    for i in range(u.size):
        u[i] = fade * v.a[g * u.size + i]
    at = 0
    for i in range(most):
        precision = v.noise[g] * v.prior[i] / s2
        u[at] += precision
        w[i] = fade * v.b[g * most + i] + (precision * bowl if k < i <= 2 * k else 0.0)
        at += most - i
    _factorise(u, most)
    forward(u, w)


@limb
def _factorise(u: Floats, m: int) -> None:
    """Replace the upper triangle A by U with U'U = A; rows stand one after the other."""
    at = 0
    for i in range(m):
        pivot = math.sqrt(max(u[at], _LEAST_PIVOT))
        inverse = 1.0 / pivot
        u[at] = pivot
        for j in range(1, m - i):
            u[at + j] *= inverse
        row = at + m - i
        for j in range(1, m - i):
            factor = u[at + j]
            for q in range(j, m - i):
                u[row + q - j] -= factor * u[at + q]
            row += m - i - j
        at += m - i


@limb
def forward(u: Floats, z: Floats) -> None:
    """Replace z by the solution of U'x = z."""
    at, m = 0, z.size
    for i in range(m):
        value = z[i] / u[at]
        z[i] = value
        for j in range(1, m - i):
            z[i + j] -= value * u[at + j]
        at += m - i


@limb
def backward(u: Floats, z: Floats, most: int) -> None:
    """Replace z by the solution of U x = z, for the block of U of the size of z."""
    m = z.size
    for back in range(m):
        i = m - 1 - back
        at = i * (2 * most - i + 1) // 2
        value = z[i]
        for j in range(1, m - i):
            value -= u[at + j] * z[i + j]
        z[i] = value / u[at]


@limb
def predict(v: Views, g: int, features: Floats, level: float, variance: float) -> None:
    """Predict a value with the models of a set.

    ``level`` is added to the means and ``variance`` to the variances, which are in units of s^2.
    """
    most, z, w = v.most, v.scratch, v.whitened[g * v.most : (g + 1) * v.most]
    for i in range(most):
        z[i] = features[i]
    forward(factor_of(v, g), z)
    mean, square = level, variance
    for i in range(most):
        mean += w[i] * z[i]
        square += z[i] * z[i]
        if i == v.base - 1 or i == most - 1:
            model = L.FEATURES * g + (0 if i < v.base else 1)
            v.expected[model] = mean
            v.variances[model] = square


@leaf
def leading(weights: Floats, first: int, count: int) -> int:
    """Return the model with the largest weight of ``count`` models from ``first`` on."""
    best = first
    for i in range(first + 1, first + count):
        best = i if weights[i] > weights[best] else best
    return best


@leaf
def clipped(v: Views, y: float, c: float) -> float:
    """Return a value, clipped around the prediction of the leading model; c is that of its block.

    The threshold is small at first, so that an outlier moves little, and grows with the number of
    answers, so that values that are often far, such as rare sales, are soon believed.
    """
    model = leading(v.weights, 0, L.MODELS)
    threshold = _CLIP + _CLIP_GROWTH * math.sqrt(v.f[L.COUNT])
    g = model // L.FEATURES
    far = threshold * math.sqrt(v.noise[g] * (1.0 + c if g % L.LEVELS == 1 else 1.0))
    return min(max(y, v.expected[model] - far), v.expected[model] + far)


@limb
def reweigh(v: Views, y: float, answers: float) -> None:
    """Update weights and noise with a value that was predicted, and that many in its block.

    A value that is alone in its block says little but where the level is, so it counts less.
    """
    count, weights = known(v.f), v.weights
    trust = (answers + 0.25) / (answers + 1.0)
    top = -math.inf
    for g in range(L.SETS):
        noise, lead = v.noise[g], leading(weights, L.FEATURES * g, L.FEATURES)
        for i in range(L.FEATURES * g, L.FEATURES * (g + 1)):
            e, variance = y - v.expected[i], noise * v.variances[i]
            density = -0.5 * ln(variance) - 3.5 * ln(1.0 + e * e / (6.0 * variance))
            weights[i] = trust * density + ln(weights[i])
            top = max(top, weights[i])
        e = y - v.expected[lead]
        noise += (e * e / v.variances[lead] - noise) / (min(count, _NOISE_ANSWERS) + 3.0)
        v.noise[g] = max(noise, _LEAST_NOISE * spread(v.f))
    total = 0.0
    for i in range(L.MODELS):
        weights[i] = exp(weights[i] - top)
        total += weights[i]
    mixed = 1.0 / (count + _SHARING)
    for i in range(L.MODELS):
        weights[i] = (1.0 - mixed) * weights[i] / total + mixed * v.prior_weights[i]
