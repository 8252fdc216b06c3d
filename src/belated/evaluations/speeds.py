"""How fast rewards come, action by action."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from belated.arrays import Floats, Ints
from belated.evaluations.log import DecisionLog
from belated.logs.ranks import compared, is_sure

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
    """Whether the waits of any group are longer or shorter than those of all others."""
    _, place = np.unique(waits, return_inverse=True)
    whole = np.bincount(place)
    names = np.unique(groups).tolist()
    for name in names:
        mine = np.bincount(place[groups == name], minlength=len(whole)).astype(np.float64)
        if is_sure(compared(mine, whole - mine)[1], len(names)):
            return True
    return False
