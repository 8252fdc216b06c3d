"""The initial state of knobs, in plain Python: it is written once, and compiling takes longer."""

from __future__ import annotations

import math

import numpy as np

from belated.arrays import Floats, Ints
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.features import cosine, write_cosines
from belated.kernels.knobs.views import python_views
from belated.kernels.slots import ints as N

WINDOW_WEIGHTS = (0.95, 0.03, 0.02)  # most systems do not drift
LEVEL_WEIGHTS = (0.6, 0.4)


def set_up(f: Floats, n: Ints) -> None:
    """Write what the first prediction needs."""
    v = python_views(f, n)
    for i in range(v.points):
        v.table[i] = 2.0 * i / (v.points - 1.0) - 1.0
        write_cosines(cosine(v.table[i]), v.table, v.order, v.points, v.points + i)
    v.prior[...] = _prior(v.k, int(n[N.OWN]))
    of_sets = np.outer(WINDOW_WEIGHTS, LEVEL_WEIGHTS).ravel() / L.FEATURES
    v.weights[...] = v.prior_weights[...] = np.repeat(of_sets, L.FEATURES)
    v.noise[...] = 1.0
    v.last[...] = v.start
    f[L.STRETCH] = 16.0


def _prior(k: int, c: int) -> Floats:
    """Return the prior precisions, in units of the variance S2 of y.

    Costs differ by S2 at a squared distance q = min(1, 2/k) from the start: variances are 2/kq of
    linear terms, 4/kq^2 of squares, 4/(kq)^2 of products and 2/k of the context. The cosines have 2
    in all, in proportion to (1 + omega^2 / 12)^-2 with omega = pi j / 2. The intercept is free.
    """
    q, pairs = min(1.0, 2.0 / k), k * (k - 1) // 2
    orders = range(L.sizes(k, c).order + 1)
    squares = [j * j for _ in range(k) for j in orders if j >= (1 if k == 1 else 2)]
    if k == 2:
        squares = [i * i + j * j for i in orders for j in orders if 0 < i + j < len(orders)]
    smooth = (1.0 + math.pi**2 * np.array(squares) / 48.0) ** -2.0
    variances = [
        [100.0],
        [2.0 / (k * q)] * k,
        [4.0 / (k * q * q)] * k,
        [4.0 / (k * q) ** 2] * pairs,
        [2.0 / k] * (c * (k + 1)),
        2.0 * smooth / smooth.sum(),
    ]
    return np.asarray(1.0 / np.concatenate(variances))
