"""Forwarding: requests for models that another server of the same database writes.

The owner of a model has written its address beside the lock (``belated.store.postgres``). A request
is forwarded as it is, with the token of its client, and once at most: a server that receives a
forwarded request does not forward it again. It has an ``Idempotency-Key``, if need be one of ours,
so that it is done once when it is tried again after a server died.

A forwarded request has a deadline, by the clock of the database, which all servers know. The owner
refuses it afterwards: a server that was stopped meanwhile must not do what the client was told has
failed. The server that forwards waits a little longer than that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from secrets import token_hex
from string import punctuation
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import quote

from belated.errors import BelatedError, SpecError, StoreInUse, StoreUnavailable
from belated.service.requests import AFTER, Answer, Refused, Request, refusal_of
from belated.service.settings import address_of
from belated.service.transport import FAILURES, Connections, NotConnected, Response
from belated.store import Store

if TYPE_CHECKING:
    from belated.service.hub import Hub

SENT_ON = b"belated-forwarded"
"""A header: the request comes from another server, and has to be done before this time."""
DEFAULT_MODEL = "rank"
"""The model of paths that name none, which are those of Personalizer."""
_PATIENCE = 30.0  # seconds to look for the owner of a model and wait for its reply
_TAKEOVER = 10.0  # seconds of them as long as the request was not sent to any server
_UNNAMED = 3.0  # seconds for a new owner to write its address; a process in Python has none
_PAUSE = 0.2  # seconds between two tries to find the owner of a model
_PASSED = (b"authorization", b"ocp-apim-subscription-key", b"content-type", b"idempotency-key")
_BACK = frozenset(
    ("content-disposition", "idempotency-replayed", "belated-outcome", "retry-after", "allow")
)
_MARGIN = 2.0  # seconds for a commit that began before the deadline, and for the reply
_CONNECT = 3.0  # seconds for a new connection
_LOOK = 1.0  # seconds between two looks whether the owner is alive
_AT_ONCE = 256  # requests
_NEW = 3.0  # seconds after which every owner that is alive is known to be
Handler = Callable[["Hub", Request], Awaitable[Answer]]


class Unreachable(Exception):
    """A server that does not answer, though it should have a model.

    ``is_sent`` tells whether it may have done the request.
    """

    def __init__(self, address: str, is_sent: bool) -> None:
        super().__init__(address)
        self.is_sent = is_sent


class Forwarding:
    """Sends requests to other servers that share a store."""

    def __init__(self, hub: Hub) -> None:
        self._hub, self._store = hub, hub.store
        self._connections: dict[str, Connections] = {}
        self._threads = ThreadPoolExecutor(_AT_ONCE, "belated-forwarding")

    async def answer(self, handler: Handler, request: Request) -> Answer:
        """Answer a request, or forward it to the server that writes its model.

        Where that server is dead this one takes the model over, as soon as the database lets it.
        """
        check_deadline(self._store, request.raw(SENT_ON))
        begin, is_sent = monotonic(), False
        while monotonic() < begin + (_PATIENCE if is_sent else _TAKEOVER):
            try:
                answer = await self._answer_once(handler, request, begin + _PATIENCE)
            except Unreachable as error:
                is_sent = is_sent or error.is_sent
            except BelatedError as error:
                if is_sent and refusal_of(error).status == 503:
                    raise _unknown() from error
                is_unnamed = isinstance(error, StoreInUse) and error.address is None
                is_forwarded = request.raw(SENT_ON) is not None
                if not is_unnamed or is_forwarded or monotonic() > begin + _UNNAMED:
                    raise
            else:
                if is_sent and answer.status == 503:
                    raise _unknown()
                return answer
            await asyncio.sleep(_PAUSE)
        if is_sent:
            raise _unknown()
        raise Refused(503, "owner_gone", "the server that writes the model does not answer", AFTER)

    async def _answer_once(self, handler: Handler, request: Request, until: float) -> Answer:
        try:
            return await handler(self._hub, request)
        except StoreInUse as error:
            asked = request.path.get("name")
            name = error.model or asked or DEFAULT_MODEL
            self._hub.lose(name, error.address)
            if error.address is None or request.raw(SENT_ON) is not None:
                raise
            if asked not in (None, name):  # a rebuild into a model of another server
                raise
            if not error.address:  # it was released, and is left to other servers for a moment
                raise Unreachable("", is_sent=False) from error
            try:
                return await self._send(request, error.address, until)
            except Unreachable:  # it may have died, and then the model can be taken over
                self._hub.lose(name, None)
                raise

    async def _send(self, request: Request, address: str, until: float) -> Answer:
        """Return what another server replies, or raise ``Unreachable``.

        It does not wait for longer than the owner is alive, nor than ``until``, a time of
        ``monotonic``.
        """
        if request.raw(b"idempotency-key") is None:
            request.add_header(b"idempotency-key", token_hex(16).encode())
        connections = self._connections.get(address)
        if connections is None:
            await self._drop_gone()
            try:
                connections = Connections(address_of(address), connect_timeout=_CONNECT)
            except SpecError as error:
                raise Unreachable(address, is_sent=False) from error
            connections = self._connections.setdefault(address, connections)
        content = await request.body()
        wait = until - monotonic()
        passed = {
            name.decode(): value.decode("latin-1")
            for name, value in request.scope["headers"]
            if name in _PASSED
        }
        passed[SENT_ON.decode()] = f"{self._store.clock + wait - _MARGIN:.3f}"
        query = request.scope.get("query_string", b"").decode("latin-1")
        where = (request.where + (f"?{query}" if query else "")).encode("latin-1")
        target = quote(where, safe=punctuation)
        sent = request.method, target, content, passed, wait
        loop = asyncio.get_running_loop()
        exchange = loop.run_in_executor(self._threads, connections.exchange, *sent)
        try:
            reply = await self._reply(exchange, address, until)
        except FAILURES as error:
            raise Unreachable(address, not isinstance(error, NotConnected)) from error
        finally:
            exchange.cancel()
        headers = tuple((name, reply.headers[name]) for name in _BACK & reply.headers.keys())
        kind = reply.headers.get("content-type", "application/json")
        answer = Answer(reply.status, reply.body, kind, headers)
        if answer.status == 503 and answer.code == "written_elsewhere":
            raise Unreachable(address, is_sent=False)  # it was the owner until just now
        return answer

    async def _reply(
        self, exchange: asyncio.Future[Response], address: str, until: float
    ) -> Response:
        begin = monotonic()
        while True:
            done, _ = await asyncio.wait((exchange,), timeout=_LOOK)
            if done:
                return exchange.result()
            now = monotonic()
            try:
                self._store.check()
            except StoreUnavailable as error:
                raise Unreachable(address, is_sent=True) from error
            is_alive = now < begin + _NEW or self._store.is_alive(address)
            if not is_alive:
                await self._drop_gone()  # which ends the threads that wait for it
            if now > until or not is_alive:
                raise Unreachable(address, is_sent=True)

    async def _drop_gone(self) -> None:
        for address in list(self._connections):
            if not self._store.is_alive(address):
                self._connections.pop(address).abort()

    def close(self) -> None:
        for connections in self._connections.values():
            connections.abort()
        self._threads.shutdown(wait=False, cancel_futures=True)


def _unknown() -> Refused:
    return Refused(
        504,
        "outcome_unknown",
        "the server that writes the model did not answer: the request may or may not have been "
        "done; send it again with the same Idempotency-Key",
    )


def check_deadline(store: Store, sent_on: bytes | None) -> None:
    """Refuse a forwarded request whose sender does not wait for it any more."""
    try:
        is_late = sent_on is not None and not store.clock <= float(sent_on)  # NaN is late
    except ValueError:
        is_late = True
    if is_late:
        raise Refused(503, "too_late", "the server that forwarded the request waits no longer")
