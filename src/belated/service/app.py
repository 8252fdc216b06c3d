"""The server as an ASGI application: routing, access, forwarding, and one shape for refusals."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import math
import traceback
from collections.abc import Awaitable, Callable
from time import monotonic, perf_counter

from belated.errors import BelatedError, StoreError, StoreInUse
from belated.service.access_log import AccessLog
from belated.service.auth import Rates, Token
from belated.service.forwarding import PATIENCE, SENT_ON, Forwarding, Unreachable, check_deadline
from belated.service.hub import Hub
from belated.service.personalizer import MODEL
from belated.service.refusals import Refused, code_of, refusal_of
from belated.service.requests import AFTER, JSON, Answer, Reading, Receive, Request, Scope, Send
from belated.service.routes import Route, find
from belated.service.schemas import encode

_OLD = "/personalizer/"  # paths began so: /personalizer/v1.0/rank
_SHOWN = (b"authorization", b"ocp-apim-subscription-key")  # headers that may have a token
_PAUSE = 0.2  # seconds between two tries to find the owner of a model
_TAKEOVER = 10.0  # seconds for all of them, as long as the request was not sent to anyone
_LOOK = 0.1  # seconds between two looks at bodies that take too long
_FAILURES = 10.0  # per second and address
_SAFE = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]
_SAFE_PAGE = [
    *_SAFE[:2],
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        b"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class App:
    """Answers requests."""

    def __init__(self, hub: Hub, access_log: AccessLog | None = None) -> None:
        self.hub = hub
        self.access_log = access_log or AccessLog()
        self._rates = Rates(hub.limits.rate)
        self._failures = Rates(_FAILURES)
        self._forwarding = Forwarding(hub.store)
        self.at_once = 0
        """Requests that are being answered."""
        self._reading = Reading()
        self.is_stopping: Callable[[], bool] = lambda: False
        self.on_start: Callable[[], Awaitable[None]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or begin and end."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        if self.on_start is not None:
            await self.on_start()
        await send({"type": "lifespan.startup.complete"})
        giving_up = asyncio.create_task(self._give_up())
        await receive()
        giving_up.cancel()
        await self._forwarding.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _give_up(self) -> None:
        """End requests whose bodies take too long, or are not there when the server stops."""
        while True:
            await asyncio.sleep(_LOOK)
            now = asyncio.get_running_loop().time()
            self._reading.give_up(math.inf if self.is_stopping() else now)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        begin = perf_counter()
        request = Request(scope, receive, self.hub.limits, self._reading)
        self.at_once += 1
        route: Route | None = None
        try:
            route = self._route(request)
            if route.scope is not None:
                request.token = self._let_in(route, request)
            answer = await self._here_or_there(route, request)
        except Exception as error:
            answer = self._refusal(error, route)
        finally:
            self.at_once -= 1
        headers = [(name.encode(), value.encode("latin-1")) for name, value in answer.headers]
        if answer.status != 204:
            headers.append((b"content-type", answer.kind.encode()))
            headers.append((b"content-length", b"%d" % len(answer.body)))
        if request.method != "GET":  # browsers neither keep nor show it: each header takes h11 4 us
            headers += _SAFE[:1]
        else:
            headers += _SAFE if answer.kind == JSON else _SAFE_PAGE
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})
        self._note(route, answer, perf_counter() - begin, request)

    def _note(self, route: Route | None, answer: Answer, took: float, request: Request) -> None:
        """Count a request, and write it to the access_log if it takes requests."""
        where = "none" if route is None else route.path
        self.hub.metrics.request(where, answer.status, took)
        if not self.access_log.is_quiet:
            code = {"code": code_of(answer.body)} if answer.status >= 400 else {}
            self.access_log.write(
                "request",
                method=request.scope["method"],
                route=where,
                path=request.scope["path"][:200],
                status=answer.status,
                **code,
                ms=round(1000.0 * took, 2),
                token=request.token and request.token.name,
            )

    # --- Refusals -------------------------------------------------------------------------------

    def _refusal(self, error: Exception, route: Route | None) -> Answer:
        """Return what a client is told of any error."""
        refused = self._refused(error, route)
        headers = refused.headers
        if refused.status == 503 and not headers:
            headers = AFTER
        return Answer(refused.status, encode(refused.to_dict()), headers=headers)

    def _refused(self, error: Exception, route: Route | None) -> Refused:
        if isinstance(error, Refused):
            return error
        if type(error) is StoreError and isinstance(error.__cause__, OSError):
            error = error.__cause__  # of a file beside the store, such as a log that is exported
        if isinstance(error, BelatedError):
            return self._of_ours(error, route)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return Refused(507, "disk_full", "there is no space left on a disk of the server")
        trace = "".join(traceback.format_exception(error))
        self.access_log.write("failed", route=route and route.path, trace=trace)
        return Refused(500, "failed", "the server failed; its log says how")

    def _of_ours(self, error: BelatedError, route: Route | None) -> Refused:
        """Return what a client is told of an error of ours, without the path of the store."""
        refused = refusal_of(error)
        if refused.status == 500:
            self.access_log.write("failed", route=route and route.path, message=str(error))
        for path in self.hub.paths:
            refused.message = refused.message.replace(path, "the store")
        return refused

    # --- Where a request is processed -----------------------------------------------------------

    def _route(self, request: Request) -> Route:
        path = request.where
        if request.has_two_lengths:
            raise Refused(400, "bad_http", "a body has one length", (("connection", "close"),))
        if path.startswith(_OLD):
            path = "/" + path[len(_OLD) :].partition("/")[2]
        try:
            routes, request.path = find(path)
        except UnicodeDecodeError:
            raise Refused(400, "bad_path", "the path is not UTF-8") from None
        route = routes.get(request.method)
        if route is not None:
            return route
        if routes:
            methods = ", ".join(sorted({*routes, *(["HEAD"] if "GET" in routes else ())}))
            raise Refused(405, "bad_method", f"this has {methods}", (("allow", methods),))
        raise Refused(404, "no_such_route", "there is nothing here; see /openapi.json")

    async def _here_or_there(self, route: Route, request: Request) -> Answer:
        """Answer a request, or forward it to the server that writes its model.

        Where that server is dead this one takes the model over, as soon as the database lets it.
        """
        if not self.hub.store.is_shared:
            return await route.handler(self.hub, request)
        check_deadline(self.hub.store, request.raw(SENT_ON))
        begin, is_sent = monotonic(), False
        until = begin + PATIENCE
        while monotonic() < (until if is_sent else begin + _TAKEOVER):
            try:
                answer = await self._once_here_or_there(route, request, until)
            except Unreachable as error:
                is_sent = is_sent or error.is_sent
            except BelatedError as error:
                if is_sent and refusal_of(error).status == 503:
                    raise _unknown() from error
                raise
            else:
                if is_sent and answer.status == 503:
                    raise _unknown()
                return answer
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

    # --- Access ---------------------------------------------------------------------------------

    def _let_in(self, route: Route, request: Request) -> Token:
        """Return the token of a request, which may do what it asks for."""
        token = self._token(request)
        if token is None:
            raise self._no_token(route, request)
        if not token.may(str(route.scope)):
            raise Refused(403, "forbidden", f"this needs the scope {route.scope}")
        if not self._rates.take(token.name, monotonic()):
            raise Refused(429, "too_many_requests", "too many requests", AFTER)
        if self.at_once > self.hub.limits.at_once:
            raise Refused(429, "busy", "too many requests at once", AFTER)
        return token

    def _token(self, request: Request) -> Token | None:
        """Return the token that a request shows, if it is known."""
        shown = request.raw(b"authorization")
        if shown is not None and shown[:7].lower() == b"bearer ":
            return self.hub.tokens.shown(shown)
        secret = request.header(b"ocp-apim-subscription-key")
        return self.hub.tokens.find(secret.strip()) if secret else None

    def _no_token(self, route: Route, request: Request) -> Refused:
        address = (request.scope.get("client") or ("?",))[0]
        if not self._failures.take(_network_of(address), monotonic()):
            return Refused(429, "too_many_failures", "too many wrong tokens", AFTER)
        is_old = route.tag == "personalizer"
        header = "Ocp-Apim-Subscription-Key: ..." if is_old else "Authorization: Bearer ..."
        is_shown = any(request.raw(name) is not None for name in _SHOWN)
        said = "this token is not known" if is_shown else "give a token"
        return Refused(401, "no_token", f"{said}: {header}", (("www-authenticate", "Bearer"),))


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
