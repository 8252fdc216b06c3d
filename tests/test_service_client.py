"""Clients: typed, tried again without happening twice, many at a time."""

from __future__ import annotations

import asyncio
import http.server
import json
import math
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")


import numpy as np

import belated as bl
from belated.errors import ServiceError, SpecError
from belated.service import client_requests, retry
from belated.service.client import Outbox
from belated.service.client_requests import ServerMethods
from belated.service.retry import Address, Heard, Retry
from belated.service.wires import _reply
from service_calls import Caller, serving


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Return a caller of a server that all tests of this file share."""
    with serving(tmp_path_factory.mktemp("clients")) as caller:
        yield caller


@pytest.fixture
def client(ask: Caller) -> Iterator[bl.Client]:
    """Return a client of ours."""
    with bl.Client(ask.server.url, str(ask.token)) as found:
        yield found


@pytest.mark.parametrize(("loss", "low"), [("squared", None), ("poisson", 0.0)])
def test_intervals_without_ends_are_null_in_json_and_infinite_in_python(
    ask: Caller, client: bl.Client, loss: str, low: float | None
) -> None:
    model, row = client.create(f"ranges-{loss}", "Intervals", loss=loss, bits=8), {"a": 1.0}
    for verb, headers in (("peek", {}), *[("predict", {"Idempotency_Key": "twice"})] * 2):
        said = ask("POST", f"/models/ranges-{loss}/{verb}", {"features": row}, **headers).body
        assert (said["low"], said["high"]) == (low, None)
    found = model.predict(row, key="k")
    assert (found.low, found.high) == (-math.inf if low is None else low, math.inf)
    assert model.observe("k", 2.0) == "applied"
    report = model.report()
    assert (report["observed"], report["unbounded"], report["coverage"]) == (1, 1, None)
    found = model.predict(row)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.value <= found.high < math.inf


def test_threads_that_come_and_go_leave_no_connections(client: bl.Client) -> None:
    model = client.create("threads", "LinearModel", bits=8)
    for _ in range(5):
        threads = [threading.Thread(target=model.predict, args=([1.0],)) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert model.about()["rounds"] == 20
    assert 1 <= len(client._idle) <= 4
    client.close()
    assert not client._idle
    assert model.about()["rounds"] == 20  # which connects anew


def test_a_connection_that_was_closed_meanwhile_costs_no_try(
    ask: Caller, client: bl.Client
) -> None:
    """As a server hangs up on who asks nothing for a while."""
    state = ask.server._server.server_state
    for _ in range(3):
        assert client.ready()  # which is asked once
        for each in list(state.connections):
            each.loop.call_soon_threadsafe(each.transport.close)
        end = time.monotonic() + 10.0
        while state.connections and time.monotonic() < end:
            time.sleep(0.002)
        assert not state.connections


def test_many_are_sent_in_parts_and_each_has_an_outcome(client: bl.Client) -> None:
    model = client.model("value")
    said = model.many("predict", ({"features": {"x": i}, "key": f"m{i}"} for i in range(1100)))
    assert {each["outcome"] for each in said} == {"applied"}
    heard = model.many("observe", ({"key": f"m{i}", "value": i} for i in range(0, 1101, 10)))
    assert [each["outcome"] for each in heard] == ["applied"] * 110 + ["unknown"]


def test_an_outbox_sends_everything_once(client: bl.Client) -> None:
    model = client.model("value")
    model.many("predict", ({"features": {}, "key": f"o{i}"} for i in range(50)))
    with model.outbox(most=10, every=0.01) as outbox:
        for i in range(50):
            outbox.put("observe", f"o{i}", 1.0)
        outbox.put("cancel", "nothing")
        outbox.put("observe", "o1", "x")
    assert outbox.outcomes == {"applied": 50, "unknown": 1, "invalid": 1}
    assert outbox.errors == {"unknown_ticket": 1, "bad_request": 1}
    with pytest.raises(ServiceError, match="closed"):
        outbox.put("observe", "o1", 1.0)


class Flaky(http.server.BaseHTTPRequestHandler):
    """Hangs up, then is busy, then answers."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[tuple[str, str]]] = []

    def do_POST(self) -> None:
        """Answer the third time."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.seen.append((self.headers["Idempotency-Key"], body))
        turn = len(self.seen) % 3
        if turn == 1:
            self.close_connection = True
            return
        busy = b'{"error": {"code": "busy", "message": "later"}}'
        said = busy if turn == 2 else b'{"outcome": "applied", "items": [{"outcome": "applied"}]}'
        self.send_response(429 if turn == 2 else 200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def flaky() -> Iterator[str]:
    """Return the address of a server that answers every third request."""
    Flaky.seen = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Flaky) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_request_is_sent_again_under_the_same_key(flaky: str) -> None:
    with bl.Client(flaky, "t") as client:
        assert client.model("m").observe("k", 1) == "applied"
    assert len(Flaky.seen) == 3
    assert len(set(Flaky.seen)) == 1
    assert json.loads(Flaky.seen[0][1]) == {"key": "k", "value": 1}


def test_pauses_grow_and_end_with_the_time_for_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(retry, "monotonic", lambda: now)
    asked = Retry(vars(ServerMethods)["models"].request(None), Address.of("http://x", "t"), 30.0)
    pauses: list[float] = []
    now += 7.0  # the first try took long; the time counts from its failure
    while (found := asked.pause(Heard(0, b"refused"))) is not None:
        pauses.append(found)
        now += found
    assert sum(pauses) == pytest.approx(30.0)
    assert len(pauses) > 15
    assert 0.0 < pauses[0] <= 0.05
    assert max(pauses) <= 2.0
    assert len(set(pauses)) == len(pauses)
    later = Retry(vars(ServerMethods)["models"].request(None), Address.of("http://x", "t"), 30.0)
    assert later.pause(Heard(503, b"", "3")) == 3.0
    assert later.pause(Heard(503, b"", "3600")) == 5.0
    assert later.pause(Heard(503, b"", "soon")) is not None
    assert later.pause(Heard(400, b"")) is None


def test_an_outbox_sends_a_batch_under_one_key_until_it_is_answered(flaky: str) -> None:
    with bl.Client(flaky, "t", retry_for=0) as client:
        outbox = client.model("m").outbox(every=0.01)
        outbox.put("observe", "k", 1)
        outbox.close()
    assert len(Flaky.seen) == 3
    assert len(set(Flaky.seen)) == 1


def test_an_outbox_that_failed_says_so() -> None:
    def send(_: Any) -> Any:
        raise RuntimeError("out of order")

    outbox = Outbox(send, "m", most=2, every=0.001)

    def fill() -> None:
        for place in range(10_000):  # and no call waits for ever
            outbox.put("observe", f"k{place}", 1.0)

    with pytest.raises(ServiceError, match="out of order"):
        fill()
    with pytest.raises(ServiceError, match="out of order"):
        outbox.close()


def test_what_is_put_in_is_sent_or_refused_also_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []

    def send(asked: Any) -> Any:
        sent.extend(asked.body["items"])
        return [{"outcome": "applied"}] * len(asked.body["items"])

    outbox, named = Outbox(send, "m", most=1, every=0.001), client_requests.named

    def ending(*arguments: Any) -> Any:
        outbox.close()  # as another thread may, in the middle of a call
        return named(*arguments)

    monkeypatch.setattr(client_requests, "named", ending)
    with pytest.raises(ServiceError, match="closed"):
        outbox.put("observe", "a", 1.0)
    assert not sent


class Forgetful(http.server.BaseHTTPRequestHandler):
    """Deletes, and hangs up before it says so; it is never ready."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[str]] = []

    def do_DELETE(self) -> None:
        """Hang up the first time."""
        self.seen.append(self.path)
        if len(self.seen) == 1:
            self.close_connection = True
        else:
            self._say(404, b'{"error": {"code": "unknown_model", "message": "no model"}}')

    def do_GET(self) -> None:
        """Be busy."""
        self.seen.append(self.path)
        self._say(503, b"")

    def _say(self, status: int, said: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def forgetful() -> Iterator[str]:
    """Return the address of a server whose first answer is lost."""
    Forgetful.seen = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forgetful) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_what_was_deleted_by_a_lost_try_is_deleted(forgetful: str) -> None:
    with bl.Client(forgetful, "t") as client:
        client.delete("m")
        assert len(Forgetful.seen) == 2
        with pytest.raises(ServiceError, match="no model"):
            client.delete("m")  # it was not there to begin with


def test_the_same_of_what_is_deleted_with_asyncio(forgetful: str) -> None:
    async def talk() -> None:
        async with bl.AsyncClient(forgetful, "t") as client:
            await client.delete("m")

    asyncio.run(talk())
    assert len(Forgetful.seen) == 2


def test_whether_a_server_is_ready_is_asked_once(forgetful: str) -> None:
    with bl.Client(forgetful, "t") as client:
        assert not client.ready()
    assert Forgetful.seen == ["/ready"]


@pytest.mark.parametrize(
    "head",
    [
        "200 OK\r\ntransfer-encoding: chunked",
        "200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 2",
        "200 OK",
        "200 OK\r\ncontent-length: -2",
        "200 OK\r\ncontent-length: two",
    ],
)
def test_a_reply_whose_end_is_not_told_is_no_reply(head: str) -> None:
    async def replied() -> Any:
        reader = asyncio.StreamReader()
        reader.feed_data(f"HTTP/1.1 {head}\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n".encode())
        return await _reply(reader)

    with pytest.raises(ValueError, match="length"):
        asyncio.run(replied())


def test_a_client_needs_nothing_of_what_a_server_does() -> None:
    script = "import sys, belated as bl; bl.Client, bl.AsyncClient; print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "False\n"


def test_what_an_outbox_cannot_send_is_told_where_it_is_put_in() -> None:
    sent: list[Any] = []

    def send(asked: Any) -> Any:
        sent.extend(asked.body["items"])
        return [{"outcome": "applied"}] * len(asked.body["items"])

    value = [1.0, 2.0]
    with Outbox(send, "m", most=10, every=0.05) as outbox:
        for wrong in (np.float32("nan"), math.nan, {1, 2}, "\ud800"):
            with pytest.raises(SpecError, match="JSON"):
                outbox.put("observe", "a", wrong)
        outbox.put("observe", "b", value)
        value[0] = 7.0  # what was put in is what is sent
        outbox.put("observe", "3", np.float32(0.5))
    assert sent == [{"key": "b", "value": [1.0, 2.0]}, {"key": "3", "value": 0.5}]
    assert outbox.outcomes == {"applied": 2}
