"""Figures of timelines, in the manner of the paper's Figure 1.

Everything is drawn through matplotlib's objects, never through pyplot, so drawing a figure
neither needs a display nor changes any global state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from belated.arrays import Bools, Ints
from belated.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_DETAILED = 12
"""Up to this many tickets every event is drawn; beyond, only the intervals."""
MOST_EVENTS = 40
"""The same for the number of events that the window spans."""

INK = "#1a1a1a"
FAINT = "#9a9a9a"


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


def draw_intervals(
    events: Ints,
    delay: Ints,
    observed: Bools,
    tickets: range,
    ax: Axes | None = None,
) -> Figure:
    """Draw the intervals of some tickets over the event index and return the figure.

    ``events`` holds t where ticket t is predicted and ``~t`` where it is observed; ``delay`` and
    ``observed`` are by ticket.
    """
    window = _window(events, delay, observed, tickets)
    ax = _new_axes(window) if ax is None else ax
    if window.is_small:
        _draw_detailed(ax, window)
    else:
        _draw_plain(ax, window)
    # The figure of a subfigure is the whole one, and so is that of a figure.
    return ax.figure.figure


def _window(events: Ints, delay: Ints, observed: Bools, tickets: range) -> _Window:
    """Find the events of the tickets."""
    chosen = slice(tickets.start, tickets.stop)
    starts = np.flatnonzero(events >= 0)[chosen]
    answers = np.flatnonzero(events < 0)
    ends = np.empty(len(delay), dtype=np.int64)
    ends[~events[answers]] = answers
    return _Window(tickets, starts, ends[chosen], delay[chosen], observed[chosen], events)


def _new_axes(window: _Window) -> Axes:
    """Open a figure whose size fits the window."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", extra="report", where="Timeline.plot") from None
    rows = len(window.tickets)
    if window.is_small:
        size = (float(np.clip(0.55 * len(window.span) + 1.5, 5.0, 14.0)), 0.42 * rows + 1.7)
    else:
        size = (9.0, min(8.0, 0.055 * rows + 2.2))
    return Figure(figsize=size, layout="constrained").add_subplot()


# ---- small windows: every event ----------------------------------------------------------------


def _draw_detailed(ax: Axes, window: _Window) -> None:
    """Draw intervals, their projections, the triangles of both delays, and the rounds."""
    for row in range(len(window.tickets)):
        _draw_interval(ax, window, row)
        _draw_triangles(ax, window, row)
    _draw_axis(ax, window)
    _draw_rounds(ax, window)
    ax.set_xlim(window.span.start - 1.2, window.span.stop + 0.2)
    ax.set_ylim(-2.3, len(window.tickets) + 0.7)
    ax.set_axis_off()


def _draw_interval(ax: Axes, window: _Window, row: int) -> None:
    """Draw I_t with a filled dot at l_t and an open one at r_t; dotted when no answer came."""
    start, height = int(window.starts[row]), window.height(row)
    answered = bool(window.answered[row])
    end = int(window.ends[row]) if answered else window.span.stop - 0.4
    ax.plot([start, end], [height, height], color=INK, lw=1.4, ls="-" if answered else ":")
    ax.text(start - 0.3, height, f"$I_{{{window.tickets[row]}}}$", ha="right", va="center")
    _dot(ax, start, height, filled=True)
    _project(ax, start, height)
    if answered:
        _dot(ax, end, height, filled=False)
        _project(ax, end, height)
    else:
        ax.plot(end, height, marker=">", color=INK, ms=6)


def _project(ax: Axes, x: float, height: int) -> None:
    ax.plot([x, x], [0, height], color=FAINT, lw=0.7, ls=(0, (4, 3)), zorder=0)


def _draw_triangles(ax: Axes, window: _Window, row: int) -> None:
    """Mark what happens inside I_t: predictions (d_t of them) and observations (d*_t)."""
    end = min(int(window.ends[row]), window.span.stop)
    for x in range(int(window.starts[row]) + 1, end):
        predicted = bool(window.events[x] >= 0)
        _marker(ax, x, window.height(row), "v" if predicted else "^", filled=predicted)


def _draw_axis(ax: Axes, window: _Window) -> None:
    """Draw the time axis with all events on it; those of other tickets are small and grey."""
    first, last = window.span.start, window.span.stop
    arrow = {"arrowstyle": "->", "color": INK, "lw": 1.0, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", (last + 0.1, 0), (first - 0.8, 0), arrowprops=arrow, zorder=1)
    for x in window.span:
        event = int(window.events[x])
        _draw_event(ax, window, x, max(event, ~event), "l" if event >= 0 else "r")


def _draw_event(ax: Axes, window: _Window, x: int, ticket: int, name: str) -> None:
    """Draw a dot on the axis, and name it when its ticket is in the window."""
    if ticket in window.tickets:
        _dot(ax, x, 0, filled=name == "l")
        ax.text(x, -0.35, f"${name}_{{{ticket}}}$", ha="center", va="top", fontsize=9)
    else:
        ax.plot(x, 0, "o", ms=3.5, mec=FAINT, mfc=FAINT if name == "l" else "white", zorder=3)


def _draw_rounds(ax: Axes, window: _Window) -> None:
    """Draw a bracket under each round [l_t, l_{t+1})."""
    edges = [*window.starts.tolist(), _end_of_last_round(window)]
    bracket = {"arrowstyle": "|-|,widthA=0.3,widthB=0.3", "color": INK, "shrinkA": 0, "shrinkB": 0}
    for ticket, left, right in zip(window.tickets, edges[:-1], edges[1:], strict=True):
        ax.annotate("", (left - 0.25, -1.25), (right - 0.35, -1.25), arrowprops=bracket)
        label = f"round {ticket}" if right - left > 1 or len(window.tickets) <= 6 else f"{ticket}"
        ax.text((left + right - 0.6) / 2, -1.6, label, ha="center", va="top", fontsize=8)


def _end_of_last_round(window: _Window) -> int:
    """Where the prediction after the window stands, or the end of the figure."""
    later = np.flatnonzero(window.events[window.starts[-1] + 1 : window.span.stop] >= 0)
    return int(window.starts[-1]) + 1 + int(later[0]) if len(later) else window.span.stop


def _dot(ax: Axes, x: float, y: float, *, filled: bool) -> None:
    _marker(ax, x, y, "o", filled=filled)


def _marker(ax: Axes, x: float, y: float, shape: str, *, filled: bool) -> None:
    style: dict[str, Any] = {"ms": 6.5, "mec": INK, "mew": 1.1, "zorder": 3}
    ax.plot(x, y, marker=shape, mfc=INK if filled else "white", **style)


# ---- large windows: intervals only -------------------------------------------------------------


def _draw_plain(ax: Axes, window: _Window) -> None:
    """Draw one line per ticket, coloured by its delay; grey and dotted when no answer came."""
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection
    from matplotlib.colors import ListedColormap

    width = float(np.clip(400 / len(window.tickets), 0.9, 3.5))
    lost = LineCollection(_lines(window, ~window.answered), colors=FAINT, linestyles=":")
    lost.set_linewidth(min(1.0, width))
    # The palest colours would vanish on white.
    colours = ListedColormap(colormaps["viridis_r"](np.linspace(0.15, 1.0, 256)))
    kept = LineCollection(_lines(window, window.answered), linewidths=width, cmap=colours)
    kept.set_array(window.delay[window.answered])
    kept.set_clim(0, int(window.delay[window.answered].max(initial=1)))
    ax.add_collection(lost)
    ax.add_collection(kept)
    _label_plain(ax, window)
    ax.figure.colorbar(kept, ax=ax, label="delay", pad=0.02)


def _lines(window: _Window, chosen: Bools) -> list[list[tuple[int, int]]]:
    """End points of some of the intervals, cut at the right edge of the figure."""
    ends = np.minimum(window.ends, window.span.stop)
    rows = np.arange(window.tickets.start, window.tickets.stop)
    corners = zip(window.starts[chosen], ends[chosen], rows[chosen], strict=True)
    return [[(int(start), int(y)), (int(end), int(y))] for start, end, y in corners]


def _label_plain(ax: Axes, window: _Window) -> None:
    """Name the axes; the first ticket stands on top, as in the small figure."""
    ax.set_xlim(window.span.start - 1, window.span.stop)
    ax.set_ylim(window.tickets.stop - 0.2, window.tickets.start - 0.8)
    ax.set_xlabel("event (predictions and observations, in order)")
    ax.set_ylabel("ticket")
    ax.spines[["top", "right"]].set_visible(False)
