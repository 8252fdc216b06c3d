"""Where silence is a label: corrections that are still to come count in the base."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated import LinearModel
from naive_linear import NaiveLinear

DIM = 3


def lives(silence: float, **settings: Any) -> tuple[LinearModel, NaiveLinear, list[float]]:
    """Play 500 rounds, of which two in five are corrected after 1 to 39, and some change again.

    Return the model, the slow version, and by how much predictions differ.
    """
    rng = np.random.default_rng(int(silence))
    fast = LinearModel("logistic", bits=4, silence=silence, wait=None, **settings)
    slow = NaiveLinear("logistic", silence=silence, wait=None, narrow=True, **settings)
    due: dict[int, list[tuple[int, float]]] = {}
    apart = []
    for t in range(500):
        x = rng.normal(size=DIM)
        shown = fast.predict(x).value
        apart.append(abs(shown - slow.predict(list(enumerate(x.tolist())))[1]))
        if rng.random() < 0.4:
            due.setdefault(t + int(rng.integers(1, 40)), []).append((t, 1.0 - silence))
            if rng.random() < 0.1:  # taken back after all
                due.setdefault(t + 45, []).append((t, silence))
        for ticket, y in due.pop(t, []):
            if ticket in slow.open:
                assert fast.revise(ticket, y) == slow.revise(ticket, y)
    return fast, slow, apart


@pytest.mark.parametrize("settings", [{}, {"deadline": 30.0}])
@pytest.mark.parametrize("silence", [0.0, 1.0])
def test_fast_and_slow_agree(silence: float, settings: dict[str, Any]) -> None:
    fast, slow, apart = lives(silence, **settings)
    found = fast._looked().labels.pending_positives
    assert max(apart) < 1e-6
    assert slow.pending is not None
    assert found == pytest.approx(slow.pending.pending, rel=1e-6)
    assert found != 0.0
    assert (found > 0.0) == (silence == 0.0)


def test_what_is_still_to_come_by_hand() -> None:
    """One in five, after ten rounds: of n tickets the last ten have two, but for the 100."""
    model = LinearModel("logistic", bits=2, silence=0)
    for t in range(400):
        model.predict([1.0])
        if t >= 10 and t % 5 == 0:
            model.observe(t - 10, 1)
    n, came = 398, 78  # when they were counted last
    expected = came * (n + 100) / (n - 10 + 100) - came
    assert model._looked().labels.pending_positives == pytest.approx(expected)


def test_no_more_is_to_come_than_a_quarter_of_what_is_open() -> None:
    """At the end of a day nearly all has come; what is left open is what will not."""
    model = LinearModel("logistic", bits=2, silence=1)
    for day in range(20):
        tickets = [model.predict([1.0]).ticket for _ in range(40)]
        for ticket in tickets[1:]:
            model.observe(ticket, 0)
        assert model.open == day + 1
    for _ in range(60):
        model.observe(model.predict([1.0]).ticket, 0)
    assert 0.0 < -model._looked().labels.pending_positives <= 0.25 * (model.open + 1)


def test_nothing_is_to_come_without_silence_or_with_other_losses() -> None:
    for settings in ({"loss": "logistic"}, {"loss": "squared", "silence": 0}):
        model = LinearModel(bits=2, **settings)
        for t in range(200):
            model.predict([1.0])
            if t >= 5:
                model.observe(t - 5, t % 2)
        assert model._looked().labels.pending_positives == 0.0


@functools.cache
def snapshot() -> bytes:
    """Return a model that has corrected 120 of 300 silences."""
    model = LinearModel("logistic", bits=4, silence=0)
    rng = np.random.default_rng(0)
    for t in range(300):
        model.predict(rng.normal(size=DIM))
        if t >= 5 and t % 5 < 2:
            model.observe(t - 5, 1)
    assert model._looked().labels.pending_positives != 0.0
    return model.snapshot()


@pytest.mark.parametrize(
    ("part", "field", "wrong"),
    [
        ("labels", "pending_positives", 1e6),
        ("positives", "next_update", 1 << 49),
        ("positives", "next_update", 0),
        ("censoring", "offset", 1.0),
        ("censoring", "earlier_yes", 1.0),
        ("positives", "corrections", 0.5),
        ("positives", "corrections", -1e6),
    ],
)
def test_what_cannot_be_to_come_is_refused(part: str, field: str, wrong: float) -> None:
    model = LinearModel.restore(snapshot())
    found = getattr(model._linear, part)
    if field == "corrections":
        found.corrections[0] = wrong
    else:
        setattr(found, field, wrong)
    with pytest.raises(bl.errors.SnapshotError):
        LinearModel.restore(model.snapshot())


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("kind", ["exponential", "heavy"])
def test_first_predictions_are_nearer_to_the_truth_than_what_has_come(kind: str) -> None:
    """The share of corrections so far is too low until the delays are over."""
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
    assert abs(np.mean(ratios) - 1.0) < 0.8 * abs(np.mean(so_far) - 1.0)
