"""Data frames: the same coordinates as their rows as dicts, whatever library they are from."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated import LinearModel
from belated.errors import BadFeatures, BadFeedback, ClockError
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
        (np.int64(3), 3.0),
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


@pytest.mark.parametrize("bad", [[1], b"bytes", 1j, object(), 10**400])
def test_what_is_no_scalar_is_refused_with_its_row_and_column(bad: Any) -> None:
    with pytest.raises(BadFeatures, match="'a'"):
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
