"""Lengths of time as people give them, in the unit of a log."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import numpy as np

from belated.errors import SpecError
from belated.linear.clock import has_unit, span_of, time_of
from belated.logs.log import SECONDS, Unit

_TEXT = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*")
_UNITS = {**SECONDS, "w": 7.0 * SECONDS["d"]}


def span_in(given: Any, unit: Unit | None) -> float:
    """Return a duration in the unit of a log.

    A number is in that unit already. A ``timedelta`` and a text such as "2d" or "30min" say what
    they are in, and need a log of which the unit is known.

    >>> span_in("2d", "h"), span_in("90 min", "s"), span_in(7, None)
    (48.0, 5400.0, 7.0)
    """
    rule = "evaluate: a deadline is a number, a duration, or a text like '2d', '36h' or '30min'"
    if isinstance(given, str):
        found = _TEXT.fullmatch(given)
        if found is None or found[2] not in {"", *_UNITS}:
            raise SpecError(f"{rule}, got {given!r}")
        if not found[2]:
            return float(found[1])
        seconds = float(found[1]) * _UNITS[found[2]]
    elif has_unit(given):
        seconds = span_of(given, rule)
    else:
        return span_of(given, rule)
    if unit is None:
        raise SpecError(
            f"evaluate: times are numbers of which nobody said what one unit is, so {given!r} "
            "cannot be counted in them; give a plain number, or unit= (--unit)"
        )
    return seconds / SECONDS[unit]


def moment_in(given: Any, start: Any, unit: Unit | None) -> float:
    """Return a moment as the time after the start of a log, in its unit."""
    if isinstance(start, np.datetime64):
        if isinstance(given, str):
            given = _read(given)
        return time_of(given, "evaluate: until") - time_of(start, "evaluate")
    if isinstance(given, str):
        try:
            given = float(given)
        except ValueError:
            raise SpecError(f"evaluate: until must be a number here, got {given!r}") from None
    return time_of(given, "evaluate: until") - float(start)


def _read(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise SpecError(
            f"evaluate: until must be a time like 2024-05-01T12:00, got {text!r}"
        ) from None
