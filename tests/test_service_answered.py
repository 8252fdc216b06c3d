"""That a key was answered is known, also where its answer came by the ticket."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import belated as bl
from belated.service.model_state import ClosedKeys
from service_calls import CHOOSER, LINEAR, Caller, serving
from test_service_faults import failing

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
MANY = 90  # more than a model remembers of closed tickets


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Return a client of a server that all tests of this file share."""
    with serving(tmp_path_factory.mktemp("keys")) as caller:
        yield caller


def asking(kind: str) -> tuple[str, dict[str, Any]]:
    """Return how models of a kind are asked."""
    verb = "choose" if kind == "Chooser" else "predict"
    return verb, ROW if kind in ("LinearModel", "Intervals") else {}


def outcomes(ask: Caller, verb: str, items: list[dict[str, Any]]) -> list[str]:
    """Return what came of items."""
    said = ask("POST", f"/models/m/{verb}", {"items": items}).body["items"]
    return [each["outcome"] for each in said]


@pytest.mark.parametrize("kind", MODELS)
def test_a_key_that_was_answered_by_its_ticket_was_answered(tmp_path: Path, kind: str) -> None:
    verb, item = asking(kind)
    value = VALUES.get(kind, 0.5)
    keys: list[Any] = [f"k{i}" for i in range(MANY)] + [f"{i}" for i in range(5)]
    with serving(tmp_path) as ask:
        ask("POST", "/models", {"name": "m", "kind": kind, "settings": MODELS[kind]})
        asked = [{**item, "key": key} for key in (*keys, "cancelled", "again", "open")]
        said = ask("POST", f"/models/m/{verb}", {"items": asked}).body["items"]
        tickets = [each["ticket"] for each in said]
        heard = [{"ticket": ticket, "value": value} for ticket in tickets[: len(keys)]]
        assert set(outcomes(ask, "observe", heard)) == {"applied"}
        gone = [{"ticket": ticket} for ticket in tickets[-3:-1]]
        assert outcomes(ask, "cancel", gone) == ["applied", "applied"]
        more = [{**item, "key": key} for key in ("again", *(f"n{i}" for i in range(2 * MANY)))]
        assert set(outcomes(ask, verb, more)) == {"applied"}

        again = [{"key": key, "value": value} for key in (*keys, "cancelled")]
        assert set(outcomes(ask, "observe", again)) == {"duplicate"}
        token = ask.token
    with serving(tmp_path) as ask:
        ask.token = token
        assert set(outcomes(ask, "observe", again)) == {"duplicate"}
        if kind != "Learner":  # whose spec may have no other settings
            settings = ask("GET", "/models/m").body["settings"]
            assert ask("POST", "/models/m/rebuild", {"settings": settings}).status == 200
            assert set(outcomes(ask, "observe", again)) == {"duplicate"}
        both = [{"key": key, "value": value} for key in ("again", "open", "never")]
        assert outcomes(ask, "observe", both) == ["applied", "applied", "unknown"]


def test_a_key_that_was_given_up_on_was_not_answered(tmp_path: Path) -> None:
    settings = {"loss": "squared", "bits": 8, "deadline": {"predictions": 2}}
    with serving(tmp_path) as ask:
        ask("POST", "/models", {"name": "m", "kind": "LinearModel", "settings": settings})
        items = [{"features": {"a": 1.0}, "key": f"k{i}"} for i in range(MANY)]
        said = ask("POST", "/models/m/predict", {"items": items}).body["items"]
        late = [{"ticket": said[1]["ticket"], "value": 1.0}] * 2
        assert outcomes(ask, "observe", late) == ["late", "duplicate"]
        both = [{"key": key, "value": 1.0} for key in ("k0", "k1")]
        assert outcomes(ask, "observe", both) == ["late", "duplicate"]


def test_what_is_remembered_of_keys_is_bounded() -> None:
    model = {"open": 3}
    keys = ClosedKeys(model.items)
    for ticket in range(4, 10_000):
        keys.open(f"k{ticket}", ticket)
        if keys.is_crowded:
            keys.tidy()
        assert len(keys._keys) <= 65
    keys.close(3)
    assert "open" in keys
    for ticket in range(30_000):
        keys.close(f"{ticket}")
    assert len(keys._closed) == 20_000
    assert "open" not in keys


def test_a_late_answer_to_an_older_ticket_does_not_close_its_key() -> None:
    keys = ClosedKeys(list)
    keys.open("visit", 1)
    keys.open("visit", 2)
    keys.close(1)
    assert "visit" not in keys
    keys.close(2)
    assert "visit" in keys


def lost(ask: Caller, path: str, body: Any, **headers: str) -> None:
    """Ask for something while the disk fails."""
    with failing(ask, sqlite3.OperationalError("disk I/O error")):
        answer = ask("POST", path, body, **headers)
    assert (answer.status, answer.body["error"]["code"]) == (503, "not_committed")
    assert ask("GET", "/models/m").status == 200  # loaded again, from what was committed


@pytest.mark.parametrize("headers", [{}, {"Idempotency_Key": "again"}])
@pytest.mark.parametrize("kind", MODELS)
def test_what_is_lost_says_nothing_of_keys(
    tmp_path: Path, kind: str, headers: dict[str, str]
) -> None:
    verb, item = asking(kind)
    value = VALUES.get(kind, 0.5)
    heard = {"key": "k", "value": value}
    with serving(tmp_path) as ask:
        ask("POST", "/models", {"name": "m", "kind": kind, "settings": MODELS[kind]})
        assert outcomes(ask, verb, [{**item, "key": "k"}]) == ["applied"]
        lost(ask, "/models/m/observe", heard, **headers)
        lost(ask, "/models/m/cancel", {"key": "k"}, **headers)
        assert "k" not in ask.server.hub.load("m").closed_keys
        assert outcomes(ask, "observe", [heard]) == ["applied"]
        lost(ask, f"/models/m/{verb}", {**item, "key": "k"}, **headers)
        assert outcomes(ask, "observe", [heard]) == ["duplicate"]


def told(answer: Any) -> str:
    """Return what came of a request."""
    return str(answer.body.get("outcome") or answer.body["error"]["code"])


def test_a_store_whose_batches_have_keys_is_served(tmp_path: Path) -> None:
    """Of keys that Python gave and answered many at a time it is known what became of them."""
    with bl.open(tmp_path / "test.db") as store:
        model = store.model("m", bl.LinearModel("squared", bits=8))
        model.predict_many([{"a": 1.0}] * 6, keys=["a", "b", "c", "d", None, "9"], at=1.7e9)
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
