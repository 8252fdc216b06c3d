"""Codes of the parts, and the layout of the two state arrays.

A composition is a tuple ``code`` of small ints, one per slot below; the compiler sees them as
constants. Everything else (dimension, radii, counters) is data.
"""

from __future__ import annotations

# Slots of ``code``.
REDUCTION, BASE, DOMAIN, CHART, RATE, SMOOTHING, BASELINE, SKIP, METHOD = range(9)

# code[REDUCTION]: what an answer is; MANY_POINTS and COEFFICIENTS have dim + 1 numbers.
FIRST_ORDER, ONE_POINT, TWO_POINT, MANY_POINTS, COEFFICIENTS = range(5)
# code[BASE]; with OUTSIDE a Python object takes the step.
PFTRL, OMD, ENTROPY, OUTSIDE, PORTFOLIO, DUAL_AVERAGING, LEADER = range(7)
# code[DOMAIN]; with USER_SET a Python function projects.
BALL, BOX, SIMPLEX, L1, USER_SET = range(5)
# code[CHART]: x = y, x = shift + y, x = shift + scale * y clipped to [low, high].
PLAIN, SHIFTED, SCALED = range(3)
# code[RATE]; with MIXED every member of a portfolio has its own.
DELAY_ADAPTIVE, TIGHT, GRADIENT_ADAPTIVE, CURVED, CONSTANT_RATE, TABLE, NO_RATE = range(7)
ROOT, MIXED = 7, 8
# code[METHOD]: 0 for the paper's own, else the number of a method in ``methods``.
OURS = 0
# code[SMOOTHING]
NO_SMOOTHING, QUARTER_ROOT, CUBE_ROOT, INVERSE_ROOT, INVERSE, FIXED = range(6)

# ``f``: parameters that never change, then scalars of the state, then vectors of length dim.
SIZE = 0  # radius of the set, or floor of the simplex
INNER = 1  # inner radius r
DIAMETER = 2  # D; under the entropy mirror D^2 / 2 bounds the divergence
LIPSCHITZ = 3  # G, or 0 where it is unknown
MAGNITUDE = 4  # M
CURVATURE = 5  # lambda
GAIN = 6  # numerator of the step size
NOISE = 7  # k M / G, for one-point steps
BREADTH = 8  # factor in the smoothing schedule
ETA = 9  # current step size; 0 before the first
SPREAD = 10  # running float sum under the root of the step size
LEARNED = 11  # sum of eta |c|^2 / 2
DRIFTED = 12  # sum of eta s* |c|
LARGEST = 13  # largest |c| so far
VALUES = 14  # sum of the values used so far, for the baseline
WIDTH = 15  # largest distance between two plays, in the norm that goes with LIPSCHITZ
F_HEADER = 16  # then z, p, scratch; then shift, scale, low, high as far as the chart has them;
# then a region of the method's own (for a table of rates: the table), KEEP numbers per entry of the
# table of tickets, and the float blocks of the copies.


def padded(dim: int) -> int:
    """Return the room that z, p and scratch take each, so that all three start on a cache line."""
    return (dim + 7) & -8


# ``n``: parameters, counters, table of tickets. Answers used = ARRIVED - SKIPPED - CANCELLED.
DIM = 0
SEED_LOW = 1
SEED_HIGH = 2
STRICT = 3
HORIZON = 4  # of the smoothing; 0 for none
OWN = 5  # length of the method's own region ...
OWN_AT = 6  # ... which begins here in ``f``
KEPT_AT = 7  # where the numbers kept per ticket begin in ``f``
ROUNDS = 8  # predictions issued
ARRIVED = 9  # tickets closed, by an answer or without
SKIPPED = 10
CANCELLED = 11
LATE = 12  # answers that came after their ticket was skipped
EXCESS = 13  # answers larger than assumed
SUM_DUAL = 14  # sum of open counts at arrivals
MAX_DUAL = 15  # largest open count at an arrival
MAX_DELAY = 16
MAX_DUAL_DELAY = 17
PATIENCE = 18  # the skipping rule's sum of open counts
GHOSTS = 19  # skipped tickets whose answer may still come
HEAD = 20  # entries before this one are not open
SPARSE = 21  # entries left by the last squeeze; later ones belong to consecutive tickets ...
OFFSET = 22  # ... ticket t having entry t + OFFSET
CALM = 23  # before this many rounds nothing can be overdue
WAITING = 24  # 1 while a step waits for a user's base or projection
LAG = 25  # what such a base is told: dual delay of the newest arrival ...
OPEN_LAGS = 26  # ... and its dual backlog
CAPACITY = 27  # entries that the table has room for
KEEP = 28  # floats kept per entry
COPY_F = 29  # floats of one copy, for methods that keep copies; block 0 is a fresh one
COPY_N = 30  # ints of one copy
MADE = 31  # copies made so far
FREE = 32  # copy to be used next, or 0
LINK = 33  # in a copy: the next free one
HOLDING = 34  # answered tickets whose record is still needed
N_HEADER = 35  # then the table of tickets, then the int blocks of the copies

# The own region of a base that keeps past points begins with these.
LEVELS = 0
REACH = 1  # answers after more other arrivals find no point
MEMBERS = 2  # of a portfolio
LED = 2  # answers that a leader has used
OWN_HEADER = 8
# Then, for a leader, the points: PLACES per level. For a portfolio the weights (a header like that
# of ``f``, w, its normal vector, the charges); the members (a header, z, p); the points.
PLACES = 16
# What a member's header holds besides.
KIND = F_HEADER  # code of its base ...
PACE = F_HEADER + 1  # ... and of its rate
MISREAD = F_HEADER + 2  # sum of what it was charged for not knowing its point exactly
WAY = F_HEADER + 3  # length of the way that it went
MEMBER_HEADER = F_HEADER + 8


def member_at(members: int, dim: int, number: int) -> int:
    """Return where a member begins in the own region of a portfolio; the points come after all."""
    weights = F_HEADER + 3 * ((members + 7) & -8)
    return OWN_HEADER + weights + number * (MEMBER_HEADER + 2 * ((dim + 7) & -8))


# Second word of a ticket's entry: arrivals before it was issued, or one of these.
DEAD = -1
GIVEN_UP = -2
HELD = -3  # closed for the user, while its method still needs the record

# What an event returns besides a ticket: 1 used, 0 dropped, below 0 refused with nothing changed.
USED, DROPPED, UNKNOWN, CLOSED, BAD, TOO_LARGE, FULL = 1, 0, -1, -2, -3, -4, -5
OUT_OF_ORDER, NO_LOSS = -6, -7  # the method needs answers in order; or cannot do without one

# Costs beyond this could overflow the running sums of squares.
HUGE = 1e100
# Answers this close to the assumed bound are not called excessive.
SLACK = 1.0 + 1e-9
