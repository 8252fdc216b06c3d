"""The world of the demo: orders, what they turn out to be, and when the shop hears of it.

For every order the shop promises a delivery time and a shipping cost. It pays the absolute error
of both, in half-widths of what is possible. The truth is reported some time after the delivery, so
slow parcels answer late; some reports take weeks, and some are lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from belated.domains import Box
from belated.timeline import Timeline

Floats = NDArray[np.float64]

PROMISES = Box(low=[12.0, 0.0], high=[240.0, 40.0])
"""What can be promised: hours to delivery, euros of shipping cost."""
LOW, HIGH = (np.array(side) for side in PROMISES.bounds)
HALF = np.array(PROMISES.half_widths)
LIPSCHITZ = math.sqrt(2.0)
"""G: in half-widths the partial derivatives are -1, 0 or 1, so a gradient is at most this long."""
LOST = 0.05
"""Probability that no report ever comes."""


@dataclass(frozen=True, eq=False)
class Orders:
    """Some orders: what each one turned out to be, and the timeline of the reports."""

    truth: Floats
    timeline: Timeline

    @property
    def rounds(self) -> int:
        """How many orders there are."""
        return len(self.truth)

    def losses(self, promises: Floats) -> Floats:
        """Return the loss of every order: |error| in half-widths, summed over both numbers."""
        losses: Floats = np.abs((promises - self.truth) / HALF).sum(axis=1)
        return losses

    def gradient(self, order: int, promise: Floats) -> Floats:
        """Return the gradient of one order's loss at what was promised."""
        slope: Floats = np.sign(promise - self.truth[order]) / HALF
        return slope

    def best_promise(self) -> Floats:
        """Return the best fixed promise: absolute errors are least at the median of each number.

        The truth lies in the box, so its medians do too.
        """
        return np.median(self.truth, axis=0)


def orders(rounds: int, seed: int) -> Orders:
    """Draw a run of orders, one an hour on average."""
    generator = np.random.default_rng(seed)
    ordered_at = np.cumsum(generator.exponential(1.0, rounds))
    # Three busy and three quiet spells make the usual delivery time swing by a tenth.
    usual = 50.0 * (1.0 + 0.1 * np.sin(np.linspace(0.0, 6.0 * np.pi, rounds)))
    hours = usual * generator.lognormal(0.0, 0.4, rounds)
    euros = 6.0 + 0.12 * hours + generator.normal(0.0, 2.0, rounds)
    truth = np.clip(np.column_stack([hours, euros]), LOW, HIGH)
    # A Pareto tail of index 1.1 has hardly a mean: a few reports take weeks.
    reported_at = ordered_at + truth[:, 0] + 4.0 * generator.pareto(1.1, rounds)
    reported_at[generator.random(rounds) < LOST] = np.nan
    return Orders(truth, Timeline.from_intervals(ordered_at, reported_at))
