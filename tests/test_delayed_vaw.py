"""``rivals.DelayedVAW``: what it predicts, what it promises, and what it keeps."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
from belated import delays
from belated.errors import BadFeedback, SnapshotError
from belated.research.rivals import DelayedVAW
from conftest import Python
from naive_later_rivals import NaiveDelayedVAW
from sealing import forged

Array = npt.NDArray[np.float64]
TOLD: dict[str, Any] = {"magnitude": 1.5, "norm": 2.0, "ridge": 0.7, "caution": 0.5}


def log(rounds: int, k: int, seed: int) -> tuple[Array, Array]:
    """Return features of norm at most 1 and labels within 1.5."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((rounds, k))
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    labels = rows @ rng.standard_normal(k) + 0.3 * rng.standard_normal(rounds)
    return rows, np.clip(labels, -1.5, 1.5)


def life(rounds: int, seed: int, lost: float = 0.1) -> list[tuple[str, int]]:
    """Return events: labels are late by up to 12 rounds, in any order, and some never come."""
    draw = random.Random(seed)
    due = {t: t + draw.choice([0, 1, 5, 12]) for t in range(rounds)}
    events: list[tuple[str, int]] = []
    for now in range(rounds):
        events.append(("predict", now))
        arriving = [t for t, then in due.items() if then == now]
        draw.shuffle(arriving)
        for t in arriving:
            if draw.random() >= lost:
                events.append(("observe", t))
            elif draw.random() < 0.5:
                events.append(("cancel", t))
    return events


def follow(model: Any, events: list[tuple[str, int]], rows: Array, labels: Array) -> list[float]:
    """Lead a model, fast or slow, through events and return its predictions."""
    values = []
    for verb, t in events:
        if verb == "predict":
            ticket, value = model.predict(rows[t])
            assert ticket == t
            values.append(value)
        elif verb == "observe":
            model.observe(t, float(labels[t]))
        else:
            model.cancel(t)
    return values


# --- What it predicts ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("caution", [0.02, 4.0])
def test_agrees_with_the_slow_version(seed: int, caution: float) -> None:
    rows, labels = log(60, 3, seed)
    told = {**TOLD, "caution": caution}
    fast, slow = DelayedVAW(3, **told), NaiveDelayedVAW(dimension=3, **told)
    events = life(60, seed)
    quick, patient = (follow(model, events, rows, labels) for model in (fast, slow))
    np.testing.assert_allclose(quick, patient, atol=1e-10)
    assert fast._model.ridge == slow.ridge
    learned = 0.5 * math.fsum(slow.squares) + 2.0 * math.fsum(slow.drifts)
    assert fast.regret_within(1.0) == pytest.approx(0.5 * slow.ridge + 1.5**2 * learned)


def test_without_delay_it_is_vovk_azoury_and_warmuth() -> None:
    rows, labels = log(80, 4, 5)
    model = DelayedVAW(4, magnitude=1.5, norm=1.0, ridge=2.0)
    a, b = 2.0 * np.eye(4), np.zeros(4)
    for t in range(80):
        a += np.outer(rows[t], rows[t])
        expected = float(rows[t] @ np.linalg.solve(a, b))
        assert model.predict(rows[t]).value == pytest.approx(np.clip(expected, -1.5, 1.5))
        model.observe(t, labels[t])
        b += labels[t] * rows[t]
    np.testing.assert_allclose(model.weights, np.linalg.solve(a, b))


# --- What it promises ----------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**16),
    late=st.integers(0, 30),
    caution=st.sampled_from([0.05, 4.0]),
    hostile=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_no_weights_do_better_by_more_than_promised(
    seed: int, late: int, caution: float, hostile: bool
) -> None:
    """Labels from one line, or against the prediction; u is the best of its norm and others."""
    rounds, k = 70, 3
    rows, labels = log(rounds, k, seed)
    timeline = delays.lost(delays.uniform(rounds, low=0, high=late, seed=seed), 0.1, seed=seed)
    model = DelayedVAW(k, magnitude=1.5, norm=1.0, ridge=0.5, caution=caution)
    values = np.empty(rounds)
    for event in timeline.events.tolist():
        if event >= 0:
            values[event] = model.predict(rows[event]).value
            if hostile:
                labels[event] = -1.5 if values[event] > 0.0 else 1.5
        elif timeline.observed[~event]:
            model.observe(~event, labels[~event])
    paid = 0.5 * float(((values - labels) ** 2).sum())
    for weight in (0.01, 0.5, 5.0, 100.0):
        u = np.linalg.solve(rows.T @ rows + weight * np.eye(k), rows.T @ labels)
        lost = paid - 0.5 * float(((rows @ u - labels) ** 2).sum())
        norm = float(np.linalg.norm(u))
        assert lost <= model.regret_within(norm)
        assert model.regret_within(norm) <= model.bound(timeline, size=1.0, norm=norm).total


# --- One model, many ways to run it --------------------------------------------------------------


def batch(model: DelayedVAW, rows: Array, labels: Array) -> Array:
    """Replay a log with late and lost labels."""
    timeline = delays.lost(delays.uniform(len(rows), low=0, high=9, seed=1), 0.1, seed=1)
    return model.replay(rows, labels, timeline)


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_compiled_is_interpreted_bit_for_bit(python: Python) -> None:
    rows, labels = log(60, 5, 2)
    model = DelayedVAW(5, **TOLD)
    batch(model, rows, labels)
    model.cancel(min(model._model.tickets.answerable()))
    assert python("test_delayed_vaw.py", BELATED_INTERPRETED="1").strip() == model.snapshot().hex()


# --- Keys, refusals, snapshots -------------------------------------------------------------------


def lived(seed: int = 0) -> DelayedVAW:
    """Return a model in the middle of its life."""
    rows, labels = log(60, 3, seed)
    model = DelayedVAW(3, **TOLD)
    follow(model, life(60, seed), rows, labels)
    return model


def test_labels_beyond_the_magnitude_are_counted_or_refused() -> None:
    lax, strict = (DelayedVAW(1, 1.0, 1.0, strict=strict) for strict in (False, True))
    for model in (lax, strict):
        model.predict([1.0])
    before = strict.snapshot()
    with pytest.raises(BadFeedback, match=r"beyond the magnitude 1\.0"):
        strict.observe(0, 1.5)
    with pytest.raises(BadFeedback, match=r"beyond the magnitude 1\.0"):
        strict.replay([[1.0]], [1.5], [1, ~1])
    assert strict.snapshot() == before
    assert lax.observe(0, 1.5)
    assert (lax.excess, strict.excess) == (1, 0)


def test_snapshots_that_no_model_can_have_come_to_are_refused() -> None:
    blob = lived().snapshot()
    with pytest.raises(SnapshotError, match=r"LinearModel|DelayedVAW"):
        bl.LinearModel.restore(blob)
    for cut in (10, 100, len(blob) - 1):
        with pytest.raises(SnapshotError):
            DelayedVAW.restore(blob[:cut])
    changes: tuple[tuple[Any, ...], ...] = (
        *((name, 1e300) for name in ("ridge", "drift", "widths", "squares")),
        ("ridge", 5.0),
        ("widths", 7.0),
        ("updates", -1),
        *((f"tickets.{name}", 10**6) for name in ("rounds", "arrived", "skipped", "held")),
        ("sums", 1e300, 0),
        ("matrix", 5.0, 1),
        ("inverse", 5.0, 0),
        *(("tickets.records", math.nan, (0, at)) for at in (0, 3)),
        ("tickets.records", 7.0, (0, 3)),
        ("tickets.number", 10**6, 0),
    )
    for change in changes:
        with pytest.raises(SnapshotError):
            DelayedVAW.restore(forged(blob, *change))


if __name__ == "__main__":
    model = DelayedVAW(5, **TOLD)
    batch(model, *log(60, 5, 2))
    model.cancel(min(model._model.tickets.answerable()))
    print(model.snapshot().hex())
