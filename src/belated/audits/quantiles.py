"""How long something takes, in five numbers."""

from __future__ import annotations

from dataclasses import dataclass

from belated.audits.spread import Spread

SHARES = (0.5, 0.9, 0.99)
"""Quantiles that are reported."""


@dataclass(frozen=True)
class Quantiles:
    """How long something takes: mean, median, 90 % and 99 % of all, and the longest."""

    mean: float
    median: float
    p90: float
    p99: float
    longest: float

    @classmethod
    def of(cls, spread: Spread) -> Quantiles:
        """Read them off a spread; they are exact to 0.1 %."""
        median, p90, p99 = (spread.quantile(share) for share in SHARES)
        return cls(spread.mean, median, p90, p99, spread.largest)

    def to_dict(self, scale: float = 1.0) -> dict[str, float]:
        """Return plain data, times a scale."""
        return {name: value * scale for name, value in vars(self).items()}
