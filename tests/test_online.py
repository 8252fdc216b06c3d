"""What models do not support, replays of intervals, and short call paths."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import belated as bl
from belated.errors import Unsupported
from conftest import Python
from kinds import KINDS
from laws import lived


class Tagged(bl.LinearModel):
    """A model with a private slot."""

    __slots__ = ("__tag",)

    def __init__(self, tag: str) -> None:
        super().__init__(bits=4)
        self.__tag = tag

    def tag(self) -> str:
        """Return what only this class knows."""
        return self.__tag


def test_copies_keep_private_slots() -> None:
    model = Tagged("a")
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again.tag() == "a"


LEARNER: tuple[Callable[[Any, Any], Any], ...] = (
    lambda model, good: model.tick(1.0),
    lambda model, good: model.revise("newest", good),
    lambda model, good: model.add("newest", 1.0),
    lambda model, good: model.observe("newest", good, at=1.0),
    lambda model, good: model.observe("newest", good, weight=2.0),
    lambda model, good: model.observe_many(["newest"], [good], weights=[1.0]),
    lambda model, good: model.predict(at=1.0),
    lambda model, good: model.predict_many(2, at=1.0),
    lambda model, good: model.peek_many(2),
    lambda model, good: model.explain(None),
)
CANNOT: dict[str, tuple[Callable[[Any, Any], Any], ...]] = {
    "learner, gradients": LEARNER,
    "learner, value": LEARNER,
    "chooser": (
        lambda model, good: model.predict({"hour": 1.0}),
        lambda model, good: model.replay([], [], []),
        lambda model, good: model.explain({"hour": 1.0}),
    ),
    "knobs": (
        lambda model, good: model.predict(deadline=3),
        lambda model, good: model.observe("newest", 1.0, weight=2.0),
        lambda model, good: model.explain(None),
    ),
    "linear, squared": (lambda model, good: model.fresh(seed=1),),
    "intervals": (lambda model, good: model.fresh(seed=1),),
}


@pytest.mark.parametrize("kind", CANNOT)
def test_what_a_model_cannot_do_says_why(kind: str) -> None:
    model = lived(KINDS[kind])
    before = model.snapshot()
    for call in CANNOT[kind]:
        with pytest.raises(Unsupported, match="nothing has changed"):
            call(model, KINDS[kind].answer(0))
        assert model.snapshot() == before


@pytest.mark.compiled
def test_a_replay_of_intervals_is_that_of_single_events() -> None:
    rows = [[1.0, float(t % 3)] for t in range(40)]
    labels = [float(t % 5) for t in range(40)]
    timeline = bl.delays.constant(40, 4)
    for settings in ({}, {"deadline": 3}):
        batch = bl.Intervals(bl.LinearModel(bits=6, **settings))  # type: ignore[arg-type]
        live = batch.fresh()
        found = batch.replay(rows, labels, timeline)
        for event in timeline.events.tolist():
            if event >= 0:
                assert live.predict(rows[event])[1:] == tuple(column[event] for column in found)
            elif timeline.observed[~event]:
                live.observe(~event, labels[~event])
        assert batch.snapshot() == live.snapshot()


PATHS = """
import sys
from datetime import UTC, datetime, timedelta
import belated as bl

def files(call):
    found = set()
    def see(frame, event, argument):
        if event == "call" and "belated" in frame.f_code.co_filename:
            found.add(frame.f_code.co_filename)
    sys.setprofile(see)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(found)

learner = bl.Learner(bl.FirstOrder(bl.PFTRL(bl.Ball(2), bl.rates.DelayAdaptive(1.0))))
learner.predict()
model, now = bl.LinearModel("logistic", bits=8, silence=0, deadline="30d"), datetime.now(UTC)
for key in "ab":
    model.predict({"x": 1.0}, key=key, at=now)
model.observe("a", 1, at=now)
print(files(lambda: learner.predict(key="k")))
print(files(lambda: model.observe("b", 1, at=now + timedelta(days=1))))
"""


def test_an_event_goes_through_few_files(python: Python) -> None:
    predict, observe = map(int, python("-c", PATHS, BELATED_INTERPRETED="1").split())
    assert predict <= 4
    assert observe <= 7
