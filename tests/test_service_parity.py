"""What a server offers both clients have, and what models have in Python is offered by a server."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")


import belated as bl
from belated.audits import audit
from belated.errors import ServiceError
from belated.replays import replay
from belated.service import AsyncOutbox, AsyncRemoteModel
from belated.service.routes import ROUTES
from service_calls import Caller, serving

RANKED = ("/rank", "/events")  # as the clients of Personalizer ask
NOT_ASKED = {"/", "/dashboard.css", "/dashboard.js", "/openapi.json"}  # for browsers, and tools
START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Return a client of a server that all tests of this file share."""
    with serving(tmp_path_factory.mktemp("parity")) as caller:
        yield caller


@pytest.fixture(params=["client", "async client"])
def client(ask: Caller, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Return either client, with verbs that wait."""
    url, token = ask.server.url, str(ask.token)
    if request.param == "client":
        with bl.Client(url, token) as found:
            yield found
        return
    with asyncio.Runner() as runner:

        async def begin() -> bl.AsyncClient:
            return bl.AsyncClient(url, token)

        other = runner.run(begin())
        yield Waiting(runner, other)
        runner.run(other.close())


class Waiting:
    """An asynchronous thing whose verbs wait."""

    def __init__(self, runner: asyncio.Runner, inner: Any) -> None:
        self._runner, self._inner = runner, inner

    def __getattr__(self, name: str) -> Callable[..., Any]:
        verb = getattr(self._inner, name)

        def call(*arguments: Any, **named: Any) -> Any:
            found = verb(*arguments, **named)
            if inspect.isawaitable(found):
                found = self._runner.run(_awaited(found))
            has_methods = isinstance(found, AsyncRemoteModel | AsyncOutbox)
            return Waiting(self._runner, found) if has_methods else found

        return call


async def _awaited(found: Any) -> Any:
    return await found


names = iter(range(1000))


def new(client: Any, kind: str, **settings: Any) -> tuple[str, Any]:
    """Make a model."""
    name = f"m{next(names)}"
    return name, client.create(name, kind, **settings)


# --- What is there -------------------------------------------------------------------------------


def test_every_route_is_asked_by_a_verb(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()
    client = bl.Client("http://127.0.0.1:1", "t")

    def send(method: str, path: str, *_: Any, **more: Any) -> Any:
        seen.add((method, path))
        raise ServiceError("not sent")

    monkeypatch.setattr(client._sender, "send", send)
    given: dict[str, tuple[Any, ...]] = {
        **dict.fromkeys(("observe", "revise", "add"), ("k", 1.0)),
        **dict.fromkeys(("cancel", "shown", "choice", "weights", "explain", "expect"), ({},)),
        "played": ("k", {}),
        "mode": ("learn",),
        "rewards": ("sum",),
        "create": ("x", "Knobs"),
        "load": ("x", b""),
        "delete": ("x",),
        "erase": ("k",),
    }
    for asked in (client, client.model("x")):
        for name, _ in inspect.getmembers(type(asked), inspect.isfunction):
            if name[0] != "_" and name not in ("many", "outbox", "close", "model", "request"):
                with suppress(ServiceError):  # but not that of ``health``
                    getattr(asked, name)(*given.get(name, ()))
    known = {(method, path.replace("/x", "/{name}", 1)) for method, path in seen}
    wanted = {(each.method, each.path) for each in ROUTES if each.path not in NOT_ASKED}
    assert known == {(m, p) for m, p in wanted if not p.split("/{name}")[-1].startswith(RANKED)}


# --- What it does --------------------------------------------------------------------------------


def test_weights_are_those_of_the_model(client: Any) -> None:
    _, remote = new(client, "LinearModel", bits=8)
    local = bl.LinearModel("squared", bits=8)
    for hour in range(40):
        row = {"hour": float(hour % 5), "town": "Oslo" if hour % 3 else "Lima"}
        for model in (remote, local):
            model.predict(row, key=f"{hour}")
            model.observe(f"{hour}", 2.0 * (hour % 5))
    wanted: list[str | tuple[str, str]] = ["hour", ("town", "Oslo"), ("town", "Rome")]
    assert remote.weights(wanted) == local.weights(wanted)
    _, knobs = new(client, "Knobs", knobs={"x": [0, 1]})
    for verb, given in (("explain", {"hour": 4}), ("weights", ["x"])):
        with pytest.raises(ServiceError, match=f"has no {verb}") as refused:
            getattr(knobs, verb)(given)
        assert refused.value.code == "no_such_verb"


def test_every_item_has_an_outcome_also_beside_one_that_is_no_number(client: Any) -> None:
    _, remote = new(client, "LinearModel", bits=8)
    rows: list[Any] = [
        {"x": 1.0},
        {"x": math.nan},
        {"x": np.float32("inf")},
        {"x": -math.inf},
        {"x": 2},
    ]
    keys = [f"k{place}" for place in range(len(rows))]
    items = [{"features": row, "key": key} for row, key in zip(rows, keys, strict=True)]
    said = remote.many("predict", items)
    outcomes = ["applied", "applied", "invalid", "invalid", "applied"]  # NaN by name: missing
    assert [each["outcome"] for each in said] == outcomes
    assert "'x' must be a finite number" in said[2]["error"]["message"]
    labels: list[Any] = [math.nan, -math.inf, np.float64("nan"), np.array(np.nan)]
    answers = [{"key": "k0", "value": label} for label in labels]
    answers += [{"key": "k0", "value": 1.0, "weight": math.nan}, {"key": math.nan, "value": 1.0}]
    said = remote.many("observe", [*answers, {"key": "k0", "value": 2.0}])
    assert [each["outcome"] for each in said] == ["invalid"] * 6 + ["applied"]
    assert said[0]["error"]["message"] == "value must be a finite number"
    assert remote.about()["rounds"] == 3
    with pytest.raises(ServiceError, match="value must be a finite number") as refused:
        remote.observe("k4", math.nan)
    assert refused.value.status == 422
    assert remote.observe("k4", 1.0)


def test_an_outbox_sends_everything_once(client: Any) -> None:
    _, remote = new(client, "LinearModel", bits=8)
    remote.many("predict", ({"features": {}, "key": f"o{i}"} for i in range(50)))
    outbox = remote.outbox(most=10, every=0.01)
    for i in range(50):
        outbox.put("observe", f"o{i}", 1.0)
    outbox.put("cancel", "nothing")
    outbox.put("observe", "o1", "x")
    outbox.close()
    inner = getattr(outbox, "_inner", outbox)
    assert inner.outcomes == {"applied": 50, "unknown": 1, "invalid": 1}
    assert inner.errors == {"unknown_ticket": 1, "bad_request": 1}
    with pytest.raises(ServiceError, match="closed"):
        outbox.put("observe", "o1", 1.0)


def test_times_with_and_without_an_offset(ask: Caller, client: Any) -> None:
    """They are refused in one model, and a time that is null is none."""
    name, remote = new(client, "LinearModel", deadline="1h", bits=8)
    remote.predict([1.0], key="a", at="2026-03-01T12:00:00+02:00")
    for at in ("2026-03-01T12:00:00", "2026-03-02", np.datetime64("2026-03-01T12:00")):
        with pytest.raises(
            ServiceError, match="has no time zone, and the dates of this model"
        ) as no:
            remote.observe("a", 1.0, at=at)
        assert (no.value.status, no.value.code) == (422, "bad_time")
    body = {"key": "a", "value": 1.0, "at": "2026-03-01 12:00"}
    assert (
        "give the date with its time zone"
        in ask("POST", f"/models/{name}/observe", body).body["error"]["message"]
    )
    items = [body, {**body, "at": None}]
    found = ask("POST", f"/models/{name}/observe", {"items": items}).body["items"]
    assert [each["outcome"] for each in found] == ["invalid", "late"]
    for nothing in (None, math.nan, pd.NaT, pd.NA, np.datetime64("NaT", "s")):
        remote.predict([1.0], at=nothing, deadline=nothing)
    name, plain = new(client, "LinearModel", deadline="1h", bits=8)
    plain.predict([1.0], key="a", at=np.datetime64("2026-03-01T10:00"))
    plain.predict([1.0], key="b", at="2026-03-01")
    with pytest.raises(ServiceError, match="has a time zone, and the dates of this model so far"):
        plain.predict([1.0], key="c")  # at the time of the server
    with pytest.raises(ServiceError, match="has a time zone"):
        plain.tick()
    for wrong in ("12:00", "x" * 200, "2026-03-01T12:00:00." + "0" * 100 + "Z"):
        with pytest.raises(ServiceError, match="at must be seconds since 1970, or a time such as"):
            plain.predict([1.0], at=wrong)
    assert plain.about()["rounds"] == 2


def test_a_tick_that_is_sent_again_happens_once(ask: Caller, client: Any) -> None:
    name, remote = new(client, "LinearModel", deadline="1h", bits=8)
    remote.predict([1.0], key="k", at=START)
    body = {"at": "2026-03-01T02:00:00Z"}
    first = ask("POST", f"/models/{name}/tick", body, Idempotency_Key="t")
    again = ask("POST", f"/models/{name}/tick", body, Idempotency_Key="t")
    assert (first.status, first.body) == (again.status, again.body) == (200, {"open": 0})
    assert again.headers["idempotency-replayed"] == "true"
    assert ask("GET", f"/models/{name}").body["events"] == 2
    assert ask.raw("POST", f"/models/{name}/tick", None).body == {"open": 0}


def test_logs_go_from_one_model_to_another(ask: Caller, client: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    name, remote = new(client, "LinearModel", bits=8)
    for number in range(20):
        remote.predict([1.0, float(number % 3)], key=f"{number}")
        remote.observe(f"{number}", 1.0)
    remote.predict([2.0, 1.0], key="open")
    exported = remote.export()
    assert exported[:4] == b"PAR1"
    log = tmp_path / "log.parquet"
    log.write_bytes(exported)
    assert (audit(log).rounds, audit(log).answered) == (21, 20)
    assert replay(log, answered_only=True).task.features == ("x0", "x1")
    copy = client.load(f"{name}-copy", exported)
    assert copy.peek([1.0, 1.0]) == remote.peek([1.0, 1.0])
    assert copy.observe("open", 3.0)
    settings = copy.about()["settings"]
    other = copy.rebuild(to=f"{name}-other", **{**settings, "bits": 9})
    assert other.about()["settings"]["bits"] == 9
    assert other.about()["rounds"] == 21
    assert copy.rebuild(**settings).about()["settings"] == settings
    with pytest.raises(ServiceError) as refused:
        client.load(name, exported)
    assert refused.value.code == "name_taken"
    with pytest.raises(ServiceError) as refused:
        client.load(f"{name}-bad", b"nothing")
    assert (refused.value.status, refused.value.code) == (422, "bad_file")


def test_imports_and_rebuilds_that_are_sent_again_happen_once(ask: Caller) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    file = ask("GET", "/models/value/export").body
    first, again = (
        ask.raw("POST", "/models/again/import", file, Idempotency_Key="i") for _ in range(2)
    )
    assert (first.status, first.body) == (again.status, again.body)
    assert (first.status, again.headers["idempotency-replayed"]) == (201, "true")
    other = ask.raw("POST", "/models/again/import", file + b"x", Idempotency_Key="i")
    assert (other.status, other.body["error"]["code"]) == (422, "other_request")
    body = {"settings": {"bits": 9}, "to": "again-9"}
    said = [ask("POST", "/models/again/rebuild", body, Idempotency_Key="r") for _ in range(2)]
    assert [each.status for each in said] == [200, 200]
    assert said[0].body == said[1].body
    assert ask("POST", "/models/again/rebuild", body).body["error"]["code"] == "name_taken"


def test_rewards_and_modes_are_settings(client: Any) -> None:
    name, remote = new(client, "Chooser", silence=0, deadline="PT30M", bits=8)
    assert (remote.rewards("sum"), remote.mode("apprentice")) == ("sum", "apprentice")
    about = remote.about()
    assert (about["name"], about["rewards"], about["mode"]) == (name, "sum", "apprentice")


def test_a_server_is_looked_at(client: Any) -> None:
    name, remote = new(client, "LinearModel", bits=8)
    remote.predict([1.0])
    assert remote.timeline()["asked"] == 1
    assert remote.live()["kind"] == "LinearModel"
    assert f'belated_rounds_total{{model="{name}"}} 1' in client.metrics()
    assert client.health()
    assert client.ready()


def test_settings_are_expected_to_cost_something(client: Any) -> None:
    _, remote = new(client, "Knobs", knobs={"x": [0, 1]}, seed=3)
    local = bl.Knobs({"x": (0, 1)}, seed=3)
    assert math.isnan(remote.expect({"x": 0.5}).cost)
    for turn in range(12):
        assert remote.predict(key=f"{turn}").setting == local.predict(key=f"{turn}").setting
        cost = float(turn % 4)
        remote.observe(f"{turn}", cost)
        local.observe(f"{turn}", cost)
    assert tuple(remote.expect({"x": 0.25})) == tuple(local.expect({"x": 0.25}))
    with pytest.raises(ServiceError) as refused:
        remote.expect({"y": 1})
    assert refused.value.status == 422


def test_a_choice_is_there_until_it_is_answered(client: Any) -> None:
    _, remote = new(client, "Chooser", actions=["a", "b"], bits=8)
    chosen = remote.choose({"hour": 7}, key="visit")
    assert remote.choice("visit") == remote.choice(chosen.ticket) == chosen
    remote.observe("visit", 1.0)
    for which, code in ((("visit",), "already_answered"), (("never",), "unknown_ticket")):
        with pytest.raises(ServiceError) as refused:
            remote.choice(*which)
        assert refused.value.code == code
