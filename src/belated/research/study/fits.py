"""Growth exponents with intervals, and means over seeds: numpy and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from belated.arrays import Floats

_RESAMPLES = 2000
_SEED = 20260
_LEVEL = 0.95


@dataclass(frozen=True)
class Exponent:
    """The slope of ln y over ln x, with an interval that holds 95% of the resampled slopes."""

    slope: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return it with two decimals.

        >>> print(Exponent(0.5, 0.45, 0.6))
        0.50 (0.45 to 0.60)
        """
        return f"{self.slope:.2f} ({self.interval})"

    @property
    def interval(self) -> str:
        """The interval with two decimals."""
        return f"{self.low:.2f} to {self.high:.2f}"


def exponent(x: Sequence[float], samples: Sequence[Sequence[float]]) -> Exponent | None:
    """Fit mean(y) = c x^slope; ``samples`` holds the y of all seeds for every x.

    The interval comes from drawing, for every x, as many seeds with replacement as there are, and
    fitting again. Points whose mean is not positive have no logarithm and are left out; None where
    fewer than two different x remain.

    >>> exponent([1, 10, 100], [[2.0], [20.0], [200.0]])
    Exponent(slope=1.0, low=1.0, high=1.0)
    """
    points = [
        (np.log(float(at)), np.asarray(ys, dtype=np.float64))
        for at, ys in zip(x, samples, strict=True)
        if at > 0 and len(ys) and float(np.mean(ys)) > 0.0
    ]
    if len({at for at, _ in points}) < 2:
        return None
    places = np.array([at for at, _ in points])
    slope = _slope(places, np.array([[ys.mean() for _, ys in points]]))[0]
    drawn = _slope(places, _resampled([ys for _, ys in points]))
    drawn = drawn[np.isfinite(drawn)]
    tail = (1.0 - _LEVEL) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail]) if drawn.size else (slope, slope)
    return Exponent(*(round(float(value), 12) for value in (slope, low, high)))


def _resampled(samples: list[Floats]) -> Floats:
    """Return means of resampled seeds: one row per draw, one column per x."""
    rng = np.random.default_rng(_SEED)
    columns = [ys[rng.integers(0, ys.size, (_RESAMPLES, ys.size))].mean(axis=1) for ys in samples]
    return np.stack(columns, axis=1)


def _slope(places: Floats, means: Floats) -> Floats:
    """Return the slope of least squares for every row; NaN where a mean is not positive."""
    centred = places - places.mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.where(means > 0.0, means, np.nan))
    return np.asarray((logs * centred).sum(axis=1) / (centred * centred).sum())


def geometric_mean(values: Sequence[float]) -> float:
    """Return the mean that fits ratios; 0 where one of them is not positive.

    >>> round(geometric_mean([1.0, 4.0]), 12)
    2.0
    """
    array = np.asarray(values, dtype=np.float64)
    return float(np.exp(np.log(array).mean())) if (array > 0.0).all() else 0.0
