"""Charts of timelines, in the manner of the paper's Figure 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.arrays import Bools, Ints
from belated.charts import FAINT, INK, PAPER, Chart, Json

MOST_DETAILED = 12
"""Up to this many tickets every event is drawn; beyond, only the intervals."""
MOST_EVENTS = 40
"""The same for the number of events that the window spans."""


@dataclass(frozen=True)
class _Window:
    """A run of tickets, and where their predictions and observations stand among all events."""

    tickets: range
    starts: Ints
    ends: Ints
    delay: Ints
    answered: Bools
    events: Ints

    @property
    def span(self) -> range:
        """The event indices from the first prediction to the last event that came.

        Observations that never came stand after all others, hence never in here.
        """
        last = self.ends[self.answered].max(initial=self.starts[-1])
        return range(int(self.starts[0]), int(last) + 1)

    @property
    def is_small(self) -> bool:
        """Whether there is room for every event."""
        return len(self.tickets) <= MOST_DETAILED and len(self.span) <= MOST_EVENTS

    def height(self, row: int) -> int:
        """Height of a row above the time axis; the first ticket stands on top."""
        return len(self.tickets) - row


def draw_intervals(events: Ints, delay: Ints, observed: Bools, tickets: range) -> Chart:
    """Return the chart of the intervals of some tickets over the event index.

    ``events`` holds t where ticket t is predicted and ``~t`` where it is observed; ``delay`` and
    ``observed`` are by ticket.
    """
    window = _window(events, delay, observed, tickets)
    return Chart(_detailed(window) if window.is_small else _plain(window))


def _window(events: Ints, delay: Ints, observed: Bools, tickets: range) -> _Window:
    """Find the events of the tickets."""
    chosen = slice(tickets.start, tickets.stop)
    starts = np.flatnonzero(events >= 0)[chosen]
    answers = np.flatnonzero(events < 0)
    ends = np.empty(len(delay), dtype=np.int64)
    ends[~events[answers]] = answers
    return _Window(tickets, starts, ends[chosen], delay[chosen], observed[chosen], events)


# ---- small windows: every event ----------------------------------------------------------------


class _Marks:
    """The lines, marks and texts of a chart."""

    def __init__(self) -> None:
        self.lines: list[Json] = []
        self.points: list[Json] = []
        self.texts: list[Json] = []

    def line(self, x: tuple[float, float], y: tuple[float, float], kind: str = "plain") -> None:
        self.lines.append({"x": x[0], "x2": x[1], "y": y[0], "y2": y[1], "kind": kind})

    def point(self, x: float, y: float, shape: str, colour: str = INK, *, filled: bool) -> None:
        fill = colour if filled else PAPER
        self.points.append({"x": x, "y": y, "shape": shape, "colour": colour, "fill": fill})

    def text(self, x: float, y: float, text: str) -> None:
        self.texts.append({"x": x, "y": y, "text": text})

    def layers(self) -> list[Json]:
        """Return one layer per kind."""
        styles = {"plain": [1, 0], "lost": [2, 3], "projection": [4, 3]}
        dash = {"domain": list(styles), "range": list(styles.values())}
        colour = {"domain": list(styles), "range": [INK, INK, FAINT]}
        kind = {"field": "kind", "type": "nominal", "legend": None}
        place: Json = {
            name: {"field": name, "type": "quantitative", "axis": None} for name in ("x", "y")
        }
        ends = {name: {"field": name} for name in ("x2", "y2")}
        styled = {"strokeDash": {**kind, "scale": dash}, "color": {**kind, "scale": colour}}
        own = {
            name: {"field": field, "type": "nominal", "scale": None, "legend": None}
            for name, field in (("shape", "shape"), ("stroke", "colour"), ("fill", "fill"))
        }
        return [
            {
                "data": {"values": self.lines},
                "mark": {"type": "rule", "strokeWidth": 1.3},
                "encoding": {**place, **ends, **styled},
            },
            {
                "data": {"values": self.points},
                "mark": {"type": "point", "size": 60, "opacity": 1},
                "encoding": {**place, **own},
            },
            {
                "data": {"values": self.texts},
                "mark": {"type": "text", "color": INK, "fontSize": 12},
                "encoding": {**place, "text": {"field": "text"}},
            },
        ]


def _detailed(window: _Window) -> Json:
    """Return intervals, their projections, the triangles of both delays, and the rounds."""
    marks, rows = _Marks(), len(window.tickets)
    for row in range(rows):
        _add_interval(marks, window, row)
    _add_axis(marks, window)
    _add_rounds(marks, window)
    ends = {"x": (window.span.start - 1.2, window.span.stop + 0.2), "y": (-2.1, rows + 0.7)}
    layers = marks.layers()
    for name, limits in ends.items():
        layers[0]["encoding"][name]["scale"] = {"domain": limits, "nice": False, "zero": False}
    width = float(np.clip(40 * len(window.span) + 100, 360, 1000))
    return {"width": width, "height": 32 * rows + 90, "layer": layers}


def _add_interval(marks: _Marks, window: _Window, row: int) -> None:
    """Add I_t with a filled dot at l_t and an open one at r_t; dotted when no answer came.

    The triangles on it are predictions (d_t of them) and observations (d*_t).
    """
    start, height = int(window.starts[row]), window.height(row)
    answered = bool(window.answered[row])
    end = int(window.ends[row]) if answered else window.span.stop - 0.4
    marks.line((start, end), (height, height), "plain" if answered else "lost")
    marks.text(start - 0.45, height, f"I{_subscript(window.tickets[row])}")
    for x in range(start + 1, min(int(window.ends[row]), window.span.stop)):
        predicted = bool(window.events[x] >= 0)
        shape = "triangle-down" if predicted else "triangle-up"
        marks.point(x, height, shape, filled=predicted)
    for at in (start, end) if answered else (start,):
        marks.line((at, at), (0, height), "projection")
        marks.point(at, height, "circle", filled=at == start)
    if not answered:
        marks.point(end, height, "triangle-right", filled=True)


def _add_axis(marks: _Marks, window: _Window) -> None:
    """Add the time axis with all events on it; those of other tickets are small and grey."""
    first, last = window.span.start, window.span.stop
    marks.line((first - 0.8, last + 0.1), (0, 0))
    marks.point(last + 0.1, 0, "triangle-right", filled=True)
    for x in window.span:
        event = int(window.events[x])
        ticket, name = max(event, ~event), "l" if event >= 0 else "r"
        is_shown = ticket in window.tickets
        marks.point(x, 0, "circle", INK if is_shown else FAINT, filled=name == "l")
        if is_shown:
            marks.text(x, -0.5, f"{name}{_subscript(ticket)}")


def _add_rounds(marks: _Marks, window: _Window) -> None:
    """Add a bracket under each round [l_t, l_{t+1})."""
    edges = [*window.starts.tolist(), _end_of_last_round(window)]
    for ticket, left, right in zip(window.tickets, edges[:-1], edges[1:], strict=True):
        ends = (left - 0.25, right - 0.35)
        marks.line(ends, (-1.1, -1.1))
        for end in ends:
            marks.line((end, end), (-1.2, -1.0))
        label = f"round {ticket}" if right - left > 1 or len(window.tickets) <= 6 else f"{ticket}"
        marks.text(sum(ends) / 2, -1.6, label)


def _subscript(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def _end_of_last_round(window: _Window) -> int:
    """Where the prediction after the window stands, or the end of the figure."""
    later = np.flatnonzero(window.events[window.starts[-1] + 1 : window.span.stop] >= 0)
    return int(window.starts[-1]) + 1 + int(later[0]) if len(later) else window.span.stop


# ---- large windows: intervals only -------------------------------------------------------------


def _plain(window: _Window) -> Json:
    """Return one line per ticket, coloured by its delay; grey and dotted when no answer came."""
    ends = np.minimum(window.ends, window.span.stop)
    columns = (window.starts, ends, window.tickets, window.delay, window.answered)
    rows = [
        {"x": int(x), "x2": int(x2), "ticket": ticket} | ({"delay": int(delay)} if came else {})
        for x, x2, ticket, delay, came in zip(*columns, strict=True)
    ]
    width = float(np.clip(400 / len(window.tickets), 0.9, 3.5))
    title = "event (predictions and observations, in order)"
    encoding: dict[str, Any] = {
        "x": {"field": "x", "type": "quantitative", "title": title, "scale": {"zero": False}},
        "x2": {"field": "x2"},
        "y": {
            "field": "ticket",
            "type": "quantitative",
            "scale": {"zero": False, "reverse": True},
        },
    }
    legend = {"orient": "bottom", "title": "delay", "direction": "horizontal"}
    colour = {
        "field": "delay",
        "type": "quantitative",
        # The palest colours would vanish on white.
        "scale": {"scheme": {"name": "viridis", "extent": [0.85, 0]}, "domainMin": 0},
        "legend": legend,
    }
    lost = {"type": "rule", "strokeDash": [2, 3], "strokeWidth": min(1.0, width), "color": FAINT}
    layers = [
        {"transform": [{"filter": "!isValid(datum.delay)"}], "mark": lost},
        {
            "transform": [{"filter": "isValid(datum.delay)"}],
            "mark": {"type": "rule", "strokeWidth": width},
            "encoding": {"color": colour},
        },
    ]
    height = min(560, 4 * len(rows) + 100)
    return {
        "width": 640,
        "height": height,
        "data": {"values": rows},
        "encoding": encoding,
        "layer": layers,
    }
