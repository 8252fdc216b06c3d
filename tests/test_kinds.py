"""What columns become: the rules, one row and many alike bit for bit, and stored as plain data."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.errors import BadFeatures, LogError
from belated.logs import Kind, Kinds, Log, read
from belated.logs import dates as date_forms
from belated.logs.cells import features_of, read_kind
from belated.logs.numerals import FORMS, number

ROWS = 120
MOMENT = datetime(2024, 5, 31, 13, 30, tzinfo=UTC)


def table(**columns: Any) -> dict[str, Any]:
    """A log of numbers with more columns."""
    count = len(next(iter(columns.values())))
    return {"asked_at": list(range(count)), "answered_at": list(range(1, count + 1)), **columns}


def kind_of(cells: Any, name: str = "x", **more: Any) -> Kind:
    return read(table(**{name: cells}), features=[name], **more).kinds[name]


def same_features(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether two rows are the same to the last bit."""
    return found == wanted and [type(x) for x in found.values()] == [
        type(x) for x in wanted.values()
    ]


def live_is_batch(log: Log, rows: list[dict[str, Any]]) -> bool:
    """Whether each row alone, through its stored description, gives the features of the log."""
    kinds = Kinds.from_dict(json.loads(json.dumps(log.kinds.to_dict())))
    return kinds == log.kinds and all(
        same_features(kinds.row(row), log.row(i)) for i, row in enumerate(rows)
    )


# ---- the rules ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "name", "what", "form"),
    [
        ([1.5, 2.5, None], "x", "number", "plain"),
        (["1.5", "2.5", ""], "x", "number", "plain"),
        (["1,5", "2,25", "1.000,5"], "x", "number", "decimal comma"),
        (["1,500", "2,500.5", "12"], "x", "number", "thousands"),
        (["0:01:30", "1:00:00", "12:30"], "x", "number", "duration"),
        (["PT", "PT", "NO", "PT"], "country", "text", "plain"),
        (["2 days 01:00:00", "0 days 00:00:05", ""], "x", "number", "duration"),
        ([timedelta(1), timedelta(2), None], "x", "number", "duration"),
        ([time(12, 30), time(1), None], "x", "number", "duration"),
        ([Decimal("1.50"), Decimal("2.25"), None], "x", "number", "plain"),
        ([0, 1, 1], "x", "yes or no", "plain"),
        (["0", "1", ""], "x", "yes or no", "plain"),
        ([True, False, None], "x", "yes or no", "plain"),
        (["True", "FALSE", ""], "x", "yes or no", "plain"),
        (["yes", "No", ""], "x", "yes or no", "plain"),
        (["ja", "nein", ""], "x", "yes or no", "plain"),
        (["007", "012", "100"], "x", "text", "plain"),
        (["north", "south", "north"], "x", "text", "plain"),
        (["red", "green", "7"], "x", "text", "plain"),
        ([2**60, 2**60 + 1, 2**60], "x", "text", "plain"),
        ([7, 8, 9] * 20, "zone", "number and text", "plain"),
        (["7", "8", "9"] * 20, "shopId", "number and text", "plain"),
        ([2020.0, 2021.0, 2022.0] * 9, "year", "number and text", "plain"),
        ([7, 8, 9] * 20, "hour", "number", "plain"),
        (list(range(60)), "zone", "number", "plain"),
        ([None, None, None], "x", "left out", "plain"),
        (["", "NA", "null"], "x", "left out", "plain"),
        ([f"order {i}" for i in range(ROWS)], "x", "left out", "plain"),
        ([date(2024, 5, 1), date(2024, 5, 2)], "x", "time", date_forms.ISO),
        (["2024-05-01", "2024-05-02T12:00Z"], "x", "time", date_forms.ISO),
        (["5/31/2024", "6/1/2024 1:30 PM"], "x", "time", "month/day/year"),
        (["31/5/2024", "1/6/2024 13:30"], "x", "time", "day/month/year"),
        (["31-05-2024", "01-06-2024"], "x", "time", "day/month/year"),
        (["31.5.2024 13:30", "1.6.2024"], "x", "time", "day.month.year"),
        (["2024/5/31", "2024/6/1 13:30:15.5"], "x", "time", "year/month/day"),
        (["31 May 2024", "1 June 2024 13:30"], "x", "time", "day name year"),
        (["Fri, 31 May 2024 13:30:00 GMT", "01-Jun-2024"], "x", "time", "day name year"),
        (["May 31, 2024", "June 1, 2024 1:30 pm"], "x", "time", "name day year"),
        ([1_700_000_000, 1_710_000_000], "created_at", "time", "s since 1970"),
        (["1700000000000", "1710000000000"], "ts", "time", "ms since 1970"),
        ([1.7e9, 1.71e9 + 0.5], "start time", "time", "s since 1970"),
        ([1_700_000_000_000_000_001, None], "updated_at", "time", "ns since 1970"),
        ([1_700_000_000, 1_710_000_000], "revenue", "number", "plain"),
    ],
    ids=str,
)
def test_rules(cells: list[Any], name: str, what: str, form: str) -> None:
    found = kind_of(cells, name)
    assert (found.what, found.form) == (what, form)
    assert found.why
    log = read(table(**{name: cells}), features=[name])
    assert tuple(log.features) == found.names == log.kinds.names
    assert live_is_batch(log, [{name: cell} for cell in cells])


def test_what_is_told_overrules() -> None:
    rows = table(zone=[7, 8, 9] * 20, code=["007", "012", "100"] * 20, n=[1, 2, 2] * 20)
    stamps = [1_700_000_000 + i for i in range(60)]
    told: Any = {"zone": "text", "code": "number", "n": "ignore", "m": "time"}
    log = read(rows | {"m": stamps}, features="all", kinds=told)
    assert [kind.what for kind in log.kinds] == ["text", "number", "left out", "time"]
    assert all(kind.why.startswith("as told") for kind in log.kinds)
    assert log.row(0) == {
        "zone": "7",
        "code": 7.0,
        "m hour": 22.0,
        "m hour (text)": "22",
        "m weekday": "Tue",
        "m month": "Nov",
        "m trend": 1_700_000_000 / 86_400,
    }
    with pytest.raises(LogError, match=r"'town' is told to be 'text', and is no feature"):
        read(rows, features="all", kinds={"town": "text"})
    with pytest.raises(LogError, match="holds neither dates nor counts"):
        read(rows, features="all", kinds={"n": "time"})


def test_numbers_of_rows_are_left_out_also_with_zeros_in_front() -> None:
    log = read(table(visit=[f"{i:06}" for i in range(ROWS)]), features=["visit"])
    assert log.kinds["visit"].what == "left out"
    shops = read(table(shop=[f"{i % 7:03}" for i in range(ROWS)]), features=["shop"])
    assert shops.kinds["shop"].what == "text"


def test_an_id_is_tried_as_number_and_as_text() -> None:
    log = read(table(zone=[7.0, 8.0, None, 7.0, 12.0, 8.0, 7.0]), features=["zone"])
    assert log.kinds["zone"].says == "number and text, 3 values"
    assert log.row(0) == {"zone": 7.0, "zone (text)": "7"}
    assert log.row(2) == {}


def test_a_day_without_a_time_is_one_of_the_zone() -> None:
    log = read({"asked_at": ["2024-05-31"], "answered_at": [None]}, tz="Europe/Berlin")
    assert log.predicted_at.astype("M8[h]").tolist() == [datetime(2024, 5, 30, 22)]


def test_times_become_the_calendar_of_their_zone() -> None:
    cells = ["2024-05-31T23:30", "2024-12-31T23:30"]
    log = read(table(shown=cells), features=["shown"], tz="Europe/Berlin")
    assert log.row(0) | {"shown trend": 0.0} == {
        "shown hour": 23.0,
        "shown hour (text)": "23",
        "shown weekday": "Fri",
        "shown month": "May",
        "shown trend": 0.0,
    }
    assert live_is_batch(log, [{"shown": cell} for cell in cells])
    days = read(table(day=["2024-05-31", "2024-06-01"]), features=["day"])
    assert days.kinds["day"].says == "time (weekday, month, trend)"


def test_day_or_month_first_is_asked_and_never_guessed() -> None:
    cells = ["5/6/2024", "6/7/2024"]
    assert kind_of(cells).what == "left out"
    assert "say --dates" in kind_of(cells).why
    assert kind_of(cells, dates="day first").form == "day/month/year"
    assert kind_of(cells, dates="month first").form == "month/day/year"
    times = {"asked_at": cells, "answered_at": ["7/8/2024", ""]}
    with pytest.raises(LogError, match="is the day or the month first in 'asked_at'"):
        read(times)
    log = read(times, dates="day first")
    assert log.predicted_at.astype("M8[D]").tolist() == [date(2024, 6, 5), date(2024, 7, 6)]
    assert "asked_at is read as day/month/year" in log.notes


def test_forms_of_dates_are_never_mixed() -> None:
    asked = ["5/31/2024 1:30 PM", "5/30/2024", "31/5/2024", "2024-06-02"]
    log = read({"asked_at": asked, "answered_at": [None] * 4}, on_bad="skip")
    assert log.predicted_at.astype("M8[m]").tolist() == [
        datetime(2024, 5, 31, 13, 30),
        datetime(2024, 5, 30),
    ]
    assert log.bad.count == 2
    assert "as the others are (month/day/year)" in log.bad.first[0].reason


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_counts_since_1970_are_recognised(unit: str) -> None:
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    asked = [1_717_162_200 * scale + i for i in range(3)]
    log = read({"asked_at": asked, "answered_at": [at + 5 for at in asked]})
    assert (log.unit, log.is_epoch) == (unit, True)
    assert log.predicted_at.tolist() == asked
    assert f"in {unit} since 1970, UTC 2024-05-31T13:30 to 2024-05-31T13:30" in repr(log)
    assert not read({"asked_at": [1, 2], "answered_at": [3, 4]}).is_epoch
    beside = {"asked_at": ["2024-05-31T13:00"], "answered_at": [1_717_162_200 * scale]}
    both = read(beside)
    assert both.observed_at.astype("M8[m]").tolist() == [datetime(2024, 5, 31, 13, 30)]
    if unit != "s":
        with pytest.raises(LogError, match=f"counts s since 1970 and 'answered_at' {unit}"):
            read({"asked_at": [1_717_162_200], "answered_at": asked[:1]})


@pytest.mark.parametrize("cells", [[[1], [2]], [{"a": 1}, {"a": 2}], [b"a", b"b"]], ids=str)
def test_lists_and_structs_are_refused(cells: list[Any]) -> None:
    data = pa.table(table(x=cells))
    kind = read(data, features="all").kinds["x"]
    assert kind.what == "left out"
    assert kind.why.startswith("holds ")
    with pytest.raises(LogError, match=r"column 'x' holds .*--ignore x"):
        read(data, features=["x"])


@pytest.mark.parametrize("cell", ["inf", "-inf", "Infinity"])
def test_infinities_are_bad_rows(cell: str) -> None:
    for cells in (["1.5", cell, "2.5"], [1.5, float(cell), 2.5]):
        log = read(table(x=cells), features=["x"], on_bad="skip")
        assert len(log) == 2
        assert log.bad.first[0].reason.startswith("is no finite number")
        with pytest.raises(LogError, match=r"--text x"):
            read(table(x=cells), features=["x"])
        with pytest.raises(BadFeatures, match="'x' is no finite number"):
            log.kinds.row({"x": cell})


# ---- one row and many ---------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@given(
    st.one_of(
        st.from_regex(r"\A[+-]?\d{1,5}([.,]\d{1,4})?\Z"),
        st.from_regex(r"\A\d{1,3}([.,' ]\d{3}){0,2}([.,]\d{1,3})?\Z"),
        st.from_regex(r"\A\d{0,2}:[0-5]\d(:[0-5]\d([.,]\d+)?)?\Z"),
        st.floats().map(str),
        st.text(max_size=6),
    )
)
def test_one_number_is_read_as_many_are(form: Any, text: str) -> None:
    cells = read_kind(pa.array([text, "1"]), Kind("x", "number", form=form))
    found = number(text, form) if text.strip().lower() not in ("", "nan", "na", "none") else None
    if cells.missing[0]:
        assert found is None
    else:
        assert cells.bad[0] == (found is None)
        assert found is None or found == cells.values[0]


@pytest.mark.parametrize("form", date_forms.FORMS)
@given(
    moment=st.datetimes(datetime(1901, 1, 1), datetime(2099, 1, 1)),
    style=st.integers(0, 4),
    zone=st.sampled_from([None, "Europe/Berlin", "America/New_York"]),
)
def test_one_date_is_read_as_many_are(
    form: str, moment: datetime, style: int, zone: str | None
) -> None:
    day = {
        "month/day/year": f"{moment.month}/{moment.day}/{moment.year}",
        "day/month/year": f"{moment.day}/{moment.month}/{moment.year}",
        "day.month.year": f"{moment.day:02}.{moment.month:02}.{moment.year}",
        "year/month/day": f"{moment.year}/{moment.month}/{moment.day}",
        "day name year": f"{moment.day} {moment:%B} {moment.year}",
        "name day year": f"{moment:%b} {moment.day}, {moment.year}",
        date_forms.DIGITS: f"{moment:%Y%m%d}",
        date_forms.ISO: f"{moment:%Y-%m-%d}",
    }[form]
    clock = [
        *("", f" {moment:%H:%M}", f" {moment:%H:%M:%S}", f" {moment:%H:%M:%S.%f}"),
        f" {moment.hour % 12 or 12}:{moment:%M:%S} {'pm' if moment.hour > 11 else 'AM'}",
    ][style]
    exact = [
        datetime(moment.year, moment.month, moment.day),
        moment.replace(second=0, microsecond=0),
        moment.replace(microsecond=0),
        moment,
        moment.replace(microsecond=0),
    ][style]
    kind = Kind("x", "time", form=form, parts=date_forms.PARTS, zone=zone)
    cells = read_kind(pa.array([day + clock, None]), kind)
    assert cells.missing.tolist() == [False, True]
    assert not cells.bad.any()
    if zone is None:
        assert cells.values[0] == np.datetime64(exact, "ns").astype(np.int64)
    assert kind.moment(day + clock) == cells.values[0]
    assert kind.moment(exact) == cells.values[0]
    columns = features_of(kind, cells)
    live = kind.features(day + clock)
    assert live == {name: column[0] for name, column in columns.items()}


@pytest.mark.parametrize(
    ("what", "form", "cell"),
    [
        ("number", "plain", "soon"),
        ("number", "plain", float("inf")),
        ("number", "plain", object()),
        ("yes or no", "plain", "maybe"),
        ("yes or no", "plain", 2),
        ("time", date_forms.ISO, "tomorrow"),
        ("time", date_forms.ISO, 7),
        ("time", "s since 1970", "tomorrow"),
        ("time", "day.month.year", "32.1.2024"),
        ("time", "day.month.year", "29.2.2023"),
    ],
)
def test_cells_that_mean_nothing_are_refused(what: Any, form: str, cell: Any) -> None:
    with pytest.raises(BadFeatures, match="'x' is n"):
        Kind("x", what, form=form, parts=("hour",)).features(cell)


@pytest.mark.parametrize(
    "cell",
    [
        MOMENT,
        MOMENT.replace(tzinfo=None),
        np.datetime64("2024-05-31T13:30"),
        "2024-05-31T15:30+02:00",
        "2024-05-31 13:30 UTC",
        "2024-05-31 08:30 -0500",
    ],
    ids=str,
)
def test_times_of_programs_are_those_of_files(cell: Any) -> None:
    kind = Kind("x", "time", form=date_forms.ISO, parts=date_forms.PARTS)
    assert kind.moment(cell) == int(MOMENT.timestamp()) * 10**9


def test_descriptions_are_checked() -> None:
    kinds = Kinds((Kind("a", "number"), Kind("b", "text")))
    data = json.loads(json.dumps(kinds.to_dict()))
    assert Kinds.from_dict(data) == kinds
    for broken in (
        [{**data[0], "what": "numbr"}],
        [{**data[0], "form": "roman"}],
        [{**data[0], "colour": "red"}],
        [{"name": "a"}],
        [None],
        7,
    ):
        with pytest.raises(LogError, match="kinds: "):
            Kinds.from_dict(broken)
    with pytest.raises(LogError, match="two columns become the feature 'b'"):
        Kinds((Kind("b", "number"), Kind("b", "text")))
    assert kinds.row({"a": 1, "c": 2}) == {"a": 1.0}


def test_text_and_parquet_give_the_same_features(tmp_path: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    columns = table(
        size=rng.normal(size=ROWS),
        zone=rng.integers(0, 9, ROWS),
        shop=rng.choice(["north", "south"], ROWS).tolist(),
        paid=rng.random(ROWS) < 0.5,
        shown=[datetime(2024, 1, 1) + timedelta(hours=i) for i in range(ROWS)],
    )
    data = pa.table(columns)
    pyarrow.parquet.write_table(data, tmp_path / "log.parquet")
    pyarrow.csv.write_csv(data, tmp_path / "log.csv")
    logs = [read(tmp_path / f"log.{end}", features="all") for end in ("csv", "parquet")]
    assert logs[0].row(7) == logs[1].row(7)
    for log, rows in zip(logs, (_lines(tmp_path / "log.csv"), data.to_pylist()), strict=True):
        assert live_is_batch(log, rows)


def _lines(path: Path) -> list[dict[str, str]]:
    import csv

    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
