"""Keys of many rows at once: a batch is what its rows would be one by one, or is refused whole."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable
from enum import Enum
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
from kinds import KINDS

ROWS = [[1.0, 0.5], [2.0, 0.0], [3.0, -1.0]]


def model(**changes: Any) -> bl.LinearModel:
    return bl.LinearModel(**{"loss": "squared", "bits": 4, "wait": None, **changes})


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


class Plain(str, Enum):  # noqa: UP042  # the str() of a StrEnum is its value
    """Names whose text, hash and value differ."""

    A = "a"
    B = "b"


class Odd(str):
    """A text that says it is equal to nothing."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return id(self)


UNTIMED = [name for name, kind in KINDS.items() if not kind.is_timed]


@pytest.mark.parametrize("name", UNTIMED)
def test_a_key_of_a_type_derived_from_str_is_its_text(name: str) -> None:
    kind = KINDS[name]
    single, many = kind.make(), kind.make()
    for number, key in enumerate(Plain):
        kind.predict(single, number, key=key)
    rows = [kind.row(number)[0] for number in range(2)] if kind.rows else 2
    getattr(many, f"{kind.asks}_many")(rows, keys=list(Plain))
    assert single.snapshot() == many.snapshot()
    assert [single.ticket("a"), many.ticket(Plain.B)] == [0, 1]
    with pytest.raises(BadKey, match="row 1: the key 'b' is that of row 0"):
        getattr(kind.make(), f"{kind.asks}_many")(rows, keys=[Odd("b"), Odd("b")])
    single.observe(Plain.A, kind.answer(0))
    single.observe("b", kind.answer(1))
    many.observe_many(["a", Plain.B], [kind.answer(0), kind.answer(1)])
    assert single.snapshot() == many.snapshot()
