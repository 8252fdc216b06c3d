"""Which columns hold the times: told, or guessed from types and names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from belated.arrays import Array
from belated.errors import LogError
from belated.logs import dates
from belated.logs.cells import decoded
from belated.logs.dates import DIGITS, ISO, KNOWN, are_stamps, epoch
from belated.logs.log import Unit
from belated.logs.moments import Clockwork, is_blank, kind_of, read_moments
from belated.logs.numbers import numbers
from belated.logs.rules import TIME_NAMES, DateOrder, date_form, epoch_of, plain_name
from belated.logs.sources import arrow

PREDICTED = (
    *("predicted_at", "prediction_time", "predict_time", "pred_time", "predicted", "asked_at"),
    *("requested_at", "request_time", "decided_at", "decision_time", "shown_at", "issued_at"),
    *("created_at", "started_at", "start_time", "sent_at", "start", "opened_at"),
)
OBSERVED = (
    *("observed_at", "observation_time", "observe_time", "obs_time", "observed", "answered_at"),
    *("label_time", "labelled_at", "labeled_at", "feedback_time", "outcome_at", "outcome_time"),
    *("resolved_at", "completed_at", "finished_at", "ended_at", "end_time", "arrived_at"),
    *("arrival_time", "converted_at", "conversion_time", "learned_at", "closed_at", "rewarded_at"),
    *("reward_time", "end"),
)
"""Usual names, the clearest first."""
_STEMS = {
    "predicted": r"pred|ask|request|decid|decision|shown|impress|issue|creat|start|sent|open",
    "observed": (
        r"obs|answer|label|feedback|outcome|reward|resol|complet|finish|end|arriv|conver|close|"
        r"bought|purchas|paid"
    ),
}
WORDS = {"calendar": "dates", "whole": "numbers", "number": "numbers"}
"""What each kind of times is called."""


class NoColumn(LogError):
    """A column that was asked for and is not there."""

    def __init__(self, name: str, column: str, known: Sequence[str]) -> None:
        """Keep which one, and the columns that there are."""
        super().__init__(
            f"logs: {name} has no column {column!r}; it has {', '.join(map(repr, known))}"
        )
        self.column, self.known = column, tuple(known)


class Roles(NamedTuple):
    """What the two columns of times are called where they are asked for, and what they say."""

    predicted: str = "predicted"
    observed: str = "observed"
    made: str = "each prediction was made"
    known: str = "its truth was known"


USUAL = Roles()


@dataclass(frozen=True)
class Columns:
    """The names of the columns that are read."""

    predicted: str
    observed: str
    target: str | None = None
    weight: str | None = None
    features: tuple[str, ...] = ()

    @property
    def all(self) -> list[str]:
        """Every name once."""
        names = [self.predicted, self.observed, self.target, self.weight, *self.features]
        return list(dict.fromkeys(name for name in names if name is not None))


def choose(
    batch: Any,
    name: str,
    predicted: str | None,
    observed: str | None,
    target: str | None,
    weight: str | None,
    features: Sequence[str] | str,
    order: DateOrder | None = None,
    roles: Roles = USUAL,
) -> Columns:
    """Return the columns to read, from what was told and the first rows."""
    names = list(batch.schema.names)
    wanted = [predicted, observed, target, weight]
    if not isinstance(features, str):
        wanted += features
    elif features != "all":
        raise LogError(f"logs: features is 'all' or a list of columns, got {features!r}")
    for column in wanted:
        if column is not None and column not in names:
            raise NoColumn(name, column, names)
    if predicted is None or observed is None:
        predicted, observed = _guess(batch, name, predicted, observed, order, roles)
    if predicted == observed:
        raise LogError(
            f"logs: {roles.predicted} and {roles.observed} must be two columns, got "
            f"{predicted!r} twice"
        )
    taken = {predicted, observed, target, weight}
    chosen = [column for column in names if column not in taken] if features == "all" else features
    return Columns(predicted, observed, target, weight, tuple(chosen))


def _guess(
    batch: Any,
    name: str,
    predicted: str | None,
    observed: str | None,
    order: DateOrder | None,
    roles: Roles,
) -> tuple[str, str]:
    """Return the columns of times, or ask for them and list those that it could be."""
    kinds = {column: _kind(batch.column(column), column) for column in batch.schema.names}
    candidates = {column: kind for column, kind in kinds.items() if kind is not None}
    first = predicted or _by_name("predicted", PREDICTED, candidates, observed)
    blank: dict[str, Clockwork] = {
        column: "calendar" for column in batch.schema.names if is_blank(batch.column(column))
    }
    second = observed or _by_name("observed", OBSERVED, candidates | blank, first)
    dates = [column for column, kind in candidates.items() if kind == "calendar"]
    if first is None and second is None and len(dates) == 2:
        ordered = _by_order(batch, dates, order)
        if ordered is not None:
            return ordered
    if first is None and second in dates and len(dates) == 2:
        first = next(column for column in dates if column != second)
    if second is None and first in dates and len(dates) == 2:
        second = next(column for column in dates if column != first)
    if first is None or second is None:
        role, usual = ("predicted", PREDICTED) if first is None else ("observed", OBSERVED)
        others = set(batch.schema.names) - {*candidates, *blank}
        hidden = _by_name(role, usual, dict.fromkeys(sorted(others), "calendar"), None)
        if hidden is not None:
            raise unreadable(batch, name, hidden)
        raise _question(name, candidates, first, second, roles)
    return first, second


def _kind(column: Any, name: str) -> Clockwork | None:
    """Return what times a column could hold; numbers that are called times may be dates."""
    kind = kind_of(column)
    return "calendar" if kind is not None and _counted(column, name) is not None else kind


def _counted(column: Any, name: str) -> str | None:
    """Return the form of dates that are numbers, if values and name say that they are dates."""
    kind = kind_of(column)
    if kind in (None, "calendar") or not re.search(TIME_NAMES, plain_name(name)):
        return None
    cells = read_moments(decoded(column), kind, None)
    values = cells.values[~(cells.missing | cells.bad)]
    if are_stamps(values):
        return DIGITS
    unit = epoch_of(values)
    return None if unit is None else epoch(unit)


def _by_name(
    role: str, usual: Sequence[str], candidates: dict[str, Clockwork], other: str | None
) -> str | None:
    """Return the one column whose name says this best, if there is just one."""
    known = {plain_name(column): column for column in candidates if column != other}
    for name in usual:
        if name in known:
            return known[name]
    similar = [
        column
        for name, column in known.items()
        if re.search(rf"(^|_)({_STEMS[role]})", name) and candidates[column] == "calendar"
    ]
    return similar[0] if len(similar) == 1 else None


def _by_order(batch: Any, dates: list[str], order: DateOrder | None) -> tuple[str, str] | None:
    """Return two columns of dates by which one is never later than the other."""
    cells = {column: decoded(batch.column(column)) for column in dates}
    forms = {
        column: _counted(cells[column], column) or date_form(cells[column], column, order) or ISO
        for column in dates
    }
    left, right = (read_moments(cells[column], "calendar", None, forms[column]) for column in dates)
    known = ~(left.missing | right.missing | left.bad | right.bad)
    early, late = left.values[known], right.values[known]
    if known.any() and (early <= late).all() and not left.missing.any():
        return dates[0], dates[1]
    if known.any() and (late <= early).all() and not right.missing.any():
        return dates[1], dates[0]
    return None


def _question(
    name: str,
    candidates: dict[str, Clockwork],
    first: str | None,
    second: str | None,
    roles: Roles,
) -> LogError:
    """Return an error that asks for what could not be guessed."""
    missing = " and ".join(
        f"{role}=... (when {meaning})"
        for role, meaning, found in (
            (roles.predicted, roles.made, first),
            (roles.observed, roles.known, second),
        )
        if found is None
    )
    listed = ", ".join(f"{column!r} ({WORDS[kind]})" for column, kind in candidates.items())
    listed = listed or "none, no column holds times"
    return LogError(
        f"logs: which columns of {name} hold the times? Give {missing}, on the command line with "
        f"--{roles.predicted} and --{roles.observed}. It could be: {listed}"
    )


def unreadable(batch: Any, name: str, column: str) -> LogError:
    """Return an error that shows what a column of times holds, and what can be read."""
    cells = decoded(batch.column(column)).drop_null().unique().to_pylist()
    shown = ", ".join(repr(str(cell)[:60]) for cell in cells[:3]) or "empty cells"
    return LogError(
        f"logs: column {column!r} of {name} holds no times that can be read; it begins with "
        f"{shown}. Times are numbers, counts since 1970, or dates such as {KNOWN}. Write them like "
        "one of these, or name other columns"
    )


# By what clock the two columns of times go: dates of some form, counts since 1970, or numbers.


@dataclass(frozen=True)
class Clocks:
    """What both columns of times hold, and how each one writes it."""

    kind: Clockwork
    predicted: str = dates.ISO
    """The form of the dates of predictions."""
    observed: str = dates.ISO
    """The form of the dates of answers."""
    unit: Unit | None = None
    """What one unit of numbers is."""
    is_epoch: bool = False
    """Whether numbers count since 1970."""

    def notes(self, columns: Columns) -> tuple[str, ...]:
        """Say how times are read where that is not plain."""
        if self.is_epoch:
            both = f"{columns.predicted} and {columns.observed}"
            return (f"{both} count {self.unit} since 1970, by their values",)
        forms = {columns.predicted: self.predicted, columns.observed: self.observed}
        return tuple(
            f"{name} is read as {form}"
            for name, form in forms.items()
            if self.kind == "calendar" and form != dates.ISO
        )


@dataclass(frozen=True)
class _Look:
    """What one column of times looks like."""

    name: str
    kind: Clockwork | None
    form: str = dates.ISO
    unit: str | None = None
    """What it counts in since 1970."""

    @property
    def as_dates(self) -> str | None:
        """The form in which it can be read as dates."""
        if self.kind in ("calendar", None):
            return self.form
        return None if self.unit is None else dates.epoch(self.unit)


def clocks_of(
    sample: Any, name: str, columns: Columns, unit: Unit | None, order: DateOrder | None
) -> Clocks:
    """Return the clocks of both columns, by their first rows."""
    first = _look(sample, columns.predicted, order)
    second = _look(sample, columns.observed, order)
    if first.kind is None:
        raise unreadable(sample, name, first.name)
    if second.kind is None and not is_blank(sample.column(second.name)):
        raise unreadable(sample, name, second.name)
    if "calendar" in (first.kind, second.kind):
        return _calendar(first, second)
    if second.unit is not None and first.unit not in (None, second.unit):
        raise LogError(
            f"logs: {first.name!r} counts {first.unit} since 1970 and {second.name!r} "
            f"{second.unit}; both must be the same"
        )
    kind: Clockwork = "whole" if "whole" in (first.kind, second.kind) else first.kind
    found = first.unit if second.kind is None or second.unit is not None else None
    is_epoch = found is not None and unit in (None, found)
    return Clocks(kind, unit=cast("Unit | None", unit or found), is_epoch=is_epoch)


def _calendar(first: _Look, second: _Look) -> Clocks:
    """Return the clock of dates; counts since 1970 beside dates are dates too."""
    if first.as_dates is None or second.as_dates is None:
        kinds = [WORDS[look.kind or "calendar"] for look in (first, second)]
        raise LogError(
            f"logs: {first.name!r} holds {kinds[0]} and {second.name!r} holds {kinds[1]}; both "
            "must be the same"
        )
    return Clocks("calendar", first.as_dates, second.as_dates)


def _look(sample: Any, name: str, order: DateOrder | None) -> _Look:
    column = decoded(sample.column(name))
    kind = kind_of(column)
    if kind is None:
        return _Look(name, None)
    if kind == "calendar":
        return _Look(name, kind, date_form(column, name, order) or dates.ISO)
    cells = read_moments(column, kind, None)
    values = cells.values[~(cells.missing | cells.bad)]
    if dates.are_stamps(values):
        return _Look(name, "calendar", dates.DIGITS)
    return _Look(name, kind, unit=epoch_of(values))


# ---- numbers that stand for "no answer" in a column of times: 0 and -1 ---------------------------
# In counts since 1970 that is told by the others, which are all dates of this century. Plain
# numbers tell it where so many answers would precede every question.

MARKS = (0.0, -1.0)
LEAST = 2
"""Rows of counts since 1970 that have the same mark."""
SHARE = 0.1
"""Least share of such rows among plain numbers."""


def marks_in(sample: Any) -> dict[str, float]:
    """Return what stands for nothing in columns that are called times and count since 1970."""
    found = {}
    for name in sample.schema.names:
        if not re.search(TIME_NAMES, plain_name(name)):
            continue
        values = _values(sample.column(name))
        for mark in MARKS:
            others = values[values != mark]
            if len(values) - len(others) >= LEAST and _are_dates(others):
                found[name] = mark
    return found


def mark_before(sample: Any, predicted: str, observed: str) -> float | None:
    """Return what stands for nothing among plain numbers, as it precedes all that was asked."""
    asked, answers = _values(sample.column(predicted)), _values(sample.column(observed))
    if not len(asked):
        return None
    early = answers[answers < asked.min()]
    is_one = len(early) >= SHARE * sample.num_rows and len(np.unique(early)) == 1
    return float(early[0]) if len(early) and is_one and early[0] in MARKS else None


def without_marks(batch: Any, marks: Mapping[str, float]) -> Any:
    """Return rows in which what stands for nothing is nothing."""
    import pyarrow.compute as pc

    pa = arrow("reading a log")
    for name, mark in marks.items():
        place = batch.schema.get_field_index(name)
        column = decoded(batch.column(place))
        is_mark = pa.array(~_is_gap(column) & (_cells(column) == mark))
        blank = pc.if_else(is_mark, pa.scalar(None, column.type), column)
        batch = batch.set_column(place, name, blank)
    return batch


def count_marks(batch: Any, name: str, mark: float) -> int:
    """Return in how many rows a mark stands."""
    return int(np.count_nonzero(_values(batch.column(name)) == mark))


def _are_dates(values: Array) -> bool:
    return epoch_of(values) is not None or are_stamps(values)


def _values(column: Any) -> Array:
    """Return the numbers of a column; none where it holds none."""
    column = decoded(column)
    if kind_of(column) not in ("whole", "number"):
        return np.empty(0)
    return _cells(column)[~_is_gap(column)]


def _cells(column: Any) -> Array:
    return numbers(column, np.float64, never=True).values


def _is_gap(column: Any) -> Array:
    cells = numbers(column, np.float64, never=True)
    return cells.missing | cells.bad
