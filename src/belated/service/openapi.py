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
from belated.service.requests import JSON
from belated.service.routes import ROUTES, Route
from belated.service.specs import KINDS, NAME


class _Most(str):
    """The name of a limit, in the place of what it is on a server."""

    __slots__ = ()


_NAMED = re.compile(r"{(\w+)}")
_TEXT: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": _Most("text")}
_NAME = {"type": "string", "pattern": f"^{NAME}$"}
_KEY = {
    **_TEXT,
    "description": "A name of your own for the ticket. An id that is a number is sent as text.",
}
_TICKET = {"type": "string", "description": "What was handed out; it is signed."}
_NUMBER = {"type": "number"}
_FEATURES = {
    "type": "object",
    "maxProperties": _Most("features"),
    "additionalProperties": {"type": ["number", "string", "boolean", "null"]},
}
_PAIR = {
    "type": "array",
    "prefixItems": [_TEXT, {"type": "string", "maxLength": _Most("text")}],
    "minItems": 2,
    "maxItems": 2,
}
_VECTOR = {"type": "array", "items": _NUMBER, "maxItems": _Most("features")}
_ROW = {"oneOf": [_FEATURES, _VECTOR]}
_ACTIONS = {
    "oneOf": [
        {
            "type": "array",
            "items": _TEXT,
            "minItems": 1,
            "maxItems": _Most("actions"),
            "uniqueItems": True,
        },
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": _Most("actions"),
            "additionalProperties": {"oneOf": [_FEATURES, {"type": "null"}]},
        },
    ]
}
_SECONDS = {
    "type": "object",
    "required": ["seconds"],
    "properties": {"seconds": {"type": "number", "minimum": 0}},
    "additionalProperties": False,
}
_PREDICTIONS = {
    "type": "object",
    "required": ["predictions"],
    "properties": {
        "predictions": {
            "type": ["number", "null"],
            "minimum": 0,
            "description": "null: for ever, where only some tickets have a deadline of their own.",
        }
    },
    "additionalProperties": False,
}
_UNITS = {
    "type": "object",
    "required": ["units"],
    "properties": {
        "units": {
            "type": ["number", "null"],
            "minimum": 0,
            "description": "In the unit of the times that the model was given in Python.",
        }
    },
    "additionalProperties": False,
}
_WHOLE = {**_PREDICTIONS, "properties": {"predictions": {"type": "integer", "minimum": 0}}}
_SPAN: dict[str, Any] = {
    "oneOf": [{"type": "number", "minimum": 0}, {"type": "string"}, _SECONDS],
    "description": "Seconds, or a duration such as P30D, PT10M, 30d or 15min.",
}
_OWN = {
    "oneOf": [*_SPAN["oneOf"], _WHOLE, _UNITS],
    "description": "Of this ticket alone, in the unit that the deadline of the model has.",
}
_TIME = {
    "oneOf": [_NUMBER, {"type": "string", "format": "date-time"}],
    "description": "Needs the scope admin; null or left out it is the clock of the server, in UTC. "
    "Refused where deadlines are counted in predictions, and without an offset where other times "
    "of the model have one.",
}
_SETTINGS = {
    "type": "object",
    "description": "The arguments of the class; see docs/service.md.",
    "properties": {
        "deadline": {
            "oneOf": [*_SPAN["oneOf"], _PREDICTIONS, _UNITS, {"type": "null"}],
            "description": "How long answers are waited for: a duration, or so many predictions. "
            "A number is of seconds; of Knobs it is of predictions.",
        }
    },
}
_SHOWN = {
    "type": "object",
    "description": "What the model was told; POST /models and rebuild take it back.",
    "properties": {"deadline": {"oneOf": [_SECONDS, _PREDICTIONS, _UNITS, {"type": "null"}]}},
}
_ERROR = {
    "type": "object",
    "required": ["code", "message"],
    "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
}


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": list(required),
        "properties": properties,
        "additionalProperties": False,
    }


def _told(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """Return what is said of a ticket, which is named by itself or by its key."""
    one = _object(required, **{"ticket": _TICKET, "key": _KEY, **properties})
    return {**one, "oneOf": [{"required": ["ticket"]}, {"required": ["key"]}]}


def _one_or_many(one: dict[str, Any]) -> dict[str, Any]:
    many = _object(("items",), items={"type": "array", "items": one, "maxItems": _Most("batch")})
    return {"oneOf": [one, many]}


_OUTCOME = {
    "type": "object",
    "required": ["outcome"],
    "properties": {
        "outcome": {"enum": list(OUTCOMES)},
        "ticket": _TICKET,
        "value": {"type": ["number", "null"]},
        "low": {"type": ["number", "null"], "description": "null: there is no end yet."},
        "high": {"type": ["number", "null"], "description": "null: there is no end yet."},
        "action": {"type": "string"},
        "probability": _NUMBER,
        "play": {"type": "array"},
        "setting": {"type": "object"},
        "error": _ERROR,
    },
}
_ANSWER = {"oneOf": [_NUMBER, {"type": "array", "items": _NUMBER}]}
_WEIGHT = {"type": "number", "description": "Of a LinearModel alone."}
_MODE = {"enum": ["learn", "apprentice", *MODES]}
_REWARDS = {"enum": ["earliest", "sum"]}
_KIND = {"enum": list(KINDS)}
_ABOUT = {
    "name": {"type": "string"},
    "kind": _KIND,
    "rounds": {"type": "integer"},
    "open": {"type": "integer"},
}
_NESTED = {"type": ["array", "object", "null"], "items": {"type": "object"}}
_RANKED = {
    "type": "array",
    "minItems": 1,
    "maxItems": _Most("actions"),
    "items": _object(("id",), id=_TEXT, features=_NESTED),
}

_SCHEMAS: dict[str, Any] = {
    "Error": {"type": "object", "required": ["error"], "properties": {"error": _ERROR}},
    "Status": {"type": "object", "properties": {"status": {"type": "string"}}},
    "Create": _object(("name", "kind"), name=_NAME, kind=_KIND, settings=_SETTINGS),
    "Rebuild": {
        **_object((), kind=_KIND, settings=_SETTINGS, to=_NAME),
        "description": "Settings of the new model; those that are not given keep their values. It "
        "takes the place of the model, or stands beside it under the name 'to'.",
    },
    "Mode": _object(("mode",), mode=_MODE),
    "SetMode": _object(("mode",), mode={"enum": ["learn", "apprentice"]}),
    "Rewards": _object(("rewards",), rewards=_REWARDS),
    "Model": {
        "type": "object",
        "properties": {
            **_ABOUT,
            "events": {"type": "integer"},
            "mode": _MODE,
            "rewards": _REWARDS,
            "settings": _SHOWN,
        },
    },
    "Models": {
        "type": "object",
        "properties": {
            "models": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        **_ABOUT,
                        "is_ready": {"type": "boolean"},
                        "is_damaged": {"type": "boolean"},
                    },
                },
            }
        },
    },
    "Said": {
        "oneOf": [
            _OUTCOME,
            {
                "type": "object",
                "required": ["items"],
                "properties": {"items": {"type": "array", "items": _OUTCOME}},
            },
        ]
    },
    "Peek": _object((), features=_ROW, context=_FEATURES, actions=_ACTIONS),
    "Peeked": {
        "type": "object",
        "description": "What a model of its kind has to say.",
        "properties": {
            "value": _NUMBER,
            "low": {"type": ["number", "null"], "description": "null: there is no end."},
            "high": {"type": ["number", "null"]},
            "options": {"type": "array", "items": {"type": "object"}},
            "setting": {"type": "object"},
        },
    },
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
        names={
            "type": "array",
            "maxItems": _Most("features"),
            "items": {"oneOf": [_TEXT, _PAIR]},
            "description": "Names of numbers, and pairs of a name and a text that it may be.",
        },
    ),
    "Weighed": _object(("weights",), weights={"type": "array", "items": _NUMBER}),
    "Expect": _object(("setting",), setting=_FEATURES, context=_FEATURES),
    "Expected": _object(
        ("cost", "uncertainty"),
        cost={"type": ["number", "null"], "description": "null: too few costs have come."},
        uncertainty={"type": ["number", "null"]},
    ),
    "Choice": _told(),
    "Tick": _object((), at=_TIME),
    "Ticked": _object(("open",), open={"type": "integer"}),
    "Report": {"type": "object"},
    "Rank": _object(
        ("actions",),
        contextFeatures=_NESTED,
        actions=_RANKED,
        excludedActions={"type": ["array", "null"], "items": {"type": "string"}},
        eventId={
            **_TEXT,
            "type": ["string", "null"],
            "description": "The key of the event: the same body gets the first answer again.",
        },
        deferActivation={"type": ["boolean", "null"]},
    ),
    "Ranking": _object(
        ("ranking", "eventId", "rewardActionId"),
        ranking={"type": "array", "items": _object(("id",), id=_TEXT, probability=_NUMBER)},
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
    "shown": {"type": "boolean"},
    "at": _TIME,
    "ticket": _TICKET,
    "value": _NUMBER,
    "weight": _WEIGHT,
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
    return _one_or_many(one)


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
