"""Clients: the methods of models, on a server that is elsewhere.

    client = bl.Client("http://127.0.0.1:8765", token)
    cvr = client.create("cvr", "LinearModel", loss="logistic", silence=0, deadline="P30D")
    cvr.predict({"campaign": "spring"}, key="click-81f")
    cvr.observe("click-81f", 1)

Every change has a key of its own (``Idempotency-Key``), and is sent again when no response came or
the server was busy: it happens once. Threads may share a client.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter, deque
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, overload
from uuid import uuid4

from belated.errors import ServiceError, SpecError
from belated.service import client_methods as methods
from belated.service.client_methods import Async, Method, Peek, Plain, Prediction, Sync, When
from belated.service.sender import RETRIED, RETRY_FOR, Sender, encode, pause

if TYPE_CHECKING:
    from belated.core.decisions import Choice, Option
    from belated.core.intervals import Interval, Range
    from belated.core.knobs import Proposal
    from belated.core.learner import Decision
    from belated.core.linear import Forecast

    _Linear: TypeAlias = "RemoteModel[Forecast, float]"
    _Intervals: TypeAlias = "RemoteModel[Interval, Range]"
    _Chooser: TypeAlias = "RemoteModel[Choice, list[Option]]"
    _Knobs: TypeAlias = "RemoteModel[Proposal, dict[str, Any]]"
    _Learner: TypeAlias = "RemoteModel[Decision, Any]"
    _ALinear: TypeAlias = Coroutine[Any, Any, "AsyncRemoteModel[Forecast, float]"]
    _AIntervals: TypeAlias = Coroutine[Any, Any, "AsyncRemoteModel[Interval, Range]"]
    _AChooser: TypeAlias = Coroutine[Any, Any, "AsyncRemoteModel[Choice, list[Option]]"]
    _AKnobs: TypeAlias = Coroutine[Any, Any, "AsyncRemoteModel[Proposal, dict[str, Any]]"]
    _ALearner: TypeAlias = Coroutine[Any, Any, "AsyncRemoteModel[Decision, Any]"]

    class _Create(Protocol):
        @overload
        def __call__(self, name: str, kind: Literal["LinearModel"], **to: Any) -> _Linear: ...
        @overload
        def __call__(self, name: str, kind: Literal["Intervals"], **to: Any) -> _Intervals: ...
        @overload
        def __call__(self, name: str, kind: Literal["Chooser"], **to: Any) -> _Chooser: ...
        @overload
        def __call__(self, name: str, kind: Literal["Knobs"], **to: Any) -> _Knobs: ...
        @overload
        def __call__(self, name: str, kind: Literal["Learner"], **to: Any) -> _Learner: ...

    class _AsyncCreate(Protocol):
        @overload
        def __call__(self, name: str, kind: Literal["LinearModel"], **to: Any) -> _ALinear: ...
        @overload
        def __call__(self, name: str, kind: Literal["Intervals"], **to: Any) -> _AIntervals: ...
        @overload
        def __call__(self, name: str, kind: Literal["Chooser"], **to: Any) -> _AChooser: ...
        @overload
        def __call__(self, name: str, kind: Literal["Knobs"], **to: Any) -> _AKnobs: ...
        @overload
        def __call__(self, name: str, kind: Literal["Learner"], **to: Any) -> _ALearner: ...


class Client(methods.ServerMethods["RemoteModel[Any, Any]"], Sync):
    """A server, for code that waits for responses.

    ``timeout`` limits one attempt, in seconds. A request that fails is sent again for ``retry_for``
    seconds after its first failure (0: never), with random pauses of up to 2 seconds; so a client
    survives the restart of a server. Raises ``ServiceError``.
    """

    if TYPE_CHECKING:
        create: _Create  # type: ignore[assignment]  # more precise

    def __init__(
        self, url: str, token: str, *, timeout: float = 10.0, retry_for: float = RETRY_FOR
    ) -> None:
        self._sender = Sender(url, token, timeout, retry_for, "Client")

    def close(self) -> None:
        """Close the idle connections; the next request opens a new one."""
        self._sender.connections.close()

    def model(self, name: str) -> RemoteModel[Any, Any]:
        """Return a model; whether it is there shows when it is used."""
        return RemoteModel(self, name)


class RemoteModel(methods.ModelMethods["RemoteModel[Any, Any]", Prediction, Peek], Sync):
    """A model of a server, with the results of its ``predict`` and ``peek``."""

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name

    def outbox(self, *, most: int = 10_000, every: float = 0.1) -> Outbox:
        """Return what sends answers in the background, many at a time."""
        return Outbox(self, most, every)


class AsyncClient(methods.ServerMethods["AsyncRemoteModel[Any, Any]"], Async):
    """A server, for code that awaits responses; the requests run in threads.

    ``at_once`` is how many requests are under way at most; others wait for their turn, so that a
    producer cannot run away from the server. A request whose task is cancelled may still be done.
    ``timeout`` and ``retry_for`` are those of ``Client``.
    """

    if TYPE_CHECKING:
        create: _AsyncCreate  # type: ignore[assignment]  # more precise

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 10.0,
        retry_for: float = RETRY_FOR,
        at_once: int = 32,
    ) -> None:
        self._sender = Sender(url, token, timeout, retry_for, "AsyncClient")
        self._threads = ThreadPoolExecutor(at_once, "belated-client")

    async def close(self) -> None:
        """Wait for the requests under way, which are not sent again, and close all connections."""
        self._sender.closed.set()
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)
        self._sender.connections.close()

    def model(self, name: str) -> AsyncRemoteModel[Any, Any]:
        """Return a model; whether it is there shows when it is used."""
        return AsyncRemoteModel(self, name)


class AsyncRemoteModel(methods.ModelMethods["AsyncRemoteModel[Any, Any]", Prediction, Peek], Async):
    """A model of a server, for code that awaits responses."""

    def __init__(self, client: AsyncClient, name: str) -> None:
        self.client, self.name, self._threads = client, name, client._threads

    def outbox(self, *, most: int = 10_000, every: float = 0.1) -> AsyncOutbox:
        """Return what sends answers in the background, many at a time."""
        return AsyncOutbox(self, most, every)


class OutboxMethods:
    """Sends answers in the background, many at a time, in their order.

    ``put`` returns at once unless ``most`` wait to be sent: then it waits too, so that a producer
    cannot run away from the server. What could not be sent is tried again until it could; ``close``
    waits for that. ``put`` refuses what no request can hold. If sending itself fails, the rest is
    not sent, and ``put`` and ``close`` raise ``ServiceError``.
    """

    def __init__(self, model: methods.ModelMethods[Any, Any, Any], most: int, every: float) -> None:
        self._model, self._most, self._every = model, most, every
        self._waiting: deque[tuple[str, Plain]] = deque()
        self._changed = threading.Condition()
        self._is_over = False
        self._failure: Exception | None = None
        self.outcomes: Counter[str] = Counter()
        """Outcomes of the answers so far."""
        self.errors: Counter[str] = Counter()
        """Codes of the errors among them."""
        self._thread = threading.Thread(target=self._work, name="belated-outbox", daemon=True)
        self._thread.start()

    @Method
    def put(
        self,
        method: str,
        ticket: int | str,
        answer: Any = None,
        *,
        at: When | None = None,
        weight: float | None = None,
    ) -> None:
        """Let a method that gives an answer be called in a while, with these arguments."""
        item = methods.given(**methods.name_of(ticket), value=answer, at=at, weight=weight)
        try:
            item = json.loads(encode(item, allow_nan=False))  # later changes have no effect
        except (TypeError, ValueError, RecursionError) as error:
            raise SpecError(f"Outbox: a value must be plain data that JSON has: {error}") from error
        with self._changed:
            self._changed.wait_for(self._may_put)
            self._check()
            if self._is_over:
                raise ServiceError("the outbox is closed", code="closed")
            self._waiting.append((method, item))
            self._changed.notify_all()

    @Method
    def close(self) -> None:
        """Return when all that was put in is answered."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        self._thread.join()
        self._check()

    def _may_put(self) -> bool:
        return bool(self._is_over or self._failure or len(self._waiting) < self._most)

    def _check(self) -> None:
        """Raise what went wrong in the background."""
        if self._failure is not None:
            raise ServiceError(f"the outbox failed: {self._failure}") from self._failure

    def _work(self) -> None:
        try:
            while batch := self._batch():
                for method, items in groupby(batch, key=lambda each: each[0]):
                    self._deliver(method, [item for _, item in items])
        except Exception as error:  # the next call raises it
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _batch(self) -> list[tuple[str, Plain]]:
        """Return what fills a request, or has waited long enough; nothing at the end."""
        size, waiting = min(methods.SIZE, self._most), self._waiting
        with self._changed:
            self._changed.wait_for(lambda: waiting or self._is_over)
            self._changed.wait_for(lambda: len(waiting) >= size or self._is_over, self._every)
            batch = [waiting.popleft() for _ in range(min(size, len(waiting)))]
            self._changed.notify_all()
            return batch

    def _deliver(self, method: str, items: list[Plain]) -> None:
        attempt, key = 0, uuid4().hex
        while True:
            try:
                found = self._model._call("POST", method, {"items": items}, key=key)["items"]
                break
            except ServiceError as error:
                if error.status not in RETRIED:
                    found = [{"outcome": "invalid", "error": {"code": error.code}}] * len(items)
                    break
            attempt += 1
            time.sleep(pause(attempt))
        self.outcomes.update(each["outcome"] for each in found)
        self.errors.update(each["error"]["code"] for each in found if "error" in each)


class Outbox(OutboxMethods, Sync):
    __doc__ = OutboxMethods.__doc__


class AsyncOutbox(OutboxMethods, Async):
    """An ``Outbox`` whose methods are awaited."""

    def __init__(self, model: AsyncRemoteModel[Any, Any], most: int, every: float) -> None:
        super().__init__(model, most, every)
        self._threads = ThreadPoolExecutor(1, "belated-outbox")  # one, to keep the order
