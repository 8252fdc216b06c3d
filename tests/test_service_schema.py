"""The OpenAPI description under fire: whatever it allows, and much that it forbids, is no 5xx."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytest.importorskip("schemathesis", reason="schemathesis is not installed")

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from belated.service import Limits
from service_calls import Caller, serving
from test_service_answered import MODELS

pytestmark = pytest.mark.slow
schemathesis: Any = importlib.import_module("schemathesis")
EXAMPLES = 25  # of every operation


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Return a caller of a server with few places, so that models do not pile up."""
    with serving(tmp_path_factory.mktemp("schema"), Limits(models=30, bits=10)) as caller:
        for kind in ("Knobs", "Intervals", "Learner"):
            made = {"name": kind.lower(), "kind": kind, "settings": MODELS[kind]}
            assert caller("POST", "/models", made).status == 201
        yield caller


def operations(ask: Caller) -> list[Any]:
    """Return all operations that take JSON or nothing, as the server describes them."""
    schema = schemathesis.openapi.from_dict(ask("GET", "/openapi.json").body)
    found = [each.ok() for each in schema.get_all_operations()]
    return [each for each in found if not each.path.endswith("/import")]


def named(case: Any, name: str) -> None:
    """Let some cases be about a model that is there."""
    if "name" in case.path_parameters and name:
        case.path_parameters["name"] = name


def test_the_description_is_sound(ask: Caller) -> None:
    found = operations(ask)
    assert {f"{each.method.upper()} {each.path}" for each in found} >= {
        "POST /models",
        "GET /models/{name}/evaluate",
        "POST /rank",
    }


@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_no_request_makes_the_server_fail(ask: Caller, mode: str) -> None:
    kinds = {each.value: each for each in schemathesis.GenerationMode}
    failed: list[str] = []

    def fire(operation: Any) -> None:
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )
        @given(
            case=operation.as_strategy(generation_mode=kinds[mode]),
            name=st.sampled_from(["", "value", "layout", "knobs", "intervals", "learner"]),
        )
        def sent(case: Any, name: str) -> None:
            if operation.method.upper() != "DELETE":
                named(case, name)
            answer = case.call(
                base_url=ask.server.url, headers={"Authorization": f"Bearer {ask.token}"}
            )
            if answer.status_code >= 500:
                failed.append(f"{operation.method} {operation.path} {case.body!r}: {answer.text}")
            elif answer.status_code >= 400 and answer.content:
                assert set(answer.json()) == {"error"}
            if mode == "positive":
                check(operation, case, answer)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sent()

    for operation in operations(ask):
        with suppress(Unsatisfiable):  # nothing can be forbidden of it
            fire(operation)
    assert not failed, failed[:5]
    assert ask("GET", "/health").status == 200


def check(operation: Any, case: Any, answer: Any) -> None:
    """Compare an answer with what is described of it."""
    if answer.status_code < 400:
        operation.validate_response(answer, case=case)
