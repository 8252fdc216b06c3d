"""What a policy would have earned, from decisions that another one made.

With x the context of a decision, a what was done, p its logged probability, r its reward, pi(a|x)
the probability under the policy in question, w = pi(a|x) / p and q(x, a) a prediction of r that was
made before the decision from rewards known by then, each estimator is the mean of terms g:

    ips     g = w r
    snips   V + (w / mean w) (r - V),  V = sum(w r) / sum(w)
    dr      g = sum over b of pi(b|x) q(x, b) + w (r - q(x, a))

Given everything before a decision, the terms of ``ips`` and ``dr`` have the mean E[r | x, pi],
however q was learned and however late rewards come: less that mean they are martingale differences,
also where the logging policy learns. ``snips`` is a ratio; its terms are the linear ones, which
have the same mean and, to first order, the same variance.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from belated.arrays import Floats

Estimator = Literal["ips", "snips", "dr"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
TITLES = {
    "ips": "inverse propensity",
    "snips": "self-normalised",
    "dr": "doubly robust",
}


class Terms(NamedTuple):
    """Terms whose mean is an estimate, one per decision."""

    values: Floats
    slopes: Floats
    """By how much each grows with its reward."""
    largest: float
    """The largest weight as a share of all weights."""

    def minus(self, other: Terms) -> Terms:
        """Return the terms of the difference, decision by decision."""
        return Terms(
            self.values - other.values,
            self.slopes - other.slopes,
            max(self.largest, other.largest),
        )


class Weighed(NamedTuple):
    """A policy beside a log: all that the estimators need of it."""

    weights: Floats
    """w = pi(a|x) / p of what was done."""
    expected: Floats | None
    """What the model expects of the policy; None where only pi of what was done is known."""
    predicted: Floats
    """What the model expects of what was done."""

    def terms(self, estimator: Estimator, rewards: Floats, rows: Any = slice(None)) -> Terms | None:
        """Return the terms of some decisions; None where not enough is known for the estimator."""
        w, r = self.weights[rows], rewards[rows]
        total = float(w.sum())
        if total == 0.0:  # nothing that it would do was ever done
            return None
        largest = float(w.max()) / total
        if estimator == "ips":
            return Terms(w * r, w, largest)
        if estimator == "snips":
            value, share = float(w @ r) / total, w * (w.size / total)
            return Terms(value + share * (r - value), share, largest)
        if self.expected is None:
            return None
        return Terms(self.expected[rows] + w * (r - self.predicted[rows]), w, largest)

    @property
    def effective(self) -> float:
        """Effective sample size: as many decisions of the policy's own would say as much."""
        squares = float(self.weights @ self.weights)
        return float(self.weights.sum()) ** 2 / squares if squares > 0.0 else 0.0

    @property
    def largest(self) -> float:
        """The largest weight."""
        return float(np.max(self.weights))


# ---- intervals for means of terms ----------------------------------------------------------------
# Terms are martingale differences around what is estimated, so their variances add up, and the mean
# is nearly normal where no single decision weighs too much:
#
#     mean -+ t s / sqrt(n),   s^2 the variance of the terms,
#
# with the quantile t of Student's distribution with 2 n / (k - 1) degrees of freedom, k the
# kurtosis of the terms: as many as would make s^2 as uncertain as it is; at least ``FEW``.
#
# Where single decisions weigh much, those that were lucky to be seen say little of those that were
# not. So the lower end is that of the log with one more decision, the worst that any of these could
# have been, and the upper end that of the log with the best one. It counts in full where one
# decision has at least 1 / ``FEW`` of all weight, and proportionally less below; with even weights
# it counts next to nothing. After N. Karampatziakis, J. Langford and P. Mineiro, "Empirical
# likelihood for contextual bandits" (2020), where such a decision stands for what was not seen.
#
# Rewards that share what happened to them (a bad day) make terms that vary together; ``blocks``
# takes the variance from the means of so many stretches of time, and keeps the wider interval.

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
