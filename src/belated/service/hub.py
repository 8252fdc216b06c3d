"""What the server knows, apart from HTTP: models, tokens, answers, and how events are applied."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic, time
from typing import Any, NamedTuple, TypeVar

from belated.errors import (
    BelatedError,
    SpecError,
    StoreInUse,
    StoreUnavailable,
    UnknownModel,
)
from belated.service import bodies, rewards, specs
from belated.service.answered import Ahead
from belated.service.auth import Signer, Token, Tokens, checked, made
from belated.service.calls import ASKING, Call, Said, refused
from belated.service.commits import Commits
from belated.service.evaluating import Evaluations
from belated.service.idempotency import NO_KEY, Answers, Form, Known, name_of
from belated.service.limits import Limits
from belated.service.metrics import Metrics
from belated.service.refusals import Refused
from belated.service.requests import AT_ONCE
from belated.service.served import Served
from belated.store import Pending, Store, StoredModel

T = TypeVar("T")

_KEY, _TOKEN = "service:key", "service:token"
_EVERY = 30.0  # seconds between two notes of the curves
_TIDY = 60  # seconds between two removals of old answers
_TOLD = 1.0  # seconds for which the owner of a model is remembered
_DOUBTED = 0.2  # the same, if the owner did not answer


class Hub:
    """Models behind a server."""

    def __init__(self, store: Store, limits: Limits, tokens: Tokens | None = None) -> None:
        self.store, self.limits = store, limits
        self.tokens = tokens or Tokens(())
        key = self._secret(_KEY)
        self.signer = Signer(key)
        self._seeds = hmac.digest(key, b"seeds", "sha256")
        self.evaluations = Evaluations(store, limits)
        self.answers = Answers(store)
        self.answers.load()  # before anything is answered: what is sent again must be known
        self.commits = Commits()
        self.metrics = Metrics()
        self.paths = (os.path.realpath(store.where), store.where)
        """Where the store lies; answers do not say."""
        self.names = set(store.models())
        self.models: dict[str, Served] = {}
        self._coming: set[str] = set()
        self._fresh: set[str] = set()  # models that were held before answers were read
        self.damaged: dict[str, str] = {}
        """Models that could not be brought back, and why."""
        self.is_ready = False
        self.on_loaded: Callable[[], None] | None = None
        """Is called whenever a model was brought into memory."""
        self._lock = threading.Lock()
        self._turns: dict[str, _Turn] = {}
        self._resting: dict[str, asyncio.Event] = {}
        self._elsewhere: dict[str, tuple[str, float]] = {}  # where models are, and until when
        self._pool = ThreadPoolExecutor(4, "belated-serve")
        self._stopping = threading.Event()
        self._keeper: threading.Thread | None = None
        store.on_lost = self.models.clear  # others may write them now, and answer what is asked

    def _noted(self, name: str) -> bytes | None:
        """Return the note of exactly this name."""
        found = [note.body for note in self.store.notes(name) if note.name == name]
        return found[0] if found else None

    def _secret(self, name: str) -> bytes:
        """Return the key of the store, which is made when it is first asked for."""
        found = self._noted(name)
        if found is not None:
            return found
        return self.store.keep_first(name, secrets.token_bytes(32))

    def own_token(self, anew: bool = False) -> str | None:
        """Let in the token that the store itself has; return it where it was made just now."""
        found = None if anew else self._noted(_TOKEN)
        if found is not None:
            self.tokens = Tokens((*self.tokens.known, checked(json.loads(found))))
            return None
        secret, token = made("owner", ("admin",))
        body = json.dumps(token.to_dict()).encode()
        if anew:
            self.store.keep(_TOKEN, body)
        elif self.store.keep_first(_TOKEN, body) != body:  # another server was quicker
            return self.own_token()
        self.tokens = Tokens((*self.tokens.known, token))
        return secret

    # --- Beginning and end ----------------------------------------------------------------------

    def warm(self) -> None:
        """Bring every model back, and begin to watch."""
        self._hold_all()
        for name in sorted(self.names):
            if self._stopping.is_set():
                return
            try:
                self.load(name)
            except StoreInUse as error:
                self.lose(name, error.address)
            except Exception as error:  # whatever is wrong with one, the others are served
                if name in self.names:  # else it was deleted meanwhile
                    self.damaged[name] = str(error)
        self.is_ready = True
        self._keeper = threading.Thread(target=self._keep, name="belated-watch", daemon=True)
        self._keeper.start()

    def _hold_all(self) -> None:
        """Take over the models of a shared store without a writer, then read earlier answers."""
        if not self.store.is_shared:
            return
        for name in sorted(self.names):
            with suppress(BelatedError):  # it is told when the model is loaded
                self.store.model(name)
                self._fresh.add(name)
        self.answers.load()

    def load(self, name: str) -> Served:
        """Return a model; one that is not in memory is recovered."""
        served = self.models.get(name)
        if served is not None:
            return served
        with self._turn(name):
            served = self.models.get(name)
            if served is None:
                if name not in self.names:
                    raise UnknownModel(f"there is no model {name!r}")
                self._check_here(name)
                losses = self.store.losses
                served = Served(self._stored(name), self.signer, self.limits)
                noted = self._noted(served.note_name)
                if noted is not None:
                    served.restore(noted)
                served.read_tail()
                self.models[name] = served
                if self.store.losses != losses:  # another server may have had it meanwhile
                    self.models.pop(name, None)
                    raise StoreUnavailable(f"the connection was lost while {name!r} was loaded")
                self.damaged.pop(name, None)
                if self.on_loaded is not None:
                    self.on_loaded()
            return served

    def _check_here(self, name: str) -> None:
        """Raise ``StoreInUse`` where it is known that another server writes a model."""
        address, until = self._elsewhere.get(name, ("", 0.0))
        if until > monotonic():
            raise StoreInUse(f"the model {name!r} is written by another server", address, name)

    def _stored(self, name: str) -> StoredModel:
        """Return a model of the store, for this server alone to write."""
        try:
            stored: StoredModel = self.store.model(name)
        except UnknownModel:  # another server has deleted it
            self.names.discard(name)
            raise
        if self.store.is_shared and name not in self._fresh:
            self.answers.load()  # those of the former owner must be known
        self._fresh.discard(name)
        return stored

    def lose(self, name: str, address: str | None) -> None:
        """Note that another server writes a model, at an address; None if it is unknown."""
        self.models.pop(name, None)
        self.damaged.pop(name, None)
        known, until = self._elsewhere.pop(name, ("", 0.0))
        if address is not None:
            now = monotonic()
            is_old = known == address and until > now  # and not believed for longer
            self._elsewhere[name] = address, until if is_old else now + _TOLD

    def look_again(self, name: str) -> None:
        """Find out soon which server writes a model: the one that did does not answer."""
        address, until = self._elsewhere.get(name, ("", 0.0))
        self._elsewhere[name] = address, min(until, monotonic() + _DOUBTED)

    @contextmanager
    def _turn(self, name: str) -> Iterator[None]:
        """Let one thread at a time bring a model back or put it away."""
        with self._lock:
            turn = self._turns.setdefault(name, _Turn())
            turn.users += 1
        try:
            with turn.lock:
                yield
        finally:
            with self._lock:
                turn.users -= 1
                if turn.users == 0:  # strangers may try any name
                    del self._turns[name]

    def _keep(self) -> None:
        """Sample the curves, and keep them now and then."""
        turn = 0
        while not self._stopping.wait(1.0):
            turn += 1
            for served in list(self.models.values()):
                try:
                    if served.watch.is_changed:
                        served.sample()
                        if turn % _EVERY == 0:
                            self.keep(served)
                except StoreInUse as error:
                    self.lose(served.name, error.address)
                except BelatedError:  # it was deleted, or the disk is full: there is a next time
                    continue
            if turn % _TIDY == 0:
                with suppress(BelatedError):  # as above
                    self.answers.tidy()

    def keep(self, served: Served) -> None:
        """Keep what is known beside a model."""
        served.watch.is_changed = False
        self.store.keep(served.note_name, served.kept())

    def close(self) -> None:
        """Stop watching, and keep the curves; what was accepted is committed by then."""
        self._stopping.set()
        if self._keeper is not None:
            self._keeper.join()
        self.evaluations.close()
        self._pool.shutdown()
        for served in self.models.values():
            if served.watch.is_changed:
                with suppress(BelatedError):  # the curves are lost, and no event is
                    self.keep(served)

    async def work(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run something slow, or something that waits, in another thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)

    # --- Models ---------------------------------------------------------------------------------

    async def model(self, name: str) -> Served:
        """Return a model, or refuse."""
        while (resting := self._resting.get(name)) is not None:
            await resting.wait()
        served = self.models.get(name)
        if served is not None:
            return served
        self._check_here(name)
        if name not in self.names and self.store.is_shared:
            await self.work(self.look_around)
        if name not in self.names:
            raise UnknownModel(f"there is no model {name!r}")
        return await self.work(self.load, name)

    def look_around(self) -> None:
        """See which models there are, where other servers make and delete them too."""
        if self.store.is_shared:
            self.names = set(self.store.models())

    async def create(self, name: str, kind: Any, settings: Any) -> tuple[Served, bool]:
        """Put a model into the store, or return it if it is there; and whether it is new."""
        async with _Rest(self, specs.name(name)):
            is_new = name not in self.names
            with self._place(name):
                return await self._create(name, kind, settings), is_new

    async def _create(self, name: str, kind: Any, settings: Any) -> Served:
        model = await self.work(self._made, name, kind, settings)
        if name not in self.names:
            specs.check_new(settings)
        try:
            await self.work(self.store.model, name, model)
        except SpecError as error:
            raise Refused(
                409,
                "other_settings",
                f"there is a model {name!r} with other settings: POST /models/{name}/rebuild "
                "builds one with these from its log",
            ) from error
        self.names.add(name)
        return await self.work(self.load, name)

    @contextmanager
    def _place(self, name: str) -> Iterator[None]:
        """Have a place for a model, or refuse; those that are being made count as well."""
        if name not in self.names and len(self.names | self._coming) >= self.limits.models:
            raise Refused(
                409, "too_many_models", f"there are {self.limits.models} models; delete one"
            )
        self._coming.add(name)
        try:
            yield
        finally:
            self._coming.discard(name)

    def _made(self, name: str, kind: Any, settings: Any) -> Any:
        seed = hmac.digest(self._seeds, name.encode(), "sha256")
        return specs.made(kind, settings, int.from_bytes(seed[:8], "big"), self.limits)

    async def delete(self, name: str, note: tuple[str, bytes] | None = None) -> None:
        """Remove a model with its log, and keep a note of that."""
        async with _Rest(self, name):
            await self.work(self._remove, name, note)

    def _remove(self, name: str, note: tuple[str, bytes] | None) -> None:
        with self._turn(name):
            self.store.delete(name, note)
            self.names.discard(name)
            self.models.pop(name, None)
            self.damaged.pop(name, None)

    async def rebuild(self, name: str, kind: str, settings: Any, to: str) -> Served:
        """Build a model with other settings from the log of one."""
        async with _Rest(self, name):
            former = self.models.get(name)
            changes = specs.arguments(kind, settings, self.limits)
            spec = await self.work(specs.constructed, self.store.respecified, name, changes)
            counting = rewards.following(former, spec)
            with self._place(specs.name(to)):
                check = partial(specs.check_unit, kind, settings)
                await self.work(self._rebuild, name, spec, to, check)
                built = await self.work(self.load, to)
                await self.count(built, counting)
                return built

    def _rebuild(self, name: str, spec: Any, to: str, check: Callable[[Any], None]) -> None:
        with self._turn(to):
            self.store.rebuild(name, spec, to=to, check=check)
            self.names.add(to)
            self.models.pop(to, None)

    async def bring(self, name: str, path: str) -> Served:
        """Put a model that was exported into the store."""
        async with _Rest(self, specs.name(name)):
            with self._place(name):
                await self.work(self.store.load, name, path)
                self.names.add(name)
                brought = await self.work(self.load, name)
                await self.count(brought, await self.work(rewards.read, path, brought.model))
                return brought

    async def count(self, served: Served, counting: str) -> None:
        """Have these rewards of events count from now on."""
        former, served.rewards = served.rewards, counting
        if former == counting:
            return
        try:
            await self.work(self.keep, served)
        except BelatedError:  # what is not kept does not count
            served.rewards = former
            raise

    # --- Events ---------------------------------------------------------------------------------

    async def apply(
        self,
        served: Served,
        verb: str,
        items: list[Any],
        token: Token,
        known: Known,
        size: int,
    ) -> tuple[list[Said], bool]:
        """Apply items in order, and commit them together.

        Returns what came of each, and whether that took long. ``size`` is how many bytes they had.
        """
        read = partial(read_items, self, served, verb, items, token)
        found = await self.work(read) if size > AT_ONCE else read()
        is_long = size > AT_ONCE or served.is_long(len(items), found.products)
        begin = partial(begun, served, found, known)
        applied = await self.with_model(served, len(found.calls), begin, is_long)
        if applied.pending is None:
            applied.over(self, None)
        else:
            await self.commits.wait(applied.pending, partial(applied.over, self))
        return applied.said, is_long

    async def with_model(
        self, served: Served, events: int, work: Callable[[], T], is_long: bool = False
    ) -> T:
        """Run something that applies so many events to a model, which no other request uses then.

        What ``is_long``, or has to wait for the model, runs in another thread: the event loop never
        waits, and goes on to answer requests to other models.
        """
        if not is_long and served.name not in self._resting and served.stored.try_lock(events):
            try:
                return work()
            finally:
                served.stored.unlock()
        async with _Rest(self, served.name):
            return await self.work(work)

    def check_key(self, key: str) -> None:
        """Refuse an ``Idempotency-Key`` that is too long, or empty."""
        if not 0 < len(key) <= self.limits.text:
            raise bodies.bad(f"Idempotency-Key has 1 to {self.limits.text} characters")

    def known(
        self, token: Token, path: str, number: int, key: str | None, body: bytes, form: Form
    ) -> Known:
        """Return a request to the model of this number, by its ``Idempotency-Key`` if it has one.

        The number is 0 for what is done to the list of models. What came as a header was looked at.
        """
        if key is None:
            return NO_KEY
        name = name_of(token.name, path, number, key)
        return Known(self.answers, name, hashlib.sha256(body).digest(), form)

    def here(self, name: str) -> Served | None:
        """Return a model that is in memory, and that nothing long is done to."""
        return None if name in self._resting else self.models.get(name)

    def check_products(
        self, served: Served, verb: str, named: dict[str, Any], before: int = 0
    ) -> int:
        """Return how many numbers a call computes with, or refuse what would take long."""
        found = served.products(verb, named)
        if before + found > self.limits.products:
            raise Refused(
                422,
                "too_many_products",
                f"a request may compute with {self.limits.products} products of features (limit "
                f"products), and this one needs {before + found}: features of the context times "
                "those of all actions, more with few bits; of other models features and "
                "interactions, or coordinates. Send fewer items, features or actions, set fewer "
                "interactions, or more bits",
            )
        return found


class _Turn:
    """What threads wait for that want the same model, and how many they are."""

    def __init__(self) -> None:
        self.lock, self.users = threading.Lock(), 0


class _Rest:
    """Holds up requests to a model while something long is done to it."""

    def __init__(self, hub: Hub, name: str) -> None:
        self._hub, self._name = hub, name

    async def __aenter__(self) -> None:
        resting = self._hub._resting
        while (other := resting.get(self._name)) is not None:
            await other.wait()
        resting[self._name] = asyncio.Event()

    async def __aexit__(self, *_: object) -> None:
        self._hub._resting.pop(self._name).set()


# --- Items of requests ----------------------------------------------------------------------------


_OPEN = Said(0, {})  # stands where what came of an item is not known yet


class Applied(NamedTuple):
    """Items that were applied; what is said of them counts once they are committed."""

    served: Served
    verb: str
    said: list[Said]
    pending: Pending | None
    """What is committed; None where nothing has changed."""
    now: float
    """When they were applied, in seconds since 1970."""
    ahead: Ahead
    """What they say of keys."""

    def over(self, hub: Hub, error: BaseException | None) -> None:
        """Note what was committed, for those who count and watch, or forget what is lost."""
        if error is not None:
            self.ahead.drop()
            return
        self.ahead.keep()
        if self.pending is None:
            return
        for events, answer in zip(self.pending.events, self.pending.answer, strict=True):
            for event in events:
                self.served.watched(event, answer, self.now)
        name, verb, counts = self.served.name, self.verb, hub.metrics.events
        if len(self.said) == 1:
            counts[name, verb, self.said[0].body["outcome"]] += 1
            return
        for outcome, count in Counter([one.body["outcome"] for one in self.said]).items():
            counts[name, verb, outcome] += count


class Items(NamedTuple):
    """Items of a request that were read, and are not applied yet."""

    verb: str
    said: list[Said]
    """What is said of those that are refused."""
    places: list[int]
    """Of the others among them."""
    calls: list[Call]
    """What these stand for."""
    products: int
    """Numbers that these compute with."""


def begun(served: Served, items: Items, known: Known) -> Applied:
    """Apply items in order, without waiting for their commit."""
    now, ahead = time(), served.ahead()
    verb, said, places, calls, _ = items
    if not calls:
        return Applied(served, verb, said, None, now, ahead)

    def tell(answers: list[Any]) -> None:
        for place, answer, call in zip(places, answers, calls, strict=True):
            said[place] = served.said(call, answer, ahead)

    if not known.name:
        pending = served.stored.begin_many(calls)
        tell(pending.answer)
        return Applied(served, verb, said, pending, now, ahead)

    def noted(answers: list[Any]) -> tuple[str, bytes]:
        tell(answers)
        return known.note(said)

    try:
        pending = served.stored.begin_many(calls, noted)
    except BaseException:  # after it was noted: none of it has happened
        ahead.drop()
        raise
    if said[places[0]] is _OPEN:  # all were refused, and no note was written
        tell(pending.answer)
    return Applied(served, verb, said, pending, now, ahead)


def read_items(hub: Hub, served: Served, verb: str, items: list[Any], token: Token) -> Items:
    """Read the items of a request; those that are refused are told why."""
    served.reader.check(verb)
    said: list[Said] = []
    places: list[int] = []
    calls: list[Call] = []
    products = 0
    is_asking, may_date = verb in ASKING, token.may("admin")
    room = hub.limits.open - served.open if is_asking else 0
    for item in items:
        try:
            call = served.reader.call(verb, item, may_date)
            found = hub.check_products(served, verb, call[1], products)
            if is_asking and room <= len(calls):
                raise Refused(
                    409,
                    "too_many_open",
                    f"{hub.limits.open} tickets are open; answer or cancel some, or give the "
                    "model a deadline",
                )
        except (BelatedError, Refused) as error:
            said.append(refused(error))
        else:
            products += found
            places.append(len(said))
            said.append(_OPEN)
            calls.append(call)
    return Items(verb, said, places, calls, products)
