"""Where a quadratic with cosines is least among the places that constraints allow.

The method of active sets. Constraints that were met are *active*: of the gradient's way down, only
what goes along all of them is taken, with conjugate directions as long as they stay the same. Where
no way leads down, -g is a sum of the normals of the active ones; one with a negative factor is let
go, as it is better further inside, and without one this is the place. For a bowl there is no
better. Where cosines make several, every line is searched as a whole, all knobs are tried first,
and it is done twice: from the last play and from the best allowed point of the grid, or with more
than two knobs from a random place.

Constraint j is row j of ``limits``, or the upper end of knob j - m, or its lower end.
"""

from __future__ import annotations

import math

from belated.arrays import Floats, Ints
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.features import write_features
from belated.kernels.knobs.limits import go_inside, is_open, rows_at
from belated.kernels.knobs.minimum import vertex, write_row
from belated.kernels.knobs.room import Room, room_of

_TURNS, _PER_KNOB = 20, 6  # of a descent
_STILL = 1e-4  # less than this is no move
_POINTS, _ROUGH_POINTS = 3, 9  # of a line: a parabola needs no more than three
_APART = 1.0 / 1024.0  # between places that a slope is taken from
_PARALLEL = 1e-9  # of a way: what is so little towards a constraint is along it
_FLAT = 1e-10  # of |g|^2: what is left of it where no way leads down


# --- Values --------------------------------------------------------------------------------------


@limb
def _value(f: Floats, n: Ints, x: Floats, is_rough: bool) -> float:
    """Return what the coefficients of a play say of a place, but for a constant."""
    r = room_of(f, n)
    k, draw, at, value = r.k, r.draw, 1 + 2 * r.k, 0.0
    for i in range(k):
        slope = draw[1 + i] + draw[1 + k + i] * x[i]
        for j in range(i + 1, k):
            slope += draw[at] * x[j]
            at += 1
        value += slope * x[i]
    if is_rough:
        write_features(x, r.context, r.order, r.chebyshev, r.phi)
        for i in range(r.base, r.base + r.cosines):
            value += draw[i] * r.phi[i]
    return value


@limb
def _write_descent(f: Floats, n: Ints, x: Floats, g: Floats, is_rough: bool) -> None:
    """Write -g, the way down."""
    for i in range(x.size):
        here = x[i]
        x[i] = here + _APART
        after = _value(f, n, x, is_rough)
        x[i] = here - _APART
        g[i] = (_value(f, n, x, is_rough) - after) / (2.0 * _APART)
        x[i] = here


# --- Constraints ---------------------------------------------------------------------------------


@leaf
def _normal(f: Floats, n: Ints, k: int, j: int, i: int) -> float:
    """Return number i of the normal of constraint j."""
    m = n[L.LIMITS]
    if j < m:
        return f[rows_at(n) + j * (k + 1) + i]
    if j < m + k:
        return 1.0 if i == j - m else 0.0
    return -1.0 if i == j - m - k else 0.0


@limb
def _way_along(f: Floats, n: Ints, x: Floats, d: Floats) -> tuple[float, int]:
    """Return how far x + t d can go, and which constraint it meets there; -1: none."""
    r = room_of(f, n)
    k, m = r.k, n[L.LIMITS]
    most, met, size = math.inf, -1, 0.0
    for i in range(k):
        size += abs(d[i])
    for j in range(m + 2 * k):
        rate, left = 0.0, 0.0
        if j < m:
            at = rows_at(n) + j * (k + 1)
            left = f[at + k]
            for i in range(k):
                rate += f[at + i] * d[i]
                left -= f[at + i] * x[i]
        elif j < m + k:
            rate, left = d[j - m], r.high[j - m] - x[j - m]
        else:
            rate, left = -d[j - m - k], x[j - m - k] - r.low[j - m - k]
        if rate > _PARALLEL * size and left < most * rate:
            most, met = max(left, 0.0) / rate, j
    return most, met


@limb
def _search_along(
    f: Floats, n: Ints, x: Floats, d: Floats, place: Floats, value: float, is_rough: bool
) -> tuple[float, int]:
    """Move x, whose value is given, to the best allowed place on its way along d.

    Return the value there, and the constraint that ended the way; -1: none did.
    """
    r = room_of(f, n)
    most, met = _way_along(f, n, x, d)
    if met < 0 or most == 0.0:
        return value, met
    points = _ROUGH_POINTS if is_rough else _POINTS
    width, best = most / (points - 1.0), 0
    r.values[0] = value
    for b in range(1, points):
        for i in range(r.k):
            place[i] = x[i] + b * width * d[i]
        r.values[b] = _value(f, n, place, is_rough)
        best = b if r.values[b] < r.values[best] else best
    b0 = min(max(best, 1), points - 2)
    before, here, after = r.values[b0 - 1], r.values[b0], r.values[b0 + 1]
    low, high = max(best - b0 - 1.0, -1.0), min(best - b0 + 1.0, 1.0)
    t = b0 + vertex(0.5 * (after - before), after - 2.0 * here + before, low, high)
    for i in range(r.k):
        place[i] = x[i] + t * width * d[i]
    found = _value(f, n, place, is_rough)
    if not found <= r.values[best]:
        t, found = float(best), r.values[best]
    if not found < value:
        return value, -1
    for i in range(r.k):
        x[i] += t * width * d[i]
    return found, met if t == points - 1.0 else -1


# --- Active constraints --------------------------------------------------------------------------


@limb
def _write_basis(f: Floats, n: Ints, active: Floats, count: int, q: Floats, u: Floats) -> int:
    """Write orthonormal rows Q and a triangle U, the normals being U'Q; return how many there are.

    A constraint whose normal the ones before it make up is no longer active.
    """
    k, kept = active.size, 0
    for c in range(count):
        j, whole, square = int(active[c]), 0.0, 0.0
        row = q[kept * k : (kept + 1) * k]
        for i in range(k):
            row[i] = _normal(f, n, k, j, i)
            whole += row[i] * row[i]
        for other in range(kept):
            part = 0.0
            for i in range(k):
                part += q[other * k + i] * row[i]
            u[other * k + kept] = part
            for i in range(k):
                row[i] -= part * q[other * k + i]
        for i in range(k):
            square += row[i] * row[i]
        if square > _FLAT * whole:
            length = math.sqrt(square)
            u[kept * k + kept] = length
            for i in range(k):
                row[i] /= length
            active[kept] = float(j)
            kept += 1
    return kept


@limb
def _worst(active: Floats, count: int, q: Floats, u: Floats, g: Floats) -> int:
    """Return the active constraint with the most negative factor of its normal in -g, or -1."""
    k, worst, least = active.size, -1, -1e-9
    for back in range(count):
        c = count - 1 - back
        factor = 0.0
        for i in range(k):
            factor += q[c * k + i] * g[i]
        for other in range(c + 1, count):
            factor -= u[c * k + other] * u[k * k + other]
        factor /= u[c * k + c]
        u[k * k + c] = factor
        if factor < least:
            worst, least = c, factor
    return worst


@leaf
def _try_knobs(f: Floats, n: Ints, r: Room, x: Floats, value: float) -> float:
    """Search along every knob, both ways; return the value of where that leads."""
    d, place = r.tilde[0 : r.k], r.tilde[r.k : 2 * r.k]
    for i in range(r.k):
        d[i] = 0.0
    for way in range(2 * r.k):
        d[way // 2] = 1.0 - 2.0 * (way % 2)
        value, _ = _search_along(f, n, x, d, place, value, True)
        d[way // 2] = 0.0
    return value


@leaf
def _keep_along(g: Floats, along: Floats, q: Floats, count: int) -> tuple[float, float]:
    """Write what of -g goes along the active constraints; return the squares of both."""
    k, whole, square = g.size, 0.0, 0.0
    for i in range(k):
        along[i] = g[i]
        whole += g[i] * g[i]
    for c in range(count):
        part = 0.0
        for i in range(k):
            part += q[c * k + i] * along[i]
        for i in range(k):
            along[i] -= part * q[c * k + i]
    for i in range(k):
        square += along[i] * along[i]
    return whole, square


@limb
def _descend(f: Floats, n: Ints, x: Floats, is_rough: bool) -> float:
    """Move x, which is allowed, to where no line leads down; return the value there."""
    r = room_of(f, n)
    k, t = r.k, r.tilde
    d, place, g, active = t[0:k], t[k : 2 * k], t[2 * k : 3 * k], t[3 * k : 4 * k]
    q, u = t[4 * k : 4 * k + k * k], t[4 * k + k * k : 5 * k + 2 * k * k]
    value = _value(f, n, x, is_rough)
    if is_rough:
        value = _try_knobs(f, n, r, x, value)
    count, before = 0, 0.0
    for _ in range(_TURNS + _PER_KNOB * k):
        count = _write_basis(f, n, active, count, q, u)
        _write_descent(f, n, x, g, is_rough)
        whole, square = _keep_along(g, place, q, count)
        moved, met = 0.0, -1
        if square > _FLAT * whole and count < k:
            for i in range(k):
                d[i] = place[i] + (square / before * d[i] if before > 0.0 else 0.0)
                r.other[i] = x[i]
            value, met = _search_along(f, n, x, d, place, value, is_rough)
            for i in range(k):
                moved = max(moved, abs(x[i] - r.other[i]))
        if met >= 0:
            active[count] = float(met)
            count += 1
            before = 0.0
        elif moved >= _STILL:
            before = square
        elif before > 0.0:  # conjugate directions have led nowhere: begin anew
            before = 0.0
        else:
            worst = _worst(active, count, q, u, g)
            if worst < 0:
                break
            count -= 1
            for c in range(worst, count):
                active[c] = active[c + 1]
    return value


# --- Where to begin ------------------------------------------------------------------------------


@leaf
def _go_to_grid(f: Floats, n: Ints, is_rough: bool) -> None:
    """Move x to the best allowed point of the grid, if there is one, with one or two knobs."""
    r = room_of(f, n)
    k, points, place, best = r.k, r.points, r.tilde[0 : r.k], math.inf
    for a in range(points if k == 2 else 1):
        row = r.values[a * points : (a + 1) * points]
        write_row(row, r.table, r.draw, a, k, r.base, r.order, is_rough)
        place[0] = r.table[a]
        for b in range(points):
            place[k - 1] = r.table[b]
            if row[b] < best and is_open(f, n, place, r.low, r.high):
                best = row[b]
                for i in range(k):
                    r.x[i] = place[i]


@limb
def minimise_within(f: Floats, n: Ints, is_rough: bool) -> None:
    """Write the better of two minimisers to x: from where x is, and from elsewhere."""
    r = room_of(f, n)
    k, best = r.k, math.inf
    found = r.solution[0:k]
    for trial in range(2):
        if trial == 1 and k > 2:
            for i in range(k):
                r.x[i] = r.low[i] + r.random[4 + i] * (r.high[i] - r.low[i])
        if trial == 1 and k <= 2:
            _go_to_grid(f, n, is_rough)
        go_inside(f, n, r.x, r.knobs[0:k], r.low, r.high, r.tilde)
        value = _descend(f, n, r.x, is_rough)
        if trial == 0 or value < best:
            best = value
            for i in range(k):
                found[i] = r.x[i]
    for i in range(k):
        r.x[i] = found[i]
