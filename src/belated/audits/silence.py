"""Silence: from when on no answer is one. Audits count it, and replays let methods learn it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from belated.arrays import Array, Bools
from belated.timeline.times import Times


class Ends(NamedTuple):
    """When tickets end: with an answer in time, or else at their deadline."""

    at: Array
    in_time: Bools
    due: Array


@dataclass
class Deadline:
    """When no answer is one, by the clock of a log.

    >>> from belated.timeline.times import read_times
    >>> times = read_times([0.0, 1.0, 2.0, 9.0], [3.0, 8.0, None, None], "doc:")
    >>> deadline = Deadline(5.0)
    >>> deadline.note(times, times.answered)
    >>> float(deadline.latest), float(deadline.longest), deadline.ends(times, times.answered).at
    (9.0, 7.0, array([ 3.,  6.,  7., 14.]))
    """

    span: Any = None
    """How long an answer counts, in the unit of the times; None: as long as it takes."""
    latest: Any = None
    """The latest event so far: a prediction, or an answer, in time or not."""
    longest: Any = None
    """The longest that an answer took so far."""

    def note(self, times: Times, told: Bools) -> None:
        """Take note of the rows of a block; ``told`` are those that were answered."""
        events = times.observed_at[told].max(initial=times.predicted_at.max())
        self.latest = events if self.latest is None else max(self.latest, events)
        if told.any():
            longest = times.lengths[told].max()
            self.longest = longest if self.longest is None else max(self.longest, longest)

    def ends(self, times: Times, told: Bools) -> Ends:
        """Return when the tickets of a block end."""
        is_whole = times.predicted_at.dtype.kind == "i"
        due = times.predicted_at + (np.int64(round(self.span)) if is_whole else self.span)
        is_late = times.observed_at > due if times.waits is None else times.waits > self.span
        in_time = told & ~is_late
        return Ends(np.where(in_time, times.observed_at, due), in_time, due)
