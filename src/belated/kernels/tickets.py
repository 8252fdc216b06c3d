"""The table of open tickets, and all counting of delays.

Entries stand in ticket order: id and, beside it, how many answers had arrived when it was issued
(or DEAD, HELD, when it was given up on), so that one cache line serves both.
Closing marks an entry dead; when the table is full, dead entries are squeezed out. After a squeeze
new entries are consecutive again, so a recent ticket is found by subtraction and an old one by
bisection. Appending and closing cost O(1) amortised; memory is O(open), whatever the dimension, and
the oldest open ticket, the first to be given up on, is at the head.
"""

from __future__ import annotations

import math

from belated.arrays import Code
from belated.kernels.choices import only
from belated.kernels.jit import leaf
from belated.kernels.slots import code as C
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.kernels.slots import table as T
from belated.kernels.state import State

of_lags = only(C.LAGS)  # the code that ``count_arrival`` takes


@leaf
def tail(s: State) -> int:
    """Return how many entries are in use, dead ones included."""
    return s.n[N.ROUNDS] + s.n[N.OFFSET]


@leaf
def has_room(s: State) -> bool:
    """Make room for one more ticket; False when the table must grow first."""
    if 2 * tail(s) < s.table.size:
        return True
    known = s.n[N.ROUNDS] - s.n[N.ARRIVED] + s.n[N.GHOSTS] + s.n[N.HOLDING]
    if 4 * known > s.table.size:
        return False
    squeeze(s)
    return True


@leaf
def squeeze(s: State) -> None:
    """Drop dead entries, keeping the order."""
    table, records = s.table, s.kept
    keep, first = s.n[N.KEEP], s.n[N.HEAD]
    kept = 0
    head = 0
    for entry in range(tail(s)):
        if table[2 * entry + 1] != T.DEAD:
            table[2 * kept] = table[2 * entry]
            table[2 * kept + 1] = table[2 * entry + 1]
            for i in range(keep):
                records[kept * keep + i] = records[entry * keep + i]
            kept += 1
            if entry < first:
                head = kept
    s.n[N.HEAD] = head
    s.n[N.FADING] = 0  # what stood before it was dead
    s.n[N.SPARSE] = kept
    s.n[N.OFFSET] = kept - s.n[N.ROUNDS]


@leaf
def open_ticket(s: State) -> int:
    """Append the next ticket and return its entry."""
    rounds, arrived = s.n[N.ROUNDS], s.n[N.ARRIVED]
    entry = rounds + s.n[N.OFFSET]
    s.n[N.ROUNDS] = rounds + 1
    s.table[2 * entry] = rounds
    s.table[2 * entry + 1] = arrived
    return entry


@leaf
def locate(s: State, ticket: int) -> int:
    """Return the entry of a ticket that is open or given up on, else why there is none."""
    if ticket < s.n[N.FORGOTTEN] or ticket >= s.n[N.ROUNDS]:
        return S.FORGOTTEN if 0 <= ticket < s.n[N.FORGOTTEN] else S.UNKNOWN
    entry = entry_of(s, ticket)
    if entry < 0:
        return S.CLOSED
    state = s.table[2 * entry + 1]
    return S.CLOSED if state == T.DEAD or state == T.HELD else entry


@leaf
def entry_of(s: State, ticket: int) -> int:
    """Return the entry of a ticket that was handed out, or -1 if a squeeze has dropped it."""
    entry = ticket + s.n[N.OFFSET]
    if entry < s.n[N.SPARSE]:
        entry = _bisect(s, ticket)
    return entry


@leaf
def _bisect(s: State, ticket: int) -> int:
    last = s.n[N.SPARSE] - 1
    if last < 0:
        return -1
    # Tickets rise by at least 1 per entry, which narrows the search from both ends.
    low = max(0, last - (s.table[2 * last] - ticket))
    high = min(last, ticket - s.table[0])
    while low < high:
        middle = (low + high) // 2
        if s.table[2 * middle] < ticket:
            low = middle + 1
        else:
            high = middle
    return low if low < s.n[N.SPARSE] and s.table[2 * low] == ticket else -1


@leaf
def count_arrival(code: Code, s: State, entry: int) -> int:
    """Count the arrival for an open entry: d*_n and s*_n. Return s*_n.

    d*_n = arrivals since it was issued; s*_n = tickets still open afterwards (paper, equations 1
    and 2).
    """
    n = s.n
    rounds = n[N.ROUNDS]
    arrived = n[N.ARRIVED]
    lag = arrived - s.table[2 * entry + 1]
    open_lags = rounds - arrived - 1
    n[N.ARRIVED] = arrived + 1
    n[N.SUM_DUAL] += open_lags
    if open_lags > n[N.MAX_DUAL]:
        n[N.MAX_DUAL] = open_lags
    if lag > n[N.MAX_DUAL_DELAY]:
        n[N.MAX_DUAL_DELAY] = lag
    if code[C.LAGS]:
        n[N.LAG] = lag
        n[N.OPEN_LAGS] = open_lags
    return open_lags


@leaf
def count_delay(s: State, entry: int, slot: int) -> None:
    """Count d_t, the predictions after the ticket's own, of an entry that is closed.

    ``slot`` has the largest: MAX_DELAY that of answered tickets, MAX_LOST that of others. The d_max
    of the paper is the largest of both, and of the ages of open tickets.
    """
    n = s.n
    delay = n[N.ROUNDS] - s.table[2 * entry] - 1
    if delay > n[slot]:
        n[slot] = delay


@leaf
def is_ghost(s: State, entry: int) -> bool:
    """Tell whether the ticket of an entry was given up on, so that its answer is dropped."""
    return s.table[2 * entry + 1] <= T.GIVEN_UP


@leaf
def lay_ghost(s: State, entry: int) -> None:
    """Drop the memory of a ticket that was given up on."""
    s.n[N.GHOSTS] -= 1
    s.table[2 * entry + 1] = T.DEAD


@leaf
def forget_oldest(s: State, most: int) -> None:
    """Forget the oldest ghosts until there are no more than ``most``.

    What is heard of one after that is refused, as if it had been answered.
    """
    n = s.n
    entry, end = n[N.FADING], tail(s)
    while n[N.GHOSTS] > most and entry < end:
        if is_ghost(s, entry):
            lay_ghost(s, entry)
        entry += 1
    n[N.FADING] = entry


@leaf
def close_without_answer(s: State, entry: int, given_up: bool) -> None:
    """Close an entry whose arrival is counted, for good or until its answer comes after all."""
    count_delay(s, entry, N.MAX_LOST)
    if given_up:
        s.n[N.SKIPPED] += 1
        s.n[N.GHOSTS] += 1
        s.table[2 * entry + 1] = T.GIVEN_UP - s.n[N.ROUNDS]
    else:
        s.n[N.CANCELLED] += 1
        s.table[2 * entry + 1] = T.DEAD


@leaf
def oldest_open(s: State) -> int:
    """Return the oldest open ticket, or the coming one if there is none; its entry is the head."""
    n = s.n
    head, end = n[N.HEAD], tail(s)
    while head < end and s.table[2 * head + 1] < 0:
        head += 1
    n[N.HEAD] = head
    return s.table[2 * head] if head < end else n[N.ROUNDS]


@leaf
def overdue(s: State) -> int:
    """Return the entry to give up on before the next prediction, or -1 (Algorithm 3, step 2).

    Ages fall from the head on, so only the oldest open ticket can cross the threshold
    t - s > sqrt(PATIENCE). PATIENCE never falls, so no open ticket can cross before round
    s + sqrt(PATIENCE), s being the oldest one now: CALM, until when nobody needs to look.
    """
    n = s.n
    patience, oldest = n[N.PATIENCE], oldest_open(s)
    age = n[N.ROUNDS] - oldest
    if age * age > patience:
        return n[N.HEAD]
    n[N.CALM] = oldest + int(math.sqrt(float(patience))) - 1  # 1 less, as the root is rounded
    return -1
