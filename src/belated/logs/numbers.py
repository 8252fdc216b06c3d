"""Numbers and words in Arrow columns as NumPy arrays."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from belated.arrays import Bools
from belated.logs import dates, numerals
from belated.logs.cells import (
    Cells,
    blanked,
    by_halves,
    decoded,
    each_word,
    filled,
    is_text,
    nothing,
    nulls,
)
from belated.logs.kinds import NEVER, NOTHING, Kind, word
from belated.logs.numerals import PLAIN, WHOLE, NumberForm
from belated.logs.sources import arrow
from belated.timeline.clock import fits, gaps


def read_numbers(column: Any, form: NumberForm = "plain") -> Cells:
    """Return numbers as float64; truth values are 0 and 1, durations are seconds."""
    column = decoded(column)
    if form != "plain" and is_text(column):
        return _rewritten(column, form)
    return numbers(column, np.float64)


def _rewritten(column: Any, form: NumberForm) -> Cells:
    """Return numbers that are not written plainly."""
    text = blanked(column, NOTHING)
    missing = nulls(text)
    found = each_word(text, lambda cell: numerals.number(cell, form), object)
    values = np.array([math.nan if cell is None else cell for cell in found], dtype=np.float64)
    bad = np.isnan(values) & ~missing
    reason = numerals.LIKE[form]
    return Cells(np.where(missing | bad, 0.0, values), missing, bad, column, lambda _: reason)


def numbers(column: Any, dtype: type[np.int64] | type[np.float64], *, never: bool = False) -> Cells:
    """Return numbers; infinity is bad, or with ``never`` says that there is none."""
    pa = arrow("reading a log")
    kind = pa.int64() if dtype is np.int64 else pa.float64()
    if is_text(column):
        return _numbers_in_text(column, kind, dtype, never)
    types, missing = pa.types, nulls(column)
    if types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if types.is_duration(column.type) or types.is_time(column.type):
        return _seconds(column, missing)
    if not (types.is_integer(column.type) or types.is_floating(column.type)):
        return nothing(column, missing, dtype, f"is of type {column.type}, and no number")
    given = filled(column, 0, None)
    if given.dtype.kind == "f":
        missing |= gaps(given) if never else np.isnan(given)
        given = np.where(missing, 0.0, given)
    bad = ~fits(given, np.dtype(dtype)) | (np.abs(given) == math.inf)
    return Cells(np.where(bad, 0, given).astype(dtype), missing, bad, column, why_no_number)


def _seconds(column: Any, missing: Bools) -> Cells:
    """Return durations and times of day in seconds."""
    pa = arrow("reading a log")
    unit, is_wide = column.type.unit, column.type.bit_width == 64
    counts = filled(column.cast(pa.int64() if is_wide else pa.int32()), 0, np.int64)
    values = np.where(missing, 0.0, counts / (dates.SECOND // dates.EPOCH_UNITS[unit]))
    nothing = np.zeros(len(column), np.bool_)
    return Cells(values, missing, nothing, column, why_no_number)


def _numbers_in_text(
    column: Any, kind: Any, dtype: type[np.int64] | type[np.float64], never: bool
) -> Cells:
    pa = arrow("reading a log")
    try:
        found = column.cast(kind)
    except pa.ArrowInvalid:
        text = blanked(column, NEVER if never else NOTHING)
        missing = nulls(text)
        rows = np.flatnonzero(~missing)
        one = _one_whole if dtype is np.int64 else _one_number
        values, bad = np.zeros(len(column), dtype), np.zeros(len(column), np.bool_)
        values[rows], bad[rows] = by_halves(text.take(pa.array(rows)), kind, one)
        bad |= ~np.isfinite(values)
        return Cells(np.where(bad, 0, values), missing, bad, column, why_no_number)
    values, missing = filled(found, 0, dtype), nulls(column)
    if dtype is np.int64:
        return Cells(values, missing, np.zeros(len(column), np.bool_), column, why_no_number)
    missing |= gaps(values) if never else np.isnan(values)
    bad = np.isinf(values) & ~missing
    return Cells(np.where(missing | bad, 0.0, values), missing, bad, column, why_no_number)


def _one_number(text: str) -> float | None:
    return numerals.number(text, "plain")


def _one_whole(text: str) -> int | None:
    value = _one_number(text)
    if value is None or not value.is_integer():
        return None
    exact = int(text) if re.match(WHOLE, text) else int(value)
    return exact if abs(exact) < 2**63 else None


def why_no_number(text: str) -> str:
    """Say why a cell is no number."""
    if re.match(PLAIN, text):
        return "cannot be kept exactly beside the first rows: give all times as whole numbers"
    return "is no finite number"


def read_text(column: Any) -> Cells:
    """Return words as objects that share equal strings, None where there is none."""
    column = decoded(column)
    plain = _plain(column)
    values = each_word(plain, lambda cell: word(cell) or None, object)
    missing = nulls(plain) | each_word(plain, lambda cell: not word(cell), np.bool_)
    return Cells(values, missing, np.zeros(len(column), np.bool_), column, lambda _: "")


def _plain(column: Any) -> Any:
    """Return a column of which every cell is a value that Python has."""
    pa = arrow("reading a log")
    types = pa.types
    if types.is_floating(column.type):
        return pa.array(column.to_numpy(zero_copy_only=False), from_pandas=True)
    if types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return column.cast(pa.string()) if types.is_decimal(column.type) else column


def read_answers(column: Any, kind: Kind) -> Cells:
    """Return a yes as 1 and a no as 0."""
    column = decoded(column)
    if not is_text(column):
        cells = numbers(column, np.float64)
        bad = cells.bad | ~np.isin(cells.values, (0.0, 1.0))
        return Cells(np.where(bad, 0.0, cells.values), cells.missing, bad, column, _why(kind))
    text = blanked(column, NOTHING)
    missing = nulls(text)
    places = {said: float(place) for place, said in enumerate(kind.words)}
    values = each_word(text, lambda cell: places.get(cell.lower(), math.nan), np.float64)
    bad = np.isnan(values) & ~missing
    return Cells(np.where(bad, 0.0, values), missing, bad, column, _why(kind))


def _why(kind: Kind) -> Callable[[str], str]:
    return lambda _: f"is neither {kind.words[0]} nor {kind.words[1]}"
