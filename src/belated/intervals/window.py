"""The misses among the latest arrivals, and the worst stretch of them so far."""

from __future__ import annotations

LENGTH = 1000
"""Arrivals of a window."""
Added = tuple[int, bool, int, int]
"""A place, whether it was a miss, the misses inside, and the most of them."""


class Window:
    """Counts the misses of every ``LENGTH`` arrivals in a row.

    >>> window = Window()
    >>> for n in range(1500):
    ...     window.add(n, n >= 1400)
    >>> window.worst
    100
    """

    __slots__ = ("_inside", "flags", "worst")

    def __init__(self) -> None:
        self.flags = bytearray(LENGTH)
        """Whether arrival n was a miss, at n modulo the length."""
        self.worst = 0
        """Most misses in a whole window."""
        self._inside = 0

    def add(self, number: int, is_missed: bool) -> None:
        """Take in arrival ``number``, counted from 0."""
        self.put(self.with_arrival(number, is_missed))

    def with_arrival(self, number: int, is_missed: bool) -> Added:
        """Return all that ``add`` would change, as it is then; nothing changes."""
        place = number % LENGTH
        inside, worst = self._inside + is_missed - self.flags[place], self.worst
        if number >= LENGTH - 1 and inside > worst:
            worst = inside
        return place, is_missed, inside, worst

    def put(self, added: Added) -> None:
        """Put into place what was added; twice is as good as once."""
        place, is_missed, self._inside, self.worst = added
        self.flags[place] = is_missed

    def refill(self, flags: bytes, worst: int) -> None:
        """Go on from what was saved."""
        self.flags, self.worst, self._inside = bytearray(flags), worst, sum(flags)
