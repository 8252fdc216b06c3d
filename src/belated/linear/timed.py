"""What models with deadlines remember of the times that they are given."""

from __future__ import annotations

from belated.kernels.memory import Memory
from belated.kernels.slots import ints as N
from belated.linear.moments import NAIVE


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
        return bool(self.n[N.HAS_TIMES] >= NAIVE)

    @property
    def kind_of_times(self) -> int:
        """NUMBERS, NAIVE or AWARE; 0 before the first."""
        return self.n.item(N.HAS_TIMES)

    def times_with(self, kind: int) -> int:
        """Return of what kind times are once one more was given."""
        return max(self.kind_of_times, kind)
