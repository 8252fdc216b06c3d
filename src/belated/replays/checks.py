"""What is said before anything runs: features that know the answer, columns that say nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from belated.arrays import Array, Bools, Floats
from belated.errors import LogError
from belated.logs import Kinds, Log
from belated.logs.columns import Columns
from belated.logs.log import SECONDS
from belated.replays import leaks
from belated.replays.leaks import FEWEST

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
    answered: Bools,
    target: str,
    features: Sequence[str],
    kinds: Kinds,
) -> tuple[str, ...]:
    """Refuse features that know the answer; return what else is worth a word.

    ``known`` are rows whose label counts, ``answered`` those of which something was ever heard.
    """
    notes = []
    waits = _waits(log)
    for name in features:
        column = log.features[name]
        if leaks.is_target(column, labels, known):
            raise LogError(
                f"replay: {name!r} is the target {target!r} under another name, in every answered "
                f"row; leave it out (--ignore {_column(kinds, name)})"
            )
        if column.dtype.kind == "f" and _is_wait(column, waits, log):
            raise LogError(
                f"replay: {name!r} is how long the answer took, which nobody knows when the "
                f"prediction is made; leave it out (--ignore {_column(kinds, name)})"
            )
        if doubt := _doubt(column, labels, known, answered):
            ignored = f"Then leave it out (--ignore {_column(kinds, name)})"
            notes.append(f"{name} {doubt} {ignored}")
    return tuple(notes)


def _doubt(column: Array, labels: Floats, known: Bools, answered: Bools) -> str:
    """Say why a feature may know the answer, and ask; nothing where there is no reason to."""
    if leaks.follows_answers(column, answered):
        return "is there exactly where an answer came: is it filled in with the answer?"
    if leaks.is_nearly_target(column, labels, known):
        return "is nearly always the target: is it known only with the answer?"
    if what := leaks.only_with_answers(column, answered):
        return f"is {what} only in rows with an answer: is it filled in with the answer?"
    return ""


def _column(kinds: Kinds, feature: str) -> str:
    """Return the column that a feature comes from."""
    return next((kind.name for kind in kinds if feature in kind.names), feature)


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
