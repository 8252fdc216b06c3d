"""Statistics of predictions: over time, by what they said, and by slice."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from belated.arrays import Array, Floats, Ints, add_in_order
from belated.models.linear.losses import LOSSES
from belated.replays.columns import (
    Numbers,
    at_ranks,
    pairs_won,
    parts,
    quantiles,
    sums_between,
    total,
)
from belated.replays.labels import Labels
from belated.report.slicing import ranked

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


def finite(number: float) -> float | None:
    """Return a number, or None where it overflowed."""
    return number if math.isfinite(number) else None


def curve(losses: Numbers, weights: Numbers, ends: Ints) -> Curve:
    """Return the curve of one method, of losses that count; ``ends`` are tickets after windows."""
    cuts = cuts_of(len(losses), len(ends))
    lost = (loss * weight for loss, weight in parts(losses, weights))
    sums = sums_between(cuts, lost)
    sizes = sums_between(cuts, (weight for (weight,) in parts(weights)))
    return Curve(ends, sums / sizes, np.cumsum(sums) / np.cumsum(sizes))


def cuts_of(count: int, windows: int) -> Ints:
    """Return where windows with the same number of rows begin and end."""
    return np.linspace(0, count, windows + 1).astype(np.int64)


def calibration(values: Numbers, labels: Numbers, weights: Numbers) -> tuple[Bin, ...]:
    """Return what was observed where about the same was predicted, in bins of equal counts.

    >>> calibration(np.array([0.1, 0.1, 0.8]), np.array([0.0, 1.0, 1.0]), np.ones(3))
    (Bin(count=2, predicted=0.1, observed=0.5), Bin(count=1, predicted=0.8, observed=1.0))
    """
    edges = np.unique(quantiles(values, np.linspace(0.0, 1.0, BINS + 1)[1:-1]))
    count = len(edges) + 1
    sizes, predicted, observed, counts = np.zeros((4, count))
    for value, label, weight in parts(values, labels, weights):
        places = np.searchsorted(edges, value, side="left")
        sizes += np.bincount(places, weight, minlength=count)
        predicted += np.bincount(places, weight * value, minlength=count)
        observed += np.bincount(places, weight * label, minlength=count)
        counts += np.bincount(places, minlength=count)
    return tuple(
        Bin(int(counts[i]), float(predicted[i] / sizes[i]), float(observed[i] / sizes[i]))
        for i in np.flatnonzero(counts)
    )


def calibration_error(bins: Sequence[Bin]) -> float:
    """Return by how much predictions are off on average, bin by bin."""
    if not bins:
        return math.nan
    off = add_in_order(bin.count * abs(bin.predicted - bin.observed) for bin in bins)
    return off / sum(bin.count for bin in bins)


def slices(
    names: Sequence[str], codes: Numbers, losses: Mapping[str, Numbers], weights: Numbers
) -> tuple[Slice, ...]:
    """Return the mean losses of the most frequent values of a column; the rest is one slice.

    ``codes`` are the numbers of the values, by row.
    """
    size, counts = np.zeros(len(names)), np.zeros(len(names), dtype=np.int64)
    sums = {name: np.zeros(len(names)) for name in losses}
    for code, weight, *lost in parts(codes, weights, *losses.values()):
        size += np.bincount(code, weight, minlength=len(names))
        counts += np.bincount(code, minlength=len(names))
        for found, each in zip(sums.values(), lost, strict=True):
            found += np.bincount(code, weight * each, minlength=len(names))
    used = np.flatnonzero(counts)
    parted = []
    for value, group in ranked([names[code] for code in used.tolist()], counts[used]):
        rows = used[group]
        whole = float(size[rows].sum())
        means = {name: float(each[rows].sum()) / whole for name, each in sums.items()}
        parted.append(Slice(value, int(counts[rows].sum()), whole, means))
    return tuple(parted)


def natural(parts: Sequence[Slice]) -> list[Slice]:
    """Return slices in the order that their values have: weekdays, months and numbers.

    >>> [part.value for part in natural([Slice(day, 1, 1.0, {}) for day in ("Sat", "Tue", "Mon")])]
    ['Mon', 'Tue', 'Sat']
    >>> [part.value for part in natural([Slice(word, 1, 1.0, {}) for word in ("b", "a")])]
    ['b', 'a']
    """
    last = [part for part in parts if part.value == "missing" or part.value.endswith(" values")]
    rest = [part for part in parts if part not in last]
    for place in (partial(_place, names=_DAYS), partial(_place, names=_MONTHS), _number):
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


# ---- how much two methods differ on one log, and how sure that is --------------------------------
# Losses of neighbouring predictions are alike, so they are no independent draws. The mean
# difference of paired losses gets its interval from the means of blocks of time (batch means):
#
#     D = sum_t w_t d_t / sum_t w_t,    d_t = loss of the other - loss of ours
#     interval:  D -+ t(B - 1) sqrt(B / (B - 1) sum_b r_b^2) / sum_t w_t,    r_b = sum_b w_t (d_t -
# D)
#
# with B blocks of as many predictions each, and the 97.5 % quantile t(B - 1) of Student's
# distribution. It holds 0 in 95 of 100 logs where there is no difference, if what happens in one
# block says little about the next; so blocks are at least twice as long as most delays.
# Reference: Schmeiser, "Batch size effects in the analysis of simulation output", 1982.

BLOCKS = (8, 20)
"""Fewest and most blocks."""
LEAST = 5
"""Predictions in a block; with fewer there is no interval."""
MANY = 10.0
"""From how much more on a share is told as so many times."""
WIDE = 1.0
"""Shares whose interval goes beyond this and holds 0 say nothing, and are not shown."""
BETTER, WORSE, NO_DIFFERENCE = "better", "worse", "no clear difference"
"""The standing of a method beside ours: its interval is below 0, above 0, or holds 0."""
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
        """Whether the interval holds 0, so that no method is ahead."""
        return self.low <= 0.0 <= self.high

    @property
    def is_wide(self) -> bool:
        """Whether a share is a tie whose interval is too wide to say anything.

        >>> Difference(0.01, -0.02, 0.04).is_wide, Difference(4.25, -0.7, 9.2).is_wide
        (False, True)
        """
        return not self.is_known or (self.is_tie and max(-self.low, self.high) >= WIDE)

    @property
    def standing(self) -> str:
        """Return the comparison with the other method in words that texts, tables and pages have.

        >>> Difference(-0.2, -0.3, -0.1).standing, Difference(0.2, 0.1, 0.3).standing
        ('better', 'worse')
        >>> Difference(0.01, -0.02, 0.04).standing
        'no clear difference'
        """
        if self.is_tie:
            return NO_DIFFERENCE
        return BETTER if self.high < 0.0 else WORSE

    def per(self, size: float, lowest: float = -math.inf) -> Difference:
        """Return the difference as a share of a mean loss, none of whose ends is below a limit."""
        low, high = self.low / size, self.high / size
        return Difference(self.mean / size, max(low, lowest), max(high, lowest))


def blocks(count: int, delays: Numbers) -> int:
    """Return into how many blocks of time so many predictions are cut; 0: too few for any.

    >>> blocks(11_277, np.full(10, 145)), blocks(2_000, np.full(10, 145)), blocks(30, np.zeros(3))
    (20, 8, 0)
    """
    fewest, most = BLOCKS
    if count < LEAST * fewest:
        return 0
    usual = 0.0
    if len(delays):
        place = 0.9 * (len(delays) - 1)
        low, high = at_ranks(delays, [math.floor(place), math.ceil(place)]).tolist()
        usual = low + (high - low) * (place - math.floor(place))
    return int(np.clip(count / max(2.0 * usual, LEAST), fewest, most))


def difference(others: Numbers, ours: Numbers, weights: Numbers, count: int) -> Difference:
    """Return the mean difference of paired losses in order of time, from so many blocks."""
    size = total(np.array, weights)
    with np.errstate(invalid="ignore"):
        mean = total(lambda x, y, w: (x - y) * w, others, ours, weights) / size
    if not math.isfinite(mean) or not count:
        return Difference(mean)
    apart = ((x - y - mean) * w for x, y, w in parts(others, ours, weights))
    rests = sums_between(cuts_of(len(others), count), apart)
    spread = math.sqrt(count / (count - 1.0) * float(np.sum(rests * rests))) / size
    reach = _QUANTILES[count - BLOCKS[0]] * spread
    return Difference(mean, mean - reach, mean + reach)


# ---- other measures of the same predictions: what a loss alone does not tell ---------------------


def scores(
    how: Labels, values: Numbers, labels: Numbers, weights: Numbers, bins: Sequence[Bin]
) -> Mapping[str, float]:
    """Return every measure that these labels have beside the loss, by name.

    >>> values, labels, weights = np.array([1.0, 3.0]), np.array([0.0, 1.0]), np.ones(2)
    >>> bins = calibration(values, labels, weights)
    >>> found = scores(Labels(), values, labels, weights, bins)
    >>> {name: round(value, 3) for name, value in found.items()}
    {'RMSE': 1.581, 'MAE': 1.5, 'calibration error': 1.5}
    """
    loss, size = LOSSES[how.loss], total(np.array, weights)

    def mean(of: Callable[[Floats, Floats], Array]) -> float:
        return total(lambda x, y, w: of(x, y) * w, values, labels, weights) / size

    if loss.labels.classes is None:
        found = {
            "RMSE": math.sqrt(mean(lambda value, label: (value - label) ** 2)),
            "MAE": mean(lambda value, label: np.abs(value - label)),
        }
        if how.loss == "quantile":
            return found | {"labels below": mean(lambda value, label: label <= value)}
        return found | {"calibration error": calibration_error(bins)}
    is_chance = loss.link == "probability"
    middle = 0.5 if is_chance else 0.0
    found = {
        "AUC": auc(values, labels, weights),
        "accuracy": mean(lambda value, label: (value > middle) == (label > 0.0)),
    }
    return found | ({"calibration error": calibration_error(bins)} if is_chance else {})


def auc(values: Numbers, labels: Numbers, weights: Numbers) -> float:
    """Return the chance that a yes is predicted above a no; equal predictions count half.

    NaN where there are only yes or only no.

    >>> auc(np.array([0.1, 0.4, 0.4, 0.8]), np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4))
    0.875
    """
    yes, no, won = pairs_won(values, labels, weights)
    return won / (yes * no) if yes * no else math.nan
