"""The OpenAPI description, made of the table of routes and the structs of bodies."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

from belated._version import __version__
from belated.service.requests import JSON
from belated.service.routes import ROUTES, Route
from belated.service.schemas import Error, Text

_NAMED = re.compile(r"{(\w+)}")
_REF = "#/components/schemas/{name}"
_KEY = "A repeated request with the same key gets the first response."


@cache
def description() -> dict[str, Any]:
    """Return the description of all routes."""
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
        found["requestBody"] = {"required": True} | _content(route.takes, schemas)
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
