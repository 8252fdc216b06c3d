"""Clients: typed, tried again without happening twice, many at a time."""

from __future__ import annotations

import asyncio
import copy
import http.server
import inspect
import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, assert_type

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")


import numpy as np

import belated as bl
from belated.core.decisions import Choice, Option
from belated.core.intervals import Interval
from belated.core.linear import Forecast
from belated.errors import AlreadyObserved, ServiceError, SpecError, UnknownTicket
from belated.service import Ticket, transport
from belated.service.client import Outbox
from belated.service.transport import Response, Sender
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


class Scripted(NamedTuple):
    """A server that answers as it is told."""

    url: str
    steps: list[tuple[int, bytes]]
    """Status and body of the next responses; status 0 hangs up instead."""
    seen: list[tuple[str, str | None, bytes]]
    """Method and path, key and body of the requests."""


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    """Return a server that answers as it is told."""
    steps: list[tuple[int, bytes]] = []
    seen: list[tuple[str, str | None, bytes]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            seen.append((f"{self.command} {self.path}", self.headers["Idempotency-Key"], body))
            status, said = steps.pop(0)
            if status:
                self.send_response(status)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)
            self.close_connection = True  # which the client is not told

        do_GET = do_POST = do_DELETE = respond  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Scripted(f"http://127.0.0.1:{server.server_address[1]}", steps, seen)
        server.shutdown()
        thread.join()


def talk(how: str, url: str, call: Callable[[Any], Any], **settings: Any) -> Any:
    """Call either client, and return what comes of it."""
    if how == "sync":
        with bl.Client(url, "t", **settings) as client:
            return call(client)

    async def run() -> Any:
        async with bl.AsyncClient(url, "t", **settings) as client:
            found = call(client)
            return await found if inspect.isawaitable(found) else found

    return asyncio.run(run())


both = pytest.mark.parametrize("how", ["sync", "async"])


# --- Results --------------------------------------------------------------------------------------


def check_types(client: bl.Client, other: bl.AsyncClient) -> None:
    """Is for mypy alone: results have the types of those in process."""
    model = client.create("m", "LinearModel", silence=0)
    assert_type(model.predict({"x": 1}), Forecast)
    assert_type(model.peek({"x": 1}), float)
    assert_type(model.observe("k", 1, weight=2.0), bool)
    assert_type(client.create("m", "Intervals").predict({"x": 1}), Interval)
    assert_type(client.create("m", "Chooser").peek({"x": 1}), list[Option])
    assert_type(client.create("m", "Chooser").choose({"x": 1}), Choice)
    assert_type(client.models(), list[str])

    async def run() -> None:
        assert_type(await (await other.create("m", "Intervals")).predict({"x": 1}), Interval)
        assert_type(await other.model("m").observe("k", 1), bool)

    assert inspect.iscoroutinefunction(run)


def test_tickets_and_errors_are_those_of_models_in_process(client: bl.Client) -> None:
    model = client.model("value")
    ticket, value = model.predict({"x": 1.0})
    assert (type(ticket), value) == (Ticket, 0.0)
    again = Ticket(str(ticket))
    assert (again, str(again), str(copy.copy(ticket))) == (ticket, str(ticket), str(ticket))
    assert model.observe(again, 1.0)
    with pytest.raises(AlreadyObserved, match="answered or cancelled before"):
        model.observe(ticket, 1.0)
    for wrong in ("never", Ticket(f"{int(ticket)}.forged")):
        with pytest.raises(UnknownTicket) as refused:
            model.observe(wrong, 1.0)
        assert isinstance(refused.value, ServiceError)
        assert (refused.value.status, refused.value.code) == (404, "unknown_ticket")


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
    assert model.observe("k", 2.0)
    report = model.report()
    assert (report["observed"], report["unbounded"], report["coverage"]) == (1, 1, None)
    found = model.predict(row)
    assert found.low <= found.value <= found.high < math.inf


def test_a_client_needs_nothing_of_what_a_server_does() -> None:
    script = "import sys, belated as bl; bl.Client, bl.AsyncClient; print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "False\n"


# --- Requests -------------------------------------------------------------------------------------


def test_threads_that_come_and_go_leave_no_connections(client: bl.Client) -> None:
    model = client.create("threads", "LinearModel", bits=8)
    for _ in range(5):
        threads = [threading.Thread(target=model.predict, args=([1.0],)) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert model.about()["rounds"] == 20
    assert 1 <= len(client._sender.connections._idle) <= 4
    client.close()
    assert not client._sender.connections._idle
    assert model.about()["rounds"] == 20  # which connects anew


@both
def test_a_request_is_sent_again_under_the_same_key(scripted: Scripted, how: str) -> None:
    busy = b'{"error": {"code": "busy", "message": "later"}}'
    scripted.steps.extend([(0, b""), (429, busy), (200, b'{"outcome": "applied"}')])
    assert talk(how, scripted.url, lambda client: client.model("m").observe("k", 1))
    assert len(scripted.seen) == 3
    assert {scripted.seen[0]} == set(scripted.seen)
    assert scripted.seen[0][2] == b'{"key": "k", "value": 1}'


def test_a_connection_that_was_closed_meanwhile_costs_no_try(scripted: Scripted) -> None:
    scripted.steps.extend([(200, b'{"models": []}')] * 5)
    with bl.Client(scripted.url, "t", retry_for=0) as client:
        assert [client.models() for _ in range(5)] == [[]] * 5


@both
def test_what_was_deleted_by_a_lost_try_is_deleted(scripted: Scripted, how: str) -> None:
    gone = (404, b'{"error": {"code": "unknown_model", "message": "no model"}}')
    scripted.steps.extend([(0, b""), gone, gone])
    talk(how, scripted.url, lambda client: client.delete("m"))
    assert len(scripted.seen) == 2
    with pytest.raises(ServiceError, match="no model"):
        talk(how, scripted.url, lambda client: client.delete("m"))  # it was not there


@both
def test_whether_a_server_is_ready_is_asked_once(scripted: Scripted, how: str) -> None:
    scripted.steps.append((503, b""))
    assert talk(how, scripted.url, lambda client: client.ready()) is False
    assert [asked for asked, *_ in scripted.seen] == ["GET /ready"]


def test_a_client_that_is_closed_does_not_try_again() -> None:
    async def run() -> None:
        client = bl.AsyncClient("http://127.0.0.1:9", "t")
        asked = asyncio.ensure_future(client.models())
        await asyncio.sleep(0.1)
        await client.close()
        with pytest.raises(ServiceError, match="refused"):
            await asked

    begin = time.monotonic()
    asyncio.run(run())
    assert time.monotonic() - begin < 10.0


def test_pauses_grow_and_end_with_the_time_for_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    now, pauses = 107.0, list[float]()

    def wait(seconds: float) -> bool:
        nonlocal now
        now += seconds
        pauses.append(seconds)
        return len(pauses) > 100

    def waits(status: int, **headers: str) -> list[float]:
        pauses.clear()
        response = Response(status, b"", {n.replace("_", "-"): v for n, v in headers.items()})
        monkeypatch.setattr(asked, "_attempt", lambda _: response)
        with pytest.raises(ServiceError):
            asked.send("GET", "/models")
        return pauses

    asked = Sender("http://x", "t", 10.0, 30.0, "test")
    monkeypatch.setattr(transport, "monotonic", lambda: now)
    monkeypatch.setattr(asked.closed, "wait", wait)
    assert sum(waits(0)) == pytest.approx(30.0)
    assert len(pauses) > 15
    assert 0.0 < pauses[0] <= 0.05
    assert max(pauses) <= 2.0
    assert len(set(pauses)) == len(pauses)
    assert waits(503, retry_after="3")[:2] == [3.0, 3.0]
    assert waits(503, retry_after="3600")[0] == 5.0
    assert waits(503, retry_after="soon")[0] <= 0.05
    assert not waits(400)


# --- Many -----------------------------------------------------------------------------------------


def test_many_are_sent_in_parts_and_each_has_an_outcome(client: bl.Client) -> None:
    model = client.model("value")
    said = model.many("predict", ({"features": {"x": i}, "key": f"m{i}"} for i in range(1100)))
    assert {each["outcome"] for each in said} == {"applied"}
    heard = model.many("observe", ({"key": f"m{i}", "value": i} for i in range(0, 1101, 10)))
    assert [each["outcome"] for each in heard] == ["applied"] * 110 + ["unknown"]


def test_an_outbox_sends_a_batch_under_one_key_until_it_is_answered(scripted: Scripted) -> None:
    scripted.steps.extend([(0, b""), (429, b""), (200, b'{"items": [{"outcome": "applied"}]}')])
    with bl.Client(scripted.url, "t", retry_for=0) as client:
        outbox = client.model("m").outbox(every=0.01)
        outbox.put("observe", "k", 1)
        outbox.close()
    assert len(scripted.seen) == 3
    assert {scripted.seen[0]} == set(scripted.seen)


class Stub:
    """A model whose requests are kept, or fail."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure, self.sent = failure, list[Any]()
        self.may_send = threading.Event()
        self.may_send.set()

    def _call(self, _: str, what: str, body: Any, key: str) -> Any:
        self.may_send.wait()
        if self.failure is not None:
            raise self.failure
        self.sent += body["items"]
        return {"items": [{"outcome": "applied"}] * len(body["items"])}


def boxed(stub: Any, most: int) -> Outbox:
    return Outbox(stub, most, 0.001)


def test_an_outbox_that_failed_says_so() -> None:
    outbox = boxed(Stub(RuntimeError("out of order")), 2)

    def fill() -> None:
        for place in range(10_000):  # and no call waits for ever
            outbox.put("observe", f"k{place}", 1.0)

    with pytest.raises(ServiceError, match="out of order"):
        fill()
    with pytest.raises(ServiceError, match="out of order"):
        outbox.close()


def test_what_is_put_in_is_sent_or_refused_also_at_the_end() -> None:
    stub, put = Stub(), list[str]()
    stub.may_send.clear()
    outbox = boxed(stub, 1)

    def produce() -> None:
        for key in "abcdef":
            outbox.put("observe", key, 1.0)
            put.append(key)

    def produce_until_it_is_closed() -> None:
        with pytest.raises(ServiceError, match="closed"):
            produce()

    threads = [threading.Thread(target=produce_until_it_is_closed) for _ in range(2)]
    for each in threads:
        each.start()
    ending = threading.Timer(0.05, outbox.close)
    ending.start()
    for each in threads:
        each.join()
    stub.may_send.set()
    ending.join()
    assert sorted(item["key"] for item in stub.sent) == sorted(put)


def test_what_an_outbox_cannot_send_is_told_where_it_is_put_in() -> None:
    stub, value = Stub(), [1.0, 2.0]
    with boxed(stub, 10) as outbox:
        for wrong in (np.float32("nan"), math.nan, {1, 2}, "\ud800"):
            with pytest.raises(SpecError, match="JSON"):
                outbox.put("observe", "a", wrong)
        outbox.put("observe", "b", value)
        value[0] = 7.0  # what was put in is what is sent
        outbox.put("observe", "3", np.float32(0.5))
    assert stub.sent == [{"key": "b", "value": [1.0, 2.0]}, {"key": "3", "value": 0.5}]
    assert outbox.outcomes == {"applied": 2}
