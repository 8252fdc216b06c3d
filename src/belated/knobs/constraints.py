"""Linear constraints between knobs: dicts of factors by name, with at_most or at_least."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from belated.arrays import Floats
from belated.errors import SpecError
from belated.knobs.ranges import Range, Span
from belated.spec import number

_ENDS = ("at_most", "at_least")
_MOST = 64
_SLACK = 1e-12  # of what is added up: so much is rounding

Constraint = Mapping[str, float]
"""Factors by knob, and the bound as ``at_most`` or ``at_least``."""


def checked(
    given: Any, knobs: Mapping[str, Range], start: Mapping[str, Any]
) -> tuple[Constraint, ...]:
    """Return constraints that the start satisfies, or say what is wrong."""
    if given is None:
        return ()
    if isinstance(given, Mapping) or not isinstance(given, list | tuple) or len(given) > _MOST:
        raise SpecError(
            f"Knobs: constraints must be a list of at most {_MOST} dicts, such as "
            f"{{'low': 1, 'high': -1, 'at_most': -5}}, got {given!r}"
        )
    found = tuple(_one(each, knobs) for each in given)
    for each in found:
        if not holds(each, start):
            raise SpecError(
                f"Knobs: start must satisfy the constraints, and {dict(each)!r} does not hold at "
                f"{dict(start)!r}; give another start="
            )
    return found


def _one(given: Any, knobs: Mapping[str, Range]) -> Constraint:
    if not isinstance(given, Mapping) or len(set(given) & set(_ENDS)) != 1:
        raise SpecError(
            "Knobs: a constraint is a dict of factors by knob, and at_most or at_least, got "
            f"{given!r}"
        )
    names = [name for name in given if name not in _ENDS]
    if not names or not set(names) <= set(knobs):
        raise SpecError(f"Knobs: a constraint is between knobs, got {given!r}")
    for name in names:
        if not isinstance(knobs[name], Span):
            raise SpecError(
                f"Knobs: a constraint is between knobs with plain ranges (low, high), and {name!r} "
                f"is a {type(knobs[name]).__name__}: sums of factors, steps or names mean nothing"
            )
    found = {name: number("Knobs", "a factor of a constraint", given[name]) for name in given}
    if not any(found[name] for name in names):
        raise SpecError(f"Knobs: a constraint needs a factor that is not 0, got {given!r}")
    return MappingProxyType(found)


def holds(constraint: Constraint, setting: Mapping[str, Any]) -> bool:
    """Tell whether a setting satisfies a constraint."""
    total = sum(f * setting[name] for name, f in constraint.items() if name not in _ENDS)
    if "at_most" in constraint:
        return bool(total <= constraint["at_most"])
    return bool(total >= constraint["at_least"])


def rows(constraints: tuple[Constraint, ...], knobs: Mapping[str, Any]) -> Floats:
    """Return <a, x> <= b for places x, a row for each; a little less than b, for rounding."""
    found = np.zeros((len(constraints), len(knobs) + 1))
    for row, constraint in zip(found, constraints, strict=True):
        sign = 1.0 if "at_most" in constraint else -1.0
        bound = sign * constraint["at_most" if "at_most" in constraint else "at_least"]
        size = abs(bound)
        for i, (name, knob) in enumerate(knobs.items()):
            factor = sign * constraint.get(name, 0.0)
            if factor:
                row[i] = factor * 0.5 * (knob.high - knob.low)
                bound -= factor * 0.5 * (knob.high + knob.low)
                size += abs(factor) * (abs(knob.low) + abs(knob.high))
        row[-1] = bound - _SLACK * size
    return found
