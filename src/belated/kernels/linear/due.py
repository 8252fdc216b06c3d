"""When tickets are due: a heap of (time, ticket), the earliest first and of equals the oldest.

It stands at the end of the pool, from there backwards: entry i at ``pool.size - 2 - 2 i``. Entries
of tickets that are closed by now stay until they come up, or until room is needed. What comes up
next depends only on which tickets are open and when they are due, so snapshots leave the heap out
and make it anew.
"""

from __future__ import annotations

import math

from belated.arrays import Floats
from belated.kernels.jit import leaf
from belated.kernels.slots import ints as N
from belated.kernels.state import State
from belated.kernels.tickets import locate


@leaf
def first_due(s: State, pool: Floats) -> float:
    """Return when the first ticket is due; infinity when none is."""
    return pool[pool.size - 2] if s.n[N.DUE] > 0 else math.inf


@leaf
def push(s: State, pool: Floats, when: float, ticket: int) -> None:
    """Note when a ticket is due."""
    top = pool.size - 2
    place = s.n[N.DUE]
    s.n[N.DUE] = place + 1
    while place > 0:
        parent = (place - 1) // 2
        if not _comes_first(when, ticket, pool[top - 2 * parent], pool[top - 2 * parent + 1]):
            break
        _copy(pool, parent, place)
        place = parent
    _put(pool, place, when, ticket)


@leaf
def _put(pool: Floats, place: int, when: float, ticket: float) -> None:
    at = pool.size - 2 - 2 * place
    pool[at] = when
    pool[at + 1] = ticket


@leaf
def _copy(pool: Floats, source: int, place: int) -> None:
    at = pool.size - 2 - 2 * source
    _put(pool, place, pool[at], pool[at + 1])


@leaf
def _comes_first(when: float, ticket: float, other: float, its_ticket: float) -> bool:
    return when < other or (when == other and ticket < its_ticket)


@leaf
def pop(s: State, pool: Floats) -> int:
    """Take the first entry away, and return its ticket; the last entry sinks from the top."""
    top, place = pool.size - 2, 0
    first = int(pool[top + 1])
    count = s.n[N.DUE] - 1
    s.n[N.DUE] = count
    when, ticket = pool[top - 2 * count], pool[top - 2 * count + 1]
    while 2 * place + 1 < count:
        child = 2 * place + 1
        left, right = top - 2 * child, top - 2 * child - 2
        if child + 1 < count and _comes_first(
            pool[right], pool[right + 1], pool[left], pool[left + 1]
        ):
            child += 1
        at = top - 2 * child
        if not _comes_first(pool[at], pool[at + 1], when, ticket):
            break
        _copy(pool, child, place)
        place = child
    _put(pool, place, when, ticket)
    return first


@leaf
def drop_closed(s: State, pool: Floats) -> None:
    """Drop the entries of tickets that are not open: a heap of the others grows in their place."""
    top, count = pool.size - 2, s.n[N.DUE]
    s.n[N.DUE] = 0
    for i in range(count):
        when, ticket = pool[top - 2 * i], int(pool[top - 2 * i + 1])
        entry = locate(s, ticket)
        if entry >= 0 and s.table[2 * entry + 1] >= 0:
            push(s, pool, when, ticket)
