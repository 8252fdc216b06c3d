"""The OpenAPI description, written from the table of routes."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from belated._version import __version__
from belated.models.knobs.report import MODES
from belated.models.methods import METHODS, Method
from belated.service.calls import OUTCOMES, members, methods
from belated.service.limits import Limits
from belated.service.requests import JSON, Route
from belated.service.routes import ROUTES
from belated.service.specs import KINDS, NAME


class _Most(str):
    """The name of a limit, in the place of what it is on a server."""

    __slots__ = ()


_NAMED = re.compile(r"{(\w+)}")
_STRING, _INTEGER, _BOOLEAN = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
_NUMBER, _OPEN = {"type": "number"}, {"type": "object"}
_MAYBE = {"type": ["number", "null"]}
_TEXT: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": _Most("text")}
_NAME = {"type": "string", "pattern": f"^{NAME}$"}


def _list(items: Any, **bounds: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **bounds}


def _said(**properties: Any) -> dict[str, Any]:
    """Return what is said, which may have other members too."""
    return {"type": "object", "properties": properties}


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """Return an object with these members and no others."""
    return {**_said(**properties), "required": list(required), "additionalProperties": False}


def _told(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """Return what is said of a ticket, which is named by itself or by its key."""
    one = _object(required, **{"ticket": _TICKET, "key": _KEY, **properties})
    return {**one, "oneOf": [{"required": ["ticket"]}, {"required": ["key"]}]}


def _one_or_many(one: dict[str, Any], **bounds: Any) -> dict[str, Any]:
    return {"oneOf": [one, _object(("items",), items=_list(one, **bounds))]}


def _about(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "description": text}


_KEY = _about("A name of your own for the ticket. An id that is a number is sent as text.", _TEXT)
_TICKET = _about("What was handed out; it is signed.", _STRING)
_FEATURES = {
    "type": "object",
    "maxProperties": _Most("features"),
    "additionalProperties": {"type": ["number", "string", "boolean", "null"]},
}
_PAIR = _list(_STRING, minItems=2, maxItems=2) | {
    "prefixItems": [_TEXT, {"type": "string", "maxLength": _Most("text")}],
}
_ROW = {"oneOf": [_FEATURES, _list(_NUMBER, maxItems=_Most("features"))]}
_ACTIONS = {
    "oneOf": [
        _list(_TEXT, minItems=1, maxItems=_Most("actions"), uniqueItems=True),
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": _Most("actions"),
            "additionalProperties": {"oneOf": [_FEATURES, {"type": "null"}]},
        },
    ]
}
_LENGTH, _NULL = {"type": "number", "minimum": 0}, {"type": "null"}
_SECONDS = _object(("seconds",), seconds=_LENGTH)
_LENGTHS = {**_MAYBE, "minimum": 0}
_PREDICTIONS = _object(
    ("predictions",),
    predictions=_about(
        "null: for ever, where only some tickets have a deadline of their own.", _LENGTHS
    ),
)
_UNITS = _object(
    ("units",),
    units=_about("In the unit of the times that the model was given in Python.", _LENGTHS),
)
_WHOLE = _object(("predictions",), predictions={"type": "integer", "minimum": 0})
_SPAN = [_LENGTH, _STRING, _SECONDS]  # seconds, or a duration such as P30D, PT10M, 30d or 15min
_OWN = _about(
    "Of this ticket alone, in the unit that the deadline of the model has: seconds, a duration "
    "such as P30D, PT10M, 30d or 15min, or a number of predictions.",
    {"oneOf": [*_SPAN, _WHOLE, _UNITS]},
)
_TIME = _about(
    "Needs the scope admin; null or left out it is the clock of the server, in UTC. Refused where "
    "deadlines are counted in predictions, and without an offset where other times of the model "
    "have one.",
    {"oneOf": [_NUMBER, {"type": "string", "format": "date-time"}]},
)
_SETTINGS = _about(
    "The arguments of the class; see docs/service.md.",
    _said(
        deadline=_about(
            "How long answers are waited for: a duration such as P30D, PT10M, 30d or 15min, or so "
            "many predictions. A number is of seconds; of Knobs it is of predictions.",
            {"oneOf": [*_SPAN, _PREDICTIONS, _UNITS, _NULL]},
        )
    ),
)
_SHOWN = _about(
    "What the model was told; POST /models and rebuild take it back.",
    _said(deadline={"oneOf": [_SECONDS, _PREDICTIONS, _UNITS, _NULL]}),
)
_ERROR = {**_said(code=_STRING, message=_STRING), "required": ["code", "message"]}
_END = _about("null: there is no end yet.", _MAYBE)
_OUTCOME = {"required": ["outcome"]} | _said(
    outcome={"enum": list(OUTCOMES)},
    ticket=_TICKET,
    value=_MAYBE,
    low=_END,
    high=_END,
    action=_STRING,
    probability=_NUMBER,
    play={"type": "array"},
    setting=_OPEN,
    error=_ERROR,
)
_ANSWER = {"oneOf": [_NUMBER, _list(_NUMBER)]}
_MODE = {"enum": ["learn", "apprentice", *MODES]}
_REWARDS = _object(("rewards",), rewards={"enum": ["earliest", "sum"]})
_KIND = {"enum": list(KINDS)}
_MODEL = {"name": _STRING, "kind": _KIND, "rounds": _INTEGER, "open": _INTEGER}
_NESTED = {"type": ["array", "object", "null"], "items": _OPEN}
_RANKED = _object(("id",), id=_TEXT, features=_NESTED)

_SCHEMAS: dict[str, Any] = {
    "Error": {**_said(error=_ERROR), "required": ["error"]},
    "Status": _said(status=_STRING),
    "Create": _object(("name", "kind"), name=_NAME, kind=_KIND, settings=_SETTINGS),
    "Rebuild": _about(
        "Settings of the new model; those that are not given keep their values. It takes the place "
        "of the model, or stands beside it under the name 'to'.",
        _object((), kind=_KIND, settings=_SETTINGS, to=_NAME),
    ),
    "Mode": _object(("mode",), mode=_MODE),
    "SetMode": _object(("mode",), mode={"enum": ["learn", "apprentice"]}),
    "Rewards": _REWARDS,
    "Model": _said(
        **_MODEL, events=_INTEGER, mode=_MODE, settings=_SHOWN, **_REWARDS["properties"]
    ),
    "Models": _said(models=_list(_said(**_MODEL, is_ready=_BOOLEAN, is_damaged=_BOOLEAN))),
    "Said": _one_or_many(_OUTCOME),
    "Peek": _object((), features=_ROW, context=_FEATURES, actions=_ACTIONS),
    "Peeked": _about(
        "What a model of its kind has to say.",
        _said(value=_NUMBER, low=_END, high=_END, options=_list(_OPEN), setting=_OPEN),
    ),
    "Explain": _object(("features",), features=_FEATURES),
    "Explained": _object(
        ("value", "constant", "parts", "open_tickets", "total"),
        value=_NUMBER,
        constant=_NUMBER,
        parts={"type": "object", "additionalProperties": _NUMBER},
        open_tickets=_NUMBER,
        total=_NUMBER,
    ),
    "Weights": _object(
        ("names",),
        names=_about(
            "Names of numbers, and pairs of a name and a text that it may be.",
            _list({"oneOf": [_TEXT, _PAIR]}, maxItems=_Most("features")),
        ),
    ),
    "Weighed": _object(("weights",), weights=_list(_NUMBER)),
    "Expect": _object(("setting",), setting=_FEATURES, context=_FEATURES),
    "Expected": _object(
        ("cost", "uncertainty"),
        cost=_about("null: too few costs have come.", _MAYBE),
        uncertainty=_MAYBE,
    ),
    "Choice": _told(),
    "Tick": _object((), at=_TIME),
    "Ticked": _object(("open",), open=_INTEGER),
    "Report": _OPEN,
    "Rank": _object(
        ("actions",),
        contextFeatures=_NESTED,
        actions=_list(_RANKED, minItems=1, maxItems=_Most("actions")),
        excludedActions={"type": ["array", "null"], "items": _STRING},
        eventId=_about(
            "The key of the event: the same body gets the first answer again.",
            {**_TEXT, "type": ["string", "null"]},
        ),
        deferActivation={"type": ["boolean", "null"]},
    ),
    "Ranking": _object(
        ("ranking", "eventId", "rewardActionId"),
        ranking=_list(_object(("id",), id=_TEXT, probability=_NUMBER)),
        eventId=_TEXT,
        rewardActionId=_TEXT,
    ),
    "Reward": _object(("value",), value=_NUMBER),
}

_OF_MEMBERS = {
    "features": _ROW,
    "context": _FEATURES,
    "actions": _ACTIONS,
    "key": _KEY,
    "deadline": _OWN,
    "baseline": _TEXT,
    "shown": _BOOLEAN,
    "at": _TIME,
    "ticket": _TICKET,
    "value": _NUMBER,
    "weight": _about("Of a LinearModel alone.", _NUMBER),
    "setting": _FEATURES,
}


def _item(line: Method) -> dict[str, Any]:
    """Return the schema of an item that calls a method, or of many."""
    kinds = [kind for kind in KINDS if line.name in methods(kind)]
    names = sorted(set[str]().union(*(members(kind, line.name) for kind in kinds)))
    found = {name: _OF_MEMBERS[name] for name in names}
    if line.name == "observe":
        found["value"] = _ANSWER
    required = tuple(name for name in ("value", "setting") if name in names)
    one = _object(required, **found) if line.scope == "decide" else _told(required, **found)
    return _one_or_many(one, maxItems=_Most("batch"))


_SCHEMAS.update(
    {line.name.capitalize(): _item(line) for line in METHODS if line.scope in ("decide", "answer")}
)


@cache
def description(limits: Limits) -> dict[str, Any]:
    """Return the description of all routes of a server with these limits."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    whole = {
        "openapi": "3.1.0",
        "info": {
            "title": "belated",
            "version": __version__,
            "description": "Predictions and choices now, answers whenever.",
        },
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
    found: dict[str, Any] = _in_force(whole, limits)
    return found


def _in_force(part: Any, limits: Limits) -> Any:
    """Return a part of the description with the limits of a server."""
    if isinstance(part, _Most):
        return getattr(limits, part)
    if isinstance(part, dict):
        return {name: _in_force(each, limits) for name, each in part.items()}
    if isinstance(part, list):
        return [_in_force(each, limits) for each in part]
    return part


def _operation(route: Route) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": _TEXT}
        for name in _NAMED.findall(route.path)
    ]
    if route.is_once:
        parameters.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "schema": _TEXT,
                "description": "A request that comes again with it gets the first answer.",
            }
        )
    given = {"description": "Done."} | ({} if route.gives is None else _content(route.gives))
    responses = {str(status): given for status in route.statuses}
    responses["default"] = {"description": "Refused."} | _content("Error")
    found: dict[str, Any] = {
        "summary": route.about,
        "operationId": _operation_id(route),
        "parameters": parameters,
        "responses": responses,
        "security": [] if route.scope is None else [{"token": []}],
    }
    if route.scope is not None:
        found["x-scope"] = route.scope
    if route.takes is not None:
        found["requestBody"] = {"required": True} | _content(route.takes)
    return found


def _operation_id(route: Route) -> str:
    parts = [part.strip("{}") for part in route.parts if part]
    return "_".join([route.method.lower(), *parts]).replace(".", "_")


def _content(what: str) -> dict[str, Any]:
    if "/" in what:
        return {"content": {what: {}}}
    return {"content": {JSON: {"schema": {"$ref": f"#/components/schemas/{what}"}}}}
