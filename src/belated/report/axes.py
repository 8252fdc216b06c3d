"""Axes, names and numbers as plotly takes them, which all figures share."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Sequence
from typing import Any, TypeAlias

from belated.report.colours import FAINT, RULE
from belated.report.scales import Limits, has_powers

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
