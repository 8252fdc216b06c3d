"""The misses among the latest arrivals, and the worst stretch of them so far."""

from __future__ import annotations

LENGTH = 1000
"""Arrivals of a window."""


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

    def twin(self) -> Window:
        """Return the same once more, to change it: one who is interrupted still has the other."""
        other = Window()
        other.flags, other.worst, other._inside = self.flags.copy(), self.worst, self._inside
        return other

    def add(self, number: int, is_missed: bool) -> None:
        """Take in arrival ``number``, counted from 0."""
        place = number % LENGTH
        self._inside += is_missed - self.flags[place]
        self.flags[place] = is_missed
        if number >= LENGTH - 1:
            self.worst = max(self.worst, self._inside)

    def refill(self, flags: bytes, worst: int) -> None:
        """Go on from what was saved."""
        self.flags, self.worst, self._inside = bytearray(flags), worst, sum(flags)
