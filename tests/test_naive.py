"""The slow reference checked against solvers, published vectors and the paper's own examples."""

from __future__ import annotations

import itertools
import math
from typing import get_args

import numpy as np
import pytest

import naive
from naive import ChartSet, NaiveConfig, NaiveLearner

SETS = [
    ChartSet("ball", 3, radius=0.8),
    ChartSet("ball", 1, radius=2.0),
    ChartSet("box", 3),
    ChartSet("simplex", 4),
    ChartSet("simplex", 4, floor=0.05),
    ChartSet("l1", 3, radius=1.3),
]
FIGURE_1 = [
    ((1, 0), (9, 0)),
    ((2, 0), (6, 0)),
    ((3, 0), (4, 0)),
    ((5, 0), (7, 0)),
    ((8, 0), (10, 0)),
]


def name(domain: ChartSet) -> str:
    return f"{domain.kind}{domain.dim}" + ("-floor" if domain.floor else "")


def random_delays(rng: np.random.Generator, rounds: int, longest: int) -> list[int]:
    return [int(rng.integers(0, min(longest, rounds - 1 - t) + 1)) for t in range(rounds)]


# --- sets ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [s for s in SETS if s.kind != "simplex"], ids=name)
def test_inner_ball_fits_and_touches(domain: ChartSet) -> None:
    r = domain.inner_radius
    touching = np.ones(domain.dim) / math.sqrt(domain.dim)
    if domain.kind == "box":
        touching = np.eye(domain.dim)[0]
    assert domain.violation(r * touching) < 1e-15
    assert domain.violation(1.001 * r * touching) > 0.0
    for ticket in range(50):
        assert domain.violation(r * naive.direction(3, ticket, domain.dim)) < 1e-12


def test_simplex_with_the_largest_floor_is_a_point() -> None:
    v = np.array([3.0, -1.0, 0.0, 0.5])
    np.testing.assert_allclose(naive.project_simplex(v, 0.25), 0.25)
    np.testing.assert_allclose(naive.project_entropy(np.array([0.5, 0.3, 0.1, 0.1]), 0.25), 0.25)


def test_the_simplex_has_no_inner_ball() -> None:
    with pytest.raises(ValueError, match="no ball"):
        _ = ChartSet("simplex", 3).inner_radius


# --- base learners -------------------------------------------------------------------------------


def test_entropy_survives_a_vanished_weight() -> None:
    learner = naive.EntropyOMD(3)
    z = learner.update(np.array([0.0, 1.0, 2000.0]), 1.0)
    assert z[2] == 0.0
    z = learner.update(np.array([5.0, 3.0, -2000.0]), 1.0)
    np.testing.assert_allclose(z, [1.0 / (1.0 + math.e), math.e / (1.0 + math.e), 0.0])


def test_entropy_diameter_bounds_the_divergence() -> None:
    for floor in (0.01, 0.1):
        bound = naive.entropy_diameter(4, floor) ** 2 / 2.0
        rows = [floor + (1.0 - 4 * floor) * row for row in np.eye(4)]
        worst = max(naive.divergence(u, z, "entropy") for u in rows for z in rows)
        assert worst == pytest.approx(bound)
    worst = naive.divergence(np.eye(4)[0], np.full(4, 0.25), "entropy")
    assert worst == pytest.approx(naive.entropy_diameter(4, 0.0) ** 2 / 2.0)


# --- rates and smoothing -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", get_args(naive.SmoothingKind))
def test_smoothing_stays_in_range_and_never_grows(kind: naive.SmoothingKind) -> None:
    for nu in (0.01, 1.0, 30.0):
        radii = [
            naive.smoothing_radius(kind, t, 0.7, dim=3, nu=nu, constant=0.2) for t in range(1, 300)
        ]
        assert radii[-1] > 0.0
        assert radii[0] <= 0.7
        assert all(later <= earlier for earlier, later in itertools.pairwise(radii))
        fixed = naive.smoothing_radius(kind, 1, 0.7, dim=3, nu=nu, constant=0.2, horizon=299)
        assert fixed == radii[-1]


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


# --- the learner by hand -------------------------------------------------------------------------


def test_first_order_by_hand_in_a_box() -> None:
    center, scale = np.array([10.0, -1.0]), np.array([2.0, 0.5])
    config = NaiveConfig(
        dim=2, base="omd", set_kind="box", center=center, scale=scale, lipschitz=4.0
    )
    learner = NaiveLearner(config)
    ticket, x = learner.predict()
    learner.predict()
    assert ticket == 0
    np.testing.assert_array_equal(x, center)
    assert learner.rate is None
    assert learner.observe(0, np.array([1.0, -2.0]))
    eta = (2.0 * math.sqrt(2.0) / 4.0) / math.sqrt(1 + 1)  # n = 1, one ticket open
    assert learner.rate == pytest.approx(eta)
    np.testing.assert_allclose(learner.z, [-2.0 * eta, 1.0 * eta])
    np.testing.assert_allclose(learner.predict()[1], center + scale * np.array([-1.0, 0.5]))
    assert learner.learning == pytest.approx(eta * 5.0 / 2.0)
    assert learner.drift == pytest.approx(eta * 1 * math.sqrt(5.0))


def test_one_point_by_hand_with_baseline() -> None:
    config = NaiveConfig(
        dim=2, reduction="one-point", radius=2.0, smoothing="inverse-root", baseline=True,
        lipschitz=3.0, magnitude=5.0, seed=9,
    )  # fmt: skip
    learner = NaiveLearner(config)
    u = [naive.direction(9, ticket, 2) for ticket in range(4)]
    for ticket in range(2):
        _, x = learner.predict()
        np.testing.assert_allclose(x, 2.0 / math.sqrt(ticket + 1) * u[ticket])
    learner.observe(1, 4.0)
    delta = 2.0 / math.sqrt(2.0)
    np.testing.assert_allclose(learner.history.costs[0], (2.0 / delta) * 4.0 * u[1])
    assert learner.history.smoothings == [pytest.approx(delta)]
    eta = (4.0 / 3.0) / math.sqrt(1 + 1 + (2 * 5.0 / (3.0 * delta)) ** 2)
    assert learner.rate == pytest.approx(eta)
    _, x = learner.predict()  # issued after one value: baseline 4
    third = 2.0 / math.sqrt(3.0)
    np.testing.assert_allclose(x, (1.0 - third / 2.0) * learner.z + third * u[2])
    learner.observe(0, 1.0)  # issued before any value: baseline 0
    np.testing.assert_allclose(learner.history.costs[1], (2.0 / 2.0) * 1.0 * u[0])
    learner.observe(2, 7.0)
    np.testing.assert_allclose(learner.history.costs[2], (2.0 / third) * (7.0 - 4.0) * u[2])
    learner.predict()
    assert learner.baselines[3] == pytest.approx(4.0)
    assert learner.history.smoothings == pytest.approx([delta, third, third])


def test_two_point_by_hand() -> None:
    config = NaiveConfig(
        dim=3, reduction="two-point", set_kind="l1", radius=1.5, smoothing="inverse", seed=4
    )
    learner = NaiveLearner(config)
    r = 1.5 / math.sqrt(3.0)
    _, x = learner.predict()
    u = naive.direction(4, 0, 3)
    np.testing.assert_allclose(x, [r * u, -r * u])
    learner.observe(0, (2.0, 0.5))
    np.testing.assert_allclose(learner.history.costs[0], 3.0 / (2.0 * r) * 1.5 * u)
    assert learner.rate == pytest.approx(3.0 / math.sqrt(3.0))
    _, x = learner.predict()
    np.testing.assert_allclose(x.mean(axis=0), 0.5 * learner.z)
    assert all(config.domain.violation(row) < 1e-12 for row in x)


def test_gradient_adaptive_waits_for_the_first_cost() -> None:
    learner = NaiveLearner(NaiveConfig(dim=2, rate="gradient-adaptive", lipschitz=None))
    naive.play_rounds(
        learner, [0, 0, 0, 0], lambda s, x: np.zeros(2) if s < 2 else np.array([3.0, 4.0])
    )
    assert learner.history.rates[:2] == [None, None]
    eta = 1.0 / math.sqrt(12.5)
    assert learner.history.rates[2] == pytest.approx(eta)
    assert learner.history.filled_rates()[:3] == pytest.approx([eta] * 3)
    np.testing.assert_allclose(
        learner.history.points[3], -eta * np.array([3.0, 4.0]) / max(1, 5 * eta)
    )


# --- skipping ------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 5, 20])
def test_constant_delay_skips_the_first_rounds_only(d: int) -> None:
    rounds = 200
    result = naive.skipping([min(d, rounds - t) for t in range(1, rounds + 1)])
    assert result.skipped == list(range(1, d))


def test_the_papers_motivating_example() -> None:
    rounds = 10_000
    delays = [rounds - t if t <= 100 else min(1, rounds - t) for t in range(1, rounds + 1)]
    result = naive.skipping(delays)
    assert round(math.sqrt(sum(delays))) == 1002
    assert result.skipped == list(range(1, 101))
    assert round(math.sqrt(result.totals[-1])) == 120
    assert round(naive.skip_optimum_by_size(delays)) == 199


def test_the_best_set_to_skip_takes_the_largest_delays() -> None:
    rng = np.random.default_rng(13)
    for _ in range(30):
        delays = random_delays(rng, 9, 8)
        assert naive.skip_optimum(delays) == pytest.approx(naive.skip_optimum_by_size(delays))


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


def test_a_skipped_ticket_hears_one_late_answer_or_a_cancellation() -> None:
    learner = NaiveLearner(NaiveConfig(dim=1, skip=True))
    while learner.counters().skipped < 2:
        learner.predict()
    first, second = [t for t, status in learner.status.items() if status == "skipped"][:2]
    steps = len(learner.history.costs)
    assert not learner.observe(first, np.ones(1))
    learner.cancel(second)
    assert len(learner.history.costs) == steps
    assert (learner.counters().late, learner.counters().cancelled) == (1, 0)
    for ticket in (first, second):
        with pytest.raises(ValueError, match="closed"):
            learner.observe(ticket, np.ones(1))
        with pytest.raises(ValueError, match="closed"):
            learner.cancel(ticket)


def test_smoothing_of_a_skip_is_that_of_the_last_prediction() -> None:
    learner = NaiveLearner(
        NaiveConfig(dim=2, reduction="one-point", smoothing="inverse", skip=True)
    )
    while learner.counters().skipped == 0:
        learner.predict()
    assert learner.history.smoothings[0] == pytest.approx(1.0 / (learner.predictions() - 1))


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
