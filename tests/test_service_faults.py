"""Faults of the store while it is read: what is no fault of a request is not told as one."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import belated as bl
from belated.errors import BelatedError
from belated.service.requests import refusal_of
from service_calls import LINEAR, Answer, Caller, serving


def full() -> sqlite3.Error:
    """Return what SQLite says of a disk without space."""
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


FAULTS: dict[str, tuple[sqlite3.Error, int, str]] = {
    "a failing disk": (sqlite3.OperationalError("disk I/O error"), 503, "store_unavailable"),
    "a lock": (sqlite3.OperationalError("database is locked"), 503, "store_unavailable"),
    "a full disk": (full(), 507, "disk_full"),
    "damage": (sqlite3.DatabaseError("database disk image is malformed"), 500, "store_damaged"),
}


class Faulty:
    """A connection that fails."""

    def __init__(self, connection: sqlite3.Connection, error: sqlite3.Error) -> None:
        self._connection, self._error = connection, error

    def execute(self, *_: Any) -> Any:
        """Fail."""
        raise self._error

    def close(self) -> None:
        """Close it; the next one is sound."""
        self._connection.close()


@contextmanager
def failing(ask: Caller, error: sqlite3.Error) -> Iterator[None]:
    """Let the next thing fail that is asked of the database."""
    database: Any = ask.server.store._database

    def fail() -> None:
        database._connection = Faulty(database._open(), error)

    ask.server.store.writer.run(fail)
    yield


def told(answer: Answer) -> tuple[int, str]:
    """Return the status and the code of a refusal."""
    return answer.status, answer.body["error"]["code"]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Return a client of a server with a model that has been used."""
    with serving(tmp_path_factory.mktemp("faults")) as caller:
        for _ in range(3):
            assert caller("POST", "/models/layout/choose", {"context": {"a": 1.0}}).status == 200
        caller("POST", "/models/value/predict", {"features": {"a": 1.0}, "key": "k"})
        yield caller


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_while_reading_are_no_conflicts(ask: Caller, fault: str) -> None:
    error, *expected = FAULTS[fault]
    settings = {**LINEAR, "bits": 9}
    asked: tuple[tuple[str, str, Any], ...] = (
        ("GET", "/models/layout/export", None),
        ("GET", "/models/layout/evaluate", None),
        ("POST", "/models/value/rebuild", {"settings": settings}),
        ("POST", "/models/value/rebuild", {"settings": settings, "to": "copy"}),
        ("POST", "/models", {"name": "new", "kind": "LinearModel", "settings": LINEAR}),
        ("DELETE", "/models/value", None),
    )
    before = ask("GET", "/models").body
    for method, path, body in asked:
        with failing(ask, error):
            answer = ask(method, path, body)
            assert told(answer) == tuple(expected), (method, path, answer)
        assert answer.headers.get("retry-after") == ("1" if expected[0] == 503 else None)
        assert str(ask.server.store.where) not in answer.body["error"]["message"]
        assert ask("GET", "/models").body == before


@pytest.mark.parametrize("fault", FAULTS)
def test_a_model_that_cannot_be_brought_back_is_no_conflict(ask: Caller, fault: str) -> None:
    error, *expected = FAULTS[fault]
    ask.server.hub.lose("value", None)
    ask.server.store.release("value")
    with failing(ask, error):
        assert told(ask("GET", "/models/value")) == tuple(expected)
    assert ask("GET", "/models/value").body["rounds"] == 1


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_store_is_none_of_an_imported_file(ask: Caller, fault: str) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    error, *expected = FAULTS[fault]
    if fault == "damage":
        expected = [422, "bad_file"]  # which nobody can tell apart from the file's
    file = ask("GET", "/models/value/export").body
    with failing(ask, error):
        assert told(ask.raw("POST", "/models/brought/import", file)) == tuple(expected)
    assert ask("GET", "/models/brought").status == 404


@pytest.mark.parametrize(
    ("number", "expected"), [(errno.ENOSPC, (507, "disk_full")), (errno.EACCES, (500, "failed"))]
)
def test_a_file_that_cannot_be_exported_is_no_conflict(
    ask: Caller,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    expected: tuple[int, str],
) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")

    def fails(*_: object) -> None:
        raise OSError(number, "no")

    monkeypatch.setattr("belated.store.parquet.export", fails)
    assert told(ask("GET", "/models/value/export")) == expected


def test_names_that_are_taken_are_conflicts(ask: Caller) -> None:
    answer = ask("POST", "/models/value/rebuild", {"settings": LINEAR, "to": "layout"})
    assert told(answer) == (409, "name_taken")


def test_a_store_that_is_closed_is_no_conflict(tmp_path: Path) -> None:
    store = bl.open(tmp_path / "closed.db")
    store.close()
    with pytest.raises(bl.errors.StoreClosed) as caught:
        store.models()
    refused = refusal_of(caught.value)
    assert (refused.status, refused.code) == (503, "store_closed")


def test_every_error_of_ours_has_a_status() -> None:
    def below(kind: type[BelatedError]) -> set[type[BelatedError]]:
        return {kind}.union(*(below(each) for each in kind.__subclasses__()))

    expected = {
        "NotCommitted": 503,
        "StoreUnavailable": 503,
        "StoreInUse": 503,
        "StoreClosed": 503,
        "BusyError": 503,
        "StoreDamaged": 500,
        "SnapshotError": 500,
        "MissingExtra": 501,
        "UnknownModel": 404,
        "UnknownTicket": 404,
        "AlreadyObserved": 409,
        "BadKey": 409,
        "StoreError": 409,
    }
    for kind in below(BelatedError):
        if kind.__module__ == "belated.errors":
            error = kind.__new__(kind)
            error.args = ("no",)
            if isinstance(error, bl.errors.StoreUnavailable):
                error.is_full = False
            assert refusal_of(error).status == expected.get(kind.__name__, 422), kind
    assert refusal_of(bl.errors.Unsupported("no")).code == "unsupported"
