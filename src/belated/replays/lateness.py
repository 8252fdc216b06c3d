"""Whether lateness depends on the label that is replayed, and what that does to models."""

from __future__ import annotations

import shlex

import numpy as np

from belated.arrays import Array
from belated.audits.labels import Outcome, WaitsByLabel, warning
from belated.replays.labels import Labels
from belated.replays.task import Task


def outcomes_of(task: Task) -> tuple[Outcome, ...]:
    """Return waits by label, the quickest first, of labels that came; none where labels are many.

    What is only silence has no part in it: it is known at its deadline and never before.
    """
    spoke = task.learned & ~task.hearing.is_silence
    times = task.log.times
    waits = np.where(spoke, times.lengths.astype(np.float64), np.nan)
    for labels in (task.log.target, _made(task)):
        if labels is None:
            continue
        found = WaitsByLabel()
        found.add(labels, waits)
        if not found.are_many:
            return found.outcomes()
    return ()


def _made(task: Task) -> Array | None:
    """Return in words what a threshold or a word makes of every target; None: nothing is made."""
    names = _names(task.how)
    return np.where(task.labels > 0.5, *np.array(names, dtype=object)) if names else None


def _names(how: Labels) -> tuple[str, ...]:
    """Return what a yes and a no are called where they are made from a target."""
    if how.threshold is not None:
        return f"above {how.threshold:g}", f"at most {how.threshold:g}"
    return () if how.positive is None else (how.positive, f"not {how.positive}")


def says(task: Task, outcomes: tuple[Outcome, ...]) -> str:
    """Return what to know if lateness depends on the label, or nothing."""
    found = warning(outcomes, task.log.unit)
    if not found:
        return ""
    quick, slow = outcomes[0].label, outcomes[-1].label
    found += (
        f' A model that learns labels as they come believes too much in "{quick}"; belated allows '
        "for what is still open."
    )
    is_target = slow == task.how.positive or slow not in _names(task.how)
    if task.silence.value is None and is_target:
        found += (
            f' If "{slow}" is only what is concluded when nothing was heard, say so with '
            f"--silence {shlex.quote(slow)}."
        )
    return found
