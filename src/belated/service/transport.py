"""HTTP of clients: connections to a server, and requests that are sent again.

A request is sent again where no response came or the server is busy. One that changes something
has an ``Idempotency-Key``, so that it happens once. A server that forwards requests to another
server uses the connections alone.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from numbers import Integral
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import SplitResult

from belated.errors import AlreadyObserved, ServiceError, SpecError, UnknownTicket
from belated.scalars import plain
from belated.service.settings import address_of

FAILURES = (OSError, http.client.HTTPException)
"""Errors of ``Connections.exchange`` without a response."""
RETRY_FOR = 30.0  # seconds after the first failure; the restart of a server takes less
_NO_RESPONSE = (0, 502, 504)  # the server may have done what was asked
RETRIED = frozenset((*_NO_RESPONSE, 408, 425, 429, 503))  # is sent again
_FIRST, _LONGEST = 0.05, 2.0  # seconds between attempts, which double from one to the next
_LONGEST_AFTER = 5.0  # seconds that a server may ask for with Retry-After


class Response(NamedTuple):
    """A response; status 0 where no response came, with the reason as the body."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}
    """By name in lower case."""


class NotConnected(OSError):
    """No connection could be opened, so that nothing was sent."""


class Connections:
    """Connections to one server; a thread takes one that is idle, or opens a new one."""

    def __init__(self, address: SplitResult, connect_timeout: float | None = None) -> None:
        self._address, self._connect_timeout = address, connect_timeout
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
        request = method, self._address.path + path, content or None, headers
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
        where, within = str(self._address.hostname), self._connect_timeout or timeout
        port, connection = self._address.port, http.client.HTTPConnection
        if self._secure is None:
            found = connection(where, port, timeout=within)
        else:
            found = http.client.HTTPSConnection(where, port, timeout=within, context=self._secure)
        try:
            found.connect()
        except ssl.SSLCertVerificationError:
            raise
        except OSError as error:
            raise NotConnected(str(error) or type(error).__name__) from error
        found.sock.settimeout(timeout)
        return found

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
        while self._idle:
            with suppress(IndexError):  # another thread took the last one
                self._idle.pop().close()

    def abort(self) -> None:
        """Close all connections; requests that wait for a response fail."""
        self.close()
        for connection in list(self._busy):
            with suppress(OSError, AttributeError):
                connection.sock.shutdown(socket.SHUT_RDWR)


# --- Sending again --------------------------------------------------------------------------------


class RemoteUnknownTicket(ServiceError, UnknownTicket):
    """A server does not know the ticket or the key."""


class RemoteAlreadyObserved(ServiceError, AlreadyObserved):
    """A server had the answer to the ticket before."""


_ERRORS = {"unknown_ticket": RemoteUnknownTicket, "already_answered": RemoteAlreadyObserved}


class Sender:
    """Sends requests to one server, from any thread."""

    def __init__(self, url: str, token: str, timeout: float, retry_for: float, who: str) -> None:
        self.address = address_of(url, who)
        self.closed = threading.Event()  # set when no request is to be sent again
        self.connections = Connections(self.address)
        self._token, self._timeout = token, timeout
        self._retry_for = _seconds(retry_for, who)

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        timeout: float | None = None,
        retry_for: float | None = None,
    ) -> Response:
        """Send a request until it is answered, or has failed for long enough.

        Raises ``ServiceError`` with the message of the server.
        """
        is_file = isinstance(body, bytes)
        content = body if isinstance(body, bytes) else b"" if body is None else encode(body)
        kind = "application/vnd.apache.parquet" if is_file else "application/json"
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
        if key is not None:
            headers["Idempotency-Key"] = key
        retry_for = self._retry_for if retry_for is None else _seconds(retry_for, "request")
        request = method, path, content, headers, timeout or self._timeout
        failures, end, is_lost = 0, 0.0, False
        while (response := self._attempt(request)).status in RETRIED:
            is_lost = is_lost or response.status in _NO_RESPONSE
            now = monotonic()
            end = end if failures else now + retry_for
            failures += 1
            after, left = response.headers.get("retry-after", ""), end - now
            least = min(float(after), _LONGEST_AFTER) if after.isdecimal() else 0.0
            wait = min(max(pause(failures - 1), least), left)
            if left <= 0.0 or least > left or self.closed.wait(wait):
                break
        if method == "DELETE" and response.status == 404 and is_lost:
            return Response(204, b"")  # an attempt whose response was lost has deleted it
        if response.status == 0:
            often = f" ({failures} tries, {retry_for:g} s)" if failures > 1 else ""
            raise ServiceError(f"{self.address.netloc}: {response.body.decode()}{often}")
        if response.status >= 400:
            raise _error(response)
        return response

    def _attempt(self, request: tuple[str, str, bytes, dict[str, str], float]) -> Response:
        try:
            return self.connections.exchange(*request)
        except ssl.SSLCertVerificationError as error:  # the next attempt would fail as well
            raise ServiceError(f"{self.address.geturl()}: {error}") from error
        except FAILURES as error:
            return Response(0, (str(error) or type(error).__name__).encode())


def pause(attempt: int) -> float:
    """Return the seconds before a request is sent again.

    The pause doubles from attempt to attempt, up to a bound. It is random, so that the clients of
    a server that comes back do not all send at the same time.
    """
    return random.uniform(0.5, 1.0) * min(_FIRST * 2.0 ** min(attempt, 32), _LONGEST)


def _seconds(seconds: float, who: str) -> float:
    """Return for how long requests are sent again, or refuse what is no such length."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0.0:
        raise SpecError(f"{who}: retry_for is a number of seconds, 0 for one try; got {seconds!r}")
    return float(seconds)


def _error(response: Response) -> ServiceError:
    status = response.status
    try:
        about = json.loads(response.body)["error"]
        message, code = about["message"], about["code"]
    except (ValueError, KeyError, TypeError):
        return ServiceError(f"the server answered {status}", status=status, code="failed")
    return _ERRORS.get(code, ServiceError)(message, status=status, code=code)


# --- JSON -----------------------------------------------------------------------------------------

_BEYOND = 10**309  # the least power of ten that no float reaches


def encode(body: Any, allow_nan: bool = True) -> bytes:
    """Return a body as JSON, which has no NaN and no infinity; ``ValueError``: it cannot be.

    NaN is missing, so it becomes null. A number that is too large for a float stands for infinity:
    the server refuses the item that has it, and no other.

    >>> encode([1.5, float("nan"), -float("inf")]) == f"[1.5, null, {_BEYOND}]".encode()
    True
    """
    try:
        return json.dumps(body, default=_plain_of, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        if not allow_nan:
            raise
    constants = {"NaN": None, "Infinity": _BEYOND, "-Infinity": _BEYOND}
    read = json.loads(json.dumps(body, default=_plain_of), parse_constant=constants.get)
    return json.dumps(read).encode()


def _plain_of(value: Any) -> Any:
    """Return a value that JSON does not have as plain data, as models in process take it.

    Clients do not import NumPy, and so neither does this.

    >>> import numpy as np
    >>> from datetime import date
    >>> encode({"hour": np.float32(7.5), "day": np.int64(3), "since": date(2026, 3, 1)})
    b'{"hour": 7.5, "day": 3, "since": "2026-03-01"}'
    """
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if getattr(value, "ndim", 0):
        return list(value) if kind in "mM" else value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Integral) and kind != "m":
        return int(value)
    return float(value) if kind == "f" else plain(value)  # NaN is refused where a label is wanted
