"""Handlers of requests that change nothing: models, reports, the dashboard, metrics, health."""

from __future__ import annotations

import asyncio
import json
import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from belated.errors import LogError, SpecError, UnknownTicket
from belated.evaluations import evaluate
from belated.models.linear.model import LinearModel
from belated.service.durations import in_seconds
from belated.service.hub import Hub
from belated.service.items import already_answered, no_such_verb, result_of
from belated.service.model_state import ModelState
from belated.service.refusals import Refused
from belated.service.requests import Answer, Request
from belated.service.schemas import (
    PREDICTIONS,
    Expect,
    Expected,
    Explain,
    Explained,
    Listed,
    Models,
    Peek,
    Peeked,
    Status,
    Weighed,
    Weights,
    WhichChoice,
    decode,
    encode,
    read_actions,
    validation_error,
)

PARQUET = "application/vnd.apache.parquet"
_LINEAR = ("LinearModel", "Intervals")

# --- Models -----------------------------------------------------------------------------------


async def list_models(hub: Hub, request: Request) -> Answer:
    """Return all models."""
    await hub.work(hub.look_around)
    found = []
    for name in sorted(hub.names):
        state = hub.models.get(name)
        if state is None:
            found.append(Listed(name, False, name in hub.damaged))
        else:
            kind: Any = state.kind
            found.append(Listed(name, True, kind=kind, rounds=state.rounds, open=state.open))
    return Answer(200, encode(Models(found)))


async def look(hub: Hub, request: Request, what: str) -> Answer:
    """Return what a model tells of itself: about, report, timeline or live."""
    state = await hub.model(request.path["name"])
    return Answer(200, encode(await hub.work(getattr(state, what))))


async def evaluate_model(hub: Hub, request: Request) -> Answer:
    """Return what other policies would have earned in the choices of a model."""
    state = await hub.model(request.path["name"])
    if state.kind != "Chooser":
        raise no_such_verb(state, "evaluate")
    loop = asyncio.get_running_loop()
    found = await loop.run_in_executor(hub.evaluator, _evaluated, hub, state)
    return Answer(200, encode(found))


def _evaluated(hub: Hub, state: ModelState) -> dict[str, Any]:
    events, first, _ = state.stored.history
    if events - first > hub.limits.evaluated:
        raise Refused(
            409,
            "log_too_long",
            f"the log has more than {hub.limits.evaluated} events; export it, and evaluate the "
            "file",
        )
    settings = state.stored.read(lambda model: model.model.settings)
    deadline = settings.deadline
    if deadline is not None and state.unit == PREDICTIONS:
        raise Refused(
            409,
            "cannot_evaluate",
            "the deadline is a number of predictions, and choices are evaluated by time; export "
            "the log, and evaluate the file with a deadline in time",
        )
    if deadline is not None and settings.needs_times:
        deadline = in_seconds(deadline)
    try:
        found = evaluate(hub.store.log(state.name), silence=settings.silence, deadline=deadline)
    except (LogError, SpecError) as error:
        raise Refused(409, "cannot_evaluate", str(error)) from error
    return found.to_dict()


async def export_model(hub: Hub, request: Request) -> Answer:
    """Return the log of a model as a Parquet file."""
    state = await hub.model(request.path["name"])

    def work() -> bytes:
        counting = {"rewards": state.rewards} if state.kind == "Chooser" else None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.parquet"
            note = b"" if counting is None else json.dumps(counting).encode()
            hub.store.export(state.name, path, note=note)
            return path.read_bytes()

    headers = (("content-disposition", 'attachment; filename="log.parquet"'),)
    return Answer(200, await hub.work(work), PARQUET, headers)


# --- Looking ----------------------------------------------------------------------------------


async def peek(hub: Hub, request: Request) -> Answer:
    """Return what would be predicted or chosen, without a ticket."""
    state = await hub.model(request.path["name"])
    given, stored = decode(await request.body(), Peek), _stored(state)
    if state.kind == "Learner":
        raise no_such_verb(state, "peek")
    if given.actions is not None and state.kind != "Chooser":
        raise validation_error("actions are for a Chooser")
    if state.kind in _LINEAR:
        if given.features is None or given.context is not None:
            raise validation_error("features: give the features of a row, and no context")
        found = await hub.work(stored.peek, given.features)
        told = Peeked(*found) if state.kind == "Intervals" else Peeked(found)
        return Answer(200, encode(told))
    if given.features is not None and given.context is not None:
        raise validation_error("give a context, or features in its place")
    context = given.context or given.features or {}
    if isinstance(context, list):
        raise validation_error("context: expected an object of numbers and texts")
    if state.kind == "Knobs":
        return Answer(200, encode(Peeked(setting=await hub.work(stored.peek, context))))
    actions = read_actions(given.actions)
    state.check_products("choose", {"context": context, "actions": actions})
    options = await hub.work(stored.peek, context, actions)
    return Answer(200, encode(Peeked(options=[each._asdict() for each in options])))


async def explain(hub: Hub, request: Request) -> Answer:
    """Return what a prediction of a linear model is made of."""
    state = await _of_kind(hub, request, "explain", *_LINEAR)
    features = decode(await request.body(), Explain).features

    def work(model: Any) -> Explained:
        found = _linear(model).explain(features)
        return Explained(found.value, found.constant, found.parts, found.open_tickets, found.total)

    return Answer(200, encode(await hub.work(state.stored.read, work)))


async def weights(hub: Hub, request: Request) -> Answer:
    """Return the weights of features of a linear model, in the order of their names."""
    state = await _of_kind(hub, request, "weights", *_LINEAR)
    given = decode(await request.body(), Weights).names
    names = [tuple(each) if isinstance(each, list) else each for each in given]

    def work(model: Any) -> Weighed:
        found = _linear(model).weights(names)
        return Weighed([found[name] for name in names])

    return Answer(200, encode(await hub.work(state.stored.read, work)))


async def expect(hub: Hub, request: Request) -> Answer:
    """Return what a setting of knobs is thought to cost."""
    state = await _of_kind(hub, request, "expect", "Knobs")
    given = decode(await request.body(), Expect)
    found = await hub.work(_stored(state).expect, given.setting, given.context or {})
    return Answer(200, encode(Expected(*found)))


async def choice(hub: Hub, request: Request) -> Answer:
    """Return the choice of a ticket or key of which something can still be heard."""
    state = await _of_kind(hub, request, "choice", "Chooser")
    given = decode(await request.body(), WhichChoice)
    ticket = state.ticket(given.ticket, given.key)
    try:
        found = await hub.work(_stored(state).choice, ticket)
    except UnknownTicket:
        if ticket in state.closed_keys:
            raise already_answered() from None
        raise
    return Answer(200, encode(result_of(state, found).outcome))


async def _of_kind(hub: Hub, request: Request, verb: str, *kinds: str) -> ModelState:
    """Return a model of one of these kinds, or refuse."""
    state = await hub.model(request.path["name"])
    if state.kind not in kinds:
        raise no_such_verb(state, verb)
    return state


def _stored(state: ModelState) -> Any:
    return state.stored


def _linear(model: Any) -> LinearModel:
    found: LinearModel = model if isinstance(model, LinearModel) else model.model
    return found


# --- The server -------------------------------------------------------------------------------


@cache
def _file(name: str) -> bytes:
    return files("belated.service").joinpath(name).read_bytes()


async def page(hub: Hub, request: Request, name: str, kind: str) -> Answer:
    """Return a file of the dashboard."""
    return Answer(200, _file(name), f"{kind}; charset=utf-8")


async def openapi(hub: Hub, request: Request) -> Answer:
    """Return this description."""
    from belated.service.openapi import description

    return Answer(200, encode(description()))


async def health(hub: Hub, request: Request) -> Answer:
    """Say that the server runs."""
    return Answer(200, encode(Status("ok")))


async def ready(hub: Hub, request: Request) -> Answer:
    """Say whether all models are recovered."""
    if not hub.is_ready:
        raise Refused(503, "not_ready", f"{len(hub.models)} of {len(hub.names)} models are ready")
    hub.store.check()
    if hub.damaged:  # GET /models and the log say which, to those that may see names
        return Answer(200, encode(Status("damaged", len(hub.names), len(hub.damaged))))
    return Answer(200, encode(Status("ready", len(hub.names))))


async def metrics(hub: Hub, request: Request) -> Answer:
    """Return metrics for Prometheus, also as OpenMetrics."""
    kind, text = hub.metrics.text(request.header(b"accept") or "")
    return Answer(200, text, kind)
