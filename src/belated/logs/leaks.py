"""Features that know the answer: those that are it, nearly are, or only come with it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from belated.arrays import Array, Bools, Floats
from belated.errors import LogError
from belated.logs.copies import FEWEST, is_copy, is_rounded, is_time
from belated.logs.log import SECONDS, Unit
from belated.logs.ranks import ALARM

CHANGED = "rescaled, shifted or rounded"
"""What a feature is of the answer if it is a copy of it."""
NEARLY = 0.05
"""A feature is nearly the target if it misses no more than this share of the rarer answer."""


@dataclass(frozen=True, eq=False)
class Hidden:
    """What nobody knows when a prediction is made: when the answer comes, and what it is."""

    predicted_at: Array
    observed_at: Array
    answered: Bools
    unit: Unit | None
    """What one unit of the times is, if anybody said."""
    target: Array | None
    """The answer as it is, NaN where there is none; words are passed over."""

    def known_by(self, column: Array) -> str:
        """Say what of this a column of numbers is; nothing where it is nothing of it."""
        if column.dtype.kind != "f":
            return ""
        rows = self.answered & ~np.isnan(column)
        if int(np.count_nonzero(rows)) < FEWEST:
            return ""
        cells, start = column[rows], self.predicted_at[rows]
        waits = (self.observed_at[rows] - start).astype(np.float64)
        if self._is_wait(cells, waits):
            return "how long the answer took"
        first = start.min()
        came = (self.observed_at[rows] - first).astype(np.float64)
        if is_time(cells, (start - first).astype(np.float64), came):
            return "when the answer came"
        return CHANGED if self._is_target(column, rows) else ""

    def _is_wait(self, cells: Floats, waits: Floats) -> bool:
        """Whether cells are waits in any unit, also rounded, or a price of them."""
        if len(np.unique(waits)) < 3:
            return False
        own = 1.0 if self.unit is None else SECONDS[self.unit]
        units = SECONDS.values() if self.unit is not None else (1.0,)
        return any(is_rounded(cells, waits * (own / unit)) for unit in units) or is_copy(
            cells, waits
        )

    def _is_target(self, column: Array, rows: Bools) -> bool:
        if self.target is None or self.target.dtype.kind != "f":
            return False
        rows = rows & ~np.isnan(self.target)
        return bool(rows.any()) and is_copy(column[rows], self.target[rows])


def told(who: str, found: Mapping[str, str], columns: Mapping[str, str], when: str) -> LogError:
    """Return the refusal of features that know the answer, with what each one is.

    ``columns`` are those that features come from, and ``when`` is when nobody knows them.
    """
    said = "; ".join(f"{name!r} is {what}" for name, what in found.items())
    names = shlex.join(dict.fromkeys(columns[name] for name in found))
    it, them = ("it is", "it") if len(found) == 1 else ("they are", "them")
    return LogError(
        f"{who}: {said}, which nobody knows when {when}; leave {them} out (--ignore {names}), or "
        f"if {it} known then, say so (--known {names})"
    )


def check_known(who: str, known: Iterable[str], there: Iterable[str], if_not: str) -> None:
    """Refuse what is said to be known and is not there, with ``if_not`` before what is."""
    names = list(dict.fromkeys(there))
    for name in known:
        if name not in names:
            raise LogError(
                f"{who}: {name!r} is said to be known (--known), and {if_not} "
                f"{', '.join(map(repr, names)) or 'none'}"
            )


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
