"""Times and durations as users give them, as the numbers that the kernels take."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.arrays import Floats
from belated.errors import ClockError, LogError, SpecError

Time = float | datetime | np.datetime64
"""A number in a unit of the user's, or a date with a time."""
Duration = float | timedelta | np.timedelta64 | str | Mapping[str, int]
"""A number in the same unit, a length of time such as "30d" or "15min", or {"predictions": n}."""
SINCE_1970 = 1e8
"""From here on a number may be seconds since 1970, as dates are; it is a day in 1973."""
AFTER_DATES = 2.6e11
"""No datetime is so many seconds after 1970; in milliseconds it is a day in 1978."""
LONGEST_WAIT = 1 << 31  # predictions
NUMBERS, DATES = 1, 2
"""What times were, as a model remembers it: numbers alone, or dates, maybe with numbers."""

_SECOND = np.timedelta64(1, "s")


def time_of(at: Any, who: str) -> float:
    """Return a time as a number; dates as seconds since 1970, in UTC where no zone is given.

    >>> time_of(datetime(1970, 1, 2), "doc"), time_of(2.5, "doc")
    (86400.0, 2.5)
    """
    if isinstance(at, datetime):
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    if isinstance(at, np.datetime64):
        value = float(_seconds(np.asarray(at)))
    elif isinstance(at, str | bytes | bool | timedelta):
        value = math.nan
    else:
        try:
            value = float(at)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
    if not math.isfinite(value):
        raise ClockError(f"{who}: a time is a finite number or a datetime, got {at!r}")
    return value


def times_of(at: ArrayLike, who: str) -> Floats:
    """Return many times as numbers."""
    array = np.asarray(at)
    if array.dtype.kind == "M":
        array = _seconds(array)
    if array.dtype.kind == "O":
        array = np.array([time_of(each, who) for each in array.ravel()]).reshape(array.shape)
    if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        raise ClockError(f"{who}: times are finite numbers or datetimes")
    return np.ascontiguousarray(array, dtype=np.float64)


def _seconds(dates: NDArray[Any]) -> Floats:
    """Return dates as seconds since 1970; nanoseconds of now would be rounded twice as a float."""
    whole = dates.astype("datetime64[s]")
    seconds: Floats = whole.astype(np.int64) + (dates - whole) / _SECOND
    return seconds


def holds_dates(at: ArrayLike) -> bool:
    """Tell whether one of many times is a date."""
    array = np.asarray(at)
    return array.dtype.kind == "M" or (array.dtype.kind == "O" and any(map(is_date, array.flat)))


def largest_number(at: ArrayLike) -> float:
    """Return the largest of those times that are numbers, and no dates."""
    array = np.asarray(at)
    if array.dtype.kind == "O":
        return max((float(each) for each in array.flat if not is_date(each)), default=-math.inf)
    return -math.inf if array.dtype.kind == "M" else float(np.max(array, initial=-math.inf))


def check_seconds(value: float, who: str) -> None:
    """Refuse a number that is no seconds since 1970, but milliseconds or less."""
    if value >= AFTER_DATES:
        raise ClockError(
            f"{who}: {value:.15g} is too large for seconds since 1970, and seems to be "
            "milliseconds or less; nothing has changed: give seconds since 1970 or a datetime, "
            "such as at=ms / 1000"
        )


def first_of(at: ArrayLike) -> Any:
    """Return the first of many times, a date where they are dates."""
    return np.asarray(at).ravel()[0]


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
            value = float(duration / (timedelta(seconds=1) if _is_plain(duration) else _SECOND))
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


def is_date(at: Any) -> bool:
    """Tell whether a time is a date, and no number."""
    return isinstance(at, datetime | np.datetime64)


def _is_plain(duration: Any) -> bool:
    return isinstance(duration, timedelta)
