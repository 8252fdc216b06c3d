"""Knobs against the slow version: weights, noise and coefficients of every model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from belated.models.knobs import Knobs
from naive_knobs import NaiveKnobs


@pytest.mark.parametrize(
    ("k", "context", "rounds", "stride"),
    [(1, {}, 30, 1), (2, {}, 18, 1), (3, {"a": (-1, 1)}, 22, 1), (1, {}, 24, 60)],
)
def test_models_are_those_of_the_slow_version(
    k: int, context: Any, rounds: int, stride: int
) -> None:
    """Costs come late and out of order; with a stride, origins move."""
    knobs = Knobs({f"x{i}": (-1, 1) for i in range(k)}, context=context)
    naive = NaiveKnobs(k, len(context))
    rng = np.random.default_rng(k)
    waiting: list[tuple[int, Any, Any, float]] = []
    for t in range(rounds * stride):
        z = {name: float(rng.integers(-4, 5)) / 4.0 for name in context}
        ticket, setting = knobs.predict(z)
        if t % stride:
            knobs.cancel(ticket)
            continue
        x = np.array(list(setting.values()))
        cost = float(np.sum((x - 0.3) ** 2) + 0.2 * rng.normal() + 0.5 * np.sin(t / 60.0))
        cost += 30.0 if t == 20 * stride else 0.0
        waiting.append((ticket, x, list(z.values()), cost))
        while waiting and rng.random() < 0.55:
            answer = waiting.pop(int(rng.integers(len(waiting))))
            knobs.observe(answer[0], answer[3])
            naive.observe(*answer)
    _agree(knobs, naive)


def _agree(knobs: Knobs, naive: NaiveKnobs) -> None:
    """Demand the same weights, noise and coefficients, but for rounding."""
    models = knobs._tuner.models
    assert models.weights.size == len(naive.models) == 8
    assert models.count == len(naive.learned) > 8
    assert np.allclose(models.weights, [model.weight for model in naive.models], rtol=1e-5)
    assert np.allclose(models.noise, [each.noise for each in naive.sets], rtol=1e-6)
    rows = np.zeros((models.most, models.most + 1))
    for g, each in enumerate(naive.sets):
        rows[np.triu_indices(models.most, 0, models.most + 1)] = models.factors[g]
        triangle = rows[:, :-1]
        for model, size in zip(each.models, (models.base, models.most), strict=True):
            assert model.theta is not None
            w = rows[:size, -1]
            found = np.linalg.solve(triangle[:size, :size], w)
            assert np.allclose(found, model.theta, rtol=1e-5, atol=1e-6)
