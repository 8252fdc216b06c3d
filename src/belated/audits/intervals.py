"""Latency intervals as a picture that can be zoomed, in the manner of the paper's Figure 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.errors import MissingExtra
from belated.report import Drawing, Lines, Series
from belated.report.colours import FAINT, INK, PAPER
from belated.report.images import image_file
from belated.report.interactive import to_plotly

WIDTH, ROW = 9.0, 0.16
"""Inches of an image: its width, and the height of an interval where there are few."""


@dataclass(frozen=True)
class IntervalLines(Drawing):
    """Some tickets as horizontal lines from prediction to answer, the first on top.

    A filled dot is a prediction, an open one an answer; a dotted line is a ticket whose answer
    never came.
    """

    title: str
    x_label: str
    tickets: Sequence[int]
    starts: Sequence[float]
    ends: Sequence[float | None]
    """None where no answer came."""
    texts: Sequence[str]
    """What is shown at a ticket."""

    @property
    def edge(self) -> float:
        """Where lines without an end are cut."""
        return max([*self.starts, *(end for end in self.ends if end is not None)])

    @property
    def is_close(self) -> bool:
        """Whether there is room for large dots."""
        return len(self.tickets) <= 60

    @property
    def note(self) -> str:
        """How to read it."""
        return (
            "Every line is a ticket: a filled dot is its prediction, an open one its answer. "
            "Dotted: no answer came. Drag to zoom, double-click to return."
        )

    def to_plotly(self) -> dict[str, Any]:
        """Return ``data`` and ``layout`` as plotly takes them."""
        axes = Lines(self.title, self.x_label, "ticket", (Series("predictions", x=(), y=()),))
        layout = to_plotly(axes)["layout"]
        layout["height"] = 620
        turned = {"autorange": "reversed", "showgrid": False, "zeroline": False}
        layout["yaxis"] = {**layout["yaxis"], **turned}
        layout["xaxis"] = {**layout["xaxis"], "range": self._range()}
        return {"data": self._traces(), "layout": {**layout, "showlegend": False}}

    def _range(self) -> list[float]:
        """Return what is seen at first: all of it, with a little room."""
        margin = 0.02 * (self.edge - self.starts[0]) or 1.0
        return [self.starts[0] - margin, self.edge + margin]

    def _traces(self) -> list[dict[str, Any]]:
        size = 8 if self.is_close else 4
        rows = list(zip(self.tickets, self.starts, self.ends, self.texts, strict=True))
        came = [row for row in rows if row[2] is not None]
        lost = [row for row in rows if row[2] is None]
        filled = {"color": INK, "size": size}
        hollow = {"color": PAPER, "size": size, "line": {"color": INK, "width": 1.3}}
        return [
            self._segments(lost, {"color": FAINT, "width": 1, "dash": "dot"}),
            self._segments(came, {"color": INK, "width": 1.3 if self.is_close else 0.7}),
            _dots([(row[0], row[1], row[3]) for row in rows], filled),
            _dots([(row[0], row[2], row[3]) for row in came], hollow),
        ]

    def _segments(self, rows: Sequence[tuple[Any, ...]], line: dict[str, Any]) -> dict[str, Any]:
        """Return one trace of many lines, parted by gaps."""
        xs: list[float | None] = []
        ys: list[int | None] = []
        for ticket, start, end, _ in rows:
            xs += [_short(start), _short(self.edge if end is None else end), None]
            ys += [ticket, ticket, None]
        return {
            "type": "scatter",
            "mode": "lines",
            "x": xs,
            "y": ys,
            "line": line,
            "hoverinfo": "skip",
        }

    def to_image(self, ending: str) -> bytes:
        """Return the picture for pages on paper and without scripts."""
        try:
            from matplotlib import collections
            from matplotlib.figure import Figure
        except ImportError:
            raise MissingExtra("matplotlib", extra="report", where="Audit.page") from None
        height = float(np.clip(1.2 + ROW * len(self.tickets), 3.0, 7.0))
        canvas = Figure(figsize=(WIDTH, height), layout="constrained", facecolor=PAPER)
        ax = canvas.add_subplot()
        for came in (False, True):
            rows = [
                ((start, ticket), (self.edge if end is None else end, ticket))
                for ticket, start, end in zip(self.tickets, self.starts, self.ends, strict=True)
                if (end is not None) == came
            ]
            colour, dash = (INK, "-") if came else (FAINT, ":")
            style: dict[str, Any] = {"linewidths": 0.8, "colors": colour, "linestyles": dash}
            ax.add_collection(collections.LineCollection(rows, **style))
        size = 4.0 if self.is_close else 1.2
        ax.plot(self.starts, self.tickets, "o", color=INK, ms=size)
        pairs = zip(self.ends, self.tickets, strict=True)
        ends = [(end, ticket) for end, ticket in pairs if end is not None]
        ax.plot(*(zip(*ends, strict=True) if ends else ((), ())), "o", ms=size, mec=INK, mfc=PAPER)
        ax.invert_yaxis()
        ax.set_xlabel(self.x_label)
        ax.set_ylabel("ticket")
        ax.spines[["top", "right"]].set_visible(False)
        return image_file(canvas, ending)


def _dots(rows: Sequence[tuple[int, Any, str]], marker: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [_short(row[1]) for row in rows],
        "y": [row[0] for row in rows],
        "customdata": [row[2] for row in rows],
        "hovertemplate": "<b>ticket %{y}</b><br>%{customdata}<extra></extra>",
        "marker": marker,
        "cliponaxis": False,
    }


def _short(value: float) -> float:
    return float(f"{value:.8g}")
