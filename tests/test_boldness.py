"""Log odds that are shown bolder than experts say them, while labels are few."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated import LinearModel
from belated.kernels.linear import entries
from belated.kernels.linear import layout as lm
from conftest import examples

DIM = 3


def played(rounds: int, strength: float, *, seed: int = 0, **settings: Any) -> LinearModel:
    """Return a model that was told at once, of answers with log odds that are a feature's."""
    rng = np.random.default_rng(seed)
    model = LinearModel("logistic", bits=4, **settings)
    for x in rng.normal(size=(rounds, DIM)):
        ticket, _ = model.predict(x)
        model.observe(ticket, float(rng.random() < 1.0 / (1.0 + math.exp(-strength * x[0]))))
    return model


def boldness(model: LinearModel) -> float:
    """Return b."""
    return entries.boldness()(model._memory.f)


def issued(model: LinearModel, x: Any) -> tuple[float, float, float]:
    """Issue a ticket, and close it. Return log odds: of the mean probability, mixed, and shown."""
    memory = model._memory
    shares = np.array(memory.shares)
    ticket, _ = model.predict(x)
    entry = memory.entry(ticket)
    assert entry is not None
    record = memory.records[entry].copy()
    model.cancel(ticket)  # nothing is open that could be of another kind
    experts = record[lm.ISSUED : lm.MIXTURE]
    yes, no = (float(shares @ (1.0 / (1.0 + np.exp(-side * experts)))) for side in (1.0, -1.0))
    return math.log(yes / no), float(record[lm.MIXTURE]), float(record[lm.SHOWN])


def sums(yes: float, labels: float, lost: float) -> Any:
    """Return sums of labels that count once, and of losses."""
    f = np.zeros(lm.HEADER)
    f[[lm.LABELS, lm.SCORED, lm.COUNT]] = labels
    f[lm.MEAN], f[lm.LOST], f[lm.SINCE] = yes / labels, lost, 1.0
    return f


def running_share(answers: list[bool]) -> float:
    """Return what (yes + 1/2) / (n + 1) loses, one answer after the other."""
    lost = 0.0
    for n, answer in enumerate(answers):
        share = (sum(answers[:n]) + 0.5) / (n + 1.0)
        lost -= math.log(share if answer else 1.0 - share)
    return lost


# --- b -------------------------------------------------------------------------------------------


@given(
    labels=st.integers(1, 4000),
    part=st.floats(0.0, 1.0),
    lost=st.floats(0.0, 1e6),
)
@examples(100)
def test_it_is_from_0_to_1(labels: int, part: float, lost: float) -> None:
    b = entries.boldness()(sums(math.floor(part * labels), labels, lost))
    assert 0.0 <= b <= 1.0
    if labels >= 2000:
        assert b == 0.0


def test_by_hand() -> None:
    """Of 100 labels 20 are yes, and predictions have lost as much as the running share would."""
    entropy = -0.2 * math.log(0.2) - 0.8 * math.log(0.8)
    share = 100.0 * entropy + 0.5 * math.log(50.0 * math.pi)
    few = 4.0 * 0.2 * 0.8 * (1900.0 / 2000.0) ** 2
    assert entries.boldness()(sums(20.0, 100.0, share)) == pytest.approx(0.75 * few)
    better, worse = share - math.log(2.0), share + math.log(3.0)
    assert entries.boldness()(sums(20.0, 100.0, better)) == pytest.approx(6.0 / 7.0 * few)
    assert entries.boldness()(sums(20.0, 100.0, worse)) == pytest.approx(0.5 * few)


@given(st.lists(st.booleans(), min_size=2, max_size=60).filter(lambda y: 0 < sum(y) < len(y)))
@examples(100)
def test_what_the_running_share_loses(answers: list[bool]) -> None:
    """W H(m) + ln(pi W / 2) / 2 is that, but for a fifth of a nat."""
    few = 4.0 * np.mean(answers) * (1.0 - np.mean(answers)) * (1.0 - len(answers) / 2000.0) ** 2
    f = sums(float(sum(answers)), float(len(answers)), running_share(answers))
    certain = entries.boldness()(f) / few
    gained = math.log(certain / (1.0 - certain)) - math.log(3.0)
    assert abs(gained) < 0.2


@pytest.mark.parametrize("reached", [1.0, 2.0, 3.0])
def test_features_that_say_nothing_seldom_seem_to(reached: float) -> None:
    """Ville: of answers of an urn, and of whatever is said of them before, G reaches g by e^-g."""
    rng = np.random.default_rng(8)
    games, rounds = 4000, 80
    yes, lost = np.zeros(games), np.zeros(games)
    most = np.full(games, -math.inf)
    for n in range(rounds):
        # Whoever knows what the best constant was so far, and goes astray from it at random.
        share = (yes + 0.5) / (n + 1.0)
        said = 1.0 / (1.0 + (1.0 - share) / share * np.exp(rng.normal(size=games)))
        answers = rng.random(games) < share
        lost -= np.log(np.where(answers, said, 1.0 - said))
        yes += answers
        mean = np.clip(yes / (n + 1.0), 1e-12, 1.0 - 1e-12)
        entropy = -mean * np.log(mean) - (1.0 - mean) * np.log1p(-mean)
        gained = (n + 1.0) * entropy + 0.5 * np.log(0.5 * math.pi * (n + 1.0)) - lost
        most = np.maximum(most, np.where((yes > 0) & (yes < n + 1.0), gained, -math.inf))
    assert np.mean(most >= reached) <= 1.2 * math.exp(-reached)


def test_features_show_their_worth() -> None:
    assert boldness(played(100, 4.0)) > 0.85
    assert boldness(played(300, 0.0)) < 0.1
    assert boldness(LinearModel("logistic")) == 0.0


def test_a_rare_answer_leaves_it_small() -> None:
    model = LinearModel("logistic", bits=4)
    for t in range(200):
        model.observe(model.predict([float(t % 20 == 0)]).ticket, float(t % 20 == 0))
    assert 0.0 < boldness(model) < 0.2


def test_silence_leaves_things_as_they_are() -> None:
    rng = np.random.default_rng(5)
    model = LinearModel("logistic", bits=4, silence=0)
    for x in rng.normal(size=(60, DIM)):
        ticket, _ = model.predict(x)
        if rng.random() < 1.0 / (1.0 + math.exp(-x[0])):
            model.observe(ticket, 1.0)
    assert boldness(model) == 0.0
    shift = float(model._memory.f[lm.SHIFT])
    careful, mixed, shown = issued(model, [1.0, 0.0, 0.0])
    assert abs(mixed - careful) > 1e-3
    assert shown == pytest.approx(careful + shift, abs=1e-9)


# --- What is shown -------------------------------------------------------------------------------


@pytest.mark.parametrize("strength", [0.0, 1.0, 4.0])
def test_it_moves_towards_mixed_log_odds_and_away_from_the_base(strength: float) -> None:
    model = played(150, strength)
    b, base = boldness(model), float(model._memory.f[lm.BASE])
    for x in np.random.default_rng(1).normal(size=(20, DIM)):
        careful, mixed, shown = issued(model, x)
        expected = base + (1.0 + 0.15 * b) * (careful + b * (mixed - careful) - base)
        assert shown == pytest.approx(expected, abs=1e-9)


def test_after_2000_labels_mean_probabilities_are_shown() -> None:
    model = played(1999, 4.0)
    assert boldness(model) > 0.0
    ticket, _ = model.predict([1.0, 0.0, 0.0])
    model.observe(ticket, 1.0)
    careful, _, shown = issued(model, [1.0, 0.0, 0.0])
    assert shown == pytest.approx(careful, abs=1e-9)


def test_neither_weights_nor_the_mixture_see_it() -> None:
    """What is learned depends on labels and rows alone, however much was lost before."""
    one, other = played(60, 4.0), played(60, 4.0)
    other._memory.f[lm.LOST] += 1e6
    assert boldness(one) > boldness(other) == 0.0
    for model in (one, other):
        rng = np.random.default_rng(2)
        for x in rng.normal(size=(30, DIM)):
            model.observe(model.predict(x).ticket, float(rng.random() < 0.5))
    assert one._memory.shares == other._memory.shares
    assert np.array_equal(one._memory.c, other._memory.c)
    assert one.peek([1.0, 1.0, 1.0]) != other.peek([1.0, 1.0, 1.0])


def test_explanations_add_up_to_what_is_shown() -> None:
    rng = np.random.default_rng(3)
    model = LinearModel("logistic", bits=8)
    for x in rng.normal(size=400):
        model.observe(model.predict({"x": x}).ticket, float(x > 0.3 * rng.normal()))
    assert boldness(model) > 0.5
    why = model.explain({"x": 0.7})
    assert why.value == model.peek({"x": 0.7})
    assert why.total == pytest.approx(math.log(why.value / (1.0 - why.value)), rel=0.01)
