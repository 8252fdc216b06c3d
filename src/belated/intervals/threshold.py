"""The threshold: a forecast of the scores, and what is owed."""

from __future__ import annotations

import math

PACE = 64
"""Open tickets up to which the step is that of no delay."""

Learned = tuple[int, int, int, int, float, float, float, int, float, int, int]
"""Counts, sums, the least step of a stretch, and how many scores were of a size."""


class Threshold:
    """Issues thresholds q of which a share alpha is exceeded by the scores, whatever comes.

        q = b + eta D,   D = missed - alpha n,   eta = 2 S / (64 + w)

    with b a forecast of the score, clipped to [0, the largest score so far], n the scores that have
    come of tickets with a threshold, ``missed`` how many of them exceeded the one *that was issued
    with them*, S the mean of all scores so far, and w the largest number of tickets that were open
    when one came. D is what is owed: each miss more than allowed makes all later thresholds larger,
    each one less smaller. A common rule judges scores by the threshold of the day they come on;
    with delays that one can miss half of all, and never learn of it.

    Before the first score nothing is known, and thresholds are infinite. Scores of such tickets
    count in S and in what forecasts are clipped to, and not in n: to be below infinity is no
    merit, for which others would have to be missed.

    For scores that come in any order and after any delays, also if they are chosen by somebody who
    sees every threshold, D stays within the limits of ``belated.intervals.guarantee``, and so the
    share missed, alpha + D / n, tends to alpha.

    >>> threshold = Threshold(alpha=0.5)
    >>> threshold.issue(7.0)  # nothing has come yet, so that nothing is known
    inf
    >>> threshold.learn(math.inf, 3.2, waiting=1, is_missed=False)
    >>> threshold.issue(7.0), threshold.owed
    (3.2, 0.0)
    >>> threshold.learn(3.2, 4.0, waiting=1, is_missed=True)
    >>> round(threshold.issue(7.0), 3), threshold.owed
    (4.055, 0.5)
    """

    __slots__ = (
        *("alpha", "arrived", "missed", "unbounded", "total", "largest", "top"),
        *("most_open", "floors", "sizes", "_shift"),
    )

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self.arrived = 0
        """n: the scores that have come, less those that are unbounded."""
        self.missed = 0
        self.unbounded = 0
        """Scores of tickets that were issued before anything was known."""
        self.total = 0.0
        """Sum of all scores."""
        self.largest = 0.0
        """Of all scores."""
        self.top = 0.0
        """The largest forecast that was issued with a threshold."""
        self.most_open = 0
        """Open tickets when a score came, that one included; the most so far."""
        self.floors: list[float] = []
        """The least step while n is from 2^j to 2^(j+1) - 1."""
        self.sizes: dict[int, int] = {}
        """How many positive scores, of those that are counted, were of a size; see ``size_of``."""
        self._shift = 0.0

    @property
    def heard(self) -> int:
        """All scores that have come."""
        return self.arrived + self.unbounded

    @property
    def owed(self) -> float:
        """D: the misses that were too many, or, if negative, too few."""
        return self.missed - self.alpha * self.arrived

    @property
    def step(self) -> float:
        """eta: what a miss adds to the thresholds, and 0 before the first score."""
        return _step(self.total, self.heard, self.most_open) if self.heard else 0.0

    def issue(self, forecast: float) -> float:
        """Return the threshold for one more ticket; below 0 it is a miss in any case."""
        threshold, self.top = self.with_top(forecast)
        return threshold

    def peek(self, forecast: float) -> float:
        """Return what ``issue`` would, without any change."""
        return self.with_top(forecast)[0]

    def with_top(self, forecast: float) -> tuple[float, float]:
        """Return what ``issue`` would, and the largest forecast once it has; nothing changes."""
        if not (self.arrived or self.unbounded):
            return math.inf, self.top
        base = 0.0 if forecast < 0.0 else min(forecast, self.largest)
        return base + self._shift, max(self.top, base)

    def learn(self, issued: float, score: float, waiting: int, *, is_missed: bool) -> None:
        """Take in a score, and whether it was a miss by the threshold issued with its ticket.

        A score below its threshold is none, and a threshold below 0 is one in any case. ``waiting``
        counts the open tickets, this one included.
        """
        self.put(self.with_score(issued, score, waiting, is_missed))

    def with_score(self, issued: float, score: float, waiting: int, is_missed: bool) -> Learned:
        """Return all that ``learn`` would change, as it is then; nothing changes."""
        arrived, missed, unbounded = self.arrived, self.missed, self.unbounded
        size = count = 0
        if issued == math.inf:
            unbounded += 1
        else:
            arrived, missed = arrived + 1, missed + is_missed
            if score > 0.0:
                size = size_of(score)
                count = self.sizes.get(size, 0) + 1
        total = self.total + score
        largest = score if score > self.largest else self.largest
        most_open = waiting if waiting > self.most_open else self.most_open
        floor = step = _step(total, arrived + unbounded, most_open)
        block = arrived.bit_length() - 1
        if 0 <= block < len(self.floors) and self.floors[block] < floor:
            floor = self.floors[block]
        shift = step * (missed - self.alpha * arrived)
        counts = arrived, missed, unbounded, most_open
        return *counts, total, largest, shift, block, floor, size, count

    def put(self, learned: Learned) -> None:
        """Put into place what was learned; twice is as good as once."""
        self.arrived, self.missed, self.unbounded, self.most_open = learned[:4]
        self.total, self.largest, self._shift = learned[4:7]
        block, floor, size, count = learned[7:]
        if block >= 0:  # steps before the first arrival are none of the theorem's
            self.floors[block:] = (floor,)
        if count:
            self.sizes[size] = count

    def refresh(self) -> None:
        """Compute what is added to forecasts; it follows from the rest."""
        self._shift = self.step * self.owed


def _step(total: float, heard: int, most_open: int) -> float:
    return 2.0 * total / (heard * (PACE + most_open))


def size_of(score: float) -> int:
    """Return the size of a positive score: four to every power of two."""
    fraction, exponent = math.frexp(score)
    return 4 * exponent + int(8.0 * fraction) - 4


def limit_of(size: int) -> float:
    """Return what scores of a size are below.

    >>> limit_of(size_of(5.0)), limit_of(size_of(5.99)), limit_of(size_of(6.0))
    (6.0, 6.0, 7.0)
    """
    return math.ldexp(((size & 3) + 5) / 8.0, size >> 2)
