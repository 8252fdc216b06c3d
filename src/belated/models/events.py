"""Timelines as arrays of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from belated.arrays import Ints
from belated.errors import UnknownTicket
from belated.validation import whole

if TYPE_CHECKING:
    from belated.timeline import Timeline


def events_of(timeline: Timeline | ArrayLike, who: str) -> Ints:
    """Return events, t for the prediction of ticket t and ~t for its answer, in an array of ours.

    Of a timeline, answers that never came are left out.
    """
    from belated.timeline import Timeline  # not needed for live events

    if not isinstance(timeline, Timeline):
        rule = f"{who}: events, t or ~t, must be whole numbers"
        events = whole(timeline, rule, UnknownTicket)
        if events.ndim != 1:
            raise UnknownTicket(f"{rule} in one dimension, got shape {events.shape}")
        return events.copy()
    events = timeline.events
    answered = (events >= 0) | timeline.observed[np.where(events >= 0, 0, ~events)]
    return np.ascontiguousarray(events[answered])
