"""Stores: nothing that was answered is lost, and what is read back is what was, to the bit."""

from __future__ import annotations

import asyncio
import json
import math
import os
import shutil
import signal
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import belated as bl
from belated.errors import (
    NotCommitted,
    StoreDamaged,
    StoreError,
    StoreInUse,
    UnknownModel,
)
from belated.logs import dates
from belated.logs.kinds import Kind, Kinds
from belated.store import Store, parquet, stored
from belated.store.events import PREDICT, encode_events
from belated.store.rebuild import Rebuilt
from belated.store.recovery import recover_model
from conftest import Python


def linear(**changes: Any) -> bl.LinearModel:
    return bl.LinearModel(**{"loss": "squared", "bits": 6, "silence": 0.0, **changes})


def chooser(**changes: Any) -> bl.Chooser:
    return bl.Chooser(**{"actions": ["a", "b", "c"], "silence": 0.0, "bits": 6, **changes})


def learner(**changes: Any) -> bl.Learner:
    spec = bl.Problem(bl.Ball(2), lipschitz=1.0).learner(base="pftrl")
    return bl.Learner(spec, **changes)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a store may be."""
    return tmp_path / "shop.db"


def disk(store: Store) -> Any:
    """Return the database below a store."""
    return store._database


def from_log(store: Any, name: str) -> Any:
    """Return the model that log and snapshots lead to."""
    entry = store._models[name]
    return recover_model(store._database, entry._about, entry._objects)


# --- Every kind, at every event -------------------------------------------------------------------


def test_features_mean_the_same_in_the_log(path: Path) -> None:
    class Word(str):
        def __str__(self) -> str:
            return "another"

    named: list[Any] = [
        {"a": np.float32(0.1), "b": np.int64(7), "c": True, "d": np.bool_(True), "e": None},
        {"big": 2**60 + 1, "word": Word("one"), "tiny": 5e-324, "minus": -0.0},
        {"ünï\u2028": "x\x00y", "": "", "\ud800": "\udfff"},
    ]
    placed: list[Any] = [
        (np.array([3, 1]), np.array([0.1, 2.0])),
        ([1, 2], [True, 3]),
        np.arange(4, dtype=np.float32),
        [1.0, 2.0],
    ]
    with bl.open(path) as store:
        for name, rows, many in (("m", named, named[:2]), ("v", placed, np.ones((2, 3)))):
            model, twin = store.model(name, linear()), linear()
            for row in rows:
                assert model.predict(row) == twin.predict(row)
            model.predict_many(many)
            twin.predict_many(many)
            assert (
                model.observe_many([1, 2], [3.0, 4.0]).tolist()
                == twin.observe_many([1, 2], [3.0, 4.0]).tolist()
            )
            assert from_log(store, name).model.snapshot() == model.snapshot() == twin.snapshot()


def test_cells_of_a_log(path: Path) -> None:
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
        with pytest.raises(bl.errors.SpecError, match="put in without a rule"):
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
        with pytest.raises(bl.errors.SpecError, match="put in with a rule"):
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
            with pytest.raises(bl.errors.SpecError, match="name of a model"):
                store.model(bad, linear())  # type: ignore[arg-type]
        with pytest.raises(bl.errors.SpecError, match="a store holds"):
            store.model("new", bl.Ball(2))  # type: ignore[call-overload]
        assert "new" not in store.models()


def test_another_spec_is_refused_and_rebuild_named(path: Path) -> None:
    with bl.open(path) as store:
        store.model("m", linear())
        with pytest.raises(bl.errors.SpecError, match=r"store\.rebuild\('m', spec, to='m'\)"):
            store.model("m", linear(bits=7))
        with pytest.raises(bl.errors.SpecError, match=r"store\.rebuild"):
            store.model("m", chooser())
        assert store.model("m", linear()).rounds == 0


def test_not_a_store(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b"nothing that SQLite knows, and long enough to see that" * 30)
    with pytest.raises(StoreError, match="not a database"):
        bl.open(path)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    with pytest.raises(StoreError, match="something else"):
        bl.open(other)
    with pytest.raises(StoreError, match="No such file"):
        bl.open(tmp_path / "nowhere" / "shop.db")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other.db", "shop.db"]  # no locks
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
        signal.alarm(20)  # or a child that hangs would stay
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
    """Also where a thread has locks, which no thread of the forked process gives back."""
    store = bl.open(path)
    model = store.model("m", linear())
    model.predict([1.0])
    pending, taken, go_on = model.begin("predict", [1.0]), threading.Event(), threading.Event()

    def hold() -> None:
        with model._lock, store._lock, store.writer._lock:
            taken.set()
            go_on.wait(60.0)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    works: list[Callable[[], Any]] = [
        lambda: model.predict([1.0]),
        lambda: model.save(),
        lambda: model.rounds,
        lambda: model.many([("predict", {"row": [1.0]})]),
        lambda: model.held().__enter__(),
        lambda: pending.result(),
        lambda: store.model("new", linear()),
        lambda: store.rebuild("m", linear(), to="other"),
        lambda: store.compact("m"),
        lambda: store.delete("m"),
        lambda: store.release("m"),
        lambda: store.log("m"),
        lambda: store.export("m", path.with_suffix(".parquet")),
        lambda: store.keep("note", b""),
        lambda: store.forget("", 4e9),
        lambda: disk(store).delete(1),
        lambda: bl.open(path),
    ]
    assert {child(work) for work in works} == {7}
    assert child(store.close) == 0
    go_on.set()
    thread.join()
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
                with pytest.raises(bl.errors.UnknownTicket, match=f"nobody-{number}"):
                    model.observe(f"nobody-{number}", 1.0)  # each gets its own answer

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
            with pytest.raises(bl.errors.UnknownTicket):
                model.ticket(key)
        assert len({model.ticket(key) for key in answered}) == len(answered)
        assert model.rounds == model.history.events == len(answered)
        assert from_log(store, "m").model.snapshot() == model.snapshot()


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


def test_what_was_begun_before_a_wrong_call_counts(path: Path) -> None:
    class Odd:
        def __float__(self) -> float:
            raise RuntimeError("odd")

    with bl.open(path) as store:
        model = store.model("m", linear())
        entry = store._models["m"]
        first = model.begin("predict", {"x": 1.0}, key="a")
        with pytest.raises(bl.errors.BadFeatures):
            model.predict_many(None)  # type: ignore[call-overload]
        wrong: list[tuple[str, dict[str, Any]]] = [("predict", {"rows": [1.0]}), ("observe", {})]
        for call in wrong:
            with pytest.raises(TypeError):
                model.many([("predict", {"row": [1.0]}), call])
        assert not entry._is_stale
        assert store.writer.commits == 0
        with pytest.raises(RuntimeError, match="odd"):
            model.observe("a", Odd())  # type: ignore[arg-type]
        assert entry._is_stale
        assert model.predict({"x": 2.0}, key="b").ticket == 1
        assert first.result().ticket == 0
        state = model.snapshot()
        assert from_log(store, "m").model.snapshot() == state
        entry._length -= 1  # whatever has gone wrong
        with pytest.raises(NotCommitted, match="event 1 would follow event 1"):
            model.predict({"x": 3.0})
        assert model.snapshot() == state
    with bl.open(path) as store:
        assert store.model("m").history.events == 2


def test_calls_that_do_not_wait(path: Path) -> None:
    with bl.open(path) as store:
        model = store.model("m", linear())
        first = model.begin("predict", {"x": 1.0}, key="a")
        second = model.begin("observe", "a", 1.0)
        assert (first.result().ticket, second.result()) == (0, True)
        with pytest.raises(bl.errors.SpecError, match="no such method"):
            model.begin("prdict", {"x": 1.0})


def test_callers_in_an_event_loop_share_commits(path: Path) -> None:
    async def caller(model: Any, number: int) -> None:
        for i in range(8):
            pending = model.begin("predict", {"x": 1.0}, key=f"{number}-{i}")
            await pending.committed()
            assert model.in_memory.is_open(f"{number}-{i}")

    async def callers(store: Any) -> None:
        model = store.model("m", linear())
        await asyncio.gather(*(caller(model, number) for number in range(32)))
        cancelled = model.begin("predict", {"x": 1.0}).committed()
        cancelled.cancel()
        disk(store).write, write = None, disk(store).write
        with pytest.raises(NotCommitted):
            await model.begin("predict", {"x": 1.0}).committed()
        disk(store).write = write

    with bl.open(path) as store:
        asyncio.run(callers(store))
        assert store.writer.commits * 25 <= store.writer.events
        assert store.model("m").rounds == store.writer.events == 8 * 32


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


def test_a_damaged_snapshot_is_passed_by(path: Path, caplog: pytest.LogCaptureFixture) -> None:
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
                caplog.clear()
                model = store.model("m", linear())
                assert "cannot be used" in caplog.text
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
    connection.close()
    with bl.open(path) as store, pytest.raises(StoreError, match=r"events 3 to 3: .*damaged"):
        store.model("m")
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM events WHERE number % 4096 = 3")
    connection.close()
    with bl.open(path) as store, pytest.raises(StoreError, match="from event 3 to event 4"):
        store.model("m")


def test_what_is_not_where_it_was_is_refused(
    path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with bl.open(path) as store:
        for name in ("m", "n"):
            model = store.model(name, linear())
            lived(model, 6)
            model.save()
            model.predict({"x": 1.0})
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
    with bl.open(path) as store:
        assert store.model("n").rounds == 4
        assert "another model or event" in caplog.text


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
            model.predict({"x": 1.0})
    assert max(lengths) == 16
    assert len(lengths) > 1


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
        assert model.predict({"x": 1.0}).ticket == rounds


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
        with pytest.raises(bl.errors.SpecError, match="has seen nothing"):
            store.rebuild("m", other)
        with pytest.raises(bl.errors.SpecError, match="there is a model"):
            store.rebuild("m", linear(), to="copy")
        with pytest.raises(bl.errors.SpecError, match="so must be"):
            store.rebuild("m", chooser())
    with bl.open(path) as store:
        model = store.model("m", linear(bits=9, l2=0.1))
        assert model.snapshot() == other.snapshot()
        disk(store)._open().execute("DELETE FROM snapshots")
        assert from_log(store, "m").model.snapshot() == other.snapshot()
        back = store.rebuild("m", linear(), to="m")
        assert (back.rounds, back.open) == (12, 5)


def test_a_model_goes_on_while_it_is_rebuilt(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("belated.store.lines._ROWS", 1)
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
            model.predict({"x": float(i)}, key=f"meanwhile-{i}")  # while the other one reads
        work.join(10.0)
        assert built[0].rounds == 20
        assert [built[0].ticket(f"meanwhile-{i}") for i in range(10)] == list(range(10, 20))
        assert from_log(store, "m").model.snapshot() == model.snapshot()


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
def test_a_key_that_was_used_again(is_named: bool, path: Path) -> None:
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
        model.predict_many([{"x": 2.0}, {"x": 3.0}])
        model.predict_many([{"x": 1.0, "y": 1.0}] * 2)
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
        model.predict({"x": 1.0})
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


def test_what_another_process_showed_is_in_the_log_and_changes_nothing(path: Path) -> None:
    with bl.open(path) as store:
        model, twin = store.model("m", linear()), linear()
        model.predict({"x": 1.0}, key="a")
        twin.predict({"x": 1.0}, key="a")
        entry = store._models["m"]
        shown = [PREDICT, {"x": 2.0}, "b", *[None] * 6, 0.25, 1]
        with entry._lock:
            store.writer.wait(store.writer.add(entry, encode_events(shown), 1))
        twin.predict({"x": 2.0}, key="b")
        store.release("m")
        assert model.snapshot() == twin.snapshot()
        assert [(line.value, line.version) for line in store.log("m")] == [(None, None), (0.25, 1)]
        assert store.rebuild("m").snapshot() == twin.snapshot()


def test_logs_of_another_version_are_refused(path: Path) -> None:
    with bl.open(path) as store:
        store.model("m", linear()).predict([1.0])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE events SET events = CAST(x'07' || substr(events, 2) AS BLOB)")
    connection.close()
    with bl.open(path) as store, pytest.raises(StoreDamaged, match="the log is of version 7"):
        store.model("m")
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(StoreError, match="is a store of version 7"):
        bl.open(path)


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
        model = store.model("m", linear())
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
            *(
                ({}, {"event": [text, *["[0,{}]"] * 5]})
                for text in (
                    "[0,[1.0],7]",
                    '[0,{"x":1.0},7]',
                    f'[0,{{}},"a",0.0{",1" * 9}]',
                )
            ),
            *(
                ({}, {"event": ['[0,{},"a"]', text, *["[0,{}]"] * 4]})
                for text in ("[1,[0,0],1.0]", "[1,[0],1.0]", '[1,[0,"a",1],1.0]', "[8,3]")
            ),
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
        assert isinstance(refused.result()[0], bl.errors.UnknownTicket)
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


@pytest.mark.parametrize("step", ["sqlite3.connect", "_prepare"])
def test_a_disk_that_fails_while_a_file_is_opened_again_is_away_for_now(
    path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with bl.open(path) as store:
        store.writer.run(lambda: disk(store)._fail(None))
        monkeypatch.setattr(f"belated.store.sqlite.{step}", fail)
        with pytest.raises(bl.errors.StoreUnavailable, match="disk I/O error"):
            store.notes()


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
