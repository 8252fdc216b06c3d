"""Intervals in a store: looking without a ticket, and a clock that goes on alone."""

from __future__ import annotations

import math
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import belated as bl


def made() -> bl.Intervals:
    """Return intervals whose tickets close after ten seconds."""
    return bl.Intervals(bl.LinearModel("squared", bits=6, deadline=timedelta(seconds=10)))


def test_a_look_changes_nothing_and_a_tick_is_there_again(tmp_path: Path) -> None:
    live = made()
    with bl.open(tmp_path / "i.db") as store:
        model = store.model("i", made())
        for each in (live, model):
            each.predict([1.0], at=1.0)
            each.predict([1.0], at=2.0)
            assert each.peek([1.0]) == each.peek([1.0])
        assert model.peek([1.0]) == live.peek([1.0])
        assert model.history.events == 2
        for each in (live, model):
            each.tick(11.5)
        assert (model.open, model.history.events) == (1, 3)
        state = model.snapshot()
    with bl.open(tmp_path / "i.db") as store:
        again = store.model("i")
        assert again.snapshot() == state
        assert again.peek([1.0]) == live.peek([1.0])
        assert store.rebuild("i", made(), to="j").open == 1


def test_intervals_without_ends_survive(tmp_path: Path) -> None:
    """In snapshots, in the log, in a replay, and in a file."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    alone = bl.Intervals(bl.LinearModel("squared", bits=6), 0.8)

    def live(model: Any) -> list[Any]:
        seen = [model.predict([float(number)], key=f"k{number}") for number in range(4)]
        model.observe("k1", 2.0)
        seen += [model.predict([1.0], key="late")]
        return seen

    expected = live(alone)
    assert [each.high for each in expected[:4]] == [math.inf] * 4
    assert expected[4].high < math.inf
    with bl.open(tmp_path / "a.db", snapshot_every=3) as store:
        stored = store.model("m", bl.Intervals(bl.LinearModel("squared", bits=6), 0.8))
        assert live(stored) == expected
    with bl.open(tmp_path / "a.db") as store:
        stored = store.model("m")
        assert stored.snapshot() == alone.snapshot()
        store.export("m", tmp_path / "m.parquet")
        models = [alone, stored, store.load("other", tmp_path / "m.parquet")]
        models.append(
            store.rebuild("m", bl.Intervals(bl.LinearModel("squared", bits=6), 0.8), to="n")
        )
        for model in models:
            for key in ("k0", "k2", "k3", "late"):
                assert model.observe(key, 3.0)
            assert model.report() == alone.report()
        assert alone.report().unbounded == 4
        assert {model.snapshot() for model in models} == {alone.snapshot()}
