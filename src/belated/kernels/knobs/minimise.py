"""Where a surface, a quadratic with cosines, is least among the allowed places.

Without constraints: knob by knob, which is exact for bowls; with cosines of two knobs on a grid.
From there, and from the last play, the spectral projected gradient method leads to the allowed
minimiser: steps along the negative gradient have the length of Barzilai and Borwein, s's / s'y with
s the last step and y the change of the gradient, and are projected. The best place is kept.
"""

from __future__ import annotations

import math

from belated.arrays import Floats, Ints
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.constraints import go_inside, go_near, is_open
from belated.kernels.knobs.features import write_features
from belated.kernels.knobs.views import Views

_SWEEPS, _SMALL_MOVE = 10, 1e-3  # knob by knob: at most so many times, or until moves are small
_STEPS, _PER_KNOB = 30, 8  # of a descent
_STILL = 1e-5  # a smaller move ends a descent
_APART = 1.0 / 1024.0  # between places that a slope is taken from, and the length of the first step


@leaf
def _vertex(slope: float, bend: float, low: float, high: float) -> float:
    """Return where slope d + bend d^2 / 2 is least for low <= d <= high."""
    if bend > 0.0:
        return min(max(-slope / bend, low), high)
    at_low = low * (slope + 0.5 * bend * low)
    at_high = high * (slope + 0.5 * bend * high)
    return low if at_low < at_high else high


@leaf
def _refine(values: Floats, best: int) -> float:
    """Return where a parabola through the best value of a line and its neighbours is least.

    In steps from the first value, and at most one step from the best.
    """
    middle = min(max(best, 1), values.size - 2)
    before, here, after = values[middle - 1], values[middle], values[middle + 1]
    d = float(best - middle)
    low, high = max(d - 1.0, -1.0), min(d + 1.0, 1.0)
    return middle + _vertex(0.5 * (after - before), after - 2.0 * here + before, low, high)


@leaf
def _write_row(v: Views, a: int) -> Floats:
    """Write the values along row a of the grid, and return them."""
    points, table, draw, order = v.points, v.table, v.draw, v.order
    row = v.values[a * points : (a + 1) * points]
    slope, constant = draw[2] + draw[5] * table[a], (draw[1] + draw[3] * table[a]) * table[a]
    for b in range(points):
        row[b] = constant + (slope + draw[4] * table[b]) * table[b]
    for j in range(order + 1):
        factor = 0.0
        for i in range(0 if j > 0 else 1, order - j + 1):
            at = v.base - 1 + i * (order + 1) - i * (i - 1) // 2 + j
            factor += draw[at] * table[(1 + i) * points + a]
        for b in range(points):
            row[b] += factor * table[(1 + j) * points + b]
    return row


@limb
def _go_to_grid(v: Views, n: Ints) -> None:
    """Move x to the best allowed point of the grid, if there is one, with two knobs."""
    table, place, best = v.table, v.search[0:2], math.inf
    for a in range(v.points):
        row = _write_row(v, a)
        place[0] = table[a]
        for b in range(v.points):
            place[1] = table[b]
            if row[b] < best and is_open(v, n, place):
                best, v.x[0], v.x[1] = row[b], table[a], table[b]


@limb
def _best_along(v: Views, i: int, is_rough: bool) -> float:
    """Return the best place of knob i, all others staying where they are."""
    k, points, table, draw, low, high = v.k, v.points, v.table, v.draw, v.low[i], v.high[i]
    slope, bend, at = draw[1 + i], draw[1 + k + i], 2 * k
    for j in range(i):
        slope += draw[at + i - j] * v.x[j]
        at += k - 1 - j
    for j in range(i + 1, k):
        slope += draw[at + j - i] * v.x[j]
    if not is_rough:
        return _vertex(slope, 2.0 * bend, low, high)
    row, first = v.values[0:points], 1 if k == 1 else 2
    own, best, place = v.base + (v.order + 1 - first) * i - first, math.inf, 0
    for b in range(points):
        row[b] = (slope + bend * table[b]) * table[b]
        for j in range(first, v.order + 1):
            row[b] += draw[own + j] * table[(1 + j) * points + b]
        if row[b] < best and low <= table[b] <= high:
            best, place = row[b], b
    return min(max(_refine(row, place) * (table[1] - table[0]) - 1.0, low), high)


@limb
def _value_at(v: Views, is_rough: bool) -> float:
    """Return what the coefficients of a play say of x, but for a constant."""
    k, x, draw, at, value = v.k, v.x, v.draw, 1 + 2 * v.k, 0.0
    for i in range(k):
        slope = draw[1 + i] + draw[1 + k + i] * x[i]
        for j in range(i + 1, k):
            slope += draw[at] * x[j]
            at += 1
        value += slope * x[i]
    if is_rough:
        write_features(v)
        for i in range(v.base, v.most):
            value += draw[i] * v.phi[i]
    return value


@limb
def _minimise_by_knob(v: Views, is_rough: bool) -> None:
    """Write the better of two minimisers to x: from where x is, and from a random point."""
    k, best, found = v.k, math.inf, v.scratch[0 : v.k]
    for trial in range(2):
        if trial == 1:
            for i in range(k):
                v.x[i] = v.low[i] + v.random[4 + i] * (v.high[i] - v.low[i])
        for _ in range(_SWEEPS):
            moved = 0.0
            for i in range(k):
                place = _best_along(v, i, is_rough)
                moved = max(moved, abs(place - v.x[i]))
                v.x[i] = place
            if moved < _SMALL_MOVE:
                break
        value = _value_at(v, is_rough)
        if value < best:
            best = value
            for i in range(k):
                found[i] = v.x[i]
    for i in range(k):
        v.x[i] = found[i]


@limb
def _descend(v: Views, n: Ints, is_rough: bool, best: float) -> float:
    """Descend from x, which is allowed; keep the best place in scratch if it is below ``best``."""
    k, x, found = v.k, v.x, v.scratch[0 : v.k]
    slope, here = v.search[0:k], v.search[k : 2 * k]
    for turn in range(_STEPS + _PER_KNOB * k):
        value = _value_at(v, is_rough)
        if value < best:
            best = value
            for i in range(k):
                found[i] = x[i]
        moved, bend, size = 0.0, 0.0, 0.0
        for i in range(k):
            step, place = x[i] - here[i], x[i]
            x[i] = place + _APART
            after = _value_at(v, is_rough)
            x[i] = place - _APART
            own = 0.5 * (after - _value_at(v, is_rough)) / _APART
            x[i] = place
            moved += step * step
            bend += step * (own - slope[i])
            size += own * own
            slope[i], here[i] = own, place
        if size == 0.0 or (turn > 0 and moved < _STILL * _STILL):
            break
        length = _APART / math.sqrt(size)
        if turn > 0:
            length = moved / abs(bend) if moved < abs(bend) * 1e6 * length else 1e3 * length
        for i in range(k):
            x[i] -= length * slope[i]
        go_near(v, n)
    return best


@limb
def minimise(v: Views, n: Ints, is_rough: bool) -> None:
    """Write the minimiser of the surface among the allowed places to x."""
    best, is_on_grid = math.inf, is_rough and v.k == 2
    if is_on_grid:
        _go_to_grid(v, n)
    else:
        _minimise_by_knob(v, is_rough)
    if not is_on_grid and n[L.LIMITS] == 0:
        return
    for trial in range(2 if n[L.LIMITS] > 0 else 1):
        for i in range(v.k):
            if trial == 1:
                v.x[i] = min(max(v.last[i], v.low[i]), v.high[i])
        go_inside(v, n)
        best = _descend(v, n, is_rough, best)
    for i in range(v.k):
        v.x[i] = v.scratch[i]
