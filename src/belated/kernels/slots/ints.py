"""Slots of ``n``: parameters, then counters; answers used = ARRIVED - SKIPPED - CANCELLED.

After the header comes the table of tickets, then the int blocks of the copies.
"""

from __future__ import annotations

DIM = 0
KEPT_AT = 7  # where the numbers kept per ticket begin in ``f``
ROUNDS = 8  # predictions issued
ARRIVED = 9  # tickets closed, by an answer or without
SKIPPED = 10  # given up on
CANCELLED = 11
LATE = 12  # answers that came after their ticket was given up on
EXCESS = 13  # answers larger than assumed
SUM_DUAL = 14  # sum of open counts at arrivals
MAX_DUAL = 15  # largest open count at an arrival
MAX_DELAY = 16  # largest delay of an answered ticket
MAX_DUAL_DELAY = 17
PATIENCE = 18  # square of the age beyond which tickets are given up on; Skip: sum of open counts
GHOSTS = 19  # tickets given up on whose answer may still come
HEAD = 20  # entries before this one are not open
SPARSE = 21  # entries left by the last squeeze; later ones belong to consecutive tickets ...
OFFSET = 22  # ... ticket t having entry t + OFFSET
CALM = 23  # before this many rounds nothing can be overdue
APPLIED = 24  # of a linear model: 1 more than the predictions when answers were applied, that may
# be taken back
LAG = 25  # dual delay of the newest arrival ...
OPEN_LAGS = 26  # ... and its dual backlog, where they are looked at
CAPACITY = 27  # entries that the table has room for
KEEP = 28  # floats kept per entry
COPY_F = 29  # not used, like the next two
COPY_N = 30
MADE = 31
HOLDING = 34  # not used
FORGOTTEN = 36  # tickets before this one are closed, and some of them forgotten
FADING = 37  # entries before this one are no ghosts, where ghosts are forgotten

# Linear models only.
COORDINATES = 38  # 2^bits; the bias is coordinate number 2^bits
INTERCEPT = 39  # 1: a bias is part of every row
POOL_TAIL = 40  # pairs of the pool in use, those of closed tickets included
POOL_LIVE = 41  # pairs of open tickets
GIVES_UP = 42  # whether tickets are closed by themselves; see ``linear.layout``
LEAST = 43  # predictions that a ticket gets at least
LIMIT = 44  # predictions after which tickets are given up on now; 0: none
MOST_OPEN = 45  # tickets that may be open; 0: as many as there are
LEARNS_LATE = 46  # 1: what comes after its deadline is learned
SETTLED = 47  # tickets whose label so far became the last word by itself
CORRECTED = 48  # labels that replaced an earlier one
DUE = 49  # entries of the heap of what is due
HAS_TIMES = 50  # 1: the clock shows times that users gave, 2: dates without a zone, 3: with one
HEARD = 51  # of the tickets given up on, those with a label so far

MAX_LOST = 52  # largest delay of a ticket that was closed without an answer
HEADER = 53
