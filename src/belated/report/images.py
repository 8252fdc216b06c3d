"""Figures as image files, drawn with matplotlib.

As in :mod:`belated.timeline.picture`, everything goes through matplotlib's objects, never through
pyplot. The same figure gives the same bytes.
"""

from __future__ import annotations

import base64
import io
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from belated.errors import BelatedError, MissingExtra
from belated.report.colours import FAINT, GREY, INK, PAPER, RULE, Look, is_ours, look
from belated.report.contents import Page
from belated.report.figures import Bars, Figure, Heat, Lines, Series
from belated.report.plain import NOT_AVAILABLE, plain, power
from belated.report.scales import (
    Curve,
    Limits,
    colour_ticks,
    curves,
    groups,
    has_powers,
    is_deep,
    note_of,
    shade,
)

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

Style: TypeAlias = dict[str, Any]

FORMATS = ("png", "svg")
WIDTH = 9.0
"""Width of all images, in inches."""
MARKERS = {
    "circle": "o",
    "square": "s",
    "triangle-up": "^",
    "diamond": "D",
    "triangle-down": "v",
    "cross": "P",
    "x": "X",
    "star": "*",
    "pentagon": "p",
    "hexagon": "h",
}
DASHES = {"solid": "-", "dashdot": "-.", "dot": ":", "dash": "--"}


def save_images(folder: str | PathLike[str], page: Page) -> list[Path]:
    """Write every figure of a page as PNG and SVG into a folder, and return the files."""
    home, written = Path(folder), []
    for i, section in enumerate(page.sections, start=1):
        if section.figure is None:
            continue
        for ending in FORMATS:
            path = home / f"{i:02}-{file_name(section.figure.title)}.{ending}"
            image = render(section.figure, ending)
            try:
                home.mkdir(parents=True, exist_ok=True)
                path.write_bytes(image)
            except OSError as error:
                raise BelatedError(f"cannot write {path}: {error}") from error
            written.append(path)
    return written


def render(figure: Figure, ending: str, *, bare: bool = False, dpi: int = 150) -> bytes:
    """Return the figure as an image file; a bare one comes without its title and note."""
    try:
        from matplotlib import layout_engine
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise MissingExtra("matplotlib", extra="report", where="save_images") from None
    padding = layout_engine.ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1)
    canvas = Canvas(figsize=(WIDTH, _height(figure)), layout=padding, facecolor=PAPER)
    ax = canvas.add_subplot()
    match figure:
        case Lines():
            note = _draw_lines(ax, figure)
        case Bars():
            note = _draw_bars(ax, figure)
        case Heat():
            note = _draw_heat(ax, figure)
    if not bare:
        _write_around(canvas, figure.title, note)
    return image_file(canvas, ending, dpi)


def image_file(canvas: Canvas, ending: str, dpi: int | Literal["figure"] = "figure") -> bytes:
    """Return the file of what is drawn; the same drawing gives the same bytes."""
    from matplotlib import rc_context

    file = io.BytesIO()
    # Without a date and with this salt, files depend on nothing but the figure.
    metadata = {"Date": None} if ending == "svg" else {"Software": None}
    # Text that stays text makes drawings with many labels a third of the size, and so does it
    # that every label names one font and not ten.
    rules = {"svg.hashsalt": "belated", "svg.fonttype": "none"}
    with rc_context({**rules, "font.sans-serif": ["DejaVu Sans", "sans-serif"]}):
        canvas.savefig(file, format=ending, dpi=dpi, metadata=metadata)
    return _lean(file.getvalue()) if ending == "svg" else file.getvalue()


def _lean(drawing: bytes) -> bytes:
    """Return an SVG without what nobody sees: rotations by nothing, and thousandths of a point.

    Numbers that are written, as labels are, stand between tags and keep all of their digits.
    """
    text = re.sub(rb' transform="rotate\(-?0 [^"]*\)"', b"", drawing)
    text = re.sub(rb"<[^>]*>", lambda tag: re.sub(rb"(\d\.\d\d)\d+", rb"\1", tag[0]), text)
    return re.sub(rb"\n\s*", b"\n", text)


def embedded(figure: Figure) -> str:
    """Return a bare figure as the address of an image that holds it."""
    drawing = render(figure, "svg", bare=True)
    return f"data:image/svg+xml;base64,{base64.b64encode(drawing).decode('ascii')}"


def _write_around(canvas: Canvas, title: str, note: str) -> None:
    """Write the title above and the note below."""
    above = "\n".join(textwrap.wrap(_safe(title), 80))
    below = "\n".join(textwrap.wrap(_safe(note), 120))
    canvas.suptitle(above, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    if below:
        canvas.supxlabel(below, x=0.01, ha="left", fontsize=8.5, color=FAINT)


# ---- curves ------------------------------------------------------------------------------------


def _draw_lines(ax: Axes, lines: Lines) -> str:
    """Draw the curves over their bands and return the note."""
    shown = curves(lines)
    for curve in shown.curves:
        _draw_curve(ax, curve)
    _style(ax)
    ax.set_xlabel(_safe(lines.x_label))
    ax.set_ylabel(_safe(lines.y_label))
    _scale(ax, "x", shown.x_limits)
    _scale(ax, "y", shown.y_limits)
    _draw_legend(ax, len(shown.curves))
    return shown.note


def _draw_curve(ax: Axes, curve: Curve) -> None:
    style = look(curve.name)
    if curve.band:
        ax.fill_between(curve.x, *curve.band, color=style.colour, alpha=0.2, lw=0)
    ax.plot(
        curve.x,
        curve.y,
        color=style.colour,
        lw=3.0 if is_ours(curve.name) else 1.6,
        ls=DASHES["dash" if curve.dashed else style.dash],
        marker=MARKERS[style.marker],
        markevery=max(1, -(-len(curve.y) // 12)),
        ms=6,
        mfc=PAPER if curve.dashed else style.colour,
        label=_safe(curve.name),
    )


# ---- bars --------------------------------------------------------------------------------------


def _draw_bars(ax: Axes, bars: Bars) -> str:
    """Draw the groups side by side or as stacks, lying or standing, and return the note."""
    shown = groups(bars)
    tops = [0.0] * len(bars.labels)
    width = 0.75 if bars.stacked else 0.75 / len(shown.groups)
    for i, group in enumerate(shown.groups):
        shift = 0.0 if bars.stacked else (i - (len(shown.groups) - 1) / 2) * width
        _draw_group(ax, group, bars, (shift, width), tops)
        if bars.stacked:
            tops = [top + (y or 0.0) for top, y in zip(tops, group.y, strict=True)]
    _style(ax)
    names, values = (ax.yaxis, ax.xaxis) if bars.is_lying else (ax.xaxis, ax.yaxis)
    names.set_ticks(range(len(bars.labels)), [_broken(label) for label in bars.labels])
    names.set_tick_params(length=0)
    names.grid(False)
    values.set_label_text(_safe(bars.y_label))
    _scale(ax, "x" if bars.is_lying else "y", shown.limits)
    if bars.is_lying:
        ax.set_ylim(len(bars.labels) - 0.5, -0.5)
    _draw_legend(ax, len(shown.groups))
    return shown.note


def _draw_group(
    ax: Axes, group: Series, bars: Bars, place: tuple[float, float], tops: list[float]
) -> None:
    """Draw the bars of one group and their whiskers; missing bars are left out."""
    shift, width = place
    known = [(i, y) for i, y in enumerate(group.y) if y is not None]
    at, lengths = [i + shift for i, _ in known], [y for _, y in known]
    starts = [tops[i] for i, _ in known]
    fill = {**_fill(look(group.name), dashed=group.dashed), "label": _safe(group.name)}
    if bars.by_label:
        looks = [look(bars.labels[i]) for i, _ in known]
        fill["facecolor"] = [style.colour for style in looks]
        fill["hatch"] = [style.hatch for style in looks]
    if bars.is_lying:
        ax.barh(at, lengths, width, left=starts, **fill)
    else:
        ax.bar(at, lengths, width, bottom=starts, **fill)
    if group.low is None or group.high is None:
        return
    for i, start, place_of_bar in zip([i for i, _ in known], starts, at, strict=True):
        low, high = group.low[i], group.high[i]
        if low is not None and high is not None:
            ends, fixed = [start + low, start + high], [place_of_bar, place_of_bar]
            marker = "|" if bars.is_lying else "_"
            across = (ends, fixed) if bars.is_lying else (fixed, ends)
            ax.plot(*across, color=INK, lw=1.0, marker=marker, ms=4)


def _fill(style: Look, *, dashed: bool) -> Style:
    """Return how bars are filled; those that were not measured are outlined."""
    if dashed:
        return {"facecolor": "none", "edgecolor": style.colour, "lw": 1.5, "ls": "--"}
    return {"facecolor": style.colour, "edgecolor": PAPER, "hatch": style.hatch, "lw": 0.5}


# ---- heat maps ---------------------------------------------------------------------------------


def _draw_heat(ax: Axes, heat: Heat) -> str:
    """Draw the cells with their numbers and the scale of colours, and return the note."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable

    colours = colormaps["viridis_r"]
    size = 9.0 if len(heat.columns) <= 12 else 7.0
    for i, row in enumerate(heat.values):
        for j, value in enumerate(row):
            colour = GREY if value is None else colours(shade(heat, value))
            ink = PAPER if value is not None and is_deep(heat, value) else INK
            text = NOT_AVAILABLE if value is None else plain(value, 3)
            _draw_cell(ax, (j, i), colour)
            ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=size)
    ax.set_xlim(-0.5, len(heat.columns) - 0.5)
    ax.set_ylim(len(heat.rows) - 0.5, -0.5)
    names = [_broken(name) for name in heat.columns]
    ax.set_xticks(range(len(names)), names, **(_TURNED if heat.is_crowded else {}))
    ax.set_yticks(range(len(heat.rows)), [_broken(name) for name in heat.rows])
    ax.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    ax.tick_params(colors=INK, labelsize=9)
    ax.spines[:].set_visible(False)
    ticks = colour_ticks(heat)
    bar = ax.figure.colorbar(ScalarMappable(cmap=colours), ax=ax, pad=0.02, aspect=30)
    bar.set_ticks([shade(heat, tick) for tick in ticks], labels=[plain(t, 3) for t in ticks])
    bar.set_label(_safe(heat.value_label))
    bar.outline.set_visible(False)
    return note_of(heat)


_TURNED: Style = {"rotation": 40, "ha": "left", "rotation_mode": "anchor"}


def _draw_cell(ax: Axes, at: tuple[int, int], colour: Any) -> None:
    from matplotlib.patches import Rectangle

    corner = (at[0] - 0.48, at[1] - 0.46)
    ax.add_patch(Rectangle(corner, 0.96, 0.92, facecolor=colour, linewidth=0))


# ---- what all figures share --------------------------------------------------------------------


def _height(figure: Lines | Bars | Heat) -> float:
    """Return the height in inches that shows everything."""
    match figure:
        case Lines():
            return max(5.0, 1.2 + 0.23 * len(figure.series))
        case Bars():
            room = 0.28 if figure.stacked else 0.13 + 0.15 * len(figure.groups)
            rows = 1.4 + room * len(figure.labels) if figure.is_lying else 0.0
            return max(4.6, rows, 1.2 + 0.23 * len(figure.groups))
        case Heat():
            return 1.9 + 0.34 * len(figure.rows)


def _style(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(which="both", color=FAINT, labelcolor=INK, labelsize=9)
    ax.grid(True, color=RULE, lw=0.6)
    ax.set_axisbelow(True)


def _scale(ax: Axes, name: str, limits: Limits | None) -> None:
    """Put plain numbers on the axis called x or y; with limits it is logarithmic."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis = ax.xaxis if name == "x" else ax.yaxis
    if limits is not None:
        ax.set(**{f"{name}scale": "log", f"{name}lim": limits})
        # Powers of ten alone leave a short axis almost without labels.
        digits = (1.0, 2.0, 5.0) if limits[1] < 10**2.2 * limits[0] else (1.0,)
        axis.set_major_locator(LogLocator(subs=digits, numticks=10))
        axis.set_minor_locator(LogLocator(subs=range(2, 10), numticks=10))
        axis.set_minor_formatter(NullFormatter())
    write = power if limits is not None and has_powers(limits) else plain
    axis.set_major_formatter(FuncFormatter(lambda value, _: write(float(value))))


def _draw_legend(ax: Axes, count: int) -> None:
    """List the names beside the axes, where they cover nothing."""
    if count > 1:
        canvas: Canvas = ax.figure.figure
        canvas.legend(loc="outside right upper", frameon=False, fontsize=9, handlelength=3.0)


def file_name(title: str) -> str:
    """Return a title as part of a file name."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].rstrip("-") or "figure"


def _safe(text: str) -> str:
    """Return text in which a dollar is a dollar and not the start of a formula."""
    return text.replace("$", r"\$")


def _broken(text: str) -> str:
    """Return a label in lines that are short enough for an axis."""
    return "\n".join(textwrap.wrap(_safe(text), 30)) or text
