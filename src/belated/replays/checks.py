"""What is said before anything runs: features that know the answer, columns that say nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from belated.arrays import Array, Bools, Floats
from belated.errors import LogError
from belated.logs import Kinds, Log
from belated.logs.columns import Columns
from belated.logs.log import SECONDS

FEWEST = 10
"""Answers from which on it is no accident that a feature equals the target."""
CLOSE = 1e-9
"""How exactly a feature follows the wait, relative to it, if it is the wait."""


def refuse_answers(columns: Columns) -> None:
    """Refuse features that are the answer itself, or its time."""
    for name, what in ((columns.observed, "when the answer came"), (columns.target, "the answer")):
        if name in columns.features:
            raise LogError(
                f"replay: {name!r} is {what}, which nobody knows when the prediction is made; a "
                "feature must be known then"
            )


def counted(log: Log) -> Kinds:
    """Return what columns became, with their numbers of values; constants are found here."""
    kinds = log.kinds
    for kind in kinds:
        if not kind.names or kind.what == "time":
            continue
        column = log.features[kind.names[-1]]
        if column.dtype.kind == "f":
            if len(column) and (column == column[0]).all():
                value = f"{column[0]:g}"
                kinds = kinds.changed(kind.name, what="constant", why=f"always {value}")
            continue
        words = set(column.tolist())
        if len(words) == 1 and len(column) > 1:
            kinds = kinds.changed(kind.name, what="constant", why=f"always {words.pop()!r}")
        else:
            kinds = kinds.changed(kind.name, values=len(words - {None}))
    return kinds


def checked(
    log: Log,
    labels: Floats,
    known: Bools,
    target: str,
    features: Sequence[str],
    kinds: Kinds,
) -> tuple[str, ...]:
    """Refuse features that know the answer; return what else is worth a word."""
    notes = []
    waits = _waits(log)
    for name in features:
        column = log.features[name]
        if _is_target(column, labels, known):
            raise LogError(
                f"replay: {name!r} is the target {target!r} under another name, in every answered "
                f"row; leave it out (--ignore {_column(kinds, name)})"
            )
        if column.dtype.kind == "f" and _is_wait(column, waits, log):
            raise LogError(
                f"replay: {name!r} is how long the answer took, which nobody knows when the "
                f"prediction is made; leave it out (--ignore {_column(kinds, name)})"
            )
        if _follows_answers(column, log.answered):
            notes.append(
                f"{name} is there exactly where an answer came: is it filled in with the answer? "
                f"Then leave it out (--ignore {_column(kinds, name)})"
            )
    return tuple(notes)


def _column(kinds: Kinds, feature: str) -> str:
    """Return the column that a feature comes from."""
    return next((kind.name for kind in kinds if feature in kind.names), feature)


def _is_target(column: Array, labels: Floats, known: Bools) -> bool:
    """Whether a feature and the label say the same, row by row."""
    if np.count_nonzero(known) < FEWEST:
        return False
    cells, said = column[known], labels[known]
    if column.dtype.kind == "f":
        if (cells == said).all():
            return True
        values = np.unique(cells[~np.isnan(cells)])
        if len(values) != 2 or np.isnan(cells).any():
            return False
        codes = cells == values[1]
    else:
        words = sorted(set(cells.tolist()) - {None})
        if len(words) != 2 or None in cells.tolist():
            return False
        codes = np.array([cell == words[1] for cell in cells.tolist()])
    kinds_of = np.unique(said)
    if len(kinds_of) != 2:
        return False
    yes = said == kinds_of[1]
    return bool((codes == yes).all() or (codes != yes).all())


def _waits(log: Log) -> Floats:
    """Return how long answers took, in the unit of the log; NaN where none came."""
    times = log.times
    found = (times.observed_at - times.predicted_at).astype(np.float64)
    return np.where(log.answered, found, np.nan)


def _is_wait(column: Floats, waits: Floats, log: Log) -> bool:
    """Whether a feature is how long the answer took, in any unit, or when it came."""
    both = log.answered & ~np.isnan(column)
    if np.count_nonzero(both) < FEWEST:
        return False
    cells, took = column[both], waits[both]
    if len(np.unique(took)) < 3:
        return False
    if log.is_calendar:
        came = (log.times.observed_at[both] // 1_000_000_000) / 86_400.0
        if (cells == came).all():
            return True
    is_seconds = log.unit is not None
    for size in SECONDS.values() if is_seconds else (1.0,):
        scale = SECONDS[log.unit] / size if log.unit is not None else 1.0
        if np.abs(cells - took * scale).max() <= CLOSE * np.abs(took * scale).max():
            return True
    return False


def _follows_answers(column: Array, answered: Bools) -> bool:
    """Whether a feature is missing in just the rows that were never answered."""
    if answered.all() or not answered.any():
        return False
    if column.dtype.kind == "f":
        there = ~np.isnan(column)
    else:
        there = np.array([cell is not None for cell in column.tolist()])
    return bool((there == answered).all())
