"""Settings over HTTP: what is shown of a model is what makes it, in one shape for all kinds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import belated as bl
from belated.errors import SpecError
from belated.service import Limits, Server, Settings
from belated.service.specs import KINDS, described, made
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
        [],
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


def test_a_deadline_with_a_fraction_is_shown_and_taken_back(tmp_path: Path) -> None:
    with bl.open(tmp_path / "test.db") as store:
        store.model("half", bl.LinearModel("squared", bits=8, deadline=1.5))
    with serving(tmp_path) as ask:
        about = ask("GET", "/models/half").body
        assert about["settings"]["deadline"] == {"predictions": 1.5}
        made = {"name": "half", "kind": "LinearModel", "settings": about["settings"]}
        again = ask("POST", "/models", made)
        assert (again.status, again.body) == (200, about)
        rebuilt = ask("POST", "/models/half/rebuild", {"settings": about["settings"]})
        assert (rebuilt.status, rebuilt.body) == (200, about)


def test_a_ticket_waits_for_so_many_predictions(ask: Caller) -> None:
    settings = {"bits": 8, "deadline": {"predictions": 100}}
    ask("POST", "/models", {"name": "few", "kind": "LinearModel", "settings": settings})
    path, row = "/models/few", {"features": {"a": 1.0}}
    ask("POST", f"{path}/predict", {**row, "key": "k", "deadline": {"predictions": 1}})
    ask("POST", f"{path}/predict", {"items": [row] * 3})
    for outcome in ("late", "duplicate"):  # the answer that was dropped was the one it gets
        late = ask("POST", f"{path}/observe", {"key": "k", "value": 1.0})
        assert late.body["outcome"] == outcome


def settings_of(model: Any) -> Any:
    """Return the settings that have the deadline."""
    return (model.model if isinstance(model, bl.Chooser) else model).settings


SHORT: tuple[Any, ...] = (1e-9, "1e-9s", np.timedelta64(1, "ns"), {"seconds": 1e-9})


@pytest.mark.parametrize("deadline", SHORT, ids=str)
@pytest.mark.parametrize("kind", ["LinearModel", "Chooser", "Knobs"])
def test_a_short_deadline_is_kept_exactly_everywhere(
    tmp_path: Path, kind: str, deadline: Any
) -> None:
    given = dict(LEAST[kind])
    in_python: Any = "1e-9s" if isinstance(deadline, dict) else deadline
    make: Any = getattr(bl, kind)
    if kind == "Knobs":
        given["knobs"] = {name: tuple(each) for name, each in given["knobs"].items()}
    model = make(**{**given, "deadline": in_python})
    with bl.open(tmp_path / "test.db") as store:
        store.model("short", model)
    with serving(tmp_path) as ask, bl.Client(ask.server.url, ask.token or "") as client:
        about = client.model("short").about()["settings"]  # which has it opened
        stored = ask.server.hub.models["short"].model
        unit = "predictions" if deadline == 1e-9 else "seconds"
        for each in (model, stored, type(model).restore(model.snapshot())):
            assert settings_of(each).deadline == 1e-9
        assert about["deadline"] == {unit: 1e-9}
        told = deadline if unit == "seconds" else {"predictions": 1e-9}
        made = client.create("other", kind, **{**LEAST[kind], "deadline": told})
        assert made.about()["settings"]["deadline"] == {unit: 1e-9}
        assert ask("POST", "/models/short/rebuild", {"settings": about}).status == 200
        assert client.model("short").about()["settings"] == about


def test_a_short_deadline_of_one_ticket_is_kept_exactly(ask: Caller) -> None:
    with bl.Client(ask.server.url, ask.token or "") as client:
        model = client.create("hours", "LinearModel", deadline="1h", bits=8)
        for number, short in enumerate(("1e-9s", 1e-9, np.timedelta64(1, "ns"), {"seconds": 1e-9})):
            model.predict({"a": 1.0}, key=f"{number}", deadline=short)  # type: ignore[call-overload]  # NumPy's
        _, tail = ask.server.store.model("hours").tail(10)
        assert [event[4] for event, _ in tail] == [1e-9] * 4


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


def test_a_model_shows_its_mode(ask: Caller) -> None:
    shown = ask("GET", "/models/layout").body
    assert (shown["mode"], shown["rewards"]) == ("learn", "earliest")
    ask("POST", "/models", {"name": "shop", "kind": "Chooser", "settings": FULL["Chooser"]})
    assert ask("PUT", "/models/shop/rewards", {"rewards": "sum"}).status == 200
    assert ask("GET", "/models/shop").body["rewards"] == "sum"
    ask("POST", "/models", {"name": "knobs", "kind": "Knobs", "settings": LEAST["Knobs"]})
    assert ask("POST", "/models/knobs/pause").status == 200
    assert ask("GET", "/models/knobs").body["mode"] == "paused"


# --- Of a server ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limits",
    [
        *({"models": 0}, {"open": -1}, {"batch": 1.5}, {"text": True}),
        *({"rate": -1.0}, {"rate": float("nan")}, {"patience": 0.0}, {"patience": float("inf")}),
    ],
)
def test_limits_under_which_nothing_goes_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=f"Limits: {next(iter(limits))} must be"):
        Limits(**limits)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_is_none_is_refused_in_words(port: int, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="a port is from 0 to 65535"):
        Server(Settings(data=tmp_path / "test.db", port=port))


def test_the_head_of_an_answer_is_to_be_had_alone(ask: Caller) -> None:
    """As those ask who look whether a server is up."""
    for path in ("/health", "/models/value", "/models/none"):
        whole, head = ask("GET", path), ask("HEAD", path)
        assert (head.status, head.body) == (whole.status, b"")
        assert head.headers == whole.headers
    refused = ask("HEAD", "/rank")
    assert (refused.status, refused.headers["allow"]) == (405, "POST")
    assert ask("DELETE", "/models").headers["allow"] == "GET, HEAD, POST"


def test_a_wrong_token_is_told_from_none(ask: Caller) -> None:
    for token, message in (("", "give a token"), ("bl_wrong", "this token is not known")):
        refused = Caller(ask.server, token)("GET", "/models")
        assert (refused.status, refused.body["error"]["code"]) == (401, "no_token")
        assert message in refused.body["error"]["message"]


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
