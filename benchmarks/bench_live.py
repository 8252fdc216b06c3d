"""One live round (predict, then observe a gradient) against NumPy written by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import belated as bl
from benchmarks.floors import NumpyLearner
from benchmarks.timing import Result, compared

ROUNDS = 2000
DELAY = 10


def rounds_of(learner: bl.Learner | NumpyLearner, gradients: np.ndarray) -> Callable[[], None]:
    """Return work that plays some rounds, every answer ten tickets late."""
    tickets = [learner.predict()[0] for _ in range(DELAY)]

    def work() -> None:
        for gradient in gradients:
            tickets.append(learner.predict()[0])
            learner.observe(tickets.pop(0), gradient)

    return work


def main() -> list[Result]:
    """Return the figure for dimensions 10 and 100."""
    results = []
    for dim in (10, 100):
        rng = np.random.default_rng(dim)
        gradients = rng.normal(size=(ROUNDS, dim)) / np.sqrt(dim)
        spec = bl.FirstOrder(bl.PFTRL(bl.Ball(dim), bl.rates.DelayAdaptive(1.0)))
        results.append(
            compared(
                f"live round, dim {dim}, against NumPy by hand",
                rounds_of(bl.Learner(spec), gradients),
                rounds_of(NumpyLearner(dim, 1.0, 1.0), gradients),
                target={10: 0.08, 100: 0.10}[dim],
                per=ROUNDS / 1e9,
                unit="ns/round",
            )
        )
    return results
