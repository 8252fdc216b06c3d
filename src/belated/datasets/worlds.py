"""Data sets as worlds of decisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.arrays import Array, Ints
from belated.errors import MissingExtra
from belated.logs.log import Log
from belated.research.worlds import Labelled, Lateness, Recorded
from belated.research.worlds.rounds import AT_ONCE, NEVER

_NEAR = np.timedelta64(3, "h")
_LATE = 15.0  # minutes; the publisher of the flights calls earlier arrivals on time


def digits_of(lateness: Lateness | None) -> Labelled:
    """Return the handwritten digits of scikit-learn."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise MissingExtra("scikit-learn", extra="refit", where="datasets.digits") from None
    rows, classes = load_digits(return_X_y=True)
    return Labelled(rows, classes, AT_ONCE if lateness is None else lateness)


def departures_of(log: Log) -> Recorded:
    """Return a round for every flight that another airport has an alternative to."""
    origin, dest = log.features["origin"], log.features["dest"]
    airports = sorted(set(origin.tolist()))
    options = np.column_stack([_nearest(log, origin == each, dest) for each in airports])
    wishes = np.flatnonzero((options >= 0).sum(axis=1) > 1)
    options = options[wishes]
    leaves = log.predicted_at[options]
    leaves[options < 0] = np.array("NaT", leaves.dtype)
    asked = np.fmin.reduce(leaves, axis=1)  # when the first of them leaves
    order = np.argsort(asked, kind="stable")
    wishes, options, asked = wishes[order], options[order], asked[order]
    is_there, answered = options >= 0, log.answered[options]
    on_time = answered & (_numbers(log.target)[options] < _LATE)
    heard = np.searchsorted(asked, log.observed_at[options], side="right")
    waits = np.maximum(heard - 1 - np.arange(asked.size)[:, None], 0)
    return Recorded(
        [_context(log, row) for row in wishes.tolist()],
        airports,
        np.where(is_there, on_time.astype(np.float64), np.nan),
        np.where(answered, waits, NEVER),
    )


def _nearest(log: Log, is_here: Any, dest: Array) -> Ints:
    """Return, for every flight, the nearest in time to the same place from here; -1 for none."""
    found = np.full(len(log), -1, dtype=np.int64)
    for place in set(dest.tolist()):
        there = np.flatnonzero(dest == place)
        known = there[is_here[there]]
        if known.size:
            known = known[np.argsort(log.predicted_at[known], kind="stable")]
            times = log.predicted_at[known]
            at = np.searchsorted(times, log.predicted_at[there])
            before, after = np.maximum(at - 1, 0), np.minimum(at, known.size - 1)
            gaps = [np.abs(times[each] - log.predicted_at[there]) for each in (before, after)]
            best = np.where(gaps[0] <= gaps[1], before, after)
            is_near = np.minimum(*gaps) <= _NEAR
            found[there] = np.where(is_near, known[best], -1)
    return found


def _numbers(column: Array | None) -> Array:
    assert column is not None  # flights have a target
    return np.asarray(column, dtype=np.float64)


def _context(log: Log, row: int) -> dict[str, float | str]:
    """Return what is known before an airport is chosen."""
    known = log.row(row)
    return {name: known[name] for name in ("dest", "weekday", "hour")}
