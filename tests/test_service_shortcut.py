"""The short way of requests: the same answers as the long one, in their order, and nothing lost."""

from __future__ import annotations

import io
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httptools", reason="httptools is not installed")

from belated.service import Limits
from belated.service.shortcut import Shortcut
from service_calls import LINEAR, Answer, serving, slowly, wired


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return, of every request that may take the short way, whether it did."""
    taken: list[bool] = []
    answer = Shortcut.answer

    def noted(*arguments: Any) -> bool:
        taken.append(answer(*arguments))
        return taken[-1]

    monkeypatch.setattr(Shortcut, "answer", noted)
    return taken


def without_signature(answer: Answer) -> Answer:
    """Return an answer less what differs from model to model."""
    text = json.dumps(answer.body)
    for each in (answer.body, *answer.body.get("items", ())):
        if "ticket" in each:
            text = text.replace(each["ticket"], each["ticket"].partition(".")[0])
    headers = {name: value for name, value in answer.headers.items() if name != "connection"}
    return Answer(answer.status, json.loads(text), headers)


SENT: tuple[tuple[str, Any, dict[str, str]], ...] = (
    ("predict", {"features": {"a": 1, "b": "x", "c": None}, "key": "k"}, {}),
    ("predict", {"features": {"a": 2.5}, "key": "k"}, {}),
    ("observe", {"key": "k", "value": 1}, {}),
    ("observe", {"key": "k", "value": 1}, {}),
    ("observe", {"key": "nobody", "value": 1}, {}),
    ("observe", {"ticket": "0.forged", "value": 1}, {}),
    ("predict", {"items": [{"features": {"a": 1}, "key": "m"}, {"features": 3}, {}]}, {}),
    ("predict", {"items": []}, {}),
    ("predict", {"items": [{}] * 9}, {}),
    ("predict", {"features": {"a": "y" * 30}}, {}),
    ("predict", {"features": {}, "no": 1}, {}),
    ("choose", {}, {}),
    ("predict", {"features": {"a": 1}}, {"Idempotency_Key": "once"}),
    ("predict", {"features": {"a": 1}}, {"Idempotency_Key": "once"}),
    ("predict", {"features": {"a": 2}}, {"Idempotency_Key": "once"}),
    ("predict", {"features": {"a": 2}}, {"Idempotency_Key": "x" * 30}),
    ("predict", {"features": 1}, {"Idempotency_Key": "refused"}),
    ("predict", {"features": {"a": 1}, "at": 5}, {}),
    ("predict", {"features": {"a": "y" * 3000}}, {}),
    ("predict", {"features": {"a": 1}}, {"Authorization": "Bearer none"}),
    (
        "predict",
        {"features": {"a": 1}},
        {"Authorization": "none", "Ocp_Apim_Subscription_Key": "x"},
    ),
)


def test_both_ways_say_the_same(tmp_path: Path, ways: list[bool]) -> None:
    with serving(tmp_path, Limits(text=20, batch=8, body=2000, open=5)) as ask, wired(ask) as wire:
        for name in ("short", "long"):
            about = {"name": name, "kind": "LinearModel", "settings": LINEAR}
            assert ask("POST", "/models", about).status == 201
        statuses = []
        for verb, body, headers in SENT:
            wire.send(wire.post(f"/models/short/{verb}", body, **headers))
            one = wire.answer()
            before = len(ways)
            two = ask("POST", f"/models/long/{verb}", body, Connection="close", **headers)
            assert len(ways) == before
            assert without_signature(one) == without_signature(two)
            statuses.append(one.status)
        assert ways == [True] * (len(SENT) - 2) + [False] * 2  # strangers are the application's
        assert set(statuses) == {200, 401, 404, 409, 413, 422}
        for what in ("", "/report"):
            one, two = (ask("GET", f"/models/{name}{what}") for name in ("short", "long"))
            assert {**one.body, "name": ""} == {**two.body, "name": ""}
        counts = ask("GET", "/metrics").body.decode()
        for line in counts.splitlines():
            if line.startswith('belated_events_total{model="short"'):
                assert line.replace('"short"', '"long"') in counts


@pytest.mark.parametrize("pause", [0.0, 0.06])
def test_bodies_that_come_later(pause: float, tmp_path: Path, ways: list[bool]) -> None:
    with serving(tmp_path) as ask, wired(ask) as wire:
        content = json.dumps({"features": {"a": 1.0}}).encode()
        for cut in (0, 5, len(content) - 1):
            wire.send(wire.head("POST", "/models/value/predict", len(content)) + content[:cut])
            time.sleep(pause)
            wire.send(content[cut:])
            assert wire.answer().status == 200
        assert len(ways) == 0 if pause else True in ways
        for byte in wire.post("/models/value/predict", {"features": {}}):
            wire.send(bytes([byte]))
        assert wire.answer().body["ticket"].startswith("3.")
        wire.send(wire.head("POST", "/models/value/predict", 9) + b"{")  # and hangs up
    assert ask.server.app.at_once == 0


def test_a_server_that_stops_answers_what_it_has_begun(
    tmp_path: Path, ways: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as ask, wired(ask) as wire:
        begun, go_on = slowly(ask, monkeypatch)
        wire.send(wire.post("/models/value/predict", {"features": {}, "key": "a"}))
        assert begun.wait(10.0)
        stopping = threading.Thread(target=ask.server.stop)
        stopping.start()
        time.sleep(0.3)
        go_on.set()
        found = wire.answer()
        assert (found.status, found.headers["connection"]) == (200, "close")
        stopping.join(20.0)
        assert not stopping.is_alive()
        assert ways == [True]


def test_a_log_that_cannot_be_written_keeps_nobody_waiting(tmp_path: Path) -> None:
    class Full(io.StringIO):
        def write(self, text: str, /) -> int:
            raise OSError(28, "No space left on device")

    with serving(tmp_path, log="json") as ask, wired(ask) as wire:
        ask.server.app.journal._stream = Full()
        for _ in range(3):
            wire.send(wire.post("/models/value/predict", {"features": {}}) * 2)
            assert [wire.answer().status for _ in range(2)] == [200, 200]
            wire.send(wire.post("/models/value/predict", []))
            assert wire.answer().status in (400, 422)
        assert ask.server.app.at_once == 0


def test_headers_behind_a_body_open_no_door(tmp_path: Path) -> None:
    with serving(tmp_path) as ask, wired(ask) as wire:
        head = (
            b"POST /models/value/predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        trailer = f"0\r\nAuthorization: Bearer {ask.token}\r\n\r\n".encode()
        wire.send(head + b"f\r\n" + b'{"features":{}}' + b"\r\n" + trailer)
        assert wire.answer().status == 401


def test_the_server_never_waits_for_a_model_that_another_thread_uses(tmp_path: Path) -> None:
    item = {"features": {"a": 1.0}}
    with serving(tmp_path) as ask:
        told: list[Answer] = []

        def tell(path: str, body: Any = None, method: str = "POST") -> threading.Thread:
            thread = threading.Thread(target=lambda: told.append(ask(method, path, body)))
            thread.start()
            return thread

        knobs = {"name": "knobs", "kind": "Knobs", "settings": {"knobs": {"x": [0, 1]}}}
        assert ask("POST", "/models", knobs).status == 201
        store = ask.server.store
        with (
            store.model("value").held(),
            store.model("layout").held(),
            store.model("knobs").held(),
        ):
            waiting = [
                tell("/models/value/predict", item),
                tell("/models/value/predict", {"items": [item] * 3}),
                tell("/models/value/tick"),
                tell("/models/layout/choose", {}),
                tell("/models/layout/rank", {"actions": [{"id": "a"}]}),
                tell("/models/layout/mode", {"mode": "learn"}, "PUT"),
                tell("/models/knobs/pause"),
                tell("/models/value", None, "GET"),
            ]
            for _ in range(20):
                assert ask("GET", "/health").status == 200
                time.sleep(0.005)
            assert not told
        for each in waiting:
            each.join()
        assert sorted(each.status for each in told) == [200] * 7 + [201]
        assert ask("GET", "/models/value").body["rounds"] == 4
        assert ask("GET", "/models/layout").body["rounds"] == 2
