"""The slow reference checked against solvers, published vectors and the paper's own examples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pytest
from scipy import optimize

import belated as bl
import naive
import naive_rivals as nr
from belated import delays, rivals
from conftest import shortened
from naive import Array, ChartSet, Geometry, optimality_gap, play_rounds
from naive_simplex_rivals import (
    Hint,
    NaiveODFTRL,
    hybrid_ftrl,
    run_rounds,
)


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


# --- skipping ------------------------------------------------------------------------------------


def test_the_papers_motivating_example() -> None:
    rounds = 10_000
    delays = [rounds - t if t <= 100 else min(1, rounds - t) for t in range(1, rounds + 1)]
    result = naive.skipping(delays)
    assert round(math.sqrt(sum(delays))) == 1002
    assert result.skipped == list(range(1, 101))
    assert round(math.sqrt(result.totals[-1])) == 120
    assert round(naive.skip_optimum_by_size(delays)) == 199


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


# --- The slow rivals checked against their ancestors, their minimisations and their bounds --------


Kind = Literal["gradient", "value", "two", "many"]

T = max(60, shortened(200))
BALL = ChartSet("ball", 3, radius=0.8)
BOX = ChartSet("box", 2)
SIMPLEX = ChartSet("simplex", 4)
DELAYS = np.minimum(np.random.default_rng(5).integers(0, 31, 60), 59 - np.arange(60)).tolist()
INTERVAL = ChartSet("ball", 1, radius=1.5)


# --- all methods ---------------------------------------------------------------------------------


def feedback(kind: Kind, g: Array, y: Array) -> Any:
    """Answer for the loss <g, y> in the form that a method wants."""
    if kind == "gradient":
        return g
    return float(g @ y) if kind == "value" else tuple(float(g @ row) for row in y)


def unit_vectors(rng: np.random.Generator, count: int, dim: int) -> Array:
    """Random vectors of length at most 1, with a common part."""
    raw = rng.standard_normal((count, dim)) + 0.5
    return np.asarray(raw / np.linalg.norm(raw, axis=1, keepdims=True), dtype=np.float64)


# --- ancestors -----------------------------------------------------------------------------------


def assert_same_plays(first: Sequence[Array], second: Sequence[Array], atol: float = 0.0) -> None:
    """Compare two lists of plays."""
    np.testing.assert_allclose(np.array(first), np.array(second), rtol=0.0, atol=atol)


# --- minimisations -------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [BALL, BOX, SIMPLEX], ids=["ball", "box", "simplex"])
def test_leaders_minimise_their_objectives(domain: ChartSet) -> None:
    """Qiu and dual averaging against the objective's gradient at the play."""
    k, start = domain.dim, domain.start
    gs = unit_vectors(np.random.default_rng(15), 60, k)
    qiu = play_rounds(
        nr.NaiveQiuEspositoZhang(domain=domain, curvature=0.7), DELAYS, lambda s, y: gs[s]
    )
    dual = play_rounds(
        nr.NaiveDelayedDualAveraging(domain=domain, lipschitz=1.0), DELAYS, lambda s, y: gs[s]
    )
    outer = max(float(np.linalg.norm(v - start)) for v in (corners(domain)))
    assert outer == pytest.approx(nr.outer_radius(domain))
    backlogs = naive.interval_counts(naive.intervals_of_delays(DELAYS)).backlogs
    for t in range(60):
        arrived = [s for s in range(t) if s + DELAYS[s] < t]
        slope = gs[arrived].sum(axis=0) if arrived else np.zeros(k)
        gradient = slope + sum((0.7 * (qiu[t] - qiu[s]) for s in arrived), start=np.zeros(k))
        assert naive.optimality_gap(gradient, qiu[t], domain) < 1e-10
        strength = 2.0 / outer * math.sqrt((t + 1) / 2 + sum(backlogs[: t + 1]))
        gradient = slope + strength * (dual[t] - start)
        assert naive.optimality_gap(gradient, dual[t], domain) < 1e-10


def corners(domain: ChartSet) -> list[Array]:
    """Points of the set farthest from its centre."""
    if domain.kind == "simplex":
        return list(np.eye(domain.dim))
    if domain.kind == "box":
        return [np.ones(domain.dim)]
    return [domain.radius * np.eye(domain.dim)[0]]


@pytest.mark.parametrize("curved", [False, True], ids=["convex", "strongly-convex"])
def test_blocks_minimise_over_everything_received(curved: bool) -> None:
    rounds, lam, magnitude = 400, 0.5, 0.2
    fields = {"domain": BALL, "magnitude": magnitude, "lipschitz": 1.0, "rounds": rounds}
    learner = (
        nr.NaiveDFTBLStronglyConvex(**fields, curvature=lam, seed=4)  # type: ignore[arg-type]
        if curved
        else nr.NaiveDFTBL(**fields, max_delay=9, seed=4)  # type: ignore[arg-type]
    )
    length, delta = learner.length, learner.delta
    nu = magnitude / 0.8
    assert delta == pytest.approx(
        0.8 * (nu**2 * 9 * math.log(math.e * rounds) / rounds) ** (1 / 3)
        if curved
        else 0.8 * math.sqrt(3 * nu) * rounds**-0.25
    )
    assert length == math.ceil(round((3 * magnitude / delta) ** 2, 6))  # 15 when convex
    assert 1 < length < rounds / 5
    values = np.random.default_rng(16).uniform(-magnitude, magnitude, rounds)
    delays = (9,) * rounds
    plays = play_rounds(learner, delays, lambda s, y: float(values[s]))
    directions = [naive.direction(4, t, 3) for t in range(rounds)]
    centres = [plays[t] - delta * directions[t] for t in range(rounds)]
    shrunk = ChartSet("ball", 3, radius=0.8 - delta)
    for t in range(rounds):
        block = t // length
        np.testing.assert_allclose(centres[t], centres[block * length], atol=1e-14)
        if block == 0:
            np.testing.assert_allclose(centres[t], 0.0, atol=1e-14)
            continue
        gradient = np.zeros(3)
        for s in range(block * length - 9):
            gradient = gradient + (3 / delta) * values[s] * directions[s]
        if curved:
            for m in range(block):
                gradient = gradient + lam * length * (centres[t] - centres[m * length])
        else:
            alpha = (2.0 / 0.8) * math.sqrt(rounds * (9 + 2 * length))
            gradient = gradient + alpha * centres[t]
        assert naive.optimality_gap(gradient, centres[t], shrunk) < 1e-10


# --- values --------------------------------------------------------------------------------------


def test_two_points_on_a_line_are_the_derivative() -> None:
    """With k = 1 and linear losses the estimate is exact: the ancestor on (1 - delta/r) K."""
    gs = np.random.default_rng(17).uniform(-1.0, 1.0, (60, 1))
    cases: list[tuple[Any, float, Callable[[ChartSet], Any]]] = [
        (
            nr.NaiveDOGDSCTwoPoint(domain=INTERVAL, curvature=0.4, lipschitz=1.0, rounds=60),
            1.5 * math.log(math.e * 60) / 60,
            lambda K: nr.NaiveDOGDSC(domain=K, curvature=0.4),
        ),
        (
            nr.NaiveAgarwalDekelXiao(domain=INTERVAL, lipschitz=1.0, rounds=60, curvature=0.4),
            math.log(math.e * 60) / 60,
            lambda K: nr.NaiveHazanAgarwalKale(domain=K, curvature=0.4),
        ),
        (
            nr.NaiveAgarwalDekelXiao(domain=INTERVAL, lipschitz=1.0, rounds=60),
            math.log(math.e * 60) / 60,
            lambda K: nr.NaiveDelayAdaptiveSGD(domain=K, step=1 / math.sqrt(60), workers=99),
        ),
        (
            nr.NaiveShamir(domain=INTERVAL, lipschitz=2.0, rounds=60),
            1.5 / math.sqrt(60),
            lambda K: nr.NaiveDelayAdaptiveSGD(
                domain=K, step=1.5 / (2.0 * math.sqrt(60)), workers=99
            ),
        ),
    ]
    for learner, delta, ancestor in cases:
        plays = play_rounds(learner, DELAYS, lambda s, y: feedback("two", gs[s], y))
        np.testing.assert_allclose([abs(y[0, 0] - y[1, 0]) for y in plays], 2.0 * delta, rtol=1e-12)
        shrunk = ChartSet("ball", 1, radius=1.5 - delta)
        expected = play_rounds(ancestor(shrunk), DELAYS, lambda s, y: gs[s])
        assert_same_plays([y.mean(axis=0) for y in plays], expected, atol=1e-12)


def test_many_points_are_exact_for_linear_losses() -> None:
    gs = unit_vectors(np.random.default_rng(18), 60, 3)
    learner = nr.NaiveDOGDSCManyPoint(domain=BALL, curvature=0.4, lipschitz=1.0, rounds=60)
    plays = play_rounds(learner, DELAYS, lambda s, y: feedback("many", gs[s], y))
    delta = 0.8 * math.log(math.e * 60) / 60
    np.testing.assert_allclose(plays[5][1:] - plays[5][0], delta * np.eye(3), atol=1e-15)
    ancestor = nr.NaiveDOGDSC(domain=ChartSet("ball", 3, radius=0.8 - delta), curvature=0.4)
    expected = play_rounds(ancestor, DELAYS, lambda s, y: gs[s])
    assert_same_plays([y[0] for y in plays], expected, atol=1e-11)


# --- bounds --------------------------------------------------------------------------------------


G, CURVATURE, D, R = 1.3, 0.5, 1.6, 0.8
PLACE = bl.Ball(3, radius=R)
COPIED = bl.FirstOrder(bl.OMD(PLACE, bl.rates.DelayAdaptive(G)))
_curved: Any = {"curvature": CURVATURE, "lipschitz": CURVATURE * D}
_SLOPE = CURVATURE * D


def tot(t: bl.Timeline) -> tuple[int, int]:
    return t.rounds, t.total_delay


def bound_ada_hedge_d(t: bl.Timeline, arms: int) -> float:
    """8 d_max + 2 sqrt((4 + ln K) T + 2 ln K d_tot)."""
    log = math.log(arms)
    return 8.0 * t.max_delay + 2.0 * math.sqrt((4.0 + log) * t.rounds + 2.0 * log * t.total_delay)


BOUNDS: list[tuple[Any, Callable[[bl.Timeline], float]]] = [
    (
        rivals.DMD(bl.Simplex(4), G, mirror="entropy"),
        lambda t: nr.bound_fixed_step(*tot(t), naive.entropy_diameter(4, 0.0), G),
    ),
    (
        rivals.DelayedDualAveraging(PLACE, G),
        lambda t: math.sqrt(2.0) * nr.bound_fixed_step(*tot(t), R, G),
    ),
    (rivals.BOLD(COPIED), lambda t: nr.bound_over_ogd(t.rounds, t.max_backlog + 1, D, G)),
    (
        rivals.LangfordSmolaZinkevich(PLACE, **_curved),
        lambda t: nr.bound_langford_smola_zinkevich(t.rounds, t.max_delay, D, _SLOPE, CURVATURE),
    ),
    (rivals.DORM(4), lambda t: 2.0 * math.sqrt(t.rounds + 2 * t.total_delay)),
    (rivals.AdaHedgeD(4), lambda t: bound_ada_hedge_d(t, 4)),
]


@pytest.mark.parametrize(("spec", "bound"), BOUNDS)
def test_bounds_are_the_published_formulas(
    spec: Any, bound: Callable[[bl.Timeline], float]
) -> None:
    """Those of the other methods are in ``test_rivals_promises``."""
    timelines = [delays.constant(200, 0), delays.constant(200, 7), delays.uniform(200, 0, 30)]
    found = [spec.told(timeline).bound(timeline) for timeline in timelines]
    assert found[0] is not None
    for timeline, each in zip(timelines, found, strict=True):
        assert each is None or each.total == pytest.approx(bound(timeline), rel=1e-12)


# --- The slow versions for experts and arms against their authors' code, solvers and bounds -------


ROUNDS = 60
HINTS: tuple[Hint, ...] = ("none", "recent")

_scipy_minimize: Callable[..., Any] = optimize.minimize


def random_costs(kind: str, rounds: int, dim: int, seed: int) -> Array:
    """Cost vectors: normal, losses in [0, 1], losses 0 or 1, or a best expert that changes."""
    rng = np.random.default_rng(seed)
    if kind == "normal":
        return rng.normal(size=(rounds, dim))
    if kind == "unit":
        return rng.random((rounds, dim))
    if kind == "binary":
        return rng.integers(0, 2, (rounds, dim)).astype(np.float64)
    costs = np.ones((rounds, dim))
    costs[np.arange(rounds), np.arange(rounds) * dim // rounds] = 0.0
    return costs


def any_delays(rounds: int, seed: int, largest: int = 8) -> list[int]:
    """Random delays in any order."""
    return [int(d) for d in np.random.default_rng(seed).integers(0, largest + 1, rounds)]


def play_costs(learner: Any, costs: Array, delays: Sequence[int]) -> Array:
    """Plays when the answers are the rows of costs."""
    return np.array(run_rounds(learner, delays, lambda ticket, _: costs[ticket]))


# --- ODFTRL ----------------------------------------------------------------------------

SETS: list[tuple[ChartSet, Geometry]] = [
    (ChartSet("ball", 3), "euclidean"),
    (ChartSet("box", 2), "euclidean"),
    (ChartSet("l1", 3, radius=2.0), "euclidean"),
    (ChartSet("simplex", 4), "euclidean"),
    (ChartSet("simplex", 4), "entropy"),
    (ChartSet("simplex", 4, floor=0.05), "entropy"),
]


def mirror_gradient(y: Array, start: Array, geometry: Geometry) -> Array:
    """Gradient in y of B(y, start)."""
    return y - start if geometry == "euclidean" else np.log(y / start) + 1.0


@pytest.mark.parametrize(("domain", "mirror"), SETS)
@pytest.mark.parametrize("hint", HINTS)
def test_odftrl_minimises_its_objective(domain: ChartSet, mirror: Geometry, hint: Hint) -> None:
    learner = NaiveODFTRL(domain=domain, strength=6.0, mirror=mirror, hint=hint)
    costs = random_costs("normal", 40, domain.dim, seed=1)
    delays = any_delays(40, seed=2)
    plays = play_costs(learner, costs, delays)
    for t, play in enumerate(plays):
        received = [s for s in range(t) if s + delays[s] < t]
        slope = costs[received].sum(axis=0)
        if hint == "recent" and received:
            newest = max(received, key=lambda s: (s + delays[s], s))
            slope = slope + (t - len(received) + 1) * costs[newest]
        slope = slope + 6.0 * mirror_gradient(play, domain.start, mirror)
        assert domain.violation(play) < 1e-12
        assert optimality_gap(slope, play, domain) < 1e-10
    np.testing.assert_allclose(plays[0], domain.start, rtol=0.0, atol=1e-15)


# --- Arms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("inverse", [0.0, 0.7, 30.0])
@pytest.mark.parametrize("t", [1.0, 50.0])
def test_hybrid_solver_against_scipy(inverse: float, t: float) -> None:
    rng = np.random.default_rng(int(t))
    for arms in (2, 5):
        losses = rng.exponential(30.0, size=arms)

        def slope(x: Array, losses: Array = losses) -> Array:
            return losses - math.sqrt(t) / np.sqrt(x) + inverse * (np.log(x) + 1.0)

        def objective(x: Array, losses: Array = losses) -> float:
            entropy = inverse * float(x @ np.log(x))
            return float(losses @ x) - 2.0 * math.sqrt(t) * float(np.sqrt(x).sum()) + entropy

        x = hybrid_ftrl(losses, t, inverse)
        assert x.sum() == pytest.approx(1.0, abs=1e-15)
        np.testing.assert_allclose(slope(x), slope(x)[0], rtol=1e-9)  # the KKT conditions
        result = _scipy_minimize(
            objective,
            np.full(arms, 1.0 / arms),
            jac=slope,
            method="SLSQP",
            bounds=[(1e-9, 1.0)] * arms,
            constraints=[{"type": "eq", "fun": lambda x: x.sum() - 1.0}],
            options={"ftol": 1e-15, "maxiter": 500},
        )
        np.testing.assert_allclose(x, result.x, rtol=0.0, atol=1e-5)
        assert objective(x) <= objective(result.x) + 1e-9
