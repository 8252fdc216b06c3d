"""Intervals in a store: looking without a ticket, and a clock that goes on alone."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

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
        assert store.replay("i", made(), to="j").open == 1
