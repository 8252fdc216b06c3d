"""Columns that know the answer: copies of it in disguise, and features that come only with it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from belated.arrays import Array, Bools, Floats
from belated.errors import LogError
from belated.logs.log import SECONDS, Unit
from belated.logs.ranks import ALARM

# Whether a column is another one in disguise: in another unit, shifted, turned round or rounded.
# A column c is a copy of h if some line through h misses no cell by more than rounding explains:
#
#     min_a (max_i r_i - min_i r_i) <= w,    r_i = c_i - a h_i,
#
# where w is the coarser of the steps in which c and a h are written. The left side is convex in a,
# and its least value lies close to the slope between the ends of h. Rounded up, down or to the
# nearest, a cell moves by less than a step, so that every rounded copy is found. What only goes
# with h misses the line by more than a step somewhere; where both are written in the same steps, a
# copy has to be exact.

FEWEST = 10
"""Rows from which on it is no accident that two columns go together."""
LEVELS = 6
"""Steps that a column must span, so that a line through it says something."""
LOOKED_AT = 1_000
"""Rows that are tried first: most columns are no copies, and soon show it."""
CLOSE = 1e-6
"""How exact copies of numbers without steps are, relative to their range; float32 is."""
EXACT = 1e-9
"""The same for times, of which a log has few in its range."""
ALIKE = 0.9
"""Steps are the same if the finer one is more than this share of the coarser."""
SCALES = (*(10.0**digits for digits in range(7)), 86_400.0)
"""Steps are whole after one of these: decimals, or seconds in a column of days."""
SECTIONS = 60
"""Thirds that are cut off on the way to the best slope."""


def is_copy(cells: Floats, hidden: Floats, close: float = CLOSE) -> bool:
    """Whether numbers are others rescaled, shifted or rounded; both without gaps.

    >>> took = np.random.default_rng(0).exponential(40.0, 200)
    >>> [is_copy(np.round(took / 60.0, 1), took), is_copy(1000.0 - 2.5 * took, took)]
    [True, True]
    >>> is_copy(np.round(took * np.linspace(0.98, 1.02, 200)), took)
    False
    """
    return _says_enough(cells) and _is_line(cells, hidden, close)


def is_rounded(cells: Floats, hidden: Floats) -> bool:
    """Whether numbers are others as they are or rounded, of which three different ones are enough.

    >>> is_rounded(np.array([1.0, 2.0, 5.0] * 10), np.array([1.2, 1.9, 4.6] * 10))
    True
    """
    if len(np.unique(cells)) < 3 or not _says_enough(cells):
        return False
    apart = cells - hidden
    step = _allowed(cells, hidden, 1.0, EXACT)
    return float(np.ptp(apart)) <= step and float(np.abs(apart).max()) <= step


def is_time(cells: Floats, known: Floats, hidden: Floats) -> bool:
    """Whether numbers follow a time that is hidden, and not one that is known as well."""
    if not _says_enough(cells):
        return False
    if _is_exact(cells, hidden):
        return not _is_exact(cells, known)
    return _is_line(cells, hidden, EXACT) and not _is_line(cells, known, EXACT)


def step_of(values: Array) -> float:
    """Return the step of which all differences are multiples; 0.0: there is none.

    >>> step_of(np.array([1.5, 4.0, 2.75])), step_of(np.array([300.0, 0.0, 900.0]))
    (1.25, 300.0)
    >>> step_of(np.sqrt(np.arange(9.0)))
    0.0
    """
    apart = values - values.min()
    blur = 4.0 * float(np.spacing(np.abs(values).max()))
    for scale in SCALES:
        if blur * scale > 0.01:
            return 0.0
        scaled = apart * scale
        whole = np.rint(scaled)
        if (np.abs(scaled - whole) <= blur * scale).all():
            return float(np.gcd.reduce(whole.astype(np.int64))) / scale
    return 0.0


def _says_enough(cells: Floats) -> bool:
    """Whether enough cells are not just the commonest one."""
    if len(cells) < FEWEST:
        return False
    return len(cells) - int(np.unique(cells, return_counts=True)[1].max()) >= FEWEST


def _is_exact(cells: Floats, hidden: Floats) -> bool:
    """Whether the line between the ends of hidden numbers goes through all cells."""
    spread = _spread(cells, hidden, _slope(cells, hidden))
    return bool(np.ptp(hidden) > 0.0 and spread <= EXACT * float(np.ptp(cells)))


def _is_line(cells: Floats, hidden: Floats, close: float) -> bool:
    """Whether some line fits; a few rows are tried first."""
    slope = allowed = 0.0
    for part in (slice(None, None, max(1, len(cells) // LOOKED_AT)), slice(None)):
        c, h = cells[part], hidden[part]
        slope = _slope(c, h)
        allowed = _allowed(c, h, slope, close)
        # The best slope is a step away at most.
        if np.ptp(h) > 0.0 and _spread(c, h, slope) > 2.0 * allowed:
            return False
    reach = float(np.ptp(hidden))
    if reach == 0.0 or float(np.ptp(cells)) < LEVELS * allowed:
        return False
    low, high = slope - 2.0 * allowed / reach, slope + 2.0 * allowed / reach
    for _ in range(SECTIONS):
        third = (high - low) / 3.0
        left, right = low + third, high - third
        found = _spread(cells, hidden, left), _spread(cells, hidden, right)
        if min(found) <= allowed:
            return True
        low, high = (low, right) if found[0] <= found[1] else (left, high)
    return False


def _slope(cells: Floats, hidden: Floats) -> float:
    """Return the slope between the ends of hidden numbers."""
    first, last = int(np.argmin(hidden)), int(np.argmax(hidden))
    reach = float(hidden[last] - hidden[first])
    return float(cells[last] - cells[first]) / reach if reach > 0.0 else 0.0


def _spread(cells: Floats, hidden: Floats, slope: float) -> float:
    return float(np.ptp(cells - slope * hidden))


def _allowed(cells: Floats, hidden: Floats, slope: float, close: float) -> float:
    """Return by how much rounding may part a copy from its line."""
    steps = sorted((step_of(cells), abs(slope) * step_of(hidden)))
    is_rounded = steps[0] <= ALIKE * steps[1]
    return max(steps[1] * (1.0 + 1e-6) if is_rounded else 0.0, close * float(np.ptp(cells)))


CHANGED = "rescaled, shifted or rounded"
"""The relation of a feature to the answer if it is a copy of it."""
NEARLY = 0.05
"""A feature is nearly the target if it misses no more than this share of the rarer answer."""


@dataclass(frozen=True, eq=False)
class Hidden:
    """The values that are unknown when a prediction is made: the time and value of the answer."""

    predicted_at: Array
    observed_at: Array
    answered: Bools
    unit: Unit | None
    """The unit of the times, if it is known."""
    target: Array | None
    """The answer as it is, NaN where there is none; words are passed over."""

    def known_by(self, column: Array) -> str:
        """Say what of this a column of numbers is; nothing where it is nothing of it."""
        if column.dtype.kind != "f":
            return ""
        rows = self.answered & ~np.isnan(column)
        if int(np.count_nonzero(rows)) < FEWEST:
            return ""
        cells, start, end = column[rows], self.predicted_at[rows], self.observed_at[rows]
        waits = (end - start).astype(np.float64)
        if len(np.unique(waits)) >= 3:  # in any unit, also rounded, or a price of them
            own = 1.0 if self.unit is None else SECONDS[self.unit]
            units = (1.0,) if self.unit is None else SECONDS.values()
            if is_copy(cells, waits) or any(is_rounded(cells, waits * (own / u)) for u in units):
                return "how long the answer took"
        asked, came = ((at - start.min()).astype(np.float64) for at in (start, end))
        if is_time(cells, asked, came):
            return "when the answer came"
        if self.target is None or self.target.dtype.kind != "f":
            return ""
        rows &= ~np.isnan(self.target)
        return CHANGED if rows.any() and is_copy(column[rows], self.target[rows]) else ""


def told(who: str, found: Mapping[str, str], columns: Mapping[str, str], when: str) -> LogError:
    """Return the refusal of features that know the answer, with what each one is.

    ``columns`` are those that features come from; they are not known when ``when``.
    """
    said = "; ".join(f"{name!r} is {what}" for name, what in found.items())
    names = shlex.join(dict.fromkeys(columns[name] for name in found))
    it, them = ("it is", "it") if len(found) == 1 else ("they are", "them")
    return LogError(
        f"{who}: {said}, which is not known when {when}; leave {them} out (--ignore {names}), or "
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
    said, cells, is_number = labels[known], column[known], column.dtype.kind == "f"
    if len(said) < FEWEST:
        return math.inf
    if is_number and (cells == said).all():
        return 0.0
    answers = np.unique(said)
    if len(answers) != 2:
        return float(np.mean(cells != said)) if is_number and len(answers) > 2 else math.inf
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
    for rows in () if second is None else (second, ~second):
        if _always(rows, answered):
            cell = column[rows][0]
            is_missing = cell is None or cell != cell
            shown = f"{cell:g}" if isinstance(cell, float) else str(cell)
            return "" if is_missing else repr(shown)
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
    some = cells[there]
    values = np.unique(some) if cells.dtype.kind == "f" else sorted(set(some.tolist()))
    if len(values) == 1 and not there.all():
        return there
    if len(values) != 2 or not there.all():
        return None
    return np.asarray(cells == values[1], dtype=np.bool_)
