"""The server over a real socket: routes, outcomes, scopes, limits, and what a restart keeps."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")


from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

import belated as bl
from belated.errors import ServiceError, SpecError
from belated.models.methods import METHODS
from belated.service import Limits, Server, Settings, auth
from belated.service.app import App
from belated.service.forwarding import check_deadline
from belated.service.hub import Hub
from belated.service.model_factory import KINDS
from belated.service.requests import Refused
from belated.service.routes import ROUTES, description
from belated.service.schemas import members, verbs
from belated.service.settings import ACTIONS, BATCH, FEATURES, TEXT
from service_calls import LINEAR, Caller, fill, serving

KNOBS = {
    "knobs": {
        "price": [10, 200],
        "retries": {"type": "Int", "low": 0, "high": 6},
        "size": {"type": "Categories", "values": ["small", "large"]},
    },
    "context": {"hour": [0, 24], "device": ["phone", "desktop", "other"]},
    "deadline": 100,
    "silence": 3,
}
SCHEMAS = description()["components"]["schemas"]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Return a client of a server that all tests of this file share."""
    with serving(tmp_path_factory.mktemp("service")) as caller:
        yield caller


def outcomes(answer: Any) -> list[str]:
    """Return what came of each item."""
    return [item["outcome"] for item in answer.body["items"]]


# --- Models ---------------------------------------------------------------------------------------


def test_models_are_made_listed_shown_and_deleted(ask: Caller) -> None:
    about = {"name": "gone", "kind": "LinearModel", "settings": LINEAR}
    assert ask("POST", "/models", about).status == 201
    assert ask("POST", "/models", about).status == 200  # nothing happens
    other = ask("POST", "/models", {**about, "settings": {"loss": "absolute"}})
    assert (other.status, other.body["error"]["code"]) == (409, "other_settings")
    assert "gone" in [model["name"] for model in ask("GET", "/models").body["models"]]
    shown = ask("GET", "/models/gone").body
    assert (shown["kind"], shown["settings"]["bits"], shown["rounds"]) == ("LinearModel", 8, 0)
    assert ask("DELETE", "/models/gone").status == 204
    assert ask("GET", "/models/gone").body["error"]["code"] == "unknown_model"
    for place in range(3):
        assert ask("DELETE", f"/models/never-{place}").status == 404
    assert not ask.server.hub._locks.keys() - {
        "value",
        "layout",
    }  # nothing of names that were tried


def test_knobs_are_turned_held_and_let_go(tmp_path: Path) -> None:
    with serving(tmp_path) as ask, bl.Client(ask.server.url, str(ask.token)) as client:
        model = client.create("knobs", "Knobs", **KNOBS)
        model.predict(context={"hour": 7, "device": "phone"}, key="a")
        model.predict(key="b")
        real = {"price": 20.5, "retries": 2, "size": "large"}
        model.played("a", real)
        with pytest.raises(ServiceError, match="inside of the range"):
            model.played("b", {**real, "price": 1000})
        assert [model.pause(), model.revert(), model.resume()] == ["paused", "reverted", "learning"]
        assert ask("POST", "/models/value/pause").body["error"]["code"] == "no_such_verb"
        for verb in ("pause", "revert", "resume"):  # which nothing more can be said of
            bodies: tuple[Any, ...] = ({"until": 3}, {"mode": "pause"}, [], None)
            for body in bodies:
                refused = ask.raw("POST", f"/models/knobs/{verb}", json.dumps(body).encode())
                assert (refused.status, refused.body["error"]["code"]) == (422, "bad_request")
            assert ask.raw("POST", f"/models/knobs/{verb}", b"{").status == 400
        paused = ask("POST", "/models/knobs/pause", Idempotency_Key="p")
        assert model.resume() == "learning"
        again = ask("POST", "/models/knobs/pause", Idempotency_Key="p")  # a try that was late
        assert (again.body, again.headers["idempotency-replayed"]) == (paused.body, "true")
        assert ask.server.store.model("knobs").read(lambda knobs: knobs.mode) == "learning"
        assert "seed" not in model.about()["settings"]
        assert ask("POST", "/models/knobs/peek", {"context": {"hour": 7}}).body["setting"].keys()
        for goal, measure in (("min", "expected cost"), ("max", "expected value")):
            client.create(goal, "Knobs", knobs={"price": [1, 9]}, goal=goal)
            assert ask("GET", f"/models/{goal}/live").body["measure"] == f"{measure} at the best"
        expected = ask.server.store.model("knobs").snapshot()
    with serving_again(tmp_path) as server:
        assert server.store.model("knobs").snapshot() == expected


WRONG_SETTINGS: dict[str, list[dict[str, Any]]] = {
    "Knobs": [
        *({}, {"knobs": {"a": 3}}, {"knobs": {"a": "ab"}}, {"knobs": {"a": {"type": ["Log"]}}}),
        *({"knobs": {"a": [0, 1]}, "context": each} for each in ([1], {"b": "abc"}, {"b": 3})),
        *({"knobs": {"a": [0, 1]}, "deadline": each} for each in ({}, {"predictions": -2.5}, "x")),
        *({"knobs": {"a": [0, 1]}, name: "x"} for name in ("start", "max_step")),
    ],
    "LinearModel": [
        *({"bits": 40}, {"bits": True}, {"loss": ["squared"]}, {"columns": {}}),
        *({"deadline": "P1Y"}, {"interactions": 3}),
    ],
    "Chooser": [
        *({"decide": "f"}, {"actions": ["a", "a"]}, {"explore": {"type": "Ball", "dim": 2}}),
    ],
    "Learner": [{}, {"spec": {"type": "Ball", "dim": 10**12}}],
}


@pytest.mark.parametrize(
    "body",
    [
        *({"name": name, "kind": "LinearModel"} for name in ("../x", "a b", "", "x\n", 3)),
        *(
            {"name": "x", "kind": "os.system"},
            {"name": "x", "kind": "LinearModel", "more": 1},
            ["x"],
        ),
        *(
            {"name": "x", "kind": kind, "settings": each}
            for kind, wrong in WRONG_SETTINGS.items()
            for each in wrong
        ),
    ],
)
def test_what_cannot_be_a_model_is_refused(ask: Caller, body: Any) -> None:
    refused = ask("POST", "/models", body)
    assert refused.status == 422, refused.body
    assert set(refused.body["error"]) == {"code", "message"}
    assert "x" not in [model["name"] for model in ask("GET", "/models").body["models"]]


def test_a_rebuild_that_says_nothing_keeps_all_settings(ask: Caller) -> None:
    ask("POST", "/models", {"name": "plain", "kind": "LinearModel", "settings": LINEAR})
    ask("POST", "/models/plain/predict", {"features": {"x": 1.0}})
    before = ask("GET", "/models/plain").body["settings"]
    bodies: list[dict[str, Any]] = [{}, {"settings": {}}]
    for body in bodies:
        built = ask("POST", "/models/plain/rebuild", body)
        assert (built.status, built.body["rounds"]) == (200, 1)
        assert built.body["settings"] == before
    described = ask("GET", "/openapi.json").body["components"]["schemas"]["Rebuild"]
    assert "keep their values" in described["description"]
    ask("DELETE", "/models/plain")


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "br", "identity, gzip", "zstd"])
def test_bodies_are_sent_as_they_are(ask: Caller, encoding: str) -> None:
    body = gzip.compress(b'{"features": {"x": 1.0}}')
    before = ask("GET", "/models/value").body["rounds"]
    for path in ("/models/value/predict", "/models", "/models/zipped/import", "/rank"):
        refused = ask.raw("POST", path, body, Content_Encoding=encoding)
        assert (refused.status, refused.body["error"]["code"]) == (415, "encoded_body")
        assert repr(encoding) in refused.body["error"]["message"]
        assert refused.headers["accept-encoding"] == "identity"
    assert ask("GET", "/models/value").body["rounds"] == before
    plain = b'{"features": {"x": 1.0}}'
    for same in ("identity", "Identity", ""):
        answer = ask.raw("POST", "/models/value/predict", plain, Content_Encoding=same)
        assert answer.status == 200


# --- Events ---------------------------------------------------------------------------------------


def test_every_item_has_an_outcome_of_its_own(ask: Caller) -> None:
    asked = [{"features": {"x": 1.0}, "key": "a"}, {"features": {"x": "far"}}, {"features": 3}]
    predicted = ask("POST", "/models/value/predict", {"items": asked})
    assert outcomes(predicted) == ["applied", "applied", "invalid"]
    ticket = predicted.body["items"][1]["ticket"]
    told = [
        {"key": "a", "value": 2.0},
        {"key": "a", "value": 2.0},
        {"ticket": ticket, "value": 1},
        {"ticket": ticket, "value": 1},
        {"key": "never", "value": 1},
        {"ticket": "7.AAAAAAAAAAAAAAAA", "value": 1},
        {"ticket": ticket, "value": "1"},
        {"ticket": ticket, "key": "a", "value": 1},
        7,
    ]
    heard = ask("POST", "/models/value/observe", {"items": told})
    assert heard.status == 200
    assert outcomes(heard) == [
        *("applied", "duplicate", "applied", "duplicate", "unknown", "unknown"),
        *("invalid", "invalid", "invalid"),
    ]


def test_one_item_is_told_from_many(ask: Caller) -> None:
    for body in ({"features": {"items": 1.0}}, {"features": {}, "key": "items"}):
        assert ask("POST", "/models/value/predict", body).status == 200
    for wrong, said in (
        ({"items": 3}, "items"),
        ({"items": [], "more": 1}, "more"),
        ({"items": [{}] * 1001}, "1000 items"),
        (["items"], "object"),
    ):
        refused = ask("POST", "/models/value/predict", wrong)
        assert refused.status in (413, 422)
        assert said in refused.body["error"]["message"]


def test_tickets_belong_to_one_model_and_cannot_be_guessed(ask: Caller) -> None:
    ticket = ask("POST", "/models/value/predict", {"features": {}}).body["ticket"]
    elsewhere = ask("POST", "/models/layout/observe", {"ticket": ticket, "value": 1})
    assert elsewhere.body["error"]["code"] == "unknown_ticket"
    number, signature = ticket.split(".")
    for forged in (number, f"{number}.", f"{int(number) + 1}.{signature}", f"{number}.{'A' * 16}"):
        answer = ask("POST", "/models/value/observe", {"ticket": forged, "value": 1})
        assert answer.status == 404
    assert ask("POST", "/models/value/cancel", {"ticket": ticket}).status == 200


# --- Once -----------------------------------------------------------------------------------------


def test_a_request_that_comes_again_gets_the_first_answer(ask: Caller) -> None:
    body = {"items": [{"features": {"x": 1.0}}, {"features": 3}]}
    first = ask("POST", "/models/value/predict", body, Idempotency_Key="once")
    events = ask("GET", "/models/value").body["events"]
    again = ask("POST", "/models/value/predict", body, Idempotency_Key="once")
    assert (again.status, again.body) == (first.status, first.body)
    assert again.headers["idempotency-replayed"] == "true"
    other = ask("POST", "/models/value/predict", {"features": {}}, Idempotency_Key="once")
    assert (other.status, other.body["error"]["code"]) == (422, "other_request")
    assert ask("GET", "/models/value").body["events"] == events


def test_two_at_the_same_time_with_one_key_are_one(ask: Caller) -> None:
    before = ask("GET", "/models/value").body["events"]
    found: list[Any] = []

    def call() -> None:
        caller = Caller(ask.server)
        body = {"features": {"x": 1.0}}
        found.append(caller("POST", "/models/value/predict", body, Idempotency_Key="race").body)

    threads = [threading.Thread(target=call) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({body["ticket"] for body in found}) == 1
    assert ask("GET", "/models/value").body["events"] == before + 1


def test_a_refused_request_is_not_remembered(ask: Caller) -> None:
    wrong = ask("POST", "/models/value/predict", {"features": 3}, Idempotency_Key="fixed")
    assert wrong.status == 422
    right = ask("POST", "/models/value/predict", {"features": {}}, Idempotency_Key="fixed")
    assert right.status == 200


# --- Restarts -------------------------------------------------------------------------------------


def test_a_restart_keeps_models_tickets_tokens_and_answers(tmp_path: Path) -> None:
    body = {"features": {"x": 1.0}, "key": "slow"}
    with serving(tmp_path) as ask:
        token = ask.token
        first = ask("POST", "/models/value/predict", body, Idempotency_Key="early").body
        more = ask("POST", "/models/value/predict", {"features": {}}).body
        before = ask("GET", "/models/value/report").body
    with Server(Settings(store=tmp_path / "test.db", port=0)) as server:
        assert server.token is None
        ask = Caller(server, token)
        for _ in range(200):
            if ask("GET", "/ready").status == 200:
                break
        assert ask("GET", "/models/value/report").body == before
        assert ask("POST", "/models/value/predict", body, Idempotency_Key="early").body == first
        told = [{"key": "slow", "value": 1.0}, {"ticket": more["ticket"], "value": 2.0}]
        assert outcomes(ask("POST", "/models/value/observe", {"items": told})) == ["applied"] * 2
        assert sum(ask("GET", "/models/value/live").body["ages"]["counts"]) == 2
    with Server(Settings(store=tmp_path / "test.db", port=0, new_token=True)) as server:
        assert server.token is not None
        assert Caller(server, token)("GET", "/models").status == 401
        assert Caller(server)("GET", "/models").status == 200


def test_shutdown_finishes_what_was_accepted(tmp_path: Path) -> None:
    said: list[int] = []
    with serving(tmp_path) as ask:
        stopping = threading.Event()

        def load() -> None:
            caller = Caller(ask.server, ask.token)
            while not stopping.is_set():
                try:
                    said.append(caller("POST", "/models/value/predict", {"features": {}}).status)
                except OSError:
                    return
                except Exception:
                    return

        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads:
            thread.start()
        while len(said) < 20:
            pass
        ask.server.stop()
        stopping.set()
        for thread in threads:
            thread.join()
    assert set(said) == {200}
    with serving_again(tmp_path) as server:
        assert len(said) <= server.store.model("value").rounds <= len(said) + 4


def serving_again(folder: Path) -> Server:
    """Return a server on the same store."""
    return Server(Settings(store=folder / "test.db", port=0))


# --- Who may do what ------------------------------------------------------------------------------


def test_scopes_decide_who_may_do_what(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    made = {scope: auth.add(path, scope, [scope]) for scope in auth.SCOPES}
    assert not any(secret in path.read_text() for secret in made.values())
    with serving(tmp_path, tokens=path) as ask:
        ask.token = made["admin"]
        fill(ask)
        for route in ROUTES:
            if route.scope is None or route.scope == "admin" or "{event}" in route.path:
                continue
            where = route.path.replace("{name}", "value")
            for scope, secret in made.items():
                answer = Caller(ask.server, secret)(route.method, where, {})
                is_let_in = scope in (route.scope, "admin")
                assert (answer.status != 403) == is_let_in, (route, scope, answer)
        for scope in ("decide", "answer", "read"):
            caller = Caller(ask.server, made[scope])
            assert caller("DELETE", "/models/value").status == 403
            assert caller("GET", "/models/value/export").status == 403
        dated = {"features": {}, "at": 5.0}
        theirs = Caller(ask.server, made["decide"])("POST", "/models/value/predict", dated)
        assert (theirs.status, theirs.body["error"]["code"]) == (403, "forbidden")
        assert ask("POST", "/models/value/predict", dated).status == 200


def test_without_a_token_there_is_nothing(ask: Caller) -> None:
    stranger = Caller(ask.server, "bl_wrong")
    assert stranger("GET", "/models").status == 401
    assert stranger("GET", "/models", Authorization="Basic eDp5").status == 401
    assert stranger("GET", "/models/value/report").headers["www-authenticate"] == "Bearer"
    for path in ("/", "/health", "/ready", "/openapi.json"):
        assert stranger("GET", path).status == 200
    old = Caller(ask.server, "")("GET", "/models", Ocp_Apim_Subscription_Key=str(ask.token))
    assert old.status == 200  # the header that the clients of another service send
    for _ in range(40):
        if stranger("GET", "/models").status == 429:
            break
    else:
        pytest.fail("anybody may try as many tokens as he likes")
    assert ask("GET", "/models").status == 200


@pytest.mark.parametrize(
    "url",
    ["here:8765", "ftp://here", "http://", "http://here:x", "http://here:99999", "http://here/b"],
)
def test_an_address_that_others_cannot_use_is_refused_at_the_start(
    tmp_path: Path, url: str
) -> None:
    with pytest.raises(SpecError, match="advertise"):
        Server(Settings(store=tmp_path / "x.db", port=0, advertise=url))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text", ["{}", "[]", "x", '{"tokens": [{"name": "a", "sha256": "12", "scopes": ["read"]}]}']
)
def test_a_file_of_tokens_that_cannot_be_used_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokens.json").write_text(text)
    with pytest.raises(SpecError, match="tokens"):
        Server(Settings(store=tmp_path / "x.db", port=0, tokens=tmp_path / "tokens.json"))


# --- Limits ---------------------------------------------------------------------------------------


def test_a_token_may_ask_only_so_often(tmp_path: Path) -> None:
    with serving(tmp_path, Limits(rate=5.0)) as ask:
        answers = [ask("GET", "/models") for _ in range(12)]
        refused = [answer for answer in answers if answer.status == 429]
        assert refused
        assert refused[0].headers["retry-after"] == "1"


def test_a_model_has_so_many_open_tickets(tmp_path: Path) -> None:
    with serving(tmp_path, Limits(open=3)) as ask:

        def predict(*keys: str) -> list[str]:
            items = [{"features": {}, "key": key} for key in keys]
            return outcomes(ask("POST", "/models/value/predict", {"items": items}))

        assert predict("a", "b") == ["applied"] * 2
        assert predict("c", "d") == ["applied", "invalid"]
        alone = ask("POST", "/models/value/predict", {"features": {}})
        assert (alone.status, alone.body["error"]["code"]) == (409, "too_many_open")
        ask("POST", "/models/value/cancel", {"key": "a"})
        assert predict("d") == ["applied"]
        assert predict("e") == ["invalid"]
        event = {"actions": [{"id": "a"}, {"id": "b"}]}
        ranked = [ask("POST", "/models/layout/rank", event).status for _ in range(4)]
        assert ranked == [201, 201, 201, 409]


# --- Everything else ------------------------------------------------------------------------------


def test_every_answer_is_safe_to_show(ask: Caller) -> None:
    for path in ("/", "/models", "/nothing", "/dashboard.js"):
        headers = ask("GET", path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_the_description_is_whole(ask: Caller) -> None:
    served = ask("GET", "/openapi.json").body
    assert served == json.loads(json.dumps(description()))
    for path, operations in served["paths"].items():
        for method, about in operations.items():
            route = next(r for r in ROUTES if (r.path, r.method.lower()) == (path, method))
            assert about.get("x-scope") == route.scope
            assert about["summary"].endswith(".")
    ids = [each["operationId"] for one in served["paths"].values() for each in one.values()]
    assert len(set(ids)) == len(ids)
    names = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(served)))
    assert names <= set(SCHEMAS)


def test_the_description_has_the_members_and_limits_that_are_checked() -> None:
    for verb in {line.name for line in METHODS if line.scope in ("decide", "answer")}:
        one, many = SCHEMAS[verb.capitalize()], SCHEMAS[f"{verb.capitalize()}Items"]
        found = [members(kind, verb) for kind in KINDS if verb in verbs(kind)]
        assert set(one["properties"]) == {each.name for some in found for each in some}
        assert many["properties"]["items"]["maxItems"] == BATCH
        assert one["properties"]["key"]["anyOf"][0]["maxLength"] == TEXT
    choose = SCHEMAS["Choose"]["properties"]
    assert choose["context"]["anyOf"][0]["maxProperties"] == FEATURES
    assert choose["actions"]["anyOf"][0]["maxItems"] == ACTIONS


@pytest.mark.parametrize(
    ("accept", "read", "kind"),
    [
        ("*/*", text_string_to_metric_families, "text/plain"),
        (
            "application/openmetrics-text; version=1.0.0",
            openmetrics.text_string_to_metric_families,
            "application/openmetrics-text",
        ),
    ],
)
def test_metrics_are_read_by_prometheus(ask: Caller, accept: str, read: Any, kind: str) -> None:
    ask("POST", "/models/value/predict", {"features": {}})
    answer = ask("GET", "/metrics", Accept=accept)
    assert answer.headers["content-type"].startswith(kind)
    families = {family.name: family.samples for family in read(answer.body.decode())}
    assert {"model": "value"} in [each.labels for each in families["belated_open_tickets"]]
    applied = {"model": "value", "verb": "predict", "outcome": "applied"}
    assert applied in [each.labels for each in families["belated_events"]]
    assert all(each.value >= 0.0 for family in families.values() for each in family)


def test_middleware_wraps_the_application(tmp_path: Path) -> None:
    seen: list[str] = []

    def noting(app: Any) -> Any:
        async def wrapped(scope: Any, receive: Any, send: Any) -> None:
            seen.append(scope.get("path", scope["type"]))
            await app(scope, receive, send)

        return wrapped

    with serving(tmp_path, middleware=noting) as ask:
        assert ask("GET", "/health").status == 200
    assert seen[0] == "lifespan"
    assert seen[-1] == "/health"


def test_what_is_not_there_says_so(ask: Caller) -> None:
    assert ask("GET", "/nothing").body["error"]["code"] == "no_such_route"
    wrong = ask("PATCH", "/models")
    assert (wrong.status, wrong.headers["allow"]) == (405, "GET, HEAD, POST")
    assert ask("GET", "/models/%ff").body["error"]["code"] == "bad_path"
    assert ask("GET", "/models/a%2Fb").body["error"]["code"] == "unknown_model"
    assert ask("POST", "/models/nobody/predict", {"features": {}}).status == 404


# --- Evaluation -----------------------------------------------------------------------------------


def test_a_chooser_is_evaluated_on_its_log(tmp_path: Path) -> None:
    with serving(tmp_path) as ask:
        assert ask("GET", "/models/layout/evaluate").body["error"]["code"] == "cannot_evaluate"
        assert ask("GET", "/models/value/evaluate").status == 409
        assert ask("GET", "/models/none/evaluate").status == 404
        for place in range(30):
            at = 1000.0 + place
            body = {"context": {"x": place % 2}, "key": f"k{place}", "at": at}
            action = ask("POST", "/models/layout/choose", body).body["action"]
            value = 1 if action == "blue" else 0
            told = {"key": f"k{place}", "value": value, "at": at + 0.5}
            assert ask("POST", "/models/layout/observe", told).status == 200
        ask("POST", "/models/layout/choose", {"key": "last", "at": 5000.0})
        found = ask("GET", "/models/layout/evaluate")
        expected = bl.evaluate(
            ask.server.store.log("layout"), silence=0.0, deadline=timedelta(minutes=10)
        )
        assert found.status == 200
        assert found.body == json.loads(expected.to_json())
        assert found.body["counted"] == 30
        with bl.Client(ask.server.url, str(ask.token)) as client:
            assert client.model("layout").evaluate() == found.body


def test_a_long_log_is_not_evaluated_by_the_server(tmp_path: Path) -> None:
    with serving(tmp_path, Limits(evaluated=1)) as ask:
        for _ in range(2):
            ask("POST", "/models/layout/choose", {})
        found = ask("GET", "/models/layout/evaluate")
        assert (found.status, found.body["error"]["code"]) == (409, "log_too_long")


def test_models_are_made_and_deleted_once_under_a_key(tmp_path: Path) -> None:
    about = {"name": "new", "kind": "LinearModel", "settings": LINEAR}
    with serving(tmp_path) as ask:
        made = [ask("POST", "/models", about, Idempotency_Key="k") for _ in range(2)]
        assert [each.status for each in made] == [201, 201]
        assert made[0].body == made[1].body
        assert made[1].headers["idempotency-replayed"] == "true"
        assert ask("POST", "/models", about).status == 200
        other = {**about, "name": "other"}
        assert ask("POST", "/models", other, Idempotency_Key="k").status == 422
        assert ask("DELETE", "/models/new", Idempotency_Key="k").status == 204
    with serving_again(tmp_path) as server:
        ask = Caller(server, str(ask.token))
        assert ask("DELETE", "/models/new", Idempotency_Key="k").status == 204
        assert ask("DELETE", "/models/new", Idempotency_Key="l").status == 404
        assert ask("POST", "/models", about, Idempotency_Key="k").status == 201  # as it was told
        assert ask("GET", "/models/new").status == 404


def test_the_header_that_was_let_in_last_lets_in_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    one, two = (auth.add(path, name, ["read"]) for name in "ab")
    with serving(tmp_path, tokens=path) as ask:
        for secret in (one, one, two, one):
            shown: dict[str, tuple[int, ...]] = {f"Bearer {secret}": (200,)}
            for wrong in (f"Bearer {secret}x", f"Bearer {secret[:-1]}", f"Basic {secret}"):
                shown[wrong] = (401, 429)  # which is said after ten of them
            for header, expected in shown.items():
                assert ask("GET", "/models", Authorization=header).status in expected


@pytest.mark.parametrize(
    ("method", "path", "body", "values"),
    [
        ("POST", "", {"name": "a", "kind": "x"}, "LinearModel, Intervals, Chooser, Knobs, Learner"),
        ("POST", "/layout/rebuild", {"kind": "x"}, "LinearModel, Intervals"),
        ("PUT", "/layout/mode", {"mode": "x"}, "learn, apprentice"),
        ("PUT", "/layout/rewards", {"rewards": "x"}, "earliest, sum"),
    ],
)
def test_the_refusal_of_a_word_lists_those_that_there_are(
    tmp_path: Path, method: str, path: str, body: Any, values: str
) -> None:
    with serving(tmp_path) as ask:
        refusal = ask(method, f"/models{path}", body)
        assert refusal.status == 422
        assert f"there are: {values}" in refusal.body["error"]["message"]


def test_a_key_is_erased_with_the_responses_that_have_it(tmp_path: Path) -> None:
    with serving(tmp_path) as ask:
        item = {"features": {"x": 1.0}, "key": "someone"}
        first = ask("POST", "/models/value/predict", item, Idempotency_Key="k")
        ask("POST", "/models/value/observe", {"key": "someone", "value": 1.0})
        for _ in range(2):  # a repeated request gets the first response
            body = {"key": "someone", "rebuild": True}
            erased = ask("POST", "/models/value/erase", body, Idempotency_Key="e")
            assert (erased.status, erased.body) == (200, {"tickets": 1, "events": 2})
        again = ask("POST", "/models/value/predict", item, Idempotency_Key="k")
        assert (again.status, first.status) == (422, 200)  # its first response is not known
        told = ask("POST", "/models/value/observe", {"key": "someone", "value": 1.0})
        assert told.body["error"]["code"] == "unknown_ticket"
        erased = ask("POST", "/models/value/erase", {"key": "someone"})
        assert erased.body == {"tickets": 0, "events": 0}
    assert b"someone" not in (tmp_path / "test.db").read_bytes()


@pytest.mark.parametrize("deadline", [b"nan", b"-inf", b"0", b"soon", b""])
def test_a_forwarded_request_without_a_deadline_to_come_is_too_late(
    tmp_path: Path, deadline: bytes
) -> None:
    with bl.open(tmp_path / "x.db") as store:
        with pytest.raises(Refused, match="waits no longer"):
            check_deadline(store, deadline)
        check_deadline(store, None)
        check_deadline(store, b"%.3f" % (store.clock + 60.0))


def test_a_prediction_stays_in_few_files(tmp_path: Path) -> None:
    """Count the files of belated, outside of the compiled core, that one request runs through."""
    root, seen = str(Path(bl.__file__).parent), set()

    def note(frame: Any, event: str, argument: Any) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(root):
            seen.add(path.removeprefix(root).lstrip("/"))

    async def predict(app: App, token: str, path: str, body: bytes) -> list[Any]:
        headers = [(b"authorization", f"Bearer {token}".encode())]
        scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode()}
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        async def send(message: Any) -> None:
            sent.append(message)

        await app({**scope, "headers": headers}, receive, send)
        return sent

    async def count(app: App, token: str) -> None:
        about = b'{"name": "m", "kind": "LinearModel", "settings": {"bits": 8}}'
        await predict(app, token, "/models", about)
        await predict(app, token, "/models/m/predict", b'{"features": {"a": 1}}')
        sys.setprofile(note)
        try:
            sent = await predict(app, token, "/models/m/predict", b'{"features": {"a": 1}}')
        finally:
            sys.setprofile(None)
        assert sent[0]["status"] == 200

    with bl.open(tmp_path / "x.db") as store:
        hub = Hub(store, Limits())
        asyncio.run(count(App(hub), str(hub.own_token())))
        hub.close()
    assert len({path for path in seen if not path.startswith("core/")}) <= 12, sorted(seen)
