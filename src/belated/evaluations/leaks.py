"""Columns of the context that know the reward, which nobody did when the decision was made."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from belated.arrays import Array, Floats
from belated.evaluations.asked import Columns
from belated.logs import Log
from belated.logs.leaks import CHANGED, Hidden, check_known, is_target, told


def refuse(
    log: Log,
    context: Mapping[str, Array],
    reward: Floats,
    silence: float | None,
    columns: Columns,
) -> None:
    """Refuse what is the reward, its time or how long it took, in any unit, shifted or rounded."""
    there = [*map(log.kinds.column_of, context), *context]
    check_known("evaluate", columns.known, there, "is not in the context:")
    times = log.times
    hidden = Hidden(times.predicted_at, times.observed_at, log.answered, log.unit, reward)
    known = log.answered | (silence is not None)
    labels = np.where(np.isnan(reward), np.nan if silence is None else silence, reward)
    sources = {name: log.kinds.column_of(name) for name in context}
    found = {}
    for name, column in context.items():
        if sources[name] in columns.known or name in columns.known:
            continue
        what = hidden.known_by(column).replace("the answer", "the reward")
        if is_target(column, labels, known):
            what = f"the reward {columns.reward!r} under another name, wherever one is known"
        elif what == CHANGED:
            what = f"the reward {columns.reward!r} {what}"
        if what:
            found[name] = what
    if found:
        raise told("evaluate", found, sources, "the decision is made")
