"""Made-up months of clicks, some of which convert days later; what does not is never heard of.

A month has 60,000 clicks with a campaign, a device, an hour and two numbers. Whether a click
converts, and how long that takes, depends on them. What a click comes to is known here even where
it would be heard of after the month.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.held_rewards import in_files
from benchmarks.late_logs import as_words
from benchmarks.silence_logs import Silent, silent

Floats = NDArray[np.float64]

CLICKS, DAYS = 60_000, 30.0
WINDOWS = (1.0, 2.0, 4.0, 7.0)
"""Days that a baseline may hold labels back."""
_CAMPAIGNS, _DEVICES = 20, 3


@dataclass(frozen=True)
class Month:
    """A kind of month: the share of clicks that convert, and the days that they take."""

    name: str
    share: float
    days: float
    is_heavy: bool = False
    """Whether delays are log-normal instead of exponential."""

    def drawn(self, seed: int) -> Silent:
        """Return a draw of it."""
        rng = np.random.default_rng([seed, int(1e6 * self.share), int(100 * self.days)])
        asked = np.sort(DAYS * rng.random(CLICKS))
        campaign = rng.choice(_CAMPAIGNS, CLICKS, p=rng.dirichlet(np.full(_CAMPAIGNS, 1.0)))
        device = rng.integers(0, _DEVICES, CLICKS)
        hour = np.floor(24.0 * asked).astype(np.int64) % 24
        numbers = rng.standard_normal((CLICKS, 2))
        levels = [0.6 * rng.standard_normal(n) for n in (_CAMPAIGNS, _DEVICES)]
        score = levels[0][campaign] + levels[1][device] + numbers @ rng.normal(0.0, 0.4, 2)
        score += 0.3 * np.sin(hour / 24.0 * 2.0 * np.pi)
        converts = rng.random(CLICKS) < _chances(score, self.share)
        means = self.days * np.exp(rng.normal(0.0, 0.4, _CAMPAIGNS))[campaign]
        tail = np.exp(1.2 * rng.standard_normal(CLICKS) - 0.72)
        waits = means * (tail if self.is_heavy else rng.exponential(size=CLICKS))
        columns = {
            "campaign": as_words(campaign),
            "device": as_words(device),
            "hour": as_words(hour),
            "pages": numbers[:, 0],
            "price": numbers[:, 1],
        }
        heard = np.where(converts & (waits <= DAYS), asked + waits, np.inf)
        counts = np.ones(CLICKS, np.bool_)
        return silent(columns, asked, heard, DAYS, counts, WINDOWS, refit_every=1.0)


def _chances(score: Floats, share: float) -> Floats:
    """Return probabilities with these log odds and a constant, whose mean is the share."""
    levels = np.linspace(-12.0, 2.0, 300)
    means = [float(np.mean(1.0 / (1.0 + np.exp(-(level + score))))) for level in levels]
    return np.asarray(1.0 / (1.0 + np.exp(-(np.interp(share, means, levels) + score))))


def nightly(given: Silent) -> Silent:
    """Return the same with conversions heard of in one file a day, at three o'clock.

    Those whose file comes after the deadline are not heard of.
    """
    heard = in_files(given.heard, 1.0, 0.125)
    in_time = heard - given.asked <= given.deadline
    return replace(given, heard=np.where(in_time, heard, np.inf))


MONTHS = (
    Month("0.1 %", 0.001, 2.0),
    Month("1 %", 0.01, 2.0),
    Month("3 %", 0.03, 3.0),
    Month("3 %, heavy tails", 0.03, 4.0, is_heavy=True),
    Month("10 %", 0.1, 1.2),
)
