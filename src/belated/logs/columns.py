"""Which columns hold the times: told, or guessed from types and names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from belated.arrays import Array
from belated.errors import LogError
from belated.logs.cells import Clockwork, decoded, is_blank, kind_of, read_moments
from belated.logs.dates import DIGITS, EXAMPLES, ISO, epoch_unit
from belated.logs.log import Unit
from belated.logs.rules import DateOrder, counted_form, date_form, is_time_name, plain_name

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
STEMS = {
    PREDICTED: "pred|ask|request|decid|decision|shown|impress|issue|creat|start|sent|open",
    OBSERVED: "obs|answer|label|feedback|outcome|reward|resol|complet|finish|end|arriv|conver|"
    "close|bought|purchas|paid",
}
"""The beginnings of words in other names."""
WORDS = {"calendar": "dates", "whole": "numbers", "number": "numbers"}
"""The name of each kind of times."""


class NoColumn(LogError):
    """A column that was asked for and is not there."""

    def __init__(self, name: str, column: str, known: Sequence[str]) -> None:
        """Keep which one, and the columns that there are."""
        super().__init__(
            f"logs: {name} has no column {column!r}; it has {', '.join(map(repr, known))}"
        )
        self.column, self.known = column, tuple(known)


class Roles(NamedTuple):
    """The names of the two columns of times in messages, and their meaning."""

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


def choose(
    batch: Any,
    name: str,
    predicted: str | None,
    observed: str | None,
    target: str | None,
    weight: str | None,
    features: Sequence[str] | str,
    roles: Roles = USUAL,
) -> Columns:
    """Return the columns to read, from what was told and the first rows."""
    names = list(batch.schema.names)
    if isinstance(features, str) and features != "all":
        raise LogError(f"logs: features is 'all' or a list of columns, got {features!r}")
    asked = () if features == "all" else tuple(features)
    for column in (predicted, observed, target, weight, *asked):
        if column is not None and column not in names:
            raise NoColumn(name, column, names)
    if predicted is None or observed is None:
        predicted, observed = _guess(batch, name, predicted, observed, roles)
    if predicted == observed:
        raise LogError(
            f"logs: {roles.predicted} and {roles.observed} must be two columns, got "
            f"{predicted!r} twice"
        )
    taken = {predicted, observed, target, weight}
    others = tuple(column for column in names if column not in taken)
    return Columns(predicted, observed, target, weight, others if features == "all" else asked)


def _guess(
    batch: Any, name: str, predicted: str | None, observed: str | None, roles: Roles
) -> tuple[str, str]:
    """Return the columns of times, or ask for them and list those that it could be."""
    names = batch.schema.names
    found = {column: _kind(batch.column(column), column) for column in names}
    kinds = {column: kind for column, kind in found.items() if kind is not None}
    dates = [column for column, kind in kinds.items() if kind == "calendar"]
    blank = [column for column in names if is_blank(batch.column(column))]
    first = predicted or _by_name(PREDICTED, {*kinds} - {observed}, dates)
    second = observed or _by_name(OBSERVED, {*kinds, *blank} - {first}, [*dates, *blank])
    if len(dates) == 2 and first is None and second in dates:
        first = next(column for column in dates if column != second)
    if len(dates) == 2 and second is None and first in dates:
        second = next(column for column in dates if column != first)
    if first is not None and second is not None:
        return first, second
    others = sorted({*names} - {*kinds, *blank})
    hidden = _by_name(PREDICTED if first is None else OBSERVED, {*others}, others)
    if hidden is not None:
        raise unreadable(batch, name, hidden)
    asked = [f"{roles.predicted}=... (when {roles.made})"] if first is None else []
    asked += [f"{roles.observed}=... (when {roles.known})"] if second is None else []
    listed = ", ".join(f"{column!r} ({WORDS[kind]})" for column, kind in kinds.items())
    raise LogError(
        f"logs: which columns of {name} hold the times? Give {' and '.join(asked)}, on the command "
        f"line with --{roles.predicted} and --{roles.observed}. It could be: "
        f"{listed or 'none, no column holds times'}"
    )


def _by_name(usual: tuple[str, ...], names: set[str], dates: list[str]) -> str | None:
    """Return the column with the clearest name, or the only one of dates with a similar name."""
    known = {plain_name(column): column for column in names}
    for name in usual:
        if name in known:
            return known[name]
    pattern = re.compile(rf"(^|_)({STEMS[usual]})")
    similar = [known[name] for name in known if known[name] in dates and pattern.search(name)]
    return similar[0] if len(similar) == 1 else None


def _kind(column: Any, name: str) -> Clockwork | None:
    """Return what times a column could hold; numbers that are called times may be dates."""
    kind = kind_of(column)
    if kind in ("whole", "number") and is_time_name(name):
        values = _values(column)
        return kind if counted_form(values[~np.isin(values, MARKS)]) is None else "calendar"
    return kind


def _values(column: Any) -> Array:
    """Return the numbers of a column; none where it holds none."""
    kind = kind_of(column)
    if kind is None or kind == "calendar":
        return np.empty(0)
    return read_moments(column, kind, None).known


def unreadable(batch: Any, name: str, column: str) -> LogError:
    """Return an error that shows what a column of times holds, and what can be read."""
    cells = decoded(batch.column(column)).drop_null().unique().to_pylist()
    shown = ", ".join(repr(str(cell)[:60]) for cell in cells[:3]) or "empty cells"
    return LogError(
        f"logs: column {column!r} of {name} holds no times that can be read; it begins with "
        f"{shown}. Times are numbers, counts since 1970, or dates such as "
        f"{'; '.join(EXAMPLES.values())}. Write them like one of these, or name other columns"
    )


@dataclass(frozen=True)
class Clocks:
    """The kind of times in both columns, and how each one writes it."""

    kind: Clockwork
    predicted: str = ISO
    """The form of the dates of predictions."""
    observed: str = ISO
    """The form of the dates of answers."""
    unit: Unit | None = None
    """The unit of numbers."""
    is_epoch: bool = False
    """Whether numbers count since 1970."""

    def notes(self, columns: Columns) -> tuple[str, ...]:
        """Say how times are read where that is not plain."""
        names = (columns.predicted, columns.observed)
        if self.is_epoch:
            return (f"{names[0]} and {names[1]} count {self.unit} since 1970, by their values",)
        forms = zip(names, (self.predicted, self.observed), strict=True)
        return tuple(
            f"{name} is read as {form}"
            for name, form in forms
            if self.kind == "calendar" and form != ISO
        )


def clocks_of(
    sample: Any, name: str, columns: Columns, unit: Unit | None, order: DateOrder | None
) -> Clocks:
    """Return the clocks of both columns, by their first rows."""
    names = (columns.predicted, columns.observed)
    kinds, forms = zip(*(_look(sample, name, column, order) for column in names), strict=True)
    first, second = kinds
    if first is None:
        raise unreadable(sample, name, columns.predicted)
    holds = [WORDS[kind or "calendar"] for kind in kinds]
    is_calendar = "calendar" in kinds
    units = [None if form is None or is_calendar else epoch_unit(form) for form in forms]
    if is_calendar and None in forms:  # counts since 1970 beside dates are dates too
        said = f"{names[0]!r} holds {holds[0]} and {names[1]!r} holds {holds[1]}"
    elif second is not None and None not in units and units[0] != units[1]:
        said = f"{names[0]!r} counts {units[0]} since 1970 and {names[1]!r} {units[1]}"
    elif is_calendar:
        return Clocks("calendar", *forms)
    else:
        kind: Clockwork = "whole" if "whole" in kinds else first
        found = units[0] if second is None or units[1] is not None else None
        is_epoch = found is not None and unit in (None, found)
        return Clocks(kind, unit=cast("Unit | None", unit or found), is_epoch=is_epoch)
    raise LogError(f"logs: {said}; both must be the same")


def _look(
    sample: Any, name: str, of: str, order: DateOrder | None
) -> tuple[Clockwork | None, str | None]:
    """Return what times a column holds, and the form in which it can be read as dates."""
    column = decoded(sample.column(of))
    kind = kind_of(column)
    if kind is None:
        if not is_blank(column):
            raise unreadable(sample, name, of)
        return None, ISO
    if kind == "calendar":
        return kind, date_form(column, of, order) or ISO
    form = counted_form(_values(column))
    return ("calendar" if form == DIGITS else kind), form


# ---- numbers that stand for "no answer" in the column of answers: 0 and -1 -----------------------

MARKS = (0.0, -1.0)
LEAST = 2
"""Rows with the same mark among counts since 1970, of which the others are of this century."""
SHARE = 0.1
"""Least share of rows with a mark among plain numbers, all before the first prediction."""


def marks_in(sample: Any, columns: Columns) -> dict[float, int]:
    """Return the numbers that stand for no answer, and how many of the first rows have them."""
    asked, answers = (
        _values(sample.column(columns.predicted)),
        _values(sample.column(columns.observed)),
    )
    counts = {mark: int(np.count_nonzero(answers == mark)) for mark in MARKS}
    if counted_form(answers[~np.isin(answers, MARKS)]) is not None:
        return {mark: count for mark, count in counts.items() if count >= LEAST}
    early = np.unique(answers[answers < asked.min()]) if len(asked) else asked
    least = max(1.0, SHARE * sample.num_rows)
    return {m: n for m, n in counts.items() if n >= least and early.tolist() == [m]}
