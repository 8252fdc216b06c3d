"""Arrow columns as NumPy arrays: numbers, words, yes or no, and times, cell by cell or at once.

A cell that cannot be read is no error here: it is marked, and the reason can be asked for. Columns
in a usual form are read by Arrow; others by the functions for one cell (``numerals``, ``dates``),
once for every different cell, so that one row and many are read alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np

from belated.arrays import Array, Bools
from belated.logs import dates, numerals
from belated.logs.dates import to_utc
from belated.logs.kinds import AS_TEXT, DIGITS, NEVER, NOTHING, Kind, calendar, word
from belated.logs.numerals import PLAIN, WHOLE, NumberForm
from belated.logs.sources import arrow
from belated.timeline.clock import EXACT_IN_FLOAT, fits, gaps

FARTHEST = {"whole": 2.0**62, "number": 1e100}
"""Beyond this the time between two moments might not be a number."""
Clockwork = Literal["calendar", "whole", "number"]
"""The kinds of times: dates, whole numbers that only int64 holds exactly, and other numbers."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Values of a column, which of them are missing, and which cannot be read."""

    values: Array
    missing: Bools
    bad: Bools
    source: Any
    why: Callable[[str], str] = lambda _: ""
    """Says what is wrong with the text of a cell."""
    refused: tuple[tuple[Bools, str | Callable[[int], str]], ...] = ()
    """Cells that are wrong for other reasons, and the reasons."""

    @property
    def known(self) -> Array:
        """The values that are there and can be read."""
        return self.values[~(self.missing | self.bad)]

    def refuse(self, rows: Bools, why: str | Callable[[int], str]) -> Cells:
        """Return the same with more bad cells."""
        refused = (rows & ~self.bad, why)
        return replace(self, bad=self.bad | rows, refused=(*self.refused, refused))

    def reason(self, i: int) -> str:
        """Say what is wrong with a cell."""
        for rows, why in self.refused:
            if rows[i]:
                return why if isinstance(why, str) else why(i)
        return self.why(self.text(i))

    def text(self, i: int) -> str:
        """Return a cell as it was given."""
        item = self.source[i].as_py()
        return "" if item is None else str(item)


def with_gaps(cells: Cells) -> Array:
    """Return numbers with NaN where there is none."""
    return np.where(cells.missing, np.nan, cells.values.astype(np.float64, copy=False))


# ---- columns of Arrow ----------------------------------------------------------------------------


def decoded(column: Any) -> Any:
    """Return an array without an encoding by dictionary, in one piece."""
    pa = arrow()
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.string()) if is_text(column) else column


def is_text(column: Any) -> bool:
    """Whether a column holds text."""
    types, kind = arrow().types, column.type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def count_like(text: Any, pattern: str) -> int:
    """Return how many cells match."""
    return int(arrow().compute.match_substring_regex(text, pattern).true_count)


def is_mostly(text: Any, pattern: str) -> bool:
    """Whether more than half of all cells match."""
    return 2 * count_like(text, pattern) > len(text)


def without(column: Any, words: Sequence[str], *, trimmed: bool = False) -> Any:
    """Return text with null for these words in small letters, and perhaps without space around."""
    pa = arrow()
    text = pa.compute.utf8_trim_whitespace(column)
    blank = pa.compute.is_in(pa.compute.utf8_lower(text), value_set=pa.array(words, pa.string()))
    return pa.compute.if_else(blank, pa.scalar(None, pa.string()), text if trimmed else column)


def without_words(batch: Any, words_of: Mapping[str, Sequence[str]]) -> Any:
    """Return rows in which cells that are one of their column's words, or mean one, are null."""
    pa = arrow()
    for place, name in enumerate(batch.schema.names):
        words = words_of.get(name)
        if not words:
            continue
        column = decoded(batch.column(place))
        if is_text(column):
            column = without(column, words)
        else:
            for each_word in words:  # one that is no number or date cannot be in the column
                with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
                    blank = pa.compute.equal(column, pa.scalar(each_word).cast(column.type))
                    column = pa.compute.if_else(blank, pa.scalar(None, column.type), column)
        batch = batch.set_column(place, name, column)
    return batch


def nulls(column: Any) -> Bools:
    """Return which cells are null."""
    found: Bools = column.is_null().to_numpy(zero_copy_only=False)
    return found.copy()


def _none(column: Any) -> Bools:
    return np.zeros(len(column), np.bool_)


def _filled(column: Any, filler: Any) -> Array:
    """Return the values, with a filler for null."""
    full = column.fill_null(filler) if column.null_count else column
    values: Array = full.to_numpy(zero_copy_only=False)
    return values


def each(text: Any, read: Callable[[str], Any], dtype: Any) -> tuple[Array, Bools]:
    """Return what a function makes of every cell, and where that is None; null is neither.

    The function is called once for every different cell.
    """
    coded = text.dictionary_encode()
    found = [*map(read, coded.dictionary.to_pylist()), None]
    values = found if dtype is object else [0 if value is None else value for value in found]
    none = np.array([value is None for value in found])
    none[-1] = False
    places = _filled(coded.indices, len(found) - 1)
    return np.array(values, dtype=dtype)[places], none[places]


def _unreadable(column: Any, dtype: Any, what: str) -> Cells:
    """Return a column of a type that cannot be read."""
    missing, reason = nulls(column), f"is of type {column.type}, and no {what}"
    return Cells(np.zeros(len(column), dtype), missing, ~missing, column, lambda _: reason)


# ---- numbers -------------------------------------------------------------------------------------


def read_numbers(column: Any, form: NumberForm = "plain") -> Cells:
    """Return numbers as float64; truth values are 0 and 1, durations are seconds."""
    column = decoded(column)
    if form == "plain" or not is_text(column):
        return numbers(column, np.float64)
    text = without(column, NOTHING, trimmed=True)
    values, bad = each(text, lambda cell: numerals.number(cell, form), np.float64)
    return Cells(values, nulls(text), bad, column, lambda _: numerals.LIKE[form])


def numbers(column: Any, dtype: type[np.int64] | type[np.float64], *, never: bool = False) -> Cells:
    """Return numbers; infinity is bad, or with ``never`` says that there is none."""
    types = arrow().types
    if is_text(column):
        return _numbers_in_text(column, dtype, never)
    missing, kind = nulls(column), column.type
    if types.is_duration(kind) or types.is_time(kind):
        counts = _filled(column.cast(f"int{kind.bit_width}"), 0).astype(np.int64)
        values = np.where(missing, 0.0, counts / (dates.SECOND // dates.EPOCH_UNITS[kind.unit]))
        return Cells(values, missing, _none(column), column)
    if types.is_boolean(kind) or types.is_decimal(kind):
        column = column.cast("uint8" if types.is_boolean(kind) else "float64")
    elif not (types.is_integer(kind) or types.is_floating(kind)):
        return _unreadable(column, dtype, "number")
    given = _filled(column, 0)
    if given.dtype.kind == "f":
        missing |= gaps(given) if never else np.isnan(given)
        given = np.where(missing, 0.0, given)
    bad = ~fits(given, np.dtype(dtype)) | (np.abs(given) == math.inf)
    return Cells(np.where(bad, 0, given).astype(dtype), missing, bad, column, why_no_number)


def _numbers_in_text(column: Any, dtype: type[np.int64] | type[np.float64], never: bool) -> Cells:
    pa = arrow()
    for words in ((), NEVER if never else NOTHING):
        text = without(column, words, trimmed=True) if words else column
        try:
            found = text.cast(pa.from_numpy_dtype(dtype))
        except pa.ArrowInvalid:
            continue
        values, missing = _filled(found, 0), nulls(text)
        if dtype is np.float64:
            missing |= gaps(values) if never else np.isnan(values)
        bad = ~(missing | np.isfinite(values))
        break
    else:
        values, bad = each(text, numerals.whole if dtype is np.int64 else numerals.number, dtype)
        missing = nulls(text)
    return Cells(np.where(missing | bad, 0, values), missing, bad, column, why_no_number)


def why_no_number(text: str) -> str:
    """Say why a cell is no number."""
    if re.match(PLAIN, text):
        return "cannot be kept exactly beside the first rows: give all times as whole numbers"
    return "is no finite number"


# ---- times ---------------------------------------------------------------------------------------


def kind_of(column: Any) -> Clockwork | None:
    """Return what kind of times a column could hold; None: none, or the column is empty."""
    pa, column = arrow(), decoded(column)
    types, kind = pa.types, column.type
    if column.null_count == len(column):
        return None
    if types.is_timestamp(kind) or types.is_date(kind):
        return "calendar"
    if types.is_integer(kind):
        ends = pa.compute.min_max(column).as_py()
        is_large = max(abs(ends["min"]), abs(ends["max"])) > EXACT_IN_FLOAT
        return "whole" if is_large else "number"
    if types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if not is_text(column):
        return None
    text = without(column, NEVER, trimmed=True).drop_null()
    if not is_mostly(text, PLAIN):
        return "calendar" if form_of(text) is not None else None
    whole = text.filter(pa.compute.match_substring_regex(text, WHOLE)).to_pylist()
    return "whole" if any(abs(float(cell)) > EXACT_IN_FLOAT for cell in whole) else "number"


def form_of(text: Any) -> str | None:
    """Return the first form of dates that most cells have."""
    forms = {**dates.FORMS, dates.ISO: dates.ISO_DATE}
    return next((form for form, pattern in forms.items() if is_mostly(text, pattern)), None)


def is_blank(column: Any) -> bool:
    """Whether a column is empty."""
    column = decoded(column)
    text = without(column, NEVER) if is_text(column) else column
    return bool(text.null_count == len(text))


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
        cells, is_wall = _dates(column, form)
        if zone is None or not np.any(is_wall):
            return cells
        values = np.where(is_wall, to_utc(cells.values, zone, late=late), cells.values)
        return replace(cells, values=values)
    found = numbers(column, np.int64 if kind == "whole" else np.float64, never=True)
    bad = found.bad | ((np.abs(found.values) > FARTHEST[kind]) & ~found.missing)
    return replace(found, values=np.where(bad, 0, found.values), bad=bad, why=_why_no_time)


def _why_no_time(text: str) -> str:
    if re.match(PLAIN, text) and abs(float(text)) > FARTHEST["whole"]:
        return "is too far away for a time; leave the cell empty where no answer came"
    return why_no_number(text)


def _dates(column: Any, form: str) -> tuple[Cells, Bools | bool]:
    """Return dates, in UTC or of their wall clock, and which of them are of the latter."""
    pa = arrow()
    if unit := dates.epoch_unit(form):
        return _counts(column, dates.EPOCH_UNITS[unit]), False
    if form == dates.DIGITS and not is_text(column):
        column = column.cast(pa.int64(), safe=False).cast(pa.string())
    if is_text(column):
        return _dates_in_text(column, form)
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s"))
    if not pa.types.is_timestamp(column.type):
        return _unreadable(column, np.int64, "date"), False
    counts, missing = _filled(column.cast(pa.int64()), 0), nulls(column)
    scale = dates.EPOCH_UNITS[column.type.unit]
    bad = ~missing & (np.abs(counts) > _most(scale))
    values = np.where(bad | missing, 0, counts) * scale
    return Cells(values, missing, bad, column, _why_no_date), column.type.tz is None


def _most(scale: int) -> int:
    """Return the largest count whose nanoseconds are a number, also in other time zones."""
    return (2**63 - 1 - 2 * dates.DAY) // scale


def _dates_in_text(column: Any, form: str) -> tuple[Cells, Bools | bool]:
    """Return dates of any form: by Arrow if all are like the first, else by days and clocks."""
    pa = arrow()
    for words in ((), NEVER) if form == dates.ISO else ():
        given = without(column, words, trimmed=True) if words else column
        some = given.drop_null()
        # A cast that fails is slow: it does not stop at the first wrong cell.
        has_zone = bool(len(some)) and bool(re.search(dates.ZONED, some[0].as_py()[10:]))
        with suppress(pa.ArrowInvalid):
            moments = given.cast(pa.timestamp("ns", "UTC" if has_zone else None)).cast(pa.int64())
            cells = Cells(_filled(moments, 0), nulls(given), _none(column), column, _why_no_date)
            return cells, not has_zone
    # Few days and few times of day are different.
    text = without(column, NEVER, trimmed=True)
    found, missing = pa.compute.extract_regex(text, pattern=dates.FORMS[form]), nulls(text)
    day, clock = (pa.compute.struct_field(found, name) for name in ("day", "clock"))
    days, no_day = each(day, lambda cell: dates.day_of(cell, form), np.int64)
    clocks, no_clock = each(clock, dates.clock_of, np.int64)
    has_zones = _filled(pa.compute.match_substring_regex(clock, dates.ZONED), False)
    bad = (nulls(found) | no_day | no_clock) & ~missing
    reason = f"is no time like {dates.EXAMPLES[form]}, as the others are ({form})"
    why = _why_no_date if form == dates.ISO else lambda _: reason
    values = np.where(bad | missing, 0, days + clocks)
    return Cells(values, missing, bad, column, why), ~has_zones


def _counts(column: Any, scale: int) -> Cells:
    """Return dates that are counted since 1970."""
    is_whole = arrow().types.is_integer(column.type)
    if is_text(column):
        some = without(column, NEVER, trimmed=True).drop_null()
        is_whole = count_like(some, WHOLE) == len(some)
    cells = numbers(column, np.int64 if is_whole else np.float64, never=True)
    whole = np.floor(cells.values)
    bad = cells.bad | (np.abs(whole) > _most(scale))
    fraction = np.where(bad, 0, (cells.values - whole) * scale).astype(np.int64)
    values = np.where(bad, 0, whole).astype(np.int64) * scale + fraction
    return Cells(values, cells.missing, bad, column, why_no_number)


def _why_no_date(text: str) -> str:
    year = re.match(r"\s*(\d{4})-\d\d-\d\d", text)
    if year and not 1677 < int(year[1]) < 2262:
        return "is beyond the years 1678 to 2261; leave the cell empty where no answer came"
    return f"is no time like {dates.EXAMPLES[dates.ISO]}"


# ---- features: of a whole column the same as ``Kind.features`` gives of one cell -----------------


def read_kind(column: Any, kind: Kind) -> Cells:
    """Return the cells of a column, read as what it becomes."""
    if kind.what == "time":
        return read_moments(column, "calendar", kind.zone, kind.form)
    column = decoded(column)
    if kind.what == "text":
        cells = _of_python(column)
        values, none = each(cells, kind.read, object)
        return Cells(values, nulls(cells) | none, _none(column), column)
    if kind.what == "yes or no" and kind.words != DIGITS:
        cells = without(column, NOTHING) if is_text(column) else _of_python(column)
        values, none = each(cells, kind.read, np.float64)
        return Cells(values, nulls(cells), none, column, lambda _: kind.wrong)
    return read_numbers(column, cast("NumberForm", kind.form))


def _of_python(column: Any) -> Any:
    """Return a column of which every cell is a value that Python has; NaN is null."""
    pa = arrow()
    if pa.types.is_floating(column.type):
        return pa.array(column.to_numpy(zero_copy_only=False), from_pandas=True)
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return column.cast(pa.string()) if pa.types.is_decimal(column.type) else column


def features_of(kind: Kind, cells: Cells) -> dict[str, Array]:
    """Return the features that a column becomes."""
    if kind.what == "text":
        return {kind.name: cells.values}
    if kind.what == "time":
        columns = calendar(kind, cells.values)
        for column in columns.values():
            column[cells.missing] = np.nan if column.dtype.kind == "f" else None
        return columns
    values = with_gaps(cells)
    if kind.what != "number and text":
        return {kind.name: values}
    words = each(arrow().array(values, from_pandas=True), word, object)[0]
    return {kind.name: values, kind.name + AS_TEXT: words}
