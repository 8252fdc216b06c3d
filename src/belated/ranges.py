"""Ranges of knobs: numbers, numbers on a logarithmic scale, integers, and categories."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.errors import SpecError
from belated.spec import number, positive, whole

__all__ = ["Categories", "Int", "Log", "Span"]

_MOST_LEVELS = 1 << 20
_SLACK = 1e-9  # of a range: what is so little outside of it is rounding


@dataclass(frozen=True)
class Span:
    """A knob that can stand anywhere from ``low`` to ``high``; a pair of numbers means this."""

    low: float
    high: float

    def __post_init__(self) -> None:
        """Check the ends."""
        low, high = number("Span", "low", self.low), number("Span", "high", self.high)
        if not low < high or math.isinf(high - low):
            raise SpecError(f"Span: low must be below high, got {self.low!r} and {self.high!r}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    levels = 0
    """How many places there are; 0: all."""

    def place(self, value: Any, who: str, what: str) -> float:
        """Return the place in [-1, 1] of a value, or refuse it by name."""
        part = (number(who, what, value) - self.low) / (self.high - self.low)
        return _inside(part, self, value, f"{who}: {what}")

    def value(self, place: float) -> float:
        """Return the value of a place."""
        low, high = self.low, self.high
        value = low + 0.5 * (place + 1.0) * (high - low)
        if value < low:
            return low
        return high if value > high else value


@dataclass(frozen=True)
class Log:
    """A knob from ``low`` to ``high``, both positive, of which factors count: 1 to 2 is 2 to 4.

    >>> round(Log(0.1, 10.0).value(0.0), 6)
    1.0
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        """Check the ends."""
        low, high = positive("Log", "low", self.low), positive("Log", "high", self.high)
        if not low < high:
            raise SpecError(f"Log: low must be below high, got {self.low!r} and {self.high!r}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    levels = 0

    def place(self, value: Any, who: str, what: str) -> float:
        """Return the place in [-1, 1] of a value, or refuse it by name."""
        found = positive(who, what, value)
        part = math.log(found / self.low) / math.log(self.high / self.low)
        return _inside(part, self, value, f"{who}: {what}")

    def value(self, place: float) -> float:
        """Return the value of a place."""
        part = 0.5 * (place + 1.0)
        value: float = self.low * (self.high / self.low) ** part
        return min(max(value, self.low), self.high)


@dataclass(frozen=True)
class Int:
    """A knob that stands on whole numbers, from ``low`` to ``high``.

    >>> Int(0, 6).value(0.1)
    3
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        """Check the ends."""
        low = whole("Int", "low", self.low, least=-(1 << 52))
        high = whole("Int", "high", self.high, least=-(1 << 52))
        if not low < high or high - low >= _MOST_LEVELS:
            raise SpecError(
                f"Int: low must be below high, and by less than {_MOST_LEVELS}, got "
                f"{self.low!r} and {self.high!r}"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def levels(self) -> int:
        """How many places there are."""
        return self.high - self.low + 1

    def place(self, value: Any, who: str, what: str) -> float:
        """Return the place in [-1, 1] of a value, or refuse it by name."""
        found = number(who, what, value)
        if found != math.floor(found):
            raise SpecError(f"{who}: {what} must be a whole number, got {value!r}")
        part = (found - self.low) / (self.high - self.low)
        return _inside(part, self, value, f"{who}: {what}")

    def value(self, place: float) -> int:
        """Return the value of a place."""
        return self.low + math.floor(0.5 * (place + 1.0) * (self.high - self.low) + 0.5)


@dataclass(frozen=True)
class Categories:
    """A knob with a few values, in an order in which neighbours are alike.

    >>> Categories(["small", "medium", "large"]).value(-1.0)
    'small'
    """

    values: Sequence[str | int | float]

    def __post_init__(self) -> None:
        """Check the values."""
        values = self.values
        if isinstance(values, str) or not isinstance(values, list | tuple):
            raise SpecError(f"Categories: values must be a list, got {values!r}")
        if not 2 <= len(values) <= _MOST_LEVELS:
            raise SpecError(
                f"Categories: there must be at least two values and at most {_MOST_LEVELS}, got "
                f"{len(values)}"
            )
        if not all(type(value) in (str, int, float) for value in values):
            raise SpecError(f"Categories: values must be texts or numbers, got {values!r}")
        if any(value != value for value in values):
            raise SpecError(f"Categories: no value may be NaN, got {values!r}")
        if len(set(values)) < len(values):
            raise SpecError(f"Categories: no value may come twice, got {values!r}")
        object.__setattr__(self, "values", tuple(values))

    @property
    def levels(self) -> int:
        """How many places there are."""
        return len(self.values)

    def has(self, value: Any) -> bool:
        """Return whether this is one of the values."""
        return isinstance(value, str | int | float | np.generic) and value in self.values

    def place(self, value: Any, who: str, what: str) -> float:
        """Return the place in [-1, 1] of a value, or refuse it by name."""
        if not self.has(value):
            raise SpecError(f"{who}: {what} must be one of {list(self.values)}, got {value!r}")
        return 2.0 * self.values.index(value) / (self.levels - 1) - 1.0

    def value(self, place: float) -> str | int | float:
        """Return the value of a place."""
        return self.values[math.floor(0.5 * (place + 1.0) * (self.levels - 1) + 0.5)]


Range = Span | Log | Int | Categories
_KINDS = {"Span": Span, "Log": Log, "Int": Int, "Categories": Categories}


def range_of(given: Any, name: str) -> Range:
    """Return the range of a knob; a pair of numbers is a span."""
    if isinstance(given, Span | Log | Int | Categories):
        return given
    if isinstance(given, list | tuple) and any(isinstance(value, str) for value in given):
        raise SpecError(
            f"Knobs: {name}: for a list of values write bl.ranges.Categories({list(given)!r})"
        )
    if isinstance(given, list | tuple) and len(given) == 2:
        try:
            return Span(*given)
        except SpecError as error:
            raise SpecError(str(error).replace("Span", f"Knobs: {name}", 1)) from None
    raise SpecError(
        f"Knobs: {name!r} must have a range (low, high), bl.ranges.Log(low, high), "
        f"bl.ranges.Int(low, high) or bl.ranges.Categories([...]), got {given!r}"
    )


def to_dict(knob: Range) -> dict[str, Any]:
    """Return plain data, ready for JSON."""
    if isinstance(knob, Categories):
        return {"type": "Categories", "values": list(knob.values)}
    return {"type": type(knob).__name__, "low": knob.low, "high": knob.high}


def from_dict(told: Mapping[str, Any]) -> Range:
    """Undo ``to_dict``."""
    numbers = dict(told)
    made: Range = _KINDS[numbers.pop("type")](**numbers)
    return made


def _inside(part: float, knob: Span | Log | Int, value: Any, what: str) -> float:
    """Return the place of a part of a range, which must be from 0 to 1."""
    if not -_SLACK <= part <= 1.0 + _SLACK:
        raise SpecError(
            f"{what} must be inside of the range {knob.low:g} to {knob.high:g}, got {value!r}"
        )
    return min(max(2.0 * part - 1.0, -1.0), 1.0)
