"""Items of requests: calls of a model, and what became of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from time import time
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import UNSET

from belated.errors import AlreadyObserved, BelatedError, UnknownTicket
from belated.models.learner.learner import Decision
from belated.service import schemas
from belated.service.forwarding import SENT_ON, check_deadline
from belated.service.idempotency import Keyed
from belated.service.model_state import ModelState
from belated.service.requests import (
    Answer,
    Refused,
    Request,
    decode,
    encode,
    refusal_of,
    validation_error,
)
from belated.service.settings import TEXT
from belated.store import Pending

if TYPE_CHECKING:
    from belated.service.hub import Hub

ASKING = ("predict", "choose")
_CLOSING = ("observe", "cancel")
_LARGE = 64 << 10  # bytes of a body whose items are applied in a thread
Work = Callable[[Keyed | None], Awaitable[Answer]]


class Result(NamedTuple):
    """The outcome of an item, and the status of the response to a single one."""

    status: int
    outcome: Any


async def once(
    hub: Hub, request: Request, number: int, body: bytes, work: Work, own: str | None = None
) -> Answer:
    """Process a request unless a request with the same key was; then return the first response.

    ``number`` is that of the model, 0 for the list of models; ``own`` is a key that goes before
    that of the header, and counts on every path.
    """
    key = request.header(b"idempotency-key")
    if key is not None and not 0 < len(key) <= TEXT:
        raise validation_error(f"Idempotency-Key has 1 to {TEXT} characters")
    if key is None and own is None:
        return await work(None)
    where = request.where if own is None else ""
    keyed = Keyed(hub.responses, (request.token.name, where, number), own or str(key), body)
    first = await keyed.begin()
    if first is not None:
        return first
    try:
        check_deadline(hub.store, request.raw(SENT_ON))  # once more: it may have waited
        answer = await work(keyed)
        keyed.keep()
        return answer
    finally:
        keyed.end()


# --- Reading ----------------------------------------------------------------------------------


def no_such_verb(state: ModelState, verb: str, more: str = "") -> Refused:
    return Refused(409, "no_such_verb", f"a model of kind {state.kind} has no {verb}{more}")


def check_clock(state: ModelState) -> None:
    """Refuse a time where deadlines are counted in predictions, which it would make seconds."""
    if state.unit == schemas.PREDICTIONS:
        raise Refused(
            422,
            "bad_time",
            "this model counts its deadlines in predictions, so that it has no clock and takes "
            "no times; leave 'at' out, or rebuild it with a deadline in time, such as P30D",
        )


def arguments_of(state: ModelState, verb: str, given: Any, may_date: bool) -> dict[str, Any]:
    """Return the arguments of the method that an item calls."""
    named: dict[str, Any] = {}
    for name, argument, kind, *_ in schemas.members(state.kind, verb):
        value = getattr(given, name)
        if kind == "ticket":
            if argument not in named:
                named[argument] = state.ticket(given.ticket, given.key)
        elif value is None or value is UNSET:
            continue
        elif kind == "at":
            if not may_date:
                raise Refused(
                    403, "forbidden", "times are those of the server; 'at' needs the scope admin"
                )
            check_clock(state)
            named[argument] = schemas.read_at(value)
        elif kind == "deadline":
            named[argument] = _deadline(state, value)
        else:
            named[argument] = schemas.read_actions(value) if kind == "actions" else value
    return named


def _deadline(state: ModelState, given: Any) -> str | float:
    """Return the deadline of one ticket, in the unit that those of the model have."""
    found, unit = schemas.read_deadline(given), schemas.unit_of(given)
    if unit == schemas.PREDICTIONS:
        schemas.check_whole(found)
    if state.unit is None:
        raise Refused(
            422,
            "bad_settings",
            "this model has no deadlines: POST /models makes one that has, with a long one for "
            "all if only some tickets have their own",
        )
    if unit != state.unit:
        raise validation_error(f"deadline: those of this model are in {state.unit}, not in {unit}")
    return found


def split(body: bytes) -> tuple[list[Any], bool]:
    """Return the items of a body as JSON, and whether they are many."""
    if b'"items"' in body and decode(body, schemas.MaybeItems).items is not UNSET:
        return decode(body, schemas.Items).items, True
    return [body], False  # which may have a feature of that name


class Batch:
    """The items of a request: they are read, applied in order and committed together."""

    def __init__(
        self, hub: Hub, state: ModelState, verb: str, is_many: bool, keyed: Keyed | None = None
    ) -> None:
        self._hub, self._state, self._verb, self._keyed = hub, state, verb, keyed
        self._is_many = is_many
        self.results: list[Any] = []
        self._places: list[int] = []  # of the items that are not refused yet
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.products = 0
        self._now = 0.0

    def read(self, items: list[Any], may_date: bool) -> None:
        """Read items; those that are refused get their result at once."""
        state, verb, is_asking = self._state, self._verb, self._verb in ASKING
        type_, room = schemas.item(state.kind, verb), state.room(len(items)) if is_asking else 0
        for place, each in enumerate(items):
            self.results.append(None)
            try:
                named = arguments_of(state, verb, decode(each, type_), may_date)
                products = state.check_products(verb, named, self.products)
                if is_asking and room <= len(self.calls):
                    raise Refused(
                        409,
                        "too_many_open",
                        f"{self._hub.limits.open} tickets are open; answer or cancel some, or give "
                        "the model a deadline",
                    )
            except (BelatedError, Refused) as error:
                self.results[place] = refused(error)
            else:
                self.products += products
                self._places.append(place)
                self.calls.append((verb, named))

    def begin(self) -> tuple[Pending | None, Answer]:
        """Apply the items, and return what waits for its commit, and the response."""
        self._now = time()
        if not self.calls:
            return None, self._answer()
        if self._keyed is None:
            pending = self._state.stored.begin_many(self.calls)
            return pending, self._told(pending.answer)
        keyed, told = self._keyed, []

        def note(answers: list[Any]) -> tuple[str, bytes]:
            told.append(self._told(answers))
            return keyed.note(told[0])

        try:
            pending = self._state.stored.begin_many(self.calls, note)
        except BaseException:
            if told:  # what was noted of keys has not happened
                self._hub.drop(self._state)
            raise
        return pending, told[0] if told else self._told(pending.answer)

    def _told(self, answers: list[Any]) -> Answer:
        """Return the response when the items were applied, and note what that says of keys."""
        state, keys = self._state, self._state.closed_keys
        for place, answer, (_, named) in zip(self._places, answers, self.calls, strict=True):
            result = result_of(state, answer)
            if self._verb in ASKING:
                key = named.get("key")
                if key is not None and result.status == 200:
                    keys.open(key, answer[0])
            elif result.outcome.outcome == "unknown" and named["ticket"] in keys:
                result = refused(already_answered(), "duplicate")
            elif result.status == 200 and self._verb in _CLOSING:
                keys.close(named["ticket"])
            self.results[place] = result
        return self._answer()

    def _answer(self) -> Answer:
        """Return the response; an item that came alone is refused like any request."""
        if self._is_many:
            return Answer(200, encode(schemas.Outcomes([outcome for _, outcome in self.results])))
        ((status, outcome),) = self.results
        if status < 400 or outcome.outcome == "duplicate":
            return Answer(200, encode(outcome))
        return Answer(status, encode({"error": outcome.error}))

    def over(self, pending: Pending) -> None:
        state, counts = self._state, self._hub.metrics.events
        state.note(pending, self._now)
        for each in self.results:
            counts[state.name, self._verb, each.outcome.outcome] += 1


async def call(hub: Hub, request: Request, verb: str) -> Answer:
    """Call a method of a model, with one item or many."""
    body = await request.body()
    state = await hub.model(request.path["name"])

    async def work(keyed: Keyed | None) -> Answer:
        answer, _ = await apply(hub, state, verb, body, request, keyed)
        return answer

    return await once(hub, request, state.number, body, work)


async def apply(
    hub: Hub, state: ModelState, verb: str, body: bytes, request: Request, keyed: Keyed | None
) -> tuple[Answer, list[Result]]:
    """Apply the items of a body, and return the response once they are committed."""
    if verb not in (have := schemas.verbs(state.kind)):
        raise no_such_verb(state, verb, f"; it has: {', '.join(sorted(have))}")
    items, is_many = split(body)
    batch, is_large = Batch(hub, state, verb, is_many, keyed), len(body) > _LARGE
    read = partial(batch.read, items, "admin" in request.token.scopes)
    if is_large:
        await hub.work(read)
    else:
        read()
    is_long = is_large or state.is_long(len(items), batch.products)
    pending, answer = await hub.with_model(state, len(batch.calls), batch.begin, is_long)
    if pending is not None:
        await hub.committed(state, pending)
        batch.over(pending)
    return answer, batch.results


# --- Results ----------------------------------------------------------------------------------


def result_of(state: ModelState, answer: Any) -> Result:
    """Return what became of a call."""
    if isinstance(answer, BelatedError):
        return refused(answer)
    if answer is None or isinstance(answer, bool):
        return Result(200, schemas.Outcome("late" if answer is False else "applied"))
    found = answer._asdict()
    found["ticket"] = state.signed(answer.ticket)
    if isinstance(answer, Decision):
        found["play"] = found.pop("x").tolist()
    return Result(200, schemas.Outcome("applied", **found))


def already_answered() -> Refused:
    message = (
        "this key was answered or cancelled before, or its deadline has passed and a late answer "
        "was dropped before; nothing has changed"
    )
    return Refused(409, "already_answered", message)


def refused(error: BelatedError | Refused, outcome: Any = "invalid") -> Result:
    """Return what is said of an item that was refused."""
    if isinstance(error, AlreadyObserved):
        outcome = "duplicate"
    elif isinstance(error, UnknownTicket):
        outcome = "unknown"
    refusal = error if isinstance(error, Refused) else refusal_of(error)
    return Result(
        refusal.status,
        schemas.Outcome(outcome, error=schemas.Problem(refusal.code, refusal.message)),
    )
