"""Tickets that silence settles: at its deadline no answer is an answer, and no longer out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from belated.arrays import Array
from belated.timeline.times import Times


@dataclass
class Settling:
    """Gives every ticket an end: its answer, or its deadline where none came until then.

    >>> from belated.timeline.times import read_times
    >>> settling = Settling(5.0)
    >>> settling.settled(
    ...     read_times([0.0, 1.0, 2.0, 9.0], [3.0, 8.0, None, None], "doc:")
    ... ).observed_at
    array([ 3.,  6.,  7., 14.])
    >>> settling.silent, settling.still_out
    (2, 1)
    """

    span: Any = None
    """How long an answer counts, in the unit of the times; None: as long as it takes."""
    latest: Any = None
    """The latest time that the log has shown."""
    silent: int = 0
    """Tickets whose deadline has passed without an answer."""
    _due: Array = field(default_factory=lambda: np.empty(0))

    @property
    def still_out(self) -> int:
        """Tickets that were not answered, and whose deadline is after the end of the log."""
        return len(self._due)

    def settled(self, times: Times) -> Times:
        """Return times of which each one ends."""
        if self.span is None or not len(times):
            return times
        is_whole = times.predicted_at.dtype.kind == "i"
        due = times.predicted_at + (np.int64(round(self.span)) if is_whole else self.span)
        is_late = times.observed_at > due if times.waits is None else times.waits > self.span
        is_silent = ~times.answered | is_late
        ends = np.where(is_silent, due, times.observed_at)
        heard = times.observed_at[~is_silent]
        seen = [times.predicted_at.max(), *([heard.max()] if heard.size else [])]
        self.latest = max(seen if self.latest is None else [*seen, self.latest])
        waiting = np.concatenate([self._due.astype(due.dtype), due[is_silent]])
        is_over = waiting <= self.latest
        self.silent += int(np.count_nonzero(is_over))
        self._due = waiting[~is_over]
        waits = None if times.waits is None else np.where(is_silent, self.span, times.waits)
        return Times(times.predicted_at, ends, np.ones_like(times.answered), times.clock, waits)
