"""Reports, models and results as tables, in terminals and in notebooks."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.logs import Log

NASTY = "<b>&"


def learner() -> Any:
    one = bl.Learner(bl.Problem(bl.Ball(2), lipschitz=1.0).learner())
    one.observe(one.predict().ticket, [0.5, 0.5])
    return one


def linear() -> Any:
    model = bl.LinearModel("squared")
    for size in range(20):
        model.observe(model.predict({NASTY: size, "shop": NASTY}).ticket, 2.0 * size)
    return model


def chooser() -> Any:
    one = bl.Chooser([NASTY, "green"], seed=1)
    for _ in range(5):
        one.observe(one.choose({}).ticket, 1.0)
    return one


def intervals() -> Any:
    one = bl.Intervals(bl.LinearModel("squared"))
    one.observe(one.predict({"a": 1.0}).ticket, 1.0)
    return one


def knobs() -> Any:
    one = bl.Knobs({NASTY: (10.0, 200.0)}, seed=1)
    one.observe(one.predict().ticket, 1.0)
    return one


def log() -> Log:
    asked, size = np.arange(200.0), np.sin(np.arange(200.0))
    features = {NASTY: size, "shop": np.array([NASTY, "b"] * 100, dtype=object)}
    return Log(asked, asked + 20.5, target=3.0 * size + np.cos(asked * asked), features=features)


MODELS = [learner, linear, chooser, intervals, knobs]
RESULTS: dict[str, Any] = {
    "explanation": lambda: linear().explain({NASTY: 3.0, "shop": NASTY}),
    "forecast": lambda: linear().predict({"a": 1.0}),
    "choice": lambda: chooser().choose({}),
    "option": lambda: chooser().peek({})[0],
    "interval": lambda: intervals().predict({"a": 1.0}),
    "range": lambda: intervals().peek({"a": 1.0}),
    "decision": lambda: learner().predict(),
    "timeline": lambda: log().timeline,
    "audit": lambda: bl.audit(log()),
    "replay": lambda: bl.replay(log(), "delay"),
}


class Parser(HTMLParser):
    """What a browser makes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.rows: list[int] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag in ("table", "caption", "tr", "th", "td")
        self.open.append(tag)
        if tag == "tr":
            self.rows.append(0)
        elif tag in ("th", "td"):
            self.rows[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def parsed(given: Any) -> Parser:
    found = Parser(given._repr_html_())
    assert not found.open
    assert found.rows
    return found


@pytest.mark.parametrize("make", MODELS)
def test_reports_are_tables(make: Any) -> None:
    model = make()
    report = model.report()
    assert repr(report) == str(report)
    assert "(" not in str(report).splitlines()[0]
    rows = report.rows()
    lines = str(report).splitlines()
    assert len(lines) == len(rows) == len(parsed(report).rows)
    numbers = {line.index(row[2]) for line, row in zip(lines, rows, strict=True) if row[2]}
    assert len(numbers) == 1  # aligned
    caption, *_ = parsed(model).texts
    assert caption == repr(model).strip("<>")


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_tables(name: str) -> None:
    found = parsed(RESULTS[name]())
    if name in ("explanation",):
        assert {NASTY, f"shop={NASTY}"} <= set(found.texts)


def test_evaluations_are_tables() -> None:
    rng = np.random.default_rng(0)
    decisions = {
        "at": np.arange(300.0),
        "action": rng.choice(["red", "blue"], 300),
        "probability": np.full(300, 0.5),
        "reward": rng.random(300),
        "red": np.full(300, "red"),
        "rewarded_at": np.arange(300.0) + 1.0,
    }
    found = bl.evaluate(decisions, ["red"], decided="at", rewarded="rewarded_at")
    assert "red" in parsed(found).texts
