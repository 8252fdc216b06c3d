"""A request, an answer to one, and the routes that lead from the one to the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from belated.service.auth import Token
from belated.service.bodies import decoded, encoded
from belated.service.limits import Limits
from belated.service.refusals import Refused

if TYPE_CHECKING:
    from belated.service.hub import Hub

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


_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        b"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"cross-origin-resource-policy", b"same-origin"),
)


def headers_of(given: Answer, is_last: bool) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer; after the last one the connection is closed."""
    headers = [(name.encode(), value.encode("latin-1")) for name, value in given.headers]
    if given.status != 204:
        headers.append((b"content-type", given.kind.encode()))
        headers.append((b"content-length", str(len(given.body)).encode()))
    if is_last:
        headers.append((b"connection", b"close"))
    return [*headers, *_SAFE]


def whole(given: Answer, is_last: bool = False) -> bytes:
    """Return the bytes of an answer that has a body."""
    before, after = _around(given.status, given.kind, given.headers, is_last)
    return b"%b%d%b%b" % (before, len(given.body), after, given.body)


@lru_cache(maxsize=100)
def _around(
    status: int, kind: str, headers: tuple[tuple[str, str], ...], is_last: bool
) -> tuple[bytes, bytes]:
    """Return what stands before and after the length of a body."""
    listed = headers_of(Answer(status, b"", kind, headers), is_last)
    lines = [name + b": " + value for name, value in listed]
    start = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()
    before, length, after = b"\r\n".join((start, *lines, b"", b"")).partition(b"content-length: 0")
    return before + length[:-1], after


@dataclass(slots=True)
class Request:
    """What came in."""

    scope: Scope
    receive: Receive
    limits: Limits
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
        try:
            async with asyncio.timeout(self.limits.patience) as timeout:
                return await self._read(most, timeout)
        except TimeoutError:
            self.is_abandoned = True
            raise Refused(408, "too_slow", "the body did not come in time") from None

    async def _read(self, most: int, timeout: asyncio.Timeout) -> bytes:
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
                timeout.reschedule(asyncio.get_running_loop().time() + self.limits.patience)
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


# --- Routes ---------------------------------------------------------------------------------------

Handler = Callable[["Hub", Request], Awaitable[Answer]]


@dataclass(frozen=True)
class Route:
    """What the server does for a method and a path, and what the description says of it."""

    method: str
    path: str
    scope: str | None
    """What a token must open; None: anybody may."""
    handler: Handler
    about: str
    takes: str | None = None
    """The schema of the body, or the type of a file."""
    gives: str | None = None
    statuses: tuple[int, ...] = (200,)
    has_key: bool = False
    """Whether an ``Idempotency-Key`` counts, apart from where events happen."""
    verb: str | None = None
    """What is done to a model, where the body is one item of it, or many."""

    @property
    def is_once(self) -> bool:
        """Whether a request that comes again with its key gets the first answer."""
        return self.has_key or self.scope in ("decide", "answer")

    @property
    def parts(self) -> tuple[str, ...]:
        """The path, split."""
        return tuple(self.path.split("/")[1:])


DECLARED: list[Route] = []
"""The routes of the handlers that were loaded so far; ``belated.service.routes`` has all."""


def route(
    method: str,
    path: str,
    scope: str | None,
    takes: str | None = None,
    gives: str | None = None,
    *,
    statuses: tuple[int, ...] = (200,),
    has_key: bool = False,
) -> Callable[[Handler], Handler]:
    """Declare the route of a handler, which is described by the first line of its docstring."""

    def declare(handler: Handler) -> Handler:
        about = (handler.__doc__ or "").partition("\n")[0]
        DECLARED.append(Route(method, path, scope, handler, about, takes, gives, statuses, has_key))
        return handler

    return declare
