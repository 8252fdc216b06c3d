"""Wall clocks to UTC, by the rules of a named time zone.

A wall clock that is put back shows an hour twice, and one that is put forward leaves one out. As in
PEP 495, both readings of a wall time are those of a clock that has not been changed yet (the
earlier one) and of a clock that has been changed already.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import numpy as np

from belated.arrays import Ints
from belated.errors import LogError

SECOND = 1_000_000_000
"""Nanoseconds in a second."""
DAY = 86_400
"""Seconds in a day."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
        after = _offset(rules, day + DAY)
        if after != before:
            found.append((_moment(rules, day, day + DAY), before, after))
        day, before = day + DAY, after
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
    shift = (EPOCH + timedelta(seconds=second)).astimezone(rules).utcoffset()
    assert shift is not None  # the time is aware
    return round(shift.total_seconds())
