"""Points of the past, kept so that an answer finds about where the base stood at its play.

Which ones are kept does not depend on the open tickets: of the points after a multiple of 2^j
arrivals the last PLACES are there, on every level j. The points for s arrivals are the two around s
on the first level that goes back so far: the point itself for the last PLACES arrivals, and for
older ones two that are 2^j <= 2 / (PLACES - 1) of the arrivals since s apart. A record holds the
point and whatever else its owner wants to find there.

Every second point of a level is one of the next level too, so a point is written once, into the
ring of the last level that it is on, and half of PLACES in each ring are enough. Of the points of
the last level, half stand in its ring, a quarter in the next, and so on: log PLACES rings more.
"""

from __future__ import annotations

from belated.kernels.jit import leaf
from belated.kernels.learners.state import State
from belated.kernels.slots import ints as N
from belated.kernels.slots import own as OWN
from belated.kernels.zeros import ending, length


@leaf
def seen_by(s: State) -> int:
    """Return how many answers had arrived when the play of the newest one was made."""
    return s.n[N.ARRIVED] - 1 - s.n[N.LAG]


@leaf
def level_of(s: State, seen: int) -> int:
    """Return the first level that goes back to ``seen`` arrivals, or -1 beyond the reach."""
    newest = s.n[N.ARRIVED] - 1
    if newest - seen > s.own[OWN.REACH]:
        return -1
    # No level before the one where so many arrivals are fewer than PLACES, and at most one after
    # it. A loop over levels would be mispredicted.
    level = length((newest - seen) | (OWN.PLACES >> 1)) - _BEFORE
    apart = (newest >> level) - (seen >> level)
    return level + (1 if apart >= OWN.PLACES else 0)


_BEFORE = (OWN.PLACES >> 1).bit_length()


@leaf
def record_at(s: State, start: int, width: int, arrivals: int) -> int:
    """Return where the record after so many arrivals stands."""
    ring = ending(arrivals | (1 << int(s.own[OWN.RINGS])))
    number = (arrivals >> (ring + 1)) & (_RING - 1)
    return start + (ring * _RING + number) * width


_RING = OWN.PLACES // 2


@leaf
def around(s: State, start: int, width: int, level: int, seen: int) -> tuple[int, int]:
    """Return where the two records around ``seen`` arrivals on a level stand."""
    above = (seen + (1 << level) - 1) >> level
    first = record_at(s, start, width, seen >> level << level)
    return first, record_at(s, start, width, above << level)
