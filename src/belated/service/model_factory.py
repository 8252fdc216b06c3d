"""Models as clients describe them: JSON to a model, and back."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any, NamedTuple

from belated.errors import SpecError
from belated.models.chooser import Chooser
from belated.models.intervals import Intervals
from belated.models.knobs import Knobs
from belated.models.learner.learner import Learner
from belated.models.linear.model import LinearModel
from belated.ranges import from_dict as range_from
from belated.service import schemas
from belated.service.requests import Refused, convert, validation_error
from belated.service.settings import Limits
from belated.spec import JSON_VERSION, Spec, from_json
from belated.store.events import clocked

Read = Callable[[Any, str, Limits], Any]
"""Reads a setting: its value in JSON, its name and the limits of the server."""
_LINEAR = frozenset(signature(LinearModel).parameters) - {"columns"}
_CHOOSER = frozenset(signature(Chooser).parameters) - {"decide"}
_KNOBS, _LEARNER = (frozenset(signature(kind).parameters) for kind in (Knobs, Learner))


def made(kind: str, settings: dict[str, Any], seed: int, limits: Limits) -> Any:
    """Return the model that a client describes; ``seed`` is what exploration takes by default."""
    given = arguments(kind, settings, limits)
    if kind == "Knobs" and "knobs" not in given:
        raise validation_error("settings of Knobs have knobs, an object of names and ranges")
    if kind == "Learner" and "spec" not in given:
        raise validation_error("settings of a Learner have a spec, as to_json writes it")
    if kind in ("Chooser", "Knobs", "Learner"):
        given.setdefault("seed", seed)
    return constructed(KINDS[kind].make, **given)


def arguments(kind: str, settings: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Return the settings that a client gives, as the constructor of the model takes them."""
    about = KINDS[kind]
    unknown = sorted(settings.keys() - about.allowed)
    if unknown:
        raise validation_error(
            f"no such setting: {unknown[0]!r}; there are: {', '.join(sorted(about.allowed))}"
        )
    given = dict(settings)
    for name, read in about.read.items():
        if given.get(name) is not None:
            given[name] = read(given[name], name, limits)
    if given.get("seed", 0) is None:
        del given["seed"]
    return given


def constructed(make: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Return a model, or refuse what its constructor cannot take."""
    try:
        return make(*given, **named)
    except TypeError as error:  # of a constructor that was given a list where it takes a number
        raise validation_error(f"settings: {error}") from None


def _deadline(value: Any, name: str, limits: Limits) -> str | float:
    return schemas.read_deadline(convert(value, schemas.Span, name))


def _deadline_of_knobs(value: Any, name: str, limits: Limits) -> str | float:
    """Return a deadline of Knobs: a number is one of predictions, as it is in Python."""
    if isinstance(value, str | dict):
        return _deadline(value, name, limits)
    found = _deadline({"predictions": value}, name, limits)
    schemas.check_whole(found)
    return found


def _wait(value: Any, name: str, limits: Limits) -> Any:
    is_span = isinstance(value, str) and value not in ("adaptive", "skip")
    if is_span or (isinstance(value, dict) and value.keys() == {"seconds"}):
        return schemas.read_span(
            convert(value, schemas.Span, name), f"{name}, unless it is adaptive or skip,"
        )
    return value


def _bits(value: Any, name: str, limits: Limits) -> int:
    if type(value) is not int or not 1 <= value <= limits.bits:
        raise Refused(422, "too_many_bits", f"bits must be a whole number from 1 to {limits.bits}")
    return value


def _actions(value: Any, name: str, limits: Limits) -> Any:
    return schemas.read_actions(convert(value, schemas.Actions, name))


def _ranges(value: Any, name: str, limits: Limits) -> dict[str, Any]:
    """Return ranges by name: [low, high], an object with a type, or a list of values."""
    try:
        return {each: _range(given) for each, given in convert(value, schemas.Plain, name).items()}
    except (KeyError, TypeError):
        raise validation_error(
            f'{name}: a range is [low, high], or such as {{"type": "Log", "low": 1, "high": 9}}; '
            'other types are "Int", and "Categories" with "values"; in a context a list is '
            "categories"
        ) from None


def _range(given: Any) -> Any:
    """Return a range as ``Knobs`` take it: two numbers are a span, and other lists stay lists."""
    if isinstance(given, dict):
        return range_from(given)
    if not isinstance(given, list):
        raise TypeError
    is_span = len(given) == 2 and all(type(end) in (int, float) for end in given)
    return tuple(given) if is_span else given


def _spec(document: Any, name: str, limits: Limits) -> Spec:
    """Return a part from its JSON form, with or without the version around it."""
    whole = convert(document, schemas.Plain, name)
    if "spec" not in whole:
        whole = {"belated": JSON_VERSION, "spec": whole}
    try:
        return from_json(json.dumps(whole))
    except RecursionError:
        raise SpecError(f"{name}: parts within parts") from None


def _make_intervals(coverage: float = 0.9, **settings: Any) -> Intervals:
    return Intervals(LinearModel(**settings), coverage)


class _Kind(NamedTuple):
    """A kind of models: its class, and how its settings are read."""

    make: Callable[..., Any]
    allowed: frozenset[str]
    read: dict[str, Read]


_LINEAR_READ: dict[str, Read] = {"bits": _bits, "deadline": _deadline, "wait": _wait}
KINDS = {
    "LinearModel": _Kind(LinearModel, _LINEAR, _LINEAR_READ),
    "Intervals": _Kind(_make_intervals, _LINEAR | {"coverage"}, _LINEAR_READ),
    "Chooser": _Kind(Chooser, _CHOOSER, {**_LINEAR_READ, "actions": _actions, "explore": _spec}),
    "Learner": _Kind(Learner, _LEARNER, {"spec": _spec}),
    "Knobs": _Kind(
        Knobs, _KNOBS, {"knobs": _ranges, "context": _ranges, "deadline": _deadline_of_knobs}
    ),
}
"""The kinds of models, by name."""


def unit_of(kind: str, model: Any) -> str | None:
    """Return what the deadlines of a model are counted in; None where it has none.

    One that is a number alone is in predictions, unless times were given in Python: then it is in
    their unit, whatever that is.
    """
    if kind == "Learner":
        return None
    timed = clocked(model)
    if timed.settings.deadline is None:
        return None
    if timed.settings.needs_times:
        return schemas.SECONDS
    return schemas.UNITS if timed._memory.has_times else schemas.PREDICTIONS


def check_unit(kind: str, settings: dict[str, Any], model: Any) -> None:
    """Refuse a model that was built from a log and does not count in what its settings say."""
    if "deadline" not in settings:
        return
    given = settings["deadline"]
    is_number = kind == "Knobs" and not isinstance(given, str | dict)
    wanted = schemas.PREDICTIONS if is_number else _told_unit(given)
    found = unit_of(kind, model)
    if found in (None, wanted):
        return
    if wanted == schemas.PREDICTIONS:
        raise Refused(
            409,
            "has_times",
            "the log has times of your own, of a model without a deadline in time, so that a "
            "number alone would be in their unit; nothing has changed: give a deadline in time, "
            "such as P30D",
        )
    raise Refused(409, "no_times", f"deadline: this log is counted in {found}, not in {wanted}")


def check_new(settings: dict[str, Any]) -> None:
    """Refuse a new model with a deadline in the unit of times that were given in Python."""
    if _told_unit(settings.get("deadline")) == schemas.UNITS:
        raise validation_error("deadline: give a new model one in seconds, or in predictions")


def _told_unit(deadline: Any) -> str:
    return schemas.unit_of(convert(0 if deadline is None else deadline, schemas.Span, "deadline"))


def _shown(kind: str, model: Any) -> dict[str, float | None] | None:
    """Undo ``_deadline``: what is shown says itself what it counts, and can be given back."""
    unit = unit_of(kind, model)
    if unit is None:
        return None
    deadline = clocked(model).settings.deadline
    assert deadline is not None  # as it has a unit
    if unit == schemas.SECONDS:
        return {unit: deadline}
    if math.isinf(deadline):
        return {unit: None}
    return {unit: int(deadline) if float(deadline).is_integer() else deadline}


def described(kind: str, model: Any) -> dict[str, Any]:
    """Return the settings of a model, as ``made`` takes them, less the seed.

    The seed would tell what will be chosen or played.
    """
    if kind == "Learner":
        return {"spec": json.loads(model.spec.to_json())["spec"], "strict": model.strict}
    settings = clocked(model).settings
    about = settings.to_dict() if kind == "Knobs" else dict(_fields(settings))
    if kind == "Intervals":
        about["coverage"] = model.coverage
    if kind == "Chooser":
        about |= model._settings.to_dict()
        about["explore"] = json.loads(about["explore"])["spec"]
    about["deadline"] = _shown(kind, model)
    allowed = KINDS[kind].allowed - {"seed"}
    return {name: value for name, value in about.items() if name in allowed}


def _fields(settings: Any) -> Iterator[tuple[str, Any]]:
    return ((each.name, getattr(settings, each.name)) for each in dataclasses.fields(settings))
