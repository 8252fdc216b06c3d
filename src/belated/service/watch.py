"""The data of the dashboard: ages of answers, counts, and curves over time.

Nothing that is learned depends on it, so it is kept in memory, with the curves in a note of the
store now and then; after a crash the last half minute of a curve may be missing, and no event.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from itertools import islice
from time import time
from typing import Any

from belated.models.clock import AFTER_DATES, SINCE_1970
from belated.store import events as of
from belated.store.events import Event

AGES = (1.0, 10.0, 60.0, 600.0, 3600.0, 21600.0, 86400.0, 604800.0, 2592000.0)
"""Seconds; answers are counted by how old their prediction was."""
_POINTS = 240
_RECENT, _DRAWN = 900, 45  # newest tickets, and how many of them are drawn
_OFF = 60.0  # seconds by which times of events may differ from the server's and still be now
REMEMBERED = 1 << 16
"""So many tickets, or up to twice as many, have known times."""
_SAME = 0.1  # seconds that an event may take to get from the server to the store
_PATIENCE = 3.0  # times the age that nine of ten answers do not exceed
_SHORTEST = 60.0  # seconds; a shorter pause is never reported


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


class Watch:
    """Follows the events of one model."""

    def __init__(self) -> None:
        self.ages = [0] * (len(AGES) + 1)
        """Answers by age: up to each of ``AGES``, and older."""
        self.asked = self.answered = self.late = 0
        self.last_asked: float | None = None
        self.last_answered: float | None = None
        self._asked: dict[int, float] = {}  # when the newest tickets were asked for
        self._answered: dict[int, float] = {}  # when they were first answered
        self._newest = -math.inf  # of the times that events were given
        self._is_past = False  # whether that of the last one was not now
        self.points: list[list[Any]] = []
        """Thinned as they grow: [time, asked, answered, open, loss or reward so far, its count,
        and what that is to be compared with]."""
        self._every = 1.0
        self._kept_at = -math.inf  # of the note; what is older is counted in it
        self.is_changed = False

    def ask(self, ticket: int, now: float, told: float | None = None) -> None:
        self._asked[ticket] = self._go_on(now, told)
        if now > self._kept_at:
            self.asked += 1
            self.last_asked = now
            self.is_changed = True
        if len(self._asked) >= 2 * REMEMBERED:  # many at a time: a dict is slow to find its first
            self._asked = dict(islice(self._asked.items(), REMEMBERED, None))
            kept = self._answered.items()
            self._answered = {ticket: came for ticket, came in kept if ticket in self._asked}

    def _go_on(self, heard: float, told: float | None) -> float:
        told = heard if told is None else told
        self._newest = max(self._newest, told)
        self._is_past = not -_OFF <= told - heard <= _OFF
        return told

    def hear(self, event: Event, is_used: bool, now: float, told: float | None = None) -> None:
        """Count what was heard of a ticket."""
        if event[0] not in of.ANSWERS:
            return
        came, ticket, is_new = self._go_on(now, told), of.ticket_of(event), now > self._kept_at
        if is_new:
            self.answered += 1
            self.late += not is_used
            self.last_answered = now
            self.is_changed = True
        if ticket in self._asked:
            self._answered.setdefault(ticket, came)
            age = max(came - self._asked[ticket], 0.0)
            self.ages[bisect_left(AGES, age)] += is_new

    def recent(self) -> list[list[Any]]:
        """Return some of the newest tickets: number, when asked, when first answered or None."""
        newest = sorted(islice(reversed(self._asked), _RECENT))
        step = -(-len(newest) // _DRAWN) or 1
        return [[each, self._asked[each], self._answered.get(each)] for each in newest[::step]]

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

    _KEPT = ("ages", "asked", "answered", "late", "last_asked", "last_answered", "points")

    def kept(self) -> dict[str, Any]:
        kept = {name: getattr(self, name) for name in self._KEPT}
        return {**kept, "every": self._every, "at": time()}

    def restore(self, about: dict[str, Any]) -> None:
        """Go on from a note; events that are older than it are counted in it."""
        for name in self._KEPT:
            setattr(self, name, about[name])
        self._every, self._kept_at = about["every"], about["at"]

    def about(self, now: float) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in self._KEPT},
            "now": now,
            "clock": self._newest if self._is_past else None,
            "ages": {"limits": list(AGES), "counts": self.ages},
            "recent": self.recent(),
        }

    @property
    def usual_age(self) -> float:
        """An age that nine of ten answers do not exceed."""
        total, so_far = sum(self.ages), 0
        for limit, count in zip(AGES, self.ages, strict=False):
            so_far += count
            if so_far >= 0.9 * total:
                return limit
        return AGES[-1]

    def quiet(self, waiting: Iterable[float], now: float) -> float:
        """Return how long the oldest of the tickets that wait has seen no answer.

        It is 0 while events have a past as their time: a pause there says nothing about today.
        """
        if self._is_past:
            return 0.0
        return now - max(min(waiting, default=now), self.last_answered or 0.0)


def explain_stall(
    watch: Watch, report: dict[str, Any], waiting: Iterable[float], now: float, late: int
) -> str | None:
    """Return why nothing has changed lately, or None if there is nothing to explain.

    ``waiting`` has the times at which newest tickets were asked for that still wait, and ``late``
    counts answers that were dropped. A pause is reported only while a ticket waits.
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
    if watch.last_answered is None:
        return "No answer has come since this server was started."
    quiet, longest = watch.quiet(waiting, now), watch.usual_age
    if quiet > max(_PATIENCE * longest, _SHORTEST):
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


def format_duration(seconds: float) -> str:
    """Return a duration in words.

    >>> format_duration(90.0), format_duration(7200.0), format_duration(200000.0)
    ('2 minutes', '2 hours', '2 days')
    """
    sizes = ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (0.0, "second"))
    size, name = next(each for each in sizes if seconds >= each[0])
    count = max(round(seconds / (size or 1.0)), 1)
    return f"{count} {name}{'s' * (count != 1)}"
