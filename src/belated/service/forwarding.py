"""Forwarding: requests for models that another server of the same database writes.

The owner of a model has written its address beside the lock (``belated.store.postgres``). A request
is forwarded as it is, with the token of its client, and once at most: a server that receives a
forwarded request does not forward it again. It has an ``Idempotency-Key``, if need be one of ours,
so that it is done once when it is tried again after a server died.

A forwarded request has a deadline, by the clock of the database, which all servers know. The owner
refuses it afterwards: a server that was stopped meanwhile must not do what the client was told has
failed. The sender waits a little longer than that.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from secrets import token_hex
from string import punctuation
from time import monotonic
from urllib.parse import quote

from belated.errors import SpecError, StoreUnavailable
from belated.service.refusals import Refused, code_of
from belated.service.requests import Answer, Request
from belated.service.transport import (
    FAILURES,
    Connections,
    NotConnected,
    Response,
    address_of,
)
from belated.store import Store

SENT_ON = b"belated-forwarded"
"""A header: the request comes from another server, and has to be done before this time."""
PATIENCE = 30.0
"""Seconds that a server looks for the owner of a model and waits for its reply."""
_PASSED = (b"authorization", b"ocp-apim-subscription-key", b"content-type", b"idempotency-key")
_BACK = frozenset(
    ("content-disposition", "idempotency-replayed", "belated-outcome", "retry-after", "allow")
)
_MARGIN = 2.0  # seconds for a commit that began before the deadline, and for the reply
_CONNECT = 3.0  # seconds for a new connection
_LOOK = 1.0  # seconds between two looks whether the owner is alive
_AT_ONCE = 256  # requests
_NEW = 3.0  # seconds after which every owner that is alive is known to be


class Unreachable(Exception):
    """A server that does not answer, though it should have a model.

    ``is_sent`` tells whether it may have done the request.
    """

    def __init__(self, address: str, is_sent: bool) -> None:
        super().__init__(address)
        self.is_sent = is_sent


class Forwarding:
    """Sends requests to other servers that share a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._connections: dict[str, Connections] = {}
        self._threads = ThreadPoolExecutor(_AT_ONCE, "belated-forwarding")

    async def send(self, request: Request, address: str, until: float) -> Answer:
        """Return what another server replies, or raise ``Unreachable``.

        It does not wait for longer than the owner is alive, nor than ``until``, a time of
        ``monotonic``.
        """
        if request.header(b"idempotency-key") is None:
            request.add_header(b"idempotency-key", token_hex(16).encode())
        connections = self._connections.get(address)
        if connections is None:
            await self._drop_gone()
            connections = self._connections.setdefault(address, _connections(address))
        content = await request.body()
        wait = until - monotonic()
        listed = request.scope["headers"]
        passed = {
            name.decode(): value.decode("latin-1") for name, value in listed if name in _PASSED
        }
        passed[SENT_ON.decode()] = f"{self._store.clock + wait - _MARGIN:.3f}"
        sent = request.method, _target(request), content, passed, wait
        loop = asyncio.get_running_loop()
        exchange = loop.run_in_executor(self._threads, connections.exchange, *sent)
        try:
            reply = await self._reply(exchange, address, until)
        except FAILURES as error:
            is_sent = not isinstance(error, NotConnected)
            raise Unreachable(address, is_sent) from error
        finally:
            exchange.cancel()
        if reply.status == 503 and code_of(reply.body) == "written_elsewhere":
            raise Unreachable(address, is_sent=False)  # it was the owner until just now
        headers = tuple((name, reply.headers[name]) for name in _BACK & reply.headers.keys())
        kind = reply.headers.get("content-type", "application/json")
        return Answer(reply.status, reply.body, kind, headers)

    async def _reply(
        self, exchange: asyncio.Future[Response], address: str, until: float
    ) -> Response:
        begin = monotonic()
        while True:
            done, _ = await asyncio.wait((exchange,), timeout=_LOOK)
            if done:
                return exchange.result()
            now = monotonic()
            try:
                self._store.check()
            except StoreUnavailable as error:
                raise Unreachable(address, is_sent=True) from error
            is_alive = now < begin + _NEW or self._store.is_alive(address)
            if not is_alive:
                await self._drop_gone()  # which ends the threads that wait for it
            if now > until or not is_alive:
                raise Unreachable(address, is_sent=True)

    async def _drop_gone(self) -> None:
        """Close the connections to servers that have no models any more."""
        for address in list(self._connections):
            if not self._store.is_alive(address):
                self._connections.pop(address).abort()

    async def close(self) -> None:
        """Close all connections."""
        for connections in self._connections.values():
            connections.abort()
        self._threads.shutdown(wait=False, cancel_futures=True)


def _connections(address: str) -> Connections:
    """Return connections to a server, at the address that it advertises."""
    try:
        return Connections(address_of(address), connect_timeout=_CONNECT)
    except SpecError as error:
        raise Unreachable(address, is_sent=False) from error


def _target(request: Request) -> str:
    """Return the path and query of a request, as they were sent."""
    scope = request.scope
    path = scope.get("raw_path", b"").partition(b"?")[0]
    query = scope.get("query_string", b"")
    return quote(path + (b"?" + query if query else b""), safe=punctuation)


def check_deadline(store: Store, sent_on: bytes | None) -> None:
    """Refuse a forwarded request whose sender does not wait for it any more."""
    try:
        is_late = sent_on is not None and not store.clock <= float(sent_on)  # NaN is late
    except ValueError:
        is_late = True
    if is_late:
        raise Refused(503, "too_late", "the server that forwarded the request waits no longer")
