"""Slots of ``own``, for a base that keeps past points; other methods lay theirs out themselves.

After the header come, for a leader, the records: PLACES per level, each the way so far and the
point. For a portfolio the weights (a header like that of ``f``, w, what they are without the leash,
the charges); the members (a header, z, p); the records, each the ways and points of all members and
the way and the values of the weights.
"""

from __future__ import annotations

from belated.kernels.slots import floats as F

LEVELS = 0
REACH = 1  # answers after more other arrivals find no point
MEMBERS = 2  # of a portfolio
# Of a leader, with F_n the sum of its quadratics h_1 .. h_n:
LED = 3  # answers that it has used
LEARNING = 4  # sum of F_n(z_n) - F_n(z_{n+1})
DRIFT = 5  # sum of h_n(y_n) - h_n(z_n)
UNSURE = 6  # the most that knowing x_s instead of y_n would add to that
GONE = 7  # length of the way that it went
ANCHOR = 8  # number of the member that a portfolio is tied to ...
LEASH = 9  # ... and how much more than that one it may lose, as a part of what that is allowed
HEADER = 16

PLACES = 16  # points kept per level; a power of 2

# What a header of the weights has in a slot of its own, and that of a member too.
WAY = F.MINE  # length of the way gone; of weights in the 1-norm
SOFT_TOP = F.MINE + 1  # of weights: the soft maximum of the gaps
# What else a member's header holds after that of ``f``.
KIND = F.HEADER  # code of its base ...
PACE = F.HEADER + 1  # ... and of its rate
MISREAD = F.HEADER + 2  # sum of what it was charged for not knowing its point exactly
GAP = F.HEADER + 3  # what the mixture was charged more than it
PRIOR = F.HEADER + 4  # its weight before anything was seen
MEMBER_HEADER = F.HEADER + 8


def member_at(members: int, dim: int, number: int) -> int:
    """Return where a member begins in the own region of a portfolio; the points come after all."""
    weights = F.HEADER + 3 * ((members + 7) & -8)
    return HEADER + weights + number * (MEMBER_HEADER + 2 * ((dim + 7) & -8))


def record_width(members: int, dim: int) -> int:
    """Return the length of a portfolio's record: way and point of every member, then of weights."""
    return members * (1 + dim) + 1 + members
