"""Labels as they really come: silence, revisions, deadlines, clocks and keys."""

from __future__ import annotations

import itertools
import math
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import belated as bl
from adaptive import least_wait
from belated.errors import (
    BadFeedback,
    ClockError,
    SpecError,
    UnknownTicket,
)
from conftest import examples
from naive_linear import NaiveLinear

LINEAR = ["squared", "logistic", "poisson"]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DIM = 3

Model = bl.LinearModel


def label_of(kind: str, rng: np.random.Generator, x: np.ndarray[Any, Any]) -> float:
    """Return a label that depends on the features."""
    if kind == "logistic":
        return float(rng.random() < 1.0 / (1.0 + math.exp(-x[0])))
    if kind == "poisson":
        return float(rng.poisson(math.exp(min(x[0], 2.0))))
    return float(x[0] + rng.normal())


class Both:
    """A model and the slow version of it, which go through the same events."""

    def __init__(self, kind: Any, **settings: Any) -> None:
        self.model = Model(kind, bits=4, **settings)
        defaults: dict[str, Any] = {"wait": "adaptive", "patience": 1000, "narrow": True}
        self.naive = NaiveLinear(kind, **(defaults | settings))
        self.apart = 0.0
        """By how much predictions differed at most."""

    def predict(self, x: np.ndarray[Any, Any], at: float | None, span: float | None) -> int:
        row = [(i, float(v)) for i, v in enumerate(x)]
        ticket, value = self.model.predict((np.arange(DIM), x), at=at, deadline=span)
        number, other = self.naive.predict(row, at, span)
        assert ticket == number
        self.apart = max(self.apart, abs(value - other) / max(1.0, abs(other)))
        return ticket

    def hear(self, verb: str, ticket: int, label: float, at: float | None) -> bool:
        used = bool(getattr(self.model, verb)(ticket, label, at=at))
        assert used == getattr(self.naive, verb)(ticket, label, at=at)
        assert self.model.open == len(self.naive.looked_at().open)
        return used


def apart(kind: str, seed: int, deadline: float | None, timed: bool, **settings: Any) -> float:
    """Lead both through a life of 60 rounds; return by how much predictions differed at most.

    Both round what they store to 21 digits. Where such a number lies between two of them but for
    the rounding of arithmetic, each takes another one, and from then on they differ a little.
    """
    rng = np.random.default_rng(seed)
    given_deadline = {} if deadline is None else {"deadline": deadline}
    both = Both(kind, **settings, **given_deadline)
    timed = timed and deadline is not None
    waiting, now = [], 0.0
    for _ in range(60):
        if 0.0 < both.naive.looked_at().mixture.B < 1e-9:
            break  # all experts still agree; which of them leads is a matter of rounding
        now += float(rng.exponential())
        at = now if timed else None
        x = rng.normal(size=DIM)
        span = float(rng.exponential(5.0)) if deadline is not None and rng.random() < 0.3 else None
        waiting.append((both.predict(x, at, span), x))
        while waiting and rng.random() < 0.5:
            ticket, x = waiting.pop(int(rng.integers(len(waiting))))
            verb = "revise" if rng.random() < 0.4 else "observe"
            if both.hear(verb, ticket, label_of(kind, rng, x), at) and verb == "revise":
                waiting.append((ticket, x))
        if rng.random() < 0.05:
            both.model = Model.restore(both.model.snapshot())
    return both.apart


@examples(8)
@example(  # a label is replaced while it is the only one: rounding left a unit of 1e-8
    kind="squared",
    silence=1.0,
    deadline=None,
    max_open=None,
    timed=False,
    seed=4910,
)
@given(
    kind=st.sampled_from(LINEAR),
    silence=st.sampled_from([None, 0.0, 1.0]),
    deadline=st.sampled_from([None, 3.0, 25.0, math.inf]),
    max_open=st.sampled_from([None, 1, 7]),
    timed=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_agrees_with_the_slow_version(kind: str, seed: int, **settings: Any) -> None:
    assert apart(kind, seed, **settings) <= 1e-5


@pytest.mark.parametrize("kind", LINEAR)
def test_most_lives_are_those_of_the_slow_version_to_ten_digits(kind: str) -> None:
    deadlines = [None, 3.0, 25.0, math.inf]
    found = [
        apart(kind, seed, deadline, seed % 2 == 0, silence=silence)
        for seed, (deadline, silence) in enumerate(itertools.product(deadlines, [None, 1.0]), 16)
    ]
    assert sum(each <= 1e-10 for each in found) >= 7


def bets(model: Model) -> npt.NDArray[np.float64]:
    """Return minus the sums of the gradients of coins."""
    known = model._looked().experts.table
    staked = known["turnover"].astype(float) + known["stake"]
    found: npt.NDArray[np.float64] = known["fraction"] * staked
    return found


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_conversions_that_never_come_do_not_ruin() -> None:
    """Positives come late, negatives never: the mean prediction finds the share of positives."""
    rng = np.random.default_rng(0)
    model, blind = Model("logistic", bits=4, silence=0), Model("logistic", bits=4)
    due: dict[int, list[int]] = {}
    values, others = [], []
    for t in range(4000):
        x = rng.normal(size=2)
        p = 1.0 / (1.0 + math.exp(2.5 - x[0]))
        ticket, value = model.predict(x)
        others.append(blind.predict(x).value)
        values.append(value - p)
        if rng.random() < p:
            due.setdefault(t + int(rng.exponential(200.0)), []).append(ticket)
        for done in due.pop(t, []):
            model.observe(done, 1.0)
            blind.observe(done, 1.0)
    assert abs(np.mean(values[1000:])) < 0.01
    assert np.mean(others[1000:]) > 0.4  # without silence only positives are learned


def test_instalments_and_refunds() -> None:
    model = Model("squared", bits=4, silence=0.0)
    model.predict([1.0], key="order-1")
    model.predict([2.0], key="order-2")
    assert model.add("order-1", 30.0)
    assert model.add("order-1", -10.0)
    model.observe("order-2", 7.0)
    assert model.report().corrected == 3
    with pytest.raises(UnknownTicket, match="order-2"):
        model.add("order-2", 1.0)
    plain = Model("squared", bits=4)
    ticket = plain.predict([1.0]).ticket
    with pytest.raises(BadFeedback, match="no answer yet"):
        plain.add(ticket, 1.0)
    yes_no = Model("logistic", bits=4, silence=0)
    ticket = yes_no.predict([1.0]).ticket
    yes_no.add(ticket, 1.0)
    with pytest.raises(BadFeedback, match="0 or 1"):
        yes_no.add(ticket, 1.0)
    assert yes_no.report().corrected == 1


def test_a_deadline_by_the_clock() -> None:
    model = Model("logistic", bits=4, silence=0, deadline=timedelta(hours=1))
    a = model.predict([1.0], at=NOON).ticket
    b = model.predict([1.0], at=NOON, deadline=timedelta(hours=5)).ticket
    assert model.observe(model.predict([1.0], at=NOON).ticket, 1, at=NOON + timedelta(hours=1))
    model.tick(NOON + timedelta(hours=2))
    assert model.open == 1
    assert not model.observe(a, 1.0, at=NOON + timedelta(hours=3))
    assert model.observe(b, 1.0, at=NOON - timedelta(days=1))  # the clock does not go back
    report = model.report()
    assert (report.late, report.settled, report.skipped, report.observed) == (1, 1, 0, 2)


def test_weights_of_labels_that_replace_another() -> None:
    model = Model("logistic", silence=0, bits=4)
    ticket = model.predict([1.0]).ticket
    before = model.snapshot()
    with pytest.raises(BadFeedback, match="weight must be 1"):
        model.observe(ticket, 1.0, weight=2.0)
    with pytest.raises(BadFeedback, match="weight must be 1"):
        model.observe_many([ticket], [1.0], weights=[2.0])
    assert model.snapshot() == before


# --- Waiting -------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_most_answers_never_come_and_memory_stays_small() -> None:
    """Nine of ten never answer and every label comes within 2,000 predictions.

    What is lost is compared with that of a model which was told so. (To wait for ever loses less
    still in a world that never changes, as 90,000 open tickets make steps ever shorter.)
    """
    rng = np.random.default_rng(0)
    count = 100_000
    x = rng.normal(size=(count, DIM))
    labels = x @ [1.0, -2.0, 0.5] + rng.normal(size=count)
    answered = rng.random(count) < 0.1
    events = bl.Timeline.from_delays(rng.integers(0, 2000, size=count)).events
    events = events[(events >= 0) | answered[~events]]
    losses = {}
    waits: dict[str, Any] = {"adaptive": "adaptive", "fixed": {"predictions": 2000}}
    for name, wait in waits.items():
        model = Model("squared", bits=4, wait=wait)
        values = model.replay(x, labels, events)
        losses[name] = np.mean((values - labels) ** 2)
        if name == "adaptive":
            assert model.open <= 5000
            assert model.report().late == 0
    assert losses["adaptive"] <= 1.002 * losses["fixed"]


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_corrections_without_end_do_not_break_the_model() -> None:
    """A coordinate that is only ever corrected lets the coin win every bet; it stays a number."""
    model = Model("logistic", bits=4, silence=0, wait=None)
    for i in range(3000):
        model.predict([1.0], key=f"first-{i}")
    for i in range(0, 3000, 2):
        model.predict(([1], [1.0]))
        model.observe(f"first-{i}", 1.0)
    table = model._looked().experts.table
    assert all(np.isfinite(table[name]).all() for name in table.dtype.names)
    assert math.isfinite(model.report().mean_loss or 0.0)
    blob = model.snapshot()
    assert Model.restore(blob).snapshot() == blob
    for i in range(400):
        model.observe(model.predict(([2], [1.0])).ticket, float(i % 2))
    assert model.predict(([2], [1.0])).value < 0.9  # it goes on learning; it was 1 before


# --- Files, explanations -------------------------------------------------------------------------


def test_explanations_add_up() -> None:
    rng = np.random.default_rng(0)
    model = Model("squared", interactions=[("shop", "hour")])
    for _ in range(300):
        row = {"shop": str(rng.choice(["a", "b"])), "hour": float(rng.integers(24)), "x": None}
        label = row["hour"] * (1.0 if row["shop"] == "a" else -1.0)  # type: ignore[operator]
        model.observe(model.predict(row).ticket, label + rng.normal())
    row = {"shop": "a", "hour": 9.0, "x": None}
    before = model.snapshot()
    why = model.explain(row)
    assert model.snapshot() == before
    assert set(why.parts) == {"shop=a", "hour", "shop=a * hour"}
    assert why.total == pytest.approx(why.constant + sum(why.parts.values()))
    assert why.value == model.peek(row) == pytest.approx(why.total, abs=1.0)
    assert list(why.parts.values()) == sorted(why.parts.values(), key=abs, reverse=True)
    assert "constant" in str(why)
    weights = model.weights(["hour", ("shop", "a"), "never seen"])
    assert weights["never seen"] == 0.0
    assert weights[("shop", "a")] != 0.0
    with pytest.raises(bl.errors.BadFeatures, match="have names"):
        model.explain([1.0])  # type: ignore[arg-type]
    with pytest.raises(bl.errors.BadFeatures, match="a name or a pair"):
        model.weights([3])  # type: ignore[list-item]


# --- Corrections of silence ----------------------------------------------------------------------


# --- What attackers found ------------------------------------------------------------------------


def test_a_mixture_that_rounds_below_the_smallest_label_is_kept_in_range() -> None:
    model = Model("squared", silence=0.0, bits=4)
    for x in (-0.2, "o0", -0.4, 1.5, -0.9, 0.6, -1.1, -1.0, -0.3, -0.5, "o4"):
        if isinstance(x, str):
            model.observe(int(x[1:]), 1.0)
        else:
            model.predict([x])
    assert Model.restore(model.snapshot()).snapshot() == model.snapshot()


def test_a_sum_of_counts_that_rounds_below_zero_is_kept_at_zero() -> None:
    model = Model("poisson", silence=0, bits=3)
    for _ in range(3):
        model.predict([1.0])
    for ticket, label in enumerate((0.3, 0.2, 0.1)):
        model.revise(ticket, label)
    for ticket in range(3):
        model.revise(ticket, 0.0)
    assert Model.restore(model.snapshot()).snapshot() == model.snapshot()


# ---- times and lengths of time as people give them ---------------------------------------------

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def told(how: str, model: Any, at: Any) -> None:
    """Tell a model the time in one of the ways there are."""
    if how == "predict":
        model.predict({"x": 1.0}, at=at)
    elif how == "observe":
        model.observe(0, 1.0, at=at)
    elif how == "predict_many":
        model.predict_many([{"x": 1.0}], at=at)
    elif how == "replay":
        model.replay([{"x": 1.0}], [1.0], [model.rounds], at=[at])
    else:
        model.tick(at)


def test_a_model_with_a_deadline_waits_until_then() -> None:
    """However quickly most labels come: a slow one before its deadline is learned."""
    with least_wait(10):
        model = bl.LinearModel("logistic", silence=0, bits=3, deadline=10_000)
        without = bl.LinearModel("logistic", silence=0, bits=3)
    for each in (model, without):
        for t in range(3000):
            each.predict([1.0])
            if t % 5 == 0:
                each.observe(t, 1)
    assert without.open < 500
    assert model.open == 2400
    assert model.observe(1, 1)


def test_a_deadline_without_silence_gives_up() -> None:
    model = Model("squared", bits=4, wait=timedelta(minutes=5))
    ticket = model.predict([1.0], at=0.0).ticket
    heard = model.predict([1.0], at=0.0).ticket
    model.revise(heard, 3.0, at=1.0)
    model.tick(301.0)
    assert model.open == 0
    assert not model.observe(ticket, 1.0)
    report = model.report()
    assert (report.skipped, report.settled, report.late) == (1, 1, 1)


def test_clocks_that_do_not_fit() -> None:
    model = Model("logistic", silence=0, deadline=timedelta(hours=1), bits=4)
    before = model.snapshot()
    wrong: Any
    for wrong in (math.inf, True, timedelta(1), b"2026-03-01"):
        with pytest.raises(ClockError, match="a time is a finite number, a datetime or an ISO"):
            model.predict([1.0], at=wrong)
    with pytest.raises(bl.errors.BadFeatures):
        model.predict([math.nan], at=NOON)
    assert model.snapshot() == before
    counting = Model("logistic", silence=0, deadline=100, bits=4)
    counting.predict([1.0])
    with pytest.raises(ClockError, match="in predictions"):
        counting.predict([1.0], at=3.0)
    with pytest.raises(SpecError, match="has no deadlines"):
        Model("logistic", bits=4).predict([1.0], deadline=3.0)
    with pytest.raises(SpecError, match="deadline must be"):
        counting.predict([1.0], deadline=-1.0)
    with pytest.raises(ClockError, match="counts its deadlines in predictions"):
        counting.predict([1.0], deadline=timedelta(seconds=5))
    with pytest.raises(ClockError, match="counts its deadlines in predictions"):
        Model("logistic", deadline=100, bits=4).predict([1.0], deadline="5s")
    with pytest.raises(SpecError, match="only one of the two"):
        Model("squared", wait=timedelta(1), deadline=3)
