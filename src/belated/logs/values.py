"""Arrow columns as NumPy arrays: times by one clock, numbers and text, and what is wrong with them.

What a cell cannot mean is not an error here: it is marked, and the reason can be asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from belated.arrays import Array, Bools
from belated.logs.sources import arrow
from belated.logs.zones import to_utc
from belated.timeline.clock import EXACT_IN_FLOAT, fits, gaps

Kind = Literal["calendar", "whole", "number"]
"""Dates, whole numbers that only int64 holds exactly, and other numbers."""
Objects: TypeAlias = npt.NDArray[np.object_]

NEVER = ("nan", "nat", "none", "null", "na", "n/a", "<na>", "inf", "+inf", "infinity", "never")
"""How text says that there is no value, in small letters."""
FEW = 32
"""Up to this many cells are read one by one when they cannot be read at once."""
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_WHOLE = r"^\s*[+-]?\d+\s*$"
_DATE = r"^\s*(\d{4}-\d\d-\d\d([T ].*)?|\d{8}T\d.*)\s*$"
_ZONE = r":?\d\d.*([zZ]|[+-]\d\d(:?\d\d)?)$"
_SCALES = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


@dataclass(frozen=True, eq=False)
class Cells:
    """Values of a column, which of them are missing, and which mean nothing."""

    values: Array
    missing: Bools
    bad: Bools
    source: Any
    reason: Callable[[str], str]

    def text(self, i: int) -> str:
        """Return a cell as it was given."""
        item = self.source[i].as_py()
        return "" if item is None else str(item)


def kind_of(column: Any) -> Kind | None:
    """Return what kind of times a column could hold; None: none, or nothing at all is in it."""
    pa = arrow("reading a log")
    column = _decoded(column)
    kind, types = column.type, pa.types
    if column.null_count == len(column):
        return None
    if types.is_timestamp(kind) or types.is_date(kind):
        return "calendar"
    if types.is_integer(kind):
        return "whole" if _exceeds(column) else "number"
    if types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if not _is_text(column):
        return None
    return _kind_of_text(column)


def is_blank(column: Any) -> bool:
    """Whether nothing at all is in a column."""
    column = _decoded(column)
    text = _blanked(column) if _is_text(column) else column
    return bool(text.null_count == len(text))


def _kind_of_text(column: Any) -> Kind | None:
    """Return what most cells look like."""
    import pyarrow.compute as pc

    known = _blanked(column).drop_null()
    dates = pc.sum(pc.match_substring_regex(known, _DATE)).as_py() or 0
    numbers = pc.sum(pc.match_substring_regex(known, _NUMBER)).as_py() or 0
    if max(dates, numbers) * 2 <= len(known):
        return None
    if dates > numbers:
        return "calendar"
    whole = known.filter(pc.match_substring_regex(known, _WHOLE)).to_pylist()
    return "whole" if any(abs(int(cell)) > EXACT_IN_FLOAT for cell in whole) else "number"


def _exceeds(column: Any) -> bool:
    """Whether some whole number is too large for float64."""
    import pyarrow.compute as pc

    ends = pc.min_max(column).as_py()
    return bool(max(abs(ends["min"]), abs(ends["max"])) > EXACT_IN_FLOAT)


# ---- times -------------------------------------------------------------------------------------


def read_moments(column: Any, kind: Kind, zone: str | None, *, late: bool = False) -> Cells:
    """Return times by a clock: nanoseconds in UTC, int64 or float64.

    ``zone`` is that of times that name none, by default UTC; ``late`` reads a wall time that
    occurs twice as the second one.
    """
    column = _decoded(column)
    if kind == "calendar":
        return _calendar(column, zone, late)
    return _numbers(column, np.int64 if kind == "whole" else np.float64)


def _calendar(column: Any, zone: str | None, late: bool) -> Cells:
    pa = arrow("reading a log")
    if _is_text(column):
        return _calendar_text(column, zone, late)
    missing = _nulls(column)
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s"))
    if not pa.types.is_timestamp(column.type):
        return _nothing(column, missing, np.int64, f"is of type {column.type}, and no date")
    counts = _filled(column.cast(pa.int64()), 0, np.int64)
    scale = _SCALES[column.type.unit]
    bad = np.abs(counts) > (2**63 - 1) // scale - 2 * 86_400 * 10**9 // scale
    values = np.where(bad | missing, 0, counts) * scale
    if column.type.tz is None and zone is not None:
        values = to_utc(values, zone, late=late)
    return Cells(values, missing, bad & ~missing, column, _why_no_date)


def _calendar_text(column: Any, zone: str | None, late: bool) -> Cells:
    """Return dates from text; most columns have one form throughout, that of their first cell."""
    pa = arrow("reading a log")
    known = column.drop_null()
    # A cast that fails is slow: it does not stop at the first wrong cell.
    has_zone = bool(len(known)) and bool(re.search(_ZONE, known[0].as_py()))
    try:
        found = column.cast(pa.timestamp("ns", "UTC" if has_zone else None))
    except pa.ArrowInvalid:
        return _mixed_text(column, zone, late)
    values = _filled(found.cast(pa.int64()), 0, np.int64)
    if not has_zone and zone is not None:
        values = to_utc(values, zone, late=late)
    nothing = np.zeros(len(column), dtype=np.bool_)
    return Cells(values, _nulls(column), nothing, column, _why_no_date)


def _mixed_text(column: Any, zone: str | None, late: bool) -> Cells:
    """Return dates from text of more than one form, with and without zones, some of it wrong."""
    import pyarrow.compute as pc

    pa = arrow("reading a log")
    text = _blanked(column)
    text = pc.replace_substring_regex(text, r"\s*(UTC|GMT)$", "Z")
    text = pc.replace_substring_regex(text, r"\s+([+-]\d\d:?\d\d)$", r"\1")
    missing = _nulls(text)
    zoned = _filled(pc.match_substring_regex(text, _ZONE), False, np.bool_)
    values = np.zeros(len(column), dtype=np.int64)
    bad = np.zeros(len(column), dtype=np.bool_)
    for has_zone, kind in ((True, pa.timestamp("ns", "UTC")), (False, pa.timestamp("ns"))):
        rows = np.flatnonzero(~missing & (zoned == has_zone))
        found, wrong = _cast(text.take(pa.array(rows)), kind, _one_date)
        if not has_zone and zone is not None:
            found = to_utc(found, zone, late=late)
        values[rows], bad[rows] = found, wrong
    return Cells(values, missing, bad, column, _why_no_date)


def _cast(text: Any, kind: Any, one: Callable[[str], int | float | None]) -> tuple[Array, Bools]:
    """Return text as numbers: all at once, or else by halves, and the last few one by one."""
    pa = arrow("reading a log")
    dtype = np.float64 if kind == pa.float64() else np.int64
    try:
        found = text.cast(kind)
    except pa.ArrowInvalid:
        if len(text) <= FEW:
            cells = [one(cell) for cell in text.to_pylist()]
            bad = np.array([cell is None for cell in cells])
            return np.array([cell or 0 for cell in cells], dtype=dtype), bad
        half = len(text) // 2
        left, right = _cast(text[:half], kind, one), _cast(text[half:], kind, one)
        return np.concatenate([left[0], right[0]]), np.concatenate([left[1], right[1]])
    plain = found.cast(pa.int64()) if pa.types.is_timestamp(kind) else found
    return plain.to_numpy(zero_copy_only=False), np.zeros(len(text), dtype=np.bool_)


def _one_date(text: str) -> int | None:
    """Return a date in any form of ISO 8601 in nanoseconds, of UTC or of its wall clock."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    moment = np.datetime64(found.astimezone(UTC).replace(tzinfo=None), "us").astype(np.int64)
    return int(moment) * 1000 if abs(int(moment)) < 2**63 // 1000 - 2 * 86_400 * 10**6 else None


def _why_no_date(text: str) -> str:
    year = re.match(r"\s*(\d{4})-\d\d-\d\d", text)
    if year and not 1677 < int(year[1]) < 2262:
        return "is beyond the years 1678 to 2261; leave the cell empty where no answer came"
    return "is no time like 2024-05-01T12:00 or 2024-05-01 12:00:00+02:00"


# ---- numbers and text --------------------------------------------------------------------------


def read_numbers(column: Any) -> Cells:
    """Return numbers as float64, NaN where there is none; truth values are 0 and 1."""
    return _numbers(_decoded(column), np.float64)


def _numbers(column: Any, dtype: type[np.int64] | type[np.float64]) -> Cells:
    pa = arrow("reading a log")
    kind = pa.int64() if dtype is np.int64 else pa.float64()
    if _is_text(column):
        return _numbers_in_text(column, kind, dtype)
    types, missing = pa.types, _nulls(column)
    if types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if not (types.is_integer(column.type) or types.is_floating(column.type)):
        return _nothing(column, missing, dtype, f"is of type {column.type}, and no number")
    given = _filled(column, 0, None)
    if given.dtype.kind == "f":
        missing |= gaps(given)
        given = np.where(missing, 0.0, given)
    bad = ~fits(given, np.dtype(dtype)) | (given == -math.inf)
    return Cells(np.where(bad, 0, given).astype(dtype), missing, bad, column, _why_no_number)


def _numbers_in_text(column: Any, kind: Any, dtype: type[np.int64] | type[np.float64]) -> Cells:
    pa = arrow("reading a log")
    try:
        found = column.cast(kind)
    except pa.ArrowInvalid:
        text = _blanked(column)
        missing = _nulls(text)
        rows = np.flatnonzero(~missing)
        one = _one_whole if dtype is np.int64 else _one_number
        values, bad = np.zeros(len(column), dtype), np.zeros(len(column), np.bool_)
        values[rows], bad[rows] = _cast(text.take(pa.array(rows)), kind, one)
        return Cells(values, missing, bad, column, _why_no_number)
    values, missing = _filled(found, 0, dtype), _nulls(column)
    if dtype is np.int64:
        return Cells(values, missing, np.zeros(len(column), np.bool_), column, _why_no_number)
    missing |= gaps(values)
    bad = values == -math.inf
    return Cells(np.where(missing | bad, 0.0, values), missing, bad, column, _why_no_number)


def _one_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _one_whole(text: str) -> int | None:
    value = _one_number(text)
    if value is None or not value.is_integer():
        return None
    exact = int(text) if re.match(_WHOLE, text) else int(value)
    return exact if abs(exact) < 2**63 else None


def _why_no_number(text: str) -> str:
    if re.match(_NUMBER, text):
        return "cannot be kept exactly beside the first rows: give all times as whole numbers"
    return "is no finite number"


def read_text(column: Any) -> Cells:
    """Return text as objects that share equal strings, None where there is none."""
    pa = arrow("reading a log")
    column = _decoded(column)
    missing = _nulls(column)
    coded = column.cast(pa.string()).dictionary_encode()
    words: Objects = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
    codes = _filled(coded.indices, len(words) - 1, np.int64)
    return Cells(words[codes], missing, np.zeros(len(column), np.bool_), column, lambda _: "")


# ---- shared parts ------------------------------------------------------------------------------


def _decoded(column: Any) -> Any:
    """Return an array without an encoding by dictionary, in one piece."""
    pa = arrow("reading a log")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.string()) if _is_text(column) else column


def _is_text(column: Any) -> bool:
    types = arrow("reading a log").types
    kind = column.type
    tests = (types.is_string, types.is_large_string, types.is_string_view)
    return any(test(kind) for test in tests)


def _blanked(column: Any) -> Any:
    """Return text without the space around it, and null where it says that nothing is there."""
    import pyarrow.compute as pc

    pa = arrow("reading a log")
    text = pc.utf8_trim_whitespace(column)
    words = pa.array(["", *NEVER])
    blank = pc.is_in(pc.utf8_lower(text), value_set=words)
    return pc.if_else(blank, pa.scalar(None, pa.string()), text)


def _nulls(column: Any) -> Bools:
    if not column.null_count:
        return np.zeros(len(column), dtype=np.bool_)
    nulls: Bools = column.is_null().to_numpy(zero_copy_only=False).copy()
    return nulls


def _filled(column: Any, filler: Any, dtype: Any) -> Array:
    """Return the values, with a filler where there are none."""
    full = column.fill_null(filler) if column.null_count else column
    values: Array = full.to_numpy(zero_copy_only=False)
    return values if dtype is None else values.astype(dtype, copy=False)


def _nothing(column: Any, missing: Bools, dtype: Any, reason: str) -> Cells:
    """Return a column of which no cell means anything."""
    return Cells(np.zeros(len(column), dtype), missing, ~missing, column, lambda _: reason)
