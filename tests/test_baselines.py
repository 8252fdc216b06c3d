"""Baselines of replays: windows, refits and the running mean, none of which sees the future."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from benchmarks.held_rewards import HeldRewards, in_files
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.models.linear import Rows
from belated.replays.baselines import Arrivals, best, linear
from conftest import examples

Floats = np.ndarray[Any, np.dtype[np.float64]]
Play = Callable[[Arrivals, Floats], Floats]
ROUNDS = 100


def drawn(seed: int, *, silence: float | None = 0.0) -> tuple[Arrivals, Floats]:
    """Return rows at uneven times, some at once, and a feature for each."""
    rng = np.random.default_rng(seed)
    asked = np.sort(np.round(rng.random(ROUNDS) * 50.0, 1))
    waits = np.round(rng.exponential(4.0, ROUNDS), 1)
    waits[rng.random(ROUNDS) < 0.5] = np.nan
    answers: Floats = np.ones(ROUNDS)
    if silence is None:
        answers[rng.random(ROUNDS) < 0.6] = 0.0
    arrivals = Arrivals(asked, answers, asked + waits, silence=silence, deadline=12.0)
    return arrivals, rng.random((ROUNDS, 2))


def windowed(arrivals: Arrivals, inputs: Floats) -> Floats:
    """Play a linear model with labels that are held back."""
    feed = arrivals.windowed(3.0)
    count, width = inputs.shape
    rows = Rows(width * np.arange(count + 1), np.tile(np.arange(width), count), inputs.ravel())
    found = bl.LinearModel("logistic").replay(rows, feed.labels, feed.events)
    return arrivals.started(found, feed)


def mean(arrivals: Arrivals, _: Floats) -> Floats:
    """Return the running mean."""
    return arrivals.running_mean()


def regression(arrivals: Arrivals, inputs: Floats) -> Floats:
    """Fit a logistic regression every so often."""
    return arrivals.refitted(inputs, linear("logistic"), every=9.0, window=3.0)


@pytest.mark.parametrize("play", [windowed, mean, regression])
@pytest.mark.parametrize("silence", [0.0, None])
@examples(4)
@given(seed=st.integers(0, 1000), now=st.floats(1.0, 49.0))
def test_no_baseline_sees_the_future(
    play: Play, silence: float | None, seed: int, now: float
) -> None:
    """Whatever is changed after some time, predictions until then are the same."""
    arrivals, inputs = drawn(seed, silence=silence)
    other, changed = drawn(seed + 1, silence=silence)
    asked = arrivals.predicted_at
    is_past = asked <= now
    unheard = ~(arrivals.answered_at <= now)
    later = np.sort(np.where(is_past, asked, np.maximum(other.predicted_at, now + 0.1)))
    after = np.maximum(later, now) + 0.1 + np.abs(other.answered_at - other.predicted_at)
    answered_at = np.where(unheard | ~is_past, after, arrivals.answered_at)
    answers = np.where(unheard | ~is_past, other.answers, arrivals.answers)
    altered = Arrivals(later, answers, answered_at, silence=silence, deadline=arrivals.deadline)
    before = play(arrivals, inputs)[is_past]
    assert (
        play(altered, np.where(is_past[:, None], inputs, changed))[is_past].tolist()
        == before.tolist()
    )


def test_both_labels_are_held_back_until_the_window_is_over() -> None:
    """A label is what was heard within the window, and is known at its end."""
    arrivals, _ = drawn(1)
    events, labels = arrivals.windowed(3.0)
    now = -np.inf
    for event in events.tolist():
        ticket = event if event >= 0 else ~event
        asked = arrivals.predicted_at[ticket]
        at = asked if event >= 0 else asked + 3.0
        assert at >= now
        now = at
        if event < 0:
            assert labels[ticket] == (arrivals.answered_at[ticket] <= at)
    told = ~events[events < 0]
    assert sorted(told) == np.flatnonzero(arrivals.predicted_at + 3.0 <= now).tolist()


def test_without_silence_rows_without_an_answer_are_not_learned() -> None:
    """There is no label to hold back."""
    arrivals, _ = drawn(2, silence=None)
    events, labels = arrivals.windowed(3.0)
    told = ~events[events < 0]
    waits = (arrivals.answered_at - arrivals.predicted_at)[told]
    assert len(told) > 0
    assert (waits <= 3.0).all()
    assert labels[told].tolist() == arrivals.answers[told].tolist()


@pytest.mark.parametrize("silence", [0.0, None])
def test_the_running_mean_is_that_of_a_loop(silence: float | None) -> None:
    """Half a label of each kind, and all that is known by then."""
    arrivals, _ = drawn(3, silence=silence)
    found = arrivals.running_mean()
    asked, heard_at = arrivals.predicted_at, arrivals.heard_at
    for t in range(ROUNDS):
        heard = heard_at <= asked[t]
        earlier = np.arange(ROUNDS) < t if silence is not None else heard
        total = 0.5 + arrivals.answers[heard].sum()
        assert found[t] == pytest.approx(total / (1.0 + earlier.sum()), rel=1e-12)


def test_answers_after_the_deadline_do_not_count() -> None:
    """Neither for windows nor for refits."""
    arrivals = Arrivals(np.arange(4.0), np.ones(4), np.arange(4.0) + 5.0, silence=0.0, deadline=2.0)
    assert arrivals.windowed(1.0).labels.tolist() == [0.0] * 4
    assert arrivals.at(20.0)[1].tolist() == [0.0] * 4
    assert arrivals.windows() == [2.0]


def test_windows_let_shares_of_the_answers_come() -> None:
    """The deadline is the longest."""
    arrivals, _ = drawn(4)
    windows = arrivals.windows((0.5, 0.9))
    waits = (arrivals.heard_at - arrivals.predicted_at)[np.isfinite(arrivals.heard_at)]
    assert [np.mean(waits <= window) for window in windows] == pytest.approx(
        [0.5, 0.9, 1.0], abs=0.05
    )
    assert windows[-1] == 12.0


def test_the_best_window_is_chosen_afterwards() -> None:
    """By its mean loss."""
    found = best(
        [1.0, 2.0, 3.0], lambda window: np.array([window]), lambda x: float(abs(x - 2.1)[0])
    )
    assert (found.window, found.predictions.tolist()) == (2.0, [2.0])


def test_rewards_are_held_back_and_come_in_files() -> None:
    """A reward is the answer within the window, or silence; it comes with the next file."""
    held = HeldRewards(window=5.0, every=24.0, first=3.0)
    for ticket, at in enumerate((0.0, 1.0, 23.0)):
        held.add(ticket, at)
    held.answer(0, 1.0, at=5.0)
    held.answer(1, 1.0, at=6.5)
    held.answer(2, 1.0, at=24.0)
    assert held.due(at=26.0) == []
    assert held.due(at=30.0) == [(0, 1.0), (1, 0.0)]
    assert held.due(at=51.0) == [(2, 1.0)]
    times = in_files(np.array([0.0, 3.0, 3.1, np.nan]), every=24.0, first=3.0)
    assert times.tolist()[:3] == [3.0, 3.0, 27.0]
