"""The models of a server: how they are loaded, made, changed and deleted."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from time import monotonic, time
from typing import Any, TypeVar

from belated.errors import BelatedError, SpecError, StoreInUse, StoreUnavailable, UnknownModel
from belated.service import auth, model_factory
from belated.service.idempotency import Responses, read_note
from belated.service.metrics import Metrics
from belated.service.model_state import ModelState, Signer
from belated.service.requests import Refused
from belated.service.settings import Limits
from belated.store import Pending, Store, StoredModel

T = TypeVar("T")

_KEY, _TOKEN = "service:key", "service:token"
_EVERY = 30  # seconds between two notes of the curves
_TIDY = 60  # seconds between two removals of old responses
_BELIEVED = 1.0  # seconds for which the owner of a model is remembered
_RELEASED = 2.0  # seconds for which a model that was released is left to other servers


class Hub:
    """Models behind a server."""

    def __init__(self, store: Store, limits: Limits, tokens: tuple[auth.Token, ...] = ()) -> None:
        self.store, self.limits, self.tokens = store, limits, tokens
        key = self._noted(_KEY) or store.keep_first(_KEY, secrets.token_bytes(32))
        self.signer = Signer(key)
        self._seeds = hmac.digest(key, b"seeds", "sha256")
        self.responses = Responses(store)
        self.responses.load()  # before the first request: repeated requests must be known
        self.metrics = Metrics(self)
        self.paths = (os.path.realpath(store.where), store.where)
        """Paths of the store, which no response contains."""
        self.names = set(store.models())
        self.models: dict[str, ModelState] = {}
        self._coming: set[str] = set()
        self._fresh: set[str] = set()  # models that were held before responses were read
        self.damaged: dict[str, str] = {}
        """Models that could not be loaded, and why."""
        self.is_ready = False
        self.on_loaded: Callable[[], None] = lambda: None
        """Is called whenever a model was loaded."""
        self._locks: dict[str, threading.Lock] = {}  # one thread at a time loads a model
        self.resting: dict[str, asyncio.Event] = {}
        """Models to which something long is being done."""
        self._elsewhere: dict[str, tuple[str, float]] = {}  # where models are, and until when
        self._pool = ThreadPoolExecutor(4, "belated-serve")
        self.evaluator = ThreadPoolExecutor(1, "belated-evaluate")
        """Evaluates one log at a time, so that other long work has threads."""
        self._stopping = threading.Event()
        self._keeper: threading.Thread | None = None
        store.on_lost = self.models.clear  # other servers may write them now

    def _noted(self, name: str) -> bytes | None:
        return next((note.body for note in self.store.notes(name) if note.name == name), None)

    def own_token(self, anew: bool = False) -> str | None:
        """Accept the token of the store; return it if it was made just now."""
        found = None if anew else self._noted(_TOKEN)
        if found is not None:
            self.tokens = (*self.tokens, auth.checked(json.loads(found)))
            return None
        secret, token = auth.made("owner", ("admin",))
        body = json.dumps(token.to_dict()).encode()
        if anew:
            self.store.keep(_TOKEN, body)
        elif self.store.keep_first(_TOKEN, body) != body:  # another server was quicker
            return self.own_token()
        self.tokens = (*self.tokens, token)
        return secret

    # --- Start and end --------------------------------------------------------------------------

    def warm(self) -> None:
        """Load every model, and begin to watch.

        In a shared store, models without a writer are taken over first, and then responses are
        read: those of the former owners must be known.
        """
        if self.store.is_shared:
            for name in sorted(self.names):
                with suppress(BelatedError):  # it is told when the model is loaded
                    self.store.model(name)
                    self._fresh.add(name)
            self.responses.load()
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

    def load(self, name: str) -> ModelState:
        """Return a model; one that is not in memory is recovered."""
        with self._lock(name):
            state = self.models.get(name)
            if state is None:
                self._check_here(name)
                losses = self.store.losses
                state = ModelState(self._stored(name), self.signer, self.limits)
                noted = self._noted(state.note_name)
                if noted is not None:
                    state.restore(noted)
                state.read_tail()
                self.models[name] = state
                if self.store.losses != losses:  # another server may have had it meanwhile
                    self.models.pop(name, None)
                    raise StoreUnavailable(f"the connection was lost while {name!r} was loaded")
                self.damaged.pop(name, None)
                self.on_loaded()
            return state

    @contextmanager
    def _lock(self, name: str) -> Iterator[None]:
        """Let one thread at a time load or remove a model, or refuse a name that there is not."""
        if name in self.names:
            with self._locks.setdefault(name, threading.Lock()):
                if name in self.names:  # else it was deleted meanwhile
                    yield
                    return
        raise UnknownModel(f"there is no model {name!r}")

    def _check_here(self, name: str) -> None:
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
            self.responses.load()  # those of the former owner must be known
        self._fresh.discard(name)
        return stored

    def drop(self, state: ModelState) -> None:
        """Forget what is known beside a model whose events were lost; it is loaded again."""
        if self.models.get(state.name) is state:
            del self.models[state.name]

    def lose(self, name: str, address: str | None) -> None:
        """Note that another server writes a model, at an address; None if it is unknown."""
        self.models.pop(name, None)
        self.damaged.pop(name, None)
        known, until = self._elsewhere.pop(name, ("", 0.0))
        if address is not None:
            now = monotonic()
            is_old = known == address and until > now  # and not believed for longer
            self._elsewhere[name] = address, until if is_old else now + _BELIEVED

    def _keep(self) -> None:
        """Sample the curves, and keep them now and then."""
        turn = 0
        while not self._stopping.wait(1.0):
            turn += 1
            for state in list(self.models.values()):
                try:
                    if state.sample() and turn % _EVERY == 0:
                        self.keep(state)
                except StoreInUse as error:
                    self.lose(state.name, error.address)
                except BelatedError:  # it was deleted, or the disk is full: there is a next time
                    continue
            if turn % _TIDY == 0:
                with suppress(BelatedError):  # as above
                    self.responses.tidy()

    def keep(self, state: ModelState) -> None:
        state.watch.is_changed = False
        self.store.keep(state.note_name, state.kept())

    def close(self) -> None:
        """Stop watching, and keep the curves; accepted events are committed by then."""
        self._stopping.set()
        if self._keeper is not None:
            self._keeper.join()
        self.evaluator.shutdown(cancel_futures=True)
        self._pool.shutdown()
        for state in self.models.values():
            with suppress(BelatedError):  # the curves are lost, and no event is
                if state.sample():
                    self.keep(state)

    async def work(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run something slow, or something that waits, in another thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)

    # --- Models ---------------------------------------------------------------------------------

    async def model(self, name: str) -> ModelState:
        while (resting := self.resting.get(name)) is not None:
            await resting.wait()
        state = self.models.get(name)
        if state is not None:
            return state
        self._check_here(name)
        if name not in self.names:
            await self.work(self.look_around)
        return await self.work(self.load, name)

    def look_around(self) -> None:
        """See which models there are, where other servers make and delete them too."""
        if self.store.is_shared:
            self.names = set(self.store.models())

    @asynccontextmanager
    async def alone(self, name: str) -> AsyncIterator[None]:
        """Hold up other requests to a model while something long is done to it."""
        while (other := self.resting.get(name)) is not None:
            await other.wait()
        self.resting[name] = asyncio.Event()
        try:
            yield
        finally:
            self.resting.pop(name).set()

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

    async def _new(self, name: str) -> ModelState:
        self.names.add(name)
        self.models.pop(name, None)
        return await self.work(self.load, name)

    async def create(self, name: str, kind: str, settings: Any) -> tuple[ModelState, bool]:
        """Put a model into the store, or return it if it is there; and whether it is new."""
        async with self.alone(name):
            is_new = name not in self.names
            with self._place(name):
                seed = hmac.digest(self._seeds, name.encode(), "sha256")
                given = kind, settings, int.from_bytes(seed[:8], "big"), self.limits
                model = await self.work(model_factory.made, *given)
                if is_new:
                    model_factory.check_new(settings)
                try:
                    await self.work(self.store.model, name, model)
                except SpecError as error:
                    raise Refused(
                        409,
                        "other_settings",
                        f"there is a model {name!r} with other settings: POST "
                        f"/models/{name}/rebuild builds one with these from its log",
                    ) from error
                return await self._new(name), is_new

    async def delete(self, name: str, note: tuple[str, bytes] | None = None) -> None:
        """Remove a model with its log, and keep a note of that."""

        def remove() -> None:
            with self._lock(name):
                self.store.delete(name, note)
                self.names.discard(name)
                self.models.pop(name, None)
                self.damaged.pop(name, None)
            self._locks.pop(name, None)

        async with self.alone(name):
            if name not in self.names:
                await self.work(self.look_around)
            await self.work(remove)

    async def release(self, name: str) -> None:
        """Let another server of the same database write a model: the next that is asked for it.

        This one leaves it to the others for a moment, as its own clients would ask for it again.
        """

        def release() -> None:
            with self._lock(name):
                state = self.models.pop(name, None)
                if state is not None and state.sample():
                    self.keep(state)
                self.store.release(name)
                self._elsewhere[name] = "", monotonic() + _RELEASED  # no address is known yet

        await self.model(name)  # or ``StoreInUse``: the request is forwarded to the owner
        async with self.alone(name):
            await self.work(release)

    async def erase(self, name: str, key: str, is_rebuilt: bool) -> Any:
        """Erase all that the store has of a key, and return what that was."""
        await self.model(name)  # or ``StoreInUse``, as in ``release``

        def erase() -> Any:
            store: Any = self.store
            with self._lock(name):
                self.models.pop(name, None)  # it knows the keys that were closed last
                found = store.erase(name, key, rebuild=is_rebuilt)
            for note in found.notes:
                self.responses.add(note, read_note(b"", time()))
            return found

        async with self.alone(name):
            return await self.work(erase)

    async def rebuild(
        self, state: ModelState, settings: Any, to: str, check: Callable[[Any], None]
    ) -> ModelState:
        """Build a model with other settings from the log of one; ``check`` may refuse them."""
        name, kind = state.name, state.kind

        def build(spec: Any) -> None:
            fits = partial(model_factory.check_unit, kind, settings)
            with self._locks.setdefault(to, threading.Lock()):
                self.store.rebuild(name, spec, to=to, check=fits)
                self.models.pop(to, None)

        async with self.alone(name):
            changes = model_factory.arguments(kind, settings, self.limits)
            spec = await self.work(model_factory.constructed, self.store.respecified, name, changes)
            check(spec)
            with self._place(to):
                await self.work(build, spec)
                built = await self._new(to)
                await self.count(built, state.rewards)
                return built

    async def bring(self, name: str, path: str, rewards: Callable[[str, Any], str]) -> ModelState:
        """Put a model that was exported into the store; ``rewards`` tells which count."""
        async with self.alone(name):
            with self._place(name):
                await self.work(self.store.load, name, path)
                brought = await self._new(name)
                await self.count(brought, await self.work(rewards, path, brought.model))
                return brought

    async def count(self, state: ModelState, rewards: str) -> None:
        """Have these rewards of events count from now on."""
        former, state.rewards = state.rewards, rewards
        if former == rewards:
            return
        try:
            await self.work(self.keep, state)
        except BelatedError:  # what is not kept does not count
            state.rewards = former
            raise

    async def with_model(
        self, state: ModelState, events: int, work: Callable[[], T], is_long: bool = False
    ) -> T:
        """Run something that applies so many events to a model, which no other request uses then.

        What ``is_long``, or has to wait for the model, runs in another thread: the event loop never
        waits, and goes on to answer requests to other models.
        """
        name, is_here = state.name, self.models.get(state.name) is state
        if is_here and not is_long and name not in self.resting and state.stored.try_lock(events):
            try:
                return work()
            finally:
                state.stored.unlock()
        async with self.alone(name):
            self._check_here(name)  # it may have been released meanwhile
            return await self.work(work)

    async def committed(self, state: ModelState, pending: Pending) -> None:
        """Return when events are committed; if they are lost, the model is loaded again."""
        try:
            await pending.committed()
        except BelatedError:
            self.drop(state)
            raise
