"""The server as an ASGI application: access, routes, and one shape for every refusal."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import traceback
from collections.abc import Awaitable, Callable
from time import monotonic, perf_counter
from typing import Any

from belated.errors import BelatedError, StoreError, StoreInUse
from belated.service.auth import Rates, Token
from belated.service.forwarding import (
    PATIENCE,
    SENT_ON,
    Forwarding,
    Unreachable,
    check_deadline,
)
from belated.service.hub import Hub
from belated.service.journal import Journal
from belated.service.personalizer import MODEL
from belated.service.refusals import Refused, code_of, refusal_of
from belated.service.requests import (
    AFTER,
    Answer,
    Receive,
    Request,
    Route,
    Scope,
    Send,
    headers_of,
    no,
)
from belated.service.routes import Table

_OLD = "/personalizer/"  # paths began so: /personalizer/v1.0/rank
_SHOWN = (b"authorization", b"ocp-apim-subscription-key")  # headers that may have a token
_PAUSE = 0.2  # seconds between two tries to find the owner of a model
_TAKEOVER = 10.0  # seconds for all of them, as long as the request was not sent to anyone
_FAILURES = 10.0  # per second and address


class App:
    """Answers requests."""

    def __init__(self, hub: Hub, journal: Journal | None = None) -> None:
        self.hub = hub
        self.journal = journal or Journal()
        self.table = Table()
        self._rates = Rates(hub.limits.rate)
        self._failures = Rates(_FAILURES)
        self._forwarding = Forwarding(hub.store)
        self.at_once = 0
        """Requests that are being answered."""
        self.is_plain = False
        """Whether a connection ends with its answer, as there is no limit on waiting requests."""
        self.on_start: Callable[[], Awaitable[None]] | None = None
        self.on_stop: Callable[[], Awaitable[None]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or begin and end."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                if self.on_start is not None:
                    await self.on_start()
                await send({"type": "lifespan.startup.complete"})
            else:
                if self.on_stop is not None:
                    await self.on_stop()
                await self._forwarding.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def answer(self, route: Route, request: Request) -> Answer:
        """Answer a request that was read and let in already."""
        try:
            return await self._here_or_there(route, request)
        except Exception as error:
            return self.refusal(error, route)

    def request(self, route: Route, where: str, headers: list[tuple[bytes, bytes]]) -> Request:
        """Return a request that was read by another, less its body."""
        scope = {"method": route.method, "raw_path": where.encode(), "headers": headers}
        return Request(scope, _nothing, self.hub.limits, where)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        begin = perf_counter()
        request = Request(scope, receive, self.hub.limits)
        self.at_once += 1
        route: Route | None = None
        try:
            route = self._route(request)
            given = await self._answered(route, request)
        except Exception as error:
            given = self.refusal(error, route)
        finally:
            self.at_once -= 1
        is_last = self.is_plain or request.is_abandoned  # what is left of a body is not read
        headers = headers_of(given, is_last)
        await send({"type": "http.response.start", "status": given.status, "headers": headers})
        await send({"type": "http.response.body", "body": given.body})
        self.note(route, given, begin, scope["method"], scope["path"], request.token)

    def note(
        self,
        route: Route | None,
        given: Answer,
        begin: float,
        method: str,
        path: str,
        token: Token | None,
    ) -> None:
        """Count a request, and write it down, where that is wanted."""
        took = perf_counter() - begin
        where = "none" if route is None else route.path
        self.hub.metrics.request(where, given.status, took)
        if not self.journal.is_quiet:
            code = {"code": code_of(given.body)} if given.status >= 400 else {}
            self.journal.say(
                "request",
                method=method,
                route=where,
                path=path[:200],
                status=given.status,
                **code,
                ms=round(1000.0 * took, 2),
                token=token and token.name,
            )

    def refusal(self, error: Exception, route: Route | None) -> Answer:
        """Return what a client is told of whatever went wrong."""
        if isinstance(error, Refused):
            return no(error)
        if type(error) is StoreError and isinstance(error.__cause__, OSError):
            error = error.__cause__  # of a file beside the store, such as a log that is exported
        if isinstance(error, BelatedError):
            return no(self._refusal(error, route))
        if isinstance(error, OSError):
            return no(self._of_system(error))
        trace = "".join(traceback.format_exception(error))
        self.journal.say("failed", route=route and route.path, trace=trace)
        return no(Refused(500, "failed", "the server failed; its log says how"))

    def _of_system(self, error: OSError) -> Refused:
        """Return what a client is told where the system would not do something."""
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return Refused(507, "disk_full", "there is no space left on a disk of the server")
        self.journal.say("failed", trace="".join(traceback.format_exception(error)))
        return Refused(500, "failed", "the server failed; its log says how")

    def _refusal(self, error: BelatedError, route: Route | None) -> Refused:
        """Return what a client is told, without the path of the store."""
        refused = refusal_of(error)
        if refused.status == 500:
            self.journal.say("failed", route=route and route.path, message=str(error))
        for path in self.hub.paths:
            refused.message = refused.message.replace(path, "the store")
        return refused

    async def _answered(self, route: Route, request: Request) -> Answer:
        if route.scope is not None:
            request.token = self._let_in(route.scope, request)
        return await self._here_or_there(route, request)

    async def _here_or_there(self, route: Route, request: Request) -> Answer:
        """Answer a request, or forward it to the server that writes its model.

        Where that server is dead this one takes the model over, as soon as the database lets it.
        """
        check_deadline(self.hub.store, request.raw(SENT_ON))
        begin, is_sent = monotonic(), False
        until = begin + PATIENCE
        while monotonic() < (until if is_sent else begin + _TAKEOVER):
            try:
                given = await self._once_here_or_there(route, request, until)
            except Unreachable as error:
                is_sent = is_sent or error.is_sent
            except BelatedError as error:
                if is_sent and refusal_of(error).status == 503:
                    raise _unknown() from error
                raise
            else:
                if is_sent and given.status == 503:
                    raise _unknown()
                return given
            await asyncio.sleep(_PAUSE)
        if is_sent:
            raise _unknown()
        raise Refused(503, "owner_gone", "the server that writes the model does not answer", AFTER)

    async def _once_here_or_there(self, route: Route, request: Request, until: float) -> Answer:
        try:
            return await route.handler(self.hub, request)
        except StoreInUse as error:
            asked = request.path.get("name")
            name = error.model or asked or MODEL
            self.hub.lose(name, error.address)
            if error.address is None or request.header(SENT_ON) is not None:
                raise
            if asked not in (None, name):  # a rebuild into a model of another server
                raise
            try:
                return await self._forwarding.send(request, error.address, until)
            except Unreachable:  # it may have died, and then the model can be taken over
                self.hub.look_again(name)
                raise

    def _route(self, request: Request) -> Route:
        scope = request.scope
        path = scope.get("raw_path", b"").partition(b"?")[0].decode("latin-1")
        if path.startswith(_OLD):
            path = "/" + path[len(_OLD) :].partition("/")[2]
        request.where = path
        try:
            route, request.path, allowed = self.table.find(request.method, path)
        except UnicodeDecodeError:
            raise Refused(400, "bad_path", "the path is not UTF-8") from None
        if route is not None:
            return route
        if allowed:
            methods = ", ".join(sorted({*allowed, *(["HEAD"] if "GET" in allowed else ())}))
            raise Refused(405, "bad_method", f"this has {methods}", (("allow", methods),))
        raise Refused(404, "no_such_route", "there is nothing here; see /openapi.json")

    def token_of(self, header: Callable[[bytes], bytes | None]) -> Token | None:
        """Return the token that a request shows, if it is known."""
        tokens, shown = self.hub.tokens, header(b"authorization")
        if shown is not None and shown[:7].lower() == b"bearer ":
            return tokens.shown(shown)
        secret = header(b"ocp-apim-subscription-key")
        return tokens.find(secret.decode("latin-1").strip()) if secret else None

    def _let_in(self, scope: str, request: Request) -> Token:
        """Return the token of a request that may do what it asks for."""
        token = self.token_of(request.raw)
        if token is not None:
            self.check(token, scope)
            return token
        address = (request.scope.get("client") or ("?",))[0]
        if not self._failures.take(_network_of(address), monotonic()):
            raise Refused(429, "too_many_failures", "too many wrong tokens", AFTER)
        shown = any(request.raw(name) is not None for name in _SHOWN)
        raise Refused(
            401,
            "no_token",
            f"{'this token is not known' if shown else 'give a token'}: Authorization: Bearer ...",
            (("www-authenticate", "Bearer"),),
        )

    def check(self, token: Token, scope: str) -> None:
        """Refuse what a token may not do, or not now."""
        if not token.may(scope):
            raise Refused(403, "forbidden", f"this needs the scope {scope}")
        if not self._rates.take(token.name, monotonic()):
            raise Refused(429, "too_many_requests", "too many requests", AFTER)
        if self.at_once > self.hub.limits.at_once:
            raise Refused(429, "busy", "too many requests at once", AFTER)


def _unknown() -> Refused:
    return Refused(
        504,
        "outcome_unknown",
        "the server that writes the model did not answer: the request may or may not have been "
        "done; send it again with the same Idempotency-Key",
    )


def _network_of(address: str) -> str:
    """Return what wrong tokens are counted by: an address; of IPv6 the /64 that one client has.

    >>> _network_of("192.0.2.7"), _network_of("2001:db8::7")
    ('192.0.2.7', '2001:db8::/64')
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address) or found.ipv4_mapped is not None:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False))


async def _nothing() -> dict[str, Any]:
    return {"type": "http.request"}
