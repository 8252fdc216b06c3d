"""Memory of a server: models that go are freed at once, and what stays is not looked through."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

from belated.service import Server, Settings
from service_calls import CHOOSER, LINEAR, Caller, serving

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


def until(what: str, is_so: Any) -> None:
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
            until(kind, lambda model=model: model() is None)


def test_a_process_of_its_own_looks_only_through_what_comes(tmp_path: Path) -> None:
    gc.unfreeze()
    server = Server(Settings(data=tmp_path / "test.db", port=0))
    thread = threading.Thread(target=server.run)
    thread.start()
    until("it is up", server._is_up.is_set)
    frozen = gc.get_freeze_count()
    assert frozen > 0
    about = {"name": "value", "kind": "LinearModel", "settings": LINEAR}
    assert Caller(server)("POST", "/models", about).status == 201
    assert gc.get_freeze_count() > frozen
    server.stop()
    thread.join(20.0)
    assert gc.get_freeze_count() == 0


def test_a_server_within_a_program_leaves_its_garbage_alone(tmp_path: Path) -> None:
    gc.unfreeze()
    with serving(tmp_path):
        assert gc.get_freeze_count() == 0
