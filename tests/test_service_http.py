"""The server over real sockets, as any HTTP client sees it: nothing in here looks inside."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import belated as bl
from belated.errors import ServiceError, SpecError
from belated.service import Limits, Server, Settings, handlers
from belated.store import Store, StoredChooser, StoredModel
from service_calls import Caller, serving, wired


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Return a client of a server that the tests of this file share."""
    with serving(tmp_path_factory.mktemp("http")) as caller:
        yield caller


# --- Wrong tokens ---------------------------------------------------------------------------------


def statuses_of_guesses(ask: Caller, *forwarded: str) -> list[int]:
    """Guess a token once per ``X-Forwarded-For``, over one connection."""
    with closing(http.client.HTTPConnection(ask.server.host, ask.server.port)) as connection:
        found = []
        for place, address in enumerate(forwarded):
            given = {"Authorization": f"Bearer bl_{place}", "X-Forwarded-For": address}
            connection.request("GET", "/models", headers=given)
            answer = connection.getresponse()
            answer.read()
            found.append(answer.status)
    return found


ADDRESSES = [f"198.51.100.{place}" for place in range(60)]


def test_wrong_tokens_are_counted_by_peer_whatever_it_claims_to_forward(tmp_path: Path) -> None:
    with serving(tmp_path) as ask:
        found = statuses_of_guesses(ask, *ADDRESSES)
        assert found[0] == 401
        assert 429 in found
        assert ask("GET", "/models").status == 200  # whoever has a token is not affected


def test_a_trusted_proxy_says_whose_tokens_are_wrong(tmp_path: Path) -> None:
    with serving(tmp_path, proxy=("192.0.2.1", "127.0.0.0/8")) as ask:
        assert set(statuses_of_guesses(ask, *ADDRESSES)) == {401}
        assert 429 in statuses_of_guesses(ask, *["198.51.100.99"] * 60)
        # A client may send the header itself; the proxy adds the address that it sees at the end.
        forged = [f"{each}, 203.0.113.9" for each in ADDRESSES]
        assert 429 in statuses_of_guesses(ask, *forged)
        subnet = [f"2001:db8::{place + 1:x}" for place in range(60)]  # one client has them all
        assert 429 in statuses_of_guesses(ask, *subnet)


@pytest.mark.parametrize("proxy", ["*", "", "proxy.example", "10.0.0.0/40", "127.0.0.1:80"])
def test_a_proxy_is_an_address_or_a_network(tmp_path: Path, proxy: str) -> None:
    with pytest.raises(SpecError, match="--proxy: give the address or network"):
        Server(Settings(store=tmp_path / "x.db", port=0, proxy=(proxy,)))
    assert not list(tmp_path.iterdir())


# --- Requests that HTTP does not allow ------------------------------------------------------------


@pytest.mark.parametrize("path", ["/health", "/models/value/predict"])
@pytest.mark.parametrize("hosts", ["", "Host: a\r\nHost: b\r\n", "Host: a\r\nhost: a\r\n"])
@pytest.mark.parametrize("is_upgrade", [False, True])
def test_a_request_has_exactly_one_host(
    ask: Caller, path: str, hosts: str, is_upgrade: bool
) -> None:
    body = b'{"features": {}}'
    upgrade = "Connection: Upgrade\r\nUpgrade: h2c\r\n" if is_upgrade else ""
    head = f"POST {path} HTTP/1.1\r\n{hosts}{upgrade}Authorization: Bearer {ask.token}\r\n"
    sent = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    before = ask("GET", "/models/value").body
    with wired(ask) as wire:
        wire.send(wire.head("GET", "/health", 0) + sent)
        assert wire.answer().status == 200  # what came before is answered
        found = wire.answer()
        assert (found.status, found.headers["connection"]) == (400, "close")
        assert wire.rest() == b""
    assert ask("GET", "/models/value").body == before


@pytest.mark.parametrize("coding", ["gzip, chunked", "gzip", "chunked, chunked", "xchunked"])
def test_a_transfer_coding_that_is_not_decoded_is_refused(ask: Caller, coding: str) -> None:
    before = ask("GET", "/models/value").body
    with wired(ask) as wire:
        head = wire.head("POST", "/models/value/predict", 0, Transfer_Encoding=coding)
        chunks = b'10\r\n{"features": {}}\r\n0\r\n\r\n'
        wire.send(head.replace(b"Content-Length: 0\r\n", b"") + chunks)
        found = wire.answer()
        assert found.status in (400, 501)
        assert wire.rest() == b""
    assert ask("GET", "/models/value").body == before


@pytest.mark.parametrize(
    "sent",
    [
        b"Content-Length: 16\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"Content-Length: 16\r\nContent-Length: 17\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: +16\r\n\r\n",
        b"Content-Length: 99999999999999999999999\r\n\r\n",
        b"Content-Length : 16\r\n\r\n",
        b"A: b\x00c\r\nContent-Length: 16\r\n\r\n",
        b": b\r\nContent-Length: 16\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFFFFFFFFF\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n1\r\nxy0\r\n\r\n",
    ],
)
def test_lengths_that_others_might_read_differently_are_refused(ask: Caller, sent: bytes) -> None:
    before = ask("GET", "/models/value").body
    with wired(ask) as wire:
        head = wire.head("POST", "/models/value/predict", 0)
        wire.send(head.replace(b"Content-Length: 0\r\n\r\n", sent) + b'{"features": {}}')
        found = wire.answer()
        assert found.status == 400
        assert wire.rest() == b""
    assert ask("GET", "/models/value").body == before


# --- Bodies over the limit ------------------------------------------------------------------------

MIB = 1 << 20


def is_too_large(status: int, body: Any) -> bool:
    """Tell whether an answer is the refusal of a body that is too large, with its reason."""
    assert set(body["error"]) == {"code", "message"}
    return (status, body["error"]["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("size", [4 * MIB + 1, 20 * MIB])
@pytest.mark.parametrize("form", ["length", "chunks", "close"])
def test_a_client_that_sends_all_before_it_reads_gets_the_refusal(
    ask: Caller, form: str, size: int
) -> None:
    before = ask("GET", "/models/value").body
    with wired(ask) as wire:
        head = wire.head("POST", "/models/value/predict", size).decode()
        if form == "chunks":
            head = head.replace(f"Content-Length: {size}", "Transfer-Encoding: chunked")
        elif form == "close":
            head = head.replace("Host: x", "Host: x\r\nConnection: close")
        wire.send(head.encode())
        part = b"x" * (MIB // 4)
        for _ in range(size // len(part)):
            wire.send(b"%x\r\n%b\r\n" % (len(part), part) if form == "chunks" else part)
        wire.send(b"1\r\nx\r\n0\r\n\r\n" if form == "chunks" else b"x" * (size % len(part)))
        found = wire.answer()
        assert is_too_large(found.status, found.body)
    assert ask("GET", "/models/value").body == before
    assert ask("GET", "/health").status == 200


def test_clients_get_the_refusal_of_a_body_that_is_too_large(ask: Caller) -> None:
    body = {"features": {"x" * 100: "y" * 6 * MIB}}
    path = "/models/value/predict"
    with bl.Client(ask.server.url, str(ask.token)) as client:
        with pytest.raises(ServiceError, match="a body may have 4194304 bytes") as caught:
            client.request("POST", path, body, retry_for=0)
        assert (caught.value.status, caught.value.code) == (413, "body_too_large")
        assert client.health()

    async def refused() -> ServiceError:
        async with bl.AsyncClient(ask.server.url, str(ask.token)) as client:
            with pytest.raises(ServiceError) as caught:
                await client.request("POST", path, body, retry_for=0)
            assert await client.health()
            return caught.value

    error = asyncio.run(refused())
    assert (error.status, error.code) == (413, "body_too_large")


def test_what_a_refused_client_sends_without_end_is_not_read_without_end(tmp_path: Path) -> None:
    with serving(tmp_path, Limits(body=1000, patience=0.5)) as ask, wired(ask) as wire:
        wire.send(wire.head("POST", "/models/value/predict", 1 << 40))
        end, is_over = time.monotonic() + 30.0, False
        while not is_over and time.monotonic() < end:
            try:
                wire.send(b"x" * 1000)
            except ConnectionError:
                is_over = True
            time.sleep(0.001)
        assert is_over
        assert ask("GET", "/health").status == 200


# --- Clients and a server that restarts -----------------------------------------------------------


@contextmanager
def started_later(folder: Path, seconds: float) -> Iterator[tuple[str, str]]:
    """Return the address and token of a server that refuses connections for so many seconds."""
    with Server(Settings(store=folder / "x.db", port=0)) as first:
        url, port, token = first.url, first.port, str(first.token)
    servers: list[Server] = []

    def start() -> None:
        servers.append(Server(Settings(store=folder / "x.db", port=port)).__enter__())

    timer = threading.Timer(seconds, start)
    timer.start()
    try:
        yield url, token
    finally:
        timer.join()
        for server in servers:
            server.stop()


def test_a_client_waits_for_a_server_that_restarts(tmp_path: Path) -> None:
    with started_later(tmp_path, 2.5) as (url, token), bl.Client(url, token) as client:
        model = client.create("cvr", "LinearModel", bits=8)
        model.predict({"x": 1.0}, key="k")
        assert model.observe("k", 1.0)
        assert model.about()["rounds"] == 1


def test_an_async_client_waits_for_a_server_that_restarts(tmp_path: Path) -> None:
    async def talk(url: str, token: str) -> int:
        async with bl.AsyncClient(url, token) as client:
            model = await client.create("cvr", "LinearModel", bits=8)
            await asyncio.gather(*(model.predict({"x": 1.0}, key=f"k{i}") for i in range(5)))
            return int((await model.about())["rounds"])

    with started_later(tmp_path, 2.5) as (url, token):
        assert asyncio.run(talk(url, token)) == 5


def refusing_address() -> str:
    """Return an address where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_how_long_clients_try_is_configurable() -> None:
    url = refusing_address()
    with bl.Client(url, "t", retry_for=0) as client:
        with pytest.raises(ServiceError, match=r"Connection refused$"):
            client.models()
        with pytest.raises(ServiceError, match=r"Connection refused \(\d+ tries, 0.3 s\)"):
            client.request("GET", "/models", retry_for=0.3)
    with pytest.raises(ServiceError, match=r"\(\d+ tries, 0.2 s\)"):
        bl.Client(url, "t", retry_for=0.2).models()

    async def refused() -> None:
        async with bl.AsyncClient(url, "t", retry_for=0.2) as client:
            assert not await client.health()
            with pytest.raises(ServiceError, match=r"\(\d+ tries, 0.2 s\)"):
                await client.models()

    asyncio.run(refused())
    for wrong in (-1, float("nan"), "30", True, None):
        with pytest.raises(SpecError, match="retry_for is a number of seconds"):
            bl.Client(url, "t", retry_for=wrong)  # type: ignore[arg-type]
        with pytest.raises(SpecError, match="retry_for is a number of seconds"):
            bl.AsyncClient(url, "t", retry_for=wrong)  # type: ignore[arg-type]


# --- Requests that compute for long ---------------------------------------------------------------


@pytest.fixture
def blocked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., threading.Event]]:
    """Return what makes a function wait; the event that it returns is set when it waits."""
    go_on = threading.Event()

    def block(owner: Any, name: str) -> threading.Event:
        inner, waits = getattr(owner, name), threading.Event()

        def wait(*given: Any, **named: Any) -> Any:
            waits.set()
            assert go_on.wait(20.0)
            return inner(*given, **named)

        monkeypatch.setattr(owner, name, wait)
        return waits

    block.go_on = go_on  # type: ignore[attr-defined]
    yield block
    go_on.set()


def features(count: int) -> dict[str, float]:
    """Return so many features."""
    return {f"f{place}": 1.0 for place in range(count)}


LARGE = {"context": features(120), "actions": [f"a{place}" for place in range(120)]}
RANKED = {
    "contextFeatures": [LARGE["context"]],
    "actions": [{"id": name} for name in LARGE["actions"]],
}
LONG: dict[str, tuple[str, str, Any, Any, str]] = {
    "evaluate": ("GET", "layout/evaluate", None, handlers, "evaluate"),
    "rebuild": ("POST", "layout/rebuild", {"settings": {"bits": 9}}, Store, "rebuild"),
    "import": ("POST", "new/import", None, Store, "load"),
    "export": ("GET", "layout/export", None, Store, "export"),
    "choose": ("POST", "layout/choose", LARGE, StoredModel, "begin_many"),
    "peek": ("POST", "layout/peek", LARGE, StoredChooser, "peek"),
    "rank": ("POST", "layout/rank", RANKED, StoredModel, "begin_many"),
    "batch": (
        *("POST", "value/predict", {"items": [{"features": features(9)}] * 1000}),
        *(StoredModel, "begin_many"),
    ),
}


@pytest.mark.parametrize("what", LONG)
def test_long_work_leaves_the_event_loop_free(tmp_path: Path, blocked: Any, what: str) -> None:
    method, path, body, owner, name = LONG[what]
    with serving(tmp_path) as ask:
        for place in range(9):
            at = 1e9 + place
            ask("POST", "/models/layout/choose", {"key": f"k{place}", "at": at})
            told = {"key": f"k{place}", "value": place % 2, "at": at}
            ask("POST", "/models/layout/observe", told)
        ask("POST", "/models/layout/choose", {"at": 2e9})
        content = None if body is None else json.dumps(body).encode()
        if what == "import":
            content = ask("GET", "/models/layout/export").body
        waits, found = blocked(owner, name), []
        thread = threading.Thread(
            target=lambda: found.append(ask.raw(method, f"/models/{path}", content))
        )
        thread.start()
        assert waits.wait(20.0)
        for other in ("/health", "/ready", "/openapi.json", "/"):
            assert ask("GET", other).status == 200
        if what not in ("batch", "choose", "rank"):  # which have made the others wait, too
            assert ask("POST", "/models/value/predict", {"features": {}}).status == 200
        assert not found
        blocked.go_on.set()
        thread.join()
        assert found[0].status in (200, 201), found
