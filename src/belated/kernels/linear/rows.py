"""Rows of linear models: coordinates with standardised values, and the pool that keeps them."""

from __future__ import annotations

from typing import Any, TypeAlias

from belated.arrays import Code, Floats, Ints
from belated.kernels.fours import above, least, most, roots, truncated
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm
from belated.kernels.linear.due import drop_closed
from belated.kernels.linear.together import Entries, Laid, ask_ahead, entries_of, put_values
from belated.kernels.narrow import (
    MOST,
    bits,
    count,
    float_of,
    number,
    put_count,
)
from belated.kernels.slots import ints as N
from belated.kernels.state import State
from belated.kernels.tickets import tail
from belated.kernels.vectors import vector
from belated.kernels.words import (
    Bits,
    Lanes,
    bits_in,
    columns,
    counted,
    floats_in,
    put_columns,
    upper,
    with_counts,
    with_upper,
)

Three: TypeAlias = tuple[float, float, float]
Four: TypeAlias = tuple[float, float, float, float]

# CENTRE and STAKE share 64 bits. STAKE has 9 of the exponent and 7 after the point; 0 is 0.
LOW = 0xFFFF
HALF = 0x8000
CUT = 45  # bits of a float64 that STAKE leaves out
LEAST = (1023 - 256) << 7  # exponents start at -256
# Rounding up leaves 2^-30 out, so that 1 and what is 1 but for rounding are the same.
_ALMOST = (1 << CUT) - (1 << 22)
_CUT_OFF = -(1 << CUT)
_NO_STAKE = 2.0**-256
_LEAST_STAKE, _MOST_STAKE = 2.0**-256 * (1.0 + 2.0**-7), 2.0**255 * (2.0 - 2.0**-7)
OPENS, STAYS, LEAVES = 1.0, 0.0, -1.0  # what a row does to the sums over open tickets
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
def enter_all(c: Ints, row: Laid) -> None:
    """Standardise the values of a new ticket, and let means and variances know of them.

    Loops are short, so that processors have several groups in hand: here each waits long for one
    division and one root.
    """
    j = 0
    while j < row.entries:
        ask_ahead(c, row, j)
        e = entries_of(row, j)
        centres, seen = columns(c, e.rows, lm.CENTRE_AT)
        before = least(counted(seen), MOST - 1.0)
        unit, centre, variance = _updated(before, floats_in(centres & ~LOW), upper(seen), e.x)
        centres = ((bits_in(centre) + HALF) & ~LOW) | (centres & LOW)
        seen = with_counts(with_upper(seen, variance), before + 1.0)
        put_columns(c, e.rows, lm.CENTRE_AT, centres, seen)
        put_values(row, j, e.taken, unit)
        j += e.taken


@leaf
def standardised(row: Ints, x: float) -> Three:
    """Return a value of a coordinate in standard units; its mean and its variance then."""
    before = float(min(count(row, lm.SEEN), MOST - 1))
    centre = float_of(bits(row, lm.CENTRE) & ~LOW)
    return _updated(before, centre, number(row, lm.VARIANCE), x)


@leaf
def _updated(before: Any, centre: Any, variance: Any, x: Any) -> Any:
    """Return values in standard units, and means and variances with them (Welford).

    With d = x - mean and T = n variance + d^2, where n counts x: mean += d / n,
    variance = (n - 1) T / n^2, and x becomes d sqrt((n - 1) / T). A coordinate that never varies
    has value 1, or 0 if it has always been 0. One division does for 1 / n and 1 / T.
    """
    seen = before + 1.0
    away = x - centre
    total = seen * variance + away * away
    inverse = 1.0 / (seen * most(total, _LEAST_TOTAL))
    share = total * inverse
    mean = centre + away * share
    spread = (total * share) * (before * share)
    unit = away * roots(before * (seen * inverse))
    constant = above(abs(mean), 0.0, 1.0, 0.0)
    return above(spread, _FLAT * mean * mean, unit, constant), mean, spread


@leaf
def _grains(x: Any) -> Any:
    """Return |x| as a whole number, so that sums over open tickets are exact."""
    return truncated(abs(x) * float(lm.GRAINS) + 0.5)


@leaf
def with_entry(opened: Any, x: Any) -> Any:
    """Take an entry into the sum over open tickets."""
    return least(opened + _grains(x), float(MOST))


@leaf
def _without(opened: Any, x: Any) -> Any:
    """Take an entry out of the sum over open tickets."""
    return most(opened - _grains(x), 0.0)


@leaf
def leave(row: Ints, x: float) -> None:
    """Take an entry out of the sum over open tickets."""
    put_count(row, lm.OPEN, int(_without(float(count(row, lm.OPEN)), x)))


@leaf
def open_or_leave(c: Ints, e: Entries, opened: Bits, stakes: Bits, sign: float) -> None:
    """Take entries in or out of the sums over open tickets, which their rows have there."""
    before = counted(opened)
    after = with_entry(before, e.x) if sign > 0.0 else _without(before, e.x)
    put_columns(c, e.rows, lm.OPEN_AT, with_counts(opened, after), stakes)


@leaf
def stake_in(centres: Bits) -> Lanes:
    """Return L, the largest gradients of the coins, rounded up; they are kept beside means."""
    stake = floats_in(((centres & LOW) + LEAST) << CUT)
    return above(stake, _NO_STAKE, stake, 0.0)


@leaf
def raised(sizes: Lanes) -> Lanes:
    """Return what L is when gradients of these sizes are the largest: they are rounded up."""
    up = floats_in((bits_in(sizes) + _ALMOST) & _CUT_OFF)
    return least(most(up, _LEAST_STAKE), _MOST_STAKE)


@leaf
def with_stakes(centres: Bits, stakes: Lanes) -> Bits:
    """Return means with other L beside them."""
    return (centres & ~LOW) | ((bits_in(most(stakes, _NO_STAKE)) >> CUT) - LEAST)


@leaf
def row_of(c: Ints, index: int) -> Ints:
    """Return the row of a coordinate."""
    return c[index * lm.ROW : (index + 1) * lm.ROW]


# --- The pool -------------------------------------------------------------------------------------


@leaf
def fits(s: State, pool: Floats, count: int) -> bool:
    """Tell whether one more row, and when it is due, has room as things are."""
    used = s.n[N.POOL_TAIL] + s.n[N.DUE] + count
    return _work_fits(s, count) and 2 * used + 2 <= pool.size


@leaf
def fits_squeezed(s: State, pool: Floats, count: int) -> bool:
    """Tell whether it has room, and some to spare, without the rows of closed tickets."""
    used = s.n[N.POOL_LIVE] + s.n[N.DUE] + count
    return _work_fits(s, count) and 4 * used + 2 <= pool.size


@leaf
def _work_fits(s: State, count: int) -> bool:
    return lm.OF_ROW + lm.OF_ENTRY * count <= s.work.size


@leaf
def pool_has_room(code: Code, s: State, pool: Floats, count: int) -> bool:
    """Make room for one more row and for when it is due; False when work or pool must grow."""
    if fits(s, pool, count):
        return True
    if code[lm.TIMED] and _work_fits(s, count):
        drop_closed(s, pool)
    if not fits_squeezed(s, pool, count):
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
