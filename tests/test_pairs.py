"""Pairs of features that the model finds: against the slow version, and what they are for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import belated as bl
from conftest import shortened
from naive_pairs import NaivePairs

LOSSES: list[tuple[str, dict[str, Any]]] = [
    ("squared", {}),
    ("squared", {"l1": 0.01, "l2": 0.1, "intercept": False}),
    ("logistic", {}),
    ("logistic", {"silence": 0.0, "l2": 0.01}),
    ("squared", {"silence": 0.5}),
    ("huber", {}),
]


@pytest.mark.parametrize(("loss", "settings"), LOSSES)
@pytest.mark.parametrize("width", [3, 12])
def test_pairs_are_those_of_the_slow_version(
    loss: Any, settings: dict[str, Any], width: int
) -> None:
    rounds = shortened(400) if width == 3 else 160
    draw = np.random.default_rng(width)
    model = bl.LinearModel(loss, bits=16, interactions="auto", wait=None, **settings)
    naive = NaivePairs(loss, 16, wait=None, narrow=True, **settings)
    labels: dict[int, float] = {}
    for t in range(rounds):
        x = draw.standard_normal(width)
        x[1] = draw.integers(3)
        _, value = model.predict(x)
        _, expected = naive.predict(list(enumerate(x.tolist())))
        assert value == pytest.approx(expected, rel=1e-3, abs=1e-3)
        y = 2.0 * x[0] * x[2] + x[1] + 0.1 * draw.standard_normal()
        labels[t] = float(y > 1.0) if loss == "logistic" else float(y)
        if len(labels) > 7:
            ticket = int(draw.choice(list(labels)))
            y = labels.pop(ticket)
            assert model.observe(ticket, y)
            naive.observe(ticket, y)


def xor(rounds: int, interactions: Any, width: int = 3) -> float:
    """Return the log loss of the second half of an XOR of two numbers."""
    draw = np.random.default_rng(0)
    x = draw.standard_normal((rounds, width))
    y = (x[:, 0] * x[:, 1] > 0.0).astype(float)
    model = bl.LinearModel("logistic", bits=14, interactions=interactions)
    values = model.replay(x, y, bl.Timeline.from_delays(np.full(rounds, 20)))
    return float(np.mean(model.losses(values, y)[rounds // 2 :]))


def test_an_interaction_is_found_that_no_feature_shows_alone() -> None:
    assert xor(1500, ()) > 0.65
    assert xor(1500, "auto") < 0.4


@pytest.mark.compiled
def test_an_interaction_is_found_among_many_features() -> None:
    assert xor(5000, "auto", width=30) < 0.45


def test_explanations_name_pairs_and_bins() -> None:
    model = bl.LinearModel("squared", bits=12, interactions="auto")
    for t in range(300):
        row = {"hour": t % 24, "shop": "ab"[t % 2]}
        model.observe(model.predict(row).ticket, float(t % 24 > 12) * (t % 2))
    found = model.explain({"hour": 20, "shop": "b"})
    assert "hour * shop=b" in found.parts
    assert any(name.startswith("hour in [") for name in found.parts)
    assert found.total == pytest.approx(found.value, abs=0.2)
    report = model.report()
    assert report.experts["pairs"] > 0.5
    assert sum(report.experts.values()) == pytest.approx(1.0)


def test_choosers_use_pairs_of_their_context() -> None:
    draw = np.random.default_rng(0)
    won = {}
    for interactions in ("all", "auto"):
        chooser = bl.Chooser(["left", "right"], bits=14, interactions=interactions, seed=0)
        rewards = []
        for _ in range(shortened(1500)):
            context = {"a": "xy"[draw.integers(2)], "b": "xy"[draw.integers(2)]}
            choice = chooser.choose(context)
            best = "left" if context["a"] == context["b"] else "right"
            rewards.append(float(choice.action == best))
            chooser.observe(choice.ticket, rewards[-1])
        won[interactions] = float(np.mean(rewards[len(rewards) // 2 :]))
    assert won["auto"] > won["all"] + 0.15
