"""The slow reference checked against solvers, published vectors and the paper's own examples."""

from __future__ import annotations

import itertools
import math
from typing import get_args

import numpy as np
import pytest

import naive
from conftest import shortened
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


@pytest.mark.parametrize("domain", SETS, ids=name)
def test_projection_is_the_nearest_point(domain: ChartSet) -> None:
    rng = np.random.default_rng(1)
    for size in (0.1, 1.0, 10.0):
        for _ in range(20):
            v = size * rng.standard_normal(domain.dim)
            p = domain.project(v)
            assert domain.violation(p) < 1e-12
            # <p - v, p - w> <= 0 for every w in the set
            assert naive.optimality_gap(p - v, p, domain) < 1e-12 * (1.0 + size**2)
            np.testing.assert_allclose(domain.project(p), p, atol=1e-14)


@pytest.mark.parametrize("domain", SETS, ids=name)
def test_linear_minimum_and_diameter_from_extreme_points(domain: ChartSet) -> None:
    k = domain.dim
    if domain.kind == "ball":
        axis = np.eye(k)[0] * domain.radius
        points = [axis, -axis]
    elif domain.kind == "box":
        points = [np.array(corner) for corner in itertools.product((-1.0, 1.0), repeat=k)]
    elif domain.kind == "simplex":
        points = [domain.floor + (1.0 - k * domain.floor) * row for row in np.eye(k)]
    else:
        points = [sign * domain.radius * row for row in np.eye(k) for sign in (-1.0, 1.0)]
    assert all(domain.violation(point) < 1e-15 for point in points)
    widest = max(float(np.linalg.norm(a - b)) for a in points for b in points)
    assert widest == pytest.approx(domain.diameter)
    g = np.random.default_rng(2).standard_normal(k)
    if domain.kind == "ball":
        points.append(-domain.radius * g / float(np.linalg.norm(g)))
    assert min(float(g @ point) for point in points) == pytest.approx(domain.linear_minimum(g))


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


@pytest.mark.parametrize("domain", SETS, ids=name)
@pytest.mark.parametrize("size", [0.1, 3.0])
def test_pftrl_closed_form_is_the_argmin(domain: ChartSet, size: float) -> None:
    rng = np.random.default_rng(5)
    learner = naive.PFTRL(domain)
    points = [learner.start()]
    costs: list[naive.Array] = []
    etas: list[float] = []
    for n in range(1, 9):
        costs.append(size * rng.standard_normal(domain.dim))
        etas.append(
            1.0 / math.sqrt(n + float(rng.integers(0, 3)) + (etas[-1] ** -2 if etas else 0))
        )
        z = learner.update(costs[-1], etas[-1])
        assert domain.violation(z) < 1e-12
        gradient = naive.pftrl_gradient(z, costs, points, etas)
        assert naive.optimality_gap(gradient, z, domain) < 1e-11
        literal = naive.pftrl_argmin(costs, points, etas, domain)
        np.testing.assert_allclose(z, literal, atol=2e-6)
        points.append(z)


@pytest.mark.parametrize("domain", SETS, ids=name)
def test_omd_is_the_argmin(domain: ChartSet) -> None:
    rng = np.random.default_rng(6)
    learner = naive.OMD(domain)
    z = learner.start()
    for n in range(1, 9):
        cost, eta = 2.0 * rng.standard_normal(domain.dim), 1.0 / n
        literal = naive.omd_argmin(cost, z, eta, domain)
        before, z = z, learner.update(cost, eta)
        np.testing.assert_allclose(z, literal, atol=2e-6)
        assert naive.optimality_gap(cost + (z - before) / eta, z, domain) < 1e-11


@pytest.mark.parametrize("floor", [0.0, 0.02, 0.2, 0.25])
def test_entropy_is_the_argmin(floor: float) -> None:
    rng = np.random.default_rng(7)
    learner = naive.EntropyOMD(4, floor)
    domain = ChartSet("simplex", 4, floor=floor)
    z = learner.start()
    for n in range(1, 9):
        cost, eta = 2.0 * rng.standard_normal(4), 1.0 / math.sqrt(n)
        literal = naive.entropy_argmin(cost, z, eta, floor)
        before, z = z, learner.update(cost, eta)
        np.testing.assert_allclose(z, literal, atol=2e-6)
        gradient = cost + (np.log(z / before) + 1.0) / eta
        assert domain.violation(z) < 1e-14
        assert naive.optimality_gap(gradient, z, domain) < 1e-12


def test_entropy_survives_a_vanished_weight() -> None:
    learner = naive.EntropyOMD(3)
    z = learner.update(np.array([0.0, 1.0, 2000.0]), 1.0)
    assert z[2] == 0.0
    z = learner.update(np.array([5.0, 3.0, -2000.0]), 1.0)
    np.testing.assert_allclose(z, [1.0 / (1.0 + math.e), math.e / (1.0 + math.e), 0.0])


@pytest.mark.parametrize("domain", [s for s in SETS if s.kind != "simplex"], ids=name)
def test_pftrl_is_omd_while_inside(domain: ChartSet) -> None:
    rng = np.random.default_rng(8)
    proximal, mirror = naive.PFTRL(domain), naive.OMD(domain)
    for n in range(1, 60):
        cost = 0.02 * rng.standard_normal(domain.dim)
        a, b = proximal.update(cost, 1.0 / math.sqrt(n)), mirror.update(cost, 1.0 / math.sqrt(n))
        np.testing.assert_allclose(a, b, atol=1e-13)
    big = 100.0 * np.ones(domain.dim)
    proximal.update(big, 0.1)
    mirror.update(big, 0.1)
    a, b = proximal.update(-0.1 * big, 0.05), mirror.update(-0.1 * big, 0.05)
    assert np.abs(a - b).max() > 0.01  # and they part once a projection has been active


def test_a_step_without_a_rate_changes_nothing() -> None:
    for learner in (naive.PFTRL(SETS[0]), naive.OMD(SETS[0]), naive.EntropyOMD(3)):
        z = learner.start()
        np.testing.assert_array_equal(learner.update(np.ones(3), None), z)
    fresh, used = naive.PFTRL(SETS[0]), naive.PFTRL(SETS[0])
    used.update(np.zeros(3), None)
    cost = np.array([1.0, -2.0, 0.5])
    np.testing.assert_array_equal(fresh.update(cost, 0.3), used.update(cost, 0.3))


def test_entropy_diameter_bounds_the_divergence() -> None:
    for floor in (0.01, 0.1):
        bound = naive.entropy_diameter(4, floor) ** 2 / 2.0
        rows = [floor + (1.0 - 4 * floor) * row for row in np.eye(4)]
        worst = max(naive.divergence(u, z, "entropy") for u in rows for z in rows)
        assert worst == pytest.approx(bound)
    worst = naive.divergence(np.eye(4)[0], np.full(4, 0.25), "entropy")
    assert worst == pytest.approx(naive.entropy_diameter(4, 0.0) ** 2 / 2.0)


# --- rates and smoothing -------------------------------------------------------------------------


def test_rates_by_hand() -> None:
    backlogs = [2, 0, 1]
    assert naive.rate_first_order(backlogs, 6.0, 2.0) == pytest.approx(3.0 / math.sqrt(6.0))
    assert naive.rate_tight(backlogs, 6.0, 2.0) == pytest.approx(1.5 / math.sqrt(4.5))
    assert naive.rate_two_point(backlogs, 6.0, 2.0, 5) == pytest.approx(3.0 / math.sqrt(18.0))
    # k M / (G delta') = 5 * 3 / (2 * 0.5) = 15 and 7.5 twice
    got = naive.rate_one_point(backlogs, [0.5, 1.0, 1.0], 6.0, 2.0, 5, 3.0)
    assert got == pytest.approx(3.0 / math.sqrt(6.0 + 225.0 + 2 * 56.25))
    norms = [1.0, 0.0, 3.0]
    got_adaptive = naive.rate_gradient_adaptive(norms, backlogs, 6.0, 4.0)
    assert got_adaptive == pytest.approx(3.0 / math.sqrt(0.5 + 8.0 + 4.5 + 12.0))
    # running maximum: term 1 uses 1, term 3 uses 3
    got_running = naive.rate_gradient_adaptive(norms, backlogs, 6.0, None)
    assert got_running == pytest.approx(3.0 / math.sqrt(0.5 + 2.0 + 4.5 + 9.0))
    assert naive.rate_gradient_adaptive([0.0], [5], 6.0, None) is None
    assert naive.rate_strongly_convex(4, 0.5) == 0.5
    assert [naive.rate_table(n, (3.0, 2.0)) for n in (1, 2, 3)] == [3.0, 2.0, 2.0]


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


# --- directions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ("00000000 00000000 00000000 00000000", "00000000 00000000",
         "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
         "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
         "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)  # fmt: skip
def test_philox_known_answers(counter: str, key: str, expected: str) -> None:
    c0, c1, c2, c3 = (int(word, 16) for word in counter.split())
    k0, k1 = (int(word, 16) for word in key.split())
    words = naive.philox4x32((c0, c1, c2, c3), (k0, k1))
    assert words == tuple(int(word, 16) for word in expected.split())


def test_directions_are_uniform_and_repeatable() -> None:
    for dim in (1, 2, 3):
        u = np.array([naive.direction(11, ticket, dim) for ticket in range(4000)])
        np.testing.assert_allclose(np.linalg.norm(u, axis=1), 1.0, atol=1e-15)
        np.testing.assert_allclose(u.mean(axis=0), 0.0, atol=0.06)
        np.testing.assert_allclose(u.T @ u / len(u), np.eye(dim) / dim, atol=0.03)
    np.testing.assert_array_equal(naive.direction(11, 5, 3), naive.direction(11, 5, 3))
    several = [(11, 5), (12, 5), (11, 6), (11 + 2**32, 5), (11, 5 + 2**32)]
    assert len({naive.direction(seed, ticket, 3).tobytes() for seed, ticket in several}) == 5


def test_normals_are_normal() -> None:
    values = np.array([naive.normals(0, ticket, 5) for ticket in range(3000)]).ravel()
    assert abs(float(values.mean())) < 0.03
    assert abs(float((values**2).mean()) - 1.0) < 0.05
    assert abs(float((values**4).mean()) - 3.0) < 0.3
    np.testing.assert_array_equal(naive.normals(0, 1, 4), naive.normals(0, 1, 5)[:4])


def test_normals_of_the_known_block() -> None:
    # seed 0, ticket 0, block 0 is the first published vector; both of its pairs, then block 1
    first, second = (0x6627E8D5, 0xE169C58D), (0xBC57AC4C, 0x9B00DBD8)
    expected: list[float] = []
    for a, b in (first, second):
        x, y = (a + 0.5) / 2**31 - 1.0, (b + 0.5) / 2**31 - 1.0
        s = x * x + y * y
        assert s < 1.0
        expected += [v * math.sqrt(-2.0 * math.log(s) / s) for v in (x, y)]
    assert naive.normals(0, 0, 4) == pytest.approx(expected, rel=1e-15)
    three = np.array(expected[:3])
    np.testing.assert_allclose(naive.direction(0, 0, 3), three / np.linalg.norm(three), rtol=1e-15)


def test_rejected_pairs_are_passed_over() -> None:
    seed, ticket = 3 + (7 << 32), 5 + (9 << 32)
    candidates: list[tuple[float, float]] = []
    for block in range(40):
        words = naive.philox4x32((block, 0, 5, 9), (3, 7))
        w = [(word + 0.5) * 2.0**-31 - 1.0 for word in words]
        candidates += [(w[0], w[1]), (w[2], w[3])]
    accepted = [(x, y) for x, y in candidates if x * x + y * y < 1.0]
    assert len(accepted) < len(candidates)
    values = naive.normals(seed, ticket, 2 * len(accepted))
    for (x, y), first, second in zip(accepted, values[::2], values[1::2], strict=True):
        assert first / second == pytest.approx(x / y)


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


def test_learner_counts_match_the_timeline() -> None:
    rng = np.random.default_rng(12)
    for _ in range(20):
        delays = random_delays(rng, 25, 12)
        counts = naive.interval_counts(naive.intervals_of_delays(delays))
        learner = NaiveLearner(NaiveConfig(dim=1))
        naive.play_rounds(learner, delays, lambda s, x: np.ones(1))
        history, totals = learner.history, learner.counters()
        assert counts.delays == delays
        assert learner.backlogs == counts.backlogs
        assert history.tickets == counts.order
        assert history.delays == [counts.delays[t] for t in counts.order]
        assert history.dual_delays == [counts.dual_delays[t] for t in counts.order]
        assert history.dual_backlogs == [counts.dual_backlogs[t] for t in counts.order]
        assert history.dual_backlogs == naive.open_lags(history.dual_delays)
        assert totals.total_delay == sum(delays) == sum(history.dual_backlogs)
        assert totals.max_delay == max(delays)
        assert totals.max_backlog == max(counts.backlogs) == max(history.dual_backlogs)
        assert totals.max_dual_delay == max(counts.dual_delays)
        assert (totals.rounds, totals.observed, totals.open) == (25, 25, 0)
        for n, ticket in enumerate(history.tickets):  # steady: x_s = z_{n - d*_n}
            origin = history.points[n - history.dual_delays[n]]
            np.testing.assert_array_equal(history.plays[ticket], origin)


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


def test_exact_feedback_types() -> None:
    one = NaiveLearner(NaiveConfig(dim=1, reduction="one-point"))
    one.predict()
    with pytest.raises(TypeError):
        one.observe(0, (1.0, 2.0))
    two = NaiveLearner(NaiveConfig(dim=1, reduction="two-point"))
    two.predict()
    with pytest.raises(TypeError):
        two.observe(0, 1.0)


def test_life_of_a_ticket() -> None:
    learner = NaiveLearner(NaiveConfig(dim=1))
    for unknown in (0, -1):
        with pytest.raises(KeyError):
            learner.observe(unknown, np.ones(1))
        with pytest.raises(KeyError):
            learner.cancel(unknown)
    for _ in range(3):
        learner.predict()
    assert learner.observe(1, np.ones(1))
    z = learner.z
    learner.cancel(0)
    np.testing.assert_allclose(learner.z, z, atol=1e-15)
    for ticket in (0, 1):
        with pytest.raises(ValueError, match="closed"):
            learner.observe(ticket, np.ones(1))
        with pytest.raises(ValueError, match="closed"):
            learner.cancel(ticket)
    totals = learner.counters()
    assert (totals.observed, totals.cancelled, totals.open, totals.skipped) == (1, 1, 1, 0)
    assert learner.history.dual_backlogs == [2, 1]
    assert learner.history.dual_delays == [0, 1]
    assert learner.history.delays == [1, 2]


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


def test_skipping_on_all_short_sequences() -> None:
    for rounds in range(1, 7):
        choices = [range(rounds - t) for t in range(rounds)]
        for delays in itertools.product(*choices):
            result = naive.skipping(delays)
            total = result.totals[-1]
            root = math.sqrt(total)
            best = naive.skip_optimum_by_size(delays)
            assert sum(result.delays) == total == sum(len(s) for s in result.tracked)
            assert all(new <= old for new, old in zip(result.delays, delays, strict=True))
            assert max(result.delays) <= root + 1.0
            assert len(result.skipped) <= 2.0 * root
            assert root <= best + 1.0
            assert len(result.skipped) + root <= 3.0 * (best + 1.0)
            for t in range(1, rounds + 1):  # D_tau = sum of min{d'_t, max(0, tau - t)}
                parts = [min(d, max(0, t - s)) for s, d in enumerate(result.delays, start=1)]
                assert result.totals[t - 1] == sum(parts)


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


# --- theorems in play ----------------------------------------------------------------------------


GAMES: list[tuple[ChartSet, naive.BaseKind]] = [
    *[(domain, "pftrl") for domain in SETS],
    *[(domain, "omd") for domain in SETS],
    *[(domain, "entropy-omd") for domain in SETS if domain.kind == "simplex"],
]


@pytest.mark.parametrize(("domain", "base"), GAMES, ids=[f"{name(d)}-{b}" for d, b in GAMES])
@pytest.mark.parametrize("rate", ["delay-adaptive", "gradient-adaptive", "strongly-convex"])
def test_theorems_hold(domain: ChartSet, base: naive.BaseKind, rate: naive.RateKind) -> None:
    rng = np.random.default_rng(15)
    rounds, curvature = shortened(160), 0.5
    for longest in (0, 4, 40):
        delays = random_delays(rng, rounds, longest)
        targets = [domain.project(rng.standard_normal(domain.dim)) for _ in range(rounds)]
        config = NaiveConfig(
            dim=domain.dim, base=base, set_kind=domain.kind, radius=domain.radius,
            floor=domain.floor, rate=rate, lipschitz=curvature * domain.diameter,
            curvature=curvature,
        )  # fmt: skip
        learner = NaiveLearner(config)

        def gradient(s: int, x: naive.Array, targets: list[naive.Array] = targets) -> naive.Array:
            return curvature * (x - targets[s])

        played = naive.play_rounds(learner, delays, gradient)
        h, geometry = learner.history, config.geometry
        rates, lags = h.filled_rates(), h.dual_delays
        drift = naive.incurred_drift(h.points, lags, geometry)
        slack = 1e-9
        for n, eta in enumerate(rates):  # Theorem D.4 and Lemma D.5, one step
            moved = naive.primal_norm(h.points[n + 1] - h.points[n], geometry)
            assert moved <= eta * h.norms[n] + slack
        assert drift <= naive.theorem_4_1_drift(h.costs, rates, h.dual_backlogs, geometry) + slack
        misaligned = naive.misalignment(rates, lags)
        assert misaligned <= naive.lemma_d_6_logarithmic(rates, h.dual_backlogs) + slack
        assert misaligned <= naive.lemma_d_6_window(rates, h.dual_backlogs) + slack
        if base == "pftrl":
            assert drift <= naive.lemma_4_2(h.costs, rates, lags, domain.diameter) + slack
        best = domain.project(np.mean(targets, axis=0))
        for u in [best, *[domain.project(rng.standard_normal(domain.dim)) for _ in range(3)]]:
            linear = naive.linear_regret(h.points, h.costs, u)
            bound = naive.theorem_4_1_regret(h.points, h.costs, rates, u, geometry)
            assert linear <= bound + slack
            regret = sum(
                curvature / 2.0 * float((x - a) @ (x - a) - (u - a) @ (u - a))
                for x, a in zip(played, targets, strict=True)
            )
            steepest = max(h.norms)
            convex = naive.theorem_5_2_convex(h.points, h.costs, lags, u, steepest, geometry)
            assert regret <= convex + slack
            if geometry == "euclidean":
                strong = naive.theorem_5_2_strongly_convex(
                    h.points, h.costs, lags, u, curvature * domain.diameter, curvature
                )
                assert regret <= strong + slack


def test_the_certificate_sums_are_theorem_4_1() -> None:
    rng = np.random.default_rng(16)
    learner = NaiveLearner(NaiveConfig(dim=3, rate="tight"))
    naive.play_rounds(learner, random_delays(rng, 40, 10), lambda s, x: rng.standard_normal(3))
    h = learner.history
    rates = h.filled_rates()
    assert learner.drift == pytest.approx(naive.theorem_4_1_drift(h.costs, rates, h.dual_backlogs))
    zero = [np.zeros(3)] * len(h.costs)
    rest = naive.theorem_4_1_regret(zero, h.costs, rates, np.zeros(3))
    assert learner.learning == pytest.approx(rest)
