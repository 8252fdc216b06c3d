"""Linear constraints between knobs: dicts of factors by name, with at_most or at_least."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from belated.arrays import Floats
from belated.core.cost_models import ROUNDING
from belated.errors import SpecError
from belated.ranges import Range, Span
from belated.spec import number

ENDS = ("at_most", "at_least")
"""Names of bounds, which no knob can have."""
_MOST = 64
_LARGE = 1e305  # what is added up must not overflow
_AWAY = Fraction(100)  # of places, whose products with a row add up to 16 at most: never, or always
_ROUNDING = 2.0 * ROUNDING  # of a place
_SUMMING = Fraction(8e-15)  # of the sizes of 16 products: rounding of values and of their sum

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
    if not isinstance(given, Mapping) or len(set(given) & set(ENDS)) != 1:
        raise SpecError(
            "Knobs: a constraint is a dict of factors by knob, and at_most or at_least, got "
            f"{given!r}"
        )
    names = [name for name in given if name not in ENDS]
    if not names or not set(names) <= set(knobs):
        raise SpecError(f"Knobs: a constraint is between knobs, got {given!r}")
    for name in names:
        if not isinstance(knobs[name], Span):
            raise SpecError(
                f"Knobs: a constraint is between knobs with plain ranges (low, high), and {name!r} "
                f"has a range of type {type(knobs[name]).__name__}, for which weighted sums mean "
                "nothing"
            )
    found = {name: number("Knobs", "a factor of a constraint", given[name]) for name in given}
    if not any(found[name] for name in names):
        raise SpecError(f"Knobs: a constraint needs a factor that is not 0, got {given!r}")
    if _size(found, knobs) > _LARGE:
        raise SpecError(
            "Knobs: factors of a constraint times values of their knobs must not add up to more "
            f"than {_LARGE:g}, got {given!r}"
        )
    return MappingProxyType(found)


def _size(constraint: Constraint, knobs: Mapping[str, Any]) -> Fraction:
    """Return the most that all numbers of a constraint can be, added up without their signs."""
    return sum(
        (
            abs(Fraction(f)) * (1 if name in ENDS else _farthest(knobs[name]))
            for name, f in constraint.items()
        ),
        Fraction(0),
    )


def _farthest(knob: Span) -> Fraction:
    return Fraction(max(abs(knob.low), abs(knob.high)))


def holds(constraint: Constraint, setting: Mapping[str, Any]) -> bool:
    """Tell whether a setting satisfies a constraint, added up from left to right."""
    total = 0.0
    for name, factor in constraint.items():
        if name not in ENDS:
            total += factor * setting[name]
    if "at_most" in constraint:
        return total <= constraint["at_most"]
    return total >= constraint["at_least"]


def words(constraint: Constraint) -> str:
    """Return a constraint as one writes it.

    >>> words({"a": 1, "b": -2.5, "at_most": 10})
    'a - 2.5 b <= 10'
    """
    said = ""
    for name, factor in constraint.items():
        if name in ENDS or not factor:
            continue
        sign = "-" if factor < 0.0 else "+"
        joint = f" {sign} " if said else "-" * (sign == "-")
        size = "" if abs(factor) == 1.0 else f"{abs(factor):g} "
        said += f"{joint}{size}{name}"
    if "at_most" in constraint:
        return f"{said} <= {constraint['at_most']:g}"
    return f"{said} >= {constraint['at_least']:g}"


def rows(constraints: tuple[Constraint, ...], knobs: Mapping[str, Any]) -> Floats:
    """Return the rows <a, x> <= b of ``core.cost_models.Sampler`` over places x.

    Their bounds leave room for the rounding of places, of values and of sums of values.
    """
    found = np.zeros((len(constraints), len(knobs) + 1))
    for row, constraint in zip(found, constraints, strict=True):
        sign = 1 if "at_most" in constraint else -1
        bound = sign * Fraction(constraint["at_most" if "at_most" in constraint else "at_least"])
        bound -= _size(constraint, knobs) * _SUMMING
        halves = [Fraction(0)] * len(knobs)
        for i, (name, knob) in enumerate(knobs.items()):
            if constraint.get(name):
                factor = sign * Fraction(constraint[name])
                halves[i] = factor * (Fraction(knob.high) - Fraction(knob.low)) / 2
                bound -= factor * (Fraction(knob.high) + Fraction(knob.low)) / 2
        largest = max(map(abs, halves))
        row[:-1] = [float(half / largest) for half in halves]
        row[-1] = float(min(max(bound / largest, -_AWAY), _AWAY))
        row[-1] -= _ROUNDING * np.abs(row[:-1]).sum()
    return found
