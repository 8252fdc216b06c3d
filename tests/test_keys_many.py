"""Keys of many rows at once: a batch is what its rows would be one by one, or is refused whole."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import belated as bl
from belated import core
from belated.core import linear
from belated.errors import BadFeedback, BadKey, UnknownTicket

ROWS = [[1.0, 0.5], [2.0, 0.0], [3.0, -1.0]]


def model(**changes: Any) -> bl.LinearModel:
    return bl.LinearModel(**{"loss": "squared", "bits": 4, "wait": None, **changes})


@pytest.mark.parametrize(
    "form",
    [
        tuple,
        iter,
        np.array,
        lambda keys: np.array(keys, dtype=object),
        pd.Series,
        pd.Index,
        lambda keys: pd.Series(keys, index=[7, 8, 9]),
        dict.fromkeys,
    ],
    ids=range(8),
)
@pytest.mark.parametrize("keys", [["a", "b", "c"], ["70", "80", "90"]], ids=["text", "digits"])
def test_columns_of_keys(form: Callable[[Any], Any], keys: list[Any]) -> None:
    given, plain = model(), model()
    plain.predict_many(ROWS, keys=keys)
    if form == dict.fromkeys:
        with pytest.raises(BadKey, match="keys must be a list, one for each row, got dict"):
            given.predict_many(ROWS, keys=form(keys))
        return
    given.predict_many(ROWS, keys=form(keys))
    assert given.snapshot() == plain.snapshot()
    for each, names in ((given, form(keys)), (plain, keys)):
        assert each.observe_many(names, [1.0, 2.0, 3.0]).all()
    assert given.snapshot() == plain.snapshot()


GAPS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "nan": lambda keys: [math.nan if key is None else key for key in keys],
    "object": lambda keys: np.array(keys, dtype=object),
    "pandas": lambda keys: pd.Series(keys, dtype="string"),
    "category": lambda keys: pd.Series(keys, dtype="category"),
    "NaT": lambda keys: pd.Series([pd.NaT if key is None else key for key in keys], dtype=object),
    "polars": pl.Series,
    "arrow": pa.array,
    "chunked": lambda keys: pa.chunked_array([keys[:1], keys[1:]]),
}


@pytest.mark.parametrize("form", GAPS.values(), ids=GAPS)
@pytest.mark.parametrize("keys", [["a", None, "c"], ["70", None, "90"]], ids=["text", "digits"])
def test_columns_with_gaps(form: Callable[[Any], Any], keys: list[Any], tmp_path: Path) -> None:
    given, plain = model(), model()
    given.predict_many(ROWS, keys=form(keys))
    plain.predict_many(ROWS, keys=keys)
    before = given.snapshot()
    assert before == plain.snapshot()
    for each in (given, model()):
        with pytest.raises(UnknownTicket, match="observe_many: position 1: there is no key or tic"):
            each.observe_many(form(keys), [1.0, 2.0, 3.0])
    assert given.snapshot() == before
    whole = [keys[2], keys[0]]
    if form is not GAPS["category"]:
        assert given.observe_many(form(whole), [1.0, 2.0]).all()
        assert plain.observe_many(whole, [1.0, 2.0]).all()
        assert given.snapshot() == plain.snapshot()
    with bl.open(tmp_path / "gaps.db") as store:
        stored = store.model("gaps", model())
        stored.predict_many(ROWS, keys=form(keys))
        assert stored.snapshot() == before
    with bl.open(tmp_path / "gaps.db") as store:
        assert store.model("gaps").snapshot() == before


def test_the_row_that_has_no_key_at_all_is_named() -> None:
    asked = model()
    cases: list[tuple[Any, int]] = [
        (["a", math.nan, 2.5], 2),
        ([None, b"x", "c"], 1),
        (pd.Series([70, None, 90]), 0),  # of floats
        (pd.Series([70, 80, 90]), 0),
        (["a", "b", np.int64(3)], 2),
        ([np.nan, None, np.True_], 2),
    ]
    for keys, row in cases:
        with pytest.raises(BadKey, match=f"row {row}: a key is a string, got"):
            asked.predict_many(ROWS, keys=keys)
    assert asked.rounds == 0


ODD: list[tuple[Any, int, str]] = [
    ([1.0, None, 2.0], 1, "None"),
    ([1.0, 2.0, "3"], 2, "'3'"),
    (["1", "2", "3"], 0, "'1'"),
    (np.array([1.0, None, "x"], dtype=object), 1, "None"),
    (pl.Series(["1", None, "2"]), 0, "'1'"),
    ([np.bool_(True), [2.0], 3], 1, "\\[2.0\\]"),
]


@pytest.mark.parametrize(("labels", "place", "shown"), ODD, ids=range(len(ODD)))
def test_a_label_that_is_no_number_has_a_position(labels: Any, place: int, shown: str) -> None:
    asked = model()
    asked.predict_many(ROWS, keys=["a", "b", "c"])
    before = asked.snapshot()
    words = f"observe_many: labels must be numbers, got {shown} at position {place}"
    with pytest.raises(BadFeedback, match=words):
        asked.observe_many(["a", "b", "c"], labels)
    with pytest.raises(BadFeedback, match=words.replace("labels", "weights")):
        asked.observe_many(["a", "b", "c"], [1.0, 2.0, 3.0], weights=labels)
    assert asked.snapshot() == before


@pytest.mark.parametrize(
    ("form", "rows"),
    [
        (pd.DataFrame, lambda df: df.to_dict("records")),
        (pl.DataFrame, lambda df: df.to_dicts()),
        (pa.table, lambda table: table.to_pylist()),
    ],
    ids=["pandas", "polars", "arrow"],
)
def test_data_frames_are_their_rows(
    form: Callable[[Any], Any], rows: Callable[[Any], Any], tmp_path: Path
) -> None:
    table = form({"a": [1.0, 2.0], "b": ["x", "y"]})
    with bl.open(tmp_path / "frames.db") as store:
        for asked in (model(), store.model("frames", model())):
            assert asked.peek_many(table).tolist() == asked.peek_many(rows(table)).tolist()
            tickets, values = asked.predict_many(table, keys="b")
            assert tickets.tolist() == [0, 1]
            assert asked.observe_many(form({"b": ["y", "x"]})["b"], [1.0, 0.0]).all()
            for key, value in zip("xy", values.tolist(), strict=True):
                assert not asked.is_open(key)
                assert value == model().peek({"a": 1.0})


def test_keys_of_closed_tickets_are_forgotten() -> None:
    live = model(max_open=10)
    for begin in range(0, 6000, 100):
        live.predict_many([[1.0]] * 100, keys=[f"k{i}" for i in range(begin, begin + 100)])
    assert len(live._keys.ticket_of) <= 2 * len(live.answerable()) + 100 < 4000
    assert live.observe_many([f"k{i}" for i in range(5990, 6000)], np.ones(10)).all()


@pytest.mark.skipif(not core.COMPILED, reason="interpreted events can be cut in two")
def test_who_is_interrupted_has_keys_for_what_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "CHUNK", 100)
    live, count = model(), 100_000

    def interrupt(*_: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0005)
        if live.rounds:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.0005)
    try:
        with pytest.raises(KeyboardInterrupt):
            live.predict_many(np.ones((count, 1)), keys=[f"k{i}" for i in range(count)])
    finally:
        signal.signal(signal.SIGALRM, before)
    assert 0 < live.rounds < count
    assert live.ticket(f"k{live.rounds - 1}") == live.rounds - 1
    with pytest.raises(UnknownTicket):
        live.ticket(f"k{live.rounds}")
