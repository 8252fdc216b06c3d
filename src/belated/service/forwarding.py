"""Requests about models that another server of the same database writes are sent to that one.

Who writes a model says where it is found (``belated.store.postgres``). A request goes on as it
came, with the token of its client, and once at most: who gets one that was sent on does not send it
on again. It has an ``Idempotency-Key``, if need be one of ours, so that whatever is tried again
after a server died happens once.
"""

from __future__ import annotations

import asyncio
from secrets import token_hex
from urllib.parse import urlsplit

from belated.errors import SpecError
from belated.service.requests import Answer, Request
from belated.service.retry import Address
from belated.service.wires import Wires

SENT_ON = b"belated-forwarded"
"""A header: the request comes from another server."""
_PASSED = (b"authorization", b"ocp-apim-subscription-key", b"content-type", b"idempotency-key")
_BACK = frozenset(
    ("content-disposition", "idempotency-replayed", "belated-outcome", "retry-after", "allow")
)
_PATIENCE = 30.0  # seconds; a model may have to be brought back there


class Unreachable(Exception):
    """A server that does not answer, though it should have a model."""


class Forwarding:
    """Sends requests to other servers."""

    def __init__(self) -> None:
        self._wires: dict[str, Wires] = {}

    async def send(self, request: Request, address: str) -> Answer:
        """Return what another server answers, or raise ``Unreachable``."""
        if request.header(b"idempotency-key") is None:
            request.add_header(b"idempotency-key", token_hex(16).encode())
        wires = self._wires.get(address)
        if wires is None:
            wires = self._wires[address] = _wires(address)
        content = await request.body()
        try:
            async with asyncio.timeout(_PATIENCE):
                reply = await wires.exchange(_as_sent(request, urlsplit(address).netloc, content))
        except (OSError, EOFError, ValueError, TimeoutError) as error:
            raise Unreachable(address) from error
        headers = tuple((name, reply.headers[name]) for name in _BACK & reply.headers.keys())
        kind = reply.headers.get("content-type", "application/json")
        return Answer(reply.status, reply.body, kind, headers)

    async def close(self) -> None:
        """Close all connections."""
        for wires in self._wires.values():
            await wires.close()


def _wires(address: str) -> Wires:
    """Return connections to a server; whoever opened the store has said where that is."""
    try:
        there = Address.of(address, "")
    except SpecError as error:
        raise Unreachable(address) from error
    return Wires(there.host, there.port, is_secure=there.scheme == "https")


def _as_sent(request: Request, host: str, content: bytes) -> bytes:
    """Return a request as another server is to get it."""
    scope = request.scope
    path = scope.get("raw_path", b"").partition(b"?")[0]
    query = scope.get("query_string", b"")
    lines = [
        request.method.encode() + b" " + path + (b"?" + query if query else b"") + b" HTTP/1.1",
        b"host: " + host.encode(),
        b"content-length: %d" % len(content),
        SENT_ON + b": 1",
        *(name + b": " + value for name, value in scope["headers"] if name in _PASSED),
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + content
