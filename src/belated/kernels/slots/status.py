"""What an event returns besides a ticket: 1 used, 0 dropped, below 0 refused, nothing changed."""

from __future__ import annotations

USED, DROPPED, UNKNOWN, CLOSED, BAD, TOO_LARGE, FULL = 1, 0, -1, -2, -3, -4, -5
OUT_OF_ORDER = -6  # the method needs answers in order
FORGOTTEN = -7  # given up on, or closed otherwise, so long ago that nobody knows any more
