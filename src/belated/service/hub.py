"""What the server knows, apart from HTTP: models, tokens, answers, and how events are applied."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import time
from typing import Any, TypeVar

from belated.errors import BelatedError, SpecError, UnknownModel
from belated.service import specs
from belated.service.answers import Answers, name_of, note_of
from belated.service.calls import ASKING, Call, Said, refused
from belated.service.commits import Commits
from belated.service.limits import Limits
from belated.service.metrics import Family, Metrics
from belated.service.refusals import Refused
from belated.service.served import Served
from belated.service.tickets import Signer
from belated.service.tokens import Token, Tokens, checked, made
from belated.store import Store

T = TypeVar("T")

_KEY, _TOKEN = "key", "token"
_EVERY = 30.0  # seconds between two notes of the curves
_OPEN = Said(0, {})  # stands where what came of an item is not known yet


class Hub:
    """Models behind a server."""

    def __init__(self, store: Store, limits: Limits, tokens: Tokens | None = None) -> None:
        self.store, self.limits = store, limits
        self.tokens = tokens or Tokens(())
        key = self._secret(_KEY)
        self.signer = Signer(key)
        self._seeds = hmac.digest(key, b"seeds", "sha256")
        self.answers = Answers(store)
        self.commits = Commits()
        self.metrics = Metrics()
        self.paths = (os.path.realpath(store._where), store._where)
        """Where the store lies; answers do not say."""
        self.names = set(store.models())
        self.models: dict[str, Served] = {}
        self.is_ready = False
        self.started = time()
        self._resting: dict[str, asyncio.Event] = {}
        self._pool = ThreadPoolExecutor(4, "belated-serve")
        self._stopping = threading.Event()
        self._keeper: threading.Thread | None = None

    def _secret(self, name: str) -> bytes:
        """Return the key of the store, which is made when it is first asked for."""
        found = self.store.notes(name)
        if found:
            return found[0].body
        key = secrets.token_bytes(32)
        self.store.keep(name, key)
        return key

    def own_token(self, anew: bool = False) -> str | None:
        """Let in the token that the store itself has; return it where it was made just now."""
        found = [] if anew else self.store.notes(_TOKEN)
        if found:
            self.tokens = Tokens((*self.tokens.known, checked(json.loads(found[0].body))))
            return None
        secret, token = made("owner", ("admin",))
        self.store.keep(_TOKEN, json.dumps(token.to_dict()).encode())
        self.tokens = Tokens((*self.tokens.known, token))
        return secret

    # --- Beginning and end ----------------------------------------------------------------------

    def warm(self) -> None:
        """Bring every model back, compile what it needs, and begin to watch."""
        self.answers.load()
        for name in sorted(self.names):
            if self._stopping.is_set():
                return
            self.load(name)
        self.is_ready = True
        self._keeper = threading.Thread(target=self._keep, name="belated-watch", daemon=True)
        self._keeper.start()

    def load(self, name: str) -> Served:
        """Return a model; one that is not in memory is recovered."""
        served = self.models.get(name)
        if served is None:
            served = Served(self.store.model(name), self.signer, self.limits)
            for note in self.store.notes(served.note_name):
                if note.name == served.note_name:
                    served.restore(note.body)
            served.read_tail()
            served = self.models.setdefault(name, served)
        return served

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
                except BelatedError:  # it was deleted, or the disk is full: there is a next time
                    continue
            if turn % 3600 == 0:
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
        self._pool.shutdown()
        for served in self.models.values():
            if served.watch.is_changed:
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
        if name not in self.names:
            raise UnknownModel(f"there is no model {name!r}")
        return await self.work(self.load, name)

    async def create(self, name: str, kind: Any, settings: Any) -> tuple[Served, bool]:
        """Put a model into the store, or return it if it is there; and whether it is new."""
        async with _Rest(self, specs.name(name)):
            is_new = name not in self.names
            if is_new and len(self.names) >= self.limits.models:
                raise Refused(
                    409, "too_many_models", f"there are {self.limits.models} models; delete one"
                )
            model = await self.work(self._made, name, kind, settings)
            try:
                await self.work(self.store.model, name, model)
            except SpecError as error:
                raise Refused(
                    409,
                    "other_settings",
                    f"there is a model {name!r} with other settings: POST /models/{name}/replay "
                    "builds one with these from its log",
                ) from error
            self.names.add(name)
            return await self.work(self.load, name), is_new

    def _made(self, name: str, kind: Any, settings: Any) -> Any:
        seed = hmac.digest(self._seeds, name.encode(), "sha256")
        return specs.made(kind, settings, int.from_bytes(seed[:8], "big"), self.limits)

    async def delete(self, name: str) -> None:
        """Remove a model with its log."""
        async with _Rest(self, name):
            await self.work(self.store.delete, name)
            self.names.discard(name)
            self.models.pop(name, None)

    async def replay(self, name: str, kind: Any, settings: Any, to: str) -> Served:
        """Build a model with other settings from the log of one."""
        async with _Rest(self, name):
            model = await self.work(self._made, to, kind, settings)
            if to != name and len(self.names) >= self.limits.models:
                raise Refused(
                    409, "too_many_models", f"there are {self.limits.models} models; delete one"
                )
            await self.work(lambda: self.store.replay(name, model, to=specs.name(to)))
            self.names.add(to)
            self.models.pop(to, None)
            return await self.work(self.load, to)

    async def bring(self, name: str, path: str) -> Served:
        """Put a model that was exported into the store."""
        async with _Rest(self, specs.name(name)):
            if len(self.names) >= self.limits.models:
                raise Refused(
                    409, "too_many_models", f"there are {self.limits.models} models; delete one"
                )
            await self.work(self.store.load, name, path)
            self.names.add(name)
            return await self.work(self.load, name)

    # --- Events ---------------------------------------------------------------------------------

    async def apply(
        self, served: Served, verb: str, items: list[Any], token: Token, known: Known
    ) -> list[Said]:
        """Apply items in order, commit them together, and return what came of each."""
        reader, now = served.reader, time()
        reader.check(verb)
        said: list[Said] = []
        places: list[int] = []
        calls: list[Call] = []
        room = self.limits.open - served.open if verb in ASKING else 0
        for item in items:
            try:
                call = reader.call(verb, item, token.may("admin"))
                if verb in ASKING and room <= len(calls):
                    raise Refused(
                        429,
                        "too_many_open",
                        f"{self.limits.open} tickets are open; answer or cancel some, or give the "
                        "model a deadline",
                    )
            except (BelatedError, Refused) as error:
                said.append(refused(error))
            else:
                places.append(len(said))
                said.append(_OPEN)
                calls.append(call)

        def noted(answers: list[Any]) -> tuple[str, bytes]:
            for place, answer, call in zip(places, answers, calls, strict=True):
                said[place] = served.said(call, answer)
            return known.note(said)

        if not calls:
            return said
        pending = served.stored.begin_many(calls, noted if known.name else None)
        if said[places[0]] is _OPEN:  # no note was written
            for place, answer, call in zip(places, pending.answer, calls, strict=True):
                said[place] = served.said(call, answer)
        for event, answer in zip(pending.events, pending.answer, strict=True):
            if event is not None:
                served.watched(event, answer, now)
        await self.commits.wait(pending)
        for one in said:
            self.metrics.events[served.name, verb, one.body["outcome"]] += 1
        return said

    def families(self) -> list[Family]:
        """Return what is counted of models and of the store."""
        models = [(name, self.models[name]) for name in sorted(self.models)]
        writer = self.store.writer
        return [
            (
                "belated_open_tickets",
                "gauge",
                "Tickets that wait for their answers.",
                [({"model": name}, float(each.open)) for name, each in models],
            ),
            (
                "belated_rounds_total",
                "counter",
                "Predictions and choices.",
                [({"model": name}, float(each.rounds)) for name, each in models],
            ),
            ("belated_models", "gauge", "Models.", [({}, float(len(self.names)))]),
            ("belated_commits_total", "counter", "Commits.", [({}, float(writer.commits))]),
            (
                "belated_committed_events_total",
                "counter",
                "Events in them.",
                [({}, float(writer.events))],
            ),
            (
                "belated_ready",
                "gauge",
                "Whether all models are there.",
                [({}, float(self.is_ready))],
            ),
        ]


Form = Callable[[Any], tuple[int, bytes]]
"""What came of items, to the status and the body of an answer."""


class Known:
    """A request that may come again: its name, and how its answer is kept."""

    def __init__(
        self,
        name: str = "",
        asked: bytes = b"",
        form: Form | None = None,
    ) -> None:
        self.name, self.asked, self._form = name, asked, form
        self.answer: tuple[int, bytes] | None = None

    def note(self, said: Any) -> tuple[str, bytes]:
        """Return the note that is committed with the events."""
        assert self._form is not None
        self.answer = self._form(said)
        return self.name, note_of(self.asked, *self.answer)


def known_of(token: Token, path: str, key: str, body: bytes, form: Form) -> Known:
    """Return a request with an ``Idempotency-Key``."""
    return Known(name_of(token.name, path, key), hashlib.sha256(body).digest(), form)


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
