"""Times as users give them, as the numbers that models take: the one place of the conversion.

A time is a number in a unit of the user's, a date with or without a time zone, or an ISO 8601 text.
Dates become seconds since 1970. Without a time zone they are taken for UTC, so that dates of both
kinds in one model would be hours apart from each other: ``Moment.kind`` says which kind it was, and
models refuse the other one.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from belated.arrays import Floats
from belated.errors import ClockError, TimelineError
from belated.missing import is_missing

if TYPE_CHECKING:
    from belated.timeline.time_column import TimesLike

Time = float | str | date | np.datetime64
"""A number in a unit of the user's, a date (with a time), or one as an ISO 8601 text."""
NUMBERS, NAIVE, AWARE = 1, 2, 3
"""The kind of times that a model remembers: numbers alone, or dates without or with a time zone.

A date says more than a number, so a model remembers the largest.
"""

FIRST, AFTER = (int(np.datetime64(year, "s").astype(np.int64)) for year in ("0001", "10000"))
"""Dates are from the one until before the other, in seconds since 1970."""
_LAST = math.nextafter(AFTER, 0.0)

_SECOND = np.timedelta64(1, "s")
_FRACTION = re.compile(r"(.*:\d\d)[.,](\d+)(.*)", re.DOTALL)


class Moment(float):
    """A time as a number, and what it was given as."""

    __slots__ = ("kind",)

    kind: int
    """NUMBERS, NAIVE or AWARE."""

    def __new__(cls, value: float, kind: int) -> Moment:
        """Return a moment."""
        moment = super().__new__(cls, value)
        moment.kind = kind
        return moment

    @property
    def is_date(self) -> bool:
        """Whether it was a date, so that the number is seconds since 1970."""
        return self.kind >= NAIVE


def read_time(at: Any, who: str) -> Moment | None:
    """Return a time, or None where there is none; dates are seconds since 1970.

    >>> read_time(datetime(1970, 1, 2), "doc"), read_time("1970-01-02T01:00+01:00", "doc")
    (86400.0, 86400.0)
    >>> read_time(2.5, "doc"), read_time(math.nan, "doc")
    (2.5, None)
    """
    if at.__class__ is Moment:
        moment: Moment = at
        return moment
    if at.__class__ is datetime:  # as nearly always
        return _of_datetime(at, who)
    if is_missing(at):
        return None
    if isinstance(at, datetime):
        if hasattr(at, "to_datetime64"):  # pandas: knows about nanoseconds
            return Moment(
                float(_seconds(at.to_datetime64())), NAIVE if at.tzinfo is None else AWARE
            )
        return _of_datetime(at, who)
    if isinstance(at, date):
        return _of_datetime(datetime(at.year, at.month, at.day), who)
    if isinstance(at, np.datetime64):
        return Moment(float(_in_range(np.asarray(at), who)), NAIVE)
    if isinstance(at, str):
        return _of_text(at, who)
    value = math.nan
    if not isinstance(at, bytes | bool | timedelta) and _kind_of(at) not in _NO_TIMES:
        try:
            value = float(at)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
    if not math.isfinite(value):
        raise ClockError(
            f"{who}: a time is a finite number, a datetime or an ISO 8601 text, got {at!r}"
        )
    return Moment(value, NUMBERS)


def time_of(at: Any, who: str) -> float:
    """Return a time as a number; there must be one."""
    moment = read_time(at, who)
    if moment is None:
        raise ClockError(f"{who}: a time is wanted, got {at!r}; nothing has changed")
    return float(moment)


def read_times(at: TimesLike, who: str) -> tuple[Floats, int, float]:
    """Return many times, NaN where there is none; their kind; and the largest that is a number.

    The kind is 0 where there is none at all. Times with and without a time zone are refused.
    """
    try:
        is_kept = hasattr(at, "dtype") or hasattr(at, "to_pylist")
        array = at if is_kept and not isinstance(at, np.generic) else np.asarray(at)
    except ValueError:  # lists of several lengths
        raise ClockError(f"{who}: times must be a column, got {at!r}") from None
    if _kind_of(array) in _NO_TIMES:  # one by one, as some or all may be missing
        return _of_objects(np.array([*getattr(array, "flat", array)], dtype=object), who)
    if not isinstance(array, np.ndarray):  # of pandas or polars, whose dates may have a zone
        try:
            from belated.timeline.time_column import read_column  # not needed for live events

            column = read_column(at, f"{who}: at")
        except TimelineError:
            items = at.to_pylist() if hasattr(at, "to_pylist") else list(at)
            array = np.array(items, dtype=object)
        else:
            array, missing, is_aware = column.values, column.missing, column.aware
            nothing = np.array("NaT", array.dtype) if array.dtype.kind == "M" else math.nan
            return _of_array(np.where(missing, nothing, array), who, is_aware)
    if array.dtype.kind in "fiuM":
        return _of_array(array, who, False)
    return _of_objects(array, who)


_NO_TIMES = frozenset("bcm")  # kinds of dtypes: truth values, complex numbers and durations


def as_text(moment: Moment) -> str:
    """Return a date as the ISO 8601 text that ``read_time`` makes the same moment of.

    >>> as_text(Moment(86400.25, AWARE)), as_text(Moment(86400.0, NAIVE))
    ('1970-01-02T00:00:00.25+00:00', '1970-01-02T00:00:00')
    """
    whole = math.floor(moment)
    text = datetime.fromtimestamp(whole, UTC).replace(tzinfo=None).isoformat()
    fraction = f"{float(moment) - whole:.40f}".rstrip("0").rstrip(".")[1:]
    return f"{text}{fraction}{'+00:00' if moment.kind == AWARE else ''}"


def _kind_of(at: Any) -> str | None:
    """Return the kind of the dtype, of what has one; that of polars has none."""
    return getattr(getattr(at, "dtype", None), "kind", None)


def _of_datetime(at: datetime, who: str) -> Moment:
    kind = NAIVE if at.tzinfo is None else AWARE
    seconds = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    if not FIRST <= seconds <= AFTER:
        raise _out_of_range(who)
    return Moment(min(seconds, _LAST), kind)  # the last microsecond is rounded up


def _of_text(text: str, who: str) -> Moment:
    """Return the time that a text says; fractions of seconds may have any number of digits."""
    found = _FRACTION.fullmatch(text)
    plain, fraction = (text, 0.0) if found is None else (found[1] + found[3], float(f".{found[2]}"))
    try:
        moment = _of_datetime(datetime.fromisoformat(plain), who)
    except (ValueError, OverflowError):
        raise ClockError(
            f"{who}: {text[:100]!r} is no time; as a text it is one of ISO 8601, such as "
            "'2026-03-01T12:00:00Z'; nothing has changed"
        ) from None
    return moment if found is None else Moment(min(moment + fraction, _LAST), moment.kind)


def _of_array(array: NDArray[Any], who: str, is_aware: bool) -> tuple[Floats, int, float]:
    """Return the times of an array of numbers or dates."""
    if array.dtype.kind == "M":
        is_there = ~np.isnat(array)
        times = np.full(array.shape, math.nan)
        times[is_there] = _in_range(array[is_there], who)
        return times, (AWARE if is_aware else NAIVE) if is_there.any() else 0, -math.inf
    times = np.array(array, dtype=np.float64, order="C")  # of our own, as gaps are filled in it
    if np.isinf(times).any():
        raise ClockError(f"{who}: times are finite numbers or datetimes")
    is_there = ~np.isnan(times)
    largest = float(np.max(times, initial=-math.inf, where=is_there))
    return times, NUMBERS if is_there.any() else 0, largest


def _of_objects(array: NDArray[Any], who: str) -> tuple[Floats, int, float]:
    """Return times that are given one by one."""
    times, dates, largest = np.full(array.shape, math.nan), {0: ""}, -math.inf
    flat = times.reshape(-1)
    for place, at in enumerate(array.ravel().tolist()):
        try:
            moment = read_time(at, who)
        except ClockError as error:
            raise ClockError(f"{who}: row {place}: {str(error).removeprefix(f'{who}: ')}") from None
        if moment is None:
            continue
        flat[place] = moment
        dates.setdefault(moment.kind, repr(at))
        if not moment.is_date:
            largest = max(largest, float(moment))
    if NAIVE in dates and AWARE in dates:
        raise ClockError(
            f"{who}: {dates[AWARE]} has a time zone and {dates[NAIVE]} has none; nothing has "
            "changed: give all dates with a time zone, or all without"
        )
    return times, max(dates), largest


def _in_range(dates: NDArray[Any], who: str) -> Floats:
    """Return dates of NumPy as seconds since 1970; those that a datetime has."""
    years = dates.astype("datetime64[Y]").astype(np.int64)
    if (np.abs(years) > 10_000).any():  # the seconds of some would overflow
        raise _out_of_range(who)
    seconds = _seconds(dates)
    if ((seconds < FIRST) | (seconds > AFTER)).any():
        raise _out_of_range(who)
    return np.minimum(seconds, _LAST)


def _out_of_range(who: str) -> ClockError:
    return ClockError(
        f"{who}: dates are from the year 1 to the year 9999, in UTC; nothing has changed"
    )


def _seconds(dates: Any) -> Floats:
    """Return dates as seconds since 1970; nanoseconds of now would be rounded twice as a float."""
    whole = dates.astype("datetime64[s]")
    seconds: Floats = whole.astype(np.int64) + (dates - whole) / _SECOND
    return seconds
