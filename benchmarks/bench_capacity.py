"""What a capacity adds to an event, beside the same learner without one in the same run."""

from __future__ import annotations

from statistics import quantiles

import numpy as np

import belated as bl
from benchmarks.bench_loop import LARGEST_DELAY, ROUNDS, answered, ours_of
from benchmarks.timing import Result, interleaved

DIM = 10
LIMIT = 20.0
"""Nanoseconds that it may add to an event."""


def main() -> list[Result]:
    """Return the figure with room for few tickets, for most, and for all of them."""
    rng = np.random.default_rng(DIM)
    events = answered(bl.Timeline.from_delays(rng.integers(0, LARGEST_DELAY, ROUNDS)))
    gradients = rng.normal(size=(ROUNDS, DIM))
    gradients /= np.linalg.norm(gradients, axis=1)[:, None]
    inner = bl.FirstOrder(bl.PFTRL(bl.Ball(DIM), bl.rates.DelayAdaptive(1.0)))
    specs = {
        "thinned to 8 tickets": bl.Capacity(inner, 8),
        "thinned to 64 tickets": bl.Capacity(inner, 64),
        "thinned, nothing lost": bl.Capacity(inner, 2048),
        "coins for 64 tickets": bl.Capacity(inner, 64, backlog=LARGEST_DELAY),
    }
    works = {name: ours_of(spec, events, gradients) for name, spec in specs.items()}
    times = interleaved({"without": ours_of(inner, events, gradients), **works}, 101)
    return [_added(name, times[name], times["without"], events.size) for name in specs]


def _added(name: str, ours: list[float], without: list[float], events: int) -> Result:
    """Return what was added to an event, over what may be.

    By the least times, as the difference of two medians is mostly noise where a machine is shared.
    """
    least, base = (min(times) * 1e9 / events for times in (ours, without))
    low, _, high = (quartile * 1e9 / events for quartile in quantiles(ours, n=4))
    return Result(
        name=f"Capacity adds, {name}, dim {DIM}",
        ratio=(least - base) / LIMIT,
        target=1.0,
        ours=least - base,
        floor=LIMIT,
        unit="ns/event",
        spread=(high - low) / 2.0 / least,
        note=f"the learner without it takes {base:.3g} ns/event in the same run",
    )
