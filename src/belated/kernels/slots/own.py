"""Slots of ``own``, for a base that keeps past points; other methods lay theirs out themselves.

After the header come, for a leader, the records (see ``past``), each the way so far and the point.
For a portfolio: the weights (a header like that of ``f``, w, what they are without the leash, the
charges); ROWS rows, which have a number for every member; a header for every member; their points,
z, then p, by coordinate: first that of all members, then the next one, so that four members at a
time take their steps; the records, each the ways and points of all members, then the way and the
values of the weights. A row has room for a multiple of four, and zeros after the last member (but
for what is passing). z has as many coordinates as a multiple of four, those after the last one 0,
so that four of them can be mixed at a time; p and the records have none to spare. A way is written
four times, as all of a record is written by fours.
"""

from __future__ import annotations

from typing import NamedTuple

from belated.kernels.slots import floats as F

RINGS = 0  # the number of the last ring of points
REACH = 1  # answers after more other arrivals find no point
MEMBERS = 2  # of a portfolio
# Of a leader, with F_n the sum of its quadratics h_1 .. h_n; LEARNING to GONE grow together:
LED = 3  # arrivals that it has taken a step for
LEARNING = 4  # sum of F_n(z_n) - F_n(z_{n+1})
DRIFT = 5  # sum of h_n(y_n) - h_n(z_n)
UNSURE = 6  # the most that knowing x_s instead of y_n would add to that
GONE = 7  # length of the way that it went
ANCHOR = 8  # number of the member that a portfolio is tied to ...
LEASH = 9  # ... and how much more than that one it may lose, as a part of what that is allowed
HEADER = 16

POINT = 4  # where the point stands in its record; the way to it stands before
PLACES = 16  # points kept per level; a power of 2

# What a header of the weights has in slots of its own.
WAY = F.MINE  # length of the way gone, in the 1-norm
SOFT_TOP = F.MINE + 1  # the soft maximum of the gaps
# What a member's header holds after that of ``f``.
PACE = F.HEADER  # code of its rate
MEMBER_HEADER = F.HEADER + 8

# Rows of a portfolio.
WAYS = 0  # length of the way that a member went
MISREAD = 1  # sum of what it was charged for not knowing its point exactly
GAP = 2  # what the mixture was charged more than it
PRIOR = 3  # its weight before anything was seen
LEADS = 4  # 1 for P-FTRL, whose p is a normal vector
SUMS = 5  # 1 for dual averaging, whose p is the sum of the costs
FIRST, SECOND = 6, 7  # passing work: the numbers of its projection
ROWS = 8


class Places(NamedTuple):
    """Where the parts of a portfolio begin in its own region."""

    wide: int
    """Length of a row, and of one coordinate of all members."""
    rows: int
    headers: int
    z: int
    p: int
    records: int
    width: int
    """Length of a record."""


def places(members: int, dim: int) -> Places:
    """Return where the parts of a portfolio stand."""
    wide = (members + 3) & -4
    rows = HEADER + F.HEADER + 3 * wide
    headers = rows + ROWS * wide
    z = headers + wide * MEMBER_HEADER
    p = z + ((dim + 3) & -4) * wide
    records = p + dim * wide
    width = wide + dim * wide + POINT + wide
    return Places(wide, rows, headers, z, p, records, width)


def point_width(dim: int) -> int:
    """Return the length of a record of one point: the way to it, four times, and itself."""
    return POINT + ((dim + 3) & -4)


def rings(levels: int) -> int:
    """Return how many rings hold the points of so many levels; see ``past``."""
    return levels + PLACES.bit_length() - 1


def records(levels: int) -> int:
    """Return how many records there are in all rings."""
    return rings(levels) * (PLACES // 2)
