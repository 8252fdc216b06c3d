"""Follow the leader on the quadratics below strongly convex losses."""

from __future__ import annotations

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
    """z = Pi(mean of y_m - c_m / lambda), y_m the mean of the two points around the play's own.

    p holds the sum. An answer from beyond the reach is taken to be about the current point.
    """
    z, total, k = s.z, s.p, s.z.size
    seen = seen_by(s)
    level = level_of(s, seen)
    below = above = z
    if level >= 0:
        first = record_at(OWN.HEADER, k, level, seen >> level)
        second = record_at(OWN.HEADER, k, level, after(seen, level))
        below, above = s.own[first : first + k], s.own[second : second + k]
    count = s.own[OWN.LED] + 1.0
    s.own[OWN.LED] = count
    curvature = s.f[F.CURVATURE]
    for i in range(k):
        total[i] += 0.5 * (below[i] + above[i]) - cost[i] / curvature
        z[i] = total[i] / count
    settle(of_set(code), s, eta, False)
    newest = record_at(OWN.HEADER, k, 0, s.n[N.ARRIVED])
    for i in range(k):
        s.own[newest + i] = z[i]
    spread(s, OWN.HEADER, k)
