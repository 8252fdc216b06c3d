"""Coordinates that come again in a row: they are found by marks, one bit for each.

What the entries before have done to the standardiser is played through on a copy of it.
"""

from __future__ import annotations

from belated.arrays import Floats, Ints
from belated.kernels.decisions.desk import Tools
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm
from belated.kernels.linear.rows import HALF, LOW, row_of, standardised, with_entry
from belated.kernels.narrow import MOST, bits, bits_of, count, put_bits, put_count, put_number
from belated.kernels.prefetch import prefetch

IN_WORD = 32  # marks in an int


@leaf
def ask(c: Ints, index: int) -> None:
    """Ask for the row of a coordinate."""
    prefetch(c, index * lm.ROW)


@leaf
def enter(row: Ints, pairs: Floats, j: int, index: int, x: float) -> None:
    """Note entry j of a new ticket in the pool, with its standardised value."""
    unit, centre, variance = standardised(row, x)
    stake = bits(row, lm.CENTRE) & LOW
    put_bits(row, lm.CENTRE, ((bits_of(centre) + HALF) & ~LOW) | stake)
    put_number(row, lm.VARIANCE, variance)
    put_count(row, lm.SEEN, min(count(row, lm.SEEN) + 1, MOST))
    put_count(row, lm.OPEN, int(with_entry(float(count(row, lm.OPEN)), unit)))
    pairs[2 * j] = index
    pairs[2 * j + 1] = unit


@leaf
def find_again(c: Ints, places: Ints, marks: Ints) -> None:
    """Turn coordinates that were there before into ~ of them; the others stay marked."""
    for t in range(places.size):
        place = places[t]
        ask(c, place)
        if not is_marked(marks, place):
            marks[_word(marks, place)] |= bit_of(place)
        elif is_among(places[0:t], place):
            places[t] = ~place


@leaf
def clear(places: Ints, marks: Ints) -> None:
    """Take all marks away."""
    for t in range(places.size):
        place = places[t]
        marks[_word(marks, place if place >= 0 else ~place)] = 0


@leaf
def _word(marks: Ints, place: int) -> int:
    """Return the int that the mark of a coordinate is in; there is a power of two of them."""
    return (place // IN_WORD) & (marks.size - 1)


@leaf
def bit_of(place: int) -> int:
    return 1 << (place & (IN_WORD - 1))


@leaf
def is_marked(marks: Ints, place: int) -> bool:
    return marks[_word(marks, place)] & bit_of(place) != 0


@leaf
def is_among(places: Ints, place: int) -> bool:
    """Tell whether a coordinate is there, in a way that becomes vector instructions."""
    found = 0
    for t in range(places.size):
        found += int(places[t] == place)
    return found > 0


@leaf
def again(c: Ints, places: Ints, values: Floats, t: int, tools: Tools) -> float:
    """Return the standardised value of entry t, whose coordinate was in the row before."""
    place = ~places[t]
    row, spare = row_of(c, place), tools.spare
    for w in range(lm.ROW):
        put_bits(spare, w, bits(row, w))
    for u in range(t):
        if places[u] == place or places[u] == ~place:
            enter(spare, tools.pair, 0, place, values[u])
    return standardised(spare, values[t])[0]
