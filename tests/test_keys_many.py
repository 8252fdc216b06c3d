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
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated import core
from belated.core import linear
from belated.errors import AlreadyObserved, BadFeatures, BadFeedback, BadKey, UnknownTicket
from conftest import examples

ROWS = [[1.0, 0.5], [2.0, 0.0], [3.0, -1.0]]


def model(**changes: Any) -> bl.LinearModel:
    return bl.LinearModel(**{"loss": "squared", "bits": 4, "wait": None, **changes})


def test_keys_of_a_batch_are_those_of_its_rows() -> None:
    many, single = model(), model()
    tickets, values = many.predict_many(ROWS, keys=["a", None, "c"])
    said = [single.predict(row, key=key) for row, key in zip(ROWS, ["a", None, "c"], strict=True)]
    assert list(zip(tickets.tolist(), values.tolist(), strict=True)) == said
    assert many.snapshot() == single.snapshot()
    assert (many.ticket("a"), many.ticket("c")) == (0, 2)
    assert many.observe_many(["c", 1], [4.0, 5.0]).tolist() == [True, True]
    assert [single.observe("c", 4.0), single.observe(1, 5.0)] == [True, True]
    assert many.snapshot() == single.snapshot()
    for each in (many, single):
        with pytest.raises(UnknownTicket, match="'c'"):
            each.observe("c", 1.0)  # it is free again
    assert many.predict_many([[1.0]], keys=["c"])[0].tolist() == [3]
    assert many.observe_many(("a", "c"), [1.0, 2.0], [2.0, 1.0]).all()


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


def test_tickets_of_a_column() -> None:
    asked = model()
    asked.predict_many(ROWS)
    assert asked.observe_many(pa.array([2, 0]), [1.0, 2.0]).all()
    with pytest.raises(UnknownTicket, match="tickets must be whole numbers"):
        asked.observe_many([1.5], [1.0])
    with pytest.raises(UnknownTicket, match="position 0: there is no key"):
        asked.observe_many(np.array([math.nan, 1.0]), [1.0, 2.0])
    assert asked.open == 1


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
        asked.observe_many(["a", "b", "c"], [1.0, 2.0, 3.0], labels)
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
def test_data_frames_are_refused_with_what_to_give(
    form: Callable[[Any], Any], rows: Callable[[Any], Any], tmp_path: Path
) -> None:
    table = form({"a": [1.0, 2.0], "b": ["x", "y"]})
    with bl.open(tmp_path / "frames.db") as store:
        for asked in (model(), store.model("frames", model())):
            with pytest.raises(BadFeatures, match="give its rows as dicts"):
                asked.predict_many(table)
            with pytest.raises(BadFeatures, match="give its rows as dicts"):
                asked.peek_many(table)
            assert asked.rounds == 0
            assert asked.predict_many(rows(table))[0].tolist() == [0, 1]


REFUSED: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda m: m.predict_many(ROWS, keys=["x", "y"]), BadKey, "3 rows need as many keys, got 2"),
    (lambda m: m.predict_many(ROWS, keys=["x", "y", "x"]), BadKey, "row 2: .* 'x' is .* row 0 too"),
    (lambda m: m.predict_many(ROWS, keys=[8, "y", 8]), BadKey, "row 0: .* got 8; .* use str"),
    (lambda m: m.predict_many(ROWS, keys=["x", "b", "y"]), BadKey, "row 1: .* 'b' .* still open"),
    (
        lambda m: m.predict_many(ROWS, keys=["x", 1.5, "y"]),
        BadKey,
        "row 1: a key is a string, got 1.5",
    ),
    (lambda m: m.predict_many(ROWS, keys=["x", math.inf, "y"]), BadKey, "row 1: .* got inf"),
    (lambda m: m.predict_many(ROWS, keys=["x", b"b", "y"]), BadKey, "row 1: .* got b'b'"),
    (lambda m: m.predict_many(ROWS, keys=["x", "y", True]), BadKey, "row 2: .* got True"),
    (lambda m: m.predict_many(ROWS, keys=[1, 2, 3]), BadKey, "row 0: a key is a string, got 1"),
    (lambda m: m.predict_many(ROWS, keys=[["x"], "y", "z"]), BadKey, "row 0: .* got \\['x'\\]"),
    (lambda m: m.predict_many(ROWS, keys="abc"), BadKey, "one for each row, got 'abc'"),
    (lambda m: m.predict_many(ROWS, keys={"x", "y", "z"}), BadKey, "one for each row, got set"),
    (lambda m: m.predict_many(ROWS, keys=5), BadKey, "one for each row, got int"),
    (lambda m: m.predict_many(ROWS, keys=np.array([["x"]] * 3)), BadKey, "got ndarray"),
    (lambda m: m.predict_many(ROWS, keys=np.array([1.0, 2.0, 3.0])), BadKey, "row 0: .* got 1.0"),
    (lambda m: m.predict_many(ROWS, keys=["x", "y", "z"], at="?"), bl.BelatedError, "time"),
    (lambda m: m.observe_many(["b", "x"], [1, 1]), UnknownTicket, "position 1: .* the key 'x'"),
    (lambda m: m.observe_many(["b", 9], [1, 1]), UnknownTicket, "position 1 .9.: ticket 9"),
    (lambda m: m.observe_many(["b", None], [1, 1]), UnknownTicket, "position 1: there is no"),
    (lambda m: m.observe_many(["b", 1.5], [1, 1]), UnknownTicket, "position 1: a ticket is an int"),
    (lambda m: m.observe_many(["b", True], [1, 1]), UnknownTicket, "position 1: ticket True"),
    (lambda m: m.observe_many(["b", ["c"]], [1, 1]), UnknownTicket, "position 1: a ticket is"),
    (lambda m: m.observe_many(["b", "c", "b"], [1, 1, 1]), AlreadyObserved, "position 2 .'b'.: t"),
    (lambda m: m.observe_many(["b", "c", 1], [1, 1, 1]), AlreadyObserved, "position 2 .1.: ticket"),
    (lambda m: m.observe_many(["b", "gone"], [1, 1]), AlreadyObserved, "position 1 .'gone'.: tic"),
    (lambda m: m.observe_many(["b", "c"], [1, math.nan]), BadFeedback, "position 1 .'c'.: labels"),
    (lambda m: m.observe_many(["b", "c"], [1, 1], [1, 0]), BadFeedback, "position 1 .'c'.: the w"),
    (lambda m: m.observe_many(["b", "c"], [1]), BadFeedback, "labels must have shape"),
    (lambda m: m.observe_many("bc", [1, 1]), UnknownTicket, "must be a list, got 'bc'"),
    (lambda m: m.observe_many({"b": 1}, [1]), UnknownTicket, "must be a list, got dict"),
    (lambda m: m.observe_many(None, [1]), UnknownTicket, "must be a list, got NoneType"),
]


@pytest.mark.parametrize("case", REFUSED, ids=range(len(REFUSED)))
def test_a_batch_is_refused_as_a_whole(case: tuple[Any, type[Exception], str]) -> None:
    act, error, message = case
    live = model()
    live.predict_many(ROWS, keys=["gone", "b", "c"])
    live.observe(0, 1.0)
    before, names = live.snapshot(), dict(live._keys.items())
    with pytest.raises(error, match=message):
        act(live)
    assert live.snapshot() == before
    assert dict(live._keys.items()) == names


def test_an_empty_batch_names_nothing() -> None:
    live = model()
    assert live.predict_many([], keys=[])[0].size == 0
    assert live.observe_many(np.array([], dtype=object), []).size == 0
    with pytest.raises(BadKey, match="0 rows need as many keys, got 1"):
        live.predict_many([], keys=["a"])


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


KEYS = st.one_of(st.sampled_from("abcdef"), st.integers(0, 8), st.none())
BATCHES = st.lists(
    st.tuples(st.sampled_from("ppoxs"), st.lists(KEYS, max_size=5), st.integers(0, 3)), max_size=25
)


@examples(40)
@given(BATCHES, st.sampled_from([{}, {"max_open": 4}, {"deadline": 6}, {"silence": 0.0}]))
def test_any_life_of_batches_is_that_of_single_events(
    life: list[tuple[str, list[Any], int]], settings: dict[str, Any]
) -> None:
    """Whatever is accepted is what one by one gives, bit for bit; what is not changes nothing."""
    many, single = model(**settings), model(**settings)
    for verb, keys, number in life:
        before = many.snapshot()
        try:
            if verb == "p":
                rows = [[float(i), float(number)] for i in range(len(keys))]
                tickets, values = many.predict_many(rows, keys=keys)
            elif verb == "o":
                used = many.observe_many(keys, np.arange(len(keys)) + 0.5)
            elif verb == "x" and many.open:
                ticket = sorted(many.answerable())[-1]
                many.cancel(ticket)
                single.cancel(ticket)
            else:
                many = bl.LinearModel.restore(before)
                single = bl.LinearModel.restore(single.snapshot())
        except (BadKey, UnknownTicket, AlreadyObserved):
            assert many.snapshot() == before
            with pytest.raises((BadKey, UnknownTicket, AlreadyObserved)):
                _one_by_one(bl.LinearModel.restore(before), verb, keys, number)
            continue
        if verb == "p":
            said = _one_by_one(single, verb, keys, number)
            assert said == list(zip(tickets.tolist(), values.tolist(), strict=True))
        elif verb == "o":
            assert _one_by_one(single, verb, keys, number) == used.tolist()
        assert many.snapshot() == single.snapshot()


def _one_by_one(live: bl.LinearModel, verb: str, keys: list[Any], number: int) -> list[Any]:
    if len({key for key in keys if key is not None}) < len([k for k in keys if k is not None]):
        raise BadKey("twice")  # one by one it may be that the first is closed by then
    if verb == "p":
        for key in keys:  # a batch asks all of them at once, as they are before it
            if key is not None:
                live._checked_key(key)
        rows = [[float(i), float(number)] for i in range(len(keys))]
        return [live.predict(row, key=key) for row, key in zip(rows, keys, strict=True)]
    return [live.observe(key, i + 0.5) for i, key in enumerate(keys)]


def test_weights_of_labels_that_replace_others_are_refused_as_those_of_one() -> None:
    made = model()
    made.predict_many(ROWS, keys=["a", "b", "c"])
    made.revise("a", 3.0)
    before = made.snapshot()
    with pytest.raises(BadFeedback, match=r"position 1 \('a'\): .*replaces one that counted once"):
        made.observe_many(["b", "a"], [4.0, 5.0], [2.0, 2.0])
    assert made.snapshot() == before
    assert made.observe_many(["b", "a"], [4.0, 5.0], [2.0, 1.0]).all()


def test_true_is_no_ticket_in_a_list_of_numbers() -> None:
    made = model()
    made.predict_many(ROWS)
    with pytest.raises(UnknownTicket, match="position 0: ticket True"):
        made.observe_many([True, 2], [1.0, 1.0])


def test_a_burst_of_the_largest_labels_is_restored() -> None:
    made = model()
    made.predict_many([[float(i)] for i in range(20)])
    made.observe_many(range(20), np.full(20, 1e20))
    assert bl.LinearModel.restore(made.snapshot()).snapshot() == made.snapshot()
