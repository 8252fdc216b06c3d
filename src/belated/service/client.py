"""Clients: the methods of models, on a server that is elsewhere.

    client = bl.Client("http://127.0.0.1:8765", token)
    cvr = client.create("cvr", "LinearModel", loss="logistic", silence=0, deadline="P30D")
    cvr.predict({"campaign": "spring"}, key="click-81f")
    cvr.observe("click-81f", 1)

Each method is written once. It sends its request and waits. ``Client`` and ``RemoteModel`` call it
as it is; ``AsyncClient`` and ``AsyncRemoteModel`` run it in a thread, and return an awaitable.
Every change has a key of its own (``Idempotency-Key``), and is sent again when no response came or
the server was busy: it happens once. Threads may share a client.
"""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial, update_wrapper
from itertools import groupby
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload
from urllib.parse import quote
from uuid import uuid4

from belated.errors import ServiceError, SpecError
from belated.service import transport
from belated.service.transport import RETRY_FOR, Response, Sender

if TYPE_CHECKING:
    from typing import Literal, Protocol, TypeAlias

    from belated.core.decisions import Choice, Option
    from belated.core.intervals import Interval, Range
    from belated.core.knobs import Expected, Proposal
    from belated.core.learner import Decision
    from belated.core.linear import Forecast
    from belated.models.linear.explain import Explanation

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


T = TypeVar("T")
P = ParamSpec("P")
M = TypeVar("M")
Prediction = TypeVar("Prediction", covariant=True)
Peek = TypeVar("Peek", covariant=True)

Row = Mapping[str, Any] | Sequence[float]
Context = Mapping[str, Any]
Actions = Sequence[str] | Mapping[str, Context | None]
Span = float | str | timedelta | Mapping[str, float]
"""A duration: seconds, a text such as "P30D" or "30d", a timedelta, or {"predictions": 100}."""
When = float | str | datetime
"""A time of your own, which needs the scope admin: seconds since 1970, a datetime, or ISO 8601."""
Name = str | tuple[str, str]  # a number by its name, a text as (name, text)
Plain = dict[str, Any]

SIZE = 500  # items of a request, where there are more
_LONG = 300.0  # seconds, where the server may read a whole log


class Ticket(int):
    """A ticket of a server: its number, and the signed text that proves it.

    ``str`` of a ticket is that text, and ``Ticket(text)`` is the ticket again.

    >>> ticket = Ticket("17.c2lnbmVk")
    >>> ticket == 17, str(ticket)
    (True, '17.c2lnbmVk')
    """

    signed: str

    def __new__(cls, signed: str) -> Self:
        ticket = super().__new__(cls, signed.partition(".")[0])
        ticket.signed = signed
        return ticket

    def __str__(self) -> str:
        return self.signed

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.signed,)


# --- Methods --------------------------------------------------------------------------------------


class Sync:
    """A client that waits for responses; ``with`` closes it."""

    close: Any

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Async:
    """A client whose methods run in threads; ``async with`` closes it."""

    close: Any
    _threads: Any  # an executor

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Method(Generic[P, T]):
    """A method that waits; instances of ``Async`` return an awaitable of its result."""

    def __init__(self, function: Callable[Concatenate[Any, P], T]) -> None:
        self.function = function

    @overload
    def __get__(self, instance: Sync, owner: Any) -> Callable[P, T]: ...
    @overload
    def __get__(self, instance: Async, owner: Any) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, instance: None, owner: Any) -> Callable[Concatenate[Any, P], T]: ...
    def __get__(self, instance: Any, owner: Any) -> Callable[..., Any]:
        if instance is None:
            return self.function
        method = MethodType(self.function, instance)
        if isinstance(instance, Sync):
            return method

        async def run(*given: P.args, **named: P.kwargs) -> T:
            call = partial(method, *given, **named)
            return await asyncio.get_running_loop().run_in_executor(instance._threads, call)

        return update_wrapper(run, method)


def _simple(name: str, about: str, function: Callable[[Any], T]) -> Method[[], T]:
    function.__name__, function.__doc__ = name, about
    return Method(function)


def _reading(name: str, about: str) -> Method[[], Plain]:
    path = "" if name == "about" else name
    return _simple(name, about, lambda model: dict(model._call("GET", path, timeout=_LONG)))


def _switch(name: str, about: str) -> Method[[], str]:
    return _simple(name, about, lambda model: str(model._change(name)["mode"]))


def _setting(name: str, about: str) -> Method[[str], str]:
    def change(model: Any, value: str) -> str:
        return str(model._call("PUT", name, {name: value})[name])

    change.__name__, change.__doc__ = name, about
    return Method(change)


def _asking(name: str, about: str) -> Method[[], bool]:
    def is_well(client: Any) -> bool:
        with suppress(ServiceError):
            return bool(client._sender.send("GET", f"/{name}", retry_for=0.0).status == 200)
        return False

    return _simple(name, about, is_well)


class ServerMethods(Generic[M]):
    """The requests to a server; ``M`` is the class of its models."""

    _sender: Sender

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._sender.address.geturl()}>"

    def model(self, name: str) -> M:
        """Return a model; whether it is there shows when it is used."""
        kind: Any = RemoteModel if isinstance(self, Client) else AsyncRemoteModel
        model: M = kind(self, name)
        return model

    @Method
    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        timeout: float | None = None,
        retry_for: float | None = None,
    ) -> Any:
        """Send a request, again if need be, and return the response as plain data.

        With a ``key`` it happens once, however often it is sent; a ``POST`` without gets one.
        """
        key = uuid4().hex if key is None and method == "POST" else key
        more = {"timeout": timeout, "retry_for": retry_for}
        return _read(self._sender.send(method, path, body, key=key, **more))

    @Method
    def models(self) -> list[str]:
        """Return the names of all models."""
        found = _read(self._sender.send("GET", "/models"))
        return [model["name"] for model in found["models"]]

    @Method
    def create(self, /, name: str, kind: str, **settings: Any) -> M:
        """Make a model of a kind, or return it if it is there with these settings."""
        body = {"name": name, "kind": kind, "settings": settings}
        self._sender.send("POST", "/models", body, key=uuid4().hex, timeout=_LONG)
        return self.model(name)

    @Method
    def load(self, name: str, exported: bytes) -> M:
        """Make the model of an exported log, which goes on under the same keys."""
        path = _path(name, "import")
        self._sender.send("POST", path, bytes(exported), key=uuid4().hex, timeout=_LONG)
        return self.model(name)

    @Method
    def delete(self, name: str) -> None:
        """Remove a model with its log; there is no way back."""
        self._sender.send("DELETE", _path(name), key=uuid4().hex)

    @Method
    def metrics(self) -> str:
        """Return the counts for Prometheus."""
        return self._sender.send("GET", "/metrics").body.decode()

    health = _asking("health", "Tell whether the server runs; it is asked once.")
    ready = _asking("ready", "Tell whether all models are recovered; it is asked once.")


class ModelMethods(Generic[M, Prediction, Peek]):
    """The requests to a model; arguments and results are those of the models in process."""

    def __init__(self, client: Any, name: str) -> None:
        self.client, self.name = client, name
        self._threads: Any = getattr(client, "_threads", None)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.client._sender.address.geturl()}>"

    if not TYPE_CHECKING:  # which finds the names that there are

        def __getattr__(self, name: str) -> Any:
            """Say what takes the place of batches in process."""
            hint = f"; use many({name[:-5]!r}, items)" if name.endswith("_many") else ""
            raise AttributeError(f"{type(self).__name__} has no {name!r}{hint}")

    @Method
    def predict(
        self,
        row: Row | None = None,
        *,
        context: Context | None = None,
        key: str | None = None,
        at: When | None = None,
        deadline: Span | None = None,
    ) -> Prediction:
        """Return a ticket and a prediction; of knobs the setting to play, of a learner the play.

        Linear models and intervals take a row of features, knobs ``context``, a learner neither.
        """
        body: Plain = {"features": row, "context": context, "key": key}
        body |= {"at": at, "deadline": deadline}
        found: Prediction = _result(self._change("predict", body))
        return found

    @Method
    def choose(
        self,
        context: Context | None = None,
        actions: Actions | None = None,
        *,
        key: str | None = None,
        at: When | None = None,
        deadline: Span | None = None,
        baseline: str | None = None,
        shown: bool = True,
    ) -> Choice:
        """Return a ticket, an action, and the probability with which it was chosen."""
        body: Plain = {"context": context, "actions": actions, "key": key, "at": at}
        body |= {"deadline": deadline, "baseline": baseline, "shown": None if shown else False}
        found: Choice = _result(self._change("choose", body))
        return found

    @Method
    def many(self, method: str, items: Iterable[Mapping[str, Any]]) -> list[Plain]:
        """Call a method for many items, some hundred in a request; return the outcome of each.

        An item has the members of a request: ``features`` or ``context``, ``key`` or ``ticket``,
        ``value`` for an answer, ``at``, ``deadline`` and so on.
        """
        listed, found = list(items), []
        for begin in range(0, len(listed), SIZE):
            found += self._change(method, {"items": listed[begin : begin + SIZE]})["items"]
        return found

    @Method
    def observe(
        self, ticket: int | str, answer: Any, *, at: When | None = None, weight: float | None = None
    ) -> bool:
        """Give the final answer; return whether it was learned, and did not come too late."""
        return self._tell("observe", ticket, value=answer, at=at, weight=weight)

    @Method
    def revise(self, ticket: int | str, answer: Any, *, at: When | None = None) -> bool:
        """Give the answer so far; the ticket stays open."""
        return self._tell("revise", ticket, value=answer, at=at)

    @Method
    def add(self, ticket: int | str, amount: Any, *, at: When | None = None) -> bool:
        """Add to the answer so far; the ticket stays open."""
        return self._tell("add", ticket, value=amount, at=at)

    @Method
    def cancel(self, ticket: int | str) -> None:
        """Close a ticket whose answer will never come."""
        self._tell("cancel", ticket)

    @Method
    def shown(self, ticket: int | str, *, at: When | None = None) -> None:
        """Say that a choice was shown that was made with ``shown=False``."""
        self._tell("shown", ticket, at=at)

    @Method
    def played(self, ticket: int | str, actual: Mapping[str, Any]) -> None:
        """Say which setting was really played, before the cost."""
        self._tell("played", ticket, setting=actual)

    pause = _switch("pause", "Let knobs stay where they are; return their mode.")
    revert = _switch("revert", "Let knobs go back to their start; return their mode.")
    resume = _switch("resume", "Let knobs learn and explore again; return their mode.")

    @Method
    def tick(self, at: When | None = None) -> int:
        """Advance the clock, to that of the server without a time; return what is still open."""
        return int(self._change("tick", {"at": at})["open"])

    mode = _setting("mode", 'Let a chooser play its own choices ("learn"), or the baseline\'s.')
    rewards = _setting("rewards", 'Say which reward of a key counts: "earliest", or the "sum".')

    @Method
    def rebuild(self, /, *, kind: str | None = None, to: str | None = None, **settings: Any) -> M:
        """Build a model with other settings from the log, in its place or as ``to``.

        Settings that are not given keep their values.
        """
        body = {"settings": settings, "kind": kind, "to": to}
        self._call("POST", "rebuild", body, key=uuid4().hex, timeout=_LONG)
        built: M = self.client.model(to or self.name)
        return built

    @Method
    def erase(self, key: str, *, rebuild: bool = False) -> Plain:
        """Erase all that is stored of a key; with ``rebuild`` also what was learned from it."""
        body = {"key": key, "rebuild": rebuild}
        return dict(self._call("POST", "erase", body, key=uuid4().hex, timeout=_LONG))

    release = _simple(
        "release",
        "Let another server of the same database write the model: the next that is asked for it.",
        lambda model: model._call("POST", "release"),
    )
    about = _reading("about", "Return what the model is.")
    report = _reading("report", "Return counts, delays, and how well it does.")
    timeline = _reading("timeline", "Return the newest tickets, and how old answers were.")
    live = _reading("live", "Return what the dashboard shows.")
    evaluate = _reading("evaluate", "Return what ``bl.evaluate`` says of the log of a chooser.")

    @Method
    def peek(
        self,
        row: Row | None = None,
        actions: Actions | None = None,
        *,
        context: Context | None = None,
    ) -> Peek:
        """Return what would be predicted, chosen or played, without a ticket."""
        body = {"features": row, "context": context, "actions": actions}
        found: Peek = _result(self._call("POST", "peek", body))
        return found

    @Method
    def explain(self, row: Mapping[str, Any]) -> Explanation:
        """Return what each feature adds to a prediction, of a linear model or its intervals."""
        from belated.models.linear.explain import Explanation

        return Explanation(**self._call("POST", "explain", {"features": row}))

    @Method
    def weights(self, names: Iterable[Name]) -> dict[Name, float]:
        """Return the weights of features: of a number by its name, of a text as (name, text)."""
        found = self._call("POST", "weights", {"names": (wanted := list(names))})
        return dict(zip(wanted, found["weights"], strict=True))

    @Method
    def expect(self, setting: Mapping[str, Any], context: Context | None = None) -> Expected:
        """Return what a setting of ``Knobs`` is expected to cost."""
        from belated.core.knobs import Expected

        found = self._call("POST", "expect", {"setting": setting, "context": context})
        return Expected(*[math.nan if found[n] is None else found[n] for n in Expected._fields])

    @Method
    def choice(self, ticket: int | str) -> Choice:
        """Return what was chosen under a ticket or key, as long as that is known."""
        found: Choice = _result(self._call("POST", "choice", name_of(ticket)))
        return found

    @Method
    def export(self) -> bytes:
        """Return the log as a Parquet file, which ``load`` of a client takes."""
        found = self.client._sender.send("GET", _path(self.name, "export"), timeout=_LONG)
        return bytes(found.body)

    def _call(self, method: str, what: str = "", body: Plain | None = None, **more: Any) -> Any:
        body = None if body is None else given(**body)
        return _read(self.client._sender.send(method, _path(self.name, what), body, **more))

    def _change(self, what: str, body: Plain | None = None) -> Any:
        """Send a request that changes the model once, however often it is sent."""
        return self._call("POST", what, body, key=uuid4().hex)

    def _tell(self, method: str, ticket: int | str, **members: Any) -> bool:
        """Say something of a ticket; return False where it came too late."""
        found = self._change(method, {**name_of(ticket), **members})
        if found["outcome"] == "duplicate":
            about = found["error"]
            raise transport.RemoteAlreadyObserved(about["message"], status=200, code=about["code"])
        return bool(found["outcome"] == "applied")


def name_of(ticket: int | str) -> Plain:
    """Return a ticket or a key, as a body has it."""
    return {"ticket": ticket.signed} if isinstance(ticket, Ticket) else {"key": ticket}


def given(**members: Any) -> Plain:
    return {name: member for name, member in members.items() if member is not None}


def _path(name: str, what: str = "") -> str:
    return f"/models/{quote(name, safe='')}{'/' if what else ''}{what}"


def _read(response: Response) -> Any:
    """Return a response as plain data; some have no body, and tell the outcome in a header."""
    return json.loads(response.body or "null") or response.headers.get("belated-outcome")


def _result(found: Plain) -> Any:
    """Return what models in process return; infinite ends of intervals are null in JSON."""
    import numpy as np

    from belated.core import decisions, intervals, knobs, learner, linear

    if "options" in found:
        return [decisions.Option(**each) for each in found["options"]]
    low, high = found.get("low"), found.get("high")
    ends = -math.inf if low is None else low, math.inf if high is None else high
    if "ticket" not in found:
        plain = found["setting"] if "setting" in found else found["value"]
        return intervals.Range(found["value"], *ends) if "low" in found else plain
    ticket = Ticket(found["ticket"])
    if "action" in found:
        return decisions.Choice(ticket, found["action"], found["probability"])
    if "setting" in found:
        return knobs.Proposal(ticket, found["setting"])
    if "play" in found:
        return learner.Decision(ticket, np.asarray(found["play"], dtype=float))
    if "low" in found:
        return intervals.Interval(ticket, found["value"], *ends)
    return linear.Forecast(ticket, found["value"])


# --- Clients ------------------------------------------------------------------------------------


class Client(ServerMethods["RemoteModel[Any, Any]"], Sync):
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


class RemoteModel(ModelMethods["RemoteModel[Any, Any]", Prediction, Peek], Sync):
    """A model of a server, with the results of its ``predict`` and ``peek``."""

    def outbox(self, *, most: int = 10_000, every: float = 0.1) -> Outbox:
        """Return what sends answers in the background, many at a time."""
        return Outbox(self, most, every)


class AsyncClient(ServerMethods["AsyncRemoteModel[Any, Any]"], Async):
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


class AsyncRemoteModel(ModelMethods["AsyncRemoteModel[Any, Any]", Prediction, Peek], Async):
    """A model of a server, for code that awaits responses."""

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

    def __init__(self, model: ModelMethods[Any, Any, Any], most: int, every: float) -> None:
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
        item = given(**name_of(ticket), value=answer, at=at, weight=weight)
        try:
            encoded = transport.encode(item, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise SpecError(f"Outbox: a value must be plain data that JSON has: {error}") from error
        with self._changed:
            self._changed.wait_for(self._may_put)
            self._check()
            if self._is_over:
                raise ServiceError("the outbox is closed", code="closed")
            self._waiting.append((method, json.loads(encoded)))  # which no later change reaches
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
        size, waiting = min(SIZE, self._most), self._waiting
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
                if error.status not in transport.RETRIED:
                    found = [{"outcome": "invalid", "error": {"code": error.code}}] * len(items)
                    break
            attempt += 1
            time.sleep(transport.pause(attempt))
        self.outcomes.update(each["outcome"] for each in found)
        self.errors.update(each["error"]["code"] for each in found if "error" in each)


class Outbox(OutboxMethods, Sync):
    __doc__ = OutboxMethods.__doc__


class AsyncOutbox(OutboxMethods, Async):
    """An ``Outbox`` whose methods are awaited."""

    def __init__(self, model: AsyncRemoteModel[Any, Any], most: int, every: float) -> None:
        super().__init__(model, most, every)
        self._threads = ThreadPoolExecutor(1, "belated-outbox")  # one, to keep the order
