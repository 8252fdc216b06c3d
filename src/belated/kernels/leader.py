"""Follow the leader on the quadratics below strongly convex losses."""

from __future__ import annotations

from belated.kernels import layout as at
from belated.kernels.bases import settle
from belated.kernels.jit import leaf
from belated.kernels.past import after, level_of, record_at, seen_by, spread
from belated.kernels.state import State
from belated.kernels.typing import Code, Floats


@leaf
def step(code: Code, s: State, cost: Floats, eta: float) -> None:
    """z = Pi(mean of y_m - c_m / lambda), y_m the mean of the two points around the play's own.

    p holds the sum. An answer from beyond the reach is taken to be about the current point.
    """
    z, total, k = s.z, s.p, s.z.size
    seen = seen_by(s)
    level = level_of(s, seen)
    s.own[at.LED] += 1.0
    for i in range(k):
        y = z[i]
        if level >= 0:
            below = record_at(at.OWN_HEADER, k, level, seen >> level)
            above = record_at(at.OWN_HEADER, k, level, after(seen, level))
            y = 0.5 * (s.own[below + i] + s.own[above + i])
        total[i] += y - cost[i] / s.f[at.CURVATURE]
    for i in range(k):
        z[i] = total[i] / s.own[at.LED]
    settle(code, s, eta, False)
    newest = record_at(at.OWN_HEADER, k, 0, s.n[at.ARRIVED])
    for i in range(k):
        s.own[newest + i] = z[i]
    spread(s, at.OWN_HEADER, k)
