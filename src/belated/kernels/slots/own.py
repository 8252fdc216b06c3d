"""Slots of ``own``, for a base that keeps past points; other methods lay theirs out themselves.

After the header come, for a leader, the points: PLACES per level. For a portfolio the weights (a
header like that of ``f``, w, what they are without the leash, the charges); the members (a header,
z, p); the points.
"""

from __future__ import annotations

from belated.kernels.slots import floats as F

LEVELS = 0
REACH = 1  # answers after more other arrivals find no point
MEMBERS = 2  # of a portfolio
LED = 3  # answers that a leader has used
ANCHOR = 4  # number of the member that a portfolio is tied to ...
LEASH = 5  # ... and how much more than that one it may lose, as a part of what that is allowed
HEADER = 8

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
