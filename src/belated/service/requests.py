"""A request, and an answer to one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from belated.service.bodies import decoded, encoded
from belated.service.limits import Limits
from belated.service.refusals import Refused
from belated.service.tokens import Token
from belated.service.waiting import Waiting

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

JSON = "application/json"
_STEADY = 1 << 20  # bytes of a body after which its time begins anew
AT_ONCE = 64 << 10
"""Bytes of a body that are read while other requests wait; a longer one is read in a thread."""


@dataclass(slots=True)
class Answer:
    """What is sent back."""

    status: int
    body: bytes
    kind: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


def answer(document: Any, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    """Return an answer in JSON."""
    return Answer(status, encoded(document), JSON, headers)


AFTER = (("retry-after", "1"),)


def no(refused: Refused) -> Answer:
    """Return a refusal as an answer."""
    headers = refused.headers
    if refused.status == 503 and not headers:
        headers = AFTER
    return Answer(refused.status, encoded(refused.to_dict()), headers=headers)


@dataclass(slots=True)
class Request:
    """What came in."""

    scope: Scope
    receive: Receive
    limits: Limits
    waiting: Waiting
    where: str = ""
    """The path as it was sent, without what is in front of old ones."""
    path: dict[str, str] = field(default_factory=dict)
    """Parts of the path by name, decoded."""
    token: Token | None = None
    is_abandoned: bool = False
    """Whether a part of the body was left unread."""
    _headers: dict[bytes, bytes] | None = None
    content: bytes | None = None
    """The body, once it was read."""

    @property
    def method(self) -> str:
        """What is done; who asks for the head of an answer alone asks for the same."""
        method: str = self.scope["method"]
        return "GET" if method == "HEAD" else method

    def header(self, name: bytes) -> str | None:
        """Return a header, by its name in lower case; of several the first."""
        value = self.raw(name)
        return None if value is None else value.decode("latin-1")

    def raw(self, name: bytes) -> bytes | None:
        """Return a header as it was sent."""
        if self._headers is None:
            self._headers = dict(reversed(self.scope["headers"]))
        value = self._headers.get(name)
        return None if value is None else bytes(value)

    def add_header(self, name: bytes, value: bytes) -> None:
        """Add a header, as if the client had sent it."""
        self.scope["headers"] = [*self.scope["headers"], (name, value)]
        self._headers = None

    async def body(self, most: int | None = None) -> bytes:
        """Return the body, or refuse one that is too large or does not come."""
        if self.content is None:
            self.content = await self._whole(most)
        check_plain(self.raw(b"content-encoding"))
        return self.content

    async def _whole(self, most: int | None) -> bytes:
        most = self.limits.body if most is None else most
        length = self.header(b"content-length")
        if length is not None and length.isdigit() and int(length) > most:
            self.is_abandoned = True
            raise too_large(most)
        task = self.waiting.begin()
        try:
            return await self._read(most)
        except asyncio.CancelledError:
            if not self.waiting.was_ended(task):
                raise
            self.is_abandoned = True
            raise Refused(408, "too_slow", "the body did not come in time") from None
        finally:
            self.waiting.end(task)

    async def _read(self, most: int) -> bytes:
        parts, size, counted = [], 0, 0
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise Refused(400, "gone", "the client has gone")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                self.is_abandoned = True
                raise too_large(most)
            if size - counted >= _STEADY:  # it is large, and comes
                self.waiting.begin()
                counted = size
            if not message.get("more_body", False):
                return parts[0] if len(parts) == 1 else b"".join(parts)

    async def json(self) -> Any:
        """Return the body as plain data."""
        return await read_json(await self.body())


async def read_json(body: bytes) -> Any:
    """Return a body as plain data."""
    return decoded(body) if len(body) <= AT_ONCE else await asyncio.to_thread(decoded, body)


def check_plain(encoding: bytes | None) -> None:
    """Refuse a body that is not sent as it is."""
    if encoding is not None and encoding.strip().lower() not in (b"", b"identity"):
        raise Refused(
            415,
            "encoded_body",
            "a body is sent as it is, without Content-Encoding; this one has "
            f"{encoding.decode('latin-1')!r}",
            (("accept-encoding", "identity"),),
        )


def too_large(most: int) -> Refused:
    """Return the refusal of a body of more bytes than these."""
    return Refused(413, "body_too_large", f"a body may have {most} bytes")
