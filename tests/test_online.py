"""What all models share: unsupported methods, batches, peeks, files, and short call paths."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.errors import AlreadyObserved, BadFeedback, BadKey, BelatedError, Unsupported
from conftest import Python

SPEC = bl.FirstOrder(bl.PFTRL(bl.Ball(2), bl.rates.DelayAdaptive(1.0)))
VALUES: dict[str, Callable[[], Any]] = {
    "learner": lambda: bl.Learner(SPEC),
    "one-point": lambda: bl.Learner(
        bl.Skip(bl.OnePoint(bl.PFTRL(bl.Ball(2), bl.rates.DelayAdaptive(1.0)), magnitude=1.0))
    ),
    "linear": lambda: bl.LinearModel("squared", bits=6),
    "intervals": lambda: bl.Intervals(bl.LinearModel("squared", bits=6)),
    "chooser": lambda: bl.Chooser(["a", "b"], bits=6, silence=0.0),
    "knobs": lambda: bl.Knobs({"price": (1, 9)}, context={"hour": (0, 24)}),
}
each = pytest.mark.parametrize("kind", VALUES)


def row(model: Any, t: int) -> Any:
    """Return what round t is predicted from."""
    if isinstance(model, bl.Learner):
        return None
    return {"hour": float(t % 24)}


def answer_of(model: Any, t: int) -> Any:
    """Return the answer of round t."""
    is_vector = isinstance(model, bl.Learner) and isinstance(model.spec, bl.FirstOrder)
    return [0.3, -0.1 * (t % 3)] if is_vector else 0.25 * (t % 5)


def ask(model: Any, t: int, **more: Any) -> Any:
    """Predict or choose in round t."""
    if isinstance(model, bl.Learner):
        return model.predict(**more)
    return (model.choose if isinstance(model, bl.Chooser) else model.predict)(row(model, t), **more)


def ask_many(model: Any, rounds: range, **more: Any) -> Any:
    """Predict or choose in many rounds."""
    if isinstance(model, bl.Learner):
        return model.predict_many(len(rounds), **more)
    many = model.choose_many if isinstance(model, bl.Chooser) else model.predict_many
    return many([row(model, t) for t in rounds], **more)


def lived(kind: str, rounds: int = 12) -> Any:
    """Return a model with answers and open tickets."""
    model = VALUES[kind]()
    for t in range(rounds):
        ask(model, t, key=f"k{t}")
        if t % 3:
            model.observe(f"k{t - 1}", answer_of(model, t - 1))
    return model


@pytest.mark.compiled
@each
def test_batches_are_single_events(kind: str) -> None:
    one, many = lived(kind), lived(kind)
    keys = [None if t % 2 else f"new {t}" for t in range(12, 20)]
    singles = [ask(one, t, key=key) for t, key in zip(range(12, 20), keys, strict=True)]
    found = ask_many(many, range(12, 20), keys=keys)
    for column, parts in zip(found, zip(*singles, strict=True), strict=True):
        assert np.asarray(column).tolist() == np.asarray(parts).tolist()
    assert many.snapshot() == one.snapshot()
    names = ["new 12", 13, "new 16"]
    answers = [answer_of(one, t) for t in (12, 13, 16)]
    used = [one.observe(name, given) for name, given in zip(names, answers, strict=True)]
    assert many.observe_many(names, answers).tolist() == used
    assert many.snapshot() == one.snapshot()


@pytest.mark.compiled
@each
def test_a_batch_with_a_wrong_answer_changes_nothing(kind: str) -> None:
    model = lived(kind)
    ask(model, 12, key="a")
    ask(model, 13, key="b")
    before = model.snapshot()
    good = answer_of(model, 1)
    bad = [np.nan, np.nan] if isinstance(good, list) else np.nan
    for names, answers, error in (
        (["a", "b"], [good, bad], BadFeedback),
        (["a", "b", "a"], [good] * 3, AlreadyObserved),
        (["a"], [good] * 2, BadFeedback),
    ):
        with pytest.raises(error):
            model.observe_many(names, answers)
        assert model.snapshot() == before
    for keys in (["c", "c"], ["c", "a"]):
        with pytest.raises(BadKey):
            ask_many(model, range(2), keys=keys)
        assert model.snapshot() == before


@pytest.mark.compiled
@each
def test_a_peek_is_the_next_prediction_and_changes_nothing(kind: str) -> None:
    model = lived(kind)
    before = model.snapshot()
    seen = model.peek(*[] if isinstance(model, bl.Learner) else [row(model, 12)])
    assert model.snapshot() == before
    if isinstance(model, bl.Chooser):  # peek has the actions, and their probabilities
        chosen = {option.action: option.probability for option in seen}
        choice = ask(model, 12)
        assert chosen[choice.action] == choice.probability
        return
    said = ask(model, 12)[1:]
    shown = seen if isinstance(seen, tuple) else (seen,)
    assert [np.asarray(part).tolist() for part in shown] == [
        np.asarray(part).tolist() for part in said
    ]


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


@each
def test_files_copies_and_pickles_of_any_kind(kind: str, tmp_path: Path) -> None:
    model = lived(kind)
    model.save(tmp_path / "model")
    for again in (
        bl.load(tmp_path / "model"),
        bl.restore(model.snapshot()),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
    ):
        assert type(again) is type(model)
        assert again.snapshot() == model.snapshot()
    fresh = model.fresh()
    assert (fresh.rounds, fresh.open, fresh.settings) == (0, 0, model.settings)
    assert fresh.snapshot() == VALUES[kind]().snapshot()
    assert any(name.endswith("rounds") for name in model.state())


@each
def test_what_a_model_cannot_do_says_why(kind: str) -> None:
    model = lived(kind)
    before, good = model.snapshot(), answer_of(lived(kind), 1)
    reasons: dict[str, Callable[[], Any]] = {
        "learner": lambda: [
            lambda: model.tick(1.0),
            lambda: model.revise(11, good),
            lambda: model.add(11, 1.0),
            lambda: model.observe(11, good, at=1.0),
            lambda: model.observe(11, good, weight=2.0),
            lambda: model.observe_many([11], [good], weights=[1.0]),
            lambda: model.predict(at=1.0),
            lambda: model.predict_many(2, at=1.0),
            lambda: model.peek_many(2),
            lambda: model.explain(None),
        ],
        "chooser": lambda: [
            lambda: model.predict({"hour": 1.0}),
            lambda: model.replay([], [], []),
            lambda: model.explain({"hour": 1.0}),
        ],
        "knobs": lambda: [
            lambda: model.predict(deadline=3),
            lambda: model.observe(11, 1.0, weight=2.0),
            lambda: model.explain(None),
        ],
    }
    reasons["one-point"] = reasons["learner"]
    reasons["linear"] = reasons["intervals"] = lambda: [lambda: model.fresh(seed=1)]
    for call in reasons[kind]():
        with pytest.raises(Unsupported, match="nothing has changed"):
            call()
        assert model.snapshot() == before


@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["linear", "intervals", "chooser", "knobs"])
def test_instalments_are_revisions(kind: str) -> None:
    one, other = lived(kind), lived(kind)
    for model in (one, other):
        ask(model, 12, key="paid")
        model.revise("paid", 2.0)
    assert one.add("paid", 1.5)
    assert other.revise("paid", 3.5)
    assert one.snapshot() == other.snapshot()
    assert one.is_open("paid")
    assert one.observe("paid", 4.0)
    assert other.observe("paid", 4.0)
    assert one.snapshot() == other.snapshot()
    with pytest.raises(BelatedError):
        one.add("paid", 1.0)


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
