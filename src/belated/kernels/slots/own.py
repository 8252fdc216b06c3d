"""Slots of ``own``, for a base that keeps past points; other methods lay theirs out themselves.

After the header come, for a leader, the points: PLACES per level. For a portfolio the weights (a
header like that of ``f``, w, its normal vector, the charges); the members (a header, z, p); the
points.
"""

from __future__ import annotations

from belated.kernels.slots import floats as F

LEVELS = 0
REACH = 1  # answers after more other arrivals find no point
MEMBERS = 2  # of a portfolio
LED = 3  # answers that a leader has used
HEADER = 8

PLACES = 16  # points kept per level; a power of 2

# What a member's header holds after that of ``f``.
KIND = F.HEADER  # code of its base ...
PACE = F.HEADER + 1  # ... and of its rate
MISREAD = F.HEADER + 2  # sum of what it was charged for not knowing its point exactly
WAY = F.HEADER + 3  # length of the way that it went
MEMBER_HEADER = F.HEADER + 8


def member_at(members: int, dim: int, number: int) -> int:
    """Return where a member begins in the own region of a portfolio; the points come after all."""
    weights = F.HEADER + 3 * ((members + 7) & -8)
    return HEADER + weights + number * (MEMBER_HEADER + 2 * ((dim + 7) & -8))
