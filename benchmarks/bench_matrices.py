"""The delayed Newton step, per event, over NumPy's rank-one update of one.

The floor is what somebody would write by hand for one gradient: u = P g, P -= u u' / (1 + <g, u>).
A round is two events, a prediction and an answer. In the second figure the minimum is on the border
of the set, where the Newton step is found by projected gradients; that has no target.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

import belated as bl
from benchmarks.timing import Result, interleaved, summarised

Floats = NDArray[np.float64]

DIM = 50
ROUNDS = 4_000
DELAY = 20
REPEATS = 15


def main() -> Iterator[Result]:
    """Yield the Newton step inside and on the border."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(ROUNDS, DIM)) / math.sqrt(DIM)
    timeline = bl.delays.constant(ROUNDS, DELAY)
    newton = bl.rivals.DelayedONS(bl.Ball(DIM), lipschitz=2.0, exp_concavity=0.1)
    pushed = 0.2 * rows + np.eye(DIM)[0]
    for name, work, target in (
        ("DelayedONS, inside", partial(_run, newton, timeline, 0.1 * rows), 1.3),
        ("DelayedONS, on the border", partial(_run, newton, timeline, pushed), math.inf),
    ):
        yield _over_numpy(f"{name}, dim {DIM}", work, rows, timeline, target)


def _run(spec: bl.rivals.DelayedONS, timeline: bl.Timeline, rows: Floats) -> None:
    bl.Learner(spec).replay(timeline, rows, keep=False)


def _over_numpy(
    name: str, work: Callable[[], None], rows: Floats, timeline: bl.Timeline, target: float
) -> Result:
    """Return our time per event over NumPy's per update."""
    times = interleaved({"ours": work, "floor": partial(_updates, rows)}, REPEATS)
    events = ROUNDS + int(timeline.observed.sum())
    ours = [1e6 * seconds / events for seconds in times["ours"]]
    floor = [1e6 * seconds / ROUNDS for seconds in times["floor"]]
    return summarised(name, ours, floor, target=target, unit="us/event")


def _updates(rows: Floats) -> None:
    inverse = np.eye(DIM)
    for g in rows:
        u = inverse @ g
        inverse -= np.outer(u, u / (1.0 + g @ u))
