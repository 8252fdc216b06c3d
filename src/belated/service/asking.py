"""What clients ask for, verb by verb, and what they make of answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Literal, NamedTuple, TypedDict, TypeVar, cast
from urllib.parse import quote

from belated.errors import SpecError
from belated.missing import is_missing
from belated.service.retry import Ask, checked_retry_for, new_key

T = TypeVar("T")

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


# --- Models ---------------------------------------------------------------------------------------


def plain(
    method: str,
    path: str,
    body: Any,
    key: str | None,
    timeout: float | None,
    retry_for: float | None,
) -> Ask[Any]:
    """Ask for anything; the answer is plain data."""
    if key is None and method == "POST":  # what is sent again must happen once
        key = new_key()
    if retry_for is not None:
        retry_for = checked_retry_for(retry_for, "request")
    return Ask(method, path, lambda found: found, body, key, timeout, retry_for)


def models() -> Ask[list[str]]:
    """Ask for the names of all models."""
    return Ask("GET", "/models", lambda found: [model["name"] for model in found["models"]])


def create(name: str, kind: str, settings: dict[str, Any]) -> Ask[None]:
    """Ask for a new model."""
    body = {"name": name, "kind": kind, "settings": {**settings, **_times(settings)}}
    return Ask("POST", "/models", _nothing, body, new_key(), _LONG)


def delete(name: str) -> Ask[None]:
    """Ask that a model be removed."""
    return Ask("DELETE", _path(name), _nothing, None, new_key())


def ready() -> Ask[None]:
    """Ask, once, whether all models are there."""
    return Ask("GET", "/ready", _nothing, retry_for=0.0)


def health() -> Ask[None]:
    """Ask, once, whether the server runs."""
    return Ask("GET", "/health", _nothing, retry_for=0.0)


def metrics() -> Ask[str]:
    """Ask for the counts for Prometheus."""
    return Ask("GET", "/metrics", lambda found: bytes(found).decode(), is_plain=True)


def export(name: str) -> Ask[bytes]:
    """Ask for the log of a model."""
    return Ask("GET", _path(name, "export"), bytes, timeout=_LONG, is_plain=True)


def load(name: str, exported: bytes) -> Ask[None]:
    """Ask for the model of an exported log."""
    return Ask("POST", _path(name, "import"), _nothing, bytes(exported), new_key(), _LONG)


def rebuild(
    name: str, kind: str | None, to: str | None, settings: dict[str, Any]
) -> Ask[dict[str, Any]]:
    """Ask for a model with other settings, of the log of one."""
    body = {"settings": {**settings, **_times(settings)}, **given(kind=kind, to=to)}
    return Ask("POST", _path(name, "rebuild"), dict, body, new_key(), _LONG)


def put(name: str, what: str, value: str) -> Ask[str]:
    """Ask that something be set."""
    return Ask("PUT", _path(name, what), lambda found: str(found[what]), {what: value})


def looked_at(name: str, what: str = "", timeout: float | None = None) -> Ask[dict[str, Any]]:
    """Ask for something that is known of a model."""
    return Ask("GET", _path(name, what), dict, timeout=timeout)


def evaluate(name: str) -> Ask[dict[str, Any]]:
    """Ask what other policies would have earned."""
    return looked_at(name, "evaluate", _LONG)


# --- Looking --------------------------------------------------------------------------------------


def peek(name: str, features: Row | None, **members: Any) -> Ask[Peeked]:
    """Ask what would be predicted or chosen."""
    row = None if features is None else _row(features)
    return _look(name, "peek", given(features=row, **members), _peeked)


def explain(name: str, features: Mapping[str, Any]) -> Ask[Explained]:
    """Ask what a prediction is made of."""
    return _look(name, "explain", {"features": dict(features)}, lambda found: Explained(**found))


def weights(name: str, names: Iterable[Named]) -> Ask[dict[Named, float]]:
    """Ask for the weights of features."""
    wanted = list(names)

    def read(found: Any) -> dict[Named, float]:
        return dict(zip(wanted, found["weights"], strict=True))

    return _look(name, "weights", {"names": wanted}, read)


def expect(
    name: str, setting: Mapping[str, Any], context: Mapping[str, Any] | None
) -> Ask[Expected]:
    """Ask what a setting of knobs is thought to cost."""
    return _look(name, "expect", {"setting": dict(setting), **given(context=context)}, _expected)


def choice(name: str, key: Key | None, ticket: str | None) -> Ask[Chosen]:
    """Ask for the choice that a ticket or key stands for."""
    return _look(name, "choice", named(ticket, key), _chosen)


def _look(name: str, what: str, body: Any, read: Callable[[Any], T]) -> Ask[T]:
    return Ask("POST", _path(name, what), read, body)


# --- Events of Personalizer -----------------------------------------------------------------------


def rank(
    name: str,
    actions: Actions,
    context: Mapping[str, Any] | None,
    event: str | None,
    excluded: Iterable[str],
    is_deferred: bool,
) -> Ask[Ranked]:
    """Ask for a ranking of actions."""
    menu = actions if isinstance(actions, Mapping) else dict.fromkeys(actions)
    body = {
        "contextFeatures": [dict(context or {})],
        "actions": [
            {"id": each, "features": [dict(about)] if about else []} for each, about in menu.items()
        ],
        "excludedActions": list(excluded),
        "deferActivation": is_deferred,
        **given(eventId=event),
    }
    return _verb(name, "rank", body, _ranked)


def reward(name: str, event: str, value: float) -> Ask[Outcome]:
    """Bring the reward of an event."""
    return _verb(name, f"events/{quote(event, safe='')}/reward", {"value": value}, _said)


def activate(name: str, event: str) -> Ask[Outcome]:
    """Say that what was ranked was shown."""
    return _verb(name, f"events/{quote(event, safe='')}/activate", None, _said)


# --- Verbs ----------------------------------------------------------------------------------------


def predict(name: str, features: Row, **members: Any) -> Ask[Predicted]:
    """Ask for a prediction."""
    return _verb(name, "predict", given(features=_row(features), **members), _predicted)


def turn(name: str, **members: Any) -> Ask[Turned]:
    """Ask knobs for the setting to play."""
    return _verb(name, "predict", given(**members), _turned)


def decide(name: str, key: Key | None) -> Ask[Decided]:
    """Ask a learner for its play."""
    return _verb(name, "predict", given(key=key), _decided)


def tick(name: str, at: When | None) -> Ask[int]:
    """Ask that the clock of a model go on."""
    return _verb(name, "tick", given(at=at), lambda found: int(found["open"]))


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
    listed = [{**item, **_times(item)} for item in items]
    for begin in range(0, len(listed), SIZE):
        yield some(name, verb, listed[begin : begin + SIZE])


def some(name: str, verb: str, items: list[Item]) -> Ask[list[Item]]:
    """Do a verb to items, in one request."""
    return _verb(name, verb, {"items": items}, lambda found: list(found["items"]))


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
