"""Features of a play: a quadratic of x in [-1, 1]^k, the context with it, and cosines.

    1, x_i, x_i^2 - 1/3, x_i x_j (i < j), z_c, z_c x_i, and cos(j pi (x + 1) / 2)

For one knob j = 1 .. 14; for two products with j_1 + j_2 <= 6; for more every knob alone, j = 2, 3,
4. cos(j t) is the Chebyshev polynomial T_j of cos t, so one sine per knob is all there is to
compute.
"""

from __future__ import annotations

from belated.arrays import Floats
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs.views import Views

_HALF_PI = 1.5707963267948966


def cosine(x: float) -> float:
    """Return cos(pi (x + 1) / 2) = -sin(pi x / 2) for |x| <= 1, by its series to the 21st power."""
    a = _HALF_PI * x
    s = a * a
    series = 1.0
    for i in range(10):
        j = 10 - i
        series = 1.0 - series * s / (2.0 * j * (2.0 * j + 1.0))
    return -(a * series)


def write_cosines(first: float, out: Floats, order: int, stride: int, place: int) -> None:
    """Write T_0 .. T_order of ``first`` to every ``stride``-th number from ``place`` on."""
    out[place] = 1.0
    out[place + stride] = first
    for j in range(2, order + 1):
        before = out[place + (j - 2) * stride]
        out[place + j * stride] = 2.0 * first * out[place + (j - 1) * stride] - before


_cosine, _write_cosines = leaf(cosine), limb(write_cosines)


@limb
def write_features(v: Views) -> None:
    """Write the features of x in the context to phi."""
    x, phi, k, order, cosines = v.x, v.phi, v.k, v.order, v.chebyshev
    phi[0] = 1.0
    at = 1 + 2 * k
    for i in range(k):
        phi[1 + i] = x[i]
        phi[1 + k + i] = x[i] * x[i] - 0.3333333333333333
        for j in range(i + 1, k):
            phi[at] = x[i] * x[j]
            at += 1
        _write_cosines(_cosine(x[i]), cosines, order, 1, i * (order + 1))
    for c in range(v.context.size):
        phi[at] = v.context[c]
        for i in range(k):
            phi[at + 1 + i] = v.context[c] * x[i]
        at += 1 + k
    for i in range(order + 1 if k == 2 else 0):
        for j in range(0 if i > 0 else 1, order - i + 1):
            phi[at] = cosines[i] * cosines[order + 1 + j]
            at += 1
    for i in range(k if k != 2 else 0):
        for j in range(1 if k == 1 else 2, order + 1):
            phi[at] = cosines[i * (order + 1) + j]
            at += 1
