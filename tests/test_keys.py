"""Keys of learners: names that users give to their tickets, kept through restarts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.errors import AlreadyObserved, BadFeedback, BadKey, SnapshotError, UnknownTicket
from compositions import COMPOSITIONS
from conftest import examples, shortened
from rival_laws import ONE_OF_EACH as RIVALS
from rival_laws import ROUNDS, answers, follow, learner, life
from sealing import rewritten

PLAIN = bl.FirstOrder(bl.PFTRL(bl.Ball(2), bl.rates.DelayAdaptive(1.0)))
ANSWER = [0.3, -0.4]


def test_keys_stand_for_tickets() -> None:
    named = bl.Learner(PLAIN)
    assert named.predict(key="order-120").ticket == 0
    named.predict(key="order-121")
    with pytest.raises(BadKey, match="still open"):
        named.predict(key="order-120")
    for wrong in (7, np.int64(7), 1.5, b"order", ("a",), True, np.float64(3)):
        with pytest.raises(BadKey, match=r"a key is a string, got .* use str\(id\)"):
            named.predict(key=wrong)  # type: ignore[arg-type]
    assert (named.rounds, named.ticket("order-121"), named.ticket(1)) == (2, 1, 1)
    with pytest.raises(BadFeedback):
        named.observe("order-120", [np.nan, 0.0])
    assert named.observe("order-120", ANSWER)
    with pytest.raises(UnknownTicket, match="order-120"):
        named.observe("order-120", ANSWER)
    named.cancel("order-121")
    for verb in (named.cancel, named.ticket):
        with pytest.raises(UnknownTicket, match="order-121"):
            verb("order-121")
    named.predict(key="order-120")  # free again
    assert named.observe(2, ANSWER)  # the number is still its ticket
    with pytest.raises(AlreadyObserved):
        named.observe("order-120", ANSWER)


def test_keys_change_no_play() -> None:
    named, bare = bl.Learner(PLAIN), bl.Learner(PLAIN)
    for t in range(20):
        assert named.predict(key=f"order-{t}").x.tobytes() == bare.predict().x.tobytes()
        if t % 3 == 2:
            assert named.observe(f"order-{t - 2}", ANSWER) == bare.observe(t - 2, ANSWER)
    assert named.report() == bare.report()


def test_a_learner_without_keys_refuses_text() -> None:
    bare = bl.Learner(PLAIN)
    bare.predict()
    for verb in (lambda name: bare.observe(name, ANSWER), bare.cancel, bare.ticket):
        with pytest.raises(UnknownTicket, match="'order-1'"):
            verb("order-1")
    assert bare.open == 1


def test_a_restored_learner_does_not_take_one_for_another() -> None:
    before = bl.Learner(PLAIN)
    before.predict(key="kept")
    blob = before.snapshot()
    before.predict(key="lost")
    after = bl.Learner.restore(blob)
    after.predict(key="next")  # has the number of the lost one
    with pytest.raises(UnknownTicket, match="'lost'"):
        after.observe("lost", ANSWER)
    assert after.observe("kept", ANSWER)
    assert after.observe("next", ANSWER)


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


@pytest.mark.parametrize("name", ["first-adagrad-3", "full-omd-l1-tight-7"])
def test_users_parts_and_functions_take_keys(name: str) -> None:
    composition = COMPOSITIONS[name]
    named = composition.learner()
    width = named.predict(key="a").x.size
    answer: Any = (lambda x: np.zeros(x.shape)) if name.startswith("full") else np.zeros(width)
    named = bl.Learner.restore(named.snapshot(), composition.spec())
    assert named.observe("a", answer)
    with pytest.raises(UnknownTicket):
        named.observe("a", answer)


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


@examples(25)
@given(st.lists(st.tuples(st.sampled_from("poxsr"), st.integers(0, 5)), max_size=40))
def test_any_life_with_keys_is_that_of_a_dict(events: list[tuple[str, int]]) -> None:
    """Predict, observe, cancel, save and restart, against names that are looked up by hand."""
    named = bl.Learner(PLAIN)
    names: dict[str, int] = {}
    blob, saved_names = named.snapshot(), dict(names)
    for kind, number in events:
        name = f"order-{number}"
        if kind == "p":
            if name in names:
                with pytest.raises(BadKey):
                    named.predict(key=name)
            else:
                names[name] = named.predict(key=name).ticket
        elif kind in "ox":
            arguments = (name,) if kind == "x" else (name, ANSWER)
            verb: Any = named.cancel if kind == "x" else named.observe
            if name in names:
                assert named.ticket(name) == names.pop(name)
                verb(*arguments)
            else:
                with pytest.raises(UnknownTicket):
                    verb(*arguments)
        elif kind == "s":
            blob, saved_names = named.snapshot(), dict(names)
        else:
            named, names = bl.Learner.restore(blob), dict(saved_names)
        assert named.open == len(names)
