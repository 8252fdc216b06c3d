"""Missing values: one rule for times, keys and cells. NumPy need not be imported."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from numbers import Number
from typing import Any


def is_missing(value: Any) -> bool:
    """Tell whether a value says that there is none: None, NaN, NaT, or the NA of pandas.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0.0), is_missing("")
    (True, True, False, False)
    """
    if value is None or type(value).__name__ == "NAType":
        return True
    if isinstance(value, Decimal):
        return value.is_nan()  # a signalling NaN refuses to be compared
    if isinstance(value, Number | date) or type(value).__name__ == "datetime64":
        return bool(value != value)
    return False
