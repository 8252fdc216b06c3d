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
