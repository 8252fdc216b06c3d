"""The picture at the top of the README: ``python -m benchmarks.picture``.

One of the worlds of :mod:`benchmarks.conversions`: the share of visits that convert goes up and
down, and a sale is heard of up to 2,000 visits later. Ours is drawn beside two models that wait a
fixed time for it. There is one file for light pages and one for dark ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from belated.report.colours import BLUE, DARK, FAINT, INK, ORANGE, RULE, VERMILION
from belated.report.images import image_file
from benchmarks.conversions import ROUNDS, Floats, ours, windows, world

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FILES = {"light": False, "dark": True}
_HOME = Path(__file__).parents[1] / "docs"
_SPAN = 500  # visits in a mean
_SIZE = (7.6, 3.7)


class Way(NamedTuple):
    """A curve, and where its name is written."""

    name: str
    values: Floats
    colour: str
    width: float
    place: tuple[float, float]


def main() -> None:
    """Play the world and write both files."""
    for name, data in pictures().items():
        path = _HOME / f"late-{name}.svg"
        path.write_bytes(data)
        print(f"{path.name}: {len(data):,} bytes")


def pictures() -> dict[str, bytes]:
    """Return the picture for light and for dark pages."""
    ways = _ways()
    return {name: _drawn(ways, is_dark) for name, is_dark in FILES.items()}


def _ways() -> list[Way]:
    given = world("bounded", "fast", 0)
    waiting = windows(given)
    return [
        Way("the truth", given.truth, INK, 1.4, (19_300, 0.318)),
        Way("waits 250 visits: too low", waiting["window of 250"], VERMILION, 1.6, (8_500, 0.055)),
        Way("waits 4,000: too late", waiting["window of 4,000"], ORANGE, 1.6, (4_600, 0.305)),
        Way("belated", ours(given), BLUE, 2.6, (16_300, 0.112)),
    ]


def _drawn(ways: list[Way], is_dark: bool) -> bytes:
    from matplotlib import layout_engine
    from matplotlib.figure import Figure as Canvas

    padding = layout_engine.ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1)
    canvas = Canvas(figsize=_SIZE, layout=padding)
    canvas.patch.set_alpha(0.0)
    ax = canvas.add_subplot()
    middles = np.arange(_SPAN / 2, ROUNDS, _SPAN)
    for way in ways:
        colour = _shade(way.colour, is_dark)
        means = way.values.reshape(-1, _SPAN).mean(axis=1)
        dash = "--" if way.name == "the truth" else "-"
        ax.plot(middles, means, color=colour, lw=way.width, ls=dash)
        ax.text(*way.place, way.name, color=colour, fontsize=10, fontweight="bold")
    _style(ax, is_dark)
    return image_file(canvas, "svg")


def _style(ax: Axes, is_dark: bool) -> None:
    ax.patch.set_alpha(0.0)
    ax.set(xlim=(0, ROUNDS), ylim=(0.0, 0.36))
    ax.set_xticks(range(0, ROUNDS + 1, 4000), [f"{n:,}" for n in range(0, ROUNDS + 1, 4000)])
    ax.set_yticks([0.0, 0.1, 0.2, 0.3], ["0 %", "10 %", "20 %", "30 %"])
    ax.set_xlabel("visits", color=_shade(FAINT, is_dark))
    ax.set_title(
        "Predicted share of visits that buy; sales are heard of up to 2,000 visits late",
        loc="left",
        color=_shade(INK, is_dark),
        fontsize=10.5,
    )
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(_shade(FAINT, is_dark))
    ax.tick_params(color=_shade(FAINT, is_dark), labelcolor=_shade(FAINT, is_dark), left=False)
    ax.grid(True, axis="y", color=_shade(RULE, is_dark), lw=0.7)
    ax.set_axisbelow(True)


def _shade(colour: str, is_dark: bool) -> str:
    """Return the colour as it is on such a page; on dark ones our blue is the lighter one."""
    lighter = {**DARK, BLUE: "#4aa8e0"}
    return lighter.get(colour, colour) if is_dark else colour


if __name__ == "__main__":
    main()
