"""The compiled loop against a kernel written by hand for that one composition."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import belated as bl
from belated.kernels.learners import entries
from belated.learner.program import compile_spec
from benchmarks import floors
from benchmarks.timing import Result, compared

Work = Callable[[], object]
Spec = bl.FirstOrder | bl.OnePoint | bl.Skip | bl.Capacity

ROUNDS = 20_000
LARGEST_DELAY = 40


def main() -> list[Result]:
    """Return the figure for three compositions at dimensions 10 and 100."""
    results = []
    for dim in (10, 100):
        rng = np.random.default_rng(dim)
        timeline = bl.Timeline.from_delays(rng.integers(0, LARGEST_DELAY, ROUNDS))
        events = answered(timeline)
        gradients = rng.normal(size=(ROUNDS, dim))
        gradients /= np.linalg.norm(gradients, axis=1)[:, None]
        values = rng.random((ROUNDS, 1))
        low, high = -np.ones(dim), np.linspace(1.0, 3.0, dim)
        rate = bl.rates.DelayAdaptive(1.0)
        plays = np.empty((ROUNDS, dim))
        cases: list[tuple[str, Spec, np.ndarray, Work]] = [
            (
                "FirstOrder(PFTRL(Ball))",
                bl.FirstOrder(bl.PFTRL(bl.Ball(dim), rate)),
                gradients,
                partial(floors.pftrl_ball, events, gradients, plays, 1.0, 1.0),
            ),
            (
                "OnePoint(PFTRL(Box))",
                bl.OnePoint(bl.PFTRL(bl.Box(low, high), rate), magnitude=1.0),
                values,
                partial(floors.one_point_box, events, values, plays, low, high, 1.0, 1.0, 0),
            ),
            (
                "Skip(FirstOrder(OMD(Ball)))",
                bl.Skip(bl.FirstOrder(bl.OMD(bl.Ball(dim), rate))),
                gradients,
                partial(floors.skip_omd_ball, events, gradients, plays, 1.0, 1.0),
            ),
        ]
        for name, spec, answers, floor in cases:
            mine = np.empty_like(plays)
            ours = ours_of(spec, events, answers, mine)
            check_same(ours, floor, mine, plays)
            results.append(
                compared(
                    f"{name}, dim {dim}",
                    ours,
                    floor,
                    target=1.15,
                    per=events.size / 1e9,
                    unit="ns/event",
                )
            )
    return results


def ours_of(spec: Spec, events: np.ndarray, answers: np.ndarray, plays: np.ndarray) -> Work:
    """Return work that runs the compiled loop on a fresh state."""
    program = compile_spec(spec)
    run = entries.run(program.code)
    start = program.fresh(0, False)
    start.resize(1024)

    def work() -> None:
        memory = start.copy()
        assert run(memory.f, memory.n, events, answers, plays, 0, 0) == events.size

    return work


def check_same(ours: Work, floor: Work, mine: np.ndarray, theirs: np.ndarray) -> None:
    """Check that both sides make the same plays."""
    ours()
    floor()
    np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-9)


def answered(timeline: bl.Timeline) -> np.ndarray:
    """Return the events, without the observations that never came."""
    events = timeline.events
    return events[(events >= 0) | timeline.observed[np.where(events >= 0, 0, ~events)]].copy()
