"""What a server that starts again knows, while its models come back and when one cannot."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

from belated.service.hub import Hub
from service_calls import Caller, serving


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
