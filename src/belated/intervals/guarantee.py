"""How far the share missed can be from what is allowed, as a theorem has it.

Let D_n = missed - alpha n after n arrivals, those of tickets without a threshold left out, w the
largest number of tickets open at an arrival (the arriving one included), F the largest forecast
issued, m(L) the number of scores above L, and h(k) the least step eta that a threshold was issued
with after an arrival later than the k-th. Then for every k < n and every L >= 0

    D_n <= max((1 - alpha) k, L / h(k)) + (1 - alpha) (w + m(L))
    D_n >= -max(alpha k, F / h(k)) - alpha w

whatever the scores, the forecasts, the delays and the order are; docs/intervals.md has the proof.
The best k of the form 2^j - 1 and the best L are taken. With L = B, the largest score, and k = 0 it
reads |missed / n - alpha| <= (B / h + max(alpha, 1 - alpha) w) / n.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from belated.intervals.threshold import Threshold, limit_of


class Limits(NamedTuple):
    """Between which D must be."""

    low: float
    high: float


def limits(threshold: Threshold) -> Limits:
    """Return what the theorem says of D; at least that there are no more misses than arrivals."""
    alpha, arrived, waiting = threshold.alpha, threshold.arrived, threshold.most_open
    low, high = -alpha * arrived, (1.0 - alpha) * arrived
    tails = _tails(threshold)
    floor = math.inf
    for block in reversed(range(len(threshold.floors))):
        floor = min(floor, threshold.floors[block])
        if floor <= 0.0:
            break  # only zeros had come: there was no unit yet to take steps in
        before = (1 << block) - 1
        low = max(low, -max(alpha * before, threshold.top / floor) - alpha * waiting)
        for level, above in tails:
            start = max((1.0 - alpha) * before, level / floor)
            high = min(high, start + (1.0 - alpha) * (waiting + above))
    return Limits(low, high)


def _tails(threshold: Threshold) -> list[tuple[float, int]]:
    """Return levels, and how many scores may be above each."""
    tails, above = [], 0
    for size in sorted(threshold.sizes, reverse=True):
        tails.append((min(limit_of(size), threshold.largest), above))
        above += threshold.sizes[size]
    return [*tails, (0.0, above)]
