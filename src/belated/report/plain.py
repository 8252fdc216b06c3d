"""Numbers and sentences as people write them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

WIDTH = 96
"""Columns of text in a terminal."""
DIGITS = 4
"""Significant digits shown of numbers that are not whole."""
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NOT_AVAILABLE = "n/a"


def plain(value: float, digits: int = DIGITS) -> str:
    """Write a number with some significant digits, but never round before the decimal point.

    >>> [plain(value) for value in (1000000, 12345.6, 3.14159, 0.25, 0.000123456, -7)]
    ['1,000,000', '12,346', '3.142', '0.25', '0.0001235', '−7']
    >>> plain(1.5e-9), plain(2e21)
    ('1.5×10⁻⁹', '2×10²¹')
    """
    size = abs(value)
    if size == 0.0:
        return "0"
    exponent = math.floor(math.log10(size))
    if not -6 <= exponent < 15:
        text = _with_power(size, digits)
    elif isinstance(value, int):
        text = f"{size:,}"
    else:
        text = _trimmed(f"{size:,.{max(0, digits - 1 - exponent)}f}")
    return f"−{text}" if value < 0 else text


def power(value: float) -> str:
    """Write a power of ten as one, from a thousand on and below a hundredth.

    >>> [power(value) for value in (0.001, 1.0, 100.0, 1e6)]
    ['10⁻³', '1', '100', '10⁶']
    """
    exponent = round(math.log10(value)) if value > 0.0 else 0
    if 0.005 < value < 500.0 or not math.isclose(value, 10.0**exponent, rel_tol=1e-9):
        return plain(value)
    return f"10{str(exponent).translate(SUPERSCRIPTS)}"


def counted(number: int, what: str, several: str | None = None) -> str:
    """Return how many there are of something.

    >>> counted(1, "prediction"), counted(1200, "row"), counted(2, "foot", "feet")
    ('1 prediction', '1,200 rows', '2 feet')
    """
    return f"{number:,} {what if number == 1 else several or what + 's'}"


def listed(words: Sequence[str]) -> str:
    """Join words as a sentence does.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def remarks(notes: Iterable[str], bad: object) -> list[str]:
    """Return the last lines of a summary: notes, and rows that were left out."""
    lines = [f"note: {note}" for note in notes]
    return [*([""] if lines else []), *lines, *(["", f"left out: {bad}"] if bad else [])]


def first_up(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def _with_power(size: float, digits: int) -> str:
    """Write a number that is far too large or small to be written out."""
    factor, _, power = f"{size:.{digits - 1}e}".partition("e")
    return f"{_trimmed(factor)}×10{str(int(power)).translate(SUPERSCRIPTS)}"


def _trimmed(text: str) -> str:
    """Drop zeros at the end of a fraction."""
    return text.rstrip("0").rstrip(".") if "." in text else text
