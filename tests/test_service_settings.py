"""Settings over HTTP: what is shown of a model is what makes it, in one shape for all kinds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from inspect import signature
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import belated as bl
from belated.service import Limits
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
    built = ask("POST", f"/models/a-{kind}/replay", other)
    assert (built.status, built.body["settings"]) == (200, first.body["settings"])


@pytest.mark.parametrize("kind", TIMED)
def test_a_deadline_has_one_shape_for_all_kinds(kind: str) -> None:
    def shown(deadline: Any) -> Any:
        model = made(kind, {**LEAST[kind], "deadline": deadline}, 7, Limits())
        return described(kind, model)["deadline"]

    for given in ("PT90S", "90s", {"seconds": 90}, {"seconds": 90.0}):
        assert shown(given) == {"seconds": 90.0}
    assert shown({"predictions": 90}) == {"predictions": 90}
    assert shown(None) is None
    assert shown(90) == ({"predictions": 90} if kind == "Knobs" else {"seconds": 90.0})


@pytest.mark.parametrize(
    "deadline",
    [
        {},
        {"seconds": 1, "predictions": 1},
        {"seconds": "90s"},
        {"seconds": -1},
        {"predictions": "1"},
        {"rounds": 1},
        [],
    ],
)
@pytest.mark.parametrize("kind", TIMED)
def test_what_is_no_deadline_is_refused(ask: Caller, kind: str, deadline: Any) -> None:
    about = {"name": "x", "kind": kind, "settings": {**LEAST[kind], "deadline": deadline}}
    refused = ask("POST", "/models", about)
    assert (refused.status, "deadline" in refused.body["error"]["message"]) == (422, True)


def test_clients_take_durations_of_python(ask: Caller) -> None:
    with bl.Client(ask.server.url, ask.token or "") as client:
        half = timedelta(minutes=30)
        model = client.create("half", "LinearModel", deadline=half, bits=8)
        assert model.about()["settings"]["deadline"] == {"seconds": 1800.0}
        model.predict({"a": 1.0}, key="k", deadline=half)
        said = model.many("predict", [{"features": {"a": 1.0}, "deadline": half}])
        assert [each["outcome"] for each in said] == ["applied"]


@pytest.mark.parametrize("kind", ["LinearModel", "Intervals", "Chooser"])
def test_defaults_are_those_of_python(kind: str) -> None:
    model = made(kind, LEAST[kind], 7, Limits())
    linear = model if kind == "LinearModel" else model.model
    own = bl.Chooser if kind == "Chooser" else bl.LinearModel
    assert linear.settings.bits == signature(own).parameters["bits"].default


def test_a_model_shows_its_mode(ask: Caller) -> None:
    shown = ask("GET", "/models/layout").body
    assert (shown["mode"], shown["rewards"]) == ("learn", "earliest")
    ask("POST", "/models", {"name": "shop", "kind": "Chooser", "settings": LEAST["Chooser"]})
    assert ask("PUT", "/models/shop/rewards", {"rewards": "sum"}).status == 200
    assert ask("GET", "/models/shop").body["rewards"] == "sum"
    ask("POST", "/models", {"name": "knobs", "kind": "Knobs", "settings": LEAST["Knobs"]})
    assert ask("POST", "/models/knobs/pause").status == 200
    assert ask("GET", "/models/knobs").body["mode"] == "paused"
