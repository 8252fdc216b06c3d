"""Whatever comes in: no failure of the server, one shape of refusal, and nothing changed by it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import time
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import belated as bl
import belated.service
from belated.errors import NotCommitted
from belated.service import Limits
from belated.service.app import AccessLog
from belated.service.idempotency import Kept, Responses
from belated.service.personalizer import flattened
from belated.service.requests import Refused
from belated.service.routes import ROUTES
from belated.store import Store
from conftest import examples
from service_calls import CHOOSER, Answer, Caller, serving

FEW = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
HOSTILE = (
    "<script>alert(1)</script>",
    "'; DROP TABLE models; --",
    "../../etc/passwd",
    'a"}\n{"level": "x',
    "a\r\nSet-Cookie: x=1",
    "\x00",
    "%s%n{0}",
    "\u202etxt",
    "é" * 10,
)


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Return a client of a server that writes down what it is asked."""
    with serving(tmp_path_factory.mktemp("attacks")) as caller:
        caller("POST", "/models", {"name": "rank", "kind": "Chooser", "settings": {"bits": 8}})
        yield caller


def state(ask: Caller) -> Any:
    """Return all that a refused request must leave as it is."""
    models = [each["name"] for each in ask("GET", "/models").body["models"]]
    return models, [ask("GET", f"/models/{name}").body for name in models]


def check(ask: Caller, answer: Answer, before: Any) -> None:
    """A refusal has the one shape, and changed nothing."""
    assert answer.status < 500, answer
    if answer.status >= 400:
        assert set(answer.body) == {"error"}
        assert set(answer.body["error"]) == {"code", "message"}
        assert state(ask) == before


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(HOSTILE),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                (
                    *("features", "key", "value", "ticket", "items", "context", "actions", "at"),
                    *(
                        "deadline",
                        "weight",
                        "shown",
                        "baseline",
                        "name",
                        "kind",
                        "settings",
                        "bits",
                    ),
                    *("id", "eventId", "contextFeatures", "excludedActions", "mode", "to", "loss"),
                )
            )
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
routes = st.sampled_from([route for route in ROUTES if route.method != "GET"])


@FEW
@given(route=routes, body=json_values, name=st.sampled_from(("value", "layout", "rank", "none")))
def test_any_json_is_answered(ask: Caller, route: Any, body: Any, name: str) -> None:
    before = state(ask)
    path = route.path.replace("{name}", name).replace("{event}", "e")
    if route.method == "DELETE":
        path = path.replace(name, "none")
    check(ask, ask(route.method, path, body), before)


@FEW
@given(route=routes, body=st.binary(max_size=40))
def test_any_bytes_are_answered(ask: Caller, route: Any, body: bytes) -> None:
    before = state(ask)
    path = route.path.replace("{name}", "none").replace("{event}", "e")
    check(ask, ask.raw(route.method, path, body), before)


@FEW
@given(path=st.text("abc/%2eF.ü\\?#&=", max_size=20), method=st.sampled_from(("GET", "POST")))
def test_any_path_is_answered(ask: Caller, path: str, method: str) -> None:
    before = state(ask)
    sent = "/" + quote(path, safe="/%?&=.")
    answer = ask.raw(method, sent, b"{}" if method == "POST" else None)
    if answer.status >= 400:
        check(ask, answer, before)


@examples(15)
@given(first=st.binary(max_size=60))
def test_any_bytes_on_the_wire_leave_the_server_alive(ask: Caller, first: bytes) -> None:
    with socket.create_connection((ask.server.host, ask.server.port), timeout=10) as wire:
        wire.sendall(first + b"\r\n\r\n")
        wire.shutdown(socket.SHUT_WR)
        while wire.recv(4096):
            pass
    assert ask("GET", "/health").status == 200


@pytest.mark.parametrize(
    "body",
    [
        b'{"features": {"x": NaN}}',
        b'{"features": {"x": 1e999}}',
        b'{"features": {"x": ' + b"9" * 400 + b"}}",
        b'{"features": {"x": ' + b"9" * 5000 + b"}}",
        b'{"features": {"\\ud800": 1}}',
        b'{"features": {}, "key": "\\udfff"}',
        b"[" * 100_000,
        b'{"features": ' + b'{"a":' * 5000,
        b"\xff\xfe",
        b"",
        b'{"features": {"x": true}, "key": true}',
        b'{"features": [true]}',
        b'{"features": [1e400]}',
        b'{"features": [[1]]}',
        b'{"features": {"x": {}}}',
        b'{"features": {}, "deadline": -1}',
        b'{"features": {}, "deadline": 1e300}',
        b'{"features": {}, "at": 1e300}',
        b'{"features": {}, "at": "9999-12-31T23:59:59-23:59"}',
        b'{"features": {}, "at": "0001-01-01T00:00:00+23:59"}',
    ],
)
def test_strange_numbers_and_texts_are_refused(ask: Caller, body: bytes) -> None:
    before = state(ask)
    answer = ask.raw("POST", "/models/value/predict", body)
    check(ask, answer, before)
    assert answer.status in (400, 422) or b'"at"' in body


@pytest.mark.parametrize("text", HOSTILE)
def test_names_of_strangers_are_data_everywhere(ask: Caller, text: str) -> None:
    chosen = ask(
        "POST",
        "/models/rank/choose",
        {"actions": [text, "b"], "context": {text: text}, "key": text},
    )
    assert chosen.status == 200, chosen
    assert chosen.body["action"] in (text, "b")
    heard = ask("POST", "/models/rank/observe", {"key": text, "value": 1})
    assert heard.body == {"outcome": "applied"}
    assert chosen.body["action"] in ask("GET", "/models/rank/report").body["actions"]
    event = {"actions": [{"id": text}], "eventId": text}
    assert ask("POST", "/rank", event).body["rewardActionId"] == text
    told = ask("POST", f"/events/{quote(text, safe='')}/reward", {"value": 1.0})
    assert told.status == 204, told
    page = ask("GET", "/").body.decode()
    assert text == "\x00" or text not in page
    assert b"\r" not in ask("GET", "/metrics").body
    assert ask("POST", "/models", {"name": text, "kind": "LinearModel"}).status == 422


@pytest.mark.parametrize("begin", [b"{", b""])
def test_a_body_that_never_comes_is_given_up_on(
    tmp_path_factory: pytest.TempPathFactory, begin: bytes
) -> None:
    with (
        serving(tmp_path_factory.mktemp("slow"), Limits(patience=0.2)) as ask,
        socket.create_connection((ask.server.host, ask.server.port), timeout=10) as wire,
    ):
        wire.sendall(
            b"POST /models/value/predict HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n"
            b"Authorization: Bearer " + str(ask.token).encode() + b"\r\n\r\n" + begin
        )
        assert b" 408 " in wire.recv(4096)


def test_a_line_of_the_log_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for text in HOSTILE:
        AccessLog("json").write("request", path=text)
        line = capsys.readouterr().err
        assert line.count("\n") == 1
        assert json.loads(line)["path"] == text
        AccessLog("text").write("request", path=text)
        assert capsys.readouterr().err.count("\n") == 1


def test_nothing_unpickles() -> None:
    for path in Path(belated.service.__file__).parent.glob("*.py"):
        assert "pickle" not in path.read_text()
        assert "eval(" not in path.read_text()


def test_names_are_bounded_while_they_are_made() -> None:
    long = {"n" * 10_000: {f"{i}": {f"{j}": 1 for j in range(50)} for i in range(50)}}
    with pytest.raises(Refused, match="at most 500 characters"):
        flattened([long], "doc")
    with pytest.raises(Refused, match="at most 1000 features"):
        flattened([{"a": list(range(100_000))}], "doc")


def test_choices_that_would_take_long_are_refused(tmp_path: Path) -> None:
    context = {f"c{i}": 1.0 for i in range(9)}
    actions: dict[str, Any] = {"a": {"x": 1, "y": 2}, "b": None}
    ranked = [{"id": "a", "features": [{"x": 1, "y": 2}]}, {"id": "b"}]
    with serving(tmp_path, Limits(products=40)) as ask:

        def code(verb: str, body: Any) -> Any:
            said = ask("POST", f"/models/layout/{verb}", body)
            return said.status, said.body.get("error", {}).get("code")

        item = {"context": context, "actions": actions}
        assert code("choose", item)[0] == 200  # 10 x 4
        assert code("peek", item)[0] == 200
        assert code("rank", {"contextFeatures": [context], "actions": ranked})[0] == 201
        said = ask("POST", "/models/layout/choose", {"items": [item, item]}).body["items"]
        assert [each["outcome"] for each in said] == ["applied", "invalid"]
        context["c9"] = 1.0
        too_many = 422, "too_many_products"
        assert code("choose", item) == too_many
        assert code("peek", item) == too_many
        assert code("rank", {"contextFeatures": [context], "actions": ranked}) == too_many
        plain = {"context": {f"c{i}": 1.0 for i in range(20)}}
        assert code("choose", plain) == too_many  # with the actions of the model
        few = {"actions": ["a"], "interactions": ["c1"], "bits": 8}
        ask("POST", "/models", {"name": "few", "kind": "Chooser", "settings": few})
        assert ask("POST", "/models/few/choose", plain).status == 200


def talk(ask: Caller, *parts: bytes) -> bytes:
    """Send parts, and return all that comes back until the server hangs up."""
    found = b""
    with socket.create_connection((ask.server.host, ask.server.port), timeout=20) as wire:
        try:
            for part in parts:
                wire.sendall(part)
            while more := wire.recv(65536):
                found += more
        except ConnectionError:  # it hung up while more was sent
            pass
    return found


GET = b"GET /health HTTP/1.1\r\nHost: x\r\n"


def test_heads_are_bounded_in_bytes(tmp_path: Path) -> None:
    with serving(tmp_path, Limits(patience=0.3)) as ask:
        close = b"Connection: close\r\n\r\n"
        assert talk(ask, GET + b"A: b\r\n" * 90 + close).startswith(b"HTTP/1.1 200")
        assert not talk(ask, GET + b"A: " + b"b" * 200_000 + b"\r\n\r\n").startswith(
            b"HTTP/1.1 200"
        )
        assert b" 200 " not in talk(ask, GET + b"A: ", *[b"b" * 1000] * 5000)
        chunked = b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nT: "
        assert talk(ask, GET + chunked, *[b"b" * 1000] * 5000) is not None  # a trailer without end
        big = b"Content-Length: 100000\r\n\r\n" + b"x" * 100_000
        two = talk(ask, GET + big + GET + close)  # a long body is no head
        assert two.count(b"HTTP/1.1 200") == 2


def test_answers_are_kept_in_so_many_bytes(tmp_path: Path) -> None:
    with bl.open(tmp_path / "test.db") as store:
        responses = Responses(store, most_bytes=100)
        for i in range(10):
            kept = Kept(bytes(32), 200, bytes(30), time())
            store.keep(f"service:answer:{i}", kept.note)
            responses.add(f"service:answer:{i}", kept)
        assert list(responses._known) == [f"service:answer:{i}" for i in (7, 8, 9)]
        responses.tidy()
        assert len(store.notes("service:answer:")) <= 4
        again = Responses(store, most_bytes=100)
        again.load()
        assert list(again._known) == [f"service:answer:{i}" for i in (7, 8, 9)]


def test_long_texts_that_are_refused_are_not_kept(tmp_path: Path) -> None:
    with serving(tmp_path) as ask:
        items: list[Any] = [{"features": {}}, *[{"features": {}, "x" * 4500: 1}] * 50]
        said = ask("POST", "/models/value/predict", {"items": items}, Idempotency_Key="k")
        assert [each["outcome"] for each in said.body["items"]] == ["applied"] + ["invalid"] * 50
        (note,) = ask.server.store.notes("service:answer:")
        assert len(note.body) < 51 * 600  # messages have 500 characters at most


def test_answers_of_a_model_that_was_deleted_are_none_of_the_next(tmp_path: Path) -> None:
    body = {"actions": [{"id": "a"}, {"id": "b"}], "eventId": "e"}
    with serving(tmp_path) as ask:
        for _ in range(2):
            assert ask("POST", "/models/layout/rank", body).status == 201
            assert ask("GET", "/models/layout").body["rounds"] == 1
            assert ask("DELETE", "/models/layout").status == 204
            about = {"name": "layout", "kind": "Chooser", "settings": CHOOSER}
            assert ask("POST", "/models", about).status == 201


def test_there_are_no_more_models_than_there_may_be_however_many_are_made_at_once(
    tmp_path: Path,
) -> None:
    with serving(tmp_path, Limits(models=3)) as ask:

        def make(place: int) -> int:
            about = {"name": f"m{place}", "kind": "LinearModel", "settings": {"bits": 8}}
            return ask("POST", "/models", about).status

        with ThreadPoolExecutor(6) as pool:
            assert sorted(pool.map(make, range(6))) == [201] + [409] * 5
        assert len(ask("GET", "/models").body["models"]) == 3


def test_nobody_else_may_read_a_store_that_the_server_made(tmp_path: Path) -> None:
    with serving(tmp_path):
        assert (tmp_path / "test.db").stat().st_mode & 0o077 == 0


def test_rewards_that_could_not_be_kept_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(store: Store, *_: object) -> None:
        raise NotCommitted("the disk is full")

    with serving(tmp_path) as ask:
        with monkeypatch.context() as patch:
            patch.setattr(Store, "keep", full)
            assert ask("PUT", "/models/layout/rewards", {"rewards": "sum"}).status == 503
        assert ask.server.hub.models["layout"].rewards == "earliest"


def test_a_disk_that_is_full_is_no_fault_of_the_request(tmp_path: Path) -> None:
    with serving(tmp_path) as ask:
        database: Any = ask.server.store._database
        database.pragmas["max_page_count"] = 1  # which is no more than there are
        ask.server.store.writer.run(lambda: database._fail(Exception()))
        about = {"name": "new", "kind": "LinearModel", "settings": {"bits": 12}}
        said = ask("POST", "/models", about)
        assert (said.status, said.body["error"]["code"]) == (507, "disk_full")
        event = {"features": {f"name {place}": "x" * 400 for place in range(900)}}
        said = ask("POST", "/models/value/predict", event)
        assert (said.status, said.body["error"]["code"]) == (503, "not_committed")
        assert said.headers["retry-after"] == "1"
        del database.pragmas["max_page_count"]
        ask.server.store.writer.run(lambda: database._fail(Exception()))
        assert ask("POST", "/models", about).status == 201
