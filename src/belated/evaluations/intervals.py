"""Intervals for means of terms.

Terms are martingale differences around what is estimated, so their variances add up, and the mean
is nearly normal where no single decision weighs too much:

    mean -+ t s / sqrt(n),   s^2 the variance of the terms,

with the quantile t of Student's distribution with 2 n / (k - 1) degrees of freedom, k the kurtosis
of the terms: as many as would make s^2 as uncertain as it is; at least ``FEW``.

Where single decisions weigh much, those that were lucky to be seen say little of those that were
not. So the lower end is that of the log with one more decision, the worst that any of these could
have been, and the upper end that of the log with the best one. It counts in full where one decision
has at least 1 / ``FEW`` of all weight, and proportionally less below; with even weights it counts
next to nothing. After N. Karampatziakis, J. Langford and P. Mineiro, "Empirical likelihood for
contextual bandits" (2020), where such a decision stands for what was not seen.

Rewards that share what happened to them (a bad day) make terms that vary together; ``blocks`` takes
the variance from the means of so many stretches of time, and keeps the wider interval.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from belated.arrays import Floats
from belated.evaluations.estimators import Terms

LEVEL = 0.95
FEW = 32
"""Fewer decisions than this that share the weight make it extreme."""


class Estimate(NamedTuple):
    """A number, and the interval that holds what is estimated in 95 % of all logs."""

    value: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """1 where all of the interval is above 0, -1 where it is below, else 0."""
        return int(self.low > 0.0) - int(self.high < 0.0)


def interval(
    terms: Terms, rewards: Floats, *, level: float = LEVEL, blocks: int | None = None
) -> Estimate:
    """Return the mean of the terms, and its interval."""
    value = float(terms.values.mean())
    if terms.values.size < 2:
        return Estimate(value, -math.inf, math.inf)
    quantile = student(level, max(_freedom(terms.values), FEW))
    share = min(1.0, FEW * terms.largest)
    ends = [terms.values + terms.slopes * (end - rewards) for end in (rewards.min(), rewards.max())]
    mean, error = _with_one_more(terms.values, float(np.min(ends)), share)
    low = mean - quantile * error
    mean, error = _with_one_more(terms.values, float(np.max(ends)), share)
    high = mean + quantile * error
    if blocks is not None:
        reach = _blocked(terms.values, blocks, level)
        low, high = min(low, value - reach), max(high, value + reach)
    return Estimate(value, min(low, value), max(high, value))


def _freedom(values: Floats) -> float:
    """Return the degrees of freedom of the variance: 2 n / (k - 1)."""
    away = (values - values.mean()) ** 2
    square = float(away.mean()) ** 2
    if square == 0.0:
        return math.inf
    kurtosis = float((away**2).mean()) / square
    return 2.0 * values.size / max(kurtosis - 1.0, 1e-9)


def _with_one_more(values: Floats, more: float, share: float) -> tuple[float, float]:
    """Return mean and standard error with one more term that counts as a share of one."""
    n = values.size + share
    mean = (float(values.sum()) + share * more) / n
    square = float(((values - mean) ** 2).sum()) + share * (more - mean) ** 2
    return mean, math.sqrt(square / ((n - 1.0) * n))


def _blocked(values: Floats, blocks: int, level: float) -> float:
    """Return half the width of the interval from means of stretches of time."""
    means = block_means(values, blocks)
    error = float(means.std(ddof=1)) / math.sqrt(means.size)
    return student(level, means.size - 1.0) * error


def block_means(values: Floats, blocks: int) -> Floats:
    """Return the means of stretches of about as many terms each."""
    cuts = np.linspace(0, values.size, min(blocks, values.size) + 1).astype(np.int64)
    found: Floats = np.add.reduceat(values, cuts[:-1]) / np.diff(cuts)
    return found


def student(level: float, freedom: float) -> float:
    """Return the quantile of Student's distribution that leaves 1 - ``level`` outside of both.

    By its expansion in 1 / freedom (R. A. Fisher and E. A. Cornish, 1960), which is right to six
    digits from 32 degrees of freedom on, and at 95 % to a third of a percent from five on.

    >>> round(student(0.95, 10.0), 3), round(student(0.95, math.inf), 3)
    (2.228, 1.96)
    """
    z = NormalDist().inv_cdf(0.5 + level / 2.0)
    parts = (
        (z**3 + z) / 4.0,
        (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0,
        (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0,
        (79.0 * z**9 + 776.0 * z**7 + 1482.0 * z**5 - 1920.0 * z**3 - 945.0 * z) / 92160.0,
    )
    return z + sum(part / freedom ** (i + 1) for i, part in enumerate(parts))
