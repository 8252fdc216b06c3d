"""Raw bytes on connections: every request that was read gets its response, in order."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

from belated.service import Limits
from conftest import examples
from service_calls import Answer, Caller, Wire, serving, slowly, wired

PREDICT = "/models/value/predict"
ITEM = {"features": {"a": 1.0}}
GARBAGE = b"\x16\x03\x01 no request\r\n\r\n"
UPGRADE = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2_Settings": "AAMAAABk"}
GET = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"


def chunked(wire: Wire, *chunks: bytes) -> bytes:
    """Return a prediction whose body comes in chunks, as they are, and does not end."""
    head = wire.head("POST", PREDICT, 0).decode()
    coding = "Transfer-Encoding: chunked\r\n\r\n"
    return head.replace("Content-Length: 0\r\n\r\n", coding).encode() + b"".join(chunks)


@pytest.fixture(scope="module", params=["h11", "httptools"])
def ask(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a client of a server with either parser."""
    with serving(tmp_path_factory.mktemp("wire"), parser=request.param) as caller:
        yield caller


# --- Order ----------------------------------------------------------------------------------------


def test_garbage_is_answered_after_what_came_before_it(ask: Caller) -> None:
    before = ask("GET", "/models/value").body["rounds"]
    for count in range(3):
        for bad in (GARBAGE, b""):
            with wired(ask) as wire:
                broken = bad or chunked(wire, b"5\r\n", b'{"fea', b"\r\nno length\r\n")
                for _ in range(count):  # nothing else is read while a request is processed
                    wire.send(wire.post(PREDICT, ITEM))
                    assert wire.answer().status == 200
                wire.send(broken)
                assert wire.answer().status == 400
                assert wire.rest() == b""
    assert ask("GET", "/models/value").body["rounds"] == before + 6
    assert ask.server.app.at_once == 0


@examples(25)
@given(
    kinds=st.lists(
        st.sampled_from(("one", "many", "look", "refused", "chunks", "upgrade")), max_size=6
    ),
    is_cut_off=st.booleans(),
    cuts=st.lists(st.floats(0.0, 1.0), max_size=4),
)
def test_however_it_is_cut_all_is_answered_in_order(
    ask: Caller, kinds: list[str], is_cut_off: bool, cuts: list[float]
) -> None:
    with wired(ask) as wire:
        upgrade = UPGRADE if ask.server.settings.parser == "h11" else {}
        requests = {
            "one": (wire.post(PREDICT, ITEM), 200, "outcome"),
            "many": (wire.post(PREDICT, {"items": [ITEM] * 3}), 200, "items"),
            "look": (wire.head("GET", "/models/value", 0), 200, "name"),
            "refused": (wire.post(PREDICT, []), 422, "error"),
            "chunks": (chunked(wire, b"2\r\n{}\r\n", b"0\r\n\r\n"), 422, "error"),
            "upgrade": (wire.post(PREDICT, ITEM, **upgrade), 200, "outcome"),
        }
        sent = b"".join(requests[kind][0] for kind in kinds)
        if is_cut_off:
            sent += wire.post(PREDICT, ITEM)[:30]
        places = sorted({round(cut * len(sent)) for cut in cuts} | {0, len(sent)})
        for start, end in pairwise(places):
            wire.send(sent[start:end])
        for kind in kinds:
            found = wire.answer()
            assert found.status == requests[kind][1], found
            assert requests[kind][2] in found.body


def test_bodies_that_come_later(ask: Caller) -> None:
    with wired(ask) as wire:
        content = wire.post(PREDICT, ITEM)
        for cut in (len(content) - 9, len(content) - 1):
            wire.send(content[:cut])
            time.sleep(0.05)
            wire.send(content[cut:])
            assert wire.answer().status == 200
        for byte in content:
            wire.send(bytes([byte]))
        assert wire.answer().status == 200
        wire.send(wire.head("POST", PREDICT, 9) + b"{")  # and hangs up
    until(ask, 0)


def until(ask: Caller, requests: int) -> None:
    """Wait until so many requests are being processed."""
    end = time.monotonic() + 10.0
    while ask.server.app.at_once != requests:
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.002)


def test_headers_behind_a_body_open_no_door(tmp_path: Path) -> None:
    with serving(tmp_path) as ask, wired(ask) as wire:
        head = f"POST {PREDICT} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        trailer = f"0\r\nAuthorization: Bearer {ask.token}\r\n\r\n".encode()
        wire.send(head + b"f\r\n" + b'{"features":{}}' + b"\r\n" + trailer)
        assert wire.answer().status == 401


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "OPTIONS"])
def test_other_methods_are_refused(ask: Caller, method: str) -> None:
    with wired(ask) as wire:
        wire.send(wire.head(method, "/models", 0))
        assert wire.answer().status in (400, 404, 405)


# --- Bounds ---------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("parser", ["h11", "httptools"])
def test_no_more_is_read_while_requests_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parser: Any
) -> None:
    with serving(tmp_path, parser=parser) as ask, wired(ask) as wire:
        begun, go_on = slowly(ask, monkeypatch)
        wire.send(wire.post(PREDICT, ITEM) + GET)
        assert begun.wait(10.0)
        assert flooded(wire, GET * 5000, 64 << 20) < 64 << 20
        go_on.set()
        assert [wire.answer().status for _ in range(2)] == [200, 404]


def test_what_stands_around_chunks_is_bounded(tmp_path: Path) -> None:
    with serving(tmp_path) as ask:
        for around in (b"2;", b"2\r\n{}\r\n2;", b"2\r\n{}\r\n0\r\nT: "):
            with wired(ask) as wire:
                wire.send(chunked(wire, around))
                assert flooded(wire, b"x" * 8000, 64 << 20) < 32 << 20


# --- Stops, and long requests ---------------------------------------------------------------------


@pytest.mark.parametrize("is_chunked", [False, True])
def test_half_a_body_does_not_hold_up_a_stop(tmp_path: Path, is_chunked: bool) -> None:
    with serving(tmp_path) as ask, wired(ask) as wire:
        half = chunked(wire, b"5\r\n", b'{"fea') if is_chunked else wire.post(PREDICT, ITEM)[:-5]
        wire.send(half)
        until(ask, 1)
        begin = time.monotonic()
        ask.server.stop()
        assert time.monotonic() - begin < 5.0
        assert wire.answer().status == 408


def test_a_server_that_stops_answers_what_it_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as ask, wired(ask) as wire:
        begun, go_on = slowly(ask, monkeypatch)
        wire.send(wire.post(PREDICT, {**ITEM, "key": "a"}))
        assert begun.wait(10.0)
        stopping = threading.Thread(target=ask.server.stop)
        stopping.start()
        time.sleep(0.3)
        go_on.set()
        found = wire.answer()
        assert (found.status, found.body["outcome"]) == (200, "applied")
        stopping.join(20.0)
        assert not stopping.is_alive()


STUCK = """
import socket, sys, threading, time
from belated.service import Server, Settings, run

run._GRACE = 1
server = Server(Settings(store=sys.argv[1], port=0))


def stop():
    with socket.create_connection((server.host, server.port)) as wire:
        wire.setblocking(False)
        end = time.monotonic() + 2.0
        while time.monotonic() < end:
            try:
                wire.send(b"GET /openapi.json HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" * 99)
            except BlockingIOError:
                time.sleep(0.01)
        server.stop()
        time.sleep(30)


server.on_ready = threading.Thread(target=stop, daemon=True).start
server.run()
"""


def test_who_takes_no_answers_does_not_hold_up_a_stop_for_long(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STUCK, str(tmp_path / "x.db")]
    assert subprocess.run(command, timeout=25, capture_output=True).returncode == 0


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


def test_a_log_that_cannot_be_written_keeps_nobody_waiting(tmp_path: Path) -> None:
    class Full(io.StringIO):
        def write(self, text: str, /) -> int:
            raise OSError(28, "No space left on device")

    with serving(tmp_path, log="json") as ask, wired(ask) as wire:
        ask.server.app.access_log._stream = Full()
        for _ in range(3):
            wire.send(wire.post(PREDICT, {"features": {}}) * 2)
            assert [wire.answer().status for _ in range(2)] == [200, 200]
        assert ask.server.app.at_once == 0


def test_the_server_never_waits_for_a_model_that_another_thread_uses(tmp_path: Path) -> None:
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
                tell("/models/value/predict", ITEM),
                tell("/models/value/predict", {"items": [ITEM] * 3}),
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
