"""The methods of clients and of their models; each is written once, for both kinds of clients.

A method sends its request and waits. ``Client`` and ``RemoteModel`` call it as it is;
``AsyncClient`` and ``AsyncRemoteModel`` run it in a thread, and return an awaitable.
"""

from __future__ import annotations

import json
import math
from asyncio import get_running_loop
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial, update_wrapper
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload
from urllib.parse import quote
from uuid import uuid4

from belated.errors import ServiceError
from belated.service.sender import RemoteAlreadyObserved, Sender
from belated.service.transport import Response

if TYPE_CHECKING:
    from belated.core.decisions import Choice
    from belated.core.knobs import Expected
    from belated.models.linear.explain import Explanation

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
    """What waits for responses; ``with`` closes clients and outboxes."""

    close: Any

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Async:
    """What runs its methods in threads; ``async with`` closes clients and outboxes."""

    close: Any
    _threads: Executor

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
        """Return the method of an instance, or the function of a class."""
        if instance is None:
            return self.function
        method = MethodType(self.function, instance)
        if isinstance(instance, Sync):
            return method

        async def run(*given: P.args, **named: P.kwargs) -> T:
            call = partial(method, *given, **named)
            return await get_running_loop().run_in_executor(instance._threads, call)

        return update_wrapper(run, method)


def _simple(name: str, about: str, function: Callable[[Any], T]) -> Method[[], T]:
    """Return a method without arguments."""
    function.__name__, function.__doc__ = name, about
    return Method(function)


def _reading(name: str, about: str, what: str | None = None) -> Method[[], Plain]:
    """Return a method that returns what a route says, as plain data."""
    path = name if what is None else what
    return _simple(name, about, lambda model: dict(model._call("GET", path, timeout=_LONG)))


def _switch(name: str, about: str) -> Method[[], str]:
    """Return a method that changes the mode of a model."""
    return _simple(name, about, lambda model: str(model._change(name)["mode"]))


def _setting(name: str, about: str) -> Method[[str], str]:
    """Return a method that sets something of a chooser, and returns it."""

    def change(model: Any, value: str) -> str:
        return str(model._call("PUT", name, {name: value})[name])

    change.__name__, change.__doc__ = name, about
    return Method(change)


def _asking(name: str, about: str) -> Method[[], bool]:
    """Return a method that asks a server once whether all is well."""

    def is_well(client: Any) -> bool:
        with suppress(ServiceError):
            return bool(client._sender.send("GET", f"/{name}", retry_for=0.0).status == 200)
        return False

    return _simple(name, about, is_well)


class ServerMethods(Generic[M]):
    """What clients ask of a server; ``M`` is their class of models."""

    _sender: Sender

    def __repr__(self) -> str:
        """Return what this is and where the server is, without the token."""
        return f"<{type(self).__name__} of {self._sender.address.geturl()}>"

    def model(self, name: str) -> M:
        """Return a model; whether it is there shows when it is used."""
        raise NotImplementedError

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
    """What clients ask of a model; arguments and results are those of the models in process."""

    client: Any
    name: str

    def __repr__(self) -> str:
        """Return what this is and where it is."""
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
        found: Prediction = _prediction(self._change("predict", body))
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
        return _choice(self._change("choose", body))

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

    about = _reading("about", "Return what the model is.", what="")
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
        found: Peek = _peek(self._call("POST", "peek", body))
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
        return _choice(self._call("POST", "choice", name_of(ticket)))

    @Method
    def export(self) -> bytes:
        """Return the log as a Parquet file, which ``load`` of a client takes."""
        found = self.client._sender.send("GET", _path(self.name, "export"), timeout=_LONG)
        return bytes(found.body)

    def _call(self, method: str, what: str = "", body: Plain | None = None, **more: Any) -> Any:
        """Send a request about the model, and return the response as plain data."""
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
            raise RemoteAlreadyObserved(about["message"], status=200, code=about["code"])
        return bool(found["outcome"] == "applied")


def name_of(ticket: int | str) -> Plain:
    """Return a ticket or a key, as a body has it."""
    return {"ticket": ticket.signed} if isinstance(ticket, Ticket) else {"key": ticket}


def given(**members: Any) -> Plain:
    """Return the members that are not None."""
    return {name: member for name, member in members.items() if member is not None}


def _path(name: str, what: str = "") -> str:
    return f"/models/{quote(name, safe='')}{'/' if what else ''}{what}"


def _read(response: Response) -> Any:
    """Return a response as plain data; some have no body, and tell the outcome in a header."""
    return json.loads(response.body or "null") or response.headers.get("belated-outcome")


def _prediction(found: Plain) -> Any:
    import numpy as np

    from belated.core import intervals, knobs, learner, linear

    ticket = Ticket(found["ticket"])
    if "setting" in found:
        return knobs.Proposal(ticket, found["setting"])
    if "play" in found:
        return learner.Decision(ticket, np.asarray(found["play"], dtype=float))
    if "low" in found:
        return intervals.Interval(ticket, *_range(found))
    return linear.Forecast(ticket, found["value"])


def _peek(found: Plain) -> Any:
    from belated.core import decisions, intervals

    if "options" in found:
        return [decisions.Option(**each) for each in found["options"]]
    if "low" in found:
        return intervals.Range(*_range(found))
    return found["setting"] if "setting" in found else found["value"]


def _choice(found: Plain) -> Choice:
    from belated.core.decisions import Choice

    return Choice(Ticket(found["ticket"]), found["action"], found["probability"])


def _range(found: Plain) -> tuple[float, float, float]:
    """Return an interval; its ends are null in JSON where they are infinite."""
    low, high = found["low"], found["high"]
    return found["value"], -math.inf if low is None else low, math.inf if high is None else high
