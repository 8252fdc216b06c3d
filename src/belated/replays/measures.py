"""What predictions were worth: over time, by what they said, and by slice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from belated.arrays import Array, Bools, Floats, Ints, add_in_order
from belated.models.linear.losses import LOSSES
from belated.replays.labels import Labels
from belated.report.plain import SAME
from belated.report.slicing import coded, ranked

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
    off = add_in_order(bin.count * abs(bin.predicted - bin.observed) for bin in bins)
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
    found = []
    for value, group in ranked(names, counts):
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


# ---- other measures of the same predictions: what a loss alone does not tell ---------------------


def scores(how: Labels, values: Floats, labels: Floats, weights: Floats) -> Mapping[str, float]:
    """Return every measure that these labels have beside the loss, by name.

    >>> found = scores(Labels(), np.array([1.0, 3.0]), np.array([0.0, 1.0]), np.ones(2))
    >>> {name: round(value, 3) for name, value in found.items()}
    {'RMSE': 1.581, 'MAE': 1.5, 'calibration error': 1.5}
    """
    loss = LOSSES[how.loss]
    if loss.labels.classes is not None:
        return _of_classes(how, values, labels, weights)
    off = values - labels
    found = {
        "RMSE": float(np.sqrt(mean(off * off, weights))),
        "MAE": mean(np.abs(off), weights),
    }
    if how.loss == "quantile":
        found["labels below"] = mean((labels <= values).astype(np.float64), weights)
    else:
        found["calibration error"] = calibration_error(calibration(values, labels, weights))
    return found


def _of_classes(
    how: Labels, values: Floats, labels: Floats, weights: Floats
) -> Mapping[str, float]:
    """Return the measures of a yes or no: of chances where those are predicted, or of signs."""
    is_chance = LOSSES[how.loss].link == "probability"
    is_yes = labels > 0.0
    right = (values > (0.5 if is_chance else 0.0)) == is_yes
    found = {
        "AUC": auc(values, is_yes, weights),
        "accuracy": mean(right.astype(np.float64), weights),
    }
    if is_chance:
        found["calibration error"] = calibration_error(calibration(values, labels, weights))
    return found


def auc(values: Floats, is_yes: Bools, weights: Floats) -> float:
    """Return the chance that a yes is predicted above a no; equal predictions count half.

    NaN where there are only yes or only no.

    >>> auc(np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, False, True, True]), np.ones(4))
    0.875
    """
    _, places = np.unique(values, return_inverse=True)
    yes = np.bincount(places, weights * is_yes)
    no = np.bincount(places, weights * ~is_yes)
    pairs = float(np.sum(yes)) * float(np.sum(no))
    below = np.cumsum(no) - 0.5 * no
    return float(np.sum(yes * below)) / pairs if pairs else float("nan")
