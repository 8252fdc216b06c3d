"""The picture at the top of the README: ``python -m benchmarks.picture``.

One of the worlds of :mod:`benchmarks.conversions`: the share of visits that convert goes up and
down, and a sale is heard of up to 2,000 visits later. Ours is drawn beside two models that wait a
fixed time for it. There is one file for light pages and one for dark ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from belated.charts import CONFIG, INK, Chart, Json
from belated.report.colours import BLUE, ORANGE, VERMILION
from benchmarks.conversions import ROUNDS, Floats, ours, windows, world

_HOME = Path(__file__).parents[1] / "docs"
_SPAN = 500  # visits in a mean
_TITLE = "Predicted share of visits that buy; sales are heard of up to 2,000 visits late"
_DARK_BLUE = "#4aa8e0"  # our blue on dark pages


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
    light, dark = (_chart(ways, blue) for blue in (BLUE, _DARK_BLUE))
    return {"light": light.image(), "dark": dark.dark().image()}


def _ways() -> list[Way]:
    given = world("bounded", "fast", 0)
    waiting = windows(given)
    return [
        Way("the truth", given.truth, INK, 1.4, (19_300, 0.318)),
        Way("waits 250 visits: too low", waiting["window of 250"], VERMILION, 1.6, (8_500, 0.055)),
        Way("waits 4,000: too late", waiting["window of 4,000"], ORANGE, 1.6, (4_600, 0.317)),
        Way("belated", ours(given), BLUE, 2.6, (16_300, 0.112)),
    ]


def _chart(ways: list[Way], blue: str) -> Chart:
    """Draw each way as a line with its name beside it."""
    middles = np.arange(_SPAN / 2, ROUNDS, _SPAN).tolist()
    layers: list[Json] = []
    for way in ways:
        means = way.values.reshape(-1, _SPAN).mean(axis=1).tolist()
        points = [{"x": x, "y": round(y, 4)} for x, y in zip(middles, means, strict=True)]
        style = {"color": blue if way.colour == BLUE else way.colour}
        dash = [6, 4] if way.name == "the truth" else [1, 0]
        line = {"type": "line", "clip": True, "strokeWidth": way.width, "strokeDash": dash, **style}
        name = {"type": "text", "text": way.name, "align": "left", "fontWeight": "bold", **style}
        place = dict(zip("xy", way.place, strict=True))
        layers += [
            {"data": {"values": points}, "mark": line},
            {"data": {"values": [place]}, "mark": {**name, "fontSize": 13}},
        ]
    x = {"title": "visits", "grid": False, "tickCount": 6, "format": ",d"}
    y = {"title": None, "values": [0, 0.1, 0.2, 0.3], "format": ".0%", "domain": False}
    title = {"text": _TITLE, "anchor": "start", "fontWeight": "normal", "fontSize": 14}
    return Chart(
        {
            "width": 680,
            "height": 290,
            "title": {**title, "color": INK, "offset": 14},
            "encoding": {"x": _axis("x", ROUNDS, x), "y": _axis("y", 0.36, y)},
            "layer": layers,
            "config": {**CONFIG, "background": None},
        }
    )


def _axis(field: str, end: float, axis: Json) -> Json:
    scale = {"domain": [0, end], "nice": False}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}


if __name__ == "__main__":
    main()
