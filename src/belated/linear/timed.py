"""What models with deadlines remember of the times that they are given."""

from __future__ import annotations

from belated.kernels.slots import ints as N
from belated.learner.state import Memory
from belated.linear.clock import DATES, NUMBERS


class TimedMemory(Memory):
    """Memory that knows whether times were given, and of what kind."""

    __slots__ = ()

    @property
    def has_times(self) -> bool:
        """Whether the clock shows times that users gave; otherwise it counts predictions."""
        return bool(self.n[N.HAS_TIMES])

    @property
    def has_dates(self) -> bool:
        """Whether one of them was a date, so that all are seconds since 1970."""
        return bool(self.n[N.HAS_TIMES] == DATES)

    def note_time(self, *, is_date: bool) -> None:
        """Remember that times are given, and of what kind."""
        self.n[N.HAS_TIMES] = self.times_with(is_date=is_date)

    def times_with(self, *, is_date: bool) -> int:
        """Return of what kind times are once one more was given."""
        return DATES if is_date or self.has_dates else NUMBERS
