"""What comes over a connection, however it comes: every question is answered, in its order."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("httptools", reason="httptools is not installed")

import sys

import uvicorn

import belated as bl
from belated.service import Limits
from belated.service.connection import HELD, WAITING
from conftest import examples
from service_calls import Answer, Caller, Wire, serving, slowly, wired

PREDICT = "/models/value/predict"
ITEM = {"features": {"a": 1.0}}
GARBAGE = b"\x16\x03\x01 no request\r\n\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n\r\n"
UPGRADE = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2_Settings": "AAMAAABk"}


def chunked(wire: Wire, *chunks: bytes) -> bytes:
    """Return a prediction whose body comes in chunks, as they are, and does not end."""
    head = wire.head("POST", PREDICT, 0).decode()
    return head.replace("Content-Length: 0\r\n\r\n", CHUNKED).encode() + b"".join(chunks)


def is_refusal(answer: Answer, status: int, code: str) -> bool:
    """Tell whether an answer is such a refusal, in the shape that all have, and the last one."""
    assert set(answer.body["error"]) == {"code", "message"}
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["connection"] == "close"
    return (answer.status, answer.body["error"]["code"]) == (status, code)


def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 10.0
    while not is_so():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.002)


@pytest.mark.parametrize("is_chunked", [False, True])
def test_half_a_body_does_not_hold_up_a_stop(tmp_path: Path, is_chunked: bool) -> None:
    with serving(tmp_path) as ask, wired(ask) as wire:
        half = chunked(wire, b"5\r\n", b'{"fea') if is_chunked else wire.post(PREDICT, ITEM)[:-5]
        wire.send(half)
        until(lambda: ask.server.app.at_once == 1)
        begin = time.monotonic()
        ask.server.stop()
        assert time.monotonic() - begin < 5.0
        assert wire.rest() == b""


# --- Order ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["json", "text"])
def test_what_is_refused_on_a_connection_is_logged_with_its_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: Any
) -> None:
    with serving(tmp_path, log=form) as ask:
        with wired(ask) as wire:
            head = wire.head("GET", "/health", 0)
            refused = (
                (GARBAGE, 400, "bad_http"),
                (head[:-2] + b"x: " + b"y" * (33 << 10) + b"\r\n\r\n", 431, "head_too_large"),
                (head[:-2] + b"x: y\r\n" * 101 + b"\r\n", 431, "head_too_large"),
                (b"GET /" + b"x" * (40 << 10), 431, "head_too_large"),
                (chunked(wire, b"5;" + b"x" * (999 << 10)), 431, "chunks_too_large"),
            )
        for sent, status, code in refused:
            with wired(ask) as wire:
                wire.send(sent)
                assert is_refusal(wire.answer(), status, code)
    lines = capsys.readouterr().err.splitlines()
    if form == "json":
        found = [json.loads(line).get("code") for line in lines if '"what": "logged"' in line]
    else:
        found = [
            line.partition('code="')[2].partition('"')[0] for line in lines if "logged" in line
        ]
    assert found == [code for _, _, code in refused]


def broken(wire: Wire) -> Iterator[bytes]:
    """Return what no server can read, and what stands before it in a connection."""
    good = wire.post(PREDICT, ITEM)
    for before in (good, good * 2, wire.head("GET", "/models/value", 0), b""):
        yield before + GARBAGE
        yield before + chunked(wire, b"5\r\n", b'{"fea', b"\r\nno length\r\n")


def test_garbage_is_answered_after_what_came_before_it(tmp_path: Path) -> None:
    with serving(tmp_path) as ask:
        with wired(ask) as wire:
            all_sent = list(broken(wire))
        for sent in all_sent:
            with wired(ask) as wire:
                wire.send(sent)
                for _ in range(sent.count(b"HTTP/1.1") - sent.count(b"chunked")):
                    assert wire.answer().status == 200
                assert is_refusal(wire.answer(), 400, "bad_http")
                assert wire.rest() == b""
        assert ask("GET", "/models/value").body["rounds"] == 6
        assert ask.server.app.at_once == 0


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Return a client of a server that lives for as long as this file."""
    with serving(tmp_path_factory.mktemp("wire")) as caller:
        yield caller


@examples(25)
@given(
    kinds=st.lists(
        st.sampled_from(("one", "many", "look", "refused", "chunks", "upgrade")), max_size=6
    ),
    behind=st.sampled_from(("nothing", "garbage", "head", "body")),
    cuts=st.lists(st.floats(0.0, 1.0), max_size=4),
)
def test_however_it_is_cut_all_is_answered_in_order(
    ask: Caller, kinds: list[str], behind: str, cuts: list[float]
) -> None:
    with wired(ask) as wire:
        requests = {
            "one": (wire.post(PREDICT, ITEM), 200, "outcome"),
            "many": (wire.post(PREDICT, {"items": [ITEM] * 3}), 200, "items"),
            "look": (wire.head("GET", "/models/value", 0), 200, "name"),
            "refused": (wire.post(PREDICT, []), 422, "error"),
            "chunks": (chunked(wire, b"2\r\n{}\r\n", b"0\r\n\r\n"), 422, "error"),
            "upgrade": (wire.post(PREDICT, ITEM, **UPGRADE), 200, "outcome"),
        }
        good = wire.post(PREDICT, ITEM)
        last = {"nothing": b"", "garbage": GARBAGE, "head": good[:30], "body": good[:-5]}[behind]
        sent = b"".join(requests[kind][0] for kind in kinds) + last
        places = sorted({round(cut * len(sent)) for cut in cuts} | {0, len(sent)})
        for start, end in pairwise(places):
            wire.send(sent[start:end])
        if behind != "garbage":
            wire.end()
        for kind in kinds:
            found = wire.answer()
            assert found.status == requests[kind][1], found
            assert requests[kind][2] in found.body
        if behind == "garbage":
            assert is_refusal(wire.answer(), 400, "bad_http")
        assert wire.rest() == b""


# --- Bounds ---------------------------------------------------------------------------------------


def test_no_more_of_a_body_is_held_than_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("belated.service.connection._SOON", 60.0)
    held: list[int] = []
    with serving(tmp_path, Limits(body=1 << 20)) as ask:
        for is_chunked in (False, True):
            until(lambda: not connections(ask))
            with wired(ask) as wire:
                size = 2 << 20
                part = b"x" * (HELD // 2 + 1)
                if is_chunked:
                    part = b"%x\r\n%b\r\n" % (len(part), part)
                    wire.send(chunked(wire))
                else:
                    wire.send(wire.head("POST", PREDICT, size))
                wire.send(part)
                until(lambda: len(connections(ask)) == 1)
                (connection,) = connections(ask)
                until(partial(lambda one: one._held is not None and one._held.size > 0, connection))
                held.append(connection._held.size)
                wire.send(part)
                until(partial(lambda one: one._held is None, connection))
                for _ in range(size // len(part)):
                    try:
                        wire.send(part)
                    except ConnectionError:
                        break
        assert max(held) <= HELD
        with wired(ask) as wire:  # and what is long, but not too long, is answered as ever
            many = {"items": [{"features": {f"name {place}": 1.0}} for place in range(1000)]}
            many["items"][0]["features"] = {"x" * 400 + str(place): 1.0 for place in range(300)}
            wire.send(wire.post(PREDICT, many))
            assert len(wire.answer().body["items"]) == 1000


GET = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"


def flooded(wire: Wire, part: bytes, most: int) -> int:
    """Send the same again until the server takes no more, and return how many bytes it took."""
    sent = 0
    wire._socket.settimeout(0.3)
    try:
        while sent < most:
            sent += wire._socket.send(part[sent % len(part) :])
    except OSError:
        pass
    wire._socket.settimeout(10.0)
    return sent


@contextmanager
def alone(ask: Caller) -> Iterator[tuple[Wire, Any]]:
    """Return the only connection to a server, and the server's end of it."""
    until(lambda: not connections(ask))
    with wired(ask) as wire:
        until(lambda: len(connections(ask)) == 1)
        yield wire, connections(ask)[0]


def test_only_so_many_requests_of_a_connection_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as ask, alone(ask) as (wire, connection):
        begun, go_on = slowly(ask, monkeypatch)
        wire.send(wire.post(PREDICT, ITEM) + GET)
        assert begun.wait(10.0)
        until(lambda: len(connection.pipeline) == 1)
        assert flooded(wire, GET * 5000, 64 << 20) < 64 << 20  # while one waits nothing is read
        assert len(connection.pipeline) == 1
        go_on.set()
        assert [wire.answer().status for _ in range(2)] == [200, 404]
        # What came meanwhile is more than may wait, in one read: so many are answered, and it ends.
        for _ in range(WAITING):
            assert wire.answer().status == 404
        last = wire.answer()
        if last.status == 404:  # the first was answered before the read
            last = wire.answer()
        assert is_refusal(last, 429, "too_many_waiting")
        assert last.headers["retry-after"] == "1"
        assert wire.rest() == b""
        until(lambda: not connections(ask))


def get_stuck(wire: Wire, connection: Any) -> None:
    """Ask until the server cannot say any more."""
    look = wire.head("GET", "/openapi.json", 0)

    def is_stuck() -> bool:
        if not connection.pipeline:
            wire.send(look * 20)
        return bool(connection.flow.write_paused)

    until(is_stuck)


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_who_takes_no_answers_is_hung_up_on(
    loop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = uvicorn.Config.__init__
    monkeypatch.setattr(
        uvicorn.Config, "__init__", lambda *given, **named: config(*given, **named, loop=loop)
    )
    with serving(tmp_path, Limits(patience=0.3)) as ask:
        with alone(ask) as (wire, connection):
            get_stuck(wire, connection)
            until(lambda: not connections(ask))
            assert connection._unsent._size > 0
        assert ask("GET", "/health").status == 200


def connections(ask: Caller) -> list[Any]:
    """Return the connections that a server has."""
    return list(ask.server._server.server_state.connections)


# --- Other versions of the server library ---------------------------------------------------------


def test_what_stands_around_chunks_is_bounded_and_told_apart_from_heads(ask: Caller) -> None:
    long = b"x" * 60_000
    for around in (b"2;" + long, b"2\r\n{}\r\n2;" + long, b"2\r\n{}\r\n0\r\nT: " + long):
        with wired(ask) as wire:
            wire.send(chunked(wire))
            for start in range(0, len(around), 8000):  # not all with the head
                wire.send(around[start : start + 8000])
                time.sleep(0.005)
            found = wire.answer()
            assert is_refusal(found, 431, "chunks_too_large")
            assert "chunks of a body" in found.body["error"]["message"]


@pytest.mark.parametrize("size", [0, 2])
def test_a_tunnel_is_refused(ask: Caller, size: int) -> None:
    with wired(ask) as wire:
        wire.send(wire.head("CONNECT", "somewhere:80", size) + b"{}"[:size])
        assert is_refusal(wire.answer(), 400, "bad_http")


def test_other_versions_answer_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def talked(folder: str) -> list[Any]:
        (tmp_path / folder).mkdir()
        with serving(tmp_path / folder) as ask:
            said = []
            for verb, body in (
                ("predict", {**ITEM, "key": "a"}),
                ("observe", {"key": "a", "value": 1.0}),
                ("observe", {"key": "a", "value": 1.0}),
                ("predict", {"items": [ITEM, {}]}),
                ("predict", []),
            ):
                with wired(ask) as wire:
                    path, key = f"/models/value/{verb}", json.dumps(body)
                    wire.send(wire.post(path, body, Idempotency_Key=key))
                    found = wire.answer()
                for each in (found.body, *found.body.get("items", ())):
                    each.pop("ticket", None)
                said.append((found.status, found.body, found.headers))
            with wired(ask) as wire:
                wire.send(b"GET /health HTTP/1.1\r\nHost: x\r\nA: " + b"b" * 80_000)
                assert wire.first().split()[1] in (b"400", b"431")
            return said

    one = talked("known")
    monkeypatch.setattr(uvicorn, "__version__", "0.9000.0")
    for status, body, headers in talked("other"):
        assert headers.pop("connection") == "close"  # see the next test
        assert (status, body, headers) == one.pop(0)
    assert not one


def test_with_other_versions_a_connection_is_for_one_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As what waits on it would be taken in without end."""
    monkeypatch.setattr(uvicorn, "__version__", "0.9000.0")
    with serving(tmp_path) as ask:
        with wired(ask) as wire:
            assert flooded(wire, wire.post(PREDICT, ITEM) * 1000, 50 << 20) < 20 << 20
        assert ask("GET", "/models/value").body["rounds"] == 1
        with bl.Client(ask.server.url, ask.token or "") as client:
            assert [client.model("value").predict({"a": 1.0}).ticket[:2] for _ in range(3)] == [
                *("1.", "2.", "3.")
            ]


@pytest.mark.parametrize("is_missing", [True, False])
def test_what_is_not_quick_is_told(
    is_missing: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if is_missing:  # as it is without httptools
        monkeypatch.setitem(sys.modules, "belated.service.connection", None)
    with serving(tmp_path, log="json") as ask:
        assert ask("GET", "/health").status == 200
    said = [json.loads(line).get("what") for line in capsys.readouterr().err.splitlines()]
    assert ("plain" in said) == is_missing


def test_who_takes_no_answers_does_not_hold_up_a_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("belated.service.connection._LEAVES", 0.2)
    with serving(tmp_path) as ask, alone(ask) as both:
        get_stuck(*both)
        begin = time.monotonic()
        ask.server.stop()
        assert time.monotonic() - begin < 5.0


def test_who_is_one_too_many_is_told_so_before_the_others_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path, Limits(at_once=1)) as ask, wired(ask) as one, wired(ask) as two:
        begun, go_on = slowly(ask, monkeypatch)
        one.send(one.post(PREDICT, ITEM))
        assert begun.wait(10.0)
        two.send(two.post(PREDICT, ITEM))
        refused = two.answer()
        assert (refused.status, refused.body["error"]["code"]) == (429, "busy")
        go_on.set()
        assert one.answer().status == 200
