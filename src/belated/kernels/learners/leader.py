"""Follow the leader on the quadratics below strongly convex losses.

With h_n(z) = <c_n, z> + (lambda / 2) |z - y_n|^2 and F_n = h_1 + .. + h_n, the regret of the points
y_n on the h_n against the best fixed point, z_{n+1} = argmin F_n itself, is

    sum_n h_n(y_n) - F_n(z_{n+1}) = sum_n {h_n(y_n) - h_n(z_n)} + {F_n(z_n) - F_n(z_{n+1})},

which is kept term by term, as every term is small. y_n is the mean of the two points kept around
x_s, the play's own, so |x_s - y_n| <= e = min(D, half the way between them), and x_s in the place
of y_n adds at most (|c_n| + lambda D) e - (lambda / 2) e^2 to the regret on h_n.
"""

from __future__ import annotations

import math

from belated.arrays import Code, Floats
from belated.kernels.jit import leaf
from belated.kernels.learners.bases import settle
from belated.kernels.learners.past import after, level_of, record_at, seen_by, spread
from belated.kernels.learners.state import State
from belated.kernels.learners.uses import of_set
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import own as OWN


@leaf
def step(code: Code, s: State, cost: Floats, eta: float, norm: float) -> None:
    """z = Pi(mean of y_m - c_m / lambda); p holds the sum.

    An answer from beyond the reach is taken to be about the current point.
    """
    z, total, k = s.z, s.p, s.z.size
    width, curvature = 1 + k, s.f[F.CURVATURE]
    seen = seen_by(s)
    level = level_of(s, seen)
    before = record_at(OWN.HEADER, width, 0, s.n[N.ARRIVED] - 1)
    first = second = before
    away = s.f[F.DIAMETER]
    if level >= 0:
        first = record_at(OWN.HEADER, width, level, seen >> level)
        second = record_at(OWN.HEADER, width, level, after(seen, level))
        away = min(away, 0.5 * (s.own[second] - s.own[first]))
    below, above = s.own[first + 1 : first + width], s.own[second + 1 : second + width]
    old = s.own[before + 1 : before + width]
    count = s.own[OWN.LED] + 1.0
    s.own[OWN.LED] = count
    for i in range(k):
        total[i] += 0.5 * (below[i] + above[i]) - cost[i] / curvature
        z[i] = total[i] / count
    settle(of_set(code), s, eta, False)
    late, fell, moved = _certificate(s, below, above, old, cost, 2.0 / count)
    s.own[OWN.DRIFT] += late
    s.own[OWN.LEARNING] += 0.5 * curvature * count * fell
    s.own[OWN.UNSURE] += away * (norm + curvature * (s.f[F.DIAMETER] - 0.5 * away))
    s.own[OWN.GONE] += math.sqrt(moved)
    _keep(s)


@leaf
def _keep(s: State) -> None:
    """Keep where the step has led, and how long the way was."""
    newest = record_at(OWN.HEADER, 1 + s.z.size, 0, s.n[N.ARRIVED])
    s.own[newest] = s.own[OWN.GONE]
    for i in range(s.z.size):
        s.own[newest + 1 + i] = s.z[i]
    spread(s, OWN.HEADER, 1 + s.z.size)


@leaf
def _certificate(
    s: State, below: Floats, above: Floats, old: Floats, cost: Floats, twice: float
) -> tuple[float, float, float]:
    """h_n(y_n) - h_n(z_n), |z_n - mean|^2 - |z_{n+1} - mean|^2 and |z_n - z_{n+1}|^2.

    F_n(z) = (lambda n / 2) |z - mean|^2 but for a constant; p is n times the mean, and twice 2 / n.
    Each is four sums that take turns, in a fixed order that still becomes vectors.
    """
    la = lb = lc = ld = fa = fb = fc = fd = ma = mb = mc = md = 0.0
    whole = s.z.size - s.z.size % 4
    for i in range(0, whole, 4):
        a = _terms(s, below, above, old, cost, twice, i)
        b = _terms(s, below, above, old, cost, twice, i + 1)
        c = _terms(s, below, above, old, cost, twice, i + 2)
        d = _terms(s, below, above, old, cost, twice, i + 3)
        la, lb, lc, ld = la + a[0], lb + b[0], lc + c[0], ld + d[0]
        fa, fb, fc, fd = fa + a[1], fb + b[1], fc + c[1], fd + d[1]
        ma, mb, mc, md = ma + a[2], mb + b[2], mc + c[2], md + d[2]
    for i in range(whole, s.z.size):
        a = _terms(s, below, above, old, cost, twice, i)
        la, fa, ma = la + a[0], fa + a[1], ma + a[2]
    return (la + lb) + (lc + ld), (fa + fb) + (fc + fd), (ma + mb) + (mc + md)


@leaf
def _terms(
    s: State, below: Floats, above: Floats, old: Floats, cost: Floats, twice: float, i: int
) -> tuple[float, float, float]:
    """What one coordinate adds to the certificate."""
    apart = 0.5 * (below[i] + above[i]) - old[i]
    moved = old[i] - s.z[i]
    late = apart * (cost[i] - 0.5 * s.f[F.CURVATURE] * apart)
    return late, moved * (old[i] + s.z[i] - twice * s.p[i]), moved * moved
