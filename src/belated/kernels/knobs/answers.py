"""Answers on their way to the models: they wait until there is a unit.

The first answers give the anchor, their median, and the unit, their deviation from it. The few that
are far beyond all others are left out of the unit: they are clipped when they are learned. Answers
that are all equal are learned at once, as 0 in any unit.
"""

from __future__ import annotations

import math

from belated.arrays import Floats
from belated.kernels.jit import leaf, limb
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.features import write_features
from belated.kernels.knobs.models import solve_due
from belated.kernels.knobs.sufficient_stats import advance, learn
from belated.kernels.knobs.views import Views, views_of
from belated.kernels.slots import ints as N
from belated.kernels.state import State
from belated.kernels.tickets import locate

_ROUNDING = 1e-13  # costs that differ by no more than this share of them are equal
_BEYOND = 30.0  # upper quartiles of the distances from the median: costs further out are outliers
_MOST_VALUE = 1e9  # keeps squares finite


@limb
def pack(values: Floats, kept: Floats, at: int) -> int:
    """Write numbers of [-1, 1] two by two; return where the next ones go."""
    for i in range(0, values.size, 2):
        first = (values[i] + 1.0) * L.GRID
        second = (values[i + 1] + 1.0) * L.GRID if i + 1 < values.size else 0.0
        kept[at] = first * L.PAIR + second
        at += 1
    return at


@limb
def unpack(kept: Floats, at: int, values: Floats) -> int:
    """Undo ``pack``."""
    for i in range(0, values.size, 2):
        first = math.floor(kept[at] / L.PAIR)
        values[i] = first / L.GRID - 1.0
        if i + 1 < values.size:
            values[i + 1] = (kept[at] - first * L.PAIR) / L.GRID - 1.0
        at += 1
    return at


@limb
def enqueue(s: State, entry: int, is_last: bool) -> None:
    """Put the cost of a ticket behind those that wait, or in the place of its earlier one."""
    v, record = views_of(s.f, s.n), entry * s.n[N.KEEP]
    width, ticket = L.OF_ANSWER + v.k + v.context.size, s.table[2 * entry]
    filled = int(s.f[L.FILLED])
    place = filled
    for i in range(filled):
        if v.buffer[i * width + L.ITS_TICKET] == ticket:
            place = i
    answer = v.buffer[place * width : (place + 1) * width]
    answer[L.COST] = s.kept[record + L.SO_FAR]
    answer[L.IS_LAST] = 1.0 if is_last else 0.0
    if place == filled:
        learned = s.kept[record + L.LEARNED]
        answer[L.ITS_TICKET] = ticket
        answer[L.REPLACES] = 1.0 if learned == learned else 0.0
        x, context = answer[L.OF_ANSWER : L.OF_ANSWER + v.k], answer[L.OF_ANSWER + v.k : width]
        unpack(s.kept, unpack(s.kept, record + L.OF_TICKET, x), context)
        s.f[L.FILLED] = filled + 1.0


@leaf
def _quantile(v: Views, width: int, filled: int, rank: int, center: float, is_apart: bool) -> float:
    """Return the cost of a rank among those that wait, or their distance from ``center``."""
    for i in range(filled):
        mine = v.buffer[i * width + L.COST]
        mine = abs(mine - center) if is_apart else mine
        below, equal = 0, 0
        for j in range(filled):
            other = v.buffer[j * width + L.COST]
            other = abs(other - center) if is_apart else other
            below += 1 if other < mine else 0
            equal += 1 if other == mine else 0
        if below <= rank < below + equal:
            return mine
    return center


@leaf
def _count_ready(v: Views, width: int, waits: int) -> int:
    """Return how many of the answers that wait can be learned; find the unit if it is time."""
    f, filled = v.f, int(v.f[L.FILLED])
    if f[L.UNIT] > 0.0 or filled < waits:
        return filled if f[L.UNIT] > 0.0 else 0
    common = f[L.ANCHOR] if f[L.FED] > 0.0 else v.buffer[L.COST]
    farthest = _quantile(v, width, filled, filled - 1, common, True)
    anchor = common
    if f[L.FED] == 0.0:
        anchor = _quantile(v, width, filled, filled // 2, 0.0, False)
    quartile = _quantile(v, width, filled, 3 * filled // 4, anchor, True)
    most = _BEYOND * quartile if quartile > _ROUNDING * abs(anchor) else math.inf
    count, squares = f[L.FED], 0.0
    for i in range(filled):
        apart = abs(v.buffer[i * width + L.COST] - anchor)
        count += 1.0 if apart <= most else 0.0
        squares += apart * apart if apart <= most else 0.0
    unit = math.sqrt(squares / count)
    if unit < L.LEAST_UNIT or farthest <= _ROUNDING * abs(common):
        f[L.ANCHOR] = common
        return 1
    f[L.ANCHOR], f[L.UNIT] = anchor, unit
    return filled


@limb
def learn_waiting(s: State) -> None:
    """Learn the answers that have waited long enough."""
    f, k, v = s.f, s.n[N.DIM], views_of(s.f, s.n)
    width, filled = L.OF_ANSWER + k + v.context.size, int(f[L.FILLED])
    ready = _count_ready(v, width, v.buffer.size // width)
    for i in range(ready):
        answer = v.buffer[i * width : (i + 1) * width]
        ticket, is_new = int(answer[L.ITS_TICKET]), answer[L.REPLACES] == 0.0
        advance(v, ticket)
        y, before, entry = 0.0, 0.0, locate(s, ticket)
        if f[L.UNIT] > 0.0:
            solve_due(v)
            y = min(max((answer[L.COST] - f[L.ANCHOR]) / f[L.UNIT], -_MOST_VALUE), _MOST_VALUE)
        else:
            f[L.FED] += 1.0 if is_new else 0.0
        for j in range(k):
            v.x[j] = answer[L.OF_ANSWER + j]
        for j in range(v.context.size):
            v.context[j] = answer[L.OF_ANSWER + k + j]
        write_features(v)
        if not is_new and entry >= 0:  # one that was closed since then was learned as 0 before
            before = s.kept[entry * s.n[N.KEEP] + L.LEARNED]
        learned = learn(v, ticket, y, before, is_new, answer[L.IS_LAST] > 0.0)
        if entry >= 0:
            s.kept[entry * s.n[N.KEEP] + L.LEARNED] = learned
    if ready > 0 and f[L.UNIT] > 0.0:
        solve_due(v)
    for i in range((filled - ready) * width):
        v.buffer[i] = v.buffer[ready * width + i]
    f[L.FILLED] = float(filled - ready)
