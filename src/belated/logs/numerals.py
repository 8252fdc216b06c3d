"""Numbers as files write them: with points or commas, in groups of thousands, and as durations.

A form says how the numbers of one column are written. :func:`number` reads one cell.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

NumberForm = Literal["plain", "decimal comma", "thousands", "duration", "per cent"]
"""12345.5; 12.345,5 or 12345,5; 12,345.5; 3:25:45.5 or 1 day 03:25:45; 60% or 2,5 %."""

PLAIN = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
WHOLE = r"^\s*[+-]?\d+\s*$"
ZEROS = r"^\s*[+-]?0\d+\s*$"
"""Whole numbers that begin with a zero, as only names do."""
DURATION = (
    r"^\s*(?P<sign>-)?(?:(?P<days>\d+) ?d(?:ays?)?,? ?)?"
    r"(?P<hours>\d{1,4}):(?P<minutes>[0-5]\d)(?::(?P<seconds>[0-5]\d(?:[.,]\d+)?))?\s*$"
)
FORMS: Mapping[NumberForm, str] = MappingProxyType(
    {
        "plain": PLAIN,
        "decimal comma": r"^\s*[+-]?(\d{1,3}([.' ]\d{3})+|\d+)(,\d+)?\s*$",
        "thousands": r"^\s*[+-]?(\d{1,3}([,' ]\d{3})+|\d+)(\.\d+)?\s*$",
        "duration": DURATION,
        "per cent": r"^\s*[+-]?\d+([.,]\d+)?\s*%\s*$",
    }
)
"""The pattern of the cells of each form. Plain ones fit others too; the first that fits is meant.
"""
LIKE: Mapping[str, str] = MappingProxyType(
    {
        "plain": "is no finite number",
        "decimal comma": "is no finite number such as 1.234,5",
        "thousands": "is no finite number such as 1,234.5",
        "duration": "is no duration such as 1:30:00",
        "per cent": "is no number such as 60%",
    }
)
"""The error of a cell that is not in its form."""
_SECONDS = {"days": 86_400.0, "hours": 3_600.0, "minutes": 60.0, "seconds": 1.0}


def number(text: str, form: NumberForm = "plain") -> float | None:
    """Return what a cell says in a form; None: no finite number.

    >>> number("1.234,5", "decimal comma"), number("1,234.5", "thousands"), number("1,5", "plain")
    (1234.5, 1234.5, None)
    >>> number("1:30:00", "duration"), number("2,5 %", "per cent"), number("inf", "plain")
    (5400.0, 0.025, None)
    """
    found = re.match(FORMS[form], text, re.ASCII)
    if found is None:
        return None
    if form == "duration":
        parts = found.groupdict()
        values = ((parts[name], seconds) for name, seconds in _SECONDS.items())
        total = sum(s * float(part.replace(",", ".")) for part, s in values if part)
        return -total if parts["sign"] else total
    if form == "decimal comma":
        text = text.replace(".", "")
    text = re.sub("[' %]", "", text).replace(",", "" if form == "thousands" else ".")
    value = float(text) / 100.0 if form == "per cent" else float(text)
    return value if math.isfinite(value) else None


def whole(text: str) -> int | None:
    """Return a whole number exactly; None: it is none, or too large for 64 bits.

    >>> whole("9007199254740993"), whole("3.0"), whole("3.5")
    (9007199254740993, 3, None)
    """
    value = number(text)
    if value is None or not value.is_integer():
        return None
    exact = int(text) if re.match(WHOLE, text, re.ASCII) else int(value)
    return exact if abs(exact) < 2**63 else None
