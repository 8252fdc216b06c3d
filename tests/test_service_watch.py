"""What the dashboard is told: ages, curves, the sentence, and the demonstration."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from time import time
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import belated as bl
from belated.cli.serve_demo import Flights, Shop
from belated.service.hub import Hub
from belated.service.watch import AGES, REMEMBERED, Watch, explain_stall
from belated.store.events import OBSERVE
from service_calls import LINEAR, Caller, serving
from test_service_faults import failing

REPORT = {"rounds": 10, "open": 3, "observed": 7}
WAITING = [1e6]
"""When tickets were asked for that still wait."""


def heard(watch: Watch, ages: list[float], now: float = 1e6) -> None:
    """Ask, and answer after so long."""
    for ticket, age in enumerate(ages):
        watch.ask(ticket, now)
        watch.hear([OBSERVE, ticket, 1.0], True, now + age)


def test_what_is_not_committed_is_not_watched(tmp_path: Path) -> None:
    with serving(tmp_path) as ask:
        for path, body in (("value/predict", b'{"features": {}}'), ("layout/choose", b"{}")):
            with failing(ask, sqlite3.OperationalError("disk I/O error")):
                assert ask.raw("POST", f"/models/{path}", body).status == 503
        assert ask("GET", "/models/value/timeline").body["asked"] == 0
        assert ask("GET", "/models/layout/timeline").body["asked"] == 0


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_timeline_goes_on_after_a_restart(
    tmp_path: Path, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as ask:
        for key in ("a", "b"):
            ask("POST", "/models/value/predict", {"features": {}, "key": key})
        ask("POST", "/models/value/observe", {"key": "b", "value": 1.0})
        if not is_kept:  # as when it is killed
            monkeypatch.setattr(Hub, "keep", lambda hub, served: None)
    with serving(tmp_path) as other:
        found = Caller(other.server, ask.token)("GET", "/models/value/timeline").body
    assert (found["asked"], found["answered"]) == (2, 1)
    assert [each[2] is None for each in found["recent"]] == [True, False]
    assert found["ages"]["counts"][0] == 1


@pytest.mark.parametrize(
    ("report", "quiet", "said"),
    [
        ({**REPORT, "rounds": 0}, 0.0, "Nothing was asked"),
        ({**REPORT, "observed": 0}, 0.0, "No answer has come yet"),
        (REPORT, 1e4, "at most 10 seconds: check that the job that sends labels is running"),
        ({**REPORT, "mode": "apprentice"}, 0.0, "It is an apprentice"),
        (REPORT, 0.0, None),
    ],
)
def test_one_sentence_says_why_nothing_changes(
    report: dict[str, int], quiet: float, said: str | None
) -> None:
    watch = Watch()
    heard(watch, [5.0] * 10)
    found = explain_stall(watch, report, WAITING, (watch.last_answered or 0.0) + quiet, 0)
    assert found is None if said is None else said in str(found)


def test_a_server_without_open_tickets_reports_no_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as ask:

        def reason_after(seconds: float, name: str = "value") -> Any:
            now = time()
            with monkeypatch.context() as patch:
                patch.setattr("belated.service.model_state.time", lambda: now + seconds)
                return ask("GET", f"/models/{name}/live").body["why"]

        for name, deadline in (("value", None), ("short", "PT1M")):
            settings = {**LINEAR, "deadline": deadline}
            ask("POST", "/models", {"name": name, "kind": "LinearModel", "settings": settings})
            for key in ("first", "second"):
                item = {"features": {"x": 1.0}, "key": key}
                assert ask("POST", f"/models/{name}/predict", item).status == 200
            ask("POST", f"/models/{name}/observe", {"key": "first", "value": 1.0})
        assert reason_after(1.0) is None
        assert "No answer has come for 3 minutes" in reason_after(180.0)
        ask("POST", "/models/value/observe", {"key": "second", "value": 1.0})
        assert reason_after(180.0) is None
        assert reason_after(180.0, "short") is None  # its deadline has passed


START = 1.7e9
CLOCKED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "LinearModel": ("predict", {"bits": 8}, {"features": {"a": 1.0}}),
    "Intervals": ("predict", {"bits": 8}, {"features": {"a": 1.0}}),
    "Chooser": ("choose", {"actions": ["a", "b"], "bits": 8, "silence": 0}, {}),
    "Knobs": ("predict", {"knobs": {"x": [0, 1]}}, {}),
}


@pytest.mark.parametrize("kind", CLOCKED)
def test_a_past_that_is_told_has_its_own_ages_and_closed_tickets(kind: str, tmp_path: Path) -> None:
    verb, settings, item = CLOCKED[kind]
    with serving(tmp_path) as ask:
        made = {"name": "past", "kind": kind, "settings": {**settings, "deadline": "P9D"}}
        assert ask("POST", "/models", made).status == 201
        for key in range(5):
            ask("POST", f"/models/past/{verb}", {**item, "key": f"{key}", "at": START})
        ask("POST", "/models/past/cancel", {"key": "0"})
        ask("POST", "/models/past/observe", {"key": "1", "value": 1, "at": START + 3e5})
        found = ask("GET", "/models/past/timeline").body
        assert found["ages"]["counts"][AGES.index(604800.0)] == 1
        assert [each[1:] for each in found["recent"]] == [
            [START, None, False],
            [START, START + 3e5, False],
            *[[START, None, True]] * 3,
        ]
        ask("POST", "/models/past/tick", {"at": START + 1e6})
        ask("POST", "/models/past/observe", {"key": "2", "value": 1, "at": START + 1e6})
        live = ask("GET", "/models/past/live").body
        assert [each[2:] for each in live["recent"]] == [
            [None, False],
            [START + 3e5, False],
            [START + 1e6, False],
            *[[None, False]] * 2,
        ]
        assert (live["late"], live["report"]["open"], live["why"]) == (1, 0, None)
        assert (live["clock"], found["clock"]) == (START + 1e6, START + 3e5)
        copied = {"settings": made["settings"], "to": "copy"}
        assert ask("POST", "/models/past/rebuild", copied).status == 200
        other = ask("GET", "/models/copy/live").body
        assert (other["late"], other["recent"]) == (1, live["recent"])
    with serving(tmp_path) as again:
        caller = Caller(again.server, ask.token)
        assert caller("GET", "/models/past/live").body["recent"] == live["recent"]


def test_the_demonstration_plays_flights_and_a_shop(tmp_path: Path) -> None:
    with serving(tmp_path) as ask, bl.Client(ask.server.url, str(ask.token)) as client:
        flights, shop = Flights(client), Shop(client, random.Random(1))
        for now in (6.0, 12.0, 24.0):
            flights.go_on(now)
            shop.go_on(now)
        seen = client.model("flights").report()
        assert seen["rounds"] > 20
        assert seen["observed"] > 0
        assert client.model("shop").report()["rounds"] > 50


# --- What a model is compared with ---------------------------------------------------------------


def test_what_a_model_is_compared_with_is_shown(tmp_path: Path) -> None:
    with serving(tmp_path) as ask:
        made = {"silence": 0, "loss": "logistic", "bits": 8}
        ask("POST", "/models", {"name": "silent", "kind": "LinearModel", "settings": made})
        assert ask("GET", "/models/silent/live").body["baseline"] is None
        ask("POST", "/models", {"name": "ranges", "kind": "Intervals"})
        ranges = ask("GET", "/models/ranges/live").body
        assert (ranges["baseline"], ranges["points"][-1][6]) == ("asked for", 0.9)
        ask("POST", "/models", {"name": "k", "kind": "Knobs", "settings": {"knobs": {"x": [0, 1]}}})
        assert ask("GET", "/models/k/live").body["baseline"] == "at the start"


def test_what_would_be_chosen_is_shown(tmp_path: Path) -> None:
    settings = {"actions": ["a", "b"], "baseline": "a", "bits": 8, "silence": 0}
    with serving(tmp_path) as ask:
        ask("POST", "/models", {"name": "c", "kind": "Chooser", "settings": settings})
        assert ask("GET", "/models/c/live").body["options"] is None
        for turn in range(10):
            body = {"context": {"x": float(turn)}, "actions": ["a", "b", "c"], "key": f"{turn}"}
            chosen = ask("POST", "/models/c/choose", body).body["action"]
            ask("POST", "/models/c/observe", {"key": f"{turn}", "value": float(chosen == "c")})
        peeked = {"context": {"x": 9.0}, "actions": ["a", "b", "c"]}
        expected = ask("POST", "/models/c/peek", peeked).body["options"]
        ask.server.hub.models["c"].watch.points.clear()  # so that a new one is due
        live = ask("GET", "/models/c/live").body
        assert live["options"] == expected
        report = live["report"]
        assert live["baseline"] == "the baseline, predicted"
        assert live["points"][-1][6] == report["mean_reward"] - report["gain"]
        ask("PUT", "/models/c/mode", {"mode": "apprentice"})
        ask.server.hub.models["c"].watch.points.clear()
        live = ask("GET", "/models/c/live").body
        assert live["baseline"] == "its own choices, predicted"
        assert live["points"][-1][6] == report["mean_reward"] + report["gain"]
        many = {
            "context": {f"f{i}": 1.0 for i in range(300)},
            "actions": [str(i) for i in range(99)],
            "baseline": "0",
        }
        assert ask("POST", "/models/c/choose", many).status == 200
        assert ask("GET", "/models/c/live").body["options"] is None  # it would take long
        ask("POST", "/models/c/choose", peeked)
        token = ask.token
    with serving(tmp_path) as ask:
        ask.token = token
        assert len(ask("GET", "/models/c/live").body["options"]) == 3


def test_late_answers_alone_are_told_also_where_nobody_watched() -> None:
    assert "All 493 answers came after" in str(
        explain_stall(Watch(), {**REPORT, "observed": 0}, [], 1e6, 493)
    )


def test_a_choice_that_was_not_shown_is_open(tmp_path: Path) -> None:
    with serving(tmp_path) as ask:
        for number in range(2):
            ask("POST", "/models/layout/choose", {"key": f"{number}", "shown": False})
        ask("POST", "/models/layout/cancel", {"key": "0"})
        recent = ask("GET", "/models/layout/timeline").body["recent"]
        assert [is_open for *_, is_open in recent] == [False, True]


def test_curves_are_thinned_and_kept() -> None:
    watch = Watch()
    for second in range(2000):
        watch.sample(second, 0.5, second, float(second))
    assert 100 < len(watch.points) <= 240
    assert watch.points[0][0] == 0.0
    again = Watch()
    again.restore(watch.kept())
    assert again.about(0.0) == watch.about(0.0)


def test_times_of_the_newest_tickets_are_known() -> None:
    watch = Watch()
    for ticket in range(3 * REMEMBERED):
        watch.ask(ticket, float(ticket))
    assert REMEMBERED <= len(watch._asked) <= 2 * REMEMBERED
    last = 3 * REMEMBERED - 1
    watch.hear([OBSERVE, last, 1.0], True, last + 5.0)
    watch.hear([OBSERVE, 0, 1.0], True, last + 5.0)  # nobody knows how old it is
    assert (sum(watch.ages), watch.answered) == (1, 2)
