"""Durations, deadlines and times in JSON, as models take them."""

from __future__ import annotations

import math
import re
from typing import Any

from msgspec import UNSET

from belated.errors import ClockError, SpecError
from belated.models.clock import span_of
from belated.models.moments import NUMBERS, Moment, read_time
from belated.service.schemas import PREDICTIONS, SECONDS, UNITS, Duration, validation_error

_ISO = re.compile(
    r"P(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,8})M)?(?:(\d{1,10}(?:\.\d{1,9})?)S)?)?\Z"
)
_BIG = 1e15
_LONGEST = 100  # characters of a time or a duration


def read_span(value: Any, what: str) -> str:
    """Return a duration, such as 60, P30D, PT10M, 30d or 15min, as a text that models take.

    A text keeps every digit, which a timedelta does not.

    >>> read_span("PT10M", "doc"), read_span(Duration(seconds=1e-9), "doc")
    ('600.0s', '1e-09s')
    """
    total = value.seconds if isinstance(value, Duration) else value
    if isinstance(value, str):
        found = _ISO.match(value)
        if found is not None and any(found.groups()):
            days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
            total = 86400 * days + 3600 * hours + 60 * minutes + seconds
        else:
            total = _in_words(value, what)
    if isinstance(total, bool) or not isinstance(total, int | float):
        raise validation_error(f"{what} must be seconds, or a duration such as 'P30D' or '15min'")
    if not 0.0 <= total <= 1e9:
        raise validation_error(
            f"{what} must be at least 0, and at most 1e9 seconds, which are 31 years"
        )
    return in_seconds(float(total))


def in_seconds(length: float) -> str:
    """Return so many seconds as a text that models take as it is, to the last digit."""
    return f"{length!r}s"


def _in_words(value: str, what: str) -> float:
    try:
        return span_of(value[:_LONGEST], what)
    except SpecError:
        raise validation_error(
            f"{what} must be seconds, or a duration such as 'P30D', 'PT10M', '30d' or '15min'"
        ) from None


def read_deadline(value: Any) -> str | float:
    """Return a deadline: a duration, or a number of predictions where its unit says so.

    A number of predictions may have a fraction or no end (null), as models made in Python have.
    """
    unit = unit_of(value)
    if unit == SECONDS:
        return read_span(value, "deadline")
    count = getattr(value, unit)
    if count is None:
        return math.inf
    return int(count) if float(count).is_integer() else float(count)


def unit_of(deadline: Any) -> str:
    """Return what a deadline is counted in; one without a unit is in seconds.

    >>> unit_of("P30D"), unit_of(Duration(predictions=100))
    ('seconds', 'predictions')
    """
    if not isinstance(deadline, Duration):
        return SECONDS
    units = [unit for unit in (SECONDS, PREDICTIONS, UNITS) if getattr(deadline, unit) is not UNSET]
    if len(units) != 1:
        raise validation_error('deadline, where it is an object, is such as {"seconds": 60}')
    return units[0]


def check_whole(deadline: str | float) -> None:
    """Refuse a number of predictions that has a fraction or no end."""
    if isinstance(deadline, float):
        raise validation_error("deadline: predictions must be a whole number of at least 0")


def read_at(value: float | str) -> Moment | None:
    """Return a time: seconds since 1970, or a text in ISO 8601."""
    if isinstance(value, str):
        try:
            return read_time(value if len(value) <= _LONGEST else "", "at")
        except ClockError:
            raise validation_error(
                "at must be seconds since 1970, or a time such as '2026-03-01T12:00:00Z'"
            ) from None
    if abs(value) >= _BIG:
        raise validation_error("at is too far away")
    return Moment(value, NUMBERS)
