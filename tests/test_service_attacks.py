"""Whatever comes in: no failure of the server, one shape of refusal, and nothing changed by it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import belated.service
from belated.service import Limits
from belated.service.journal import Journal
from belated.service.routes import ROUTES
from service_calls import Answer, Caller, serving

FEW = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
HOSTILE = (
    "<script>alert(1)</script>",
    "'; DROP TABLE models; --",
    "../../etc/passwd",
    'a"}\n{"level": "x',
    "a\r\nSet-Cookie: x=1",
    "\x00",
    "%s%n{0}",
    "\u202etxt",
    "é" * 10,
)


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Return a client of a server that writes down what it is asked."""
    with serving(tmp_path_factory.mktemp("attacks")) as caller:
        caller("POST", "/models", {"name": "rank", "kind": "Chooser", "settings": {"bits": 8}})
        yield caller


def state(ask: Caller) -> Any:
    """Return all that a refused request must leave as it is."""
    models = [each["name"] for each in ask("GET", "/models").body["models"]]
    return models, [ask("GET", f"/models/{name}").body for name in models]


def check(ask: Caller, answer: Answer, before: Any) -> None:
    """A refusal has the one shape, and changed nothing."""
    assert answer.status < 500, answer
    if answer.status >= 400:
        assert set(answer.body) == {"error"}
        assert set(answer.body["error"]) == {"code", "message"}
        assert state(ask) == before


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(HOSTILE),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                (
                    *("features", "key", "value", "ticket", "items", "context", "actions", "at"),
                    *(
                        "deadline",
                        "weight",
                        "shown",
                        "baseline",
                        "name",
                        "kind",
                        "settings",
                        "bits",
                    ),
                    *("id", "eventId", "contextFeatures", "excludedActions", "mode", "to", "loss"),
                )
            )
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
routes = st.sampled_from([route for route in ROUTES if route.method != "GET"])


@FEW
@given(route=routes, body=json_values, name=st.sampled_from(("value", "layout", "rank", "none")))
def test_any_json_is_answered(ask: Caller, route: Any, body: Any, name: str) -> None:
    before = state(ask)
    path = route.path.replace("{name}", name).replace("{event}", "e")
    if route.method == "DELETE":
        path = path.replace(name, "none")
    check(ask, ask(route.method, path, body), before)


@FEW
@given(route=routes, body=st.binary(max_size=40))
def test_any_bytes_are_answered(ask: Caller, route: Any, body: bytes) -> None:
    before = state(ask)
    path = route.path.replace("{name}", "none").replace("{event}", "e")
    check(ask, ask.raw(route.method, path, body), before)


@FEW
@given(path=st.text("abc/%2eF.ü\\?#&=", max_size=20), method=st.sampled_from(("GET", "POST")))
def test_any_path_is_answered(ask: Caller, path: str, method: str) -> None:
    before = state(ask)
    sent = "/" + quote(path, safe="/%?&=.")
    answer = ask.raw(method, sent, b"{}" if method == "POST" else None)
    if answer.status >= 400:
        check(ask, answer, before)


@settings(max_examples=30, deadline=None)
@given(first=st.binary(max_size=60))
def test_any_bytes_on_the_wire_leave_the_server_alive(ask: Caller, first: bytes) -> None:
    with socket.create_connection((ask.server.host, ask.server.port), timeout=10) as wire:
        wire.sendall(first + b"\r\n\r\n")
        wire.shutdown(socket.SHUT_WR)
        while wire.recv(4096):
            pass
    assert ask("GET", "/health").status == 200


@pytest.mark.parametrize(
    "body",
    [
        b'{"features": {"x": NaN}}',
        b'{"features": {"x": 1e999}}',
        b'{"features": {"x": ' + b"9" * 400 + b"}}",
        b'{"features": {"x": ' + b"9" * 5000 + b"}}",
        b'{"features": {"\\ud800": 1}}',
        b'{"features": {}, "key": "\\udfff"}',
        b"[" * 100_000,
        b'{"features": ' + b'{"a":' * 5000,
        b"\xff\xfe",
        b"",
        b'{"features": {"x": true}, "key": true}',
        b'{"features": [true]}',
        b'{"features": [1e400]}',
        b'{"features": [[1]]}',
        b'{"features": {"x": {}}}',
        b'{"features": {}, "deadline": -1}',
        b'{"features": {}, "deadline": 1e300}',
        b'{"features": {}, "at": 1e300}',
        b'{"features": {}, "at": "9999-12-31T23:59:59-23:59"}',
        b'{"features": {}, "at": "0001-01-01T00:00:00+23:59"}',
    ],
)
def test_strange_numbers_and_texts_are_refused(ask: Caller, body: bytes) -> None:
    before = state(ask)
    answer = ask.raw("POST", "/models/value/predict", body)
    check(ask, answer, before)
    assert answer.status in (400, 422) or b'"at"' in body


@pytest.mark.parametrize("text", HOSTILE)
def test_names_of_strangers_are_data_everywhere(ask: Caller, text: str) -> None:
    chosen = ask(
        "POST",
        "/models/rank/choose",
        {"actions": [text, "b"], "context": {text: text}, "key": text},
    )
    assert chosen.status == 200, chosen
    assert chosen.body["action"] in (text, "b")
    heard = ask("POST", "/models/rank/observe", {"key": text, "value": 1})
    assert heard.body == {"outcome": "applied"}
    assert chosen.body["action"] in ask("GET", "/models/rank/report").body["actions"]
    event = {"actions": [{"id": text}], "eventId": text}
    assert ask("POST", "/rank", event).body["rewardActionId"] == text
    told = ask("POST", f"/events/{quote(text, safe='')}/reward", {"value": 1.0})
    assert told.status == 204, told
    page = ask("GET", "/").body.decode()
    assert text == "\x00" or text not in page
    assert b"\r" not in ask("GET", "/metrics").body
    assert ask("POST", "/models", {"name": text, "kind": "LinearModel"}).status == 422


def test_a_body_that_never_comes_is_given_up_on(tmp_path_factory: pytest.TempPathFactory) -> None:
    with (
        serving(tmp_path_factory.mktemp("slow"), Limits(patience=0.2)) as ask,
        socket.create_connection((ask.server.host, ask.server.port), timeout=10) as wire,
    ):
        wire.sendall(
            b"POST /models/value/predict HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n"
            b"Authorization: Bearer " + str(ask.token).encode() + b"\r\n\r\n{"
        )
        assert b" 408 " in wire.recv(4096)


def test_a_line_of_the_log_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for text in HOSTILE:
        Journal("json").say("request", path=text)
        line = capsys.readouterr().err
        assert line.count("\n") == 1
        assert json.loads(line)["path"] == text
        Journal("text").say("request", path=text)
        assert capsys.readouterr().err.count("\n") == 1


def test_nothing_unpickles() -> None:
    for path in Path(belated.service.__file__).parent.glob("*.py"):
        assert "pickle" not in path.read_text()
        assert "eval(" not in path.read_text()
