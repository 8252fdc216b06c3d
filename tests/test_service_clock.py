"""A deadline in predictions is one in predictions over HTTP, whatever times come and go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import belated as bl
from service_calls import Caller, serving

DAY = 86400.0
START = 1.7e9
SETTINGS: dict[str, dict[str, Any]] = {
    "LinearModel": {"bits": 8},
    "Intervals": {"bits": 8},
    "Chooser": {"actions": ["a", "b"], "silence": 0, "bits": 8},
    "Knobs": {"knobs": {"x": [0, 1]}},
}
ITEM: dict[str, dict[str, Any]] = {
    "LinearModel": {"features": {"a": 1.0}},
    "Intervals": {"features": {"a": 1.0}},
    "Chooser": {"context": {"a": 1.0}},
    "Knobs": {},
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Return a client of a server that all tests of this file share."""
    with serving(tmp_path_factory.mktemp("clock")) as caller:
        yield caller


def make(ask: Caller, name: str, kind: str, deadline: Any) -> str:
    """Make a model, and return its path."""
    settings = {**SETTINGS[kind], "deadline": deadline}
    made = ask("POST", "/models", {"name": name, "kind": kind, "settings": settings})
    assert made.status == 201, made
    return f"/models/{name}"


def verb_of(kind: str) -> str:
    """Return what asks for a ticket."""
    return "choose" if kind == "Chooser" else "predict"


def late_in(model: Any) -> Any:
    """Return how many answers came too late; the reports of intervals do not say so."""
    report = (model.model if isinstance(model, bl.Intervals) else model).report().to_dict()
    return (report.get("model") or report)["late"]


@pytest.mark.parametrize("kind", SETTINGS)
def test_times_are_refused_where_predictions_are_counted(ask: Caller, kind: str) -> None:
    path = make(ask, f"counted-{kind}", kind, {"predictions": 2})
    verb, item = verb_of(kind), ITEM[kind]
    for body in ({**item, "at": START}, {"items": [{**item, "at": START}]}):
        refused = ask("POST", f"{path}/{verb}", body)
        error = (refused.body.get("items") or [refused.body])[0]["error"]
        assert (error["code"], "in predictions" in error["message"]) == ("bad_time", True)
    for body in ({}, {"at": START}):  # before the first prediction too
        assert ask("POST", f"{path}/tick", body).body["error"]["code"] == "bad_time"
    for number in range(4):
        assert ask("POST", f"{path}/{verb}", {**item, "key": f"k{number}"}).status == 200
    late = ask("POST", f"{path}/observe", {"key": "k1", "value": 1, "at": START})
    assert (late.status, late.body["error"]["code"]) == (422, "bad_time")
    assert ask("GET", path).body["open"] == 3
    said = [
        ask("POST", f"{path}/observe", {"key": f"k{number}", "value": 1}).body["outcome"]
        for number in range(4)
    ]
    assert said == ["late", "applied", "applied", "applied"]


@pytest.mark.parametrize("kind", SETTINGS)
@pytest.mark.parametrize("is_dated", [True, False])
def test_a_rebuild_to_predictions_leaves_times_out(ask: Caller, kind: str, is_dated: bool) -> None:
    name = f"timed-{kind}-{is_dated}"
    path = make(ask, name, kind, "P300D")
    for number in range(10):
        at = {"at": START + number * DAY} if is_dated else {}
        ask("POST", f"{path}/{verb_of(kind)}", {**ITEM[kind], "key": f"k{number}", **at})
    at = {"at": START + 20 * DAY} if is_dated else {}
    ask("POST", f"{path}/tick", at)
    for number in range(10):
        said = ask("POST", f"{path}/observe", {"key": f"k{number}", "value": 1, **at})
        assert said.body["outcome"] == "applied"
    settings = {**SETTINGS[kind], "deadline": {"predictions": 5}}
    built = ask("POST", f"{path}/rebuild", {"settings": settings, "to": f"{name}-5"})
    assert built.body["settings"]["deadline"] == {"predictions": 5}
    assert late_in(ask.server.hub.models[f"{name}-5"].model) == 4
    assert ask("POST", f"{path}-5/{verb_of(kind)}", {**ITEM[kind], "at": START}).status == 422
    assert ask("POST", f"{path}-5/{verb_of(kind)}", {**ITEM[kind], "key": "new"}).status == 200


def test_a_rebuild_to_predictions_is_refused_where_they_would_be_seconds(ask: Caller) -> None:
    path = make(ask, "dated", "LinearModel", None)
    for number in range(3):
        item = {"features": {"a": 1.0}, "key": f"k{number}", "at": START + number * DAY}
        assert ask("POST", f"{path}/predict", item).status == 200
    for to in ("dated", "dated-2"):
        settings = {"bits": 8, "deadline": {"predictions": 5}}
        refused = ask("POST", f"{path}/rebuild", {"settings": settings, "to": to})
        assert (refused.status, refused.body["error"]["code"]) == (409, "has_times")
    assert ask("GET", path).body["settings"]["deadline"] is None
    assert ask("GET", "/models/dated-2").status == 404
    settings = {"bits": 8, "deadline": "P2D"}
    assert ask("POST", f"{path}/rebuild", {"settings": settings}).body["open"] == 3


@pytest.mark.parametrize("kind", ["LinearModel", "Chooser", "Knobs", "Intervals"])
def test_times_of_python_go_on_in_their_unit(tmp_path: Path, kind: str) -> None:
    specs: dict[str, Any] = {
        "LinearModel": lambda: bl.LinearModel("squared", bits=8, deadline=7),
        "Intervals": lambda: bl.Intervals(bl.LinearModel("squared", bits=8, deadline=7)),
        "Chooser": lambda: bl.Chooser(["a", "b"], silence=0, bits=8, deadline=7),
        "Knobs": lambda: bl.Knobs({"x": (0, 1)}, deadline=7),
    }
    with bl.open(tmp_path / "test.db") as store:
        model = store.model("days", specs[kind]())
        verb = model.choose if kind == "Chooser" else model.predict
        given = ({"a": 1.0},) if kind != "Knobs" else ()
        verb(*given, key="first", at=1.0)
    with serving(tmp_path) as ask:
        about = ask("GET", "/models/days").body
        assert about["settings"]["deadline"] == {"units": 7}
        again = {"name": "days", "kind": kind, "settings": about["settings"]}
        if kind != "Chooser":  # whose seed nobody is shown
            assert ask("POST", "/models", again).status == (409 if kind == "Knobs" else 200)
        refused = ask("POST", "/models", {**again, "name": "new"})
        assert (refused.status, "predictions" in refused.body["error"]["message"]) == (422, True)
        rebuilt = ask("POST", "/models/days/rebuild", {"settings": about["settings"], "to": "more"})
        assert rebuilt.body["settings"]["deadline"] == {"units": 7}
        for deadline, code in (({"predictions": 7}, "has_times"), ("PT7S", None)):
            settings = {**about["settings"], "deadline": deadline}
            body = {"settings": settings, "to": f"other-{code}"}
            error = ask("POST", "/models/days/rebuild", body).body.get("error", {"code": None})
            assert error["code"] == code
        item = {**ITEM[kind], "at": 2.0}
        assert ask("POST", f"/models/days/{verb_of(kind)}", item).status == 200
        if kind in ("LinearModel", "Chooser"):
            for span, status in (({"units": 1.5}, 200), ({"predictions": 3}, 422), (5, 422)):
                own = {**item, "deadline": span}
                assert ask("POST", f"/models/days/{verb_of(kind)}", own).status == status
        assert ask("POST", "/models/days/tick", {"at": 8.5}).status == 200
        late = ask("POST", "/models/days/observe", {"key": "first", "value": 1})
        assert late.body["outcome"] == "late"


@pytest.mark.parametrize("kind", ["LinearModel", "Chooser"])
def test_a_second_late_instalment_is_told_what_became_of_the_first(ask: Caller, kind: str) -> None:
    settings = {**SETTINGS[kind], "silence": 0, "deadline": "P30D"}
    name = f"instalments-{kind}"
    ask("POST", "/models", {"name": name, "kind": kind, "settings": settings})
    path, key = f"/models/{name}", {"key": "order"}
    ask("POST", f"{path}/{verb_of(kind)}", {**ITEM[kind], **key, "at": START})
    said = [
        ask("POST", f"{path}/add", {**key, "value": 20, "at": START + day * DAY}).body
        for day in (20, 31, 32)
    ]
    assert [each["outcome"] for each in said] == ["applied", "late", "duplicate"]
    assert "its deadline has passed and a late answer was dropped" in said[2]["error"]["message"]
    ask("POST", f"{path}/observe", {**key, "value": 20, "at": START + 33 * DAY})
    report = ask("GET", f"{path}/report").body
    assert (report.get("model") or report)["late"] == 1


def test_choices_that_are_counted_are_not_evaluated_by_time(ask: Caller) -> None:
    path = make(ask, "counted-choices", "Chooser", {"predictions": 2})
    ask("POST", f"{path}/choose", {"key": "k"})
    refused = ask("GET", f"{path}/evaluate")
    assert (refused.status, refused.body["error"]["code"]) == (409, "cannot_evaluate")
    assert "in time" in refused.body["error"]["message"]


def test_ranks_are_counted_in_predictions(ask: Caller) -> None:
    make(ask, "rank", "Chooser", {"predictions": 2})
    for number in range(4):
        actions = [{"id": "a"}, {"id": "b"}]
        body = {"contextFeatures": [], "actions": actions, "eventId": f"e{number}"}
        assert ask("POST", "/rank", body).status == 201
    for number, outcome in ((0, "late"), (1, "applied")):
        said = ask("POST", f"/events/e{number}/reward", {"value": 1.0})
        assert said.headers["belated-outcome"] == outcome
