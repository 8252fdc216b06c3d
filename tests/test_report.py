"""Figures check their numbers, charts show them, and pages are one safe file."""

from __future__ import annotations

import html.parser
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from belated.charts import DARK, FAINT, INK, PAPER, RULE, Chart
from belated.errors import BelatedError, MissingExtra, SpecError
from belated.report import (
    Bars,
    Figure,
    Heat,
    Lines,
    Page,
    Section,
    Series,
    Table,
    chart_of,
    save_images,
    write_page,
)
from belated.report.colours import FAMILIES, PALETTE, look
from belated.report.finding import Finding
from belated.report.page import to_html
from belated.report.plain import plain
from belated.report.vega import note_of

HOSTILE = "</script><b>a & b</b> \"q\" 'r' %{x} $y$"
"""Text that must come out as it went in."""
X = (1.0, 10.0, 100.0, 1000.0)

pytestmark = pytest.mark.pictures


def a_line(name: str, factor: float = 1.0, *, dashed: bool = False) -> Series:
    """Return a curve with a band, or without one where it is dashed."""
    y = tuple(factor * x**0.5 for x in X)
    low, high = tuple(0.8 * v for v in y), tuple(1.3 * v for v in y)
    return Series(name, X, y, None if dashed else low, None if dashed else high, dashed)


LINES = Lines(
    "Regret grows",
    "rounds",
    "regret",
    (a_line("ours"), a_line("GOLD", 2.0), a_line("ours (bound)", 5.0, dashed=True)),
    log_x=True,
    log_y=True,
    note="Bands hold 95 % of the seeds.",
)
BARS = Bars(
    "Regret by delays",
    ("constant", "Pareto", "outages"),
    (
        Series("ours", (), (1.0, 20.0, 300.0), (0.5, 10.0, 200.0), (2.0, 30.0, 400.0)),
        Series("GOLD", (), (4.0, None, 500.0)),
        Series("bound", (), (9.0, 90.0, 900.0)),
    ),
    "regret",
    log_y=True,
)
LYING = Bars(
    "Regret of many",
    tuple(f"pattern {i}" for i in range(10)),
    (Series("learning", (), (1.0,) * 10), Series("delay", (), (2.0,) * 9 + (None,))),
)
HEAT = Heat("Who is good where", ("a", "b"), ("x", "y"), ((1.0, None), (30.0, 2.0)), "ratio")
FIGURES = (LINES, BARS, LYING, HEAT)
TABLE = Table(
    ("method", "exponent", "seeds", "told"),
    (("ours", 0.7512, 32, "nothing"), ("GOLD", 12.5, 8, None), ("BOLD", None, 1200, "T")),
    "Fitted exponents",
)


def a_page(*figures: Figure, text: str = "plain") -> Page:
    """Return a page with one section per figure, and one without any."""
    sections = [
        Section(f"Question {i}? {text}", f, f"It says {text}.") for i, f in enumerate(figures)
    ]
    last = Section("And the numbers?", None, "Here they are.\n\nAnd more.", TABLE)
    return Page(text, text, (*sections, last), f"belated study {text}", {"version": text})


class Reader(html.parser.HTMLParser):
    """Collects the elements, the text, and what is inside the data of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.ids: list[str] = []
        self.text = ""
        self.data: dict[str, Any] = {}
        self._open = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        known = dict(attrs)
        self._open = tag
        if known.get("id"):
            self.ids.append(str(known["id"]))

    def handle_endtag(self, tag: str) -> None:
        """Text after an element belongs to none that matters here."""
        self._open = ""

    def handle_data(self, data: str) -> None:
        """Keep text apart from scripts and styles."""
        if self._open == "script" and data.startswith("{"):
            self.data[self.ids[-1]] = json.loads(data)
        elif self._open not in ("script", "style"):
            self.text += data


# ---- values ------------------------------------------------------------------------------------


def test_numbers_become_floats() -> None:
    series = Series("a", [1, 2], [3, None], [2, None], [4, None])  # type: ignore[arg-type]
    assert (series.x, series.y, series.low, series.high) == (
        (1, 2),
        (3, None),
        (2, None),
        (4, None),
    )
    assert isinstance(series.x[0], float)


def test_values_are_checked() -> None:
    one, wide = Series("a", (), (1.0,)), (1.0, 2.0)
    cases: list[tuple[str, Callable[[], Any]]] = [
        ("Series 'a': x must have 1 entries like y, got 2", lambda: Series("a", wide, (1.0,))),
        (r"Series 'a': y\[0\] must be finite", lambda: Series("a", (), (float("inf"),))),
        ("low and high must be given together", lambda: Series("a", (), wide, wide)),
        ("low must have 1 entries like y", lambda: Series("a", (), (1.0,), wide, (2.0,))),
        ("series must not be empty", lambda: Lines("t", "x", "y", ())),
        ("names of series must differ, got 'a' twice", lambda: Lines("t", "x", "y", (one, one))),
        ("series 'a': x must have 1 entries", lambda: Lines("t", "x", "y", (one,))),
        ("labels must differ, got 'x' twice", lambda: Bars("t", ("x", "x"), (one,))),
        ("group 'a': y must have 2 entries", lambda: Bars("t", ("x", "y"), (one,))),
        ("a row must have 1 entries", lambda: Heat("t", ("a",), ("x",), (wide,), "v")),
        ("must be finite", lambda: Heat("t", ("a",), ("x",), ((float("nan"),),), "v")),
        ("columns must not be empty", lambda: Table((), ())),
        ("a row must have 2 cells like columns", lambda: Table(("a", "b"), ((1,),))),
        ("'a' must be text, a finite number or None", lambda: Table(("a",), ((True,),))),
    ]
    for message, make in cases:
        with pytest.raises(SpecError, match=message):
            make()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (12, "12"),
        (1_234_567, "1,234,567"),
        (12_345.0, "12,345"),
        (0.5, "0.5"),
        (-2.71828, "−2.718"),
        (999.96, "1,000"),
        (0.00001234, "0.00001234"),
        (1e-7, "1×10⁻⁷"),
        (10**20, "1×10²⁰"),
    ],
)
def test_numbers_are_plain(value: float, text: str) -> None:
    assert plain(value) == text


# ---- looks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: str(family[-1]))
def test_names_of_a_family_differ(family: tuple[str, ...]) -> None:
    looks = [look(name) for name in family]
    shown = {(each.colour, each.marker, each.dash) for each in looks}
    assert len(shown) == len(family)
    assert len({each.colour for each in looks}) == min(len(family), len(PALETTE))


def test_a_name_has_one_place() -> None:
    """A name in two families must stand at the same place in both, or it would change its look."""
    places: dict[str, set[int]] = {}
    for family in FAMILIES:
        for place, name in enumerate(family):
            places.setdefault(name, set()).add(place)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


# ---- charts ------------------------------------------------------------------------------------


def rows_of(figure: Figure) -> list[dict[str, Any]]:
    """Return the data of a chart."""
    return list(chart_of(figure).spec["data"]["values"])


def test_what_has_no_place_on_a_log_axis_is_left_out_and_told() -> None:
    first = Series("a", (0.0, 1.0, 10.0), (5.0, -1.0, 7.0), (1.0, -2.0, -3.0), (9.0, 0.0, 8.0))
    lines = Lines("t", "x", "y", (first,), log_x=True, log_y=True, note="Note.")
    # The band ends at the lowest point, where its own end has no place.
    assert rows_of(lines) == [{"s": "a", "x": 10.0, "y": 7.0, "l": 7.0, "h": 8.0, "m": 1}]
    assert note_of(lines) == (
        "Note. 2 points are left out: zero and less have no place on a logarithmic axis."
    )


def test_bars_without_a_place_are_left_out_and_told() -> None:
    first = Series("a", (), (10.0, 0.0, None), (-1.0, -2.0, 5.0), (30.0, 0.0, 40.0))
    bars = Bars("t", ("x", "y", "z"), (first,), log_y=True)
    assert rows_of(bars) == [{"s": "a", "c": "x", "y": 10.0, "l": 10.0, "h": 30.0}]
    assert "1 bar is left out" in note_of(bars)


def test_cells_without_a_place_are_told() -> None:
    assert note_of(HEAT) == ""
    odd = Heat("t", ("a",), ("x", "y"), ((-1.0, 0.0),), "v")
    assert note_of(odd).startswith("2 cells are zero or less")
    assert rows_of(odd) == [{"r": "a", "c": ["x", "y"], "y": [-1.0, 0.0]}]


def test_many_bars_are_markers() -> None:
    def mark(count: int) -> Any:
        groups = tuple(Series(f"group {i}", (), (1.0, 2.0)) for i in range(count))
        return chart_of(Bars("t", ("x", "y"), groups)).spec["layer"][0]["mark"]

    assert mark(12) == "bar"
    assert mark(13)["type"] == "point"


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.title)
def test_charts_are_plain_json_with_fixed_bytes(figure: Figure) -> None:
    chart = chart_of(figure)
    assert json.dumps(chart.spec) == json.dumps(chart_of(figure).spec)
    assert json.loads(json.dumps(chart.to_dict(), allow_nan=False)) == chart.to_dict()


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.title)
def test_only_colours_that_are_good_for_both_pages(figure: Figure) -> None:
    """Whatever is not in the palette must be swapped on a dark page."""
    chart = chart_of(figure)
    text = json.dumps(chart.to_dict())
    assert set(re.findall(r"#[0-9a-fA-F]{6}", text)) <= {*PALETTE, *DARK}
    assert set(re.findall(r"#[0-9a-fA-F]{6}", json.dumps(chart.dark().spec))).isdisjoint(DARK)


def test_names_have_the_look_of_their_method() -> None:
    curve = chart_of(LINES).spec["layer"][1]["encoding"]
    colour = chart_of(LINES).spec["encoding"]["color"]["scale"]
    assert colour["domain"] == [series.name for series in LINES.series]
    assert colour["range"] == [look(series.name).colour for series in LINES.series]
    assert curve["strokeDash"]["scale"]["range"][2] == [6, 4]  # not measured


def test_figures_and_text_share_their_colours() -> None:
    style = to_html(a_page()).partition("</style>")[0]
    light, dark = style.partition("prefers-color-scheme: dark")[::2]
    for colour in (INK, FAINT, RULE, PAPER):
        assert f": {colour};" in light
        assert f": {DARK[colour]};" in dark


# ---- images ------------------------------------------------------------------------------------


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.title)
def test_images_depend_on_nothing_but_the_figure(figure: Figure) -> None:
    image = chart_of(figure).image()
    assert image == chart_of(figure).image()
    assert ElementTree.fromstring(image).tag.endswith("svg")
    assert b"NaN" not in image


def test_odd_figures_are_drawn() -> None:
    nothing = Series("a", (), ())
    negative = Series("b", (1.0, 2.0), (-1.0, -2.0), (-3.0, -3.0), (0.0, 0.0))
    dollars = Lines("$a_b$ $", HOSTILE, "$", (nothing, negative), log_x=True, log_y=True)
    single = Lines("one", "x", "y", (Series("a", (5.0,), (5.0,)),), log_x=True, log_y=True)
    no_bars = Bars("none", ("x",), (Series("a", (), (None,)), Series("b", (), (-1.0,))), log_y=True)
    empty = Heat("empty", ("a",), ("x",), ((None,),), "v")
    for figure in (dollars, single, no_bars, empty):
        assert chart_of(figure).image("png").startswith(b"\x89PNG")
        assert b"NaN" not in chart_of(figure).image()


def test_notebooks_get_the_chart_and_an_image() -> None:
    shown = BARS._repr_mimebundle_()
    assert shown["application/vnd.vegalite.v6+json"] == chart_of(BARS, titled=True).to_dict()
    assert chart_of(BARS, titled=True).spec["title"]["text"] == ["Regret by delays"]
    assert shown["image/svg+xml"].startswith("<svg")


class Found(Finding):
    """A finding with a page of three figures."""

    def _page(self, command: str) -> Page:
        return a_page(LINES, BARS, HEAT, text=HOSTILE)

    def summary(self) -> str:
        return "plain"

    def _repr_html_(self) -> str:
        return "<table></table>"


def test_notebooks_show_the_first_figures_of_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Found()._repr_mimebundle_()["text/html"]
    page = Reader(shown)
    assert page.tags == ["table", *["figure", "figcaption", "b", "img"] * 2]
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert Found()._repr_mimebundle_()["text/html"] == "<table></table>"


def test_charts_are_saved_by_their_ending(tmp_path: Path) -> None:
    chart = chart_of(LINES)
    for name in ("a.svg", "a.png", "a.json"):
        chart.save(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == chart.image()
    assert json.loads((tmp_path / "a.json").read_text()) == chart.to_dict()
    with pytest.raises(BelatedError, match=r"must end in svg, png, json, got 'a\.gif'"):
        chart.save(tmp_path / "a.gif")
    with pytest.raises(BelatedError, match="cannot write"):
        Chart({}).save(tmp_path / "absent" / "a.json")


def test_files_are_named_after_their_titles(tmp_path: Path) -> None:
    page = a_page(LINES, HEAT)
    files = save_images(tmp_path / "new" / "folder", page)
    assert [file.name for file in files] == [
        "01-regret-grows.png",
        "01-regret-grows.svg",
        "02-who-is-good-where.png",
        "02-who-is-good-where.svg",
    ]
    assert all(file.stat().st_size > 1000 for file in files)


# ---- pages -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile() -> str:
    """A page in which every text tries to break out."""
    bad = Series(HOSTILE, X, X, X, X)
    lines = Lines(HOSTILE, HOSTILE, HOSTILE, (bad, a_line("b")), note=HOSTILE)
    bars = Bars(HOSTILE, (HOSTILE, "b"), (Series(HOSTILE, (), (1.0, 2.0)),), HOSTILE)
    heat = Heat(HOSTILE, (HOSTILE,), (HOSTILE,), ((1.0,),), HOSTILE)
    page = a_page(lines, bars, heat, text=HOSTILE)
    table = Table((HOSTILE, "n"), ((HOSTILE, 1), (None, 2)), HOSTILE)
    return to_html(
        Page(
            page.title,
            page.lead,
            (*page.sections, Section(HOSTILE, None, HOSTILE, table)),
            HOSTILE,
            {HOSTILE: HOSTILE},
        )
    )


def test_text_stays_text(hostile: str) -> None:
    page = Reader(hostile)
    assert "b" not in page.tags
    assert page.tags.count("script") == 4
    assert page.text.count(HOSTILE) >= 12
    assert "undefined" not in page.text
    assert page.data["figures"]["figure-1"]["data"]["values"][0]["s"] == HOSTILE


def test_images_of_many_figures_fill_a_bounded_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("belated.report.page.embedded", lambda figure: "data:" + 99_994 * "x")
    page = Reader(to_html(a_page(*[LINES] * 5)))
    assert page.tags.count("img") == 3
    assert len(page.data["figures"]) == 5


def test_nothing_is_loaded(hostile: str) -> None:
    page = Reader(hostile)
    assert "default-src 'none'" in hostile
    for name, value in page.attributes:
        if name in ("src", "href"):
            assert value.startswith(("data:", "#")), value
    assert "@import" not in hostile.partition("</style>")[0]
    assert "url(" not in hostile.partition("</style>")[0]


def test_page_is_well_formed(hostile: str) -> None:
    page = Reader(hostile)
    assert hostile.startswith('<!doctype html>\n<html lang="en">')
    assert len(page.ids) == len(set(page.ids))
    links = {value[1:] for name, value in page.attributes if name == "href" and value[0] == "#"}
    assert links <= set(page.ids)
    assert page.tags.count("h1") == 1
    assert page.tags.count("img") == 3
    for tag in ("main", "header", "nav", "section", "figure", "table", "dl"):
        assert hostile.count(f"<{tag}") == hostile.count(f"</{tag}>") > 0


def test_pages_without_figures_need_no_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    page = Reader(to_html(a_page()))
    assert "script" not in page.tags


def test_missing_extras_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtra, match=r"needs vl-convert-python.*belated\[report\]"):
        write_page(tmp_path / "page.html", a_page(LINES))
    with pytest.raises(MissingExtra, match="needs vl-convert-python"):
        save_images(tmp_path, a_page(LINES))
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BelatedError, match="cannot write"):
        write_page(tmp_path / "file" / "page.html", a_page())
    with pytest.raises(BelatedError, match="cannot write"):
        save_images(tmp_path / "file", a_page(LINES))
