"""Clients: the verbs of models, on a server that is elsewhere.

    client = bl.Client("http://127.0.0.1:8765", token)
    cvr = client.create("cvr", "LinearModel", loss="logistic", silence=0, deadline="P30D")
    cvr.predict({"campaign": "spring"}, key="click-81f")
    cvr.observe("click-81f", 1)

What changes something is sent with a key of its own (``Idempotency-Key``), and again when no answer
came or the server was busy: it happens once. A client may be used by many threads.
"""

from __future__ import annotations

import http.client
import json
import random
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from queue import Empty, Queue
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self
from urllib.parse import quote, urlsplit
from uuid import uuid4

from belated.errors import ServiceError, SpecError

Outcome = Literal["applied", "late", "duplicate", "unknown", "invalid"]
Actions = Sequence[str] | Mapping[str, Mapping[str, Any] | None]
Row = Mapping[str, Any] | Sequence[float]

AGAIN = frozenset((408, 425, 429, 502, 503, 504))
"""Answers after which a request is sent again."""
UNHEARD = frozenset((0, 502, 504))
"""No answer, or none of the server itself: what was asked for may have been done."""
_LONGEST = 5.0  # seconds between two tries
COMPILING = 300.0
"""Seconds that a new model may take: its kernels may have to be compiled."""
SIZE = 500
"""Items of a request, where there are more."""


class Predicted(NamedTuple):
    """What ``predict`` returns; ``low`` and ``high`` where the model has intervals."""

    ticket: str
    value: float
    low: float | None = None
    high: float | None = None


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
    def of(cls, url: str, token: str) -> Self:
        """Read an address."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SpecError(f"Client: the address of a server is http://HOST:PORT, got {url!r}")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return cls(parts.scheme, parts.hostname, port, parts.path.rstrip("/"), token)

    def headers(self, key: str | None) -> dict[str, str]:
        """Return what goes with every request."""
        found = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        return found if key is None else {**found, "Idempotency-Key": key}


def asked(verb: str, name: str) -> str:
    """Return the path of a verb of a model."""
    return f"/models/{quote(name, safe='')}{'/' if verb else ''}{verb}"


def pause(attempt: int, after: str | None) -> float:
    """Return how long to wait before a request is sent again: longer every time, and by chance."""
    least = float(after) if after is not None and after.isdigit() else 0.0
    return min(max(least, random.uniform(0.5, 1.0) * 0.05 * 2.0**attempt), _LONGEST)


def is_gone(method: str, status: int, is_lost: bool) -> bool:
    """Tell whether something was deleted by a try whose answer was lost."""
    return method == "DELETE" and status == 404 and is_lost


def new_key() -> str:
    """Return an ``Idempotency-Key``."""
    return uuid4().hex


def refusal(status: int, body: bytes) -> ServiceError:
    """Return the error for an answer that is no."""
    try:
        about = json.loads(body)["error"]
        return ServiceError(about["message"], status=status, code=about["code"])
    except (ValueError, KeyError, TypeError):
        return ServiceError(f"the server answered {status}", status=status, code="failed")


def given(**members: Any) -> dict[str, Any]:
    """Return the members of a body that are not None."""
    return {name: value for name, value in members.items() if value is not None}


def named(ticket: str | None, key: str | None) -> dict[str, Any]:
    """Return a ticket or a key, as a body has it."""
    if (ticket is None) == (key is None):
        raise SpecError("Client: give a key, or ticket= with what was handed out")
    return {"key": key} if ticket is None else {"ticket": ticket}


class Client:
    """A server, for code that waits for answers.

    ``timeout`` is how long one try may take, in seconds; ``tries`` is how often a request is sent
    at most. Raises ``ServiceError``.
    """

    def __init__(self, url: str, token: str, *, timeout: float = 10.0, tries: int = 6) -> None:
        self._address = Address.of(url, token)
        self._timeout, self._tries = timeout, max(tries, 1)
        self._own = threading.local()
        self._all: list[http.client.HTTPConnection] = []

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Hang up."""
        self.close()

    def close(self) -> None:
        """Close all connections."""
        for connection in self._all:
            connection.close()

    # --- Requests -------------------------------------------------------------------------------

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        timeout: float | None = None,
        tries: int | None = None,
    ) -> Any:
        """Send a request, again if need be, and return the answer as plain data.

        With a ``key`` it happens once, however often it is sent.
        """
        self._connection(timeout or self._timeout)
        content = None if body is None else json.dumps(body).encode()
        headers = self._address.headers(key)
        tries, is_lost = tries or self._tries, False
        for attempt in range(tries):
            status, answer, after = self._try(method, path, content, headers)
            if status and status not in AGAIN:
                break
            is_lost = is_lost or status in UNHEARD
            if attempt + 1 < tries:
                time.sleep(pause(attempt, after))
        if is_gone(method, status, is_lost):
            return None
        if status == 0:
            raise ServiceError(f"{self._address.host}:{self._address.port}: {answer.decode()}")
        if status >= 400:
            raise refusal(status, answer)
        return json.loads(answer) if answer else None

    def _try(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes, str | None]:
        """Return status, body and Retry-After of an answer; 0 and why where none came."""
        connection = self._own.connection
        try:
            connection.request(method, self._address.path + path, content, headers)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers.get("Retry-After")
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            return 0, (str(error) or type(error).__name__).encode(), None

    def _connection(self, timeout: float) -> None:
        """Have a connection for this thread, which waits so long for an answer."""
        found: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if found is None:
            where = self._address.host, self._address.port
            if self._address.scheme == "https":
                context = ssl.create_default_context()
                found = http.client.HTTPSConnection(*where, context=context)
            else:
                found = http.client.HTTPConnection(*where)
            self._own.connection = found
            self._all.append(found)
        found.timeout = timeout
        if found.sock is not None:
            found.sock.settimeout(timeout)

    # --- Models ---------------------------------------------------------------------------------

    def models(self) -> list[str]:
        """Return the names of all models."""
        return [model["name"] for model in self.request("GET", "/models")["models"]]

    def create(self, name: str, kind: str, **settings: Any) -> RemoteModel:
        """Make a model of a kind, or return it if it is there with these settings."""
        body = {"name": name, "kind": kind, "settings": settings}
        self.request("POST", "/models", body, key=new_key(), timeout=COMPILING)
        return self.model(name)

    def model(self, name: str) -> RemoteModel:
        """Return a model; whether it is there shows when it is used."""
        return RemoteModel(self, name)

    def delete(self, name: str) -> None:
        """Remove a model with its log; there is no way back."""
        self.request("DELETE", asked("", name), key=new_key())

    def ready(self) -> bool:
        """Tell whether all models are recovered and compiled; it is asked once."""
        try:
            self.request("GET", "/ready", tries=1)
        except ServiceError:
            return False
        return True


class RemoteModel:
    """A model of a server.

    The first argument of verbs that bring answers is a key of yours; a ticket that was handed out
    goes by name, as ``ticket=``.
    """

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name

    def _do(self, verb: str, body: Any) -> Any:
        return self.client.request("POST", asked(verb, self.name), body, key=new_key())

    def predict(
        self, features: Row, *, key: str | None = None, deadline: float | str | None = None
    ) -> Predicted:
        """Return a ticket and a prediction."""
        row = dict(features) if isinstance(features, Mapping) else list(features)
        found = self._do("predict", given(features=row, key=key, deadline=deadline))
        return Predicted(found["ticket"], found["value"], found.get("low"), found.get("high"))

    def choose(
        self,
        context: Mapping[str, Any] | None = None,
        actions: Actions | None = None,
        *,
        key: str | None = None,
        deadline: float | str | None = None,
        baseline: str | None = None,
        shown: bool = True,
    ) -> Chosen:
        """Return a ticket, an action, and the probability with which it was chosen."""
        body = given(
            context=context,
            actions=actions,
            key=key,
            deadline=deadline,
            baseline=baseline,
            shown=None if shown else False,
        )
        found = self._do("choose", body)
        return Chosen(found["ticket"], found["action"], found["probability"])

    def observe(
        self,
        key: str | None = None,
        value: Any = None,
        *,
        ticket: str | None = None,
        weight: float | None = None,
    ) -> Outcome:
        """Bring the answer, the last word."""
        return self._tell("observe", key, ticket, value=value, weight=weight)

    def revise(
        self, key: str | None = None, value: Any = None, *, ticket: str | None = None
    ) -> Outcome:
        """Bring the answer so far; the ticket stays open."""
        return self._tell("revise", key, ticket, value=value)

    def add(
        self, key: str | None = None, value: Any = None, *, ticket: str | None = None
    ) -> Outcome:
        """Add to the answer so far; the ticket stays open."""
        return self._tell("add", key, ticket, value=value)

    def cancel(self, key: str | None = None, *, ticket: str | None = None) -> Outcome:
        """Close a ticket of which nothing will be heard."""
        return self._tell("cancel", key, ticket)

    def shown(self, key: str | None = None, *, ticket: str | None = None) -> Outcome:
        """Say that a choice was shown that was made with ``shown=False``."""
        return self._tell("shown", key, ticket)

    def _tell(self, verb: str, key: str | None, ticket: str | None, **more: Any) -> Outcome:
        outcome: Outcome = self._do(verb, {**named(ticket, key), **given(**more)})["outcome"]
        return outcome

    def many(self, verb: str, items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Do a verb to many items, some hundred in a request; return what came of each."""
        listed = [dict(item) for item in items]
        found: list[dict[str, Any]] = []
        for begin in range(0, len(listed), SIZE):
            found += self._do(verb, {"items": listed[begin : begin + SIZE]})["items"]
        return found

    def report(self) -> dict[str, Any]:
        """Return counts, delays, and how well it does."""
        found: dict[str, Any] = self.client.request("GET", asked("report", self.name))
        return found

    def about(self) -> dict[str, Any]:
        """Return what the model is."""
        found: dict[str, Any] = self.client.request("GET", asked("", self.name))
        return found

    def outbox(self, *, most: int = 10_000, every: float = 0.1) -> Outbox:
        """Return what sends answers from a thread of its own, many at a time."""
        return Outbox(self, most, every)


class Outbox:
    """Sends answers in the background, many at a time, in their order.

    ``put`` returns at once unless ``most`` wait to be sent: then it waits too, so that a producer
    cannot run away from the server. What could not be sent is tried again until it could; ``close``
    waits for that.
    """

    def __init__(self, model: RemoteModel, most: int, every: float) -> None:
        self._model, self._every = model, every
        self._queue: Queue[tuple[str, dict[str, Any]] | None] = Queue(most)
        self.outcomes: Counter[str] = Counter()
        """What came of the items so far."""
        self.errors: Counter[str] = Counter()
        """Codes of what was refused."""
        self._thread = threading.Thread(target=self._work, name="belated-outbox", daemon=True)
        self._is_over = False
        self._thread.start()

    def __enter__(self) -> Self:
        """Return the outbox."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Send what is left."""
        self.close()

    def put(
        self, verb: str, key: str | None = None, value: Any = None, *, ticket: str | None = None
    ) -> None:
        """Send something of a ticket, in a while."""
        if self._is_over:
            raise ServiceError("the outbox is closed", code="closed")
        self._queue.put((verb, {**named(ticket, key), **given(value=value)}))

    def close(self) -> None:
        """Return when all that was put in is answered."""
        if not self._is_over:
            self._is_over = True
            self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        is_last = False
        while not is_last:
            batch: list[tuple[str, dict[str, Any]]] = []
            until = time.monotonic() + self._every
            while len(batch) < SIZE and not is_last:
                try:
                    item = self._queue.get(timeout=max(until - time.monotonic(), 0.001))
                except Empty:
                    break
                is_last = item is None
                if item is not None:
                    batch.append(item)
            for verb, items in _runs(batch):
                self._send(verb, items)

    def _send(self, verb: str, items: list[dict[str, Any]]) -> None:
        attempt = 0
        path, body, key = asked(verb, self._model.name), {"items": items}, new_key()
        while True:
            try:
                found = self._model.client.request("POST", path, body, key=key)["items"]
                break
            except ServiceError as error:
                if error.status not in AGAIN and error.status != 0:
                    found = [{"outcome": "invalid", "error": {"code": error.code}}] * len(items)
                    break
                attempt += 1
                time.sleep(pause(attempt, None))
        self.outcomes.update(each["outcome"] for each in found)
        self.errors.update(each["error"]["code"] for each in found if "error" in each)


def _runs(
    batch: list[tuple[str, dict[str, Any]]],
) -> Iterable[tuple[str, list[dict[str, Any]]]]:
    """Return items of one verb that follow each other."""
    found: list[tuple[str, list[dict[str, Any]]]] = []
    for verb, item in batch:
        if found and found[-1][0] == verb:
            found[-1][1].append(item)
        else:
            found.append((verb, [item]))
    return found
