"""Rows of linear models: coordinates with standardised values, and the pool that keeps them."""

from __future__ import annotations

import math
from typing import TypeAlias

from belated.arrays import Code, Floats, Ints
from belated.kernels.jit import leaf
from belated.kernels.learners.state import State
from belated.kernels.linear import layout as lm
from belated.kernels.linear.due import drop_closed
from belated.kernels.narrow import (
    MOST,
    bits,
    bits_of,
    count,
    float_of,
    number,
    put_bits,
    put_count,
    put_number,
)
from belated.kernels.prefetch import prefetch
from belated.kernels.slots import ints as N
from belated.kernels.tickets import tail
from belated.kernels.vectors import vector

Three: TypeAlias = tuple[float, float, float]
Four: TypeAlias = tuple[float, float, float, float]
Two: TypeAlias = tuple[float, float]

AHEAD = 16  # entries that memory is asked for ahead of the one in hand
# CENTRE and STAKE share 64 bits. STAKE has 9 of the exponent and 7 after the point; 0 is 0.
LOW = 0xFFFF
_HALF = 0x8000
CUT = 45  # bits of a float64 that STAKE leaves out
LEAST = (1023 - 256) << 7  # exponents start at -256
# Rounding up leaves 2^-30 out, so that 1 and what is 1 but for rounding are the same.
_ALMOST = (1 << CUT) - (1 << 22)
_LEAST_TOTAL = 1e-280  # below, a value is as good as the mean
_FLAT = 1e-12  # a variance below this part of the squared mean is rounding


@leaf
def state_of(f: Floats, n: Ints) -> State:
    """Name the parts of the state."""
    f, n = vector(f), vector(n)
    nothing = f[:0]
    return State(
        f=f,
        n=n,
        z=nothing,
        p=nothing,
        work=f[lm.HEADER : n[N.KEPT_AT]],
        chart=nothing,
        table=n[N.HEADER : N.HEADER + 2 * n[N.CAPACITY]],
        own=nothing,
        kept=f[n[N.KEPT_AT] : f.size],
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
def enter_all(c: Ints, four: Floats, pairs: Floats, indices: Ints, values: Floats) -> None:
    """Note the entries of a new ticket in the pool, each with its standardised value.

    Four at a time where these are four coordinates, which is one after the other all the same:
    that becomes vector instructions. ``four`` is room for as many numbers.
    """
    last = indices.size - 1
    for j in range(min(AHEAD, indices.size)):
        ask(c, indices[j])
    j = 0
    while j <= last:
        if j + 3 <= last and _differ(indices, j):
            for i in range(4):
                ask(c, indices[min(j + i + AHEAD, last)])
            _enter_four(c, four, pairs, j, indices, values)
            j += 4
        else:
            enter(row_of(c, indices[j]), pairs, j, indices[j], values[j])
            j += 1


@leaf
def _differ(indices: Ints, j: int) -> bool:
    """Tell whether four coordinates are all different."""
    a, b, c, d = indices[j], indices[j + 1], indices[j + 2], indices[j + 3]
    return ((a != b) & (a != c) & (a != d)) & ((b != c) & (b != d) & (c != d))


@leaf
def _enter_four(
    c: Ints, four: Floats, pairs: Floats, j: int, indices: Ints, values: Floats
) -> None:
    """Note four entries; what is written to ``four`` tells the compiler that they go together."""
    rows = (
        row_of(c, indices[j]),
        row_of(c, indices[j + 1]),
        row_of(c, indices[j + 2]),
        row_of(c, indices[j + 3]),
    )
    found = (
        standardised(rows[0], values[j]),
        standardised(rows[1], values[j + 1]),
        standardised(rows[2], values[j + 2]),
        standardised(rows[3], values[j + 3]),
    )
    four[0] = found[0][0]
    four[1] = found[1][0]
    four[2] = found[2][0]
    four[3] = found[3][0]
    _note(rows[0], pairs, j, indices[j], found[0])
    _note(rows[1], pairs, j + 1, indices[j + 1], found[1])
    _note(rows[2], pairs, j + 2, indices[j + 2], found[2])
    _note(rows[3], pairs, j + 3, indices[j + 3], found[3])


@leaf
def enter(row: Ints, pairs: Floats, j: int, index: int, x: float) -> None:
    """Note entry j of a new ticket in the pool, with its standardised value."""
    _note(row, pairs, j, index, standardised(row, x))


@leaf
def standardised(row: Ints, x: float) -> Three:
    """Return a value of a coordinate in standard units; its mean and its variance then (Welford).

    With d = x - mean and T = n variance + d^2, where n counts x: mean += d / n,
    variance = (n - 1) T / n^2, and x becomes d sqrt((n - 1) / T). A coordinate that never varies
    has value 1, or 0 if it has always been 0. One division does for 1 / n and 1 / T.
    """
    before = float(min(count(row, lm.SEEN), MOST - 1))
    seen = before + 1.0
    shared, variance = bits(row, lm.CENTRE), number(row, lm.VARIANCE)
    centre = float_of(shared & ~LOW)
    away = x - centre
    total = seen * variance + away * away
    inverse = 1.0 / (seen * max(total, _LEAST_TOTAL))
    share = total * inverse
    centre += away * share
    variance = (total * share) * (before * share)
    unit = away * math.sqrt(before * (seen * inverse))
    constant = 1.0 if centre != 0.0 else 0.0
    return unit if variance > _FLAT * centre * centre else constant, centre, variance


@leaf
def _note(row: Ints, pairs: Floats, j: int, index: int, found: Three) -> None:
    """Keep what was found of an entry."""
    unit, centre, variance = found
    stake = bits(row, lm.CENTRE) & LOW
    put_bits(row, lm.CENTRE, ((bits_of(centre) + _HALF) & ~LOW) | stake)
    put_number(row, lm.VARIANCE, variance)
    put_count(row, lm.SEEN, min(count(row, lm.SEEN) + 1, MOST))
    put_count(row, lm.OPEN, min(count(row, lm.OPEN) + _grains(unit), MOST))
    pairs[2 * j] = index
    pairs[2 * j + 1] = unit


@leaf
def stake_of(row: Ints) -> float:
    """Return L, the largest gradient of the coin, rounded up."""
    short = bits(row, lm.CENTRE) & LOW
    return float_of((short + LEAST) << CUT) if short > 0 else 0.0


@leaf
def raise_stake(row: Ints, size: float) -> float:
    """Let L be the size of a gradient, rounded up, and return it."""
    up = (bits_of(size) + _ALMOST) >> CUT
    short = min(max(up - LEAST, 1), LOW)
    put_bits(row, lm.CENTRE, (bits(row, lm.CENTRE) & ~LOW) | short)
    return float_of((short + LEAST) << CUT)


@leaf
def _grains(x: float) -> int:
    """Return |x| as a whole number, so that sums over open tickets are exact."""
    return int(abs(x) * lm.GRAINS + 0.5)


@leaf
def leave(row: Ints, x: float) -> None:
    """Take an entry out of the sum over open tickets."""
    put_count(row, lm.OPEN, max(count(row, lm.OPEN) - _grains(x), 0))


@leaf
def added(sums: Four, row: Ints, first: int, factor: float) -> Four:
    """Return sums + factor * four numbers."""
    return (
        sums[0] + number(row, first) * factor,
        sums[1] + number(row, first + 1) * factor,
        sums[2] + number(row, first + 2) * factor,
        sums[3] + number(row, first + 3) * factor,
    )


@leaf
def row_of(c: Ints, index: int) -> Ints:
    """Return the row of a coordinate."""
    return c[index * lm.ROW : (index + 1) * lm.ROW]


@leaf
def ask(c: Ints, index: int) -> None:
    """Ask for the row of a coordinate."""
    prefetch(c, index * lm.ROW)


@leaf
def keep(row: Ints, four: Floats) -> None:
    """Keep what a prediction changes of a coordinate."""
    four[0] = float_of(bits(row, lm.CENTRE))
    four[1] = count(row, lm.SEEN)
    four[2] = number(row, lm.VARIANCE)
    four[3] = count(row, lm.OPEN)


@leaf
def put_back(row: Ints, four: Floats) -> None:
    """Undo a prediction."""
    put_bits(row, lm.CENTRE, bits_of(four[0]))
    put_count(row, lm.SEEN, int(four[1]))
    put_number(row, lm.VARIANCE, four[2])
    put_count(row, lm.OPEN, int(four[3]))


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
