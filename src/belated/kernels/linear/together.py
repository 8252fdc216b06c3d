"""Entries of a row that are taken together: as many as there are lanes, if they all differ.

First a row is laid out in the passing work: where the rows of its coordinates begin, and its
values. It is filled up with coordinates behind all others, whose value is 0: they have no weights,
and never get any. Entries whose coordinates do not all differ are taken one after the other, as
each finds what the one before has done.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from belated.arrays import Floats, Ints
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm
from belated.kernels.narrow import bits_of, float_of
from belated.kernels.prefetch import fetch_early
from belated.kernels.words import (
    LANES,
    Lanes,
    apart,
    bits_in,
    first_lane,
    floats_in,
    in_turns,
    keep,
    kept,
    one_or_four,
    rows_differ,
    rows_kept,
    whole_floats,
    whole_ints,
)

_OF_ROW = lm.ROW.bit_length() - 1  # a row is 2^3 ints
_AHEAD = 48  # entries that memory is asked for ahead of those in hand


class Laid(NamedTuple):
    """A row that is laid out: where its rows of ``c`` begin, its values, and S / sqrt(A) of each.

    All have room for one more group, at ``alone``. Rows that are ``scattered`` are asked for ahead.
    """

    rows: Floats
    x: Floats
    eta2: Floats
    eta3: Floats
    eta4: Floats
    entries: int
    spare: int
    alone: int
    scattered: bool


class Entries(NamedTuple):
    """Entries that are taken together: how many, where their rows begin, their values."""

    taken: int
    rows: Any
    x: Lanes


@leaf
def room_for(work: Floats, count: int, spare: int, scattered: bool) -> Laid:
    """Return where a row with so many entries is laid out, filled up with coordinates to spare."""
    alone = (count + 2 * lm.SPARE) // lm.TOGETHER * lm.TOGETHER
    room = alone + lm.TOGETHER
    at = lm.WORK_AT
    laid = Laid(
        rows=work[at : at + room],
        x=work[at + room : at + 2 * room],
        eta2=work[at + 2 * room : at + 3 * room],
        eta3=work[at + 3 * room : at + 4 * room],
        eta4=work[at + 4 * room : at + 5 * room],
        entries=count,
        spare=spare,
        alone=alone,
        scattered=scattered,
    )
    if LANES > 1:
        _fill_up(laid, count)
    return laid


@leaf
def _fill_up(row: Laid, first: int) -> None:
    """Write coordinates to spare, with the value 0, from a place on."""
    for i in range(lm.SPARE):
        row.rows[first + i] = float_of(lm.ROW * (row.spare + i))
        row.x[first + i] = 0.0


@leaf
def lay_out(row: Laid, j: int, index: int, x: float) -> None:
    """Lay out entry j."""
    row.rows[j] = float_of(lm.ROW * index)
    row.x[j] = x


@leaf
def are_scattered(first: int, last: int, count: int) -> bool:
    """Tell whether so many coordinates, of which these are first and last, may be far apart.

    Others are neighbours, one after the other: those are in the cache, or come by themselves.
    """
    return abs(last - first) >= count


# --- Compiled ------------------------------------------------------------------------------------


@leaf
def _ask_first(c: Ints, indices: Ints, first: int, count: int) -> None:
    if count > 0 and are_scattered(indices[first], indices[first + count - 1], count):
        for j in range(first, first + min(count, _AHEAD)):
            fetch_early(c, lm.ROW * indices[j])


@leaf
def _ask_first_of(c: Ints, pairs: Floats, count: int) -> None:
    for j in range(min(count, _AHEAD)):
        fetch_early(c, lm.ROW * int(pairs[2 * j]))


@leaf
def _ask_ahead(c: Ints, row: Laid, j: int) -> None:
    at = j + _AHEAD
    if row.scattered and at < row.entries:
        for i in range(lm.TOGETHER):
            fetch_early(c, bits_of(row.rows[at + i]))


@leaf
def _four_from(row: Laid, j: int) -> Entries:
    at, count = j, min(lm.TOGETHER, row.entries - j)
    if not rows_differ(row.rows, j):
        at, count = row.alone, 1
        row.rows[at] = row.rows[j]
        row.x[at] = row.x[j]
        _fill_up(row, at + 1)
    return Entries(count, rows_kept(row.rows, at), kept(row.x, at))


@leaf
def _put_four(row: Laid, j: int, count: int, x: Lanes) -> None:
    if count > 1:
        keep(row.x, j, x)  # what comes after the last one is 0, and stays so
    else:
        row.x[j] = first_lane(x)


@leaf
def _note_fours(row: Laid, pairs: Floats) -> None:
    whole = row.entries // lm.TOGETHER * lm.TOGETHER
    for j in range(0, whole, lm.TOGETHER):
        indices = whole_floats(bits_in(kept(row.rows, j)) >> _OF_ROW)
        first, second = in_turns(indices, kept(row.x, j))
        keep(pairs, 2 * j, first)
        keep(pairs, 2 * j + lm.TOGETHER, second)
    for j in range(whole, row.entries):  # behind the last pair may be something else
        pairs[2 * j] = bits_of(row.rows[j]) // lm.ROW
        pairs[2 * j + 1] = row.x[j]


@leaf
def _recall_fours(row: Laid, pairs: Floats) -> None:
    whole = row.entries // lm.TOGETHER * lm.TOGETHER
    for j in range(0, whole, lm.TOGETHER):
        indices, x = apart(kept(pairs, 2 * j), kept(pairs, 2 * j + lm.TOGETHER))
        keep(row.rows, j, floats_in(whole_ints(indices) << _OF_ROW))
        keep(row.x, j, x)
    for j in range(whole, row.entries):
        lay_out(row, j, int(pairs[2 * j]), pairs[2 * j + 1])


# --- Interpreted ---------------------------------------------------------------------------------


def _ask_nothing(*row: Any) -> None:
    """Stand in where the kernels are interpreted."""


def _one_from(row: Laid, j: int) -> Entries:
    return Entries(1, rows_kept(row.rows, j), row.x.item(j))


def _note_each(row: Laid, pairs: Floats) -> None:
    for j in range(row.entries):
        pairs[2 * j] = bits_of(row.rows[j]) // lm.ROW
        pairs[2 * j + 1] = row.x[j]


def _recall_each(row: Laid, pairs: Floats) -> None:
    for j in range(row.entries):
        lay_out(row, j, int(pairs[2 * j]), pairs[2 * j + 1])


def _put_one(row: Laid, j: int, count: int, x: float) -> None:
    row.x[j] = x


# --- Either --------------------------------------------------------------------------------------

# (row, j): entry j and those after it; (row, j, count, x): writing the values of so many.
entries_of: Any = one_or_four(_one_from, _four_from)
put_values: Any = one_or_four(_put_one, _put_four)
# (row, pairs): writing the pairs of a row that is laid out, coordinate and value; laying it out.
note: Any = one_or_four(_note_each, _note_fours)
recall: Any = one_or_four(_recall_each, _recall_fours)
# (c, indices, first, count): ask for the rows of the first coordinates of a row that is given, and
# (c, pairs, count) of the row that a ticket has.
ask_first: Any = one_or_four(_ask_nothing, _ask_first)
ask_first_of: Any = one_or_four(_ask_nothing, _ask_first_of)
# (c, row, j): ask for the rows of entries that come after entry j.
ask_ahead: Any = one_or_four(_ask_nothing, _ask_ahead)
