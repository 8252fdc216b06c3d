"""Durations as users give them, as the numbers that the core takes."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from belated.errors import ClockError, LogError, SpecError

Duration = float | timedelta | np.timedelta64 | str | Mapping[str, int]
"""A number in the unit of times, a length such as "30d" or "15min", or {"predictions": n}."""
SINCE_1970 = 1e8
"""From here on a number may be seconds since 1970, as dates are; it is a day in 1973."""
AFTER_DATES = 2.6e11
"""No datetime is so many seconds after 1970; in milliseconds it is a day in 1978."""
LONGEST_WAIT = 1 << 31  # predictions

_SECOND = np.timedelta64(1, "s")


def check_seconds(value: float, who: str) -> None:
    """Refuse a number that is no seconds since 1970, but milliseconds or less."""
    if value >= AFTER_DATES:
        raise ClockError(
            f"{who}: {value:.15g} is too large for seconds since 1970, and seems to be "
            "milliseconds or less; nothing has changed: give seconds since 1970 or a datetime, "
            "such as at=ms / 1000"
        )


def span_of(duration: Any, rule: str) -> float:
    """Return a duration as a number, in seconds if it has a unit of its own.

    >>> span_of(timedelta(hours=1), "doc"), span_of("36h", "doc"), span_of(30, "doc")
    (3600.0, 129600.0, 30.0)
    """
    if isinstance(duration, Mapping):
        return float(predictions_of(duration, rule))
    if isinstance(duration, str):
        value = _written(duration)
    elif has_unit(duration):
        try:
            second = timedelta(seconds=1) if isinstance(duration, timedelta) else _SECOND
            value = float(duration / second)
        except TypeError:  # months and years have no fixed length
            value = math.nan
    elif isinstance(duration, bytes | bool | datetime | np.datetime64):
        value = math.nan
    else:
        try:
            value = float(duration)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
    if not value >= 0.0:
        more = ' such as "30d", "36h" or "15min"' if isinstance(duration, str) else ""
        raise SpecError(f"{rule}{more}, got {duration!r}")
    return value


def predictions_of(wait: Mapping[str, Any], rule: str) -> int:
    """Return the number of predictions that ``{"predictions": n}`` stands for.

    >>> predictions_of({"predictions": 100}, "doc")
    100
    """
    count: Any = wait["predictions"] if set(wait) == {"predictions"} else None
    try:
        number = -1 if isinstance(count, bool) else operator.index(count)
    except TypeError:
        number = -1
    if not 0 <= number <= LONGEST_WAIT:
        raise SpecError(
            f'{rule}; in predictions it is {{"predictions": n}} with a whole number from 0 to '
            f"{LONGEST_WAIT}, got {dict(wait)!r}"
        )
    return number


def _written(text: str) -> float:
    """Return a text as seconds; NaN where it is no length of time, or has no unit."""
    from belated.logs.spans import read_span  # which only texts need

    try:
        length, is_seconds = read_span(text, "")
    except LogError:
        return math.nan
    return length if is_seconds else math.nan


def has_unit(duration: Any) -> bool:
    """Tell whether a duration says what it is in, so that times have to be dates or seconds."""
    return isinstance(duration, timedelta | np.timedelta64 | str)
