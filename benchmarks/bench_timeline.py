"""Counting a log of 10,000,000 rounds against sorting its timestamps.

Any method must at least sort, so the floor is ``numpy.argsort`` of the 2T times. "All arrays" also
reads what is computed on demand: events, ranks and the dual counts.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from belated.timeline import Timeline
from benchmarks.timing import Result, compared

Floats = NDArray[np.float64]

ROUNDS = 10_000_000
LATENCIES = {"short delays": 10.0, "long delays": 10_000.0, "as long as the log": float(ROUNDS)}
"""Mean latency, in units of the mean time between predictions."""


def make_log(rounds: int, latency: float, seed: int = 0) -> tuple[Floats, Floats]:
    """Return sorted prediction times, and observation times an exponential latency later."""
    generator = np.random.default_rng(seed)
    predicted_at = np.cumsum(generator.exponential(size=rounds))
    return predicted_at, predicted_at + generator.exponential(latency, size=rounds)


def counted(predicted_at: Floats, observed_at: Floats, *, fully: bool) -> None:
    """Build a timeline and read its arrays."""
    timeline = Timeline.from_intervals(predicted_at, observed_at)
    assert len(timeline.delay) == len(timeline.backlog)
    if fully:
        assert len(timeline.events) == 2 * len(timeline.dual_delay)
        assert len(timeline.rank) == len(timeline.dual_backlog)


def main() -> list[Result]:
    """Return the ratio for three kinds of delays, with the main arrays and with all."""
    results = []
    for name, latency in LATENCIES.items():
        log = make_log(ROUNDS, latency)
        both = np.concatenate(log)
        for arrays, fully in (("", False), (", all arrays", True)):
            results.append(
                compared(
                    f"Timeline, {name}{arrays}",
                    partial(counted, *log, fully=fully),
                    partial(np.argsort, both),
                    target=3.0,
                    per=1.0,
                    unit="s",
                    repeats=5,
                )
            )
    return results
