"""What the laws of all rivals do not say of the first-order methods that were published last."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
import naive_later_rivals as slow
from belated import delays, rivals
from belated.research.rivals import Rival
from naive import Array, ChartSet
from naive_game import answered
from rival_games import total
from rival_laws import CASES, SEED, chart_of, distance, follow, learner, life, rival
from rivals_convex import SETS

NAMED = {case.name: case for case in CASES}
BALL = bl.Ball(2)


# --- Without delay -------------------------------------------------------------------------------


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("place", ["ball", "box", "simplex", "l1"])
def test_without_delay_frank_wolfe_is_that_of_hazan_and_kale(place: str, curved: bool) -> None:
    """A line search by hand, on the losses of the rounds so far."""
    domain, chart = SETS[place]
    spec: Rival = rivals.DelayedFrankWolfe(domain, 1.0, rounds=30)
    if curved:
        spec = rivals.DelayedFrankWolfeStronglyConvex(domain, 0.3, 1.0)
    live, y = bl.Learner(spec), chart.start
    scale, rng = chart_of(domain).scale, np.random.default_rng(1)
    eta = float(chart.diameter / 32.0**0.75)
    costs: list[Array] = []
    points: list[Array] = []

    def objective(x: Array) -> float:
        if curved:
            return math.fsum(
                float(c @ x) + 0.15 * float((x - p) @ (x - p))
                for c, p in zip(costs, points, strict=True)
            )
        return eta * math.fsum(c @ x for c in costs) + float((x - chart.start) @ (x - chart.start))

    for t in range(30):
        x = chart_of(domain).coordinates(live.predict().x)
        np.testing.assert_allclose(x, y, atol=1e-9)
        costs.append(0.3 * rng.standard_normal(chart.dim) + 0.2)
        points.append(y)
        live.observe(t, costs[-1] / scale)
        # the gradient of a quadratic, from its values
        slope = np.array([objective(y + e) - objective(y - e) for e in np.eye(chart.dim)]) / 2.0
        v = slow.corner(chart, slope)
        a, b, c = (objective(y + part * (v - y)) for part in (0.0, 0.5, 1.0))
        bend, fall = 2.0 * (a - 2.0 * b + c), 4.0 * b - 3.0 * a - c
        y = y + (min(1.0, max(0.0, -fall / (2.0 * bend))) if bend > 1e-15 else 0.0) * (v - y)


def test_without_delay_the_newton_step_is_that_of_hazan_agarwal_and_kale() -> None:
    """x - A^-1 g / beta with A = (lambda_0 / beta) I + sum g g', as long as it stays inside."""
    spec = rivals.DelayedONS(bl.Ball(3, 2.0), lipschitz=1.0, exp_concavity=0.05)
    live, rng = bl.Learner(spec), np.random.default_rng(0)
    x = np.zeros(3)
    matrix = np.eye(3) / (spec.beta * 4.0) ** 2
    for t in range(60):
        np.testing.assert_allclose(live.predict().x, x, atol=1e-10)
        g = rng.uniform(-0.4, 0.4, 3)
        live.observe(t, g)
        matrix += np.outer(g, g)
        x = x - np.linalg.solve(matrix, g) / spec.beta
        assert np.linalg.norm(x) < 2.0


# --- The Newton step -----------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["shifted ball", "box", "raised simplex", "l1"])
def test_the_newton_step_on_the_border(place: str) -> None:
    """Gradients that push outwards: the minimum is on a face, an edge or a corner."""
    case = NAMED[f"DelayedONS, {place}"]
    chart, rng = SETS[place][1], np.random.default_rng(2)
    push = rng.standard_normal(chart.dim)
    rows = 2.0 * push + 0.8 * rng.standard_normal((48, chart.dim))
    rows[24:30] *= -1.0
    fast, patient, scale = learner(case), case.slow(SEED), chart_of(rival(case).domain).scale
    quick = follow(fast, life(case), lambda ticket: rows[ticket] / scale).plays
    exact = follow(patient, life(case), lambda ticket: rows[ticket]).plays
    on_border = [float(chart.violation(y * (1.0 + 1e-9) + 1e-9)) > 0.0 for y in exact]
    assert sum(on_border) > 10
    assert distance(case, quick, exact) <= 1.0


def test_the_inverse_is_computed_afresh_now_and_then() -> None:
    """More than STALE updates of the inverse, with a matrix that is all but singular."""
    spec = rivals.DelayedONS(bl.Ball(2), lipschitz=1.0, exp_concavity=1.0)
    live = bl.Learner(spec)
    rng = np.random.default_rng(3)
    rows = 0.5 * rng.uniform(-1.0, 1.0, (1100, 1)) * np.array([1.0, 1e-3])
    plays = live.replay(delays.constant(1100, 1), rows)
    least = 1.0 / (spec.beta * 4.0)
    ridge = least * 2.0 ** math.ceil(
        math.log2(1.0 + min(0.5 * math.sqrt(1099.0), _aged(spec, 1100) / 4.0) / least)
    )
    g, x = rows[:1098], plays[:1098]
    matrix = ridge * np.eye(2) + spec.beta * g.T @ g
    b = (g * (1.0 - spec.beta * (g * x).sum(axis=1, keepdims=True))).sum(axis=0)
    np.testing.assert_allclose(plays[-1], -np.linalg.solve(matrix, b), atol=1e-12)


def _aged(spec: rivals.DelayedONS, rounds: int) -> float:
    return 2.0 / spec.beta * math.log1p((2.0 * spec.beta) ** 2 * rounds / 2.0)


def squared(
    spec: rivals.DelayedONS, timeline: bl.Timeline, rows: Array, targets: Array
) -> tuple[float, Array]:
    """Return the losses (<z, x> - y)^2 / 2 that were paid, and those of the best point inside."""
    live, plays = bl.Learner(spec), {}
    for event in answered(timeline):
        if event >= 0:
            plays[event] = live.predict().x
        else:
            t = ~event
            live.observe(t, (rows[t] @ plays[t] - targets[t]) * rows[t])
    x = np.array([plays[t] for t in range(timeline.rounds)])
    paid = 0.5 * float((((rows * x).sum(axis=1) - targets) ** 2).sum())
    bend, slope = rows.T @ rows + 1e-9 * np.eye(rows.shape[1]), -rows.T @ targets
    best = slow.quadratic_minimum(ChartSet("ball", rows.shape[1]), bend, slope)
    return paid, np.asarray(0.5 * (rows @ best - targets) ** 2)


@given(seed=st.integers(0, 2**16), late=st.integers(0, 25), style=st.sampled_from(["a", "b", "c"]))
@settings(max_examples=20, deadline=None)
def test_the_bound_of_the_newton_step_with_squared_losses(seed: int, late: int, style: str) -> None:
    """Losses with curvature in one direction only; |z| <= 1, so G = 2 and alpha = 1 / 4."""
    rng = np.random.default_rng(seed)
    rounds = 60
    rows = rng.standard_normal((rounds, 2))
    if style == "b":
        rows[:, 1] = rows[0, 1]
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    targets = rng.uniform(-1.0, 1.0, rounds)
    if style == "c":
        targets = np.sign(targets) * (-1.0) ** (np.arange(rounds) // 10)
    timeline = delays.lost(delays.uniform(rounds, low=0, high=late, seed=seed), 0.1, seed=seed)
    spec = rivals.DelayedONS(BALL, lipschitz=2.0, exp_concavity=0.25)
    paid, best = squared(spec, timeline, rows, targets)
    assert paid - float(best.sum()) <= total(spec, timeline)


# --- Bounds --------------------------------------------------------------------------------------


def test_the_bound_of_frank_wolfe_is_that_of_its_step() -> None:
    timeline = delays.constant(10_000, 20)
    for told in (10, 10_000, 10**6):
        spec = rivals.DelayedFrankWolfe(BALL, lipschitz=1.5, rounds=told)
        eta, late = spec.step, timeline.total_delay
        near = min(1.0, math.sqrt(3.0) * (eta * 1.5 / 2.0) ** (1 / 3))
        expected = 1.0 / eta + eta * 1.5**2 * (10_000 + late) / 2.0 + 1.5 * 2.0 * 10_000 * near
        assert total(spec, timeline) == pytest.approx(expected)


def test_the_bound_of_the_newton_step_is_the_smaller_of_two() -> None:
    """By the largest delay or by the root of their sum; G D = 2, and beta = 1 / 16."""
    spec = rivals.DelayedONS(BALL, lipschitz=1.0, exp_concavity=0.5)
    learned = 32.0 * math.log1p(10_000 / 128.0)
    lines = {late: delays.constant(10_000, late) for late in (0, 1, 1000)}
    assert total(spec, lines[0]) == pytest.approx(8.0 + learned)
    assert total(spec, lines[1]) == pytest.approx(16.0 + 3.125 * learned)
    root = math.sqrt(lines[1000].total_delay)
    assert total(spec, lines[1000]) == pytest.approx(16.0 + learned + 8.75 * root)


# --- Weighted optimism ---------------------------------------------------------------------------
