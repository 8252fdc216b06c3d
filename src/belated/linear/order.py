"""The order in which the labels of a set are learned: those that arrive between two predictions.

Experts take one step after another, so they follow the order of labels, and end with what came
last. Where labels come in bulk they are sorted by something: by store, by product, by size, by how
long they took. That says nothing, as no prediction was made in between. So a set is learned in an
order that depends on its tickets alone. With r the rank of a ticket among the n of the set, and u
in [0, 1) made of its number, labels come in the order of

    r + max(n, 1000) u.

That mixes some hundred labels as if at random, also where tickets were asked in such an order. But
of a thousand and more, asked over a long time, the last are still learned after the first, more or
less: what is newest counts most where the world changes. u has the upper 53 bits of what SplitMix64
makes of the number (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
2014).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from belated.arrays import Floats, Ints

_NEAR = 1000  # tickets that count as asked at about one time
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_LOWER = np.uint64(11)  # bits that a float has no room for


def order_of(tickets: Ints, sets: Ints | None = None) -> NDArray[np.intp]:
    """Return the places of tickets in the order of learning; labels of one ticket keep theirs.

    ``sets`` has the number of the set of each ticket, which do not fall; one set is the default.

    >>> import numpy as np
    >>> tickets = np.array([7, 3, 5, 4])
    >>> tickets[order_of(tickets)], np.sort(tickets)[order_of(np.sort(tickets))]
    (array([4, 5, 7, 3]), array([4, 5, 7, 3]))
    """
    if sets is None:
        by_number = np.argsort(tickets, kind="stable")
        spread = max(tickets.size, _NEAR) * _mixed(tickets[by_number])
        return by_number[np.argsort(np.arange(tickets.size) + spread, kind="stable")]
    by_number = np.lexsort((tickets, sets))
    begin = np.searchsorted(sets, sets)
    size = np.searchsorted(sets, sets, side="right") - begin
    late = np.arange(tickets.size) - begin + np.maximum(size, _NEAR) * _mixed(tickets[by_number])
    return by_number[np.lexsort((late, sets))]


def in_sets(events: Ints) -> Ints:
    """Return events, t for predictions and ~t for labels, with sets of labels in their order.

    >>> import numpy as np
    >>> in_sets(np.array([0, 1, 2, 3, ~3, ~2, ~1, 4, ~4])).tolist()
    [0, 1, 2, 3, -3, -2, -4, 4, -5]
    """
    is_label = events < 0
    labels = events[is_label]
    found = events.copy()
    found[is_label] = labels[order_of(~labels, np.cumsum(events >= 0, dtype=np.int64)[is_label])]
    return found


def _mixed(tickets: Ints) -> Floats:
    """Return u."""
    z = (tickets.astype(np.uint64) + np.uint64(1)) * _STEP
    z = (z ^ (z >> _SHIFTS[0])) * _MIX[0]
    z = (z ^ (z >> _SHIFTS[1])) * _MIX[1]
    return ((z ^ (z >> _SHIFTS[2])) >> _LOWER).astype(np.float64) * 2.0**-53
