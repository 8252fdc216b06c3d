"""Linear constraints between knobs: what a setting may be beside the ranges.

Each is there twice, behind the work and before the clock if there is one: as <a, x> <= b over
places x, with a little room for rounding, for whoever searches; and as <g, v> <= h over values v,
for whoever checks, with the ends of the ranges and the values of the start.

A place that violates some is brought to the nearest one that does not (Dykstra's projections), and
what is left of that is mended on the way to the start x_0, which satisfies all of them, so that
x_0 + l (x - x_0) does for small l. From one play to the next the whole step is shortened to what
``max_step`` allows: between two settings that may be, all may be. Values are looked at last, as
they are given out, and what fails stays where it was. Knobs that are in no constraint go where they
would.
"""

from __future__ import annotations

from belated.arrays import Floats, Ints
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.slots import ints as N

_SWEEPS = 200
_STILL = 1e-9  # less than this is no move
_NUDGES = 3


@leaf
def rows_at(n: Ints) -> int:
    """Return where the constraints on places begin."""
    after = n[N.KEPT_AT] - (2 if n[N.PATIENCE] == L.BY_CLOCK else 0)
    return after - 2 * n[L.LIMITS] * (n[N.DIM] + 1) - 3 * n[N.DIM]


@leaf
def _value_of(f: Floats, at: int, k: int, i: int, x: float, start: float) -> float:
    """Return the value of a place as ``Span.value`` does; the ends of ranges are at ``at``."""
    low, high = f[at + i], f[at + k + i]
    if x == start:
        return f[at + 2 * k + i]
    return min(max(low + 0.5 * (x + 1.0) * (high - low), low), high)


@leaf
def _is_kept(f: Floats, n: Ints, row: int, x: Floats, start: Floats) -> bool:
    """Tell whether values satisfy a constraint in whatever order they are added up.

    Where all of its knobs are at the start they do, as the start does.
    """
    k, is_start = x.size, True
    at = rows_at(n) + (n[L.LIMITS] + row) * (k + 1)
    ends = rows_at(n) + 2 * n[L.LIMITS] * (k + 1)
    total, size = 0.0, L.UNDERFLOW
    for i in range(k):
        if f[at + i] != 0.0:
            part = f[at + i] * _value_of(f, ends, k, i, x[i], start[i])
            total += part
            size += L.SUMMING * abs(part)
            is_start = is_start and x[i] == start[i]
    return is_start or total + size <= f[at + k]


@limb
def is_allowed(f: Floats, n: Ints, x: Floats, start: Floats) -> bool:
    """Tell whether a place satisfies all constraints."""
    is_kept = True
    for row in range(n[L.LIMITS]):
        is_kept = is_kept and _is_kept(f, n, row, x, start)
    return is_kept


@leaf
def _is_tied(f: Floats, n: Ints, i: int) -> bool:
    """Tell whether a knob is in a constraint."""
    k, is_tied = n[N.DIM], False
    at = rows_at(n) + n[L.LIMITS] * (k + 1)
    for _ in range(n[L.LIMITS]):
        is_tied = is_tied or f[at + i] != 0.0
        at += k + 1
    return is_tied


@leaf
def is_open(f: Floats, n: Ints, x: Floats, low: Floats, high: Floats) -> bool:
    """Tell whether a place is in a box, and constraints leave it to searches."""
    k, at, is_inside = x.size, rows_at(n), True
    for i in range(k):
        is_inside = is_inside and low[i] <= x[i] <= high[i]
    for _ in range(n[L.LIMITS]):
        total = 0.0
        for i in range(k):
            total += f[at + i] * x[i]
        is_inside = is_inside and total <= f[at + k]
        at += k + 1
    return is_inside


@limb
def _go_near(f: Floats, n: Ints, x: Floats, low: Floats, high: Floats, work: Floats) -> None:
    """Move a place to the nearest one of a box that constraints allow, or close to it.

    Dykstra's projections: ``work`` has how far each constraint and each end has pushed so far, a
    number for every constraint and every knob.
    """
    k, m = x.size, n[L.LIMITS]
    for i in range(m + k):
        work[i] = 0.0
    for _ in range(_SWEEPS):
        at, moved = rows_at(n), 0.0
        for row in range(m):
            beyond, square = -f[at + k], 0.0
            for i in range(k):
                beyond += f[at + i] * x[i]
                square += f[at + i] * f[at + i]
            push = max(work[row] + beyond / square, 0.0)  # the largest |a_i| is 1
            for i in range(k):
                away = (push - work[row]) * f[at + i]
                x[i] -= away
                moved = max(moved, abs(away))
            work[row] = push
            at += k + 1
        for i in range(k):
            place = x[i] + work[m + i]
            x[i] = min(max(place, low[i]), high[i])
            moved = max(moved, abs(place - x[i] - work[m + i]))
            work[m + i] = place - x[i]
        if moved < _STILL:
            break


@leaf
def _part_along(f: Floats, n: Ints, x: Floats, d: Floats) -> float:
    """Return how much of d constraints allow from x on, 1 at most.

    Where x itself is not allowed, as far as searches are, no way leads further out.
    """
    k, at, most = x.size, rows_at(n), 1.0
    for _ in range(n[L.LIMITS]):
        rate, left = 0.0, f[at + k]
        for i in range(k):
            rate += f[at + i] * d[i]
            left -= f[at + i] * x[i]
        if rate > left:
            most = min(most, max(left, 0.0) / rate if rate > 0.0 else 1.0)
        at += k + 1
    return most


@limb
def go_inside(
    f: Floats, n: Ints, x: Floats, start: Floats, low: Floats, high: Floats, work: Floats
) -> None:
    """Move a place to one of a box that constraints allow, the nearest or close to it.

    The start is in the box. ``work`` has room for every constraint and every knob.
    """
    _go_near(f, n, x, low, high, work)
    d = work[0 : x.size]
    for i in range(x.size):
        d[i] = x[i] - start[i]
    most = _part_along(f, n, start, d)
    for i in range(x.size):
        if most < 1.0 and _is_tied(f, n, i):
            x[i] = start[i] + most * d[i]


@limb
def shorten(f: Floats, n: Ints, x: Floats, knobs: Floats) -> None:
    """Go so far from the last play as ``max_step`` allows for all knobs that constraints tie."""
    k, part = x.size, 1.0
    last = knobs[L.LAST * k : L.LAST * k + k]
    for i in range(k):
        away = abs(x[i] - last[i])
        if away > knobs[k + i] and _is_tied(f, n, i):
            part = min(part, knobs[k + i] / away)
    for i in range(k):
        if part < 1.0 and _is_tied(f, n, i):
            x[i] = last[i] + part * (x[i] - last[i])


@limb
def mend(f: Floats, n: Ints, x: Floats, start: Floats, otherwise: Floats) -> None:
    """Undo what rounding has done: go inside by a step of 2^-24, or not at all.

    ``otherwise`` is an allowed place, where knobs in constraints go if that does not help.
    """
    k, m = x.size, n[L.LIMITS]
    for _ in range(_NUDGES):
        at = rows_at(n)
        for row in range(m):
            if not _is_kept(f, n, row, x, start):
                for i in range(k):
                    inward = -1.0 if f[at + i] > 0.0 else 1.0
                    if f[at + i] != 0.0:
                        x[i] = min(max(x[i] + inward / L.WIDE, -1.0), 1.0)
            at += k + 1
    if not is_allowed(f, n, x, start):
        for i in range(k):
            if _is_tied(f, n, i):
                x[i] = otherwise[i]
