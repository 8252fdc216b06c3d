"""Handlers of the requests that ``routes`` lists, but for items of models and Personalizer."""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from belated import errors
from belated.evaluations import evaluate
from belated.models.chooser import Chooser
from belated.models.linear.model import LinearModel
from belated.service import schemas
from belated.service.forwarding import Handler
from belated.service.hub import Hub
from belated.service.idempotency import Keyed
from belated.service.items import already_answered, check_clock, no_such_verb, once, result_of
from belated.service.model_state import LONG, ModelState
from belated.service.requests import Answer, Refused, Request, decode, encode, validation_error
from belated.service.schemas import PREDICTIONS, check_name, in_seconds, read_actions, read_at
from belated.store import Pending, Store

PARQUET = "application/vnd.apache.parquet"
EARLIEST, SUM = "earliest", "sum"
_LINEAR = ("LinearModel", "Intervals")
Read = Callable[[ModelState, Any, Any], Any]


async def of_kind(hub: Hub, name: str, verb: str, *kinds: str) -> ModelState:
    state = await hub.model(name)
    if state.kind not in kinds:
        raise no_such_verb(state, verb)
    return state


# --- Changes ----------------------------------------------------------------------------------


async def change(hub: Hub, request: Request, verb: str) -> Answer:
    """Change a model as a whole: its clock, or the mode of knobs."""
    body, named = await request.body(), {}
    given = decode(body or b"{}", schemas.Tick if verb == "tick" else schemas.Nothing)
    if verb == "tick" and given.at is not None:
        named["at"] = read_at(given.at)
    state = await hub.model(request.path["name"])
    if verb not in state.stored.methods:
        raise no_such_verb(state, verb)
    if verb == "tick":
        check_clock(state)

    async def work(keyed: Keyed | None) -> Answer:
        def changed() -> Answer:
            is_tick = verb == "tick"
            told = schemas.Ticked(state.open) if is_tick else schemas.CurrentMode(state.model.mode)
            return Answer(200, encode(told))

        def begin() -> tuple[Pending, Answer]:
            note = None if keyed is None else lambda _: keyed.note(changed())
            return state.stored.begin_many([(verb, named)], note), changed()

        is_long = verb == "tick" and state.open > LONG
        pending, answer = await hub.with_model(state, 1, begin, is_long)
        if isinstance(pending.answer[0], errors.BelatedError):
            raise pending.answer[0]
        await hub.committed(state, pending)
        return answer

    return await once(hub, request, state.number, body, work)


async def set_mode(hub: Hub, request: Request) -> Answer:
    """Let a chooser play its own choices, or those of the baseline."""
    state = await of_kind(hub, request.path["name"], "mode", "Chooser")
    given = decode(await request.body(), schemas.SetMode)
    pending = await hub.with_model(state, 1, lambda: state.stored.begin("mode", given.mode))
    await hub.committed(state, pending)
    return Answer(200, encode(given))


async def set_rewards(hub: Hub, request: Request) -> Answer:
    """Say which reward of an event counts: the earliest, or the sum of all."""
    state = await of_kind(hub, request.path["name"], "rewards", "Chooser")
    given = decode(await request.body(), schemas.Rewards)
    _check_rewards(given.rewards, state.model)
    await hub.count(state, given.rewards)
    return Answer(200, encode(given))


def _check_rewards(counting: str, model: Any) -> None:
    if counting == SUM and not _may_sum(model):
        raise Refused(
            409,
            "no_silence",
            "a sum begins with what silence is worth: make the model with silence, such as 0",
        )


def _may_sum(model: Any) -> bool:
    return isinstance(model, Chooser) and model.model.settings.silence is not None


def _exported_rewards(path: str, model: Any) -> str:
    """Return which rewards count in the model of a file; the earliest where it does not say."""
    try:
        found = json.loads(Store.exported_note(path))["rewards"]
    except (
        errors.StoreError,
        ValueError,
        KeyError,
        TypeError,
        RecursionError,
    ):  # also of an empty one
        found = None
    return SUM if found == SUM and _may_sum(model) else EARLIEST


# --- Models -----------------------------------------------------------------------------------


async def create_model(hub: Hub, request: Request) -> Answer:
    """Make a model; nothing happens where it is there with the same settings."""
    body = await request.body()
    given = decode(body, schemas.Create)
    check_name(given.name)

    async def work(keyed: Keyed | None) -> Answer:
        state, is_new = await hub.create(given.name, given.kind, given.settings)
        return await _made(hub, state, 201 if is_new else 200, keyed)

    return await once(hub, request, 0, body, work)


async def delete_model(hub: Hub, request: Request) -> Answer:
    """Remove a model with its log; there is no way back."""

    async def work(keyed: Keyed | None) -> Answer:
        gone = Answer(204, b"")
        await hub.delete(request.path["name"], None if keyed is None else keyed.note(gone))
        return gone

    return await once(hub, request, 0, b"", work)


async def release_model(hub: Hub, request: Request) -> Answer:
    """Let another server of the same database write a model: the next that is asked for it."""
    if not hub.store.is_shared:
        raise Refused(409, "not_shared", "no other server can write the models of a file")
    await hub.release(request.path["name"])
    return Answer(204, b"")


async def erase_key(hub: Hub, request: Request) -> Answer:
    """Erase all that is stored of a key; with ``rebuild`` also what was learned from it."""
    body = await request.body()
    given = decode(body, schemas.Erase)

    async def work(keyed: Keyed | None) -> Answer:
        found = await hub.erase(request.path["name"], given.key, given.rebuild)
        answer = Answer(200, encode(schemas.Erased(found.tickets, found.events)))
        if keyed is not None:
            await hub.work(hub.store.keep, *keyed.note(answer))
        return answer

    return await once(hub, request, 0, body, work)


async def rebuild_model(hub: Hub, request: Request) -> Answer:
    """Build a model with other settings from the log, so that nothing is reset."""
    name = request.path["name"]
    state = await hub.model(name)
    body = await request.body()
    given = decode(body, schemas.Rebuild)
    to = check_name(given.to or name)
    if given.kind not in (None, state.kind):
        raise validation_error(
            f"kind: {name!r} is a {state.kind}, and so must be what is built from it"
        )

    async def work(keyed: Keyed | None) -> Answer:
        if to != name:
            _check_free(hub, to)
        now = await hub.model(name)
        built = await hub.rebuild(
            now, given.settings, to, lambda spec: _check_rewards(now.rewards, spec)
        )
        return await _made(hub, built, 200, keyed)

    return await once(hub, request, 0, body, work)


async def import_model(hub: Hub, request: Request) -> Answer:
    """Make the model of an exported log."""
    name = check_name(request.path["name"])
    has_key = request.raw(b"idempotency-key") is not None
    if not has_key:
        _check_free(hub, name)  # before all of the file is taken
    body = await request.body(hub.limits.upload)

    async def work(keyed: Keyed | None) -> Answer:
        _check_free(hub, name)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.parquet"
            await hub.work(path.write_bytes, body)
            try:
                state = await hub.bring(name, str(path), _exported_rewards)
            except (
                errors.StoreUnavailable,
                errors.StoreInUse,
                errors.StoreClosed,
                errors.NotCommitted,
                errors.MissingExtra,
            ):
                raise  # which are not about the file
            except errors.BelatedError as error:
                why = str(error).replace(str(path), "the file")
                raise Refused(422, "bad_file", why) from error
        return await _made(hub, state, 201, keyed)

    digest = await hub.work(lambda: hashlib.sha256(body).digest()) if has_key else b""
    return await once(hub, request, 0, digest, work)  # files may be large


async def _made(hub: Hub, state: ModelState, status: int, keyed: Keyed | None) -> Answer:
    """Return what a model is that was made just now, and keep that as the first response."""
    answer = Answer(status, encode(await hub.work(state.about)))
    if keyed is not None:
        await hub.work(hub.store.keep, *keyed.note(answer))
    return answer


def _check_free(hub: Hub, name: str) -> None:
    if name in hub.names:
        raise Refused(409, "name_taken", f"there is a model {name!r}")


async def list_models(hub: Hub, request: Request) -> Answer:
    """Return all models."""
    await hub.work(hub.look_around)
    found = []
    for name in sorted(hub.names):
        state = hub.models.get(name)
        if state is None:
            found.append(schemas.Listed(name, False, name in hub.damaged))
        else:
            more = {"kind": state.kind, "rounds": state.rounds, "open": state.open}
            found.append(schemas.Listed(name, True, **more))
    return Answer(200, encode(schemas.Models(found)))


async def export_model(hub: Hub, request: Request) -> Answer:
    """Return the log of a model as a Parquet file."""
    state = await hub.model(request.path["name"])

    def work() -> bytes:
        is_chooser = state.kind == "Chooser"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.parquet"
            note = json.dumps({"rewards": state.rewards}).encode() if is_chooser else b""
            hub.store.export(state.name, path, note=note)
            return path.read_bytes()

    headers = (("content-disposition", 'attachment; filename="log.parquet"'),)
    return Answer(200, await hub.work(work), PARQUET, headers)


# --- Looking ----------------------------------------------------------------------------------


async def look(hub: Hub, request: Request, what: str) -> Answer:
    """Return what a model tells of itself: about, report, timeline or live."""
    state = await hub.model(request.path["name"])
    return Answer(200, encode(await hub.work(getattr(state, what))))


async def evaluate_model(hub: Hub, request: Request) -> Answer:
    """Return what other policies would have earned in the choices of a model."""
    state = await of_kind(hub, request.path["name"], "evaluate", "Chooser")
    loop = asyncio.get_running_loop()
    return Answer(200, encode(await loop.run_in_executor(hub.evaluator, _evaluated, hub, state)))


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
    except (errors.LogError, errors.SpecError) as error:
        raise Refused(409, "cannot_evaluate", str(error)) from error
    return found.to_dict()


def _reader(verb: str, type_: Any, kinds: tuple[str, ...], read: Read) -> Handler:
    """Return a handler that decodes a body and reads a model in a thread."""

    async def handle(hub: Hub, request: Request) -> Answer:
        state = await of_kind(hub, request.path["name"], verb, *kinds)
        given = decode(await request.body(), type_)
        return Answer(200, encode(await hub.work(read, state, state.stored, given)))

    handle.__doc__ = read.__doc__
    return handle


def _peek(state: ModelState, stored: Any, given: Any) -> Any:
    """Return what would be predicted or chosen, without a ticket."""
    if given.actions is not None and state.kind != "Chooser":
        raise validation_error("actions are for a Chooser")
    if state.kind in _LINEAR:
        if given.features is None or given.context is not None:
            raise validation_error("features: give the features of a row, and no context")
        found = stored.peek(given.features)
        return schemas.Peeked(*(found if state.kind == "Intervals" else (found,)))
    if given.features is not None and given.context is not None:
        raise validation_error("give a context, or features in its place")
    context = given.context or given.features or {}
    if isinstance(context, list):
        raise validation_error("context: expected an object of numbers and texts")
    if state.kind == "Knobs":
        return schemas.Peeked(setting=stored.peek(context))
    actions = read_actions(given.actions)
    state.check_products("choose", {"context": context, "actions": actions})
    return schemas.Peeked(options=[each._asdict() for each in stored.peek(context, actions)])


def _explain(state: ModelState, stored: Any, given: Any) -> Any:
    """Return what a prediction of a linear model is made of."""
    found = stored.read(lambda model: _linear(model).explain(given.features))
    return {name: getattr(found, name) for name in schemas.Explained.__struct_fields__}


def _weights(state: ModelState, stored: Any, given: Any) -> Any:
    """Return the weights of features of a linear model, in the order of their names."""
    names = [tuple(each) if isinstance(each, list) else each for each in given.names]
    found = stored.read(lambda model: _linear(model).weights(names))
    return schemas.Weighed([found[name] for name in names])


def _linear(model: Any) -> LinearModel:
    found: LinearModel = model if isinstance(model, LinearModel) else model.model
    return found


def _expect(state: ModelState, stored: Any, given: Any) -> Any:
    """Return what a setting of knobs is thought to cost."""
    return schemas.Expected(*stored.expect(given.setting, given.context or {}))


def _choice(state: ModelState, stored: Any, given: Any) -> Any:
    """Return the choice of a ticket or key of which something can still be heard."""
    ticket = state.ticket(given.ticket, given.key)
    try:
        return result_of(state, stored.choice(ticket)).outcome
    except errors.UnknownTicket:
        if ticket in state.closed_keys:
            raise already_answered() from None
        raise


peek = _reader("peek", schemas.Peek, (*_LINEAR, "Chooser", "Knobs"), _peek)
explain = _reader("explain", schemas.Explain, _LINEAR, _explain)
weights = _reader("weights", schemas.Weights, _LINEAR, _weights)
expect = _reader("expect", schemas.Expect, ("Knobs",), _expect)
choice = _reader("choice", schemas.WhichChoice, ("Chooser",), _choice)


# --- The server -------------------------------------------------------------------------------


@cache
def _file(name: str) -> bytes:
    return files("belated.service").joinpath(name).read_bytes()


async def page(hub: Hub, request: Request, name: str, kind: str) -> Answer:
    """Return a file of the dashboard."""
    return Answer(200, _file(name), f"{kind}; charset=utf-8")


async def openapi(hub: Hub, request: Request) -> Answer:
    """Return this description."""
    from belated.service.routes import description

    return Answer(200, encode(description()))


async def health(hub: Hub, request: Request) -> Answer:
    """Say that the server runs."""
    return Answer(200, encode(schemas.Status("ok")))


async def ready(hub: Hub, request: Request) -> Answer:
    """Say whether all models are recovered."""
    if not hub.is_ready:
        raise Refused(503, "not_ready", f"{len(hub.models)} of {len(hub.names)} models are ready")
    hub.store.check()
    if hub.damaged:  # GET /models and the log say which, to those that may see names
        return Answer(200, encode(schemas.Status("damaged", len(hub.names), len(hub.damaged))))
    return Answer(200, encode(schemas.Status("ready", len(hub.names))))


async def metrics(hub: Hub, request: Request) -> Answer:
    """Return metrics for Prometheus, also as OpenMetrics."""
    kind, text = hub.metrics.text(request.header(b"accept") or "")
    return Answer(200, text, kind)
