"""What a row is worth that is taken alone, in the order of its entries."""

from __future__ import annotations

from typing import TypeAlias

from belated.arrays import Code, Floats, Ints
from belated.kernels.decisions.again import again, clear, find_again
from belated.kernels.decisions.desk import Tools
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm
from belated.kernels.linear.experts import mixture
from belated.kernels.linear.losses import blended, link, of_loss, shown
from belated.kernels.linear.rows import Four, row_of, standardised
from belated.kernels.narrow import number
from belated.kernels.slots import ints as N
from belated.kernels.state import State

Two: TypeAlias = tuple[float, float]


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
def with_others(sums: Two, row: Ints, x: float) -> Two:
    """Return sums + x times the weights of the coin and of the mean."""
    return sums[0] + coin_of(row) * x, sums[1] + number(row, lm.AVERAGE) * x


@leaf
def coin_of(row: Ints) -> float:
    """Return the coin's weight: the part of what it has that it bets, times that."""
    return number(row, lm.FRACTION) * number(row, lm.WEALTH)


@leaf
def of_row(s: State, c: Ints, places: Ints, values: Floats, tools: Tools) -> tuple[Four, Two]:
    """Return what the experts make of a row."""
    find_again(c, places, tools.marks)
    clear(places, tools.marks)
    base = s.f[lm.BASE]
    p, others = with_entries(c, places, values, tools, (base, base, base, base), (base, base))
    if s.n[N.INTERCEPT]:
        row = row_of(c, s.n[N.COORDINATES])
        one = standardised(row, 1.0)[0]
        p = added(p, row, lm.WEIGHT, one)
        others = with_others(others, row, one)
    return p, others


@leaf
def with_entries(
    c: Ints, places: Ints, values: Floats, tools: Tools, p: Four, others: Two
) -> tuple[Four, Two]:
    """Add entries one after the other; four at a time are standardised by vector instructions."""
    four, last = tools.four, places.size - 1
    t = 0
    while t <= last:
        if t + 3 <= last and min(places[t], places[t + 1], places[t + 2], places[t + 3]) >= 0:
            x = (
                standardised(row_of(c, places[t]), values[t])[0],
                standardised(row_of(c, places[t + 1]), values[t + 1])[0],
                standardised(row_of(c, places[t + 2]), values[t + 2])[0],
                standardised(row_of(c, places[t + 3]), values[t + 3])[0],
            )
            four[0] = x[0]
            four[1] = x[1]
            four[2] = x[2]
            four[3] = x[3]
            count = 4
        else:
            if places[t] >= 0:
                four[0] = standardised(row_of(c, places[t]), values[t])[0]
            else:
                four[0] = again(c, places, values, t, tools)
            count = 1
        for k in range(count):
            row = row_of(c, places[t + k] if places[t + k] >= 0 else ~places[t + k])
            p = added(p, row, lm.WEIGHT, four[k])
            others = with_others(others, row, four[k])
        t += count
    return p, others


@leaf
def worth(code: Code, f: Floats, p: Four, others: Two, tools: Tools) -> float:
    """Return the prediction that comes of what the experts say."""
    experts = tools.experts
    experts[0] = p[0]
    experts[1] = p[1]
    experts[2] = p[2]
    experts[3] = p[3]
    experts[4] = others[0]
    experts[5] = others[1]
    mixed = blended(of_loss(code), f, experts, mixture(f, experts))
    return link(of_loss(code), shown(of_loss(code), f, mixed))
