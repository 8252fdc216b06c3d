"""Actions with the same features: what they share is found once, and four are taken together.

Their rows differ in the coordinates of names alone. Four actions are the four lanes of a vector,
and each row is still summed in its own order.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from belated.arrays import Code, Floats, Ints
from belated.kernels.decisions.again import (
    again,
    ask,
    bit_of,
    clear,
    find_again,
    is_among,
    is_marked,
)
from belated.kernels.decisions.crossing import of_action, of_product
from belated.kernels.decisions.desk import LANES, Actions, Context, Desk, Tools, desk_of
from belated.kernels.decisions.single import Two, added, with_entries, with_others, worth
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm
from belated.kernels.linear.rows import Four, row_of, standardised
from belated.kernels.slots import ints as N
from belated.kernels.state import State

Sixteen: TypeAlias = tuple[Four, Four, Four, Four]
Eight: TypeAlias = tuple[Two, Two, Two, Two]


@leaf
def are_alike(actions: Actions) -> bool:
    """Tell whether all actions have the same features, in the same order."""
    bounds, indices = actions.bounds, actions.indices
    width = bounds[1]
    for a in range(1, actions.names.size):
        if bounds[a + 1] - bounds[a] != width:
            return False
        differing = 0
        for j in range(width):
            differing += int(indices[bounds[a] + j] != indices[j])
        if differing > 0:
            return False
    return True


@leaf
def score_alike(
    code: Code,
    s: State,
    c: Ints,
    context: Context,
    actions: Actions,
    ints: Ints,
    floats: Floats,
    tools: Tools,
    scores: Floats,
) -> None:
    """Write the predicted rewards; NaN where a coordinate of the name comes again."""
    bands = 1
    for i in range(context.crossed.size):
        bands += int(context.crossed[i] != 0)
    given, width, last = context.values.size, actions.bounds[1], actions.names.size - 1
    desk = desk_of(given, bands, width, ints, floats)
    coordinates, base = s.n[N.COORDINATES], s.f[lm.BASE]
    _share(coordinates, context, actions.indices[0:width], desk)
    find_again(c, desk.places, tools.marks)
    p, others = with_entries(
        c, desk.places[0:given], context.values, tools, (base, base, base, base), (base, base)
    )
    for first in range(0, actions.names.size, LANES):
        for k in range(LANES):
            a = min(first + k, last)
            own = desk.own[k * bands : (k + 1) * bands]
            is_apart = _name(c, coordinates, actions.names[a], own, desk, tools.marks)
            scores[a] = 0.0 if is_apart else math.nan
        sums, more = _of_four(
            s, c, context.values, actions.values, width, first, last, desk, tools, p, others
        )
        for k in range(LANES):
            a = min(first + k, last)
            if scores[a] == scores[a]:
                scores[a] = worth(code, s.f, sums[k], more[k], tools)
    clear(desk.places, tools.marks)


@leaf
def _share(coordinates: int, context: Context, features: Ints, desk: Desk) -> None:
    """Find the coordinates that all actions share."""
    given = context.values.size
    band = 1
    desk.factors[0] = 1.0
    for i in range(given):
        desk.places[i] = context.indices[i]
        if context.crossed[i]:
            desk.sources[band] = context.indices[i]
            desk.factors[band] = context.values[i]
            band += 1
    at = given
    for r in range(desk.factors.size):
        for j in range(features.size):
            desk.places[at] = _place(desk, r, features[j], coordinates)
            at += 1


@leaf
def _place(desk: Desk, band: int, feature: int, coordinates: int) -> int:
    """Return the coordinate of a feature in a band."""
    if band == 0:
        return of_action(feature, coordinates)
    return of_product(desk.sources[band], feature, coordinates)


@leaf
def _name(c: Ints, coordinates: int, name: int, own: Ints, desk: Desk, marks: Ints) -> bool:
    """Write the coordinates of a name; tell whether the row has each of them once."""
    is_apart = True
    seen = 0
    for r in range(own.size):
        place = _place(desk, r, name, coordinates)
        own[r] = place
        ask(c, place)
        bit = bit_of(place)
        if (seen & bit != 0 and is_among(own[0:r], place)) or (
            is_marked(marks, place) and is_among(desk.places, place)
        ):
            is_apart = False
        seen |= bit
    return is_apart


@leaf
def _of_four(
    s: State,
    c: Ints,
    given: Floats,
    values: Floats,
    width: int,
    first: int,
    last: int,
    desk: Desk,
    tools: Tools,
    p: Four,
    others: Two,
) -> tuple[Sixteen, Eight]:
    """Return what the experts make of the rows of four actions; the context counts already."""
    z0 = values[first * width : (first + 1) * width]
    z1 = values[min(first + 1, last) * width : (min(first + 1, last) + 1) * width]
    z2 = values[min(first + 2, last) * width : (min(first + 2, last) + 1) * width]
    z3 = values[min(first + 3, last) * width : (min(first + 3, last) + 1) * width]
    four, bands = tools.four, desk.factors.size
    sums, more = (p, p, p, p), (others, others, others, others)
    at = given.size
    for r in range(bands):
        factor = desk.factors[r]
        rows = (
            row_of(c, desk.own[r]),
            row_of(c, desk.own[bands + r]),
            row_of(c, desk.own[2 * bands + r]),
            row_of(c, desk.own[3 * bands + r]),
        )
        x = (
            standardised(rows[0], factor)[0],
            standardised(rows[1], factor)[0],
            standardised(rows[2], factor)[0],
            standardised(rows[3], factor)[0],
        )
        sums = (
            added(sums[0], rows[0], lm.WEIGHT, x[0]),
            added(sums[1], rows[1], lm.WEIGHT, x[1]),
            added(sums[2], rows[2], lm.WEIGHT, x[2]),
            added(sums[3], rows[3], lm.WEIGHT, x[3]),
        )
        more = (
            with_others(more[0], rows[0], x[0]),
            with_others(more[1], rows[1], x[1]),
            with_others(more[2], rows[2], x[2]),
            with_others(more[3], rows[3], x[3]),
        )
        for j in range(width):
            place = desk.places[at]
            if place >= 0:
                row = row_of(c, place)
                x = (
                    standardised(row, factor * z0[j])[0],
                    standardised(row, factor * z1[j])[0],
                    standardised(row, factor * z2[j])[0],
                    standardised(row, factor * z3[j])[0],
                )
                four[0] = x[0]  # which tells the compiler that the four go together
                four[1] = x[1]
                four[2] = x[2]
                four[3] = x[3]
            else:
                row = row_of(c, ~place)
                for k in range(LANES):
                    a = min(first + k, last)
                    _write_values(given, values[a * width : (a + 1) * width], desk)
                    four[k] = again(c, desk.places, desk.numbers, at, tools)
            x = (four[0], four[1], four[2], four[3])
            sums, more = _with_shared(sums, more, row, x)
            at += 1
    if s.n[N.INTERCEPT]:
        row = row_of(c, s.n[N.COORDINATES])
        one = standardised(row, 1.0)[0]
        sums, more = _with_shared(sums, more, row, (one, one, one, one))
    return sums, more


@leaf
def _with_shared(sums: Sixteen, more: Eight, row: Ints, x: Four) -> tuple[Sixteen, Eight]:
    """Add an entry whose coordinate is the same in four rows."""
    return (
        added(sums[0], row, lm.WEIGHT, x[0]),
        added(sums[1], row, lm.WEIGHT, x[1]),
        added(sums[2], row, lm.WEIGHT, x[2]),
        added(sums[3], row, lm.WEIGHT, x[3]),
    ), (
        with_others(more[0], row, x[0]),
        with_others(more[1], row, x[1]),
        with_others(more[2], row, x[2]),
        with_others(more[3], row, x[3]),
    )


@leaf
def _write_values(given: Floats, features: Floats, desk: Desk) -> None:
    """Write the values of an action at the coordinates that all have."""
    for i in range(given.size):
        desk.numbers[i] = given[i]
    at = given.size
    for r in range(desk.factors.size):
        for j in range(features.size):
            desk.numbers[at] = desk.factors[r] * features[j]
            at += 1
