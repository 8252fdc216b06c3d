"""One column of times, from whatever holds it.

Lists, NumPy arrays, pandas and polars Series, of numbers or datetimes, all become int64, float64 or
datetime64 without rounding; no library is imported that the caller has not imported already.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from numbers import Integral
from typing import Any, TypeAlias, cast

import numpy as np

from belated.arrays import Array, Bools
from belated.errors import TimelineError
from belated.missing import is_missing
from belated.timeline.clock import EXACT_IN_FLOAT, Clock, fits, gaps

TimesLike: TypeAlias = Any
"""A column of times: numbers or datetimes in a list, NumPy array, pandas or polars Series."""


@dataclass(frozen=True, eq=False)
class Column:
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


def read_column(data: TimesLike, name: str) -> Column:
    """Read one column from whatever holds it, without importing that library."""
    library = type(data).__module__.partition(".")[0]
    if library == "polars":
        return _polars_column(data, name)
    if library == "pandas" and hasattr(data, "dtype"):
        return _pandas_column(data, name)
    if library == "pyarrow":
        return _arrow_column(data, name)
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
) -> Column:
    """Read a NumPy array; ``masked`` rows are missing whatever they hold."""
    if values.ndim != 1:
        raise TimelineError(f"{name} must have one dimension, got shape {values.shape}")
    if values.dtype.kind == "O":
        items = values.tolist()
        if masked is not None:
            items = [None if gap else item for item, gap in zip(items, masked, strict=True)]
        return _listed_column(items, name)
    values = _plain(values, name)
    missing = gaps(values)
    if masked is not None:
        missing |= masked
    if missing.any():
        # A harmless filler: gaps then pass every check and conversion of the other values.
        values = np.where(missing, np.zeros(1, dtype=values.dtype), values)
    return Column(name, values, missing, aware)


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


def _pandas_column(data: Any, name: str) -> Column:
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


def _polars_column(data: Any, name: str) -> Column:
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


def _arrow_column(data: Any, name: str) -> Column:
    """Read a pyarrow Array or ChunkedArray; times with a zone are stored in UTC already."""
    kind = str(data.type)
    calendar = kind.startswith(("timestamp", "date"))
    if not (calendar or kind.startswith(("int", "uint", "float", "double"))):
        return _listed_column(data.to_pylist(), name)
    missing = data.is_null().to_numpy(zero_copy_only=False)
    plain = data.cast("timestamp[s]" if kind == "date32[day]" else data.type)
    if calendar:
        unit, zone = getattr(plain.type, "unit", "ms"), getattr(plain.type, "tz", None)
        counts = plain.cast("int64").fill_null(0).to_numpy(zero_copy_only=False)
        dates = counts.astype(np.int64).view(f"datetime64[{unit}]")
        return _array_column(dates, name, missing, aware=zone is not None)
    return _array_column(plain.fill_null(0).to_numpy(zero_copy_only=False), name, missing)


def _listed_column(items: list[Any], name: str) -> Column:
    """Read Python objects: numbers, dates, datetimes, and None in between."""
    missing = np.fromiter(map(_is_gap, items), dtype=np.bool_, count=len(items))
    known = [item for item, gap in zip(items, missing, strict=True) if not gap]
    if not known:
        return Column(name, np.zeros(len(items), dtype=np.int64), missing)
    aware = _is_aware(known, name)
    calendar = all(isinstance(item, (date, np.datetime64)) for item in known)
    found = _stamps(known, name) if calendar else _numbers(known, name)
    values = np.zeros(len(items), dtype=found.dtype)
    values[~missing] = found
    return Column(name, values, missing, aware)


def _is_gap(item: Any) -> bool:
    """Whether an object says "never": nothing, or +infinity."""
    return is_missing(item) or (isinstance(item, float) and item == math.inf)


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
    dtypes = {stamp.dtype for stamp in stamps}
    unit = np.result_type(*dtypes)
    for dtype in dtypes:
        some = np.array([stamp for stamp in stamps if stamp.dtype == dtype])
        exact = fits(some, unit)
        if not exact.all():
            first = some[np.argmin(exact)]
            raise TimelineError(f"{name} holds {first}, which is out of range for {unit}")
    return np.array([stamp.astype(unit) for stamp in stamps])


def _stamp(item: Any) -> np.datetime64:
    """One date or datetime, in UTC when it has a time zone."""
    if hasattr(item, "to_datetime64"):  # pandas: knows about nanoseconds
        return cast("np.datetime64", item.to_datetime64())
    if isinstance(item, datetime) and item.tzinfo is not None:
        item = item.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(item)


def _numbers(items: list[Any], name: str) -> Array:
    """Python numbers as int64 where all are integers, else as float64."""
    try:
        values = np.asarray(items)
    except ValueError:  # lists of several lengths
        raise TimelineError(f"{name} must have one dimension, got lists in it") from None
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise TimelineError(
            f"{name} must hold only numbers below 2**63 or only datetimes, and None; "
            f"found {_kinds(items)}"
        )
    values = _plain(values, name)
    if values.dtype.kind == "f":
        for item in items:
            if isinstance(item, Integral) and abs(int(item)) > EXACT_IN_FLOAT:
                raise TimelineError(
                    f"{name} mixes floats with the integer {item}, which no float holds exactly; "
                    "give integers only"
                )
    return values


def _kinds(items: list[Any]) -> str:
    """The types in a list, for a message."""
    return ", ".join(sorted({type(item).__name__ for item in items}))
