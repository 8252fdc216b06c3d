"""What predictions were worth: over time, by what they said, and by slice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from belated.arrays import Array, Bools, Floats, Ints
from belated.logs import Log
from belated.report.slicing import VALUES, coded, usual

WINDOWS = 48
"""Most windows of a curve."""
BINS = 10
"""Most bins of predictions."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Losses in the order of predictions, in windows with the same number of labels."""

    ends: Ints
    """Ticket after the last one of each window."""
    windowed: Floats
    """Mean loss inside each window."""
    cumulative: Floats
    """Mean loss from the first prediction to the end of each window."""


@dataclass(frozen=True)
class Bin:
    """Predictions that are about the same, and what came of them."""

    count: int
    predicted: float
    """Their mean."""
    observed: float
    """The mean of their labels."""


@dataclass(frozen=True)
class Slice:
    """The predictions for which a column has one value, and their mean loss by method."""

    value: str
    count: int
    weight: float
    losses: Mapping[str, float]


def mean(losses: Floats, weights: Floats) -> float:
    """Return the weighted mean."""
    return float(np.sum(losses * weights) / np.sum(weights))


def finite(number: float) -> float | None:
    """Return a number, or None where it overflowed."""
    return number if math.isfinite(number) else None


def curve(losses: Floats, weights: Floats, known: Bools) -> Curve:
    """Return the curve of one method."""
    tickets = np.flatnonzero(known)
    cuts = np.linspace(0, len(tickets), min(WINDOWS, len(tickets)) + 1).astype(np.int64)
    lost, counted = losses[tickets] * weights[tickets], weights[tickets]
    sums, sizes = np.add.reduceat(lost, cuts[:-1]), np.add.reduceat(counted, cuts[:-1])
    return Curve(tickets[cuts[1:] - 1] + 1, sums / sizes, np.cumsum(sums) / np.cumsum(sizes))


def calibration(values: Floats, labels: Floats, weights: Floats) -> tuple[Bin, ...]:
    """Return what was observed where about the same was predicted, in bins of equal counts.

    >>> calibration(np.array([0.1, 0.1, 0.8]), np.array([0.0, 1.0, 1.0]), np.ones(3))
    (Bin(count=2, predicted=0.1, observed=0.5), Bin(count=1, predicted=0.8, observed=1.0))
    """
    shares = np.linspace(0.0, 1.0, BINS + 1)[1:-1]
    edges = np.unique(np.quantile(values, shares, method="higher"))
    places = np.searchsorted(edges, values, side="left")
    sizes = np.bincount(places, weights)
    predicted = np.bincount(places, weights * values)
    observed = np.bincount(places, weights * labels)
    counts = np.bincount(places)
    return tuple(
        Bin(int(counts[i]), float(predicted[i] / sizes[i]), float(observed[i] / sizes[i]))
        for i in np.flatnonzero(counts)
    )


def calibration_error(bins: Sequence[Bin]) -> float:
    """Return by how much predictions are off on average, bin by bin."""
    off = sum(bin.count * abs(bin.predicted - bin.observed) for bin in bins)
    return off / sum(bin.count for bin in bins)


def slices(
    column: Array, known: Bools, losses: Mapping[str, Floats], weights: Floats
) -> tuple[Slice, ...]:
    """Return the mean losses of the most frequent values of a column; the rest is one slice."""
    names, codes = coded(column[known])
    size = np.bincount(codes, weights[known], minlength=len(names))
    counts = np.bincount(codes, minlength=len(names))
    sums = {
        name: np.bincount(codes, weights[known] * lost[known], minlength=len(names))
        for name, lost in losses.items()
    }
    order = np.argsort(-counts, kind="stable")
    groups = [[i] for i in order[:VALUES]]
    if len(order) > VALUES + 1:
        groups.append(list(order[VALUES:]))
    elif len(order) > VALUES:
        groups.append([order[VALUES]])
    found = []
    for group in groups:
        value = names[group[0]] if len(group) == 1 else f"{len(group):,} other values"
        weight = float(size[group].sum())
        mean_losses = {name: float(total[group].sum()) / weight for name, total in sums.items()}
        found.append(Slice(value, int(counts[group].sum()), weight, mean_losses))
    return tuple(found)


def natural(parts: Sequence[Slice]) -> list[Slice]:
    """Return slices in the order that their values have: weekdays, months and numbers.

    >>> [part.value for part in natural([Slice(day, 1, 1.0, {}) for day in ("Sat", "Tue", "Mon")])]
    ['Mon', 'Tue', 'Sat']
    >>> [part.value for part in natural([Slice(word, 1, 1.0, {}) for word in ("b", "a")])]
    ['b', 'a']
    """
    last = [part for part in parts if part.value == "missing" or part.value.endswith(" values")]
    rest = [part for part in parts if part not in last]
    for place in (_weekday, _month, _number):
        places = [place(part.value) for part in rest]
        if all(found is not None for found in places):
            order = sorted(range(len(rest)), key=lambda i: places[i] or 0.0)
            return [*(rest[i] for i in order), *last]
    return list(parts)


_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)


def _weekday(value: str) -> float | None:
    return _place(value, _DAYS)


def _month(value: str) -> float | None:
    return _place(value, _MONTHS)


def _place(value: str, names: Sequence[str]) -> float | None:
    """Return which of the names a word is, or begins with three letters or more of."""
    word = value.strip().lower().rstrip(".")
    found = [i for i, name in enumerate(names) if len(word) >= 3 and name.startswith(word)]
    return float(found[0]) if len(found) == 1 else None


def _number(value: str) -> float | None:
    """Return a number, or the first one of a range of numbers."""
    text = value.partition(" to ")[0].replace(",", "").replace("\u2212", "-")
    try:
        return float(text)
    except ValueError:
        return None


def usual_slices(log: Log, features: Sequence[str]) -> tuple[str, ...]:
    """Return the first text features with few values."""
    return usual({name: log.features[name] for name in features})
