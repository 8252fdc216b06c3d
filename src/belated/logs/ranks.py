"""Which of several groups waits longer, by ranks, and whether that is more than chance."""

from __future__ import annotations

import math

from belated.arrays import Floats

ALARM = 1e-3
"""The probability of finding a difference between groups by chance alone."""


def compared(mine: Floats, others: Floats) -> tuple[float, float]:
    """Return the chance that mine are larger than others, and how far that is from chance.

    Both are counts of the same values, in their order. Equal values are halves, and the distance
    is in standard deviations (Mann and Whitney 1947):

    U = sum over mine of (others below + others equal / 2), with the mean n m / 2 and, with t equal
    values at a time, the variance n m / 12 (N + 1 - sum (t^3 - t) / (N (N - 1))), N = n + m.

    >>> import numpy as np
    >>> later, z = compared(np.array([0.0, 1.0, 1.0]), np.array([2.0, 1.0, 0.0]))
    >>> round(later, 3), round(z, 3)
    (0.917, 1.521)
    """
    n, m = float(mine.sum()), float(others.sum())
    below = others.cumsum() - others
    u = float((mine * (below + 0.5 * others)).sum())
    total, ties = n + m, mine + others
    tied = float((ties * ties * ties - ties).sum()) / (total * (total - 1.0))
    variance = n * m / 12.0 * (total + 1.0 - tied)
    z = (u - 0.5 * n * m) / math.sqrt(variance) if variance > 1e-9 * n * m else 0.0
    return u / (n * m), z


def is_sure(z: float, groups: int) -> bool:
    """Tell whether one of so many groups is further from the others than chance explains.

    >>> is_sure(3.4, 2), is_sure(3.4, 20)
    (False, False)
    >>> is_sure(-4.2, 2), is_sure(-4.2, 20)
    (True, True)
    """
    return groups * math.erfc(abs(z) / math.sqrt(2.0)) < ALARM
