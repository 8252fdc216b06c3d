"""What a server that starts again knows, while its models come back and when one cannot."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import belated as bl
from belated.service import Limits
from belated.service.hub import Hub
from belated.service.served import Served
from service_calls import Answer, Caller, serving


def test_what_is_sent_again_is_known_from_the_first_request_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item, key = {"features": {"x": 1.0}}, {"Idempotency_Key": "again"}
    with serving(tmp_path) as ask:
        first = ask("POST", "/models/value/predict", item, **key)
    may_go_on, warm = threading.Event(), Hub.warm

    def held(hub: Hub) -> None:
        assert may_go_on.wait(30.0)
        warm(hub)

    monkeypatch.setattr(Hub, "warm", held)
    with serving(tmp_path) as other:
        ask = Caller(other.server, ask.token)
        second = ask("POST", "/models/value/predict", item, **key)
        may_go_on.set()
        assert ask("GET", "/models/value").body["rounds"] == 1
    assert second.body == first.body
    assert second.headers["idempotency-replayed"] == "true"


def until_ready(ask: Caller) -> Answer:
    """Return what is said when all models are there."""
    for _ in range(1000):
        said = ask("GET", "/ready")
        if said.status == 200:
            return said
        time.sleep(0.01)
    raise AssertionError(said)


def test_a_model_that_is_damaged_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path) as ask:
        item = {"features": {"x": 1.0}}
        assert ask("POST", "/models/value/predict", item).status == 200
        assert ask("POST", "/models", {"name": "a", "kind": "LinearModel"}).status == 201
    with closing(sqlite3.connect(tmp_path / "test.db")) as database, database:
        database.execute("UPDATE events SET events = CAST(events || x'20' AS BLOB)")
    with serving(tmp_path) as other:
        ask = Caller(other.server, ask.token)
        assert until_ready(ask).body == {"status": "damaged", "models": 3, "damaged": 1}
        found = {each["name"]: each for each in ask("GET", "/models").body["models"]}
        assert found["value"] == {"name": "value", "is_ready": False, "is_damaged": True}
        assert found["layout"]["is_ready"]
        refused = ask("POST", "/models/value/predict", item)
        assert refused.body["error"]["code"] == "store"
        assert ask("POST", "/models/layout/choose", {}).status == 200
        assert ask("DELETE", "/models/value").status == 204
        assert until_ready(ask).body == {"status": "ready", "models": 2}
    assert 'damaged model="value" why=' in capsys.readouterr().err


def test_a_model_may_be_deleted_while_others_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as ask:
        pass
    is_deleted, load = threading.Event(), Hub.load

    def slow(hub: Hub, name: str) -> Served:
        if name == "value":
            assert is_deleted.wait(30.0)
        return load(hub, name)

    monkeypatch.setattr(Hub, "load", slow)
    with serving(tmp_path) as other:
        ask = Caller(other.server, ask.token)
        assert ask("DELETE", "/models/value").status == 204
        is_deleted.set()
        assert until_ready(ask).body == {"status": "ready", "models": 1}
        assert ask("POST", "/models/layout/choose", {}).status == 200


def test_notes_of_others_are_not_the_key_or_the_token(tmp_path: Path) -> None:
    with bl.open(tmp_path / "test.db") as store:
        for name in ("key", "keynote", "service:keynote", "token", "service:tokens"):
            store.keep(name, b"known to all")
        hub = Hub(store, Limits())
        assert hub.own_token() is not None
        names = {note.name: note.body for note in store.notes()}
        assert len(names["service:key"]) == 32
        again = Hub(store, Limits())
        assert again.own_token() is None
        assert again.signer.number(1, hub.signer.sign(1, 5)) == 5
        hub.close()
        again.close()
