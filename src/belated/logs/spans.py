"""Lengths of time as people give them: 30d, 1.5 h, 2 weeks, a timedelta, or a plain number."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from datetime import timedelta
from typing import Any

import numpy as np

from belated.errors import LogError
from belated.logs.log import SECONDS, Unit

_TEXT = re.compile(r"\s*((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([a-z]*)\s*")
_WORDS = {"second": "s", "minute": "min", "hour": "h", "day": "d", "week": "w"}
_SIZES: dict[str, float] = {**SECONDS, "w": 7.0 * SECONDS["d"]}
_SIZES |= {f"{word}{end}": _SIZES[unit] for word, unit in _WORDS.items() for end in ("", "s")}


def read_span(given: Any, who: str) -> tuple[float, bool]:
    """Return a length of time, and whether it is in seconds; else it is in the unit of a log.

    >>> read_span("2 days", "doc"), read_span(".5h", "doc"), read_span(7, "doc")
    ((172800.0, True), (1800.0, True), (7.0, False))
    """
    length, is_seconds = math.nan, True
    if isinstance(given, timedelta):
        length = given.total_seconds()
    elif isinstance(given, np.timedelta64):
        length = float(given / np.timedelta64(1, "s"))
    elif isinstance(given, str):
        if found := _TEXT.fullmatch(given.lower()):
            is_seconds = bool(found[2])
            length = float(found[1]) * (_SIZES.get(found[2], math.nan) if is_seconds else 1.0)
    elif not isinstance(given, bool | bytes):
        is_seconds = False
        with suppress(TypeError, ValueError, OverflowError):
            length = float(given)
    if not 0.0 <= length < math.inf:
        raise LogError(
            f"{who}: a length of time is a number, a duration, or a text like 30d, 12h or 90min, "
            f"in s, min, h, d or w, got {given!r}"
        )
    return length, is_seconds


def span_in(given: Any, unit: Unit | None, who: str, *, has_dates: bool = False) -> float:
    """Return a length of time in the unit of a log; a plain number is in that unit already.

    Where times are dates, also as counts since 1970, a plain number would be in the unit in which
    they happen to be stored, which is never meant: it is refused.

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
            f"{who}: times are numbers and their unit is not known, so {str(given)!r} "
            "cannot be counted in them; give a plain number, or unit= (--unit)"
        )
    return length / SECONDS[unit]
