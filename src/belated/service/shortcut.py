"""Events of requests that are there as a whole, answered without a task of their own.

Nearly all requests bring items to a model that is in memory. For those the way through a task, a
scope and its messages takes longer than what is asked for. They are read, applied and answered by
the same functions as all others, all that came in during a commit one after the other. What has to
wait for something else, such as a model that is brought back, gets a task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic, perf_counter
from typing import Any, NamedTuple
from urllib.parse import unquote

from belated.errors import StoreInUse
from belated.service import bodies
from belated.service.app import App
from belated.service.auth import Token
from belated.service.forwarding import SENT_ON, check_deadline
from belated.service.handlers import items_of
from belated.service.hub import Applied, begun, read_items
from belated.service.idempotency import NO_KEY, Form
from belated.service.requests import Answer, Route, check_plain, too_large, whole
from belated.service.served import Served
from belated.store.batches import lost, safely

_LOOK = 0.02  # seconds between two looks at what is not over

Headers = list[tuple[bytes, bytes]]
Reply = Callable[[bytes], None]
"""Gets the bytes of an answer."""


class Place(NamedTuple):
    """What a URL stands for."""

    route: Route
    verb: str
    scope: str
    name: str
    """Of the model."""
    where: str
    """The path as it was sent."""
    path: str
    """The same, decoded."""


class Shortcut:
    """Answers requests of events."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._come: list[_Asked] = []  # what is to be applied, in order
        self._long: set[asyncio.Task[None]] = set()

    def place(self, url: bytes) -> Place | None:
        """Return where a POST that may be answered on the short way goes, or None."""
        try:
            where = url.decode("ascii")
            route, named, _ = self._app.table.find("POST", where)
        except UnicodeDecodeError:
            return None
        if route is None or route.verb is None or route.scope is None or "?" in where:
            return None
        return Place(route, route.verb, route.scope, named["name"], where, unquote(where))

    def answer(self, place: Place, headers: Headers, body: bytes, reply: Reply) -> bool:
        """Take a request, and tell whether that was done.

        A stranger is left to the application, and so is who is one too many: it refuses them at
        once, while others wait for a commit. ``reply`` is called when what was done is committed,
        or when it is refused.
        """
        if self._app.at_once >= self._app.hub.limits.at_once:
            return False
        given = dict(reversed(headers))
        token = self._app.token_of(given.get)
        if token is None:
            return False
        self._app.at_once += 1
        self._come.append(_Asked(self._app, place, token, given, body, reply))
        if len(self._come) == 1:
            self._app.hub.commits.soon(self._apply)
        return True

    async def end(self, within: float) -> None:
        """Return when all that was taken is over, or after so many seconds.

        A server that stops waits for its connections itself; who has hung up has none.
        """
        until = monotonic() + within
        while self._app.at_once and monotonic() < until:
            await asyncio.sleep(_LOOK)

    def _apply(self) -> None:
        """Apply what has come."""
        come, self._come = self._come, []
        for asked in come:
            try:
                is_begun = asked.begin()
            except StoreInUse:  # the application knows where to send it
                is_begun = False
            except Exception as error:
                safely(asked.refuse, error)
                continue
            if not is_begun:
                task = asyncio.get_running_loop().create_task(asked.take_the_long_way())
                self._long.add(task)
                task.add_done_callback(self._long.discard)


class _Asked:
    """A request that is being answered."""

    __slots__ = (
        *("_app", "_applied", "_begin", "_body", "_form", "_headers", "_known", "_place", "_reply"),
        "_token",
    )

    def __init__(
        self,
        app: App,
        place: Place,
        token: Token,
        headers: dict[bytes, bytes],
        body: bytes,
        reply: Reply,
    ) -> None:
        self._begin = perf_counter()
        self._app, self._place, self._token, self._reply = app, place, token, reply
        self._headers, self._body = headers, body
        self._known = NO_KEY
        self._form: Form
        self._applied: Applied

    def begin(self) -> bool:
        """Apply the items; False: that has to wait for something, and nothing was done."""
        app, hub, place = self._app, self._app.hub, self._place
        app.check(self._token, place.scope)
        if len(self._body) > hub.limits.body:
            raise too_large(hub.limits.body)
        check_plain(self._headers.get(b"content-encoding"))
        check_deadline(hub.store, self._headers.get(SENT_ON))
        served = hub.here(place.name)
        if served is None:
            return False
        items, self._form = items_of(bodies.decoded(self._body), hub)
        key = self._headers.get(b"idempotency-key")
        if key is not None:
            said, number, where = key.decode("latin-1"), served.number, place.where
            hub.check_key(said)
            self._known = hub.known(self._token, where, number, said, self._body, self._form)
            if self._known.is_busy:
                return False
            first = self._known.begin()
            if first is not None:
                self._say(first)
                return True
        applied = self._apply(served, items)
        if applied is None:
            return False
        self._applied = applied
        if self._applied.pending is None:
            self._done(None)
        else:
            hub.commits.then(self._applied.pending, self._done)
        return True

    def _apply(self, served: Served, items: list[Any]) -> Applied | None:
        """Apply items, unless that takes long or the model is in use: then return None."""
        if served.is_long(len(items), 0):
            return None
        found = read_items(self._app.hub, served, self._place.verb, items, self._token)
        if served.is_long(0, found.products) or not served.stored.try_lock(len(found.calls)):
            return None
        try:
            return begun(served, found, self._known)
        finally:
            served.stored.unlock()

    def _done(self, error: BaseException | None) -> None:
        """Say what came of the items, which are committed or lost now."""
        known, hub = self._known, self._app.hub
        try:
            self._applied.over(hub, error)
            if error is not None:
                raise lost(error)
            known.keep()
            given = Answer(*(known.answer or self._form(self._applied.said)))
        except Exception as wrong:
            self.refuse(wrong)
        else:
            known.end()
            self._say(given)

    def refuse(self, error: Exception) -> None:
        """Say what went wrong."""
        self._known.end()
        self._say(self._app.refusal(error, self._place.route))

    async def take_the_long_way(self) -> None:
        """Have the application answer."""
        self._known.end()
        place = self._place
        request = self._app.request(place.route, place.where, list(self._headers.items()))
        request.path, request.token, request.content = {"name": place.name}, self._token, self._body
        self._say(await self._app.answer(place.route, request))

    def _say(self, given: Answer) -> None:
        """Send an answer."""
        self._app.at_once -= 1
        self._reply(whole(given))
        route, path = self._place.route, self._place.path
        self._app.note(route, given, self._begin, "POST", path, self._token)
