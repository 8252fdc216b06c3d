"""What ``OnePoint(baseline="mean")`` is for: a mean removes the noise of values far from zero."""

from __future__ import annotations

from collections import deque
from typing import Literal

import numpy as np
import pytest

import belated as bl

TARGET = np.array([0.3, -0.2, 0.4])
DELAY = 100


def regret(baseline: Literal["mean"] | None, seed: int, rounds: int = 20_000) -> float:
    """Regret on losses around 0.5 with noise 0.1, every answer a hundred rounds late."""
    noise = np.random.default_rng(seed)
    base = bl.PFTRL(bl.Ball(3), bl.rates.DelayAdaptive(1.0))
    learner = bl.Learner(bl.OnePoint(base, magnitude=1.0, baseline=baseline), seed=seed)
    waiting: deque[tuple[int, float]] = deque()
    total = 0.0
    for _ in range(rounds):
        ticket, x = learner.predict()
        loss = 0.25 * float(np.sum((x - TARGET) ** 2))
        total += loss
        waiting.append((ticket, 0.4 + loss + 0.1 * noise.normal()))
        if len(waiting) > DELAY:
            learner.observe(*waiting.popleft())
    return total


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_a_baseline_cuts_the_regret_of_values_around_a_half() -> None:
    without = np.mean([regret(None, seed) for seed in range(2)])
    with_mean = np.mean([regret("mean", seed) for seed in range(2)])
    assert with_mean < without / 1.7
