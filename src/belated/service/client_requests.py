"""The methods of clients: what each sends, and what it makes of the response.

A method is written once, as a function that returns its request (``Ask``). ``Client`` and
``RemoteModel`` send it and wait, ``AsyncClient`` and ``AsyncRemoteModel`` return what is awaited.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial, update_wrapper
from inspect import signature
from types import MethodType
from typing import (
    Any,
    Concatenate,
    Generic,
    Literal,
    NamedTuple,
    ParamSpec,
    TypedDict,
    TypeVar,
    cast,
    overload,
)
from urllib.parse import quote

from belated.errors import SpecError
from belated.missing import is_missing
from belated.service.retry import Ask, checked_retry_for, new_key

T = TypeVar("T")
P = ParamSpec("P")
M = TypeVar("M")

Outcome = Literal["applied", "late", "duplicate", "unknown", "invalid"]
Actions = Sequence[str] | Mapping[str, Mapping[str, Any] | None]
Row = Mapping[str, Any] | Sequence[float]
Item = dict[str, Any]
Key = str
"""A name of a ticket."""
Span = float | str | timedelta | Mapping[str, float]
"""A duration: seconds, a text such as "P30D" or "30d", a timedelta, or {"predictions": 100}."""
When = float | str | datetime
"""A time of your own, which needs the scope admin: seconds since 1970, a datetime, or ISO 8601."""
Named = str | tuple[str, str]
"""A feature: a number by its name, a text as (name, text)."""

SIZE = 500
"""Items of a request, where there are more."""
_LONG = 300.0  # seconds, where a log may be walked through


class Predicted(NamedTuple):
    """What ``predict`` returns; ``low`` and ``high`` where the model has intervals.

    They are infinite before the first label, as nothing is known then.
    """

    ticket: str
    value: float
    low: float | None = None
    high: float | None = None


class Turned(NamedTuple):
    """What ``predict`` returns for knobs."""

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


class Option(TypedDict):
    """An action that might be chosen now."""

    action: str
    probability: float
    value: float
    """What it is predicted to bring."""


class Peeked(TypedDict, total=False):
    """What ``peek`` returns: of what follows, what a model of its kind has to say."""

    value: float
    """Of a linear model, and of intervals."""
    low: float
    high: float
    """Of intervals; infinite before the first label."""
    options: list[Option]
    """Of a chooser, the best first."""
    setting: dict[str, Any]
    """Of knobs."""


class Explained(NamedTuple):
    """What ``explain`` returns: what a prediction is made of, before the link."""

    value: float
    constant: float
    parts: dict[str, float]
    """What each feature adds, largest first."""
    open_tickets: float
    """By how much it is moved for what labels that are still out may say."""
    total: float


class Expected(NamedTuple):
    """What ``expect`` returns; NaN before enough costs are in."""

    cost: float
    uncertainty: float


class Ranked(NamedTuple):
    """What ``rank`` returns."""

    event: str
    """What the reward is brought for."""
    action: str
    """The one to show."""
    probabilities: dict[str, float]
    """Of all actions, likeliest first; those that are excluded have 0."""


# --- Methods --------------------------------------------------------------------------------------


class Sync:
    """A client, or a model of one, whose methods wait for the response."""


class Async:
    """A client, or a model of one, whose methods are awaited."""


class Method(Generic[P, T]):
    """A method of clients, made of the function that returns its request."""

    def __init__(self, request: Callable[Concatenate[Any, P], Ask[T]]) -> None:
        def sent(client: Any, *given: P.args, **named: P.kwargs) -> Any:
            return getattr(client, "client", client).send(request(client, *given, **named))

        self.request = request
        self._sent: Callable[..., Any] = update_wrapper(sent, request)
        found = signature(request)
        returned = str(found.return_annotation)[len("Ask[") : -1]
        self._sent.__signature__ = found.replace(return_annotation=returned)  # type: ignore[attr-defined]

    @overload
    def __get__(self, client: Sync, owner: Any) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Async, owner: Any) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: Any) -> Callable[..., Any]: ...
    def __get__(self, client: Any, owner: Any) -> Callable[..., Any]:
        """Return the method of a client, or of all clients of a class."""
        return self._sent if client is None else MethodType(self._sent, client)


class ServerMethods(Generic[M]):
    """What clients ask of a server; ``M`` is their class of models."""

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
    ) -> Ask[Any]:
        """Send a request, again if need be, and return the answer as plain data.

        With a ``key`` it happens once, however often it is sent; a ``POST`` without gets one.
        """
        if key is None and method == "POST":  # what is sent again must happen once
            key = new_key()
        if retry_for is not None:
            retry_for = checked_retry_for(retry_for, "request")
        return Ask(method, path, lambda found: found, body, key, timeout, retry_for)

    @Method
    def models(self) -> Ask[list[str]]:
        """Return the names of all models."""
        return Ask("GET", "/models", lambda found: [model["name"] for model in found["models"]])

    @Method
    def create(self, /, name: str, kind: str, **settings: Any) -> Ask[M]:
        """Make a model of a kind, or return it if it is there with these settings."""
        body = {"name": name, "kind": kind, "settings": {**settings, **_times(settings)}}
        return Ask("POST", "/models", lambda _: self.model(name), body, new_key(), _LONG)

    @Method
    def load(self, name: str, exported: bytes) -> Ask[M]:
        """Make the model of an exported log, which goes on under the same keys."""
        path, body = _path(name, "import"), bytes(exported)
        return Ask("POST", path, lambda _: self.model(name), body, new_key(), _LONG)

    @Method
    def delete(self, name: str) -> Ask[None]:
        """Remove a model with its log; there is no way back."""
        return Ask("DELETE", _path(name), lambda _: None, None, new_key())

    @Method
    def metrics(self) -> Ask[str]:
        """Return the counts for Prometheus."""
        return Ask("GET", "/metrics", lambda found: bytes(found).decode(), is_plain=True)

    @Method
    def health(self) -> Ask[bool]:
        """Tell whether the server runs; it is asked once."""
        return _whether("/health")

    @Method
    def ready(self) -> Ask[bool]:
        """Tell whether all models are recovered; it is asked once."""
        return _whether("/ready")


def _whether(path: str) -> Ask[bool]:
    return Ask("GET", path, lambda _: True, retry_for=0.0, failing=False)


class ModelMethods(Generic[M]):
    """What clients ask of a model, which is an ``M``.

    The first argument of methods that bring answers is a key of yours; a ticket that was handed out
    goes by name, as ``ticket=``.
    """

    client: Any
    name: str

    def __repr__(self) -> str:
        """Return what this is and where it is."""
        return f"<{type(self).__name__} {self.name!r} of {self.client._address.url}>"

    # --- Asking ---------------------------------------------------------------------------------

    @Method
    def choose(
        self,
        context: Mapping[str, Any] | None = None,
        actions: Actions | None = None,
        *,
        key: Key | None = None,
        deadline: Span | None = None,
        baseline: str | None = None,
        shown: bool = True,
        at: When | None = None,
    ) -> Ask[Chosen]:
        """Return a ticket, an action, and the probability with which it was chosen."""
        members = {"key": key, "deadline": deadline, "baseline": baseline, "at": at}
        hidden = None if shown else False
        body = given(context=context, actions=actions, shown=hidden, **members)
        return _post(self, "choose", body, _chosen)

    @Method
    def decide(self, *, key: Key | None = None) -> Ask[Decided]:
        """Return a ticket and the play, of a ``Learner``."""
        return _post(self, "predict", given(key=key), _decided)

    @Method
    def rank(
        self,
        actions: Actions,
        context: Mapping[str, Any] | None = None,
        *,
        event: str | None = None,
        excluded: Iterable[str] = (),
        deferred: bool = False,
    ) -> Ask[Ranked]:
        """Return an event, the action to show, and the probabilities of all, of a ``Chooser``."""
        menu = actions if isinstance(actions, Mapping) else dict.fromkeys(actions)
        body = {
            "contextFeatures": [dict(context or {})],
            "actions": [
                {"id": each, "features": [dict(about)] if about else []}
                for each, about in menu.items()
            ],
            "excludedActions": list(excluded),
            "deferActivation": deferred,
            **given(eventId=event),
        }
        return _post(self, "rank", body, _ranked)

    # --- Answers --------------------------------------------------------------------------------

    @Method
    def observe(
        self,
        key: Key | None = None,
        value: Any = None,
        *,
        ticket: str | None = None,
        weight: float | None = None,
        at: When | None = None,
    ) -> Ask[Outcome]:
        """Bring the answer, the last word."""
        return _tell(self, "observe", key, ticket, value=value, weight=weight, at=at)

    @Method
    def revise(
        self,
        key: Key | None = None,
        value: Any = None,
        *,
        ticket: str | None = None,
        at: When | None = None,
    ) -> Ask[Outcome]:
        """Bring the answer so far; the ticket stays open."""
        return _tell(self, "revise", key, ticket, value=value, at=at)

    @Method
    def add(
        self,
        key: Key | None = None,
        value: Any = None,
        *,
        ticket: str | None = None,
        at: When | None = None,
    ) -> Ask[Outcome]:
        """Add to the answer so far; the ticket stays open."""
        return _tell(self, "add", key, ticket, value=value, at=at)

    @Method
    def cancel(self, key: Key | None = None, *, ticket: str | None = None) -> Ask[Outcome]:
        """Close a ticket of which nothing will be heard."""
        return _tell(self, "cancel", key, ticket)

    @Method
    def shown(
        self, key: Key | None = None, *, ticket: str | None = None, at: When | None = None
    ) -> Ask[Outcome]:
        """Say that a choice was shown that was made with ``shown=False``."""
        return _tell(self, "shown", key, ticket, at=at)

    @Method
    def played(
        self,
        key: Key | None = None,
        setting: Mapping[str, Any] | None = None,
        *,
        ticket: str | None = None,
    ) -> Ask[Outcome]:
        """Say what was really played, before the cost."""
        return _tell(self, "played", key, ticket, setting=setting)

    @Method
    def reward(self, event: str, value: float) -> Ask[Outcome]:
        """Bring the reward of an event that was ranked."""
        return _post(self, f"events/{quote(event, safe='')}/reward", {"value": value}, _said)

    @Method
    def activate(self, event: str) -> Ask[Outcome]:
        """Say that what was ranked with ``deferred`` was shown."""
        return _post(self, f"events/{quote(event, safe='')}/activate", None, _said)

    # --- The model as a whole -------------------------------------------------------------------

    @Method
    def pause(self) -> Ask[str]:
        """Let knobs stand where they are; return their mode."""
        return _post(self, "pause", None, _mode)

    @Method
    def revert(self) -> Ask[str]:
        """Let knobs go back to their start; return their mode."""
        return _post(self, "revert", None, _mode)

    @Method
    def resume(self) -> Ask[str]:
        """Let knobs learn and explore again; return their mode."""
        return _post(self, "resume", None, _mode)

    @Method
    def tick(self, at: When | None = None) -> Ask[int]:
        """Let the clock go on, to that of the server without a time; return what is still open."""
        return _post(self, "tick", given(at=at), lambda found: int(found["open"]))

    @Method
    def mode(self, mode: str) -> Ask[str]:
        """Let a chooser play its own choices ("learn"), or the baseline's ("apprentice")."""
        return Ask("PUT", _path(self.name, "mode"), _mode, {"mode": mode})

    @Method
    def rewards(self, rewards: str) -> Ask[str]:
        """Say which reward of an event counts: the "earliest", or the "sum" of all."""
        path = _path(self.name, "rewards")
        return Ask("PUT", path, lambda found: str(found["rewards"]), {"rewards": rewards})

    @Method
    def rebuild(
        self, /, *, kind: str | None = None, to: str | None = None, **settings: Any
    ) -> Ask[M]:
        """Build a model with other settings from the log, in its place or as ``to``.

        Settings that are not given keep their values.
        """
        name, body = self.name, {"settings": {**settings, **_times(settings)}}
        body.update(given(kind=kind, to=to))
        built = partial(self.client.model, name if to is None else to)
        return Ask("POST", _path(name, "rebuild"), lambda _: built(), body, new_key(), _LONG)

    # --- Reading --------------------------------------------------------------------------------

    @Method
    def peek(
        self,
        features: Row | None = None,
        actions: Actions | None = None,
        *,
        context: Mapping[str, Any] | None = None,
    ) -> Ask[Peeked]:
        """Return what would be predicted, chosen or played, without a ticket.

        The first argument is what ``predict`` or ``choose`` has there; a context can also be given
        by name.
        """
        row = None if features is None else _row(features)
        return _look(self, "peek", given(features=row, context=context, actions=actions), _peeked)

    @Method
    def explain(self, features: Mapping[str, Any]) -> Ask[Explained]:
        """Return what each feature adds to a prediction, of a linear model or its intervals."""
        body = {"features": dict(features)}
        return _look(self, "explain", body, lambda found: Explained(**found))

    @Method
    def weights(self, names: Iterable[Named]) -> Ask[dict[Named, float]]:
        """Return the weights of features: of a number by its name, of a text as (name, text)."""
        wanted = list(names)

        def read(found: Any) -> dict[Named, float]:
            return dict(zip(wanted, found["weights"], strict=True))

        return _look(self, "weights", {"names": wanted}, read)

    @Method
    def expect(
        self, setting: Mapping[str, Any], context: Mapping[str, Any] | None = None
    ) -> Ask[Expected]:
        """Return what a setting of ``Knobs`` is thought to cost."""
        body = {"setting": dict(setting), **given(context=context)}
        return _look(self, "expect", body, _expected)

    @Method
    def choice(self, key: Key | None = None, *, ticket: str | None = None) -> Ask[Chosen]:
        """Return what was chosen under a key or ticket, as long as that is known."""
        return _look(self, "choice", named(ticket, key), _chosen)

    @Method
    def about(self) -> Ask[dict[str, Any]]:
        """Return what the model is."""
        return Ask("GET", _path(self.name), dict)

    @Method
    def report(self) -> Ask[dict[str, Any]]:
        """Return counts, delays, and how well it does."""
        return Ask("GET", _path(self.name, "report"), dict)

    @Method
    def timeline(self) -> Ask[dict[str, Any]]:
        """Return the newest tickets with their times, and how old answers were."""
        return Ask("GET", _path(self.name, "timeline"), dict)

    @Method
    def live(self) -> Ask[dict[str, Any]]:
        """Return what the dashboard shows."""
        return Ask("GET", _path(self.name, "live"), dict)

    @Method
    def evaluate(self) -> Ask[dict[str, Any]]:
        """Return what other policies would have earned in the choices of a chooser.

        That is what ``bl.evaluate`` says of its log, as plain data.
        """
        return Ask("GET", _path(self.name, "evaluate"), dict, timeout=_LONG)

    @Method
    def export(self) -> Ask[bytes]:
        """Return the log as a Parquet file, which ``load`` of a client takes."""
        return Ask("GET", _path(self.name, "export"), bytes, timeout=_LONG, is_plain=True)


def predict(
    model: ModelMethods[Any],
    features: Row | None,
    *,
    context: Mapping[str, Any] | None = None,
    key: Key | None = None,
    deadline: Span | None = None,
    at: When | None = None,
) -> Ask[Any]:
    """Ask for a prediction, or knobs for the setting to play."""
    row = None if features is None else _row(features)
    body = given(features=row, context=context, key=key, deadline=deadline, at=at)
    return _post(model, "predict", body, _turned if features is None else _predicted)


def many(name: str, verb: str, items: Iterable[Mapping[str, Any]]) -> Iterator[Ask[list[Item]]]:
    """Do a verb to many items, some hundred in a request."""
    listed = [{**item, **_times(item)} for item in items]
    for begin in range(0, len(listed), SIZE):
        yield some(name, verb, listed[begin : begin + SIZE])


def some(name: str, verb: str, items: list[Item]) -> Ask[list[Item]]:
    """Do a verb to items, in one request."""
    read = lambda found: list(found["items"])  # noqa: E731
    return Ask("POST", _path(name, verb), read, {"items": items}, new_key())


def _post(model: ModelMethods[Any], verb: str, body: Any, read: Callable[[Any], T]) -> Ask[T]:
    """Ask for what changes a model, which happens once however often it is sent."""
    return Ask("POST", _path(model.name, verb), read, body, new_key())


def _look(model: ModelMethods[Any], what: str, body: Any, read: Callable[[Any], T]) -> Ask[T]:
    return Ask("POST", _path(model.name, what), read, body)


def _tell(
    model: ModelMethods[Any], verb: str, key: Key | None, ticket: str | None, **members: Any
) -> Ask[Outcome]:
    """Say something of a ticket."""
    return _post(model, verb, {**named(ticket, key), **given(**members)}, _outcome)


def given(**members: Any) -> Item:
    """Return the members of a body that are not None."""
    found = {**members, **_times(members)}
    return {name: value for name, value in found.items() if value is not None}


def _times(members: Mapping[str, Any]) -> Item:
    """Return the time and the deadline among the members of a body, where JSON has no such thing.

    Clients do not have to import NumPy, whose times they take as well.
    """
    found: Item = {}
    at: Any = members.get("at")
    if is_missing(at):
        found["at"] = None
    elif isinstance(at, date):
        found["at"] = at.isoformat()
    elif type(at).__name__ == "datetime64":
        found["at"] = str(at)
    deadline: Any = members.get("deadline")
    if is_missing(deadline):
        found["deadline"] = None
    elif isinstance(deadline, timedelta):
        found["deadline"] = {"seconds": deadline.total_seconds()}
    elif type(deadline).__name__ == "timedelta64":
        found["deadline"] = {"seconds": float(deadline / type(deadline)(1, "s"))}
    return {name: each for name, each in found.items() if name in members}


def named(ticket: str | None, key: Key | None) -> Item:
    """Return a ticket or a key, as a body has it."""
    if (ticket is None) == (key is None):
        raise SpecError("Client: give a key, or ticket= with what was handed out")
    return {"key": key} if ticket is None else {"ticket": ticket}


def _path(name: str, what: str = "") -> str:
    return f"/models/{quote(name, safe='')}{'/' if what else ''}{what}"


def _row(features: Row) -> Any:
    """Return features as JSON has them."""
    return dict(features) if isinstance(features, Mapping) else list(features)


def _mode(found: Any) -> str:
    return str(found["mode"])


def _predicted(found: Any) -> Predicted:
    if "low" not in found:
        return Predicted(found["ticket"], found["value"])
    return Predicted(found["ticket"], found["value"], **_ends(found))


def _peeked(found: Any) -> Peeked:
    return cast("Peeked", {**found, **_ends(found)} if "low" in found else found)


def _ends(found: Any) -> dict[str, float]:
    """Return the ends of an interval, which are null where there is none."""
    low, high = found["low"], found["high"]
    return {
        "low": -math.inf if low is None else low,
        "high": math.inf if high is None else high,
    }


def _turned(found: Any) -> Turned:
    return Turned(found["ticket"], found["setting"])


def _decided(found: Any) -> Decided:
    return Decided(found["ticket"], found["play"])


def _chosen(found: Any) -> Chosen:
    return Chosen(found["ticket"], found["action"], found["probability"])


def _outcome(found: Any) -> Outcome:
    outcome: Outcome = found["outcome"]
    return outcome


def _said(found: Any) -> Outcome:
    outcome: Outcome = found
    return outcome


def _expected(found: Any) -> Expected:
    numbers = {name: math.nan if each is None else each for name, each in found.items()}
    return Expected(**numbers)


def _ranked(found: Any) -> Ranked:
    ranking = {each["id"]: each["probability"] for each in found["ranking"]}
    return Ranked(found["eventId"], found["rewardActionId"], ranking)
