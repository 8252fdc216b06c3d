"""Handlers of what changes models, or the list of models."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from belated.errors import (
    BelatedError,
    MissingExtra,
    NotCommitted,
    StoreClosed,
    StoreInUse,
    StoreUnavailable,
)
from belated.service import bodies, specs
from belated.service.auth import Token
from belated.service.calls import DUPLICATE, Said
from belated.service.forwarding import SENT_ON, check_deadline
from belated.service.hub import Hub
from belated.service.idempotency import Form, Known
from belated.service.refusals import Refused
from belated.service.requests import Answer, Handler, Request, answer, read_json, route
from belated.service.served import LONG, Served
from belated.store import Pending

_CREATE = frozenset(("name", "kind", "settings"))
_REBUILD = frozenset(("kind", "settings", "to"))
_FEW, _SHORT = 10, 120  # items whose refusals are told in full, and characters of the others
PARQUET = "application/vnd.apache.parquet"


# --- Events ---------------------------------------------------------------------------------------


def events(verb: str) -> Handler:
    """Return what a verb does: to one item, or to many under ``items``."""

    async def handle(hub: Hub, request: Request) -> Answer:
        body = await request.body()
        document = await read_json(body)
        served = await hub.model(request.path["name"])
        items, form = items_of(document, hub)

        async def work(known: Known) -> Answer:
            token, size = _token(request), len(body)
            said, is_long = await hub.apply(served, verb, items, token, known, size)
            if known.answer is not None:
                return Answer(*known.answer)
            return Answer(*(await hub.work(form, said) if is_long else form(said)))

        return await once(hub, request, served.number, body, form, work)

    return handle


async def once(
    hub: Hub,
    request: Request,
    number: int,
    body: bytes,
    form: Form,
    work: Callable[[Known], Awaitable[Answer]],
    own: str | None = None,
) -> Answer:
    """Do something unless it was done before under the same key: then say what was said then.

    ``number`` is that of the model that it is done to, 0 where that is the list of models; ``own``
    is a key that goes before that of the header, and counts on every path.
    """
    key = request.header(b"idempotency-key")
    if key is not None:
        hub.check_key(key)
    where = request.where if own is None else ""
    known = hub.known(_token(request), where, number, own or key, body, form)
    await known.turn()
    check_deadline(hub.store, request.raw(SENT_ON))  # once more: it may have waited
    first = known.begin()
    if first is not None:
        return first
    try:
        done = await work(known)
        known.keep()
        return done
    finally:
        known.end()


def items_of(document: Any, hub: Hub) -> tuple[list[Any], Form]:
    """Return the items of a body, one or many, and the form of its answer."""
    if document.__class__ is not dict or "items" not in document:
        return [document], _form_one
    items = bodies.an_object(document, frozenset(("items",)))["items"]
    if not isinstance(items, list):
        raise bodies.bad("items must be a list")
    if len(items) > hub.limits.batch:
        raise Refused(413, "batch_too_large", f"a request may have {hub.limits.batch} items")
    return items, _form_many


def _form_many(said: list[Said]) -> tuple[int, bytes]:
    """Return many items; messages have what was sent in them, and are short, as all is kept."""
    for each in said if len(said) > _FEW else ():
        if "error" in each.body:
            error = each.body["error"]
            error["message"] = error["message"][:_SHORT]
    return 200, bodies.encoded({"items": [each.body for each in said]})


def _form_one(said: list[Said]) -> tuple[int, bytes]:
    """Return one item as an answer of its own: as it is, or as any refusal.

    What was done before is none: whoever asks again has what he wants.
    """
    (status, body) = said[0]
    if status < 400 or body["outcome"] == DUPLICATE:
        return 200, bodies.encoded(body)
    return status, bodies.encoded({"error": body["error"]})


def _token(request: Request) -> Token:
    assert request.token is not None  # the route has a scope
    return request.token


# --- Models ---------------------------------------------------------------------------------------


@route("POST", "/models", "admin", "Create", "Model", statuses=(200, 201), has_key=True)
async def create_model(hub: Hub, request: Request) -> Answer:
    """Make a model; nothing happens where it is there with the same settings."""
    body = await request.body()
    given = bodies.an_object(await read_json(body), _CREATE)
    name, kind, settings = given.get("name"), given.get("kind"), given.get("settings", {})

    async def work(known: Known) -> Answer:
        served, is_new = await hub.create(specs.name(name), kind, settings)
        return await _made(hub, served, 201 if is_new else 200, known)

    return await once(hub, request, 0, body, _whole, work)


@route("DELETE", "/models/{name}", "admin", statuses=(204,), has_key=True)
async def delete_model(hub: Hub, request: Request) -> Answer:
    """Remove a model with its log; there is no way back."""

    async def work(known: Known) -> Answer:
        gone = Answer(204, b"")
        await hub.delete(request.path["name"], known.note(gone) if known.name else None)
        return gone

    return await once(hub, request, 0, b"", _whole, work)


def _whole(made: Answer) -> tuple[int, bytes]:
    """Return what is kept of an answer that is known already."""
    return made.status, made.body


@route("POST", "/models/{name}/rebuild", "admin", "Rebuild", "Model", has_key=True)
async def rebuild_model(hub: Hub, request: Request) -> Answer:
    """Build a model with other settings from the log, so that nothing is reset."""
    name = request.path["name"]
    served = await hub.model(name)
    body = await request.body()
    given = bodies.an_object(await read_json(body), _REBUILD)
    kind, to = given.get("kind", served.kind), specs.name(given.get("to", name))
    if kind != served.kind:
        raise bodies.bad(f"kind: {name!r} is a {served.kind}, and so must be what is built from it")

    async def work(known: Known) -> Answer:
        if to != name:
            _check_free(hub, to)
        built = await hub.rebuild(name, kind, given.get("settings", {}), to)
        return await _made(hub, built, 200, known)

    return await once(hub, request, 0, body, _whole, work)


async def _made(hub: Hub, served: Served, status: int, known: Known) -> Answer:
    """Return what a model is that was made just now, and keep that for who asks again."""
    made = answer(await hub.work(served.about), status)
    if known.name:
        await hub.work(hub.store.keep, *known.note(made))
    return made


def _check_free(hub: Hub, name: str) -> None:
    if name in hub.names:
        raise Refused(409, "name_taken", f"there is a model {name!r}")


@route("PUT", "/models/{name}/mode", "admin", "SetMode", "Mode")
async def set_mode(hub: Hub, request: Request) -> Answer:
    """Let a chooser play its own choices, or those of the baseline."""
    served = await hub.model(request.path["name"])
    if served.kind != "Chooser":
        raise Refused(409, "no_such_verb", f"a model of kind {served.kind} has no mode")
    mode = bodies.an_object(await request.json(), frozenset(("mode",))).get("mode")
    begin = partial(served.stored.begin, "mode", mode)
    await hub.commits.wait(await hub.with_model(served, 1, begin))
    return answer({"mode": mode})


def change(verb: str) -> Handler:
    """Return what changes a model as a whole: its clock, or the mode of knobs."""

    async def handle(hub: Hub, request: Request) -> Answer:
        body, named = await request.body(), {}
        if verb == "tick":
            given = bodies.an_object(await read_json(body) if body else {}, frozenset(("at",)))
            if given.get("at") is not None:
                named["at"] = bodies.time(given["at"], "at")
        else:
            bodies.nothing(body)
        served = await hub.model(request.path["name"])
        if verb not in served.stored.methods:
            raise Refused(409, "no_such_verb", f"a model of kind {served.kind} has no {verb}")
        if verb == "tick":
            served.reader.check_clock()

        async def work(known: Known) -> Answer:
            def changed() -> Answer:
                return answer(
                    {"open": served.open} if verb == "tick" else {"mode": served.model.mode}
                )

            def begin() -> tuple[Pending, Answer]:
                note = (lambda _: known.note(changed())) if known.name else None
                return served.stored.begin_many([(verb, named)], note), changed()

            is_long = verb == "tick" and served.open > LONG
            pending, found = await hub.with_model(served, 1, begin, is_long)
            if isinstance(pending.answer[0], BelatedError):
                raise pending.answer[0]
            await hub.commits.wait(pending)
            return Answer(*known.answer) if known.answer else found

        return await once(hub, request, served.number, body, _whole, work)

    return handle


@route("POST", "/models/{name}/import", "admin", PARQUET, "Model", statuses=(201,), has_key=True)
async def import_model(hub: Hub, request: Request) -> Answer:
    """Make the model of an exported log."""
    name = specs.name(request.path["name"])
    has_key = request.header(b"idempotency-key") is not None
    if not has_key:
        _check_free(hub, name)  # before all of the file is taken
    body = await request.body(hub.limits.upload)

    async def work(known: Known) -> Answer:
        _check_free(hub, name)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.parquet"
            await hub.work(path.write_bytes, body)
            try:
                served = await hub.bring(name, str(path))
            except (StoreUnavailable, StoreInUse, StoreClosed, NotCommitted, MissingExtra):
                raise  # which are not about the file
            except BelatedError as error:
                why = str(error).replace(str(path), "the file")
                raise Refused(422, "bad_file", why) from error
        return await _made(hub, served, 201, known)

    asked = await hub.work(_digest, body) if has_key else b""  # files may be large
    return await once(hub, request, 0, asked, _whole, work)


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()
