"""Times and lengths of time as people say them."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.logs.dates import to_wall
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
_LONG = {"h": "hours", "min": "minutes", "s": "seconds", "ms": "milliseconds"}
LEAST = {"years": 2.0, "weeks": 10.0, "days": 2.0}
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


def axis(span: float, unit: Unit | None, start: str) -> tuple[float, str]:
    """Return by what to multiply times after the start, so that they are small, and a label.

    >>> axis(7200.0, "s", "noon")
    (0.0002777777777777778, 'hours after noon')
    """
    if unit is None:
        return 1.0, f"time after {start}, in the unit of the log"
    scale, name = _scale(span, unit)
    return scale, f"{name} after {start}"


def wait_axis(wait: float, unit: Unit | None) -> tuple[float, str]:
    """Return the same for waits, of which this is a long one."""
    if unit is None:
        return 1.0, "wait, in the unit of the log"
    scale, name = _scale(wait, unit)
    return scale, f"wait in {name}"


def _scale(length: float, unit: Unit) -> tuple[float, str]:
    """Return the factor to the unit in which a length of time has a small number, and its name."""
    name, size = best_unit(max(length, 1e-9) * SECONDS[unit])
    return SECONDS[unit] / size, _LONG.get(name, name)


def moment(time: Any, zone: str | None = None) -> str:
    """Return a time of a log: a date in UTC or on the clock of a zone, or a number.

    >>> moment(np.datetime64("2024-05-01T12:30:10.5")), moment(12345.5)
    ('2024-05-01 12:30 UTC', '12,345.5')
    >>> moment(np.datetime64("2024-05-01T12:30"), "Europe/Berlin")
    '2024-05-01 14:30 (Europe/Berlin)'
    """
    if isinstance(time, np.datetime64):
        if zone is not None:
            instant = np.array([time], dtype="datetime64[ns]").view(np.int64)
            wall = to_wall(instant, zone).view("datetime64[ns]")[0]
            return f"{str(wall.astype('datetime64[m]')).replace('T', ' ')} ({zone})"
        return f"{str(time.astype('datetime64[m]')).replace('T', ' ')} UTC"
    return f"{float(time):,.10g}"


def iso_moment(time: Any) -> str | float:
    """Return a time of a log for programs: ISO 8601 in UTC, or a number.

    >>> iso_moment(np.datetime64("2024-05-01T12:30:10.500000000")), iso_moment(np.float64(12.5))
    ('2024-05-01T12:30:10.5Z', 12.5)
    """
    if isinstance(time, np.datetime64):
        text = str(time.astype("datetime64[ns]"))
        return f"{text.rstrip('0').rstrip('.')}Z"
    return float(time)


def _short(value: float) -> str:
    """Return a number with two or three digits that count."""
    if value >= 1000.0:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}" if value >= 100.0 else f"{value:.2g}"
