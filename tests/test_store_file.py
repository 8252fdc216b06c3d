"""Files of an open store that are deleted, moved or replaced: nothing more is acknowledged."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import belated as bl
from belated.cli import main
from belated.errors import NotCommitted, StoreDamaged, StoreUnavailable
from server_process import ServerProcess

EVENTS = 5


def test_a_server_without_its_file_is_not_ready_and_acknowledges_nothing(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    path = tmp_path / "s.db"
    with ServerProcess("--store", str(path)) as server:
        call = server.call
        body = {"name": "m", "kind": "LinearModel", "settings": {"loss": "squared", "bits": 6}}
        assert call("POST", "/models", body).status == 201
        assert call("POST", "/models/m/predict", {"features": {"x": 1.0}}).status == 200
        assert call("GET", "/ready").status == 200
        delete_all(path)
        answer = call("POST", "/models/m/predict", {"features": {"x": 1.0}})
        assert (answer.status, answer.code) == (503, "not_committed")
        answer = call("GET", "/ready")
        assert (answer.status, answer.code) == (503, "store_unavailable")
        assert str(path) not in answer.body["error"]["message"]
        assert call("GET", "/models/m/report").body["rounds"] == 1
        assert server.end(signal.SIGTERM) == 0


def spec() -> bl.LinearModel:
    return bl.LinearModel("squared", bits=6)


def delete_all(path: Path) -> None:
    for each in path.parent.glob(path.name + "*"):
        each.unlink()


def replace(path: Path) -> None:
    other = path.with_name("other.db")
    with bl.open(other) as store:
        store.model("m", spec()).predict([9.0])
    other.rename(path)


def delete_log(path: Path) -> None:
    path.with_name(path.name + "-wal").unlink()


def move_away(path: Path) -> None:
    path.rename(path.with_name("moved.db"))


def truncate(path: Path) -> None:
    os.truncate(path, 0)


ACCIDENTS: list[Callable[[Path], None]] = [delete_all, replace, delete_log, move_away, truncate]


@pytest.mark.parametrize("accident", ACCIDENTS)
def test_nothing_is_acknowledged_without_the_file(
    tmp_path: Path, accident: Callable[[Path], None]
) -> None:
    path = tmp_path / "s.db"
    store = bl.open(path)
    model = store.model("m", spec())
    for i in range(EVENTS):
        model.predict([float(i)], key=f"k{i}")
    accident(path)
    for _ in range(5):
        with pytest.raises(NotCommitted, match=r"s\.db"):
            model.predict([1.0], key="lost")
    for attempt in (
        lambda: store.model("new", spec()),
        lambda: store.delete("m"),
        lambda: store.keep_first("note", b""),
        lambda: store.check(),
    ):
        with pytest.raises(StoreUnavailable, match=r"s\.db"):
            attempt()
    with pytest.raises(NotCommitted):
        model.predict_many([[1.0], [2.0]])
    assert (model.rounds, model.ticket("k4")) == (EVENTS, 4)  # the open file has them still
    assert len(list(store.log("m"))) == EVENTS
    store.close()


def test_what_the_open_file_has_can_be_exported(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "s.db"
    store = bl.open(path)
    model = store.model("m", spec())
    for i in range(EVENTS):
        model.predict([float(i)], key=f"k{i}")
    delete_all(path)
    with pytest.raises(NotCommitted):
        model.predict([1.0])
    assert store.export("m", tmp_path / "m.parquet") == EVENTS
    store.close()
    with bl.open(path) as fresh:
        assert fresh.models() == []
        assert fresh.load("m", tmp_path / "m.parquet").ticket("k4") == 4


def test_a_file_that_is_put_back_is_written_again(tmp_path: Path) -> None:
    path, away = tmp_path / "s.db", tmp_path / "away.db"
    with bl.open(path) as store:
        model = store.model("m", spec())
        model.predict([1.0], key="a")
        path.rename(away)
        with pytest.raises(NotCommitted):
            model.predict([1.0], key="b")
        away.rename(path)
        assert model.predict([1.0], key="b").ticket == 1
        store.check()
    with bl.open(path) as store:
        assert store.model("m").rounds == 2


def test_a_connection_that_failed_makes_no_new_file(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with bl.open(path) as store:
        model = store.model("m", spec())
        model.predict([1.0])
        database: Any = store._database
        database._connection.close()
        delete_all(path)
        with pytest.raises(NotCommitted):
            model.predict([1.0])
        with pytest.raises((StoreUnavailable, StoreDamaged)):
            store.keep_first("note", b"")
        assert not path.exists()


def test_events_that_have_gone_from_the_log_are_missed(tmp_path: Path) -> None:
    with bl.open(tmp_path / "s.db") as store:
        model = store.model("m", spec())
        for i in range(EVENTS):
            model.predict([float(i)])
        database: Any = store._database
        database._open().execute("DELETE FROM events WHERE number & 1023 = 4")
        store.release("m")
        with pytest.raises(StoreDamaged, match="5 were committed"):
            store.model("m")


def test_a_backup_is_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, copy = tmp_path / "s.db", tmp_path / "copy.db"
    with bl.open(path) as store:
        model = store.model("m", spec())
        for i in range(EVENTS):
            model.predict([float(i)], key=f"k{i}")
        assert main(["backup", str(path), str(copy)]) == 0
        state = model.snapshot()
        model.observe("k1", 1.0)
        assert main(["backup", str(path), str(copy)]) == 1
        assert "is there already" in capsys.readouterr().err
    with bl.open(copy) as restored:
        assert restored.model("m").snapshot() == state
        assert restored.model("m").observe("k1", 1.0)
    (tmp_path / "text").write_text("nothing that SQLite knows")
    for wrong in ("text", "none"):
        assert main(["backup", str(tmp_path / wrong), str(tmp_path / "other")]) == 1
        assert not (tmp_path / "other").exists()
