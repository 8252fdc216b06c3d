"""The timeline of a user's log."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from belated.errors import StudyError
from belated.logs import read
from belated.timeline import Timeline


def read_timeline(path: Path, predicted: str, observed: str) -> Timeline:
    """Return the timeline of a log from its columns of prediction and observation times.

    ``belated.logs`` says which files and which kinds of times can be read.
    """
    timeline = read(path, predicted, observed).timeline
    if timeline.rounds < 2:
        raise StudyError(f"study: {path} has {timeline.rounds} rounds, which is too few to play")
    return timeline


def shortened(timeline: Timeline, rounds: int) -> Timeline:
    """Return the first rounds of a timeline, as one who stops after them would see it.

    >>> shortened(Timeline.from_delays([3, 0, 0, 0]), 2).delay
    array([1, 0])
    """
    if rounds >= timeline.rounds:
        return timeline
    early = timeline.order < rounds
    order, made = timeline.order[early], timeline.boundaries[1:][early]
    observed = timeline.observed[:rounds].copy()
    observed[order[made > rounds]] = False
    came = observed[order]
    never = np.flatnonzero(~observed)
    boundaries = np.concatenate([[0], made[came], np.full(len(never), rounds)])
    return Timeline(
        np.concatenate([order[came], never]), boundaries, observed, timeline.rows[:rounds].copy()
    )
