"""The server as an ASGI application: routing, access, refusals and the access log."""

from __future__ import annotations

import asyncio
import errno
import hmac
import ipaddress
import json
import logging
import math
import sys
import traceback
from bisect import bisect_left
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from time import monotonic, perf_counter
from typing import Any, Self, TextIO

from belated.errors import BelatedError, StoreError
from belated.service import auth
from belated.service.forwarding import Forwarding
from belated.service.hub import Hub
from belated.service.metrics import LIMITS
from belated.service.requests import (
    AFTER,
    JSON,
    Answer,
    Reading,
    Receive,
    Refused,
    Request,
    Scope,
    Send,
    encode,
    refusal_of,
)
from belated.service.routes import Route, find
from belated.service.settings import LogFormat

_OLD = "/personalizer/"  # paths began so: /personalizer/v1.0/rank
_SUBSCRIPTION = b"ocp-apim-subscription-key"  # a header that may have the token
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


class AccessLog:
    """Writes lines to a stream; ``quiet`` writes nothing but failures of the server itself.

    Values are written as JSON has them, so that a line is always one line.
    """

    def __init__(self, form: LogFormat = "quiet", stream: TextIO | None = None) -> None:
        self._form, self._stream = form, stream
        self.is_quiet = form == "quiet"
        """Whether requests are left out."""

    def write(self, what: str, **about: Any) -> None:
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        if self._form == "json":
            line = json.dumps({"time": moment, "what": what, **about})
        else:
            said = " ".join(f"{name}={json.dumps(value)}" for name, value in about.items())
            line = f"{moment} {what} {said}"
        with suppress(OSError, ValueError):  # full, or closed: requests do not wait for a log
            print(line, file=self._stream or sys.stderr, flush=True)


class LogForwarder(logging.Handler):
    """Forwards warnings of the server library and of the store to the access log alone."""

    LOGGERS = ("uvicorn", "belated")

    def __init__(self, access_log: AccessLog) -> None:
        super().__init__(logging.WARNING)
        self._access_log = access_log
        self._before: dict[str, bool] = {}  # whether others wrote these lines too

    def __enter__(self) -> Self:
        for name in self.LOGGERS:
            logger = logging.getLogger(name)
            logger.addHandler(self)
            self._before[name], logger.propagate = logger.propagate, False
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.LOGGERS:
            logger = logging.getLogger(name)
            logger.removeHandler(self)
            logger.propagate = self._before[name]

    def emit(self, record: logging.LogRecord) -> None:
        about = {"level": record.levelname.lower(), "by": record.name}
        if hasattr(record, "code"):  # of a refusal
            about["code"] = record.code
        if record.exc_info:
            about["trace"] = logging.Formatter().formatException(record.exc_info)
        self._access_log.write("logged", **about, message=record.getMessage())


class App:
    """Answers requests."""

    def __init__(self, hub: Hub, access_log: AccessLog | None = None) -> None:
        self.hub = hub
        self.access_log = access_log or AccessLog()
        self._rates = auth.Rates(hub.limits.rate) if hub.limits.rate else None
        self._failures = auth.Rates(_FAILURES)
        self._last: tuple[bytes, auth.Token] | None = None  # the header that was let in last
        self._forwarding = Forwarding(hub)
        self.at_once = 0
        """Requests that are being answered."""
        self._reading = Reading()
        self.is_stopping: Callable[[], bool] = lambda: False
        self.on_start: Callable[[], Awaitable[None]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
        self._forwarding.close()
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
        token: auth.Token | None = None
        try:
            route = self._route(request)
            if route.scope is not None:
                token = request.token = self._let_in(route, request)
            if self.hub.store.is_shared:
                answer = await self._forwarding.answer(route.handler, request)
            else:
                answer = await route.handler(self.hub, request)
        except Exception as error:
            refused = self._refused(error, route)
            headers = refused.headers or (AFTER if refused.status == 503 else ())
            answer = Answer(refused.status, encode(refused.to_dict()), headers=headers)
        finally:
            self.at_once -= 1
        found = [(name.encode(), value.encode("latin-1")) for name, value in answer.headers]
        if answer.status != 204:
            found.append((b"content-type", answer.kind.encode()))
            found.append((b"content-length", b"%d" % len(answer.body)))
        if request.method != "GET":  # browsers neither keep nor show it: each header takes h11 4 us
            found += _SAFE[:1]
        else:
            found += _SAFE if answer.kind == JSON else _SAFE_PAGE
        await send({"type": "http.response.start", "status": answer.status, "headers": found})
        await send({"type": "http.response.body", "body": answer.body})
        took, where = perf_counter() - begin, "none" if route is None else route.path
        metrics = self.hub.metrics
        metrics.requests[where, str(answer.status)] += 1
        metrics.times[bisect_left(LIMITS, took)] += 1
        metrics.seconds += took
        if not self.access_log.is_quiet:
            self.access_log.write(
                "request",
                method=scope["method"],
                route=where,
                path=scope["path"][:200],
                status=answer.status,
                **({"code": answer.code} if answer.status >= 400 else {}),
                ms=round(1000.0 * took, 2),
                token=token and token.name,
            )

    def _refused(self, error: Exception, route: Route | None) -> Refused:
        """Return what a client is told of any error, without the path of the store."""
        if isinstance(error, Refused):
            return error
        if type(error) is StoreError and isinstance(error.__cause__, OSError):
            error = error.__cause__  # of a file beside the store, such as a log that is exported
        if isinstance(error, BelatedError):
            refused = refusal_of(error)
            if refused.status == 500:
                self.access_log.write("failed", route=route and route.path, message=str(error))
            for path in self.hub.paths:
                refused.message = refused.message.replace(path, "the store")
            return refused
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return Refused(507, "disk_full", "there is no space left on a disk of the server")
        trace = "".join(traceback.format_exception(error))
        self.access_log.write("failed", route=route and route.path, trace=trace)
        return Refused(500, "failed", "the server failed; its log says how")

    def _route(self, request: Request) -> Route:
        path = request.where
        is_chunked = request.raw(b"transfer-encoding") is not None
        if is_chunked and request.raw(b"content-length") is not None:  # request smuggling
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

    # --- Access ---------------------------------------------------------------------------------

    def _let_in(self, route: Route, request: Request) -> auth.Token:
        """Return the token of a request, which may do what it asks for."""
        token = self._token(request)
        if token is None:
            raise self._no_token(route, request)
        if route.scope not in token.scopes:
            raise Refused(403, "forbidden", f"this needs the scope {route.scope}")
        if self._rates is not None and not self._rates.take(token.name, monotonic()):
            raise Refused(429, "too_many_requests", "too many requests", AFTER)
        if self.at_once > self.hub.limits.at_once:
            raise Refused(429, "busy", "too many requests at once", AFTER)
        return token

    def _token(self, request: Request) -> auth.Token | None:
        """Return the token that a request shows, if it is known.

        Most requests come from few clients, so that the header that was let in last is compared
        first: all of it, in constant time.
        """
        shown, last = request.raw(b"authorization"), self._last
        if shown is None or shown[:7].lower() != b"bearer ":
            secret = request.header(_SUBSCRIPTION)
            return auth.find(self.hub.tokens, secret.strip()) if secret else None
        if last is not None and hmac.compare_digest(shown, last[0]):
            return last[1]
        token = auth.find(self.hub.tokens, shown[7:].decode("latin-1").strip())
        self._last = last if token is None else (shown, token)
        return token

    def _no_token(self, route: Route, request: Request) -> Refused:
        address = (request.scope.get("client") or ("?",))[0]
        if not self._failures.take(_network_of(address), monotonic()):
            return Refused(429, "too_many_failures", "too many wrong tokens", AFTER)
        is_old = route.tag == "personalizer"
        header = "Ocp-Apim-Subscription-Key: ..." if is_old else "Authorization: Bearer ..."
        is_shown = any(request.raw(name) is not None for name in (b"authorization", _SUBSCRIPTION))
        said = "this token is not known" if is_shown else "give a token"
        return Refused(401, "no_token", f"{said}: {header}", (("www-authenticate", "Bearer"),))


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
