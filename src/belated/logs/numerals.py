"""Numbers as files write them: with points or commas, in groups of thousands, and as durations.

A form says how the numbers of one column are written. :func:`number` reads one cell and
``numbers.read_numbers`` a whole column; both do the same, bit for bit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

NumberForm = Literal[
    "plain",
    "decimal comma",
    "thousands",
    "duration",
    "per cent",
    "money",
    "money with a decimal comma",
]
"""12345.5; 12.345,5 or 12345,5; 12,345.5; 3:25:45.5, 1 day 03:25:45 or PT3H25M; 60% or 2,5 %;
$1,234.50 or 12.50 USD; 1.234,50 €.
"""

PLAIN = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
WHOLE = r"^\s*[+-]?\d+\s*$"
ZEROS = r"^\s*[+-]?0\d+\s*$"
"""Whole numbers that begin with a zero, as only names do."""
CLOCKED = (
    r"^\s*(?P<sign>-)?(?:(?P<days>\d+) ?d(?:ays?)?,? ?)?"
    r"(?P<hours>\d{1,4}):(?P<minutes>[0-5]\d)(?::(?P<seconds>[0-5]\d(?:[.,]\d+)?))?\s*$"
)
PERIOD = (
    r"^\s*(?P<sign>-)?P(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:[.,]\d+)?)S)?)?\s*$"
)
CURRENCY = (
    r"(?:(?:US|CA|AU|NZ|HK|[ACRS])?\$|[€£¥₹₽₩]|zł|kr|"
    r"USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|RUB|TRY|ZAR)"
)
"""Signs of money and the usual codes."""
_GROUPED = r"(\d{1,3}([,' ]\d{3})+|\d+)(\.\d+)?"
_GROUPED_COMMA = r"(\d{1,3}([.' ]\d{3})+|\d+)(,\d+)?"
_AMOUNT = rf"^\s*[+-]?\s*(%s|{CURRENCY}\s*[+-]?%s|%s\s*{CURRENCY})\s*$"

FORMS: Mapping[NumberForm, str] = MappingProxyType(
    {
        "plain": PLAIN,
        "decimal comma": rf"^\s*[+-]?{_GROUPED_COMMA}\s*$",
        "thousands": rf"^\s*[+-]?{_GROUPED}\s*$",
        "duration": rf"({CLOCKED})|(\s*-?PT?[0-9][0-9TWDHMS.,]*)",
        "per cent": r"^\s*[+-]?\d+([.,]\d+)?\s*%\s*$",
        "money": _AMOUNT % ((_GROUPED,) * 3),
        "money with a decimal comma": _AMOUNT % ((_GROUPED_COMMA,) * 3),
    }
)
"""What the cells of each form look like."""
REWRITTEN: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        "decimal comma": ((r"[.' ]", ""), (r",", ".")),
        "thousands": ((r"[,' ]", ""),),
        "per cent": ((r"\s*%", ""), (r",", ".")),
        "money": ((CURRENCY, ""), (r"[,'\s]", "")),
        "money with a decimal comma": ((CURRENCY, ""), (r"[.'\s]", ""), (r",", ".")),
    }
)
"""What turns a form into the plain one; per cent are then divided by 100."""
LIKE: Mapping[str, str] = MappingProxyType(
    {
        "plain": "is no finite number",
        "decimal comma": "is no finite number such as 1.234,5",
        "thousands": "is no finite number such as 1,234.5",
        "duration": "is no duration such as 1:30:00",
        "per cent": "is no number such as 60%",
        "money": "is no amount such as $1,234.50",
        "money with a decimal comma": "is no amount such as 1.234,50 EUR",
    }
)
"""What is wrong with a cell that is not in its form."""
_SECONDS = {"weeks": 604_800.0, "days": 86_400.0, "hours": 3_600.0, "minutes": 60.0, "seconds": 1.0}


def number(text: str, form: NumberForm) -> float | None:
    """Return what a cell says in a form; None: no finite number.

    >>> number("1.234,5", "decimal comma"), number("1,234.5", "thousands"), number("1,5", "plain")
    (1234.5, 1234.5, None)
    >>> number("1:30:00", "duration"), number("PT90M", "duration"), number("inf", "plain")
    (5400.0, 5400.0, None)
    >>> number("60%", "per cent"), number("2,5 %", "per cent")
    (0.6, 0.025)
    >>> number("-$1,234.50", "money"), number("12,50 EUR", "money with a decimal comma")
    (-1234.5, 12.5)
    """
    text = text.strip()
    if form == "duration":
        return _duration(text)
    if form != "plain":
        if not re.match(FORMS[form], text, re.ASCII):
            return None
        for pattern, instead in REWRITTEN[form]:
            text = re.sub(pattern, instead, text)
    if not re.match(PLAIN, text, re.ASCII):
        return None
    value = float(text)
    if form == "per cent":
        value /= 100.0
    return value if math.isfinite(value) else None


def currency(text: str) -> str:
    """Return in what an amount of money is; nothing where it does not say.

    >>> currency("$1,234.50"), currency("12,50 EUR"), currency("12.50")
    ('$', 'EUR', '')
    """
    found = re.search(CURRENCY, text)
    return found[0] if found else ""


def _duration(text: str) -> float | None:
    """Return seconds."""
    found = re.match(CLOCKED, text, re.ASCII) or re.match(PERIOD, text, re.ASCII)
    if found is None or not any(found.groups()[1:]):
        return None
    parts = found.groupdict()
    total = 0.0
    for name, seconds in _SECONDS.items():
        if parts.get(name):
            total += seconds * float(parts[name].replace(",", "."))
    if not math.isfinite(total):
        return None
    return -total if parts["sign"] else total


def seconds_of(value: Any) -> float | None:
    """Return a duration or a time of day of Python's in seconds; None: it is neither.

    >>> from datetime import time, timedelta
    >>> seconds_of(timedelta(minutes=1.5)), seconds_of(time(0, 1, 30))
    (90.0, 90.0)
    """
    if hasattr(value, "total_seconds"):
        return float(value.total_seconds())
    if hasattr(value, "hour") and not hasattr(value, "year"):
        whole = value.hour * 3600 + value.minute * 60 + value.second
        return float((whole * 1_000_000 + value.microsecond) / 1e6)
    return None
