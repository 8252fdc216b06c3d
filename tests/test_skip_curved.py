"""Skipping over strongly convex losses: its guarantee, with constants, on the real learner.

The losses are the hardest with the gradients c_t at the plays x_t:
<c_t, x> + (lambda / 2) |x - x_t|^2. A skipped one has (lambda / 2) |y|^2 in its place.
"""

from __future__ import annotations

import numpy as np
import pytest

import belated as bl
from belated.problem import BaseName
from conftest import shortened
from naive_game import answered
from test_leader import surrogate_regret
from test_theorems import (
    SLACK,
    Adversary,
    Array,
    adversaries,
    all_delays,
    all_signs,
    patterns,
    quick,
    targets,
)

SETS: dict[str, bl.domains.Domain] = {
    "ball": bl.Ball(2),
    "box": bl.Box([-3.0, -1.0], [3.0, 1.0]),
    "simplex": bl.Simplex(3),
    "many corners": bl.Simplex(9),
    "L1 ball": bl.L1Ball(2, 0.5),
}
HARD: tuple[BaseName, ...] = ("pftrl", "omd", "leader")


def bent(domain: bl.domains.Domain, share: float, lipschitz: float = 1.3) -> bl.Problem:
    """Return losses with this share of the curvature that their gradients allow."""
    curvature = share * 2.0 * lipschitz / domain.diameter
    return bl.Problem(domain, lipschitz, curvature=curvature)


@pytest.mark.parametrize("share", [1.0, pytest.param(0.1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("base", HARD)
@pytest.mark.parametrize("name", SETS)
def test_patterns(name: str, base: BaseName, share: float) -> None:
    problem = bent(SETS[name], share)
    spec = problem.learner("gradient", base, skip=True)
    skipped = 0
    for pattern, timeline in patterns(shortened(100), 81).items():
        bound = problem.bound(timeline, "gradient", base, skip=True)
        for game, adversary in adversaries(problem.domain.dim, problem.lipschitz, 82).items():
            record = quick(spec, timeline, adversary)
            regret = surrogate_regret(
                problem.domain, record.plays, record.gradients, problem.curvature
            )
            assert regret <= bound.total * SLACK, (pattern, game)
            skipped += record.learner.report().skipped
    assert skipped > 100


@pytest.mark.parametrize("base", HARD)
def test_quadratics(base: BaseName) -> None:
    """Losses (lambda / 2) |x - a_t|^2, whose gradients depend on the plays."""
    problem = bl.Problem(bl.Ball(2), 1.4, curvature=0.7)
    spec = problem.learner("gradient", base, skip=True)
    for timeline in patterns(shortened(150), 83).values():
        bound = problem.bound(timeline, "gradient", base, skip=True)
        for choose in targets(2, 84).values():

            def gradient(t: int, y: Array, choose: Adversary = choose) -> Array:
                return np.asarray(0.7 * (y - choose(t, y)))

            record = quick(spec, timeline, gradient)
            regret = surrogate_regret(problem.domain, record.plays, record.gradients, 0.7)
            assert regret <= bound.total * SLACK


@pytest.mark.parametrize("share", [1.0, pytest.param(0.3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("base", HARD)
def test_exhaustive(base: BaseName, share: float) -> None:
    """All delay sequences with T <= 4 and all costs."""
    problem = bent(bl.Ball(1), share)
    spec = problem.learner("gradient", base, skip=True)
    skipped = 0
    for delays in all_delays(4):
        timeline = bl.Timeline.from_delays(delays)
        bound = problem.bound(timeline, "gradient", base, skip=True).total
        happening = np.array(answered(timeline))
        for signs in all_signs(len(delays)):
            costs = problem.lipschitz * signs
            learner = bl.Learner(spec)
            plays = learner.replay(happening, costs)
            regret = surrogate_regret(problem.domain, list(plays), list(costs), problem.curvature)
            assert regret <= bound * SLACK, (delays, signs.T)
            skipped += learner.report().skipped
    assert skipped > 0


@pytest.mark.parametrize("base", ["pftrl", "omd"])
def test_whole_losses(base: BaseName) -> None:
    """Corollary 5.4 also covers gradients at the current point, and so does skipping."""
    problem = bl.Problem(bl.Ball(2), 1.4, curvature=0.7)
    spec = problem.learner("function", base, skip=True)
    choose = targets(2, 87)["random"]
    for timeline in patterns(shortened(80), 88).values():
        learner, plays, gradients = bl.Learner(spec), [], []
        goals: list[Array] = []
        for event in answered(timeline):
            if event >= 0:
                plays.append(learner.predict().x)
                goals.append(choose(event, plays[-1]))
                gradients.append(0.7 * (plays[-1] - goals[-1]))
            else:
                learner.observe(~event, lambda y, a=goals[~event]: 0.7 * (y - a))
        regret = surrogate_regret(problem.domain, plays, gradients, 0.7)
        assert regret <= problem.bound(timeline, "function", base, skip=True).total * SLACK
