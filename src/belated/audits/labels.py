"""Labels of a log: whether lateness depends on them, where they are few, and outliers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from belated.arrays import Array, Floats
from belated.audits.counting import SHARES, Quantiles, Spread
from belated.audits.silence import Deadline
from belated.errors import LogError
from belated.logs.log import SECONDS, Log, Unit
from belated.logs.ranks import compared, is_sure
from belated.report.durations import humane

MOST = 10
"""Labels that are shown side by side; with more of them there is nothing to compare."""
NOTICEABLE = 0.05
"""How far from one half the share of longer waits must be, so that it is worth a warning."""
FAR = 100.0
"""A label is an outlier so many times as far from the middle as three quarters of the labels."""


@dataclass
class Distances:
    """How far numbers are from the median of the first of them.

    >>> distances = Distances()
    >>> distances.add(np.array([1.0, 2.0, 3.0, 4.0, 5000.0]))
    >>> distances.note()[:53]
    'A label is 4,997 away from the median, and three quar'
    """

    middle: float | None = None
    spread: Spread = field(default_factory=Spread)

    def add(self, labels: Array) -> None:
        """Take in labels; words, and what is missing, are passed over."""
        if labels.dtype.kind not in "fiu":
            return
        numbers = labels[np.isfinite(labels)].astype(np.float64)
        if self.middle is None and len(numbers):
            self.middle = float(np.median(numbers))
        if self.middle is not None:
            away = np.abs(numbers - self.middle)
            self.spread.add(away, away)

    def note(self) -> str:
        """Say that there are outliers, and what to do; nothing where there are none.

        Where a quarter of the labels or fewer differ from the median, as with rare sales, those
        that do are no outliers.
        """
        usual, largest = self.spread.quantile(0.75), self.spread.largest
        if usual <= 0.0 or largest <= FAR * usual:
            return ""
        return (
            f"A label is {largest:,.4g} away from the median, and three quarters of all labels are "
            f'at most {usual:,.4g} away. If such labels are errors, use loss="absolute" or '
            'loss="huber": with the squared loss they decide most of what is learned.'
        )


@dataclass
class WaitsByLabel:
    """Waits of answered rows by their label, as long as there are few labels.

    >>> waits = WaitsByLabel()
    >>> waits.add(np.array(["yes", "no", "no"], dtype=object), np.array([1.0, 5.0, np.nan]))
    >>> {label: spread.count for label, spread in waits.spreads.items()}
    {'yes': 1, 'no': 1}
    """

    column: str | None = None
    """The column of labels; None: the target of the log."""
    deadline: Deadline = field(default_factory=Deadline)
    """How long an answer counts."""
    spreads: dict[str, Spread] = field(default_factory=dict)
    are_many: bool = False
    distances: Distances = field(default_factory=Distances)

    def read(self, log: Log) -> None:
        """Count the rows of a log, or of a block of one."""
        labels = self._labels(log)
        if labels is None:
            return
        self.distances.add(labels)
        times, came = log.times, log.times.answered
        if self.deadline.span is not None:
            came = self.deadline.ends(times, came).in_time
        self.add(labels, np.where(came, times.lengths.astype(np.float64), np.nan))

    def _labels(self, log: Log) -> Array | None:
        if self.column is None or self.column in log.features:
            return log.target if self.column is None else log.features[self.column]
        if log.target is None:
            raise LogError(f"audit: {log.name} has no column {self.column!r} of labels")
        return log.target

    def add(self, labels: Array, waits: Floats) -> None:
        """Count waits, NaN where no answer came; labels may be missing (NaN or None)."""
        if self.are_many:
            return
        names, codes = _coded(labels[~np.isnan(waits)])
        came = waits[~np.isnan(waits)]
        if len({*self.spreads, *names}) > MOST:
            self.are_many = True
            self.spreads.clear()
            return
        for code, name in enumerate(names):
            mine = came[codes == code]
            self.spreads.setdefault(name, Spread()).add(mine, mine)

    def outcomes(self) -> tuple[Outcome, ...]:
        """Return what there is to compare, the quickest label first; none of fewer than two."""
        if len(self.spreads) < 2:
            return ()
        counts = _aligned([*self.spreads.values()])
        found = [
            Outcome(label, spread, *compared(counts[i], counts.sum(axis=0) - counts[i]))
            for i, (label, spread) in enumerate(self.spreads.items())
        ]
        return tuple(sorted(found, key=lambda outcome: (outcome.later, outcome.label)))


@dataclass(frozen=True)
class Outcome:
    """How long the answers with one label take, beside all others."""

    label: str
    waits: Spread
    later: float
    """Chance that an answer with this label takes longer than one with another; ties are halves."""
    z: float
    """By how many standard deviations that differs from one half, if only chance were at work."""


def differ(outcomes: tuple[Outcome, ...]) -> bool:
    """Tell whether waits depend on the label, by more than chance and by enough to matter.

    Every label is compared with all others by ranks, and the level is divided by the number of
    labels.
    """
    return any(
        abs(outcome.later - 0.5) >= NOTICEABLE and is_sure(outcome.z, len(outcomes))
        for outcome in outcomes
    )


def warning(outcomes: tuple[Outcome, ...], unit: Unit | None) -> str:
    """Say that lateness depends on the label, and what follows; nothing where it does not."""
    if not differ(outcomes):
        return ""
    quick, slow = outcomes[0], outcomes[-1]
    found = f'Lateness depends on the label: "{slow.label}" takes longer than "{quick.label}"'
    for share, words in zip(SHARES, ("half of them", "90 %", "99 %"), strict=True):
        texts = [humane(each.waits.quantile(share), unit) for each in (quick, slow)]
        if texts[0] != texts[1]:
            found += f" ({words} within {texts[1]}, against {texts[0]})"
            break
    return f"{found}, so the labels that have come so far are not like those still to come."


def by_label(outcomes: tuple[Outcome, ...], unit: Unit | None) -> list[dict[str, Any]]:
    """Return plain data, ready for JSON; waits in seconds where the unit is known."""
    scale = 1.0 if unit is None else SECONDS[unit]
    return [
        {
            "label": outcome.label,
            "answered": outcome.waits.count,
            "wait": Quantiles.of(outcome.waits).to_dict(scale),
            "later": outcome.later,
            "z": outcome.z,
        }
        for outcome in outcomes
    ]


def _aligned(spreads: list[Spread]) -> Floats:
    """Return the counts of spreads, one per row, by the same bins; empty ones are left out."""
    first = min(spread.first for spread in spreads)
    last = max(spread.first + len(spread.counts) for spread in spreads)
    counts = np.zeros((len(spreads), last - first))
    for row, spread in zip(counts, spreads, strict=True):
        row[spread.first - first :][: len(spread.counts)] = spread.counts
    return counts[:, counts.any(axis=0)]


def _coded(labels: Array) -> tuple[list[str], Array]:
    """Return the names of labels, and for each row which it has; -1 where it has none."""
    if labels.dtype.kind == "f":
        values, codes = np.unique(labels, return_inverse=True)
        is_known = ~np.isnan(values)
        names = [f"{value:.12g}" for value in values[is_known].tolist()]
        return names, np.where(is_known[codes], codes, -1) if len(values) else codes
    known: dict[Any, int] = {}
    codes = np.array(
        [-1 if cell is None else known.setdefault(cell, len(known)) for cell in labels.tolist()],
        dtype=np.int64,
    )
    return [str(cell) for cell in known], codes
