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
def step(code: Code, s: State, cost: Floats, eta: float) -> None:
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
    late = size = 0.0
    for i in range(k):
        about = 0.5 * (below[i] + above[i])
        total[i] += about - cost[i] / curvature
        z[i] = total[i] / count
        late += (about - old[i]) * (cost[i] - 0.5 * curvature * (about - old[i]))
        size += cost[i] * cost[i]
    settle(of_set(code), s, eta, False)
    s.own[OWN.DRIFT] += late
    s.own[OWN.UNSURE] += away * (math.sqrt(size) + curvature * (s.f[F.DIAMETER] - 0.5 * away))
    _keep(s, old, count)


@leaf
def _keep(s: State, old: Floats, count: float) -> None:
    """Keep where the step has led, how far it was, and what F_n fell by.

    F_n(z) = (lambda n / 2) |z - mean|^2 but for a constant, where p is n times the mean.
    """
    z, total = s.z, s.p
    newest = record_at(OWN.HEADER, 1 + z.size, 0, s.n[N.ARRIVED])
    twice = 2.0 / count
    fell = moved = 0.0
    for i in range(z.size):
        apart = old[i] - z[i]
        fell += apart * (old[i] + z[i] - twice * total[i])
        moved += apart * apart
        s.own[newest + 1 + i] = z[i]
    s.own[OWN.LEARNING] += 0.5 * s.f[F.CURVATURE] * count * fell
    s.own[OWN.GONE] += math.sqrt(moved)
    s.own[newest] = s.own[OWN.GONE]
    spread(s, OWN.HEADER, 1 + z.size)
