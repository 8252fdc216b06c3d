"""Lengths of time as people give them: 30d, 1.5 h, 2 weeks, a timedelta, or a plain number."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import numpy as np

from belated.errors import LogError
from belated.logs.log import SECONDS, Unit

_TEXT = re.compile(r"\s*((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([a-z]*)\s*")
_WEEK = 7.0 * SECONDS["d"]
_WORDS: Mapping[str, float] = MappingProxyType(
    {"second": 1.0, "minute": 60.0, "hour": SECONDS["h"], "day": SECONDS["d"], "week": _WEEK}
)


def read_span(given: Any, who: str) -> tuple[float, bool]:
    """Return a length of time, and whether it is in seconds; else it is in the unit of a log.

    >>> read_span("2 days", "doc"), read_span(".5h", "doc"), read_span(7, "doc")
    ((172800.0, True), (1800.0, True), (7.0, False))
    """
    length, is_seconds = _read(given)
    if not 0.0 <= length < math.inf:
        raise LogError(
            f"{who}: a length of time is a number, a duration, or a text like 30d, 12h or 90min, "
            f"in s, min, h, d or w, got {given!r}"
        )
    return length, is_seconds


def _read(given: Any) -> tuple[float, bool]:
    """Return what was given; NaN where it is no length of time."""
    if isinstance(given, timedelta):
        return given.total_seconds(), True
    if isinstance(given, np.timedelta64):
        return float(given / np.timedelta64(1, "s")), True
    if isinstance(given, str):
        found = _TEXT.fullmatch(given.lower())
        if found is None:
            return math.nan, False
        number, name = float(found[1]), found[2]
        if not name:
            return number, False
        size = SECONDS.get(name) or _WORDS.get(name.removesuffix("s"))
        size = _WEEK if name == "w" else size
        return (math.nan if size is None else number * size), True
    try:
        return (math.nan if isinstance(given, bool | bytes) else float(given)), False
    except (TypeError, ValueError, OverflowError):
        return math.nan, False


def span_in(given: Any, unit: Unit | None, who: str, *, has_dates: bool = False) -> float:
    """Return a length of time in the unit of a log; a plain number is in that unit already.

    Where times are dates, also as counts since 1970, a plain number would be in the unit in which
    they happen to be stored, which nobody means: it is refused.

    >>> span_in("2d", "h", "doc"), span_in("90 min", "s", "doc"), span_in(7, None, "doc")
    (48.0, 5400.0, 7.0)
    """
    length, is_seconds = read_span(given, who)
    if not is_seconds:
        if has_dates and length > 0.0:
            number = f"{length:g}"
            raise LogError(
                f"{who}: {number} of what? Times are dates here: say in what unit the length is, "
                f"such as {number}d, {number}h or {number}min"
            )
        return length
    if unit is None:
        raise LogError(
            f"{who}: times are numbers of which nobody said what one unit is, so {str(given)!r} "
            "cannot be counted in them; give a plain number, or unit= (--unit)"
        )
    return length / SECONDS[unit]
