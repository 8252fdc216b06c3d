"""Charts: Vega-Lite descriptions that notebooks show, pages animate and files keep as images.

`Vega-Lite <https://vega.github.io/vega-lite/>`_ describes a chart as plain JSON. The package
vl-convert draws it without a browser, and brings the scripts that draw it in one.
"""

from __future__ import annotations

import gzip
import json
import re
from contextlib import suppress
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from belated.errors import BelatedError, MissingExtra

Json: TypeAlias = dict[str, Any]

INK, FAINT, RULE, GREY, PAPER = "#1a1a1a", "#5c5c5c", "#d9d9d9", "#bdbdbd", "#ffffff"
"""Text, secondary text, grid lines, cells without a value, and the background."""
DARK = {INK: "#e8e6e3", FAINT: "#a9adb2", RULE: "#3a4046", GREY: "#555b61", PAPER: "#15181b"}
"""The colour that replaces each of these on a dark page; all other colours are good for both."""
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
MIME = "application/vnd.vegalite.v6+json"
FORMATS = ("svg", "png", "json")
_AXIS = {
    "domainColor": FAINT,
    "tickColor": FAINT,
    "gridColor": RULE,
    "labelColor": INK,
    "titleColor": INK,
    "labelFontSize": 12,
    "titleFontSize": 13,
    "titleFontWeight": "normal",
    "titlePadding": 8,
    "labelLimit": 0,
    "titleLimit": 0,
}
CONFIG: Json = {
    "background": PAPER,
    "font": "Helvetica, Arial, 'Liberation Sans', sans-serif",
    "view": {"stroke": None},
    "axis": _AXIS,
    # The title of the upright axis stands above it, where it takes no width.
    "axisY": {
        "domain": False,
        "titleAngle": 0,
        "titleAnchor": "end",
        "titleAlign": "left",
        "titleY": -12,
    },
    "legend": {
        "orient": "top",
        "offset": 26,
        "title": None,
        "labelColor": INK,
        "labelFontSize": 13,
        "labelLimit": 0,
        "titleColor": INK,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "titleLimit": 0,
        "symbolOpacity": 1,
        "symbolStrokeWidth": 2,
        "symbolSize": 90,
        "columnPadding": 16,
    },
}


class Chart:
    """A figure as a Vega-Lite description.

    >>> Chart({"mark": "line", "encoding": {}}).to_dict()["mark"]
    'line'
    """

    def __init__(self, spec: Json) -> None:
        """Keep the description; its colours are those of a light page."""
        self.spec = spec

    def to_dict(self) -> Json:
        """Return the whole description, as other tools read it."""
        return {"$schema": SCHEMA, "config": CONFIG, **self.spec}

    def dark(self) -> Chart:
        """Return the chart in the colours of a dark page."""
        text = json.dumps(self.to_dict())
        return Chart(json.loads(re.sub("|".join(DARK), lambda found: DARK[found[0]], text)))

    def image(self, ending: str = "svg", *, scale: float = 1.5) -> bytes:
        """Draw the chart (``belated[report]``): the same chart gives the same bytes."""
        converter = _converter()
        if ending == "png":
            return bytes(converter.vegalite_to_png(self.to_dict(), scale=scale))
        return _compact(converter.vegalite_to_svg(self.to_dict())).encode()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the chart as an SVG or PNG image, or its description as JSON."""
        target = Path(path)
        ending = target.suffix.removeprefix(".").lower()
        if ending not in FORMATS:
            raise BelatedError(
                f"Chart.save: the file must end in {', '.join(FORMATS)}, got {target.name!r}"
            )
        is_text = ending == "json"
        content = json.dumps(self.to_dict()).encode() if is_text else self.image(ending)
        try:
            target.write_bytes(content)
        except OSError as error:
            raise BelatedError(f"cannot write {target}: {error}") from error

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Json:
        """Return the chart for notebooks: interactive where they can draw it, and an image."""
        shown: Json = {MIME: self.to_dict(), "text/plain": repr(self)}
        with suppress(MissingExtra):
            shown["image/svg+xml"] = self.image().decode()
        return shown


@cache
def packed_script() -> bytes:
    """Return the script that draws charts in a browser, ``vegaEmbed``, compressed."""
    source: str = _converter().javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return gzip.compress(source.encode(), mtime=0)


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise MissingExtra("vl-convert-python", extra="report", where="a chart") from None
    return vl_convert


def _compact(drawing: str) -> str:
    """Return an SVG without invisible marks, names of marks, and digits that cannot be seen.

    The names of its parts, which count the drawings of a process, begin with zero, and its font is
    written once.
    """
    for i, name in enumerate(dict.fromkeys(re.findall(r' id="(\w+)"', drawing))):
        drawing = drawing.replace(f'"{name}"', f'"part{i}"').replace(f"#{name})", f"#part{i})")
    fonts = re.findall(r' font-family="[^"]*"', drawing)
    drawing = re.sub(r'<path [^>]*opacity="0"[^>]*/?>(</path>)?', "", drawing)
    drawing = re.sub(
        r' (aria-[\w-]+|role|class|pointer-events|font-family)="[^"]*"| font-size="12px"',
        "",
        drawing,
    )
    drawing = drawing.replace("<svg", f'<svg{fonts[0] if fonts else ""} font-size="12px"', 1)
    return re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\.\d)\d+", r"\1", tag[0]), drawing)
