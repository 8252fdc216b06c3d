"""The table of routes: routing, the OpenAPI description and the documentation use its lines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from belated.models.methods import METHODS
from belated.service import handlers, items, personalizer, read_handlers, schemas
from belated.service.hub import Hub
from belated.service.requests import JSON, Answer, Request
from belated.service.schemas import Plain

Handler = Callable[[Hub, Request], Awaitable[Answer]]
PARQUET = read_handlers.PARQUET


class Route(NamedTuple):
    """A line of the table: what the server does for a method and a path."""

    method: str
    path: str
    scope: str | None
    """The scope that a token must have; None: no token is needed."""
    handler: Handler
    takes: Any = None
    """The type of the body, a pair of types for one item or many, or the media type of a file."""
    gives: Any = None
    statuses: tuple[int, ...] = (200,)
    is_once: bool = False
    """Whether a repeated request with its ``Idempotency-Key`` gets the first response."""
    about: str = ""
    tag: str = "models"

    @property
    def parts(self) -> list[str]:
        """The path, split."""
        return self.path.split("/")


def _of_methods() -> list[Route]:
    """Return the routes of the methods of models: those that items call, and all others."""
    found = []
    for line in METHODS:
        path, name = f"/models/{{name}}/{line.name}", line.name
        if line.scope in ("decide", "answer"):
            takes: Any = schemas.described_item(name), schemas.described_items(name)
            gives: Any = schemas.Outcome, schemas.Outcomes
            handler: Handler = partial(items.call, verb=name)
        elif line.about:
            takes = schemas.Tick if name == "tick" else None
            gives = schemas.Ticked if name == "tick" else schemas.CurrentMode
            handler = partial(handlers.change, verb=name)
        else:
            continue
        found.append(
            Route(
                "POST", path, line.scope, handler, takes, gives, (200,), True, line.about, "events"
            )
        )
    return found


def _personalizer(path: str, handler: Handler, takes: Any, gives: Any) -> list[Route]:
    status, scope = (201, "decide") if gives else (204, "answer")
    return [
        Route("POST", where, scope, handler, takes, gives, (status,), True, tag="personalizer")
        for where in (path, f"/models/{{name}}{path}")
    ]


def _line(line: str, scope: str | None, handler: Handler, *types: Any, **more: Any) -> Route:
    """Return a route from its method and path; ``...`` stands for the path of a model."""
    method, path = line.split()
    return Route(method, path.replace("...", "/models/{name}"), scope, handler, *types, **more)


def _look(line: str, what: str, gives: Any, about: str) -> Route:
    handler = partial(read_handlers.look, what=what)
    return _line(line, "read", handler, None, gives, about=about)


def _page(path: str, name: str, kind: str, about: str) -> Route:
    handler = partial(read_handlers.page, name=name, kind=kind)
    return _line(f"GET {path}", None, handler, None, kind, about=about, tag="server")


_to, _of, _r = schemas, handlers, read_handlers  # short names, so that a route is a line
_ONCE: dict[str, Any] = {"is_once": True}
_SERVER: dict[str, Any] = {"tag": "server"}
ROUTES: tuple[Route, ...] = (
    *_of_methods(),
    _line("GET /models", "read", _r.list_models, None, _to.Models),
    _line(*("POST /models", "admin", _of.create_model, _to.Create, _to.Model, (200, 201)), **_ONCE),
    _look("GET ...", "about", _to.Model, "Return what a model is."),
    _line("DELETE ...", "admin", _of.delete_model, statuses=(204,), **_ONCE),
    _line("POST .../rebuild", "admin", _of.rebuild_model, _to.Rebuild, _to.Model, **_ONCE),
    _line("POST .../import", "admin", _of.import_model, PARQUET, _to.Model, (201,), **_ONCE),
    _line("GET .../export", "admin", _r.export_model, None, PARQUET),
    _line("PUT .../mode", "admin", _of.set_mode, _to.SetMode, _to.CurrentMode),
    _line("PUT .../rewards", "admin", _of.set_rewards, _to.Rewards, _to.Rewards),
    _look("GET .../report", "report", Plain, "Return counts, delays, and how well it does."),
    _look(
        *("GET .../timeline", "timeline", Plain),
        "Return the newest tickets, and how old answers were.",
    ),
    _look("GET .../live", "live", Plain, "Return what the dashboard shows of a model."),
    _line("GET .../evaluate", "read", _r.evaluate_model, None, Plain),
    _line("POST .../peek", "read", _r.peek, _to.Peek, _to.Peeked),
    _line("POST .../explain", "read", _r.explain, _to.Explain, _to.Explained),
    _line("POST .../weights", "read", _r.weights, _to.Weights, _to.Weighed),
    _line("POST .../expect", "read", _r.expect, _to.Expect, _to.Expected),
    _line("POST .../choice", "read", _r.choice, _to.WhichChoice, _to.Outcome),
    *_personalizer("/rank", personalizer.rank, _to.Rank, _to.Ranking),
    *_personalizer("/events/{event}/reward", personalizer.reward, _to.Reward, None),
    *_personalizer("/events/{event}/activate", personalizer.activate, None, None),
    _line("GET /health", None, _r.health, None, _to.Status, **_SERVER),
    _line("GET /ready", None, _r.ready, None, _to.Status, **_SERVER),
    _line("GET /metrics", "read", _r.metrics, None, "text/plain", **_SERVER),
    _line("GET /openapi.json", None, _r.openapi, None, JSON, **_SERVER),
    _page("/", "dashboard.html", "text/html", "Return the dashboard."),
    _page("/dashboard.css", "dashboard.css", "text/css", "Return its style."),
    _page("/dashboard.js", "dashboard.js", "text/javascript", "Return its script."),
)
"""Every route."""


@lru_cache(maxsize=1000)
def find(path: str) -> tuple[dict[str, Route], dict[str, str]]:
    """Return the routes of a path by method, and its named parts.

    ``path`` is as it was sent; it is decoded part by part, so a name with a slash stays one part.
    Raises ``UnicodeDecodeError``.
    """
    sent, found, named = path.split("/"), {}, {}
    for route in ROUTES:
        parts = route.parts
        if len(parts) == len(sent) and all(
            bool(part) if want[:1] == "{" else want == part
            for want, part in zip(parts, sent, strict=True)
        ):
            found[route.method] = route
            pairs = zip(parts, sent, strict=True)
            named = {
                want[1:-1]: unquote_to_bytes(part).decode()
                for want, part in pairs
                if want[:1] == "{"
            }
    return found, named
