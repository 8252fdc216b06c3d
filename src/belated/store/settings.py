"""Models with other settings: those that are not given keep their values."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from belated.errors import SpecError
from belated.models.chooser import Chooser
from belated.models.clock import has_unit
from belated.models.intervals import Intervals
from belated.models.linear.model import LinearModel
from belated.store.events import clocked
from belated.store.kinds import KINDS, kind_of

_INTERNAL = {"decide": "_decide"}  # arguments that are kept under another name


def with_settings(model: Any, changes: Mapping[str, Any]) -> Any:
    """Return a model that has seen nothing, with the settings of another but for ``changes``.

    >>> model = with_settings(LinearModel("logistic", bits=8, deadline="30d"), {"bits": 10})
    >>> model.settings.loss, model.settings.bits, model.settings.deadline
    ('logistic', 10, 2592000.0)
    """
    kind = KINDS[kind_of(model)].model
    names = list(signature(kind).parameters)
    if kind is Intervals:
        names = [*signature(LinearModel).parameters, "coverage"]
    unknown = [name for name in changes if name not in names]
    if unknown:
        raise SpecError(
            f"rebuild: a {kind.__name__} has no setting {unknown[0]!r}; it has {', '.join(names)}"
        )
    found = {name: _value(model, name) for name in names}
    wait = changes.get("wait")
    if has_unit(wait) and wait != "adaptive" and "deadline" not in changes:
        found["deadline"] = None  # which such a wait stands for
    arguments = {**found, **changes}
    if kind is Intervals:
        coverage = arguments.pop("coverage")
        return Intervals(LinearModel(**arguments), coverage)
    return kind(**arguments)


def _value(model: Any, name: str) -> Any:
    """Return an argument as the model was given it."""
    if name == "deadline":
        return _deadline(clocked(model).settings)
    if name == "interactions" and isinstance(model, Chooser):
        return model._settings.crossing
    for holder in (model._settings, clocked(model), clocked(model)._settings, model):
        if hasattr(holder, _INTERNAL.get(name, name)):
            found = getattr(holder, _INTERNAL.get(name, name))
            return list(found) if isinstance(found, tuple) and name == "constraints" else found
    raise AttributeError(name)


def _deadline(settings: Any) -> Any:
    if settings.deadline is None:
        return None
    if settings.needs_times:
        return f"{settings.deadline!r}s"
    if settings.counts_predictions:
        return {"predictions": int(settings.deadline)}
    return settings.deadline
