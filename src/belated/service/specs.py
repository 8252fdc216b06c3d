"""Models as clients describe them: JSON to a model, and back."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable
from inspect import signature
from typing import Any, NamedTuple

from belated.errors import SpecError
from belated.models.chooser import Chooser
from belated.models.intervals import Intervals
from belated.models.knobs import Knobs
from belated.models.learner.learner import Learner
from belated.models.linear.model import LinearModel
from belated.ranges import from_dict as range_from
from belated.service import bodies
from belated.service.limits import Limits
from belated.service.refusals import Refused
from belated.spec import JSON_VERSION, Spec, from_json
from belated.store.arguments import clocked

NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
"""What the name of a model looks like."""
_NAME = re.compile(NAME + r"\Z")
_LINEAR = frozenset(signature(LinearModel).parameters) - {"columns"}
_CHOOSER = frozenset(signature(Chooser).parameters) - {"decide"}
_KNOBS, _LEARNER = (frozenset(signature(kind).parameters) for kind in (Knobs, Learner))


def name(value: Any) -> str:
    """Return a name that a model may get here."""
    if not isinstance(value, str) or _NAME.match(value) is None:
        raise bodies.bad(
            "the name of a model is 1 to 100 letters, digits, '.', '_' and '-', and begins with a "
            "letter or a digit"
        )
    return value


def made(kind: Any, settings: Any, seed: int, limits: Limits) -> Any:
    """Return the model that a client describes; ``seed`` is what exploration takes by default."""
    given = arguments(kind, settings, limits)
    if kind == "Knobs" and "knobs" not in given:
        raise bodies.bad("settings of Knobs have knobs, an object of names and ranges")
    if kind == "Learner" and "spec" not in given:
        raise bodies.bad("settings of a Learner have a spec, as to_json writes it")
    if kind in ("Chooser", "Knobs", "Learner"):
        given.setdefault("seed", seed)
    return constructed(KINDS[kind].make, **given)


def arguments(kind: Any, settings: Any, limits: Limits) -> dict[str, Any]:
    """Return the settings that a client gives, as the constructor of the model takes them."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise bodies.bad(f"kind must be one of {', '.join(KINDS)}")
    if not isinstance(settings, dict):
        raise bodies.bad("settings must be an object")
    return KINDS[kind].read(settings, limits)


def constructed(make: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Return a model, or refuse what its constructor cannot take."""
    try:
        return make(*given, **named)
    except TypeError as error:  # of a constructor that was given a list where it takes a number
        raise bodies.bad(f"settings: {error}") from None


def _linear(settings: dict[str, Any], limits: Limits) -> dict[str, Any]:
    return _checked(settings, _LINEAR, limits)


def _intervals(settings: dict[str, Any], limits: Limits) -> dict[str, Any]:
    given = _checked(settings, _LINEAR | {"coverage"}, limits)
    if "coverage" in given:
        given["coverage"] = bodies.number(given["coverage"], "coverage")
    return given


def _make_intervals(coverage: float = 0.9, **settings: Any) -> Intervals:
    return Intervals(LinearModel(**settings), coverage)


def _chooser(settings: dict[str, Any], limits: Limits) -> dict[str, Any]:
    given = _checked(settings, _CHOOSER, limits)
    if given.get("actions") is not None:
        given["actions"] = bodies.actions(given["actions"], limits)
    if "explore" in given:
        given["explore"] = _spec(given["explore"], "explore")
    return given


def _learner(settings: dict[str, Any], limits: Limits) -> dict[str, Any]:
    given = _checked(settings, _LEARNER, limits)
    if "spec" in given:
        given["spec"] = _spec(given["spec"], "spec")
    return given


def _knobs(settings: dict[str, Any], limits: Limits) -> dict[str, Any]:
    given = dict(bodies.an_object(settings, _KNOBS))
    if "knobs" in given:
        given["knobs"] = _ranges(given["knobs"], "knobs")
    if given.get("context") is not None:
        given["context"] = _ranges(given["context"], "context")
    deadline = given.get("deadline")
    if isinstance(deadline, str | dict):  # a number is one of predictions, as it is in Python
        given["deadline"] = bodies.deadline(deadline)
    elif deadline is not None:
        given["deadline"] = bodies.deadline({"predictions": deadline})
        bodies.check_whole(given["deadline"])
    if given.get("seed", 0) is None:
        del given["seed"]
    return given


def _ranges(given: Any, what: str) -> dict[str, Any]:
    """Return ranges by name: [low, high], an object with a type, or a list of values."""
    if not isinstance(given, dict):
        raise bodies.bad(f"{what} must be an object of names and ranges")
    try:
        return {name: _range(each) for name, each in given.items()}
    except (KeyError, TypeError):
        raise bodies.bad(
            f'{what}: a range is [low, high], or such as {{"type": "Log", "low": 1, "high": 9}}; '
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


class _Kind(NamedTuple):
    """How the settings of a kind of models are read, and what makes one of them."""

    read: Callable[[dict[str, Any], Limits], dict[str, Any]]
    make: Callable[..., Any]


KINDS = {
    "LinearModel": _Kind(_linear, LinearModel),
    "Intervals": _Kind(_intervals, _make_intervals),
    "Chooser": _Kind(_chooser, Chooser),
    "Learner": _Kind(_learner, Learner),
    "Knobs": _Kind(_knobs, Knobs),
}
"""The kinds of models, by name."""


def _checked(settings: dict[str, Any], allowed: frozenset[str], limits: Limits) -> dict[str, Any]:
    """Return settings as the constructors take them."""
    given = dict(bodies.an_object(settings, allowed))
    bits = given.get("bits")
    if bits is not None and (type(bits) is not int or not 1 <= bits <= limits.bits):
        raise Refused(422, "too_many_bits", f"bits must be a whole number from 1 to {limits.bits}")
    if given.get("deadline") is not None:
        given["deadline"] = bodies.deadline(given["deadline"])
    wait = given.get("wait")
    if (isinstance(wait, str) and wait not in ("adaptive", "skip")) or _is_in_seconds(wait):
        given["wait"] = bodies.span(wait, "wait")
    if given.get("seed", 0) is None:
        del given["seed"]
    return given


def _is_in_seconds(wait: Any) -> bool:
    return isinstance(wait, dict) and wait.keys() == {"seconds"}


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
        return bodies.SECONDS
    return bodies.UNITS if timed._memory.has_times else bodies.PREDICTIONS


def check_unit(kind: str, settings: Any, model: Any) -> None:
    """Refuse a model that was built from a log and does not count in what its settings say."""
    if "deadline" not in settings:
        return
    told = settings["deadline"]
    is_number = kind == "Knobs" and not isinstance(told, str | dict)
    wanted = bodies.PREDICTIONS if is_number else bodies.unit_of(told)
    found = unit_of(kind, model)
    if found in (None, wanted):
        return
    if wanted == bodies.PREDICTIONS:
        raise Refused(
            409,
            "has_times",
            "the log has times of your own, of a model without a deadline in time, so that a "
            "number alone would be in their unit; nothing has changed: give a deadline in time, "
            "such as P30D",
        )
    raise Refused(409, "no_times", f"deadline: this log is counted in {found}, not in {wanted}")


def check_new(settings: Any) -> None:
    """Refuse a new model with a deadline in the unit of times that were given in Python."""
    told = settings.get("deadline") if isinstance(settings, dict) else None
    if bodies.unit_of(told) == bodies.UNITS:
        raise bodies.bad("deadline: give a new model one in seconds, or in predictions")


def _shown(kind: str, model: Any) -> dict[str, float | None] | None:
    """Undo ``bodies.deadline``: what is shown says itself what it counts, and can be given back."""
    unit = unit_of(kind, model)
    if unit is None:
        return None
    deadline = clocked(model).settings.deadline
    assert deadline is not None  # as it has a unit
    if unit == bodies.SECONDS:
        return {unit: deadline}
    if math.isinf(deadline):
        return {unit: None}
    return {unit: int(deadline) if float(deadline).is_integer() else deadline}


def _spec(document: Any, what: str) -> Spec:
    """Return a part from its JSON form, with or without the version around it."""
    if not isinstance(document, dict):
        raise bodies.bad(f"{what} must be an object with a type")
    whole = document if "spec" in document else {"belated": JSON_VERSION, "spec": document}
    try:
        return from_json(json.dumps(whole))
    except RecursionError:
        raise SpecError(f"{what}: parts within parts") from None


def described(kind: str, model: Any) -> dict[str, Any]:
    """Return the settings of a model, as ``made`` takes them, less the seed.

    Who knows the seed can tell what will be chosen or played.
    """
    if kind == "Learner":
        return {"spec": json.loads(model.spec.to_json())["spec"], "strict": model.strict}
    if kind == "Knobs":
        about = model.settings.to_dict()
        about.pop("seed")
        about.pop("needs_times", None)
        about.pop("counts_predictions", None)
        return {**about, "deadline": _shown(kind, model)}
    if kind == "Intervals":
        return {**_of_linear(model.model), "coverage": model.coverage}
    if kind == "Chooser":
        about = model._settings.to_dict()
        about["explore"] = json.loads(about["explore"])["spec"]
        about.pop("seed")
        whole = {**_of_linear(model.model), **about}
        return {name: value for name, value in whole.items() if name in _CHOOSER}
    return _of_linear(model)


def _of_linear(model: LinearModel) -> dict[str, Any]:
    settings = model.settings
    about = {
        field.name: getattr(settings, field.name)
        for field in dataclasses.fields(settings)
        if field.name not in ("needs_times", "counts_predictions", "columns")
    }
    return {**about, "deadline": _shown("LinearModel", model)}
