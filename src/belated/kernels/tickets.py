"""The table of open tickets, and all counting of delays.

Entries stand in ticket order: id and, beside it, how many answers had arrived when it was issued
(or DEAD, GIVEN_UP, HELD), so that one cache line serves both.
Closing marks an entry dead; when the table is full, dead entries are squeezed out. After a squeeze
new entries are consecutive again, so a recent ticket is found by subtraction and an old one by
bisection. Appending and closing cost O(1) amortised; memory is O(open), whatever the dimension, and
the oldest open ticket, which skipping needs, is at the head.
"""

from __future__ import annotations

import math

from belated.kernels import layout as at
from belated.kernels.jit import leaf
from belated.kernels.state import State
from belated.kernels.typing import Code, Ints


@leaf
def tail(s: State) -> int:
    """Return how many entries are in use, dead ones included."""
    return s.n[at.ROUNDS] + s.n[at.OFFSET]


@leaf
def has_room(s: State) -> bool:
    """Make room for one more ticket; False when the table must grow first."""
    if 2 * tail(s) < s.table.size:
        return True
    known = s.n[at.ROUNDS] - s.n[at.ARRIVED] + s.n[at.GHOSTS] + s.n[at.HOLDING]
    if 4 * known > s.table.size:
        return False
    squeeze(s)
    return True


@leaf
def squeeze(s: State) -> None:
    """Drop dead entries, keeping the order."""
    table, records = s.table, s.kept
    keep, first = s.n[at.KEEP], s.n[at.HEAD]
    kept = 0
    head = 0
    for entry in range(tail(s)):
        if table[2 * entry + 1] != at.DEAD:
            table[2 * kept] = table[2 * entry]
            table[2 * kept + 1] = table[2 * entry + 1]
            for i in range(keep):
                records[kept * keep + i] = records[entry * keep + i]
            kept += 1
            if entry < first:
                head = kept
    s.n[at.HEAD] = head
    s.n[at.SPARSE] = kept
    s.n[at.OFFSET] = kept - s.n[at.ROUNDS]


@leaf
def open_ticket(s: State) -> int:
    """Append the next ticket and return its entry."""
    rounds, arrived = s.n[at.ROUNDS], s.n[at.ARRIVED]
    entry = rounds + s.n[at.OFFSET]
    s.n[at.ROUNDS] = rounds + 1
    s.table[2 * entry] = rounds
    s.table[2 * entry + 1] = arrived
    return entry


@leaf
def locate(s: State, ticket: int) -> int:
    """Return the entry of a ticket that is open or skipped, else UNKNOWN or CLOSED."""
    if ticket < 0 or ticket >= s.n[at.ROUNDS]:
        return at.UNKNOWN
    entry = entry_of(s, ticket)
    if entry < 0:
        return at.CLOSED
    state = s.table[2 * entry + 1]
    return at.CLOSED if state == at.DEAD or state == at.HELD else entry


@leaf
def entry_of(s: State, ticket: int) -> int:
    """Return the entry of a ticket that was handed out, or -1 if a squeeze has dropped it."""
    entry = ticket + s.n[at.OFFSET]
    if entry < s.n[at.SPARSE]:
        entry = _bisect(s, ticket)
    return entry


@leaf
def hold(s: State, entry: int) -> None:
    """Close an entry for the user, but keep its record until ``release``."""
    s.table[2 * entry + 1] = at.HELD
    s.n[at.HOLDING] += 1


@leaf
def release(s: State, entry: int) -> None:
    """Let a held entry go."""
    s.table[2 * entry + 1] = at.DEAD
    s.n[at.HOLDING] -= 1


@leaf
def _bisect(s: State, ticket: int) -> int:
    last = s.n[at.SPARSE] - 1
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
    return low if low < s.n[at.SPARSE] and s.table[2 * low] == ticket else -1


@leaf
def _tells_lags(code: Code) -> bool:
    """Tell whether somebody looks at LAG and OPEN_LAGS."""
    outside = code[at.BASE] == at.OUTSIDE or code[at.DOMAIN] == at.USER_SET
    remembers = code[at.BASE] == at.PORTFOLIO or code[at.BASE] == at.LEADER
    return outside or remembers or code[at.METHOD] != at.OURS


@leaf
def count_arrival(code: Code, s: State, entry: int) -> int:
    """Count the arrival for an open entry: d_t, d*_n and s*_n. Return s*_n.

    d_t = predictions after the ticket's own; d*_n = arrivals since it was issued; s*_n = tickets
    still open afterwards (paper, equations 1 and 2).
    """
    n = s.n
    rounds = n[at.ROUNDS]
    arrived = n[at.ARRIVED]
    delay = rounds - s.table[2 * entry] - 1
    lag = arrived - s.table[2 * entry + 1]
    open_lags = rounds - arrived - 1
    n[at.ARRIVED] = arrived + 1
    n[at.SUM_DUAL] += open_lags
    if open_lags > n[at.MAX_DUAL]:
        n[at.MAX_DUAL] = open_lags
    if delay > n[at.MAX_DELAY]:
        n[at.MAX_DELAY] = delay
    if lag > n[at.MAX_DUAL_DELAY]:
        n[at.MAX_DUAL_DELAY] = lag
    if _tells_lags(code):
        n[at.LAG] = lag
        n[at.OPEN_LAGS] = open_lags
    return open_lags


@leaf
def overdue(s: State) -> int:
    """Return the entry to skip before the next prediction, or -1 (Algorithm 3, step 2).

    Ages fall from the head on, so only the oldest open ticket can cross the threshold
    t - s > sqrt(D_t), tested in integers. D_t never falls, so no open ticket can cross before
    round s + sqrt(D_t), s being the oldest one now: CALM, until when nobody needs to look.
    """
    n = s.n
    head, rounds, patience = n[at.HEAD], n[at.ROUNDS], n[at.PATIENCE]
    end = tail(s)
    while head < end and s.table[2 * head + 1] < 0:
        head += 1
    n[at.HEAD] = head
    oldest = s.table[2 * head] if head < end else rounds
    age = rounds - oldest
    if age * age > patience:
        return head
    n[at.CALM] = oldest + int(math.sqrt(float(patience))) - 1  # 1 less, as the root is rounded
    return -1


def total_delay(n: Ints) -> int:
    """Return the sum of the backlogs at all predictions: the total delay so far.

    With R predictions and N arrivals it is sum s* + N(N-1)/2 - R(R-1)/2 + (R-N)(R-1): sum the
    identity s*_n = d + t - n of Theorem 3.4 (c) over the arrivals, and let the delay of an open
    ticket t be R - 1 - t.
    """
    rounds, arrived = int(n[at.ROUNDS]), int(n[at.ARRIVED])
    closed = int(n[at.SUM_DUAL]) + arrived * (arrived - 1) // 2
    return closed - rounds * (rounds - 1) // 2 + (rounds - arrived) * (rounds - 1)


def max_backlog(n: Ints) -> int:
    """Return sigma_max so far: an arrival right after a prediction has s* equal to its backlog."""
    return max(int(n[at.MAX_DUAL]), int(n[at.ROUNDS] - n[at.ARRIVED]) - 1)
