"""What the dashboard shows of a model: ages of answers, counts, and how it went over time.

All of it is for the eye. Nothing that is learned depends on it, and so it is kept in memory, with
the curves in a note of the store now and then; after a crash the last half minute of a curve may be
missing, and no event.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import islice
from time import time
from typing import Any

from belated.service.asked import Asked, Moment
from belated.store import events as of
from belated.store.events import Event

AGES = (1.0, 10.0, 60.0, 600.0, 3600.0, 21600.0, 86400.0, 604800.0, 2592000.0)
"""Seconds; answers are counted by how old their prediction was."""
_POINTS = 240
_RECENT = 900  # tickets whose answers are drawn
_DRAWN = 45
_OFF = 60.0  # seconds by which times of events may differ from the server's and still be now
ANSWERS = of.ANSWERS


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
        self._asked = Asked()
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
        self._asked.place(ticket, now, when)
        self._draw(ticket, now, when)
        self.asked += 1
        self.last_asked = now
        self.is_changed = True

    def _go_on(self, heard: float, told: float) -> None:
        if told > self._newest:
            self._newest = told
        self._is_past = not -_OFF <= told - heard <= _OFF

    def _draw(self, ticket: int, heard: float, told: float) -> None:
        self._go_on(heard, told)
        self._recent[ticket] = [ticket, told, None]
        if len(self._recent) >= 2 * _RECENT:  # many at a time, as a dict is slow to find its first
            self._recent = dict(islice(self._recent.items(), _RECENT, None))

    def hear(self, event: Event, is_used: bool, now: float, told: float | None = None) -> float:
        """Count what was heard of a ticket; return when the server was asked for that.

        It is long ago where that is not known any more.
        """
        if event[0] not in ANSWERS:
            return -math.inf
        came = now if told is None else told
        self.answered += 1
        self.late += not is_used
        self.last_answered = now
        self._go_on(now, came)
        self.is_changed = True
        asked = self._asked.of(of.ticket_of(event))
        if asked is None:
            return -math.inf
        heard, when = asked
        self.ages[bisect_left(AGES, max(came - when, 0.0))] += 1
        self._close(of.ticket_of(event), came)
        return heard

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

    def kept(self) -> bytes:
        """Return what a note keeps."""
        about = {
            "ages": self.ages,
            "asked": self.asked,
            "answered": self.answered,
            "late": self.late,
            "last": [_time(self.last_asked), _time(self.last_answered)],
            "every": self._every,
            "at": time(),
            "points": self.points,
        }
        return json.dumps(about).encode()

    def restore(self, note: bytes) -> None:
        """Go on from a note."""
        about = json.loads(note)
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
        self._asked = Asked(first, asked)
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
