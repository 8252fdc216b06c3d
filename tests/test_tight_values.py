"""Values, other steps and radii: Theorems E.3 and G.5, and the learner that E.3 is best for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated import bounds
from belated.compose import schedule_of
from belated.errors import SpecError
from conftest import examples

Loss = Callable[[np.ndarray], float]


def slow_bound(
    spec: bl.OnePoint | bl.TwoPoint, late: bl.Timeline, steep: float, largest: float
) -> float:
    """Theorems E.3 and G.5, summand by summand, in the order of arrivals."""
    assert isinstance(spec.base, bl.PFTRL)
    domain = spec.base.domain
    assert domain.outer_radius
    assert domain.inner_radius
    etas, _, radii = schedule_of(spec, late)
    order = late.order.tolist()
    lags = [int(late.dual_delay[t]) for t in order]
    dim = domain.dim
    squares = [(dim * largest / radii[t]) ** 2 for t in order]
    if isinstance(spec, bl.TwoPoint):  # k^2 G^2 / (k - 1), and G^2 in one dimension
        squares = [steep**2 * (dim**2 / (dim - 1) if dim > 1 else 1.0)] * len(order)
    total = domain.diameter**2 / (2.0 * float(etas[-1]))
    for n, (eta, lag) in enumerate(zip(etas.tolist(), lags, strict=True)):
        walk = math.sqrt(math.fsum(squares[n - lag : n]))
        total += eta * (squares[n] / 2.0 + steep**2 * lag + steep * walk)
        total += steep * domain.diameter * (1.0 - eta / float(etas[n - lag]))
    return total + 6.0 * steep * domain.outer_radius / domain.inner_radius * math.fsum(radii)


@examples(12)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=25),
    st.sampled_from([bl.Ball(2), bl.Box([0.0, -1.0], [1.0, 3.0])]),
    st.sampled_from([None, "mean"]),
    st.floats(0.1, 3.0),
)
def test_the_bound_is_that_of_the_slow_version(
    delays: list[int], domain: bl.Ball | bl.Box, baseline: str | None, scale: float
) -> None:
    """For any delays, sets, steps and radii."""
    late = bl.Timeline.from_delays(delays)
    base = bl.PFTRL(domain, bl.rates.DelayAdaptive(1.5, scale=scale))
    spec = bl.OnePoint(base, 2.0, bl.smoothing.Constant(0.3), baseline)  # type: ignore[arg-type]
    found = bounds.theorem_e_3(late, spec=spec).total
    assert found == pytest.approx(slow_bound(spec, late, 1.5, 4.0 if baseline else 2.0))


@examples(12)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=25), st.integers(1, 3))
def test_the_bound_of_two_values_is_that_of_the_slow_version(delays: list[int], dim: int) -> None:
    """For any delays and steps; and it is below Corollary G.3 for the learner of that."""
    late = bl.Timeline.from_delays(delays)
    base = bl.PFTRL(bl.Ball(dim), bl.rates.DelayAdaptive(1.5, scale=0.7))
    spec = bl.TwoPoint(base, bl.smoothing.Constant(0.1))
    found = bounds.theorem_g_5(late, spec=spec).total
    assert found == pytest.approx(slow_bound(spec, late, 1.5, math.nan))
    usual = bl.TwoPoint(bl.PFTRL(bl.Ball(dim), bl.rates.DelayAdaptive(1.5)))
    corollary = bounds.corollary_g_3(late, domain=bl.Ball(dim), lipschitz=1.5).total
    assert bounds.theorem_g_5(late, spec=usual).total < corollary


def test_the_bound_is_below_that_of_the_corollary() -> None:
    """For the learner of the corollary already, and more for the one that it is best for."""
    domain = bl.Box([-1.0] * 3, [1.0] * 3)
    known: dict[str, Any] = {"domain": domain, "lipschitz": 1.0, "magnitude": 2.0}
    usual = bl.OnePoint(bl.PFTRL(domain, bl.rates.DelayAdaptive(1.0)), 2.0)
    for delays in ([0] * 300, [30] * 300, [0, 90] * 150):
        late = bl.Timeline.from_delays(delays)
        corollary = bounds.corollary_5_7(late, **known).total
        assert bounds.theorem_e_3(late, spec=usual).total < 0.6 * corollary
        assert bounds.tight_one_point(late, **known).total < 0.45 * corollary


def games(rounds: int, seed: int) -> list[tuple[list[Loss], np.ndarray]]:
    """Return losses with |gradients|, |values| <= 1 on the unit disc, and their best points.

    Steady ones, random ones, and slopes that turn round when they have been learned.
    """
    rng = np.random.default_rng(seed)
    turn = np.where(np.arange(rounds) < 2 * rounds // 5, -1.0, 1.0)[:, None] * [[1.0, 0.0]]
    noisy = rng.normal(size=(rounds, 2)) + np.array([0.7, -0.7])
    noisy /= np.maximum(1.0, np.linalg.norm(noisy, axis=1))[:, None]
    found: list[tuple[list[Loss], np.ndarray]] = []
    for slopes in (turn, noisy):
        total = slopes.sum(axis=0)
        linear: list[Loss] = [lambda x, a=a: float(a @ x) for a in slopes]  # type: ignore[misc]
        found.append((linear, -total / np.linalg.norm(total)))
    goal = np.array([0.5, 0.2])
    found.append(([lambda x: float((x - goal) @ (x - goal)) / 4.0] * rounds, goal))
    return found


@pytest.mark.parametrize("name", ["none", "batches", "all at the end"])
def test_expected_regret(name: str) -> None:
    """Three standard errors above the mean of the regret are within the bound."""
    rounds = 60
    late = {
        "none": [0] * rounds,
        "batches": [9 - t % 10 for t in range(rounds)],
        "all at the end": [rounds] * rounds,
    }[name]
    timeline = bl.Timeline.from_delays(late)
    problem = bl.Problem(bl.Ball(2), 1.0, magnitude=1.0)
    one = problem.learner("value", rate="tight")
    assert isinstance(one, bl.OnePoint)
    two = bl.TwoPoint(bl.PFTRL(bl.Ball(2), bl.rates.DelayAdaptive(1.0, scale=0.5)))
    limits = {
        one: problem.bound(timeline, "value", rate="tight").total,
        two: bounds.theorem_g_5(timeline, spec=two).total,
    }
    for (losses, best), (spec, bound) in itertools.product(games(rounds, 4), limits.items()):
        least = math.fsum(loss(best) for loss in losses)
        runs = np.array([_paid(spec, timeline, losses, seed) for seed in range(6)]) - least
        assert runs.mean() + 3.0 * runs.std(ddof=1) / math.sqrt(6) <= bound


def _paid(
    spec: bl.OnePoint | bl.TwoPoint, timeline: bl.Timeline, losses: list[Loss], seed: int
) -> float:
    learner = bl.Learner(spec, seed=seed, strict=True)
    values: list[list[float]] = []
    for event in timeline.events.tolist():
        if event >= 0:
            values.append([losses[event](x) for x in learner.predict().x.reshape(-1, 2)])
        else:
            learner.observe(~event, values[~event])
    return math.fsum(math.fsum(pair) / len(pair) for pair in values)


def test_what_the_theorem_does_not_cover_is_refused() -> None:
    """Other bases, unknown gradients, and a capacity."""
    late = bl.Timeline.from_delays([0])
    wrong = bl.OnePoint(bl.OMD(bl.Ball(2), bl.rates.DelayAdaptive(1.0)), 1.0)
    with pytest.raises(SpecError, match="over a PFTRL"):
        bounds.theorem_e_3(late, spec=wrong)
    with pytest.raises(SpecError, match="TwoPoint over a PFTRL"):
        bounds.theorem_g_5(late, spec=wrong)  # type: ignore[arg-type]
    free = bl.PFTRL(bl.Ball(2), bl.rates.Constant(0.1))
    spec = bl.OnePoint(free, 1.0, bl.smoothing.Constant(0.1))
    with pytest.raises(SpecError, match="give lipschitz"):
        bounds.theorem_e_3(late, spec=spec)
    assert bounds.theorem_e_3(late, spec=spec, lipschitz=1.0).total > 0.0
    problem = bl.Problem(bl.Ball(2), 1.0, magnitude=1.0)
    with pytest.raises(SpecError, match="a capacity is proved"):
        problem.bound(late, "value", rate="tight", capacity=4, backlog=9)
    assert "No theorem" in problem.explain("value", rate="tight", capacity=4, backlog=9)
