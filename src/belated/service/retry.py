"""A request of a client, apart from how bytes travel: ``Ask`` is one.

``Retry`` decides whether it is sent again, and returns its result in the end. What changes
something has an ``Idempotency-Key``, so that it happens once however often it is sent.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from numbers import Integral
from time import monotonic
from typing import Any, Generic, NamedTuple, Self, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

from belated.errors import ServiceError, SpecError
from belated.scalars import plain

T = TypeVar("T")

AGAIN = frozenset((408, 425, 429, 502, 503, 504))
"""Answers after which a request is sent again."""
_UNHEARD = frozenset((0, 502, 504))  # no answer, or none of the server itself: it may be done
RETRY_FOR = 30.0
"""Seconds after the first failure for which a request is sent again; a restart takes less."""
_FIRST, _LONGEST = 0.05, 2.0  # seconds between tries, which double from one to the next
_MOST_AFTER = 5.0  # seconds that a server may ask for with Retry-After
_FILE = "application/vnd.apache.parquet"


class Address(NamedTuple):
    """Where a server is."""

    scheme: str
    host: str
    port: int
    path: str
    token: str

    @classmethod
    def of(cls, url: str, token: str, who: str = "Client") -> Self:
        """Read an address."""
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError as error:  # of a port that is none
            raise SpecError(f"{who}: {error}, got {url!r}") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SpecError(f"{who}: the address of a server is http://HOST:PORT, got {url!r}")
        return cls(parts.scheme, parts.hostname, port, parts.path.rstrip("/"), token)

    @property
    def url(self) -> str:
        """The same as one text, without the token."""
        return f"{self.scheme}://{self.netloc}{self.path}"

    @property
    def netloc(self) -> str:
        """Host and port, as URLs and the Host header have them."""
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def headers(self, ask: Ask[Any]) -> dict[str, str]:
        """Return what goes with a request."""
        kind = _FILE if isinstance(ask.body, bytes) else "application/json"
        found = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        return found if ask.key is None else {**found, "Idempotency-Key": ask.key}


class Heard(NamedTuple):
    """An answer; status 0 and why, where none came."""

    status: int
    body: bytes
    after: str | None = None
    """Seconds after which to come again, as the server says."""
    outcome: str | None = None
    """What came of an event, where the answer has no body."""


class Ask(NamedTuple, Generic[T]):
    """A request, and how its answer is read."""

    method: str
    path: str
    read: Callable[[Any], T]
    body: Any = None
    key: str | None = None
    """With one it happens once, however often it is sent."""
    timeout: float | None = None
    retry_for: float | None = None
    """As in ``Client``; None: what the client has."""
    is_plain: bool = False
    """Whether what is read are the bytes of the answer, and no JSON."""
    failing: T | None = None
    """What is returned in the place of an error; None: it is raised."""

    @property
    def content(self) -> bytes:
        """The body as it is sent."""
        if isinstance(self.body, bytes):
            return self.body
        return b"" if self.body is None else _written(self.body).encode()


class Retry(Generic[T]):
    """What became of a request so far, and whether it is sent again."""

    def __init__(self, ask: Ask[T], address: Address, retry_for: float) -> None:
        self._ask, self._address = ask, address
        self._retry_for = retry_for if ask.retry_for is None else ask.retry_for
        self._count = 0  # of failures
        self._since = 0.0  # when the first one was
        self._heard = Heard(0, b"")
        self._is_lost = False  # by a try of which nothing was heard

    def pause(self, heard: Heard) -> float | None:
        """Take an answer; return how long to wait before the next try, or None at the end."""
        self._heard = heard
        if heard.status and heard.status not in AGAIN:
            return None
        self._is_lost = self._is_lost or heard.status in _UNHEARD
        now = monotonic()
        if self._count == 0:
            self._since = now
        self._count += 1
        left = self._since + self._retry_for - now
        if left <= 0.0 or _least_pause(heard.after) > left:
            return None
        return min(pause(self._count - 1, heard.after), left)

    def result(self) -> T:
        """Return what was asked for, or raise ``ServiceError``."""
        try:
            return self._result()
        except ServiceError:
            if self._ask.failing is None:
                raise
            return self._ask.failing

    def _result(self) -> T:
        status, body, _, outcome = self._heard
        if self._ask.method == "DELETE" and status == 404 and self._is_lost:
            return self._ask.read(None)  # deleted by the try whose answer was lost
        if status == 0:
            where, tries = f"{self._address.host}:{self._address.port}", self._count
            often = f" ({tries} tries, {self._retry_for:g} s)" if tries > 1 else ""
            raise ServiceError(f"{where}: {body.decode()}{often}")
        if status >= 400:
            raise _refusal(status, body)
        if self._ask.is_plain:
            return self._ask.read(body)
        return self._ask.read(json.loads(body) if body else outcome)


_BEYOND = 10**309  # the least power of ten that no float reaches


def _written(body: Any) -> str:
    """Return a body as JSON.

    That has no NaN, which is missing, and no infinity. A body with one would be refused as a whole;
    a number that is too large for a float has the item refused that it is in, and no other.

    >>> _written([1.5, float("nan"), -float("inf")]) == f"[1.5, null, {_BEYOND}]"
    True
    """
    try:
        return json.dumps(body, default=plain_of, allow_nan=False)
    except ValueError:
        read = json.loads(json.dumps(body, default=plain_of), parse_constant=_constant)
        return json.dumps(read)


def _constant(text: str) -> float | None:
    """Return what stands for a number that JSON does not have; NaN is missing."""
    return None if text == "NaN" else _BEYOND


def plain_of(value: Any) -> Any:
    """Return a value that JSON does not have as plain data, as models in process take it.

    Clients do not have to import NumPy, and so neither does this.

    >>> import numpy as np
    >>> from datetime import date
    >>> row = {"hour": np.float32(7.5), "day": np.int64(3), "since": date(2026, 3, 1)}
    >>> json.dumps(row, default=plain_of)
    '{"hour": 7.5, "day": 3, "since": "2026-03-01"}'
    """
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if getattr(value, "ndim", 0):
        return list(value) if kind in "mM" else value.tolist()
    if isinstance(value, Integral) and kind != "m":
        return int(value)
    return float(value) if kind == "f" else plain(value)  # NaN is refused where a label is wanted


def checked_retry_for(seconds: float, who: str) -> float:
    """Return how long requests are sent again, or refuse what is no such length."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0.0:
        raise SpecError(f"{who}: retry_for is a number of seconds, 0 for one try; got {seconds!r}")
    return float(seconds)


def pause(attempt: int, after: str | None = None) -> float:
    """Return how long to wait before a request is sent again.

    The wait doubles from try to try, up to a bound. It is drawn at random, so that many clients of
    one server that comes back do not all send at the same time.
    """
    longest = min(_FIRST * 2.0 ** min(attempt, 32), _LONGEST)
    return max(_least_pause(after), random.uniform(0.5, 1.0) * longest)


def _least_pause(after: str | None) -> float:
    """Return the seconds that a server asks for with Retry-After, up to a bound."""
    return min(float(after), _MOST_AFTER) if after is not None and after.isdecimal() else 0.0


def new_key() -> str:
    """Return an ``Idempotency-Key``."""
    return uuid4().hex


def _refusal(status: int, body: bytes) -> ServiceError:
    """Return the error for an answer that is no."""
    try:
        about = json.loads(body)["error"]
        return ServiceError(about["message"], status=status, code=about["code"])
    except (ValueError, KeyError, TypeError):
        return ServiceError(f"the server answered {status}", status=status, code="failed")
