"""Times and durations as users give them, as the numbers that the kernels take."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from belated.arrays import Floats
from belated.errors import ClockError, SpecError

Time = float | datetime | np.datetime64
"""A number in a unit of the user's, or a date with a time."""
Duration = float | timedelta | np.timedelta64
"""A number in the same unit, or a length of time."""

_SECOND = np.timedelta64(1, "s")
_EPOCH = np.datetime64(0, "s")


def time_of(at: Any, who: str) -> float:
    """Return a time as a number; dates as seconds since 1970, in UTC where no zone is given.

    >>> time_of(datetime(1970, 1, 2), "doc"), time_of(2.5, "doc")
    (86400.0, 2.5)
    """
    if isinstance(at, datetime):
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    if isinstance(at, np.datetime64):
        value = float((at - _EPOCH) / _SECOND)
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
        array = (array - _EPOCH) / _SECOND
    if array.dtype.kind == "O":
        array = np.array([time_of(each, who) for each in array.ravel()]).reshape(array.shape)
    if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        raise ClockError(f"{who}: times are finite numbers or datetimes")
    return np.ascontiguousarray(array, dtype=np.float64)


def span_of(duration: Any, rule: str) -> float:
    """Return a duration as a number, in seconds if it has a unit of its own.

    >>> span_of(timedelta(hours=1), "doc"), span_of(30, "doc")
    (3600.0, 30.0)
    """
    if has_unit(duration):
        try:
            value = float(duration / (timedelta(seconds=1) if _is_plain(duration) else _SECOND))
        except TypeError:  # months and years have no fixed length
            value = math.nan
    elif isinstance(duration, str | bytes | bool | datetime | np.datetime64):
        value = math.nan
    else:
        try:
            value = float(duration)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
    if not value >= 0.0:
        raise SpecError(f"{rule}, got {duration!r}")
    return value


def has_unit(duration: Any) -> bool:
    """Tell whether a duration says what it is in, so that times have to be dates or seconds."""
    return isinstance(duration, timedelta | np.timedelta64)


def _is_plain(duration: Any) -> bool:
    return isinstance(duration, timedelta)
