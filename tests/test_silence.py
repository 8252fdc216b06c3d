"""Where silence is a label: it is learned when an answer would have come."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated import LinearModel
from belated.errors import SnapshotError
from naive_linear import NaiveLinear
from sealing import forged

DIM = 3


def lives(
    loss: Any, silence: float, every: int, **settings: Any
) -> tuple[LinearModel, NaiveLinear, list[float]]:
    """Play 300 rounds, of which two in five have an answer after 1 to 39, and some change again.

    Answers come with every so many rounds. Return the model, the slow version, and by how much
    predictions differ.
    """
    rng = np.random.default_rng(int(silence) + every)
    fast = LinearModel(loss, bits=4, silence=silence, wait=None, **settings)
    slow = NaiveLinear(loss, silence=silence, wait=None, narrow=True, **settings)
    due: dict[int, list[tuple[int, float]]] = {}
    apart = []
    for t in range(300):
        x = rng.normal(size=DIM)
        shown = fast.predict(x).value
        apart.append(abs(shown - slow.predict(list(enumerate(x.tolist())))[1]))
        if rng.random() < 0.4:
            heard = -(-(t + int(rng.integers(1, 40))) // every) * every
            due.setdefault(heard, []).append((t, 1.0 - silence))
            if rng.random() < 0.1:  # taken back after all
                due.setdefault(heard + 10 * every, []).append((t, silence))
        for ticket, y in due.pop(t, []):
            if ticket in slow.open:
                assert fast.revise(ticket, y) == slow.revise(ticket, y)
    return fast, slow, apart


@pytest.mark.parametrize("every", [1, 50])
@pytest.mark.parametrize("settings", [{}, {"deadline": 60.0}])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
@pytest.mark.parametrize("silence", [0.0, 1.0])
def test_fast_and_slow_agree(
    loss: str, silence: float, settings: dict[str, Any], every: int
) -> None:
    fast, slow, apart = lives(loss, silence, every, **settings)
    assert max(apart) < 1e-5
    delays = fast._looked().delays
    assert delays.came.sum() == pytest.approx(sum(slow.looked_at().delays.came.values()))
    assert delays.came.sum() > 60


# --- When silence is learned ---------------------------------------------------------------------


def played(days: int, *, told: bool = True, **settings: Any) -> LinearModel:
    """Return a model of 100 predictions a day, a fifth of which has an answer in the night."""
    model = LinearModel("logistic", bits=2, silence=0, wait=None, **settings)
    for _ in range(days):
        tickets = [model.predict([1.0]).ticket for _ in range(100)]
        if told:
            for ticket in tickets[::5]:
                model.observe(ticket, 1)
    return model


def learned(model: LinearModel) -> int:
    """Return how many tickets have a label that was learned."""
    return int(model._looked().labels.labels)


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_before_the_first_answer_predictions_are_those_of_silence(loss: Any) -> None:
    model = LinearModel(loss, bits=2, silence=1)
    for t in range(50):
        value = model.predict([float(t % 3)]).value
        expected = {"squared": 1.0, "logistic": (t + 0.5) / (t + 1.0), "poisson": 1.0}[loss]
        assert value == pytest.approx(expected)
    assert learned(model) == 0


def test_silence_since_the_last_answers_says_nothing() -> None:
    model = played(10)
    known, value = learned(model), model.peek([1.0])
    assert known > 950
    for _ in range(99):
        assert model.predict([1.0]).value == pytest.approx(value, abs=1e-9)
    assert learned(model) == known


def test_where_answers_stop_coming_silence_counts_again() -> None:
    model = played(10)
    before = model.peek([1.0])
    for _ in range(2000):
        model.predict([1.0])
    assert learned(model) > 1500
    assert model.peek([1.0]) < 0.7 * before


def test_what_closes_has_the_label_of_silence() -> None:
    model = played(3, told=False, deadline=50.0)
    assert model.report().settled == learned(model) == 249
    limited = LinearModel("logistic", bits=2, silence=0, max_open=10)
    for _ in range(30):
        limited.predict([1.0])
    assert learned(limited) == 20


def test_a_ticket_that_is_cancelled_at_once_teaches_nothing() -> None:
    one, other = played(5), played(5)
    other.cancel(other.predict([1.0]).ticket)
    for model in (one, other):
        assert model.peek([1.0]) == pytest.approx(0.2, abs=0.02)
    assert learned(one) == learned(other)


def test_an_answer_that_says_what_silence_says_is_learned_once() -> None:
    model = played(5)
    ticket = model.predict([1.0]).ticket
    known = learned(model)
    assert model.observe(ticket, 0)
    assert learned(model) >= known + 1
    assert model.report().corrected == 100


@pytest.mark.parametrize("every", [1, 50])
@pytest.mark.parametrize("settings", [{}, {"deadline": 60.0}])
def test_history_and_then_events_are_events_from_the_start(
    every: int, settings: dict[str, Any]
) -> None:
    rng = np.random.default_rng(every)
    x, count = rng.normal(size=(400, DIM)), 400
    heard = np.ceil((np.arange(count) + rng.exponential(30.0, count)) / every) * every + 0.5
    heard[rng.random(count) < 0.7] = np.nan
    timeline = bl.Timeline.from_intervals(np.arange(float(count)), heard)
    whole = LinearModel("logistic", bits=4, silence=0, **settings)
    values = whole.replay(x, np.ones(count), timeline)
    live = LinearModel("logistic", bits=4, silence=0, **settings)
    shown = []
    for place, event in enumerate(timeline.events.tolist()):
        if place == 200:
            live = LinearModel.restore(live.snapshot())
        if event >= 0:
            shown.append(live.predict(x[event]).value)
        elif heard[~event] == heard[~event]:
            live.observe(~event, 1.0)
    assert np.array_equal(values, shown)
    one, other = whole._linear.state(), live._linear.state()
    assert all(np.array_equal(one[name], other[name]) for name in one)


# --- Snapshots -----------------------------------------------------------------------------------


@functools.cache
def snapshot() -> bytes:
    """Return a model that has heard of 120 of 300 tickets."""
    model = LinearModel("logistic", bits=4, silence=0, deadline=100.0)
    rng = np.random.default_rng(0)
    for t in range(300):
        model.predict(rng.normal(size=DIM))
        if t >= 5 and t % 5 < 2:
            model.observe(t - 5, 1)
    return model.snapshot()


@pytest.mark.parametrize(
    ("part", "field", "wrong"),
    [
        ("delays", "latest", -1.0),
        ("delays", "gap", 1e30),
        ("delays", "newest", 1 << 49),
        ("delays", "came", -1.0),
        ("delays", "passed", 0.5),
        ("delays", "limits", -1.0),
        ("delays", "cells", 1e9),
        ("delays", "exposed", 1.0),
        ("labels", "spread", 1e30),
        ("censoring", "offset", 1.0),
        ("censoring", "earlier_yes", 1.0),
        (None, "silent", 7),
        (None, "start", 1e9),
    ],
)
def test_what_cannot_be_is_refused(part: str | None, field: str, wrong: float) -> None:
    model = LinearModel.restore(snapshot())
    owner = model._linear if part is None else getattr(model._linear, part)
    if isinstance(getattr(owner, field), np.ndarray):
        getattr(owner, field)[0] = wrong
    else:
        setattr(owner, field, wrong)
    with pytest.raises(bl.errors.SnapshotError):
        LinearModel.restore(model.snapshot())


# --- What it is worth ----------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("kind", ["exponential", "heavy"])
def test_first_predictions_are_nearer_to_the_truth_than_what_has_come(kind: str) -> None:
    """The share of answers so far is too low until the delays are over."""
    count, ratios, so_far = 3000, [], []
    for seed in range(4):
        rng = np.random.default_rng([7, seed])
        x = rng.normal(size=(count, 3))
        truth = 1.0 / (1.0 + np.exp(1.0 - 0.5 * x[:, 0]))
        delays = (
            rng.exponential(size=count) if kind == "exponential" else rng.lognormal(0, 1.5, count)
        )
        heard = np.where(rng.random(count) < truth, np.arange(count) + 500.0 * delays, np.nan)
        model = LinearModel("logistic", bits=4, silence=0)
        timeline = bl.Timeline.from_intervals(np.arange(float(count)), heard)
        values = model.replay(x, np.ones(count), timeline)
        came = np.array([np.sum(heard[:t] < t) / t for t in range(300, 1500)])
        ratios.append(values[300:1500].mean() / truth.mean())
        so_far.append(came.mean() / truth.mean())
    assert abs(np.mean(ratios) - 1.0) < 0.5 * abs(np.mean(so_far) - 1.0)


@pytest.mark.parametrize(
    ("loss", "silence"), [("squared", 2.0), ("squared", -3.5), ("poisson", 3.0), ("logistic", 1.0)]
)
def test_tickets_from_before_the_first_label_are_restored(loss: Any, silence: float) -> None:
    """They were issued in the range of silence, which the first label leaves."""
    model = LinearModel(loss, silence=silence, bits=4)
    for _ in range(2):
        model.predict({"x": 1.0})
    model.observe(0, 0.0)
    model.predict({"x": 1.0})
    blob = model.snapshot()
    assert LinearModel.restore(blob).snapshot() == blob


def test_a_first_time_that_is_missing_is_refused() -> None:
    model = LinearModel("logistic", silence=0, deadline=2000.0, bits=4)
    for number in range(20):
        model.predict({"x": 1.0}, at=float(number))
    with pytest.raises(SnapshotError):
        LinearModel.restore(forged(model.snapshot(), "start", -math.inf))
