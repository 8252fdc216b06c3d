"""Linear constraints between knobs: what a setting may be beside the ranges.

Each is <a, x> <= b over places x; they stand behind the work, before the clock if there is one. A
place that violates some is projected onto one after the other, a few times: with one constraint
that is the nearest place that may be. What is still violated is mended on the way to the start x_0,
which satisfies all of them, so that x_0 + l (x - x_0) does for small l. From one play to the next
the whole step is shortened to what ``max_step`` allows: between two settings that may be, all may
be. Rounding is looked at last, and what fails stays where it was. Knobs that are in no constraint
go where they would.
"""

from __future__ import annotations

import math

from belated.arrays import Floats, Ints
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.slots import ints as N

_ROUNDING = 2.0 / L.WIDE  # of a place
_SWEEPS = 16


@leaf
def _rows_at(n: Ints) -> int:
    """Return where the constraints begin."""
    after = n[N.KEPT_AT] - (2 if n[N.PATIENCE] == L.BY_CLOCK else 0)
    return after - n[L.LIMITS] * (n[N.DIM] + 1)


@limb
def is_allowed(f: Floats, n: Ints, x: Floats, start: Floats) -> bool:
    """Tell whether a place satisfies all constraints, or is the start as far as they can see."""
    k, at = x.size, _rows_at(n)
    for _ in range(n[L.LIMITS]):
        total, is_start = 0.0, True
        for i in range(k):
            total += f[at + i] * x[i]
            is_start = is_start and (f[at + i] == 0.0 or x[i] == start[i])
        if not (is_start or total <= f[at + k]):
            return False
        at += k + 1
    return True


@leaf
def _is_tied(f: Floats, n: Ints, i: int) -> bool:
    """Tell whether a knob is in a constraint."""
    k, at, is_tied = n[N.DIM], _rows_at(n), False
    for _ in range(n[L.LIMITS]):
        is_tied = is_tied or f[at + i] != 0.0
        at += k + 1
    return is_tied


@leaf
def _project(f: Floats, n: Ints, x: Floats) -> None:
    """Move a place to constraints that it violates, one after the other, inside of the ranges."""
    k = x.size
    for _ in range(_SWEEPS):
        at, is_inside = _rows_at(n), True
        for _ in range(n[L.LIMITS]):
            beyond, square = -f[at + k], 0.0
            for i in range(k):
                beyond += f[at + i] * x[i] + abs(f[at + i]) * _ROUNDING
                square += f[at + i] * f[at + i]
            if beyond > 0.0:
                is_inside = False
                for i in range(k):
                    if f[at + i] != 0.0:
                        x[i] = min(max(x[i] - beyond / square * f[at + i], -1.0), 1.0)
            at += k + 1
        if is_inside:
            break


@leaf
def _part_of_way(f: Floats, n: Ints, x: Floats, start: Floats) -> float:
    """Return how much of the way from the start is allowed, also once it is rounded."""
    k, at, part = x.size, _rows_at(n), 1.0
    for _ in range(n[L.LIMITS]):
        way, room = 0.0, f[at + k]
        for i in range(k):
            way += f[at + i] * (x[i] - start[i])
            room -= f[at + i] * start[i] + abs(f[at + i]) * _ROUNDING
        if way > room:
            part = min(part, max(room, 0.0) / way if way > 0.0 else 0.0)
        at += k + 1
    return part


@limb
def confine(f: Floats, n: Ints, x: Floats, knobs: Floats, is_free: bool) -> None:
    """Bring a place to where the constraints allow it; unless it is free, within a step."""
    if n[L.LIMITS] == 0:
        return
    k = x.size
    start, last = knobs[0:k], knobs[L.LAST * k : L.LAST * k + k]
    _project(f, n, x)
    part, step = _part_of_way(f, n, x, start), 1.0
    for i in range(k):
        if _is_tied(f, n, i):
            x[i] = start[i] + part * (x[i] - start[i])
            away = abs(x[i] - last[i])
            if away > knobs[k + i] and not is_free:
                step = min(step, knobs[k + i] / away)
    for i in range(k):
        if _is_tied(f, n, i):
            place = x[i] if step == 1.0 else last[i] + step * (x[i] - last[i])
            x[i] = math.floor((place + 1.0) * L.WIDE + 0.5) / L.WIDE - 1.0
    if not is_allowed(f, n, x, start):
        for i in range(k):
            if _is_tied(f, n, i):
                x[i] = start[i] if is_free else last[i]
