"""Handlers of what changes nothing: models, their reports, the dashboard, counts, health."""

from __future__ import annotations

import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from belated.errors import UnknownTicket
from belated.models.linear.model import LinearModel
from belated.service import bodies, rewards
from belated.service.calls import already_answered
from belated.service.handlers import PARQUET
from belated.service.hub import Hub
from belated.service.limits import Limits
from belated.service.refusals import Refused
from belated.service.requests import JSON, Answer, Request, answer, route
from belated.service.served import Served

# --- Models ---------------------------------------------------------------------------------------


@route("GET", "/models", "read", gives="Models")
async def list_models(hub: Hub, request: Request) -> Answer:
    """Return all models."""
    await hub.work(hub.look_around)
    found = []
    for name in sorted(hub.names):
        served = hub.models.get(name)
        if served is None:
            damaged = name in hub.damaged
            found.append({"name": name, "is_ready": False, "is_damaged": damaged})
        else:
            about = {"kind": served.kind, "rounds": served.rounds, "open": served.open}
            found.append({"name": name, "is_ready": True, **about})
    return answer({"models": found})


@route("GET", "/models/{name}", "read", gives="Model")
async def show_model(hub: Hub, request: Request) -> Answer:
    """Return what a model is."""
    served = await hub.model(request.path["name"])
    return answer(await hub.work(served.about))


@route("GET", "/models/{name}/report", "read", gives="Report")
async def report(hub: Hub, request: Request) -> Answer:
    """Return counts, delays, and how well it does."""
    served = await hub.model(request.path["name"])
    return answer(bodies.plain(await hub.work(Served.report, served)))


@route("GET", "/models/{name}/timeline", "read", gives="Report")
async def timeline(hub: Hub, request: Request) -> Answer:
    """Return the newest tickets with their times, and how old answers were."""
    served = await hub.model(request.path["name"])
    return answer(bodies.plain(await hub.work(Served.timeline, served)))


@route("GET", "/models/{name}/live", "read", gives="Report")
async def live(hub: Hub, request: Request) -> Answer:
    """Return what the dashboard shows of a model."""
    served = await hub.model(request.path["name"])
    return answer(bodies.plain(await hub.work(Served.shown, served)))


@route("GET", "/models/{name}/evaluate", "read", gives="Report")
async def evaluate(hub: Hub, request: Request) -> Answer:
    """Return what other policies would have earned in the choices of a model."""
    served = await hub.model(request.path["name"])
    return answer(bodies.plain(await hub.evaluations.of(served)))


@route("GET", "/models/{name}/export", "admin", gives=PARQUET)
async def export_model(hub: Hub, request: Request) -> Answer:
    """Return the log of a model as a Parquet file."""
    served = await hub.model(request.path["name"])

    def work() -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.parquet"
            hub.store.export(served.name, path, note=rewards.note_of(served))
            return path.read_bytes()

    headers = (("content-disposition", 'attachment; filename="log.parquet"'),)
    return Answer(200, await hub.work(work), PARQUET, headers)


# --- Looking --------------------------------------------------------------------------------------


@route("POST", "/models/{name}/peek", "read", "Peek", "Peeked")
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


@route("POST", "/models/{name}/explain", "read", "Explain", "Explained")
async def explain(hub: Hub, request: Request) -> Answer:
    """Return what a prediction of a linear model is made of."""
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


@route("POST", "/models/{name}/weights", "read", "Weights", "Weighed")
async def weights(hub: Hub, request: Request) -> Answer:
    """Return the weights of features of a linear model, in the order of their names."""
    served = await _of_kind(hub, request, "weights", "LinearModel", "Intervals")
    given = bodies.an_object(await request.json(), frozenset(("names",)))
    names = _names(given.get("names"), hub.limits)

    def work(model: Any) -> list[float]:
        found = _linear(model).weights(names)
        return [found[name] for name in names]

    return answer({"weights": await hub.work(served.stored.read, work)})


@route("POST", "/models/{name}/expect", "read", "Expect", "Expected")
async def expect(hub: Hub, request: Request) -> Answer:
    """Return what a setting of knobs is thought to cost."""
    served = await _of_kind(hub, request, "expect", "Knobs")
    given = bodies.an_object(await request.json(), frozenset(("setting", "context")))
    setting = bodies.features(given.get("setting"), "setting", hub.limits)
    context = _context(given, hub.limits)
    stored: Any = served.stored
    return answer((await hub.work(lambda: stored.expect(setting, context)))._asdict())


@route("POST", "/models/{name}/choice", "read", "Choice", "Said")
async def choice(hub: Hub, request: Request) -> Answer:
    """Return the choice of a ticket or key of which something can still be heard."""
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


# --- The server -----------------------------------------------------------------------------------


def _file(path: str, name: str, kind: str, about: str) -> None:
    """Serve a file of this package."""

    async def handle(hub: Hub, request: Request) -> Answer:
        return Answer(200, content(), f"{kind}; charset=utf-8")

    content = cache(files("belated.service").joinpath(name).read_bytes)
    handle.__doc__ = about
    route("GET", path, None, gives=kind)(handle)


_file("/", "dashboard.html", "text/html", "Return the dashboard.")
_file("/dashboard.css", "dashboard.css", "text/css", "Return its style.")
_file("/dashboard.js", "dashboard.js", "text/javascript", "Return its script.")


@route("GET", "/openapi.json", None, gives=JSON)
async def openapi(hub: Hub, request: Request) -> Answer:
    """Return this description."""
    from belated.service.openapi import description

    return answer(description(hub.limits))


@route("GET", "/health", None, gives="Status")
async def health(hub: Hub, request: Request) -> Answer:
    """Say that the server runs."""
    return answer({"status": "ok"})


@route("GET", "/ready", None, gives="Status")
async def ready(hub: Hub, request: Request) -> Answer:
    """Say whether all models are recovered."""
    if not hub.is_ready:
        raise Refused(503, "not_ready", f"{len(hub.models)} of {len(hub.names)} models are ready")
    hub.store.check()
    if hub.damaged:  # which ones is for those who may see names: GET /models, and the log
        damaged = len(hub.damaged)
        return answer({"status": "damaged", "models": len(hub.names), "damaged": damaged})
    return answer({"status": "ready", "models": len(hub.names)})


@route("GET", "/metrics", "read", gives="text/plain")
async def metrics(hub: Hub, request: Request) -> Answer:
    """Return counts for Prometheus."""
    text = hub.metrics.text(hub)
    return Answer(200, text.encode(), "text/plain; version=0.0.4; charset=utf-8")
