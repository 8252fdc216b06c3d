"""Second word of a ticket's entry: arrivals before it was issued, or one of these."""

from __future__ import annotations

DEAD = -1
GIVEN_UP = -2
HELD = -3  # closed for the user, while its method still needs the record
