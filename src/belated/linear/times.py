"""When events happen: times and deadlines, checked against what a model has been told before."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from belated.arrays import Floats
from belated.errors import ClockError, SpecError
from belated.linear.clock import (
    AFTER_DATES,
    SINCE_1970,
    Duration,
    Time,
    check_seconds,
    first_of,
    has_unit,
    holds_dates,
    is_date,
    largest_number,
    span_of,
    time_of,
    times_of,
)
from belated.linear.events import vector

NEVER = math.nan
"""No time, or no deadline of its own."""


class Told(Protocol):
    """What settings say of deadlines; see those of linear models."""

    @property
    def deadline(self) -> float | None:
        """In the unit of the clock; None: tickets have none."""

    @property
    def needs_times(self) -> bool:
        """Whether the deadline is a length of time."""

    @property
    def counts_predictions(self) -> bool:
        """Whether the deadline is a number of predictions, so that no times can be given."""


class Clocked(Protocol):
    """What memory says of times so far."""

    @property
    def rounds(self) -> int:
        """Predictions so far."""

    @property
    def clock(self) -> float:
        """The latest time that was told."""

    @property
    def has_times(self) -> bool:
        """Whether times were given."""

    @property
    def has_dates(self) -> bool:
        """Whether one of them was a date."""


class Times:
    """Times as the kernels take them; what does not fit to earlier ones is refused."""

    __slots__ = ("_memory", "_settings")

    def __init__(self, settings: Told, memory: Clocked) -> None:
        self._settings = settings
        self._memory = memory

    def issued(self, at: Time | None, deadline: Duration | None) -> tuple[float, float]:
        """Return the time of a prediction and the deadline of its ticket."""
        if at is None and deadline is None and self._settings.deadline is None:
            return NEVER, NEVER
        now, span = self.of(at, "predict"), self._span(deadline)
        if deadline is not None:
            self.check_unit(now, deadline, "predict")
        return now, span

    def check_unit(self, now: float, deadline: Duration | None, who: str) -> None:
        """Refuse the deadline of a ticket where its unit is not that of the model.

        ``now`` is the time of the prediction, NaN where none is given.
        """
        is_timed = self._memory.has_times or not math.isnan(now)
        if isinstance(deadline, Mapping):
            if is_timed or self._settings.needs_times:
                raise ClockError(
                    f"{who}: the deadlines of this model are in time, so that one of a ticket "
                    "cannot be a number of predictions; nothing has changed"
                )
        elif deadline is not None and has_unit(deadline):
            if not is_timed and self._settings.deadline is not None:
                raise ClockError(
                    f"{who}: this model counts its deadlines in predictions, so that a deadline is "
                    "a number of them, and no length of time; nothing has changed"
                )
            check_seconds(now, who)

    @property
    def are_counted(self) -> bool:
        """Whether deadlines are counted in predictions, so that no times can be given any more."""
        memory, settings = self._memory, self._settings
        is_decided = memory.rounds > 0 and not memory.has_times
        return settings.counts_predictions or (is_decided and settings.deadline is not None)

    def of(self, at: Time | None, who: str) -> float:
        """Return a time; NaN where predictions are counted instead."""
        memory = self._memory
        if at is None:
            if memory.has_times:
                return memory.clock
            if self._settings.needs_times:
                raise ClockError(
                    f"{who}: the deadline is a length of time, so at= is needed; nothing has "
                    "changed"
                )
            return NEVER
        if self.are_counted:
            raise ClockError(
                f"{who}: this model counts its deadlines in predictions; nothing has changed: give "
                "at= from the first prediction on, with a deadline that is not "
                '{"predictions": n}'
            )
        value = time_of(at, who)
        if is_date(at):
            self.check_date(at, value, who)
        else:
            self._check_number(value, who)
        return value

    def of_tick(self, at: Time) -> float:
        """Return the time that a clock is told alone."""
        if at is None:
            raise ClockError("tick: a time is wanted, got None; nothing has changed")
        return self.of(at, "tick")

    def of_answer(self, at: Time | None, who: str) -> float:
        """Return the time of a label; NaN where none is given, as labels need none."""
        return NEVER if at is None else self.of(at, who)

    def of_events(self, at: ArrayLike | None, events: int, who: str) -> Floats:
        """Return the times of many events, or one that stands for none."""
        if at is None:
            return np.array([self.of(None, who)])
        times = times_of(at, who)
        if times.shape != (events,):
            raise ClockError(f"{who}: {events} events need as many times, got {times.shape}")
        if events:
            self.of(first_of(at), who)
            if self._settings.needs_times or self._memory.has_dates or holds_dates(at):
                check_seconds(largest_number(at), who)
        return times

    def spans(self, deadlines: ArrayLike | None, rows: int, who: str) -> Floats:
        """Return the deadlines of many rows, or one that stands for that of all."""
        if deadlines is None:
            return np.array([NEVER])
        self._span(0.0)
        spans = vector(deadlines, f"{who}: deadlines", rows)
        if not (spans >= 0.0).all():
            raise SpecError(f"{who}: deadlines must be durations of at least 0")
        return spans

    def _span(self, deadline: Duration | None) -> float:
        """Return the deadline of one ticket; NaN for that of all."""
        if deadline is None:
            return NEVER
        if self._settings.deadline is None:
            raise SpecError(
                "predict: this model has no deadlines; nothing has changed: make it with "
                "deadline=math.inf, if only some tickets have one"
            )
        return span_of(deadline, "predict: deadline must be a duration of at least 0")

    def check_date(self, at: Time, value: float, who: str) -> None:
        """Refuse a date where times have been numbers, if those are no seconds since 1970."""
        memory = self._memory
        if memory.has_dates or not memory.has_times:
            return
        clock = memory.clock
        if -math.inf < clock < SINCE_1970 <= value or clock >= AFTER_DATES:
            raise ClockError(
                f"{who}: {at!r} is a date, and times have been numbers so far, the latest "
                f"{clock:.15g}; nothing has changed: give numbers"
            )

    def _check_number(self, value: float, who: str) -> None:
        """Refuse a number where only seconds since 1970 can be meant, if it is none."""
        has_dates = self._memory.has_dates
        if has_dates and value < SINCE_1970:
            raise ClockError(
                f"{who}: times have been dates so far, and {value:g} is no number of seconds since "
                "1970; nothing has changed: give dates"
            )
        if has_dates or self._settings.needs_times:
            check_seconds(value, who)
