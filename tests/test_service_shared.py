"""Servers that share a database: what one does not have is sent to the one that does."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import os
import signal
import subprocess
import sys

import belated as bl
from belated import cli
from belated.errors import StoreInUse
from belated.service import Server, Settings
from postgres_server import Server as Postgres
from postgres_server import running
from service_calls import CHOOSER, LINEAR, Caller


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    """Return a database."""
    with running() as found:
        yield found


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    """Return where a store may be, and remove what was in it."""
    yield postgres.url
    postgres.execute("DROP SCHEMA IF EXISTS belated CASCADE")


@pytest.fixture
def both(url: str) -> Iterator[tuple[Caller, Caller]]:
    """Return callers of two servers; the first has a token for both, and a model."""
    with Server(Settings(store=url, port=0)) as one:
        first = Caller(one)
        made(first, "value")
        with Server(Settings(store=url, port=0)) as two:
            assert two.token is None
            yield first, Caller(two, str(one.token))


def made(ask: Caller, name: str, **settings: Any) -> int:
    body = {"name": name, "kind": "LinearModel", "settings": {**LINEAR, **settings}}
    return ask("POST", "/models", body).status


def test_what_one_does_not_have_is_sent_on(both: tuple[Caller, Caller]) -> None:
    one, two = both
    there = two("POST", "/models/value/predict", {"features": {"x": 1.0}, "key": "a"})
    assert there.status == 200
    here = one("POST", "/models/value/predict", {"features": {"x": 1.0}, "key": "b"})
    assert there.body["ticket"].split(".")[0] == "0"
    assert here.body["ticket"].split(".")[0] == "1"
    told = {"ticket": there.body["ticket"], "value": 1.0}
    assert one("POST", "/models/value/observe", told).body == {"outcome": "applied"}
    assert two("POST", "/models/value/observe", {"key": "b", "value": 1.0}).status == 200
    assert two("GET", "/models/value/report").body["rounds"] == 2
    assert two("POST", "/models/value/observe", {"key": "b", "value": "x"}).status == 422
    listed = {each["name"]: each["is_ready"] for each in two("GET", "/models").body["models"]}
    assert listed == {"value": False}
    assert two("GET", "/ready").body["status"] == "ready"
    assert "value" not in two.server.hub.damaged


def test_a_released_model_is_written_by_the_server_that_is_asked_next(
    both: tuple[Caller, Caller], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = both
    body = {"features": {"x": 1.0}}
    for place, ask in enumerate(both):  # the second is asked to, and sends that on to the first
        assert one("POST", "/models/value/predict", {**body, "key": f"a{place}"}).status == 200
        assert ask("POST", "/models/value/release").status == 204
        assert "value" not in one.server.hub.models
        taker = (two, one)[place]
        assert taker("GET", "/models/value/report").body["rounds"] == place + 1
        assert "value" in taker.server.hub.models
    monkeypatch.setenv("BELATED_TOKEN", str(one.token))
    assert cli.main(["release", "value", "--url", two.server.url]) == 0
    assert "value is released" in capsys.readouterr().out
    assert cli.main(["release", "nothing", "--url", two.server.url]) == 1
    monkeypatch.delenv("BELATED_TOKEN")
    assert cli.main(["release", "value"]) == 1
    assert "BELATED_TOKEN" in capsys.readouterr().err
    assert two("POST", "/models/value/observe", {"key": "a0", "value": 1.0}).status == 200


def test_what_is_known_of_a_released_model_is_not_used(both: tuple[Caller, Caller]) -> None:
    hub = both[0].server.hub
    state = hub.models["value"]
    assert both[0]("POST", "/models/value/release").status == 204
    with pytest.raises(StoreInUse, match="was released"):
        state.room(1)
    hub.models["value"] = state  # as a request has it that began before
    item = {"features": {"x": 1.0}}
    assert both[0]("POST", "/models/value/predict", item).status == 200


def test_a_model_that_is_released_under_load_loses_nothing(both: tuple[Caller, Caller]) -> None:
    def load(place: int) -> list[int]:
        item = {"features": {"x": 1.0}}
        return [
            both[(place + turn) % 2]("POST", "/models/value/predict", item).status
            for turn in range(15)
        ]

    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(load, place) for place in range(4)]
        released = [each("POST", "/models/value/release").status for each in both]
        assert {status for each in found for status in each.result()} == {200}
    assert released == [204, 204]
    assert both[0]("GET", "/models/value/report").body["rounds"] == 60


def test_a_key_is_known_wherever_it_was_used(both: tuple[Caller, Caller]) -> None:
    one, two = both
    body = {"features": {"x": 1.0}}
    said = [
        ask("POST", "/models/value/predict", body, Idempotency_Key="k") for ask in (two, one, two)
    ]
    assert len({each.body["ticket"] for each in said}) == 1
    assert [each.headers.get("idempotency-replayed") for each in said] == [None, "true", "true"]


def test_a_server_that_has_lost_a_model_knows_what_another_one_answered(
    url: str, postgres: Postgres
) -> None:
    body = {"features": {"x": 1.0}}
    with Server(Settings(store=url, port=0)) as server:
        one = Caller(server)
        made(one, "value")
        postgres.drop_connections()
        with Server(Settings(store=url, port=0)) as other:
            two = Caller(other, str(server.token))
            said = two("POST", "/models/value/predict", body, Idempotency_Key="k")
            assert said.status == 200
        again = one("POST", "/models/value/predict", body, Idempotency_Key="k")
        if again.status != 200:  # that was when it noticed
            again = one("POST", "/models/value/predict", body, Idempotency_Key="k")
        assert (again.status, again.body) == (200, said.body)
        assert one("GET", "/models/value/report").body["rounds"] == 1


def test_a_server_whose_session_was_ended_does_not_answer_from_its_copy(
    url: str, postgres: Postgres
) -> None:
    body = {"features": {"x": 1.0}}
    with Server(Settings(store=url, port=0)) as server:
        one = Caller(server)
        made(one, "value")
        postgres.drop_connections()
        with Server(Settings(store=url, port=0)) as other:
            two = Caller(other, str(server.token))
            assert two("POST", "/models/value/predict", body).status == 200
            begin = time.monotonic()
            while one("GET", "/models/value/report").body["rounds"] != 1:
                assert time.monotonic() - begin < 60.0
                time.sleep(0.05)


def test_models_are_made_and_deleted_through_either(both: tuple[Caller, Caller]) -> None:
    one, two = both
    assert made(two, "second") == 201
    assert one("POST", "/models/second/predict", {"features": {"x": 1.0}}).status == 200
    assert made(one, "second") == 200
    assert made(one, "second", bits=9) == 409
    assert one("DELETE", "/models/second").status == 204
    for ask in both:
        assert ask("POST", "/models/second/predict", {"features": {"x": 1.0}}).status == 404
    body = {"name": "rank", "kind": "Chooser", "settings": {**CHOOSER, "actions": None}}
    assert one("POST", "/models", body).status == 201
    ranked = {"actions": [{"id": "a"}, {"id": "b"}], "eventId": "e"}
    assert two("POST", "/rank", ranked).status == 201
    rewarded = two("POST", "/events/e/reward", {"value": 1.0})
    assert (rewarded.status, rewarded.headers["belated-outcome"]) == (204, "applied")


def test_a_model_that_is_elsewhere_costs_no_other_its_place(
    both: tuple[Caller, Caller], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = both
    body = {"name": "rank", "kind": "Chooser", "settings": {**CHOOSER, "actions": None}}
    assert one("POST", "/models", body).status == 201
    mine = dict(one.server.hub.models)
    assert made(two, "second") == 201
    assert made(one, "second") == 200  # sent on: no path names the model
    assert one.server.hub.models == mine

    def taken(name: str) -> None:
        raise bl.errors.StoreInUse("taken", two.server.url, name)

    monkeypatch.setattr(one.server.hub, "load", taken)
    rebuilt = one("POST", "/models/value/rebuild", {"settings": LINEAR, "to": "third"})
    assert (rebuilt.status, rebuilt.body["error"]["code"]) == (503, "written_elsewhere")
    assert one.server.hub.models == mine


def test_two_that_make_the_same_model_have_one_answer(both: tuple[Caller, Caller]) -> None:
    with ThreadPoolExecutor(2) as pool:
        for turn in range(3):
            same = pool.map(lambda ask, turn=turn: made(ask, f"same{turn}"), both)
            assert sorted(same) in ([200, 201], [201, 201])
            bits = ((both[0], 8), (both[1], 9))
            other = pool.map(lambda each, turn=turn: made(each[0], f"o{turn}", bits=each[1]), bits)
            assert sorted(other) == [201, 409]


def test_who_has_the_lock_and_has_not_said_so_yet_is_waited_for(url: str) -> None:
    """The lock of a model and the row of its owner are two statements."""
    psycopg = pytest.importorskip("psycopg")
    with bl.open(url, address="http://one:1") as one, bl.open(url) as two:
        number = one.model("between", bl.LinearModel("squared", bits=6)).number
        with psycopg.connect(url, autocommit=True) as other:
            row = other.execute(
                "DELETE FROM belated.owners WHERE model = %s RETURNING *", (number,)
            ).fetchone()

            def say() -> None:
                other.execute("INSERT INTO belated.owners VALUES (%s, %s, %s)", row)

            late = threading.Timer(0.2, say)
            late.start()
            with pytest.raises(StoreInUse) as refused:
                two.model("between", bl.LinearModel("squared", bits=6))
            late.join()
        assert refused.value.address == "http://one:1"


def test_a_killed_server_is_followed(url: str) -> None:
    command = ("serve", "--store", url, "--port", "0")
    process = subprocess.Popen(
        [sys.executable, "-m", "belated", *command], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        where = process.stdout.readline().split()[-1]
        token = process.stdout.readline().split()[-1]
        with bl.Client(where, token) as client:
            model = client.create("value", "LinearModel", **LINEAR)
            model.predict({"x": 1.0}, key="a")
            with Server(Settings(store=url, port=0)) as other:
                ask = Caller(other, token)
                body = {"features": {"x": 1.0}, "key": "b"}
                said = ask("POST", "/models/value/predict", body, Idempotency_Key="k")
                assert said.status == 200
                os.kill(process.pid, signal.SIGKILL)
                process.wait(10.0)
                begin = time.monotonic()
                while ask("GET", "/models/value/report").status != 200:
                    assert time.monotonic() - begin < 60.0
                    time.sleep(0.05)
                again = ask("POST", "/models/value/predict", body, Idempotency_Key="k")
                assert again.body == said.body
                assert ask("POST", "/models/value/observe", {"key": "a", "value": 1}).status == 200
    finally:
        process.kill()
        process.wait(10.0)
        process.stdout.close()
