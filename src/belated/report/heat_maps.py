"""Heat maps as plotly draws them: layers of cells, each with one colour of text."""

from __future__ import annotations

from belated.report.axes import Json, broken, categories, safe, short
from belated.report.colours import GREY, INK
from belated.report.figures import Heat
from belated.report.plain import NOT_AVAILABLE, plain
from belated.report.scales import colour_ticks, is_deep, shade


def layers(heat: Heat) -> list[Json]:
    """Return the layers that have cells: pale ones, deep ones, and those without a value."""
    names = {
        "x": [broken(name) for name in heat.columns],
        "y": [broken(name) for name in heat.rows],
    }
    kinds = [_pale_cells(heat), _deep_cells(heat), _empty_cells(heat)]
    return [{**kind, **names} for kind in kinds if any(v is not None for r in kind["z"] for v in r)]


def axes(heat: Heat) -> Json:
    """Return both axes: names of columns above, names of rows from top to bottom."""
    return {
        "xaxis": {**categories(), "side": "top", "showline": False, "tickangle": _angle(heat)},
        "yaxis": {**categories(), "autorange": "reversed", "showline": False},
    }


def _angle(heat: Heat) -> int:
    """Return how far the names of columns are turned, so that they do not touch."""
    return -40 if heat.is_crowded else 0


def _pale_cells(heat: Heat) -> Json:
    return {**_coloured_cells(heat, deep=False), "textfont": {"color": "black"}}


def _deep_cells(heat: Heat) -> Json:
    return {**_coloured_cells(heat, deep=True), "textfont": {"color": "white"}}


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
