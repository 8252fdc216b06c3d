"""Points of the past, kept so that an answer finds about where the base stood at its play.

Which ones are kept does not depend on the open tickets: of the points after a multiple of 2^j
arrivals the last 16 are there, on every level j. The points for s arrivals are the two around s on
the first level that goes back so far: the point itself for the last 16 arrivals, and for older ones
two that are 2^j <= 2/15 of the arrivals since s apart. A record holds the point and whatever else
its owner wants to find there.

Every second point of a level is one of the next level too, so a point is written once, into the
ring of the last level that it is on, and 8 places in each ring are enough. Of the points of the
last level, half stand in its ring, a quarter in the next, and so on: 4 rings more.
"""

from __future__ import annotations

import math

import cython
import numpy as np

from belated.core.component import VECTOR

if cython.compiled:
    from cython.cimports.belated.core.component import Component
    from cython.cimports.belated.core.memory import floats_at, part
    from cython.cimports.belated.core.tickets import Tickets
    from cython.cimports.libc.math import frexp
else:
    from belated.core.component import Component
    from belated.core.memory import floats_at, part
    from belated.core.tickets import Tickets

PLACES = 16  # points per level
RING = 8  # records per ring


def records_for(reach):
    """Return how many records serve answers that come after so many other arrivals."""
    levels = max(1, math.ceil(math.log2(reach / (PLACES - 1))) + 1)
    return (levels + PLACES.bit_length() - 1) * RING


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def bit_length(number: cython.longlong) -> cython.int:
    """Return how many binary digits a number above 0 has."""
    if cython.compiled:
        digits: cython.int = 0
        frexp(cython.cast(cython.double, number), cython.address(digits))
        return digits
    else:
        return number.bit_length()


@cython.cclass
class Past(Component):
    """Records of the past; ``tickets`` say how many arrivals there were."""

    FIELDS = {"records": VECTOR}

    def __init__(self, tickets: Tickets, reach: int, record):
        self.tickets, self.reach, self.width = tickets, reach, len(record)
        count = records_for(reach)
        self.last_ring = count // RING - 1
        self.records = np.tile(np.array(record, dtype=np.float64), (count, 1))
        self.first = floats_at(self.records)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def at(self, arrivals: cython.longlong) -> cython.p_double:
        """Return the record after so many arrivals."""
        marked: cython.longlong = arrivals | (cython.cast(cython.longlong, 1) << self.last_ring)
        ring: cython.longlong = bit_length(marked & -marked) - 1
        place: cython.longlong = (arrivals >> (ring + 1)) & 7
        return part(self.first, (ring * 8 + place) * self.width)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def seen(self) -> cython.longlong:
        """Return how many answers had arrived at the play of the newest one."""
        return self.tickets.arrived - 1 - self.tickets.lag

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def level(self) -> cython.int:
        """Return the first level that goes back to the play of the newest answer, or -1."""
        newest: cython.longlong = self.tickets.arrived - 1
        seen: cython.longlong = self.seen()
        if newest - seen > self.reach:
            return -1
        # No level before the one where so many arrivals are fewer than 16, and at most one after
        # it; a loop over levels would be mispredicted.
        level: cython.int = bit_length((newest - seen) | 8) - 4
        return level + 1 if (newest >> level) - (seen >> level) >= 16 else level

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def below(self, level: cython.int) -> cython.p_double:
        """Return the record at or before the play of the newest answer, on a level."""
        return self.at(self.seen() >> level << level)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def beyond(self, level: cython.int) -> cython.p_double:
        """Return the record at or after it."""
        one: cython.longlong = 1
        return self.at((self.seen() + (one << level) - 1) >> level << level)
