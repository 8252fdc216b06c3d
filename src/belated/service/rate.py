"""So many a second, and no more: one bucket for each that asks."""

from __future__ import annotations

_MOST = 10_000


class Rates:
    """Buckets that fill at a rate, and hold what comes in a second.

    >>> rates = Rates(2.0)
    >>> [rates.take("a", 0.0) for _ in range(3)], rates.take("b", 0.0), rates.take("a", 0.5)
    ([True, True, False], True, True)
    >>> slow = Rates(0.5)
    >>> slow.take("a", 0.0), slow.take("a", 1.0), slow.take("a", 2.0)
    (True, False, True)
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, who: str, now: float) -> bool:
        """Tell whether one more may come; 0 is any number."""
        if self._rate <= 0.0:
            return True
        most = max(self._rate, 1.0)
        left, since = self._left.get(who, (most, now))
        left = min(left + (now - since) * self._rate, most)
        if len(self._left) > _MOST:
            self._left.clear()
        self._left[who] = (left - 1.0, now) if left >= 1.0 else (left, now)
        return left >= 1.0
