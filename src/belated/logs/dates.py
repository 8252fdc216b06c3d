"""Dates as files write them: ISO 8601, American, German, with named months, counts since 1970.

A form says how the dates of one column are written. It is recognised from the first rows, shown,
and the same for the whole column: a date in another form makes a bad row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from types import MappingProxyType
from zoneinfo import ZoneInfo

import numpy as np

from belated.arrays import Array, Bools, Ints
from belated.errors import LogError

SECOND = 1_000_000_000
"""Nanoseconds in a second."""
DAY = 86_400 * SECOND
"""Nanoseconds in a day."""
ISO = "ISO 8601"
DIGITS = "year month day, in digits"
EPOCH = "since 1970"
"""How counts since 1970 are called, after their unit."""
EPOCH_UNITS: Mapping[str, int] = MappingProxyType(
    {"s": SECOND, "ms": 1_000_000, "us": 1_000, "ns": 1}
)
"""Nanoseconds in what dates are counted in."""

_MONTHS = {
    name: number
    for number, names in {
        1: "jan",
        2: "feb",
        3: "mar mär mae mrz",
        4: "apr",
        5: "may mai",
        6: "jun",
        7: "jul",
        8: "aug",
        9: "sep",
        10: "oct okt",
        11: "nov",
        12: "dec dez",
    }.items()
    for name in names.split()
}
"""By their first three letters, in English and German."""

_CLOCK = (
    r"(?P<H>\d{1,2}):(?P<M>[0-5]\d)(?::(?P<S>[0-5]\d)(?:[.,](?P<f>\d{1,9}))?)?"
    r"(?:\s*(?P<p>[AaPp])\.?[Mm]\.?)?"
)
_ZONE = r"\s*(?P<z>Z|UTC|GMT|[+-]\d\d:?\d\d)?"
_TIME = rf"(?:(?:,?\s+|T){_CLOCK})?{_ZONE}\s*$"
_IN_DIGITS = (
    r"(?:(?:,?\s+|T)?(?P<H>\d\d):?(?P<M>[0-5]\d)(?::?(?P<S>[0-5]\d)(?:[.,](?P<f>\d{1,9}))?)?"
    rf"(?:\s*(?P<p>[AaPp])\.?[Mm]\.?)?)?{_ZONE}\s*$"
)
_NAME = rf"(?P<b>(?i:{'|'.join(sorted({*_MONTHS, 'MÄR'}))})[A-Za-zÀ-ÿ]{{0,6}})\.?"
_YEAR = r"(?P<y>\d{4}|\d\d)"
_ON = r"^\s*(?:[A-Za-z]{2,9}\.?,?\s+)?"
_ORDINAL = r"(?:st|nd|rd|th|\.)?"

FORMS: Mapping[str, str] = MappingProxyType(
    {
        "month/day/year": r"^\s*(?P<m>\d{1,2})[/-](?P<d>\d{1,2})[/-](?P<y>\d{4}|\d\d)" + _TIME,
        "day/month/year": r"^\s*(?P<d>\d{1,2})[/-](?P<m>\d{1,2})[/-](?P<y>\d{4}|\d\d)" + _TIME,
        "day.month.year": r"^\s*(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>\d{4}|\d\d)" + _TIME,
        "year/month/day": r"^\s*(?P<y>\d{4})[/.](?P<m>\d{1,2})[/.](?P<d>\d{1,2})" + _TIME,
        "day name year": (
            _ON + r"(?P<d>\d{1,2})" + _ORDINAL + r"[\s-]*" + _NAME + r"[\s,-]+" + _YEAR + _TIME
        ),
        "name day year": (_ON + _NAME + r"\s+(?P<d>\d{1,2})" + _ORDINAL + r",?\s+" + _YEAR + _TIME),
        "day/name/year": (
            rf"^\s*\[?(?P<d>\d{{1,2}})/{_NAME}/{_YEAR}(?:(?::|,?\s+|T){_CLOCK})?{_ZONE}\]?\s*$"
        ),
        DIGITS: r"^\s*(?P<y>(?:19|20)\d\d)(?P<m>\d\d)(?P<d>\d\d)" + _IN_DIGITS,
    }
)
"""What the dates of each form look like; those of :data:`ISO` are read by Arrow."""
EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
        ISO: "2024-05-01T12:00 or 2024-05-01 12:00:00+02:00",
        "month/day/year": "5/31/2024 1:30 PM",
        "day/month/year": "31/5/2024 13:30",
        "day.month.year": "31.5.2024 13:30",
        "year/month/day": "2024/5/31 13:30",
        "day name year": "31 May 2024 13:30",
        "name day year": "May 31, 2024 1:30 PM",
        "day/name/year": "31/May/2024:13:30:00 +0000",
        DIGITS: "20240531 or 20240531133000",
    }
)
KNOWN = "; ".join(text.partition(" or ")[0] for text in EXAMPLES.values())
"""What to say where no form is recognised."""


def epoch(unit: str) -> str:
    """Return the form of counts since 1970 in a unit."""
    return f"{unit} {EPOCH}"


def epoch_unit(form: str) -> str | None:
    """Return what a form counts in; None: it does not count.

    >>> epoch_unit(epoch("ms")), epoch_unit(ISO)
    ('ms', None)
    """
    unit, _, rest = form.partition(" ")
    return unit if rest == EPOCH else None


def one_written(text: str, form: str) -> tuple[int, bool] | None:
    """Return nanoseconds of a date, and whether its zone was named; None: it is not of that form.

    >>> one_written("31.5.2024 13:30", "day.month.year")
    (1717162200000000000, False)
    >>> one_written("Fri, May 31, 2024 1:30 PM GMT", "name day year")
    (1717162200000000000, True)
    """
    found = re.match(FORMS[form], text.strip(), re.ASCII)
    if found is None:
        return None
    text_of = {name: part or "" for name, part in found.groupdict().items()}
    numbers = {name: np.array([READ[name](part)]) for name, part in text_of.items()}
    moments, is_wrong = moments_of(numbers)
    return None if is_wrong[0] else (int(moments[0]), bool(text_of["z"]))


def _month(name: str) -> int:
    return _MONTHS.get(name[:3].lower(), 0)


def _shift(zone: str) -> int:
    """Return by how many seconds a zone is ahead of UTC."""
    if not zone or zone[0] not in "+-":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return 60 * (minutes if zone[0] == "+" else -minutes)


def _whole(text: str) -> int:
    return int(text or "0")


def _half(text: str) -> int:
    """Return 1 for a.m., 2 for p.m."""
    return {"a": 1, "p": 2}.get(text.lower(), 0)


def _fraction(text: str) -> int:
    """Return nanoseconds."""
    return int(text.ljust(9, "0"))


READ: Mapping[str, Callable[[str], int]] = MappingProxyType(
    dict.fromkeys("ymdHMS", _whole) | {"b": _month, "p": _half, "z": _shift, "f": _fraction}
)
"""What each part of a date is as a number."""


def moments_of(parts: Mapping[str, Ints]) -> tuple[Ints, Bools]:
    """Return nanoseconds, and what is no date, from the parts of dates."""
    year, day, hour, half = parts["y"], parts["d"], parts["H"], parts["p"]
    month = parts["b"] if "b" in parts else parts["m"]
    year = np.where(year < 100, np.where(year < 69, year + 2000, year + 1900), year)
    wrong = (hour > 23) | ((half > 0) & ((hour < 1) | (hour > 12)))
    hour = np.where(half > 0, hour % 12 + 12 * (half == 2), hour)
    wrong |= (month < 1) | (month > 12) | (day < 1) | (year < 1678) | (year > 2261)
    month, year = np.where(wrong, 1, month), np.where(wrong, 1970, year)
    months = ((year - 1970) * 12 + month - 1).astype(np.int64).view("datetime64[M]")
    following = months + np.timedelta64(1, "M")
    first, then = (each.astype("datetime64[D]").astype(np.int64) for each in (months, following))
    wrong |= day > then - first
    seconds = hour * 3600 + parts["M"] * 60 + parts["S"] - parts["z"]
    values = (first + day - 1) * DAY + seconds * SECOND + parts["f"]
    return np.where(wrong, 0, values), wrong


STAMPS = {8: (1, ()), 12: (10**4, (100, 1)), 14: (10**6, (10**4, 100, 1))}
"""By their number of digits: what the date is times, and what hours, minutes and seconds are."""


def are_stamps(values: Array) -> bool:
    """Whether numbers are dates in digits, with or without a time, every one of them.

    >>> are_stamps(np.array([20240531, 20240601])), are_stamps(np.array([20240531133000]))
    (True, True)
    >>> are_stamps(np.array([20240531, 20240532])), are_stamps(np.array([]))
    (False, False)
    """
    if not len(values) or not (np.floor(values) == values).all() or values.min() < 19_000_101:
        return False
    length = len(f"{values.max():.0f}")
    if length not in STAMPS or length != len(f"{values.min():.0f}"):
        return False
    scale, units = STAMPS[length]
    whole = values.astype(np.int64)
    day, clock = whole // scale, whole % scale
    parts = {"y": day // 10_000, "m": day // 100 % 100, "d": day % 100}
    for name, unit in zip("HMS", (*units, 0, 0, 0)[:3], strict=True):
        parts[name] = clock // unit % 100 if unit else np.zeros_like(whole)
    nothing = dict.fromkeys("pzf", np.zeros_like(whole))
    is_late = (parts["y"] > 2100) | (parts["M"] > 59) | (parts["S"] > 59)
    return not (moments_of(parts | nothing)[1] | is_late).any()


# ---- parts of the calendar ---------------------------------------------------------------------

PARTS = ("hour", "weekday", "month", "trend")
"""What a time becomes: the hour as number and as word, two words, and days since 1970."""
HOUR_TEXT = "hour (text)"
WEEKDAYS = np.array(["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"], dtype=object)
"""1 January 1970 was a Thursday."""
HOURS = np.array([str(hour) for hour in range(24)], dtype=object)
MONTHS = np.array(
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
    dtype=object,
)


def calendar_part(part: str, wall: Ints, utc: Ints) -> Array:
    """Return one part of times, in nanoseconds by the wall clock and in UTC.

    >>> noon = np.array([np.datetime64("2024-05-01T12:00", "ns").astype(np.int64)])
    >>> [calendar_part(part, noon, noon).tolist() for part in PARTS]
    [[12.0], ['Wed'], ['May'], [19844.5]]
    """
    if part == "trend":
        return (utc // SECOND) / 86_400.0
    if part in ("hour", HOUR_TEXT):
        hours = wall % DAY // (3600 * SECOND)
        return hours.astype(np.float64) if part == "hour" else HOURS[hours]
    if part == "weekday":
        return WEEKDAYS[wall // DAY % 7]
    months = wall.view("datetime64[ns]").astype("datetime64[M]").astype(np.int64)
    return MONTHS[months % 12]


# ---- wall clocks to UTC, by the rules of a named time zone ---------------------------------------
# A wall clock that is put back shows an hour twice, and one that is put forward leaves one out. As
# in PEP 495, both readings of a wall time are those of a clock that has not been changed yet (the
# earlier one) and of a clock that has been changed already.

DAY_IN_SECONDS = 86_400
"""Seconds in a day."""
_START = datetime(1970, 1, 1, tzinfo=UTC)


def zone_named(name: str) -> ZoneInfo:
    """Return a time zone by its name in the IANA database.

    >>> zone_named("Mars/Olympus_Mons")
    Traceback (most recent call last):
        ...
    belated.errors.LogError: tz: there is no time zone 'Mars/Olympus_Mons'; give a name like
    Europe/Berlin or America/New_York
    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # OSError: the name of a folder in the database
        raise LogError(
            f"tz: there is no time zone {name!r}; give a name like Europe/Berlin or "
            "America/New_York"
        ) from None


def to_utc(local: Ints, zone: str, *, late: bool = False) -> Ints:
    """Return wall times, in nanoseconds, as UTC.

    Where a wall time can be read in two ways, ``late`` takes the clock as changed already, and
    otherwise not yet: 01:30 on the night when clocks go back is the first one unless ``late``.

    >>> wall = np.array(["2013-11-03T01:30", "2013-07-01T12:00"], dtype="datetime64[ns]")
    >>> to_utc(wall.view(np.int64), "America/New_York").view("datetime64[ns]").astype("M8[m]")
    array(['2013-11-03T05:30', '2013-07-01T16:00'], dtype='datetime64[m]')
    """
    if not len(local):
        return local
    first, last = (int(year) for year in _years(local))
    changes = [change for year in range(first - 1, last + 2) for change in _changes(zone, year)]
    rules = zone_named(zone)
    start = changes[0][1] if changes else _offset(rules, int(local[0]) // SECOND)
    offsets = np.array([start, *(after for _, _, after in changes)], dtype=np.int64)
    side = min if late else max
    turns = [at + side(before, after) for at, before, after in changes]
    known = np.searchsorted(np.array(turns, dtype=np.int64), local // SECOND, side="right")
    return local - offsets[known] * SECOND


def to_wall(utc: Ints, zone: str) -> Ints:
    """Return instants, in nanoseconds of UTC, as what the wall clock of a zone shows.

    >>> noon = np.array(["2013-07-01T12:00"], dtype="datetime64[ns]").view(np.int64)
    >>> to_wall(noon, "America/New_York").view("datetime64[ns]").astype("M8[m]")
    array(['2013-07-01T08:00'], dtype='datetime64[m]')
    """
    if not len(utc):
        return utc
    first, last = _years(utc)
    changes = [change for year in range(first, last + 1) for change in _changes(zone, year)]
    start = changes[0][1] if changes else _offset(zone_named(zone), int(utc[0]) // SECOND)
    offsets = np.array([start, *(after for _, _, after in changes)], dtype=np.int64)
    turns = np.array([at for at, _, _ in changes], dtype=np.int64)
    return utc + offsets[np.searchsorted(turns, utc // SECOND, side="right")] * SECOND


def _years(local: Ints) -> tuple[int, int]:
    ends = np.array([local.min(), local.max()]).view("datetime64[ns]").astype("datetime64[Y]")
    first, last = ends.astype(np.int64) + 1970
    return int(first), int(last)


@cache
def _changes(zone: str, year: int) -> tuple[tuple[int, int, int], ...]:
    """Return all changes of the clock in a year of UTC: when, and the offsets around it."""
    rules, found = zone_named(zone), []
    day = int(datetime(year, 1, 1, tzinfo=UTC).timestamp())
    end = int(datetime(year + 1, 1, 1, tzinfo=UTC).timestamp())
    before = _offset(rules, day)
    while day < end:
        after = _offset(rules, day + DAY_IN_SECONDS)
        if after != before:
            found.append((_moment(rules, day, day + DAY_IN_SECONDS), before, after))
        day, before = day + DAY_IN_SECONDS, after
    return tuple(found)


def _moment(rules: ZoneInfo, low: int, high: int) -> int:
    """Return the first second with the new offset, which changes once in between."""
    old = _offset(rules, low)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(rules, middle) == old:
            low = middle
        else:
            high = middle
    return high


def _offset(rules: ZoneInfo, second: int) -> int:
    shift = (_START + timedelta(seconds=second)).astimezone(rules).utcoffset()
    assert shift is not None  # the time is aware
    return round(shift.total_seconds())
