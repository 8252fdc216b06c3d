"""HTTP connections of clients, and of a server that forwards requests to another server."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from belated.errors import SpecError

FAILURES = (OSError, http.client.HTTPException)
"""What ``Connections.exchange`` raises where no response came."""


class Response(NamedTuple):
    """What a server answered; status 0 where no response came, with the reason as the body."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}
    """By name in lower case."""


class NotConnected(OSError):
    """No connection could be opened, so that nothing was sent."""


def address_of(url: str, who: str = "Client") -> SplitResult:
    """Read the address of a server.

    >>> address_of("http://[::1]:8765/api/").hostname
    '::1'
    """
    try:
        parts = urlsplit(url.rstrip("/"))
        is_known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:  # the port is no number
        raise SpecError(f"{who}: {error}, got {url!r}") from error
    if not is_known:
        raise SpecError(f"{who}: the address of a server is http://HOST:PORT, got {url!r}")
    return parts


class Connections:
    """Connections to one server; a thread takes one that is idle, or opens a new one."""

    def __init__(self, address: SplitResult, connect_timeout: float | None = None) -> None:
        self._path, self._connect_timeout = address.path, connect_timeout
        self._where = str(address.hostname), address.port
        self._secure = ssl.create_default_context() if address.scheme == "https" else None
        self._idle: list[http.client.HTTPConnection] = []
        self._busy: set[http.client.HTTPConnection] = set()
        self._process = os.getpid()

    def exchange(
        self, method: str, path: str, content: bytes, headers: Mapping[str, str], timeout: float
    ) -> Response:
        """Send a request, and return the response; no step may take longer than the timeout.

        The server may have closed an idle connection. Then the request is sent over a new one.
        """
        if self._process != os.getpid():  # the connections belong to the process before the fork
            self._idle, self._busy, self._process = [], set(), os.getpid()
        request = method, self._path + path, content or None, headers
        try:
            idle = self._idle.pop()
        except IndexError:
            return self._send(self._connect(timeout), request)
        try:
            idle.sock.settimeout(timeout)
            return self._send(idle, request)
        except (ConnectionError, http.client.HTTPException):
            self.close()  # the others are as old: the server may have been restarted
        try:
            connection = self._connect(timeout)
        except NotConnected as error:  # the request was sent over the old connection
            raise ConnectionError(str(error)) from error
        return self._send(connection, request)

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        within = self._connect_timeout or timeout
        connection = http.client.HTTPConnection(*self._where, timeout=within)
        if self._secure is not None:
            secure = self._secure
            connection = http.client.HTTPSConnection(*self._where, timeout=within, context=secure)
        try:
            connection.connect()
        except ssl.SSLCertVerificationError:
            raise
        except OSError as error:
            raise NotConnected(str(error) or type(error).__name__) from error
        connection.sock.settimeout(timeout)
        return connection

    def _send(self, connection: http.client.HTTPConnection, request: tuple[Any, ...]) -> Response:
        self._busy.add(connection)
        try:
            connection.request(*request)
            found = connection.getresponse()
            headers = {name.lower(): value for name, value in found.headers.items()}
            response = Response(found.status, found.read(), headers)
        except BaseException:  # also an interrupt: the rest of the response is never read
            connection.close()
            raise
        finally:
            self._busy.discard(connection)
        if connection.sock is not None:  # else the server closed it after the response
            self._idle.append(connection)
        return response

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            with suppress(IndexError):  # another thread took the last one
                self._idle.pop().close()

    def abort(self) -> None:
        """Close all connections; requests that wait for a response fail."""
        self.close()
        for connection in list(self._busy):
            with suppress(OSError, AttributeError):
                connection.sock.shutdown(socket.SHUT_RDWR)
