"""The mean reward of a policy, from decisions that another one made, with intervals.

With x the context of a decision, a what was done, p its logged probability, r its reward, pi(a|x)
the probability under the policy in question, w = pi(a|x) / p and q(x, a) a prediction of r that was
made before the decision from rewards known by then, each estimator is the mean of terms g:

    ips     g = w r
    snips   V + (w / mean w) (r - V),  V = sum(w r) / sum(w)
    dr      g = sum over b of pi(b|x) q(x, b) + w (r - q(x, a))

What is estimated is the mean m of m_t = E[r | x_t, pi] over the decisions of the log. If every
action was drawn anew with its logged probability, the terms of ``ips`` and ``dr`` have the mean m_t
given everything before and all that rewards share (the hour, a bad day, a trend), however the
logging policy learned and however late rewards come. So g_t - m_t are martingale differences: their
variances add up to sum E (g_t - m_t)^2 <= sum E (g_t - m)^2, which the variance of the terms
estimates. Rewards that change with time make intervals wider than necessary, never too narrow.
``snips`` is a ratio; its terms are the linear ones, which have the same mean and, to first order,
the same variance.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from belated.arrays import Floats

Estimator = Literal["ips", "snips", "dr"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
TITLES = {"ips": "inverse propensity", "snips": "self-normalised", "dr": "doubly robust"}


class Terms(NamedTuple):
    """Terms whose mean is an estimate, one per decision."""

    values: Floats
    slopes: Floats
    """By how much each grows with its reward."""
    largest: float
    """The largest weight as a share of all weights."""

    def minus(self, other: Terms) -> Terms:
        """Return the terms of the difference, decision by decision."""
        slopes, largest = self.slopes - other.slopes, max(self.largest, other.largest)
        return Terms(self.values - other.values, slopes, largest)


class Weighed(NamedTuple):
    """A policy beside a log: all that the estimators need of it."""

    weights: Floats
    """w = pi(a|x) / p of what was done."""
    expected: Floats | None
    """The reward of the policy that the model expects; None without pi of all actions."""
    predicted: Floats
    """The reward of the logged actions that the model expects."""

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
# The mean is nearly normal where no single decision weighs too much:
#
#     mean -+ t s / sqrt(n),   s^2 the variance of the terms,
#
# with the quantile t of Student's distribution with 2 n / (k - 1) degrees of freedom, k the
# kurtosis of the terms: as many as would make s^2 as uncertain as it is; at least ``FEW``.
#
# Where single decisions weigh much, the log says little about decisions that it does not hold. So
# the lower end is that of the log with one more decision, the worst that any of these could have
# been, and the upper end that of the log with the best one. It counts in full where one decision
# has at least 1 / ``FEW`` of all weight, and proportionally less below. After N. Karampatziakis,
# J. Langford and P. Mineiro, "Empirical likelihood for contextual bandits" (2020).
#
# ``blocks`` takes the variance from the means of so many stretches of time, and keeps the wider
# interval: for actions that were not drawn anew in every decision, and for what a policy would earn
# at other times than those of the log.

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
    cuts = np.linspace(0, values.size, min(blocks, values.size) + 1).astype(np.int64)
    means = np.add.reduceat(values, cuts[:-1]) / np.diff(cuts)
    return student(level, means.size - 1.0) * (float(means.std(ddof=1)) / math.sqrt(means.size))


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


# ---- what intervals assume: actions are drawn anew, with the logged probabilities ----------------

SURE = 0.9999
BEFORE = 30
"""Decisions before each one that its weight is compared with."""


def wrong_mean(weighed: Weighed) -> Estimate | None:
    """Return the mean of the weights where it is surely not 1.

    It is 1 where the logged probabilities are right and whatever the policy does was possible, less
    where some of it was not, and never more.
    """
    weights = weighed.weights
    total = float(weights.sum())
    if total == 0.0:
        return None
    terms = Terms(weights, np.zeros_like(weights), weighed.largest / total)
    mean = interval(terms, weights, level=SURE)
    return None if mean.low <= 1.0 <= mean.high else mean


def repetition(weights: Floats) -> float:
    """Return by how many standard errors weights resemble those of the decisions just before.

    If actions are drawn anew, d_t = w_t - 1 has the mean 0 given the past, whatever rewards do. So
    e_t = d_t (d_{t-1} + ... + d_{t-BEFORE}) are martingale differences, and sum e / sqrt(sum e^2)
    is nearly standard normal where no single weight decides. A policy that kept an action for a
    session or an hour makes it large.

    >>> rng = np.random.default_rng(0)
    >>> actions = rng.integers(0, 2, 1000)
    >>> abs(repetition(2.0 * actions)) < 3.0, repetition(2.0 * np.repeat(actions, 10)) > 10.0
    (True, True)
    """
    away = weights - 1.0
    sums = np.concatenate([[0.0], np.cumsum(away)])
    now = np.arange(away.size)
    products = away * (sums[now] - sums[np.maximum(now - BEFORE, 0)])
    size = math.sqrt(float(products @ products))
    return float(products.sum()) / size if size > 0.0 else 0.0
