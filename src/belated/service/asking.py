"""What clients send and what they make of answers, apart from how bytes travel.

``Ask`` is one request. ``Tries`` says whether it is sent again, and what came of it in the end.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Generic, Literal, NamedTuple, Self, TypeVar
from urllib.parse import quote, urlsplit
from uuid import uuid4

from belated.errors import ServiceError, SpecError

T = TypeVar("T")

Outcome = Literal["applied", "late", "duplicate", "unknown", "invalid"]
Actions = Sequence[str] | Mapping[str, Mapping[str, Any] | None]
Row = Mapping[str, Any] | Sequence[float]
Item = dict[str, Any]
Key = str | int
"""A name of a ticket: a text or a whole number, which are not the same."""
Span = float | str | timedelta | Mapping[str, float]
"""A duration: seconds, a text such as "P30D" or "30d", a timedelta, or {"predictions": 100}."""

AGAIN = frozenset((408, 425, 429, 502, 503, 504))
"""Answers after which a request is sent again."""
SIZE = 500
"""Items of a request, where there are more."""
_UNHEARD = frozenset((0, 502, 504))  # no answer, or none of the server itself: it may be done
_LONGEST = 5.0  # seconds between two tries
_COMPILING = 300.0  # seconds, where kernels may have to be compiled


class Predicted(NamedTuple):
    """What ``predict`` returns; ``low`` and ``high`` where the model has intervals.

    They are infinite before the first label, as nothing is known then.
    """

    ticket: str
    value: float
    low: float | None = None
    high: float | None = None


class Turned(NamedTuple):
    """What ``ask`` returns."""

    ticket: str
    setting: dict[str, Any]


class Decided(NamedTuple):
    """What ``decide`` returns."""

    ticket: str
    x: list[Any]


class Chosen(NamedTuple):
    """What ``choose`` returns."""

    ticket: str
    action: str
    probability: float


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

    def headers(self, key: str | None) -> dict[str, str]:
        """Return what goes with every request."""
        found = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        return found if key is None else {**found, "Idempotency-Key": key}


class Heard(NamedTuple):
    """An answer; status 0 and why, where none came."""

    status: int
    body: bytes
    after: str | None = None
    """Seconds after which to come again, as the server says."""


class Ask(NamedTuple, Generic[T]):
    """A request, and how its answer is read."""

    method: str
    path: str
    read: Callable[[Any], T]
    body: Any = None
    key: str | None = None
    """With one it happens once, however often it is sent."""
    timeout: float | None = None
    tries: int | None = None

    @property
    def content(self) -> bytes:
        """The body as it is sent."""
        return b"" if self.body is None else json.dumps(self.body, default=plain_of).encode()


class Tries(Generic[T]):
    """What became of a request so far."""

    def __init__(self, ask: Ask[T], address: Address, most: int) -> None:
        self._ask, self._address = ask, address
        self._left = ask.tries or most
        self._count = 0
        self._heard = Heard(0, b"")
        self._is_lost = False  # by a try of which nothing was heard

    def pause(self, heard: Heard) -> float | None:
        """Take an answer; return how long to wait before the next try, or None at the end.

        The wait is longer every time, and by chance.
        """
        self._heard, self._left = heard, self._left - 1
        if heard.status and heard.status not in AGAIN:
            return None
        self._is_lost = self._is_lost or heard.status in _UNHEARD
        self._count += 1
        return pause(self._count - 1, heard.after) if self._left > 0 else None

    def result(self) -> T:
        """Return what was asked for, or raise ``ServiceError``."""
        status, body, _ = self._heard
        if self._ask.method == "DELETE" and status == 404 and self._is_lost:
            return self._ask.read(None)  # deleted by the try whose answer was lost
        if status == 0:
            raise ServiceError(f"{self._address.host}:{self._address.port}: {body.decode()}")
        if status >= 400:
            raise _refusal(status, body)
        return self._ask.read(json.loads(body) if body else None)


def plain_of(value: Any) -> Any:
    """Return a scalar or an array of NumPy as plain data, for JSON, which has neither.

    Clients do not have to import NumPy, and so neither does this.

    >>> import numpy as np
    >>> json.dumps({"hour": np.float32(7.5), "day": np.int64(3)}, default=plain_of)
    '{"hour": 7.5, "day": 3}'
    """
    if type(value).__module__ != "numpy" or value.dtype.kind in "mM":  # a mere count of its unit
        raise TypeError(f"JSON has no {type(value).__name__}")
    return value.tolist()


def pause(attempt: int, after: str | None = None) -> float:
    """Return how long to wait before a request is sent again."""
    least = float(after) if after is not None and after.isdigit() else 0.0
    return min(max(least, random.uniform(0.5, 1.0) * 0.05 * 2.0**attempt), _LONGEST)


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


# --- Models ---------------------------------------------------------------------------------------


def plain(method: str, path: str, body: Any, **more: Any) -> Ask[Any]:
    """Ask for anything; the answer is plain data."""
    return Ask(method, path, lambda found: found, body, **more)


def models() -> Ask[list[str]]:
    """Ask for the names of all models."""
    return Ask("GET", "/models", lambda found: [model["name"] for model in found["models"]])


def create(name: str, kind: str, settings: dict[str, Any]) -> Ask[None]:
    """Ask for a new model."""
    body = {"name": name, "kind": kind, "settings": {**settings, **_span(settings)}}
    return Ask("POST", "/models", _nothing, body, new_key(), _COMPILING)


def delete(name: str) -> Ask[None]:
    """Ask that a model be removed."""
    return Ask("DELETE", _path(name), _nothing, None, new_key())


def ready() -> Ask[None]:
    """Ask, once, whether all models are there."""
    return Ask("GET", "/ready", _nothing, tries=1)


def looked_at(name: str, what: str = "", timeout: float | None = None) -> Ask[dict[str, Any]]:
    """Ask for something that is known of a model."""
    return Ask("GET", _path(name, what), lambda found: dict(found), timeout=timeout)


def evaluate(name: str) -> Ask[dict[str, Any]]:
    """Ask what other policies would have earned."""
    return looked_at(name, "evaluate", _COMPILING)


# --- Verbs ----------------------------------------------------------------------------------------


def predict(name: str, features: Row, key: Key | None, deadline: Span | None) -> Ask[Predicted]:
    """Ask for a prediction."""
    body = given(features=_row(features), key=key, deadline=deadline)
    return _verb(name, "predict", body, _predicted)


def turn(name: str, context: Mapping[str, Any] | None, key: Key | None) -> Ask[Turned]:
    """Ask knobs for the setting to play."""
    return _verb(name, "predict", given(context=context, key=key), _turned)


def decide(name: str, key: Key | None) -> Ask[Decided]:
    """Ask a learner for its play."""
    return _verb(name, "predict", given(key=key), _decided)


def peek(name: str, features: Row | None, **members: Any) -> Ask[dict[str, Any]]:
    """Ask what would be predicted or chosen."""
    body = given(features=None if features is None else _row(features), **members)
    return Ask("POST", _path(name, "peek"), lambda found: dict(found), body)


def change(name: str, verb: str) -> Ask[str]:
    """Ask that knobs be paused, reverted or resumed."""
    return _verb(name, verb, None, lambda found: str(found["mode"]))


def choose(name: str, shown: bool, **members: Any) -> Ask[Chosen]:
    """Ask for a choice."""
    body = given(**members, shown=None if shown else False)
    return _verb(name, "choose", body, _chosen)


def tell(name: str, verb: str, key: Key | None, ticket: str | None, **members: Any) -> Ask[Outcome]:
    """Say something of a ticket."""
    return _verb(name, verb, {**named(ticket, key), **given(**members)}, _outcome)


def many(name: str, verb: str, items: Iterable[Mapping[str, Any]]) -> Iterator[Ask[list[Item]]]:
    """Do a verb to many items, some hundred in a request."""
    listed = [{**item, **_span(item)} for item in items]
    for begin in range(0, len(listed), SIZE):
        yield some(name, verb, listed[begin : begin + SIZE])


def some(name: str, verb: str, items: list[Item]) -> Ask[list[Item]]:
    """Do a verb to items, in one request."""
    return _verb(name, verb, {"items": items}, lambda found: list(found["items"]))


def given(**members: Any) -> Item:
    """Return the members of a body that are not None."""
    found = {name: value for name, value in members.items() if value is not None}
    return {**found, **_span(found)}


def _span(members: Mapping[str, Any]) -> Item:
    """Return the deadline among the members of a body, where JSON has no such thing."""
    deadline: Any = members.get("deadline")
    if isinstance(deadline, timedelta):
        return {"deadline": {"seconds": deadline.total_seconds()}}
    if type(deadline).__name__ == "timedelta64":  # of NumPy, which clients do not have to import
        return {"deadline": {"seconds": float(deadline / type(deadline)(1, "s"))}}
    return {}


def named(ticket: str | None, key: Key | None) -> Item:
    """Return a ticket or a key, as a body has it."""
    if (ticket is None) == (key is None):
        raise SpecError("Client: give a key, or ticket= with what was handed out")
    return {"key": key} if ticket is None else {"ticket": ticket}


def _verb(name: str, verb: str, body: Any, read: Callable[[Any], T]) -> Ask[T]:
    return Ask("POST", _path(name, verb), read, body, new_key())


def _path(name: str, what: str = "") -> str:
    return f"/models/{quote(name, safe='')}{'/' if what else ''}{what}"


def _row(features: Row) -> Any:
    """Return features as JSON has them."""
    return dict(features) if isinstance(features, Mapping) else list(features)


def _nothing(_: Any) -> None:
    return None


def _predicted(found: Any) -> Predicted:
    if "low" not in found:
        return Predicted(found["ticket"], found["value"])
    low, high = found["low"], found["high"]  # null: there is no end
    ends = -math.inf if low is None else low, math.inf if high is None else high
    return Predicted(found["ticket"], found["value"], *ends)


def _turned(found: Any) -> Turned:
    return Turned(found["ticket"], found["setting"])


def _decided(found: Any) -> Decided:
    return Decided(found["ticket"], found["play"])


def _chosen(found: Any) -> Chosen:
    return Chosen(found["ticket"], found["action"], found["probability"])


def _outcome(found: Any) -> Outcome:
    outcome: Outcome = found["outcome"]
    return outcome
