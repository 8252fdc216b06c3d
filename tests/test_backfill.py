"""Old events in batches: with times, the order of calls means nothing."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated import Intervals, Knobs, LinearModel, Timeline
from belated.errors import AlreadyObserved, BadFeedback, BelatedError, ClockError, UnknownTicket

SETTINGS: list[dict[str, Any]] = [
    {"silence": 0},
    {"silence": 0, "deadline": 20.0},
    {"silence": 0, "deadline": 20.0, "late": "learn"},
    {"max_open": 5},
]


def clicks(rounds: int, seed: int) -> tuple[list[dict[str, float]], Any, Any, Any]:
    """Return rows, times, labels, and when labels came."""
    rng = np.random.default_rng(seed)
    at = np.round(np.sort(rng.uniform(0.0, 100.0, rounds)), 1)
    rows = [{"size": float(size)} for size in rng.normal(size=rounds)]
    labels = (rng.random(rounds) < 0.3).astype(float)
    heard = np.where(labels > 0, at + np.round(rng.exponential(15.0, rounds), 1), np.nan)
    return rows, at, labels, heard


def replayed(settings: dict[str, Any], rows: Any, at: Any, labels: Any, heard: Any) -> LinearModel:
    """Return the model that has seen everything in the order of time."""
    model = LinearModel("logistic", bits=6, **settings)
    events = Timeline.from_intervals(at, heard).events
    events = events[(events >= 0) | ~np.isnan(heard[~events])]
    tickets = np.where(events < 0, ~events, events)
    model.replay(rows, labels, events, at=np.where(events < 0, heard[tickets], at[tickets]))
    return model


@pytest.mark.parametrize("settings", SETTINGS)
@given(seed=st.integers(0, 99), parts=st.integers(1, 4))
def test_batches_with_times_are_a_replay(settings: Any, seed: int, parts: int) -> None:
    rows, at, labels, heard = clicks(40, seed)
    model = LinearModel("logistic", bits=6, **settings)
    keys = [f"visit-{row}" for row in range(40)]
    for part in np.array_split(np.arange(40), parts):
        model.predict_many([rows[i] for i in part], keys=[keys[i] for i in part], at=at[part])
    known = np.random.default_rng(seed).permutation(np.flatnonzero(~np.isnan(heard)))
    used = 0
    for part in np.array_split(known, parts):
        used += model.observe_many([keys[i] for i in part], labels[part], at=heard[part]).sum()
    expected = replayed(settings, rows, at, labels, heard)
    assert model.report().observed == expected.report().observed == used
    expected._give_keys((keys[ticket], ticket) for ticket in sorted(expected.answerable()))
    assert model.snapshot() == expected.snapshot()


def test_a_second_batch_is_merged_from_the_state_before_it() -> None:
    rows, at, labels, heard = clicks(60, 3)
    known = ~np.isnan(heard)
    model = LinearModel("logistic", bits=6, silence=0)
    for part in (np.arange(30), np.arange(30, 60)):
        model.predict_many([rows[i] for i in part], at=at[part])
        told = part[known[part]]
        model.observe_many(told, labels[told], at=np.minimum(heard[told], at[part[-1]]))
    once = np.minimum(heard, np.where(np.arange(60) < 30, at[29], at[59]))
    expected = replayed({"silence": 0}, rows, at, labels, once)
    assert model.peek(rows[0]) == pytest.approx(expected.peek(rows[0]), abs=0.02)


@pytest.mark.parametrize(
    "between",
    [
        lambda m: m.predict({"size": 0.0}, at=200.0),
        lambda m: m.observe(0, 1, at=150.0),
        lambda m: m.cancel(1),
    ],
)
def test_other_events_end_it(between: Any) -> None:
    rows, at, labels, heard = clicks(40, 5)
    model, other = (LinearModel("logistic", bits=6, silence=0) for _ in range(2))
    model.predict_many(rows, at=at)
    for row, time in zip(rows, at, strict=True):
        other.predict(row, at=time)
    known = np.flatnonzero(~np.isnan(heard) & (np.arange(40) > 1))
    for each in (model, other):
        between(each)
        each.observe_many(known, labels[known], at=heard[known])
    assert model.snapshot() == other.snapshot()


def test_what_is_refused_changes_nothing() -> None:
    rows, at, labels, heard = clicks(40, 5)
    known = np.flatnonzero(~np.isnan(heard))
    model = LinearModel("logistic", bits=6, silence=0)
    model.predict_many(rows, at=at)
    before = model.snapshot()
    with pytest.raises(AlreadyObserved):
        model.observe_many([known[0], known[0]], [1, 1], at=[1.0, 2.0])
    assert model.snapshot() == before
    model.observe_many(known, labels[known], at=heard[known])
    assert model.snapshot() == replayed({"silence": 0}, rows, at, labels, heard).snapshot()


def test_many_old_clicks() -> None:
    rng = np.random.default_rng(0)
    size, at = rng.normal(size=8_000), np.sort(rng.uniform(0.0, 30.0, 8_000))
    is_bought = rng.random(8_000) < 1.0 / (1.0 + np.exp(3.6 - 0.5 * size))
    heard = at + rng.exponential(2.0, 8_000)
    told = np.flatnonzero(is_bought & (heard < 30.0))
    model = LinearModel("logistic", bits=6, silence=0)
    tickets, _ = model.predict_many(size[:, None], at=at)
    model.observe_many(tickets[told], np.ones(told.size), at=heard[told])
    assert model.peek([0.0]) == pytest.approx(is_bought.mean(), rel=0.25)


def test_a_warning_without_times() -> None:
    model = LinearModel(bits=4)
    with pytest.warns(UserWarning, match="1,001 predictions in one call, .* use replay"):
        model.predict_many(np.zeros((1_001, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_many(np.zeros((1_000, 1)))
        LinearModel(bits=4).predict_many(np.zeros((2_000, 1)), at=np.arange(2_000.0))


@pytest.mark.parametrize("make", [lambda: LinearModel(bits=4), lambda: Knobs({"x": (0.0, 1.0)})])
def test_times_that_are_missing_or_go_back(make: Any) -> None:
    model = make()
    rows: Any = 3 if isinstance(model, Knobs) else [{"x": 1.0}] * 3
    before = model.snapshot()
    with pytest.raises(ClockError, match="row 2 is earlier than row 1; nothing has changed: sort"):
        model.predict_many(rows, at=[1.0, 2.0, 1.5])
    with pytest.raises(ClockError, match="predict_many: row 1 has no time; nothing has changed"):
        model.predict_many(rows, at=[1.0, math.nan, 3.0])
    with pytest.raises(ClockError, match="predict_many: row 1: 'noon' is no time"):
        model.predict_many(rows, at=["2026-03-01", "noon", "2026-03-03"])
    assert model.snapshot() == before
    model.predict_many(rows, at=[1.0, 2.0, 2.0])
    before = model.snapshot()
    with pytest.raises(ClockError, match="observe_many: row 0 has no time"):
        model.observe_many([0, 1], [1.0, 1.0], at=[None, 3.0])
    assert model.snapshot() == before


def test_a_warning_where_old_answers_cannot_be_merged() -> None:
    rows, at, heard = np.zeros((1_500, 1)), np.arange(1_500.0), np.arange(1_500.0) + 0.5
    labels = np.zeros(1_500)

    def asked(model: Any) -> Any:
        model.predict_many(rows, at=at)
        return model

    alone = LinearModel(bits=4)
    for row, time in zip(rows, at.tolist(), strict=True):
        alone.predict(row, at=time)
    older = r"observe_many: these answers are older than many predictions.*use replay"
    for model in (alone, asked(Intervals(LinearModel(bits=4)))):
        with pytest.warns(UserWarning, match=older) as found:
            model.observe_many(range(9), labels[:9], at=heard[:9])
        model.observe_many(range(9, 18), labels[:9], at=heard[9:18])  # says nothing again
        assert len(found) == 1
        assert found[0].filename == __file__
    with pytest.warns(UserWarning, match="observe: these answers are older"):
        asked(LinearModel(bits=4)).observe(0, 1.0, at=1.0)
    with pytest.warns(UserWarning, match="observe_many: the predictions had times of their own"):
        asked(LinearModel(bits=4)).observe_many(range(9), labels[:9])
    with pytest.warns(UserWarning, match="1,500 predictions in one call"):
        Intervals(LinearModel(bits=4)).predict_many(rows)
    live = asked(LinearModel(bits=4))  # a little late
    live.observe_many(range(9), labels[:9], at=np.arange(1_490.0, 1_499.0))
    live.observe(20, 0.0, at=1_490.0)


def test_old_answers_by_keys_and_tickets() -> None:
    said = []
    for names in (["a", 1], ["a", "b"], [0, 1]):
        model = LinearModel(bits=6)
        model.predict_many([{"x": 1.0}, {"x": 2.0}], keys=["a", "b"], at=[1.0, 2.0])
        with pytest.raises(UnknownTicket):
            model.observe_many(["a", "never"], [1.0, 1.0], at=[1.5, 2.5])
        assert model.observe_many(names, [1.0, 2.0], at=[1.5, 2.5]).all()
        said.append(model.peek({"x": 1.0}))
    assert len(set(said)) == 1


@pytest.mark.parametrize("again", [1.5, 3.5, 9.0])
def test_an_old_answer_that_was_given_before(again: float) -> None:
    model = LinearModel("logistic", bits=4)
    model.predict_many([{"x": 1.0}] * 5, keys=list("abcde"), at=[1.0, 2.0, 3.0, 4.0, 5.0])
    model.observe_many(["a"], [1], at=[2.5])
    before = model.snapshot()
    with pytest.raises(UnknownTicket, match="position 1: no open ticket has the key 'a'"):
        model.observe_many(["b", "a"], [1, 1], at=[again, again])
    with pytest.raises(AlreadyObserved, match="observe_many: position 1: ticket 0 was answered"):
        model.observe_many([1, 0], [1, 1], at=[again, again])
    with pytest.raises(UnknownTicket, match="observe_many: position 1: ticket 9 was never handed"):
        model.observe_many([1, 9], [1, 1], at=[again, again])
    with pytest.raises(BadFeedback, match=r"observe_many.*labels of the logistic loss"):
        model.observe_many([1, 2], [1, 2], at=[again, again])
    assert model.snapshot() == before
    assert model.observe_many(["b", "c"], [1, 0], at=[again, again]).all()


def test_a_refused_answer_leaves_nothing_behind() -> None:
    model = LinearModel("logistic", bits=6)
    model.predict_many([{"x": 1.0}, {"x": 2.0}, {"x": 3.0}], at=[1.0, 2.0, 3.0])
    for wrong in ([2], [7.0]), ([2, 77], [1.0, 1.0]):
        with pytest.raises(BelatedError):
            model.observe_many(*wrong, at=[20.0] * len(wrong[0]))
    assert model.observe_many([0], [1.0], at=[1.5]).all()


def test_an_answer_comes_before_the_last_prediction_of_its_time() -> None:
    rows = [{"x": 1.0}, {"x": 2.0}]
    many, single = LinearModel(bits=6), LinearModel(bits=6)
    many.predict_many(rows, at=[1.0, 2.0])
    many.observe_many([0], [5.0], at=[2.0])
    single.predict(rows[0], at=1.0)
    single.observe(0, 5.0, at=2.0)
    single.predict(rows[1], at=2.0)
    assert many.peek({"x": 1.5}) == single.peek({"x": 1.5})
