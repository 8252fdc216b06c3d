"""Heads of requests, bounded in bytes, in number and in time before anything else is looked at.

The parser keeps what it has of a line until the line ends, however long it gets; so what comes
without being a part of a body is counted here.
"""

from __future__ import annotations

import asyncio
from typing import Any

BYTES = 32 << 10
"""Of the head of a request: its path and all headers."""
HEADERS = 100
_NO = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


def protocol(patience: float) -> Any:
    """Return what uvicorn reads requests with; ``patience`` is how long a head may take."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:  # then it is h11, which has bounds of its own on bytes
        return "auto"

    class Bounded(HttpToolsProtocol):  # type: ignore[misc]  # uvicorn is not looked into
        """Reads requests whose heads are bounded."""

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._quiet, self._size, self._is_heard = 0, 0, False
            self._late: asyncio.TimerHandle | None = None
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._wait_no_more()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            self._is_heard = False
            super().data_received(data)
            self._quiet = 0 if self._is_heard else self._quiet + len(data)
            if self._quiet > BYTES and not self.transport.is_closing():
                self.transport.write(_NO)
                self.transport.close()

        def on_message_begin(self) -> None:
            self._size = 0
            self._wait()
            super().on_message_begin()

        def on_url(self, url: bytes) -> None:
            self._count(url)
            super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            self._count(name + value)
            if len(self.headers) >= HEADERS:
                raise ValueError("too many headers")
            super().on_header(name, value)

        def on_headers_complete(self) -> None:
            self._is_heard = True
            self._wait_no_more()
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self._is_heard = True
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._is_heard = True
            super().on_message_complete()

        def _count(self, part: bytes) -> None:
            self._size += len(part)
            if self._size > BYTES:  # the parser says 400 of what is raised here
                raise ValueError("too long a head")

        def _wait(self) -> None:
            if self._late is None:
                self._late = self.loop.call_later(patience, self.transport.close)

        def _wait_no_more(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

    return Bounded
