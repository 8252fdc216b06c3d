"""Keys of learners: names that users give to their tickets, kept through restarts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.errors import SnapshotError, UnknownTicket
from conftest import shortened
from rival_laws import ONE_OF_EACH as RIVALS
from rival_laws import ROUNDS, answers, follow, learner, life
from sealing import rewritten

PLAIN = bl.FirstOrder(bl.PFTRL(bl.Ball(2), bl.rates.DelayAdaptive(1.0)))
ANSWER = [0.3, -0.4]


def test_keys_of_closed_tickets_are_forgotten() -> None:
    named = bl.Learner(bl.Deadline(PLAIN, 10, forget=20))
    for i in range(1000):
        named.predict(key=f"visit-{i}")
    assert len(named._keys.ticket_of) < 100
    assert named.observe("visit-995", ANSWER)
    assert not named.observe("visit-985", ANSWER)  # given up on, and still known
    with pytest.raises(UnknownTicket):
        named.observe("visit-3", ANSWER)
    named.predict(key="visit-984")  # no longer open, so that its key may be given again


@pytest.mark.parametrize("case", RIVALS, ids=lambda case: case.name)
def test_rivals_take_keys(case: Any) -> None:
    """A life under keys, through snapshots, is the same."""
    events = life(case, rounds=shortened(ROUNDS))
    plays = follow(learner(case), events, answers(case).fast)
    named: Any = Renamed(learner(case))
    again = follow(named, events, answers(case).fast)
    assert np.array(again.plays).tobytes() == np.array(plays.plays).tobytes()
    assert again.used == plays.used


class Renamed:
    """A learner that is spoken to with keys alone, and restarted after every prediction."""

    def __init__(self, inside: bl.Learner) -> None:
        self.inside = inside

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inside, name)

    def predict(self) -> bl.Decision:
        decision = self.inside.predict(key=f"order-{self.inside.rounds}")
        self.inside = bl.Learner.restore(self.inside.snapshot())
        return decision

    def observe(self, ticket: int, answer: Any) -> bool:
        return self.inside.observe(f"order-{ticket}", answer)

    def cancel(self, ticket: int) -> None:
        self.inside.cancel(f"order-{ticket}")


@pytest.mark.parametrize(
    "changes",
    [
        {"keys": ...},
        {"keys": None},
        {"keys": [["a"]]},
        {"keys": [["a", 9]]},
        {"keys": [["a", 0], ["b", 0]]},
        {"keys": [["a", 0], ["a", 1]]},
        {"keys": [[3, 0]]},
        {"keys": [[True, 0]]},
        {"keys": [[None, 0]]},
        {"keys": [["a", "0"]]},
    ],
    ids=str,
)
def test_keys_that_cannot_be_are_refused(changes: dict[str, Any]) -> None:
    named = bl.Learner(PLAIN)
    named.predict(key="a")
    named.predict(key="b")
    with pytest.raises(SnapshotError, match="the keys cannot be read"):
        bl.Learner.restore(rewritten(named.snapshot(), changes))
