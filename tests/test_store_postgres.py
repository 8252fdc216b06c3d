"""Stores in PostgreSQL: a real server, which the tests bring up where one is installed."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import belated as bl
from belated.errors import (
    MissingExtra,
    NotCommitted,
    StoreDamaged,
    StoreError,
    StoreInUse,
    StoreUnavailable,
)
from belated.store.recovery import recover_model
from postgres_server import Server, running
from tcp_proxy import Proxy


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Return a server that runs."""
    with running() as found:
        yield found


@pytest.fixture
def url(server: Server) -> Iterator[str]:
    """Return where a store may be, and remove what was in it."""
    yield server.url
    server.execute("DROP SCHEMA IF EXISTS belated CASCADE")


def linear(**changes: Any) -> bl.LinearModel:
    return bl.LinearModel(**{"loss": "squared", "bits": 6, "silence": 0.0, **changes})


SPECS: dict[str, Callable[[], Any]] = {
    "linear": linear,
    "chooser": lambda: bl.Chooser(["a", "b"], bits=6, silence=0.0),
    "intervals": lambda: bl.Intervals(bl.LinearModel("squared", bits=6)),
    "learner": lambda: bl.Learner(bl.FirstOrder(bl.PFTRL(bl.Ball(2), bl.rates.Tight(1.0)))),
}


def lived(model: Any, kind: str, events: int = 8) -> None:
    for i in range(events):
        key = f"{kind}-{model.rounds}"
        if kind == "chooser":
            model.choose({"x": i}, key=key)
        elif kind == "learner":
            model.predict(key=key)
        else:
            model.predict({"x": float(i), "w": 'odd "word" \ud800'}, key=key)
        if i % 2:
            model.observe(key, [0.5, 0.5] if kind == "learner" else 1.0)


def test_every_kind_is_there_again(url: str, tmp_path: Path) -> None:
    with bl.open(url, snapshot_every=5) as store:
        states = {}
        for kind, spec in SPECS.items():
            model: Any = store.model(kind, spec())
            lived(model, kind)
            states[kind] = model.snapshot()
    with bl.open(url) as store:
        assert store.models() == sorted(SPECS)
        for kind, spec in SPECS.items():
            model = store.model(kind, spec())
            assert model.snapshot() == states[kind]
            entry = store._models[kind]
            database: Any = store._database
            database._open().execute("DELETE FROM snapshots")
            assert recover_model(database, entry._about, None).model.snapshot() == states[kind]
        assert store.rebuild("linear", linear(bits=8), to="linear").rounds == 8
        store.rebuild("linear", linear(bits=8), to="wide")
        assert store.compact("linear") == 12
        pytest.importorskip("pyarrow")
        assert store.export("wide", tmp_path / "wide.parquet") == 12
        state = store.model("wide").snapshot()
        store.delete("wide")
        assert store.load("wide", tmp_path / "wide.parquet").snapshot() == state
    with bl.open(tmp_path / "file.db") as store:  # from one kind of store to the other
        assert store.load("wide", tmp_path / "wide.parquet").snapshot() == state


def test_several_share_a_store_and_each_model_has_one_writer(url: str, server: Server) -> None:
    with bl.open(url) as one, bl.open(url) as two:
        first = one.model("first", linear())
        lived(first, "linear")
        second = two.model("second", linear())
        assert one.models() == two.models() == ["first", "second"]
        for asked in (
            lambda: two.model("first", linear()),
            lambda: two.delete("first"),
            lambda: two.compact("first"),
            lambda: one.model("second"),
        ):
            with pytest.raises(StoreInUse, match=r"process \d+ of the server, belated"):
                asked()
        assert two.rebuild("first", linear(bits=7)).rounds == 8  # who only reads may
        one.release("first")
        taken = two.model("first", linear())
        assert taken.rounds == 8
        taken.predict({"x": 1.0}, key="new")
        with pytest.raises(StoreInUse):
            first.predict({"x": 1.0})
        two.release("first")
        assert first.observe("new", 3.0)
        assert first.rounds == 9
        two.delete("second")
        assert one.models() == ["first"]
        owned = server.execute("SELECT count(*) FROM belated.owners")
        assert owned == [(1,)]
        with pytest.raises(StoreError, match="deleted"):
            second.predict({"x": 1.0})


def test_a_killed_writer_is_followed_within_seconds(url: str, tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    process = os.fork()
    if process == 0:
        try:
            notes = os.open(noted, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            writer = bl.open(url).model("m", linear())
            for i in range(10**9):
                writer.predict([float(i % 3)], key=f"k{i}")
                os.write(notes, f"k{i}\n".encode())
        finally:
            os._exit(1)
    while not noted.exists() or not noted.read_text():
        assert os.waitpid(process, os.WNOHANG) == (0, 0), "the writer has died"
        time.sleep(0.005)
    time.sleep(0.05)
    with bl.open(url) as store:
        with pytest.raises(StoreInUse):
            store.model("m")
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        begin = time.monotonic()
        model: Any = None
        while model is None:
            assert time.monotonic() - begin < 5.0
            try:
                model = store.model("m")
            except StoreInUse:
                time.sleep(0.01)
        answered = noted.read_text().split()
        assert [model.ticket(key) for key in answered] == list(range(len(answered)))
        assert model.rounds <= len(answered) + 1


@pytest.mark.slow
def test_a_stopped_writer_is_followed_and_cannot_write_any_more(url: str, tmp_path: Path) -> None:
    noted, said = tmp_path / "noted", tmp_path / "said"
    process = os.fork()
    if process == 0:
        try:
            writer = bl.open(url).model("m", linear())
            writer.predict([1.0], key="before")
            noted.touch()
            os.kill(os.getpid(), signal.SIGSTOP)
            try:
                writer.predict([1.0], key="after")
            except StoreError as error:
                said.write_text(type(error).__name__)
        finally:
            os._exit(1)
    while not noted.exists():
        assert os.waitpid(process, os.WNOHANG) == (0, 0), "the writer has died"
        time.sleep(0.005)
    try:
        with bl.open(url) as store:
            model, begin = None, time.monotonic()
            while model is None:
                assert time.monotonic() - begin < 60.0
                try:
                    model = store.model("m", linear())
                except StoreInUse:
                    time.sleep(0.05)
            assert model.predict([1.0], key="mine").ticket == 1
            os.kill(process, signal.SIGCONT)
            os.waitpid(process, 0)
            assert said.read_text() in ("NotCommitted", "StoreInUse")
            assert (model.rounds, len(list(store.log("m")))) == (2, 2)
    finally:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def test_the_log_refuses_a_second_writer(url: str) -> None:
    """As behind a pool of connections, which would give the lock to somebody else."""
    with bl.open(url) as one, bl.open(url) as two:
        first = one.model("m", linear())
        first.predict([1.0], key="a")
        database: Any = one._database
        one.writer.run(lambda: database._open().execute("SELECT pg_advisory_unlock_all()"))
        assert two.model("m").predict([2.0], key="b").ticket == 1
        with pytest.raises(NotCommitted):
            first.predict([3.0], key="c")
        with pytest.raises(StoreInUse):
            first.predict([3.0], key="c")
        assert [line.key for line in two.log("m")] == ["a", "b"]


def test_a_session_that_the_server_takes_for_alive_is_ended(server: Server, url: str) -> None:
    with Proxy(server.folder) as proxy, bl.open(proxy.url) as store:
        model = store.model("m", linear())
        for turn in range(3):
            model.predict([1.0], key=f"{turn}")
            proxy.reset()
            with pytest.raises(NotCommitted) as caught:
                model.predict([1.0], key=f"{turn}-late")
            assert model.ticket(f"{turn}") >= 0
            # A reset that is noticed before the commit is sent leaves nothing unknown.
            assert caught.value.is_unknown or not model.is_open(f"{turn}-late")
        assert 3 <= model.rounds <= 6


def test_a_connection_that_is_given_up_between_calls_takes_its_models_along(url: str) -> None:
    """As when a call is interrupted that has just given the connection back."""
    with bl.open(url) as store, bl.open(url) as other:
        database: Any = store._database
        model = store.model("m", linear())
        model.predict([1.0], key="a")
        store.writer.run(lambda: database._give_up(database._connection))
        taken, begin = None, time.monotonic()
        while taken is None:  # the server ends the session a moment later
            assert time.monotonic() - begin < 5.0
            with suppress(StoreInUse):
                taken = other.model("m")
        taken.predict([1.0], key="b")
        with pytest.raises(StoreInUse):
            model.predict([1.0], key="c")
        assert taken.rounds == 2


@pytest.mark.slow
def test_a_network_that_swallows_all_does_not_hold_calls_up(server: Server, url: str) -> None:
    with Proxy(server.folder) as proxy, bl.open(proxy.url) as store:
        model = store.model("m", linear())
        model.predict([1.0], key="a")
        proxy.swallow()
        with pytest.raises(NotCommitted, match="may or may not"):
            model.predict([1.0], key="b")
        with pytest.raises(StoreUnavailable, match="not answered"):
            store.check()
        with bl.open(url) as other:
            taken = None
            while taken is None:
                with suppress(StoreInUse):
                    taken = other.model("m")
            assert taken.predict([1.0], key="c").ticket in (1, 2)
            proxy.forward()
            refused = None
            while not isinstance(refused, StoreInUse):  # once the database answers again
                with pytest.raises(StoreError) as caught:
                    model.predict([1.0], key="d")
                refused = caught.value
                time.sleep(0.05)


@pytest.mark.slow
def test_a_lock_that_another_one_holds_is_not_waited_for_without_end(
    server: Server, url: str
) -> None:
    psycopg = pytest.importorskip("psycopg")
    with bl.open(url) as store:
        model = store.model("m", linear())
        with psycopg.connect(url) as other:
            other.execute("LOCK TABLE belated.events IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(NotCommitted, match="lock timeout"):
                model.predict([1.0])
        assert model.predict([1.0]).ticket == 0


def test_a_store_that_nobody_closes_leaves_no_session(server: Server, url: str) -> None:
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'belated'"
    store = bl.open(url)
    store.model("m", linear()).predict([1.0])
    begin = time.monotonic()
    while server.execute(query) != [(2,)]:  # its own, and that of its heartbeat
        assert time.monotonic() - begin < 60.0
        time.sleep(0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        del store
        while server.execute(query) != [(0,)]:
            assert time.monotonic() - begin < 60.0
            gc.collect()
            time.sleep(0.05)


def test_connections_that_drop(server: Server, url: str) -> None:
    answered: list[str] = []
    lost: list[str] = []
    stolen: list[str] = []  # by nobody, as there is no other
    with bl.open(url, snapshot_every=20) as store:
        models = [store.model("one", linear(wait=None)), store.model("two", linear(wait=None))]

        def work(number: int) -> None:
            for i in range(4000):
                if i >= 40 and lost:
                    return
                key = f"{number}-{i}"
                try:
                    models[number % 2].predict([float(i)], key=key)
                    answered.append(key)
                except StoreInUse:
                    stolen.append(key)
                except StoreError:
                    lost.append(key)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.03)
            server.drop_connections()
        with suppress(StoreError):
            store.models()  # notices if the last thing was that the connection dropped
        assert lost
        assert not stolen
        assert len(answered) + len(lost) >= 160
        for key in answered:
            assert models[int(key[0]) % 2].ticket(key) >= 0
        for name, model in zip(("one", "two"), models, strict=True):
            entry = store._models[name]
            assert recover_model(store._database, entry._about, None).model.snapshot() == (
                model.snapshot()
            )


def test_a_server_that_goes_away_and_comes_back(server: Server, url: str) -> None:
    with bl.open(url) as store:
        model = store.model("m", linear())
        lived(model, "linear")
        state = model.snapshot()
        server.stop()
        for _ in range(2):
            with pytest.raises(StoreError):
                model.predict({"x": 1.0})
        server.start()
        assert model.snapshot() == state
        assert model.predict({"x": 1.0}).ticket == 8


def test_a_database_that_may_not_be_written_is_told_from_one_that_is_damaged(
    server: Server, url: str
) -> None:
    with bl.open(url) as store:
        model = store.model("m", bl.LinearModel("squared", bits=8))
        database: Any = store._database
        database._open().execute("SET default_transaction_read_only = on")
        with pytest.raises(StoreUnavailable, match="read-only"):
            store.keep_first("a", b"")
        assert model.predict([1.0]).ticket == 0
        server.execute("ALTER TABLE belated.notes RENAME TO gone")
        with pytest.raises(StoreDamaged, match="notes"):
            store.notes()
        server.execute("ALTER TABLE belated.gone RENAME TO notes")
        assert store.notes() == []
        database._open().close()  # as a network does
        with pytest.raises(StoreUnavailable):
            store.notes()
        assert model.predict([1.0]).ticket == 1


def test_what_is_wrong_is_said_without_secrets(
    server: Server, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoreError, match="postgresql://") as caught:
        bl.open(f"postgresql://me:hunter2@/nowhere?host={server.folder}")
    assert "hunter2" not in str(caught.value)
    server.execute("CREATE SCHEMA belated")
    with pytest.raises(StoreError, match="no store"):
        bl.open(url)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"belated\[postgres\]"):
        bl.open(url)


def bytes_in(server: Server, secret: bytes) -> list[str]:
    """Return the files of tables that have some bytes, once the server has written them."""
    server.execute("CHECKPOINT")
    files = (Path(server.folder) / "data" / "base").glob("*/*")
    return [each.name for each in files if each.is_file() and secret in each.read_bytes()]


def test_a_key_is_erased_also_by_a_process_that_was_killed(server: Server, url: str) -> None:
    with bl.open(url) as store:
        lived(store.model("m", linear()), "linear", 20)
        store.model("m").predict({"w": "secretvalue"}, key="click-erased")
        store.model("m").save()
        before = {line.number: line for line in store.log("m")}
    assert bytes_in(server, b"secretvalue")
    for after in (0.0, 0.3, 0.6, 1.2):
        process = os.fork()
        if process == 0:
            with suppress(BaseException), bl.open(url) as store:
                store.model("m").erase("click-erased")
            os._exit(0)
        time.sleep(after)
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    with bl.open(url) as store:
        store.model("m").erase("click-erased")
        lines = list(store.log("m"))
        assert [line.verb for line in lines if line.number not in before] == []
        assert sum(line.verb == "erased" for line in lines) == 1
        assert all(line.verb == "erased" or before[line.number] == line for line in lines)
    server.execute("VACUUM FULL belated.events, belated.snapshots, belated.notes, belated.eras")
    assert not bytes_in(server, b"secretvalue")
    assert not bytes_in(server, b"click-erased")


def test_a_schema_of_the_version_before_is_migrated(server: Server, url: str) -> None:
    with bl.open(url) as store:
        lived(store.model("m", linear()), "linear")
        state = store.model("m").snapshot()
        store.keep("mine", b"note")
    server.execute(
        "ALTER TABLE belated.models DROP COLUMN erased, DROP COLUMN tickets; "
        "ALTER TABLE belated.notes DROP COLUMN event, DROP COLUMN size; "
        "UPDATE belated.events SET events = set_byte(events, 0, 3); "
        "COMMENT ON SCHEMA belated IS 'a store, version 3'"
    )
    with bl.open(url) as store:
        assert store.model("m").snapshot() == state
        assert store.notes("mine")[0].body == b"note"
        assert store.model("m").erase("linear-1").tickets == 1


def test_a_dump_is_a_backup(server: Server, url: str, tmp_path: Path) -> None:
    programs = server.binaries
    if not (programs / "pg_dump").exists():
        pytest.skip("pg_dump is not installed")
    with bl.open(url) as store:
        lived(store.model("m", linear()), "linear")
        state = store.model("m").snapshot()
        dump = subprocess.run(
            [str(programs / "pg_dump"), "--schema=belated", "--no-owner", server.url],
            check=True,
            capture_output=True,
        ).stdout
    server.execute("DROP SCHEMA belated CASCADE")
    subprocess.run(
        [str(programs / "psql"), "-q", "-v", "ON_ERROR_STOP=1", server.url], input=dump, check=True
    )
    with bl.open(url) as store:
        assert store.model("m").snapshot() == state
