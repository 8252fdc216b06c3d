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
from belated.logs.cells import (
    count_like,
    decoded,
    form_of,
    is_mostly,
    is_text,
    kind_of,
    read_moments,
    read_numbers,
    without,
)
from belated.logs.kinds import ANSWERS, DIGITS, NOTHING, Kind, Kinds, Told
from belated.logs.numerals import NumberForm
from belated.logs.sources import arrow

DateOrder = Literal["day first", "month first"]
"""The first part of 5/6/2024."""
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
"""Names of columns whose whole numbers are names of something."""
TIME_NAMES = r"(_at|(^|_)(time|date|ts|timestamp|epoch|datetime|when|on|since|until))$"
"""Names of columns that count from 1970."""


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
    found = (
        kind_of_column(sample.column(name), name, told.get(name), zone, order, named)
        for name, named in names.items()
    )
    return Kinds(tuple(found))


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
    return (_of_text if is_text(column) else _of_type)(column, name, zone, order)


def _nested(column: Any) -> str | None:
    """Say what a column holds that is no single value."""
    kind = str(column.type)
    if arrow().types.is_nested(column.type):
        return "lists" if "list" in kind.partition("<")[0] else "structs"
    return "bytes" if "binary" in kind else None


def _of_type(column: Any, name: str, zone: str | None, _: DateOrder | None) -> Kind:
    """Decide by the type that a table has."""
    types, kind = arrow().types, column.type
    if column.null_count == len(column):
        return Kind(name, "left out", EMPTY)
    if types.is_boolean(kind):
        return Kind(name, "yes or no", "truth values", words=("false", "true"))
    if types.is_timestamp(kind) or types.is_date(kind):
        return _time(column, name, f"of type {kind}", dates.ISO, zone)
    if types.is_duration(kind) or types.is_time(kind):
        return Kind(name, "number", f"of type {kind}, in seconds", form="duration")
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return _of_numbers(column, name, zone, "plain", f"of type {kind}")
    raise LogError(f"logs: column {name!r} is of type {kind}, which no feature can be")


def _of_text(column: Any, name: str, zone: str | None, order: DateOrder | None) -> Kind:
    """Decide by what most cells look like."""
    text = without(column, NOTHING, trimmed=True).drop_null()
    if not len(text):
        return Kind(name, "left out", EMPTY)
    words = set(text.unique().to_pylist())
    small = {word.lower() for word in words}
    answers = next((pair for pair in ANSWERS if small == set(pair)), None)
    if answers is not None:
        return Kind(name, "yes or no", f"only {' and '.join(sorted(words))}", words=answers)
    comes_once = len(words) == len(text) >= ALIKE
    has_zeros = count_like(text, numerals.ZEROS) > 0
    if has_zeros and not comes_once:
        return Kind(name, "text", "begins with zeros, as only names do")
    form = _number_form(column)
    if not has_zeros and is_mostly(text, numerals.FORMS[form]):
        why = "numbers" if form == "plain" else f"numbers: {form}"
        return _of_numbers(column, name, zone, form, why)
    found = date_form(text, name, order, ask=False)
    if found == AMBIGUOUS:
        return Kind(name, "left out", "dates of which day or month may be first: say --dates")
    if found is not None:
        return _time(column, name, f"dates: {found}", found, zone)
    if comes_once:
        return Kind(name, "left out", "every row has another word, so that none comes again")
    return Kind(name, "text", "words", values=len(words))


def _number_form(column: Any) -> NumberForm:
    """Return how the numbers of a column are written, most likely."""
    if not is_text(column):
        return "plain"
    text = without(column, NOTHING, trimmed=True).drop_null()
    forms: tuple[NumberForm, ...] = ("plain", "thousands", "decimal comma", "duration", "per cent")
    return max(forms, key=lambda form: count_like(text, numerals.FORMS[form]))


def _of_numbers(column: Any, name: str, zone: str | None, form: NumberForm, why: str) -> Kind:
    """Decide what kind of numbers they are."""
    if form == "duration":
        return Kind(name, "number", f"{why}, in seconds", form=form)
    is_large = form == "plain" and kind_of(column) == "whole"
    cells = read_moments(column, "whole", None) if is_large else read_numbers(column, form)
    values = cells.known
    counted = counted_form(values) if form == "plain" and is_time_name(name) else None
    if counted is not None:
        by = "dates: {}" if counted == dates.DIGITS else "counts {}, by values and name"
        return _time(column, name, by.format(counted), counted, zone)
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


def is_time_name(name: str) -> bool:
    """Whether a column is called like counts since 1970."""
    return re.search(TIME_NAMES, plain_name(name)) is not None


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
    sizes = {unit: dates.SECOND // scale for unit, scale in dates.EPOCH_UNITS.items()}
    return next((unit for unit, n in sizes.items() if EARLY * n <= low <= high < LATE * n), None)


def counted_form(values: Any) -> str | None:
    """Return the form of dates that numbers are, in digits or as counts since 1970, if all are."""
    if dates.are_stamps(values):
        return dates.DIGITS
    unit = epoch_of(values)
    return None if unit is None else dates.epoch(unit)


def date_form(column: Any, name: str, order: DateOrder | None, *, ask: bool = True) -> str | None:
    """Return how the dates of a column are written; None: it holds none, or no text.

    Where day and month cannot be told apart it asks, or returns :data:`AMBIGUOUS`.
    """
    if not is_text(column):
        return None
    text = without(column, NOTHING, trimmed=True).drop_null()
    form = form_of(text)
    if form not in SLASHED:
        return form
    if order is not None:
        return "day/month/year" if order == "day first" else "month/day/year"
    month, day = (
        np.count_nonzero(read_moments(text, "calendar", None, form).bad) for form in SLASHED
    )
    if month != day:
        return SLASHED[0] if month < day else SLASHED[1]
    if not ask:
        return AMBIGUOUS
    raise LogError(
        f"logs: is the day or the month first in {name!r}? Its first rows, such as "
        f"{text[0].as_py()!r}, can be read as both; say dates='day first' or 'month first' "
        "(--dates day-first or --dates month-first on the command line)"
    )


SLASHED = ("month/day/year", "day/month/year")


def _told_time(column: Any, name: str, zone: str | None, order: DateOrder | None) -> Kind:
    """Return a time, or say why it is none."""
    form, clock = date_form(column, name, order), kind_of(column)
    if form is None and clock is not None:
        counts = None if clock == "calendar" else read_moments(column, clock, None).known
        form = dates.ISO if counts is None else counted_form(counts)
    if form is None:
        raise LogError(
            f"logs: column {name!r} is told to be a time, and holds neither dates nor counts "
            "since 1970 of this century"
        )
    return _time(column, name, f"as told; {form}", form, zone)


def _time(column: Any, name: str, why: str, form: str, zone: str | None) -> Kind:
    """Return a column of times, with the hour if some time is not midnight."""
    has_hours = bool((read_moments(column, "calendar", None, form).known % dates.DAY).any())
    parts = dates.PARTS if has_hours else dates.PARTS[1:]
    return Kind(name, "time", why, form=form, parts=parts, zone=zone)
