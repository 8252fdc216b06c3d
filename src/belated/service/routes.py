"""The table of routes, and the OpenAPI description that follows from it."""

from __future__ import annotations

import re
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

import msgspec

from belated._version import __version__
from belated.models.methods import METHODS
from belated.service import handlers, items, personalizer, schemas
from belated.service.forwarding import Handler
from belated.service.handlers import PARQUET
from belated.service.requests import JSON
from belated.service.schemas import Error, Plain, Text


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
        return self.path.split("/")


def _of_methods() -> list[Route]:
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
    handler = partial(handlers.look, what=what)
    return _line(line, "read", handler, None, gives, about=about)


def _page(path: str, name: str, kind: str, about: str) -> Route:
    handler = partial(handlers.page, name=name, kind=kind)
    return _line(f"GET {path}", None, handler, None, kind, about=about, tag="server")


_to, _of = schemas, handlers  # short names, so that a route is a line
_ONCE: dict[str, Any] = {"is_once": True}
_SERVER: dict[str, Any] = {"tag": "server"}
ROUTES: tuple[Route, ...] = (
    *_of_methods(),
    _line("GET /models", "read", _of.list_models, None, _to.Models),
    _line(*("POST /models", "admin", _of.create_model, _to.Create, _to.Model, (200, 201)), **_ONCE),
    _look("GET ...", "about", _to.Model, "Return what a model is."),
    _line("DELETE ...", "admin", _of.delete_model, statuses=(204,), **_ONCE),
    _line("POST .../release", "admin", _of.release_model, statuses=(204,)),
    _line("POST .../erase", "admin", _of.erase_key, _to.Erase, _to.Erased, **_ONCE),
    _line("POST .../rebuild", "admin", _of.rebuild_model, _to.Rebuild, _to.Model, **_ONCE),
    _line("POST .../import", "admin", _of.import_model, PARQUET, _to.Model, (201,), **_ONCE),
    _line("GET .../export", "admin", _of.export_model, None, PARQUET),
    _line("PUT .../mode", "admin", _of.set_mode, _to.SetMode, _to.CurrentMode),
    _line("PUT .../rewards", "admin", _of.set_rewards, _to.Rewards, _to.Rewards),
    _look("GET .../report", "report", Plain, "Return counts, delays, and how well it does."),
    _look(
        *("GET .../timeline", "timeline", Plain),
        "Return the newest tickets, and how old answers were.",
    ),
    _look("GET .../live", "live", Plain, "Return what the dashboard shows of a model."),
    _line("GET .../evaluate", "read", _of.evaluate_model, None, Plain),
    _line("POST .../peek", "read", _of.peek, _to.Peek, _to.Peeked),
    _line("POST .../explain", "read", _of.explain, _to.Explain, _to.Explained),
    _line("POST .../weights", "read", _of.weights, _to.Weights, _to.Weighed),
    _line("POST .../expect", "read", _of.expect, _to.Expect, _to.Expected),
    _line("POST .../choice", "read", _of.choice, _to.WhichChoice, _to.Outcome),
    *_personalizer("/rank", personalizer.rank, _to.Rank, _to.Ranking),
    *_personalizer("/events/{event}/reward", personalizer.reward, _to.Reward, None),
    *_personalizer("/events/{event}/activate", personalizer.activate, None, None),
    _line("GET /health", None, _of.health, None, _to.Status, **_SERVER),
    _line("GET /ready", None, _of.ready, None, _to.Status, **_SERVER),
    _line("GET /metrics", "read", _of.metrics, None, "text/plain", **_SERVER),
    _line("GET /openapi.json", None, _of.openapi, None, JSON, **_SERVER),
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


# --- OpenAPI --------------------------------------------------------------------------------------

_NAMED = re.compile(r"{(\w+)}")
_REF = "#/components/schemas/{name}"
_KEY = "A repeated request with the same key gets the first response."


@cache
def description() -> dict[str, Any]:
    types = [Error, Text]
    for route in ROUTES:
        for each in (route.takes, route.gives):
            types += each if isinstance(each, tuple) else [each] * _is_schema(each)
    found, components = msgspec.json.schema_components(types, ref_template=_REF)
    schemas = dict(zip(map(str, types), found, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "belated",
            "version": __version__,
            "description": "Predictions and choices now, answers at any time.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _is_schema(type_: Any) -> bool:
    return type_ is not None and not isinstance(type_, str)


def _operation(route: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    text = schemas[str(Text)]
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": text}
        for name in _NAMED.findall(route.path)
    ]
    if route.is_once:
        header = {"name": "Idempotency-Key", "in": "header", "required": False, "schema": text}
        parameters.append({**header, "description": _KEY})
    given = {"description": "Done."} | _content(route.gives, schemas)
    responses = {str(status): given for status in route.statuses}
    responses["default"] = {"description": "Refused."} | _content(Error, schemas)
    found: dict[str, Any] = {
        "summary": route.about or (route.handler.__doc__ or "").partition("\n")[0],
        "operationId": _operation_id(route),
        "tags": [route.tag],
        "parameters": parameters,
        "responses": responses,
        "security": [] if route.scope is None else [{"token": []}],
    }
    if route.scope is not None:
        found["x-scope"] = route.scope
    if route.takes is not None:
        is_needed = route.takes is not _to.Tick
        found["requestBody"] = {"required": is_needed} | _content(route.takes, schemas)
    return found


def _operation_id(route: Route) -> str:
    parts = [part.strip("{}") for part in route.parts if part]
    return "_".join([route.method.lower(), *parts]).replace(".", "_")


def _content(what: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    if what is None:
        return {}
    if isinstance(what, str):
        file = {"type": "string"} if what.startswith("text/") else {"format": "binary"}
        schema: Any = {} if what == JSON else {"type": "string", **file}
        return {"content": {what: {"schema": schema}}}
    if isinstance(what, tuple):
        schema = {"anyOf": [schemas[str(each)] for each in what]}
    else:
        schema = schemas[str(what)]
    return {"content": {JSON: {"schema": schema}}}
