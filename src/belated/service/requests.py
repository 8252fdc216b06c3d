"""A request, and the answer to one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from belated.service.auth import Token
from belated.service.limits import Limits
from belated.service.refusals import Refused

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

JSON = "application/json"
_STEADY = 1 << 20  # bytes of a body after which its time begins again
_DISCARDED = 64 << 20  # bytes of a body that is too large, and discarded before the refusal
AFTER = (("retry-after", "1"),)
_CLOSE = (("connection", "close"),)
_OVER = -1.0


class Answer(msgspec.Struct):
    """What is sent back."""

    status: int
    body: bytes
    kind: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


class Reading:
    """The tasks that read bodies, and until when; one loop ends those that take too long.

    A timer for each would take a tenth of the time of a small request.
    """

    def __init__(self) -> None:
        self._until: dict[asyncio.Task[Any] | None, float] = {}

    def begin(self, seconds: float) -> None:
        """Give the current task so many seconds from now on."""
        self._until[asyncio.current_task()] = asyncio.get_running_loop().time() + seconds

    def end(self) -> bool:
        """Forget the current task, and tell whether it had its time."""
        return self._until.pop(asyncio.current_task(), 0.0) != _OVER

    def give_up(self, now: float) -> None:
        """Cancel the tasks whose time is over."""
        for task, until in list(self._until.items()):
            if task is not None and _OVER < until <= now:
                self._until[task] = _OVER
                task.cancel()


class Request:
    """An HTTP request; the body is read when it is asked for."""

    __slots__ = ("_headers", "_reading", "_receive", "content", "limits", "path", "scope", "token")

    def __init__(self, scope: Scope, receive: Receive, limits: Limits, reading: Reading) -> None:
        self.scope, self._receive, self.limits = scope, receive, limits
        self._reading = reading
        self._headers: dict[bytes, bytes] = dict(reversed(scope["headers"]))
        self.path: dict[str, str] = {}
        """Parts of the path by name, decoded."""
        self.token: Token | None = None
        self.content: bytes | None = None
        """The body, once it was read."""

    @property
    def method(self) -> str:
        """The method; a HEAD request is processed as GET."""
        method: str = self.scope["method"]
        return "GET" if method == "HEAD" else method

    @property
    def where(self) -> str:
        """The path as it was sent, without the query."""
        raw: bytes = self.scope["raw_path"]
        return raw.partition(b"?")[0].decode("latin-1")

    @property
    def has_two_lengths(self) -> bool:
        """Whether a proxy might read another length of the body (request smuggling)."""
        return b"transfer-encoding" in self._headers and b"content-length" in self._headers

    def header(self, name: bytes) -> str | None:
        """Return a header, by its name in lower case; of several the first."""
        value = self._headers.get(name)
        return None if value is None else value.decode("latin-1")

    def raw(self, name: bytes) -> bytes | None:
        """Return a header as it was sent."""
        return self._headers.get(name)

    def add_header(self, name: bytes, value: bytes) -> None:
        """Add a header, as if the client had sent it."""
        self.scope["headers"] = [*self.scope["headers"], (name, value)]
        self._headers[name] = value

    async def body(self, most: int | None = None) -> bytes:
        """Return the body, or refuse one that is too large, too slow or encoded."""
        if self.content is None:
            self._reading.begin(self.limits.patience)
            try:
                self.content = await self._read(most or self.limits.body)
            except asyncio.CancelledError:
                if self._reading.end():
                    raise
                asyncio.current_task().uncancel()  # type: ignore[union-attr]
                raise Refused(408, "too_slow", "the body did not arrive in time", _CLOSE) from None
            finally:
                self._reading.end()
        encoding = self._headers.get(b"content-encoding")
        if encoding is not None and encoding.strip().lower() not in (b"", b"identity"):
            raise Refused(
                415,
                "encoded_body",
                "a body is sent as it is, without Content-Encoding; this one has "
                f"{encoding.decode('latin-1')!r}",
                (("accept-encoding", "identity"),),
            )
        return self.content

    async def _read(self, most: int) -> bytes:
        """Read a body; discard one that is too large, since many clients read only afterwards."""
        parts: list[bytes] = []
        size, counted, is_coming = 0, 0, True
        while is_coming:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Refused(400, "gone", "the client has disconnected")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            is_coming = message.get("more_body", False)
            if size > most:
                parts.clear()
                if size > most + _DISCARDED or self.header(b"expect") is not None:
                    break
            elif size - counted >= _STEADY:  # it is large, and arrives
                self._reading.begin(self.limits.patience)
                counted = size
        if size > most:
            raise Refused(413, "body_too_large", f"a body may have {most} bytes", _CLOSE)
        return parts[0] if len(parts) == 1 else b"".join(parts)
