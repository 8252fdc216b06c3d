"""Data frames: the same coordinates as their rows as dicts, whatever library they are from."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated import LinearModel
from belated.errors import BadFeatures, BadFeedback, BadKey, ClockError
from belated.frames import Frame, cells_of
from belated.models.linear.features import Hasher
from belated.scalars import plain

SIZES = st.none() | st.floats(-1e6, 1e6) | st.just(math.nan)
COLUMNS = {
    "size": SIZES,
    "word": st.none() | st.text(st.characters(codec="utf-8"), max_size=3),
    "colour": st.sampled_from(["red", "blue"]),
    "count": st.none() | st.integers(-(2**62), 2**62),
    "paid": st.none() | st.booleans(),
    "day": st.none() | st.dates(dt.date(1990, 1, 1), dt.date(2050, 1, 1)),
    "at": st.none() | st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2050, 1, 1)),
}
TABLES = st.lists(
    st.tuples(*COLUMNS.values()).map(lambda cells: dict(zip(COLUMNS, cells, strict=True))),
    min_size=1,
    max_size=6,
)
ARROW = pa.schema(
    {
        "size": pa.float64(),
        "word": pa.string(),
        "colour": pa.dictionary(pa.int32(), pa.string()),
        "count": pa.int64(),
        "paid": pa.bool_(),
        "day": pa.date32(),
        "at": pa.timestamp("us"),
    }
)
KINDS: dict[str, Any] = {
    "pandas": lambda rows: pd.DataFrame(rows).astype(
        {"colour": "category", "count": "Int64", "paid": "boolean", "at": "datetime64[us]"}
    ),
    "pandas objects": lambda rows: pd.DataFrame(rows, dtype=object),
    "pandas on arrow": lambda rows: pa.Table.from_pylist(rows, schema=ARROW).to_pandas(
        types_mapper=pd.ArrowDtype
    ),
    "polars": lambda rows: pl.DataFrame(
        rows,
        {
            "size": pl.Float64,
            "word": pl.String,
            "colour": pl.Categorical,
            "count": pl.Int64,
            "paid": pl.Boolean,
            "day": pl.Date,
            "at": pl.Datetime("us"),
        },
    ),
    "pyarrow": lambda rows: pa.Table.from_pylist(rows, schema=ARROW),
    "chunks": lambda rows: pa.concat_tables(
        [pa.Table.from_pylist(part, schema=ARROW) for part in (rows[:1], rows[1:])]
    ),
}
GROUPS = [("colour", "size"), ("word", "day", "count"), ("colour", "absent")]


def same(one: Any, other: Any) -> None:
    """Demand equal arrays, down to the signs of zeros."""
    for a, b in zip(one, other, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("kind", KINDS)
@given(rows=TABLES)
def test_frames_are_their_rows_as_dicts(kind: str, rows: list[dict[str, Any]]) -> None:
    frame = Frame(KINDS[kind](rows), "test")
    by_column = Hasher(16, GROUPS).table(frame.columns)
    same(by_column, Hasher(16, GROUPS).rows(rows))
    same(by_column, Hasher(16, GROUPS).rows(frame.dicts()))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Decimal("0.1"), 0.1),
        (np.float32(0.5), 0.5),
        (np.int8(3), 3.0),
        (Fraction(2), 2.0),
        (np.bool_(True), 1.0),
        (np.timedelta64(90, "m"), 5400.0),
        (dt.timedelta(minutes=90), 5400.0),
        (np.str_("a"), "a"),
        (dt.date(2026, 3, 1), "2026-03-01"),
        (dt.datetime(2026, 3, 1, 12), "2026-03-01T12:00:00"),
        (np.datetime64("2026-03-01"), "2026-03-01"),
        (np.datetime64("2026-03-01T12:00:00", "ns"), "2026-03-01T12:00:00"),
        (pd.Timestamp("2026-03-01T12:00:00+01:00"), "2026-03-01T12:00:00+01:00"),
        *((nothing, None) for nothing in (None, math.nan, pd.NA, pd.NaT, np.datetime64("NaT"))),
    ],
)
def test_scalars(given: Any, expected: Any) -> None:
    assert plain(given) == expected
    row = {"a": given, "b": 2.0}
    without = {"b": 2.0} if expected is None else {"a": expected, "b": 2.0}
    same(Hasher(16, [("a", "b")]).row(row), Hasher(16, [("a", "b")]).row(without))
    cells = cells_of([given, "other"])
    assert cells.missing.tolist() == [expected is None, False]


@pytest.mark.parametrize("bad", [[1], {}, b"bytes", 1j, np.zeros(2), object(), 10**400])
def test_what_is_no_scalar_is_refused_with_its_row_and_column(bad: Any) -> None:
    says = "must be a number, a string, a date or None|is too large"
    with pytest.raises(BadFeatures, match=f"'a'.*({says})"):
        Hasher(4).row({"a": bad})
    frame = pd.DataFrame({"b": [1.0, 2.0], "a": pd.Series([1.0, bad], dtype=object)})
    with pytest.raises(BadFeatures, match="predict_many: row 1, column 'a'"):
        LinearModel(bits=4).predict_many(frame)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_errors_of_frames(kind: str) -> None:
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[kind]
    model = LinearModel(bits=4)
    with pytest.raises(BadFeatures, match="row 1, column 'a': value inf"):
        model.predict_many(make({"a": [1.0, math.inf]}))
    with pytest.raises(BadFeatures, match="no column 'visit'; it has 'a'"):
        model.predict_many(make({"a": [1.0]}), keys="visit")
    assert model.rounds == 0


def test_what_is_no_frame_is_refused() -> None:
    model = LinearModel(bits=4)
    with pytest.raises(BadFeatures, match=r"give frame\.collect"):
        model.predict_many(pl.LazyFrame({"a": [1.0]}))
    with pytest.raises(BadFeatures, match="two columns called 'a'"):
        model.predict_many(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))
    with pytest.raises(BadFeatures, match=r"has a column 0; rename it, .*to_numpy"):
        model.predict_many(pd.DataFrame([[1.0, 2.0]]))


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
CLICKS: dict[str, Any] = {
    "visit": ["a", "b", "c"],
    "clicked_at": [dt.datetime(2026, 3, 1, hour, tzinfo=dt.UTC) for hour in (1, 2, 3)],
    "size": [1.0, 2.0, 3.0],
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_keys_and_times_are_columns(make: Any) -> None:
    frame, model, single = make(CLICKS), LinearModel(bits=4), LinearModel(bits=4)
    found = model.predict_many(frame, keys="visit", at="clicked_at", as_frame=True)
    assert type(found) is type(frame)
    values = list(cells_of(found["value"]).numbers)
    for key, at, size in zip(*CLICKS.values(), strict=True):
        assert single.predict({"size": size}, key=key, at=at).value == values.pop(0)
    heard = make({"visit": ["c", "a"], "bought": [1, 0], "at": CLICKS["clicked_at"][1:]})
    assert model.observe_many(heard["visit"], heard["bought"], at=heard["at"]).all()
    for place, key in enumerate(heard["visit"]):
        key = key.as_py() if hasattr(key, "as_py") else key
        single.observe(key, place == 0, at=CLICKS["clicked_at"][1 + place])
    assert model.peek({"size": 1.0}) == pytest.approx(single.peek({"size": 1.0}), abs=0.2)
    assert type(model.peek_many(frame, as_frame=True)) is type(frame)
    with pytest.raises(ClockError, match="has no time zone"):
        model.predict({"size": 1.0}, at=dt.datetime(2026, 3, 2))


LABELS = [Decimal("0.5"), np.float32(2.0), 1, True]


@pytest.mark.parametrize(
    "labels",
    [LABELS, pd.Series([0.5, 2, 1, 1]), pd.array([1, 2, 1, 1], "Int64"), pa.array(LABELS[:1] * 4)],
)
def test_labels_are_any_numbers(labels: Any) -> None:
    model: Any = LinearModel(bits=4)
    single: Any = LinearModel(bits=4)
    for each in (model, single):
        each.predict_many([{"a": 1.0}] * 4)
    assert model.observe_many(range(4), labels).all()
    for ticket, label in enumerate(cells_of(labels).numbers.tolist()):
        single.observe(ticket, Decimal(label))
    assert model.snapshot() == single.snapshot()


def test_labels_that_are_none() -> None:
    model: Any = LinearModel(bits=4)
    model.predict_many([{"a": 1.0}] * 2)
    with pytest.raises(BadFeedback, match="got '1' at position 1"):
        model.observe_many([0, 1], [Decimal(1), "1"])
    with pytest.raises(BadFeedback, match="got nan for ticket 1"):
        model.observe_many([0, 1], pd.array([1, None], "Int64"))


VISITS = pd.DataFrame(
    {
        "size": [1.5, 2.5],
        "shop": ["north", "south"],
        "visit": ["v1", "v2"],
        "at": pd.date_range("2026-03-01", periods=2, tz="UTC"),
    }
)


@pytest.mark.parametrize("make", [bl.LinearModel, lambda: bl.Intervals(bl.LinearModel())])
def test_a_row_of_pandas_is_its_dict(make: Any, tmp_path: Any) -> None:
    row = VISITS[["size", "shop"]].iloc[0]
    one, other = make(), make()
    assert one.predict(row)[1:] == other.predict(dict(row))[1:]
    assert one.peek(row) == other.peek(dict(row))
    one.predict_many([row, row])
    other.predict_many([dict(row), dict(row)])
    assert one.snapshot() == other.snapshot()
    assert make().predict(pd.Series([1.0, 2.0]))[1] == 0.0  # a vector
    for many in (VISITS.iloc[:1], [dict(row)]):
        with pytest.raises(BadFeatures, match=r"predict: one row is wanted.*use predict_many"):
            one.predict(many)
        with pytest.raises(BadFeatures, match=r"peek: one row is wanted.*use peek_many"):
            one.peek(many)
    with bl.open(tmp_path / "s.db") as store:
        stored = store.model("m", make())
        stored.predict(row)
        stored.predict_many([row, row])
    with bl.open(tmp_path / "s.db") as store:
        assert store.model("m").report().rounds == 3


@pytest.mark.parametrize("is_stored", [False, True])
def test_choosers_and_knobs_take_frames(is_stored: bool, tmp_path: Any) -> None:
    frame, rows = VISITS, VISITS[["size", "shop"]].to_dict("records")
    with bl.open(tmp_path / "s.db") as store:

        def kept(name: str, model: Any) -> Any:
            return store.model(name, model) if is_stored else model

        chooser, plain = (kept(name, bl.Chooser(["a", "b"])) for name in "cp")
        found = chooser.choose_many(frame, keys="visit", at="at")
        expected = plain.choose_many(rows, keys=frame["visit"], at=frame["at"])
        assert found.actions == expected.actions
        assert chooser.snapshot() == plain.snapshot()
        assert chooser.peek_many(frame) == [
            chooser.peek(row.to_dict()) for _, row in frame.iterrows()
        ]
        with pytest.raises(BadKey, match="keys must be a list"):
            chooser.choose_many(rows, keys="ab")
        knobs = kept("k", bl.Knobs({"price": (1, 5)}, context={"size": (0, 4)}))
        knobs.predict_many(frame[["size", "visit", "at"]], keys="visit", at="at")
        assert knobs.is_open("v2")


@pytest.mark.parametrize("is_stored", [False, True])
def test_every_batch_of_a_frame_can_be_a_frame(is_stored: bool, tmp_path: Any) -> None:
    frame = VISITS[["size", "visit"]]
    with bl.open(tmp_path / "s.db") as store:

        def kept(name: str, model: Any) -> Any:
            return store.model(name, model) if is_stored else model

        intervals = kept("i", bl.Intervals(bl.LinearModel()))
        chooser = kept("c", bl.Chooser(["a", "b"]))
        knobs = kept("k", bl.Knobs({"price": (1, 5)}, context={"size": (0, 4)}))
        for found, names in (
            (intervals.predict_many(frame, keys="visit", as_frame=True), "ticket value low high"),
            (intervals.peek_many(VISITS[["size"]], as_frame=True), "value low high"),
            (chooser.choose_many(frame, keys="visit", as_frame=True), "ticket action probability"),
            (knobs.predict_many(frame, keys="visit", as_frame=True), "ticket setting"),
        ):
            assert list(found.columns) == names.split()
            assert found.index.equals(frame.index)
        before = intervals.snapshot()
        with pytest.raises(BadFeatures, match="as_frame=True needs rows in a frame, got a list"):
            intervals.predict_many([{"size": 1.0}], as_frame=True)
        with pytest.raises(BadFeatures, match="the frame has no column 'ate'; it has 'size', 'vis"):
            intervals.predict_many(frame, at="ate")
        assert intervals.snapshot() == before
        assert "<th>predictions</th><td>2</td>" in intervals._repr_html_()
    many: Any = bl.LinearModel().predict_many(np.ones((12, 1)))
    html = many._repr_html_()
    assert "<caption>Forecasts, 12 rows</caption>" in html
    assert html.count("<tr>") == 11
