"""Looking at a model: what it would say, why, and what it said. Nothing changes."""

from __future__ import annotations

from typing import Any

from belated.errors import UnknownTicket
from belated.models.linear.model import LinearModel
from belated.service import bodies
from belated.service.calls import already_answered
from belated.service.hub import Hub
from belated.service.limits import Limits
from belated.service.refusals import Refused
from belated.service.requests import Answer, Request, answer
from belated.service.served import Served


async def peek(hub: Hub, request: Request) -> Answer:
    """Return what would be predicted or chosen, without a ticket."""
    served = await hub.model(request.path["name"])
    document = await request.json()
    stored: Any = served.stored
    if served.kind in ("LinearModel", "Intervals"):
        given = bodies.an_object(document, frozenset(("features",)))
        row = bodies.row(given.get("features"), "features", hub.limits)
        found = await hub.work(lambda: stored.peek(row))
        return answer(found._asdict() if served.kind == "Intervals" else {"value": found})
    if served.kind == "Chooser":
        given = bodies.an_object(document, frozenset(("context", "features", "actions")))
        context = _looked_in(given, hub.limits)
        actions = given.get("actions")
        menu = None if actions is None else bodies.actions(actions, hub.limits)
        hub.check_products(served, "choose", {"context": context, "actions": menu})
        options = await hub.work(lambda: stored.peek(context, menu))
        return answer({"options": [option._asdict() for option in options]})
    if served.kind == "Knobs":
        given = bodies.an_object(document, frozenset(("context", "features")))
        context = _looked_in(given, hub.limits)
        return answer({"setting": await hub.work(lambda: stored.best(context))})
    raise Refused(409, "no_such_verb", "a Learner has no peek")


async def explain(hub: Hub, request: Request) -> Answer:
    """Return what a prediction is made of."""
    served = await _of_kind(hub, request, "explain", "LinearModel", "Intervals")
    given = bodies.an_object(await request.json(), frozenset(("features",)))
    features = bodies.features(given.get("features"), "features", hub.limits)

    def work(model: Any) -> dict[str, Any]:
        found = _linear(model).explain(features)
        return {
            "value": found.value,
            "constant": found.constant,
            "parts": found.parts,
            "open_tickets": found.open_tickets,
            "total": found.total,
        }

    return answer(await hub.work(served.stored.read, work))


async def weights(hub: Hub, request: Request) -> Answer:
    """Return the weights of features, in the order in which they were named."""
    served = await _of_kind(hub, request, "weights", "LinearModel", "Intervals")
    given = bodies.an_object(await request.json(), frozenset(("names",)))
    names = _names(given.get("names"), hub.limits)

    def work(model: Any) -> list[float]:
        found = _linear(model).weights(names)
        return [found[name] for name in names]

    return answer({"weights": await hub.work(served.stored.read, work)})


async def expect(hub: Hub, request: Request) -> Answer:
    """Return what a setting of knobs is thought to cost."""
    served = await _of_kind(hub, request, "expect", "Knobs")
    given = bodies.an_object(await request.json(), frozenset(("setting", "context")))
    setting = bodies.features(given.get("setting"), "setting", hub.limits)
    context = _context(given, hub.limits)
    stored: Any = served.stored
    return answer((await hub.work(lambda: stored.expect(setting, context)))._asdict())


async def choice(hub: Hub, request: Request) -> Answer:
    """Return the choice that a ticket or key stands for of which something can still be heard."""
    served = await _of_kind(hub, request, "choice", "Chooser")
    given = bodies.an_object(await request.json(), frozenset(("ticket", "key")))
    ticket = served.reader.ticket(given)
    stored: Any = served.stored
    try:
        found = await hub.work(lambda: stored.choice(ticket))
    except UnknownTicket:
        if served.is_answered(ticket):
            raise already_answered() from None
        raise
    return answer(served.reader.said(found).body)


async def _of_kind(hub: Hub, request: Request, verb: str, *kinds: str) -> Served:
    """Return a model of one of these kinds, or refuse."""
    served = await hub.model(request.path["name"])
    if served.kind not in kinds:
        raise Refused(409, "no_such_verb", f"a model of kind {served.kind} has no {verb}")
    return served


def _linear(model: Any) -> LinearModel:
    found: LinearModel = model if isinstance(model, LinearModel) else model.model
    return found


def _context(given: dict[str, Any], limits: Limits) -> dict[str, Any]:
    return bodies.features(given.get("context") or {}, "context", limits)


def _looked_in(given: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Return a context, which may also come as features: who looks may not know the kind."""
    if given.get("features") is None:
        return _context(given, limits)
    if given.get("context") is not None:
        raise bodies.bad("give a context, or features in its place")
    return bodies.features(given["features"], "features", limits)


def _names(given: Any, limits: Limits) -> list[str | tuple[str, str]]:
    """Return names of features: texts, and pairs of a name and a text that it may be."""
    if not isinstance(given, list):
        raise bodies.bad("names must be a list of names, or of pairs such as ['origin', 'JFK']")
    if len(given) > limits.features:
        raise Refused(422, "too_many_features", f"names: at most {limits.features}")
    return [_name(each, limits) for each in given]


def _name(given: Any, limits: Limits) -> str | tuple[str, str]:
    if isinstance(given, list):
        if len(given) != 2:
            raise bodies.bad("names: a pair is a name and a text, such as ['origin', 'JFK']")
        name, text = given
        if not isinstance(text, str) or len(text) > limits.text:
            raise bodies.bad(f"names: the text of a pair has at most {limits.text} characters")
        return bodies.text(name, "names: the first of a pair", limits), text
    return bodies.text(given, "names: each", limits)
