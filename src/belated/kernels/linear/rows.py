"""Rows of linear models: coordinates with standardised values, and the pool that keeps them."""

from __future__ import annotations

import math
from typing import TypeAlias

from belated.arrays import Code, Floats, Ints
from belated.kernels.jit import leaf
from belated.kernels.learners.state import State
from belated.kernels.linear import layout as lm
from belated.kernels.linear.due import drop_closed
from belated.kernels.prefetch import prefetch
from belated.kernels.slots import ints as N
from belated.kernels.tickets import tail
from belated.kernels.vectors import vector

Four: TypeAlias = tuple[float, float, float, float]

AHEAD = 16  # entries that memory is asked for ahead of the one in hand
_FLAT = 1e-12  # a variance below this part of the squared mean is rounding


@leaf
def state_of(f: Floats, n: Ints) -> State:
    """Name the parts of the state."""
    f, n = vector(f), vector(n)
    nothing = f[:0]
    return State(
        f,
        n,
        nothing,
        nothing,
        f[lm.HEADER : n[N.KEPT_AT]],
        nothing,
        n[N.HEADER : N.HEADER + 2 * n[N.CAPACITY]],
        nothing,
        f[n[N.KEPT_AT] : f.size],
    )


# --- Entries --------------------------------------------------------------------------------------


@leaf
def bad_entry(coordinates: int, indices: Ints, values: Floats, first: int, count: int) -> int:
    """Return the first entry whose coordinate or value cannot be used, or -1."""
    for j in range(first, first + count):
        if not (0 <= indices[j] < coordinates and abs(values[j]) <= lm.HUGE_VALUE):
            return j
    return -1


@leaf
def standardise(row: Floats, x: float) -> float:
    """Count a value of a coordinate (Welford), and return it in standard units.

    A coordinate that never varies has value 1, or 0 if it has always been 0.
    """
    seen = row[lm.SEEN] + 1.0
    centre, scatter = row[lm.CENTRE], row[lm.SCATTER]
    away = x - centre
    row[lm.SEEN] = seen
    if away != 0.0 or scatter > 0.0:
        share = 1.0 / seen
        centre += away * share
        scatter += away * (x - centre)
        row[lm.CENTRE] = centre
        row[lm.SCATTER] = scatter
        variance = scatter * share
        if variance > _FLAT * centre * centre:
            return (x - centre) / math.sqrt(variance)
    return 1.0 if centre != 0.0 else 0.0


@leaf
def enter(row: Floats, pair: Floats, index: int, x: float) -> float:
    """Note an entry of a new ticket in the pool, and return its standardised value."""
    unit = standardise(row, x)
    row[lm.OPEN] += abs(unit)
    pair[0] = index
    pair[1] = unit
    return unit


@leaf
def added(sums: Four, numbers: Floats, first: int, factor: float) -> Four:
    """Return sums + factor * four numbers."""
    return (
        sums[0] + numbers[first] * factor,
        sums[1] + numbers[first + 1] * factor,
        sums[2] + numbers[first + 2] * factor,
        sums[3] + numbers[first + 3] * factor,
    )


@leaf
def ask(c: Floats, index: int) -> None:
    """Ask for what a prediction needs of a coordinate."""
    prefetch(c, index * lm.ROW)
    prefetch(c, index * lm.ROW + lm.COIN)


@leaf
def ask_all(c: Floats, index: int) -> None:
    """Ask for what a label needs of a coordinate."""
    ask(c, index)
    prefetch(c, index * lm.ROW + lm.WEALTH)


@leaf
def leave(row: Floats, x: float) -> None:
    """Take an entry out of the sum over open tickets, which rounding must not make negative."""
    row[lm.OPEN] = max(row[lm.OPEN] - abs(x), 0.0)


# --- The pool -------------------------------------------------------------------------------------


@leaf
def pool_has_room(code: Code, s: State, pool: Floats, count: int) -> bool:
    """Make room for one more row and for when it is due; False when work or pool must grow."""
    if lm.SCALES * count > s.work.size:
        return False
    if 2 * (s.n[N.POOL_TAIL] + s.n[N.DUE] + count) + 2 <= pool.size:
        return True
    if code[lm.TIMED]:
        drop_closed(s, pool)
    if 4 * (s.n[N.POOL_LIVE] + s.n[N.DUE] + count) + 2 > pool.size:
        return False
    _squeeze(s, pool)
    return True


@leaf
def _squeeze(s: State, pool: Floats) -> None:
    """Drop the rows of closed tickets; those of open ones stand in ticket order, and still will."""
    end = 0
    for entry in range(tail(s)):
        if s.table[2 * entry + 1] >= 0:
            record = entry * lm.KEEP
            start, count = int(s.kept[record + lm.START]), int(s.kept[record + lm.PAIRS])
            for i in range(2 * count):
                pool[2 * end + i] = pool[2 * start + i]
            s.kept[record + lm.START] = end
            end += count
    s.n[N.POOL_TAIL] = end
