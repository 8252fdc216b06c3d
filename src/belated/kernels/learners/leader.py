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
from typing import NamedTuple

from belated.arrays import Code, Floats
from belated.kernels.fours import Four, all_of, four, joined, put, rest, summed, summed_with
from belated.kernels.jit import leaf
from belated.kernels.learners.bases import settle
from belated.kernels.learners.past import around, level_of, record_at, seen_by
from belated.kernels.learners.state import State
from belated.kernels.learners.uses import of_set
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import own as OWN

_width = leaf(OWN.point_width)


class Around(NamedTuple):
    """Where the play of an answer was made: between two points that are kept."""

    below: Floats
    beyond: Floats
    away: float
    """How far from their mean at most."""


@leaf
def step(code: Code, s: State, cost: Floats, eta: float, norm: float) -> None:
    """z = Pi(mean of y_m - c_m / lambda); p holds the sum."""
    curvature, width = s.f[F.CURVATURE], _width(s.z.size)
    before = record_at(s, OWN.HEADER, width, s.n[N.ARRIVED] - 1)
    newest = record_at(s, OWN.HEADER, width, s.n[N.ARRIVED])
    old = s.own[before + OWN.POINT : before + OWN.POINT + s.z.size]
    new = s.own[newest + OWN.POINT : newest + OWN.POINT + s.z.size]
    found = _find(s, width)
    count = s.own[OWN.LED] + 1.0
    s.own[OWN.LED] = count
    late = _lead(s, found, cost, count)
    settle(of_set(code), s, eta, False)
    fell, moved = _keep(s, old, new, 2.0 / count)
    learned = 0.5 * curvature * count * fell
    unsure = found.away * (norm + curvature * (s.f[F.DIAMETER] - 0.5 * found.away))
    gone = math.sqrt(moved)
    put(s.own, newest, all_of(s.own[OWN.GONE] + gone))
    put(s.own, OWN.LEARNING, four(s.own, OWN.LEARNING) + joined(learned, late, unsure, gone))


@leaf
def _find(s: State, width: int) -> Around:
    """Find the points around x_s; an answer from beyond the reach is taken to be about z_n."""
    seen = seen_by(s)
    level = level_of(s, seen)
    if level < 0:
        return Around(s.z, s.z, s.f[F.DIAMETER])
    first, second = around(s, OWN.HEADER, width, level, seen)
    return Around(
        s.own[first + OWN.POINT : first + OWN.POINT + s.z.size],
        s.own[second + OWN.POINT : second + OWN.POINT + s.z.size],
        min(s.f[F.DIAMETER], 0.5 * (s.own[second] - s.own[first])),
    )


@leaf
def _lead(s: State, near: Around, cost: Floats, count: float) -> float:
    """Go to the mean, and return h_n(y_n) - h_n(z_n)."""
    late = all_of(0.0)
    whole = cost.size - cost.size % 4
    for i in range(0, whole, 4):
        late = late + _lead_four(s, near, four(cost, i), count, i)
    if whole < cost.size:
        return summed_with(late, _lead_four(s, near, rest(cost, whole), count, whole))
    return summed(late)


@leaf
def _lead_four(s: State, near: Around, cost: Four, count: float, i: int) -> Four:
    """The same for four coordinates."""
    curvature = s.f[F.CURVATURE]
    y = 0.5 * (four(near.below, i) + four(near.beyond, i))
    apart = y - four(s.z, i)
    total = four(s.p, i) + (y - cost / curvature)
    put(s.p, i, total)
    put(s.z, i, total / count)
    return apart * (cost - 0.5 * curvature * apart)


@leaf
def _keep(s: State, old: Floats, new: Floats, twice: float) -> tuple[float, float]:
    """Keep z_{n+1}; return |z_n - mean|^2 - |z_{n+1} - mean|^2 and |z_n - z_{n+1}|^2.

    F_n(z) = (lambda n / 2) |z - mean|^2 but for a constant; p is n times the mean, and twice 2 / n.
    """
    fell = moved = all_of(0.0)
    whole = old.size - old.size % 4
    for i in range(0, whole, 4):
        more = _keep_four(s, old, new, twice, i)
        fell, moved = fell + more[0], moved + more[1]
    if whole < old.size:
        more = _keep_four(s, old, new, twice, whole)
        return summed_with(fell, more[0]), summed_with(moved, more[1])
    return summed(fell), summed(moved)


@leaf
def _keep_four(s: State, old: Floats, new: Floats, twice: float, i: int) -> tuple[Four, Four]:
    """The same for four coordinates."""
    then, now = four(old, i), four(s.z, i)
    put(new, i, now)
    moved = then - now
    return moved * (then + now - twice * four(s.p, i)), moved * moved
