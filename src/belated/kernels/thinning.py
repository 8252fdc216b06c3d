"""The numbers of a capacity of C tickets, in plain Python, for all who need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from belated.arrays import Floats

_Real = TypeVar("_Real", float, "Floats")


def gap(tickets: int) -> int:
    """Return g, predictions between two thinnings: the largest power of 2 up to C / 8, or 1."""
    return 1 << max(0, tickets.bit_length() - 4)


def limit(tickets: int, gap: int, log_ahead: _Real) -> _Real:
    """B = (C / 2 - g + 1) / (1 + ln T): ticket s of age a stays while U_s (a + 1) <= B.

    T is a power of 2 that reaches the next thinning. Then at most C / 2 tickets are expected: g of
    the newest, and B / (a + 1) of every age a.
    """
    return (0.5 * tickets - gap + 1.0) / (1.0 + log_ahead)


def coin(tickets: int, backlog: int) -> float:
    """Return p, the share of tickets that are tracked under a known backlog."""
    return min(1.0, tickets / (8 * (backlog + 1)))
