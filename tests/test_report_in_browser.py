"""Pages in a real browser: they open from a file, ask for nothing, and react to clicks."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from belated.charts import DARK, INK, PAPER
from belated.report import Bars, Figure, Heat, Lines, Page, Section, Series, Table, write_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator
    from playwright.sync_api import Page as Tab

driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = driver.expect

pytestmark = pytest.mark.pictures

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
HOSTILE = "<img src=x onerror=alert(1)> & %{y} $z$"
X = (1.0, 10.0, 100.0, 1000.0)


def a_line(name: str, factor: float, *, band: bool = True) -> Series:
    """Return a curve, most often with a band."""
    y = tuple(factor * x**0.5 for x in X)
    low, high = tuple(0.7 * v for v in y), tuple(1.4 * v for v in y)
    return Series(name, X, y, low if band else None, high if band else None, dashed=not band)


FIGURES: tuple[Figure, ...] = (
    Lines(
        "Regret grows",
        "rounds",
        "regret",
        (a_line("ours", 1.0), a_line("GOLD", 3.0), a_line("ours (bound)", 9.0, band=False)),
        log_x=True,
        log_y=True,
    ),
    Lines("Strange names", "x", "y", (a_line(HOSTILE, 1.0), a_line("plain", 2.0))),
    Bars(
        "Who wins",
        tuple(f"a method with a long name {i}" for i in range(12)),
        (Series("wins", (), tuple(float(i) for i in range(12))),),
    ),
    Heat(
        "Who is good where",
        tuple(f"method {i}" for i in range(5)),
        tuple(f"pattern {i}" for i in range(14)),
        tuple(tuple(None if i == j else 1.0 + i + j for j in range(14)) for i in range(5)),
        "ratio",
    ),
)
TABLE = Table(
    tuple(f"a long column {i}" for i in range(8)),
    (("ours", *(1.5 * i for i in range(7))), ("GOLD", *(100.25 * i for i in range(7)))),
)
PAGE = Page(
    "A page",
    "It is read from top to bottom.",
    tuple(Section(f"What about {f.title.lower()}?", f, "Much.", TABLE) for f in FIGURES),
    "belated study example --with many --options that --make this --line long",
    {"version": "1"},
)


def rgb(colour: str) -> str:
    """Return a colour as browsers write it."""
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser without a window, where one is installed."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no Chromium found: none of {', '.join(NAMES)} is on the path")
    with driver.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=list(QUIET))
        yield started
        started.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the page lies on disk."""
    path = tmp_path_factory.mktemp("report") / "a page.html"
    write_page(path, PAGE)
    return path.as_uri()


class Open:
    """The page in a browser, and all that it said and asked for."""

    def __init__(self, browser: Browser, address: str, **options: Any) -> None:
        self.context = browser.new_context(offline=True, **options)
        self.tab: Tab = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.goto(address)
        if options.get("java_script_enabled", True):
            expect(self.tab.locator(".plot svg.marks")).to_have_count(len(FIGURES))

    def plot(self, i: int) -> str:
        """Return what finds the interactive figure of a section."""
        return f"#figure-{i} .plot"

    def curves(self, i: int) -> list[str | None]:
        """Return the opacity of every curve."""
        paths = self.tab.locator(f"{self.plot(i)} .mark-line path")
        return [paths.nth(k).get_attribute("opacity") for k in range(paths.count())]

    def legend(self, i: int) -> Locator:
        """Return the names in the legend."""
        return self.tab.locator(f"{self.plot(i)} .role-legend-label text")

    def click_legend(self, i: int, name: str) -> None:
        """Click an entry of the legend."""
        self.legend(i).filter(has_text=name).first.click()


def on_a_desktop(browser: Browser, address: str) -> Iterator[Open]:
    """Open the page, and close it in the end."""
    opened = Open(browser, address, viewport={"width": 1200, "height": 900})
    yield opened
    opened.context.close()


wide = pytest.fixture(scope="module")(on_a_desktop)
"""For tests that leave the page as they found it: to open it takes most of the time."""
fresh = pytest.fixture(on_a_desktop)
"""For all others."""


@pytest.fixture(scope="module")
def phone(browser: Browser, address: str) -> Iterator[Open]:
    """The page on a phone."""
    screen = {"width": 400, "height": 800}
    opened = Open(browser, address, viewport=screen, has_touch=True, is_mobile=True)
    yield opened
    opened.context.close()


def test_page_says_nothing_and_asks_for_nothing(fresh: Open) -> None:
    fresh.tab.wait_for_timeout(300)
    assert fresh.said == []
    assert [url for url in fresh.asked if not url.startswith("data:")] == [fresh.tab.url]
    assert fresh.tab.url.startswith("file://")


def test_figures_are_complete(wide: Open) -> None:
    assert wide.tab.locator(f"{wide.plot(1)} .mark-line path").count() == 3
    assert wide.tab.locator(f"{wide.plot(1)} .mark-area path").count() == 2
    assert wide.tab.locator(f"{wide.plot(3)} .mark-rect path").count() == 12
    assert wide.tab.locator("figure.chart img").first.is_hidden()


def test_legend_selects_a_curve(fresh: Open) -> None:
    assert set(fresh.curves(1)) <= {None, "1"}
    fresh.click_legend(1, "GOLD")
    expect(fresh.tab.locator(f"{fresh.plot(1)} .mark-line path[opacity='0.1']")).to_have_count(2)
    fresh.click_legend(1, "GOLD")
    expect(fresh.tab.locator(f"{fresh.plot(1)} .mark-line path[opacity='0.1']")).to_have_count(0)


def test_ticks_are_plain_numbers(wide: Open) -> None:
    labels = wide.tab.locator(f"{wide.plot(1)} .role-axis-label").first.locator("text")
    assert labels.all_text_contents() == ["1", "10", "100", "1,000"]


def test_hover_names_the_method_and_its_numbers(wide: Open) -> None:
    wide.tab.locator(wide.plot(1)).scroll_into_view_if_needed()
    wide.tab.locator(f"{wide.plot(1)} .mark-symbol.role-mark path").first.hover(force=True)
    shown = wide.tab.locator("#vg-tooltip-element")
    expect(shown).to_contain_text("ours")
    for text in ("rounds", "regret", "from", "0.7", "to", "1.4"):
        expect(shown).to_contain_text(text)


def test_strange_names_are_shown_as_they_are(wide: Open) -> None:
    assert wide.legend(2).all_text_contents() == [HOSTILE, "plain"]
    assert wide.said == []


def test_figures_follow_the_colours_of_the_page(fresh: Open) -> None:
    expect(fresh.legend(1).first).to_have_css("fill", rgb(INK))
    fresh.tab.emulate_media(color_scheme="dark")
    expect(fresh.legend(1).first).to_have_css("fill", rgb(DARK[INK]))
    background = fresh.tab.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert background == rgb(DARK[PAPER])
    assert fresh.said == []


def test_paper_gets_images(wide: Open) -> None:
    wide.tab.emulate_media(media="print", color_scheme="dark")
    assert wide.tab.locator("figure.chart img").first.is_visible()
    assert wide.tab.locator(wide.plot(1)).is_hidden()
    background = wide.tab.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert background == rgb(PAPER)
    wide.tab.emulate_media(media="screen", color_scheme="light")


def test_pages_work_without_scripts(browser: Browser, address: str) -> None:
    opened = Open(browser, address, java_script_enabled=False)
    images = opened.tab.locator("figure.chart img")
    assert images.count() == len(FIGURES)
    assert images.first.is_visible()
    opened.context.close()


def test_phones_scroll_figures_and_tables_but_not_the_page(phone: Open) -> None:
    width = phone.tab.evaluate("document.documentElement.scrollWidth")
    assert width <= 400
    for part in ("#figure-4 .scroll", "figure.table .scroll"):
        is_wider = "part => part.scrollWidth > part.clientWidth"
        assert phone.tab.locator(part).first.evaluate(is_wider)
    assert phone.said == []


def test_figures_fit_a_phone(phone: Open) -> None:
    for i in (1, 2, 3):
        box = phone.tab.locator(f"{phone.plot(i)} svg.marks").bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 400
    tops = phone.legend(1).evaluate_all("all => all.map(each => each.getBoundingClientRect().top)")
    assert len(set(tops)) > 1  # entries stand in several lines


def test_keys_reach_every_heading(fresh: Open) -> None:
    reached: list[str | None] = []
    while "#reproduce" not in reached and len(reached) < 100:
        fresh.tab.keyboard.press("Tab")
        reached.append(fresh.tab.evaluate("document.activeElement.getAttribute('href')"))
    headings = [f"#section-{i}" for i in range(1, len(FIGURES) + 1)]
    assert reached[0] == "#content"
    assert [*headings, *headings, "#reproduce"] == [name for name in reached[1:] if name]


@pytest.mark.slow
def test_images_can_be_saved(wide: Open, tmp_path: Path) -> None:
    wide.tab.locator(f"{wide.plot(1)} summary").click()
    with wide.tab.expect_download() as download:
        wide.tab.locator(f"{wide.plot(1)} .vega-actions a", has_text="PNG").click()
    assert download.value.suggested_filename == "figure-1.png"
    download.value.save_as(tmp_path / "saved.png")
    assert (tmp_path / "saved.png").read_bytes().startswith(b"\x89PNG")
    assert wide.said == []
