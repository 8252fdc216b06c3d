"""Connections to one server, for asyncio: each asks and is answered, and is used again."""

from __future__ import annotations

import asyncio
import ssl
from typing import NamedTuple

_Wire = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_EMPTY = (204, 304)  # replies that have no body, whatever they tell


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    """By name in lower case."""
    body: bytes


class NotConnected(OSError):
    """A server that no connection can be opened to, so that nothing was sent."""


class Wires:
    """Connections that are idle, and new ones where none is.

    ``within`` is how many seconds a new one may take.
    """

    def __init__(
        self, host: str, port: int, is_secure: bool = False, within: float | None = None
    ) -> None:
        self._host, self._port, self._is_secure = host, port, is_secure
        self._within = within
        self._idle: list[_Wire] = []
        self._is_closed = False

    async def close(self) -> None:
        """Close all connections; one that is in use is closed after its reply."""
        self._is_closed = True
        await self._drop_idle()

    async def _drop_idle(self) -> None:
        while self._idle:
            await _hang_up(self._idle.pop())

    async def exchange(self, request: bytes) -> Reply:
        """Send a request as it stands, and return the answer, whose length is always said.

        Raises ``OSError``, ``EOFError`` or ``ValueError`` where none came, and ``NotConnected``
        only where nothing was sent. A connection that was idle may have died meanwhile: then it is
        asked again, over a new one.
        """
        if not self._idle:
            return await self._ask(await self._connect(), request)
        try:
            return await self._ask(self._idle.pop(), request)
        except (OSError, EOFError, ValueError):
            await self._drop_idle()  # the others are as old: the server may have started anew
        try:
            wire = await self._connect()
        except NotConnected as error:
            raise EOFError("the server has gone") from error
        return await self._ask(wire, request)

    async def _connect(self) -> _Wire:
        secure = ssl.create_default_context() if self._is_secure else None
        try:
            async with asyncio.timeout(self._within):
                return await asyncio.open_connection(self._host, self._port, ssl=secure)
        except OSError as error:  # also where it took too long
            raise NotConnected(str(error)) from error

    async def _ask(self, wire: _Wire, request: bytes) -> Reply:
        try:
            wire[1].write(request)
            await wire[1].drain()
            reply = await _reply(wire[0])
        except asyncio.CancelledError:  # it took too long
            wire[1].close()
            raise
        except (OSError, EOFError, ValueError):
            await _hang_up(wire)
            raise
        if self._is_closed or reply.headers.get("connection", "").lower() == "close":
            await _hang_up(wire)
        else:
            self._idle.append(wire)
        return reply


async def _reply(reader: asyncio.StreamReader) -> Reply:
    first = (await reader.readline()).split()
    if len(first) < 2:
        raise EOFError("the connection was closed")
    headers: dict[str, str] = {}
    while line := (await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    status = int(first[1])
    return Reply(status, headers, await reader.readexactly(_length(status, headers)))


def _length(status: int, headers: dict[str, str]) -> int:
    """Return the bytes of a body; where they are not told, the next reply could begin anywhere."""
    if status in _EMPTY:
        return 0
    told = headers.get("content-length", "")
    if "transfer-encoding" in headers or not (told.isascii() and told.isdigit()):
        raise ValueError("the reply does not tell its length (Content-Length)")
    return int(told)


async def _hang_up(wire: _Wire) -> None:
    wire[1].close()
    try:
        await wire[1].wait_closed()
    except OSError:
        return
