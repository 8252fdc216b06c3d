"""What the dashboard shows of a model: ages of answers, counts, and how it went over time.

All of it is for the eye. Nothing that is learned depends on it, and so it is kept in memory, with
the curves in a note of the store now and then; after a crash the last half minute of a curve may be
missing, and no event.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import islice
from time import time
from typing import Any, NamedTuple

from belated.models.clock import AFTER_DATES, SINCE_1970
from belated.store import events as of
from belated.store.events import Event

AGES = (1.0, 10.0, 60.0, 600.0, 3600.0, 21600.0, 86400.0, 604800.0, 2592000.0)
"""Seconds; answers are counted by how old their prediction was."""
_POINTS = 240
_RECENT = 900  # tickets whose answers are drawn
_DRAWN = 45
_OFF = 60.0  # seconds by which times of events may differ from the server's and still be now
ANSWERS = of.ANSWERS
REMEMBERED = 1 << 16
"""So many tickets, or up to twice as many, have known times."""
_SAME = 0.1  # seconds that an event may take to get from the server to the store
_PATIENCE = 3.0  # times the age that nine of ten answers do not exceed
_SHORTEST = 60.0  # seconds; a shorter pause is never reported


# --- Times ----------------------------------------------------------------------------------------


def told(event: Event, heard: float) -> float:
    """Return the time that an event was given, or when it was heard of where it has none.

    Only seconds since 1970 are times that ages can be told by. One that the store put in is now.

    >>> told([of.PREDICT, {"x": 1.0}, "key", 1.7e9], 1.8e9)
    1700000000.0
    >>> told([of.PREDICT, {"x": 1.0}, "key", 12.0], 1.8e9)
    1800000000.0
    """
    at = of.time_in(of.at_of(event))
    if at is None or -_SAME < at - heard < _SAME or not SINCE_1970 <= at < AFTER_DATES:
        return heard
    return float(at)


class Moment(NamedTuple):
    """When something happened."""

    heard: float
    """By the clock of the server."""
    told: float
    """By the time that it was given; the same where it was given none."""


# --- Events ---------------------------------------------------------------------------------------


class Watch:
    """Follows the events of one model."""

    def __init__(self) -> None:
        self.ages = [0] * (len(AGES) + 1)
        """Answers by age: up to each of ``AGES``, and older."""
        self.asked = 0
        self.answered = 0
        self.late = 0
        self.last_asked = math.nan
        self.last_answered = math.nan
        self._asked: dict[int, float] = {}  # when the newest tickets were asked for
        self._newest = -math.inf  # of the times that events were given
        self._is_past = False  # whether that of the last one was not now
        self._recent: dict[int, list[Any]] = {}
        self.points: list[list[Any]] = []
        """Thinned as they grow: [time, asked, answered, open, loss or reward so far, its count,
        and what that is to be compared with]."""
        self._every = 1.0
        self._kept_at = -math.inf  # what is older is counted in the note that was gone on from
        self.is_changed = False

    @property
    def is_live(self) -> bool:
        """Whether the last event was heard of when it happened, as far as it says so."""
        return not self._is_past

    def ask(self, ticket: int, now: float, told: float | None = None) -> None:
        """Count a prediction or choice, which may have a time of its own."""
        when = now if told is None else told
        self._remember(ticket, when)
        self._draw(ticket, now, when)
        self.asked += 1
        self.last_asked = now
        self.is_changed = True

    def _remember(self, ticket: int, when: float) -> None:
        self._asked[ticket] = when
        if len(self._asked) >= 2 * REMEMBERED:
            self._asked = dict(islice(self._asked.items(), REMEMBERED, None))

    def _go_on(self, heard: float, told: float) -> None:
        if told > self._newest:
            self._newest = told
        self._is_past = not -_OFF <= told - heard <= _OFF

    def _draw(self, ticket: int, heard: float, told: float) -> None:
        self._go_on(heard, told)
        self._recent[ticket] = [ticket, told, None]
        if len(self._recent) >= 2 * _RECENT:  # many at a time, as a dict is slow to find its first
            self._recent = dict(islice(self._recent.items(), _RECENT, None))

    def hear(self, event: Event, is_used: bool, now: float, told: float | None = None) -> None:
        """Count what was heard of a ticket."""
        if event[0] not in ANSWERS:
            return
        came = now if told is None else told
        self.answered += 1
        self.late += not is_used
        self.last_answered = now
        self._go_on(now, came)
        self.is_changed = True
        asked = self._asked.get(of.ticket_of(event))
        if asked is not None:
            self.ages[bisect_left(AGES, max(came - asked, 0.0))] += 1
            self._close(of.ticket_of(event), came)

    def _close(self, ticket: int, came: float) -> None:
        drawn = self._recent.get(ticket)
        if drawn is not None and drawn[2] is None:
            drawn[2] = came

    def recent(self) -> list[list[Any]]:
        """Return some of the newest tickets: number, when asked, when first answered or None."""
        newest = sorted(islice(reversed(self._recent), _RECENT))
        step = -(-len(newest) // _DRAWN) or 1
        return [list(self._recent[ticket]) for ticket in newest[::step]]

    # --- Curves ---------------------------------------------------------------------------------

    def sample(
        self,
        still_open: int,
        measure: float | None,
        count: int,
        now: float,
        baseline: float | None = None,
    ) -> None:
        """Add a point to the curves, if the last one is old enough."""
        if self.points and now - self.points[-1][0] < self._every:
            return
        counted = [round(now, 3), self.asked, self.answered]
        self.points.append([*counted, still_open, measure, count, baseline])
        if len(self.points) > _POINTS:
            self.points = self.points[::2]
            self._every *= 2.0

    def kept(self) -> dict[str, Any]:
        """Return what a note keeps."""
        return {
            "ages": self.ages,
            "asked": self.asked,
            "answered": self.answered,
            "late": self.late,
            "last": [_time(self.last_asked), _time(self.last_answered)],
            "every": self._every,
            "at": time(),
            "points": self.points,
        }

    def restore(self, about: dict[str, Any]) -> None:
        """Go on from a note."""
        if len(about["ages"]) == len(self.ages):
            self.ages = about["ages"]
        self.asked, self.answered, self.late = about["asked"], about["answered"], about["late"]
        asked, answered = about["last"]
        self.last_asked = math.nan if asked is None else asked
        self.last_answered = math.nan if answered is None else answered
        self._every, self.points = about["every"], about["points"]
        self._kept_at = about["at"]

    def remember(
        self, first: int, asked: Sequence[Moment], answers: list[tuple[Event, Moment]]
    ) -> None:
        """Learn from the log when tickets were asked for and answered, so that ages go on.

        What is newer than the note that was gone on from is counted as well.
        """
        for ticket, moment in enumerate(asked, first):
            self._remember(ticket, moment.told)
        for ticket, moment in list(enumerate(asked, first))[-_RECENT:]:
            self._draw(ticket, *moment)
        new = [moment.heard for moment in asked if moment.heard > self._kept_at]
        self.asked += len(new)
        self.last_asked = new[-1] if new else self.last_asked
        for event, moment in answers:
            if moment.heard > self._kept_at:
                self.hear(event, True, *moment)
            else:
                self._go_on(*moment)
                self._close(of.ticket_of(event), moment.told)

    def about(self, now: float | None = None) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "now": time() if now is None else now,
            "clock": None if self.is_live else self._newest,
            "ages": {"limits": list(AGES), "counts": self.ages},
            "asked": self.asked,
            "answered": self.answered,
            "late": self.late,
            "last_asked": _time(self.last_asked),
            "last_answered": _time(self.last_answered),
            "points": self.points,
            "recent": self.recent(),
        }


def _time(value: float) -> float | None:
    return None if math.isnan(value) else value


# --- Why nothing changes --------------------------------------------------------------------------


def explain_stall(
    watch: Watch,
    report: dict[str, Any],
    waiting: Iterable[float],
    now: float,
    late: int,
) -> str | None:
    """Return why nothing has changed lately, or None if there is nothing to explain.

    ``waiting`` has the times at which newest tickets were asked for that still wait, and ``late``
    counts answers that were dropped. A pause is reported only while a ticket waits, and only if
    events have the present as their time: a pause in past times says nothing about today's sender.
    """
    rounds, still_open = report["rounds"], report["open"]
    heard = report.get("answered", report.get("observed", 0)) or 0
    if rounds == 0:
        return "Nothing was asked of it yet."
    if heard == 0 and late:
        return (
            f"All {late:,} answers came after their tickets were closed, and were dropped: "
            "a longer deadline, or late=learn, would let it learn from them."
        )
    if heard == 0:
        return (
            f"No answer has come yet: {still_open:,} of {rounds:,} tickets are open, and it learns "
            "from the first answer on."
        )
    if math.isnan(watch.last_answered):
        return "No answer has come since this server was started."
    longest = usual_age(watch)
    first = min(waiting, default=now)
    quiet = now - max(first, watch.last_answered)  # for how long that one waits without an answer
    if watch.is_live and quiet > max(_PATIENCE * longest, _SHORTEST):
        return (
            f"No answer has come for {format_duration(quiet)}, though nine of ten take at most "
            f"{format_duration(longest)}: check that the job that sends labels is running"
        )
    if report.get("mode") == "apprentice":
        return (
            "It is an apprentice: it learns from what the baseline does, and its own choices are "
            "not played until its mode is learn."
        )
    return None


def usual_age(watch: Watch) -> float:
    """Return an age that nine of ten answers do not exceed."""
    total, so_far = sum(watch.ages), 0
    for limit, count in zip(AGES, watch.ages, strict=False):
        so_far += count
        if so_far >= 0.9 * total:
            return limit
    return AGES[-1]


def format_duration(seconds: float) -> str:
    """Return a duration in words.

    >>> format_duration(90.0), format_duration(7200.0), format_duration(200000.0)
    ('2 minutes', '2 hours', '2 days')
    """
    for size, name in ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second")):
        if seconds >= size or size == 1.0:
            count = max(round(seconds / size), 1)
            return f"{count} {name}{'s' * (count != 1)}"
    raise AssertionError
