"""Lengths of time as people say them."""

from __future__ import annotations

from belated.logs.log import SECONDS, Unit

_STEPS = (
    ("years", 365.25 * 86400.0),
    ("weeks", 7.0 * 86400.0),
    ("days", 86400.0),
    ("h", 3600.0),
    ("min", 60.0),
    ("s", 1.0),
    ("ms", 1e-3),
    ("µs", 1e-6),
    ("ns", 1e-9),
)
LEAST = {"years": 2.0, "weeks": 3.0, "days": 2.0}
"""How many there must be before a longer unit is used."""


def humane(length: float, unit: Unit | None) -> str:
    """Return a length of time in words; without a unit it is a number.

    >>> [humane(seconds, "s") for seconds in (0.0, 0.0042, 90.0, 21600.0, 200000.0, 1e8)]
    ['0 s', '4.2 ms', '1.5 min', '6 h', '2.3 days', '3.2 years']
    >>> humane(1234.5, None)
    '1,230'
    """
    if unit is None:
        return _short(length)
    seconds = length * SECONDS[unit]
    if seconds == 0.0:
        return "0 s"
    name, size = best_unit(seconds)
    return f"{_short(seconds / size)} {name}"


def best_unit(seconds: float) -> tuple[str, float]:
    """Return the unit in which a length of time has a small number, and its seconds.

    >>> best_unit(7200.0)
    ('h', 3600.0)
    """
    for name, size in _STEPS:
        if seconds >= size * LEAST.get(name, 1.0) * 0.9995:
            return name, size
    return _STEPS[-1]


def _short(value: float) -> str:
    """Return a number with two or three digits that count."""
    if value >= 1000.0:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}" if value >= 100.0 else f"{value:.2g}"
