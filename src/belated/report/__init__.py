"""Pages of results: figures that can be explored, what they say, and the numbers behind them.

A :class:`Page` holds sections, each with a question, a figure (:class:`Lines`, :class:`Bars` or
:class:`Heat`), what it says, and a :class:`Table`. :func:`write_page` makes one HTML file of it,
which works without a network, and :func:`save_images` writes its figures as PNG and SVG. All
values are plain; :func:`chart_of` describes a figure in Vega-Lite, and drawing it needs the
``report`` extra.

>>> line = Series("OMD", x=(1, 10, 100), y=(0.5, 2.0, 7.5))
>>> figure = Lines("Regret grows with time", "rounds", "regret", (line,), log_x=True)
>>> section = Section("How fast does regret grow?", figure, says="Like the square root.")
>>> page = Page("Regret", "A small study.", (section,), "belated study regret", {"seeds": "0"})
>>> page.sections[0].figure.title
'Regret grows with time'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from belated.report.contents import Page, Section, Table
from belated.report.figures import Bars, Figure, Heat, Lines, Series

if TYPE_CHECKING:
    from belated.report.page import save_images, write_page
    from belated.report.vega import chart_of

__all__ = [
    "Bars",
    "Figure",
    "Heat",
    "Lines",
    "Page",
    "Section",
    "Series",
    "Table",
    "chart_of",
    "save_images",
    "write_page",
]


def __getattr__(name: str) -> Any:
    """Load what draws when it is first named: commands without a page need no drawing."""
    if name not in ("chart_of", "save_images", "write_page"):
        raise AttributeError(f"module 'belated.report' has no attribute {name!r}")
    module = importlib.import_module(f"belated.report.{'vega' if name == 'chart_of' else 'page'}")
    return getattr(module, name)
