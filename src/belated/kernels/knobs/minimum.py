"""Where a quadratic with cosines is least in a box: a grid and a parabola, or knob by knob."""

from __future__ import annotations

import math

from belated.arrays import Floats, Ints
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.features import write_features
from belated.kernels.knobs.room import room_of

_SWEEPS = 10
_STILL = 1e-3  # less than this is no move
_SETTLING = 12


@leaf
def vertex(slope: float, bend: float, low: float, high: float) -> float:
    """Return where slope d + bend d^2 / 2 is least for low <= d <= high."""
    if bend > 0.0:
        return min(max(-slope / bend, low), high)
    at_low = low * (slope + 0.5 * bend * low)
    at_high = high * (slope + 0.5 * bend * high)
    return low if at_low < at_high else high


@leaf
def _between(x: float, low: float, high: float) -> float:
    """Return x inside of [low, high], whatever it is."""
    if not x >= low:
        return low
    return x if x <= high else high


# --- One or two knobs ----------------------------------------------------------------------------


@leaf
def write_row(
    row: Floats,
    table: Floats,
    draw: Floats,
    a: int,
    k: int,
    base: int,
    order: int,
    is_rough: bool,
) -> None:
    """Write the values along row a of the grid."""
    points = row.size
    x = table[a]
    slope, constant = draw[k], 0.0
    if k == 2:
        slope += draw[5] * x
        constant = (draw[1] + draw[3] * x) * x
    bend = draw[2 * k]
    for b in range(points):
        row[b] = constant + (slope + bend * table[b]) * table[b]
    if is_rough:
        for j in range(order + 1):
            factor = 0.0
            for i in range((order - j) * (k - 1) + 1):
                if i + j > 0:
                    at = base - 1 + i * (order + 1) - i * (i - 1) // 2 + j
                    factor += draw[at] * (table[(1 + i) * points + a] if k == 2 else 1.0)
            cosines = table[(1 + j) * points : (2 + j) * points]
            for b in range(points):
                row[b] += factor * cosines[b]


@limb
def minimise_on_grid(f: Floats, n: Ints, is_rough: bool) -> None:
    """Write the minimiser to x: the best point of the grid, and a parabola around it."""
    r = room_of(f, n)
    k, points, table, values = r.k, r.points, r.table, r.values
    inner = k - 1
    best, best_a, best_b = math.inf, 0, 0
    for a in range(points if k == 2 else 1):
        row = values[a * points : (a + 1) * points]
        write_row(row, table, r.draw, a, k, r.base, r.order, is_rough)
        if k == 1 or r.low[0] <= table[a] <= r.high[0]:
            for b in range(points):
                if row[b] < best and r.low[inner] <= table[b] <= r.high[inner]:
                    best, best_a, best_b = row[b], a, b
    width = table[1] - table[0]
    b0 = min(max(best_b, 1), points - 2)
    a0 = min(max(best_a, 1), points - 2) if k == 2 else 0
    at = a0 * points + b0
    slope_b = 0.5 * (values[at + 1] - values[at - 1])
    bend_b = values[at + 1] - 2.0 * values[at] + values[at - 1]
    slope_a, bend_a, both, d_a = 0.0, 0.0, 0.0, 0.0
    if k == 2:
        up, down = at + points, at - points
        slope_a = 0.5 * (values[up] - values[down])
        bend_a = values[up] - 2.0 * values[at] + values[down]
        both = 0.25 * (values[up + 1] - values[up - 1] - values[down + 1] + values[down - 1])
        d_a = float(best_a - a0)
    d_b = float(best_b - b0)
    low_b, high_b = max(d_b - 1.0, -1.0), min(d_b + 1.0, 1.0)
    low_a, high_a = max(d_a - 1.0, -1.0), min(d_a + 1.0, 1.0)
    for _ in range(_SETTLING if k == 2 else 1):
        d_b = vertex(slope_b + both * d_a, bend_b, low_b, high_b)
        if k == 2:
            d_a = vertex(slope_a + both * d_b, bend_a, low_a, high_a)
    r.x[inner] = _between(table[b0] + d_b * width, r.low[inner], r.high[inner])
    if k == 2:
        r.x[0] = _between(table[a0] + d_a * width, r.low[0], r.high[0])


# --- More knobs ----------------------------------------------------------------------------------


@limb
def _best_along(
    x: Floats,
    i: int,
    low: float,
    high: float,
    draw: Floats,
    base: int,
    table: Floats,
    row: Floats,
    is_rough: bool,
) -> float:
    """Return the best place of knob i, all others staying where they are."""
    k, points = x.size, row.size
    slope, bend = draw[1 + i], draw[1 + k + i]
    at = 2 * k
    for j in range(i):
        slope += draw[at + i - j] * x[j]
        at += k - 1 - j
    for j in range(i + 1, k):
        slope += draw[at + j - i] * x[j]
    if not is_rough:
        return _between(vertex(slope, 2.0 * bend, low, high), low, high)
    own = base + L.EACH * i
    first, second, third = draw[own], draw[own + 1], draw[own + 2]
    for b in range(points):
        value = (slope + bend * table[b]) * table[b] + first * table[3 * points + b]
        row[b] = value + second * table[4 * points + b] + third * table[5 * points + b]
    best, place = math.inf, 0
    for b in range(points):
        if row[b] < best and low <= table[b] <= high:
            best, place = row[b], b
    b0 = min(max(place, 1), points - 2)
    d = float(place - b0)
    d = vertex(
        0.5 * (row[b0 + 1] - row[b0 - 1]),
        row[b0 + 1] - 2.0 * row[b0] + row[b0 - 1],
        max(d - 1.0, -1.0),
        min(d + 1.0, 1.0),
    )
    return _between(table[b0] + d * (table[1] - table[0]), low, high)


@limb
def minimise_by_knob(f: Floats, n: Ints, is_rough: bool) -> None:
    """Write the better of two minimisers to x: from where x is, and from a random point."""
    r = room_of(f, n)
    k, row = r.k, r.values[0 : r.points]
    best = math.inf
    for trial in range(2):
        if trial == 1:
            for i in range(k):
                r.x[i] = r.low[i] + r.random[4 + i] * (r.high[i] - r.low[i])
        for _ in range(_SWEEPS):
            moved = 0.0
            for i in range(k):
                place = _best_along(
                    r.x, i, r.low[i], r.high[i], r.draw, r.base, r.table, row, is_rough
                )
                moved = max(moved, abs(place - r.x[i]))
                r.x[i] = place
            if moved < _STILL:
                break
        write_features(r.x, r.context, r.order, r.chebyshev, r.phi)
        value = 0.0
        for i in range(1, r.base + r.cosines):
            value += r.draw[i] * r.phi[i]
        if value < best:
            best = value
            for i in range(k):
                r.other[i] = r.x[i]
    for i in range(k):
        r.x[i] = r.other[i]
