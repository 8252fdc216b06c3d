"""Figures as the JSON that plotly draws: hover, zoom, and a legend that hides what is clicked.

Only plain dictionaries are built here, so nothing needs to be installed. They are in the colours
of a light page; :data:`belated.report.colours.DARK` says what to swap on a dark one.
"""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from belated.report.colours import FAINT, GREY, INK, PAPER, RULE, Look, is_ours, look
from belated.report.figures import Bars, Figure, Heat, Lines, Numbers, Series
from belated.report.plain import NOT_AVAILABLE, plain
from belated.report.scales import (
    Curve,
    Limits,
    colour_ticks,
    curves,
    groups,
    has_powers,
    is_deep,
    shade,
)

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
            layout = {**_layout(figure), **axes(figure)}
            return {"data": layers(figure), "layout": layout}


def narrow_layout(figure: Figure) -> Json:
    """Return the parts of the layout that differ on a narrow screen: the legend is below."""
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
        case Lines():
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
            room = 26 if figure.stacked else 12 + 14 * len(figure.groups)  # all bars over one label
            rows = room * len(figure.labels) if figure.is_lying else 0
            return max(400, 90 + rows, 90 + ENTRY * len(figure.groups))
        case Heat():
            return 130 + 30 * len(figure.rows)


# ---- axes, names and numbers as plotly takes them, which all figures share -----------------------

Json: TypeAlias = dict[str, Any]

CLEAR = "rgba(0,0,0,0)"
LONGEST = 30
"""Letters in one line of a label."""


def legend() -> Json:
    """Return a legend beside the figure, in which a click hides a curve and its band."""
    return {
        "x": 1.02,
        "y": 1,
        "xanchor": "left",
        "yanchor": "top",
        "bgcolor": CLEAR,
        "itemwidth": 44,
        "tracegroupgap": 0,
        "groupclick": "togglegroup",
        "traceorder": "normal",
    }


def axis(label: str, log: bool, limits: Limits | None) -> Json:
    """Return an axis with plain numbers on it."""
    axis = {
        "title": {"text": safe(label), "standoff": 12},
        "automargin": True,
        "gridcolor": RULE,
        "zerolinecolor": FAINT,
        "linecolor": FAINT,
        "showline": True,
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": FAINT,
        "exponentformat": "none",
        "separatethousands": True,
    }
    if not log or limits is None:
        return axis
    ends = short([math.log10(end) for end in limits])
    if has_powers(limits):
        powers = {"type": "log", "range": ends, "exponentformat": "power"}
        return {**axis, **powers, "nticks": _count_of_ticks(ends[1] - ends[0])}
    return {
        **axis,
        "type": "log",
        "range": ends,
        "tickformat": ",.6~r",
        "nticks": _count_of_ticks(ends[1] - ends[0]),
        "minor": {"ticks": "outside", "ticklen": 2, "tickcolor": FAINT},
    }


def _count_of_ticks(powers: float) -> int:
    """Return for how many labels to ask on an axis over some powers of ten.

    plotly labels each power when asked for less than 1 / 0.7 labels per power, and 1, 2, 5 when
    asked for two.
    """
    return math.ceil(powers) if powers > 2.2 else max(3, round(2 * powers))


def categories() -> Json:
    """Return an axis with names on it."""
    return {
        "type": "category",
        "automargin": True,
        "showgrid": False,
        "showline": True,
        "linecolor": FAINT,
        "ticks": "",
    }


def named(name: str) -> Json:
    return {"name": safe(name), "legendgroup": name}


def safe(text: str) -> str:
    """Return text that plotly shows as it is: neither as tags nor as a template."""
    return html.escape(text, quote=False).replace("%{", "&#37;{")


def broken(text: str) -> str:
    """Return a label in lines that are short enough for an axis."""
    return "<br>".join(safe(line) for line in textwrap.wrap(text, LONGEST)) or safe(text)


def short(values: Sequence[float | None]) -> list[Any]:
    """Return numbers with the digits that can be seen, which keeps the page small."""
    return [None if value is None else float(f"{value:.7g}") for value in values]


# ---- heat maps as plotly draws them: layers of cells, each with one colour of text ---------------


def layers(heat: Heat) -> list[Json]:
    """Return the layers that have cells: pale ones, deep ones, and those without a value."""
    names = {
        "x": [broken(name) for name in heat.columns],
        "y": [broken(name) for name in heat.rows],
    }
    kinds = [*(_coloured_cells(heat, deep=deep) for deep in (False, True)), _empty_cells(heat)]
    return [{**kind, **names} for kind in kinds if any(v is not None for r in kind["z"] for v in r)]


def axes(heat: Heat) -> Json:
    """Return both axes: names of columns above, names of rows from top to bottom."""
    return {
        "xaxis": {
            **categories(),
            "side": "top",
            "showline": False,
            "tickangle": -40 if heat.is_crowded else 0,
        },
        "yaxis": {**categories(), "autorange": "reversed", "showline": False},
    }


def _coloured_cells(heat: Heat, *, deep: bool) -> Json:
    """Return the cells with numbers; those in deep colours need another colour for their text."""
    ticks = colour_ticks(heat)
    values = [
        [None if v is None or is_deep(heat, v) != deep else v for v in row] for row in heat.values
    ]
    return {
        **_tiles(heat, [["" if v is None else plain(v, 3) for v in row] for row in values]),
        "z": [short([None if v is None else shade(heat, v) for v in row]) for row in values],
        "zmin": 0,
        "zmax": 1,
        "textfont": {"color": "white" if deep else "black"},
        "colorscale": "Viridis",
        "reversescale": True,
        "colorbar": {
            "title": {"text": safe(heat.value_label), "side": "right"},
            "tickvals": short([shade(heat, tick) for tick in ticks]),
            "ticktext": [plain(tick, 3) for tick in ticks],
            "thickness": 12,
            "outlinewidth": 0,
        },
    }


def _empty_cells(heat: Heat) -> Json:
    """Return the cells without a value, in grey."""
    empty = [[value is None for value in row] for row in heat.values]
    texts = [[NOT_AVAILABLE if is_empty else "" for is_empty in row] for row in empty]
    return {
        **_tiles(heat, texts),
        "z": [[0 if is_empty else None for is_empty in row] for row in empty],
        "colorscale": [[0, GREY], [1, GREY]],
        "showscale": False,
        "textfont": {"color": INK},
    }


def _tiles(heat: Heat, texts: list[list[str]]) -> Json:
    """Return what all kinds of cells share."""
    told, names = _told_of(heat)
    return {
        "type": "heatmap",
        "text": texts,
        "texttemplate": "%{text}",
        **names,
        "hovertemplate": f"{told}<br>{safe(heat.value_label)}: %{{text}}<extra></extra>",
        # No hover over the cells that another kind fills.
        "hoverongaps": False,
        "xgap": 2,
        "ygap": 2,
    }


def _told_of(heat: Heat) -> tuple[str, Json]:
    """Return what hovering says that a cell is of, and names for it where axes have them in lines.

    Elsewhere those of the axes do: with one for every cell, pages with large maps grow by a third.
    """
    if not any("<br>" in broken(name) for name in (*heat.rows, *heat.columns)):
        return "<b>%{y}</b><br>%{x}", {}
    cells = [[[safe(row), safe(column)] for column in heat.columns] for row in heat.rows]
    return "<b>%{customdata[0]}</b><br>%{customdata[1]}", {"customdata": cells}
