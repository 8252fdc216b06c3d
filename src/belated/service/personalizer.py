"""The routes of Azure Personalizer: rank, reward and activate.

    POST /rank                   {"contextFeatures": [...], "actions": [...], "eventId": "e1"}
    POST /events/e1/reward       {"value": 1.0}
    POST /events/e1/activate

They call ``choose``, ``observe`` (``add`` where rewards are summed) and ``shown`` of a ``Chooser``;
the event id is the key. A rank whose event id was ranked before gets the first response. In
apprentice mode the first action is the baseline.
"""

from __future__ import annotations

import secrets
from time import time
from typing import Any

from belated.errors import BadKey, BelatedError, UnknownModel
from belated.service.forwarding import DEFAULT_MODEL
from belated.service.handlers import SUM, of_kind
from belated.service.hub import Hub
from belated.service.idempotency import Keyed
from belated.service.items import apply, once
from belated.service.model_state import ModelState
from belated.service.requests import (
    Answer,
    OtherRequest,
    Refused,
    Request,
    convert,
    decode,
    encode,
    validation_error,
)
from belated.service.schemas import Features, Nothing, Rank, Ranked, Ranking, Reward
from belated.service.settings import FEATURES, TEXT
from belated.store import Pending

_DEEPEST = 8


async def rank(hub: Hub, request: Request) -> Answer:
    """Rank actions in a context."""
    body = await request.body()
    given = decode(body, Rank)
    state = await _ranking(hub, request)
    event = given.eventId or secrets.token_hex(16)
    named, excluded = await hub.work(_arguments, given, event, state)

    async def work(keyed: Keyed | None) -> Answer:
        return await _ranked(hub, state, named, excluded, keyed)

    own = None if given.eventId is None else f"\0{event}"  # which no header can be
    try:
        return await once(hub, request, state.number, body, work, own)
    except OtherRequest as error:
        if own is None:
            raise
        raise _taken(event, "was ranked before, with another body") from error


async def _ranked(
    hub: Hub, state: ModelState, named: dict[str, Any], excluded: list[str], keyed: Keyed | None
) -> Answer:
    if state.room(1) < 1:
        raise Refused(409, "too_many_open", f"{hub.limits.open} events wait for their reward")
    options: list[Any] = []

    def told(chosen: Any) -> Answer:
        is_apprentice = state.model.mode == "apprentice"
        played = {chosen.action: 1.0}  # by an apprentice, which plays the baseline
        shares = ((o.action, o.probability) for o in options)
        ranking = [Ranked(n, played.get(n, 0.0) if is_apprentice else p) for n, p in shares]
        ranking.sort(key=lambda each: -each.probability)
        ranking += [Ranked(name, 0.0) for name in excluded]
        return Answer(201, encode(Ranking(ranking, named["key"], chosen.action)))

    def begin() -> Pending:
        with state.stored.held() as model:  # the ranking is what the choice is drawn from
            options.extend(model.peek(named["context"], named["actions"]))
            note = None if keyed is None else lambda answers: keyed.note(told(answers[0]))
            return state.stored.begin_many([("choose", named)], note)

    is_long = state.is_long(1, state.products("choose", named))
    pending = await hub.with_model(state, 1, begin, is_long)
    (chosen,) = pending.answer
    if isinstance(chosen, BadKey):
        raise _taken(named["key"], "waits for its reward, and its first response was dropped")
    if isinstance(chosen, BelatedError):
        raise chosen
    await hub.committed(state, pending)
    state.closed_keys.open(named["key"], chosen.ticket)
    state.note(pending, time())
    hub.metrics.events[state.name, "choose", "applied"] += 1
    return told(chosen)


def _taken(event: str, why: str) -> Refused:
    return Refused(409, "event_taken", f"the event {event!r} {why}: use another eventId")


def _arguments(given: Any, event: str, state: ModelState) -> tuple[dict[str, Any], list[str]]:
    menu: dict[str, Any] = {}
    for each in given.actions:
        if each.id in menu:
            raise validation_error(f"actions: the action {each.id!r} is there twice")
        menu[each.id] = _read(each.features, f"action {each.id!r}")
    excluded = set(given.excludedActions or ())
    out = [name for name in menu if name in excluded]
    for name in out:
        del menu[name]
    if not menu:
        raise validation_error("excludedActions: all actions are excluded")
    named = {
        "context": _read(given.contextFeatures, "contextFeatures"),
        "actions": menu,
        "key": event,
        "shown": not given.deferActivation,
        "baseline": next(iter(menu)) if state.model.mode == "apprentice" else None,
    }
    state.check_products("choose", named)
    return named, out


async def reward(hub: Hub, request: Request) -> Answer:
    """Bring the reward of an event; a late or second one is no error."""
    state = await _ranking(hub, request)
    given = decode(await request.body(), Reward)
    verb = "add" if state.rewards == SUM else "observe"
    return await _told(hub, request, state, verb, {"value": given.value})


async def activate(hub: Hub, request: Request) -> Answer:
    """Say that what was ranked was shown."""
    state = await _ranking(hub, request)
    decode(await request.body() or b"{}", Nothing)
    return await _told(hub, request, state, "shown", {})


async def _told(
    hub: Hub, request: Request, state: ModelState, verb: str, more: dict[str, Any]
) -> Answer:
    event = request.path["event"]

    async def work(keyed: Keyed | None) -> Answer:
        item = encode({"key": event, **more})
        _, ((status, outcome),) = await apply(hub, state, verb, item, request, keyed)
        if outcome.outcome in ("unknown", "invalid"):
            problem: Any = outcome.error
            message = problem.message
            if problem.code == "bad_answer" and "shown" in message:
                message = f"the event {event!r} is not activated: POST /events/EVENT/activate first"
            if outcome.outcome == "unknown":
                message = f"there is no event {event!r}, or it is over"
            raise Refused(status, problem.code, message)
        return Answer(200, encode(outcome))

    answer = await once(hub, request, state.number, await request.body(), work)
    outcome = decode(answer.body, dict[str, Any])["outcome"]
    return Answer(204, b"", headers=(*answer.headers, ("belated-outcome", outcome)))


async def _ranking(hub: Hub, request: Request) -> ModelState:
    name = request.path.get("name", DEFAULT_MODEL)
    try:
        return await of_kind(hub, name, "rank", "Chooser")
    except UnknownModel:
        if name != DEFAULT_MODEL:
            raise
        raise Refused(
            404,
            "unknown_model",
            f"there is no model {DEFAULT_MODEL!r}: POST /models makes one, of kind Chooser",
        ) from None


# --- Features ---------------------------------------------------------------------------------


def _read(given: Any, what: str) -> Any:
    return convert(flattened(given or [], what), Features, what)


def flattened(given: Any, what: str) -> dict[str, Any]:
    """Return nested features as flat ones: objects within objects get names with dots.

    The number and the length of the names are limited while they are made.

    >>> flattened([{"device": {"os": "ios"}}, {"tags": ["new", "red"], "hours": [7, 8]}], "doc")
    {'device.os': 'ios', 'tags=new': 1.0, 'tags=red': 1.0, 'hours.0': 7, 'hours.1': 8}
    """
    found: dict[str, Any] = {}

    def add(name: str, value: Any, depth: int) -> None:
        if depth > _DEEPEST:
            raise validation_error(f"{what} is nested more than {_DEEPEST} deep")
        if len(name) > TEXT:
            raise validation_error(f"{what}: names have at most {TEXT} characters")
        if isinstance(value, dict):
            for inner, each in value.items():
                add(f"{name}.{inner}" if name else inner, each, depth + 1)
        elif isinstance(value, list):
            for place, each in enumerate(value):
                is_text = isinstance(each, str)
                part, inside = (f"={each}", 1.0) if is_text else (f".{place}", each)
                add(name + part, inside, depth + 1)
        else:
            found[name] = value
            if len(found) > FEATURES:
                raise Refused(422, "too_many_features", f"{what}: at most {FEATURES} features")

    for part in given if isinstance(given, list) else [given]:
        if not isinstance(part, dict):
            raise validation_error(f"{what} must be a list of objects")
        add("", part, 0)
    return found
