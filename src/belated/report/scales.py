"""What logarithmic axes and colours can show of the numbers, the same in every drawing."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from belated.report.figures import Bars, Heat, Lines, Numbers, Series

Limits: TypeAlias = tuple[float, float]
"""Both ends of an axis."""
Floats: TypeAlias = tuple[float, ...]

MARGIN = 0.04
"""Room beside the outermost points of a logarithmic axis, as a share of it."""
DEEP = 0.58
"""Where on the scale of colours white begins to stand out more than black."""
MOST_WRITTEN_OUT = 5.0
"""Powers of ten on an axis whose numbers are written out; on a longer one they are powers."""
LONG_NUMBER = 1e6
"""A number from which on it takes too much room on an axis, or below its inverse."""
MOST_TICKS = 8
"""Labels beside a scale of colours."""


@dataclass(frozen=True)
class Curve:
    """A series as it can be drawn: every number has a place on the axes."""

    name: str
    x: Floats
    y: Floats
    band: tuple[Floats, Floats] | None
    dashed: bool


@dataclass(frozen=True)
class Curves:
    """All curves of a figure, the limits of its logarithmic axes, and what must be said."""

    curves: tuple[Curve, ...]
    x_limits: Limits | None
    y_limits: Limits | None
    note: str


@dataclass(frozen=True)
class Groups:
    """All groups of bars of a figure, the limits of a logarithmic axis, and what must be said."""

    groups: tuple[Series, ...]
    limits: Limits | None
    note: str


def curves(lines: Lines) -> Curves:
    """Leave out points without a place on a logarithmic axis, and say how many those are.

    A band that reaches zero ends at the edge of the axis.
    """
    found = [_curve(series, lines.log_x, lines.log_y) for series in lines.series]
    left_out = sum(len(series.y) for series in lines.series) - sum(len(c.y) for c in found)
    x_limits = _limits(x for curve in found for x in curve.x) if lines.log_x else None
    y_limits = None
    if lines.log_y:
        y_limits = _limits(y for curve in found for y in _heights(curve))
        found = [_cut(curve, y_limits[0]) for curve in found]
    note = " ".join(filter(None, (lines.note, _left_out(left_out, "point"))))
    return Curves(tuple(found), x_limits, y_limits, note)


def groups(bars: Bars) -> Groups:
    """Leave out bars without a place on a logarithmic axis, and say how many those are.

    Such an axis starts at a power of ten below all bars.
    """
    if not bars.log_y:
        return Groups(bars.groups, None, bars.note)
    left_out = sum(y is not None and y <= 0 for group in bars.groups for y in group.y)
    ends = [v for g in bars.groups for v in (*g.y, *(g.high or ())) if v is not None and v > 0]
    smallest, largest = min(ends, default=10.0), max(ends, default=10.0)
    # A little below the power, so that also a bar that ends just there can be seen.
    bottom = 10.0 ** math.floor(math.log10(0.7 * smallest))
    limits = (bottom, _limits((bottom, largest))[1])
    kept = tuple(_standing(group, bottom) for group in bars.groups)
    note = " ".join(filter(None, (bars.note, _left_out(left_out, "bar"))))
    return Groups(kept, limits, note)


def note_of(heat: Heat) -> str:
    """Say so when cells have no place on logarithmic colours."""
    count = sum(v is not None and v <= 0 for row in heat.values for v in row) if heat.log else 0
    if not count:
        return ""
    cells = "1 cell is" if count == 1 else f"{count} cells are"
    return f"{cells} zero or less and shown in the colour of the smallest values."


def colour_limits(heat: Heat) -> Limits:
    """Return the values at both ends of the colours, which always differ."""
    known = [v for row in heat.values for v in row if v is not None and (v > 0 or not heat.log)]
    low = min(known, default=1.0) if heat.low is None else heat.low
    high = max(known, default=low) if heat.high is None else heat.high
    if low < high:
        return low, high
    # All cells are alike, or the one end that was given lies beyond them all.
    if heat.high is not None:
        return (high / 10.0 if heat.log else high - 1.0), high
    return low, (low * 10.0 if heat.log else low + 1.0)


def shade(heat: Heat, value: float) -> float:
    """Return where a value stands between the ends of the colours, from 0 to 1."""
    low, high = colour_limits(heat)
    value = min(max(value, low), high)
    if heat.log:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def is_deep(heat: Heat, value: float) -> bool:
    """Return whether the colour of a value is so deep that text on it must be white."""
    return shade(heat, value) > DEEP


def colour_ticks(heat: Heat) -> list[float]:
    """Return the values to label beside the colours.

    >>> colour_ticks(Heat("t", ("a",), ("b",), ((3.0,),), "v", low=1.0, high=20.0))
    [1.0, 2.0, 5.0, 10.0, 20.0]
    """
    low, high = colour_limits(heat)
    if heat.log:
        ticks = _log_ticks(low, high, (1, 2, 5))
        if len(ticks) > MOST_TICKS:
            ticks = _log_ticks(low, high, (1,))
            ticks = ticks[:: math.ceil(len(ticks) / MOST_TICKS)]
        if len(ticks) >= 2:
            return ticks
    return [low + (high - low) * step / 4 for step in range(5)]


def _curve(series: Series, log_x: bool, log_y: bool) -> Curve:
    """Return the points that have a place on both axes; ends of bands may still lack one."""
    y = cast(Floats, series.y)  # Lines have no missing y
    inside = [
        i for i in range(len(y)) if (series.x[i] > 0 or not log_x) and (y[i] > 0 or not log_y)
    ]

    def at(values: Numbers) -> Floats:
        return cast(Floats, tuple(values[i] for i in inside))

    has_band = series.low is not None and series.high is not None
    band = (at(series.low or ()), at(series.high or ())) if has_band else None
    return Curve(series.name, at(series.x), at(y), band, series.dashed)


def _heights(curve: Curve) -> Iterable[float]:
    """Return all heights of a curve and its band that have a place on a logarithmic axis."""
    low, high = curve.band or ((), ())
    return (value for value in (*curve.y, *low, *high) if value > 0)


def _cut(curve: Curve, floor: float) -> Curve:
    """Return the curve with a band that ends at the floor."""
    if curve.band is None:
        return curve
    low, high = curve.band
    return replace(curve, band=(tuple(max(v, floor) for v in low), high))


def _standing(group: Series, bottom: float) -> Series:
    """Return the group without bars of zero or less, and with whiskers that end at the bottom."""
    fine = [y is not None and y > 0 for y in group.y]

    def kept(values: Numbers) -> Numbers:
        pairs = zip(values, fine, strict=True)
        return tuple(max(v, bottom) if ok and v is not None else None for v, ok in pairs)

    if group.low is None or group.high is None:
        return replace(group, y=kept(group.y))
    return replace(group, y=kept(group.y), low=kept(group.low), high=kept(group.high))


def has_powers(limits: Limits) -> bool:
    """Whether the numbers on a logarithmic axis are written as powers of ten.

    They are where it is long, and where numbers written out would be.

    >>> has_powers((1.0, 1e4)), has_powers((1e-4, 1e4)), has_powers((1e5, 1e8))
    (False, True, True)
    """
    low, high = limits
    return high > 10.0**MOST_WRITTEN_OUT * low or high >= LONG_NUMBER or low < 1.0 / LONG_NUMBER


def _limits(values: Iterable[float]) -> Limits:
    """Return both ends of a logarithmic axis around positive values, with a margin."""
    known = [math.log10(value) for value in values]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    margin = MARGIN * (high - low)
    return 10.0 ** (low - margin), 10.0 ** (high + margin)


def _log_ticks(low: float, high: float, digits: tuple[int, ...]) -> list[float]:
    """Return the round numbers from low to high that start with one of the digits."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = (float(f"{digit}e{power}") for power in powers for digit in digits)
    return [tick for tick in ticks if low / 1.0001 <= tick <= high * 1.0001]


def _left_out(count: int, what: str) -> str:
    if not count:
        return ""
    things = f"1 {what} is" if count == 1 else f"{count} {what}s are"
    return f"{things} left out: zero and less have no place on a logarithmic axis."
