"""Deadlines of a log that is seen again: in time or in predictions, never one for the other."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import belated as bl

DAY = 86400.0
START = 1.7e9
KINDS = ["linear", "intervals", "chooser", "knobs"]


def made(kind: str, deadline: Any) -> Any:
    """Return a model whose tickets are closed after a deadline."""
    if kind == "chooser":
        return bl.Chooser(["a", "b"], silence=0.0, bits=6, seed=1, deadline=deadline)
    if kind == "knobs":
        return bl.Knobs({"x": (0.0, 1.0)}, seed=1, deadline=deadline)
    model = bl.LinearModel("squared", bits=6, deadline=deadline)
    return bl.Intervals(model) if kind == "intervals" else model


def asked(model: Any, key: str, **more: Any) -> None:
    """Ask for a ticket."""
    kind = getattr(model, "kind", type(model).__name__)  # stored, or not
    if kind == "Knobs":
        model.predict(key=key, **more)
    elif kind == "Chooser":
        model.choose({"x": 1.0}, key=key, **more)
    else:
        model.predict({"x": 1.0}, key=key, **more)


def lived(model: Any, has_times: bool) -> None:
    """Ask ten times, a day apart, and bring all answers at the end."""
    for number in range(10):
        asked(model, f"k{number}", **({"at": START + number * DAY} if has_times else {}))
    if has_times:
        model.tick(START + 9.5 * DAY)
    for number in range(10):
        model.observe(f"k{number}", 1.0, **({"at": START + 10 * DAY} if has_times else {}))


def late_in(model: Any) -> Any:
    """Return how many answers came too late; the reports of intervals do not say so."""
    report = (model.model if isinstance(model, bl.Intervals) else model).report().to_dict()
    return (report.get("model") or report)["late"]


def without_snapshots(path: Path) -> None:
    """Leave the log alone."""
    database = sqlite3.connect(path)
    with database:
        database.execute("DELETE FROM snapshots")
    database.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_alone_is_one_of_predictions_where_the_store_gave_the_times(
    kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.db"
    with bl.open(path) as store:
        lived(store.model("timed", made(kind, timedelta(days=30))), True)
        plain = store.model("plain", made(kind, 5))
        for number in range(10):
            asked(plain, f"k{number}")
        for number in range(10):
            plain.observe(f"k{number}", 1.0)
        built = store.rebuild("timed", made(kind, 5))
        assert late_in(built) == 4  # the first ones, which later predictions have closed
        told = store.rebuild("plain", made(kind, 5))
        assert built.snapshot() == told.snapshot()
        copy = store.rebuild("timed", made(kind, 5), to="copy")
        asked(copy, "new")  # and it goes on without times
        assert copy.open == 1
        state = copy.snapshot()
    without_snapshots(path)
    with bl.open(path) as store:
        assert store.model("copy").snapshot() == state


@pytest.mark.parametrize("kind", KINDS)
def test_times_of_a_user_stay_the_unit_of_a_number(kind: str, tmp_path: Path) -> None:
    with bl.open(tmp_path / "a.db") as store:
        for deadline in (None, 30.0):
            model = store.model(f"m{deadline}", made(kind, deadline))
            for number in range(10):
                asked(model, f"k{number}", at=float(number))
            for number in range(10):
                model.observe(f"k{number}", 1.0, at=10.0)
            assert late_in(store.rebuild(model.name, made(kind, 5))) == 5  # of ages 6 to 10


@pytest.mark.parametrize("kind", ["linear", "chooser"])
def test_the_deadline_of_a_ticket_does_not_change_its_unit(kind: str, tmp_path: Path) -> None:
    with bl.open(tmp_path / "a.db") as store:
        timed = store.model("timed", made(kind, timedelta(days=1)))
        counted = store.model("counted", made(kind, 2))
        for model, own in ((timed, timedelta(days=30)), (counted, 9)):
            asked(model, "own", deadline=own)
            for number in range(5):
                asked(model, f"k{number}")
        for name, deadline, still_open in (
            ("timed", timedelta(days=2), 6),
            ("counted", 3, 5),  # its own counts on
            ("timed", 3, 4),  # 30 days would be 2,592,000 predictions
            ("counted", timedelta(days=1), 6),
        ):
            built = store.rebuild(name, made(kind, deadline))
            assert built.open == still_open, (name, deadline)
        later = bl.LinearModel if kind == "linear" else bl.Chooser
        assert isinstance(built, later)
        built.tick(4e9)  # nine seconds would have been over at once, and all are over now
        assert built.open == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_prediction_decides_where_settings_changed_in_between(
    kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.db"
    with bl.open(path) as store:
        model = store.model("m", made(kind, None))
        for number in range(3):
            asked(model, f"k{number}", at=START + number)
        model = store.rebuild("m", made(kind, timedelta(days=30)), to="m")
        for number in range(3, 6):
            asked(model, f"k{number}", at=START + 10 + number)
        model = store.rebuild("m", made(kind, 4), to="m")  # seconds, as the user's times are
        assert model.open == 3
        state = model.snapshot()
    without_snapshots(path)
    with bl.open(path) as store:
        assert store.model("m").snapshot() == state


@pytest.mark.parametrize("kind", ["linear", "chooser"])
def test_a_ticket_has_a_deadline_in_predictions(kind: str, tmp_path: Path) -> None:
    with bl.open(tmp_path / "s.db") as store:
        for model in (made(kind, 9), store.model("m", made(kind, 9))):
            asked(model, "short", deadline={"predictions": 1})
            asked(model, "long")
            asked(model, "last")
            asked(model, "more")
            assert not model.observe("short", 1.0)
            assert model.observe("long", 1.0)
        for timed in (made(kind, "9d"), store.model("t", made(kind, "9d"))):
            before = timed.snapshot()
            with pytest.raises(bl.errors.ClockError, match="cannot be a number of predictions"):
                asked(timed, "short", at=START, deadline={"predictions": 1})
            assert timed.snapshot() == before
