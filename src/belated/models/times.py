"""When events happen: times and deadlines, checked against what a model has been told before."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from belated.arrays import Floats
from belated.errors import ClockError, SpecError
from belated.missing import is_missing
from belated.models.clock import (
    AFTER_DATES,
    SINCE_1970,
    Duration,
    check_seconds,
    has_unit,
    span_of,
)
from belated.models.linear.events import vector
from belated.models.moments import (
    AFTER,
    AWARE,
    FIRST,
    NAIVE,
    NUMBERS,
    Moment,
    as_text,
    read_time,
    read_times,
)
from belated.models.old_events import OldEvents

if TYPE_CHECKING:
    from belated.timeline.time_column import TimesLike

NEVER = math.nan
"""No time, or no deadline of its own."""
_ZONES = {NAIVE: "has no time zone", AWARE: "has a time zone"}
_HAD = {NAIVE: "had none", AWARE: "had one"}
_REMEDIES = {
    NAIVE: "give dates without a time zone here too, in the zone of the others, or begin with a "
    "fresh model and give all dates with one",
    AWARE: "give the date with its time zone, such as datetime.now(UTC) or '2026-03-01T12:00:00Z'",
}


class Told(Protocol):
    """The settings of deadlines; see those of linear models."""

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
    """The state of times so far."""

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
    def kind_of_times(self) -> int:
        """NUMBERS, NAIVE or AWARE; 0 before the first."""


class Times:
    """Times as the core takes them; what does not fit to earlier ones is refused."""

    __slots__ = ("_memory", "_settings", "old")

    def __init__(self, settings: Told, memory: Clocked) -> None:
        self._settings = settings
        self._memory = memory
        self.old = OldEvents()

    def issued(self, given: Any, deadline: Duration | None, who: str) -> tuple[float, float, int]:
        """Return the time of a prediction, the deadline of its ticket and the kind of the time."""
        at = None if given is None else read_time(given, who)
        kind = 0 if at is None else at.kind
        if is_missing(deadline):
            deadline = None
        if at is None and deadline is None and self._settings.deadline is None:
            return NEVER, NEVER, 0
        now, span = self.of(at, who), self._span(deadline)
        if deadline is not None:
            self.check_unit(now, deadline, who)
        if at is not None:
            self.old.predict(now, now, 1, self._memory.rounds)
        return now, span, kind

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
    def has_times(self) -> bool:
        """Whether times were given."""
        return self._memory.has_times

    @property
    def are_counted(self) -> bool:
        """Whether deadlines are counted in predictions, so that no times can be given any more."""
        memory, settings = self._memory, self._settings
        is_decided = memory.rounds > 0 and not memory.has_times
        return settings.counts_predictions or (is_decided and settings.deadline is not None)

    def of(self, at: Moment | None, who: str) -> float:
        """Return a time; NaN where predictions are counted instead."""
        memory = self._memory
        if at is None:
            if memory.has_times:
                return memory.clock
            if self._settings.needs_times:
                raise ClockError(
                    f"{who}: the deadline is a length of time, so at= is needed, such as "
                    "at=datetime.now(UTC); nothing has changed"
                )
            return NEVER
        if self.are_counted:
            raise ClockError(
                f"{who}: this model counts its deadlines in predictions; nothing has changed: give "
                "at= from the first prediction on, with a deadline that is not "
                '{"predictions": n}'
            )
        if at.is_date:
            self.check_date(at, who)
        else:
            self._check_number(float(at), who)
        return float(at)

    def of_tick(self, given: Any) -> tuple[float, int]:
        """Return the time that a clock is told alone, and its kind."""
        at = read_time(given, "tick")
        if at is None:
            raise ClockError("tick: a time is wanted, got none; nothing has changed")
        return self.of(at, "tick"), at.kind

    def of_answer(self, given: Any, who: str) -> float:
        """Return the time of an answer; NaN where none is given, as answers need none."""
        at = None if given is None else read_time(given, who)
        if at is None:
            return NEVER
        now = self.of(at, who)
        if now < self.old.before:
            self.old.answer(who)
        return now

    def warn_of_old(self, at: Any, times: Floats) -> None:
        """Warn if many answers seem to be old, which are learned in the order of the calls."""
        if is_missing(at):
            self.old.answer_without_times("observe_many")
        elif times.min(initial=math.inf) < self.old.before:
            self.old.answer("observe_many")

    def of_events(self, at: TimesLike | None, events: int, who: str) -> tuple[Floats, int]:
        """Return the times of many events, or one that stands for none; and of what kind they are.

        An event without a time of its own is at the latest time that was given before it.
        """
        return self._of_events(None if at is None else read_times(at, who), events, who)

    def _of_events(
        self, given: tuple[Floats, int, float] | None, events: int, who: str
    ) -> tuple[Floats, int]:
        """Return times that were read, without gaps."""
        times, kind, largest = (np.empty(0), 0, -math.inf) if given is None else given
        if given is not None and times.shape != (events,):
            raise ClockError(f"{who}: {events} events need as many times, got {times.shape}")
        if not kind:
            return (np.array([self.of(None, who)]) if given is None or events else times), 0
        is_given = ~np.isnan(times)
        first = int(np.argmax(is_given))
        self.of(Moment(times[first], kind), who)
        if self._settings.needs_times or max(kind, self._memory.kind_of_times) > NUMBERS:
            check_seconds(largest, who)
        if first > 0:
            now = self.of(None, who)
            if math.isnan(now) and self._settings.deadline is not None:
                raise ClockError(
                    f"{who}: event {first} is the first with a time, so that those before it are "
                    "at no time that is known; nothing has changed: give times from the first "
                    "event on"
                )
            times[:first] = now
        if not is_given.all():
            latest = np.maximum.accumulate(np.where(is_given, np.arange(events), first))
            times[first:] = times[latest[first:]]
        return times, kind

    def of_batch(self, at: TimesLike, events: int, who: str) -> tuple[Floats, int]:
        """Return the times of many predictions or answers, and of what kind they are.

        Each has one, and those of predictions do not go back.
        """
        times, _, _ = given = read_times(at, who)
        absent = np.isnan(times)
        if absent.any():
            raise ClockError(
                f"{who}: row {int(np.argmax(absent))} has no time; nothing has changed: give the "
                "time of every row, or leave such rows out"
            )
        back = np.diff(times) < 0.0 if times.ndim == 1 and who != "observe_many" else absent[:0]
        if back.any():
            row = int(np.argmax(back)) + 1
            raise ClockError(
                f"{who}: row {row} is earlier than row {row - 1}; nothing has changed: sort the "
                "rows by time"
            )
        found = self._of_events(given, events, who)
        if events and who != "observe_many":
            self.old.predict(float(times[0]), float(times[-1]), events, self._memory.rounds)
        return found

    def spans(self, deadlines: ArrayLike | None, rows: int, who: str) -> Floats:
        """Return the deadlines of many rows, or one that stands for that of all."""
        if deadlines is None:
            return np.array([NEVER])
        self._span(0.0)
        spans = vector(deadlines, f"{who}: deadlines", rows)
        if not ((spans >= 0.0) | np.isnan(spans)).all():  # NaN is that of all
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

    def check_date(self, at: Moment, who: str) -> None:
        """Refuse a date where times have been of another kind that does not go with it."""
        memory, before = self._memory, self._memory.kind_of_times
        if before in (0, at.kind):
            return
        if before != NUMBERS:
            raise ClockError(
                f"{who}: {_shown(at)} {_ZONES[at.kind]}, and the dates of this model so far "
                f"{_HAD[before]}{self._latest()}; nothing has changed, as they may be hours apart: "
                f"{_REMEDIES[before]}"
            )
        clock = memory.clock
        if -math.inf < clock < SINCE_1970 <= at or clock >= AFTER_DATES:
            raise ClockError(
                f"{who}: {_shown(at)} is a date, and times have been numbers so far, the latest "
                f"{clock:.15g}; nothing has changed: give numbers"
            )

    def _latest(self) -> str:
        """Return the latest date that was given, in words; nothing where it is not kept."""
        clock = self._memory.clock
        if not FIRST <= clock < AFTER:
            return ""
        return f" (the latest is {_shown(Moment(clock, self._memory.kind_of_times))})"

    def _check_number(self, value: float, who: str) -> None:
        """Refuse a number where only seconds since 1970 can be meant, if it is none."""
        has_dates = self._memory.kind_of_times > NUMBERS
        if has_dates and value < SINCE_1970:
            raise ClockError(
                f"{who}: times have been dates so far, and {value:g} is no number of seconds since "
                "1970; nothing has changed: give dates"
            )
        if has_dates or self._settings.needs_times:
            check_seconds(value, who)


def _shown(moment: Moment) -> str:
    """Return a date for an error, to the second."""
    return as_text(Moment(math.floor(moment), moment.kind))
