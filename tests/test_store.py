"""Stores: nothing that was answered is lost, and what is read back is what was, to the bit."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

import belated as bl
from belated.errors import (
    ClockError,
    NotCommitted,
    StoreError,
    StoreInUse,
    StoreWarning,
    UnknownModel,
)
from belated.logs import dates
from belated.logs.kinds import Kind, Kinds
from belated.store import Store, parquet, stored, stretches
from belated.store import store as of_store
from belated.store.batches import closed_gate
from belated.store.events import encoded, key_of
from belated.store.lead import Lead
from belated.store.recovery import Rebuilt, opened, recovered
from belated.store.sqlite import _said
from conftest import Python


def linear(**changes: Any) -> bl.LinearModel:
    return bl.LinearModel(**{"loss": "squared", "bits": 6, "silence": 0.0, **changes})


def chooser(**changes: Any) -> bl.Chooser:
    return bl.Chooser(**{"actions": ["a", "b", "c"], "silence": 0.0, "bits": 6, **changes})


def intervals(**changes: Any) -> bl.Intervals:
    return bl.Intervals(bl.LinearModel("squared", bits=6, wait={"predictions": 3}, **changes))


def learner(**changes: Any) -> bl.Learner:
    spec = bl.Problem(bl.Ball(2), lipschitz=1.0).learner(base="pftrl")
    return bl.Learner(spec, **changes)


def knobs(**changes: Any) -> bl.Knobs:
    told: dict[str, Any] = {"context": {"hour": (0, 24)}, "deadline": 5, "silence": 1.0, **changes}
    ranges = {
        "price": bl.ranges.Log(10, 200),
        "size": bl.ranges.Categories(["small", "large"]),
        "n": bl.ranges.Int(0, 6),
    }
    return bl.Knobs(ranges, **told)


SPECS: dict[str, Callable[[], Any]] = {
    "linear": linear,
    "patient": lambda: linear(loss="logistic", silence=None, wait={"predictions": 2}, max_open=3),
    "timed": lambda: linear(deadline=5, late="learn"),
    "chooser": chooser,
    "intervals": intervals,
    "learner": learner,
    "knobs": knobs,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a store may be."""
    return tmp_path / "shop.db"


def disk(store: Store) -> Any:
    """Return the database below a store."""
    return store._database


def from_log(store: Any, name: str) -> Any:
    """Return the model that log and snapshots lead to."""
    entry = store._entries[name]
    return recovered(store._database, entry.about, entry.objects)


# --- Every kind, at every event -------------------------------------------------------------------


class Life(RuleBasedStateMachine):
    """A stored model beside one in memory, which nothing ever happens to."""

    kind: ClassVar[str]
    folder: ClassVar[Path]
    lives: ClassVar[Iterator[int]]

    def __init__(self) -> None:
        super().__init__()
        self.path = self.folder / f"{self.kind}-{next(self.lives)}.db"
        self.store = bl.open(self.path, snapshot_every=7)
        self.twin = SPECS[self.kind]()
        self.model: Any = self.store.model("m", SPECS[self.kind]())
        self.names: list[Any] = []
        self.events = 0

    def teardown(self) -> None:
        self.store.close()

    def both(self, verb: str, *arguments: Any, **named: Any) -> Any:
        """Do the same to both, with the same answer or the same refusal."""
        answers: list[Any] = []
        for each in (self.twin, self.model):
            try:
                answers.append(getattr(each, verb)(*arguments, **named))
            except bl.BelatedError as error:
                answers.append((type(error), str(error)))
        assert repr(answers[0]) == repr(answers[1])
        self.events += not isinstance(answers[0], tuple) or not isinstance(answers[0][0], type)
        return answers[1]

    @rule(number=st.integers(0, 5), key=st.sampled_from([None, "text", 'odd "key" \ud800\n', 1, 3]))
    def predict(self, number: int, key: Any) -> None:
        name = f"{key}{len(self.names)}" if isinstance(key, str) else key
        if self.kind == "chooser":
            made = self.both("choose", {"n": number}, key=name, shown=number != 2)
        elif self.kind == "learner":
            made = self.both("predict", key=name)
        elif self.kind == "knobs":
            made = self.both("predict", {"hour": number}, key=name)
        else:
            features = [{"n": number, "s": f"w{number % 2}"}, [float(number), 1.5]][number % 2]
            made = self.both("predict", features, key=name)
        if not isinstance(made[0], type):
            self.names += [made[0] if name is None else name]

    @precondition(lambda self: self.names)
    @rule(place=st.integers(0, 20), label=st.sampled_from([0.0, 1.0]), verb=st.integers(0, 9))
    def hear(self, place: int, label: float, verb: int) -> None:
        name = self.names[place % len(self.names)]
        verbs = ["observe"] * 4 + ["cancel"]
        if self.kind != "learner":
            verbs += ["revise", "add"]
        if self.kind == "knobs":
            verbs += ["played"]
        if self.kind == "chooser":
            verbs += ["shown"]
        wanted = verbs[verb % len(verbs)]
        if wanted in ("cancel", "shown"):
            self.both(wanted, name)
        elif wanted == "played":
            price = np.float32(20.5 + 300 * (place == 7))  # which may be too much
            self.both(wanted, name, {"price": price, "size": "large", "n": np.int64(2)})
        else:
            self.both(wanted, name, [label, 0.25] if self.kind == "learner" else label)

    @precondition(lambda self: self.kind == "knobs")
    @rule(verb=st.sampled_from(["pause", "revert", "resume"]))
    def turn(self, verb: str) -> None:
        self.both(verb)

    @rule(size=st.integers(0, 3), is_named=st.booleans())
    def many(self, size: int, is_named: bool) -> None:
        rows: Any = [{"n": float(place), "hour": place} for place in range(size)]
        if self.kind == "knobs":
            rows = [{"hour": place} for place in range(size)]
        elif self.kind == "learner":
            rows = size
        elif self.kind not in ("chooser", "timed"):
            rows = np.arange(2.0 * size).reshape(size, 2)
        keys = [f"many{len(self.names)}-{place}" for place in range(size)] if is_named else None
        verb = "choose_many" if self.kind == "chooser" else "predict_many"
        tickets = self.both(verb, rows, keys=keys)[0]
        if not isinstance(tickets, type):
            self.events += size - 1
            self.names += list(keys or tickets.tolist())
            answers = np.full((size, 2), 0.5) if self.kind == "learner" else [1.0] * size
            used = self.both("observe_many", (keys or tickets)[:2], answers[:2])
            self.events += 0 if isinstance(used, tuple) else min(size, 2) - 1

    @rule()
    def misbehave(self) -> None:
        self.both("observe", "nobody", 1.0)
        self.both("observe", 10**6, 1.0)

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = bl.open(self.path, snapshot_every=7)
        self.model = self.store.model("m", SPECS[self.kind]())

    @rule()
    def compact(self) -> None:
        first = self.model.history.first
        assert self.store.compact("m") == self.events - first

    @invariant()
    def is_what_it_would_be(self) -> None:
        blob = self.twin.snapshot()
        assert self.model.snapshot() == blob
        found = from_log(self.store, "m")
        assert found.length == self.model.history.events == self.events
        assert found.model.snapshot() == blob
        about = self.store._entries["m"].about
        keys = [key_of(e) for e, _ in self.store.events(about, about.first, 10**9)]
        assert keys == [line.key for line in self.store.log("m")]


def test_knobs_with_other_ranges_see_what_was_played(path: Path, tmp_path: Path) -> None:
    def few(**changes: Any) -> bl.Knobs:
        return bl.Knobs({"x": (0, 10)}, **changes)

    with bl.open(path) as store:
        model = store.model("m", few())
        for i in range(40):
            setting = model.predict(key=f"k{i}").setting
            if i % 8 == 0:
                setting = {"x": 9.5}
                model.played(f"k{i}", setting)
            if i % 10:
                model.observe(f"k{i}", (setting["x"] - 4.0) ** 2)
        model.pause()
        assert model.mode == "paused"
        lines = list(store.log("m"))
        assert json.loads(str(lines[0].action)).keys() == {"x"}
        assert [line.verb for line in lines[:3]] == ["predict", "played", "predict"]
        narrow = store.rebuild("m", bl.Knobs({"x": (0, 6)}, seed=3))
        assert (narrow.rounds, narrow.mode) == (40, "paused")
        assert narrow.report().cancelled >= 5
        assert abs(narrow.best()["x"] - 4.0) < 1.0
        assert model.expect({"x": 4.0}).cost < model.expect({"x": 9.0}).cost
        same = store.rebuild("m", few())
        assert same.best() == model.best()
        pytest.importorskip("pyarrow")
        store.export("m", tmp_path / "m.parquet")
        assert store.load("copy", tmp_path / "m.parquet").snapshot() == model.snapshot()


def test_features_mean_the_same_in_the_log(path: Path) -> None:
    class Word(str):
        def __str__(self) -> str:
            return "another"

    rows: list[Any] = [
        {"a": np.float32(0.1), "b": np.int64(7), "c": True, "d": np.bool_(True), "e": None},
        {"big": 2**60 + 1, "word": Word("one"), "tiny": 5e-324, "minus": -0.0},
        {"ünï\u2028": "x\x00y", "": "", "\ud800": "\udfff"},
        (np.array([3, 1]), np.array([0.1, 2.0])),
        ([1, 2], [True, 3]),
        np.arange(4, dtype=np.float32),
        (1.0, 2.0)[:1] and [1.0, 2.0],
    ]
    twin = linear()
    with bl.open(path) as store:
        model = store.model("m", linear())
        for row in rows:
            assert model.predict(row) == twin.predict(row)
        model.predict_many(rows[:2])
        twin.predict_many(rows[:2])
        model.predict_many(np.ones((2, 3)))
        twin.predict_many(np.ones((2, 3)))
        assert (
            model.observe_many([1, 2], [3.0, 4.0]).tolist()
            == twin.observe_many([1, 2], [3.0, 4.0]).tolist()
        )
        assert from_log(store, "m").model.snapshot() == model.snapshot() == twin.snapshot()


@pytest.mark.parametrize("short", [1, 10**6])
def test_cells_of_a_log(short: int, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "_SHORT", short)
    columns = Kinds(
        (
            Kind("when", "time", form=dates.ISO, parts=("hour", "weekday"), zone="Europe/Lisbon"),
            Kind("paid", "yes or no"),
            Kind("price", "number"),
            Kind("shop", "text"),
        )
    )
    rows: list[dict[str, Any]] = [
        {"when": datetime(2026, 3, 1, 12), "paid": "yes", "price": Decimal("1.10"), "shop": 7},
        {"when": datetime(2026, 3, 1, 12, tzinfo=UTC), "paid": True, "price": np.float32(0.1)},
        {"when": pd.Timestamp("2026-07-01T03:04:05.123456789", tz="Asia/Tokyo"), "price": math.nan},
        {"when": np.datetime64("2026-01-02T03"), "shop": np.str_("a"), "price": timedelta(hours=1)},
        {"when": date(2026, 3, 1), "paid": None, "price": 2**70},
        {"when": pd.NaT, "paid": np.bool_(False), "price": np.int64(3), "shop": 0.1},
        {"when": "2026-03-01 12:00", "price": "2.5", "ignored": "x"},
    ]
    twin = linear(columns=columns)
    with bl.open(path) as store:
        model = store.model("m", linear(columns=columns))
        ranges = store.model("i", bl.Intervals(bl.LinearModel(bits=6, columns=columns)))
        for row in rows:
            assert model.predict(row) == twin.predict(row)
            ranges.predict(row)
        model.predict_many(rows)
        twin.predict_many(rows)
        assert from_log(store, "m").model.snapshot() == model.snapshot() == twin.snapshot()
        assert from_log(store, "i").model.snapshot() == ranges.snapshot()
        with pytest.raises(bl.BelatedError, match="cannot be written"):
            model.predict({"shop": object()})


@pytest.mark.parametrize("short", [1, 4, 10**6])
def test_stretches_of_the_log_give_the_same_bits(
    short: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretches, "_SHORT", short)
    draw = np.random.default_rng(short)
    spec = {"deadline": timedelta(seconds=30), "loss": "logistic", "interactions": [("w", "x")]}
    with bl.open(path) as store:
        model = store.model("m", linear(**spec, bits=8))
        waiting: list[Any] = []
        for i in range(120):
            row: Any = {"x": float(i % 5), "w": f"v{i % 3}", "n": i % 4}
            if i % 10 == 7:
                row = {"n": None, "w": i % 2, "x": 2**60 + i}
            if i % 31 == 30:
                row = [0.5, float(i)]
            key = [None, f"k{i}", f"{i}"][int(draw.integers(3 if i > 60 else 2))]
            named = {"deadline": 2.5} if i % 29 == 28 else {}
            ticket = model.predict(row, key=key, at=float(i), **named).ticket
            waiting.append(ticket if key is None else key)
            if draw.random() < 0.6:
                name = waiting.pop(int(draw.integers(len(waiting))))
                at = float(i) if draw.random() < 0.9 else i - 40.0
                label = {"ticket": name, "answer": i % 2, "at": at}
                verb = "revise" if i % 17 == 0 else "observe"
                said = model.many([(verb, label)] + [("tick", {"at": at})] * (i % 13 == 0))
                assert not isinstance(said[0], bl.UnknownTicket)
        again = from_log(store, "m").model
        assert again.snapshot() == model.snapshot()
        assert {key for key, _ in again._keys.items()} <= {
            key for key, _ in model.in_memory._keys.items()
        }


def test_a_stretch_may_begin_with_a_weight(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "_SHORT", 1)
    with bl.open(path) as store:
        model = store.model("m", linear(silence=None))
        model.predict([1.0])
        model.observe(0, 1.0, weight=2.0)  # five places, of which that of the time is empty
        model.predict({"x": 1.0})
        assert from_log(store, "m").model.snapshot() == model.snapshot()


def test_a_weight_where_silence_counts_is_refused_also_when_late(path: Path) -> None:
    with bl.open(path) as store:
        model = store.model("m", linear(deadline=5))
        model.many([("predict", {"row": {"x": 1.0}})] * 12)
        for ticket, error in ((3, bl.BadFeedback), (11, bl.BadFeedback), (40, bl.UnknownTicket)):
            with pytest.raises(error):
                model.observe(ticket, 1.0, weight=2.0)
        assert model.history.events == 12
        assert not model.observe(3, 1.0)


def test_times_are_seconds_or_dates_where_deadlines_have_a_unit(path: Path) -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    ms = noon.timestamp() * 1000.0
    with bl.open(path) as store:
        timed = store.model("timed", linear(deadline="30d"))
        timed.predict({"x": 1}, key="a", at=noon)
        choices = store.model("c", chooser(deadline="30d"))
        ranges = store.model("i", bl.Intervals(linear(silence=None, deadline="30d")))
        wrong: list[Callable[[], Any]] = [
            lambda: timed.predict({"x": 1}, at=ms),
            lambda: timed.observe("a", 1, at=ms),
            lambda: timed.tick(ms),
            lambda: choices.choose({}, at=ms),
            lambda: ranges.predict({"x": 1}, at=ms),
        ]
        for call in wrong:
            with pytest.raises(ClockError, match="seconds since 1970 or a datetime"):
                call()
        assert (timed.history.events, choices.history.events, ranges.history.events) == (1, 0, 0)
        assert timed.observe("a", 1, at=ms / 1000 + 7200)
        timed.tick(datetime.max.replace(tzinfo=UTC))
        plain = store.model("plain", linear(deadline=30 * 86_400_000))
        plain.predict({"x": 1}, at=ms)
        late: list[Callable[[], Any]] = [lambda: plain.tick(noon), plain.tick]
        for call in late:
            with pytest.raises(ClockError, match="is a date, and times have been numbers so far"):
                call()
        with pytest.raises(ClockError, match="seconds since 1970 or a datetime"):
            plain.predict({"x": 1}, at=ms, deadline="1d")
        assert plain.history.events == 1
        for name in ("timed", "plain"):
            assert from_log(store, name).model.snapshot() == store.model(name).snapshot()


def test_answers_that_are_functions(path: Path) -> None:
    base = bl.PFTRL(bl.Ball(2), bl.rates.Tight(1.0))
    spec = bl.FullInformation(base)
    with bl.open(path) as store:
        model = store.model("m", bl.Learner(spec))
        for _ in range(3):
            ticket, _ = model.predict()
            assert model.observe(ticket, lambda x: np.array([0.5, -0.25]) + 0.1 * x)
        blob = model.snapshot()
        assert from_log(store, "m").model.snapshot() == blob
        with pytest.raises(StoreError, match="functions"):
            store.rebuild("m", bl.Learner(spec, seed=3))


def test_a_rule_of_ones_own_is_asked_again(path: Path) -> None:
    def decide(values: dict[str, float], ticket: int) -> list[float]:
        return [0.5, 0.25, 0.25]

    with bl.open(path) as store:
        model = store.model("m", chooser(decide=decide))
        made = [model.choose({"x": 1.0}) for _ in range(5)]
        assert from_log(store, "m").model.snapshot() == model.snapshot()
    with bl.open(path) as store, pytest.raises(StoreError, match="ticket 0"):
        store.model("m", chooser(decide=lambda values, ticket: [0.0, 0.0, 1.0]))
    with bl.open(path) as store:
        assert store.model("m", chooser(decide=decide)).choice(4) == made[4]


def test_a_rule_of_ones_own_must_be_given_again(path: Path, tmp_path: Path) -> None:
    def last(values: dict[str, float], ticket: int) -> list[float]:
        return [0.0, 0.0, 1.0]

    def first(values: dict[str, float], ticket: int) -> list[float]:
        return [1.0, 0.0, 0.0]

    with bl.open(path) as store:
        model = store.model("m", chooser(decide=last))
        model.choose({"x": 1.0})
        model.save()
        store.model("plain", chooser())
        with pytest.raises(bl.SpecError, match="put in without a rule"):
            store.model("plain", chooser(decide=last))
        store.export("m", tmp_path / "log.parquet")
        with pytest.raises(StoreError, match="put in with a rule"):
            store.load("again", tmp_path / "log.parquet")
        assert store.models() == ["m", "plain"]
        again = store.load("again", tmp_path / "log.parquet", chooser(decide=last))
        assert again.snapshot() == model.snapshot()
    with bl.open(path) as store:
        for refused in (lambda: store.model("m"), lambda: store.compact("m")):
            with pytest.raises(StoreError, match="put in with a rule"):
                refused()
        with pytest.raises(bl.SpecError, match="put in with a rule"):
            store.model("m", chooser())
        model = store.model("m", chooser(decide=last))
        assert model.choose({"x": 1.0}).action == store.model("m").choose({"x": 1.0}).action == "c"
        with pytest.raises(StoreError, match="ticket 1"):
            store.model("m", chooser(decide=first))
        model.save()
        store.model("m", chooser(decide=first))  # nothing speaks against it any more
        assert model.choose({"x": 1.0}).action == "a"
        assert store.rebuild("m", chooser(), to="m").choose({"x": 1.0}).ticket == 4
        assert store.rebuild("again", chooser(), to="other").choose({"x": 1.0}).ticket == 1
    with bl.open(path) as store:
        assert store.model("m").rounds == 5


# --- Names and specs ------------------------------------------------------------------------------


def test_models_by_name(path: Path) -> None:
    names = ["cvr", 'it\'s "odd"; DROP TABLE models', "línea\n\x01 two", "../../etc", "🦉"]
    with bl.open(path) as store:
        for place, name in enumerate(names):
            model = store.model(name, linear())
            for _ in range(place + 1):
                model.predict([1.0])
    with bl.open(path) as store:
        assert store.models() == sorted(names)
        assert [store.model(name).rounds for name in names] == [1, 2, 3, 4, 5]
        gone = store.model(names[1])
        store.delete(names[1])
        with pytest.raises(StoreError, match="deleted"):
            gone.predict([1.0])
        assert store.model(names[1], linear()).rounds == 0
        with pytest.raises(UnknownModel, match="no model 'none'"):
            store.model("none")
        for bad in ("", "\ud800", "a\x00b", 7, "x" * 501):
            with pytest.raises(bl.SpecError, match="name of a model"):
                store.model(bad, linear())  # type: ignore[arg-type]
        with pytest.raises(bl.SpecError, match="a store holds"):
            store.model("new", bl.Ball(2))  # type: ignore[call-overload]
        assert "new" not in store.models()


def test_events_are_read_as_far_as_they_are_asked_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []

    def counted(about: Any, row: Any) -> Any:
        read.append(row.first)
        return opened(about, row)

    monkeypatch.setattr(of_store, "opened", counted)
    with bl.open(path) as store:
        model = store.model("a", linear())
        for place in range(5):
            model.predict([float(place)])
        found = list(store.events(model._entry.about, 1, 3))
    assert (len(found), read) == (2, [1, 2])


def test_a_log_is_copied_row_by_row(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bl.open(path) as store:
        model = store.model("a", linear())
        for place in range(5):
            model.predict([float(place)])
        database: Any = store._database
        create, given = database.create, []

        def looked(about: Any, rows: Any, snapshots: Any) -> Any:
            given.append(rows)
            return create(about, rows, snapshots)

        monkeypatch.setattr(database, "create", looked)
        copied = store.rebuild("a", linear(bits=7), to="b")
        assert not isinstance(given[0], list | tuple)  # all of it in memory
        assert (copied.rounds, copied.history.events) == (5, 5)
        assert list(store.log("b")) == list(store.log("a"))


def test_another_spec_is_refused_and_rebuild_named(path: Path) -> None:
    with bl.open(path) as store:
        store.model("m", linear())
        with pytest.raises(bl.SpecError, match=r"store\.rebuild\('m', spec, to='m'\)"):
            store.model("m", linear(bits=7))
        with pytest.raises(bl.SpecError, match=r"store\.rebuild"):
            store.model("m", chooser())
        assert store.model("m", linear()).rounds == 0


def test_not_a_store(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b"nothing that SQLite knows, and long enough to see that" * 30)
    with pytest.raises(StoreError, match="not a database"):
        bl.open(path)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(StoreError, match="something else"):
        bl.open(other)
    with pytest.raises(StoreError, match="No such file"):
        bl.open(tmp_path / "nowhere" / "shop.db")
    with pytest.raises(StoreError, match="is a folder"):
        bl.open(tmp_path)
    missing = pytest.raises(StoreError, match=r"load: there is no file .*none\.parquet")
    with bl.open(tmp_path / "new.db") as store, missing:
        store.load("x", tmp_path / "none.parquet")
    with pytest.raises(StoreError, match="no store is known at redis://"):
        bl.open("redis://localhost")


def test_a_damaged_file_is_refused_and_let_go(path: Path, tmp_path: Path) -> None:
    with bl.open(path) as store:
        store.model("m", linear()).predict([1.0])
    changes = [
        "DROP TABLE models",
        "UPDATE models SET kind = 'Nothing'",
        "UPDATE models SET kind = 5",
        "UPDATE models SET first = -5",
        "UPDATE models SET first = 'x'",
        "UPDATE models SET spec = 'text'",
        "UPDATE models SET name = x'6d'",
        "UPDATE events SET size = 'x'",
        "UPDATE events SET size = -1",
    ]
    for place, change in enumerate(changes):
        worse = tmp_path / f"worse-{place}.db"
        shutil.copy(path, worse)
        with sqlite3.connect(worse) as connection:
            connection.execute(change)
        connection.close()
        with pytest.raises(StoreError), bl.open(worse) as store:
            store.model("m")
        shutil.copy(path, worse)
        with bl.open(worse) as store:
            assert store.model("m").rounds == 1


def test_a_file_that_would_run_something_is_refused(path: Path, tmp_path: Path) -> None:
    with bl.open(path) as store:
        store.model("m", linear()).predict([1.0])
    changes = [
        "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END",
        "ALTER TABLE models RENAME TO old; CREATE VIEW models AS SELECT * FROM old",
        "CREATE TABLE more (x)",
        "ALTER TABLE events ADD COLUMN more",
        "CREATE INDEX more ON events (abs(size))",
    ]
    for place, change in enumerate(changes):
        worse = tmp_path / f"worse-{place}.db"
        shutil.copy(path, worse)
        with sqlite3.connect(worse) as connection:
            connection.executescript(change)
        connection.close()
        with pytest.raises(StoreError, match="no store makes"):
            bl.open(worse)
    with sqlite3.connect(path) as connection:
        connection.execute("ANALYZE")  # which adds tables of SQLite's own
    connection.close()
    with bl.open(path) as store:
        assert store.model("m").rounds == 1


def test_one_writer_at_a_time(path: Path) -> None:
    with bl.open(path), pytest.raises(StoreInUse, match=f"process {os.getpid()}"):
        bl.open(path)
    store = bl.open(path)
    model = store.model("m", linear())
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        model.predict([1.0])
    with pytest.raises(StoreError, match="is closed"):
        store.model("m")


def child(work: Callable[[], Any]) -> int:
    """Return what a process ends with that is forked to do something: 7 if it is refused."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            work()
            code = 0
        except StoreError:
            code = 7
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def test_a_forked_process_leaves_the_store_alone(path: Path) -> None:
    store = bl.open(path)
    model = store.model("m", linear())
    model.predict([1.0])
    works: list[Callable[[], Any]] = [
        lambda: model.predict([1.0]),
        lambda: model.save(),
        lambda: model.rounds,
        lambda: store.model("new", linear()),
        lambda: store.rebuild("m", linear(), to="other"),
        lambda: store.compact("m"),
        lambda: store.delete("m"),
        lambda: store.release("m"),
        lambda: store.keep("note", b""),
        lambda: store.forget("", 4e9),
        lambda: disk(store).delete(1),
        lambda: bl.open(path),
    ]
    assert {child(work) for work in works} == {7}
    assert child(store.close) == 0
    model.predict([1.0])
    process = os.fork()
    if process == 0:
        time.sleep(5.0)
        os._exit(0)
    store.close()
    with bl.open(path) as store:  # which the other process does not hold up
        assert store.models() == ["m"]
        assert store.model("m").rounds == 2
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def test_a_file_of_two_names_is_refused(path: Path, tmp_path: Path) -> None:
    with bl.open(path):
        os.link(path, tmp_path / "other.db")
        with pytest.raises(StoreError, match="other names"):
            bl.open(tmp_path / "other.db")


# --- Many threads ---------------------------------------------------------------------------------


def in_threads(count: int, work: Callable[[int], None]) -> None:
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_share_commits_and_the_log_has_the_order_of_the_state(path: Path) -> None:
    with bl.open(path) as store:
        write = disk(store).write
        models = [store.model("one", linear()), store.model("two", linear(bits=5))]

        def slowly(*arguments: Any) -> None:
            time.sleep(0.002)
            write(*arguments)

        disk(store).write = slowly

        def work(number: int) -> None:
            model = models[number % 2]
            for i in range(6):
                model.predict({"n": float(number), "i": i}, key=f"{number}-{i}")
                model.observe(f"{number}-{i}", float(i))
                model.peek({"n": 1.0})

        in_threads(8, work)
        assert store.writer.events == 96
        assert store.writer.commits <= 48
        for name, model in zip(("one", "two"), models, strict=True):
            assert from_log(store, name).model.snapshot() == model.snapshot()


def test_what_fails_to_commit_has_not_happened(path: Path) -> None:
    answered: list[str] = []
    failed: list[str] = []
    with bl.open(path) as store:
        write = disk(store).write
        turns = iter(range(10**6))
        model = store.model("m", linear())

        def sometimes(*arguments: Any) -> None:
            time.sleep(0.001)
            if next(turns) % 4 == 3:
                raise StoreError("the disk is gone")
            write(*arguments)

        disk(store).write = sometimes

        def work(number: int) -> None:
            for i in range(12):
                key = f"{number}-{i}"
                try:
                    model.predict({"n": float(i)}, key=key)
                    answered.append(key)
                except NotCommitted:
                    failed.append(key)
                assert model.rounds >= 0  # reading goes on

        in_threads(6, work)
        assert failed
        assert answered
        disk(store).write = write
        for key in failed:
            with pytest.raises(bl.UnknownTicket):
                model.ticket(key)
        assert len({model.ticket(key) for key in answered}) == len(answered)
        assert model.rounds == model.history.events == len(answered)
        assert from_log(store, "m").model.snapshot() == model.snapshot()


def test_a_store_that_cannot_be_written_is_not_tried_all_the_time(path: Path) -> None:
    with bl.open(path) as store:
        model = store.model("m", linear())
        states = lived(model, 4)
        write, tries = disk(store).write, []

        def never(*arguments: Any) -> None:
            tries.append(1)
            raise StoreError("the disk is full")

        disk(store).write = never
        for _ in range(40):
            with pytest.raises(NotCommitted, match="the disk is full"):
                model.predict([1.0])
        assert len(tries) < 20
        assert model.snapshot() == states[-1]  # who reads is not held up
        disk(store).write = write
        store.writer.faults._rests_until = 0.0
        assert model.predict([1.0]).ticket == 2
        assert model.predict([1.0]).ticket == 3


def test_threads_may_still_be_at_work_when_a_store_is_closed(path: Path) -> None:
    answered: list[str] = []
    store = bl.open(path)
    model = store.model("m", linear(wait=None))

    def work(number: int) -> None:
        for i in range(10**6):
            try:
                model.predict([1.0], key=f"{number}-{i}")
            except StoreError:
                return
            answered.append(f"{number}-{i}")
            if len(answered) == 40:
                closing.set()

    def close(number: int) -> None:
        assert closing.wait(10.0)
        store.close()

    closing = threading.Event()
    in_threads(4, lambda number: close(number) if number == 0 else work(number))
    with bl.open(path) as again:
        assert again.model("m").rounds == len(answered) >= 40


def once(holder: Any, name: str, instead: Callable[..., Any]) -> None:
    """Have something else called the next time, by whichever thread comes first."""
    before = getattr(holder, name)

    def first(*arguments: Any) -> Any:
        setattr(holder, name, before)
        return instead(*arguments)

    setattr(holder, name, first)


def test_who_is_interrupted_while_waiting_lets_another_one_lead(path: Path) -> None:
    with bl.open(path) as store:
        model, other = store.model("m", linear()), store.model("n", linear())
        write, writing, go_on = disk(store).write, threading.Event(), threading.Event()

        def slowly(*arguments: Any) -> None:
            writing.set()
            go_on.wait(10.0)
            write(*arguments)

        disk(store).write = slowly
        leader = threading.Thread(target=model.predict, args=([1.0],))
        leader.start()
        assert writing.wait(10.0)
        pending = other.begin("predict", [2.0])
        once(store.writer, "_sleep", raising)
        with pytest.raises(KeyboardInterrupt):
            pending.result()
        assert not pending.batch.waiting
        others = threading.Thread(target=pending.result)
        others.start()
        go_on.set()
        leader.join(10.0)
        others.join(10.0)
        assert not leader.is_alive()
        assert not others.is_alive()
        assert (model.rounds, other.rounds) == (1, 1)


def test_a_failure_while_somebody_is_about_to_lead_stops_nobody(path: Path) -> None:
    with bl.open(path) as store:
        model = store.model("m", linear())
        writer = store.writer
        first = model.begin("predict", [1.0])
        lead = Lead(closed_gate())
        with writer._lock:
            assert writer._is_led_by(lead, is_late=True)
        second = model.begin("predict", [2.0])
        told: list[BaseException] = []

        def wait() -> None:
            try:
                second.result()
            except NotCommitted as error:
                told.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        while not second.batch.waiting:
            time.sleep(0.001)
        writer.fail_open(StoreError("the connection was lost"))
        thread.join(5.0)
        assert len(told) == 1
        writer._lead(lead)
        with pytest.raises(NotCommitted, match="connection was lost"):
            first.result()
        assert model.predict([3.0]).ticket == 0


@pytest.mark.parametrize("is_written", [False, True])
def test_what_an_interrupted_one_was_committing_is_looked_for_in_the_log(
    path: Path, is_written: bool
) -> None:
    with bl.open(path) as store:
        model = store.model("m", linear())
        other = store.model("n", linear())
        model.predict([1.0])
        write, writing, go_on = disk(store).write, threading.Event(), threading.Event()

        def interrupted(*arguments: Any) -> None:
            writing.set()
            assert go_on.wait(10.0)
            if is_written:
                write(*arguments)
            raise KeyboardInterrupt

        once(disk(store), "write", interrupted)
        first = model.begin("predict", [2.0])
        found: list[int | None] = []

        def lead() -> None:
            with pytest.raises(KeyboardInterrupt):
                first.result()

        def wait() -> None:
            try:
                found.append(first.result().ticket)
            except NotCommitted:
                found.append(None)

        threads = [threading.Thread(target=lead), threading.Thread(target=wait)]
        threads[0].start()
        assert writing.wait(10.0)
        threads[1].start()
        second = other.begin("predict", [3.0])
        go_on.set()
        for thread in threads:
            thread.join(10.0)
        assert found == [1 if is_written else None]
        assert model.rounds == 1 + is_written
        assert other.rounds == is_written  # what came later may stand on what was lost
        if is_written:
            assert second.result().ticket == 0
        assert model.predict([4.0]).ticket == 1 + is_written
        for name in "mn":
            state = store.model(name).snapshot()
            assert from_log(store, name).model.snapshot() == state


def raising(*arguments: Any) -> Any:
    raise KeyboardInterrupt


def test_one_who_is_alone_is_told_of_a_disk_that_fails_and_goes_on_from_the_log(path: Path) -> None:
    with bl.open(path) as store:
        model = store.model("m", linear())
        model.predict([1.0])
        write = disk(store).write

        def failing(*arguments: Any) -> Any:
            disk(store).write = write
            raise StoreError("the disk is gone")

        disk(store).write = failing
        with pytest.raises(NotCommitted, match=r"could not be committed.*the disk is gone"):
            model.predict([2.0])
        assert model.rounds == 1
        assert model.predict([3.0]).ticket == 1
        assert from_log(store, "m").model.snapshot() == model.snapshot()


def test_those_who_are_told_that_one_alone_failed_are_told_without_the_lock(path: Path) -> None:
    with bl.open(path) as store:
        model, other = store.model("m", linear()), store.model("n", linear())
        model.predict([1.0])
        write, is_free, is_told = disk(store).write, [], threading.Event()

        def told(error: BaseException | None) -> None:
            look = threading.Thread(target=lambda: is_free.append(model.rounds == 1))
            look.start()
            look.join(5.0)
            is_told.set()

        def failing(*arguments: Any) -> Any:
            disk(store).write = write
            other.begin("predict", [1.0]).then(told)
            raise StoreError("the disk is gone")

        disk(store).write = failing
        with pytest.raises(NotCommitted):
            model.predict([2.0])
        assert is_told.wait(5.0)
        assert is_free == [True]
        assert other.rounds == 1  # which has nothing to do with it


@pytest.mark.parametrize("verb", ["rounds", "save", "many", "held"])
def test_a_forked_process_is_refused_also_where_a_thread_had_the_lock(
    path: Path, verb: str
) -> None:
    with bl.open(path) as store:
        model = store.model("m", linear())
        calls: dict[str, Callable[[], Any]] = {
            "rounds": lambda: model.rounds,
            "save": model.save,
            "many": lambda: model.many([("predict", {"row": [1.0]})]),
            "held": lambda: model.held().__enter__(),
        }
        taken, go_on = threading.Event(), threading.Event()

        def hold() -> None:
            with model._entry.lock:
                taken.set()
                go_on.wait(30.0)

        thread = threading.Thread(target=hold)
        thread.start()
        taken.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # or a child that hangs would stay
            try:
                calls[verb]()
            except StoreError:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        go_on.set()
        thread.join()


def queue_up(store: Any, calls: list[Callable[[], Any]]) -> list[Any]:
    """Return what came of calls that wait while another one commits, and then go together."""
    write, writing, go_on = disk(store).write, threading.Event(), threading.Event()

    def slowly(*arguments: Any) -> None:
        writing.set()
        assert go_on.wait(10.0)
        write(*arguments)

    disk(store).write = slowly
    found: list[Any] = [None] * len(calls)

    def work(place: int) -> None:
        try:
            found[place] = calls[place]()
        except BaseException as error:
            found[place] = error

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(calls))]
    threads[0].start()
    assert writing.wait(10.0)
    for count, thread in enumerate(threads[1:], 1):
        thread.start()
        while len(store.writer._calls) < count and thread.is_alive():
            time.sleep(0.001)
    go_on.set()
    for thread in threads:
        thread.join(10.0)
        assert not thread.is_alive()
    disk(store).write = write
    return found


def test_calls_that_wait_are_applied_together_and_each_gets_its_own_answer(path: Path) -> None:
    with bl.open(path) as store:
        models = [store.model("m", linear()), store.model("n", linear())]
        calls = [
            lambda: models[0].predict([1.0], key="a").ticket,
            lambda: models[0].predict([1.0], key="b").ticket,
            lambda: models[1].observe("nobody", 1.0),
            lambda: models[1].predict([1.0], key="c").ticket,
            lambda: models[0].observe("b", 1.0),
            lambda: models[0].predict(["x"]),
        ]
        found = queue_up(store, calls)
        assert (*found[:2], *found[3:5]) == (0, 1, 0, True)
        assert isinstance(found[2], bl.UnknownTicket)
        assert isinstance(found[5], bl.errors.BadFeatures)
        assert store.writer.commits == 2
        for name, model in zip("mn", models, strict=True):
            assert from_log(store, name).model.snapshot() == model.snapshot()


def test_what_ends_a_call_that_another_one_applies_is_raised_in_its_own_thread(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = iter(range(10**6))

    def interrupted(event: Any) -> str:
        if next(turns) == 2:
            raise KeyboardInterrupt
        return encoded(event)

    with bl.open(path) as store:
        model = store.model("m", linear())
        monkeypatch.setattr(stored, "encoded", interrupted)
        found = queue_up(store, [partial(model.predict, [float(x)]) for x in range(5)])
        kinds = [type(each) for each in found]
        assert kinds[2:].count(KeyboardInterrupt) == 1  # not the first two, who are through
        assert [each.ticket for each in found[:2]] == [0, 1]
        committed = [each for each in found if isinstance(each, tuple)]
        assert len(committed) == 4
        assert model.rounds == 4
        assert from_log(store, "m").model.snapshot() == model.snapshot()


def test_a_call_whose_model_is_held_is_left_to_its_own_thread(path: Path) -> None:
    with bl.open(path) as store:
        one, other = store.model("m", linear()), store.model("n", linear())
        done: list[Any] = []
        with one.held():
            waits = threading.Thread(target=lambda: done.append(one.predict([1.0]).ticket))
            waits.start()
            assert other.predict([1.0]).ticket == 0  # nobody waits for the first
            assert not done
        waits.join(5.0)
        assert done == [0]


def test_a_call_may_come_from_within_another_one(path: Path) -> None:
    with bl.open(path) as store:
        other = store.model("other", linear())

        class Odd(Mapping[str, float]):
            def __getitem__(self, name: str) -> float:
                return float(other.predict([1.0]).ticket)

            def __iter__(self) -> Iterator[str]:
                return iter("a")

            def __len__(self) -> int:
                return 1

        model = store.model("m", linear())
        assert model.predict(Odd()).ticket == 0
        assert other.rounds > 0
        for name in ("m", "other"):
            assert from_log(store, name).model.snapshot() == store.model(name).snapshot()


def test_what_was_begun_before_a_wrong_call_counts(path: Path) -> None:
    class Odd:
        def __float__(self) -> float:
            raise RuntimeError("odd")

    with bl.open(path) as store:
        model = store.model("m", linear())
        entry = store._entries["m"]
        first = model.begin("predict", {"x": 1.0}, key="a")
        with pytest.raises(bl.errors.BadFeatures):
            model.predict_many(None)  # type: ignore[call-overload]
        wrong: list[tuple[str, dict[str, Any]]] = [("predict", {"rows": [1.0]}), ("observe", {})]
        for call in wrong:
            with pytest.raises(TypeError):
                model.many([("predict", {"row": [1.0]}), call])
        assert not entry.is_stale
        assert store.writer.commits == 0
        with pytest.raises(RuntimeError, match="odd"):
            model.observe("a", Odd())  # type: ignore[arg-type]
        assert entry.is_stale
        assert model.predict({"x": 2.0}, key="b").ticket == 1
        assert first.result().ticket == 0
        state = model.snapshot()
        assert from_log(store, "m").model.snapshot() == state
        entry.length -= 1  # whatever has gone wrong
        with pytest.raises(NotCommitted, match="event 1 would follow event 1"):
            model.predict({"x": 3.0})
        assert model.snapshot() == state
    with bl.open(path) as store:
        assert store.model("m").history.events == 2


def test_calls_that_do_not_wait(path: Path) -> None:
    with bl.open(path) as store:
        model = store.model("m", linear())
        done: list[BaseException | None] = []
        told = threading.Event()

        def after(error: BaseException | None) -> None:
            done.append(error)
            told.set()

        first = model.begin("predict", {"x": 1.0}, key="a")
        second = model.begin("observe", "a", 1.0)
        second.then(after)
        assert told.wait(5.0)
        assert done == [None]
        assert (first.result().ticket, second.result()) == (0, True)
        first.then(after)
        assert done == [None, None]
        with pytest.raises(bl.SpecError, match="no such method"):
            model.begin("prdict", {"x": 1.0})


def test_a_callback_that_raises_stops_nobody(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with bl.open(path) as store:
        model = store.model("m", linear())
        told = threading.Event()
        for _ in range(2):  # by the thread that commits, twice
            pending = model.begin("predict", {"x": 1.0})
            pending.then(lambda error: 1 // 0)  # type: ignore[arg-type]
            pending.then(lambda error: told.set())
            assert told.wait(5.0)
            told.clear()
        pending.then(lambda error: 1 // 0)  # type: ignore[arg-type]
        assert model.predict({"x": 1.0}).ticket == 2
    assert sum("has raised" in record.message for record in caplog.records) == 3


def test_a_store_is_closed_while_callbacks_come(path: Path) -> None:
    store = bl.open(path)
    model = store.model("m", linear())
    told: list[BaseException | None] = []
    closed = threading.Event()

    def close(error: BaseException | None) -> None:
        store.close()  # in the thread that close waits for otherwise
        closed.set()

    late = model.begin("predict", {"x": 1.0})
    late.then(close)
    assert closed.wait(5.0)
    late.then(told.append)
    store.close()
    with bl.open(path) as store:
        model = store.model("m")
        last = model.begin("predict", {"x": 1.0})
        store.writer.teller.stop()
        last.then(told.append)  # nobody is there any more to do it
        assert told == [None, None]
        lost = model.begin("predict", {"x": 1.0})
        store._is_open = False
        lost.then(told.append)
        store._is_open = True
    assert isinstance(told[2], StoreError)
    with bl.open(path) as store:
        assert store.model("m").rounds == 2


# --- Faults ---------------------------------------------------------------------------------------


def lived(model: Any, events: int) -> list[bytes]:
    """Return what a model was after every event."""
    states = [model.snapshot()]
    for i in range(events // 2):
        model.predict({"x": float(i % 3), "w": f"v{i % 2}"}, key=f"k{i}")
        states.append(model.snapshot())
        model.observe(f"k{i}", float(i))
        states.append(model.snapshot())
    return states


def test_a_damaged_snapshot_is_passed_by(path: Path) -> None:
    with bl.open(path, snapshot_every=10) as store:
        state = lived(store.model("m", linear()), 24)[-1]
    with sqlite3.connect(path) as connection:
        numbers = [row[0] for row in connection.execute("SELECT number FROM snapshots")]
        assert len(numbers) == 2
        for number in sorted(numbers, reverse=True):
            (blob,) = connection.execute(
                "SELECT snapshot FROM snapshots WHERE number = ?", (number,)
            ).fetchone()
            worse = blob[:100] + bytes([blob[100] ^ 1]) + blob[101:]
            connection.execute(
                "UPDATE snapshots SET snapshot = ? WHERE number = ?", (worse, number)
            )
            connection.commit()
            with bl.open(path) as store:
                with pytest.warns(StoreWarning, match="cannot be used"):
                    model = store.model("m", linear())
                assert model.snapshot() == state
                assert model.history.events == 24
    connection.close()


def test_a_damaged_log_is_refused(path: Path) -> None:
    with bl.open(path) as store:
        lived(store.model("m", linear()), 6)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE events SET events = CAST(events || x'20' AS BLOB) WHERE number % 4096 = 3"
        )
    with bl.open(path) as store, pytest.raises(StoreError, match=r"events 3 to 3: .*damaged"):
        store.model("m")
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM events WHERE number % 4096 = 3")
    with bl.open(path) as store, pytest.raises(StoreError, match="from event 3 to event 4"):
        store.model("m")
    connection.close()


def test_what_is_not_where_it_was_is_refused(path: Path, tmp_path: Path) -> None:
    with bl.open(path) as store:
        for name in ("m", "n"):
            model = store.model(name, linear())
            lived(model, 6)
            model.save()
            model.predict([1.0])
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT length FROM models").fetchall() == [(7,), (7,)]
    connection.close()
    changes = {
        "UPDATE events SET written = 5.0": "damaged",
        "UPDATE events SET size = 2 WHERE number % 4096 = 6": "damaged",
        "UPDATE events SET events = 'text'": "damaged",
        "DELETE FROM events WHERE number % 4096 = 6": "once had 7",
        "DELETE FROM events; DELETE FROM snapshots": "once had 7",
        f"DELETE FROM events WHERE number >= {2 << 40};"
        f"UPDATE events SET number = number + {1 << 40}": "damaged",
    }
    for place, (change, said) in enumerate(changes.items()):
        worse = tmp_path / f"worse-{place}.db"
        shutil.copy(path, worse)
        with sqlite3.connect(worse) as connection:
            connection.executescript(change)
        connection.close()
        with bl.open(worse) as store, pytest.raises(StoreError, match=said):
            store.model("n")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE snapshots SET number = number + 1")
    connection.close()
    with bl.open(path) as store, pytest.warns(StoreWarning, match="another model or event"):
        assert store.model("n").rounds == 4


def test_torn_final_writes(path: Path, tmp_path: Path) -> None:
    with bl.open(path) as store:
        states = lived(store.model("m", linear()), 16)
        wal = Path(f"{path}-wal").read_bytes()
        main = path.read_bytes()
    lengths = set()
    for place, cut in enumerate(range(len(wal), len(wal) - 12_000, -701)):
        torn = tmp_path / f"torn-{place}.db"
        torn.write_bytes(main)
        Path(f"{torn}-wal").write_bytes(wal[:cut] + bytes(place % 2 * 500))
        with bl.open(torn) as store:
            model = store.model("m", linear())
            assert model.snapshot() == states[model.history.events]
            lengths.add(model.history.events)
            model.predict([1.0])
    assert max(lengths) == 16
    assert len(lengths) > 1


def test_a_write_ahead_log_is_given_its_length_early(path: Path, tmp_path: Path) -> None:
    wal, copy = Path(f"{path}-wal"), tmp_path / "copy.db"
    with bl.open(path) as store:
        model = store.model("m", linear())
        lived(model, 50)
        assert wal.stat().st_size < 1_000_000
        lived(model, 50)
        size = wal.stat().st_size
        assert 4_000_000 < size < 5_000_000
        state = lived(model, 50)[-1]
        assert wal.stat().st_size == size  # they have overwritten what was there
        shutil.copy(path, copy)
        shutil.copy(wal, f"{copy}-wal")
    with bl.open(copy) as store:  # as after a crash
        assert store.model("m").snapshot() == state
        assert store.model("m").history.events == 150
    assert not Path(f"{copy}-wal").exists()


def flood(model: Any, length: int) -> None:
    """Write until there is no room."""
    for i in range(10**5):
        model.predict({"x": "long" * length}, key=str(i))


def test_a_full_disk(path: Path) -> None:
    with bl.open(path) as store:
        model = store.model("m", linear())
        disk(store).pragmas["max_page_count"] = 40
        disk(store)._connection.close()
        disk(store)._connection = None
        with pytest.raises(NotCommitted, match="full"):
            flood(model, 100)
        rounds = model.rounds
        state = model.snapshot()
        assert from_log(store, "m").model.snapshot() == state
        with pytest.raises(NotCommitted, match="full"):
            model.predict({"x": "long" * 100})
        assert model.observe("0", 1.0)  # what fits is written
        del disk(store).pragmas["max_page_count"]
        disk(store)._connection.close()
        disk(store)._connection = None
        assert model.predict([1.0]).ticket == rounds


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a disk of one megabyte."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("a small disk can only be mounted by root")
    done = subprocess.run([mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=False)
    if done.returncode:
        pytest.skip("no small disk can be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_small_disk(small_disk: Path) -> None:
    with bl.open(small_disk / "shop.db") as store:
        model = store.model("m", linear())
        with pytest.raises(NotCommitted):
            flood(model, 1000)
        rounds, state = model.rounds, model.snapshot()
        with pytest.raises(NotCommitted):
            model.predict({"x": "long" * 100_000})
    with bl.open(small_disk / "shop.db") as store:
        model = store.model("m")
        assert model.rounds == rounds
        assert model.snapshot() == state


def test_the_clock_may_jump(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = linear(loss="logistic", deadline=timedelta(seconds=10))
    times = iter([100.0, 105.0, 50.0, -3.0, 109.0, 111.0, 111.0, 20.0, 130.0])
    with bl.open(path) as store:
        model = store.model("m", spec)
        monkeypatch.setattr(stored, "time", lambda: next(times))
        model.predict([1.0], key="a")  # 100, due at 110
        model.predict([2.0], key="b")  # 105
        model.predict([2.0], key="c")  # 50, which is 105
        assert model.observe("b", 1)  # -3
        model.predict([3.0], key="d")  # 109
        assert model.open == 3
        assert not model.observe("a", 1)  # 111
        assert model.observe("c", 1)
        model.predict([3.0], key="e")  # 20
        assert model.open == 2
        assert not model.observe("d", 1)  # 130
        assert from_log(store, "m").model.snapshot() == model.snapshot()
        state = model.snapshot()
    with bl.open(path) as store:
        assert store.model("m", spec).snapshot() == state


def kills(folder: Path, count: int, python: Python) -> str:
    shared = Path("/dev/shm")  # a killed process needs no disk to be lost
    root = shared if os.access(shared, os.W_OK) else folder
    with tempfile.TemporaryDirectory(dir=root) as where:
        return python("store_kills.py", where, str(count), "1")


def test_killed_again_and_again(tmp_path: Path, python: Python) -> None:
    assert "12 kills" in kills(tmp_path, 12, python)


@pytest.mark.slow
def test_killed_a_thousand_times(tmp_path: Path, python: Python) -> None:
    for _ in range(10):
        assert "100 kills" in kills(tmp_path, 100, python)


# --- Other settings -------------------------------------------------------------------------------


def test_a_rebuilt_model_is_what_would_have_been(path: Path) -> None:
    with bl.open(path) as store:
        model = store.model("m", linear())
        other = linear(bits=9, l2=0.1)
        for i in range(12):
            features = {"x": float(i % 4), "w": f"v{i % 3}"}
            model.predict(features, key=f"k{i}")
            other.predict(features, key=f"k{i}")
            if i % 2:
                model.observe(f"k{i}", float(i))
                other.observe(f"k{i}", float(i))
        before = model.snapshot()
        built = store.rebuild("m", linear(bits=9, l2=0.1))
        assert built.snapshot() == other.snapshot()
        assert model.snapshot() == before
        copy = store.rebuild("m", linear(bits=9, l2=0.1), to="copy")
        assert copy.snapshot() == other.snapshot()
        assert store.rebuild("m", linear(bits=9, l2=0.1), to="m").snapshot() == other.snapshot()
        model.observe("k2", 7.0)
        other.observe("k2", 7.0)
        with pytest.raises(bl.SpecError, match="has seen nothing"):
            store.rebuild("m", other)
        with pytest.raises(bl.SpecError, match="there is a model"):
            store.rebuild("m", linear(), to="copy")
        with pytest.raises(bl.SpecError, match="so must be"):
            store.rebuild("m", chooser())
    with bl.open(path) as store:
        model = store.model("m", linear(bits=9, l2=0.1))
        assert model.snapshot() == other.snapshot()
        disk(store)._open().execute("DELETE FROM snapshots")
        assert from_log(store, "m").model.snapshot() == other.snapshot()
        back = store.rebuild("m", linear(), to="m")
        assert (back.rounds, back.open) == (12, 5)


def test_a_model_goes_on_while_it_is_rebuilt(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("belated.store.in_turns._ROWS", 1)
    see, seen = Rebuilt._see, threading.Semaphore(0)

    def slowly(self: Rebuilt, event: Any) -> None:
        seen.release()
        time.sleep(0.002)
        see(self, event)

    monkeypatch.setattr(Rebuilt, "_see", slowly)
    with bl.open(path) as store:
        model = store.model("m", linear())
        lived(model, 20)
        built: list[Any] = []
        work = threading.Thread(
            target=lambda: built.append(store.rebuild("m", linear(bits=8), to="m"))
        )
        work.start()
        for i in range(10):
            assert seen.acquire(timeout=5.0)
            model.predict([float(i)], key=f"meanwhile-{i}")  # while the other one reads
        work.join(10.0)
        assert built[0].rounds == 20
        assert [built[0].ticket(f"meanwhile-{i}") for i in range(10)] == list(range(10, 20))
        assert from_log(store, "m").model.snapshot() == model.snapshot()


def test_others_go_on_while_a_log_is_exported(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("belated.store.in_turns._ROWS", 1)
    with bl.open(path) as store:
        model = store.model("m", linear())
        lived(model, 5)
        expected, length = model.snapshot(), model.history.events
        is_asked, done = threading.Event(), threading.Event()

        def slowly(about: Any, row: Any) -> bytes:
            is_asked.set()
            assert done.wait(5.0)
            return opened(about, row)

        monkeypatch.setattr(parquet, "opened", slowly)
        counts: list[int] = []
        file = tmp_path / "log.parquet"
        work = threading.Thread(target=lambda: counts.append(store.export("m", file)))
        work.start()
        assert is_asked.wait(5.0)
        assert store.models() == ["m"]
        model.predict([1.0])  # which is no part of the file
        store.model("other", linear()).predict([1.0])
        done.set()
        work.join(5.0)
        assert counts == [length]
        assert store.load("copy", file).snapshot() == expected


def test_what_was_compacted_while_it_was_exported_is_not_written(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    with bl.open(path) as store:
        lived(store.model("m", linear()), 5)
        export = parquet.export

        def beside(*given: Any) -> int:
            count = export(*given)
            store.compact("m")
            return count

        monkeypatch.setattr(parquet, "export", beside)
        with pytest.raises(StoreError, match="meanwhile; nothing is written"):
            store.export("m", tmp_path / "log.parquet")
        assert not list(tmp_path.glob("*.parquet*"))


def test_others_go_on_while_a_model_is_brought_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bl.open(path) as store:
        lived(store.model("m", linear()), 5)
        lived(store.model("other", linear()), 5)
    is_asked, done = threading.Event(), threading.Event()

    def slowly(*given: Any) -> Any:
        if given[1].name == "m":
            is_asked.set()
            assert done.wait(5.0)
        return recovered(*given)

    monkeypatch.setattr(of_store, "recovered", slowly)
    with bl.open(path) as store:
        found: list[Any] = []
        works = [threading.Thread(target=lambda: found.append(store.model("m"))) for _ in range(2)]
        for work in works:
            work.start()
        assert is_asked.wait(5.0)
        store.model("other").predict([1.0])
        assert store.models() == ["m", "other"]
        done.set()
        for work in works:
            work.join(5.0)
        assert found[0]._entry is found[1]._entry
        assert from_log(store, "m").model.snapshot() == found[0].snapshot()


def test_a_model_that_could_not_be_brought_back_is_tried_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bl.open(path) as store:
        lived(store.model("m", linear()), 5)

    def failing(*given: Any) -> Any:
        monkeypatch.setattr(of_store, "recovered", recovered)
        raise StoreError("once")

    with bl.open(path) as store:
        monkeypatch.setattr(of_store, "recovered", failing)
        with pytest.raises(StoreError, match="once"):
            store.model("m")
        assert store.model("m").rounds == 2


def test_rebuilding_with_a_deadline_that_was_not_there(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("belated.store.store.time", lambda: now[0])
    with bl.open(path) as store:
        model = store.model("m", linear(loss="logistic"))
        for i in range(4):
            now[0] += 5.0
            model.predict([1.0], key=f"k{i}")
        model.observe("k0", 1)  # 15 s late
        built = store.rebuild("m", linear(loss="logistic", deadline=timedelta(seconds=12)))
        report = built.report()
        assert (report.rounds, report.late, built.open) == (4, 1, 3)


def counting(kind: str, deadline: int | None) -> Any:
    """Return a model that has a clock, or counts predictions if it has a deadline."""
    if kind == "chooser":
        return bl.Chooser(["a", "b"], silence=0.0, bits=6, wait=None, deadline=deadline)
    if kind == "knobs":
        return bl.Knobs({"x": (0.0, 1.0)}, deadline=deadline)
    model = linear(deadline=deadline, silence=None)
    return bl.Intervals(model) if kind == "intervals" else model


@pytest.mark.parametrize("kind", ["linear", "chooser", "intervals", "knobs"])
def test_rebuilding_from_ticks_with_a_deadline_in_predictions(kind: str, path: Path) -> None:
    """It is what the same log is without its ticks and times."""
    with bl.open(path) as store:
        models: dict[str, Any] = {}
        for name in ("timed", "plain"):
            model = models[name] = store.model(name, counting(kind, None))
            is_timed = name == "timed"
            for place in range(9):
                if kind == "chooser":
                    model.choose({"x": 1.0})
                elif kind == "knobs":
                    model.predict()
                else:
                    model.predict({"x": float(place % 3)})
                if is_timed:
                    model.tick(1000.0 + place)
                if place % 2:
                    at = {"at": 1000.0 + place} if is_timed else {}
                    model.observe(place - 1 if place < 6 else 1, 1.0, **at)  # the last is late
        for deadline in (3, 100, None):
            built = [store.rebuild(name, counting(kind, deadline)) for name in models]
            if deadline is not None:
                assert built[0].snapshot() == built[1].snapshot()
            else:
                assert built[0].snapshot() == models["timed"].snapshot()
        kept = store.rebuild("timed", counting(kind, 3), to="kept")
        state = kept.snapshot()
    with bl.open(path) as store:
        assert store.model("kept", counting(kind, 3)).snapshot() == state


def test_rebuilding_a_chooser_keeps_what_was_played(path: Path) -> None:
    with bl.open(path) as store:
        model = store.model("m", chooser())
        made = [model.choose({"x": float(i % 2)}, key=f"k{i}") for i in range(20)]
        model.mode = "learn"
        for i in range(0, 20, 2):
            model.observe(f"k{i}", float(made[i].action == "b"))
        other = store.rebuild("m", chooser(actions=["b", "c"], seed=5, explore=bl.explore.Greedy()))
        assert [other.choice(f"k{i}") for i in range(1, 20, 2)] == made[1::2]
        counts = {name: each.chosen for name, each in other._choices.actions.items()}
        assert counts == {name: sum(choice.action == name for choice in made) for name in counts}
        assert sum(counts.values()) == 20
        changed = store.rebuild("m", chooser(actions={"b": {"x": 1.0}, "d": None}), to="m")
        assert {option.action for option in changed.peek()} == {"b", "d"}
        changed.observe("k1", 1.0)
        assert from_log(store, "m").model.snapshot() == changed.snapshot()
        disk(store)._open().execute("DELETE FROM snapshots")
        assert from_log(store, "m").model.snapshot() == changed.snapshot()


@pytest.mark.parametrize("is_named", [False, True])
def test_a_key_that_was_used_again(
    is_named: bool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretches, "_SHORT", 2)
    key = "a"
    specs: dict[str, dict[str, Any]] = {
        "wait": {"wait": {"predictions": 3}, "silence": None},
        "due": {"deadline": 3},
    }
    with bl.open(path) as store:
        for name, changes in specs.items():
            trained = linear(**changes)
            trained.predict({"x": 1.0}, key="older")
            for given in (linear(**changes), trained):
                model = store.model(f"{name}-{given.rounds}", given)
                model.predict({"x": 1.0}, key=key)
                for _ in range(6):
                    model.predict({"x": 1.0})
                ticket = model.predict({"x": 1.0}, key=key).ticket  # the first one is closed
                if is_named:
                    model.observe(key, 1.0)
                else:
                    model.observe(ticket, 1.0)
                state = model.snapshot()
                assert from_log(store, model.name).model.snapshot() == state
                assert store.rebuild(model.name, given).snapshot() == state
                model.predict({"x": 1.0}, key=key)
                assert from_log(store, model.name).model.ticket(key) == ticket + 1
                model.cancel(key)
                assert from_log(store, model.name).model.snapshot() == model.snapshot()
                assert store.rebuild(model.name, given).snapshot() == model.snapshot()


# --- Looking --------------------------------------------------------------------------------------


def test_the_log_line_by_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("belated.store.store.time", lambda: 1000.0)
    with bl.open(path) as store:
        model = store.model("m", linear())
        model.predict({"x": 1.0}, key="a")
        model.predict_many([{"x": 2.0}, [3.0]])
        model.predict_many(np.ones((2, 2)))
        model.observe("a", 4.0)
        model.observe_many([1, 3], [5.0, 6.0])
        model.cancel(2)
        model.tick(7.0)
        found = list(store.log("m"))
        assert {line.written for line in found} == {1000.0}
        assert [(line.number, line.verb, line.ticket, line.value) for line in found] == [
            (0, "predict", 0, None),
            (1, "predict", 1, None),
            (2, "predict", 2, None),
            (3, "predict", 3, None),
            (4, "predict", 4, None),
            (5, "observe", 0, 4.0),
            (6, "observe", 1, 5.0),
            (7, "observe", 3, 6.0),
            (8, "cancel", 2, None),
            (9, "tick", None, None),
        ]
        assert (found[0].key, found[0].features, found[-1].at) == ("a", {"x": 1.0}, 7.0)
        store.compact("m")
        model.predict([1.0])
        assert [(line.number, line.ticket) for line in store.log("m")] == [(10, 5)]
        chosen = store.model("c", chooser())
        made = chosen.choose({"x": 1.0}, key="v")
        chosen.mode = "learn"
        (first, second) = store.log("c")
        assert (first.verb, first.action, first.probability) == ("choose", *made[1:])
        assert (second.verb, second.action) == ("mode", "learn")
        plays = store.model("l", learner())
        plays.observe(plays.predict(key="k").ticket, [0.5, 0.5])
        assert [line.ticket for line in store.log("l")] == [0, 0]


# --- Old events -----------------------------------------------------------------------------------


def test_compacted_events_are_gone_and_the_state_is_not(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("belated.store.store.time", lambda: now[0])
    with bl.open(path) as store:
        model = store.model("m", linear())
        for i in range(10):
            now[0] += 1.0
            model.predict([1.0, i], key=f"k{i}")
        state = model.snapshot()
        assert store.compact("m", before=900.0) == 0
        assert store.compact("m", before=1004.0) == 3
        assert model.history[:2] == (10, 3)
        assert model.snapshot() == from_log(store, "m").model.snapshot() == state
        with pytest.raises(StoreError, match="compacted"):
            store.rebuild("m", linear(bits=7))
        assert store.compact("m") == 7
        model.observe("k0", 3.0)
    with bl.open(path) as store:
        model = store.model("m", linear())
        assert model.history == (11, 10, 10)
        assert model.open == 9


def test_what_is_no_text_is_exported_all_the_same(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with bl.open(path) as store:
        model = store.model("m", SPECS["linear"]())
        model.predict({"x": 1.0}, key="odd \ud800")
        store.export("m", tmp_path / "log.parquet")
        again = store.load("again", tmp_path / "log.parquet")
        assert again.snapshot() == model.snapshot()
        assert again.observe("odd \ud800", 1.0)


def test_a_hostile_file_leaves_nothing(path: Path, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    far, target = 1 << 40, tmp_path / "log.parquet"
    with bl.open(path) as store:
        victim = store.model("victim", linear())
        lived(victim, 6)
        state = victim.snapshot()
        store.export("victim", target)
        table = parquet.read_table(target)
        said = json.loads(table.schema.metadata[b"belated.store"])
        spec = said["spec"]

        def changed(about: dict[str, Any], shift: int = 0, **columns: list[Any]) -> None:
            given = {name: table[name].to_pylist() for name in ("written", "event")}
            given["number"] = given["commit"] = [shift + i for i in range(6)]
            metadata = {b"belated.store": json.dumps({**said, **about}).encode()}
            rows = arrow.table({**given, **columns}).replace_schema_metadata(metadata)
            parquet.write_table(rows, target)

        changed({})
        assert store.load("same", target).snapshot() == state
        hostile: list[tuple[dict[str, Any], dict[str, Any]]] = [
            *(({"first": n, "base": spec}, {"shift": n}) for n in (-far, far, far - 3, 1 << 62)),
            *(({"eras": [[n, spec]]}, {}) for n in (-5, 0, 7, far, 1 << 63, 0.5, "3", None)),
            ({"eras": [[3, spec], [3, spec]]}, {}),
            ({"first": 0.5}, {}),
            ({"base": spec}, {}),
            ({"first": 5, "base": None}, {"shift": 5}),
            ({"spec": "AAAA"}, {}),
            ({"kind": ["x"]}, {}),
            ({"kind": "Chooser"}, {}),
            ({}, {"commit": [-1] * 6}),
            ({}, {"commit": [None] * 6}),
            ({}, {"number": [5, 4, 3, 2, 1, 0]}),
            ({}, {"written": [math.nan] * 6}),
            ({}, {"written": ["x"] * 6}),
            *(
                ({}, {"event": [text] * 6})
                for text in ("[]", "[null]", "5", "[99,1]", "[-1]", '["x"]', "[" * 10**5, None)
            ),
            ({}, {"event": ["[8,3]"] * 6}),
            ({}, {"event": [f"[1,{1 << 70},1.0]"] * 6}),
        ]
        for about, columns in hostile:
            changed(about, **columns)
            with pytest.raises(bl.BelatedError):
                store.load("hostile", target)
            assert store.models() == ["same", "victim"]
        assert disk(store)._open().execute("SELECT count(*) FROM events").fetchone() == (12,)
        assert store.model("new", linear()).rounds == 0
        assert from_log(store, "victim").model.snapshot() == state


# --- Notes ----------------------------------------------------------------------------------------


def test_a_note_is_committed_with_its_events_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with bl.open(path) as store:
        model = store.model("m", bl.LinearModel("squared", bits=8))
        refused = model.begin_many([("observe", {"ticket": "x", "answer": 1.0})], _noted)
        assert isinstance(refused.result()[0], bl.UnknownTicket)
        assert refused.events == [[]]
        assert store.notes() == []
        done = model.begin_many([("predict", {"row": [1.0], "key": "k"})], _noted)
        assert done.result()[0].ticket == 0
        store.keep("other", b"1")
        store.keep("other", b"2")
    with bl.open(path) as store:
        assert [(note.name, note.body) for note in store.notes()] == [
            ("said", b"1"),
            ("other", b"2"),
        ]
        assert [note.name for note in store.notes("sa")] == ["said"]
        store.forget("sa", 4e9)
        assert [note.name for note in store.notes()] == ["other"]
        assert store.model("m").rounds == 1


def _noted(said: list[Any]) -> tuple[str, bytes]:
    return "said", str(len(said)).encode()


def test_a_disk_that_fails_while_a_file_is_opened_again_is_away_for_now() -> None:
    with pytest.raises(bl.errors.StoreUnavailable, match="disk I/O error"), _said("open"):
        raise sqlite3.OperationalError("disk I/O error")
