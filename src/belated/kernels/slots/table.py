"""Second word of a ticket's entry: arrivals before it was issued, or one of these."""

from __future__ import annotations

DEAD = -1
HELD = -2  # not used
GIVEN_UP = -3  # this minus t: given up on before prediction t
