"""Audits say where a few labels are so far out that squared loss learns little else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from belated.audits import Audit, audit

ROUNDS = 5000
RNG = np.random.default_rng(0)
USUAL = {
    "normal": RNG.normal(3.0, 1.0, ROUNDS),
    "exponential": RNG.exponential(size=ROUNDS),
    "rare sales": np.where(RNG.random(ROUNDS) < 0.002, RNG.exponential(50.0, ROUNDS), 0.0),
    "yes or no": (RNG.random(ROUNDS) < 0.3).astype(np.float64),
    "all the same": np.ones(ROUNDS),
}


def found_in(labels: NDArray[np.float64]) -> Audit:
    asked = np.arange(ROUNDS, dtype=np.float64)
    data = {"asked_at": asked, "answered_at": asked + 5.5, "amount": labels}
    return audit(data, target="amount", unit="s")


@pytest.mark.parametrize("kind", USUAL)
def test_usual_labels_are_no_outliers(kind: str) -> None:
    assert not any("median" in note for note in found_in(USUAL[kind]).notes)


@pytest.mark.parametrize("kind", ["normal", "exponential"])
def test_two_labels_in_a_thousand_that_are_scaled_are_noticed(kind: str) -> None:
    labels = USUAL[kind].copy()
    labels[::500] *= 1000.0
    found = found_in(labels)
    assert 'use loss="absolute" or loss="huber"' in found.notes[-1]
    assert "away from the median" in str(found)
