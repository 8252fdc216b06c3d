"""Points of the past, kept so that an answer finds about where the base stood at its play.

Which ones are kept does not depend on the open tickets: level j keeps the last PLACES points after
a multiple of 2^j arrivals. The points for s arrivals are the two around s on the first level that
goes back so far: the point itself for the last PLACES arrivals, and for older ones two that are
2^j <= 2 / (PLACES - 1) of the arrivals since s apart. A record holds the point and whatever else
its owner wants to find there.
"""

from __future__ import annotations

import numpy as np

from belated.kernels.jit import leaf
from belated.kernels.learners.state import State
from belated.kernels.slots import ints as N
from belated.kernels.slots import own as OWN


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
    # it. The exponent of a float says which that is; a loop over levels would be mispredicted.
    bits = int(np.float64((newest - seen) | (OWN.PLACES >> 1)).view(np.int64))
    level = (bits >> 52) - _BEFORE
    apart = (newest >> level) - (seen >> level)
    return level + (1 if apart >= OWN.PLACES else 0)


_BEFORE = 1023 + OWN.PLACES.bit_length() - 2  # exponent of PLACES / 2


@leaf
def record_at(start: int, width: int, level: int, number: int) -> int:
    """Return where the record after number * 2^level arrivals stands."""
    return start + (level * OWN.PLACES + (number & (OWN.PLACES - 1))) * width


@leaf
def after(seen: int, level: int) -> int:
    """Return the number on a level of the first point not before ``seen`` arrivals."""
    return (seen + (1 << level) - 1) >> level


@leaf
def spread(s: State, start: int, width: int) -> None:
    """Copy the newest record, just written on level 0, to all other levels that want it."""
    number = s.n[N.ARRIVED]
    source = record_at(start, width, 0, number)
    level = 1
    while number & 1 == 0 and level < int(s.own[OWN.LEVELS]):
        number >>= 1
        target = record_at(start, width, level, number)
        for i in range(width):
            s.own[target + i] = s.own[source + i]
        level += 1
