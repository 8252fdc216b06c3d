"""How much a log says about a policy, and what to be warned of."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from belated.arrays import Floats
from belated.evaluations.estimators import Terms, Weighed
from belated.evaluations.intervals import FEW, Estimate, block_means, interval
from belated.evaluations.policies import Policy

_SURE = 0.9999
_BLOCKS = 30
_ALIKE = 2.0  # at 29 degrees of freedom by chance one time in a thousand


def warnings_of(weighed: Weighed, shown: str) -> tuple[str, ...]:
    """Return what to know before one believes an estimate."""
    found = []
    weights = weighed.weights
    total = float(weights.sum())
    if total == 0.0:
        return (f"{shown} does nothing that was ever done: the log says nothing about it.",)
    share = weighed.largest / total
    if share * FEW > 1.0:
        found.append(
            f"{shown}: one decision has {share:.1%} of all weight, and all {weights.size:,} say as "
            f"much as {weighed.effective:,.0f} of its own would; its interval is made wide."
        )
    return tuple(found)


def astray(weighed: Weighed) -> Estimate | None:
    """Return the mean of the weights where it is surely not 1.

    It is 1 where the logged probabilities are right and whatever the policy does was possible, less
    where some of it was not, and never more.
    """
    weights = weighed.weights
    total = float(weights.sum())
    if total == 0.0:
        return None
    terms = Terms(weights, np.zeros_like(weights), weighed.largest / total)
    mean = interval(terms, weights, level=_SURE)
    return None if mean.low <= 1.0 <= mean.high else mean


def likeness(values: Floats) -> float:
    """Return by what factor the variance of stretches of time exceeds that of single terms.

    1 where decisions have nothing to do with each other.
    """
    if values.size < 4 * _BLOCKS:
        return 1.0
    means = block_means(values, _BLOCKS)
    alone = float(values.var()) * _BLOCKS / values.size
    return float(means.var(ddof=1)) / alone if alone > 0.0 else 1.0


def is_alike(values: Floats) -> bool:
    """Whether neighbouring terms are more alike than chance would have it."""
    return likeness(values) > _ALIKE


def overlaps(policies: Mapping[str, Policy], weights: Mapping[str, Floats]) -> Floats:
    """Return how much every two policies do the same: the mean of sum over a of min(pi, pi').

    1: always the same, 0: never. Of a policy of which only the probability of what was done is
    known, as of the logged one, it is estimated by the mean of min(w, w'), at most 1: 0 where the
    weights of one are 0 throughout.
    """
    names = list(policies)
    found = np.eye(len(names))
    for i, first in enumerate(names):
        for j in range(i):
            found[i, j] = found[j, i] = _overlap(
                policies[first], policies[names[j]], weights[first], weights[names[j]]
            )
    return found


def _overlap(one: Policy, other: Policy, w: Floats, v: Floats) -> float:
    if one.probabilities is not None and other.probabilities is not None:
        both = np.minimum(one.probabilities, other.probabilities).sum(axis=1)
        return float(both.mean())
    return min(1.0, float(np.minimum(w, v).mean()))


def windows(count: int, most: int) -> list[slice]:
    """Return stretches of decisions of about the same length."""
    cuts = np.linspace(0, count, min(most, count) + 1).astype(int).tolist()
    return [slice(a, b) for a, b in pairwise(cuts)]
