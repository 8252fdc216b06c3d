"""Clients: the verbs of models, on a server that is elsewhere.

    client = bl.Client("http://127.0.0.1:8765", token)
    cvr = client.create("cvr", "LinearModel", loss="logistic", silence=0, deadline="P30D")
    cvr.predict({"campaign": "spring"}, key="click-81f")
    cvr.observe("click-81f", 1)

What changes something is sent with a key of its own (``Idempotency-Key``), and again when no answer
came, the server was busy or could not be reached: it happens once. A client may be used by many
threads.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from queue import Empty, Queue
from typing import Any, Self, TypeVar, overload

from belated.errors import ServiceError, SpecError
from belated.service import client_requests
from belated.service.client_requests import (
    SIZE,
    Item,
    Key,
    ModelMethods,
    Predicted,
    Row,
    ServerMethods,
    Span,
    Sync,
    Turned,
    When,
)
from belated.service.retry import (
    AGAIN,
    RETRY_FOR,
    Address,
    Ask,
    Heard,
    Retry,
    checked_retry_for,
    pause,
    plain_of,
)

T = TypeVar("T")


class Client(ServerMethods["RemoteModel"], Sync):
    """A server, for code that waits for answers.

    ``timeout`` is how long one try may take, in seconds. A request that fails is sent again for
    ``retry_for`` seconds after its first failure (0: never), with random pauses of up to 2 seconds;
    so a client gets over the restart of a server. Raises ``ServiceError``.
    """

    def __init__(
        self, url: str, token: str, *, timeout: float = 10.0, retry_for: float = RETRY_FOR
    ) -> None:
        self._address = Address.of(url, token)
        self._timeout, self._retry_for = timeout, checked_retry_for(retry_for, "Client")
        self._idle: list[http.client.HTTPConnection] = []
        self._process = os.getpid()

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Hang up."""
        self.close()

    def close(self) -> None:
        """Close all connections that nobody uses."""
        while (idle := self._one_idle()) is not None:
            idle.close()

    def __repr__(self) -> str:
        """Return what this is and where it asks; the token is a secret."""
        return f"<{type(self).__name__} of {self._address.url}>"

    # --- Requests -------------------------------------------------------------------------------

    def send(self, ask: Ask[T]) -> T:
        """Send a request until it is answered, or has failed for long enough."""
        retry = Retry(ask, self._address, self._retry_for)
        while (pause := retry.pause(self._try(ask))) is not None:
            time.sleep(pause)
        return retry.result()

    def _try(self, ask: Ask[Any]) -> Heard:
        """Send a request over a connection that nobody uses.

        One that was idle may have died meanwhile: then it is sent again, over a new one.
        """
        if self._process != os.getpid():  # after a fork, connections are those of the other process
            self._idle, self._process = [], os.getpid()
        try:
            idle = self._one_idle()
            if idle is not None:
                try:
                    return self._exchange(idle, ask)
                except (ConnectionError, http.client.HTTPException):
                    self.close()  # the others are as old: the server may have started anew
            return self._exchange(self._connected(), ask)
        except ssl.SSLCertVerificationError as error:  # the next try would fail as well
            raise ServiceError(f"{self._address.url}: {error}") from error
        except (OSError, http.client.HTTPException) as error:
            return Heard(0, (str(error) or type(error).__name__).encode())

    def _one_idle(self) -> http.client.HTTPConnection | None:
        try:
            return self._idle.pop()
        except IndexError:  # others may have taken it
            return None

    def _exchange(self, connection: http.client.HTTPConnection, ask: Ask[Any]) -> Heard:
        """Send a request over a connection, and return the answer."""
        connection.timeout = ask.timeout or self._timeout
        if connection.sock is not None:
            connection.sock.settimeout(connection.timeout)
        try:
            where, headers = self._address.path + ask.path, self._address.headers(ask)
            connection.request(ask.method, where, ask.content or None, headers)
            answer = connection.getresponse()
            told = answer.headers.get
            heard = Heard(
                answer.status, answer.read(), told("Retry-After"), told("Belated-Outcome")
            )
        except BaseException:  # also an interrupt: what is still to come is nobody's
            connection.close()
            raise
        self._idle.append(connection)
        return heard

    def _connected(self) -> http.client.HTTPConnection:
        """Return a new connection, which is made when it is first used."""
        where = self._address.host, self._address.port
        if self._address.scheme == "https":
            return http.client.HTTPSConnection(*where, context=ssl.create_default_context())
        return http.client.HTTPConnection(*where)

    def model(self, name: str) -> RemoteModel:
        """Return a model; whether it is there shows when it is used."""
        return RemoteModel(self, name)


class RemoteModel(ModelMethods["RemoteModel"], Sync):
    """A model of a server; see ``ModelMethods``."""

    def __init__(self, client: Client, name: str) -> None:
        self.client: Client = client
        self.name = name

    @overload
    def predict(
        self,
        features: Row,
        *,
        key: Key | None = None,
        deadline: Span | None = None,
        at: When | None = None,
    ) -> Predicted: ...

    @overload
    def predict(
        self,
        *,
        context: Mapping[str, Any] | None = None,
        key: Key | None = None,
        at: When | None = None,
    ) -> Turned: ...

    def predict(self, features: Row | None = None, **members: Any) -> Any:
        """Return a ticket and a prediction; of ``Knobs``, a ticket and the setting to play.

        Linear models and intervals take ``features``, knobs an optional ``context``.
        """
        return self.client.send(client_requests.predict(self, features, **members))

    def many(self, verb: str, items: Iterable[Mapping[str, Any]]) -> list[Item]:
        """Do a verb to many items, some hundred in a request; return what came of each."""
        asks = client_requests.many(self.name, verb, items)
        return [said for ask in asks for said in self.client.send(ask)]

    def outbox(self, *, most: int = 10_000, every: float = 0.1) -> Outbox:
        """Return what sends answers from a thread of its own, many at a time."""
        return Outbox(self.client.send, self.name, most, every)


# --- In the background ----------------------------------------------------------------------------


class Outbox:
    """Sends answers in the background, many at a time, in their order.

    ``put`` returns at once unless ``most`` wait to be sent: then it waits too, so that a producer
    cannot run away from the server. What could not be sent is tried again until it could; ``close``
    waits for that. What no request can hold is refused by ``put``; where sending itself fails, what
    is left is not sent, and ``put`` and ``close`` raise ``ServiceError``.
    """

    def __init__(
        self, send: Callable[[Ask[list[Item]]], list[Item]], name: str, most: int, every: float
    ) -> None:
        self._send, self._name, self._every = send, name, every
        self._queue: Queue[tuple[str, Item] | None] = Queue(most)
        self.outcomes: Counter[str] = Counter()
        """What came of the items so far."""
        self.errors: Counter[str] = Counter()
        """Codes of what was refused."""
        self._thread = threading.Thread(target=self._work, name="belated-outbox", daemon=True)
        self._turn = threading.Lock()  # so that nothing is put in behind the end
        self._is_over = False
        self._failure: Exception | None = None
        self._thread.start()

    def __enter__(self) -> Self:
        """Return the outbox."""
        return self

    def __exit__(self, *_: object) -> None:
        """Send what is left."""
        self.close()

    def put(
        self,
        verb: str,
        key: Key | None = None,
        value: Any = None,
        *,
        ticket: str | None = None,
        weight: float | None = None,
        at: When | None = None,
    ) -> None:
        """Send something of a ticket, in a while."""
        told = client_requests.given(value=value, weight=weight, at=at)
        item = _as_sent({**client_requests.named(ticket, key), **told})
        with self._turn:
            if self._is_over:
                raise ServiceError("the outbox is closed", code="closed")
            self._check()
            self._queue.put((verb, item))

    def close(self) -> None:
        """Return when all that was put in is answered."""
        with self._turn:
            if not self._is_over:
                self._is_over = True
                self._queue.put(None)
        self._thread.join()
        self._check()

    def _check(self) -> None:
        """Raise what went wrong in the background."""
        if self._failure is not None:
            raise ServiceError(f"the outbox failed: {self._failure}") from self._failure

    def _work(self) -> None:
        for batch in self._batches():
            if self._failure is not None:
                continue  # what is put in is taken out, so that nobody waits for ever
            try:
                for verb, items in groupby(batch, key=lambda item: item[0]):
                    self._deliver(verb, [item for _, item in items])
            except Exception as error:  # told by the next call
                self._failure = error

    def _batches(self) -> Iterator[list[tuple[str, Item]]]:
        """Return what was put in, some at a time, until the outbox is closed."""
        is_last = False
        while not is_last:
            batch: list[tuple[str, Item]] = []
            until = time.monotonic() + self._every
            while len(batch) < SIZE and not is_last:
                try:
                    item = self._queue.get(timeout=max(until - time.monotonic(), 0.001))
                except Empty:
                    break
                is_last = item is None
                if item is not None:
                    batch.append(item)
            yield batch

    def _deliver(self, verb: str, items: list[Item]) -> None:
        attempt, ask = 0, client_requests.some(self._name, verb, items)
        while True:
            try:
                found = self._send(ask)
                break
            except ServiceError as error:
                if error.status not in AGAIN and error.status != 0:
                    found = [{"outcome": "invalid", "error": {"code": error.code}}] * len(items)
                    break
                attempt += 1
                time.sleep(pause(attempt))
        self.outcomes.update(each["outcome"] for each in found)
        self.errors.update(each["error"]["code"] for each in found if "error" in each)


_dumps = json.JSONEncoder(allow_nan=False, ensure_ascii=False, default=plain_of).encode


def _as_sent(item: Item) -> Item:
    """Return what a server will read; one that it cannot would take its whole batch with it."""
    try:
        found: Item = json.loads(_dumps(item).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise SpecError(f"Outbox: a value must be plain data that JSON has: {error}") from error
    return found
