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
from secrets import token_hex
from time import monotonic
from urllib.parse import urlsplit

from belated.errors import SpecError, StoreUnavailable
from belated.service.refusals import Refused, code_of
from belated.service.requests import Answer, Request
from belated.service.retry import Address
from belated.service.wires import NotConnected, Reply, Wires
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
        self._wires: dict[str, Wires] = {}

    async def send(self, request: Request, address: str, until: float) -> Answer:
        """Return what another server replies, or raise ``Unreachable``.

        It does not wait for longer than the owner is alive, nor than ``until``, a time of
        ``monotonic``.
        """
        if request.header(b"idempotency-key") is None:
            request.add_header(b"idempotency-key", token_hex(16).encode())
        wires = self._wires.get(address)
        if wires is None:
            await self._drop_gone()
            wires = self._wires.setdefault(address, _wires(address))
        content = await request.body()
        deadline = self._store.clock + until - monotonic() - _MARGIN
        sent = _as_sent(request, urlsplit(address).netloc, content, deadline)
        exchange = asyncio.ensure_future(wires.exchange(sent))
        try:
            reply = await self._reply(exchange, address, until)
        except (OSError, EOFError, ValueError) as error:
            is_sent = not isinstance(error, NotConnected)
            raise Unreachable(address, is_sent) from error
        finally:
            exchange.cancel()
        if reply.status == 503 and code_of(reply.body) == "written_elsewhere":
            raise Unreachable(address, is_sent=False)  # it was the owner until just now
        headers = tuple((name, reply.headers[name]) for name in _BACK & reply.headers.keys())
        kind = reply.headers.get("content-type", "application/json")
        return Answer(reply.status, reply.body, kind, headers)

    async def _reply(self, exchange: asyncio.Future[Reply], address: str, until: float) -> Reply:
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
            if now > until or not is_alive:
                raise Unreachable(address, is_sent=True)

    async def _drop_gone(self) -> None:
        """Close the connections to servers that have no models any more."""
        gone = [address for address in self._wires if not self._store.is_alive(address)]
        for wires in [self._wires.pop(address) for address in gone]:
            await wires.close()

    async def close(self) -> None:
        """Close all connections."""
        for wires in self._wires.values():
            await wires.close()


def _wires(address: str) -> Wires:
    """Return connections to a server, at the address that it advertises."""
    try:
        there = Address.of(address, "")
    except SpecError as error:
        raise Unreachable(address, is_sent=False) from error
    return Wires(there.host, there.port, is_secure=there.scheme == "https", within=_CONNECT)


def check_deadline(store: Store, sent_on: bytes | None) -> None:
    """Refuse a forwarded request whose sender does not wait for it any more."""
    try:
        is_late = sent_on is not None and not store.clock <= float(sent_on)  # NaN is late
    except ValueError:
        is_late = True
    if is_late:
        raise Refused(503, "too_late", "the server that forwarded the request waits no longer")


def _as_sent(request: Request, host: str, content: bytes, deadline: float) -> bytes:
    """Return a request as another server is to get it."""
    scope = request.scope
    path = scope.get("raw_path", b"").partition(b"?")[0]
    query = scope.get("query_string", b"")
    lines = [
        request.method.encode() + b" " + path + (b"?" + query if query else b"") + b" HTTP/1.1",
        b"host: " + host.encode(),
        b"content-length: %d" % len(content),
        SENT_ON + b": %.3f" % deadline,
        *(name + b": " + value for name, value in scope["headers"] if name in _PASSED),
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + content
