"""Keys over HTTP: texts, and numbers, which are refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import belated as bl
from service_calls import CHOOSER, LINEAR, Caller, serving

ROW = {"features": {"a": 1.0}}
SPEC = bl.FirstOrder(bl.PFTRL(bl.Ball(2), bl.rates.Tight(1.0)))
MODELS = {
    "LinearModel": LINEAR,
    "Intervals": LINEAR,
    "Chooser": CHOOSER,
    "Knobs": {"knobs": {"x": [0, 1]}},
    "Learner": {"spec": json.loads(SPEC.to_json())["spec"]},
}
VALUES: dict[str, Any] = {"Learner": [0.5, 0.5]}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Return a client of a server that all tests of this file share."""
    with serving(tmp_path_factory.mktemp("keys")) as caller:
        yield caller


def asking(kind: str) -> tuple[str, dict[str, Any]]:
    """Return how models of a kind are asked."""
    verb = "choose" if kind == "Chooser" else "predict"
    return verb, ROW if kind in ("LinearModel", "Intervals") else {}


def told(answer: Any) -> str:
    """Return what came of a request."""
    return str(answer.body.get("outcome") or answer.body["error"]["code"])


def test_a_ticket_without_a_key_is_answered_after_a_restart_too(tmp_path: Path) -> None:
    with serving(tmp_path) as ask:
        for name, verb, item in (("value", "predict", ROW), ("layout", "choose", {})):
            tickets = [ask("POST", f"/models/{name}/{verb}", item).body["ticket"]]
            tickets += [
                ask("POST", f"/models/{name}/{verb}", {**item, "key": key}).body["ticket"]
                for key in ("0", "2", "1")
            ]
            for which in ({"ticket": tickets[0]}, {"key": "2"}):
                heard = ask("POST", f"/models/{name}/observe", {**which, "value": 1.0})
                assert told(heard) == "applied"
        before = {name: ask("GET", f"/models/{name}").body for name in ("value", "layout")}
        states = {name: ask.server.hub.load(name).stored.snapshot() for name in before}
        token = ask.token
    with bl.open(tmp_path / "test.db") as store:  # no snapshot: all of the log is read
        for name, state in states.items():
            assert store.model(name).snapshot() == state
            assert not {"2"} & {key for key, _ in store.model(name).in_memory._keys.items()}
    with serving(tmp_path) as ask:
        ask.token = token
        for name, about in before.items():
            assert ask("GET", f"/models/{name}").body == about
            assert told(ask("POST", f"/models/{name}/observe", {"key": "0", "value": 1.0})) == (
                "applied"
            )


@pytest.mark.parametrize("kind", MODELS)
def test_that_a_key_was_answered_is_known_after_a_restart(tmp_path: Path, kind: str) -> None:
    verb, item = asking(kind)
    value = VALUES.get(kind, 0.5)
    with serving(tmp_path) as ask:
        ask("POST", "/models", {"name": "m", "kind": kind, "settings": MODELS[kind]})
        asked = [{**item, "key": key} for key in ("a", "b", "c", "again", "4", "0")]
        ask("POST", f"/models/m/{verb}", {"items": asked})
        heard = [{"key": key, "value": value} for key in ("a", "again", "4", "0")]
        ask("POST", "/models/m/observe", {"items": heard})
        ask("POST", "/models/m/cancel", {"key": "b"})
        ask("POST", f"/models/m/{verb}", {**item, "key": "again"})
        token = ask.token
    with serving(tmp_path) as ask:
        ask.token = token
        items = [
            {"key": key, "value": value} for key in ("a", "b", "c", "again", "4", "0", "1", "never")
        ]
        said = ask("POST", "/models/m/observe", {"items": items}).body["items"]
        assert [each["outcome"] for each in said] == [
            *("duplicate", "duplicate", "applied", "applied"),
            *("duplicate", "duplicate", "unknown", "unknown"),
        ]


def test_a_store_whose_batches_have_keys_is_served(tmp_path: Path) -> None:
    """Of keys that Python gave and answered many at a time it is known what became of them."""
    with bl.open(tmp_path / "test.db") as store:
        model = store.model("m", bl.LinearModel("squared", bits=8))
        model.predict_many([[1.0]] * 6, keys=["a", "b", "c", "d", None, "9"], at=1.7e9)
        model.observe_many(["a", 1], [1.0, 2.0], weights=[2.0, 1.0], at=1.7e9 + 60)
        model.observe_many(["9"], [1.0])
    with serving(tmp_path) as ask:
        items = [{"key": key, "value": 1.0} for key in ("a", "b", "c", "never", "9", "4")]
        said = ask("POST", "/models/m/observe", {"items": items}).body["items"]
        assert [each["outcome"] for each in said] == [
            *("duplicate", "duplicate", "applied", "unknown", "duplicate", "unknown")
        ]
        again = ask("POST", "/models/m/predict", {**ROW, "key": "d"})
        assert (again.status, told(again)) == (409, "bad_key")
        assert ask("POST", "/models/m/predict", {**ROW, "key": "a"}).status == 200


def test_a_duplicate_is_the_same_alone_and_among_many(ask: Caller) -> None:
    ticket = ask("POST", "/models/value/predict", {**ROW, "key": "twice"}).body["ticket"]
    for which in ({"key": "twice"}, {"ticket": ticket}):
        ask("POST", "/models/value/observe", {**which, "value": 1.0})
        alone = ask("POST", "/models/value/observe", {**which, "value": 1.0})
        many = ask("POST", "/models/value/observe", {"items": [{**which, "value": 1.0}]})
        assert alone.status == many.status == 200
        assert alone.body == many.body["items"][0]
        assert alone.body["outcome"] == "duplicate"
        assert alone.body["error"]["code"] == "already_answered"
