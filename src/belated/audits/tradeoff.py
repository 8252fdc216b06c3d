"""How long it pays to wait: the skip trade-off, by rounds as in the paper, and by the clock.

Giving up on a round costs one; waiting for it costs its delay under a root: the trade-off is
|Q| + sqrt(sum of the delays outside Q), least over all sets Q of rounds (Theorem 6.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.arrays import Floats, Ints
from belated.audits.spread import Spread


@dataclass(frozen=True, eq=False)
class Patience:
    """The best limit on waiting, and what every limit costs."""

    limit: float
    """Give up on what takes longer: rounds, or time in the log's own unit."""
    given_up: int
    """|Q|, the rounds that take longer or are never answered."""
    cost: float
    """|Q| + sqrt(sum of the other delays), at the limit."""
    forever: float
    """The same for waiting as long as it takes."""
    limits: Floats
    """Limits, in order, ..."""
    costs: Floats
    """... and what each of them costs."""

    @property
    def pays(self) -> bool:
        """Whether giving up at the limit costs less than to wait for ever."""
        return self.cost < self.forever


def by_rounds(delays: Spread, total_delay: int) -> Patience:
    """Return the best limit on delays, counted in rounds; those of all rounds are given."""
    edges, counts, sums = delays.filled()
    return _patience(np.floor(edges), counts, sums, 0, total_delay)


def by_clock(waits: Spread, never: int, total_delay: int) -> Patience:
    """Return the best limit on waiting by the clock, at which the never answered are given up."""
    return _patience(*waits.filled(), never, total_delay)


def _patience(edges: Floats, counts: Ints, sums: Floats, never: int, total_delay: int) -> Patience:
    given_up = never + counts.sum() - np.cumsum(counts)
    costs = given_up + np.sqrt(np.cumsum(sums))
    forever = math.sqrt(total_delay)
    if not len(costs):
        return Patience(0.0, never, float(never), forever, edges, costs)
    # Of equal costs, the longest wait.
    best = len(costs) - 1 - int(np.argmin(costs[::-1]))
    limit = float(edges[best])
    return Patience(limit, int(given_up[best]), float(costs[best]), forever, edges, costs)
