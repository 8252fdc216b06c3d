"""What the dashboard shows of a model: ages of answers, counts, and how it went over time.

All of it is for the eye. Nothing that is learned depends on it, and so it is kept in memory, with
the curves in a note of the store now and then; after a crash the last half minute of a curve may be
missing, and no event.
"""

from __future__ import annotations

import json
import math
from array import array
from bisect import bisect_left
from collections import deque
from time import time
from typing import Any

from belated.store import events as of
from belated.store.events import Event

AGES = (1.0, 10.0, 60.0, 600.0, 3600.0, 21600.0, 86400.0, 604800.0, 2592000.0)
"""Seconds; answers are counted by how old their prediction was."""
_REMEMBERED = 1 << 17  # tickets whose time of asking is known
_POINTS = 240
_RECENT = 900  # tickets whose answers are drawn
_DRAWN = 45
_ANSWERS = (of.OBSERVE, of.REVISE, of.ADD)


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
        self._first = 0  # ticket of the oldest time
        self._times = array("d")
        self._recent: deque[list[Any]] = deque(maxlen=_RECENT)
        self.points: list[list[Any]] = []
        """[time, asked, answered, open, loss or reward so far, its count], thinned as it grows."""
        self._every = 1.0
        self.is_changed = False

    def ask(self, ticket: int, now: float) -> None:
        """Count a prediction or choice."""
        if not self._times:
            self._first = ticket
        elif len(self._times) == 2 * _REMEMBERED:
            del self._times[:_REMEMBERED]
            self._first += _REMEMBERED
        self._times.append(now)
        self._recent.append([ticket, now, None])
        self.asked += 1
        self.last_asked = now
        self.is_changed = True

    def hear(self, event: Event, is_used: bool, now: float) -> None:
        """Count what was heard of a ticket."""
        if event[0] not in _ANSWERS:
            return
        self.answered += 1
        self.late += not is_used
        self.last_answered = now
        self.is_changed = True
        place = event[1] - self._first
        if 0 <= place < len(self._times):
            self.ages[bisect_left(AGES, max(now - self._times[place], 0.0))] += 1
            self._close(event[1], now)

    def _close(self, ticket: int, now: float) -> None:
        if self._recent and ticket >= self._recent[0][0]:
            place = ticket - self._recent[0][0]
            if place < len(self._recent) and self._recent[place][2] is None:
                self._recent[place][2] = now

    def recent(self) -> list[list[Any]]:
        """Return some of the newest tickets: number, when asked, when first answered or None."""
        step = -(-len(self._recent) // _DRAWN) or 1
        return [list(each) for each in list(self._recent)[::step]]

    # --- Curves ---------------------------------------------------------------------------------

    def sample(self, still_open: int, measure: float | None, count: int, now: float) -> None:
        """Add a point to the curves, if the last one is old enough."""
        if self.points and now - self.points[-1][0] < self._every:
            return
        self.points.append([round(now, 3), self.asked, self.answered, still_open, measure, count])
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

    def remember(self, first: int, times: array[float]) -> None:
        """Learn from the log when tickets were asked for, so that the ages of answers go on."""
        self._first, self._times = first, times[-_REMEMBERED:]
        self._first += len(times) - len(self._times)
        for ticket, when in list(enumerate(times, first))[-_RECENT:]:
            self._recent.append([ticket, when, None])

    def about(self, now: float | None = None) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "now": time() if now is None else now,
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
