"""Figures as the JSON that plotly draws: hover, zoom, and a legend that hides what is clicked.

Only plain dictionaries are built here, so nothing needs to be installed. They are in the colours
of a light page; :data:`belated.report.colours.DARK` says what to swap on a dark one.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import replace

from belated.report import heat_maps
from belated.report.axes import (
    CLEAR,
    LONGEST,
    Json,
    axis,
    broken,
    categories,
    legend,
    named,
    safe,
    short,
)
from belated.report.colours import FAINT, INK, PAPER, Look, is_ours, look
from belated.report.figures import Bars, Drawing, Figure, Heat, Lines, Numbers, Series
from belated.report.plain import NOT_AVAILABLE, plain
from belated.report.scales import Curve, curves, groups

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MOST_MARKERS = 12
"""Markers on one curve; hovering finds every point all the same."""
PHONE = 270
"""Pixels that a legend may take on the narrowest screens."""
SHORTEST = 18
"""Letters in one line of a label below lying bars, beside whose names a phone has little room."""
ENTRY = 22
"""Height in pixels of one line of a legend."""
COLUMN, LETTER = 46, 7
"""Width in pixels that the number in a cell needs, and a letter of a name."""


def to_plotly(figure: Figure) -> Json:
    """Return ``data`` and ``layout`` as plotly takes them, without the title.

    >>> line = Series("OMD", x=(1, 10), y=(2, 3), low=(1, 2), high=(3, 4))
    >>> [trace["legendgroup"] for trace in to_plotly(Lines("t", "x", "y", (line,)))["data"]]
    ['OMD', 'OMD']
    """
    match figure:
        case Lines():
            return _lines(figure)
        case Bars():
            return _bars(figure)
        case Heat():
            layout = {**_layout(figure), **heat_maps.axes(figure)}
            return {"data": heat_maps.layers(figure), "layout": layout}
        case Drawing():
            return figure.to_plotly()


def narrow_layout(figure: Figure) -> Json:
    """Return the parts of the layout that differ on a narrow screen: the legend is below."""
    if isinstance(figure, Drawing):
        return _short_axis(figure)
    if isinstance(figure, Heat):
        return _turned_names(figure)
    names, narrow = _names(figure), _short_axis(figure)
    if len(names) < 2:
        return narrow
    per_row = max(1, PHONE // (70 + 8 * max(map(len, names))))
    room = ENTRY * math.ceil(len(names) / per_row)
    height = 320 if isinstance(figure, Lines) else _height(figure)
    below = {
        "orientation": "h",
        "xref": "container",
        "yref": "container",
        "x": 0,
        "y": 0,
        "yanchor": "bottom",
        "maxheight": room + ENTRY,
    }
    return {
        **narrow,
        "height": height + room,
        "margin": {"l": 16, "r": 32, "t": 8, "b": 76 + room},
        "legend": {**legend(), **below},
    }


def _short_axis(figure: Figure) -> Json:
    """Return the axis below the figure with a title that a narrow screen has room for."""
    below = to_plotly(figure)["layout"]["xaxis"]
    label = below.get("title", {}).get("text", "")
    room = SHORTEST if isinstance(figure, Bars) and figure.is_lying else LONGEST
    if len(label) <= room:
        return {}
    lines = "<br>".join(textwrap.wrap(label, room))
    return {"xaxis": {**below, "title": {**below["title"], "text": lines}}}


def _turned_names(heat: Heat) -> Json:
    """Return names of columns that are turned, where they are wider than columns at their least."""
    widest = max(len(line) for name in heat.columns for line in broken(name).split("<br>"))
    if LETTER * widest <= COLUMN:
        return {}
    return {"xaxis": {**to_plotly(heat)["layout"]["xaxis"], "tickangle": -40}}


def least_width(figure: Figure) -> int:
    """Return how many pixels the figure needs; a narrower screen has to scroll."""
    match figure:
        case Lines() | Drawing():
            return 0
        case Bars():
            room = 40 if figure.stacked else max(40, 8 + 9 * len(figure.groups))
            return 0 if figure.is_lying else 70 + room * len(figure.labels)
        case Heat():
            return 210 + COLUMN * len(figure.columns)


# ---- curves ------------------------------------------------------------------------------------


def _lines(lines: Lines) -> Json:
    shown = curves(lines)
    bands = [_band(curve) for curve in shown.curves if curve.band]
    data = bands + [_line(curve, lines) for curve in shown.curves]
    axes = {
        "xaxis": {**axis(lines.x_label, lines.log_x, shown.x_limits), "zeroline": False},
        "yaxis": axis(lines.y_label, lines.log_y, shown.y_limits),
    }
    return {"data": data, "layout": {**_layout(lines), **axes}}


def _line(curve: Curve, lines: Lines) -> Json:
    """Return the curve, with all that is shown at a point."""
    style = look(curve.name)
    texts = [[plain(x), plain(y)] for x, y in zip(curve.x, curve.y, strict=True)]
    shown = f"{safe(lines.x_label)}: %{{customdata[0]}}<br>{safe(lines.y_label)}: "
    shown += "%{customdata[1]}"
    if curve.band:
        for text, low, high in zip(texts, *curve.band, strict=True):
            text.append(f"{plain(low)} to {plain(high)}")
        shown += "<br>%{customdata[2]}"
    return {
        "type": "scatter",
        "mode": "lines+markers",
        **named(curve.name),
        "x": short(curve.x),
        "y": short(curve.y),
        "customdata": texts,
        "hovertemplate": f"<b>{safe(curve.name)}</b><br>{shown}<extra></extra>",
        "line": {
            "color": style.colour,
            "width": 3.5 if is_ours(curve.name) else 1.8,
            "dash": "dash" if curve.dashed else style.dash,
        },
        "marker": {
            "color": style.colour,
            "symbol": f"{style.marker}-open" if curve.dashed else style.marker,
            "size": 8,
            "maxdisplayed": MOST_MARKERS,
        },
    }


def _band(curve: Curve) -> Json:
    """Return the area between both ends of the band; it follows its curve in the legend."""
    low, high = curve.band or ((), ())
    colour = look(curve.name).colour
    return {
        "type": "scatter",
        "mode": "lines",
        **named(curve.name),
        "showlegend": False,
        "x": short((*curve.x, *reversed(curve.x))),
        "y": short((*high, *reversed(low))),
        "fill": "toself",
        "fillcolor": colour,
        "opacity": 0.2,
        "line": {"color": colour, "width": 0},
        "hoverinfo": "skip",
    }


# ---- bars --------------------------------------------------------------------------------------


def _bars(bars: Bars) -> Json:
    shown = groups(bars)
    values, labels = axis(bars.y_label, bars.log_y, shown.limits), categories()
    layout = {
        **_layout(bars),
        "barmode": "stack" if bars.stacked else "overlay" if bars.by_label else "group",
        "bargap": 0.25,
        "xaxis": values if bars.is_lying else labels,
        "yaxis": {**labels, "autorange": "reversed"} if bars.is_lying else values,
    }
    if bars.by_label:
        return {"data": _apart(bars, shown.groups[0]), "layout": layout}
    data = [_group(group, bars, is_lying=bars.is_lying) for group in shown.groups]
    return {"data": data, "layout": layout}


def _group(group: Series, bars: Bars, *, is_lying: bool) -> Json:
    """Return the bars of one group, lying or standing."""
    along, across = ("x", "y") if is_lying else ("y", "x")
    texts = [[safe(label), _value(group, i)] for i, label in enumerate(bars.labels)]
    what = f"{safe(bars.y_label)}: " if bars.y_label else ""
    where = "" if bars.by_label else "<br>%{customdata[0]}"  # there the group is its label
    trace = {
        "type": "bar",
        "orientation": "h" if is_lying else "v",
        **named(group.name),
        across: [broken(label) for label in bars.labels],
        along: short(group.y),
        "customdata": texts,
        "hovertemplate": f"<b>{safe(group.name)}</b>{where}"
        f"<br>{what}%{{customdata[1]}}<extra></extra>",
        "marker": _fill(look(group.name), dashed=group.dashed),
    }
    if group.low is not None and group.high is not None:
        trace[f"error_{along}"] = {
            "type": "data",
            "symmetric": False,
            "array": _reach(group.high, group.y),
            "arrayminus": _reach(group.y, group.low),
            "color": INK,
            "thickness": 1.2,
            "width": 3,
        }
    return trace


def _fill(style: Look, *, dashed: bool) -> Json:
    """Return how bars are filled; those that were not measured are outlined."""
    if dashed:
        return {"color": CLEAR, "line": {"color": style.colour, "width": 2}}
    return {
        "color": style.colour,
        "pattern": {"shape": style.hatch, "fillmode": "overlay", "fgcolor": PAPER, "size": 7},
    }


def _apart(bars: Bars, group: Series) -> list[Json]:
    """Return every bar as a group of its own, which looks like its label."""
    found = []
    for i, label in enumerate(bars.labels):
        low, high = (None if ends is None else (ends[i],) for ends in (group.low, group.high))
        one = Series(label, (), (group.y[i],), low, high)
        alone = replace(bars, labels=(label,), groups=(one,))
        # Lying bars stay so, whatever is left of their labels.
        found.append(_group(one, alone, is_lying=bars.is_lying))
    return found


def _reach(ends: Numbers, starts: Numbers) -> list[float]:
    """Return the lengths of whiskers; what is missing has none."""
    pairs = zip(ends, starts, strict=True)
    return short([max(0.0, b - a) if a is not None and b is not None else 0.0 for b, a in pairs])


def _value(group: Series, i: int) -> str:
    """Return the value of a bar and its interval in words."""
    y = group.y[i]
    if y is None:
        return NOT_AVAILABLE
    if group.low is None or group.high is None:
        return plain(y)
    low, high = group.low[i], group.high[i]
    return (
        plain(y) if low is None or high is None else f"{plain(y)} ({plain(low)} to {plain(high)})"
    )


# ---- what all figures share --------------------------------------------------------------------


def _layout(figure: Lines | Bars | Heat) -> Json:
    return {
        "height": _height(figure),
        "font": {"family": FONT, "size": 13, "color": INK},
        "paper_bgcolor": PAPER,
        "plot_bgcolor": CLEAR,
        "margin": {"l": 16, "r": 16, "t": 34, "b": 16},
        "modebar": {"bgcolor": CLEAR, "color": FAINT, "activecolor": INK},
        "hovermode": "closest",
        "hoverlabel": {
            "bgcolor": PAPER,
            "bordercolor": FAINT,
            "font": {"family": FONT, "color": INK},
            "align": "left",
        },
        "showlegend": len(_names(figure)) > 1,
        "legend": legend(),
        # Zoom and hidden curves outlive a redraw.
        "uirevision": "kept",
    }


def _names(figure: Lines | Bars | Heat) -> list[str]:
    """Return what the legend lists."""
    match figure:
        case Lines():
            return [series.name for series in figure.series]
        case Bars():
            return [group.name for group in figure.groups]
        case Heat():
            return []


def _height(figure: Lines | Bars | Heat) -> int:
    """Return the height in pixels that shows everything, the legend included."""
    match figure:
        case Lines():
            return max(440, 90 + ENTRY * len(figure.series))
        case Bars():
            rows = _bar_room(figure) * len(figure.labels) if figure.is_lying else 0
            return max(400, 90 + rows, 90 + ENTRY * len(figure.groups))
        case Heat():
            return 130 + 30 * len(figure.rows)


def _bar_room(bars: Bars) -> int:
    """Return the pixels for all bars over one label."""
    return 26 if bars.stacked else 12 + 14 * len(bars.groups)
