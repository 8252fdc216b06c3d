"""Dates as files write them, parts of the calendar, and wall clocks of time zones.

A form says how the dates of one column are written. It is recognised from the first rows, shown,
and the same for the whole column: a date in another form makes a bad row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from types import MappingProxyType
from zoneinfo import ZoneInfo

import numpy as np

from belated.arrays import Array, Ints
from belated.errors import LogError

SECOND = 1_000_000_000
"""Nanoseconds in a second."""
DAY = 86_400 * SECOND
"""Nanoseconds in a day."""
ISO = "ISO 8601"
DIGITS = "year month day, in digits"
EPOCH = "since 1970"
"""Counts since 1970 are called this after their unit."""
EPOCH_UNITS: Mapping[str, int] = MappingProxyType(
    {"s": SECOND, "ms": 1_000_000, "us": 1_000, "ns": 1}
)
"""Nanoseconds in one unit of counts since 1970."""
ISO_DATE = r"^\s*(\d{4}-\d\d-\d\d([T ].*)?|\d{8}T\d.*)\s*$"

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = rf"(?i:{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"
_YEAR = r"(?:\d{4}|\d\d)"
_SLASHES = rf"\d{{1,2}}[/-]\d{{1,2}}[/-]{_YEAR}"
_DAYS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        ISO: (r"\d{4}-?\d\d-?\d\d", "ymd", "2024-05-01T12:00 or 2024-05-01 12:00:00+02:00"),
        "month/day/year": (_SLASHES, "mdy", "5/31/2024 1:30 PM"),
        "day/month/year": (_SLASHES, "dmy", "31/5/2024 13:30"),
        "day.month.year": (rf"\d{{1,2}}\.\s?\d{{1,2}}\.\s?{_YEAR}", "dmy", "31.5.2024 13:30"),
        "year/month/day": (r"\d{4}[/.]\d{1,2}[/.]\d{1,2}", "ymd", "2024/5/31 13:30"),
        "day name year": (
            *(rf"\d{{1,2}}[\s/-]*{_NAME}[\s,/-]+{_YEAR}", "dmy"),
            "31 May 2024 13:30 or 31/May/2024:13:30:00 +0000",
        ),
        "name day year": (rf"{_NAME}\s+\d{{1,2}},?\s+{_YEAR}", "mdy", "May 31, 2024 1:30 PM"),
        DIGITS: (r"(?:19|20)\d{6}", "ymd", "20240531 or 20240531133000"),
    }
)
"""By form, what a day looks like, the order of its year, month and day, and examples."""
FORMS: Mapping[str, str] = MappingProxyType(
    {
        form: (
            rf"^\s*\[?(?:[A-Za-z]{{3,9}},?\s+)?(?P<day>{day})"
            r"(?P<clock>(?:(?:,?\s+|[T:])?\d{1,2}(?::?\d\d.*)?)?)\]?\s*$"
        )
        for form, (day, _, _) in _DAYS.items()
    }
)
"""The pattern of the dates of each form: a day, and perhaps a time."""
EXAMPLES: Mapping[str, str] = MappingProxyType({form: says for form, (*_, says) in _DAYS.items()})
ZONED = r"(?i)(Z|UTC|GMT|[+-]\d\d:?\d\d)\s*\]?$"
"""The end of a time that names its zone."""
_CLOCK = re.compile(
    r"(?:,?\s+|[T:])?(?P<H>\d{1,2})(?::?(?P<M>[0-5]\d)(?::?(?P<S>[0-5]\d)(?:[.,](?P<f>\d{1,9}))?)?)?"
    r"(?:\s*(?P<p>[ap])\.?m\.?)?\s*(?P<z>Z|UTC|GMT|[+-]\d\d:?\d\d)?\s*\]?",
    re.ASCII | re.IGNORECASE,
)


def epoch(unit: str) -> str:
    """Return the form of counts since 1970 in a unit."""
    return f"{unit} {EPOCH}"


def epoch_unit(form: str) -> str | None:
    """Return the unit of a form that counts; None: it does not count.

    >>> epoch_unit(epoch("ms")), epoch_unit(ISO)
    ('ms', None)
    """
    unit, _, rest = form.partition(" ")
    return unit if rest == EPOCH else None


def one_written(text: str, form: str) -> tuple[int, bool] | None:
    """Return nanoseconds of a date, and whether its zone was named; None: it is not of that form.

    >>> one_written("31.5.2024 13:30", "day.month.year")
    (1717162200000000000, False)
    >>> one_written("Fri, 31 May 2024 1:30 PM GMT", "day name year")
    (1717162200000000000, True)
    """
    found = re.match(FORMS[form], text, re.ASCII)
    if found is None:
        return None
    day, clock = day_of(found["day"], form), clock_of(found["clock"])
    return (
        None
        if day is None or clock is None
        else (day + clock, bool(re.search(ZONED, found["clock"])))
    )


def day_of(text: str, form: str) -> int | None:
    """Return the nanoseconds from 1970 to a day; None: there is no such day."""
    numbers = re.findall(r"(?<!\d)\d{4}|\d\d?|[A-Za-z]+", text)
    part = dict(zip(_DAYS[form][1], numbers, strict=False))
    month, year = part["m"][:3].lower(), int(part["y"])
    if year < 100:
        year += 2000 if year < 69 else 1900
    try:
        number = int(month) if month.isdigit() else _MONTHS.index(month) + 1
        days = date(year, number, int(part["d"])).toordinal() - date(1970, 1, 1).toordinal()
    except ValueError:
        return None
    return days * DAY if 1677 < year < 2262 else None


@lru_cache(maxsize=1 << 17)  # there are 86,400 seconds in a day
def clock_of(text: str) -> int | None:
    """Return the nanoseconds from midnight, in UTC if a zone is named; None: it is no time."""
    if not text:
        return 0
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    hour, half, zone = int(found["H"]), (found["p"] or "").lower(), found["z"] or ""
    if hour > 23 or (half and not 0 < hour < 13):
        return None
    hour = hour % 12 + 12 * (half == "p") if half else hour
    ahead = 60 * int(zone[1:3]) + int(zone[-2:]) if zone[:1] in ("+", "-") else 0
    minutes = 60 * hour + int(found["M"] or 0) - (ahead if zone[:1] == "+" else -ahead)
    return (60 * minutes + int(found["S"] or 0)) * SECOND + int((found["f"] or "").ljust(9, "0"))


def are_stamps(values: Array) -> bool:
    """Whether numbers are dates in digits, with or without a time, every one of them.

    >>> are_stamps(np.array([20240531, 20240601])), are_stamps(np.array([20240531133000]))
    (True, True)
    >>> are_stamps(np.array([20240531, 20240532])), are_stamps(np.array([]))
    (False, False)
    """
    if not len(values) or not (np.floor(values) == values).all():
        return False
    texts = [f"{value:.0f}" for value in values.tolist()]
    is_long = len(texts[0]) in (8, 12, 14) and len({*map(len, texts)}) == 1
    return is_long and all(one_written(text, DIGITS) is not None for text in texts)


# ---- parts of the calendar ---------------------------------------------------------------------

PARTS = ("hour", "weekday", "month", "trend")
"""The features of a time: the hour as number and as word, two words, and days since 1970."""
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
# earlier one) and of a clock that has been changed already. Clocks change on quarters of an hour.

_QUARTER = 900 * SECOND
_START = datetime(1970, 1, 1)


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
    rules = zone_named(zone)
    return local - _offsets(local, lambda wall: wall.replace(tzinfo=rules, fold=late))


def to_wall(utc: Ints, zone: str) -> Ints:
    """Return instants, in nanoseconds of UTC, as what the wall clock of a zone shows.

    >>> noon = np.array(["2013-07-01T12:00"], dtype="datetime64[ns]").view(np.int64)
    >>> to_wall(noon, "America/New_York").view("datetime64[ns]").astype("M8[m]")
    array(['2013-07-01T08:00'], dtype='datetime64[m]')
    """
    rules = zone_named(zone)
    return utc + _offsets(utc, lambda at: at.replace(tzinfo=UTC).astimezone(rules))


def _offsets(times: Ints, placed: Callable[[datetime], datetime]) -> Ints:
    """Return offsets from UTC, of which ``placed`` says one for each quarter of an hour."""
    quarters = times // _QUARTER
    is_new = np.diff(quarters, prepend=quarters[:1] - 1) != 0  # logs are nearly sorted
    starts, place = np.unique(quarters[is_new], return_inverse=True)
    shifts = (placed(_START + timedelta(minutes=15 * at)).utcoffset() for at in starts.tolist())
    seconds = [0 if shift is None else round(shift.total_seconds()) for shift in shifts]
    offsets = np.array(seconds, dtype=np.int64) * SECOND
    found: Ints = offsets[place[np.cumsum(is_new) - 1]]
    return found
