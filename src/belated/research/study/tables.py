"""From rows to numbers: groups, means over seeds, exponents of growth with intervals, words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.arrays import Floats
from belated.report import Table
from belated.research.study.plan import Row

Rows = Sequence[Row]

_RESAMPLES, _SEED, _LEVEL = 2000, 20260, 0.95


def where(rows: Rows, **wanted: Any) -> list[Row]:
    """Return the rows with these values.

    >>> where([{"a": 1}, {"a": 2}], a=2)
    [{'a': 2}]
    """
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def by(rows: Rows, *names: str) -> dict[Any, list[Row]]:
    """Group rows by one value, or by a tuple of several, in order of first appearance.

    >>> by([{"a": 1, "b": 0}, {"a": 2, "b": 0}], "a")
    {1: [{'a': 1, 'b': 0}], 2: [{'a': 2, 'b': 0}]}
    """
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        values = tuple(row[name] for name in names)
        groups.setdefault(values[0] if len(names) == 1 else values, []).append(row)
    return groups


def numbers(rows: Rows, name: str) -> list[float]:
    """Return the values of one column, without those that are missing."""
    return [float(row[name]) for row in rows if row.get(name) is not None]


def mean(rows: Rows, name: str) -> float | None:
    """Return the mean of a column, or None where it is empty."""
    values = numbers(rows, name)
    return sum(values) / len(values) if values else None


def means(rows: Rows, name: str, column: str = "regret") -> dict[str, float]:
    """Return the mean of a column by the values of another, where it is known."""
    found = {str(each): mean(group, column) for each, group in by(rows, name).items()}
    return {each: value for each, value in found.items() if value is not None}


def means_table(rows: Rows, name: str, columns: Mapping[str, str], caption: str) -> Table:
    """List the means of these columns by one value of the rows."""
    body = (
        (each, *(mean(some, c) for c in columns.values())) for each, some in by(rows, name).items()
    )
    return Table((name, *columns), tuple(body), caption)


def least(values: Mapping[str, float]) -> str | None:
    """Return the name of the least value, if there is one."""
    return min(values, key=lambda name: (values[name], name), default=None)


# ---- growth --------------------------------------------------------------------------------------


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
        return f"{self.slope:.2f} ({self.low:.2f} to {self.high:.2f})"


def growth(rows: Rows, x: str, y: str) -> Exponent | None:
    """Fit the exponent with which ``y`` grows in ``x``; rows of one x differ in their seeds."""
    groups = sorted((at, numbers(group, y)) for at, group in by(rows, x).items())
    return exponent([at for at, _ in groups], [values for _, values in groups])


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
    rng = np.random.default_rng(_SEED)
    drawn = [ys[rng.integers(0, ys.size, (_RESAMPLES, ys.size))].mean(axis=1) for _, ys in points]
    slopes = _slope(places, np.stack(drawn, axis=1))
    slopes = slopes[np.isfinite(slopes)]
    tail = (1.0 - _LEVEL) / 2.0
    low, high = np.quantile(slopes, [tail, 1.0 - tail]) if slopes.size else (slope, slope)
    return Exponent(*(round(float(value), 12) for value in (slope, low, high)))


def _slope(places: Floats, values: Floats) -> Floats:
    """Return the slope of least squares for every row; NaN where a mean is not positive."""
    centred = places - places.mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.where(values > 0.0, values, np.nan))
    return np.asarray((logs * centred).sum(axis=1) / (centred * centred).sum())


def geometric_mean(values: Sequence[float]) -> float:
    """Return the mean that fits ratios; 0 where one of them is not positive.

    >>> round(geometric_mean([1.0, 4.0]), 12)
    2.0
    """
    array = np.asarray(values, dtype=np.float64)
    return float(np.exp(np.log(array).mean())) if (array > 0.0).all() else 0.0


# ---- words ---------------------------------------------------------------------------------------


def short(value: float | None) -> str:
    """Write a number with three significant digits.

    >>> short(1234.5), short(0.012345), short(None)
    ('1,230', '0.0123', 'unknown')
    """
    if value is None:
        return "unknown"
    if abs(value) >= 100.0:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"


def percent(share: float) -> str:
    """Write a share in percent.

    >>> percent(0.1), percent(0.8125)
    ('10 %', '81 %')
    """
    return f"{100.0 * share:.0f} %"


def quoted(name: str | None) -> str:
    """Put a name into quotes that would be torn apart among others.

    >>> quoted("BOLD"), quoted("Ours, tight"), quoted(None)
    ('BOLD', "'Ours, tight'", 'none')
    """
    if name is None:
        return "none"
    return f"'{name}'" if "," in name else name
