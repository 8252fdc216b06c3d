"""The shapes that users of Personalizer know: rank, reward and activate.

    POST /rank                   {"contextFeatures": [...], "actions": [...], "eventId": "e1"}
    POST /events/e1/reward       {"value": 1.0}
    POST /events/e1/activate

They stand for ``choose``, ``observe`` (or ``add``, where rewards are summed) and ``shown`` of a
``Chooser``; the event id is the key. A rank with an event id that was ranked before gets the first
answer, whatever ``Idempotency-Key`` it has. In apprentice mode the first action is the baseline, as
it was there.
"""

from __future__ import annotations

import secrets
from functools import partial
from time import time
from typing import Any, NamedTuple

from belated.errors import BadKey, BelatedError, UnknownModel
from belated.service import bodies, rewards
from belated.service.bodies import decoded, encoded
from belated.service.calls import APPLIED, Said
from belated.service.handlers import once
from belated.service.hub import Applied, Hub
from belated.service.idempotency import Known
from belated.service.limits import Limits
from belated.service.refusals import OtherRequest, Refused, refusal_of
from belated.service.requests import AT_ONCE, Answer, Request, answer, read_json, route
from belated.service.served import Served
from belated.store import Pending

MODEL = "rank"
"""The model that is meant where a path names none."""
_RANK = frozenset(("contextFeatures", "actions", "eventId", "excludedActions", "deferActivation"))
_ACTION = frozenset(("id", "features"))
_DEEPEST = 8


@route("POST", "/rank", "decide", "Rank", "Ranking", statuses=(201,))
@route("POST", "/models/{name}/rank", "decide", "Rank", "Ranking", statuses=(201,))
async def rank(hub: Hub, request: Request) -> Answer:
    """Rank actions in a context."""
    body = await request.body()
    given = bodies.an_object(await read_json(body), _RANK)
    served = await _chooser(hub, request)
    event = given.get("eventId")
    is_named = event is not None
    event = bodies.text(event, "eventId", hub.limits) if is_named else secrets.token_hex(16)
    read = partial(_choice, given, event, served, hub)
    named, excluded = await hub.work(read) if len(body) > AT_ONCE else read()

    async def work(known: Known) -> Answer:
        return await _ranked(hub, served, named, excluded, known)

    def form(said: list[Said]) -> tuple[int, bytes]:
        return 201, encoded(said[0].body)

    own = f"\0{event}" if is_named else None  # which no header can be
    try:
        return await once(hub, request, served.number, body, form, work, own)
    except OtherRequest as error:
        if not is_named:
            raise
        raise _taken(event, "was ranked before, with another body") from error


async def _ranked(
    hub: Hub, served: Served, named: dict[str, Any], excluded: list[str], known: Known
) -> Answer:
    event = named["key"]
    if served.open >= hub.limits.open:
        raise Refused(409, "too_many_open", f"{hub.limits.open} events wait for their reward")
    ranking: list[dict[str, Any]] = []

    def body(chosen: Any) -> dict[str, Any]:
        if served.model.mode == "apprentice":
            for each in ranking:
                each["probability"] = float(each["id"] == chosen.action)
        ranking.sort(key=lambda each: -each["probability"])
        last = [{"id": name, "probability": 0.0} for name in excluded]
        return {"ranking": ranking + last, "eventId": event, "rewardActionId": chosen.action}

    def noted(answers: list[Any]) -> tuple[str, bytes]:
        return known.note([Said(201, body(answers[0]))])

    def begin() -> Pending:
        with served.stored.held() as model:  # what is ranked is what is drawn from
            options = model.peek(named["context"], named["actions"])
            ranking.extend({"id": one.action, "probability": one.probability} for one in options)
            return served.stored.begin_many([("choose", named)], noted if known.name else None)

    is_long = served.is_long(1, served.products("choose", named))
    pending = await hub.with_model(served, 1, begin, is_long)
    (chosen,) = pending.answer
    if isinstance(chosen, BadKey):
        raise _taken(event, "waits for its reward, and what was said of it is not known any more")
    if isinstance(chosen, BelatedError):
        raise refusal_of(chosen)
    ahead = served.ahead()
    said = [served.said(("choose", named), chosen, ahead)]
    applied = Applied(served, "choose", said, pending, time(), ahead)
    await hub.commits.wait(pending, partial(applied.over, hub))
    return Answer(*(known.answer or (201, encoded(body(chosen)))))


def _taken(event: str, why: str) -> Refused:
    """Return the refusal of an event id that stands for something else."""
    return Refused(409, "event_taken", f"the event {event!r} {why}: use another eventId")


def _choice(
    given: dict[str, Any], event: str, served: Served, hub: Hub
) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments of ``choose``, and the actions that are excluded."""
    listed = given.get("actions")
    if not isinstance(listed, list) or not listed:
        raise bodies.bad("actions must be a list of objects with an id and features")
    excluded = _or_none_of(given.get("excludedActions"))
    if not isinstance(excluded, list) or not all(isinstance(each, str) for each in excluded):
        raise bodies.bad("excludedActions must be a list of ids")
    menu: dict[str, Any] = {}
    for each in listed:
        action = bodies.an_object(each, _ACTION)
        name = bodies.text(action.get("id"), "the id of an action", hub.limits)
        if name in menu:
            raise bodies.bad(f"the action {name!r} is there twice")
        flat = flattened(_or_none_of(action.get("features")), f"action {name!r}", hub.limits)
        menu[name] = bodies.features(flat, f"action {name!r}", hub.limits)
    without = set(excluded)
    out = [name for name in menu if name in without]
    for name in out:
        del menu[name]
    if not menu:
        raise bodies.bad("all actions are excluded")
    actions = bodies.actions(menu, hub.limits)
    context = flattened(_or_none_of(given.get("contextFeatures")), "contextFeatures", hub.limits)
    deferred = given.get("deferActivation")
    if not isinstance(deferred, bool | None):
        raise bodies.bad("deferActivation must be true or false")
    named = {
        "context": bodies.features(context, "contextFeatures", hub.limits),
        "actions": actions,
        "key": event,
        "shown": not deferred,
        "baseline": next(iter(menu)) if served.model.mode == "apprentice" else None,
    }
    hub.check_products(served, "choose", named)
    return named, out


def _or_none_of(given: Any) -> Any:
    """Return a list that may be left out, or null."""
    return [] if given is None else given


@route("POST", "/events/{event}/reward", "answer", "Reward", statuses=(204,))
@route("POST", "/models/{name}/events/{event}/reward", "answer", "Reward", statuses=(204,))
async def reward(hub: Hub, request: Request) -> Answer:
    """Bring the reward of an event; a late or second one is no error."""
    served = await _chooser(hub, request)
    body = await request.body()
    given = bodies.an_object(decoded(body), frozenset(("value",)))
    item = {"key": request.path["event"], "value": given.get("value")}
    verb = "add" if served.rewards == rewards.SUM else "observe"
    return await _told(hub, request, served, verb, item, body)


@route("PUT", "/models/{name}/rewards", "admin", "Rewards", "Rewards")
async def set_rewards(hub: Hub, request: Request) -> Answer:
    """Say which reward of an event counts: the earliest, or the sum of all."""
    served = await _chooser(hub, request)
    document = bodies.an_object(await request.json(), frozenset(("rewards",)))
    await hub.count(served, rewards.checked(document.get("rewards"), served.model))
    return answer(document)


@route("POST", "/events/{event}/activate", "answer", statuses=(204,))
@route("POST", "/models/{name}/events/{event}/activate", "answer", statuses=(204,))
async def activate(hub: Hub, request: Request) -> Answer:
    """Say that what was ranked was shown."""
    served = await _chooser(hub, request)
    bodies.nothing(await request.body())
    return await _told(hub, request, served, "shown", {"key": request.path["event"]}, b"")


async def _told(
    hub: Hub, request: Request, served: Served, verb: str, item: dict[str, Any], body: bytes
) -> Answer:
    token = request.token
    assert token is not None  # the route has a scope

    async def work(known: Known) -> Answer:
        (said,), _ = await hub.apply(served, verb, [item], token, known, len(body))
        outcome = said.body["outcome"]
        if outcome in ("unknown", "invalid"):
            error = said.body["error"]
            raise Refused(said.status, error["code"], error["message"])
        return Answer(204, outcome.encode())

    told = await once(hub, request, served.number, body, _outcome, work)
    outcome = told.body.decode() or APPLIED  # kept as the body; older servers kept none
    return Answer(204, b"", headers=(*told.headers, ("belated-outcome", outcome)))


def _outcome(said: list[Said]) -> tuple[int, bytes]:
    """Return what is kept of what came of a reward."""
    return 204, str(said[0].body["outcome"]).encode()


async def _chooser(hub: Hub, request: Request) -> Served:
    name = request.path.get("name", MODEL)
    try:
        served = await hub.model(name)
    except UnknownModel:
        if name != MODEL:
            raise
        raise Refused(
            404,
            "unknown_model",
            f"there is no model {MODEL!r}: POST /models makes one, of kind Chooser",
        ) from None
    if served.kind != "Chooser":
        raise Refused(409, "no_such_verb", f"{name!r} is of kind {served.kind}, and ranks nothing")
    return served


# --- Features -------------------------------------------------------------------------------------


def flattened(given: Any, what: str, limits: Limits = Limits()) -> dict[str, Any]:  # noqa: B008
    """Return nested features as flat ones: objects within objects get names with dots.

    No more and no longer names are made than there may be.

    >>> flattened([{"device": {"os": "ios"}}, {"tags": ["new", "red"], "hours": [7, 8]}], "doc")
    {'device.os': 'ios', 'tags=new': 1.0, 'tags=red': 1.0, 'hours.0': 7, 'hours.1': 8}
    """
    if not isinstance(given, list | dict):
        raise bodies.bad(f"{what} must be a list of objects")
    flat: dict[str, Any] = {}
    for part in given if isinstance(given, list) else [given]:
        if not isinstance(part, dict):
            raise bodies.bad(f"{what} must be a list of objects")
        _Flat(flat, what, limits).add("", part, 0)
    return flat


class _Flat(NamedTuple):
    """Features so far, and what they may be."""

    found: dict[str, Any]
    what: str
    limits: Limits

    def add(self, name: str, value: Any, depth: int) -> None:
        """Add a value under a name, or the parts of it."""
        if depth > _DEEPEST:
            raise bodies.bad(f"{self.what} is nested more than {_DEEPEST} deep")
        if len(name) > self.limits.text:
            raise bodies.bad(f"{self.what}: names have at most {self.limits.text} characters")
        if isinstance(value, dict):
            for inner, each in value.items():
                self.add(f"{name}.{inner}" if name else inner, each, depth + 1)
        elif isinstance(value, list):
            for place, each in enumerate(value):
                if isinstance(each, str):
                    self.add(f"{name}={each}", 1.0, depth + 1)
                else:
                    self.add(f"{name}.{place}", each, depth + 1)
        else:
            self.found[name] = value
            if len(self.found) > self.limits.features:
                most = self.limits.features
                raise Refused(422, "too_many_features", f"{self.what}: at most {most} features")
