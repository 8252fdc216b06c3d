"""Figures as Vega-Lite descriptions, from which pages, images and notebooks are drawn.

The fields of the data are ``s`` (the series), ``c`` (the label or column), ``r`` (the row), ``x``
and ``y``, and ``l`` and ``h`` (the ends of an interval).
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence

from belated.charts import CONFIG, FAINT, GREY, INK, RULE, Chart, Json
from belated.report.colours import DASHES, is_ours, look
from belated.report.figures import Bars, Figure, Heat, Lines, Series
from belated.report.plain import NOT_AVAILABLE, power

WIDTH = 720
"""Width in pixels of an image; on a page a figure is as wide as its column."""
LINES_HEIGHT, BARS_HEIGHT = 340, 300
"""Heights in pixels of curves and of standing bars."""
FIT = {"type": "fit-x", "contains": "padding"}
"""The width is that of the whole figure, and the height that of its axes."""
LONGEST = 26
"""Letters in one line of a label."""
MARKERS = 12
"""Most markers on one curve."""
FEW = 24
"""Most bars of one figure; more are drawn as markers, which differ in shape, too."""
LOWEST = "rgb(253, 231, 37)"
"""The colour of the smallest values."""
DEEP = 0.58
"""Where on the scale of colours white begins to stand out more than black."""
LONG_AXIS = 1e4
"""Ratio of the ends of a logarithmic axis from which on its numbers are powers of ten."""
NUMBER = ",.6~r"
"""The format of numbers: six digits, thousands apart, no zeros at the end."""
SHORT_NUMBER = ",.3~r"
"""The same with three digits, for cells and scales of colours."""
LEGEND_SYMBOL, LETTER = 46, 7
"""Pixels of the symbol of an entry of the legend with its gaps, and of a letter."""
LEFT_AXIS, WIDE_LEFT_AXIS = 60, 130
"""Pixels beside the plot for the numbers, or for the names of rows."""
LEAST_GROUP, LEAST_COLUMN = 60, 44
"""Pixels that a group of bars, or a column of cells, needs at least."""
TEXT_LINE = 14
"""Pixels of a line of a label."""
LONG_MARGIN = 0.03
"""Share of the length of a logarithmic axis that stays free at each end."""
LONE_MARGIN = 3.0
"""Factor by which a logarithmic axis extends to both sides of its only value."""
MARKER = {"type": "point", "filled": True, "size": 60}
HAS_ENDS = {"filter": "isValid(datum.l)"}
"""Only the points and bars that have an interval."""
SELECTED = {"param": "shown"}
"""Whether a series is selected in the legend, as all are until one is clicked."""


def chart_of(figure: Figure, *, titled: bool = False) -> Chart:
    """Return the figure as a chart, by default without its title; a page shows that as text."""
    match figure:
        case Lines():
            spec, names = _lines(figure), [series.name for series in figure.series]
        case Bars():
            spec, names = _bars(figure), [group.name for group in figure.groups]
        case Heat():
            spec, names = _heat(figure), []
    # The page asks how wide an entry of the legend is, and how wide the figure must be.
    entry = LEGEND_SYMBOL + LETTER * max(map(len, names), default=0)
    legend = {**CONFIG["legend"], "columns": max(1, WIDTH // entry)}
    spec |= {"autosize": FIT, "config": {**CONFIG, "legend": legend}}
    if titled:
        title = {"text": textwrap.wrap(figure.title, 80), "anchor": "start", "color": INK}
        spec["title"] = {**title, "fontSize": 15, "offset": 12}
    hints = {"entry": entry, "least": _least_width(figure)}
    return Chart({"width": WIDTH, **spec, "usermeta": hints})


def note_of(figure: Figure) -> str:
    """Return the note of a figure, and how many values a logarithmic scale cannot show."""
    match figure:
        case Lines():
            shown = sum(len(_points(series, figure)) for series in figure.series)
            count, what = sum(len(series.y) for series in figure.series) - shown, "point"
        case Bars():
            values = [y for group in figure.groups for y in group.y]
            count, what = sum(figure.log_y and y is not None and y <= 0.0 for y in values), "bar"
        case Heat():
            values = [value for row in figure.values for value in row]
            count, what = sum(figure.log and v is not None and v <= 0.0 for v in values), "cell"
    things = f"1 {what} is" if count == 1 else f"{count} {what}s are"
    left_out = f"{things} left out: zero and less have no place on a logarithmic axis."
    if isinstance(figure, Heat):
        left_out = f"{things} zero or less and shown in the colour of the smallest values."
    return " ".join(filter(None, (figure.note, left_out if count else "")))


def _least_width(figure: Figure) -> int:
    """Return how many pixels the figure needs; on a narrower screen it scrolls."""
    match figure:
        case Bars(is_lying=False):
            return LEFT_AXIS + LEAST_GROUP * len(figure.labels)
        case Heat():
            return WIDE_LEFT_AXIS + LEAST_COLUMN * len(figure.columns)
        case _:
            return 0


# ---- curves ------------------------------------------------------------------------------------


def _lines(lines: Lines) -> Json:
    rows = [row for series in lines.series for row in _points(series, lines)]
    names = [series.name for series in lines.series]
    x = _axis("x", lines.x_label, [row["x"] for row in rows], lines.log_x, field="x")
    heights = [row[key] for row in rows for key in "ylh" if key in row]
    y = _axis("y", lines.y_label, heights, lines.log_y)
    style = _style(names, [series.name for series in lines.series if series.dashed])
    style["shape"]["scale"]["range"] = [
        "stroke" if series.dashed else look(series.name).marker for series in lines.series
    ]
    is_own = {"test": {"field": "s", "oneOf": [name for name in names if is_ours(name)]}}
    told = [_told("x", lines.x_label), _told("y", lines.y_label)]
    band = {
        "transform": [HAS_ENDS],
        "mark": "area",
        "encoding": {
            "y": {**y, "field": "l"},
            "y2": {"field": "h"},
            "opacity": {"condition": {**SELECTED, "value": 0.18}, "value": 0.03},
        },
    }
    curve = {
        "params": [_legend_selection()],
        "mark": "line",
        "encoding": {
            "y": y,
            "opacity": _faded(),
            "strokeWidth": {"condition": {**is_own, "value": 3.5}, "value": 1.8},
            **_only(style, "strokeDash"),
        },
    }
    # All points tell their numbers; some are seen.
    seen = {"test": {"and": ["datum.m", SELECTED]}, "value": 1}
    marker = {
        "mark": MARKER,
        "encoding": {
            "y": y,
            "opacity": {"condition": seen, "value": 0},
            "tooltip": _tooltip(rows, "s", *told),
            **_only(style, "shape"),
        },
    }
    return {
        "height": LINES_HEIGHT,
        "data": {"values": rows},
        "encoding": {"x": x, **_only(style, "color")},
        "layer": [*([band] if any("l" in row for row in rows) else []), curve, marker],
    }


def _points(series: Series, lines: Lines) -> list[Json]:
    """Return the points that have a place on both axes; bands end at the lowest of them."""
    pairs = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
    kept = [
        i
        for i, (x, y) in enumerate(pairs)
        if not (lines.log_x and x <= 0.0) and not (lines.log_y and y <= 0.0)
    ]
    floor = min((pairs[i][1] for i in kept), default=0.0)
    step, rows = max(1, math.ceil(len(kept) / MARKERS)), []
    for place, i in enumerate(kept):
        row: Json = {"s": series.name, "x": _short(pairs[i][0]), "y": _short(pairs[i][1])}
        low, high = (None if ends is None else ends[i] for ends in (series.low, series.high))
        if low is not None and high is not None:
            low = floor if lines.log_y and low <= 0.0 else low
            row |= {"l": _short(low), "h": _short(high)}
        is_marked = place % step == 0 and not series.dashed
        rows.append(row | ({"m": 1} if is_marked else {}))
    return rows


# ---- bars --------------------------------------------------------------------------------------


def _bars(bars: Bars) -> Json:
    """Return bars, or markers where bars would have no zero to start from or be too many."""
    labels = [_wrapped(label) for label in bars.labels]
    order = [group.name for group in bars.groups]
    rows = _bar_rows(bars, labels)
    has_whiskers = any("l" in row for row in rows)
    is_dotted = bars.log_y or len(rows) > FEW
    # Markers without whiskers stand on one line.
    is_grouped = len(order) > 1 and (has_whiskers or not is_dotted)
    ends = [row[key] for row in rows for key in "ylh" if key in row]
    along, across = ("x", "y") if bars.is_lying else ("y", "x")
    value = _axis(along, bars.y_label, ends, bars.log_y, zero=not is_dotted)
    field, names = ("c", bars.labels) if bars.by_label else ("s", order)
    style = _style(names, field=field, domain=labels if bars.by_label else order)
    opacity = {} if bars.by_label else {"opacity": _faded()}
    told: list[str | Json] = [*([] if bars.by_label else ["s"]), "c", _told("y", bars.y_label)]
    whisker = {
        "transform": [HAS_ENDS],
        "mark": {"type": "rule", "strokeWidth": 1.5},
        "encoding": {
            along: {**value, "field": "l"},
            f"{along}2": {"field": "h"},
            **opacity,
            **({} if is_dotted else {"color": {"value": INK}}),
        },
    }
    bar = {
        "params": [] if bars.by_label else [_legend_selection()],
        "mark": MARKER if is_dotted else "bar",
        "encoding": {
            along: {**value, "stack": None},
            "tooltip": _tooltip(rows, *told),
            **opacity,
            **_only(style, *(["shape"] if is_dotted else [])),
        },
    }
    offset = {"field": "s", "sort": None, "scale": {"domain": order}}
    marks = len(order) if is_grouped else 1
    return {
        "height": _row_height(labels, marks, is_dotted) * len(labels)
        if bars.is_lying
        else BARS_HEIGHT,
        "data": {"values": rows},
        "encoding": {
            across: _names("c", labels),
            **({f"{across}Offset": offset} if is_grouped else {}),
            **_only(style, "color"),
        },
        "layer": [bar, whisker] if has_whiskers else [bar],
    }


def _row_height(labels: Sequence[str], marks: int, is_dotted: bool) -> int:
    """Return the pixels of a row of lying bars: room for its marks, and for the longest label."""
    # One mark alone is thinner than a bar of a group, and a marker needs less room than a bar.
    mark = 10 if marks == 1 else 9 if is_dotted else 14
    lines = max(1 + label.count("\n") for label in labels)
    return max(12 + mark * marks, 6 + TEXT_LINE * lines)


def _bar_rows(bars: Bars, labels: Sequence[str]) -> list[Json]:
    """Return one row per bar that has a place on the axis."""
    rows = []
    for group in bars.groups:
        lows, highs = (ends or (None,) * len(labels) for ends in (group.low, group.high))
        for label, y, low, high in zip(labels, group.y, lows, highs, strict=True):
            if y is None or (bars.log_y and y <= 0.0):
                continue
            row: Json = {"s": group.name, "c": label, "y": _short(y)}
            if low is not None and high is not None:
                low = y if bars.log_y and low <= 0.0 else low
                row |= {"l": _short(low), "h": _short(high)}
            rows.append(row)
    return rows


# ---- heat maps ---------------------------------------------------------------------------------


def _heat(heat: Heat) -> Json:
    """Return cells with their numbers; those without one are grey."""
    (low, high), label = _colour_limits(heat), heat.value_label or "value"
    rows, columns = [[_wrapped(name) for name in names] for names in (heat.rows, heat.columns)]
    # White stands out on the cells beyond this value.
    deep = low * (high / low) ** DEEP if heat.log else low + (high - low) * DEEP
    cells = [
        {"r": row, "c": columns, "y": [None if y is None else _short(y) for y in values]}
        for row, values in zip(rows, heat.values, strict=True)
    ]
    missing = {"test": "!isValid(datum.y)", "value": NOT_AVAILABLE}
    text = {"field": "y", "type": "quantitative", "format": SHORT_NUMBER, "condition": missing}
    inks = [{**missing, "value": INK}, {"test": f"datum.y > {deep:.6g}", "value": "white"}]
    x = _names("c", columns, 0.04)
    x["axis"] |= {"orient": "top", "domain": False}
    if heat.is_crowded:
        x["axis"] |= {"labelAngle": -40, "labelAlign": "left"}
    y = _names("r", rows, 0.08)
    y["axis"]["domain"] = False
    return {
        "width": min(WIDTH, 200 + 90 * len(columns)),  # names of rows, and columns with their gaps
        "height": 30 * len(rows),  # two lines of a name
        "data": {"values": cells},
        "transform": [{"flatten": ["c", "y"]}],
        "encoding": {"x": x, "y": y, "tooltip": _tooltip([], "r", "c", {**text, "title": label})},
        "layer": [
            {
                "mark": {"type": "rect", "invalid": "show"},
                "encoding": {"color": _cell_colour(heat, low, high)},
            },
            {
                "mark": {"type": "text", "fontSize": 12},
                "encoding": {"text": text, "color": {"condition": inks, "value": "black"}},
            },
        ],
    }


def _cell_colour(heat: Heat, low: float, high: float) -> Json:
    """Return the encoding of values as colours between these limits."""
    kind = "log" if heat.log else "linear"
    scale = {"type": kind, "domain": [low, high], "nice": False, "clamp": True}
    return {
        "field": "y",
        "type": "quantitative",
        "scale": {**scale, "scheme": "viridis", "reverse": True},
        "legend": {
            "title": heat.value_label,
            "orient": "bottom",
            "direction": "horizontal",
            "gradientLength": 260,
            "gradientThickness": 10,
            "format": SHORT_NUMBER,
        },
        "condition": [
            {"test": "!isValid(datum.y)", "value": GREY},
            *([{"test": "datum.y <= 0", "value": LOWEST}] if heat.log else []),
        ],
    }


def _colour_limits(heat: Heat) -> tuple[float, float]:
    """Return the values at both ends of the colours, which always differ."""
    known = [v for row in heat.values for v in row if v is not None and (v > 0.0 or not heat.log)]
    low = min(known, default=1.0) if heat.low is None else heat.low
    high = max(known, default=low) if heat.high is None else heat.high
    if low < high:
        return low, high
    # All cells are alike, or the one end that was given lies beyond them all.
    if heat.high is not None:
        return (high / 10.0 if heat.log else high - 1.0), high
    return low, (low * 10.0 if heat.log else low + 1.0)


# ---- what all figures share --------------------------------------------------------------------


def _axis(
    channel: str,
    label: str,
    values: Sequence[float],
    log: bool,
    *,
    field: str = "y",
    zero: bool = False,
) -> Json:
    """Return the encoding of numbers along the axis x or y, with plain numbers on it."""
    axis: Json = {"title": textwrap.wrap(label, 60) or None, "format": NUMBER, "tickCount": 6}
    if channel == "x":
        axis["tickCount"] = {"signal": "ceil(width / 90)"}  # pixels that a long number needs
    axis["gridColor"] = {"condition": {"test": "datum.value === 0", "value": FAINT}, "value": RULE}
    scale: Json = {"zero": zero}
    if log:
        low, high = min(values, default=1.0), max(values, default=10.0)
        margin = (high / low) ** LONG_MARGIN if high > low else LONE_MARGIN
        low, high = low / margin, high * margin
        scale = {"type": "log", "nice": False, "domain": [_short(low), _short(high)]}
        ticks = _log_ticks(low, high)
        if len(ticks) > 1:  # else the axis is so short that Vega's own are best
            axis["values"] = ticks
        if len(ticks) > 1 and (high > LONG_AXIS * low or high >= 1e6 or low < 1e-6):
            texts = [power(tick) for tick in ticks]
            axis["labelExpr"] = f"{texts}[indexof({ticks}, datum.value)]"
    return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}


def _log_ticks(low: float, high: float) -> list[float]:
    """Return the numbers beside a logarithmic axis: powers of ten, and others on a short one.

    >>> _log_ticks(0.8, 30.0), _log_ticks(1.0, 2000.0)
    ([1.0, 2.0, 5.0, 10.0, 20.0], [1.0, 10.0, 100.0, 1000.0])
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    # Below a factor of 8 nine ticks per decade have room, and below 200, two decades or so, three.
    digits = range(1, 10) if high < 8.0 * low else (1, 2, 5) if high < 200.0 * low else (1,)
    step = max(1, math.ceil((last - first) / 8))  # about eight powers of ten have room
    ticks = [float(f"{d}e{k}") for k in range(first - first % step, last + 1, step) for d in digits]
    return [tick for tick in ticks if low <= tick <= high]


def _names(field: str, names: Sequence[str], gap: float = 0.2) -> Json:
    """Return the encoding of names along an axis, in their order and broken into lines."""
    axis: Json = {"title": None, "ticks": False, "labelAngle": 0, "labelPadding": 6, "grid": False}
    axis["labelExpr"] = r"split(datum.label, '\n')"
    scale = {"type": "band", "domain": list(names), "paddingInner": gap}
    return {"field": field, "type": "nominal", "sort": None, "scale": scale, "axis": axis}


def _style(
    names: Sequence[str],
    dashed: Iterable[str] = (),
    field: str = "s",
    domain: Sequence[str] | None = None,
) -> Json:
    """Return the encodings of colour, shape and dash by name; one name has no legend."""
    looks, outlined = [look(name) for name in names], set(dashed)
    ranges: Json = {
        "color": [each.colour for each in looks],
        "shape": [each.marker for each in looks],
        "strokeDash": [
            DASHES["dash" if name in outlined else each.dash]
            for name, each in zip(names, looks, strict=True)
        ],
    }
    has_legend = len(names) > 1 and field == "s"
    found = {}
    for channel, values in ranges.items():
        scale = {"domain": list(domain or names), "range": values}
        legend = {} if has_legend else {"legend": None}
        found[channel] = {"field": field, "type": "nominal", "scale": scale, **legend}
    return found


def _legend_selection() -> Json:
    """Return the selection of series by clicks in the legend."""
    select = {"type": "point", "fields": ["s"], "toggle": "true"}
    return {"name": "shown", "select": select, "bind": "legend"}


def _only(style: Json, *channels: str) -> Json:
    return {channel: style[channel] for channel in channels}


def _faded() -> Json:
    """Return the opacity of series that are selected, and of others."""
    return {"condition": {**SELECTED, "value": 1}, "value": 0.1}


def _tooltip(rows: Sequence[Json], *fields: str | Json) -> list[Json]:
    """Return what is told of a mark: its names, its numbers and the ends of its interval."""
    found = [{"field": each, "title": " "} if isinstance(each, str) else each for each in fields]
    has_ends = any("l" in row for row in rows)
    return [*found, *([_told("l", "from"), _told("h", "to")] if has_ends else [])]


def _told(field: str, title: str) -> Json:
    return {"field": field, "type": "quantitative", "title": title or "value", "format": NUMBER}


def _wrapped(text: str) -> str:
    """Return a label in lines that are short enough for an axis."""
    return "\n".join(textwrap.wrap(text, LONGEST)) or text


def _short(value: float) -> float:
    """Return a number with the digits that can be seen, which keeps the page small."""
    return float(f"{value:.6g}")
