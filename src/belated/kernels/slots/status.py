"""What an event returns besides a ticket: 1 used, 0 dropped, below 0 refused, nothing changed."""

from __future__ import annotations

from belated.refusals import BAD, CLOSED, FORGOTTEN, FULL, OUT_OF_ORDER, TOO_LARGE, UNKNOWN

__all__ = [
    "BAD",
    "CLOSED",
    "DROPPED",
    "FORGOTTEN",
    "FULL",
    "OUT_OF_ORDER",
    "TOO_LARGE",
    "UNKNOWN",
    "USED",
]

USED, DROPPED = 1, 0
