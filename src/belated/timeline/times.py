"""When predictions were made and when their answers came: two columns by one clock.

:func:`read_times` takes two columns from whatever holds them and returns :class:`Times` on one
:class:`Clock`. Nothing is rounded on the way: where the two columns cannot be compared exactly, it
says so. A log that was read from a file has such times already.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from belated.arrays import Array, Bools, Ints
from belated.errors import TimelineError
from belated.timeline.clock import Clock, fits, gaps
from belated.timeline.time_column import Column, TimesLike, read_column


@dataclass(frozen=True, eq=False)
class Times:
    """Times by row, plain int64 or float64; where no answer came ``observed_at`` means nothing."""

    predicted_at: Array
    observed_at: Array
    answered: Bools
    clock: Clock
    waits: Array | None = None
    """How long answers took, where times were moved apart to keep an order."""

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.predicted_at)

    @property
    def columns(self) -> tuple[Array, Array]:
        """Both columns as their owner has them, with gaps where no answer came."""
        observed_at = self.clock.shown(self.observed_at)
        masked = np.ma.MaskedArray(observed_at, mask=~self.answered)
        return self.clock.shown(self.predicted_at), masked

    @property
    def lengths(self) -> Array:
        """How long answers took; it means nothing where none came."""
        return self.observed_at - self.predicted_at if self.waits is None else self.waits

    def take(self, rows: Any) -> Times:
        """Return some rows: a slice, a mask or their numbers."""
        waits = None if self.waits is None else self.waits[rows]
        return Times(
            *(self.predicted_at[rows], self.observed_at[rows], self.answered[rows]),
            self.clock,
            waits,
        )

    def by_prediction_time(self) -> tuple[Times, Ints]:
        """Number the tickets by prediction time, and say which row each one comes from."""
        if first_descent(self.predicted_at) is None:
            return self, np.arange(len(self), dtype=np.int64)
        rows = np.argsort(self.predicted_at, kind="stable")
        return self.take(rows), rows

    def checked(self, who: str) -> Times:
        """Return the same times if all can be used; an answer without a time never came."""
        missing, unknown = map(gaps, map(self.clock.shown, (self.predicted_at, self.observed_at)))
        _check_predictions(self.predicted_at, missing, who)
        times = replace(self, answered=self.answered & ~unknown)
        _check_causality(times, who)
        return times

    def show(self, time: Any) -> str:
        """Write a time as its owner would."""
        return str(self.clock.shown(np.asarray(time)))


def joined_times(blocks: Sequence[Times]) -> Times:
    """Return consecutive blocks of one log as one."""
    first = blocks[0]
    if len(blocks) == 1:
        return first
    return Times(
        np.concatenate([block.predicted_at for block in blocks]),
        np.concatenate([block.observed_at for block in blocks]),
        np.concatenate([block.answered for block in blocks]),
        first.clock,
        None if first.waits is None else np.concatenate([block.lengths for block in blocks]),
    )


def first_descent(times: Array) -> int | None:
    """Return the index of the first time that is earlier than the one before it."""
    descents = times[1:] < times[:-1]
    return int(np.argmax(descents)) + 1 if descents.any() else None


def early(predicted_at: Array, observed_at: Array, known: Bools) -> Bools:
    """Return which answers that are known precede their question."""
    found: Bools = (observed_at < predicted_at) & known
    return found


# ---- reading -----------------------------------------------------------------------------------


def read_times(
    predicted_at: TimesLike, observed_at: TimesLike, who: str, clock: Clock | None = None
) -> Times:
    """Read two columns by one clock, and check that they describe intervals."""
    predicted = read_column(predicted_at, f"{who} predicted_at")
    observed = read_column(observed_at, f"{who} observed_at")
    _check_rows(predicted, observed, who)
    _check_predictions(predicted.values, predicted.missing, who)
    clock = clock or _common_clock(predicted, observed)
    starts, ends = _by_clock(predicted, clock), _by_clock(observed, clock)
    times = Times(starts, ends, ~observed.missing, clock)
    _check_causality(times, who)
    return times


def _check_rows(predicted: Column, observed: Column, who: str) -> None:
    """Both columns have the same length."""
    if len(predicted.values) != len(observed.values):
        raise TimelineError(
            f"{who} predicted_at has {len(predicted.values)} rows and observed_at has "
            f"{len(observed.values)}; every prediction needs one row in both, with None where no "
            "answer came"
        )


def _check_predictions(predicted_at: Array, missing: Bools, who: str) -> None:
    """Every prediction has a time."""
    unusable = missing | (predicted_at == -math.inf)
    if unusable.any():
        row = int(np.argmax(unusable))
        raise TimelineError(
            f"{who} predicted_at[{row}] is missing or infinite; every prediction needs a finite "
            "time: drop the row"
        )


def _check_causality(times: Times, who: str) -> None:
    """No answer precedes its question."""
    wrong = early(times.predicted_at, times.observed_at, times.answered)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise TimelineError(
            f"{who} observed_at[{row}] is before predicted_at[{row}] "
            f"({times.show(times.observed_at[row])} < {times.show(times.predicted_at[row])}); an "
            "answer cannot precede its question: check that the columns are not swapped and the "
            "clocks agree"
        )


def _common_clock(predicted: Column, observed: Column) -> Clock:
    """The clock that holds both columns exactly, wherever there is one."""
    if observed.is_blank:
        return predicted.clock
    kinds = {predicted.values.dtype.kind, observed.values.dtype.kind}
    if kinds == {"i", "f"}:
        # A column of integers with gaps often arrives as floats; it is still integers.
        fractional = predicted if predicted.values.dtype.kind == "f" else observed
        whole = fits(fractional.values, np.dtype(np.int64)).all()
        return Clock(np.dtype(np.int64 if whole else np.float64), aware=False)
    if kinds == {"M"} and predicted.aware == observed.aware:
        dtype = np.promote_types(predicted.values.dtype, observed.values.dtype)
        return Clock(dtype, predicted.aware)
    return predicted.clock


def _by_clock(column: Column, clock: Clock) -> Array:
    """The column's values on another clock, exactly, datetimes as int64."""
    if column.is_blank:
        return np.zeros(
            len(column.values), dtype=np.float64 if clock.dtype.kind == "f" else np.int64
        )
    _check_same_clock(column, clock)
    exact = fits(column.values, clock.dtype)
    if not exact.all():
        row = int(np.argmin(exact))
        raise TimelineError(
            f"{column.name}[{row}] = {column.values[row]} cannot be kept exactly as {clock.dtype}, "
            "which the other times need; give all times in one dtype"
        )
    return clock.plain(column.values.astype(clock.dtype, copy=False))


def _check_same_clock(column: Column, clock: Clock) -> None:
    """Numbers go with numbers, dates with dates, and time zones with time zones."""
    if column.clock.is_calendar != clock.is_calendar:
        found, wanted = ("datetimes", "numbers")[:: -1 if clock.is_calendar else 1]
        raise TimelineError(
            f"{column.name} holds {found} and the other times are {wanted}; "
            "give numbers everywhere or datetimes everywhere"
        )
    if column.aware != clock.aware:
        found, wanted = ("with", "without")[:: 1 if column.aware else -1]
        raise TimelineError(
            f"{column.name} holds datetimes {found} a time zone and the other times are {wanted} "
            "one; give all of them a time zone, or none"
        )
