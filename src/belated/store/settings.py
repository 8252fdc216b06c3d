"""Models with other settings: those that are not given keep their values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from belated.errors import SpecError
from belated.models.chooser import Chooser
from belated.models.clock import has_unit
from belated.models.intervals import Intervals
from belated.models.knobs import Knobs
from belated.models.learner.learner import Learner
from belated.models.linear.model import LinearModel

_OF_CLOCKS = ("needs_times", "counts_predictions")
_OF_CHOOSERS = ("loss", "silence", "late", "wait", "max_open", "bits")
"""Settings of the linear model of a chooser that are the chooser's own arguments."""


def with_settings(model: Any, changes: Mapping[str, Any]) -> Any:
    """Return a model that has seen nothing, with the settings of another but for ``changes``.

    >>> model = with_settings(LinearModel("logistic", bits=8, deadline="30d"), {"bits": 10})
    >>> model.settings.loss, model.settings.bits, model.settings.deadline
    ('logistic', 10, 2592000.0)
    """
    for kind, arguments in _ARGUMENTS.items():
        if isinstance(model, kind):
            found = arguments(model)
            break
    else:
        raise SpecError(f"rebuild: a {type(model).__name__} has no settings that can be changed")
    unknown = [name for name in changes if name not in found]
    if unknown:
        raise SpecError(
            f"rebuild: a {kind.__name__} has no setting {unknown[0]!r}; it has {', '.join(found)}"
        )
    if _is_duration(changes.get("wait")) and "deadline" not in changes:
        found["deadline"] = None  # which such a wait stands for
    return _made(kind, {**found, **changes})


def _made(kind: type[Any], arguments: dict[str, Any]) -> Any:
    if kind is Intervals:
        coverage = arguments.pop("coverage")
        return Intervals(LinearModel(**arguments), coverage)
    return kind(**arguments)


def _is_duration(wait: Any) -> bool:
    return has_unit(wait) and not (isinstance(wait, str) and wait == "adaptive")


def _deadline(settings: Any) -> Any:
    """Return a deadline as the model was given it."""
    if settings.deadline is None:
        return None
    if settings.needs_times:
        return f"{settings.deadline!r}s"
    if settings.counts_predictions:
        return {"predictions": int(settings.deadline)}
    return settings.deadline


def _linear(model: LinearModel) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(model.settings)]
    found = {name: getattr(model.settings, name) for name in names if name not in _OF_CLOCKS}
    return {**found, "deadline": _deadline(model.settings)}


def _intervals(model: Intervals) -> dict[str, Any]:
    return {**_linear(model.model), "coverage": model.coverage}


def _chooser(model: Chooser) -> dict[str, Any]:
    settings, linear = model._settings, _linear(model.model)
    return {
        **{name: linear[name] for name in _OF_CHOOSERS},
        "deadline": linear["deadline"],
        "actions": settings.actions,
        "explore": settings.explore,
        "baseline": settings.baseline,
        "interactions": settings.crossing,
        "seed": settings.seed,
        "mode": model.mode,
        "decide": model._decide,
    }


def _learner(model: Learner) -> dict[str, Any]:
    return {"spec": model.spec, "seed": model.seed, "strict": model.strict}


def _knobs(model: Knobs) -> dict[str, Any]:
    settings = model.settings
    names = ("knobs", "start", "goal", "context", "hold", "max_step", "holdout", "silence", "seed")
    found = {name: getattr(settings, name) for name in names}
    more = {"deadline": _deadline(settings), "constraints": list(settings.constraints) or None}
    return {**found, **more}


_ARGUMENTS: dict[type[Any], Any] = {
    LinearModel: _linear,
    Intervals: _intervals,
    Chooser: _chooser,
    Learner: _learner,
    Knobs: _knobs,
}
"""What the constructor of a model was given."""
