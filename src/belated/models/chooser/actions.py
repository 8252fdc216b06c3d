"""Checks of the actions given to a chooser, and errors about their numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from belated.core.decisions import names_of
from belated.errors import BadFeatures, SpecError
from belated.limits import HUGE_VALUE
from belated.models.linear.features import Features
from belated.scalars import plain

__all__ = ["Actions", "Crossing", "checked_crossing", "names_of", "refusal"]

Actions = Iterable[str] | Mapping[str, Features | None]
"""Names of actions, or their features by name."""
Crossing = Literal["all", "auto", "none"] | tuple[str, ...]
"""Which features of the context are multiplied with those of the action."""


def checked_crossing(given: Any) -> Crossing:
    """Return which features of the context meet the action."""
    if isinstance(given, str):
        if given == "all":
            return "all"
        if given == "auto":
            return "auto"
        if given == "none":
            return "none"
    elif isinstance(given, Iterable):
        names = tuple(given)
        if all(isinstance(name, str) for name in names):
            return names
    raise SpecError(
        "Chooser: interactions must be 'all', 'auto', 'none' or names of context features, got "
        f"{given!r}"
    )


def refusal(context: Features, given: Any) -> BadFeatures:
    """Return the error for numbers that cannot be used."""
    largest = 0.0
    for name, value in _numbers(context):
        if not abs(value) <= HUGE_VALUE:
            return _cannot("the context", name, value)
        largest = max(largest, abs(value))
    for action, features in given.items() if isinstance(given, Mapping) else ():
        for name, value in _numbers(features or {}):
            if not abs(value) <= HUGE_VALUE:
                return _cannot(f"action {action!r}", name, value)
            if not largest * abs(value) <= HUGE_VALUE:
                return _cannot(f"action {action!r} times the context", name, largest * value)
    raise AssertionError("all numbers can be used")


def _numbers(features: Features) -> Iterator[tuple[str, float]]:
    for name, value in features.items():
        number = plain(value)
        if isinstance(number, float):
            yield name, number


def _cannot(where: str, name: str, value: float) -> BadFeatures:
    if math.isfinite(value):
        return BadFeatures(
            f"choose: {where}: {name!r} is {value!r}, which is too large to compute with "
            f"({HUGE_VALUE:g}); nothing has changed: rescale it"
        )
    return BadFeatures(
        f"choose: {where}: {name!r} is {value!r}, which is not finite; nothing has changed: leave "
        "the feature out where it is not known"
    )
