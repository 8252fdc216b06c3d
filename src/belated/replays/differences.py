"""How much two methods differ on one log, and how sure that is.

Losses of neighbouring predictions are alike, so they are no independent draws. The mean difference
of paired losses gets its interval from the means of blocks of time (batch means):

    D = sum_t w_t d_t / sum_t w_t,    d_t = loss of the other - loss of ours
    interval:  D -+ t(B - 1) sqrt(B / (B - 1) sum_b r_b^2) / sum_t w_t,    r_b = sum_b w_t (d_t - D)

with B blocks of as many predictions each, and the 97.5 % quantile t(B - 1) of Student's
distribution. It holds 0 in 95 of 100 logs where there is no difference, if what happens in one
block says little about the next; so blocks are at least twice as long as most delays.
Reference: Schmeiser, "Batch size effects in the analysis of simulation output", 1982.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.arrays import Floats, Ints
from belated.report.plain import SAME

BLOCKS = (8, 20)
"""Fewest and most blocks."""
LEAST = 5
"""Predictions in a block; with fewer there is no interval."""
MANY = 10.0
"""From how much more on a share is told as so many times, and the end of an interval as many."""
ALIKE = "about the same"
UNKNOWN = "cannot tell"
"""What is said of a tie, by how wide its interval is."""
_QUANTILES = (
    *(2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604),
    *(2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930),
)
"""Of Student's distribution at 97.5 %, from 7 degrees of freedom on."""


@dataclass(frozen=True)
class Difference:
    """How much more than ours a method loses per prediction, with a 95 % interval.

    >>> Difference(1.3, -1.6, 4.1).is_tie, Difference(1.3, 0.2, 2.4).is_tie
    (True, False)
    """

    mean: float
    low: float = -math.inf
    high: float = math.inf

    @property
    def is_known(self) -> bool:
        """Whether there is an interval: a log may be too short, a loss without limits."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def is_tie(self) -> bool:
        """Whether the interval holds 0, so that nobody is ahead."""
        return self.low <= 0.0 <= self.high

    @property
    def is_same(self) -> bool:
        """Whether a share is a tie with a narrow interval; in a wide one much may be hidden.

        >>> Difference(0.01, -0.02, 0.04).is_same, Difference(4.25, -0.7, 9.2).is_same
        (True, False)
        """
        return self.is_tie and self.low >= -SAME and self.high <= SAME

    @property
    def standing(self) -> str:
        """What a share says of the other method, in the words that texts, tables and pages have.

        >>> Difference(-0.2, -0.3, -0.1).standing, Difference(0.01, -0.02, 0.04).standing
        ('better', 'about the same')
        >>> Difference(0.2, 0.1, 0.3).standing, Difference(4.25, -0.7, 9.2).standing
        ('worse', 'cannot tell')
        """
        if self.is_tie:
            return ALIKE if self.is_same else UNKNOWN
        return "better" if self.high < 0.0 else "worse"

    def per(self, size: float, lowest: float = -math.inf) -> Difference:
        """Return the difference as a share of a mean loss, none of whose ends is below a limit."""
        low, high = self.low / size, self.high / size
        return Difference(self.mean / size, max(low, lowest), max(high, lowest))


def blocks(count: int, delays: Ints) -> int:
    """Return into how many blocks of time so many predictions are cut; 0: too few for any.

    >>> blocks(11_277, np.full(10, 145)), blocks(2_000, np.full(10, 145)), blocks(30, np.zeros(3))
    (20, 8, 0)
    """
    fewest, most = BLOCKS
    if count < LEAST * fewest:
        return 0
    usual = float(np.quantile(delays, 0.9)) if len(delays) else 0.0
    return int(np.clip(count / max(2.0 * usual, LEAST), fewest, most))


def difference(others: Floats, ours: Floats, weights: Floats, count: int) -> Difference:
    """Return the mean difference of paired losses in order of time, from so many blocks."""
    with np.errstate(invalid="ignore"):
        apart = others - ours
    total = float(np.sum(weights))
    mean = float(np.sum(apart * weights) / total)
    if not math.isfinite(mean) or not count:
        return Difference(mean)
    cuts = np.linspace(0, len(apart), count + 1).astype(np.int64)[:-1]
    rests = np.add.reduceat((apart - mean) * weights, cuts)
    spread = math.sqrt(count / (count - 1.0) * float(np.sum(rests * rests))) / total
    reach = _QUANTILES[count - BLOCKS[0]] * spread
    return Difference(mean, mean - reach, mean + reach)
