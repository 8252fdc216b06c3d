"""Linear constraints between knobs: what a setting may be beside the ranges.

Each is a row <a, x> <= b over places. Its bound leaves so much room for rounding that the values of
places that satisfy it satisfy the constraint as it was given, in whatever order they are added up.
The start satisfies all as they were given, so a row also holds if all of its knobs are there.

A place that violates some is brought to the nearest one that does not (Dykstra's projections), and
what is left of that is mended on the way to the start x_0: x_0 + l (x - x_0) is allowed for small
l. From one play to the next the whole step is shortened to what ``max_step`` allows: between two
allowed settings all are allowed. Rounded places are checked last.
"""

from __future__ import annotations

from belated.arrays import Floats, Ints
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.views import Views
from belated.kernels.slots import ints as N

_SWEEPS = 200
_STILL = 1e-9  # a smaller move ends the sweeps


@leaf
def limits_at(n: Ints) -> int:
    """Return where the rows begin."""
    after = n[N.KEPT_AT] - (2 if n[N.PATIENCE] == L.BY_CLOCK else 0)
    return after - n[L.LIMITS] * (n[N.DIM] + 1)


@leaf
def is_open(v: Views, n: Ints, x: Floats) -> bool:
    """Tell whether a place is in the box and satisfies all rows."""
    k, at, is_inside = v.k, limits_at(n), True
    for i in range(k):
        is_inside = is_inside and v.low[i] <= x[i] <= v.high[i]
    for _ in range(n[L.LIMITS]):
        total = 0.0
        for i in range(k):
            total += v.f[at + i] * x[i]
        is_inside = is_inside and total <= v.f[at + k]
        at += k + 1
    return is_inside


@limb
def go_near(v: Views, n: Ints) -> None:
    """Move x to the nearest allowed place of the box, or close to it.

    Dykstra's projections: how far each row and each end has pushed so far is in ``pushed``.
    """
    k, m, x, pushed = v.k, n[L.LIMITS], v.x, v.search[2 * v.k : v.search.size]
    for i in range(m + k):
        pushed[i] = 0.0
    for _ in range(_SWEEPS):
        at, moved = limits_at(n), 0.0
        for row in range(m):
            beyond, square = -v.f[at + k], 0.0
            for i in range(k):
                beyond += v.f[at + i] * x[i]
                square += v.f[at + i] * v.f[at + i]
            push = max(pushed[row] + beyond / square, 0.0)  # the largest |a_i| is 1
            for i in range(k):
                away = (push - pushed[row]) * v.f[at + i]
                x[i] -= away
                moved = max(moved, abs(away))
            pushed[row] = push
            at += k + 1
        for i in range(k):
            place = x[i] + pushed[m + i]
            x[i] = min(max(place, v.low[i]), v.high[i])
            moved = max(moved, abs(place - x[i] - pushed[m + i]))
            pushed[m + i] = place - x[i]
        if moved < _STILL:
            break


@leaf
def _pull(v: Views, part: float, target: Floats) -> None:
    """Leave a part of the way from the target to x."""
    for i in range(v.k):
        if part < 1.0:
            v.x[i] = target[i] + part * (v.x[i] - target[i])


@limb
def go_inside(v: Views, n: Ints) -> None:
    """Move x to an allowed place of the box, the nearest or close to it; the start is in the box.

    If the start itself violates a row, by its room for rounding, no way leads further out.
    """
    go_near(v, n)
    k, at, part = v.k, limits_at(n), 1.0
    for _ in range(n[L.LIMITS]):
        rate, left = 0.0, v.f[at + k]
        for i in range(k):
            rate += v.f[at + i] * (v.x[i] - v.start[i])
            left -= v.f[at + i] * v.start[i]
        if rate > left:
            part = min(part, max(left, 0.0) / rate if rate > 0.0 else 1.0)
        at += k + 1
    _pull(v, part, v.start)


@limb
def shorten(v: Views) -> None:
    """Shorten the step from the last play to what ``max_step`` allows for all knobs."""
    part = 1.0
    for i in range(v.k):
        away = abs(v.x[i] - v.last[i])
        if away > v.step[i]:
            part = min(part, v.step[i] / away)
    _pull(v, part, v.last)


@limb
def check_rounded(v: Views, n: Ints, otherwise: Floats) -> None:
    """Replace a rounded place that violates a row by ``otherwise``.

    A row has room for two roundings of every place; one of them is used here.
    """
    k, at, is_allowed = v.k, limits_at(n), True
    for _ in range(n[L.LIMITS]):
        beyond, is_start = -v.f[at + k], True
        for i in range(k):
            beyond += v.f[at + i] * v.x[i] - abs(v.f[at + i]) / L.GRID
            is_start = is_start and (v.f[at + i] == 0.0 or v.x[i] == v.start[i])
        is_allowed = is_allowed and (is_start or beyond <= 0.0)
        at += k + 1
    if not is_allowed:
        _pull(v, 0.0, otherwise)
