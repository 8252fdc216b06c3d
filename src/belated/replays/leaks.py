"""Features that know the answer: those that are it, nearly are, or only come with it."""

from __future__ import annotations

import math

import numpy as np

from belated.arrays import Array, Bools, Floats
from belated.logs.ranks import ALARM

FEWEST = 10
"""Answers from which on it is no accident that a feature goes with them."""
NEARLY = 0.05
"""A feature is nearly the target if it misses no more than this share of the rarer answer."""


def is_target(column: Array, labels: Floats, known: Bools) -> bool:
    """Whether a feature and the label say the same, row by row."""
    return _misses(column, labels, known) == 0.0


def is_nearly_target(column: Array, labels: Floats, known: Bools) -> bool:
    """Whether a feature and the label say the same in nearly every row."""
    return _misses(column, labels, known) <= NEARLY


def _misses(column: Array, labels: Floats, known: Bools) -> float:
    """Return in what share a feature is not the label: of all rows, or of the rarer yes or no.

    Of two values, either may be the yes, and a missing one is a value too. Of a rare yes nearly
    every feature agrees with nearly all rows, so that the rows with the rarer answer are counted.
    """
    said = labels[known]
    if len(said) < FEWEST:
        return math.inf
    cells = column[known]
    if column.dtype.kind == "f" and (cells == said).all():
        return 0.0
    answers = np.unique(said)
    if len(answers) != 2:
        is_number = column.dtype.kind == "f" and len(answers) > 2
        return float(np.mean(cells != said)) if is_number else math.inf
    second = _second(cells)
    if second is None:
        return math.inf
    yes = said == answers[1]
    rarer = min(np.count_nonzero(yes), np.count_nonzero(~yes))
    wrong = np.count_nonzero(second != yes)
    wrong = min(wrong, len(said) - wrong)
    return float(wrong / rarer) if rarer >= FEWEST or not wrong else math.inf


def follows_answers(column: Array, answered: Bools) -> bool:
    """Whether a feature is missing in just the rows that were never answered."""
    return _is_mixed(answered) and bool((_there(column) == answered).all())


def only_with_answers(column: Array, answered: Bools) -> str:
    """Say of what in a feature every row was answered, where chance would not do that; or nothing.

    Of two values, one may be such. With k rows of which a share p of all around them was answered,
    chance does that with p^k. Rows around them are those from the first to the last, in order of
    prediction, as the end of a log is open whatever features say.
    """
    if not _is_mixed(answered):
        return ""
    if _always(_there(column), answered):
        return "there"
    second = _second(column)
    if second is None:
        return ""
    for rows in (second, ~second):
        if _always(rows, answered):
            cell = column[rows][0]
            return "" if cell is None or cell != cell else f"{_word(cell)!r}"
    return ""


def _always(rows: Bools, answered: Bools) -> bool:
    places = np.flatnonzero(rows)
    if len(places) < FEWEST or not answered[places].all():
        return False
    share = float(np.mean(answered[places[0] : places[-1] + 1]))
    return share < 1.0 and len(places) * math.log(share) < math.log(ALARM)


def _is_mixed(answered: Bools) -> bool:
    return bool(answered.any()) and not bool(answered.all())


def _there(column: Array) -> Bools:
    if column.dtype.kind == "f":
        return np.asarray(~np.isnan(column))
    return np.array([cell is not None for cell in column.tolist()], dtype=np.bool_)


def _second(cells: Array) -> Bools | None:
    """Return which cells hold the second of two values, a missing one being one; None: not two."""
    there = _there(cells)
    if cells.dtype.kind == "f":
        values = np.unique(cells[there])
    else:
        values = np.array(sorted(set(cells[there].tolist())), dtype=object)
    if len(values) == 1 and not there.all():
        return there
    if len(values) != 2 or not there.all():
        return None
    return np.asarray(cells == values[1], dtype=np.bool_)


def _word(cell: object) -> str:
    return f"{cell:g}" if isinstance(cell, float) else str(cell)
