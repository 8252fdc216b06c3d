"""Handlers of requests that change models, or the list of models."""

from __future__ import annotations

import hashlib
import tempfile
from functools import partial
from pathlib import Path

from belated.errors import (
    BelatedError,
    MissingExtra,
    NotCommitted,
    StoreClosed,
    StoreInUse,
    StoreUnavailable,
)
from belated.service.durations import read_at
from belated.service.hub import Hub, check_rewards
from belated.service.idempotency import Keyed, once
from belated.service.items import check_clock, no_such_verb
from belated.service.model_state import LONG, ModelState
from belated.service.refusals import Refused
from belated.service.requests import Answer, Request
from belated.service.schemas import (
    Create,
    CurrentMode,
    Nothing,
    Rebuild,
    Rewards,
    SetMode,
    Tick,
    Ticked,
    check_name,
    decode,
    encode,
    validation_error,
)
from belated.store import Pending


async def change(hub: Hub, request: Request, verb: str) -> Answer:
    """Change a model as a whole: its clock, or the mode of knobs."""
    body, named = await request.body(), {}
    given = decode(body or b"{}", Tick if verb == "tick" else Nothing)
    if verb == "tick" and given.at is not None:
        named["at"] = read_at(given.at)
    state = await hub.model(request.path["name"])
    if verb not in state.stored.methods:
        raise no_such_verb(state, verb)
    if verb == "tick":
        check_clock(state)

    async def work(keyed: Keyed | None) -> Answer:
        def changed() -> Answer:
            told = Ticked(state.open) if verb == "tick" else CurrentMode(state.model.mode)
            return Answer(200, encode(told))

        def begin() -> tuple[Pending, Answer]:
            note = None if keyed is None else lambda _: keyed.note(changed())
            return state.stored.begin_many([(verb, named)], note), changed()

        is_long = verb == "tick" and state.open > LONG
        pending, answer = await hub.with_model(state, 1, begin, is_long)
        if isinstance(pending.answer[0], BelatedError):
            raise pending.answer[0]
        await hub.committed(state, pending)
        return answer

    return await once(hub, request, state.number, body, work)


async def set_mode(hub: Hub, request: Request) -> Answer:
    """Let a chooser play its own choices, or those of the baseline."""
    state = await chooser(hub, request.path["name"], "mode")
    given = decode(await request.body(), SetMode)
    begin = partial(state.stored.begin, "mode", given.mode)
    await hub.committed(state, await hub.with_model(state, 1, begin))
    return Answer(200, encode(given))


async def set_rewards(hub: Hub, request: Request) -> Answer:
    """Say which reward of an event counts: the earliest, or the sum of all."""
    state = await chooser(hub, request.path["name"], "rewards")
    given = decode(await request.body(), Rewards)
    check_rewards(given.rewards, state.model)
    await hub.count(state, given.rewards)
    return Answer(200, encode(given))


async def chooser(hub: Hub, name: str, verb: str) -> ModelState:
    """Return a chooser, or refuse."""
    state = await hub.model(name)
    if state.kind != "Chooser":
        raise no_such_verb(state, verb)
    return state


# --- Models -----------------------------------------------------------------------------------


async def create_model(hub: Hub, request: Request) -> Answer:
    """Make a model; nothing happens where it is there with the same settings."""
    body = await request.body()
    given = decode(body, Create)
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


async def rebuild_model(hub: Hub, request: Request) -> Answer:
    """Build a model with other settings from the log, so that nothing is reset."""
    name = request.path["name"]
    state = await hub.model(name)
    body = await request.body()
    given = decode(body, Rebuild)
    to = check_name(given.to or name)
    if given.kind not in (None, state.kind):
        raise validation_error(
            f"kind: {name!r} is a {state.kind}, and so must be what is built from it"
        )

    async def work(keyed: Keyed | None) -> Answer:
        if to != name:
            _check_free(hub, to)
        built = await hub.rebuild(name, state.kind, given.settings, to)
        return await _made(hub, built, 200, keyed)

    return await once(hub, request, 0, body, work)


async def import_model(hub: Hub, request: Request) -> Answer:
    """Make the model of an exported log."""
    name = check_name(request.path["name"])
    has_key = request.header(b"idempotency-key") is not None
    if not has_key:
        _check_free(hub, name)  # before all of the file is taken
    body = await request.body(hub.limits.upload)

    async def work(keyed: Keyed | None) -> Answer:
        _check_free(hub, name)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.parquet"
            await hub.work(path.write_bytes, body)
            try:
                state = await hub.bring(name, str(path))
            except (StoreUnavailable, StoreInUse, StoreClosed, NotCommitted, MissingExtra):
                raise  # which are not about the file
            except BelatedError as error:
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
