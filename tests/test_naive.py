"""The slow reference checked against solvers, published vectors and the paper's own examples."""

from __future__ import annotations

import math

import numpy as np
import pytest

import naive
from naive import NaiveConfig, NaiveLearner

FIGURE_1 = [
    ((1, 0), (9, 0)),
    ((2, 0), (6, 0)),
    ((3, 0), (4, 0)),
    ((5, 0), (7, 0)),
    ((8, 0), (10, 0)),
]


def random_delays(rng: np.random.Generator, rounds: int, longest: int) -> list[int]:
    return [int(rng.integers(0, min(longest, rounds - 1 - t) + 1)) for t in range(rounds)]


# --- base learners -------------------------------------------------------------------------------


def test_entropy_diameter_bounds_the_divergence() -> None:
    for floor in (0.01, 0.1):
        bound = naive.entropy_diameter(4, floor) ** 2 / 2.0
        rows = [floor + (1.0 - 4 * floor) * row for row in np.eye(4)]
        worst = max(naive.divergence(u, z, "entropy") for u in rows for z in rows)
        assert worst == pytest.approx(bound)
    worst = naive.divergence(np.eye(4)[0], np.full(4, 0.25), "entropy")
    assert worst == pytest.approx(naive.entropy_diameter(4, 0.0) ** 2 / 2.0)


# --- timeline ------------------------------------------------------------------------------------


def test_counts_of_the_papers_figures() -> None:
    counts = naive.interval_counts(FIGURE_1)
    order = counts.order
    assert [t + 1 for t in order] == [3, 2, 4, 1, 5]
    assert [counts.delays[t] for t in order] == [
        0,
        2,
        0,
        4,
        0,
    ]
    assert [counts.backlogs[t] for t in order] == [2, 1, 2, 0, 1]
    assert [counts.dual_delays[t] for t in order] == [0, 1, 1, 3, 1]
    assert [counts.dual_backlogs[t] for t in order] == [2, 2, 1, 1, 0]


# --- skipping ------------------------------------------------------------------------------------


def test_the_papers_motivating_example() -> None:
    rounds = 10_000
    delays = [rounds - t if t <= 100 else min(1, rounds - t) for t in range(1, rounds + 1)]
    result = naive.skipping(delays)
    assert round(math.sqrt(sum(delays))) == 1002
    assert result.skipped == list(range(1, 101))
    assert round(math.sqrt(result.totals[-1])) == 120
    assert round(naive.skip_optimum_by_size(delays)) == 199


@pytest.mark.parametrize("rate", ["delay-adaptive", "strongly-convex"])
def test_learner_skips_as_the_sets_do(rate: naive.RateKind) -> None:
    rng = np.random.default_rng(14)
    for _ in range(20):
        delays = random_delays(rng, 40, 39)
        config = NaiveConfig(dim=2, rate=rate, curvature=0.3, skip=True)
        learner = NaiveLearner(config)
        naive.play_rounds(learner, delays, lambda s, x: x - np.array([0.5, 2.0]))
        result = naive.skipping(delays)
        history, totals = learner.history, learner.counters()
        skipped = [t + 1 for t in history.tickets if learner.status[t] == "skipped"]
        assert skipped == result.skipped
        inner = [0] * len(delays)
        for ticket, delay in zip(history.tickets, history.delays, strict=True):
            inner[ticket] = delay
        assert inner == result.inner_delays
        assert totals.total_delay == result.totals[-1] - len(result.skipped) == sum(inner)
        assert totals.skipped == totals.late == len(result.skipped)
        assert totals.observed == len(delays) - len(result.skipped)
        for n, ticket in enumerate(history.tickets):
            if learner.status[ticket] == "skipped":
                expected = 0.3 * history.points[n] if rate == "strongly-convex" else np.zeros(2)
                np.testing.assert_array_equal(history.costs[n], expected)


# --- theorems ------------------------------------------------------------------------------------


def test_right_hand_sides_by_hand() -> None:
    costs = [np.array([1.0]), np.array([-2.0]), np.array([4.0])]
    points = [np.array([0.0]), np.array([-1.0]), np.array([1.0]), np.array([0.5])]
    rates, lags = [1.0, 0.5, 0.25], [0, 1, 2]
    u = np.array([0.5])
    outstanding = naive.open_lags(lags)
    assert outstanding == [2, 1, 0]
    assert naive.linear_regret(points, costs, u) == pytest.approx(-0.5 + 3.0 + 2.0)
    assert naive.incurred_drift(points, lags) == pytest.approx(0.0 + 1.0 + 1.0)
    # alphas 1, 1, 2; squared distances 1/4, 9/4, 1/4; squared costs 1, 4, 16
    bound = 0.5 * (0.25 + 2.25 + 2 * 0.25) + 0.5 * (1.0 + 2.0 + 4.0)
    assert naive.theorem_4_1_regret(points, costs, rates, u) == pytest.approx(bound)
    assert naive.theorem_4_1_drift(costs, rates, outstanding) == pytest.approx(2.0 + 1.0)
    # H = 0 + (1 - 1/2) + (1 - 1/4); windows: none, c_1, c_1 + c_2
    assert naive.misalignment(rates, lags) == pytest.approx(1.25)
    assert naive.lemma_4_2(costs, rates, lags, 2.0) == pytest.approx(0.5 + 0.25 + 2.5)
    assert naive.lemma_d_6_logarithmic(rates, outstanding) == pytest.approx(
        3 * math.log(4 * math.e)
    )
    assert naive.lemma_d_6_window(rates, outstanding) == pytest.approx(1.75 / 0.25)
    assert naive.theorem_5_2_convex(points, costs, lags, u, 4.0) == pytest.approx(4.5 + 8.0)
    strong = naive.theorem_5_2_strongly_convex(points, costs, lags, u, 4.0, 0.2)
    assert strong == pytest.approx(4.5 + 24.0 - 0.1 * 2.75)
