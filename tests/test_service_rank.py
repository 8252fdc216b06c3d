"""The shapes that users of Personalizer know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

from service_calls import Caller, serving

RANK = {
    "contextFeatures": [{"timeOfDay": "morning"}, {"device": {"os": "ios", "isNew": True}}],
    "actions": [
        {"id": "pasta", "features": [{"taste": "salty"}, {"nutrition": {"calories": 200}}]},
        {"id": "ice cream", "features": [{"taste": "sweet"}]},
        {"id": "juice"},
    ],
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Return a client of a server with a model that ranks."""
    with serving(tmp_path_factory.mktemp("rank")) as caller:
        assert caller("POST", "/rank", RANK).body["error"]["code"] == "unknown_model"
        settings = {"silence": 0, "deadline": "PT10M", "bits": 8}
        about = {"name": "rank", "kind": "Chooser", "settings": settings}
        assert caller("POST", "/models", about).status == 201
        yield caller


def test_a_rank_names_an_action_and_all_probabilities(ask: Caller) -> None:
    found = ask("POST", "/rank", {**RANK, "eventId": "first"})
    assert found.status == 201
    assert set(found.body) == {"ranking", "eventId", "rewardActionId"}
    assert found.body["eventId"] == "first"
    ranking = {each["id"]: each["probability"] for each in found.body["ranking"]}
    assert set(ranking) == {"pasta", "ice cream", "juice"}
    assert sum(ranking.values()) == pytest.approx(1.0)
    assert found.body["rewardActionId"] in ranking
    told = ask("POST", "/events/first/reward", {"value": 1.0})
    assert (told.status, told.body, told.headers["belated-outcome"]) == (204, b"", "applied")
    assert ask("POST", "/events/first/reward", {"value": 1.0}).headers["belated-outcome"] == (
        "duplicate"
    )
    assert ask("POST", "/events/never/reward", {"value": 1.0}).status == 404


def test_an_event_that_is_ranked_again_gets_the_first_answer(ask: Caller) -> None:
    event = {**RANK, "eventId": "twice"}
    first = ask("POST", "/rank", event)
    rounds = ask("GET", "/models/rank").body["rounds"]
    assert ask("POST", "/personalizer/v1.0/rank", event).body == first.body
    assert ask("GET", "/models/rank").body["rounds"] == rounds
    assert ask("POST", "/rank", event, Idempotency_Key="a try").body == first.body
    refused = ask("POST", "/rank", {**event, "actions": RANK["actions"][:2]})
    assert (refused.status, refused.body["error"]["code"]) == (409, "event_taken")
    assert "'twice'" in refused.body["error"]["message"]
    assert "Idempotency-Key" not in refused.body["error"]["message"]


def test_an_event_is_ranked_once_whatever_key_its_requests_have(ask: Caller) -> None:
    event = {**RANK, "eventId": "keyed"}
    first = ask("POST", "/rank", event, Idempotency_Key="one")
    assert first.status == 201
    rounds = ask("GET", "/models/rank").body["rounds"]
    assert ask("POST", "/rank", event).body == first.body
    assert ask("POST", "/rank", event, Idempotency_Key="two").body == first.body
    assert ask("POST", "/models/rank/rank", event).body == first.body
    assert ask("POST", "/events/keyed/reward", {"value": 1.0}).status == 204
    assert ask("POST", "/rank", event).body == first.body
    assert ask("GET", "/models/rank").body["rounds"] == rounds
    ask.server.hub.responses._known.clear()  # as a day later
    assert ask("POST", "/rank", {**RANK, "eventId": "old"}).status == 201
    ask.server.hub.responses._known.clear()
    refused = ask("POST", "/rank", {**RANK, "eventId": "old"})
    assert (refused.status, refused.body["error"]["code"]) == (409, "event_taken")
    assert "waits for its reward" in refused.body["error"]["message"]


def test_what_is_held_back_is_activated_first(ask: Caller) -> None:
    ask("POST", "/rank", {**RANK, "eventId": "held", "deferActivation": True})
    refused = ask("POST", "/events/held/reward", {"value": 1}).body["error"]
    assert refused["code"] == "bad_answer"
    assert "is not activated" in refused["message"]
    stranger = Caller(ask.server, "")("POST", "/rank", RANK).body["error"]
    assert "Ocp-Apim-Subscription-Key" in stranger["message"]
    assert ask("POST", "/events/held/activate").status == 204
    assert ask("POST", "/events/held/reward", {"value": 1}).status == 204


def test_excluded_actions_are_ranked_last_and_never_chosen(ask: Caller) -> None:
    found = ask("POST", "/rank", {**RANK, "excludedActions": ["juice", "pasta", "tea"]}).body
    assert [tuple(each.values()) for each in found["ranking"]] == [
        *(("ice cream", 1.0), ("pasta", 0.0), ("juice", 0.0))
    ]
    assert found["rewardActionId"] == "ice cream"
    nothing = {**RANK, "excludedActions": ["pasta", "juice", "ice cream"]}
    assert ask("POST", "/rank", nothing).status == 422


def test_an_apprentice_plays_the_first_action(ask: Caller) -> None:
    assert ask("PUT", "/models/rank/mode", {"mode": "apprentice"}).status == 200
    found = ask("POST", "/rank", RANK).body
    assert found["rewardActionId"] == "pasta"
    assert found["ranking"][0] == {"id": "pasta", "probability": 1.0}
    assert "apprentice" in ask("GET", "/models/rank/live").body["why"]
    assert ask("PUT", "/models/rank/mode", {"mode": "learn"}).status == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"actions": []},
        {"actions": ["pasta"]},
        {"actions": [{"features": []}]},
        {"actions": [{"id": "a"}, {"id": "a"}]},
        {"actions": [{"id": "a", "features": [3]}]},
        {"actions": [{"id": "a"}], "contextFeatures": "x"},
        {"actions": [{"id": "a"}], "excludedActions": [3]},
        {"actions": [{"id": "a"}], "deferActivation": 1},
        {"actions": [{"id": "a"}], "eventId": 3},
    ],
)
def test_a_rank_that_cannot_be_is_refused(ask: Caller, body: Any) -> None:
    rounds = ask("GET", "/models/rank").body["rounds"]
    assert ask("POST", "/rank", body).status == 422
    assert ask("GET", "/models/rank").body["rounds"] == rounds


def test_rewards_may_be_summed(ask: Caller) -> None:
    about = {"silence": 0, "bits": 8}
    ask("POST", "/models", {"name": "basket", "kind": "Chooser", "settings": about})
    assert ask("PUT", "/models/basket/rewards", {"rewards": "sum"}).status == 200
    ask("POST", "/models/basket/rank", {**RANK, "eventId": "b"})
    for key in ("one", "one", "two"):  # the second is the first, again
        told = ask("POST", "/models/basket/events/b/reward", {"value": 2}, Idempotency_Key=key)
        assert told.status == 204
    assert ask("GET", "/models/basket/report").body["mean_reward"] == 4.0
    assert ask("PUT", "/models/basket/rewards", {"rewards": "mean"}).status == 422
    silent = {"name": "silent", "kind": "Chooser", "settings": {"bits": 8}}
    assert ask("POST", "/models", silent).body["rewards"] == "earliest"
    refused = ask("PUT", "/models/silent/rewards", {"rewards": "sum"})  # of which nothing is known
    assert (refused.status, refused.body["error"]["code"]) == (409, "no_silence")
    assert ask("GET", "/models/silent").body["rewards"] == "earliest"


def test_a_reward_that_is_sent_again_says_what_came_of_it(ask: Caller) -> None:
    assert ask("POST", "/rank", {**RANK, "eventId": "again", "deferActivation": True}).status == 201
    for what, body in (("activate", None), ("reward", {"value": 1.0})):
        for _ in range(2):
            told = ask("POST", f"/events/again/{what}", body, Idempotency_Key=f"once-{what}")
            assert (told.status, told.body) == (204, b"")
            assert told.headers["belated-outcome"] == "applied"
        assert told.headers["idempotency-replayed"] == "true"
