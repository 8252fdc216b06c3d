"""By what clock the two columns of times go: dates of some form, counts since 1970, or numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from belated.errors import LogError
from belated.logs import dates
from belated.logs.cells import decoded
from belated.logs.columns import WORDS, Columns, unreadable
from belated.logs.log import Unit
from belated.logs.moments import Clockwork, is_blank, kind_of, read_moments
from belated.logs.rules import DateOrder, date_form, epoch_of


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
