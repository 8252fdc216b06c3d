"""The dashboard in a real browser, with a real server and real traffic."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import belated as bl
from service_calls import Caller, serving
from test_report_in_browser import HOSTILE, NAMES, QUIET

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
expect = driver.expect


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Return a client of a server with traffic in it."""
    with serving(tmp_path_factory.mktemp("dashboard")) as caller:
        asked = [{"features": {"hour": hour}, "key": f"v{hour}"} for hour in range(30)]
        caller("POST", "/models/value/predict", {"items": asked})
        told = [{"key": f"v{hour}", "value": hour} for hour in range(0, 30, 2)]
        caller("POST", "/models/value/observe", {"items": told})
        shown = [{"actions": [HOSTILE, "plain"], "key": f"c{i}"} for i in range(20)]
        caller("POST", "/models/layout/choose", {"items": shown})
        yield caller


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


def opened(browser: Browser, ask: Caller, width: int, scheme: str, said: list[str]) -> Page:
    """Open the dashboard with its token; what the page complains of goes into ``said``."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
    )
    tab = context.new_page()
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    elsewhere: list[str] = []
    tab.on("request", lambda one: elsewhere.append(one.url))
    tab.goto(f"{ask.server.url}/#token={ask.token}")
    said += [url for url in elsewhere if not url.startswith((ask.server.url, "data:"))]
    return tab


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_model_is_shown_live(browser: Browser, ask: Caller, width: int, scheme: str) -> None:
    said: list[str] = []
    tab = opened(browser, ask, width, scheme, said)
    tab.get_by_role("button", name="value").click()
    expect(tab.get_by_role("heading", level=2)).to_have_text("value LinearModel")
    answered = tab.get_by_text("answered", exact=True)
    tile = tab.locator("#tiles div", has=answered)
    report = ask("GET", "/models/value/report").body
    heard = report["observed"]
    expect(tile.locator("dd")).to_contain_text(str(heard))
    share = 100.0 * heard / report["rounds"]
    expect(tab.locator("#age tbody tr").last).to_contain_text(f"{share:.1f} %")
    assert tab.locator("#timeline line").count() == report["rounds"]
    assert tab.locator("#timeline line.waiting").count() == report["open"]
    assert "token" not in tab.url
    expect(tab.locator("#login")).to_be_hidden()
    ask("POST", "/models/value/observe", {"key": "v1" if scheme == "light" else "v3", "value": 1.0})
    expect(tile.locator("dd")).to_contain_text(str(heard + 1), timeout=8000)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert said == []
    tab.context.close()


def test_names_of_strangers_stay_text(browser: Browser, ask: Caller) -> None:
    said: list[str] = []
    tab = opened(browser, ask, 1280, "light", said)
    tab.get_by_role("button", name="layout").click()
    expect(tab.locator("#actions")).to_contain_text(HOSTILE)
    expect(tab.get_by_title(HOSTILE, exact=True)).to_be_visible()  # whole, where it would be cut
    expect(tab.locator("#why")).to_contain_text("No answer has come yet: 20 of 20")
    assert tab.locator("#model img").count() == 0
    assert said == []
    tab.context.close()


def test_a_baseline_and_what_would_be_chosen_are_beside(browser: Browser, ask: Caller) -> None:
    settings = {"actions": ["calm", "bold"], "baseline": "calm", "silence": 0, "bits": 8}
    ask("POST", "/models", {"name": "beside", "kind": "Chooser", "settings": settings})
    for turn in range(12):
        ask("POST", "/models/beside/choose", {"context": {"hour": 7.0}, "key": f"{turn}"})
        ask("POST", "/models/beside/observe", {"key": f"{turn}", "value": float(turn % 2)})
    ask.server.hub.models["beside"].watch.points.clear()
    said: list[str] = []
    tab = opened(browser, ask, 390, "light", said)
    tab.get_by_role("button", name="beside").click()
    expect(tab.locator("#measure figcaption")).to_contain_text("the baseline, predicted")
    assert tab.locator("#measure path.three").count() == 2  # in the picture, and beside its words
    (first, *_) = ask("POST", "/models/beside/peek", {"context": {"hour": 7.0}}).body["options"]
    row = tab.locator("#actions tbody tr", has_text=first["action"])
    expect(row).to_contain_text(f"{100 * first['probability']:.1f} %")
    expect(tab.locator("#next")).to_contain_text("in the context that came last")
    table = "document.querySelector('#choices')"
    assert tab.evaluate(f"{table}.scrollWidth - {table}.clientWidth") <= 0  # no column is cut off
    ask("PUT", "/models/beside/mode", {"mode": "apprentice"})
    expect(tab.locator("#next")).to_contain_text("as an apprentice", timeout=8000)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert said == []
    tab.context.close()


def test_what_was_lately_stays_when_nothing_comes(browser: Browser, ask: Caller) -> None:
    ask("POST", "/models", {"name": "quiet", "kind": "Chooser", "settings": {"actions": ["a"]}})
    for turn in range(40):
        ask("POST", "/models/quiet/choose", {"key": f"{turn}"})
        ask("POST", "/models/quiet/observe", {"key": f"{turn}", "value": float(turn == 39)})
    watch = ask.server.hub.models["quiet"].watch
    # The mean was 0 for a while; then it is one of 40, and nothing more comes.
    moved = [[float(at), at, at, 0, 0.0, at, None] for at in range(1, 40)]
    watch.points[:] = [*moved, *([float(at), 40, 40, 0, 0.025, 40, None] for at in range(40, 200))]
    tab = opened(browser, ask, 1280, "light", [])
    tab.get_by_role("button", name="quiet").click()
    expect(tab.locator("#measure figcaption")).to_contain_text("lately 0.5000")  # of the last two
    tab.context.close()


def test_intervals_without_ends_are_drawn_and_counted(browser: Browser, ask: Caller) -> None:
    ask("POST", "/models", {"name": "ranges", "kind": "Intervals", "settings": {"bits": 8}})
    asked = [{"features": {"x": 1.0}, "key": f"{key}"} for key in range(6)]
    ask("POST", "/models/ranges/predict", {"items": asked})
    said: list[str] = []
    tab = opened(browser, ask, 1280, "dark", said)
    tab.get_by_role("button", name="ranges").click()
    expect(tab.locator("#tiles div", has_text="half-width")).to_contain_text("none yet")
    expect(tab.locator("#measure figcaption")).to_contain_text("asked for 0.9")
    told = [{"key": f"{key}", "value": float(key)} for key in range(4)]
    ask("POST", "/models/ranges/observe", {"items": told})
    tile = tab.locator("#tiles div", has_text="without ends")
    expect(tile).to_contain_text("4", timeout=8000)
    assert "NaN" not in tab.content()
    assert "Infinity" not in tab.content()
    assert said == []
    tab.context.close()


def test_the_keyboard_reaches_everything(browser: Browser, ask: Caller) -> None:
    tab = opened(browser, ask, 1280, "light", [])
    expect(tab.get_by_role("button", name="layout")).to_be_visible()
    seen = []
    for _ in range(9):
        tab.keyboard.press("Tab")
        seen.append(tab.evaluate("document.activeElement.textContent"))
    assert {"Skip to the model", "layout", "value", "The whole report"} <= set(seen)
    tab.context.close()


def test_without_a_token_the_page_asks_for_one(browser: Browser, ask: Caller) -> None:
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(ask.server.url)
    expect(tab.locator("#state")).to_have_text("A token is needed.")
    tab.get_by_label("Token").fill(str(ask.token))
    tab.get_by_role("button", name="Open").click()
    expect(tab.get_by_role("heading", level=2)).to_be_visible()
    context.close()


def test_a_certificate_is_shown_with_its_parts(browser: Browser, ask: Caller) -> None:
    """Learning, lateness and what is still open make up the whole, a round and in all."""
    for name, spec in (
        ("sure", bl.FirstOrder(bl.PFTRL(bl.Ball(2), bl.rates.Tight(1.0)))),
        ("unsure", bl.FirstOrder(bl.OMD(bl.Ball(2), bl.rates.Constant(0.1)))),
    ):
        settings = {"spec": json.loads(spec.to_json())}
        ask("POST", "/models", {"name": name, "kind": "Learner", "settings": settings})
        for start in range(0, 60, 10):
            keys = [f"p{place}" for place in range(start, start + 10)]
            ask("POST", f"/models/{name}/predict", {"items": [{"key": key} for key in keys]})
            told = [{"key": key, "value": [0.3, -0.4]} for key in keys[: 5 if start == 50 else 10]]
            ask("POST", f"/models/{name}/observe", {"items": told})
    said: list[str] = []
    tab = opened(browser, ask, 1280, "light", said)
    tab.get_by_role("button", name="sure", exact=True).click()
    whole = ask("GET", "/models/sure/report").body["certificate"]
    tile = tab.locator("#tiles div", has_text="learning")
    expect(tile).to_contain_text("still open 10")  # five rounds of G D = 2
    assert sum(whole.values()) == 2.0 * whole["total"]
    shown = f"{whole['total'] / 60:.3f}"
    expect(tab.locator("#tiles div", has_text="a round").locator("dd")).to_contain_text(shown)
    expect(tab.locator("#measure > svg")).to_be_visible()
    tab.get_by_role("button", name="unsure").click()
    expect(tab.get_by_role("heading", level=2)).to_have_text("unsure Learner")
    expect(tab.locator("#measure")).to_be_hidden()
    expect(tab.locator("#tiles")).not_to_contain_text("none yet")
    assert said == []
