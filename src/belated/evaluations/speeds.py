"""How fast rewards come, action by action."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from belated.arrays import Floats, Ints
from belated.evaluations.log import DecisionLog

_SURE = 0.999
_FACTOR = 1.5  # medians that are closer than that are of no consequence
_LEAST = 20


@dataclass(frozen=True)
class Speed:
    """One action: how often it was taken, of how many something was heard, and how soon."""

    action: str
    taken: int
    heard: int
    mean_reward: float
    median: float | None
    """Of the waits, in the unit of the log."""
    p90: float | None


def speeds_of(log: DecisionLog) -> tuple[Speed, ...]:
    """Return the speeds of all actions."""
    found = []
    for place, name in enumerate(log.actions):
        of = log.action == place
        waits = log.wait[of & log.heard]
        taken = int(np.count_nonzero(of))
        ends = np.quantile(waits, (0.5, 0.9)).tolist() if waits.size else (None, None)
        mean = float(log.reward[of].mean()) if taken else 0.0
        found.append(Speed(name, taken, int(waits.size), mean, *ends))
    return tuple(found)


def apart(log: DecisionLog, speeds: tuple[Speed, ...]) -> tuple[Speed, Speed] | None:
    """Return the fastest and the slowest action where these differ, beyond chance and by much."""
    enough = [speed for speed in speeds if speed.heard >= _LEAST and speed.median is not None]
    if len(enough) < 2:
        return None
    fast, *_, slow = sorted(enough, key=lambda speed: float(speed.median or 0.0))
    if not float(slow.median or 0.0) > _FACTOR * float(fast.median or 0.0):
        return None
    chosen = np.isin(log.action, [log.actions.index(speed.action) for speed in enough])
    of = chosen & log.heard
    return (fast, slow) if _differ(log.wait[of], log.action[of]) else None


def _differ(waits: Floats, groups: Ints) -> bool:
    """Whether groups differ by the test of Kruskal and Wallis, with mean ranks for ties."""
    n = waits.size
    _, place, counts = np.unique(waits, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2.0)[place]
    names = np.unique(groups)
    parts = [ranks[groups == name] for name in names]
    middle = (n + 1) / 2.0
    between = sum(part.size * (float(part.mean()) - middle) ** 2 for part in parts)
    spread = float(ranks.var())
    if spread == 0.0:
        return False
    statistic = between / spread * (n - 1) / n
    return bool(statistic > chi_square(_SURE, len(names) - 1))


def chi_square(level: float, freedom: int) -> float:
    """Return a quantile of the chi-square distribution (E. B. Wilson and M. M. Hilferty, 1931).

    >>> round(chi_square(0.999, 4), 1)
    18.7
    """
    z, part = NormalDist().inv_cdf(level), 2.0 / (9.0 * freedom)
    return float(freedom * (1.0 - part + z * part**0.5) ** 3)
