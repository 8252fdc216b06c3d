"""Settings over HTTP: what is shown of a model is what makes it, in one shape for all kinds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import math

import belated as bl
from belated.errors import SpecError
from belated.service import Limits, Server, Settings
from belated.service.model_factory import KINDS, described, made
from belated.service.settings import Configuration
from service_calls import Caller, serving

SPEC = bl.FirstOrder(bl.PFTRL(bl.Ball(2), bl.rates.Tight(1.0)))
LEAST: dict[str, dict[str, Any]] = {
    "LinearModel": {},
    "Intervals": {},
    "Chooser": {"actions": ["a", "b"]},
    "Knobs": {"knobs": {"x": [0, 1]}},
    "Learner": {"spec": json.loads(SPEC.to_json())["spec"]},
}
FULL: dict[str, dict[str, Any]] = {
    "LinearModel": {"loss": "logistic", "interactions": [["a", "b"]], "silence": 0, "bits": 9},
    "Intervals": {"coverage": 0.8, "bits": 9},
    "Chooser": {
        "actions": {"a": {"x": 1}, "b": None},
        "baseline": "a",
        "explore": {"type": "explore.Uniform", "share": 0.1},
        "silence": 0,
        "bits": 9,
    },
    "Knobs": {
        "knobs": {"p": [1, 9], "r": {"type": "Log", "low": 1, "high": 9}},
        "context": {"hour": [0, 24], "town": ["PT", "NO"]},
        "silence": 3,
    },
    "Learner": {**LEAST["Learner"], "strict": True},
}
TIMED = [kind for kind in KINDS if kind != "Learner"]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Return a client of a server that all tests of this file share."""
    with serving(tmp_path_factory.mktemp("settings")) as caller:
        yield caller


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_shown_makes_the_same_model(ask: Caller, kind: str) -> None:
    deadline = {} if kind == "Learner" else {"deadline": "PT90S"}
    about = {"name": f"a-{kind}", "kind": kind, "settings": {**FULL[kind], **deadline}}
    first = ask("POST", "/models", about)
    assert first.status == 201
    again = ask("POST", "/models", {**about, "settings": first.body["settings"]})
    assert (again.status, again.body) == (200, first.body)
    assert ask("GET", f"/models/a-{kind}").body == first.body
    other = {"settings": first.body["settings"], "to": f"b-{kind}"}
    built = ask("POST", f"/models/a-{kind}/rebuild", other)
    assert (built.status, built.body["settings"]) == (200, first.body["settings"])


@pytest.mark.parametrize("kind", TIMED)
def test_a_deadline_has_one_shape_for_all_kinds(kind: str) -> None:
    def shown(deadline: Any) -> Any:
        model = made(kind, {**LEAST[kind], "deadline": deadline}, 7, Limits())
        return described(kind, model)["deadline"]

    for given in ("PT90S", "90s", {"seconds": 90}, {"seconds": 90.0}):
        assert shown(given) == {"seconds": 90.0}
    assert shown({"predictions": 90}) == {"predictions": 90}
    for exact in ({"seconds": 999999999.9999999}, {"seconds": 1e-9}, {"seconds": 5e-324}):
        assert shown(exact) == exact  # to the last digit, though a timedelta has whole microseconds
    for short in ("1e-9s", "1ns", "PT0.000000001S"):
        assert shown(short) == {"seconds": 1e-9}
    assert shown(None) is None
    assert shown({"predictions": 1.5}) == {"predictions": 1.5}  # as Python takes it
    assert shown(90) == ({"predictions": 90} if kind == "Knobs" else {"seconds": 90.0})


@pytest.mark.parametrize(
    "deadline",
    [
        {},
        {"seconds": 1, "predictions": 1},
        {"seconds": "90s"},
        {"seconds": -1},
        {"predictions": "1"},
        {"predictions": -1},
        {"predictions": -1.5},
        {"rounds": 1},
        *([], True, "", "P", "30", "P1Y", "1 parsec", "-3d", "1e99d"),
    ],
)
@pytest.mark.parametrize("kind", TIMED)
def test_what_is_no_deadline_is_refused(ask: Caller, kind: str, deadline: Any) -> None:
    about = {"name": "x", "kind": kind, "settings": {**LEAST[kind], "deadline": deadline}}
    refused = ask("POST", "/models", about)
    assert (refused.status, "deadline" in refused.body["error"]["message"]) == (422, True)


@pytest.mark.parametrize("kind", ["LinearModel", "Chooser"])
def test_the_deadline_of_a_ticket_has_the_unit_of_the_model(ask: Caller, kind: str) -> None:
    verb, item = ("choose", {}) if kind == "Chooser" else ("predict", {"features": {"a": 1.0}})
    in_time: tuple[Any, ...] = (5, "PT5S", {"seconds": 5})
    for unit, good, bad in (
        ("predictions", ({"predictions": 3},), (*in_time, {"predictions": 1.5})),
        ("seconds", in_time, ({"predictions": 3},)),
        (None, (), (*in_time, {"predictions": 3})),
    ):
        settings = {**FULL[kind], **({} if unit is None else {"deadline": {unit: 100}})}
        name = f"{kind}-in-{unit}"
        assert (
            ask("POST", "/models", {"name": name, "kind": kind, "settings": settings}).status < 300
        )
        said = [ask("POST", f"/models/{name}/{verb}", {**item, "deadline": it}) for it in good]
        assert [each.status for each in said] == [200] * len(good)
        for deadline in bad:
            refused = ask("POST", f"/models/{name}/{verb}", {**item, "deadline": deadline})
            assert (refused.status, "deadline" in refused.body["error"]["message"]) == (422, True)
            assert "math" not in refused.body["error"]["message"]
        assert ask("GET", f"/models/{name}").body["rounds"] == len(good)


# --- Of a server ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limits",
    [
        *({"models": 0}, {"open": -1}, {"body": 1.5}, {"bits": True}),
        *({"rate": -1.0}, {"rate": float("nan")}, {"patience": 0.0}, {"patience": float("inf")}),
    ],
)
def test_limits_under_which_nothing_goes_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=f"Limits: {next(iter(limits))} must be"):
        Limits(**limits)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_is_none_is_refused_in_words(port: int, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="a port is from 0 to 65535"):
        Server(Settings(store=tmp_path / "test.db", port=port))


def test_the_head_of_an_answer_is_to_be_had_alone(ask: Caller) -> None:
    """As those ask who look whether a server is up."""
    for path in ("/health", "/models/value", "/models/none"):
        whole, head = ask("GET", path), ask("HEAD", path)
        assert (head.status, head.body) == (whole.status, b"")
        assert head.headers == whole.headers
    refused = ask("HEAD", "/rank")
    assert (refused.status, refused.headers["allow"]) == (405, "POST")
    assert ask("DELETE", "/models").headers["allow"] == "GET, HEAD, POST"


def test_the_log_says_why_something_was_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path, log="json") as ask:
        ask("POST", "/models/value/predict", {"features": {}})
        ask("POST", "/models/value/predict", {})
        ask("GET", "/models/none")
    said = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    codes = [(line["status"], line.get("code")) for line in said if line["what"] == "request"]
    assert codes[-3:] == [(200, None), (422, "bad_request"), (404, "unknown_model")]


# --- Deadlines in predictions, and times -------------------------------------------------------

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


def make(ask: Caller, name: str, kind: str, deadline: Any) -> str:
    """Make a model, and return its path."""
    settings = {**SETTINGS[kind], "deadline": deadline}
    made = ask("POST", "/models", {"name": name, "kind": kind, "settings": settings})
    assert made.status == 201, made
    return f"/models/{name}"


def verb_of(kind: str) -> str:
    """Return what asks for a ticket."""
    return "choose" if kind == "Chooser" else "predict"


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


def test_choices_that_are_counted_are_not_evaluated_by_time(ask: Caller) -> None:
    path = make(ask, "counted-choices", "Chooser", {"predictions": 2})
    ask("POST", f"{path}/choose", {"key": "k"})
    refused = ask("GET", f"{path}/evaluate")
    assert (refused.status, refused.body["error"]["code"]) == (409, "cannot_evaluate")
    assert "in time" in refused.body["error"]["message"]


def test_a_deadline_without_end_is_shown_and_taken_back(tmp_path: Path) -> None:
    with bl.open(tmp_path / "test.db") as store:
        store.model("some", bl.LinearModel("squared", bits=8, deadline=math.inf))
    with serving(tmp_path) as ask:
        about = ask("GET", "/models/some").body
        assert about["settings"]["deadline"] == {"predictions": None}
        again = {"name": "some", "kind": "LinearModel", "settings": about["settings"]}
        assert ask("POST", "/models", again).status == 200
        assert ask("POST", "/models/some/rebuild", {"settings": about["settings"]}).status == 200
        item = {"features": {"a": 1.0}, "deadline": {"predictions": None}}
        refused = ask("POST", "/models/some/predict", item)  # which is what it has anyway
        assert (refused.status, refused.body["error"]["code"]) == (422, "bad_request")
        item["deadline"] = {"predictions": 3}
        assert ask("POST", "/models/some/predict", item).status == 200


@pytest.mark.parametrize(
    "url", ["postgresql://u@h/d?password=HUNTER2", "postgresql://u:HUN@TER2@h/d"]
)
def test_passwords_in_urls_are_refused_in_flags_and_hidden_in_texts(url: str) -> None:
    with pytest.raises(SpecError, match="password on the command line"):
        Configuration({"store": url}, {})
    assert "TER2" not in str(Configuration({}, {"BELATED_STORE": url}))
    with pytest.raises(SpecError) as refused:
        Configuration({}, {"BELATED_ADVERTISE": url})
    assert "TER2" not in str(refused.value)
