"""The rules by which a column becomes something, from its first rows, its type and its name.

In order: what was told; nothing in it, or lists and the like: left out; a type that says it, as
dates, durations and truth values do; two words that are a yes and a no; whole numbers that begin
with a zero are words; numbers; dates; durations; and else words, unless every row has another one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from belated.errors import LogError
from belated.logs import dates, numerals
from belated.logs.cells import blanked, count_like, decoded, is_mostly, is_text
from belated.logs.kinds import ANSWERS, DIGITS, NOTHING, Kind, Kinds, Told
from belated.logs.moments import ISO_DATE, kind_of, read_moments
from belated.logs.numbers import read_numbers
from belated.logs.numerals import NumberForm
from belated.logs.sources import arrow

DateOrder = Literal["day first", "month first"]
"""What 5/6/2024 begins with."""
EMPTY = "nothing is in it"
ALIKE = 100
"""Rows from which on a word of its own in every row is a name of the row, and no feature."""
NAMES = (
    r"(^|_)(id|ids|key|zone|shop|store|branch|year|code|zip|zipcode|postcode|plz|region|area|"
    r"district|county|state|city|department|dept|line|route|station|stop|depot|warehouse|hub|"
    r"category|cat|class|type|group|cluster|segment|version|model|sku|product|item|article|"
    r"customer|client|user|account|agent|driver|courier|vehicle|truck|machine|device|sensor|"
    r"terminal|gate|lane|room|building|location|queue|team|channel|campaign|ad|page|no|nr)$"
)
"""What columns of whole numbers are called that are names of something."""
TIME_NAMES = r"(_at|(^|_)(time|date|ts|timestamp|epoch|datetime|when|on|since|until))$"
"""What columns of counts since 1970 are called."""


class NoFeature(LogError):
    """A column that is told to become something, and is no feature."""

    def __init__(self, name: str, what: str, known: tuple[str, ...]) -> None:
        """Keep what was told of which column, and the features that there are."""
        super().__init__(
            f"logs: {name!r} is told to be {what!r}, and is no feature; the features are "
            f"{', '.join(map(repr, known)) or 'none'}"
        )
        self.name, self.known = name, known


def decide(
    sample: Any,
    names: Mapping[str, bool],
    told: Mapping[str, Told],
    zone: str | None,
    order: DateOrder | None = None,
) -> Kinds:
    """Return what columns become; ``names`` says of each whether it was asked for by name."""
    for name in told:
        if name not in names:
            raise NoFeature(name, told[name], tuple(names))
    return Kinds(
        tuple(
            kind_of_column(sample.column(name), name, told.get(name), zone, order, named)
            for name, named in names.items()
        )
    )


def kind_of_column(
    column: Any,
    name: str,
    told: Told | None,
    zone: str | None,
    order: DateOrder | None,
    is_named: bool = False,
) -> Kind:
    """Return what one column becomes."""
    if told == "ignore":
        return Kind(name, "left out", "as told")
    column = decoded(column)
    nested = _nested(column)
    if nested is not None:
        if is_named or told is not None:
            raise LogError(
                f"logs: column {name!r} holds {nested}, of type {column.type}; a feature is one "
                f"number, word or time: take it apart, or leave it out (--ignore {name})"
            )
        return Kind(name, "left out", f"holds {nested}; a feature is one number, word or time")
    if told == "text":
        return Kind(name, "text", "as told")
    if told == "number":
        return Kind(name, "number", "as told", form=_number_form(column))
    if told == "time":
        return _told_time(column, name, zone, order)
    if is_text(column):
        return _of_text(column, name, zone, order)
    return _of_type(column, name, zone)


def _nested(column: Any) -> str | None:
    """Say what a column holds that is no single value."""
    types, kind = arrow("reading a log").types, column.type
    if types.is_struct(kind) or types.is_map(kind) or types.is_union(kind):
        return "structs"
    if types.is_nested(kind):
        return "lists"
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return "bytes"
    return None


def _of_type(column: Any, name: str, zone: str | None) -> Kind:
    """Decide by the type that a table has."""
    types, kind = arrow("reading a log").types, column.type
    if column.null_count == len(column):
        return Kind(name, "left out", EMPTY)
    if types.is_boolean(kind):
        return Kind(name, "yes or no", "truth values", words=("false", "true"))
    if types.is_timestamp(kind) or types.is_date(kind):
        has_hours = types.is_timestamp(kind) and _has_hours(column, zone, dates.ISO)
        return _time(name, f"of type {kind}", dates.ISO, zone, has_hours=has_hours)
    if types.is_duration(kind) or types.is_time(kind):
        return Kind(name, "number", f"of type {kind}, in seconds", form="duration")
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return _of_numbers(column, name, zone, "plain", f"of type {kind}")
    raise LogError(f"logs: column {name!r} is of type {kind}, which no feature can be")


def _of_text(column: Any, name: str, zone: str | None, order: DateOrder | None) -> Kind:
    """Decide by what most cells look like."""
    text = blanked(column, NOTHING).drop_null()
    if not len(text):
        return Kind(name, "left out", EMPTY)
    words = set(text.unique().to_pylist())
    answers = _answers(words)
    if answers is not None:
        return Kind(name, "yes or no", f"only {' and '.join(sorted(words))}", words=answers)
    comes_once = len(words) == len(text) >= ALIKE
    has_zeros = count_like(text, numerals.ZEROS) > 0
    if has_zeros and not comes_once:
        return Kind(name, "text", "begins with zeros, as only names do")
    if not has_zeros and (form := _number_form(text)) and is_mostly(text, numerals.FORMS[form]):
        why = "numbers" if form == "plain" else f"numbers: {form}"
        several = sorted({numerals.currency(cell) for cell in words} - {""})
        if not form.startswith("money") or len(several) == 1:
            return _of_numbers(column, name, zone, form, why)
        if not comes_once:
            return Kind(name, "text", f"amounts in {', '.join(several)}, which are not alike")
    found = date_form(text, name, order, ask=False)
    if found == AMBIGUOUS:
        return Kind(name, "left out", "dates of which day or month may be first: say --dates")
    if found is not None:
        has_hours = _has_hours(column, zone, found)
        return _time(name, f"dates: {found}", found, zone, has_hours=has_hours)
    if comes_once:
        return Kind(name, "left out", "every row has another word, so that none comes again")
    return Kind(name, "text", "words", values=len(words))


def _answers(words: set[str]) -> tuple[str, str] | None:
    """Return the words of a no and a yes that all cells are, if there are two."""
    small = {word.lower() for word in words}
    return next((pair for pair in ANSWERS if small == set(pair)), None)


def _number_form(column: Any) -> NumberForm:
    """Return how the numbers of a column are written, most likely."""
    if not is_text(column):
        return "plain"
    text = blanked(column, NOTHING).drop_null()
    if count_like(text, numerals.PLAIN) == len(text):
        return "plain"
    counts = {form: count_like(text, pattern) for form, pattern in numerals.FORMS.items()}
    # Plain ones fit other forms too; of two that fit as well, the first is meant.
    order: tuple[NumberForm, ...] = (
        *("plain", "thousands", "decimal comma", "duration", "per cent"),
        *("money", "money with a decimal comma"),
    )
    return max(order, key=lambda form: counts[form])


def _of_numbers(column: Any, name: str, zone: str | None, form: NumberForm, why: str) -> Kind:
    """Decide what kind of numbers they are."""
    if form == "duration":
        return Kind(name, "number", f"{why}, in seconds", form=form)
    is_large = form == "plain" and kind_of(column) == "whole"
    cells = read_moments(column, "whole", None) if is_large else read_numbers(column, form)
    values = cells.values[~(cells.missing | cells.bad)]
    unit = epoch_of(values) if re.search(TIME_NAMES, plain_name(name)) else None
    if unit is not None:
        found = dates.epoch(unit)
        has_hours = bool((values % (86_400 * (dates.SECOND // dates.EPOCH_UNITS[unit]))).any())
        return _time(name, f"counts {found}, by values and name", found, zone, has_hours=has_hours)
    if form == "plain" and re.search(TIME_NAMES, plain_name(name)) and dates.are_stamps(values):
        return _time(
            name, f"dates: {dates.DIGITS}", dates.DIGITS, zone, has_hours=_are_long(values)
        )
    if not (np.floor(values) == values).all():
        return Kind(name, "number", why, form=form)
    if is_large:
        return Kind(name, "text", "whole numbers too large to count with")
    different = np.unique(values)
    if set(different.tolist()) == {0.0, 1.0}:
        return Kind(name, "yes or no", "only 0 and 1", form=form, words=DIGITS)
    if is_name(name) and 2 < len(different) <= max(2, len(values) // 2) and values.min() >= 0.0:
        why = "whole numbers that come again, and by name an id: tried as both"
        return Kind(name, "number and text", why, form=form, values=len(different))
    return Kind(name, "number", why, form=form)


def is_name(name: str) -> bool:
    """Whether a column is called what names of things are called.

    >>> [is_name(name) for name in ("shopId", "PU zone", "year", "hour", "distance", "width")]
    [True, True, True, False, False, False]
    """
    return re.search(NAMES, plain_name(name)) is not None


def plain_name(name: str) -> str:
    """Return a name in small letters with one underscore between words.

    >>> plain_name("predictedAt"), plain_name("Asked at")
    ('predicted_at', 'asked_at')
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", parted.lower()).strip("_")


# ---- times -------------------------------------------------------------------------------------

EARLY, LATE = 946_684_800, 4_102_444_800
"""Counts since 1970 are dates from 2000 to 2099, in seconds."""
AMBIGUOUS = "day or month first"


def epoch_of(values: Any) -> str | None:
    """Return in what unit numbers count since 1970, if all do.

    >>> epoch_of(np.array([1.7e12, 1.71e12])), epoch_of(np.array([1.0, 2.0]))
    ('ms', None)
    """
    if not len(values):
        return None
    low, high = float(np.min(values)), float(np.max(values))
    for unit, scale in dates.EPOCH_UNITS.items():
        per_second = dates.SECOND // scale
        if EARLY * per_second <= low and high < LATE * per_second:
            return unit
    return None


def date_form(column: Any, name: str, order: DateOrder | None, *, ask: bool = True) -> str | None:
    """Return how the dates of a column are written; None: it holds none, or no text.

    Where day and month cannot be told apart it asks, or returns :data:`AMBIGUOUS`.
    """
    if not is_text(column):
        return None
    text = blanked(column, NOTHING).drop_null()
    forms = {dates.ISO: ISO_DATE, **dates.FORMS}
    form = next((form for form, pattern in forms.items() if is_mostly(text, pattern)), None)
    if form not in SLASHED:
        return form
    if order is not None:
        return "day/month/year" if order == "day first" else "month/day/year"
    wrong = {form: _wrong(text, form) for form in SLASHED}
    if wrong["month/day/year"] != wrong["day/month/year"]:
        return min(wrong, key=lambda form: wrong[form])
    if not ask:
        return AMBIGUOUS
    raise LogError(
        f"logs: is the day or the month first in {name!r}? Its first rows, such as "
        f"{text[0].as_py()!r}, can be read as both; say dates='day first' or 'month first' "
        "(--dates day-first or --dates month-first on the command line)"
    )


SLASHED = ("month/day/year", "day/month/year")


def _wrong(text: Any, form: str) -> int:
    return int(np.count_nonzero(read_moments(text, "calendar", None, form).bad))


def _told_time(column: Any, name: str, zone: str | None, order: DateOrder | None) -> Kind:
    """Return a time, or say why it is none."""
    if is_text(column) and (form := date_form(column, name, order)) is not None:
        return _time(name, f"as told; {form}", form, zone, has_hours=_has_hours(column, zone, form))
    types = arrow("reading a log").types
    if types.is_timestamp(column.type) or types.is_date(column.type):
        has_hours = types.is_timestamp(column.type) and _has_hours(column, zone, dates.ISO)
        return _time(name, "as told", dates.ISO, zone, has_hours=has_hours)
    clock = kind_of(column)
    cells = None if clock in (None, "calendar") else read_moments(column, clock, None)
    values = np.empty(0) if cells is None else cells.values[~(cells.missing | cells.bad)]
    if dates.are_stamps(values):
        form, has_hours = dates.DIGITS, _are_long(values)
        return _time(name, f"as told; {form}", form, zone, has_hours=has_hours)
    unit = epoch_of(values)
    if unit is None:
        raise LogError(
            f"logs: column {name!r} is told to be a time, and holds neither dates nor counts "
            "since 1970 of this century"
        )
    return _time(name, f"as told; {dates.epoch(unit)}", dates.epoch(unit), zone, has_hours=True)


def _are_long(values: Any) -> bool:
    """Whether dates in digits have hours too."""
    return bool(values[0] >= 10**8)


def _time(name: str, why: str, form: str, zone: str | None, *, has_hours: bool) -> Kind:
    parts = dates.PARTS if has_hours else dates.PARTS[1:]
    return Kind(name, "time", why, form=form, parts=parts, zone=zone)


def _has_hours(column: Any, zone: str | None, form: str) -> bool:
    """Whether some time is not midnight."""
    cells = read_moments(column, "calendar", None, form)
    return bool((cells.values[~(cells.missing | cells.bad)] % dates.DAY).any())
