"""Columns of clock times, from whatever holds them.

A log is two columns: when each prediction was made and when its answer came. :func:`read_log`
takes them as lists, NumPy arrays, pandas or polars Series, of numbers or datetimes, and returns a
:class:`Log` of plain int64 or float64 on one :class:`Clock`. Nothing is rounded on the way: where
the two columns cannot be compared exactly, it says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from numbers import Integral
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from belated.arrays import Bools, Ints
from belated.errors import TimelineError

TimesLike: TypeAlias = Any
"""A column of times: numbers or datetimes in a list, NumPy array, pandas or polars Series."""

Array: TypeAlias = npt.NDArray[Any]

_EXACT_IN_FLOAT = 2**53
"""Integers up to this size are exact in float64."""


@dataclass(frozen=True, eq=False)
class Log:
    """Times by row, int64 or float64; where no answer came ``observed_at`` means nothing."""

    predicted_at: Array
    observed_at: Array
    answered: Bools

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.predicted_at)

    def by_prediction_time(self) -> tuple[Log, Ints]:
        """Number the tickets by prediction time, and say which row each one comes from."""
        if first_descent(self.predicted_at) is None:
            return self, np.arange(len(self), dtype=np.int64)
        rows = np.argsort(self.predicted_at, kind="stable")
        return Log(self.predicted_at[rows], self.observed_at[rows], self.answered[rows]), rows


def first_descent(times: Array) -> int | None:
    """Return the index of the first time that is earlier than the one before it."""
    descents = times[1:] < times[:-1]
    return int(np.argmax(descents)) + 1 if descents.any() else None


@dataclass(frozen=True)
class Clock:
    """How times are kept: int64, float64 or datetime64 of one unit; in UTC when aware."""

    dtype: np.dtype[Any]
    aware: bool

    @property
    def is_calendar(self) -> bool:
        """Whether times are dates."""
        return self.dtype.kind == "M"

    def show(self, time: Any) -> str:
        """Write a time as its owner would."""
        return str(np.asarray(time).view(self.dtype) if self.is_calendar else time)


def read_log(
    predicted_at: TimesLike, observed_at: TimesLike, who: str, clock: Clock | None = None
) -> tuple[Log, Clock]:
    """Read two columns by one clock, and check that they describe intervals."""
    predicted = _column(predicted_at, f"{who} predicted_at")
    observed = _column(observed_at, f"{who} observed_at")
    _check_rows(predicted, observed, who)
    clock = clock or _common_clock(predicted, observed)
    starts, ends = _by_clock(predicted, clock), _by_clock(observed, clock)
    answered = ~observed.missing
    _check_causality(starts, ends, answered, clock, who)
    return Log(starts, ends, answered), clock


@dataclass(frozen=True, eq=False)
class _Column:
    """One column as it was given: int64, float64 or datetime64, and which rows are missing."""

    name: str
    values: Array
    missing: Bools
    aware: bool = False

    @cached_property
    def is_blank(self) -> bool:
        """Whether no row holds a time, so that the column may follow any clock."""
        return bool(self.missing.all())

    @property
    def clock(self) -> Clock:
        """The clock of this column alone."""
        return Clock(self.values.dtype, self.aware)


def _check_rows(predicted: _Column, observed: _Column, who: str) -> None:
    """Both columns have the same length, and every prediction has a time."""
    if len(predicted.values) != len(observed.values):
        raise TimelineError(
            f"{who} predicted_at has {len(predicted.values)} rows and observed_at has "
            f"{len(observed.values)}; every prediction needs one row in both, with None where no "
            "answer came"
        )
    unusable = predicted.missing | (predicted.values == -math.inf)
    if unusable.any():
        row = int(np.argmax(unusable))
        raise TimelineError(
            f"{predicted.name}[{row}] is missing or infinite; every prediction needs a finite "
            "time: drop the row"
        )


def _check_causality(starts: Array, ends: Array, answered: Bools, clock: Clock, who: str) -> None:
    """No answer precedes its question."""
    early = (ends < starts) & answered
    if early.any():
        row = int(np.argmax(early))
        raise TimelineError(
            f"{who} observed_at[{row}] is before predicted_at[{row}] "
            f"({clock.show(ends[row])} < {clock.show(starts[row])}); an answer cannot precede its "
            "question: check that the columns are not swapped and the clocks agree"
        )


def _common_clock(predicted: _Column, observed: _Column) -> Clock:
    """The clock that holds both columns exactly, wherever there is one."""
    if observed.is_blank:
        return predicted.clock
    kinds = {predicted.values.dtype.kind, observed.values.dtype.kind}
    if kinds == {"i", "f"}:
        # A column of integers with gaps often arrives as floats; it is still integers.
        fractional = predicted if predicted.values.dtype.kind == "f" else observed
        whole = _fits(fractional.values, np.dtype(np.int64)).all()
        return Clock(np.dtype(np.int64 if whole else np.float64), aware=False)
    if kinds == {"M"} and predicted.aware == observed.aware:
        dtype = np.promote_types(predicted.values.dtype, observed.values.dtype)
        return Clock(dtype, predicted.aware)
    return predicted.clock


def _by_clock(column: _Column, clock: Clock) -> Array:
    """The column's values on another clock, exactly, datetimes as int64."""
    if column.is_blank:
        return np.zeros(
            len(column.values), dtype=np.float64 if clock.dtype.kind == "f" else np.int64
        )
    _check_same_clock(column, clock)
    fits = _fits(column.values, clock.dtype)
    if not fits.all():
        row = int(np.argmin(fits))
        raise TimelineError(
            f"{column.name}[{row}] = {column.values[row]} cannot be kept exactly as {clock.dtype}, "
            "which the other times need; give all times in one dtype"
        )
    values = column.values.astype(clock.dtype, copy=False)
    return values.view(np.int64) if clock.is_calendar else values


def _check_same_clock(column: _Column, clock: Clock) -> None:
    """Numbers go with numbers, dates with dates, and time zones with time zones."""
    if column.clock.is_calendar != clock.is_calendar:
        found, wanted = ("datetimes", "numbers")[:: -1 if clock.is_calendar else 1]
        raise TimelineError(
            f"{column.name} holds {found} and the other times are {wanted}; "
            "give numbers everywhere or datetimes everywhere"
        )
    if column.aware != clock.aware:
        found, wanted = ("with", "without")[:: 1 if column.aware else -1]
        raise TimelineError(
            f"{column.name} holds datetimes {found} a time zone and the other times are {wanted} "
            "one; give all of them a time zone, or none"
        )


def _fits(values: Array, dtype: np.dtype[Any]) -> Bools:
    """Which values mean exactly the same in another dtype."""
    source, target = values.dtype.kind, dtype.kind
    if source == "f" and target == "i":
        return cast("Bools", (np.abs(values) < 2.0**63) & (np.floor(values) == values))
    if source == "i" and target == "f":
        # Not np.abs: the smallest int64 has no absolute value.
        return (values >= -_EXACT_IN_FLOAT) & (values <= _EXACT_IN_FLOAT)
    if values.dtype != dtype:
        return cast("Bools", values.astype(dtype).astype(values.dtype) == values)
    return np.ones(1, dtype=np.bool_)


def _column(data: TimesLike, name: str) -> _Column:
    """Read one column from whatever holds it, without importing that library."""
    library = type(data).__module__.partition(".")[0]
    if library == "polars":
        return _polars_column(data, name)
    if library == "pandas" and hasattr(data, "dtype"):
        return _pandas_column(data, name)
    if isinstance(data, np.ma.MaskedArray):
        return _array_column(data.filled(0), name, np.ma.getmaskarray(data))
    if hasattr(data, "__array__"):
        return _array_column(np.asarray(data), name)
    try:
        items = list(data)
    except TypeError:
        raise TimelineError(f"{name} must be a column of times, got {data!r}") from None
    return _listed_column(items, name)


def _array_column(
    values: Array, name: str, masked: Bools | None = None, *, aware: bool = False
) -> _Column:
    """Read a NumPy array; ``masked`` rows are missing whatever they hold."""
    if values.ndim != 1:
        raise TimelineError(f"{name} must have one dimension, got shape {values.shape}")
    if values.dtype.kind == "O":
        items = values.tolist()
        if masked is not None:
            items = [None if gap else item for item, gap in zip(items, masked, strict=True)]
        return _listed_column(items, name)
    values = _plain(values, name)
    missing = _gaps(values)
    if masked is not None:
        missing |= masked
    if missing.any():
        # A harmless filler: gaps then pass every check and conversion of the other values.
        values = np.where(missing, np.zeros(1, dtype=values.dtype), values)
    return _Column(name, values, missing, aware)


def _plain(values: Array, name: str) -> Array:
    """The same values as int64, float64 or datetime64."""
    kind = values.dtype.kind
    if kind == "i" or (kind == "u" and values.max(initial=0) < 2**63):
        return values.astype(np.int64, copy=False)
    if kind == "f" and values.dtype.itemsize <= 8:
        return values.astype(np.float64, copy=False)
    if kind == "M":
        return values
    raise TimelineError(
        f"{name} has dtype {values.dtype}, which is no time; give integers below 2**63, floats of "
        "at most 64 bits, or datetimes (text: numpy.asarray(text, dtype='datetime64[us]'))"
    )


def _gaps(values: Array) -> Bools:
    """Which rows say "never": NaN, NaT or +infinity."""
    if values.dtype.kind == "M":
        return np.isnat(values)
    if values.dtype.kind == "f":
        return ~(values < math.inf)
    return np.zeros(len(values), dtype=np.bool_)


def _pandas_column(data: Any, name: str) -> _Column:
    """Read a pandas Series or Index; times with a zone are stored in UTC already."""
    dtype = data.dtype
    if isinstance(dtype, np.dtype):
        return _array_column(data.to_numpy(), name)
    if getattr(dtype, "tz", None) is not None:
        return _array_column(data.to_numpy(dtype=f"datetime64[{dtype.unit}]"), name, aware=True)
    if hasattr(dtype, "numpy_dtype") and not hasattr(dtype, "pyarrow_dtype"):
        values = data.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        return _array_column(values, name, np.asarray(data.isna()))
    return _listed_column(list(data), name)


def _polars_column(data: Any, name: str) -> _Column:
    """Read a polars Series; times with a zone are stored in UTC already."""
    dtype, kind = data.dtype, type(data.dtype).__name__
    calendar = kind in ("Datetime", "Date")
    if not (calendar or dtype.is_integer() or dtype.is_float()):
        return _listed_column(data.to_list(), name)
    # Filling first: polars would turn integers with nulls into floats, which is not exact.
    values = data.to_physical().fill_null(0).to_numpy()
    if calendar:
        unit = "D" if kind == "Date" else dtype.time_unit
        values = values.astype(np.int64).view(f"datetime64[{unit}]")
    aware = getattr(dtype, "time_zone", None) is not None
    return _array_column(values, name, data.is_null().to_numpy(), aware=aware)


def _listed_column(items: list[Any], name: str) -> _Column:
    """Read Python objects: numbers, dates, datetimes, and None in between."""
    missing = np.fromiter(map(_is_gap, items), dtype=np.bool_, count=len(items))
    known = [item for item, gap in zip(items, missing, strict=True) if not gap]
    if not known:
        return _Column(name, np.zeros(len(items), dtype=np.int64), missing)
    aware = _is_aware(known, name)
    calendar = all(isinstance(item, (date, np.datetime64)) for item in known)
    found = _stamps(known, name) if calendar else _numbers(known, name)
    values = np.zeros(len(items), dtype=found.dtype)
    values[~missing] = found
    return _Column(name, values, missing, aware)


def _is_gap(item: Any) -> bool:
    """Whether an object says "never": None, NaN, NaT, +infinity, or the NA of pandas."""
    if item is None or type(item).__name__ == "NAType":
        return True
    return bool(item != item or (isinstance(item, float) and item == math.inf))


def _is_aware(items: list[Any], name: str) -> bool:
    """Whether datetimes have a time zone: all of them or none."""
    aware = {getattr(item, "tzinfo", None) is not None for item in items}
    if len(aware) == 2:
        raise TimelineError(
            f"{name} mixes datetimes with and without a time zone; give all of them one, or none"
        )
    return aware.pop()


def _stamps(items: list[Any], name: str) -> Array:
    """Dates and datetimes as datetime64, in the finest unit among them, in UTC."""
    stamps = [_stamp(item) for item in items]
    unit = np.result_type(*{stamp.dtype for stamp in stamps})
    values = np.array([stamp.astype(unit) for stamp in stamps])
    for row, stamp in enumerate(stamps):
        if values[row].astype(stamp.dtype) != stamp:
            raise TimelineError(f"{name} holds {stamp}, which is out of range for {unit}")
    return values


def _stamp(item: Any) -> np.datetime64:
    """One date or datetime, in UTC when it has a time zone."""
    if hasattr(item, "to_datetime64"):  # pandas: knows about nanoseconds
        return cast("np.datetime64", item.to_datetime64())
    if isinstance(item, datetime) and item.tzinfo is not None:
        item = item.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(item)


def _numbers(items: list[Any], name: str) -> Array:
    """Python numbers as int64 where all are integers, else as float64."""
    values = np.asarray(items)
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise TimelineError(
            f"{name} must hold only numbers below 2**63 or only datetimes, and None; "
            f"found {_kinds(items)}"
        )
    values = _plain(values, name)
    if values.dtype.kind == "f":
        for item in items:
            if isinstance(item, Integral) and abs(int(item)) > _EXACT_IN_FLOAT:
                raise TimelineError(
                    f"{name} mixes floats with the integer {item}, which no float holds exactly; "
                    "give integers only"
                )
    return values


def _kinds(items: list[Any]) -> str:
    """The types in a list, for a message."""
    return ", ".join(sorted({type(item).__name__ for item in items}))
