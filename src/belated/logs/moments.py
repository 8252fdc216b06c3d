"""Times in Arrow columns as NumPy arrays, by one clock."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np

from belated.arrays import Array, Bools, Ints
from belated.logs import dates
from belated.logs.cells import (
    Cells,
    blanked,
    by_halves,
    count_like,
    decoded,
    each_word,
    filled,
    is_mostly,
    is_text,
    nothing,
    nulls,
    with_gaps,
)
from belated.logs.dates import to_utc
from belated.logs.kinds import AS_TEXT, DIGITS, NEVER, Kind, calendar, iso_moment, word
from belated.logs.numbers import numbers, read_answers, read_numbers, read_text, why_no_number
from belated.logs.numerals import PLAIN, WHOLE, NumberForm
from belated.logs.sources import arrow
from belated.timeline.clock import EXACT_IN_FLOAT

FARTHEST = {"whole": 2.0**62, "number": 1e100}
"""Beyond this the time between two moments might not be a number."""
Clockwork = Literal["calendar", "whole", "number"]
"""What times are: dates, whole numbers that only int64 holds exactly, and other numbers."""

ISO_DATE = r"^\s*(\d{4}-\d\d-\d\d([T ].*)?|\d{8}T\d.*)\s*$"
_ZONE = r"[T ]\d\d.*([zZ]|[+-]\d\d(:?\d\d)?)$"
_FORMS = tuple(pattern for form, pattern in dates.FORMS.items() if form != dates.DIGITS)


def kind_of(column: Any) -> Clockwork | None:
    """Return what kind of times a column could hold; None: none, or nothing at all is in it."""
    pa = arrow("reading a log")
    column = decoded(column)
    kind, types = column.type, pa.types
    if column.null_count == len(column):
        return None
    if types.is_timestamp(kind) or types.is_date(kind):
        return "calendar"
    if types.is_integer(kind):
        return "whole" if _exceeds(column) else "number"
    if types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if not is_text(column):
        return None
    return _kind_of_text(column)


def is_blank(column: Any) -> bool:
    """Whether nothing at all is in a column."""
    column = decoded(column)
    text = blanked(column, NEVER) if is_text(column) else column
    return bool(text.null_count == len(text))


def _kind_of_text(column: Any) -> Clockwork | None:
    """Return what most cells look like."""
    import pyarrow.compute as pc

    known = blanked(column, NEVER).drop_null()
    # The usual ones first: patterns take their time.
    if not is_mostly(known, PLAIN):
        is_date = any(is_mostly(known, pattern) for pattern in (ISO_DATE, *_FORMS))
        return "calendar" if is_date else None
    whole = known.filter(pc.match_substring_regex(known, WHOLE)).to_pylist()
    return "whole" if any(abs(int(cell)) > EXACT_IN_FLOAT for cell in whole) else "number"


def _exceeds(column: Any) -> bool:
    """Whether some whole number is too large for float64."""
    import pyarrow.compute as pc

    ends = pc.min_max(column).as_py()
    return bool(max(abs(ends["min"]), abs(ends["max"])) > EXACT_IN_FLOAT)


# ---- times -------------------------------------------------------------------------------------


def read_moments(
    column: Any,
    kind: Clockwork,
    zone: str | None,
    form: str = dates.ISO,
    *,
    late: bool = False,
) -> Cells:
    """Return times by a clock: nanoseconds in UTC, int64 or float64.

    ``zone`` is that of times that name none, by default UTC; ``form`` is how text writes dates;
    ``late`` reads a wall time that occurs twice as the second one.
    """
    column = decoded(column)
    if kind == "calendar":
        return _calendar(column, zone, form, late)
    found = numbers(column, np.int64 if kind == "whole" else np.float64, never=True)
    far = np.abs(found.values) > FARTHEST[kind]
    if not far.any():
        return found
    bad = found.bad | (far & ~found.missing)
    return replace(found, values=np.where(bad, 0, found.values), bad=bad, reason=_why_far)


def _why_far(text: str) -> str:
    is_number = why_no_number(text) if not re.match(PLAIN, text) else ""
    return is_number or "is too far away for a time; leave the cell empty where no answer came"


def _calendar(column: Any, zone: str | None, form: str, late: bool) -> Cells:
    pa = arrow("reading a log")
    if unit := dates.epoch_unit(form):
        return _counts(column, dates.EPOCH_UNITS[unit])
    if form == dates.DIGITS and not is_text(column):
        column = column.cast(pa.int64(), safe=False).cast(pa.string())
    if is_text(column):
        if form != dates.ISO:
            return _written(column, form, zone, late)
        return _calendar_text(column, zone, late)
    missing = nulls(column)
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s"))
    if not pa.types.is_timestamp(column.type):
        return nothing(column, missing, np.int64, f"is of type {column.type}, and no date")
    counts = filled(column.cast(pa.int64()), 0, np.int64)
    scale = dates.EPOCH_UNITS[column.type.unit]
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
    values = filled(found.cast(pa.int64()), 0, np.int64)
    if not has_zone and zone is not None:
        values = to_utc(values, zone, late=late)
    nothing = np.zeros(len(column), dtype=np.bool_)
    return Cells(values, nulls(column), nothing, column, _why_no_date)


def _mixed_text(column: Any, zone: str | None, late: bool) -> Cells:
    """Return dates from text of more than one form, with and without zones, some of it wrong."""
    import pyarrow.compute as pc

    pa = arrow("reading a log")
    text = blanked(column, NEVER)
    text = pc.replace_substring_regex(text, r"\s*(UTC|GMT)$", "Z")
    text = pc.replace_substring_regex(text, r"\s+([+-]\d\d:?\d\d)$", r"\1")
    missing = nulls(text)
    zoned = filled(pc.match_substring_regex(text, _ZONE), False, np.bool_)
    values = np.zeros(len(column), dtype=np.int64)
    bad = np.zeros(len(column), dtype=np.bool_)
    for has_zone, kind in ((True, pa.timestamp("ns", "UTC")), (False, pa.timestamp("ns"))):
        rows = np.flatnonzero(~missing & (zoned == has_zone))
        found, wrong = by_halves(text.take(pa.array(rows)), kind, _one_date)
        if not has_zone and zone is not None:
            found = to_utc(found, zone, late=late)
        values[rows], bad[rows] = found, wrong
    return Cells(values, missing, bad, column, _why_no_date)


def _one_date(text: str) -> int | None:
    """Return a date in any form of ISO 8601 in nanoseconds, of UTC or of its wall clock."""
    found = iso_moment(text)
    return None if found is None else found[0]


def _written(column: Any, form: str, zone: str | None, late: bool) -> Cells:
    """Return dates from text of another form than ISO 8601."""
    import pyarrow.compute as pc

    text = blanked(column, NEVER)
    missing = nulls(text)
    found = pc.extract_regex(text, pattern=dates.FORMS[form])
    unlike = nulls(found) & ~missing
    parts = {field.name: _part(found.field(field.name), field.name) for field in found.type}
    values, wrong = dates.moments_of(parts)
    if zone is not None:
        is_named = filled(pc.not_equal(found.field("z"), ""), False, np.bool_)
        values = np.where(is_named, values, to_utc(values, zone, late=late))
    bad = (unlike | wrong) & ~missing
    return Cells(np.where(bad | missing, 0, values), missing, bad, column, _why_not(form))


def _part(text: Any, name: str) -> Ints:
    """Return one part of dates as numbers."""
    return each_word(text.fill_null(""), dates.READ[name], np.int64)


def _counts(column: Any, scale: int) -> Cells:
    """Return dates that are counted since 1970."""
    pa = arrow("reading a log")
    text = is_text(column)
    is_whole = pa.types.is_integer(column.type)
    if text:
        known = blanked(column, NEVER).drop_null()
        is_whole = count_like(known, WHOLE) == len(known)
    cells = numbers(column, np.int64 if is_whole else np.float64, never=True)
    whole = np.floor(cells.values)
    most = (2**63 - 1) // scale - 2 * dates.DAY // scale
    bad = cells.bad | (np.abs(whole) > most)
    fraction = np.where(bad, 0, (cells.values - whole) * scale).astype(np.int64)
    values = np.where(bad, 0, whole).astype(np.int64) * scale + fraction
    return Cells(values, cells.missing, bad, column, why_no_number)


def _why_not(form: str) -> Callable[[str], str]:
    return lambda _: f"is no time like {dates.EXAMPLES[form]}, as the others are ({form})"


def _why_no_date(text: str) -> str:
    year = re.match(r"\s*(\d{4})-\d\d-\d\d", text)
    if year and not 1677 < int(year[1]) < 2262:
        return "is beyond the years 1678 to 2261; leave the cell empty where no answer came"
    return f"is no time like {dates.EXAMPLES[dates.ISO]}"


# The features that a whole column becomes, as ``Kind.features`` gives those of one cell.


def read_kind(column: Any, kind: Kind) -> Cells:
    """Return the cells of a column, read as what it becomes."""
    if kind.what == "text":
        return read_text(column)
    if kind.what == "yes or no" and kind.words != DIGITS:
        return read_answers(column, kind)
    if kind.what == "time":
        return read_moments(column, "calendar", kind.zone, kind.form)
    return read_numbers(column, cast("NumberForm", kind.form))


def features_of(kind: Kind, cells: Cells) -> dict[str, Array]:
    """Return the features that a column becomes, the same as ``Kind.features`` cell by cell."""
    if kind.what == "text":
        return {kind.name: cells.values}
    if kind.what == "time":
        columns = calendar(kind, cells.values)
        return {name: _with_gaps(column, cells.missing) for name, column in columns.items()}
    numbers = with_gaps(cells)
    if kind.what != "number and text":
        return {kind.name: numbers}
    words = each_word(arrow("reading a log").array(numbers, from_pandas=True), word, object)
    return {kind.name: numbers, kind.name + AS_TEXT: words}


def _with_gaps(column: Array, missing: Bools) -> Array:
    gapped = column.copy()
    gapped[missing] = np.nan if column.dtype.kind == "f" else None
    return gapped
