"""When a log of decisions ends, as people say it."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np

from belated.errors import BadFeatures, SpecError
from belated.evaluations.log import DecisionLog
from belated.logs import DateOrder, Kind
from belated.logs.dates import ISO, SECOND
from belated.logs.log import SECONDS
from belated.logs.rules import date_form
from belated.logs.sources import arrow
from belated.models.moments import time_of


def end_of(
    until: Any, log: DecisionLog, *, tz: str | None = None, dates: DateOrder | None = None
) -> float:
    """Return when a log ends, as the time after its start, in its unit.

    Where times count since 1970, a number is such a count, and a date is a date.
    """
    if log.is_epoch and _is_date(until):
        return moment_in(until, log.first, tz=tz, dates=dates) / SECONDS[log.unit or "s"]
    return moment_in(until, log.start, tz=tz, dates=dates)


def _is_date(given: Any) -> bool:
    if isinstance(given, str):
        try:
            float(given)
        except ValueError:
            return True
        return False
    return isinstance(given, date | np.datetime64)


def moment_in(
    given: Any, start: Any, *, tz: str | None = None, dates: DateOrder | None = None
) -> float:
    """Return a moment as the time after the start of a log, in its unit.

    Dates are read as those of the log are: ``tz`` is the zone of one that names none, and ``dates``
    says what 5/6/2024 begins with.

    >>> moment_in("2024-05-01T12:00", np.datetime64("2024-05-01T09:59"), tz="Europe/Berlin")
    60.0
    """
    if not isinstance(start, np.datetime64):
        return _number(given) - float(start)
    first = int(start.astype("datetime64[ns]").astype(np.int64))
    if not isinstance(given, str | date | np.datetime64):
        return time_of(given, "evaluate: until") - first / SECOND
    form = ISO
    if isinstance(given, str):
        form = date_form(arrow("reading a log").array([given]), "until", dates) or ISO
    try:
        moment = Kind("until", "time", form=form, zone=tz).moment(given)
    except BadFeatures:
        raise SpecError(
            f"evaluate: until must be a time like 2024-05-01T12:00, got {given!r}"
        ) from None
    return (moment - first) / SECOND


def _number(given: Any) -> float:
    try:
        return time_of(float(given) if isinstance(given, str) else given, "evaluate: until")
    except ValueError:
        raise SpecError(f"evaluate: until must be a number here, got {given!r}") from None
