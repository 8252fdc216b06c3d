"""What every action is worth in a context: what ``predict`` would say of its row, and no change.

Most actions have the same features, so that their rows differ in the coordinates of their names
alone. What they share is found once, and four actions are the four lanes of a vector; other rows
are taken one by one. Each row is summed in its own order, so that bits are those of ``predict``.

A coordinate that comes again in a row would find what the entries before have done to its
standardiser. That is played through on a copy of it.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

from belated.arrays import Code, Floats, Ints
from belated.kernels.decisions.crossing import cross, of_action, of_product
from belated.kernels.jit import leaf
from belated.kernels.learners.state import State
from belated.kernels.linear import layout as lm
from belated.kernels.linear.experts import mixture, with_others
from belated.kernels.linear.losses import blended, link, of_loss, shown
from belated.kernels.linear.rows import Four, Two, added, ask, enter, row_of, standardised
from belated.kernels.narrow import bits, put_bits
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.kernels.vectors import vector

Sixteen: TypeAlias = tuple[Four, Four, Four, Four]
Eight: TypeAlias = tuple[Two, Two, Two, Two]
Row: TypeAlias = tuple[Ints, Floats]

LANES = 4
IN_WORD = 32  # marks in an int
ROOM = LANES + lm.EXPERTS + 2  # ints, and floats, that are ``Tools``


class Context(NamedTuple):
    """A context: coordinates, values, and which of them meet the action."""

    indices: Ints
    values: Floats
    crossed: Ints


class Actions(NamedTuple):
    """Actions: the coordinates of their names, and their features as compressed sparse rows."""

    names: Ints
    bounds: Ints
    indices: Ints
    values: Floats


@leaf
def context_of(indices: Ints, values: Floats, crossed: Ints, given: int) -> Context:
    """Return a context from arrays that may be longer."""
    return Context(vector(indices)[0:given], vector(values)[0:given], vector(crossed)[0:given])


@leaf
def actions_of(names: Ints, bounds: Ints, indices: Ints, values: Floats) -> Actions:
    """Return actions from arrays."""
    return Actions(vector(names), vector(bounds), vector(indices), vector(values))


class Tools(NamedTuple):
    """Room for passing work."""

    marks: Ints
    """Coordinates that may be in a row, one bit each; nothing between two rows."""
    spare: Ints
    """A copy of what is known of a coordinate."""
    pair: Floats
    four: Floats
    experts: Floats


class Desk(NamedTuple):
    """What actions with the same features share.

    Band 0 of a row is the action, band r its products with the r-th entry of the context that is
    crossed. A band has the name of the action, then its features.
    """

    places: Ints
    """Coordinates that all have, in the order of a row; ~ of one that was there before."""
    numbers: Floats
    """Room for the values of one action there."""
    sources: Ints
    """Coordinates of the context, by band."""
    factors: Floats
    """What features are multiplied with, by band."""
    own: Ints
    """Coordinates of a name, by band, of four actions."""


@leaf
def _tools_of(ints: Ints, floats: Floats, marks: Ints) -> Tools:
    """Give the first parts of the room their names."""
    experts = LANES + lm.EXPERTS
    return Tools(
        marks=marks,
        spare=ints[0:ROOM],
        pair=floats[experts:ROOM],
        four=floats[0:LANES],
        experts=floats[LANES:experts],
    )


@leaf
def _desk_of(given: int, bands: int, width: int, ints: Ints, floats: Floats) -> Desk:
    """Give the rest its names."""
    sources = ROOM + LANES * bands
    places = sources + bands
    count = given + bands * width
    return Desk(
        places=ints[places : places + count],
        numbers=floats[ROOM + bands : ROOM + bands + count],
        sources=ints[sources:places],
        factors=floats[ROOM : ROOM + bands],
        own=ints[ROOM:sources],
    )


# --- All actions ---------------------------------------------------------------------------------


@leaf
def score(
    code: Code,
    s: State,
    c: Ints,
    context: Context,
    actions: Actions,
    ints: Ints,
    floats: Floats,
    marks: Ints,
    scores: Floats,
) -> int:
    """Write the predicted reward of every action, and return USED; BAD for numbers beyond use.

    ``ints`` and ``floats`` have room for ``Tools``, and for a row or a ``Desk``.
    """
    if not _fits(context, actions):
        return S.BAD
    tools = _tools_of(ints, floats, marks)
    count = actions.names.size
    if count > 1 and _are_alike(actions):
        _score_alike(code, s, c, context, actions, ints, floats, tools, scores)
    else:
        for a in range(count):
            scores[a] = math.nan
    for a in range(count):
        if scores[a] != scores[a]:
            end = ROOM + write_row(s.n[N.COORDINATES], context, actions, a, ints, floats)
            p, others = _of_row(s, c, ints[ROOM:end], floats[ROOM:end], tools)
            scores[a] = _worth(code, s.f, p, others, tools)
    return S.USED


@leaf
def write_row(
    coordinates: int, context: Context, actions: Actions, a: int, ints: Ints, floats: Floats
) -> int:
    """Write the row of action a, after the tools; return its length."""
    begin, end = actions.bounds[a], actions.bounds[a + 1]
    return cross(
        coordinates,
        context.indices,
        context.values,
        context.crossed,
        actions.names[a],
        actions.indices[begin:end],
        actions.values[begin:end],
        ints[ROOM : ints.size],
        floats[ROOM : floats.size],
    )


@leaf
def _fits(context: Context, actions: Actions) -> bool:
    """Tell whether all values can be used, and all products."""
    most = 0.0
    for i in range(context.values.size):
        size = abs(context.values[i])
        if not size <= lm.HUGE_VALUE:
            return False
        if context.crossed[i]:
            most = max(most, size)
    for j in range(actions.bounds[actions.names.size]):
        size = abs(actions.values[j])
        if not (size <= lm.HUGE_VALUE and size * most <= lm.HUGE_VALUE):
            return False
    return True


@leaf
def _are_alike(actions: Actions) -> bool:
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
def _worth(code: Code, f: Floats, p: Four, others: Two, tools: Tools) -> float:
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


# --- Coordinates that come again -----------------------------------------------------------------


@leaf
def _find_again(c: Ints, places: Ints, marks: Ints) -> None:
    """Turn coordinates that were there before into ~ of them; the others stay marked."""
    for t in range(places.size):
        place = places[t]
        ask(c, place)
        if not _is_marked(marks, place):
            marks[_word(marks, place)] |= _bit(place)
        elif _is_among(places[0:t], place):
            places[t] = ~place


@leaf
def _clear(places: Ints, marks: Ints) -> None:
    """Take all marks away."""
    for t in range(places.size):
        place = places[t]
        marks[_word(marks, place if place >= 0 else ~place)] = 0


@leaf
def _word(marks: Ints, place: int) -> int:
    """Return the int that the mark of a coordinate is in; there is a power of two of them."""
    return (place // IN_WORD) & (marks.size - 1)


@leaf
def _bit(place: int) -> int:
    return 1 << (place & (IN_WORD - 1))


@leaf
def _is_marked(marks: Ints, place: int) -> bool:
    return marks[_word(marks, place)] & _bit(place) != 0


@leaf
def _is_among(places: Ints, place: int) -> bool:
    """Tell whether a coordinate is there, in a way that becomes vector instructions."""
    found = 0
    for t in range(places.size):
        found += int(places[t] == place)
    return found > 0


@leaf
def _again(c: Ints, places: Ints, values: Floats, t: int, tools: Tools) -> float:
    """Return the standardised value of entry t, whose coordinate was in the row before."""
    place = ~places[t]
    row, spare = row_of(c, place), tools.spare
    for w in range(lm.ROW):
        put_bits(spare, w, bits(row, w))
    for u in range(t):
        if places[u] == place or places[u] == ~place:
            enter(spare, tools.pair, 0, place, values[u])
    return standardised(spare, values[t])[0]


# --- One row -------------------------------------------------------------------------------------


@leaf
def _of_row(s: State, c: Ints, places: Ints, values: Floats, tools: Tools) -> tuple[Four, Two]:
    """Return what the experts make of a row."""
    _find_again(c, places, tools.marks)
    _clear(places, tools.marks)
    base = s.f[lm.BASE]
    p, others = _with_entries(c, places, values, tools, (base, base, base, base), (base, base))
    if s.n[N.INTERCEPT]:
        row = row_of(c, s.n[N.COORDINATES])
        one = standardised(row, 1.0)[0]
        p = added(p, row, lm.WEIGHT, one)
        others = with_others(others, row, one)
    return p, others


@leaf
def _with_entries(
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
                four[0] = _again(c, places, values, t, tools)
            count = 1
        for k in range(count):
            row = row_of(c, places[t + k] if places[t + k] >= 0 else ~places[t + k])
            p = added(p, row, lm.WEIGHT, four[k])
            others = with_others(others, row, four[k])
        t += count
    return p, others


# --- Actions with the same features --------------------------------------------------------------


@leaf
def _score_alike(
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
    desk = _desk_of(given, bands, width, ints, floats)
    coordinates, base = s.n[N.COORDINATES], s.f[lm.BASE]
    _share(coordinates, context, actions.indices[0:width], desk)
    _find_again(c, desk.places, tools.marks)
    p, others = _with_entries(
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
                scores[a] = _worth(code, s.f, sums[k], more[k], tools)
    _clear(desk.places, tools.marks)


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
        bit = _bit(place)
        if (seen & bit != 0 and _is_among(own[0:r], place)) or (
            _is_marked(marks, place) and _is_among(desk.places, place)
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
                    four[k] = _again(c, desk.places, desk.numbers, at, tools)
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
