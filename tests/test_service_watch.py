"""What the dashboard is told: ages, curves, the sentence, and the demonstration."""

from __future__ import annotations

import json
import random
from pathlib import Path
from time import time
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import belated as bl
from belated.service.asked import REMEMBERED, Asked, Moment
from belated.service.commits import After, Commits
from belated.service.constant import Constant
from belated.service.demo import Flights, Shop
from belated.service.hub import Hub
from belated.service.stall_reason import explain_stall
from belated.service.watch import AGES, Watch
from belated.store.events import OBSERVE
from service_calls import LINEAR, Caller, serving

REPORT = {"rounds": 10, "open": 3, "observed": 7}
WAITING = [1e6]
"""When tickets were asked for that still wait."""


def heard(watch: Watch, ages: list[float], now: float = 1e6) -> None:
    """Ask, and answer after so long."""
    for ticket, age in enumerate(ages):
        watch.ask(ticket, now)
        watch.hear([OBSERVE, ticket, 1.0], True, now + age)


def test_answers_are_counted_by_age() -> None:
    watch = Watch()
    heard(watch, [0.5, 5.0, 1.0, 86400.0, 1e9])
    assert watch.ages == [2, 1, 0, 0, 0, 0, 1, 0, 0, 1]
    watch.hear([OBSERVE, 99, 1.0], True, 2e6)  # asked before anybody watched
    assert (sum(watch.ages), watch.answered) == (5, 6)


def test_times_of_old_tickets_are_dropped_and_new_ones_known() -> None:
    watch = Watch()
    watch.remember(100, [Moment(when, when) for when in (1.0, 2.0, 3.0)], [])
    watch.hear([OBSERVE, 101, 1.0], True, 4.0)
    watch.hear([OBSERVE, 5, 1.0], True, 4.0)
    assert watch.ages[1] == 1
    assert watch.recent() == [[100, 1.0, None], [101, 2.0, 4.0], [102, 3.0, None]]


def test_times_are_those_of_their_tickets_where_some_were_lost_or_came_later() -> None:
    watch = Watch()
    for ticket, when in ((5, 10.0), (9, 50.0), (7, 30.0)):  # 6 and 8 were not committed
        watch.ask(ticket, when)
    for ticket in (7, 9):
        watch.hear([OBSERVE, ticket, 1.0], True, 50.5)
    assert watch.ages[:4] == [1, 0, 1, 0]
    assert watch.recent() == [[5, 10.0, None], [7, 30.0, 50.5], [9, 50.0, 50.5]]
    watch.ask(10**9, 60.0)  # far ahead: nothing is filled up to there
    watch.hear([OBSERVE, 10**9, 1.0], True, 60.5)
    assert watch.ages[0] == 2


def test_the_newest_tickets_are_drawn_however_many_came() -> None:
    watch = Watch()
    for ticket in range(10_000):
        watch.ask(ticket, float(ticket))
    drawn = [ticket for ticket, *_ in watch.recent()]
    assert drawn == list(range(9_100, 10_000, 20))
    watch.hear([OBSERVE, 9_100, 1.0], True, 10_000.5)
    assert watch.recent()[0] == [9_100, 9_100.0, 10_000.5]


def test_what_is_not_committed_is_not_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(commits: Commits, pending: Any, after: After) -> None:
        after(RuntimeError("lost"))

    with serving(tmp_path) as ask:
        monkeypatch.setattr(Commits, "then", lost)
        assert ask("POST", "/models/value/predict", {"features": {}}).status == 503
        assert ask("POST", "/models/layout/choose", {}).status == 503
        assert ask("POST", "/models/layout/choose", {}, Connection="close").status == 503
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


def test_curves_are_thinned_and_kept() -> None:
    watch = Watch()
    for second in range(2000):
        watch.sample(second, 0.5, second, float(second))
    assert 100 < len(watch.points) <= 240
    assert watch.points[0][0] == 0.0
    again = Watch()
    again.restore(watch.kept())
    assert again.about(0.0) == watch.about(0.0)


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
    found = explain_stall(watch, report, WAITING, watch.last_answered + quiet, 0)
    assert found is None if said is None else said in str(found)


def test_a_pause_is_reported_only_while_a_ticket_has_waited_for_long() -> None:
    watch = Watch()
    heard(watch, [5.0] * 10)
    now = watch.last_answered + 1e4

    def reason(waiting: list[float]) -> str | None:
        return explain_stall(watch, REPORT, waiting, now, 0)

    assert reason([]) is None
    assert reason([now - 20.0]) is None  # asked just now
    assert "for 2 hours" in str(reason([now - 7200.0, now - 20.0]))
    assert "for 3 hours" in str(reason([1e6]))  # since the last answer


def test_a_server_without_open_tickets_reports_no_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as ask:

        def reason_after(seconds: float, name: str = "value") -> Any:
            now = time()
            with monkeypatch.context() as patch:
                patch.setattr("belated.service.served.time", lambda: now + seconds)
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


def test_late_answers_alone_are_told_also_where_nobody_watched() -> None:
    assert "All 493 answers came after" in str(
        explain_stall(Watch(), {**REPORT, "observed": 0}, [], 1e6, 493)
    )


def test_ages_are_by_the_times_that_events_were_given() -> None:
    watch, now = Watch(), 1.8e9
    watch.ask(0, now, 1.7e9)
    assert watch.hear([OBSERVE, 0, 1.0], True, now + 1.0, 1.7e9 + 5e5) == now  # as it was heard
    assert watch.ages[AGES.index(604800.0)] == sum(watch.ages) == 1
    assert watch.recent() == [[0, 1.7e9, 1.7e9 + 5e5]]
    assert explain_stall(watch, REPORT, WAITING, now + 1e9, 0) is None  # the past has no pauses
    assert watch.about()["clock"] == 1.7e9 + 5e5
    watch.ask(1, now + 9.0)
    assert watch.about()["clock"] is None
    watch.hear([OBSERVE, 1, 1.0], True, now + 9.5)
    assert "check that the job that sends labels is running" in str(
        explain_stall(watch, REPORT, WAITING, now + 1e9, 0)
    )


def test_times_that_differ_are_known_as_long_as_the_others() -> None:
    asked = Asked(5, [Moment(1.0, 1.0)])
    asked.place(9, 4.0, 2.0)  # those between were lost
    asked.place(7, 5.0, 5.0)
    asked.place(10, 6.0, 6.0)
    assert [asked.of(ticket) for ticket in (4, 5, 6, 7, 9, 10, 11)] == [
        None,
        (1.0, 1.0),
        None,
        (5.0, 5.0),
        (4.0, 2.0),
        (6.0, 6.0),
        None,
    ]
    last = 2 * REMEMBERED + 10
    for ticket in range(11, last):
        asked.place(ticket, ticket, ticket / 2)
    assert asked.of(10) is None
    assert asked.of(last - 1) == (last - 1, (last - 1) / 2)


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


def test_a_choice_that_was_not_shown_is_open(tmp_path: Path) -> None:
    with serving(tmp_path) as ask:
        for number in range(2):
            ask("POST", "/models/layout/choose", {"key": f"{number}", "shown": False})
        ask("POST", "/models/layout/cancel", {"key": "0"})
        recent = ask("GET", "/models/layout/timeline").body["recent"]
        assert [is_open for *_, is_open in recent] == [False, True]


def test_the_limits_of_ages_go_up() -> None:
    assert list(AGES) == sorted(AGES)


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


@pytest.mark.parametrize(
    ("loss", "labels"),
    [
        ("squared", [1.0, 5.0, 3.0, 3.0]),
        ("absolute", [1.0, 1.0, 9.0, 1.0, 1.0]),
        ("quantile", [0.0, 0.0, 0.0, 8.0]),
        ("huber", [2.0, 2.0, 2.0, 6.0]),
        ("logistic", [1.0, 0.0, 0.0, 0.0]),
        ("hinge", [1.0, 1.0, -1.0, 1.0]),
        ("poisson", [2.0, 2.0, 1.0, 3.0]),
    ],
)
def test_a_constant_does_nearly_as_well_as_the_best_one(loss: Any, labels: list[float]) -> None:
    model = bl.LinearModel(loss, bits=4)
    constant = Constant(model.settings, model.losses)
    assert constant.mean_loss() is None
    for turn in range(300):
        constant.hear(labels[turn % len(labels)], 1.0, float(turn), turn + 0.5)
        if turn % 40 == 0:
            constant.mean_loss()
    found = constant.mean_loss()
    assert found is not None
    grid = [value / 100.0 for value in range(-300, 1000)]
    if loss in ("logistic", "poisson"):
        grid = [value for value in grid if 0.0 < value < (1.0 if loss == "logistic" else 99.0)]
    rivals = [float(model.losses([value] * len(labels), labels).mean()) for value in grid]
    assert min(rivals) - 0.01 <= found <= min(rivals) + 0.1 * abs(min(rivals)) + 0.05
    again = Constant(model.settings, model.losses)
    again.restore(json.loads(json.dumps(constant.kept())))
    assert again.mean_loss() == found
    for each in (constant, again):
        each.hear(labels[0], 2.0, 1e6, 1e6)
    assert constant.mean_loss() == again.mean_loss()


def test_a_constant_knows_no_more_than_the_model_when_it_was_asked() -> None:
    model = bl.LinearModel("squared", bits=4)
    constant = Constant(model.settings, model.losses)
    for turn in range(100):  # all were asked before the first label came
        constant.hear(4.0, 1.0, 0.0, 1.0 + turn)
    assert constant.mean_loss() == 8.0
    for turn in range(100):
        constant.hear(4.0, 1.0, 500.0, 500.0 + turn)
    assert constant.mean_loss() == 4.0
    for turn in range(20_000):
        constant.hear(4.0, 1.0, 1e6, 1e6 + turn)
    assert len(constant._new) == 1000  # so that a look never takes long
    constant._recent.clear()  # as if all came one by one
    for turn in range(9000):
        constant.hear(4.0, 1.0, 1e6, 1e6 + turn)
        constant.mean_loss()
    assert len(constant._times) == len(constant._values) <= 8000


def test_what_a_model_is_compared_with_is_shown(tmp_path: Path) -> None:
    with serving(tmp_path) as ask:
        for turn in range(20):
            ask("POST", "/models/value/predict", {"features": {"a": 1.0}, "key": f"{turn}"})
            ask("POST", "/models/value/observe", {"key": f"{turn}", "value": 3.0})
        live = ask("GET", "/models/value/live").body
        assert (live["baseline"], live["options"]) == ("one number for all", None)
        assert live["points"][-1][6] > 0.0
        made = {"silence": 0, "loss": "logistic", "bits": 8}
        ask("POST", "/models", {"name": "silent", "kind": "LinearModel", "settings": made})
        assert ask("GET", "/models/silent/live").body["baseline"] is None
        ask("POST", "/models", {"name": "ranges", "kind": "Intervals"})
        ranges = ask("GET", "/models/ranges/live").body
        assert (ranges["baseline"], ranges["points"][-1][6]) == ("asked for", 0.9)
        ask("POST", "/models", {"name": "k", "kind": "Knobs", "settings": {"knobs": {"x": [0, 1]}}})
        assert ask("GET", "/models/k/live").body["baseline"] == "at the start"
        token = ask.token
        ask.server.hub.keep(ask.server.hub.models["value"])
    with serving(tmp_path) as ask:
        ask.token = token
        again = ask("GET", "/models/value/live").body
        assert again["points"][-1][6] == live["points"][-1][6]


def test_a_model_that_has_learned_elsewhere_is_compared_with_nothing(tmp_path: Path) -> None:
    with bl.open(tmp_path / "test.db") as store:
        model = store.model("old", bl.LinearModel("squared", bits=4))
        for key in range(3):
            model.predict({"a": 1.0}, key=f"{key}")
            model.observe(f"{key}", 100.0)
    with serving(tmp_path) as ask:
        ask("POST", "/models/old/predict", {"features": {"a": 1.0}, "key": "3"})
        ask("POST", "/models/old/observe", {"key": "3", "value": 100.0})
        live = ask("GET", "/models/old/live").body
        assert (live["baseline"], live["points"][-1][6]) == (None, None)


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
