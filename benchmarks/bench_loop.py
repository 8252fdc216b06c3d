"""A run over a whole log, from making the learner on, against a loop by hand for that composition.

Targets are for loops by hand that are compiled for baseline x86-64, as the core is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import belated as bl
from benchmarks import floors
from benchmarks.timing import Result, compared

Work = Callable[[], np.ndarray]
Spec = bl.FirstOrder | bl.OnePoint | bl.Skip | bl.Capacity

ROUNDS = 20_000
LARGEST_DELAY = 40


# Most that the ratios of gradients and of values may be, by dimension.
TARGETS = {10: (1.35, 1.5), 100: (1.15, 1.3)}


def main() -> Iterator[Result]:
    """Yield all figures."""
    yield from by_hand()
    yield from floors.of_this_machine(__name__)


def by_hand() -> Iterator[Result]:
    """Yield the figures of three compositions at dimensions 10 and 100."""
    for dim in TARGETS:
        rng = np.random.default_rng(dim)
        timeline = bl.Timeline.from_delays(rng.integers(0, LARGEST_DELAY, ROUNDS))
        events = answered(timeline)
        gradients = rng.normal(size=(ROUNDS, dim))
        gradients /= np.linalg.norm(gradients, axis=1)[:, None]
        values = rng.random((ROUNDS, 1))
        low, high = -np.ones(dim), np.linspace(1.0, 3.0, dim)
        rate = bl.rates.DelayAdaptive(1.0)
        cases: list[tuple[str, Spec, np.ndarray, Callable[..., object], tuple[object, ...]]] = [
            (
                "FirstOrder(PFTRL(Ball))",
                bl.FirstOrder(bl.PFTRL(bl.Ball(dim), rate)),
                gradients,
                floors.pftrl_ball,
                (1.0, 1.0),
            ),
            (
                "OnePoint(PFTRL(Box))",
                bl.OnePoint(bl.PFTRL(bl.Box(low, high), rate), magnitude=1.0),
                values,
                floors.one_point_box,
                (low, high, 1.0, 1.0, 0),
            ),
            (
                "Skip(FirstOrder(OMD(Ball)))",
                bl.Skip(bl.FirstOrder(bl.OMD(bl.Ball(dim), rate))),
                gradients,
                floors.skip_omd_ball,
                (1.0, 1.0),
            ),
        ]
        for name, spec, answers, floor, numbers in cases:
            ours = ours_of(spec, events, answers)
            floor_work = floor_of(floor, events, answers, dim, numbers)
            np.testing.assert_allclose(ours(), floor_work(), rtol=1e-6, atol=1e-9)
            yield compared(
                f"{name}, dim {dim}",
                ours,
                floor_work,
                target=TARGETS[dim][answers is values],
                per=events.size / 1e9,
                unit="ns/event",
            )


def ours_of(spec: Spec, events: np.ndarray, answers: np.ndarray) -> Work:
    """Return work that makes a learner and runs the log through it."""
    return lambda: bl.Learner(spec).replay(events, answers)


def floor_of(
    floor: Callable[..., object],
    events: np.ndarray,
    answers: np.ndarray,
    dim: int,
    numbers: tuple[object, ...],
) -> Work:
    """Return work that runs it through a loop by hand, into an array of its own."""
    run = partial(floor, events, answers)

    def work() -> np.ndarray:
        plays = np.empty((ROUNDS, dim))
        run(plays, *numbers)
        return plays

    return work


def answered(timeline: bl.Timeline) -> np.ndarray:
    """Return the events, without the observations that never came."""
    events = timeline.events
    return events[(events >= 0) | timeline.observed[np.where(events >= 0, 0, ~events)]].copy()
