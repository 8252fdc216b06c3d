"""What a server that starts again knows, while its models come back and when one cannot."""

from __future__ import annotations

import gc
import sqlite3
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import belated as bl
from belated.cli import serve_demo as demo
from belated.errors import ServiceError, SpecError, StoreError
from belated.service import Limits, Server, Settings
from belated.service.hub import Hub
from belated.service.model_state import ModelState
from service_calls import CHOOSER, LINEAR, Answer, Caller, serving


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
        assert (refused.status, refused.body["error"]["code"]) == (500, "store_damaged")
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

    def slow(hub: Hub, name: str) -> ModelState:
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


def settings(folder: Path, port: int = 0) -> Settings:
    """Return settings on a store of this test."""
    return Settings(store=folder / "test.db", port=port)


def test_a_server_that_cannot_be_made_lets_go_of_its_socket_and_its_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(hub: Hub, *_: object) -> str:
        raise StoreError("broken")

    with Server(settings(tmp_path)) as server:
        port = server.port
    with monkeypatch.context() as patch:
        patch.setattr(Hub, "own_token", broken)
        with pytest.raises(StoreError, match="broken"):
            Server(settings(tmp_path, port))
    with Server(settings(tmp_path, port)) as server:
        assert server.port == port


# --- Memory of a server ---------------------------------------------------------------------------

KINDS = {
    "LinearModel": (LINEAR, "predict", {"features": {"a": 1.0}}),
    "Intervals": ({"bits": 8}, "predict", {"features": {"a": 1.0}}),
    "Chooser": (CHOOSER, "choose", {}),
    "Knobs": ({"knobs": {"x": [0, 1]}}, "predict", {}),
}


@contextmanager
def unlooked() -> Iterator[None]:
    """Have nobody look for garbage."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def wait_until(what: str, is_so: Any) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 10.0
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.005)


def test_models_that_are_deleted_are_freed_without_a_look(tmp_path: Path) -> None:
    with serving(tmp_path) as ask, unlooked():
        gone = {}
        for kind, (settings, verb, item) in KINDS.items():
            about = {"name": kind, "kind": kind, "settings": settings}
            assert ask("POST", "/models", about).status == 201
            said = ask("POST", f"/models/{kind}/{verb}", item, Idempotency_Key="k")
            assert said.status == 200
            value = {"ticket": said.body["ticket"], "value": 1.0}
            assert ask("POST", f"/models/{kind}/observe", value).status == 200
            assert ask("GET", f"/models/{kind}/report").status == 200
            gone[kind] = weakref.ref(ask.server.hub.models[kind].stored.in_memory)
            assert ask("DELETE", f"/models/{kind}").status == 204
        for kind, model in gone.items():
            wait_until(kind, lambda model=model: model() is None)


def test_a_process_of_its_own_looks_only_through_what_comes(tmp_path: Path) -> None:
    gc.unfreeze()
    server = Server(Settings(store=tmp_path / "test.db", port=0))
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until("it is up", server._is_up.is_set)
    frozen = gc.get_freeze_count()
    assert frozen > 0
    about = {"name": "value", "kind": "LinearModel", "settings": LINEAR}
    assert Caller(server)("POST", "/models", about).status == 201
    assert gc.get_freeze_count() > frozen
    server.stop()
    thread.join(20.0)
    assert gc.get_freeze_count() == 0


# --- ``belated serve --demo`` has a store of its own ----------------------------------------------


@pytest.mark.parametrize("option", ["--store", "--tokens"])
def test_a_demonstration_leaves_the_stores_of_others_alone(tmp_path: Path, option: str) -> None:
    file = tmp_path / "own.db"
    command = [sys.executable, "-m", "belated", "serve", "--demo", option, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode != 0
    assert "--demo has a store of its own" in done.stderr
    assert not list(tmp_path.iterdir())


def test_what_fails_at_the_end_is_told_when_all_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close = Hub.close

    def broken(hub: Hub) -> None:
        close(hub)
        raise StoreError("full")

    with monkeypatch.context() as patch:
        patch.setattr(Hub, "close", broken)
        with pytest.raises(StoreError, match="full"), Server(settings(tmp_path)) as server:
            port = server.port
    with Server(settings(tmp_path, port)) as server:
        assert server.port == port


def test_a_server_that_does_not_start_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(server: Server) -> None:
        raise OSError("no threads")

    monkeypatch.setattr(Server, "_begin", broken)
    with pytest.raises(ServiceError, match="did not start"), Server(settings(tmp_path)):
        pass
    with bl.open(tmp_path / "test.db"):  # nobody holds it
        pass


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SpecError("no flights"), "no flights"),
        (ServiceError("no", status=409), "no"),
        (ServiceError("gone"), None),
    ],
)
def test_a_demonstration_says_why_it_stopped(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    said: str | None,
) -> None:
    def broken(client: Any) -> None:
        raise error

    monkeypatch.setattr(demo, "Flights", broken)
    with serving(tmp_path) as ask:
        assert isinstance(ask, Caller)
        demo._play(ask.server)
    found = capsys.readouterr().err
    assert found == "" if said is None else f"the demonstration: {said}" in found
