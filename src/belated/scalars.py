"""One value of a row as a number, a text or nothing: one rule in process and over HTTP."""

from __future__ import annotations

import math
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

from belated.missing import is_missing


def plain(value: Any) -> float | str | None:
    """Return a value as a float or a string, None where it is missing; raise TypeError otherwise.

    Numbers of NumPy and pandas, truth values and Decimals are floats, and durations are seconds.
    Dates are ISO 8601 texts, as JSON would have them.

    >>> plain(3), plain(True), plain(Decimal("0.5")), plain(timedelta(minutes=2)), plain("red")
    (3.0, 1.0, 0.5, 120.0, 'red')
    >>> from enum import Enum
    >>> Plan = Enum("Plan", {"PRO": "pro"}, type=str)
    >>> plain(Plan.PRO)
    'pro'
    >>> plain(float("nan")), plain(date(2026, 3, 1))
    (None, '2026-03-01')
    """
    if isinstance(value, str):
        return value if type(value) is str else str.__str__(value)
    if type(value) in (float, int, bool):
        return float(value) if value == value else None
    if is_missing(value):
        return None
    kind = getattr(getattr(value, "dtype", None), "kind", "") if hasattr(value, "ndim") else ""
    if kind == "m" and value.ndim == 0:
        return float(value / value.dtype.type(1, "s"))
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Real | Decimal) or (kind == "b" and value.ndim == 0):
        number = float(value)
        return None if math.isnan(number) else number
    if isinstance(value, date | time):
        return value.isoformat()
    if kind == "M" and value.ndim == 0:
        return _date_text(value)
    raise TypeError(f"must be a number, a string, a date or None, got {value!r}")


def _date_text(moment: Any) -> str:
    """Return a date of NumPy as a datetime of Python or pandas would write it."""
    micros = moment.astype("datetime64[us]")
    if micros != moment:
        return str(moment.astype("datetime64[ns]"))
    if moment.dtype in ("datetime64[D]", "datetime64[W]", "datetime64[M]", "datetime64[Y]"):
        return str(micros.item().date().isoformat())
    return str(micros.item().isoformat())
